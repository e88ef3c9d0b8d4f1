"""How far annotators agree: one report for the dashboard, with intervals.

What is compared: every two judgements of the same thing by two people. A *thing* is a candidate's question or one of
its generated answers. "Unsure" is no judgement: it is counted and left out. Everything is counted over the whole
population of candidates, accepted or not; where the caller's population holds accepted ones only, or looks like it,
the report carries a warning, because then question agreement is high and alpha near 0 by construction.

Numbers: raw agreement with Wilson's interval; positive and negative specific agreement, prevalence of yes,
Krippendorff's nominal alpha and Cohen's kappa of each pair with percentile bootstrap intervals; the published "mean of
the pairs' raw agreement". The bootstrap draws *recordings*: the same draws serve every number, so a
question type that occurs in few recordings has draws without any, and their share is told. Alpha is never averaged over
question types or weeks; each group shows its own, and the overall one is computed from all ratings.

Each number needs only sums over recordings (counts of yes and no, coincidences), so a hundred thousand items with
2,000 draws take seconds. The definitions are those of ``proctor.metrics.agreement`` and
``proctor.metrics.krippendorff``, and the tests hold the two against each other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.exam.question import Question, type_of
from proctor.metrics.agreement import divided, interval_of_draws, mean_of_defined, require_resampling
from proctor.metrics.bootstrap import Floats, iter_draws
from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import wilson_interval
from proctor.verify.verdict import AnnotatorKind, Verdict

__all__ = [
    "SUSPICIOUS",
    "AgainstPeople",
    "Agreement",
    "AgreementReport",
    "Estimate",
    "MachineAgreement",
    "MachineTopic",
    "Matrix",
    "PairLine",
    "PersonLine",
    "Population",
    "Topic",
    "agreement_report",
    "machines_against_people",
]

Population = Literal["all", "accepted"]
"""``all``: every candidate that was shown, accepted or not. ``accepted``: a file that holds accepted ones only."""

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_UNDATED: Final = -1
SUSPICIOUS: Final = 50
"""From so many double-judged items on, none that both rejected is worth a warning."""
_ONE_SIDED: Final = 0.9
"""Beyond this prevalence of one label alpha and kappa say little."""
_CODES: Final = {"right": 1, "wrong": 0, "unsure": -1}


# -- the report ----------------------------------------------------------------------------------------------


class Estimate(msgspec.Struct, frozen=True):
    """A number with its interval; JSON has no NaN, so what is undefined is None and ``note`` says why.

    Attributes:
        value: the number, None when undefined.
        low: lower end of the interval, None when there is none.
        high: upper end.
        n: pairs of judgements behind it.
        undefined: share of the bootstrap's draws in which it was undefined; they are left out of the interval.
        note: why it or its interval is undefined, or what to beware of.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    undefined: float = 0.0
    note: str = ""


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """Agreement of people on one group of things.

    Attributes:
        things: questions or answers with two or more judgements.
        recordings: from so many recordings.
        n: pairs of judgements; as many as ``things`` where each was judged by two.
        both_yes: pairs that both say right.
        both_no: pairs that both say wrong.
        mixed: pairs that differ.
        raw: share of pairs that say the same, Wilson's interval.
        positive: how often the other says yes, too, when one says yes.
        negative: the same of no.
        prevalence: share of yes among the judgements.
        alpha: Krippendorff's, nominal.
        mean_of_pairs: mean over pairs of *people* of their raw agreement, each alike whatever its size. Its interval is
            computed for the whole topic only.
        note: what to beware of when reading this group.
    """

    things: int
    recordings: int
    n: int
    both_yes: int
    both_no: int
    mixed: int
    raw: Estimate
    positive: Estimate
    negative: Estimate
    prevalence: Estimate
    alpha: Estimate
    mean_of_pairs: Estimate
    note: str = ""


class PairLine(msgspec.Struct, frozen=True, kw_only=True):
    """Two annotators on the things that both judged, or one against all people.

    Attributes:
        a: who; their names sort ``a`` before ``b`` where both are people.
        b: the other; empty for all people together.
        n: pairs of judgements.
        both_yes: both say right.
        a_only: only ``a`` says right.
        b_only: only ``b`` says right.
        both_no: both say wrong.
        raw: share that says the same, Wilson's interval.
        positive: positive specific agreement.
        negative: negative specific agreement.
        kappa: Cohen's; undefined when both used one and the same label only.
    """

    a: str
    b: str
    n: int
    both_yes: int
    a_only: int
    b_only: int
    both_no: int
    raw: Estimate
    positive: Estimate
    negative: Estimate
    kappa: Estimate


