"""What the page says of questions about clips alone: pairs, filters and their audit, options and their tells, statistics."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median
from typing import Any, Final, TypeAlias

import msgspec

from proctor.ask.clip.audit import AuditReport, Planted, Rate
from proctor.ask.clip.choice_run import ChoiceSummary, RetryLeak, Share
from proctor.ask.clip.choices import ChoiceAttempt
from proctor.ask.clip.filters import count_funnel, results_of
from proctor.ask.clip.record import ChoiceItem, ClipPair, FilterVerdict, ShownClip, Vote
from proctor.ask.clip.statistics import (
    PUBLISHED,
    SetStatistics,
    choice_statistics,
    compare_with_published,
    open_statistics,
)
from proctor.metrics.choice.letters import LETTERS
from proctor.metrics.figure import Histogram
from proctor.procedure.trim_rules import TrimRules
from proctor.records import Dropped
from proctor.report.charts import counts_table
from proctor.report.numbers import count, counted, dollars, guessed, number, show_value
from proctor.report.parts import Cell, Heat, Led, Listing, Paragraph, Part, Row, Section, SourceView, Table

__all__ = ["ClipMaking", "PairsSummary", "clip_sections", "clip_steps"]

_STEPS: Final = 40
_BINS: Final = 30
_WIDTHS: Final = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600)
"""Seconds of a bin: the first with which the clips' lengths take no more than about ``_BINS``."""
LEVELS: Final = ("coarse", "fine")
_PLACES: Final = ("early", "middle", "late")
_KEEP: Final[Mapping[bool | None, str]] = {False: "dropped", None: "postponed"}
_NUMBERED: Final = re.compile(r"#\d+\Z")
"""How the id of an entry ends that was left out of the reply to a task."""
_ENTRIES: Final = ("entries", "passed", "new", "kept")
_TASKS: Final = ("tasks", "replied", "read")
_Lines: TypeAlias = list[tuple[Row, Iterable[str]]]
"""Of a listing, each with its tags."""


class PairsSummary(msgspec.Struct):
    """What the page takes from the summary of how pairs were written (``pairs.json``)."""

    asked: int = 0
    cost: float | str | None = None
    funnel: dict[str, Any] = {}
    reasons: dict[str, int] = {}


@dataclass(frozen=True, slots=True)
class ClipMaking:
    """How questions about clips came about.

    Attributes:
        pairs: as they were written.
        clips: that they are about.
        summary: of the writing.
        tasks: of the writing, with what became of each.
        verdicts: of the filters; None where they were not asked.
        kept: pairs that passed.
        audit: of the filters on planted faults.
        items: questions with options.
        choices: how the options came about.
        training: pairs that were set apart for training.
        gone: what the writing left out, one by one.
        attempts: at options, one by one.
        unfit: questions without options, those among them that there was no attempt at.
        planted: questions of the audit.
        audited: what the filters said of them.
        built: ids of the benchmark's questions, by those of their pairs.
    """

    pairs: Sequence[ClipPair]
    clips: Sequence[ShownClip]
    summary: PairsSummary
    tasks: Mapping[str, str] = field(default_factory=dict)
    verdicts: Sequence[FilterVerdict] | None = None
    kept: Sequence[ClipPair] = ()
    audit: AuditReport | None = None
    items: Sequence[ChoiceItem] = ()
    choices: ChoiceSummary | None = None
    training: Sequence[ClipPair] = ()
    gone: Sequence[Dropped] = ()
    attempts: Sequence[ChoiceAttempt] = ()
    unfit: Sequence[Dropped] = ()
    planted: Sequence[Planted] = ()
    audited: Sequence[FilterVerdict] = ()
    built: Mapping[str, str] = field(default_factory=dict)


