"""The planted audit: questions with known faults go through the filters, and what each filter finds is counted.

Made by rule from real annotations (``audit_rules``), so many of each kind, the same for the same clips and seed. ``score_audit``
says of each filter how much of what it is there for it catches (recall), how much of what it drops is what it is there for
(precision), and both in one number, with intervals; and which filter dropped what.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from proctor.ask.clip.audit_rules import (
    CATCHES,
    PLANTED_KINDS,
    RULES,
    Act,
    Draft,
    PlantedKind,
    Rule,
    Scene,
    words_of,
)
from proctor.ask.clip.funnel import FilterResult
from proctor.ask.clip.known import Known, known_question
from proctor.ask.clip.question import pair_question
from proctor.ask.clip.record import FILTERS, ClipPair, FilterName, ShownClip
from proctor.ask.documents.duplicates import normalise_question
from proctor.errors import UserError
from proctor.exam.library import Library
from proctor.llm.media import MediaStore
from proctor.metrics.figure import Matrix
from proctor.metrics.interval import wilson_interval
from proctor.records import canonical_json, content_hash

__all__ = [
    "AuditReport",
    "AuditRow",
    "AuditSet",
    "Planted",
    "Rate",
    "plant_audit",
    "score_audit",
]


class Planted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question with a known fault, or a sound one.

    Attributes:
        pair: the question; nothing in it says what was planted.
        kind: what was planted.
        rule: by which rule.
        problem: what a filter that catches it would call it; empty for a sound one.
    """

    pair: ClipPair
    kind: PlantedKind
    rule: str
    problem: str = ""


class AuditSet(msgspec.Struct, frozen=True, kw_only=True):
    """What was planted.

    Attributes:
        planted: in an order that says nothing of their kinds.
        missing: kinds of which the clips did not give enough, with how many are lacking.
        seed: of the draws.
    """

    planted: tuple[Planted, ...]
    missing: Mapping[PlantedKind, int]
    seed: int

    def questions(self, clips: Sequence[ShownClip]) -> list[Known]:
        """Return the questions as the filters see them.

        Raises:
            UserError: if a clip is not among the given ones.
        """
        by_id, library = {clip.id: clip for clip in clips}, Library(media=MediaStore())
        return [known_question(pair_question(planted.pair, by_id), library) for planted in self.planted]


# -- planting ------------------------------------------------------------------------------------------------------


def plant_audit(clips: Sequence[ShownClip], *, seed: int = 0, each: int = 100) -> AuditSet:
    """Make questions of every kind.

    Kinds take turns, within a kind rules do, and within a rule clips, so that a set is as varied as the clips allow. The order
    of the clips changes nothing.

    Args:
        clips: with real annotations, ids unique.
        seed: of the draws.
        each: questions of each kind.

    Raises:
        UserError: if two clips have one id, or ``each`` is below 1.
    """
    if each < 1:
        raise UserError(f"{each} questions of each kind make no audit.", hint="take at least 1")
    ordered = sorted(clips, key=lambda clip: clip.id)
    if len({clip.id for clip in ordered}) < len(ordered):
        raise UserError("two clips have the same id.", where="planted audit")
    foreign = _ForeignActs(ordered)
    scenes = [scene for clip in ordered if len((scene := Scene.of(clip, foreign)).acts) > 1]
    foreign.fill(scenes)
    # A question is in the set once: asked twice it would share the replies of those who see it alone.
    seen: set[str] = set()
    streams = {
        kind: _taking_turns(
            [_only_new(_drafts(name, rule, scenes, seed, kind), seen) for name, rule in RULES[kind].items()]
        )
        for kind in PLANTED_KINDS
    }
    planted: list[Planted] = []
    missing: dict[PlantedKind, int] = {}
    for number in range(each):
        for kind in PLANTED_KINDS:
            found = None if kind in missing else next(streams[kind], None)
            if found is None:
                missing.setdefault(kind, each - number)
            else:
                name, scene, draft = found
                planted.append(_planted(kind, name, scene.clip, draft))
    planted.sort(key=lambda p: content_hash([seed, p.pair.id]))
    return AuditSet(planted=tuple(planted), missing=missing, seed=seed)


class _ForeignActs:
    """Acts of all clips, to draw one from that speaks of nothing in a given clip."""

    _TRIES = 40

    def __init__(self, clips: Sequence[ShownClip]) -> None:
        self._task = {clip.id: (clip.task.casefold(), clip.video_id) for clip in clips}
        self._acts: list[tuple[str, Act, frozenset[str]]] = []

    def fill(self, scenes: Sequence[Scene]) -> None:
        """Take the acts of these scenes."""
        for scene in scenes:
            for act in scene.named:
                words = frozenset(words_of(act.phrase.object))
                if words and act.thing:
                    self._acts.append((scene.clip.id, act, words))

    def __call__(self, scene: Scene, rng: random.Random) -> Act | None:
        if not self._acts:
            return None
        task, video = self._task[scene.clip.id]
        for _ in range(self._TRIES):
            clip_id, act, words = self._acts[rng.randrange(len(self._acts))]
            other_task, other_video = self._task[clip_id]
            if other_video == video or (task and other_task == task):
                continue
            if not words & scene.words:
                return act
        return None