class Matrix(msgspec.Struct, frozen=True):
    """Pairs as a square table; None on the diagonal and where two never judged the same thing (``n`` is 0 there)."""

    names: tuple[str, ...]
    raw: tuple[tuple[float | None, ...], ...]
    kappa: tuple[tuple[float | None, ...], ...]
    n: tuple[tuple[int, ...], ...]


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """Questions, or answers.

    Attributes:
        condition: which things were compared, as a sentence for people.
        overall: all of them.
        by_type: question type to its own agreement; sorted by name.
        by_week: ISO week ("2026-W03") of a thing's last judgement (UTC) to its agreement, in order.
        undated: things that are in no week because a judgement carries no readable time.
        unsure: judgements "unsure", which were left out.
        pairs: every two people who judged the same thing.
        matrix: the same as a table.
    """

    condition: str
    overall: Agreement
    by_type: dict[str, Agreement]
    by_week: dict[str, Agreement]
    undated: int
    unsure: int
    pairs: tuple[PairLine, ...]
    matrix: Matrix


class PersonLine(msgspec.Struct, frozen=True, kw_only=True):
    """One person's work.

    Attributes:
        name: as in the verdicts.
        items: candidates judged.
        questions: share of the question judgements that another person shares.
        answers: the same of answers.
        main: the same of both together; the score of the main work that stands beside ``training``.
        training: score of the training set, 0 to 1; None where none was given.
    """

    name: str
    items: int
    questions: Estimate
    answers: Estimate
    main: Estimate
    training: float | None = None


class MachineTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A machine against people, on questions or answers.

    Attributes:
        condition: which things were compared.
        judged: things on which the machine says right or wrong.
        unsure: things on which it is unsure.
        overall: against every person's judgement; a thing that two people judged is two pairs, so that the figure
            compares with that of people among themselves.
        by_type: the same for each question type.
        by_person: the same for each person.
    """

    condition: str
    judged: int
    unsure: int
    overall: PairLine
    by_type: dict[str, PairLine]
    by_person: tuple[PairLine, ...]


class MachineAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """One machine annotator against the people."""

    name: str
    kind: AnnotatorKind
    items: int
    questions: MachineTopic
    answers: MachineTopic


class AgreementReport(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of it; ``msgspec.json.encode`` writes it, free of NaN.

    Attributes:
        population: a sentence: "500 double-judged items, accepted or not".
        accepted_only: the caller says that rejected items are missing.
        items: candidates given.
        double_judged: of them, with two or more people's verdicts.
        single_judged: with one.
        left_out: reason (``candidate-unknown``, ``answers-do-not-fit``) to number of verdicts.
        warnings: what to say beside the numbers.
        questions: people on questions.
        answers: people on answers.
        people: one line each, by name.
        machines: one entry each, by name.
        method: how the intervals were made.
        seed: of the bootstrap.
        draws: of the bootstrap.
        confidence: of all intervals.
    """

    population: str
    accepted_only: bool
    items: int
    double_judged: int
    single_judged: int
    left_out: dict[str, int]
    warnings: tuple[str, ...]
    questions: Topic
    answers: Topic
    people: tuple[PersonLine, ...]
    machines: tuple[MachineAgreement, ...]
    method: str
    seed: int
    draws: int
    confidence: float


_ON_QUESTIONS: Final = "questions that two or more people judged, accepted or not"
_ON_ANSWERS: Final = (
    "generated answers whose question both people call valid; the others say nothing about answers"
)
_MACHINE_QUESTIONS: Final = "questions that the machine and at least one person judged"
_MACHINE_ANSWERS: Final = (
    "generated answers whose question the person calls valid and the machine does not reject"
)


