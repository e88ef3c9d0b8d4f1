"""``proctor datasets check``: what is odd in a data set."""

from __future__ import annotations

from typing import Annotated

from proctor.cli.console import command_app, emit, table
from proctor.cli.data.common import PlaceSettings, find_place
from proctor.cli.options import Output, with_settings
from proctor.settings import option

app = command_app()


class CheckSettings(PlaceSettings, frozen=True, kw_only=True):
    """What is looked at."""

    rule: Annotated[str | None, option("List every finding of this rule, for example R10.")] = None


@app.command()
@with_settings
def check(settings: CheckSettings, output: Output) -> None:
    """List what is odd in the raw files of a data set, counted by rule. Nothing is changed.

    The data set is recognised by its files; give its name before the folder where several would fit.

    Example: proctor datasets check ~/data/captaincook4d --rule R10
    """
    from proctor.stages.datasets_check import check_dataset

    dataset, folder = find_place(settings.place)
    rule = settings.rule
    found = check_dataset(dataset, folder, rule)
    if rule is not None:
        rows = [(f.where, f.seen) for f in found.findings]
        text = table(rows, ("where", "seen")) if rows else f"no finding of rule {rule}"
    else:
        counted = [(r.rule, r.found, r.what, r.where) for r in found.rules]
        text = table(counted, ("rule", "found", "what", "where")) if counted else "nothing odd"
    emit(found, text, as_json=output.as_json)