def clip_sections(made: ClipMaking) -> Iterator[Section]:
    """Yield the sections, each where its stage has run."""
    yield _pairs(made)
    if made.verdicts is not None:
        yield _filters(made.pairs, made.verdicts)
    if made.audit is not None:
        yield _audit(made.audit, made.planted, made.audited)
    if made.choices is not None:
        yield _options(made, made.choices)
    yield _statistics(made)


def clip_steps(clip: ShownClip, cited: Sequence[str] = ()) -> SourceView:
    """Return the annotated steps of a clip as a table."""
    steps = clip.steps[:_STEPS]
    return SourceView(
        id=clip.id,
        modality="steps",
        role="",
        title=clip.task or "Steps of the clip",
        header=("step", "seconds", "text", "cited"),
        rows=tuple(
            (s.id, f"{s.start:.0f}–{s.end:.0f}", s.text, "yes" if s.id in cited else "") for s in steps
        ),
        more=f"{len(clip.steps) - len(steps):,} more steps" if len(clip.steps) > len(steps) else "",
        origin=f"{clip.dataset}, {clip.video_id}, {clip.start:.0f} to {clip.end:.0f} s",
    )


# -- pairs ---------------------------------------------------------------------------------------------------------


def _pairs(made: ClipMaking) -> Section:
    pairs, summary = made.pairs, made.summary
    categories = tuple(sorted({p.category for p in pairs}))
    counts = Counter((p.level, p.category) for p in pairs)
    parts: list[Part] = [
        Heat(
            "Pairs by level and category", "level", categories,
            tuple((level, tuple(float(counts[level, c]) for c in categories)) for level in LEVELS),
            high=float(max(counts.values(), default=1)), digits=0, among="pairs",
        ),
        Table(
            "Pairs by data set and place in the clip", ("data set", *_PLACES, "all"),
            tuple(_by_place(name, pairs) for name in dict.fromkeys(p.dataset for p in pairs)),
        ),
    ]  # fmt: skip
    each, tasks = _each(made), _tasks(made)
    known = Counter(tag for lines in (each, tasks) for _, tags in lines for tag in tags)
    passed = tuple(
        (name, counted(n, among=(id_, tag) if n == known[tag := f"writing: {name}"] else None))
        for id_, names in (("tasks", _TASKS), ("pairs", _ENTRIES))
        for name in names
        if isinstance(n := summary.funnel.get(name), int)
    )
    if passed:
        note = "A task asks for some pairs about a clip; what stands in its reply are entries."
        parts.append(Table("How far tasks and entries came", ("", "how many"), passed, note))
    if summary.reasons:
        parts.append(
            Table("Left out", ("reason", "entries"),
                  tuple((k, counted(n, among=("pairs", f"left out: {k}"))) for k, n in summary.reasons.items()))
        )  # fmt: skip
    head = ("Pair", "Sort", "Outcome", "Why")
    parts.append(Listing.of("pairs", "Each pair, and what was left out", head, each))
    parts.append(Listing.of("tasks", "Each task", ("Task", "Outcome", "Detail"), tasks))
    footage = {"clips": _footage("clips", made, lambda c: c.id)}
    footage["videos"] = _footage("videos", made, lambda c: c.video_id)
    parts += (listing for _, listing in footage.values())
    facts: tuple[tuple[str, str | Cell], ...] = (
        *((what, n) for what, (n, _) in footage.items()),
        ("pairs", counted(len(pairs), among=("pairs", "after: writing"))),
        ("asked for", counted(summary.asked, among=("pairs", "asked for"))),
        ("cost", _paid(summary.cost or None, ("tasks", "writing: tasks"))),
    )
    return Section("pairs", "Pairs", tuple(parts), facts)


