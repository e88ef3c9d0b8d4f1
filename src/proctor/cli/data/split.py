"""``proctor datasets split``: splits made, made again, and looked through for leakage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import msgspec
import typer

from proctor.cli.console import JsonFlag, command_app, emit
from proctor.cli.data.common import PlaceArgument, find_place
from proctor.errors import UserError

app = command_app()


@app.command()
def split(
    place: PlaceArgument,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Attribute of which no value may be in two subsets: person, environment, activity, video, category:3, …"
        ),
    ] = None,
    rule: Annotated[
        str | None, typer.Option(help="Make one of the data set's own splits from its rule.")
    ] = None,
    check: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Say what this split file lets through.")
    ] = None,
    near: Annotated[
        float | None,
        typer.Option(min=0.1, max=1.0, help="With --check: also texts that share this part of their words."),
    ] = None,
    fractions: Annotated[str, typer.Option(help="Shares of the subsets.")] = "train=0.8,val=0.1,test=0.1",
    stratify: Annotated[
        str | None, typer.Option(help="Attribute whose mixture should be alike in all subsets.")
    ] = None,
    fill: Annotated[
        str,
        typer.Option(
            help="How groups are dealt out: balanced, or in-order (test first, then val, the rest train)."
        ),
    ] = "balanced",
    seed: Annotated[int, typer.Option(help="Equal seeds give equal splits.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the split and how it was made.")
    ] = None,
    corrections: Annotated[str, typer.Option(help="corrected or published.")] = "corrected",
    as_json: JsonFlag = False,
) -> None:
    """Make a split in which nothing leaks, make a released one again, or look for leakage in any split file.

    Without --by, --rule or --check, every split that the data set has a rule for is made and compared with its file.

    Example: proctor datasets split ~/data/captaincook4d --by person --out splits

    Example: proctor datasets split ~/data/captaincook4d --check splits/person.json --by environment
    """
    from proctor.stages import datasets_splits as stage

    if sum((rule is not None, check is not None)) > 1 or (rule is not None and by):
        raise UserError(
            "--rule, --check and --by (without --check) exclude each other.", hint="give one of them"
        )
    dataset, folder = find_place(place)
    result: msgspec.Struct
    if check is not None:
        leaks = stage.check_split(dataset.name, folder, check, by or (), near=near, corrections=corrections)
        result, text = leaks, stage.render_check(leaks)
    elif rule is not None:
        made = stage.make_split(dataset.name, folder, rule, out=out)
        result, text = made, stage.render_made(made)
    elif by:
        split = stage.split_dataset(
            dataset.name,
            folder,
            by,
            fractions=stage.parse_fractions(fractions),
            seed=seed,
            stratify=stratify,
            fill=cast("Any", fill),
            corrections=corrections,
            out=out,
        )
        result, text = split, stage.render_made(split)
    else:
        rules = stage.reproduce_splits(dataset.name, folder)
        result, text = rules, stage.render_rules(rules)
    emit(result, text, as_json=as_json)
