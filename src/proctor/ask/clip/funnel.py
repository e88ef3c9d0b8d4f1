"""What became of each question in the filters, and the funnel: how many each filter saw, kept, dropped and postponed, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final, Literal

import msgspec

from proctor.ask.clip.record import FILTERS, FilterName, FilterVerdict

__all__ = ["RULE", "FilterFunnel", "FilterOutcome", "FilterResult", "FunnelRow", "count_funnel", "results_of"]

RULE: Final = "rule"
"""Judge of a verdict for which no model was asked."""

FilterOutcome = Literal["kept", "dropped", "postponed"]


class FilterResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the filters said of one question.

    Attributes:
        item_id: the question.
        verdicts: in the order in which they were asked; none when the run ended before.
    """

    item_id: str
    verdicts: tuple[FilterVerdict, ...] = ()

    @property
    def dropped_by(self) -> FilterVerdict | None:
        """The first verdict that drops it, unless one before it is still missing: then nothing is decided."""
        for verdict in self.verdicts:
            if verdict.keep is not True:
                return verdict if verdict.keep is False else None
        return None

    @property
    def outcome(self) -> FilterOutcome:
        """What became of it."""
        if self.dropped_by is not None:
            return "dropped"
        return "kept" if self.verdicts and all(v.keep for v in self.verdicts) else "postponed"


class FunnelRow(msgspec.Struct, frozen=True, kw_only=True):
    """One filter.

    Attributes:
        filter: its name.
        seen: questions that it was asked about.
        kept: of these.
        dropped: of these.
        postponed: of these: somebody who has to vote was not there.
        problems: dropped ones by problem, most frequent first.
        calls: that its verdicts took.
        cost: dollars; None when a price is not known.
    """

    filter: FilterName
    seen: int
    kept: int
    dropped: int
    postponed: int
    problems: Mapping[str, int]
    calls: int
    cost: str | None

    @property
    def unparsed(self) -> int:
        """Dropped because nothing could be read."""
        return self.problems.get("unparsed", 0)


class FilterFunnel(msgspec.Struct, frozen=True, kw_only=True):
    """All filters.

    Attributes:
        asked: questions.
        kept: by all filters.
        dropped: by one.
        postponed: neither; a later run decides.
        rows: filter by filter.
    """

    asked: int
    kept: int
    dropped: int
    postponed: int
    rows: tuple[FunnelRow, ...]

    @property
    def lines(self) -> list[str]:
        """The funnel in words, one line a filter."""
        said = [f"{self.asked} question{'s' if self.asked != 1 else ''}"]
        for row in self.rows:
            why = ", ".join(f"{n} {problem}" for problem, n in row.problems.items())
            line = f"{row.filter}: {row.seen} seen, {row.dropped} dropped" + (f" ({why})" if why else "")
            said.append(line + (f", {row.postponed} postponed" if row.postponed else ""))
        late = f", {self.postponed} postponed" if self.postponed else ""
        return [*said, f"{self.kept} kept, {self.dropped} dropped{late}"]


def count_funnel(results: Sequence[FilterResult], filters: Sequence[FilterName] = FILTERS) -> FilterFunnel:
    """Count what became of questions.

    Args:
        results: one each.
        filters: that were asked, in order.
    """
    outcomes = Counter(result.outcome for result in results)
    by_filter: dict[FilterName, list[FilterVerdict]] = {name: [] for name in filters}
    for result in results:
        for verdict in result.verdicts:
            by_filter.setdefault(verdict.filter, []).append(verdict)
    return FilterFunnel(
        asked=len(results),
        kept=outcomes["kept"],
        dropped=outcomes["dropped"],
        postponed=outcomes["postponed"],
        rows=tuple(_row(name, verdicts) for name, verdicts in by_filter.items()),
    )


def _row(name: FilterName, verdicts: Sequence[FilterVerdict]) -> FunnelRow:
    problems = Counter(v.evidence.get("problem", "other") for v in verdicts if v.keep is False)
    called = [v for v in verdicts if int(v.details.get("calls", "0"))]
    costs = [v.details.get("cost") for v in called]
    known = [Decimal(cost) for cost in costs if cost is not None]
    return FunnelRow(
        filter=name,
        seen=len(verdicts),
        kept=sum(v.keep is True for v in verdicts),
        dropped=problems.total(),
        postponed=sum(v.keep is None for v in verdicts),
        problems=dict(sorted(problems.items(), key=lambda pair: (-pair[1], pair[0]))),
        calls=sum(int(v.details.get("calls", "0")) for v in called),
        cost=f"{sum(known, Decimal(0)):f}" if len(known) == len(costs) else None,
    )


def results_of(ids: Iterable[str], verdicts: Iterable[FilterVerdict]) -> list[FilterResult]:
    """Put verdicts that were read from a file together again, question by question.

    Args:
        ids: of all questions, in the order that is wanted.
        verdicts: in the order in which they were asked; those on other questions are left out.
    """
    found: dict[str, list[FilterVerdict]] = {id: [] for id in ids}
    for verdict in verdicts:
        if verdict.item_id in found:
            found[verdict.item_id].append(verdict)
    return [FilterResult(id, tuple(said)) for id, said in found.items()]
