"""``proctor demo``: the whole job on the shipped sample."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from proctor.cli.console import JsonFlag, SeedOption, command_app, emit, progress, table, warn

app = command_app()


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="Where to write; made if needed.")] = Path("demo"),
    video: Annotated[
        bool, typer.Option(help="Render the sample's videos, so that the report has pictures.")
    ] = True,
    seed: SeedOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Run the whole job on the shipped sample: recordings in, a verified benchmark, baseline scores, a report out.

    Needs no network, no keys and no model. Say it again to go on where it stopped.

    Example: proctor demo my-first-benchmark --no-video
    """
    import msgspec

    from proctor.stages.demo import demo as stage

    begin = time.monotonic()
    result = stage(folder, show=partial(progress, quiet=as_json), video=video, seed=seed or 0)
    if result["no_video"]:
        warn(result["no_video"])
    scores = result.pop("scores")
    runs = {name: scores_.row("all") for name, scores_ in scores.tables.items()}
    result["scores"] = {name: msgspec.to_builtins(row) for name, row in runs.items()}
    result["seconds"] = round(time.monotonic() - begin, 1)
    emit(result, _text(folder, result, runs), as_json=as_json)


def _text(folder: Path, result: dict[str, Any], runs: dict[str, Any]) -> str:
    read, built = result["read"], result["build"]
    rows = [
        (name, f"{row.value:.1f}", f"[{row.low:.1f}, {row.high:.1f}]" if row.low is not None else "", row.n)
        for name, row in runs.items()
        if row.value is not None
    ]
    bench = folder / "bench"
    funnel = (
        f"{read['recordings']} recordings of {read['activities']} activities → {result['derive']['examples']} moments"
        f" → {result['generate']['candidates']} questions → {built['items']} verified, {built['golds']} gold answers"
    )
    return "\n".join(
        [
            funnel,
            "",
            table(rows, ("who answered", "score", "95 % interval", "questions")),
            "",
            f"done in {result['seconds']:.0f} s",
            f"open     {result['report']['report']}",
            f"release  {built['release']}",
            f"look at  head -1 {bench}/items.jsonl",
            "try      proctor read plain YOUR_FOLDER bench   (docs/datasets/plain.md: your own recordings)",
            "         proctor read captaincook4d FOLDER bench",
        ]
    )
