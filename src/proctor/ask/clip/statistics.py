"""The numbers of a set beside the published ones (InstructionBench's supplement).

The paper does not say how it measures length; 11 is too few for characters, so *words* are meant. Ours are words between white space,
and beside them tokens with punctuation apart, since published tables of other benchmarks mean either. Durations are means over clips.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from proctor.ask.clip.record import ChoiceItem, ClipPair, ShownClip
from proctor.errors import UserError
from proctor.metrics.text_statistics import count_tokens, count_words

__all__ = [
    "PUBLISHED",
    "SetKind",
    "SetStatistics",
    "StatisticsRow",
    "choice_statistics",
    "compare_with_published",
    "open_statistics",
]

SetKind = Literal["multiple-choice", "open", "training"]


class SetStatistics(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a set is made of.

    Attributes:
        kind: questions with options, open-ended ones, or training.
        datasets: how many the clips come from.
        videos: different ones.
        clips: different ones.
        mean_duration: of the clips, seconds; None where no clip is known.
        question_words: mean length.
        question_tokens: mean length.
        answer_words: mean length of the answers; of questions with options, of all options.
        answer_tokens: mean length.
        options: of a question, mean; None for open-ended ones.
        samples: questions.
        letters: how often each is right.
        durations: of the clips, seconds, increasing.
        by_dataset: questions.
        by_level: questions.
        by_category: questions.
        by_position: questions.
        without_clip: questions whose clip is not known: they are in no number of clips.
    """

    kind: SetKind
    datasets: int
    videos: int
    clips: int
    mean_duration: float | None
    question_words: float | None
    question_tokens: float | None
    answer_words: float | None
    answer_tokens: float | None
    options: float | None
    samples: int
    letters: Mapping[str, int] = {}
    durations: tuple[float, ...] = ()
    by_dataset: Mapping[str, int] = {}
    by_level: Mapping[str, int] = {}
    by_category: Mapping[str, int] = {}
    by_position: Mapping[str, int] = {}
    without_clip: int = 0


PUBLISHED: Final[Mapping[SetKind, Mapping[str, float]]] = {
    "multiple-choice": {
        "datasets": 4,
        "videos": 713,
        "clips": 932,
        "mean_duration": 282.95,
        "question_words": 11.66,
        "answer_words": 10.92,
        "options": 5,
        "samples": 5_000,
    },
    "open": {
        "datasets": 4,
        "videos": 718,
        "clips": 938,
        "mean_duration": 283.22,
        "question_words": 11.70,
        "answer_words": 11.01,
        "samples": 5_635,
    },
    "training": {
        "datasets": 4,
        "videos": 2_475,
        "clips": 3_346,
        "mean_duration": 284.10,
        "question_words": 11.69,
        "answer_words": 10.85,
        "samples": 19_495,
    },
}
"""The supplement's table; its lengths are taken for words."""

_LABELS: Final[Mapping[str, tuple[str, str]]] = {
    "datasets": ("source data sets", ""),
    "videos": ("videos", ""),
    "clips": ("clips", ""),
    "mean_duration": ("mean duration of a clip", "s"),
    "question_words": ("mean length of a question", "words"),
    "question_tokens": ("mean length of a question", "tokens"),
    "answer_words": ("mean length of an answer", "words"),
    "answer_tokens": ("mean length of an answer", "tokens"),
    "options": ("options of a question", ""),
    "samples": ("questions", ""),
}


class StatisticsRow(msgspec.Struct, frozen=True, kw_only=True):
    """One number beside the published one.

    Attributes:
        name: field of ``SetStatistics``.
        label: in words.
        unit: of the number; empty for counts.
        ours: None where it is undefined.
        published: None where the paper gives none.
    """

    name: str
    label: str
    unit: str
    ours: float | None
    published: float | None


def open_statistics(
    pairs: Sequence[ClipPair], clips: Iterable[ShownClip], *, kind: SetKind = "open"
) -> SetStatistics:
    """Return the numbers of open-ended pairs.

    Args:
        pairs: the questions.
        clips: of the pairs; others do not count.
        kind: ``open`` or ``training``.

    Raises:
        UserError: if a set of pairs is called multiple choice.
    """
    if kind == "multiple-choice":
        raise UserError("pairs have no options.", hint="give the questions with options to choice_statistics")
    return _statistics(
        kind, pairs, clips, [pair.question for pair in pairs], [pair.answer for pair in pairs], None, {}
    )


def choice_statistics(
    items: Sequence[ChoiceItem], pairs: Iterable[ClipPair], clips: Iterable[ShownClip]
) -> SetStatistics:
    """Return the numbers of questions with options; of an item whose pair is not given only its texts count."""
    by_id = {pair.id: pair for pair in pairs}
    known = [by_id[item.id] for item in items if item.id in by_id]
    options = [text for item in items for text in item.options]
    letters = Counter(item.letter for item in items)
    mean = _mean([len(item.options) for item in items])
    found = _statistics(
        "multiple-choice",
        known,
        clips,
        [item.question for item in items],
        options,
        mean,
        dict(sorted(letters.items())),
    )
    lost = found.without_clip + len(items) - len(known)
    return msgspec.structs.replace(found, samples=len(items), without_clip=lost)


def compare_with_published(statistics: SetStatistics) -> list[StatisticsRow]:
    """Return every number with the published one beside it, in the order of the published table."""
    published = PUBLISHED[statistics.kind]
    rows = []
    for name, (label, unit) in _LABELS.items():
        if name == "options" and statistics.kind != "multiple-choice":
            continue
        said = label.replace("an answer", "an option") if statistics.kind == "multiple-choice" else label
        ours = getattr(statistics, name)
        rows.append(StatisticsRow(name=name, label=said, unit=unit, ours=ours, published=published.get(name)))
    return rows


def _statistics(
    kind: SetKind,
    pairs: Sequence[ClipPair],
    clips: Iterable[ShownClip],
    questions: Sequence[str],
    answers: Sequence[str],
    options: float | None,
    letters: Mapping[str, int],
) -> SetStatistics:
    by_id = {clip.id: clip for clip in clips}
    used = {pair.clip_id: by_id[pair.clip_id] for pair in pairs if pair.clip_id in by_id}
    lengths = [clip.end - clip.start for clip in used.values()]
    return SetStatistics(
        kind=kind,
        datasets=len({pair.dataset for pair in pairs}),
        videos=len({(pair.dataset, pair.video_id) for pair in pairs}),
        clips=len({pair.clip_id for pair in pairs}),
        mean_duration=_mean(lengths),
        question_words=_mean([count_words(text) for text in questions]),
        question_tokens=_mean([count_tokens(text) for text in questions]),
        answer_words=_mean([count_words(text) for text in answers]),
        answer_tokens=_mean([count_tokens(text) for text in answers]),
        options=options,
        samples=len(questions),
        letters=letters,
        durations=tuple(sorted(lengths)),
        by_dataset=_count(pair.dataset for pair in pairs),
        by_level=_count(pair.level for pair in pairs),
        by_category=_count(pair.category for pair in pairs),
        by_position=_count(pair.position or "unknown" for pair in pairs),
        without_clip=sum(pair.clip_id not in by_id for pair in pairs),
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _count(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
