"""What the texts of two steps say of their order: numbers that change sign when the two are exchanged.

Every remark is about the texts alone and never about the slots they are presented in, so that no order can leak. A *single*
remark is about one step and counts for it and against the other ("its verb is serve"); a *joint* one is about both ("the first chops
what the second calls chopped") and counts against its mirror image. Source: ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.procedure.inflect import base_form, singular, word_set
from proctor.procedure.manual import Modality
from proctor.procedure.manual import Sequence as Manual
from proctor.procedure.order_text import StepTexts
from proctor.procedure.phrase import parse_phrase, render_step

__all__ = ["PairFeatures", "Pairs", "all_pairs", "different_pairs"]

Pairs = NDArray[np.int64]
"""Pairs of slots, shape [P, 2]."""
Remarks = dict[str, float]

_WORD: Final = re.compile(r"[^\W_]+")
_ORDERLY: Final = frozenset(
    {"next", "brings_vessel", "next_in_vessel", "fetches_vessel", "last_mention", "made_next"}
)
"""Kinship that rests on the places of steps, which are what is asked for."""
_SHORT: Final = word_set("a an the of to in on into onto with and or for from at it its is are be by as")


@dataclass(frozen=True, slots=True)
class _Step:
    words: tuple[str, ...]
    verb: str
    content: frozenset[str]
    definite: frozenset[str]  # "the" stands before them, somewhere before the next short word
    counted: frozenset[str]  # behind a number or "a"


def _read(text: str) -> _Step:
    raw = _WORD.findall(render_step(text).lower())
    words = tuple(
        base_form(w) or singular(w) or (w[:-1] if len(w) > 3 and w.endswith("s") else w) for w in raw
    )
    behind: dict[str, set[str]] = {"the": set(), "a": set(), "": set()}
    state = ""
    for word, base in zip(raw, words, strict=True):
        if word in ("the", "this", "that", "these", "those", "it"):
            state = "the"
        elif word in ("a", "an", "some", "one") or word.isdigit():
            state = "a"
        elif word in _SHORT:
            state = ""
        else:
            behind[state].add(base)
    verb = parse_phrase(text).verb or (words[0] if words else "")
    content = frozenset(w for w in words if w not in _SHORT and not w.isdigit())
    return _Step(words, verb, content, frozenset(behind["the"]), frozenset(behind["a"]))


def _remarks(texts: Sequence[str], pairs: Pairs) -> tuple[list[Remarks], dict[tuple[int, int], Remarks]]:
    """Return the remarks on each step, and those on each pair in both directions, mirror images not yet taken off."""
    steps = [_read(text) for text in texts]
    kin = StepTexts(texts, [0.0] * len(texts))
    counts = Counter(word for step in steps for word in step.content)
    singles = [dict(_single(step, kin.kinds[i], counts)) for i, step in enumerate(steps)]
    both = (turned for i, j in pairs.tolist() for turned in ((i, j), (j, i)))
    return singles, {(i, j): dict(_joint(steps[i], steps[j], kin, i, j)) for i, j in both}


def _single(step: _Step, kind: str, counts: Counter[str]) -> Iterator[tuple[str, float]]:
    yield from ((f"word {word}", 1.0) for word in step.words)
    yield from ((f"words {one} {other}", 1.0) for one, other in pairwise(("^", *step.words, "$")))
    yield from ((f"verb of {step.verb} {word}", 1.0) for word in step.content)
    yield f"verb {step.verb}", 1.0
    yield f"kind {kind}", 1.0
    yield "length", float(np.log1p(len(step.words)))
    shared = sum(counts[word] > 1 for word in step.content)
    yield "shared", float(np.log1p(shared))
    yield "unshared", float(np.log1p(len(step.content) - shared))
    yield "definite", float(len(step.definite) > 0)
    yield "counted", float(len(step.counted) > 0)


def _joint(a: _Step, b: _Step, kin: StepTexts, i: int, j: int) -> Iterator[tuple[str, float]]:
    """Yield what speaks for step a before step b."""
    shared = a.content & b.content
    if shared:
        yield "then the", float(len(shared & b.definite - a.definite))
        yield "first a", float(len(shared & a.counted - b.counted))
    for name, value in kin.kinship(i, j).items():
        if name not in _ORDERLY:
            yield f"kin {name}", value
    for one in sorted(a.content):
        for other in sorted(b.content):
            if one != other:  # its mirror image has the same name: half of it here, the other half there
                yield f"words {min(one, other)} > {max(one, other)}", 0.5 if one < other else -0.5


def all_pairs(count: int) -> Pairs:
    """Return the pairs of so many slots, the smaller first."""
    return np.stack(np.triu_indices(count, 1), axis=1).astype(np.int64)


def different_pairs(sequence: Manual, modality: Modality) -> Pairs:
    """Return the pairs of steps, earlier first, that look different: nobody can tell the order of the others."""
    pairs, alike = all_pairs(len(sequence.steps)), np.array(sequence.alike(modality))
    found: Pairs = pairs[alike[pairs[:, 0]] != alike[pairs[:, 1]]]
    return found


class PairFeatures:
    """The columns of a table of pairs."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._column = {name: k for k, name in enumerate(self.names)}

    @classmethod
    def seen(cls, manuals: Iterable[tuple[Sequence[str], Pairs]], fewest: int) -> PairFeatures:
        """Return the columns of remarks that occur in so many manuals or more, of each its texts and pairs."""
        counts: Counter[str] = Counter()
        for texts, pairs in manuals:
            singles, joint = _remarks(texts, pairs)
            counts.update({name for remarks in (*singles, *joint.values()) for name in remarks})
        return cls(sorted(name for name, n in counts.items() if n >= fewest))

    def table(self, texts: Sequence[str], pairs: Pairs) -> Any:
        """Return the remarks on pairs, a sparse matrix of shape [P, columns]; exchanging a pair changes all signs."""
        import scipy.sparse

        singles, joint = _remarks(texts, pairs)
        found = [
            (row, at, sign * value)
            for row, (i, j) in enumerate(pairs.tolist())
            for sign, remarks in ((1, singles[i]), (-1, singles[j]), (1, joint[i, j]), (-1, joint[j, i]))
            for name, value in remarks.items()
            if (at := self._column.get(name)) is not None
        ]
        rows, columns, values = zip(*found, strict=True) if found else ((), (), ())
        return scipy.sparse.csr_matrix((values, (rows, columns)), shape=(len(pairs), len(self.names)))
