"""Items for coordinators: lists to browse, where people differ, and everything that was ever said of one item."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlencode

import msgspec
from anyio import to_thread
from sqlalchemy import Connection
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from proctor.exam.question import Footage, part_of
from proctor.said import listed, say, say_in
from proctor.studio.cards import card_of, picture_of, send_clip, send_picture
from proctor.studio.context import Studio, desk_of, number_in, person_of, read, studio_of, write
from proctor.studio.language import figures
from proctor.studio.pages.comments import threads_of
from proctor.studio.pages.dashboard import type_words
from proctor.studio.pages.events import words_of
from proctor.studio.rendering import render, see_other, when_text
from proctor.studio.views import (
    Choice,
    DisagreementsView,
    Event,
    Field,
    Filter,
    ItemRow,
    ItemsView,
    ItemView,
    Judgement,
    JudgementAnswer,
    Page,
    RevisionRow,
    judged,
)
from proctor.verify.adjudicate import Case, Merge
from proctor.verify.desk import browse, comments, documents, items, people, roster
from proctor.verify.desk.browse import Listing, Narrow, Reading
from proctor.verify.desk.cases import standing
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.records import CANT_REASONS, ConflictError, InvalidError, Item
from proctor.verify.store import latest_verdicts
from proctor.verify.verdict import AnswerVerdict, Verdict

__all__ = ["ROUTES"]

_LINES: Final = 50
_KEPT: Final = frozenset({"state", "type", "kind", "pair", "asked", "q"})
_KNOWN_SECONDS: Final = 2.0
_DIFFER: Final[Mapping[str, str]] = {
    "any": say("questions or answers"),
    "question": say("the question"),
    "answers": say("answers only"),
}
_STAGES: Final = {"training": say("training"), "judge": say("reading"), "adjudicate": say("adjudication")}
_TONES: Final[Mapping[str, Literal["todo", "current", "done", "error"]]] = {
    "case": "current",
    "judging": "current",
    "settled": "done",
    "rejected": "done",
    "machine": "done",
    "held": "error",
    "returned": "error",
}
_SAYS: Final[Mapping[str, str]] = {"right": say("Yes"), "wrong": say("No"), "unsure": say("unsure")}
_REASONS: Final[Mapping[str, str]] = {
    "a reader is missing, and nobody can take their place": say(
        "a reader is missing, and nobody can take their place"
    ),
    "accepted without any answer": say("accepted without any answer"),
    "annul": say("annulled"),
    "could not be judged": say("could not be judged"),
    "held": say("held"),
    "join": say("moved to a person who joined"),
    "judged again": say("judged again"),
    "leave": say("moved from a person who left"),
    "taken back": say("taken back"),
    "withdrawn": say("withdrawn"),
    **{words: words for words in CANT_REASONS.values()},
}
"""Reasons that the desk keeps, in words."""


class _Known(NamedTuple):
    """What filters offer: question types, names by pid, who judges; looked up at most every two seconds."""

    strata: tuple[str, ...]
    names: Mapping[str, str]
    judges: tuple[str, ...]


# -- lists -----------------------------------------------------------------------------------------------------


async def show_items(request: Request) -> Response:
    """Show all items, a page at a time."""
    query = request.query_params
    known = await _known(request)
    narrow = Narrow(
        state=_one_of(query, "state", items.ITEM_STATES),
        stratum=_one_of(query, "type", known.strata),
        asked=query.get("asked") == "1",
    )
    search = query.get("q", "").strip()[:200]

    def look(connection: Connection) -> tuple[list[Listing], Page, dict[str, _Said], dict[int, int]]:
        if search:
            found, page = _search(connection, request, search, narrow)
        else:
            found, page = _turn(connection, request, narrow, known.strata)
        asked = comments.open_by_item(connection, (one.id for one in found))
        return found, page, _said(connection, found, known.names), asked

    found, page, said, asked = await read(request, look)
    choices = Choice("", say("all"), not narrow.asked), Choice("1", say("with questions"), narrow.asked)
    view = ItemsView(
        filters=(
            _states(narrow.state),
            _types(known.strata, narrow.stratum),
            Filter("asked", say_in("to the coordinators", "Questions"), choices),
        ),
        search=search,
        rows=tuple(_row(one, said[one.candidate_id], asked.get(one.id, 0)) for one in found),
        page=page,
    )
    return render(request, "items", view)


async def show_disagreements(request: Request) -> Response:
    """Show the items on which people differ, a page at a time."""
    query = request.query_params
    known = await _known(request)
    first, _, second = query.get("pair", "").partition("~")
    narrow = Narrow(
        state=_one_of(query, "state", items.ITEM_STATES),
        stratum=_one_of(query, "type", known.strata),
        differ=_one_of(query, "kind", _DIFFER) or "any",
        pair=(first[:200], second[:200]) if first and second else None,
    )

    def look(connection: Connection) -> tuple[list[Listing], Page, dict[str, _Said]]:
        found, page = _turn(connection, request, narrow, known.strata)
        return found, page, _said(connection, found, known.names)

    found, page, said = await read(request, look)
    view = DisagreementsView(
        filters=(
            _types(known.strata, narrow.stratum),
            Filter(
                "kind",
                say("They differ on"),
                tuple(Choice(name, words, name == narrow.differ) for name, words in _DIFFER.items()),
            ),
            _pair_filter(known, narrow.pair),
            _states(narrow.state),
        ),
        rows=tuple(_row(one, said[one.candidate_id]) for one in found),
        page=page,
        population=say("more than {n:,} items on which people differ", n=page.total)
        if page.more
        else say("{n:,} items on which people differ", n=page.total),
    )
    return render(request, "disagreements", view)


async def _known(request: Request) -> _Known:
    more = studio_of(request).more
    at, known = more.get("items_known", (float("-inf"), None))
    if known is None or time.monotonic() - at > _KNOWN_SECONDS:
        desk = desk_of(request)

        def look(connection: Connection) -> _Known:
            everybody = people.list_people(desk, connection)
            return _Known(
                strata=tuple(sorted(items.count_items(connection))),
                names={p.pid: p.name for p in everybody},
                judges=tuple(p.pid for p in everybody if browse.has_judged(connection, p)),
            )

        known = await read(request, look)
        more["items_known"] = (time.monotonic(), known)
    found: _Known = known
    return found


def _turn(
    connection: Connection, request: Request, narrow: Narrow, strata: Sequence[str]
) -> tuple[list[Listing], Page]:
    """Return the page that an address asks for; places are told by the address and only shown."""
    query = request.query_params
    after, before, first = (number_in(query.get(name, "")) for name in ("after", "before", "from"))
    found = browse.page_items(connection, narrow, strata, after=after, before=before, limit=_LINES + 1)
    further = len(found) > _LINES
    if before:
        found = found[-_LINES:]
        starts = max(1, first - len(found)) if further else 1
        earlier, later = further, True
    else:
        found = found[:_LINES]
        starts = max(1, first)
        earlier, later = after > 0, further
    last = starts + len(found) - 1 if found else 0
    if narrow.pair is not None:  # counting them would mean to ask every item who judged it
        total, many = last, later
    else:
        counted = browse.count_items_up_to(connection, narrow, strata)
        many = counted > browse.MOST_COUNTED
        total = max(last, min(counted, browse.MOST_COUNTED))
    return found, Page(
        first=starts if found else 0,
        last=last,
        total=total,
        before=_address(request, before=found[0].id, **{"from": starts}) if earlier and found else "",
        after=_address(request, after=found[-1].id, **{"from": starts + len(found)})
        if later and found
        else "",
        more=many,
    )


def _search(
    connection: Connection, request: Request, text: str, narrow: Narrow
) -> tuple[list[Listing], Page]:
    query = request.query_params
    after, first = number_in(query.get("after", "")), max(1, number_in(query.get("from", "")))
    found, reached = browse.search_items(connection, text, narrow, after=after, limit=_LINES)
    last = first + len(found) - 1
    return found, Page(
        first=first if found else 0,
        last=last if found else 0,
        total=last,
        after=_address(request, after=reached, **{"from": last + 1}) if reached else "",
        more=bool(reached),
    )


def _address(request: Request, **more: object) -> str:
    kept = {k: v for k, v in request.query_params.items() if k in _KEPT and v}
    return f"{request.url.path}?{urlencode({**kept, **more})}"


class _Said(NamedTuple):
    """Who judged an item, and where they differ."""

    people: str
    detail: str


def _said(connection: Connection, found: Sequence[Listing], names: Mapping[str, str]) -> dict[str, _Said]:
    bodies = browse.said_of(connection, [one.candidate_id for one in found])
    decoder = msgspec.json.Decoder(Verdict)
    told = {}
    for one in found:
        readings = {
            v.annotator: v
            for v in map(decoder.decode, bodies.get(one.candidate_id, ()))
            if v.annotator_kind == "human" and v.role == "annotator"
        }
        judges = [readings[pid] for pid in sorted(readings, key=lambda pid: names.get(pid, pid))]
        told[one.candidate_id] = _Said(
            ", ".join(names.get(v.annotator, v.annotator) for v in judges), _difference(one, judges, names)
        )
    return told


def _difference(one: Listing, judges: Sequence[Verdict], names: Mapping[str, str]) -> str:
    if one.agreement == "question":
        said = (
            say("{name} {verdict}", name=names.get(v.annotator, v.annotator), verdict=_SAYS[v.question.value])
            for v in judges
        )
        return say("On the question: {said}", said=listed(said))
    if one.agreement == "answers":
        judging = [v.answers for v in judges if v.answers]
        differ = sum(len({a.value for a in place}) > 1 for place in zip(*judging, strict=False))
        return say("On {n} of {total} answers", n=differ, total=len(one.body.proposals))
    return _reason_words(one.reason)


def _reason_words(reason: str) -> str:
    """Return why an item or a reading is where it is, in words; what somebody wrote stands behind a colon."""
    first, colon, rest = reason.partition(": ")
    if colon and first == "dispute":
        return say("dispute: {reason}", reason=_reason_words(rest))
    if colon and first in _REASONS:
        return say("{reason}: {note}", reason=_REASONS[first], note=rest)
    return _REASONS.get(reason, reason)


def _row(one: Listing, said: _Said, asked: int = 0) -> ItemRow:
    return ItemRow(
        href=f"/items/{one.pid}",
        question=one.body.text,
        activity=one.title,
        kind=type_words(one.stratum),
        state=items.ITEM_STATES.get(one.state, one.state),
        tone=_TONES.get(one.state, "todo"),
        detail=said.detail,
        people=said.people,
        at=when_text(one.changed_at),
        questions=asked,
    )


def _states(chosen: str) -> Filter:
    some = tuple(Choice(name, words, name == chosen) for name, words in items.ITEM_STATES.items())
    return Filter("state", say("State"), (Choice("", say("all"), not chosen), *some))


def _types(strata: Sequence[str], chosen: str) -> Filter:
    some = tuple(Choice(kind, type_words(kind), kind == chosen) for kind in strata)
    return Filter("type", say("Question type"), (Choice("", say("all"), not chosen), *some))


def _pair_filter(known: _Known, chosen: tuple[str, str] | None) -> Filter:
    pairs = [(a, b) for n, a in enumerate(known.judges) for b in known.judges[n + 1 :]]
    if chosen is not None and chosen not in pairs and chosen[::-1] not in pairs:
        pairs.append(chosen)
    some = tuple(
        Choice(
            f"{a}~{b}",
            say("{one} and {other}", one=known.names.get(a, a), other=known.names.get(b, b)),
            chosen in ((a, b), (b, a)),
        )
        for a, b in pairs
    )
    return Filter("pair", say("Between"), (Choice("", say("anybody"), chosen is None), *some))


def _one_of(query: QueryParams, name: str, known: Any) -> str:
    value = query.get(name, "")
    return value if value in known else ""


# -- one item --------------------------------------------------------------------------------------------------


async def show_item(request: Request) -> Response:
    """Show everything of an item."""
    pid, desk, person = request.path_params["pid"], desk_of(request), person_of(request)
    studio = studio_of(request)

    def look(connection: Connection) -> ItemView:
        item = items.find_item(connection, pid)
        view = _view(studio, desk, connection, item)
        return msgspec.structs.replace(view, threads=threads_of(connection, pid, person))

    return render(request, "item", await read(request, look))


def _view(studio: Studio, desk: Desk, connection: Connection, item: Item) -> ItemView:
    names = {p.pid: p.name for p in people.list_people(desk, connection)}
    readings = browse.item_readings(connection, item)
    stands = standing(desk, connection, item)
    said = latest_verdicts(connection, item.question.id)
    today = [v for v in said if v.candidate_hash in ("", item.candidate_hash)]
    card = card_of(studio, item.question, f"/items/{item.pid}")
    rows = stands.case.rows
    adjudication = stands.adjudication
    before, after = browse.around(connection, item)
    return ItemView(
        pid=item.pid,
        activity=item.title,
        kind=type_words(item.stratum),
        question=item.question.text,
        statements=(*(row.text for row in rows), *(adjudication.own_answers if adjudication else ())),
        sources=(
            *(
                say("generated")
                if r.source == "machine"
                else say("written by {name}", name=names.get(r.annotator, r.annotator))
                for r in rows
            ),
            *(say("written by the adjudicator") for _ in (adjudication.own_answers if adjudication else ())),
        ),
        final=_final(stands.case, stands.outcome, adjudication),
        final_question=JudgementAnswer(_question_now(stands.outcome, stands.case)),
        judgements=(*_people(today, readings, names), *_machines(today)),
        adjudication=_column(adjudication, readings, names) if adjudication is not None else None,
        state=items.ITEM_STATES.get(item.state, item.state),
        tone=_TONES.get(item.state, "todo"),
        facts=_facts(item, readings, names, card.span, len(said) - len(today)),
        history=tuple(
            Event(when_text(e.at), names.get(e.actor, e.actor), words_of(e, names))
            for e in browse.item_events(connection, item, readings)
        ),
        card=card,
        held=_reason_words(item.reason.removeprefix("dispute: ")) if item.state == "held" else "",
        disputed=item.reason.startswith("dispute"),
        returned=tuple(
            Event(when_text(r.created_at), names.get(r.person, r.person), _reason_words(r.reason))
            for r in readings
            if r.state == "returned" and r.live and r.stage == "judge"
        ),
        reserved=next((names.get(r.person, r.person) for r in readings if _is_reserved(r)), ""),
        revisions=tuple(_revisions(readings, names)),
        repeats=tuple(_repeats(readings, stands.outcome, stands.case, names)),
        before=f"/items/{before}" if before else "",
        after=f"/items/{after}" if after else "",
        may_train=item.state in ("undealt", "machine"),
        may_give_out=item.state == "returned",
    )


def _is_reserved(reading: Reading) -> bool:
    return (
        reading.stage == "adjudicate"
        and reading.live
        and reading.state == "open"
        and not reading.blind_repeat
    )


def _people(
    verdicts: Sequence[Verdict], readings: Sequence[Reading], names: Mapping[str, str]
) -> list[Judgement]:
    """Return a column for each person whose reading counts, then for each whose reading is void."""
    counting = [v for v in verdicts if v.annotator_kind == "human" and v.role == "annotator"]
    columns = [
        _column(v, readings, names)
        for v in sorted(counting, key=lambda v: names.get(v.annotator, v.annotator))
    ]
    known = {v.annotator for v in counting}
    for reading in readings:
        if (
            reading.stage == "judge"
            and reading.revisions
            and reading.person not in known
            and reading.revisions[-1].void
        ):
            last = reading.revisions[-1]
            columns.append(
                Judgement(
                    who=names.get(reading.person, reading.person),
                    kind="person",
                    at=when_text(last.at),
                    question=JudgementAnswer(judged(last.sheet.question)),
                    answers=tuple(
                        JudgementAnswer(judged(last.answers.get(n))) for n in range(len(last.answers))
                    ),
                    own=last.sheet.own_answers,
                    note=last.sheet.note,
                    void=True,
                )
            )
    return columns


def _machines(verdicts: Sequence[Verdict]) -> list[Judgement]:
    machines = [v for v in verdicts if v.annotator_kind != "human"]
    return [
        _column(v, (), {})
        for v in sorted(machines, key=lambda v: (v.annotator_kind != "oracle", v.annotator))
    ]


def _column(verdict: Verdict, readings: Sequence[Reading], names: Mapping[str, str]) -> Judgement:
    stage = "adjudicate" if verdict.role == "adjudicator" else "judge"
    mine = next((r for r in readings if r.person == verdict.annotator and r.stage == stage and r.live), None)
    machine = verdict.voice
    kind: Literal["person", "oracle", "model", "filter"] = "person" if machine == "human" else machine
    return Judgement(
        who=names.get(verdict.annotator, verdict.annotator),
        kind="adjudicator" if verdict.role == "adjudicator" else kind,
        at=_moment(verdict.at),
        question=_answer(verdict.question),
        answers=tuple(_answer(a) for a in verdict.answers),
        own=verdict.own_answers,
        note=verdict.note,
        minutes=_minutes(mine.active_ms) if mine is not None else "",
        pid=mine.pid if mine is not None else "",
    )


def _moment(text: str) -> str:
    """Return a verdict's time as elsewhere on the page; one that cannot be read as it is."""
    try:
        return when_text(datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError, OSError):
        return text[:40]


