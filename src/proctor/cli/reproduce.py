"""``proctor reproduce``: published results, recomputed from the annotations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from proctor.cli.console import emit, group_app, table
from proctor.cli.options import Output, with_settings
from proctor.settings import option
from proctor.stages.settings import PromqaFiles

if TYPE_CHECKING:
    from proctor.release.reproduce import FieldCount

app = group_app(
    "Recompute published results from the annotations.\n\n"
    "Example: proctor reproduce promqa --annotations ~/data/captaincook4d --examples examples.json"
)


class ReproduceSettings(PromqaFiles, frozen=True, kw_only=True):
    """What is derived again."""

    corrections: Annotated[
        Literal["published", "corrected"],
        option("'published' must reproduce everything; 'corrected' lists what it changes and why."),
    ] = "published"


@app.command()
@with_settings
def promqa(settings: ReproduceSettings, output: Output) -> None:
    """Derive every mechanical field of published examples again, and report which are equal.

    Compared are the fields of the example (list order included), the pairs parsed from the model's response, the
    adjudication case, and the answers merged from the raw judgements.

    Example: proctor reproduce promqa --annotations data/captaincook4d --examples examples.json
    """
    corrections = settings.corrections
    result = reproduce_promqa(settings.annotations, settings.examples, corrections)
    rows = [(name, c["n"], c["equal"], " ".join(c["different"][:6])) for name, c in result["fields"].items()]
    rows += [
        (name, result[name]["n"], result[name]["equal"], " ".join(result[name]["different"][:6]))
        for name in _PARTS
    ]
    text = f"{result['examples']} examples, {corrections} corrections\n\n" + table(
        rows, ("field", "n", "equal", "different")
    )
    if result["reasons"]:
        text += "\n\n" + table(sorted(result["reasons"].items()), ("example", "why it differs"))
    emit(result, text, as_json=output.as_json)


_PARTS = ("all_fields", "response_parsing", "adjudication_case", "adjudication_merge")


def reproduce_promqa(
    annotations: Path, examples: Path, corrections: Literal["published", "corrected"]
) -> dict[str, Any]:
    """Compare published examples with derived ones; see the command.

    Raises:
        UserError: if a file is missing or broken, or the mode is unknown.
    """
    from proctor.ask.moment.derive import rules_for
    from proctor.ask.moment.promqa import read_promqa
    from proctor.datasets.captaincook4d import DATASET
    from proctor.errors import UserError
    from proctor.release.reproduce import compare_adjudication, compare_fields, compare_parsing

    published = read_promqa(examples)
    if not published:
        raise UserError("there are no examples in it.", where=str(examples), hint="is it the right file?")
    read = DATASET.read(annotations, corrections)
    rules = rules_for(corrections)
    outcome = compare_fields(published, _derive(read, rules))
    case, merged = compare_adjudication(published)
    return {
        "examples": len(published),
        "corrections": corrections,
        "fields": {name: _plain(count) for name, count in outcome.fields.items()},
        "all_fields": _plain(outcome.all_fields),
        "absent": list(outcome.absent),
        "response_parsing": _plain(compare_parsing(published)),
        "adjudication_case": _plain(case),
        "adjudication_merge": _plain(merged),
        "reasons": _reasons(annotations, published, outcome.all_fields.different)
        if corrections == "corrected"
        else {},
    }


def _plain(count: FieldCount) -> dict[str, Any]:
    return {"n": count.n, "equal": count.equal, "different": list(count.different)}


def _derive(read: Any, rules: Any) -> dict[str, Any]:
    from proctor.ask.moment.derive import derive_examples
    from proctor.exam.kinds.example import Example

    return {e.id: e for e in derive_examples(read.recordings, read.graphs, rules) if isinstance(e, Example)}


def _reasons(annotations: Path, published: Any, different: tuple[str, ...]) -> dict[str, str]:
    """Say for each example that differs which correction is the cause.

    The causes are tried one at a time: published derivation on corrected annotations, then each rule that the
    corrected derivation changes on published annotations.
    """
    from dataclasses import replace

    from proctor.ask.moment.derive import CORRECTED, PUBLISHED
    from proctor.datasets.captaincook4d import DATASET
    from proctor.release.reproduce import differences

    as_published, as_corrected = (DATASET.read(annotations, mode) for mode in ("published", "corrected"))
    trials = {
        "rule: " + text: _derive(as_published, replace(PUBLISHED, **change))
        for text, change in _RULES.items()
    }
    trials["annotation"] = _derive(as_corrected, PUBLISHED)
    everything = _derive(as_corrected, CORRECTED)
    reasons = {}
    for one in (p for p in published if p.question_id in different):
        causes = []
        for cause, derived in trials.items():
            example = derived.get(one.question_id)
            fields = ["the whole example"] if example is None else list(differences(one, example))
            if fields and cause == "annotation":
                causes += _changed_annotations(as_published, as_corrected, one.recording_id, fields)
            elif fields:
                causes.append(f"{cause} ({', '.join(fields)})")
        if one.question_id not in everything:
            causes.append("it is not derived")
        reasons[one.question_id] = "; ".join(causes) or "several rules together"
    return reasons


_RULES: dict[str, dict[str, Any]] = {
    "any earlier mistake makes a moment noisy": {"quiet": {}},
    "a step that ends early counts as done": {"forget_early": False},
    "a step done again gets a moment of its own": {"number_repeats": True},
    "a step done again may open others again": {"follow_repeats": True},
    "recordings without a 4K video are used": {"require": {}},
}


def _changed_annotations(published: Any, corrected: Any, recording_id: str, fields: list[str]) -> list[str]:
    """Name the corrections of a recording that only one mode has."""
    only = [
        f"{c.reason}: {c.old!r} → {c.new!r}"
        for ours, theirs in ((corrected, published), (published, corrected))
        for c in ours.corrections
        if c.recording_id == recording_id and c not in theirs.corrections
    ]
    text = "; ".join(only) or "a skipped repetition keeps its own place in the graph"
    return [f"annotation: {text} ({', '.join(fields)})"]
