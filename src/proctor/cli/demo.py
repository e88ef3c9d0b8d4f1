"""``proctor demo``: the whole job on the shipped sample."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec

from proctor.cli.console import command_app, emit, table
from proctor.cli.options import Output, with_settings
from proctor.settings import Settings, argument, option
from proctor.stages.settings import Seed
from proctor.terminal import progress, warn

app = command_app()


class DemoSettings(Settings, frozen=True, kw_only=True):
    """Where the demo is written, and with which pictures."""

    folder: Annotated[Path, argument("Where to write; made if needed.")] = Path("demo")
    video: Annotated[bool, option("Render the sample's videos, so that the report has pictures.")] = True
    seed: Seed = 0


@app.command()
@with_settings
def demo(settings: DemoSettings, output: Output) -> None:
    """Run the whole job on the shipped sample: from recordings to a verified benchmark, baseline scores and a report.

    Needs no network, no keys and no model. Run the same command again to continue where it stopped.

    Example: proctor demo my-first-benchmark --no-video
    """
    from proctor.stages.demo import demo as stage

    begin = time.monotonic()
    show = partial(progress, quiet=output.as_json)
    result = stage(settings.folder, show=show, video=settings.video, seed=settings.seed)
    if result.no_video:
        warn(result.no_video)
    runs = {name: scores.row("all") for name, scores in result.scores.tables.items()}
    seconds = round(time.monotonic() - begin, 1)
    rows = [
        (name, f"{row.value:.1f}", f"[{row.low:.1f}, {row.high:.1f}]" if row.low is not None else "", row.n)
        for name, row in runs.items()
        if row.value is not None
    ]
    funnel = (
        f"{result.read['recordings']} recordings of {result.read['activities']} activities → {result.derive.examples} moments"
        f" → {result.generate.candidates} questions → {result.build.items} verified, {result.build.golds} gold answers"
    )
    text = "\n".join(
        [
            funnel,
            "",
            table(rows, ("who answered", "score", "95 % interval", "questions")),
            "",
            f"done in {seconds:.0f} s",
            f"open     {result.report.report}",
            f"release  {result.build.release}",
            f"look at  head -1 {settings.folder / 'bench'}/items.jsonl",
            "try      proctor read plain YOUR_FOLDER bench   (docs/datasets/plain.md: your own recordings)",
            "         proctor read captaincook4d FOLDER bench",
        ]
    )
    found = {**msgspec.structs.asdict(result), "scores": runs, "seconds": seconds}
    emit(found, text, as_json=output.as_json)
