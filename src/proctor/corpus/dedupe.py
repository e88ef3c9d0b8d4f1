"""Sources that say the same: exactly, by content hash; nearly, by shared words.

Equal sources lie close to each other, so they would draw the weights of seeds to themselves and stand as distractors beside
their own twins. The first of them stays; the ids of the others become its aliases.

Near duplicates by words are found with MinHash and locality-sensitive hashing (Broder 1997; the library datasketch) and then
measured exactly, so that the estimate decides only who is compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.corpus.source import Source, render_source
from proctor.errors import MissingExtraError, UserError

__all__ = [
    "NearDuplicates",
    "bands",
    "exact_duplicates",
    "near_duplicates",
]

_CHUNK: Final = 1000
_MISSED: Final = 1e-4


def exact_duplicates(sources: Iterable[Source]) -> dict[str, str]:
    """Return for every source that repeats the content of an earlier one (of its modality) the id of that one."""
    first: dict[tuple[str, str], str] = {}
    aliases: dict[str, str] = {}
    for source in sources:
        kept = first.setdefault((source.modality, source.content_hash), source.id)
        if kept != source.id:
            aliases[source.id] = kept
    return aliases


# -- by words --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """How texts and tables are compared by their words.

    Attributes:
        threshold: Jaccard similarity of the sets of shingles from which two sources count as one, above 0 and at most 1.
        shingle: words that stand together.
        permutations: of MinHash; more of them save comparisons (see ``bands``).
        seed: of the permutations.
    """

    threshold: float = 0.9
    shingle: int = 3
    permutations: int = 128
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse values that no comparison can have."""
        if not 0 < self.threshold <= 1 or self.shingle < 1 or self.permutations < 2:
            raise UserError(
                f"near duplicates cannot be found with {self}.",
                hint="threshold in (0, 1], shingle of at least 1 word, at least 2 permutations",
            )


def near_duplicates(sources: Iterable[Source], how: NearDuplicates | None = None) -> dict[str, str]:
    """Return for every text and table that nearly repeats an earlier one that stays the id of that one.

    Images are not compared: two different pictures may well have one caption.

    Args:
        sources: each is compared with those before it of its modality that stay.
        how: threshold and accuracy.

    Raises:
        MissingExtraError: if datasketch is not installed.
    """
    how = how or NearDuplicates()
    found = list(sources)
    aliases: dict[str, str] = {}
    for modality in ("text", "table"):
        aliases |= _near([source for source in found if source.modality == modality], how)
    return aliases


def _near(sources: Sequence[Source], how: NearDuplicates) -> dict[str, str]:
    groups = _groups(_band_hashes(sources, how))
    stay: defaultdict[int, list[int]] = defaultdict(list)
    aliases: dict[str, str] = {}

    @lru_cache(maxsize=4096)
    def shingles(place: int) -> frozenset[bytes]:
        return _shingles(sources[place], how.shingle)

    for place in np.flatnonzero((groups >= 0).any(axis=1)).tolist():
        own = shingles(place)
        mine = [group for group in groups[place].tolist() if group >= 0]
        others = sorted({other for group in mine for other in stay[group]})
        twin = None
        for other in others:
            theirs = shingles(other)
            shared = len(own & theirs)
            if shared >= how.threshold * (len(own) + len(theirs) - shared):
                twin = other
                break
        if twin is not None:
            aliases[sources[place].id] = sources[twin].id
            continue
        for group in mine:
            stay[group].append(place)
    return aliases


def _datasketch() -> Any:
    try:
        return import_module("datasketch")  # it has no types
    except ImportError:
        raise MissingExtraError("datasketch", "corpus", "finding near duplicates") from None


def bands(threshold: float, permutations: int) -> tuple[int, int]:
    """Return bands and rows: the longest bands with which a pair at the threshold is missed once in 10,000 times.

    A band of r rows agrees with probability s^r, so b bands miss a pair of similarity s with (1 - s^r)^b. Too few permutations
    for that give bands of one row.
    """
    for rows in range(permutations, 1, -1):
        count = permutations // rows
        if (1 - threshold**rows) ** count <= _MISSED:
            return count, rows
    return permutations, 1


def _band_hashes(sources: Sequence[Source], how: NearDuplicates) -> NDArray[np.uint64]:
    """Return one number for each band of each source, shape (sources, bands): equal bands have equal numbers."""
    count, rows = bands(how.threshold, how.permutations)
    sketch = _datasketch().MinHash.bulk
    # Odd factors, so that no row of a band is lost; two bands that meet by chance cost one comparison.
    factors = np.random.default_rng(how.seed).integers(0, 2**63, (count, rows), np.uint64) * 2 + 1
    found = np.empty((len(sources), count), np.uint64)
    for begin in range(0, len(sources), _CHUNK):
        sets = [_shingles(source, how.shingle) for source in sources[begin : begin + _CHUNK]]
        sketches = [made.hashvalues for made in sketch(sets, num_perm=how.permutations, seed=how.seed)]
        values = np.array(sketches, np.uint64)[:, : count * rows].reshape(-1, count, rows)
        found[begin : begin + _CHUNK] = (values * factors).sum(axis=2, dtype=np.uint64)
    return found


def _groups(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return which group each source is in by each band, -1 where it is alone; groups of different bands differ."""
    count = len(hashes)
    found = np.full(hashes.shape, -1, np.int64)
    for band, column in enumerate(hashes.T):
        _, group, sizes = np.unique(column, return_inverse=True, return_counts=True)
        together = sizes[group] > 1
        found[together, band] = group[together] + band * count
    return found


def _shingles(source: Source, size: int) -> frozenset[bytes]:
    """Runs of ``size`` words; all words as one where there are fewer."""
    words = render_source(source).casefold().split()
    if len(words) <= size:
        return frozenset((" ".join(words).encode("utf-8", "surrogatepass"),))
    return frozenset(
        " ".join(words[at : at + size]).encode("utf-8", "surrogatepass")
        for at in range(len(words) - size + 1)
    )
