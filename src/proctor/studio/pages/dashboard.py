"""The coordinator's dashboard: how far the work is, how far people agree, and what another policy would have cost.

Progress is counted at every view; agreement and policies come from ``verify.desk.snapshot``, with the time that they are
of.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlencode

import msgspec
from anyio import to_thread
from msgspec.structs import replace
from sqlalchemy import Connection, func, select
from starlette.requests import Request
from starlette.responses import Response

from proctor.said import say, say_count, say_in
from proctor.studio.context import Studio, studio_of
from proctor.studio.language import figures
from proctor.studio.pages.comments import waits_words
from proctor.studio.pages.events import in_a_row
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
from proctor.verify.desk import comments, items
from proctor.verify.desk.records import gate_in
from proctor.verify.desk.snapshot import Look, Snapshot, Snapshots
from proctor.verify.policy import PolicyName, PolicyOutcome, Rate
from proctor.verify.schema import tables

if TYPE_CHECKING:
    from proctor.verify import agreement

__all__ = ["ROUTES", "headline", "recompute", "show_dashboard", "snapshots_of", "summary", "type_words"]

_TYPE_WORDS: Final[Mapping[str, str]] = {
    "next": say("next step"),
    "missing": say("missing step"),
    "order": say_in("question type", "order"),
    "preparation": say_in("question type", "preparation"),
    "measurement": say_in("question type", "measurement"),
    "timing": say_in("question type", "timing"),
    "technique": say_in("question type", "technique"),
    "temperature": say_in("question type", "temperature"),
}
"""Question types that are no names of somebody's own."""

_WAIT_SECONDS: Final = 1.5
"""How long a page of a small project waits for numbers that are being computed."""
_COUNTS_SECONDS: Final = 2.0
_ENOUGH: Final = 10
"""Pairs of judgements from which a share says something; types with fewer are folded away."""
_KINDS: Final = {"oracle": say("task graph"), "model": say("model"), "filter": say("filter")}
_POLICIES: Final[Mapping[PolicyName, tuple[str, str]]] = {
    "everything": (say("Everything"), say("The published protocol: people judge every item.")),
    "doubted": (
        say("What machines doubt"),
        say("People judge an item when no machine judged it, one is unsure, or they differ."),
    ),
    "audit": (
        say("What machines doubt, and a blind audit"),
        say("Of what machines settle, one item in ten goes to people, who do not see which."),
    ),
}
_TOLD: Final = (
    say("questions that two or more people judged, accepted or not"),
    say("generated answers whose question both people call valid; the others say nothing about answers"),
    say("raw agreement: Wilson; all others: percentile bootstrap over recordings"),
    say("nothing was judged by both"),
    say("every judgement is 'right': chance is certain, so nothing can be corrected for it"),
    say("every judgement is 'wrong': chance is certain, so nothing can be corrected for it"),
    say("Agreement needs two people who judge the same items; one person has judged."),
    say("Agreement needs two people who judge the same items; nobody has judged."),
    *(say("Only {n} recordings: the bootstrap intervals are too narrow.", n=n) for n in range(2, 10)),
    say(
        "People rejected none of these items: that machines accept a question which people reject cannot be seen "
        "here, so their error is too low."
    ),
)
_SENTENCES: Final[Mapping[str, str]] = {str(sentence): sentence for sentence in _TOLD}
"""What reports of ``verify`` say: they are kept as plain text."""


class Counts(NamedTuple):
    """What is counted at every view.

    Attributes:
        states: items by state, all question types together.
        readings: first-stage assignments that are open, and submitted.
        training: people who are in training, who wait for the coordinator, and who were let in.
        policy: name of the policy that was dealt last; empty before.
        names: pid to display name.
        asked: questions to the coordinators that wait for an answer.
    """

    states: Mapping[str, int]
    readings: tuple[int, int]
    training: tuple[int, int, int]
    policy: str
    names: Mapping[str, str]
    asked: int = 0