def _answer(said: AnswerVerdict) -> JudgementAnswer:
    sure = "" if said.confidence is None else figures(f"{said.confidence:.2f}")
    return JudgementAnswer(said.value, said.reason, sure)


def _minutes(milliseconds: int) -> str:
    return say("{n:.1f} min", n=milliseconds / 60_000) if milliseconds else ""


def _question_now(outcome: Merge, case: Case) -> Literal["right", "wrong", ""]:
    if outcome.state == "open":
        return case.question_init or ""
    return "right" if outcome.state == "accepted" else "wrong"


def _final(case: Case, outcome: Merge, adjudication: Verdict | None) -> tuple[JudgementAnswer, ...]:
    """Return what holds now of each statement: what is settled, and what the adjudicator decided."""
    if outcome.state == "rejected" or not case.annotators:
        return tuple(JudgementAnswer("") for _ in case.rows)
    said = adjudication.answers if adjudication is not None and outcome.state == "accepted" else ()
    values = [row.init or (judged(said[n].value) if n < len(said) else "") for n, row in enumerate(case.rows)]
    if outcome.state == "accepted":
        values = [value or "wrong" for value in values]
    own = adjudication.own_answers if adjudication is not None and outcome.state == "accepted" else ()
    return tuple(JudgementAnswer(judged(value)) for value in (*values, *("right" for _ in own)))