def _footage(what: str, made: ClipMaking, name: Callable[[ShownClip], str]) -> tuple[Cell, Listing]:
    """Return how many clips or videos there are, and each of them with the sets that ask about it."""
    found: dict[tuple[str, str], list[ShownClip]] = {}
    for one in made.clips:
        found.setdefault((one.dataset, name(one)), []).append(one)
    asked = {title: {p.clip_id for p in made.pairs if p.id in ids} for title, ids in _sets(made).items()}
    lines = _Lines()
    for (dataset, id_), own in found.items():
        tags = [f"{title}: {what}" for title, ids in asked.items() if not ids.isdisjoint(c.id for c in own)]
        seconds = "; ".join(f"{c.start:.0f} to {c.end:.0f}" for c in own)
        lines.append(((id_, dataset, own[0].task, seconds), [what, *tags]))
    head = (what.removesuffix("s").capitalize(), "Data set", "Task", "Seconds")
    return counted(len(found), among=(what, what)), Listing.of(what, f"Each {head[0].lower()}", head, lines)


def _sets(made: ClipMaking) -> dict[str, Collection[str]]:
    """Return the ids of the pairs of each set."""
    return {
        "Multiple choice": {i.id for i in made.items},
        "Open-ended": {p.id for p in made.kept or made.pairs},
        "Training": {p.id for p in made.training},
    }


def _by_place(name: str, pairs: Sequence[ClipPair]) -> Row:
    own = [p for p in pairs if p.dataset == name]
    places = (counted(sum(p.position == x for p in own), among=("pairs", f"{name}: {x}")) for x in _PLACES)
    return (name, *places, counted(len(own), among=("pairs", f"{name}: all")))


def _came_through(gone: Dropped) -> Sequence[str]:
    """Return which steps of the writing an entry came through before it was left out; none for a task."""
    if gone.reason == "over_quota":
        return _ENTRIES[:3]
    if _NUMBERED.search(gone.id):
        return _ENTRIES[:1]
    return _ENTRIES[:2] if gone.reason.startswith("duplicate_") else ()


def _tasks(made: ClipMaking) -> _Lines:
    """Return every task with what became of its reply, those first of which nothing could be read."""
    kept = Counter(p.details.get("task", "") for p in made.pairs)
    said = {one.id: one.detail for one in made.gone}
    steps, lines = {"read": 3, "unreadable": 2}, _Lines()
    for id_, outcome in sorted(made.tasks.items(), key=lambda one: one[1] == "read"):
        read = Cell(f"{count(kept[id_], 'pair')} kept", among=("pairs", f"task: {id_}"))
        detail = read if outcome == "read" else said.get(id_, "")
        lines.append(((id_, outcome, detail), [f"writing: {x}" for x in _TASKS[: steps.get(outcome, 1)]]))
    return lines


def _each(made: ClipMaking) -> _Lines:
    """Return every pair with what became of it, and what was left out before it was one."""
    training, lines = {p.id for p in made.training}, _Lines()
    items, sets = {i.id: i for i in made.items}, _sets(made)
    for one in made.gone:
        came = (f"writing: {step}" for step in _came_through(one))
        lines.append(
            ((one.id, "", f"left out: {one.reason}", one.detail), (f"left out: {one.reason}", *came))
        )
    for p, result in zip(
        made.pairs, results_of([p.id for p in made.pairs], made.verdicts or ()), strict=True
    ):
        verdicts = result.verdicts
        tags = [f"{p.dataset}: {p.position}", f"{p.dataset}: all", f"{p.level}, {p.category}"]
        tags += [*(f"writing: {step}" for step in _ENTRIES), "after: writing", "asked for"]
        tags += [f"task: {p.details['task']}"] if p.details.get("task") in made.tasks else []
        tags.append("filters: " + ("failed" if result.failed_at else result.outcome))
        tags += [f"{title}: questions" for title, ids in sets.items() if p.id in ids]
        if item := items.get(p.id):
            tags += [f"letter: {item.letter}", f"attempts: {item.attempts}"]
        for v in verdicts:
            tags += [f"{v.filter}: seen", f"after: {v.filter}" if v.keep else f"{v.filter}: {_KEEP[v.keep]}"]
            if v.keep is False:
                tags.append(f"{v.filter}: {v.evidence.get('problem', 'other')}")
        last = verdicts[-1] if verdicts and not verdicts[-1].keep else None
        end = "in the benchmark" if p.id in made.built else "for training" if p.id in training else "kept"
        end, why = (f"{_KEEP[last.keep]} by {last.filter}", last.reason) if last else (end, "")
        question = Cell(p.question, item=made.built.get(p.id, ""))
        lines.append(((question, f"{p.level}, {p.category}", end, why), tags))
    lines += [(("–", "", "never written", ""), ("asked for",))] * (made.summary.asked - len(made.pairs))
    return lines


