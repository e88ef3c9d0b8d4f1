"""The data set tables of a question-answering benchmark (ProMQA), as plain values.

Conventions: means are over items unless the name says otherwise; an undefined mean (nothing to average) is None,
never 0. Words are counted twice: split at white space, and as tokens with punctuation, which is how the published
figures were counted. *Steps so far* counts the performed steps up to the moment, the start moment as one, as the
published figure does.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from proctor.exam.kinds.moment_question import moment_candidate, moment_example, moment_question
from proctor.exam.question import Item, Text, gold_texts
from proctor.examples.example import QUESTION_TYPES, Example
from proctor.generate.candidate import Candidate
from proctor.metrics.text_statistics import first_words, mean_tokens, mean_words
from proctor.procedure.graph import TaskGraph
from proctor.verify.statistics import VerificationStatistics, verification_statistics
from proctor.verify.verdict import Verdict

__all__ = [
    "PUBLISHED_PROMQA",
    "Approval",
    "DatasetStatistics",
    "Spread",
    "TypeStatistics",
    "WordCount",
    "compute_statistics",
    "is_published_promqa",
    "order_types",
]

PUBLISHED_PROMQA: Final[Mapping[str, str]] = {
    "items": "401",
    "activities": "24",
    "recordings": "231",
    "steps_per_activity_weighted": "14.3",
    "clip_seconds": "6 min 47 s",
    "steps_so_far": "6.4",
    "answers_per_question": "1.9",
    "question_tokens": "8.9",
    "answer_tokens": "11.8",
    "clean": "176",
    "noisy": "225",
    "approved": "401 of 500 (0.80)",
    "answer_agreement": "0.87",
    "next": "158 of 179 (0.88)",
    "missing": "148 of 180 (0.82)",
    "order": "20 of 26 (0.77)",
    "preparation": "14 of 24 (0.58)",
    "measurement": "17 of 21 (0.81)",
    "timing": "25 of 33 (0.76)",
    "technique": "9 of 21 (0.43)",
    "temperature": "10 of 16 (0.62)",
}
"""Figures as the ProMQA paper prints them (Tables 2 and 12, section 3). Its text swaps clean and noisy; the values
here are those of its tables."""

_PUBLISHED_IDS: Final = "f83fbe76fdc510756c12e0ad739a3ecbb512729a6c9e92f503d1c48808fd3475"
"""SHA-256 of the 401 published ids, sorted, one a line."""

FIRST_WORDS_SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean, smallest and largest of some numbers; all None when there are none."""

    n: int
    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class WordCount:
    """Mean words of some texts: split at white space, and as tokens with punctuation."""

    split: float | None
    tokens: float | None


@dataclass(frozen=True, slots=True)
class Approval:
    """How many of the verified candidates were kept; ``candidates`` is None when only the kept ones are known."""

    kept: int
    candidates: int | None

    @property
    def rate(self) -> float | None:
        """Share kept, None when unknown."""
        return self.kept / self.candidates if self.candidates else None


@dataclass(frozen=True, slots=True)
class TypeStatistics:
    """The figures of one question type (or of all, under the name ``all``)."""

    name: str
    items: int
    clean: int
    noisy: int
    with_target: int
    recordings: int
    approval: Approval
    answers: int
    sources: Mapping[str, int]
    kinds: Mapping[str, int]
    question_words: WordCount
    answer_words: WordCount
    first_question_words: tuple[tuple[str, int], ...]
    first_answer_words: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class DatasetStatistics:
    """Every table of the data set section.

    Attributes:
        all: figures over all items.
        types: figures by question type, in the order of ``QUESTION_TYPES``, others behind.
        activities: name of every activity with its number of items, most first.
        recordings: number of different recordings.
        steps_per_activity: mean number of actions of a task graph, every activity counted once; of known graphs.
        steps_per_activity_weighted: the same, every item counted once.
        clip_seconds: length of what may be seen, in seconds.
        steps_so_far: performed steps up to the moment, the start moment counted as one.
        answers_histogram: number of golds to number of items, ascending.
        distinct_questions: number of different question texts.
        verification: who accepted what and how far people agree; None without candidates that people judged.
        published: True when the items are exactly those of the published ProMQA.
    """

    all: TypeStatistics
    types: tuple[TypeStatistics, ...]
    activities: tuple[tuple[str, int], ...]
    recordings: int
    steps_per_activity: Spread
    steps_per_activity_weighted: Spread
    clip_seconds: Spread
    steps_so_far: Spread
    answers_histogram: tuple[tuple[int, int], ...]
    distinct_questions: int
    verification: VerificationStatistics | None
    published: bool

    @property
    def answers_per_question(self) -> float | None:
        """Mean number of golds."""
        return self.all.answers / self.all.items if self.all.items else None


