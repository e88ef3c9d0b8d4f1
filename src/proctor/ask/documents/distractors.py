"""Distractors by kind: sources that look as if they answered a question, each with the reason why it looks so.

SMMQG leaves the candidates that a question does not cite as natural distractors. Beyond it, further
ones are looked up: from the same document, about the same entity in another modality, near by vector, near by words.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, get_args

import msgspec

from proctor.errors import UserError

__all__ = ["DISTRACTOR_KINDS", "DistractorKind", "DistractorSearch", "find_distractors"]

DistractorKind = Literal["candidate", "same_document", "other_modality", "near_by_vector", "near_by_words"]
DISTRACTOR_KINDS: Final[tuple[DistractorKind, ...]] = get_args(DistractorKind)
"""In the order in which a source gets its one kind."""


class DistractorSearch(msgspec.Struct, frozen=True, kw_only=True):
    """Where distractors come from; what is None is not looked up.

    Attributes:
        document: from the id of a source to the ids of all sources of its document, in the order of the corpus.
        entity: from an entity and a modality (0 text, 1 table, 2 image) to ids, best first, as many as asked for.
        vector: from a question to ids, best first, as many as asked for.
        words: likewise, by words.
    """

    document: Callable[[str], Sequence[str]] | None = None
    entity: Callable[[str, int, int], Sequence[str]] | None = None
    vector: Callable[[str, int], Sequence[str]] | None = None
    words: Callable[[str, int], Sequence[str]] | None = None


def find_distractors(
    question: str,
    entity: str,
    modalities: tuple[int, int, int],
    gold: Sequence[str],
    candidates: Sequence[str],
    search: DistractorSearch,
    *,
    each: int = 3,
    same: Mapping[str, str] | None = None,
) -> dict[str, tuple[str, ...]]:
    """Return ids of distractors by kind, kinds in the order of ``DISTRACTOR_KINDS``; a source has one kind, the first that fits.

    Args:
        question: as asked.
        entity: that joined the candidates.
        modalities: how many texts, tables and images it needs; the others are the *other* modalities.
        gold: ids of its sources.
        candidates: ids of the candidates that it does not cite.
        search: where to look.
        each: how many of each kind, besides the candidates, which are all kept.
        same: from the id of a source to its content, such as its hash: what equals a gold source is no distractor.

    Raises:
        UserError: if ``each`` is below 1.
    """
    if each < 1:
        raise UserError(f"{each} distractors of a kind make no sense.", hint="take 1 or more")
    same = same or {}
    contents = {same[id] for id in gold if id in same}
    taken = set(gold)
    found: dict[str, tuple[str, ...]] = {}
    more = each + len(gold) + len(candidates)

    def keep(kind: DistractorKind, ids: Sequence[str], most: int) -> None:
        new = [id for id in dict.fromkeys(ids) if id not in taken and same.get(id) not in contents][:most]
        taken.update(new)
        if new:
            found[kind] = tuple(new)

    keep("candidate", candidates, len(candidates))
    if search.document is not None:
        keep("same_document", [id for g in gold for id in search.document(g)], each)
    if search.entity is not None:
        others = [m for m, count in enumerate(modalities) if not count]
        lists = [search.entity(entity, m, more) for m in others]
        turns = itertools.zip_longest(*lists)  # the best of each list, then the second of each, and so on
        keep("other_modality", [id_ for turn in turns for id_ in turn if id_ is not None], each)
    if search.vector is not None:
        keep("near_by_vector", search.vector(question, more + each * 3), each)
    if search.words is not None:
        keep("near_by_words", search.words(question, more + each * 4), each)
    return found