def _facts(
    item: Item, readings: Sequence[Reading], names: Mapping[str, str], span: str, outdated: int
) -> tuple[Field, ...]:
    dealt = [names.get(r.person, r.person) for r in readings if r.stage == "judge" and r.live]
    guidelines = sorted({str(rev.guideline) for r in readings for rev in r.revisions if rev.guideline})
    facts = [
        *(
            [Field(say("Recording"), say("{recording}, {span}", recording=item.question.cluster, span=span))]
            if span
            else []
        ),
        Field(say("Question type"), type_words(item.stratum)),
        Field(say("Candidate"), item.question.id),
        Field(say("Given to"), ", ".join(dealt) or say("nobody")),
        Field(say("Generated by"), item.question.provenance.get("generator", "")),
    ]
    if guidelines:
        facts.append(Field(say("Guideline"), say("version {versions}", versions=", ".join(guidelines))))
    if item.in_training:
        facts.append(Field(say("Training"), say("in the training set")))
    if outdated:
        facts.append(Field(say("Left out"), say("{n} verdicts on an older text", n=outdated)))
    return tuple(facts)


def _revisions(readings: Sequence[Reading], names: Mapping[str, str]) -> list[RevisionRow]:
    """Return everything that was submitted, the newest first."""
    rows = [
        (
            revision.at,
            RevisionRow(
                at=when_text(revision.at),
                who=names.get(reading.person, reading.person),
                stage=say("blind repeat")
                if reading.blind_repeat
                else _STAGES.get(reading.stage, reading.stage),
                rev=revision.rev,
                what=_summary(revision.sheet.question, revision.answers),
                own=revision.sheet.own_answers,
                note=revision.sheet.note,
                minutes=_minutes(revision.active_ms),
                guideline=revision.guideline,
                state=_fate(reading, revision),
            ),
        )
        for reading in readings
        for revision in reading.revisions
    ]
    return [row for _, row in sorted(rows, key=lambda pair: pair[0], reverse=True)]