# -- filters -------------------------------------------------------------------------------------------------------


def _filters(pairs: Sequence[ClipPair], verdicts: Sequence[FilterVerdict]) -> Section:
    funnel = count_funnel(results_of(sorted({p.id for p in pairs} | {v.item_id for v in verdicts}), verdicts))
    rows = tuple(
        (
            row.filter,
            counted(row.seen, among=("pairs", f"{row.filter}: seen")),
            counted(row.kept, among=("pairs", f"after: {row.filter}")),
            counted(row.dropped, among=("pairs", f"{row.filter}: dropped")),
            counted(row.postponed, among=("pairs", f"{row.filter}: postponed")),
            Cell(parts=tuple(Cell(f"{problem} {n:,}", among=("pairs", f"{row.filter}: {problem}"))
                             for problem, n in row.problems.items())),
            counted(row.calls, among=("pairs", f"{row.filter}: seen")),
            _paid(row.cost, ("pairs", f"{row.filter}: seen")),
        )
        for row in funnel.rows
    )  # fmt: skip
    head = ("filter", "seen", "kept", "dropped", "postponed", "problems", "calls", "cost")
    left = {"writing": funnel.asked} | {row.filter: row.kept for row in funnel.rows}
    bars = counts_table(
        "Pairs that are left", "after", left, "Of the pairs before the first filter.", whole=funnel.asked,
        among="pairs",
    )  # fmt: skip
    facts = tuple(
        (name, counted(n, among=("pairs", "after: writing" if name == "asked" else f"filters: {name}")))
        for name, n in (("asked", funnel.asked), ("kept", funnel.kept), ("postponed", funnel.postponed))
    )
    note = Paragraph(
        "The names of the filters are the paper's; their decision rules are ours, since it does not print them. A drop is final; "
        "what cannot be read is dropped."
    )
    return Section(
        "clip-filters", "Filters", (note, bars, Table("The funnel", head, rows, words=frozenset({5}))), facts
    )


def _audit(audit: AuditReport, planted: Sequence[Planted], verdicts: Sequence[FilterVerdict]) -> Section:
    rows: tuple[Row, ...] = tuple(
        (
            row.filter, row.catches,
            *(counted(n, among=("planted", f"{row.filter}: {what}")) for what, n in (("seen", row.seen), ("dropped", row.dropped))),
            *(_rate(rate, f"{row.filter}: {over}") for rate, over in (
                (row.precision, "dropped"), (row.precision_any, "dropped"), (row.recall, "recall"),
                (row.false_alarm, "false alarm"), (row.f1, "F1"),
            )),
        )
        for row in audit.rows
    )  # fmt: skip
    rates = (
        _rate(audit.precision, "all: dropped"),
        _rate(audit.recall, "all: recall"),
        _rate(audit.f1, "all: F1"),
    )
    rows = (*rows, ("all together", "", "", "", rates[0], "", rates[1], "", rates[2]))
    head = (
        "filter",
        "catches",
        "seen",
        "dropped",
        "precision, %",
        "any fault, %",
        "recall, %",
        "false alarm, %",
        "F1, %",
    )
    note = "Faults were planted by rule into questions from these annotations. Below each number its Wilson interval at 95 %."
    rules = tuple((name, _rate(rate, f"rule: {name}")) for name, rate in audit.by_rule.items())
    became = Heat(
        "What became of planted questions", "planted", tuple(next(iter(audit.confusion.values()), {})),
        tuple((kind, tuple(map(float, row.values()))) for kind, row in audit.confusion.items()),
        high=float(max(audit.planted.values(), default=1)), digits=0, note="Columns: the filter that dropped them, if any.",
        among="planted",
    )  # fmt: skip
    parts = (
        Table("Filters compared with what was planted", head, rows, note, words=frozenset({1})),
        became,
        Table("Share of planted questions that any filter dropped, by rule", ("rule", "dropped, %"), rules),
        _planted(audit, planted, verdicts),
    )
    facts = tuple(
        (kind, counted(n, among=("planted", f"planted: {kind}"))) for kind, n in audit.planted.items()
    )
    return Section("audit", "Planted audit", parts, facts)