def compute_statistics(
    items: Sequence[Item],
    *,
    graphs: Mapping[str, TaskGraph] | None = None,
    candidates: Sequence[Candidate] = (),
    verdicts: Sequence[Verdict] = (),
) -> DatasetStatistics:
    """Compute the tables of a benchmark.

    Args:
        items: the benchmark.
        graphs: activity id to task graph, for the steps per activity.
        candidates: all candidates that went into verification, the rejected ones included; without them the
            approval rates are unknown.
        verdicts: the latest of every annotator; those of machines do not enter the agreement between people.

    Raises:
        UserError: if a verdict does not fit its candidate.
    """
    graphs = graphs or {}
    offered = Counter(c.type for c in candidates)
    moments = [moment_example(i.question) for i in items]
    sizes = {a: len(graphs[a].actions) for a in {moment.activity_id for moment in moments} if a in graphs}
    return DatasetStatistics(
        all=_describe("all", items, sum(offered.values()) or None),
        types=tuple(
            _describe(
                name,
                [i for i in items if i.question.facets["type"] == name],
                offered[name] if candidates else None,
            )
            for name in order_types({*(i.question.facets["type"] for i in items), *offered})
        ),
        activities=_count_activities(moments),
        recordings=len({i.question.cluster for i in items}),
        steps_per_activity=_spread(sizes.values()),
        steps_per_activity_weighted=_spread(
            sizes[moment.activity_id] for moment in moments if moment.activity_id in sizes
        ),
        clip_seconds=_spread(moment.end for moment in moments),
        steps_so_far=_spread(map(_steps_so_far, moments)),
        answers_histogram=tuple(sorted(Counter(len(i.golds) for i in items).items())),
        distinct_questions=len({i.question.text for i in items}),
        verification=_verify(candidates, verdicts),
        published=is_published_promqa(items),
    )


def _verify(candidates: Sequence[Candidate], verdicts: Sequence[Verdict]) -> VerificationStatistics | None:
    found = verification_statistics(map(moment_question, candidates), verdicts)
    return found if found.candidates else None


def order_types(names: Iterable[str]) -> tuple[str, ...]:
    """Return question types in their published order, unknown ones behind in alphabetical order."""
    known = set(names)
    return (*(t for t in QUESTION_TYPES if t in known), *sorted(known.difference(QUESTION_TYPES)))


def is_published_promqa(items: Sequence[Item]) -> bool:
    """True when the ids are exactly the 401 of the published benchmark (told by their hash)."""
    digest = hashlib.sha256("\n".join(sorted(i.id for i in items)).encode("utf-8", "replace"))
    return digest.hexdigest() == _PUBLISHED_IDS


def _describe(name: str, items: Sequence[Item], offered: int | None) -> TypeStatistics:
    golds = [g for i in items for g in i.golds]
    moments = [moment_example(i.question) for i in items]
    noisy = sum(moment.noisy for moment in moments)
    return TypeStatistics(
        name=name,
        items=len(items),
        clean=len(items) - noisy,
        noisy=noisy,
        with_target=sum(moment.has_answer for moment in moments),
        recordings=len({i.question.cluster for i in items}),
        approval=Approval(len({moment_candidate(i.question) for i in items}), offered),
        answers=len(golds),
        sources=Counter(g.written_by for g in golds),
        kinds=Counter(g.value.kind for g in golds if isinstance(g.value, Text)),
        question_words=_count_words([i.question.text for i in items]),
        answer_words=_count_words([text for i in items for text in gold_texts(i)]),
        first_question_words=_top_words(i.question.text for i in items),
        first_answer_words=_top_words(text for i in items for text in gold_texts(i)),
    )


def _count_activities(moments: Iterable[Example]) -> tuple[tuple[str, int], ...]:
    counts = Counter((moment.activity_name or moment.activity_id, moment.activity_id) for moment in moments)
    return tuple((name, n) for (name, _), n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _steps_so_far(example: Example) -> int:
    return len(example.previous) + 1


def _spread(values: Iterable[float]) -> Spread:
    numbers = list(values)
    if not numbers:
        return Spread(0, None, None, None)
    return Spread(len(numbers), sum(numbers) / len(numbers), min(numbers), max(numbers))


def _count_words(texts: Sequence[str]) -> WordCount:
    return WordCount(mean_words(texts).value, mean_tokens(texts).value) if texts else WordCount(None, None)


def _top_words(texts: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(first_words(texts)[:FIRST_WORDS_SHOWN])
