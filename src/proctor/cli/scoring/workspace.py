"""``proctor score WORKSPACE``: the runs of a workspace, scored and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.console import JsonFlag, WorkersOption, WorkspaceArgument, command_app, emit, table
from proctor.cli.judge import RunsOption
from proctor.errors import UserError

if TYPE_CHECKING:
    from proctor.exam.table import ScoreRow
    from proctor.metrics.significance import Comparison

app = command_app()


def _seed(value: int | None) -> int | None:
    if value is not None and value < 0:
        raise UserError(f"--seed must not be negative, got {value}.", hint="any number from 0 on will do")
    return value


SeedOption = Annotated[
    int | None,
    typer.Option("--seed", help="Run seed; same inputs and seed give the same bytes.", callback=_seed),
]


@app.command()
def score(
    workspace: WorkspaceArgument,
    run: RunsOption = None,
    confidence: Annotated[float | None, typer.Option(help="Level of the intervals (default 0.95).")] = None,
    resamples: Annotated[int | None, typer.Option(help="Of the bootstrap (default 10,000).")] = None,
    seed: SeedOption = None,
    workers: WorkersOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Compute every run's scores and compare all pairs of runs.

    Intervals are bootstrapped over recordings, because questions about one recording share its difficulty. Pairs
    are compared on the same items, p-values corrected over all pairs (Holm).

    Example: proctor score bench --confidence 0.9
    """
    import msgspec

    from proctor.compute import place_of
    from proctor.stages import score as stage

    result = stage.score(
        workspace,
        run or (),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        place=place_of(workers),
    )
    types = list(dict.fromkeys(r.slice for t in result.tables.values() for r in t.rows if r.kind == "type"))
    slices = ["all", "clean", "noisy", *types]
    rows = []
    for name, scores in result.tables.items():
        found = {r.slice: r for r in scores.rows}
        rows.append((name, *(_show(found.get(s), interval=s == "all") for s in slices)))
    text = table(rows, ("run", *(s.removeprefix("type=") for s in slices)))
    if result.comparisons:
        text += "\n\n" + table(
            [_compare(c) for c in result.comparisons],
            ("pair", "difference", "p (Holm)", "smallest detectable"),
        )
    if result.corrected:
        from proctor.cli.calibrate import corrected_table

        text += "\n\n" + corrected_table(result.corrected)
    first = next(iter(result.tables.values()))
    text += f"\n\n{first.row('all').signature}\nnext: proctor report {workspace}"
    emit(msgspec.to_builtins(result), text, as_json=as_json)


def _show(row: ScoreRow | None, *, interval: bool) -> str:
    if row is None or row.value is None:
        return "–"
    if interval and row.low is not None and row.high is not None:
        return f"{row.value:.1f} [{row.low:.1f}, {row.high:.1f}]"
    return f"{row.value:.1f}"


def _compare(pair: Comparison) -> tuple[str, str, str, str]:
    if pair.difference is None:
        return f"{pair.a} → {pair.b}", "–", "–", "–"
    interval = (
        f" [{pair.low:+.1f}, {pair.high:+.1f}]" if pair.low is not None and pair.high is not None else ""
    )
    p = pair.p_holm if pair.p_holm is not None else pair.p
    smallest = pair.detectable
    return (
        f"{pair.a} → {pair.b}",
        f"{pair.difference:+.1f}{interval}",
        "–" if p is None else f"{p:.4f}",
        "–" if smallest is None else f"{smallest:.1f}",
    )