def _summary(question: str | None, answers: Mapping[int, str]) -> str:
    parts = [say("question {verdict}", verdict=_SAYS[question])] if question else []
    parts += [
        say("{number} {verdict}", number=n + 1, verdict=_SAYS.get(answers[n], answers[n]))
        for n in sorted(answers)
    ]
    return listed(parts)


def _fate(reading: Reading, revision: browse.Revision) -> str:
    if revision.void:
        return say("void: {reason}", reason=_reason_words(revision.void))
    if reading.stage == "training" or reading.blind_repeat:
        return say("not a verdict")
    return (
        say_in("a verdict", "counts")
        if revision is reading.revisions[-1] and reading.live
        else say("replaced")
    )


def _repeats(readings: Sequence[Reading], outcome: Merge, case: Case, names: Mapping[str, str]) -> list[str]:
    """Say how a decision that was asked for blindly a second time compares with what holds."""
    holds = dict(enumerate(judged(row.init) for row in case.rows))
    told: list[str] = []
    for reading in readings:
        if not reading.blind_repeat or not reading.revisions:
            continue
        last = reading.revisions[-1]
        compared = [(n, v) for n, v in sorted(last.answers.items()) if holds.get(n)]
        same = sum(holds[n] == v for n, v in compared)
        on_question = judged(last.sheet.question) == _question_now(outcome, case)
        values = {
            "name": names.get(reading.person, reading.person),
            "same": same,
            "total": len(compared),
        }
        told.append(
            say(
                "{name}, without knowing that it was settled: the question as it holds, "
                "{same} of {total} answers as they hold.",
                **values,
            )
            if on_question
            else say(
                "{name}, without knowing that it was settled: the question otherwise, "
                "{same} of {total} answers as they hold.",
                **values,
            )
        )
    return told


