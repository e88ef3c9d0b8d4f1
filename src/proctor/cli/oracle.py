"""``proctor oracle``: measure the task-graph oracle against people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from proctor.cli.console import emit, group_app, table
from proctor.cli.options import Output, with_settings
from proctor.settings import option
from proctor.stages.settings import PromqaFiles, Seed
from proctor.terminal import progress

app = group_app("Measure the task-graph oracle against people.")

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

    Two results are given: with the shipped weights (which were fitted on some recipes: see docs/oracle.md), and
    with weights fitted anew for each recipe on all the others in the file.

    Example: proctor oracle evaluate --annotations data/captaincook4d --examples examples.json --json
    """
    result = evaluate_file(
        settings.annotations, settings.examples, threshold=settings.threshold, resamples=settings.resamples,
        seed=settings.seed, quiet=output.as_json,
    )  # fmt: skip
    emit(result, _render(result), as_json=output.as_json)


def evaluate_file(
    annotations: Path,
    examples: Path,
    *,
    threshold: float | None = None,
    resamples: int = 2_000,
    seed: int = 0,
    quiet: bool = False,
) -> dict[str, Any]:
    """Measure the oracle on a file of published examples.

    Raises:
        UserError: if a file is missing or broken, a recipe has no graph, or nothing was judged.
    """
    from proctor.ask.moment.promqa import read_promqa
    from proctor.datasets.captaincook4d import activity_key, read_graphs
    from proctor.errors import UserError
    from proctor.verify.oracle.annotator import DEFAULT_THRESHOLD, Oracle
    from proctor.verify.oracle.confidence import load_calibration
    from proctor.verify.oracle.evaluation import Refit, cross_validate
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
    known = sorted({r.group for r in rows} & set(weights.groups))
    result = measure(rows, threshold=level, resamples=resamples, seed=seed)
    crossed: dict[str, Any] = {}
    if result["groups"] > 1:
        ways: tuple[Refit, ...] = ("calibration", "rules")
        for refit in ways:
            figures = measure(
                cross_validate(rows, refit=refit), threshold=level, resamples=resamples, seed=seed
            )
            crossed[refit] = {key: value for key, value in figures.items() if key not in _BULKY}
    return {
        "examples": str(examples),
        "unsettled": unsettled,
        "weights": {
            "intercept": weights.intercept,
            "slope": weights.slope,
            "fitted_on_answers": weights.answers,
            "fitted_on_recipes": list(weights.groups),
            "recipes_of_this_file_seen": known,
        },
        **result,
        "cross_validated_by_recipe": crossed or None,
    }


# -- for people ------------------------------------------------------------------------------------------------


_WAYS: Final = {
    "calibration": "cross-validated by recipe: the two weights fitted anew on the other recipes",
    "rules": "cross-validated by recipe: the leans of all rules learnt anew on the other recipes",
}


def _render(result: Mapping[str, Any]) -> str:
    seen = result["weights"]["recipes_of_this_file_seen"]
    how = (
        f"weights fitted on {len(seen)} of the {result['groups']} recipes of this file: not a test"
        if seen
        else "no recipe of this file was used for fitting"
    )
    parts = [
        f"{result['n']} answers to {result['questions']} questions, {result['groups']} recipes; {how}",
        _headline(result),
        "accepted as right, by probability",
        table(
            [
                (
                    f"{row['threshold']:.3f}",
                    row["accepted"],
                    _percent(row["coverage"]),
                    *_cells(row["precision"]),
                )
                for row in result["accept_by_threshold"]
            ],
            ("from", "accepted", "coverage", "precision", "95% interval"),
        ),
        "by question type",
        _breakdown(result["by_type"], "type"),
        "by what the question asks",
        _breakdown(result["by_intent"], "intent"),
        _confusion(result["confusion_by_type"]),
    ]
    for way, figures in (result["cross_validated_by_recipe"] or {}).items():
        parts += [_WAYS[way], _headline(figures)]
    return "\n\n".join(parts)


def _headline(result: Mapping[str, Any]) -> str:
    human = result["human"]["between_annotators"]
    rows = [
        ("agreement over all", *_cells(result["agreement_all"])),
        (
            f"agreement over decided (confidence {result['threshold']:g})",
            *_cells(result["agreement_decided"]),
        ),
        ("decided", _percent(result["coverage"]), f"{result['decided']} of {result['n']}"),
        ("the two annotators agree with each other", *_cells(human)),
        ("always saying 'right' would agree", _percent(result["always_right_agreement"]), ""),
    ]
    half = next(row for row in result["accept_by_coverage"] if row["wanted_coverage"] == 0.5)
    rows.append(
        (f"precision of the surest {_percent(half['coverage'])} accepted", *_cells(half["precision"]))
    )
    return table(rows, ("", "value", "95% interval"))


def _breakdown(groups: Mapping[str, Any], title: str) -> str:
    rows = [
        (name, g["n"], g["right"], *_cells(g["agreement_all"]), g["decided"], *_cells(g["agreement_decided"]))
        for name, g in groups.items()
    ]
    return table(rows, (title, "n", "right", "agreement", "95%", "decided", "agreement", "95%"))


def _confusion(by_type: Mapping[str, Mapping[str, int]]) -> str:
    names = ("right_said_right", "right_said_wrong", "wrong_said_right", "wrong_said_wrong")
    rows = [(t, *(cells[n] for n in names)) for t, cells in by_type.items()]
    return table(rows, ("type", *(n.replace("_", " ") for n in names)))


def _cells(share: Mapping[str, Any]) -> tuple[str, str]:
    if share["value"] is None:
        return "-", ""
    ends = (share["low"], share["high"])
    low, high = share["wilson"] if None in ends or ends[0] == ends[1] else ends
    return _percent(share["value"]), f"{_percent(low)} to {_percent(high)}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"
