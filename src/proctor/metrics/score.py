"""A number with a name: every score carries its signature, its interval and its denominator."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from proctor.version import __version__

__all__ = ["Score", "Signature", "require_comparable", "require_comparable_scores"]

_PRINTED = re.compile(
    r"(?P<signature>.*) = (?P<value>undefined|[^ ]+)"
    r"(?: \[(?P<low>[^,\]]+), (?P<high>[^\]]+)\])?"
    r" \(n=(?P<n>\d+)(?:, (?P<failed>\d+) failed, (?P<skipped>\d+) skipped)?(?:; (?P<note>.*))?\)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Signature:
    """Every choice that changes a number: ``name|key:value|key:value``, printable, parseable, comparable.

    Keys are sorted, so two equal signatures print equally. Values may hold ``:`` (the first one of a part ends
    its key) but never ``|``.

    Raises:
        ValueError: if a part is empty or holds ``|``, or a key holds ``:``.
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

    def having(self, **parameters: str) -> Signature:
        """Return the signature with these parameters added or replaced."""
        return Signature(self.name, {**self.parameters, **parameters})

    def differing(self, other: Signature, *, ignoring: Collection[str] = ()) -> tuple[str, ...]:
        """Keys whose values are not equal in both, sorted; ``name`` stands for the name itself."""
        keys = (set(self.parameters) | set(other.parameters)) - set(ignoring)
        found = {k for k in keys if self.parameters.get(k) != other.parameters.get(k)}
        return tuple(sorted(found | ({"name"} if self.name != other.name else set())))

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Parse what ``str`` printed.

        Raises:
            ValueError: if a part has no ``key:value`` form or a key occurs twice.
        """
        name, *parts = text.split("|")
        parameters: dict[str, str] = {}
        for part in parts:
            key, colon, value = part.partition(":")
            if not colon:
                raise ValueError(f"signature part {part!r} has no 'key:value' form in {text!r}")
            if key in parameters:
                raise ValueError(f"signature key {key!r} occurs twice in {text!r}")
            parameters[key] = value
        return cls(name, parameters)


def require_comparable(a: Signature, b: Signature, *, ignoring: Collection[str] = ()) -> None:
    """Refuse to set two numbers side by side that were not measured alike.

    Another ``seed`` is no other measure: it moves ends of intervals by the noise of the resampling.

    Raises:
        ValueError: naming every choice that differs and both of its values.
    """
    keys = a.differing(b, ignoring={*ignoring, "seed"})
    if keys:
        pairs = [
            f"{k} ({a.name if k == 'name' else a.parameters.get(k, 'unset')!r} against "
            f"{b.name if k == 'name' else b.parameters.get(k, 'unset')!r})"
            for k in keys
        ]
        raise ValueError(f"the two scores were not measured alike: they differ in {', '.join(pairs)}")


@dataclass(frozen=True, slots=True)
class Score:
    """A value with its interval, its signature and how many items stand behind it.

    Attributes:
        value: the number; ``nan`` only when it is undefined, and then ``note`` says why.
        low: lower end of the interval, None when it is undefined.
        high: upper end.
        n: items scored.
        failed: items without a prediction or judgement. They are outside the value, unless the signature says what
            they count as (``failed:not-found``).
        skipped: items that were not asked.
        note: why something is undefined, or what to beware of.
        version: of the package that made it; printed as a part of the signature, and without a say in whether two
            scores are equal or comparable.

    Raises:
        ValueError: if the value is undefined without a note, a count is negative or the interval has one end.
    """

    value: float
    signature: Signature
    n: int
    low: float | None = None
    high: float | None = None
    failed: int = 0
    skipped: int = 0
    note: str = ""
    version: str = field(default=__version__, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.signature, Signature):
            raise ValueError(f"the signature of a score is a Signature, got {self.signature!r:.60}")
        if math.isnan(self.value) and not self.note:
            raise ValueError("a score without a value needs a note that says why")
        if min(self.n, self.failed, self.skipped) < 0:
            raise ValueError(
                f"counts must not be negative: n={self.n}, {self.failed} failed, {self.skipped} skipped"
            )
        if (self.low is None) != (self.high is None):
            raise ValueError("an interval has two ends or none")

    @property
    def total(self) -> int:
        """Items that should have been scored: the denominator that two runs must share."""
        return self.n + self.failed + self.skipped

    def __float__(self) -> float:
        """The value alone, ``nan`` where it is undefined."""
        return self.value

    def __format__(self, spec: str) -> str:
        """The value in this format (``.3f``, ``.1%``), ``undefined`` where it is; everything without a format."""
        if not spec:
            return str(self)
        return "undefined" if math.isnan(self.value) else format(self.value, spec)

    def to_dict(self) -> dict[str, float | int | str | None]:
        """Everything as JSON has it; ``value`` is None where it is undefined."""
        return {
            "value": self.value if math.isfinite(self.value) else None,
            "low": self.low if self.low is not None and math.isfinite(self.low) else None,
            "high": self.high if self.high is not None and math.isfinite(self.high) else None,
            "n": self.n,
            "failed": self.failed,
            "skipped": self.skipped,
            "note": self.note,
            "signature": str(self.full_signature),
        }

    @property
    def full_signature(self) -> Signature:
        """The signature with the version of the package, as it is printed."""
        return self.signature.having(version=self.version) if self.version else self.signature

    def __str__(self) -> str:
        value = "undefined" if math.isnan(self.value) else f"{self.value:.10g}"
        interval = (
            f" [{self.low:.10g}, {self.high:.10g}]" if self.low is not None and self.high is not None else ""
        )
        rest = f", {self.failed} failed, {self.skipped} skipped" if self.failed or self.skipped else ""
        note = f"; {self.note}" if self.note else ""
        return f"{self.full_signature} = {value}{interval} (n={self.n}{rest}{note})"

    def __repr__(self) -> str:
        return f"Score({self})"

    def _repr_html_(self) -> str:
        """One row, for notebooks; what is undefined has its note in place of a number."""
        from proctor.tables import html_table  # late: a score is made without it

        value = self.note if math.isnan(self.value) else self.value
        ends = "" if self.low is None or self.high is None else f"{self.low:.4g} to {self.high:.4g}"
        signature = str(self.full_signature)
        return html_table([{"value": value, "interval": ends, "n": self.n, "signature": signature}])

    @classmethod
    def parse(cls, text: str) -> Score:
        """Parse what ``str`` printed; numbers come back with ten significant digits.

        Raises:
            ValueError: if the text is not a printed score.
        """
        found = _PRINTED.fullmatch(text)
        if not found:
            raise ValueError(f"a printed score reads 'signature = value [low, high] (n=…)', got {text!r}")
        part = found.groupdict()
        printed = Signature.parse(part["signature"])
        kept = {key: value for key, value in printed.parameters.items() if key != "version"}
        return cls(
            value=math.nan if part["value"] == "undefined" else float(part["value"]),
            signature=Signature(printed.name, kept),
            version=printed.parameters.get("version", ""),
            n=int(part["n"]),
            low=None if part["low"] is None else float(part["low"]),
            high=None if part["high"] is None else float(part["high"]),
            failed=int(part["failed"] or 0),
            skipped=int(part["skipped"] or 0),
            note=part["note"] or "",
        )


def require_comparable_scores(a: Score, b: Score, *, ignoring: Collection[str] = ()) -> None:
    """Refuse to compare two scores that were measured differently or on different numbers of items.

    Raises:
        ValueError: naming the choices that differ, or both denominators.
    """
    require_comparable(a.signature, b.signature, ignoring=ignoring)
    if a.total != b.total:
        raise ValueError(
            f"the two scores have different denominators: {a.total} items ({a.n} scored, {a.failed} failed, "
            f"{a.skipped} skipped) against {b.total} ({b.n}, {b.failed}, {b.skipped}); score both on the same items"
        )
    if a.n != b.n and "failed" not in a.signature.parameters:
        raise ValueError(
            f"the two scores stand on different items: {a.n} scored of {a.total} against {b.n}; "
            "score again what failed, or compare the items that both scored (paired comparison)"
        )
