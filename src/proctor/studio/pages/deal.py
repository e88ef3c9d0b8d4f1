"""Dealing items: choose, look at what each person and each pair would get, and deal exactly that.

A plan follows from the store, the choices and the desk's seed alone. The form carries the digest of the plan that was
shown; when the plan has become another one, nothing is dealt and the new plan is shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple, get_args
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection
from starlette.datastructures import FormData, QueryParams
from starlette.requests import Request
from starlette.responses import Response

from proctor.errors import UserError
from proctor.said import listed, say, say_count
from proctor.studio.context import beside_of, desk_of, person_of, read, studio_of, text_in, write
from proctor.studio.pages.dashboard import type_words
from proctor.studio.pages.events import in_a_row, role_words
from proctor.studio.rendering import explain, looking_again, render, see_other, when_text
from proctor.studio.views import Choice, DealRow, DealView, Moved
from proctor.verify.desk import documents, people, roster
from proctor.verify.desk.beside import BrokenOffError
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.events import newest_event
from proctor.verify.desk.records import ConflictError, InvalidError, Person
from proctor.verify.desk.roster import Barred, DealPlan, Over
from proctor.verify.policy import Policy, PolicyName
from proctor.verify.schema import tables

__all__ = ["ROUTES", "show_deal"]

_POLICIES: Final[dict[PolicyName, tuple[str, str]]] = {
    "everything": (say("Everything"), say("People judge every item: the published protocol.")),
    "doubted": (
        say("What machines doubt"),
        say("People judge what machines did not judge, or are not sure of."),
    ),
    "audit": (
        say("Doubted, and a blind share"),
        say("The same, and a share of the others. Nobody sees which."),
    ),
}
_OVER: Final[dict[Over, str]] = {"type": say("Question types"), "activity": say("Activities")}
_REASONS: Final[dict[str, str]] = {
    "everything": say("to people: the policy sends everything"),
    "not-judged": say("to people: no machine judged them"),
    "doubted": say("to people: machines doubt or disagree"),
    "no-answer": say("to people: machines let the question pass and no answer"),
    "audit": say("to people: the blind share of what machines settled"),
    "settled": say("to machines: they settled them"),
}
_MAX_TEXT: Final = 100_000
SMALL: Final = 500
"""Items up to which a deal is planned while somebody waits."""
_FRESH_SECONDS: Final = 60.0
"""How long a plan that was worked out beside is shown when nothing was said since: verdicts of machines leave no event."""


class _Wish(Struct, frozen=True):
    """What the form says, before it is made sense of."""

    policy: PolicyName = "everything"
    audit_share: float = 0.1
    people: tuple[str, ...] = ()
    over: tuple[Over, ...] = ("type",)
    per_item: int = 2
    capacity: int = 0
    limit: int = 0
    barred: str = ""
    most: str = ""


async def show_deal(request: Request) -> Response:
    """Show the choices, and with ``preview=1`` what they would give."""
    form = request.query_params
    return await _page(request, form, preview=form.get("preview") == "1")


async def deal(request: Request) -> Response:
    """Deal exactly what the preview showed; a long form may ask for its preview by POST, too."""
    form, desk, me = await request.form(), desk_of(request), person_of(request)
    if form.get("preview") == "1":
        return await _page(request, form, preview=True)
    try:
        wish = _wish_of(form)
        plan = await read(request, lambda c: _plan(desk, c, wish))
        if roster.deal_digest(plan) != str(form.get("digest", "")):
            raise ConflictError(say("The plan is no longer the one that was shown. This is the new one."))
        await write(request, lambda c: roster.apply_deal(desk, c, plan, actor=me.pid))
    except ConflictError as error:
        return await _page(request, form, preview=True, error=error.message, status=409)
    except UserError as error:
        return await _page(request, form, preview=False, error=explain(error), status=422)
    return see_other("/deal?said=dealt")


async def _page(
    request: Request, form: FormData | QueryParams, *, preview: bool, error: str = "", status: int = 200
) -> Response:
    desk = desk_of(request)

    def look(connection: Connection) -> tuple[DealView, int]:
        wish, shown, told, code = _Wish(per_item=documents.protocol(connection).per_item), None, error, status
        waiting = roster.count_undealt(connection)
        if "policy" in form or preview:
            try:
                wish = _wish_of(form)
                shown = _look(request, connection, wish, waiting) if preview else None
            except UserError as refused:
                wish = _wish_of(form, strict=False)
                told, code = (
                    told or explain(refused),
                    503 if isinstance(refused, BrokenOffError) else max(code, 422),
                )
        view = _view(desk, connection, wish, waiting, told)
        return view if shown is None else _with_preview(view, shown), code

    view, code = await read(request, look)
    return looking_again(render(request, "deal", view, status=code), view.again)


# -- the preview -----------------------------------------------------------------------------------------------


class _Preview(NamedTuple):
    """What is shown of a plan, and the number of the last event that it knows of."""

    event: int
    headers: tuple[str, ...]
    rows: tuple[DealRow, ...]
    loads: tuple[Moved, ...]
    spread: str
    digest: str
    reasons: tuple[str, ...]


class _Shown(NamedTuple):
    """A preview, None while it is worked out; when that was begun; and where the page looks again."""

    preview: _Preview | None
    at: float | None = None
    again: str = ""


def _look(request: Request, connection: Connection, wish: _Wish, waiting: int) -> _Shown:
    """Plan a small deal at once; of a large one show what was worked out, or have it worked out.

    A form that comes by POST waits: the browser could not send it again by itself.
    """
    desk = desk_of(request)
    if request.method != "GET" or waiting <= SMALL:
        return _Shown(_work_out(desk, connection, wish))
    beside, again = beside_of(studio_of(request)), f"/deal?{urlencode(request.query_params.multi_items())}"
    work = f"deal {hashlib.sha256(repr(wish).encode()).hexdigest()}"
    found = beside.look(work)
    if found is not None and found.problem is not None:
        beside.forget(work)
        raise found.problem
    if found is not None and not found.running:
        known: _Preview = found.value
        if found.age < _FRESH_SECONDS and roster.is_deal_fresh(connection, known.event):
            return _Shown(known, found.at)
    beside.begin(work, _work_out, wish)
    return _Shown(None, None, again)


def _work_out(desk: Desk, connection: Connection, wish: _Wish) -> _Preview:
    event = newest_event(connection)
    plan = _plan(desk, connection, wish)
    names = {p.pid: p.name for p in people.list_people(desk, connection, state="active")}
    headers, rows = _pairs(plan, names)
    dealt = plan.deal.loads if plan.deal is not None else {}
    return _Preview(
        event=event,
        headers=headers,
        rows=rows,
        loads=tuple(
            Moved(names.get(pid, pid), now, now + dealt.get(pid, 0)) for pid, now in plan.loads.items()
        ),
        spread=_spread(plan),
        digest=roster.deal_digest(plan),
        reasons=_reasons(plan),
    )


def _with_preview(view: DealView, shown: _Shown) -> DealView:
    made = shown.preview
    if made is None:
        return replace(view, computing=True, again=shown.again)
    return replace(
        view,
        headers=made.headers,
        rows=made.rows,
        loads=made.loads,
        spread=made.spread,
        digest=made.digest,
        reasons=made.reasons,
        as_of=when_text(shown.at) if shown.at is not None else "",
    )


# -- what the form says ----------------------------------------------------------------------------------------


def _wish_of(form: FormData | QueryParams, *, strict: bool = True) -> _Wish:
    """Return the choices of a form.

    Raises:
        InvalidError: if one makes no sense and ``strict``; the usual value stands for it otherwise.
    """
    usual = _Wish()
    errors: list[tuple[str, str]] = []

    def number(name: str, low: float, high: float, default: float, label: str) -> float:
        text = text_in(form, name)
        try:
            value = float(text) if text else default
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            errors.append(
                (name, say("{field}: a number from {low:g} to {high:g}.", field=label, low=low, high=high))
            )
            return default
        return value

    policy = next((p for p in get_args(PolicyName) if p == text_in(form, "policy")), None)
    if policy is None:
        errors.append(("policy", say("Choose what reaches people.")))
    wish = _Wish(
        policy=policy or usual.policy,
        audit_share=number("audit_share", 0, 100, 10, say("The blind share in percent")) / 100,
        people=tuple(dict.fromkeys(str(p) for p in form.getlist("person"))),
        over=tuple(o for o in get_args(Over) if o in form.getlist("stratum")),
        per_item=int(number("per_item", 1, 9, usual.per_item, say("People for each item"))),
        capacity=int(number("capacity", 0, 10_000_000, 0, say("At most for each person"))),
        limit=int(number("limit", 0, 10_000_000, 0, say("Deal at most"))),
        barred=text_in(form, "barred")[:_MAX_TEXT],
        most=text_in(form, "most")[:_MAX_TEXT],
    )
    if errors and strict:
        raise InvalidError(errors)
    return wish


def _plan(desk: Desk, connection: Connection, wish: _Wish) -> DealPlan:
    every = people.list_people(desk, connection, state="active")
    chosen = [p for p in every if p.pid in wish.people]
    if len(chosen) != len(wish.people):
        raise InvalidError(
            [("person", say("One of these people is not in the project any more. Choose again."))]
        )
    if len(chosen) < wish.per_item:
        raise InvalidError(
            [("person", say("Choose at least {n} people: that many judge each item.", n=wish.per_item))]
        )
    handles = {p.handle: p.pid for p in every}
    most = {p.pid: wish.capacity for p in chosen} if wish.capacity else {}
    most |= _limits(wish.most, handles)
    return roster.plan_deal(
        desk,
        connection,
        chosen,
        Policy(name=wish.policy, people=wish.per_item, audit_share=wish.audit_share),
        barred=_barred(connection, wish.barred, handles),
        most=most,
        over=wish.over,
        limit=wish.limit or None,
    )


def _lines(text: str, handles: dict[str, str], field: str) -> list[tuple[str, str]]:
    """Return (pid, what follows) of lines ``sign-in name: …``."""
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        handle, colon, rest = line.partition(":")
        pid = handles.get(handle.strip().lower())
        if not colon or pid is None or not rest.strip():
            raise InvalidError(
                [(field, say("'{line}' does not begin with a sign-in name and a colon.", line=line[:80]))]
            )
        found.append((pid, rest.strip()))
    return found


def _limits(text: str, handles: dict[str, str]) -> dict[str, int]:
    limits = {}
    for pid, rest in _lines(text, handles, "most"):
        if not rest.isdecimal() or len(rest) > 8:
            raise InvalidError([("most", say("'{text}' is not a number of items.", text=rest[:40]))])
        limits[pid] = int(rest)
    return limits


def _barred(connection: Connection, text: str, handles: dict[str, str]) -> list[Barred]:
    pairs = [
        (pid, name)
        for pid, rest in _lines(text, handles, "barred")
        for name in filter(None, map(str.strip, rest.split(",")))
    ]
    i = tables().items
    for name in sorted({name for _, name in pairs}):
        one = i.select().with_only_columns(i.c.id).where(i.c.cluster == name).limit(1)
        if connection.execute(one).first() is None:
            raise InvalidError([("barred", say("There is no item of a recording '{name}'.", name=name[:80]))])
    return pairs


# -- what the page shows ---------------------------------------------------------------------------------------


def _view(desk: Desk, connection: Connection, wish: _Wish, waiting: int, error: str) -> DealView:
    every = people.list_people(desk, connection, state="active")
    loads = roster.judge_loads(connection)
    return DealView(
        waiting=waiting,
        policies=tuple(Choice(k, label, k == wish.policy, note) for k, (label, note) in _POLICIES.items()),
        people=tuple(_person(p, wish, loads.get(p.pid, 0)) for p in every),
        strata=tuple(Choice(k, label, k in wish.over) for k, label in _OVER.items()),
        constraints=(),
        capacity=wish.capacity,
        seed=desk.seed,
        per_item=wish.per_item,
        error=error,
        audit_share=wish.audit_share,
        limit=wish.limit,
        barred=wish.barred,
        most=wish.most,
    )


def _person(person: Person, wish: _Wish, load: int) -> Choice:
    chosen = person.pid in wish.people if wish.people else person.role == "annotator"
    role = "" if person.role == "annotator" else role_words(person.role)
    so_far = say_count(load, "{n:,} item so far", "{n:,} items so far") if load else ""
    notes = (role, so_far, "" if person.gate == "open" else say("in training"))
    return Choice(person.pid, person.name, chosen, listed(filter(None, notes)))


def _pairs(plan: DealPlan, names: dict[str, str]) -> tuple[tuple[str, ...], tuple[DealRow, ...]]:
    """Return question types, and for each pair its items, all and by type."""
    if plan.deal is None:
        return (), ()
    kinds = sorted(set(plan.kinds.values()))
    place = {kind: n for n, kind in enumerate(kinds)}
    counts: dict[tuple[str, ...], list[int]] = {}
    for name, group in plan.deal.assignment.items():
        for pair in _pairs_of(group):
            counts.setdefault(pair, [0] * len(kinds))[place[plan.kinds[name]]] += 1
    every = plan.deal.pair_counts if plan.deal.per_item > 1 else {(p,): n for p, n in plan.deal.loads.items()}
    rows = tuple(
        DealRow(_pair([names.get(p, p) for p in pair]), n, tuple(counts.get(pair, [0] * len(kinds))))
        for pair, n in every.items()
    )
    return tuple(map(type_words, kinds)), rows


def _pair(names: Sequence[str]) -> str:
    return say("{one} and {other}", one=names[0], other=names[1]) if len(names) > 1 else names[0]


def _pairs_of(group: Sequence[str]) -> list[tuple[str, ...]]:
    from itertools import combinations

    return list(combinations(sorted(group), min(2, len(group))))


def _spread(plan: DealPlan) -> str:
    if plan.deal is None:
        return say("No item would go to people.")
    deal = plan.deal
    parts = [say("{n:,} items, {people} people each.", n=len(deal.assignment), people=deal.per_item)]
    if deal.per_item > 1 and deal.pair_counts:
        low, high = min(deal.pair_counts.values()), max(deal.pair_counts.values())
        parts.append(
            say("Every pair gets {n}.", n=low)
            if low == high
            else say("Pairs get {low} to {high}.", low=low, high=high)
        )
    low, high = min(deal.loads.values()), max(deal.loads.values())
    parts.append(
        say("Every person gets {n}.", n=low)
        if low == high
        else say("People get {low} to {high}.", low=low, high=high)
    )
    inside = max((s.pairs[1] - s.pairs[0] for s in deal.strata), default=0)
    if len(deal.strata) > 1 and deal.per_item > 1:
        parts.append(
            say(
                "Inside each of {groups} groups pairs differ by {most} at most.",
                groups=len(deal.strata),
                most=inside,
            )
        )
    if deal.constrained:
        parts.append(say("Your limits are kept; they make it less even than it could be."))
    if plan.skipped:
        parts.append(
            say_count(
                plan.skipped,
                "{n:,} more item waits for a later deal.",
                "{n:,} more items wait for a later deal.",
            )
        )
    return in_a_row(parts)


def _reasons(plan: DealPlan) -> tuple[str, ...]:
    counts: dict[str, int] = {}
    for planned in plan.planned.values():
        counts[planned.reason] = counts.get(planned.reason, 0) + 1
    return tuple(
        say("{n:,} {whither}", n=counts[key], whither=text) for key, text in _REASONS.items() if key in counts
    )


ROUTES: Final = (("/deal", "GET", show_deal, "coordinator"), ("/deal", "POST", deal, "coordinator"))
"""Rows of the route table."""
