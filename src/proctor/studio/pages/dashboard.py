"""The coordinator's dashboard: how far the work is, how far people agree, and what another policy would have cost.

Progress is counted at every view; agreement and policies come from ``verify.desk.snapshot``, with the time that they are
of.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlencode

import msgspec
from anyio import to_thread
from msgspec.structs import replace
from sqlalchemy import Connection, func, select
from starlette.requests import Request
from starlette.responses import Response

from proctor.studio.context import Studio, read, studio_of
from proctor.studio.rendering import looking_again, render, see_other, when_text
from proctor.studio.views import (
    Agreement,
    Bar,
    DashboardView,
    MachineRow,
    NavLink,
    NextStep,
    PairCell,
    PolicyRow,
    Stage,
    TypeAgreement,
    Week,
)
from proctor.verify.desk import items
from proctor.verify.desk.records import gate_in
from proctor.verify.desk.snapshot import Look, Snapshot, Snapshots
from proctor.verify.policy import PolicyName, PolicyOutcome, Rate
from proctor.verify.schema import tables

if TYPE_CHECKING:
    from proctor.verify import agreement

__all__ = ["ROUTES", "recompute", "show_dashboard", "snapshots_of", "type_words"]

_TYPE_WORDS: Final[Mapping[str, str]] = {"next": "next step", "missing": "missing step"}
"""Question types that people would not understand by their names alone."""

_WAIT_SECONDS: Final = 1.5
"""How long a page of a small project waits for numbers that are being computed."""
_COUNTS_SECONDS: Final = 2.0
_ENOUGH: Final = 10
"""Pairs of judgments from which a share says something; types with fewer are folded away."""
_RARE: Final = (
    "settled by machines",
    "held",
    "could not be judged",
    "waiting for you",
    "in training",
    "not dealt",
)
"""Parts of a stage that are not named where there are none."""
_KINDS: Final = {"oracle": "task graph", "model": "model"}
_POLICIES: Final[Mapping[PolicyName, tuple[str, str]]] = {
    "everything": ("Everything", "The published protocol: people judge every item."),
    "doubted": (
        "What machines doubt",
        "People judge an item when no machine judged it, one is unsure, or they differ.",
    ),
    "audit": (
        "What machines doubt, and a blind audit",
        "Of what machines settle, one item in ten goes to people, who are not told which.",
    ),
}


class Counts(NamedTuple):
    """What is counted at every view.

    Attributes:
        states: items by state, all question types together.
        readings: first-stage assignments that are open, and submitted.
        training: people who are in training, who wait for the coordinator, and who were let in.
        policy: name of the policy that was dealt last; empty before.
        names: pid to display name.
    """

    states: Mapping[str, int]
    readings: tuple[int, int]
    training: tuple[int, int, int]
    policy: str
    names: Mapping[str, str]


async def show_dashboard(request: Request) -> Response:
    """Show where the project stands."""
    studio = studio_of(request)
    counts = await _counts(request, studio)
    look = await to_thread.run_sync(lambda: snapshots_of(studio).look(wait=_WAIT_SECONDS))
    return looking_again(
        render(request, "dashboard", _view(counts, look)), "/dashboard" if look.computing else ""
    )


async def recompute(request: Request) -> Response:
    """Have the numbers computed now, however short ago that was."""
    studio = studio_of(request)
    await to_thread.run_sync(lambda: snapshots_of(studio).look(wait=_WAIT_SECONDS, now=True))
    return see_other("/dashboard")


def snapshots_of(studio: Studio) -> Snapshots:
    """Return what keeps the numbers of a studio."""
    found: Snapshots = studio.more.setdefault("snapshots", None) or Snapshots(studio.desk)
    studio.more["snapshots"] = found
    return found


# -- counts ----------------------------------------------------------------------------------------------------


async def _counts(request: Request, studio: Studio) -> Counts:
    """Count, at most every two seconds: at 100,000 items it takes 30 ms."""
    at, known = studio.more.get("dashboard_counts", (float("-inf"), None))
    if known is None or time.monotonic() - at > _COUNTS_SECONDS:
        known = await read(request, _count)
        studio.more["dashboard_counts"] = (time.monotonic(), known)
    counted: Counts = known
    return counted


def _count(connection: Connection) -> Counts:
    states: dict[str, int] = {}
    for by_state in items.count_items(connection).values():
        for state, n in by_state.items():
            states[state] = states.get(state, 0) + n
    p = tables().people
    people = connection.execute(
        p.select().with_only_columns(p.c.pid, p.c.name, p.c.role, p.c.gates, p.c.state)
    ).all()
    gates = [
        gate_in(msgspec.json.decode(row.gates))
        for row in people
        if row.state == "active" and row.role in ("annotator", "adjudicator")
    ]
    return Counts(
        states=states,
        readings=_readings(connection),
        training=(gates.count("training"), gates.count("waiting"), gates.count("open")),
        policy=_last_policy(connection),
        names={row.pid: row.name for row in people},
    )


def _readings(connection: Connection) -> tuple[int, int]:
    """Count open and submitted readings; those states are live ones, so the index alone answers."""
    a = tables().assignments
    query = select(a.c.state, func.count()).where(a.c.stage == "judge", a.c.state.in_(("open", "submitted")))
    found = {row[0]: int(row[1]) for row in connection.execute(query.group_by(a.c.state))}
    return found.get("open", 0), found.get("submitted", 0)


def _last_policy(connection: Connection) -> str:
    e = tables().events
    query = e.select().with_only_columns(e.c.body).where(e.c.subject == "items", e.c.kind == "items.dealt")
    body = connection.execute(query.order_by(e.c.id.desc()).limit(1)).scalar()
    return str(msgspec.json.decode(body).get("policy", "")) if body is not None else ""


# -- the view --------------------------------------------------------------------------------------------------


def _view(counts: Counts, look: Look) -> DashboardView:
    made = look.snapshot
    todo = (
        NavLink("To adjudicate", "/items?state=case", count=_many(counts.states.get("case", 0))),
        NavLink("Held", "/items?state=held", count=_many(counts.states.get("held", 0))),
        NavLink("Left open", "/items?state=judging", count=_many(counts.states.get("judging", 0))),
        NavLink(
            "Could not be judged", "/items?state=returned", count=_many(counts.states.get("returned", 0))
        ),
        NavLink("To let in", "/people", count=_many(counts.training[1])),
    )
    view = DashboardView(
        stages=_stages(counts),
        headline=_headline(counts),
        next=_next(counts),
        todo=tuple(link for link in todo if link.count != "0"),
        computing=_computing(look),
        problem=look.problem,
    )
    return view if made is None else _with_numbers(view, made, counts)


def _with_numbers(view: DashboardView, made: Snapshot, counts: Counts) -> DashboardView:
    report = made.report
    judged = report.questions.overall.n > 0
    people, pairs = _pairs(report, counts.names)
    types = _types(made) if judged else ()
    warnings = (*report.warnings, *(made.policies.warnings if made.policies is not None else ()))
    return replace(
        view,
        population=f"{report.population}." if report.double_judged else "No item has been judged twice yet.",
        as_of=when_text(made.at),
        overall=(
            _agreement("Question", report.questions.overall),
            _agreement("Answer", report.answers.overall),
        )
        if judged
        else (),
        headline=" ".join((view.headline, *((_agreed(report),) if judged else ()))),
        types=tuple(t for t in types if t.question.n >= _ENOUGH),
        few=tuple(t for t in types if t.question.n < _ENOUGH),
        people=people,
        pairs=pairs,
        weeks=tuple(
            Week(week, one.n, one.raw.value, one.raw.low, one.raw.high)
            for week, one in report.questions.by_week.items()
        ),
        policies=_policies(made, counts.policy),
        policy_note=_policy_note(made),
        methods=_methods(report),
        training=_training(made, counts.names),
        machines=_machines(report),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _headline(counts: Counts) -> str:
    """Say how far the work is."""
    s = counts.states
    done = sum(s.get(name, 0) for name in ("settled", "rejected", "machine"))
    dealt = sum(n for state, n in s.items() if state not in ("gone", "training", "undealt"))
    if not dealt:
        return f"Nothing is dealt yet; {_many(s.get('undealt', 0))} items are there."
    rest = s.get("undealt", 0)
    more = f", and {_many(rest)} more are not dealt" if rest else ""
    return f"{_many(done)} of {_many(dealt)} dealt items are finished{more}."


def _agreed(report: agreement.AgreementReport) -> str:
    """Say how far people agree; too few pairs are no finding."""
    parts = []
    for what, topic in (("questions", report.questions.overall), ("answers", report.answers.overall)):
        raw = topic.raw
        if topic.n and raw.value is not None:
            ends = f" [{raw.low:.0%}, {raw.high:.0%}]" if raw.low is not None and raw.high is not None else ""
            parts.append(f"{raw.value:.0%} of {_many(topic.n)} {what}{ends}")
    text = "Two readers agree on " + " and ".join(parts) + "."
    if report.questions.overall.n < _ENOUGH:
        text += " That is too little to judge by."
    return text.replace("%", " %")


def _next(counts: Counts) -> NextStep | None:
    """Return the first thing that somebody waits for."""
    s = counts.states
    back, held, cases, rest = (s.get(name, 0) for name in ("returned", "held", "case", "undealt"))
    steps = (
        (counts.training[1], "/people", "Let people begin", "They have finished the training and wait for you."),
        (back, "/items?state=returned", "Decide what came back", f"{_many(back)} items could not be judged."),
        (held, "/items?state=held", "Decide what is held", f"{_many(held)} items are disputed, or have no answer."),
        (cases, "/items?state=case", "Look at the cases", f"{_many(cases)} items wait for an adjudicator."),
        (rest, "/deal", "Deal items", f"{_many(rest)} items are given to nobody."),
        (not s.get("judging", 0) and s.get("settled", 0), "/exports", "Export", "Everything that was dealt is finished."),
    )  # fmt: skip
    return next((NextStep(href, label, detail) for n, href, label, detail in steps if n), None)


def _computing(look: Look) -> str:
    if look.computing:
        return "Newer numbers are being computed; this page looks again by itself."
    if look.snapshot is not None and not look.fresh:
        return "More has been said since."
    return ""


def _many(n: int) -> str:
    return f"{n:,}"


def _stages(counts: Counts) -> tuple[Stage, ...]:
    s = counts.states
    waiting, done = counts.readings
    judging = Stage(
        "Items",
        (
            Bar("accepted", s.get("settled", 0), "done", "/items?state=settled"),
            Bar("rejected", s.get("rejected", 0), "done", "/items?state=rejected"),
            Bar("settled by machines", s.get("machine", 0), "done", "/items?state=machine"),
            Bar("with an adjudicator", s.get("case", 0), "current", "/items?state=case"),
            Bar("held", s.get("held", 0), "error", "/items?state=held"),
            Bar("could not be judged", s.get("returned", 0), "error", "/items?state=returned"),
            Bar("being judged", s.get("judging", 0), "current", "/items?state=judging"),
            Bar("not dealt", s.get("undealt", 0), "todo", "/items?state=undealt"),
        ),
        f"{_many(sum(n for state, n in s.items() if state not in ('gone', 'training')))} in all",
    )
    readings = Stage("Readings", (Bar("submitted", done, "done"), Bar("open", waiting, "todo")))
    learning, before, let_in = counts.training
    people = Stage(
        "People",
        (
            Bar("let in", let_in, "done", "/people"),
            Bar("waiting for you", before, "current", "/people"),
            Bar("in training", learning, "todo", "/people"),
        ),
    )
    return tuple(
        replace(stage, parts=tuple(part for part in stage.parts if part.count or part.label not in _RARE))
        for stage in (judging, readings, people)
    )


def _agreement(label: str, a: agreement.Agreement) -> Agreement:
    return Agreement(
        label=label,
        n=a.n,
        raw=a.raw.value,
        raw_low=a.raw.low,
        raw_high=a.raw.high,
        alpha=a.alpha.value,
        alpha_low=a.alpha.low,
        alpha_high=a.alpha.high,
        yes=a.prevalence.value,
        why=a.alpha.note,
    )


def type_words(kind: str) -> str:
    """Return a question type in words."""
    return _TYPE_WORDS.get(kind, kind)


def _types(made: Snapshot) -> tuple[TypeAgreement, ...]:
    questions, answers = made.report.questions.by_type, made.report.answers.by_type
    return tuple(
        TypeAgreement(
            type_words(kind),
            "/disagreements?" + urlencode({"type": kind}),
            _agreement("Question", questions[kind]),
            _agreement("Answer", answers[kind]),
        )
        for kind in sorted(set(questions) & set(answers))
        if questions[kind].n
    )


def _pairs(
    report: agreement.AgreementReport, names: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[tuple[PairCell | None, ...], ...]]:
    """Return names and the matrix over questions, which every pair has; its upper half."""
    matrix = report.questions.matrix
    size = range(len(matrix.names))

    def cell(a: int, b: int) -> PairCell | None:
        if b <= a:
            return None
        n = matrix.n[a][b]
        href = "/disagreements?" + urlencode({"pair": f"{matrix.names[a]}~{matrix.names[b]}"}) if n else ""
        return PairCell(n, matrix.raw[a][b], matrix.kappa[a][b], href)

    people = tuple(names.get(pid, pid) for pid in matrix.names) if len(matrix.names) > 1 else ()
    return people, tuple(tuple(cell(a, b) for b in size) for a in size)


def _machines(report: agreement.AgreementReport) -> tuple[MachineRow, ...]:
    rows = []
    for machine in report.machines:
        for what, topic, people in (
            ("question", machine.questions, report.questions.overall),
            ("answer", machine.answers, report.answers.overall),
        ):
            line = topic.overall
            rows.append(
                MachineRow(
                    name=machine.name,
                    kind=_KINDS.get(machine.kind, machine.kind),
                    what=what,
                    n=line.n,
                    raw=line.raw.value,
                    raw_low=line.raw.low,
                    raw_high=line.raw.high,
                    kappa=line.kappa.value,
                    kappa_low=line.kappa.low,
                    kappa_high=line.kappa.high,
                    people=people.raw.value,
                    unsure=topic.unsure,
                    too_kind=line.a_only,
                    too_strict=line.b_only,
                    why=line.kappa.note,
                )
            )
    return tuple(rows)


def _policies(made: Snapshot, active: str) -> tuple[PolicyRow, ...]:
    if made.policies is None or not made.policies.items:
        return ()
    whole = next((o for o in made.policies.outcomes if o.policy.name == "everything"), None)
    return tuple(_policy(outcome, whole, active) for outcome in made.policies.outcomes)


def _policy(outcome: PolicyOutcome, whole: PolicyOutcome | None, active: str) -> PolicyRow:
    name, detail = _POLICIES[outcome.policy.name]
    differ = outcome.answers_added + outcome.answers_lost + outcome.own_answers_lost
    everything = outcome.policy.name == "everything"
    share = 1.0 - outcome.saved_share if outcome.saved_share is not None else None
    if share is None and whole is not None and whole.judgements:
        share = outcome.judgements / whole.judgements
    return PolicyRow(
        name=name,
        detail=detail,
        minutes="–" if outcome.minutes is None else f"{outcome.minutes:,.0f}",
        share=share if share is not None else 0.0,
        changed="–" if everything else f"{differ:,} of {whole.answers if whole else outcome.answers:,}",
        active=outcome.policy.name == active,
        judgements=f"{outcome.judgements:,}",
        adjudications=f"{outcome.adjudications:,}",
        items="–" if everything else _rate(outcome.changed),
        error="–" if everything else _rate(outcome.machine.items),
    )


def _rate(rate: Rate) -> str:
    if rate.rate is None:
        return "–"
    ends = "" if rate.low is None or rate.high is None else f" [{rate.low:.1%}, {rate.high:.1%}]"
    return f"{rate.errors:,} of {rate.n:,} · {rate.rate:.1%}{ends}".replace("%", " %")


def _policy_note(made: Snapshot) -> str:
    if made.policies is None:
        return f"The policies cannot be compared: {made.problem}"
    minutes = made.policies.minutes
    parts = [f"Computed from {made.policies.population}."]
    if made.policies.unfinished:
        parts.append(f"{made.policies.unfinished:,} are not finished and left out.")
    if minutes.judgement is not None:
        parts.append(f"A judgement takes {minutes.judgement:.1f} minutes (median of {minutes.judgements:,}).")
    if minutes.adjudication is not None:
        parts.append(
            f"An adjudication takes {minutes.adjudication:.1f} (median of {minutes.adjudications:,})."
        )
    if minutes.judgement is None:
        parts.append("No active times are known yet, so there are no minutes.")
    return " ".join(parts)


def _methods(report: agreement.AgreementReport) -> tuple[str, ...]:
    mean = report.questions.overall.mean_of_pairs.value, report.answers.overall.mean_of_pairs.value
    unsure = report.questions.unsure + report.answers.unsure
    left_out = sum(report.left_out.values())
    return tuple(
        text
        for text in (
            f"Questions: {report.questions.condition}. Answers: {report.answers.condition}.",
            f"Intervals of {report.confidence:.0%}: {report.method}; {report.draws:,} draws, seed {report.seed}.".replace("%", " %"),
            "Mean of the pairs' raw agreement, as the published benchmark reports it: "
            + ", ".join(f"{what} {'–' if v is None else f'{v:.3f}'}" for what, v in zip(("questions", "answers"), mean, strict=True))
            + ".",
            f"{unsure:,} judgements “unsure” are left out." if unsure else "",
            f"{left_out:,} verdicts do not fit their item and are left out." if left_out else "",
        )
        if text
    )  # fmt: skip


def _training(made: Snapshot, names: Mapping[str, str]) -> tuple[tuple[str, float | None, float | None], ...]:
    main = {line.name: line.main.value for line in made.report.people}
    pids: Sequence[str] = sorted({*main, *made.training}, key=lambda pid: names.get(pid, pid))
    if not made.training:
        return ()
    return tuple((names.get(pid, pid), made.training.get(pid), main.get(pid)) for pid in pids)


ROUTES: Final = (
    ("/dashboard", "GET", show_dashboard, "coordinator"),
    ("/dashboard/recompute", "POST", recompute, "coordinator"),
)