def _planted(audit: AuditReport, planted: Sequence[Planted], verdicts: Sequence[FilterVerdict]) -> Listing:
    """Return every planted question with what became of it, dropped ones first, and in which of the audit's numbers it counts."""
    by_id, lines = {p.pair.id: p for p in planted}, _Lines()
    for result in sorted(results_of(by_id, verdicts), key=lambda result: result.outcome != "dropped"):
        one, by = by_id[result.item_id], result.dropped_by
        tags = [f"planted: {one.kind}", f"{one.kind}, {by.filter if by else result.outcome}"]
        tags += [f"rule: {one.kind}/{one.rule}"] if result.outcome != "postponed" else []
        keeps, faulty = {v.filter: v.keep for v in result.verdicts}, one.kind != "sound"
        for row in audit.rows:
            keep = keeps.get(row.filter, None if result.outcome == "postponed" else True)
            seen = row.filter in keeps and keep is not None
            tags += _counted_by(
                row.filter, own=one.kind == row.catches and keep is not None, dropped=keep is False
            )
            tags += [f"{row.filter}: seen"] if seen else []
            tags += [f"{row.filter}: false alarm"] if seen and not faulty else []
        tags += _counted_by("all", own=faulty and result.outcome != "postponed", dropped=by is not None)
        end = (f"dropped by {by.filter}", by.reason) if by else (result.outcome, "")
        lines.append(((one.pair.question, f"{one.kind}, {one.rule}", *end), tags))
    head = ("Question", "Planted", "Outcome", "Why")
    return Listing.of("planted", "Each planted question", head, lines)


def _counted_by(name: str, *, own: bool, dropped: bool) -> Iterator[str]:
    """Yield over which numbers of a filter a question counts that it is there for, or has dropped."""
    for over, counts in (("dropped", dropped), ("recall", own), ("F1", own or dropped)):
        if counts:
            yield f"{name}: {over}"


def _rate(rate: Rate, over: str) -> Cell:
    """Return a rate that opens the planted questions that it is computed over."""
    return replace(number(rate, scale=100), among=("planted", over))


# -- options -------------------------------------------------------------------------------------------------------


def _options(made: ClipMaking, summary: ChoiceSummary) -> Section:
    facts: tuple[tuple[str, str | Cell], ...] = (
        *((name, counted(n, among=("options", name))) for name, n in (
            ("asked", summary.asked), ("with options", len(made.items)), ("open-ended only", summary.open_ended),
            ("postponed", summary.postponed),
        )),
        ("calls", counted(summary.calls, among=("options", "attempts"))),
        ("cost", _paid(summary.cost, ("options", "attempts"))),
    )  # fmt: skip
    assistants: tuple[Row, ...] = tuple(
        (
            a.assistant,
            *(counted(n, among=("votes", f"{a.assistant}: {what}")) for what, n in (("votes", a.votes), ("unparsed", a.unparsed))),
            *(_share(share, ("votes", f"{a.assistant}: {_STAGES[stage]}"))
              for stage, share in (("with_steps", a.with_steps), ("without_steps", a.without_steps))),
        )
        for a in summary.assistants
    )  # fmt: skip
    head = ("assistant", "votes", "unparsed", "right with steps, %", "right without, %")
    parts = (
        *_letters(summary),
        *_attempts(summary),
        *_leak(summary.leak),
        Table("Assistants", head, assistants),
        *_tried(made, summary),
    )
    return Section("options", "Options", parts, facts)