def agreement_report(
    candidates: Iterable[Question],
    verdicts: Iterable[Verdict],
    *,
    population: Population = "all",
    training: Mapping[str, float] | None = None,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> AgreementReport:
    """Compute the report. The order of candidates and of verdicts changes nothing.

    Args:
        candidates: the population: everything that was shown to people, whatever became of it.
        verdicts: the latest of each annotator (``verify.store.split_stale`` leaves out what is out of date);
            adjudicators' are ignored, those on other candidates counted and left out.
        population: ``accepted`` when rejected items are missing from ``candidates``.
        training: name to score in the training set, 0 to 1.
        confidence: of the intervals.
        resamples: draws of recordings; 0 for no bootstrap intervals.
        seed: of the draws.

    Raises:
        UserError: if a candidate's id occurs twice, an annotator has two verdicts on one candidate, or a training
            score lies outside 0 to 1.
        MetricInputError: if an option is out of range.
    """
    require_resampling(confidence, resamples, seed)
    if population not in ("all", "accepted"):
        raise MetricInputError(f"population must be 'all' or 'accepted', got {population!r}")
    items = _index(candidates)
    read = _read(items, verdicts)
    bootstrap = _Bootstrap(len(items.recordings), confidence, resamples, seed)
    questions = _PlannedTopic(bootstrap, items, read, "questions")
    answers = _PlannedTopic(bootstrap, items, read, "answers")
    machines = [
        (
            name,
            _PlannedMachine(bootstrap, items, read, name, "questions"),
            _PlannedMachine(bootstrap, items, read, name, "answers"),
        )
        for name in sorted(read.machines)
    ]
    bootstrap.run()
    on_questions, on_answers = questions.topic(_ON_QUESTIONS), answers.topic(_ON_ANSWERS)
    double = sum(n >= 2 for n in read.judged_by.values())
    return AgreementReport(
        population=f"{double} double-judged item{'' if double == 1 else 's'}, {'accepted or not' if population == 'all' else 'accepted ones only'}",
        accepted_only=population == "accepted",
        items=len(items.names),
        double_judged=double,
        single_judged=len(read.judged_by) - double,
        left_out=dict(sorted(read.left_out.items())),
        warnings=_warnings(population, on_questions.overall, items, read),
        questions=on_questions,
        answers=on_answers,
        people=_people(read, questions.pairs, answers.pairs, training or {}, confidence),
        machines=tuple(
            MachineAgreement(
                name=name,
                kind=read.machines[name],
                items=read.machine_items[name],
                questions=on_q.topic(_MACHINE_QUESTIONS),
                answers=on_a.topic(_MACHINE_ANSWERS),
            )
            for name, on_q, on_a in machines
        ),
        method="raw agreement: Wilson; all others: percentile bootstrap over recordings",
        seed=seed,
        draws=resamples,
        confidence=confidence,
    )


def _warnings(population: Population, questions: Agreement, items: _Items, read: _Read) -> tuple[str, ...]:
    found = []
    if population == "accepted":
        found.append(
            "Rejected items are missing from this file, so people who both rejected a question are never seen: "
            "agreement on questions is too high and its alpha near 0 by construction. It says nothing about the people."
        )
    elif questions.things >= SUSPICIOUS and not questions.both_no:
        found.append(
            f"None of the {questions.things} questions was rejected by both. If the items come from a file that holds "
            "accepted ones only, agreement on questions is too high and its alpha near 0 by construction."
        )
    if len(read.people) < 2:
        seen = "one person" if read.people else "nobody"
        found.append(f"Agreement needs two people who judge the same items; {seen} has judged.")
    if 1 < len(items.recordings) < 10:
        found.append(f"Only {len(items.recordings)} recordings: the bootstrap intervals are too narrow.")
    return tuple(found)


# -- reading -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Items:
    """The population, sorted by id; a thing is an item's question or one of its answers.

    Attributes:
        names: ids.
        place: id to its place.
        recordings: names, sorted.
        types: question types, sorted.
        recording: of each item.
        type: of each item.
        first: of each item, the number of its first answer; one more at the end.
    """

    names: tuple[str, ...]
    place: Mapping[str, int]
    recordings: tuple[str, ...]
    types: tuple[str, ...]
    recording: Ints
    type: Ints
    first: Ints

    def of_things(self, thing: str) -> Ints:
        """The item of each thing."""
        if thing == "questions":
            return np.arange(len(self.names), dtype=np.int64)
        return np.repeat(np.arange(len(self.names), dtype=np.int64), np.diff(self.first))


def _index(candidates: Iterable[Question]) -> _Items:
    ordered = sorted(candidates, key=lambda c: c.id)
    names = tuple(c.id for c in ordered)
    place = {name: n for n, name in enumerate(names)}
    if len(place) < len(names):
        twice = next(a for a, b in pairwise(names) if a == b)
        raise UserError(f"the id '{twice[:120]}' occurs more than once.", where="candidates")
    recordings, recording = _coded([c.cluster or c.id for c in ordered])
    types, type_ = _coded([type_of(c) for c in ordered])
    first = np.array([0, *accumulate(len(c.proposals) for c in ordered)], dtype=np.int64)
    return _Items(names, place, recordings, types, recording, type_, first)


def _coded(values: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    known = tuple(sorted(set(values)))
    code = {value: n for n, value in enumerate(known)}
    return known, np.array([code[value] for value in values], dtype=np.int64)


@dataclass(slots=True)
class _Bag:
    """Judgments of people on one kind of thing, as they are read."""

    thing: list[int] = field(default_factory=list)
    person: list[int] = field(default_factory=list)
    yes: list[int] = field(default_factory=list)
    week: list[int] = field(default_factory=list)
    unsure: int = 0

    def add(self, thing: int, person: int, code: int, week: int) -> None:
        if code < 0:
            self.unsure += 1
            return
        self.thing.append(thing)
        self.person.append(person)
        self.yes.append(code)
        self.week.append(week)


@dataclass(slots=True)
class _Read:
    """The verdicts, sorted into what is compared.

    Attributes:
        people: names, sorted.
        bags: judgements of people on ``questions`` and on ``answers``.
        judged: person to number of items.
        judged_by: item id to number of people.
        machines: name to kind.
        machine_bags: name and thing to {thing: code}; -1 is unsure.
        machine_items: name to number of items.
        left_out: reason to number of verdicts.
    """

    people: tuple[str, ...]
    bags: dict[str, _Bag] = field(default_factory=lambda: {"questions": _Bag(), "answers": _Bag()})
    judged: Counter[str] = field(default_factory=Counter)
    judged_by: Counter[str] = field(default_factory=Counter)
    machines: dict[str, AnnotatorKind] = field(default_factory=dict)
    machine_bags: dict[tuple[str, str], dict[int, int]] = field(default_factory=dict)
    machine_items: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)


def _read(items: _Items, verdicts: Iterable[Verdict]) -> _Read:
    given = [v for v in verdicts if v.role == "annotator"]
    usable = [v for v in given if v.candidate_id in items.place]
    people = tuple(sorted({v.annotator for v in usable if v.annotator_kind == "human"}))
    code, first = {name: n for n, name in enumerate(people)}, items.first.tolist()
    week_of = cache(_monday)
    read, seen = _Read(people), set()
    read.left_out["candidate-unknown"] = len(given) - len(usable)
    for verdict in usable:
        human = verdict.annotator_kind == "human"
        key = (verdict.candidate_id, verdict.annotator, human)
        if key in seen:
            raise UserError(
                f"'{verdict.annotator}' has two verdicts on candidate '{verdict.candidate_id[:120]}'.",
                where="verdicts",
                hint="give the latest of each annotator only",
            )
        seen.add(key)
        item = items.place[verdict.candidate_id]
        if verdict.answers and len(verdict.answers) != first[item + 1] - first[item]:
            read.left_out["answers-do-not-fit"] += 1
        elif human:
            _read_person(read, verdict, item, first[item], code[verdict.annotator], week_of(verdict.at))
        else:
            _read_machine(read, verdict, item, first[item])
    read.left_out = +read.left_out
    return read


def _read_person(read: _Read, verdict: Verdict, item: int, first: int, person: int, week: int) -> None:
    read.judged[verdict.annotator] += 1
    read.judged_by[verdict.candidate_id] += 1
    read.bags["questions"].add(item, person, _CODES[verdict.question.value], week)
    if verdict.question.value == "right":
        bag = read.bags["answers"]
        for n, answer in enumerate(verdict.answers, start=first):
            bag.add(n, person, _CODES[answer.value], week)


def _read_machine(read: _Read, verdict: Verdict, item: int, first: int) -> None:
    name = verdict.annotator
    # The smaller kind of a name that is used for two, so that the order of verdicts does not decide.
    read.machines[name] = min(read.machines.get(name, verdict.annotator_kind), verdict.annotator_kind)
    read.machine_items[name] += 1
    read.machine_bags.setdefault((name, "questions"), {})[item] = _CODES[verdict.question.value]
    if verdict.question.value != "wrong":
        bag = read.machine_bags.setdefault((name, "answers"), {})
        bag.update((n, _CODES[answer.value]) for n, answer in enumerate(verdict.answers, start=first))


def _monday(at: str) -> int:
    """Return the ordinal of the week's Monday in UTC, -1 where there is no readable time."""
    try:
        moment = datetime.fromisoformat(at)
        day = (moment.astimezone(UTC) if moment.tzinfo else moment).date()
        return max(day.toordinal() - day.weekday(), 1)
    except (ValueError, OverflowError):
        return _UNDATED


# -- the bootstrap -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Block:
    """Sums over recordings of some rows, and what its statistics are in each draw.

    Attributes:
        index: the recordings that occur.
        sums: one row a recording, one column a quantity.
        statistic: sums (rows) to values (rows x statistics), nan where undefined.
        draws: values of all draws, once the bootstrap has run; shape (draws, statistics).
        drawn: sums of the draws at hand.
    """

    index: Ints
    sums: Floats
    statistic: Callable[[Floats], Floats]
    draws: list[Floats] = field(default_factory=list)
    drawn: Floats | None = None

    @property
    def total(self) -> Floats:
        """The sums over all recordings."""
        total: Floats = self.sums.sum(axis=0)
        return total


class _Bootstrap:
    """One set of draws of recordings for many statistics, each of which reads its own recordings only."""

    def __init__(self, recordings: int, confidence: float, resamples: int, seed: int) -> None:
        self.recordings = recordings
        self.confidence = confidence
        self.resamples = resamples
        self.seed = seed
        self._blocks: list[_Block] = []
        self._means: list[tuple[list[_Block], list[Floats]]] = []

    def add(self, recording: Ints, columns: Floats, statistic: Callable[[Floats], Floats]) -> _Block:
        """Register rows (things or pairs) of these recordings, one column a quantity."""
        index, place = np.unique(recording, return_inverse=True)
        sums = [np.bincount(place, weights=column, minlength=len(index)) for column in columns.T]
        block = _Block(index.astype(np.int64), np.stack(sums, axis=1), statistic)
        self._blocks.append(block)
        return block

    def add_mean(self, blocks: list[_Block]) -> list[Floats]:
        """Register the mean raw agreement of pairs; the list holds the draws once it has run."""
        draws: list[Floats] = []
        self._means.append((blocks, draws))
        return draws

    def run(self) -> None:
        """Draw."""
        if not self.resamples or self.recordings < 2:
            return
        rng = np.random.default_rng(self.seed)
        for counts in iter_draws(self.recordings, resamples=self.resamples, rng=rng):
            turned = np.ascontiguousarray(counts.T)  # so that a recording's counts lie together
            for block in self._blocks:
                whole = len(block.index) == self.recordings
                block.drawn = (turned if whole else turned[block.index]).T @ block.sums
                block.draws.append(block.statistic(block.drawn))
            for blocks, draws in self._means:
                tables = np.stack([_drawn(b) for b in blocks], axis=1)  # (draws, pairs of people, 4)
                raw = divided(tables[:, :, 0] + tables[:, :, 3], tables.sum(axis=2))
                draws.append(mean_of_defined(raw))

    def estimate(self, value: float, draws: Sequence[Floats], clusters: int, n: int, why: str) -> Estimate:
        """Return an estimate from the values of the draws; ``why`` tells why an undefined value is."""
        if not math.isfinite(value):
            return Estimate(None, n=n, note=why)
        values = np.concatenate(draws) if draws else np.empty(0)
        found = interval_of_draws(values, clusters=clusters, confidence=self.confidence)
        return Estimate(value, found.low, found.high, n, found.undefined, found.note)

    def wilson(self, agreed: int, n: int, note: str = "") -> Estimate:
        """Return the share with Wilson's interval."""
        return _wilson(agreed, n, self.confidence, note)


def _drawn(block: _Block) -> Floats:
    if block.drawn is None:
        raise AssertionError("a block was not drawn")
    return block.drawn


def _wilson(agreed: int, n: int, confidence: float, note: str = "") -> Estimate:
    if not n:
        return Estimate(None, note="nothing was judged by both")
    interval = wilson_interval(agreed, n, confidence)
    return Estimate(agreed / n, interval.low, interval.high, n, note=note)


def _group_statistics(sums: Floats) -> Floats:
    """Sums of [both yes, both no, mixed, yes, no, disagreement] to [alpha, positive, negative, prevalence]."""
    both_yes, both_no, mixed, yes, no, apart = sums.T
    alpha = 1.0 - divided((yes + no - 1) * apart, yes * no)
    positive = divided(2 * both_yes, 2 * both_yes + mixed)
    negative = divided(2 * both_no, 2 * both_no + mixed)
    result: Floats = np.stack([alpha, positive, negative, divided(yes, yes + no)], axis=1)
    return result


def _pair_statistics(sums: Floats) -> Floats:
    """Sums of [both yes, a only, b only, both no] to [kappa, positive, negative]."""
    both_yes, a_only, b_only, both_no = sums.T
    mixed, n = a_only + b_only, sums.sum(axis=1)
    a_yes, b_yes = both_yes + a_only, both_yes + b_only
    kappa = 1.0 - divided(n * mixed, a_yes * (n - b_yes) + (n - a_yes) * b_yes)
    positive = divided(2 * both_yes, 2 * both_yes + mixed)
    negative = divided(2 * both_no, 2 * both_no + mixed)
    result: Floats = np.stack([kappa, positive, negative], axis=1)
    return result


def _why_one_label(both_yes: int, n: int) -> str:
    if not n:
        return "nothing was judged by both"
    label = "right" if both_yes else "wrong"
    return f"every judgement is '{label}': chance is certain, so nothing can be corrected for it"


# -- people among themselves ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Things:
    """Things that two or more people judged; one row each.

    Attributes:
        columns: both yes, both no, mixed (pairs); yes, no (judgements); disagreement (coincidences).
        recording: of each.
        type: of each.
        week: of the last judgement of each, -1 when unknown.
        crowded: True when one has more than two judgements.
    """

    columns: Floats
    recording: Ints
    type: Ints
    week: Ints
    crowded: bool


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Every two judgements of one thing by people; one row each, ``a`` sorts before ``b``.

    Attributes:
        row: of the thing in ``_Things``.
        recording: of each.
        a: person.
        b: person.
        columns: both yes, a only, b only, both no; one of them is 1.
    """

    row: Ints
    recording: Ints
    a: Ints
    b: Ints
    columns: Floats

    @property
    def agreed(self) -> Mask:
        """True where both say the same."""
        same: Mask = (self.columns[:, 0] + self.columns[:, 3]) > 0
        return same


def _table(a_yes: Ints, b_yes: Ints) -> Floats:
    a, b = a_yes.astype(np.float64), b_yes.astype(np.float64)
    return np.stack([a * b, a * (1 - b), (1 - a) * b, (1 - a) * (1 - b)], axis=1)


def _gather(items: _Items, bag: _Bag, item_of: Ints) -> tuple[_Things, _Pairs]:
    thing, person = np.array(bag.thing, dtype=np.int64), np.array(bag.person, dtype=np.int64)
    order = np.lexsort((person, thing))
    thing, person = thing[order], person[order]
    yes, week = np.array(bag.yes, dtype=np.int64)[order], np.array(bag.week, dtype=np.int64)[order]
    starts = np.flatnonzero(np.diff(thing, prepend=-1))
    sizes = np.diff(starts, append=len(thing))
    keep = sizes >= 2
    use = np.repeat(keep, sizes)
    thing, person, yes, week = thing[use], person[use], yes[use], week[use]
    sizes = sizes[keep]
    starts = np.cumsum(sizes) - sizes
    row = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    item = item_of[thing[starts]]
    said_yes = np.bincount(row, weights=yes, minlength=len(sizes))
    said_no = sizes - said_yes
    mixed = said_yes * said_no
    columns = np.stack(
        [
            said_yes * (said_yes - 1) / 2,
            said_no * (said_no - 1) / 2,
            mixed,
            said_yes,
            said_no,
            mixed / np.maximum(sizes - 1, 1),
        ],
        axis=1,
    )
    last, earliest = _reduce(np.maximum, week, starts), _reduce(np.minimum, week, starts)
    things = _Things(
        columns=columns,
        recording=items.recording[item],
        type=items.type[item],
        week=np.where(earliest == _UNDATED, _UNDATED, last),
        crowded=bool((sizes > 2).any()),
    )
    return things, _pair_up(things, row, person, yes, int(sizes.max(initial=0)))


def _reduce(ufunc: Any, values: Ints, starts: Ints) -> Ints:
    result: Ints = ufunc.reduceat(values, starts) if len(starts) else np.empty(0, dtype=np.int64)
    return result


def _pair_up(things: _Things, row: Ints, person: Ints, yes: Ints, most: int) -> _Pairs:
    first: list[Ints] = [np.empty(0, dtype=np.int64)]
    second: list[Ints] = [np.empty(0, dtype=np.int64)]
    for lag in range(1, most):
        here = np.flatnonzero(row[:-lag] == row[lag:])
        first.append(here)
        second.append(here + lag)
    a, b = np.concatenate(first), np.concatenate(second)
    return _Pairs(row[a], things.recording[row[a]], person[a], person[b], _table(yes[a], yes[b]))


class _PlannedTopic:
    """What a topic needs of the bootstrap, registered before it runs."""

    def __init__(self, bootstrap: _Bootstrap, items: _Items, read: _Read, thing: str) -> None:
        self._bootstrap = bootstrap
        self._people = read.people
        self._unsure = read.bags[thing].unsure
        self.things, self.pairs = _gather(items, read.bags[thing], items.of_things(thing))
        every = np.ones(len(self.things.recording), dtype=np.bool_)
        self._overall = self._plan(every)
        self._by_type = {
            items.types[code]: self._plan(self.things.type == code)
            for code in np.unique(self.things.type).tolist()
        }
        mondays = [week for week in np.unique(self.things.week).tolist() if week != _UNDATED]
        self._by_week = {
            "{:04d}-W{:02d}".format(*date.fromordinal(week).isocalendar()): self._plan(
                self.things.week == week
            )
            for week in mondays
        }
        self._lines = self._plan_pairs()
        self._mean = bootstrap.add_mean([block for _, _, block in self._lines]) if self._lines else []

    def _plan(self, rows: Mask) -> tuple[Mask, _Block]:
        return rows, self._bootstrap.add(
            self.things.recording[rows], self.things.columns[rows], _group_statistics
        )

    def _plan_pairs(self) -> list[tuple[int, int, _Block]]:
        many = max(1, len(self._people))
        code = self.pairs.a * many + self.pairs.b
        order = np.argsort(code, kind="stable")
        known, starts = np.unique(code[order], return_index=True)
        lines = []
        for pair, rows in zip(known.tolist(), np.split(order, starts[1:]), strict=False):
            block = self._bootstrap.add(
                self.pairs.recording[rows], self.pairs.columns[rows], _pair_statistics
            )
            lines.append((pair // many, pair % many, block))
        return lines

    def topic(self, condition: str) -> Topic:
        """Put the topic together, once the bootstrap has run."""
        pairs = tuple(
            _pair_line(self._bootstrap, self._people[a], self._people[b], block)
            for a, b, block in self._lines
        )
        overall = self._agreement(*self._overall)
        mean = overall.mean_of_pairs
        if mean.value is not None:
            clusters = len(self._overall[1].index)
            mean = self._bootstrap.estimate(mean.value, self._mean, clusters, mean.n, "")
        return Topic(
            condition=condition,
            overall=msgspec.structs.replace(overall, mean_of_pairs=mean),
            by_type={name: self._agreement(*plan) for name, plan in self._by_type.items()},
            by_week={name: self._agreement(*plan) for name, plan in self._by_week.items()},
            undated=int((self.things.week == _UNDATED).sum()),
            unsure=self._unsure,
            pairs=pairs,
            matrix=_matrix(self._people, pairs),
        )

    def _agreement(self, rows: Mask, block: _Block) -> Agreement:
        both_yes, both_no, mixed = (round(x) for x in block.total[:3].tolist())
        n = both_yes + both_no + mixed
        crowd = (
            "some things have more than two judgements; their pairs are not independent"
            if self.things.crowded
            else ""
        )
        values = _group_statistics(block.total[None, :])[0].tolist()
        one_label = _why_one_label(both_yes, n)
        nothing = "nothing was judged by both"
        why = (one_label, "nobody says yes" if n else nothing, "nobody says no" if n else nothing, nothing)
        alpha, positive, negative, prevalence = (
            self._bootstrap.estimate(value, [d[:, k] for d in block.draws], len(block.index), n, why[k])
            for k, value in enumerate(values)
        )
        return Agreement(
            things=int(rows.sum()),
            recordings=len(block.index),
            n=n,
            both_yes=both_yes,
            both_no=both_no,
            mixed=mixed,
            raw=self._bootstrap.wilson(both_yes + both_no, n, crowd),
            positive=positive,
            negative=negative,
            prevalence=prevalence,
            alpha=alpha,
            mean_of_pairs=self._mean_of_pairs(rows),
            note=_one_sided(prevalence.value),
        )

    def _mean_of_pairs(self, rows: Mask) -> Estimate:
        use = rows[self.pairs.row]
        code = self.pairs.a[use] * max(1, len(self._people)) + self.pairs.b[use]
        known, place = np.unique(code, return_inverse=True)
        if not len(known):
            return Estimate(None, note="nothing was judged by both")
        agreed = np.bincount(place, weights=self.pairs.agreed[use], minlength=len(known))
        shares = agreed / np.bincount(place, minlength=len(known))
        return Estimate(
            math.fsum(shares.tolist()) / len(known), n=len(code), note=f"mean of {len(known)} pairs"
        )


def _one_sided(prevalence: float | None) -> str:
    if prevalence is None or 1 - _ONE_SIDED < prevalence < _ONE_SIDED:
        return ""
    share, label = (prevalence, "yes") if prevalence > 0.5 else (1 - prevalence, "no")
    return (
        f"{100 * share:.0f} % of the judgements are {label}: alpha and kappa fall there whatever people do; "
        "read raw and specific agreement beside them"
    )


def _pair_line(bootstrap: _Bootstrap, a: str, b: str, block: _Block, note: str = "") -> PairLine:
    both_yes, a_only, b_only, both_no = (round(x) for x in block.total.tolist())
    n = both_yes + a_only + b_only + both_no
    values = _pair_statistics(block.total[None, :])[0].tolist()
    nothing = "nothing was judged by both"
    why = (
        _why_one_label(both_yes, n),
        "neither says yes" if n else nothing,
        "neither says no" if n else nothing,
    )
    kappa, positive, negative = (
        bootstrap.estimate(value, [d[:, k] for d in block.draws], len(block.index), n, why[k])
        for k, value in enumerate(values)
    )
    return PairLine(
        a=a,
        b=b,
        n=n,
        both_yes=both_yes,
        a_only=a_only,
        b_only=b_only,
        both_no=both_no,
        raw=bootstrap.wilson(both_yes + both_no, n, note),
        positive=positive,
        negative=negative,
        kappa=kappa,
    )


def _matrix(names: tuple[str, ...], pairs: Iterable[PairLine]) -> Matrix:
    place, many = {name: n for n, name in enumerate(names)}, len(names)
    raw: list[list[float | None]] = [[None] * many for _ in names]
    kappa: list[list[float | None]] = [[None] * many for _ in names]
    n = [[0] * many for _ in names]
    for line in pairs:
        for i, j in ((place[line.a], place[line.b]), (place[line.b], place[line.a])):
            raw[i][j], kappa[i][j], n[i][j] = line.raw.value, line.kappa.value, line.n
    return Matrix(names, tuple(map(tuple, raw)), tuple(map(tuple, kappa)), tuple(map(tuple, n)))


def _people(
    read: _Read, questions: _Pairs, answers: _Pairs, training: Mapping[str, float], confidence: float
) -> tuple[PersonLine, ...]:
    for name, score in training.items():
        if not 0 <= score <= 1:
            raise UserError(
                f"the training score of '{name}' is {score}, it must be 0 to 1.", where="training"
            )
    code = {name: n for n, name in enumerate(read.people)}
    on_q, on_a = _of_people(questions, len(code)), _of_people(answers, len(code))
    nobody = np.zeros(2, dtype=np.int64)
    lines = []
    for name in sorted({*read.people, *training}):
        q, a = (counts[code[name]] if name in code else nobody for counts in (on_q, on_a))
        parts = [_wilson(int(x[0]), int(x[1]), confidence) for x in (q, a, q + a)]
        lines.append(
            PersonLine(
                name=name,
                items=read.judged[name],
                questions=parts[0],
                answers=parts[1],
                main=parts[2],
                training=training.get(name),
            )
        )
    return tuple(lines)


def _of_people(pairs: _Pairs, people: int) -> Ints:
    """Pairs that agree and pairs, of each person; shape (people, 2)."""
    agreed = np.bincount(pairs.a, weights=pairs.agreed, minlength=people)
    agreed += np.bincount(pairs.b, weights=pairs.agreed, minlength=people)
    n = np.bincount(pairs.a, minlength=people) + np.bincount(pairs.b, minlength=people)
    return np.stack([np.rint(agreed).astype(np.int64), n.astype(np.int64)], axis=1)


# -- machines against people ---------------------------------------------------------------------------------


class _PlannedMachine:
    """What one machine on one kind of thing needs of the bootstrap, registered before it runs."""

    def __init__(self, bootstrap: _Bootstrap, items: _Items, read: _Read, name: str, thing: str) -> None:
        said = read.machine_bags.get((name, thing), {})
        self._bootstrap, self._name, self._people = bootstrap, name, read.people
        self._judged = sum(code >= 0 for code in said.values())
        self._unsure = len(said) - self._judged
        item_of, bag = items.of_things(thing), read.bags[thing]
        label = np.full(len(item_of), -1, dtype=np.int64)
        label[np.fromiter(said.keys(), np.int64, len(said))] = np.fromiter(said.values(), np.int64, len(said))
        things = np.array(bag.thing, dtype=np.int64)
        use = label[things] >= 0
        things = things[use]
        self._recording, type_ = items.recording[item_of[things]], items.type[item_of[things]]
        person = np.array(bag.person, dtype=np.int64)[use]
        self._columns = _table(label[things], np.array(bag.yes, dtype=np.int64)[use])
        self._overall = self._plan(np.ones(len(things), dtype=np.bool_))
        self._by_type = {items.types[code]: self._plan(type_ == code) for code in np.unique(type_).tolist()}
        self._by_person = {
            read.people[code]: self._plan(person == code) for code in np.unique(person).tolist()
        }
        self._crowded = len(things) > len(np.unique(things))

    def _plan(self, rows: Mask) -> _Block:
        return self._bootstrap.add(self._recording[rows], self._columns[rows], _pair_statistics)

    def topic(self, condition: str) -> MachineTopic:
        """Put the topic together, once the bootstrap has run."""
        note = (
            "a thing that two people judged counts twice; its pairs are not independent"
            if self._crowded
            else ""
        )
        return MachineTopic(
            condition=condition,
            judged=self._judged,
            unsure=self._unsure,
            overall=_pair_line(self._bootstrap, self._name, "", self._overall, note),
            by_type={
                name: _pair_line(self._bootstrap, self._name, "", block, note)
                for name, block in self._by_type.items()
            },
            by_person=tuple(
                _pair_line(self._bootstrap, self._name, person, block)
                for person, block in self._by_person.items()
            ),
        )


# -- annotators that are no person ---------------------------------------------------------------------------------


class AgainstPeople(msgspec.Struct, frozen=True, kw_only=True):
    """One annotator that is no person against the people who judged the same.

    Attributes:
        annotator: its name.
        kind: model, oracle or filter.
        of: ``questions`` or ``answers``.
        judged: things of which it says right or wrong.
        pairs: judgements of people on these.
        agreement: share of the pairs in which both say the same, with Wilson's interval; None where there are none.
        precision: of what it keeps (calls right), the share of people's judgements that call it right, with Wilson's interval.
        cost: dollars of its calls; None where it has none or a price is not known.
    """

    annotator: str
    kind: str
    of: Literal["questions", "answers"]
    judged: int
    pairs: int
    agreement: tuple[float, float, float] | None
    precision: tuple[float, float, float] | None
    cost: float | None


def machines_against_people(
    questions: Sequence[Question], verdicts: Iterable[Verdict], costs: Mapping[str, float]
) -> list[AgainstPeople]:
    """Hold the oracle, models and filters against the people who judged the same; of each what it says of questions, then of answers.

    Args:
        questions: of any kinds.
        verdicts: the latest of each annotator.
        costs: dollars by the name of the annotator, where they are known.
    """
    found = []
    for machine in agreement_report(questions, verdicts, resamples=0).machines:
        for of, topic in (("questions", machine.questions), ("answers", machine.answers)):
            if topic.judged:
                line = topic.overall
                found.append(
                    AgainstPeople(
                        annotator=machine.name,
                        kind=machine.kind,
                        of=of,  # type: ignore[arg-type]
                        judged=topic.judged,
                        pairs=line.n,
                        agreement=_share(line.both_yes + line.both_no, line.n),
                        precision=_share(line.both_yes, line.both_yes + line.a_only),
                        cost=costs.get(machine.name),
                    )
                )
    return found


def _share(part: int, whole: int) -> tuple[float, float, float] | None:
    interval = wilson_interval(part, whole)
    return (
        None if interval.low is None or interval.high is None else (part / whole, interval.low, interval.high)
    )
