"""``proctor score WORKSPACE``: the runs of a workspace, scored and compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from proctor.cli.console import WorkspaceArgument, command_app, emit, table
from proctor.cli.options import Output, Spread, with_settings
from proctor.stages.exam_settings import ScoreSettings
from proctor.terminal import warn

if TYPE_CHECKING:
    from proctor.exam.table import ScoreRow
    from proctor.metrics.significance import Comparison
    from proctor.stages.score import ScoredRuns

app = command_app()


@app.command()
@with_settings
def score(workspace: WorkspaceArgument, settings: ScoreSettings, spread: Spread, output: Output) -> None:
    """Compute the scores of every run, and compare all pairs of runs that were measured alike.

    Intervals are bootstrapped over recordings (of clips over videos, of documents over questions), because questions about one share
    its difficulty. Points from 0 to 100 are a judge's; shares from 0 to 1 are of right letters, or of answers that mean the same.
    Runs of one kind of questions with the same judge are compared on the same items, p-values corrected over all pairs (Holm).

    A score leaves out what failed, so each is shown with its bounds: every question without a mark (failed, not marked, never asked) as
    wrong, and as right. Only runs with marks for enough questions are ranked (--min-coverage); the others are listed below, with the reason.
    With --json, 'runs' is the leaderboard: run, rank, score, low and high (these bounds), unit (100 for points, 1 for shares), coverage
    (0 to 1), failed, skipped, judge.

    Example: proctor score bench --confidence 0.9
    """
    from proctor.compute import place_of
    from proctor.stages import score as stage

    result = stage.score(workspace, settings, place=place_of(spread.workers))
    parts = [*filter(None, [result.lacking]), *_tables(result)]
    if result.comparisons:
        parts.append(
            table(
                [_compare(c, result.tables[c.a].row()) for c in result.comparisons],
                ("pair", "common", "difference", "p (Holm)", "smallest detectable"),
            )
        )
    if result.corrected:
        from proctor.cli.calibrate import corrected_table

        parts.append(corrected_table(result.corrected))
    signatures = dict.fromkeys(t.row().signature for t in result.tables.values())
    parts.append("\n".join(signatures) + f"\nnext: proctor report {workspace}")
    for note in dict.fromkeys(note for t in result.tables.values() for note in t.notes):
        warn(note)
    emit(msgspec.to_builtins(result), "\n\n".join(parts), as_json=output.as_json)


def _tables(result: ScoredRuns) -> Iterator[str]:
    """Yield a table for each kind of questions and measure: all items with bounds, and what they are cut by first."""
    ranks = {line.run: line for line in result.runs}
    groups: dict[tuple[str, str], list[str]] = {}
    for name, scores in result.tables.items():
        for measure in dict.fromkeys(row.measure for row in scores.rows):
            groups.setdefault((result.kinds[name], measure), []).append(name)
    for (_, measure), names in groups.items():
        found = {
            name: {row.slice: row for row in result.tables[name].rows if row.measure == measure}
            for name in names
        }
        kinds = list(dict.fromkeys(r.kind for rows in found.values() for r in rows.values()))[:3]
        slices = dict.fromkeys(r.slice for rows in found.values() for r in rows.values() if r.kind in kinds)
        lines = []
        for name, rows in found.items():
            row, rank = rows["all"], ranks[name].rank if measure == ranks[name].measure else None
            covered = f"{row.n:,} of {row.asked:,}"
            shown = [_show(rows.get(s), interval=s == "all") for s in slices]
            lines.append((name, rank or "–", shown[0], _bounds(row), covered, *shown[1:], row.judge or "–"))
        lower = ", less is better" if next(iter(found.values()))["all"].lower else ""
        title = "run" if measure == "judge" else f"run ({measure}{lower})"
        further = [s.partition("=")[2] or s for s in slices][1:]
        yield table(lines, (title, "rank", "all", "failures wrong to right", "marked", *further, "judge"))
    for name, scores in result.tables.items():
        counts = scores.counts
        matched = counts.get("matched by a model")
        if matched is not None and (matched or counts["unparsed"]):
            read = f"{counts['read by rule']:,} replies read by rule, {matched:,} matched by a model"
            yield f"{name}: {read}, {counts['unparsed']:,} unread"
        if scores.counts.get("repaired") or ("repaired" in counts and counts["unparsed"]):
            yield f"{name}: {counts['repaired']:,} orders repaired, {counts['unparsed']:,} replies unread"
    if left := [f"not ranked: {line.run}: {line.why}" for line in result.runs if line.why]:
        yield "\n".join(left)


def _digits(row: ScoreRow) -> int:
    return 3 if row.full == 1 or row.raw else 1


def _bounds(row: ScoreRow) -> str:
    if row.least is None or row.most is None:
        return "–"
    return f"{row.least:.{_digits(row)}f} to {row.most:.{_digits(row)}f}"


def _show(row: ScoreRow | None, *, interval: bool) -> str:
    if row is None or row.value is None:
        return "–"
    digits = _digits(row)
    if interval and row.low is not None and row.high is not None:
        return f"{row.value:.{digits}f} [{row.low:.{digits}f}, {row.high:.{digits}f}]"
    return f"{row.value:.{digits}f}"


def _compare(pair: Comparison, row: ScoreRow) -> tuple[str, int, str, str, str]:
    if pair.difference is None:
        return f"{pair.a} → {pair.b}", pair.n, "–", "–", "–"
    digits = _digits(row)
    interval = (
        f" [{pair.low:+.{digits}f}, {pair.high:+.{digits}f}]"
        if pair.low is not None and pair.high is not None
        else ""
    )
    p = pair.p_holm if pair.p_holm is not None else pair.p
    smallest = pair.detectable
    return (
        f"{pair.a} → {pair.b}",
        pair.n,
        f"{pair.difference:+.{digits}f}{interval}",
        "–" if p is None else f"{p:.4f}",
        "–" if smallest is None else f"{smallest:.{digits}f}",
    )
