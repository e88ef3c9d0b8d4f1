"""``proctor learn page``: read runs, evaluate them on the same steps, and draw them side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.learn.evaluate import Figure, evaluate, threshold_of
from proctor.learn.published import EARLY, SUPERVISED, size_of
from proctor.learn.runs import PREDICTIONS, PredictedStep, Run, RunRecord, read_run
from proctor.learn.samples import read_step_data
from proctor.metrics.classification import roc_auc
from proctor.report.learned import learned_page
from proctor.report.learned_data import Decisions, Learned, Published, TestedRun, TestedStep
from proctor.report.page import write_page
from proctor.stages.learn.mistakes import published_threshold
from proctor.stages.learn.settings import PageSettings

__all__ = ["LearnedPage", "draw_runs"]

LADDER: Final[Mapping[str, str]] = {
    "floor": "sees how often the step goes wrong, its length, and whether one was left out before it",
    "local": "sees the same, by trees, and kinds of mistakes in training and what the instruction asks for",
    "step": "sees the same, and the step's place among all that has begun: earlier steps not begun, later ones begun",
    "context-causal": "sees this of the step and of all steps before it in the recording",
    "sequence-causal": "sees the steps so far, by a transformer",
    "context-offline": "sees this of all steps of the recording, also those after it",
    "sequence-offline": "sees all steps of the recording, by a transformer",
}
"""Models without pixels, each of which sees more than the one before; runs of them stand in this order."""

_MOSTLY: Final = 0.9
"""Of its steps must a run share with all others; where features are missing some models have a few steps less."""

_TOLD: Final = {
    "validation": "best F1 on validation",
    "fixed": "fixed",
    "published": "the released code's, found on the test part",
}


class LearnedPage(msgspec.Struct, frozen=True):
    """What was drawn.

    Attributes:
        page: the file.
        runs: names of the runs, as the page calls them.
        steps: of the test part.
        closest: the run that the page looks at closely, the best on validation data.
        notes: what the reader has to know.
    """

    page: str
    runs: tuple[str, ...]
    steps: int
    closest: str
    notes: tuple[str, ...]


def draw_runs(settings: PageSettings) -> LearnedPage:
    """Read runs and write the page.

    Raises:
        UserError: if a folder is no run or damaged, runs are not of the same test steps, or the page cannot be written.
    """
    runs = [read_run(folder) for folder in settings.runs]
    found = learned(runs, settings)
    write_page(settings.out, learned_page(found, resamples=settings.resamples))
    names = tuple(run.name for run in found.runs)
    return LearnedPage(str(settings.out), names, len(found.steps), found.closest.name, tuple(found.notes))


def learned(runs: Sequence[Run], settings: PageSettings) -> Learned:
    """Evaluate runs on the same steps, sorted by recording and step.

    Raises:
        UserError: if a run has no test steps, is given twice, or was tested on other steps than the first.
    """
    twice = [str(f) for f, n in Counter(run.folder.resolve() for run in runs).items() if n > 1]
    if twice:
        raise UserError("the run is given twice.", where=twice[0], hint="name each run once")
    shared, left_out = _shared(runs)
    steps = {
        run.folder: sorted(
            (row for row in run.test if (row.recording, row.step) in shared),
            key=lambda row: (row.recording, row.step),
        )
        for run in runs
    }
    first = steps[runs[0].folder]
    places = {name: n for n, name in enumerate(LADDER)}
    ordered = sorted(runs, key=lambda run: places.get(run.record.model, len(places)))
    tested = [
        _tested(run, name, steps[run.folder], settings.resamples)
        for run, name in zip(ordered, _names(ordered), strict=True)
    ]
    splits = {(run.record.data, run.record.split) for run in runs}
    about, notes = _about(first, settings.annotations, runs[0].record)
    return Learned(
        settings.title or "Recognising mistakes",
        about,
        tested,
        tuple(_published(splits, tested)),
        (*left_out, *notes, *_notes(runs, tested)),
        ", ".join(sorted({split for _, split in splits})),
    )


def _shared(runs: Sequence[Run]) -> tuple[set[tuple[str, str]], list[str]]:
    """Return the steps that all runs were tested on, and a note where some were not tested on all."""
    each = [{(row.recording, row.step) for row in run.test} for run in runs]
    if not each[0]:
        raise UserError(
            "the run has no test steps.", where=str(runs[0].folder / PREDICTIONS), hint="nothing can be drawn"
        )
    shared, every = set.intersection(*each), set.union(*each)
    for run, own in zip(runs, each, strict=True):
        if len(shared) < _MOSTLY * len(own) or not own:
            raise UserError(
                f"of its {len(own):,} test steps all runs have {len(shared):,} only "
                f"(splits {', '.join(sorted({run.record.split for run in runs}))}).",
                where=str(run.folder),
                hint="draw one page for each split",
            )
    missing = len(every) - len(shared)
    return shared, [f"Left out: {missing:,} steps that not every run was tested on."] if missing else []


def _about(
    rows: Sequence[PredictedStep], annotations: Path | None, record: RunRecord
) -> tuple[list[TestedStep], list[str]]:
    """Return what is known of the steps, and what of the annotations does not fit to the run."""
    if annotations is None:
        return [
            TestedStep(row.recording, row.step, row.text, row.activity, row.times, row.kinds) for row in rows
        ], []
    data, _ = read_step_data(annotations)
    samples = {(s.recording_id, s.step): s for s in data.samples}
    found = []
    for row in rows:
        sample = samples.get((row.recording, row.step))
        if sample is None:
            found.append(TestedStep(row.recording, row.step, row.text, row.activity, row.times, row.kinds))
            continue
        recipe = data.performances[row.recording].recording.activity_name or sample.activity_id
        times = tuple((e.start, e.end) for e in sample.executions)
        found.append(
            TestedStep(
                row.recording,
                row.step,
                row.text or sample.text,
                row.activity or recipe,
                row.times or times,
                row.kinds,
            )
        )
    unknown = sum((row.recording, row.step) not in samples for row in rows)
    notes = [f"{unknown:,} steps of the runs are not in {annotations}."] if unknown else []
    if data.hash != record.data_hash:
        notes.append(
            f"The annotations in {annotations} are not those that the first run was made of: their hashes differ."
        )
    return found, notes


def _notes(runs: Sequence[Run], tested: Sequence[TestedRun]) -> Iterator[str]:
    if len({run.record.data_hash for run in runs}) > 1:
        yield "The runs are of different versions of the annotations."
    differ = sum(len({bool(run.labels[k]) for run in tested}) > 1 for k in range(len(tested[0].labels)))
    if differ:
        yield (
            f"The runs' protocols label {differ:,} steps differently. Each run is scored by its own labels, and runs are "
            "compared only where all labels agree."
        )
    if "code" in {run.record.protocol for run in runs}:
        yield "Protocol code does what was released, choices on the test part included: its figures are too high."
    for run in tested:
        if run.chosen is None:
            yield f"{run.name}: its validation part has not both kinds of steps, so nothing could be chosen on it."
        if not run.probable:
            yield f"{run.name}: scores are not between 0 and 1, so 0.5 is no threshold for it and nothing is said of calibration."


def _names(runs: Sequence[Run]) -> list[str]:
    """Name runs by their model and by what tells those of one model apart."""
    told = [
        {
            "protocol": run.record.protocol,
            "features": "+".join(source.backbone for source in run.record.features),
            "target": run.record.target,
            "observed": f"{run.record.observed:.0%} seen",
            "seed": f"seed {run.record.seed}",
            "folder": run.folder.name or str(run.folder),
        }
        for run in runs
    ]
    names = []
    for run, own in zip(runs, told, strict=True):
        alike = [other for r, other in zip(runs, told, strict=True) if r.record.model == run.record.model]
        parts = []
        for field, value in own.items():
            if len(alike) > 1 and len({other[field] for other in alike}) > 1:
                parts.append(value)
                alike = [other for other in alike if other[field] == value]
        names.append(", ".join(filter(None, (run.record.model, *parts))))
    return [name if names.count(name) == 1 else f"{name} ({n})" for n, name in enumerate(names, start=1)]


def _tested(run: Run, name: str, rows: Sequence[PredictedStep], resamples: int) -> TestedRun:
    record = run.record
    labels, scores = _labels(rows), _scores(rows)
    val_labels, val_scores = _labels(run.val), _scores(run.val)
    thresholds = {"validation": threshold_of(val_labels, val_scores), "fixed": 0.5}
    probable = bool(((scores >= 0) & (scores <= 1)).all())
    if not val_labels.any():
        del thresholds["validation"]
    elif not probable:
        del thresholds["fixed"]
    if record.protocol == "code":
        thresholds["published"] = published_threshold(scores, record.split)
    order = np.array(["order" in row.kinds for row in rows], dtype=np.bool_)
    found = evaluate(
        labels,
        scores,
        [row.recording for row in rows],
        thresholds=thresholds,
        order=order,
        resamples=resamples,
    )
    figures = {
        field: getattr(found, field)
        for field in found.__struct_fields__
        if isinstance(getattr(found, field), Figure)
    }
    if order.any() and found.without_order is not None:
        figures |= {
            "without_order": found.without_order.auc,
            "without_order_within": found.without_order.auc_within,
        }
    chosen = roc_auc(val_labels, val_scores).value if len(run.val) else float("nan")
    backbones = "+".join(source.backbone for source in record.features)
    return TestedRun(
        name=name,
        sees=LADDER.get(
            record.model,
            f"sees features: {', '.join(f'{f.modality} by {f.backbone}' for f in record.features)}"
            if backbones
            else "",
        ),
        labels=labels,
        scores=scores,
        figures=figures,
        decisions=tuple(
            Decisions(
                d.threshold,
                _TOLD[d.chosen_on],
                {"accuracy": d.accuracy, "precision": d.precision, "recall": d.recall, "f1": d.f1},
            )
            for d in found.decided
        ),
        reasons=tuple(row.reasons for row in rows),
        kind_scores={kind: np.array([row.kind_scores[kind] for row in rows]) for kind in rows[0].kind_scores},
        chosen=None if np.isnan(chosen) else chosen,
        family=", ".join(
            filter(None, (record.model, backbones, "" if record.protocol == "right" else record.protocol))
        ),
        seed=record.seed,
        observed=record.observed,
        method=tuple(_method(record)),
    )


def _labels(rows: Sequence[PredictedStep]) -> NDArray[np.bool_]:
    return np.array([row.label for row in rows], dtype=np.bool_)


def _scores(rows: Sequence[PredictedStep]) -> NDArray[np.float64]:
    return np.array([row.score for row in rows], dtype=np.float64)


def _method(record: RunRecord) -> Iterator[tuple[str, str]]:
    yield (
        "run",
        f"{record.model}, split {record.split}, seed {record.seed}, protocol {record.protocol}, {record.observed:.0%} seen",
    )
    yield (
        "data",
        f"{record.data} {record.data_hash}; proctor {record.code}; configuration {record.configuration}",
    )
    for source in record.features:
        yield (
            "features",
            f"{source.modality}: {source.backbone}, {source.width} wide, every {source.seconds:g} s, {source.hash}",
        )
    for name, values in (("settings", record.settings), ("chosen on validation", record.chosen)):
        if values:
            yield name, msgspec.json.encode(values, order="sorted").decode()


def _published(splits: Collection[tuple[str, str]], tested: Sequence[TestedRun]) -> Iterator[Published]:
    """Yield the best printed rows of the split by ROC-AUC and by F1, of models that saw as much of a step."""
    seen = {run.observed for run in tested}
    tables = [*([SUPERVISED] if 1.0 in seen else ()), *([EARLY] if 0.5 in seen else ())]
    for table in tables:
        rows = [row for row in table if splits == {("captaincook4d", row.split)}]
        if not rows:
            continue
        by_auc, by_f1 = max(rows, key=lambda r: r.auc or 0.0), max(rows, key=lambda r: r.f1)
        for row in dict.fromkeys((by_auc, by_f1)):
            best = " and ".join(name for name, one in (("ROC-AUC", by_auc), ("F1", by_f1)) if one is row)
            half = ", half of each" if row.table == "11" else ""
            source = f"best {best} of Table {row.table}, on {size_of(row)[0]} steps{half}"
            yield Published(
                row.name, row.auc, row.accuracy, row.precision, row.recall, row.f1,
                "; ".join(filter(None, (source, row.note))),
            )  # fmt: skip
