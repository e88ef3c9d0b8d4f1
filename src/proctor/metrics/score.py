"""A number with a name: every score carries its signature, its interval and its denominator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Score", "Signature"]


@dataclass(frozen=True, slots=True)
class Signature:
    """Every choice that changes a number: ``name|key:value|key:value``, printable, parseable, comparable.

    Keys are sorted, so two equal signatures print equally.
    """

    name: str
    parameters: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for text in (self.name, *self.parameters, *self.parameters.values()):
            if "|" in text or not text:
                raise ValueError(f"a signature part must be non-empty and without '|', got {text!r}")
        if any(":" in key for key in self.parameters):
            raise ValueError("a signature key must not contain ':'")

    def __str__(self) -> str:
        return "|".join([self.name, *(f"{k}:{self.parameters[k]}" for k in sorted(self.parameters))])

    def __hash__(self) -> int:
        return hash(str(self))

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Parse what ``str`` printed.

        Raises:
            ValueError: if a part has no ``key:value`` form.
        """
        name, *parts = text.split("|")
        pairs = [part.partition(":") for part in parts]
        bad = [part for part, (_, colon, _) in zip(parts, pairs, strict=True) if not colon]
        if bad:
            raise ValueError(f"signature part {bad[0]!r} has no 'key:value' form in {text!r}")
        return cls(name, {key: value for key, _, value in pairs})


@dataclass(frozen=True, slots=True)
class Score:
    """A value with its interval, its signature and how many items stand behind it.

    Attributes:
        value: the number; ``nan`` only when nothing was scored, and then ``note`` says why.
        low: lower end of the interval, None when it is undefined.
        high: upper end.
        n: items scored.
        failed: items whose prediction or judgement failed (never counted as 0).
        skipped: items that were not asked.
        note: why something is undefined.
    """

    value: float
    signature: Signature
    n: int
    low: float | None = None
    high: float | None = None
    failed: int = 0
    skipped: int = 0
    note: str = ""

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"{self.signature} = undefined ({self.note or 'nothing scored'})"
        interval = (
            f" [{self.low:.1f}, {self.high:.1f}]" if self.low is not None and self.high is not None else ""
        )
        rest = f", {self.failed} failed, {self.skipped} skipped" if self.failed or self.skipped else ""
        return f"{self.signature} = {self.value:.1f}{interval} (n={self.n}{rest})"