def _drafts(
    name: str, rule: Rule, scenes: Sequence[Scene], seed: int, kind: PlantedKind
) -> Iterator[tuple[str, Scene, Draft]]:
    """Yield the drafts of one rule: one of each scene, then a second of each, and so on."""
    streams = []
    for scene in scenes:
        digest = hashlib.sha256(canonical_json(["audit", seed, kind, name, scene.clip.id])).digest()
        rng = random.Random(int.from_bytes(digest[:16]))  # noqa: S311 - no secret
        streams.append((digest, _of_scene(name, rule, scene, rng)))
    streams.sort(key=lambda pair: pair[0])
    yield from _taking_turns([stream for _, stream in streams])


def _of_scene(name: str, rule: Rule, scene: Scene, rng: random.Random) -> Iterator[tuple[str, Scene, Draft]]:
    for draft in rule(scene, rng):
        yield name, scene, draft


def _taking_turns(
    streams: Sequence[Iterator[tuple[str, Scene, Draft]]],
) -> Iterator[tuple[str, Scene, Draft]]:
    waiting = deque(streams)
    while waiting:
        stream = waiting.popleft()
        for found in stream:
            yield found
            waiting.append(stream)
            break


def _only_new(
    stream: Iterator[tuple[str, Scene, Draft]], seen: set[str]
) -> Iterator[tuple[str, Scene, Draft]]:
    """Yield the drafts of which the question is in the set not yet."""
    for name, scene, draft in stream:
        key = f"{scene.clip.id}\n{normalise_question(draft.question)}"
        if key not in seen:
            seen.add(key)
            yield name, scene, draft