async def show_dashboard(request: Request) -> Response:
    """Show where the project stands."""
    studio = studio_of(request)
    counts = await _counts(studio)
    look = await to_thread.run_sync(lambda: snapshots_of(studio).look(wait=_WAIT_SECONDS))
    return looking_again(
        render(request, "dashboard", _view(counts, look)), "/dashboard" if look.computing else ""
    )


async def summary(request: Request) -> tuple[Counts, str, float | None]:
    """Return what is counted, what the page says first, and as of when it says how far people agree."""
    counts = await _counts(studio_of(request))
    look = await to_thread.run_sync(lambda: snapshots_of(studio_of(request)).look(wait=_WAIT_SECONDS))
    return counts, _view(counts, look).headline, look.snapshot.at if look.snapshot is not None else None


async def headline(studio: Studio) -> str:
    """Say how far the work of a studio is."""
    return _headline(await _counts(studio))


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


async def _counts(studio: Studio) -> Counts:
    """Count, at most every two seconds: at 100,000 items it takes 30 ms."""
    at, known = studio.more.get("dashboard_counts", (float("-inf"), None))
    if known is None or time.monotonic() - at > _COUNTS_SECONDS:
        known = await to_thread.run_sync(studio.desk.read, _count)
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
        asked=comments.count_open(connection),
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
        NavLink(say("To adjudicate"), "/items?state=case", count=_many(counts.states.get("case", 0))),
        NavLink(say("Held"), "/items?state=held", count=_many(counts.states.get("held", 0))),
        NavLink(say("Left open"), "/items?state=judging", count=_many(counts.states.get("judging", 0))),
        NavLink(
            say("Could not be judged"), "/items?state=returned", count=_many(counts.states.get("returned", 0))
        ),
        NavLink(say("To let in"), "/people", count=_many(counts.training[1])),
        NavLink(say_in("to the coordinators", "Questions"), "/comments", count=_many(counts.asked)),
    )
    view = DashboardView(
        stages=_stages(counts),
        headline=_headline(counts),
        next=_next(counts),
        population=say("No numbers yet."),
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
    agreed = _agreed(report) if judged else ""
    return replace(
        view,
        population=say_count(
            report.double_judged,
            "{n} double-judged item, accepted or not.",
            "{n} double-judged items, accepted or not.",
        )
        if report.double_judged
        else say("No item has been judged twice yet."),
        as_of=when_text(made.at),
        overall=(
            _agreement(say("Question"), report.questions.overall),
            _agreement(say("Answer"), report.answers.overall),
        )
        if judged
        else (),
        headline=in_a_row((view.headline, agreed)),
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
        warnings=tuple(_warning(text, report) for text in dict.fromkeys(warnings)),
    )


def _headline(counts: Counts) -> str:
    """Say how far the work is."""
    s = counts.states
    done = sum(s.get(name, 0) for name in ("settled", "rejected", "machine"))
    dealt = sum(n for state, n in s.items() if state not in ("gone", "training", "undealt"))
    if not dealt:
        return say_count(
            s.get("undealt", 0),
            "Nothing is dealt yet; {n:,} item is there.",
            "Nothing is dealt yet; {n:,} items are there.",
        )
    rest = s.get("undealt", 0)
    if rest:
        return say(
            "{done:,} of {dealt:,} dealt items are finished, and {rest:,} more are not dealt.",
            done=done,
            dealt=dealt,
            rest=rest,
        )
    return say("{done:,} of {dealt:,} dealt items are finished.", done=done, dealt=dealt)


def _agreed(report: agreement.AgreementReport) -> str:
    """Say how far people agree; too few pairs are no finding."""
    questions, answers = report.questions.overall, report.answers.overall
    first, second = _share(questions), _share(answers)
    if second:
        text = say(
            "Two readers agree on {share} of {n:,} questions{ends} and {share_of_answers} of {answers:,} answers{ends_of_answers}.",
            share=first,
            n=questions.n,
            ends=_ends(questions),
            share_of_answers=second,
            answers=answers.n,
            ends_of_answers=_ends(answers),
        )
    else:
        text = say(
            "Two readers agree on {share} of {n:,} questions{ends}.",
            share=first,
            n=questions.n,
            ends=_ends(questions),
        )
    few = say("That is too little to judge by.") if questions.n < _ENOUGH else ""
    return in_a_row((text, few))


def _share(topic: agreement.Agreement) -> str:
    return f"{topic.raw.value:.0%}".replace("%", " %") if topic.n and topic.raw.value is not None else ""


def _ends(topic: agreement.Agreement) -> str:
    low, high = topic.raw.low, topic.raw.high
    return f" [{low:.0%}, {high:.0%}]".replace("%", " %") if low is not None and high is not None else ""


def _told(text: str) -> str:
    """Return what a report says as a sentence that can be translated, if it is a known one."""
    return _SENTENCES.get(text, text)


def _warning(text: str, report: agreement.AgreementReport) -> str:
    none_rejected = say(
        "None of the {n} questions was rejected by both. If the items come from a file that holds accepted ones only, "
        "agreement on questions is too high and its alpha near 0 by construction.",
        n=report.questions.overall.things,
    )
    return none_rejected if text == none_rejected else _told(text)


def _next(counts: Counts) -> NextStep | None:
    """Return the first thing that somebody waits for."""
    s = counts.states
    back, held, cases, rest = (s.get(name, 0) for name in ("returned", "held", "case", "undealt"))
    steps = (
        (counts.training[1], "/people", say("Let people begin"), say("They have finished the training and wait for you.")),
        (counts.asked, "/comments", say_in("to the coordinators", "Answer questions"), waits_words(counts.asked)),
        (back, "/items?state=returned", say("Decide what came back"), say_count(back, "{n:,} item could not be judged.", "{n:,} items could not be judged.")),
        (held, "/items?state=held", say("Decide what is held"), say_count(held, "{n:,} item is disputed, or has no answer.", "{n:,} items are disputed, or have no answer.")),
        (cases, "/items?state=case", say("Look at the cases"), say_count(cases, "{n:,} item waits for an adjudicator.", "{n:,} items wait for an adjudicator.")),
        (rest, "/deal", say("Deal items"), say_count(rest, "{n:,} item has not been dealt.", "{n:,} items have not been dealt.")),
        (not s.get("judging", 0) and s.get("settled", 0), "/exports", say_in("button", "Export"), say("Everything that was dealt is finished.")),
    )  # fmt: skip
    return next((NextStep(href, label, detail) for n, href, label, detail in steps if n), None)


def _computing(look: Look) -> str:
    if look.computing:
        return say("Newer numbers are being computed; this page looks again by itself.")
    if look.snapshot is not None and not look.fresh:
        return say("More has been said since.")
    return ""


def _many(n: int) -> str:
    return figures(f"{n:,}")


def _stages(counts: Counts) -> tuple[Stage, ...]:
    s = counts.states
    waiting, done = counts.readings
    judging = Stage(
        say("Items"),
        (
            Bar(say("accepted"), s.get("settled", 0), "done", "/items?state=settled"),
            Bar(say("rejected"), s.get("rejected", 0), "done", "/items?state=rejected"),
            *_rare(Bar(say("settled by machines"), s.get("machine", 0), "done", "/items?state=machine")),
            Bar(say("with an adjudicator"), s.get("case", 0), "current", "/items?state=case"),
            *_rare(
                Bar(say("held"), s.get("held", 0), "error", "/items?state=held"),
                Bar(say("could not be judged"), s.get("returned", 0), "error", "/items?state=returned"),
            ),
            Bar(say("being judged"), s.get("judging", 0), "current", "/items?state=judging"),
            *_rare(Bar(say("not dealt"), s.get("undealt", 0), "todo", "/items?state=undealt")),
        ),
        say("{n:,} in all", n=sum(n for state, n in s.items() if state not in ("gone", "training"))),
    )
    readings = Stage(
        say("Readings"),
        (Bar(say("submitted"), done, "done"), Bar(say_in("readings", "open"), waiting, "todo")),
    )
    learning, before, let_in = counts.training
    people = Stage(
        say("People"),
        (
            Bar(say("let in"), let_in, "done", "/people"),
            *_rare(
                Bar(say("waiting for you"), before, "current", "/people"),
                Bar(say("in training"), learning, "todo", "/people"),
            ),
        ),
    )
    return judging, readings, people


def _rare(*bars: Bar) -> Iterable[Bar]:
    """Return parts of a stage that are not named where there are none."""
    return (bar for bar in bars if bar.count)


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
        why=_told(a.alpha.note),
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
            _agreement(say("Question"), questions[kind]),
            _agreement(say("Answer"), answers[kind]),
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
            (say("question"), machine.questions, report.questions.overall),
            (say("answer"), machine.answers, report.answers.overall),
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
                    why=_told(line.kappa.note),
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
        changed="–"
        if everything
        else say("{n:,} of {total:,}", n=differ, total=whole.answers if whole else outcome.answers),
        active=outcome.policy.name == active,
        judgements=figures(f"{outcome.judgements:,}"),
        adjudications=figures(f"{outcome.adjudications:,}"),
        items="–" if everything else _rate(outcome.changed),
        error="–" if everything else _rate(outcome.machine.items),
    )


