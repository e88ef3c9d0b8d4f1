"""Levels of a judgement, and claims that leave some of them open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["BOTTOM", "MIDDLE", "TOP", "Claim", "Level", "levels_of"]

Level = Literal["top", "middle", "bottom"]
TOP: Final[frozenset[Level]] = frozenset(("top",))
MIDDLE: Final[frozenset[Level]] = frozenset(("middle",))
BOTTOM: Final[frozenset[Level]] = frozenset(("bottom",))


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement on the answer.

    Attributes:
        allows: the levels that it leaves open.
        said: the clause, for people.
    """

    allows: frozenset[Level]
    said: str


def levels_of(score: int, top: int) -> frozenset[Level]:
    """Return the levels that a score stands for; a binary 0 stands for a partial match too."""
    if score == top:
        return TOP
    if score == 0:
        return BOTTOM | MIDDLE if top == 1 else BOTTOM
    return MIDDLE