# -- media -----------------------------------------------------------------------------------------------------


async def clip(request: Request) -> Response:
    """Send an item's clip to a coordinator."""
    return send_clip(request, part_of((await _find(request)).question, Footage), "mp4")


async def poster(request: Request) -> Response:
    """Send the first picture of it."""
    return send_clip(request, part_of((await _find(request)).question, Footage), "jpg")


async def picture(request: Request) -> Response:
    """Send a picture of an item's card."""
    question, studio = (await _find(request)).question, studio_of(request)
    number = number_in(request.query_params.get("part", ""), -1)
    return await send_picture(await to_thread.run_sync(picture_of, studio, question, number))


async def _find(request: Request) -> Item:
    return await read(request, lambda c: items.find_item(c, request.path_params["pid"]))


# -- deciding --------------------------------------------------------------------------------------------------


async def give_out_again(request: Request) -> Response:
    """Give a returned item back to those who returned it."""
    actor = person_of(request).pid
    return await _change(
        request, "given-out", lambda d, c, item: roster.give_out_again(d, c, item.id, actor=actor)
    )


async def release(request: Request) -> Response:
    """Take a case from the adjudicator who has it open."""
    actor = person_of(request).pid
    return await _change(
        request, "released", lambda d, c, item: roster.release_case(d, c, item.id, actor=actor)
    )