def _rate(rate: Rate) -> str:
    if rate.rate is None:
        return "–"
    ends = "" if rate.low is None or rate.high is None else f" [{rate.low:.1%}, {rate.high:.1%}]"
    share = figures(f"{rate.rate:.1%}{ends}".replace("%", " %"))
    return say("{n:,} of {total:,} · {share}", n=rate.errors, total=rate.n, share=share)


def _policy_note(made: Snapshot) -> str:
    if made.policies is None:
        return say("The policies cannot be compared: {problem}", problem=made.problem)
    minutes = made.policies.minutes
    parts = [
        say_count(
            made.policies.items,
            "Computed from {n} item that people finished, accepted or not.",
            "Computed from {n} items that people finished, accepted or not.",
        )
    ]
    if made.policies.unfinished:
        parts.append(
            say_count(
                made.policies.unfinished,
                "{n:,} is not finished and left out.",
                "{n:,} are not finished and left out.",
            )
        )
    if minutes.judgement is not None:
        parts.append(
            say(
                "A judgement takes {minutes:.1f} minutes (median of {timed:,}).",
                minutes=minutes.judgement,
                timed=minutes.judgements,
            )
        )
    if minutes.adjudication is not None:
        parts.append(
            say(
                "An adjudication takes {minutes:.1f} (median of {timed:,}).",
                minutes=minutes.adjudication,
                timed=minutes.adjudications,
            )
        )
    if minutes.judgement is None:
        parts.append(say("No active times are known yet, so there are no minutes."))
    return in_a_row(parts)


