"""``proctor datasets synthetic``: made-up manuals whose right order is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from proctor.cli.console import command_app, emit
from proctor.cli.options import Output, with_settings
from proctor.settings import Settings, argument, option
from proctor.stages.settings import Seed

app = command_app()


class SyntheticSettings(Settings, frozen=True, kw_only=True):
    """Which manuals are made up, and where they go."""

    folder: Annotated[Path, argument("New or empty folder for articles, categories and images.")]
    manuals: Annotated[int, option("How many, of four tasks in turn.", ge=1)] = 100
    seed: Seed = 0


@app.command()
@with_settings
def synthetic(settings: SyntheticSettings, output: Output) -> None:
    """Generate synthetic manuals of five steps with pictures, to test what reads, orders or shows manuals.

    Texts alone decide 1 order of 4, pictures alone 1 of 6, both together all: a model that uses both can be right
    always, any other cannot. The folder is read as the data set wikihow.

    Example: proctor datasets synthetic made-up --manuals 20 --seed 7
    """
    from proctor.datasets.synthetic_manuals import write_manuals

    folder = write_manuals(settings.folder, settings.manuals, settings.seed)
    text = f"{settings.manuals:,} manuals in {folder}\nnext: proctor datasets stats {folder}"
    emit({"folder": str(folder), "manuals": settings.manuals}, text, as_json=output.as_json)