async def resolve(request: Request) -> Response:
    """Decide a held item: an adjudicator is asked again, or its readers are."""
    form, actor = await request.form(), person_of(request).pid
    decision, note = form.get("decision"), str(form.get("note", "")).strip()[:4_000]
    if decision not in ("adjudicate", "again"):
        raise InvalidError([("decision", say("Choose who is asked again."))])
    again = decision == "again"

    def job(desk: Desk, connection: Connection, item: Item) -> None:
        stage = "judge" if again else "adjudicate"
        if stage in documents.protocol(connection).frozen_stages:
            raise ConflictError(say("This stage is closed: open it first, or nobody could submit anything."))
        roster.dispute_resolved(desk, connection, item.id, reopen=again, actor=actor, note=note)

    return await _change(request, "resolved", job)


async def _change(request: Request, said: str, job: Callable[[Desk, Connection, Item], None]) -> Response:
    pid, desk = request.path_params["pid"], desk_of(request)
    await write(request, lambda c: job(desk, c, items.find_item(c, pid)))
    return see_other(f"/items/{pid}?said={said}")


ROUTES: Final = (
    ("/items", "GET", show_items, "coordinator"),
    ("/disagreements", "GET", show_disagreements, "coordinator"),
    ("/items/{pid}", "GET", show_item, "coordinator"),
    ("/items/{pid}/clip.mp4", "GET", clip, "coordinator"),
    ("/items/{pid}/poster.jpg", "GET", poster, "coordinator"),
    ("/items/{pid}/picture", "GET", picture, "coordinator"),
    ("/items/{pid}/return", "POST", give_out_again, "coordinator"),
    ("/items/{pid}/release", "POST", release, "coordinator"),
    ("/items/{pid}/resolve", "POST", resolve, "coordinator"),
)
"""Rows of the route table."""
