"""Contamination: questions that stand, word for word or nearly so, in lists that models may have learnt from.

Ours beyond SMMQG: the same words, shared word n-grams (Jaccard), or cosine of vectors.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

import msgspec

from proctor.ask.documents.duplicates import EmbedQuestions, normalise_question
from proctor.errors import UserError

__all__ = ["ContaminationRules", "NearMatch", "find_near_matches"]

_BLOCK: Final = 1024


class ContaminationRules(msgspec.Struct, frozen=True, kw_only=True):
    """When two questions are near.

    Attributes:
        n: words of an n-gram; a shorter question is one n-gram.
        jaccard: share of common n-grams from which on two questions are near.
        cosine: of their vectors, above which they are.
    """

    n: int = 3
    jaccard: float = 0.5
    cosine: float = 0.95

    def __post_init__(self) -> None:
        """Refuse what could never or always match."""
        if self.n < 1 or not 0 < self.jaccard <= 1 or not 0 < self.cosine <= 1:
            raise UserError(
                f"questions cannot be compared by n={self.n}, jaccard={self.jaccard}, cosine={self.cosine}.",
                hint="n is at least 1; both shares are above 0 and at most 1",
            )


class NearMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A question that is near one of another list.

    Attributes:
        id: of our question.
        list: name of the other list.
        place: of the other question in it, counted from 0.
        other: its text.
        by: ``words`` (the same ones), ``ngrams`` or ``cosine``; the first that holds, in this order.
        value: 1, the Jaccard index or the cosine.
    """

    id: str
    list: str
    place: int
    other: str
    by: Literal["words", "ngrams", "cosine"]
    value: float


def find_near_matches(
    questions: Sequence[tuple[str, str]],
    known: Mapping[str, Sequence[str]],
    *,
    rules: ContaminationRules | None = None,
    embed: EmbedQuestions | None = None,
) -> list[NearMatch]:
    """Return for each question its nearest match in each list, if there is one; in the order of questions and lists.

    Args:
        questions: id and text of each of ours.
        known: questions of other sets, by the name of the set.
        rules: when two are near; the defaults when None.
        embed: gives vectors; without it only words count.
    """
    rules = rules or ContaminationRules()
    found: dict[tuple[str, str], NearMatch] = {}
    for name, others in known.items():
        for match in _in_list(questions, name, others, rules, embed):
            found.setdefault((match.id, name), match)
    return [found[id, name] for id, _ in questions for name in known if (id, name) in found]


def _in_list(
    questions: Sequence[tuple[str, str]],
    name: str,
    others: Sequence[str],
    rules: ContaminationRules,
    embed: EmbedQuestions | None,
) -> Iterator[NearMatch]:
    """Yield matches; of several for one question the surest comes first."""
    by_words = {normalise_question(text): place for place, text in reversed(list(enumerate(others)))}
    index = _NgramIndex(others, rules.n)
    for id, text in questions:
        place = by_words.get(normalise_question(text)) if normalise_question(text) else None
        if place is not None:
            yield NearMatch(id=id, list=name, place=place, other=others[place], by="words", value=1.0)
            continue
        place, value = index.nearest(text)
        if value >= rules.jaccard:
            yield NearMatch(
                id=id, list=name, place=place, other=others[place], by="ngrams", value=round(value, 6)
            )
    if embed is not None and questions and others:
        yield from _by_cosine(questions, name, others, rules, embed)


class _NgramIndex:
    """From an n-gram to the questions that have it."""

    def __init__(self, texts: Iterable[str], n: int) -> None:
        self._n = n
        self._sizes: list[int] = []
        self._places: dict[str, list[int]] = defaultdict(list)
        for place, text in enumerate(texts):
            grams = _ngrams(text, n)
            self._sizes.append(len(grams))
            for gram in grams:
                self._places[gram].append(place)

    def nearest(self, text: str) -> tuple[int, float]:
        """Return place and Jaccard index of the nearest question, the first of equals; (-1, 0) where nothing is shared."""
        grams = _ngrams(text, self._n)
        shared = Counter(place for gram in grams for place in self._places.get(gram, ()))
        best, value = -1, 0.0
        for place, common in sorted(shared.items()):
            jaccard = common / (len(grams) + self._sizes[place] - common)
            if jaccard > value:
                best, value = place, jaccard
        return best, value


def _ngrams(text: str, n: int) -> frozenset[str]:
    words = normalise_question(text).split()
    if not words:
        return frozenset()
    return frozenset(" ".join(words[at : at + n]) for at in range(max(1, len(words) - n + 1)))


def _by_cosine(
    questions: Sequence[tuple[str, str]],
    name: str,
    others: Sequence[str],
    rules: ContaminationRules,
    embed: EmbedQuestions,
) -> Iterator[NearMatch]:
    ours = embed([text for _, text in questions])
    best: list[tuple[float, int]] = [(-1.0, -1)] * len(questions)
    for start in range(0, len(others), _BLOCK):
        cosines = ours @ embed(others[start : start + _BLOCK]).T
        for row, at in enumerate(cosines.argmax(axis=1)):
            if float(cosines[row, at]) > best[row][0]:
                best[row] = float(cosines[row, at]), start + int(at)
    for (id, _), (value, place) in zip(questions, best, strict=True):
        if value > rules.cosine:
            yield NearMatch(
                id=id, list=name, place=place, other=others[place], by="cosine", value=round(value, 6)
            )
