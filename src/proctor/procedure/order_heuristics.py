"""Orders of steps that nobody learned: by the length of their texts, and by words that begin or end a procedure.

A model that does not beat these has not understood what the steps do. Steps are given as they are presented, and equal ones keep
that order, so that the right order never leaks. Source: ours; Wu et al. 2022 compare with chance alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

__all__ = ["HEURISTICS", "cue_score"]

_BEGIN: Final = re.compile(
    r"\b(?:first|firstly|begin|start|starting|initially|before|preheat|gather|collect|choose|select|find|get|take|open|wash|"
    r"rinse|clean|peel|prepare|measure|cut|chop|slice|dice|crack|break|remove)\b",
    re.IGNORECASE,
)
_END: Final = re.compile(
    r"\b(?:finally|last|lastly|finish|finished|end|done|complete|enjoy|serve|serving|garnish|decorate|top|sprinkle|cool|plate|"
    r"repeat|check|store|close|ready|eat|taste)\b",
    re.IGNORECASE,
)


def cue_score(text: str) -> float:
    """Return from -1 (its words begin procedures) to 1 (they end them), 0 where no word tells.

    Example:
        >>> [cue_score(t) for t in ("First, wash the pan.", "Stir.", "Serve and enjoy.")]
        [-1.0, 0.0, 1.0]
    """
    begins, ends = len(_BEGIN.findall(text)), len(_END.findall(text))
    return (ends - begins) / (ends + begins) if ends + begins else 0.0


def _by(key: Callable[[str], float]) -> Callable[[Sequence[str]], tuple[int, ...]]:
    def order(texts: Sequence[str]) -> tuple[int, ...]:
        return tuple(sorted(range(len(texts)), key=lambda slot: key(texts[slot])))

    return order


HEURISTICS: Final[Mapping[str, Callable[[Sequence[str]], tuple[int, ...]]]] = {
    "shortest-first": _by(len),
    "longest-first": _by(lambda text: -len(text)),
    "cue-words": _by(cue_score),
}
"""By name, from the texts of the slots to slots in the order in which they are done."""
