"""``proctor oracle``: measure the task-graph oracle against people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from proctor.cli.console import emit, group_app, table
from proctor.cli.options import Output, with_settings
from proctor.settings import option
from proctor.stages.settings import PromqaFiles, Seed
from proctor.terminal import progress

if TYPE_CHECKING:
    from proctor.verify.oracle.confidence import Calibration
    from proctor.verify.oracle.evaluation import Figures, Group, Refit, Share

app = group_app(
    "Measure the task-graph oracle against people.\n\n"
    "Example: proctor oracle evaluate --annotations ~/data/captaincook4d --examples examples.json"
)

_BULKY: Final = frozenset({"by_rule", "by_group", "disagreements"})


class OracleSettings(PromqaFiles, frozen=True, kw_only=True):
    """What the oracle is measured on, and how intervals are drawn."""

    threshold: Annotated[
        float | None, option("Confidence from which an answer counts as decided (0.8).", ge=0.5, le=1.0)
    ] = None
    resamples: Annotated[int, option("Draws of the bootstrap.", ge=100)] = 2_000
    seed: Seed = 0


@app.command()
@with_settings
def evaluate(settings: OracleSettings, output: Output) -> None:
    """Let the oracle judge every machine answer and compare with the adjudicated judgement.

    Two results are given: with the shipped weights (which were fitted on some recipes: see docs/oracle.md), and with weights fitted for each recipe on all the others in the file.

    Example: proctor oracle evaluate --annotations data/captaincook4d --examples examples.json --json
    """
    result = evaluate_file(
        settings.annotations, settings.examples, threshold=settings.threshold, resamples=settings.resamples,
        seed=settings.seed, quiet=output.as_json,
    )  # fmt: skip
    emit(result.json, _render(result), as_json=output.as_json)


@dataclass(frozen=True, slots=True)
class Evaluated:
    """How the oracle stands beside people.

    Attributes:
        examples: the file.
        unsettled: ids of answers that nobody settled; they are left out.
        weights: that the oracle has.
        figures: with these weights.
        crossed: with what was fitted anew for each recipe, by what was; empty where there is one recipe.
        seen: recipes of the file that the weights were fitted on.
    """

    examples: Path
    unsettled: Sequence[str]
    weights: Calibration
    figures: Figures
    crossed: Mapping[Refit, Figures]
    seen: Sequence[str]

    @property
    def json(self) -> Mapping[str, Any]:
        """For machines; figures of weights fitted anew without what is long."""
        crossed = {
            way: {k: v for k, v in msgspec.structs.asdict(figures).items() if k not in _BULKY}
            for way, figures in self.crossed.items()
        }
        return {
            "examples": str(self.examples),
            "unsettled": self.unsettled,
            "weights": {
                "intercept": self.weights.intercept,
                "slope": self.weights.slope,
                "fitted_on_answers": self.weights.answers,
                "fitted_on_recipes": self.weights.groups,
                "recipes_of_this_file_seen": self.seen,
            },
            **msgspec.structs.asdict(self.figures),
            "cross_validated_by_recipe": crossed or None,
        }


def evaluate_file(
    annotations: Path,
    examples: Path,
    *,
    threshold: float | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    quiet: bool = False,
) -> Evaluated:
    """Measure the oracle on a file of published examples.

    Raises:
        UserError: if a file is missing or broken, a recipe has no graph, or nothing was judged.
    """
    from proctor.ask.moment.promqa import read_promqa
    from proctor.datasets.captaincook4d import activity_key, read_graphs
    from proctor.errors import UserError
    from proctor.verify.oracle.annotator import DEFAULT_THRESHOLD, Oracle
    from proctor.verify.oracle.confidence import load_calibration
    from proctor.verify.oracle.evaluation import cross_validate
    from proctor.verify.oracle.evaluation import evaluate as measure
    from proctor.verify.oracle.published import answer_rows, graphs_by_key

    level = DEFAULT_THRESHOLD if threshold is None else threshold
    published = read_promqa(examples)
    graphs = graphs_by_key(read_graphs(annotations), activity_key)
    oracle = Oracle(threshold=level)
    with progress("oracle", len(published), quiet=quiet) as step:
        rows, unsettled = answer_rows(published, graphs, oracle, where=str(examples), step=step)
    if not rows:
        raise UserError("there is no judged machine answer in it.", where=str(examples))
    weights = load_calibration()
    crossed: dict[Refit, Figures] = {}
    if len(groups := {r.group for r in rows}) > 1:
        for refit in _WAYS:
            again = cross_validate(rows, refit=refit)
            crossed[refit] = measure(again, threshold=level, resamples=resamples, seed=seed)
    return Evaluated(
        examples=examples,
        unsettled=unsettled,
        weights=weights,
        figures=measure(rows, threshold=level, resamples=resamples, seed=seed),
        crossed=crossed,
        seen=sorted(groups & set(weights.groups)),
    )


# -- for people ------------------------------------------------------------------------------------------------


_WAYS: Final[Mapping[Refit, str]] = {
    "calibration": "cross-validated by recipe: the two weights fitted on the other recipes",
    "rules": "cross-validated by recipe: the leans of all rules learnt on the other recipes",
}


def _render(result: Evaluated) -> str:
    figures = result.figures
    how = (
        f"weights fitted on {len(result.seen)} of the {figures.groups} recipes of this file: not a test"
        if result.seen
        else "no recipe of this file was used for fitting"
    )
    parts = [
        f"{figures.n} answers to {figures.questions} questions, {figures.groups} recipes; {how}",
        _headline(figures),
        "accepted as right, by probability",
        table(
            [
                (f"{row.threshold:.3f}", row.accepted, _percent(row.coverage), *_cells(row.precision))
                for row in figures.accept_by_threshold
            ],
            ("from", "accepted", "coverage", "precision", "95% interval"),
        ),
        "by question type",
        _breakdown(figures.by_type, "type"),
        "by what the question asks",
        _breakdown(figures.by_intent, "intent"),
        _confusion(figures),
    ]
    for way, crossed in result.crossed.items():
        parts += [_WAYS[way], _headline(crossed)]
    return "\n\n".join(parts)


def _headline(figures: Figures) -> str:
    rows = [
        ("agreement over all", *_cells(figures.agreement_all)),
        (
            f"agreement over decided (confidence {figures.threshold:g})",
            *_cells(figures.agreement_decided),
        ),
        ("decided", _percent(figures.coverage), f"{figures.decided} of {figures.n}"),
        ("the two annotators agree with each other", *_cells(figures.human.between_annotators)),
        ("always saying 'right' would agree", _percent(figures.always_right_agreement), ""),
    ]
    half = next(row for row in figures.accept_by_coverage if row.wanted_coverage == 0.5)
    rows.append((f"precision of the surest {_percent(half.coverage)} accepted", *_cells(half.precision)))
    return table(rows, ("", "value", "95% interval"))


def _breakdown(groups: Mapping[str, Group], title: str) -> str:
    rows = [
        (name, g.n, g.right, *_cells(g.agreement_all), g.decided, *_cells(g.agreement_decided))
        for name, g in groups.items()
    ]
    return table(rows, (title, "n", "right", "agreement", "95%", "decided", "agreement", "95%"))


def _confusion(figures: Figures) -> str:
    names = type(figures.confusion).__struct_fields__
    rows = [(t, *msgspec.structs.astuple(cells)) for t, cells in figures.confusion_by_type.items()]
    return table(rows, ("type", *(n.replace("_", " ") for n in names)))


def _cells(share: Share) -> tuple[str, str]:
    if share.value is None:
        return "-", ""
    ends = (share.low, share.high)
    low, high = share.wilson if None in ends or ends[0] == ends[1] else ends
    return _percent(share.value), f"{_percent(low)} to {_percent(high)}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"