_STAGES: Final = {"with_steps": "with the steps", "without_steps": "without", "confirm": "fresh, without"}


def _tried(made: ClipMaking, summary: ChoiceSummary) -> Iterator[Listing]:
    """Yield every attempt at options with what became of it, refused ones first, its votes, and the wrong answers of questions with options.

    A question counts where its last attempt is, or where it says that there was none.
    """
    asked = {p.id: p.question for p in made.pairs} | {i.id: i.question for i in made.items}
    last, accepted = {a.item: a for a in made.attempts}, {i.id for i in made.items}
    ends = {"postponed": "postponed", "ok": "unconfirmed"}
    firsts = {a.item: a for a in reversed(made.attempts) if any(v.stage == "without_steps" for v in a.votes)}
    lines, votes, wrong = _Lines(), _Lines(), _Lines()
    for a in sorted(made.attempts, key=lambda a: a.outcome == "ok"):
        question = Cell(asked.get(a.item, a.item), item=made.built.get(a.item, ""))
        outcome = a.outcome.replace("_", " ")
        tags = ["attempts", f"outcome: {outcome}"]
        if a is last[a.item]:
            tags += [
                "asked",
                "with options" if a.item in accepted else ends.get(a.outcome, "open-ended only"),
            ]
            wrong += [
                ((d.text, d.kind, question), (f"kind: {d.kind}",)) for d in a.wrong if a.item in accepted
            ]
            tags += ["fresh vote"] if a.outcome == "ok" and a.confirmed is not None else []
        first = ["first blind"] if a is firsts.get(a.item) else []
        lines.append(((question, f"{a.number + 1}", outcome, a.detail), [*tags, *first]))
        for v in a.votes:
            stage, unread = _STAGES[v.stage], [] if v.letter else ["unparsed"]
            tags = [f"{v.assistant}: {x}" for x in ("votes", stage, *unread)]
            tags += first if v.stage == "without_steps" else []
            votes.append(((question, f"{a.number + 1}", v.assistant, stage, _chosen(a, v)), tags))
    unfit = [one for one in made.unfit if one.id not in last]
    lines += [((asked.get(x.id, x.id), "", f"left out: {x.reason}", x.detail), ("asked",)) for x in unfit]
    waiting = summary.asked - len(last) - len(unfit)
    lines += [(("–", "", "not begun", ""), ("asked", "postponed"))] * waiting
    head = ("Question", "Attempt", "Outcome", "Detail")
    yield Listing.of("options", "Each attempt at options", head, lines)
    yield Listing.of("wrong", "Each wrong answer", ("Wrong answer", "Kind", "Question"), wrong)
    columns = ("Question", "Attempt", "Assistant", "Vote", "Chose")
    yield Listing.of("votes", "Each vote", columns, votes)


def _chosen(attempt: ChoiceAttempt, vote: Vote) -> str:
    """Return what a vote was for; its letter where a changed file has no such option."""
    if vote.right or not vote.letter:
        return "the right option" if vote.right else "nothing that could be read"
    numbers = dict(zip(LETTERS, vote.order, strict=False))
    texts = {n: wrong.text for n, wrong in enumerate(attempt.wrong, 1)}
    return texts.get(numbers.get(vote.letter, 0), vote.letter)


