"""Options that all families of scores have: how intervals are drawn."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias, TypedDict

from proctor.errors import UserError
from proctor.settings import Settings, option

__all__ = ["Draws", "Resamples", "ScoreSettings"]

_FEWEST_DRAWS: Final = 10

Resamples: TypeAlias = Annotated[int, option("Draws of the bootstrap; 0 leaves the intervals out.", ge=0)]
"""Of the options of all that has intervals."""


class Draws(TypedDict):
    """Keyword arguments of the metrics that draw."""

    confidence: float
    resamples: int
    seed: int


class ScoreSettings(Settings, frozen=True, kw_only=True):
    """What is drawn for the intervals of a table of scores.

    Raises:
        UserError: if the level is no level, there are too few draws for one, or a number is negative.
    """

    confidence: Annotated[float, option("Level of the intervals.")] = 0.95
    resamples: Resamples = 10_000
    seed: Annotated[int, option("Run seed; same inputs and seed give the same bytes.")] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.confidence < 1:
            raise UserError(
                f"--confidence must lie strictly between 0 and 1, got {self.confidence:g}.",
                hint="95 % is --confidence 0.95",
            )
        if self.resamples < _FEWEST_DRAWS and self.resamples:
            raise UserError(
                f"--resamples {self.resamples} is too few: the ends of an interval would be single draws.",
                hint="give 1000 or more, or 0 for no intervals",
            )
        if self.seed < 0:
            raise UserError(
                f"--seed must not be negative, got {self.seed}.", hint="any number from 0 on will do"
            )

    @property
    def slow(self) -> str:
        """What takes long enough for a progress bar, empty for nothing."""
        return ""

    @property
    def resampling(self) -> Draws:
        """How intervals are drawn, as keyword arguments."""
        return {"confidence": self.confidence, "resamples": self.resamples, "seed": self.seed}
