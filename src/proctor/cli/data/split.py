"""``proctor datasets split``: splits made, made again, and looked through for leakage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import msgspec

from proctor.cli.console import command_app, emit
from proctor.cli.data.common import PlaceSettings, find_place
from proctor.cli.options import Output, with_settings
from proctor.errors import UserError
from proctor.settings import option
from proctor.stages.settings import Corrections, Seed

app = command_app()


class SplitSettings(PlaceSettings, frozen=True, kw_only=True):
    """What is split or looked through, and how."""

    by: Annotated[
        tuple[str, ...],
        option(
            "Attribute of which no value may be in two subsets: person, environment, activity, video, category:3, …"
        ),
    ] = ()
    rule: Annotated[str | None, option("Make one of the data set's own splits from its rule.")] = None
    check: Annotated[Path | None, option("Check this split file for leakage.", metavar="FILE")] = None
    near: Annotated[
        float | None,
        option("With --check: also texts that share this fraction of their words.", ge=0.1, le=1.0),
    ] = None
    fractions: Annotated[str, option("Shares of the subsets.")] = "train=0.8,val=0.1,test=0.1"
    stratify: Annotated[
        str | None, option("Attribute whose distribution should be similar in all subsets.")
    ] = None
    fill: Annotated[
        str, option("How groups are assigned: balanced, or in-order (test first, then val, the rest train).")
    ] = "balanced"
    out: Annotated[Path | None, option("Folder for the split and how it was made.")] = None
    seed: Seed = 0
    corrections: Corrections = "corrected"


@app.command()
@with_settings
def split(settings: SplitSettings, output: Output) -> None:
    """Make a split in which nothing leaks, make a released one again, or look for leakage in any split file.

    Without --by, --rule or --check, every split that the data set has a rule for is made and compared with its file.

    Example: proctor datasets split ~/data/captaincook4d --by person --out splits

    Example: proctor datasets split ~/data/captaincook4d --check splits/person.json --by environment
    """
    from proctor.stages import datasets_splits as stage

    by, rule, check, corrections = settings.by, settings.rule, settings.check, settings.corrections
    if (rule is not None and check is not None) or (rule is not None and by):
        raise UserError(
            "--rule, --check and --by (without --check) exclude each other.", hint="give one of them"
        )
    dataset, folder = find_place(settings.place)
    result: msgspec.Struct
    if check is not None:
        leaks = stage.check_split(
            dataset.name, folder, check, by, near=settings.near, corrections=corrections
        )
        result, text = leaks, stage.render_check(leaks)
    elif rule is not None:
        made = stage.make_split(dataset.name, folder, rule, out=settings.out)
        result, text = made, stage.render_made(made)
    elif by:
        split = stage.split_dataset(
            dataset.name,
            folder,
            by,
            fractions=stage.parse_fractions(settings.fractions),
            seed=settings.seed,
            stratify=settings.stratify,
            fill=cast("Any", settings.fill),
            corrections=corrections,
            out=settings.out,
        )
        result, text = split, stage.render_made(split)
    else:
        rules = stage.reproduce_splits(dataset.name, folder)
        result, text = rules, stage.render_rules(rules)
    emit(result, text, as_json=output.as_json)