def _letters(summary: ChoiceSummary) -> Iterator[Part]:
    letters, tells = summary.letters, summary.tells
    yield counts_table(
        "Letters of the right options", "letter", letters.counts, "Of all questions.", among="pairs"
    )
    n = sum(letters.counts.values())
    longest = tells.longest_right
    rows: tuple[tuple[str, Cell, str | Cell], ...] = (
        (
            "right option is the longest one, % of questions",
            Cell("–") if longest is None else Cell(show_value(100 * longest), f"{longest * n:.1f} of {n:,}"),
            guessed(None if tells.chance is None else 100 * tells.chance, n),
        ),
        (
            "mean words of right and of wrong options",
            Cell(_shown(tells.words_right)),
            _shown(tells.words_wrong),
        ),
        (
            "mean characters of right and of wrong options",
            Cell(_shown(tells.characters_right)),
            _shown(tells.characters_wrong),
        ),
        (
            f"letters: chi² with {letters.df} degrees of freedom",
            Cell(_shown(letters.chi2)),
            f"p {_shown(letters.p)}",
        ),
    )
    note = (
        "With nothing that gives the right option away: what drawing an option evenly gets on average, and below it where 95 % of such sets of guesses land. Where "
        "several options are the longest, each counts in part."
    )
    opening = ("pairs", "Multiple choice: questions")
    found = tuple((name, replace(value, among=opening), without) for name, value, without in rows)
    yield Table("Option tells", ("", "value", "without a tell"), found, note)


def _attempts(summary: ChoiceSummary) -> Iterator[Part]:
    if summary.outcomes:
        spoken = {name.replace("_", " "): n for name, n in summary.outcomes.items()}
        title = "What became of attempts at options"
        yield counts_table(title, "outcome", spoken, "Of all attempts.", among="options")
    needed = {str(n): summary.attempts_needed[str(n)] for n in sorted(map(int, summary.attempts_needed))}
    yield counts_table(
        "Attempts that a question's options took", "attempts", needed, "Of the questions with options.",
        among="pairs",
    )  # fmt: skip
    if summary.kinds:
        yield Table(
            "Wrong answers by kind",
            ("kind", "how many"),
            tuple((k, counted(n, among=("wrong", f"kind: {k}"))) for k, n in summary.kinds.items()),
        )


def _leak(leak: RetryLeak) -> Iterator[Part]:
    rows = (
        ("blind accuracy of a single vote", _share(leak.blind_accuracy, ("votes", "first blind")), ""),
        (
            "first attempts that fail the blind vote",
            _share(leak.seen_to_fail, ("options", "first blind")),
            _percentage(leak.expected_to_fail),
        ),
        (
            "questions that pass within all attempts",
            _share(leak.seen_to_pass, ("options", "first blind")),
            _percentage(leak.expected_to_pass),
        ),
        (
            "fresh votes on accepted options that fail",
            _share(leak.confirmation_failed, ("options", "fresh vote")),
            "",
        ),
    )
    note = "Retrying until a vote passes selects luck; the fresh vote, in new orders, says how much of it there is."
    yield Table("Retry leak", ("", "seen, %", "expected of independent votes"), rows, note)
    chances = tuple(
        (f"{r.blind_accuracy:.2f}", f"{r.fails_one_attempt:.3f}", f"{r.passes_within:.3f}")
        for r in leak.table
    )
    yield Table(
        "What chance lets pass", ("blind accuracy", "fails one attempt", "passes within all"), chances
    )


def _share(share: Share, among: tuple[str, str] | None = None) -> Cell:
    if share.share is None:
        return Cell("–")
    ends = (
        ""
        if share.low is None or share.high is None
        else f"{100 * share.low:.1f} to {100 * share.high:.1f}, "
    )
    return Cell(show_value(100 * share.share), f"{ends}of {share.whole:,}", among=among)


def _paid(cost: float | str | None, among: tuple[str, str]) -> Cell:
    """Return dollars, which open what they were paid for."""
    paid = None if cost is None else float(cost)
    return Cell(dollars(paid), among=among if paid else None)


