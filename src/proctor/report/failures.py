"""Answers that are none: refusals, blocked and cut-off replies, errors; and answers that no judge could mark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from proctor.report.data import ReportData, Run
from proctor.report.standings import Standings

__all__ = ["FailedAnswer", "Failures", "describe_failures", "split_failure"]

_MOST_LISTED: Final = 200
_CODE: Final = re.compile(r"(?P<code>[a-z][a-z0-9_-]{1,40}): ?(?P<message>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FailedAnswer:
    """One answer without a mark.

    Attributes:
        run: whose.
        item_id: the question.
        kind: ``failed`` (there is no answer) or ``unscored`` (there is one, but no mark).
        code: what it is, in one word.
        message: what was said about it.
    """

    run: str
    item_id: str
    kind: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Failures:
    """All of them.

    Attributes:
        counts: kind, code and how many of how many runs, most frequent first.
        listed: the first ones, in the order of the runs on the page, then of the items.
        more: how many are not listed.
    """

    counts: tuple[tuple[str, str, int, int], ...]
    listed: tuple[FailedAnswer, ...]
    more: int


def split_failure(text: str) -> tuple[str, str]:
    """Return the code that a failure begins with and the rest; ``other`` where it begins with none."""
    match = _CODE.fullmatch(text.strip())
    return (match["code"], match["message"].strip()) if match else ("other", text.strip())


def describe_failures(data: ReportData, standings: Standings) -> Failures | None:
    """Gather them, None when every answer that was asked for has a mark."""
    order = {item.id: n for n, item in enumerate(data.items)}
    found = [
        f for row in standings.rows for f in sorted(_of(row.run), key=lambda f: order.get(f.item_id, -1))
    ]
    if not found:
        return None
    times = Counter((f.kind, f.code) for f in found)
    runs = Counter((kind, code) for kind, code, _ in {(f.kind, f.code, f.run) for f in found})
    counts = sorted(times, key=lambda key: (-times[key], key))
    return Failures(
        counts=tuple((kind, code, times[kind, code], runs[kind, code]) for kind, code in counts),
        listed=tuple(found[:_MOST_LISTED]),
        more=max(0, len(found) - _MOST_LISTED),
    )


def _of(run: Run) -> Iterator[FailedAnswer]:
    judged = {j.item_id: j for j in run.judgements}
    for prediction in run.predictions:
        if prediction.answer is None:
            yield FailedAnswer(
                run.name, prediction.item_id, "failed", *split_failure(prediction.failure or "")
            )
            continue
        judgement = judged.get(prediction.item_id)
        if judgement is None:
            yield FailedAnswer(run.name, prediction.item_id, "unscored", "not_judged", "")
        elif judgement.score is None:
            yield FailedAnswer(
                run.name, prediction.item_id, "unscored", *split_failure(judgement.failure or "")
            )