def _methods(report: agreement.AgreementReport) -> tuple[str, ...]:
    mean_of_questions, mean_of_answers = (
        "–"
        if topic.overall.mean_of_pairs.value is None
        else figures(f"{topic.overall.mean_of_pairs.value:.3f}")
        for topic in (report.questions, report.answers)
    )
    unsure = report.questions.unsure + report.answers.unsure
    left_out = sum(report.left_out.values())
    level = f"{report.confidence:.0%}".replace("%", " %")
    return tuple(
        text
        for text in (
            say(
                "Questions: {questions}. Answers: {answers}.",
                questions=_told(report.questions.condition),
                answers=_told(report.answers.condition),
            ),
            say(
                "Intervals of {confidence}: {method}; {draws:,} draws, seed {seed}.",
                confidence=level,
                method=_told(report.method),
                draws=report.draws,
                seed=report.seed,
            ),
            say(
                "Mean of the pairs' raw agreement, as the published benchmark reports it: "
                "questions {questions}, answers {answers}.",
                questions=mean_of_questions,
                answers=mean_of_answers,
            ),
            say_count(
                unsure, "{n:,} judgement “unsure” is left out.", "{n:,} judgements “unsure” are left out."
            )
            if unsure
            else "",
            say_count(
                left_out,
                "{n:,} verdict does not fit its item and is left out.",
                "{n:,} verdicts do not fit their item and are left out.",
            )
            if left_out
            else "",
        )
        if text
    )


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