def _percentage(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _shown(value: object) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


# -- statistics ----------------------------------------------------------------------------------------------------


def _statistics(made: ClipMaking) -> Section:
    sets: list[tuple[str, SetStatistics]] = []
    if made.items:
        sets.append(("Multiple choice", choice_statistics(made.items, made.pairs, made.clips)))
    sets.append(("Open-ended", open_statistics(made.kept or made.pairs, made.clips)))
    if made.training:
        sets.append(("Training", open_statistics(made.training, made.clips, kind="training")))
    parts: list[Part] = []
    for title, statistics in sets:
        rows = tuple(
            (f"{row.label} ({row.unit})" if row.unit else row.label,
             Cell(_shown(row.ours), among=None if statistics.without_clip else _counted_in(title, row.name)), _shown(row.published))
            for row in compare_with_published(statistics)
        )  # fmt: skip
        parts += [Table(title, ("", "ours", "published"), rows), *_lengths(title, statistics, made)]
    return Section("statistics", "Statistics of clips", (*parts, _each_dataset(made)))


def _each_dataset(made: ClipMaking) -> Listing:
    lines = _Lines()
    for name in dict.fromkeys(p.dataset for p in made.pairs):
        own = {p.id for p in made.pairs if p.dataset == name}
        tags = [f"{title}: datasets" for title, ids in _sets(made).items() if not own.isdisjoint(ids)]
        lines.append(((name, counted(len(own), among=("pairs", f"{name}: all"))), tags))
    return Listing.of("datasets", "Each data set", ("Data set", "Pairs"), lines)


def _counted_in(title: str, name: str) -> tuple[str, str]:
    """Return what opens the data sets, clips, videos or questions of a set that a number of it counts, or is a mean of."""
    what = {"mean_duration": "clips"}.get(
        name, name if name in ("datasets", "videos", "clips") else "questions"
    )
    return "pairs" if what == "questions" else what, f"{title}: {what}"


def _lengths(title: str, statistics: SetStatistics, made: ClipMaking) -> Iterator[Part]:
    """Yield how long the clips of a set are, beside what is published: long recordings are cut once a clip is longer than 4 minutes."""
    seconds = statistics.durations
    if not seconds:
        return
    published = (
        ("published: cut beyond", TrimRules().longer_than),
        ("published mean", PUBLISHED[statistics.kind]["mean_duration"]),
    )
    reached = [*seconds, *(value for _, value in published)]
    span = max(reached) - min(reached)
    width = next((w for w in _WIDTHS if span < _BINS * w), span / _BINS)
    first = math.floor(seconds[0] / width)
    counts = Counter(math.floor(length / width) - first for length in seconds)
    bins = range(max(counts) + 1)
    figure = Histogram(
        f"Length of the clips: {title}",
        edges=tuple(width * (first + n) for n in range(len(bins) + 1)),
        counts=tuple(counts[n] for n in bins),
        unit="s",
        marks=(("median", median(seconds)),),
        references=published,
    )
    names = [f"{low:,.10g} to {high:,.10g} s" for low, high in pairwise(figure.edges)]
    asked = {p.clip_id for p in made.pairs if p.id in _sets(made)[title]}
    lines = _Lines()
    for clip in made.clips:
        n = math.floor((clip.end - clip.start) / width) - first
        if clip.id in asked and n in bins:
            lines.append(((clip.id, clip.task, f"{clip.end - clip.start:.1f}"), [names[n]]))
    id_ = f"lengths-{title.casefold().replace(' ', '-')}"
    listing = Listing.of(id_, f"Each clip: {title}", ("Clip", "Task", "Seconds"), lines)
    right = all(listing.counts.get(name, 0) == n for name, n in zip(names, figure.counts, strict=True))
    cells = tuple(Cell(among=(id_, name)) for name in names) if right else ()
    yield Led(figure, cells)
    yield listing
