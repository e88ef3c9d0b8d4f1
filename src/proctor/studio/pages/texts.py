"""Texts that work is done under: guideline and consent with their versions, the settings, and stages that are closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from sqlalchemy import Connection
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from proctor.said import say
from proctor.studio.context import desk_of, number_in, person_of, read, studio_of, text_in, write
from proctor.studio.markdown import render_markdown
from proctor.studio.rendering import render, see_other, when_text
from proctor.studio.views import Choice, DocumentVersion, GuidelinesView, Setting
from proctor.verify.desk import documents, people
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.documents import Document, Kind, Protocol, guideline_of
from proctor.verify.desk.records import STAGES, ConflictError, GoneError, InvalidError, Stage

__all__ = ["ROUTES", "show_texts"]

_KINDS: Final[Mapping[Kind, str]] = {
    "guideline": say("Guideline"),
    "consent": say("Consent"),
    "protocol": say("Settings"),
}
_OF: Final = "guideline/"
_STAGES: Final[Mapping[Stage, str]] = {
    "training": say("Training"),
    "judge": say("Judging"),
    "adjudicate": say("Adjudication"),
}

_Kind = Literal["number", "tick", "choice"]
_SETTINGS: Final[tuple[tuple[str, str, _Kind, str, str, str, str], ...]] = (
    ("per_item", say("People for each item"), "number", "1", "9", "1", say("Used by the next deal.")),
    (
        "training_required",
        say("Training comes first"),
        "tick",
        "",
        "",
        "",
        say("Nobody judges before the set is done."),
    ),
    ("gate", say("Who lets people in after it"), "choice", "", "", "", ""),
    (
        "pass_at",
        say("Agreement that is good enough"),
        "number",
        "0",
        "1",
        "any",
        say("A share, 0.8 for four in five."),
    ),
    (
        "reasons",
        say("Ask why a question is wrong"),
        "tick",
        "",
        "",
        "",
        say("Not part of the published protocol."),
    ),
    (
        "show_settled",
        say("Adjudicators see what is settled"),
        "tick",
        "",
        "",
        "",
        say("This tells them which answers came from a machine."),
    ),
    ("undo_seconds", say("Seconds to take a sheet back"), "number", "0", "300", "1", ""),
    (
        "repeat_share",
        say("Share of settled items that come again blindly"),
        "number",
        "0",
        "0.5",
        "any",
        say("To see how steady adjudicators are."),
    ),
    ("lease_minutes", say("Minutes a case belongs to one adjudicator"), "number", "1", "1440", "1", ""),
)
"""Name, label, kind, least, most, step, note."""
_GATES: Final = (("coordinator", say("a coordinator")), ("automatic", say("it opens by itself")))


async def show_texts(request: Request) -> Response:
    """Show the editor of a text, its versions, and what one of them changed."""
    return await _page(request, _kind(request.query_params.get("kind", "guideline")))


async def _page(
    request: Request,
    kind: Kind,
    *,
    body: str | None = None,
    base: int | None = None,
    fields: FormData | None = None,
    preview: bool = False,
    error: str = "",
    status: int = 200,
) -> Response:
    desk, asked = desk_of(request), number_in(request.query_params.get("version", ""))

    def look(connection: Connection) -> GuidelinesView:
        last = _known(connection, kind)
        shown = documents.at_version(connection, kind, asked) if asked > 0 else None
        text = body if body is not None else last.body if last is not None else ""
        version = last.version if last is not None else 0
        old, title = (
            (shown, say("From version {old} to version {new}", old=asked, new=version))
            if shown
            else (None, "")
        )
        diff = documents.diff(old.body, last.body) if old and last else ()
        if preview and last is not None:
            diff, title = documents.diff(last.body, _clean(text)), say("Against the version in force")
        protocol = documents.protocol(connection)
        return GuidelinesView(
            kind=kind,
            kinds=tuple(Choice(k, label, k == kind) for k, label in _kinds(connection).items()),
            body=text,
            base=base if base is not None else version,
            versions=_versions(desk, connection, kind, version),
            diff=diff,
            diff_title=title,
            html=render_markdown(text) if preview and kind != "protocol" else None,
            read_by=_read_by(desk, connection, kind, version),
            error=error,
            frozen=last is not None and last.frozen,
            settings=_settings(protocol, fields) if kind == "protocol" else (),
            stages=tuple(Choice(s, label, s in protocol.frozen_stages) for s, label in _STAGES.items())
            if kind == "protocol"
            else (),
        )

    return render(request, "guidelines", await read(request, look), status=status)


def _versions(desk: Desk, connection: Connection, kind: Kind, current: int) -> tuple[DocumentVersion, ...]:
    names = {p.pid: p.name for p in people.list_people(desk, connection)}
    said = documents.notes(connection, kind)
    return tuple(
        DocumentVersion(
            version=one.version,
            at=when_text(one.created_at),
            by=names.get(one.made_by, one.made_by),
            note=said.get(one.version, ""),
            current=one.version == current,
            href=f"/guidelines?kind={kind}&version={one.version}" if one.version != current else "",
        )
        for one in documents.versions(connection, kind)
    )


def _read_by(desk: Desk, connection: Connection, kind: Kind, version: int) -> str:
    if kind == "protocol" or not version:
        return ""
    active = [
        p
        for p in people.list_people(desk, connection, state="active")
        if p.role in ("annotator", "adjudicator")
    ]
    if kind == "consent":
        done = sum(p.consent_version >= version for p in active)
        return say(
            "{done} of {total} annotators and adjudicators have agreed to version {version}.",
            done=done,
            total=len(active),
            version=version,
        )
    of = next(k for k in documents.guidelines(connection) if guideline_of(k) == kind)
    done = sum(p.guidelines.get(of, 0) >= version for p in active)
    return say(
        "{done} of {total} annotators and adjudicators have read version {version}.",
        done=done,
        total=len(active),
        version=version,
    )


def _settings(protocol: Protocol, fields: FormData | None) -> tuple[Setting, ...]:
    """Return the form of the settings; what was filled in and could not be kept stands in it again."""
    rows = []
    for name, label, kind, low, high, step, note in _SETTINGS:
        value: Any = getattr(protocol, name)
        text = f"{value:g}" if isinstance(value, float) else str(value)
        chosen = value is True
        if fields is not None:
            text, chosen = str(fields.get(name, "")), fields.get(name) == "1"
        choices = tuple(Choice(k, words, k == text) for k, words in _GATES) if kind == "choice" else ()
        rows.append(Setting(name, label, kind, text, chosen, choices, low, high, step, note))
    return tuple(rows)


# -- keeping ---------------------------------------------------------------------------------------------------


async def keep_text(request: Request) -> Response:
    """Keep a new version of a guideline or consent text, or show what it would look like."""
    form, desk, me = await request.form(), desk_of(request), person_of(request)
    kind, body, base = (
        _kind(text_in(form, "kind")),
        text_in(form, "body"),
        number_in(text_in(form, "base"), -1),
    )
    if kind == "protocol":
        return await keep_settings(request)
    if form.get("preview") == "1":
        return await _page(request, kind, body=body, base=base, preview=True)
    note = " ".join(text_in(form, "note").split())

    def job(connection: Connection) -> Document:
        _known(connection, kind)
        return documents.add(desk, connection, kind, body, actor=me.pid, base=base, note=note)

    try:
        made = await write(request, job)
    except InvalidError as error:
        return await _page(request, kind, body=body, base=base, error=error.message, status=422)
    except ConflictError as error:
        return await _page(
            request,
            kind,
            body=body,
            base=error.version or base,
            preview=True,
            error=error.message,
            status=409,
        )
    studio_of(request).more.pop("versions", None)  # the next request sees the new one
    return see_other(f"/guidelines?kind={kind}&said={'kept' if made.version != base else 'saved'}")


async def keep_settings(request: Request) -> Response:
    """Keep a new version of the settings; stages that are closed stay closed."""
    form, desk, me = await request.form(), desk_of(request), person_of(request)
    base = number_in(text_in(form, "base"), -1)

    def job(connection: Connection) -> str:
        settings = _protocol_of(form, documents.protocol(connection))
        documents.set_protocol(desk, connection, settings, actor=me.pid, base=base)
        return documents.protocol_hash(connection)

    try:
        digest = await write(request, job)
    except InvalidError as error:
        return await _page(request, "protocol", base=base, fields=form, error=error.message, status=422)
    except ConflictError as error:
        return await _page(request, "protocol", fields=form, error=error.message, status=409)
    studio_of(request).more["protocol_hash"] = digest
    return see_other("/guidelines?kind=protocol&said=saved")


def _protocol_of(form: FormData, now: Protocol) -> Protocol:
    values: dict[str, Any] = {}
    errors: list[tuple[str, str]] = []
    for name, label, kind, low, high, _, _ in _SETTINGS:
        text = text_in(form, name)
        if kind == "tick":
            values[name] = text == "1"
        elif kind == "choice":
            values[name] = next((k for k, _ in _GATES if k == text), None)
            if values[name] is None:
                errors.append((name, say("{label}: choose one.", label=label)))
        else:
            whole = isinstance(getattr(now, name), int)
            try:
                value = int(text) if whole else float(text)
            except ValueError:
                value = -1
            if not float(low) <= value <= float(high):
                if whole:
                    said = say(
                        "{label}: a whole number from {low} to {high}.", label=label, low=low, high=high
                    )
                else:
                    said = say("{label}: a number from {low} to {high}.", label=label, low=low, high=high)
                errors.append((name, said))
            values[name] = value
    if errors:
        raise InvalidError(errors)
    return msgspec.structs.replace(now, **values)


async def set_stage(request: Request) -> Response:
    """Close a stage, so that nothing submitted in it changes any more, or open it again."""
    form, desk, me = await request.form(), desk_of(request), person_of(request)
    stage = next((s for s in STAGES if s == text_in(form, "stage")), None)
    close = text_in(form, "closed") == "1"
    if stage is None:
        raise GoneError

    def job(connection: Connection) -> str:
        protocol = documents.protocol(connection)
        closed = {*protocol.frozen_stages, stage} if close else {*protocol.frozen_stages} - {stage}
        stages = tuple(s for s in STAGES if s in closed)
        settings = msgspec.structs.replace(protocol, frozen_stages=stages)
        documents.set_protocol(desk, connection, settings, actor=me.pid)
        return documents.protocol_hash(connection)

    try:
        studio_of(request).more["protocol_hash"] = await write(request, job)
    except ConflictError as error:
        return await _page(request, "protocol", error=error.message, status=409)
    return see_other(f"/guidelines?kind=protocol&said={'frozen' if close else 'thawed'}")


async def freeze_text(request: Request) -> Response:
    """Let the version in force be the last one, or allow new ones again."""
    form, desk, me = await request.form(), desk_of(request), person_of(request)
    kind, stop = _kind(text_in(form, "kind")), text_in(form, "frozen") == "1"
    change = documents.freeze if stop else documents.unfreeze
    await write(request, lambda c: change(desk, c, kind, actor=me.pid))
    return see_other(f"/guidelines?kind={kind}&said=saved")


def _clean(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip() + "\n"


def _kind(text: str) -> Kind:
    if text in _KINDS or text.startswith(_OF):
        return text
    raise GoneError


def _kinds(connection: Connection) -> dict[Kind, str]:
    """Return the documents that there are, with their labels; guidelines carry their kind where there are several."""
    names = {
        guideline_of(kind): say("Guideline: {kind}", kind=kind) for kind in documents.guidelines(connection)
    }
    return {
        **(names if len(names) > 1 else {}),
        **{k: v for k, v in _KINDS.items() if k not in names or len(names) < 2},
    }


def _known(connection: Connection, kind: Kind) -> Document | None:
    """Return the version in force of a document; a guideline is known only of kinds that have one."""
    found = documents.latest(connection, kind)
    if found is None and kind.startswith(_OF):
        raise GoneError
    return found


ROUTES: Final = (
    ("/guidelines", "GET", show_texts, "coordinator"),
    ("/guidelines", "POST", keep_text, "coordinator"),
    ("/guidelines/settings", "POST", keep_settings, "coordinator"),
    ("/guidelines/stage", "POST", set_stage, "coordinator"),
    ("/guidelines/freeze", "POST", freeze_text, "coordinator"),
)
"""Rows of the route table."""
