"""Questions that are asked already: the same words, almost the same meaning, or the same entity, sources and style.

Ours beyond SMMQG. Whoever comes first stays, so the result depends on the order alone.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.exam.kinds.documents_question import document_facts, gold_of
from proctor.exam.question import Question

__all__ = ["NEAR", "DuplicateFilter", "EmbedQuestions", "Repeats", "normalise_question", "question_hash"]

NEAR: Final = 0.95
"""Cosine above which two questions count as one."""

EmbedQuestions: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]
"""From texts to rows of length one."""

_BLOCK: Final = 512
_WORDS = re.compile(r"\w+")


class Repeats(msgspec.Struct, frozen=True, kw_only=True):
    """Which question another one repeats.

    Attributes:
        of: id of the one that came first.
        by: ``words`` (the same ones), ``meaning`` (cosine) or ``sources`` (same entity, sources and style).
        similarity: cosine, 1 for the other two.
    """

    of: str
    by: Literal["words", "meaning", "sources"]
    similarity: float = 1.0

    @property
    def detail(self) -> str:
        """For people."""
        how = f"cosine {self.similarity:.3f}" if self.by == "meaning" else f"the same {self.by}"
        return f"repeats {self.of} ({how})"


def normalise_question(text: str) -> str:
    """Return the words of a question, one way to write each letter, without case, punctuation and spacing."""
    return " ".join(_WORDS.findall(unicodedata.normalize("NFKC", text).casefold()))


def question_hash(text: str) -> str:
    """Return a hash of the words of a question, 16 hex digits."""
    return hashlib.sha256(normalise_question(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


class DuplicateFilter:
    """Admits questions in the order in which they come and tells which of them repeat one that was admitted.

    Args:
        embed: gives questions vectors; None compares words and sources alone.
        near: cosine above which two questions are one.
    """

    def __init__(self, embed: EmbedQuestions | None = None, *, near: float = NEAR) -> None:
        self._embed = embed
        self._near = near
        self._words: dict[str, str] = {}
        self._sources: dict[tuple[str, str, tuple[str, ...]], str] = {}
        self._ids: list[str] = []
        self._vectors: list[NDArray[np.float32]] = []

    def admit(self, questions: Sequence[Question]) -> list[Repeats | None]:
        """Return for each question what it repeats, None for one that is new and stays.

        Args:
            questions: in the order of their targets.
        """
        found: list[Repeats | None] = []
        for start in range(0, len(questions), _BLOCK):
            found += self._block(questions[start : start + _BLOCK])
        return found

    def exact(self, question: Question) -> Repeats | None:
        """Return what a question repeats by words or sources of those that were admitted so far."""
        same = self._words.get(question_hash(question.text))
        if same is not None:
            return Repeats(of=same, by="words")
        same = self._sources.get(sources_key(question))
        return None if same is None else Repeats(of=same, by="sources")

    def _block(self, questions: Sequence[Question]) -> Iterator[Repeats | None]:
        vectors = None if self._embed is None else self._embed([q.text for q in questions])
        before = None if vectors is None else self._nearest_before(vectors)
        among = None if vectors is None else vectors @ vectors.T
        stay: list[int] = []
        found: list[Repeats | None] = []
        for place, question in enumerate(questions):
            repeats = self.exact(question)
            if repeats is None and before is not None and among is not None:
                repeats = self._near_one(before[place], among[place], stay, questions)
            found.append(repeats)
            if repeats is None:
                stay.append(place)
                self._words[question_hash(question.text)] = question.id
                self._sources[sources_key(question)] = question.id
        self._ids += [questions[place].id for place in stay]
        if vectors is not None and stay:
            self._vectors.append(vectors[stay])
        return iter(found)

    def _nearest_before(self, vectors: NDArray[np.float32]) -> list[tuple[float, str]]:
        """Return for each row the highest cosine with a question of an earlier block, and whose it is."""
        if not self._vectors:
            return [(-1.0, "")] * len(vectors)
        if len(self._vectors) > 1:
            self._vectors = [np.concatenate(self._vectors)]
        cosines = vectors @ self._vectors[0].T
        best = cosines.argmax(axis=1)
        return [(float(cosines[row, at]), self._ids[at]) for row, at in enumerate(best)]

    def _near_one(
        self,
        before: tuple[float, str],
        row: NDArray[np.float32],
        stay: Sequence[int],
        questions: Sequence[Question],
    ) -> Repeats | None:
        candidates = [before, *((float(row[place]), questions[place].id) for place in stay)]
        similarity, of = max(candidates, key=lambda pair: pair[0])
        if similarity <= self._near:
            return None
        return Repeats(of=of, by="meaning", similarity=round(similarity, 6))


def sources_key(question: Question) -> tuple[str, str, tuple[str, ...]]:
    """Return style, entity and gold sources: two questions with the same ones are one."""
    entity = document_facts(question).entity
    return question.facets["style"], normalise_question(entity), tuple(sorted(gold_of(question)))
