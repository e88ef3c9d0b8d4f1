"""The sources that a question may be built on: for every source that it needs, some that are about the entity (SMMQG)."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from proctor.ask.documents.prompting import Miss, requirement_in_words
from proctor.corpus.index.hits import Hits
from proctor.corpus.source import MODALITIES, Modality, Source
from proctor.errors import UserError

__all__ = [
    "K_MODALITY",
    "Candidates",
    "Find",
    "Search",
    "TitlesFound",
    "find_by_title",
    "select_candidates",
    "wanted_candidates",
]

K_MODALITY: Final = 2
"""Candidates for each source that is needed (paper)."""

_SPARE: Final = 8

Find = Callable[[str, Modality, int], Hits]
"""Finds the k sources of a modality that are nearest to an entity; one row of hits, positions in the corpus."""


Search = Callable[[Sequence[str], Modality, int], Hits]
"""The same for several texts at once; one row of hits for each."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Candidates in the order in which they are numbered, from 1.

    Attributes:
        sources: all of them, shuffled.
        ranks: of each by id: its rank for the entity within its modality, counted from 1; a seed that was put in and not found
            has none.
        short: True when there are fewer than were asked for.
    """

    sources: tuple[Source, ...]
    ranks: Mapping[str, int] = field(default_factory=dict)
    short: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids in the order of the numbers."""
        return tuple(source.id for source in self.sources)

    def cited(self, numbers: Sequence[int]) -> tuple[Source, ...]:
        """Return the sources of some numbers, in their order."""
        return tuple(self.sources[number - 1] for number in numbers)

    def others(self, gold: Collection[str]) -> tuple[str, ...]:
        """Return the ids that are not among some, in the order of the numbers: natural distractors."""
        return tuple(source.id for source in self.sources if source.id not in gold)


def wanted_candidates(modalities: tuple[int, int, int], k_modality: int = K_MODALITY) -> dict[Modality, int]:
    """Return how many candidates of each modality are asked for: m times k.

    Raises:
        UserError: if k is less than 1.
    """
    if k_modality < 1:
        raise UserError(
            f"{k_modality} candidates for each source cannot be asked for.", hint="ask for at least 1"
        )
    return {m: count * k_modality for m, count in zip(MODALITIES, modalities, strict=True)}


def select_candidates(
    entity: str,
    modalities: tuple[int, int, int],
    find: Find,
    sources: Sequence[Source],
    rng: random.Random,
    *,
    k_modality: int = K_MODALITY,
    aliases: Collection[str] = (),
    include: Source | None = None,
    floor: float | None = None,
) -> Candidates | Miss:
    """Return the candidates of an attempt.

    Equal scores are ordered by id, whatever the search does with them. Sources with a content that is among the candidates
    already are passed over, and so are aliases: the next ones take their places.

    Args:
        entity: what they are to be about.
        modalities: how many texts, tables and images the question must need.
        find: the search.
        sources: of the corpus by position.
        rng: shuffles them; of the target and attempt.
        k_modality: candidates for each source that is needed.
        aliases: ids that stand for another source of the corpus.
        include: a source (the seed) that is among them whatever the search says, if its modality is needed; None for none.
        floor: score below which a source is no candidate; None for no such limit.

    Returns:
        The candidates, or a miss with ``too_few_candidates`` when there are not even as many as must be cited.
    """
    chosen: list[Source] = []
    ranks: dict[str, int] = {}
    short = False
    for modality, wanted in wanted_candidates(modalities, k_modality).items():
        if not wanted:
            continue
        search = _Search(entity, modality, find, sources, aliases, floor)
        first = [include] if include is not None and include.modality == modality else []
        ranked = search.distinct(wanted)
        taken = {s.content_hash or s.id for s in first}
        kept = [*first, *(s for s, _ in ranked if (s.content_hash or s.id) not in taken)][:wanted]
        needed = wanted // k_modality
        if len(kept) < needed:
            return Miss(
                "too_few_candidates",
                f"{len(kept)} {modality} for '{entity[:60]}', and {requirement_in_words(modalities)} must be cited",
            )
        short |= len(kept) < wanted
        kept_ids = {s.id for s in kept}
        ranks |= {s.id: rank for s, rank in ranked if s.id in kept_ids}
        chosen += kept
    if not chosen:
        raise UserError("a question needs at least one source, and 0-0-0 asks for none.")
    rng.shuffle(chosen)
    return Candidates(tuple(chosen), ranks, short)


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for one modality."""

    entity: str
    modality: Modality
    find: Find
    sources: Sequence[Source]
    aliases: Collection[str]
    floor: float | None

    def distinct(self, wanted: int) -> list[tuple[Source, int]]:
        """Return the best sources of different content with their ranks, at most so many."""
        most = wanted + _SPARE
        while True:
            scored = self._scored(most)
            is_all = len(scored) < most or most >= len(self.sources)
            if (
                not is_all
            ):  # those that share the last score may go on beyond it: their order by id is not known yet
                last = scored[-1][0]
                scored = [entry for entry in scored if entry[0] > last]
            found = self._different(sorted(scored, key=lambda entry: (-entry[0], entry[1].id)))
            if len(found) >= wanted or is_all:
                return found[:wanted]
            most *= 2

    def _scored(self, most: int) -> list[tuple[float, Source]]:
        """Return scores and sources, best first as the search has them."""
        hits = self.find(self.entity, self.modality, most)
        pairs = zip(hits.scores[0].tolist(), hits.positions[0].tolist(), strict=True)
        return [(score, self.sources[at]) for score, at in pairs if at >= 0 and math.isfinite(score)]

    def _different(self, scored: Sequence[tuple[float, Source]]) -> list[tuple[Source, int]]:
        found: list[tuple[Source, int]] = []
        seen: set[str] = set()
        for rank, (score, source) in enumerate(scored, 1):
            if self.floor is not None and score < self.floor:
                break
            content = source.content_hash or source.id
            if source.modality == self.modality and source.id not in self.aliases and content not in seen:
                seen.add(content)
                found.append((source, rank))
        return found


# -- is the search any good? ---------------------------------------------------------------------------------------


class TitlesFound(NamedTuple):
    """How many of some sources a search found by their own titles."""

    found: int
    tried: int

    @property
    def share(self) -> float:
        """Of those that were tried; 1 where none was."""
        return self.found / self.tried if self.tried else 1.0

    def __str__(self) -> str:
        """``84 % (168 of 200)``."""
        return f"{self.share:.0%} ({self.found:,} of {self.tried:,})".replace("%", " %")


def find_by_title(
    sources: Sequence[Source], search: Search, *, sample: int | None = 200, first: int = K_MODALITY
) -> TitlesFound:
    """Search for sources by their own titles: the least that a search for entities has to do (ours).

    A source is found when one of the first hits of its modality has its title.

    Args:
        sources: of the corpus by position.
        search: to be tried.
        sample: at most so many sources, always the same ones; None for all.
        first: hits that are looked at.
    """
    titled = [source for source in sources if any(map(str.isalnum, source.title))]
    if sample is not None and len(titled) > sample:
        titled = random.Random(0).sample(titled, sample)  # noqa: S311 - no secret
    found = 0
    for modality in MODALITIES:
        own = [source for source in titled if source.modality == modality]
        if own:
            hits = search([source.title for source in own], modality, first).positions.tolist()
            found += sum(
                any(at >= 0 and sources[at].title == source.title for at in row)
                for source, row in zip(own, hits, strict=True)
            )
    return TitlesFound(found, len(titled))