def _planted(kind: PlantedKind, rule: str, clip: ShownClip, draft: Draft) -> Planted:
    place = {step.id: n for n, step in enumerate(clip.steps)}
    ids = tuple(sorted({step.id for step in draft.steps}, key=place.__getitem__))
    third = min(2, 3 * place[ids[0]] // max(1, len(clip.steps)))
    pair = ClipPair(
        id=f"{clip.id}/audit-{content_hash([clip.id, draft.question, draft.answer])[:12]}",
        clip_id=clip.id,
        dataset=clip.dataset,
        video_id=clip.video_id,
        level=draft.level,
        category=draft.category,
        question=draft.question,
        answer=draft.answer,
        step_ids=ids,
        position=("early", "middle", "late")[third],
    )
    return Planted(pair=pair, kind=kind, rule=rule, problem=draft.problem)


# -- scoring -------------------------------------------------------------------------------------------------------


class Rate(msgspec.Struct, frozen=True):
    """A share with its Wilson interval.

    Attributes:
        value: None where nothing was counted.
        low: lower end.
        high: upper end.
        hits: counted.
        n: of so many.
    """

    value: float | None
    low: float | None
    high: float | None
    hits: int
    n: int

    @classmethod
    def of(cls, hits: int, n: int, confidence: float = 0.95) -> Rate:
        """Return hits of n."""
        interval = wilson_interval(hits, n, confidence)
        return cls(hits / n if n else None, interval.low, interval.high, hits, n)

    @classmethod
    def f1(cls, hits: int, n: int, confidence: float = 0.95) -> Rate:
        """Return F1 of ``hits`` true positives in a union of ``n`` (true and false positives, false negatives).

        F1 is ``2 J / (1 + J)`` with the share ``J = hits / n``, and grows with it: its interval is that of J, carried over.
        """
        share = cls.of(hits, n, confidence)
        value, low, high = (
            None if x is None else 2 * x / (1 + x) for x in (share.value, share.low, share.high)
        )
        return cls(value, low, high, hits, n)


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """One filter.

    Attributes:
        filter: its name.
        catches: the kind that it is there for.
        seen: questions on which it decided.
        dropped: of these.
        caught: of its kind that it dropped.
        other: of other faults that it dropped: no sound question is lost by them.
        sound: sound ones that it dropped.
        postponed: on which it could not decide; in no rate.
        precision: dropped ones that are of its kind.
        precision_any: dropped ones that have any fault.
        recall: of its kind, those that it dropped; what an earlier filter had dropped counts as missed.
        recall_seen: the same among those that it saw.
        false_alarm: of the sound ones that it saw, those that it dropped.
        f1: of precision and recall.
    """

    filter: FilterName
    catches: PlantedKind
    seen: int
    dropped: int
    caught: int
    other: int
    sound: int
    postponed: int
    precision: Rate
    precision_any: Rate
    recall: Rate
    recall_seen: Rate
    false_alarm: Rate
    f1: Rate


class AuditReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the audit found.

    Attributes:
        rows: filter by filter.
        precision: of all filters together: dropped questions that have a fault.
        recall: questions with a fault that any filter dropped.
        f1: of the two.
        confusion: kind that was planted, to how many each filter dropped (first), and how many were ``kept`` or ``postponed``.
        by_rule: rule (``kind/rule``) to the share that any filter dropped.
        planted: how many of each kind.
        confidence: of all intervals.
    """

    rows: tuple[AuditRow, ...]
    precision: Rate
    recall: Rate
    f1: Rate
    confusion: Mapping[str, Mapping[str, int]]
    by_rule: Mapping[str, Rate]
    planted: Mapping[str, int]
    confidence: float = 0.95

    @property
    def matrix(self) -> Matrix:
        """The confusion as a picture."""
        rows = tuple(self.confusion)
        columns = tuple(next(iter(self.confusion.values()), {}))
        return Matrix(
            title="What became of planted questions",
            rows=rows,
            columns=columns,
            cells=tuple(tuple(float(self.confusion[row][column]) for column in columns) for row in rows),
            row_title="planted",
            column_title="dropped by",
        )


def score_audit(
    planted: Sequence[Planted], results: Sequence[FilterResult], *, confidence: float = 0.95
) -> AuditReport:
    """Hold what the filters said against what was planted.

    Args:
        planted: all questions that were given to the filters.
        results: of each of them; from filters that go on after a drop (``exhaustive``) every filter is measured on everything,
            from others on what earlier ones let pass.
        confidence: of the intervals.

    Raises:
        UserError: if a planted question has no result, or two, or a result belongs to none.
    """
    kind_of = {p.pair.id: p.kind for p in planted}
    if len(kind_of) < len(planted):
        raise UserError("a question was planted twice.", where="planted audit")
    _check_complete(kind_of, results)
    filters = [n for n in FILTERS if any(v.filter == n for r in results for v in r.verdicts)]
    bad = sum(kind != "sound" for kind in kind_of.values())
    dropped = [r.item_id for r in results if r.outcome == "dropped"]
    late = sum(kind_of[r.item_id] != "sound" and r.outcome == "postponed" for r in results)
    right = sum(kind_of[id] != "sound" for id in dropped)
    rule_of = {p.pair.id: f"{p.kind}/{p.rule}" for p in planted}
    gone = Counter(rule_of[id] for id in dropped)
    decided = Counter(rule_of[r.item_id] for r in results if r.outcome != "postponed")
    return AuditReport(
        rows=tuple(_row(name, kind_of, results, confidence) for name in filters),
        precision=Rate.of(right, len(dropped), confidence),
        recall=Rate.of(right, bad - late, confidence),
        f1=Rate.f1(right, len(dropped) + bad - late - right, confidence),
        confusion=_confusion(kind_of, results, filters),
        by_rule={rule: Rate.of(gone[rule], n, confidence) for rule, n in sorted(decided.items())},
        planted=dict(Counter(kind_of[p.pair.id] for p in planted)),
        confidence=confidence,
    )


def _check_complete(kind_of: Mapping[str, PlantedKind], results: Sequence[FilterResult]) -> None:
    counts = Counter(result.item_id for result in results)
    for id in counts:
        if id not in kind_of:
            raise UserError(f"the question '{id}' was not planted.", where="planted audit")
    for id in kind_of:
        if counts[id] != 1:
            raise UserError(f"the question '{id}' has {counts[id]} results.", where="planted audit")


def _row(
    name: FilterName, kind_of: Mapping[str, PlantedKind], results: Sequence[FilterResult], confidence: float
) -> AuditRow:
    own = next(kind for kind, by in CATCHES.items() if by == name)
    said = {r.item_id: v.keep for r in results for v in r.verdicts if v.filter == name}
    undecided = {r.item_id for r in results if r.item_id not in said and r.outcome == "postponed"}
    undecided |= {id for id, keep in said.items() if keep is None}
    seen = [id for id, keep in said.items() if keep is not None]
    dropped = [id for id in seen if said[id] is False]
    by_kind, seen_by_kind = Counter(kind_of[id] for id in dropped), Counter(kind_of[id] for id in seen)
    caught, sound = by_kind[own], by_kind["sound"]
    whole = sum(kind == own and id not in undecided for id, kind in kind_of.items())
    return AuditRow(
        filter=name,
        catches=own,
        seen=len(seen),
        dropped=len(dropped),
        caught=caught,
        other=len(dropped) - caught - sound,
        sound=sound,
        postponed=len(undecided),
        precision=Rate.of(caught, len(dropped), confidence),
        precision_any=Rate.of(len(dropped) - sound, len(dropped), confidence),
        recall=Rate.of(caught, whole, confidence),
        recall_seen=Rate.of(caught, seen_by_kind[own], confidence),
        false_alarm=Rate.of(sound, seen_by_kind["sound"], confidence),
        f1=Rate.f1(caught, len(dropped) + whole - caught, confidence),
    )


def _confusion(
    kind_of: Mapping[str, PlantedKind], results: Sequence[FilterResult], filters: Sequence[FilterName]
) -> dict[str, dict[str, int]]:
    columns = (*filters, "kept", "postponed")
    table = {kind: dict.fromkeys(columns, 0) for kind in PLANTED_KINDS if kind in kind_of.values()}
    for result in results:
        by = result.dropped_by
        column: str = result.outcome if by is None else by.filter
        table[kind_of[result.item_id]][column] += 1
    return {str(kind): row for kind, row in table.items()}
