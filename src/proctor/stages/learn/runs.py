"""``proctor learn runs``: the runs in a folder, with what they found."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from proctor.errors import UserError
from proctor.learn.evaluate import Recognised
from proctor.learn.localize.figures import LocalizeFigures
from proctor.learn.runs import RECORD, read_record, read_run, read_tables
from proctor.stages.learn.localize import TARGET
from proctor.stages.learn.sequence import SEQUENCE_TARGET, read_learned
from proctor.stages.learn.settings import RunsSettings

__all__ = ["ListedRun", "list_runs"]


class ListedRun(msgspec.Struct, frozen=True):
    """One folder of a run.

    Attributes:
        run: the folder.
        model: its name; empty where the run cannot be read.
        split: letter of the split.
        seed: of the run.
        observed: share of each step that was seen.
        auc: pooled ROC-AUC of the test part; None where the run does not say.
        auc_within: within recordings.
        mean_ap: mAP at a tIoU of 0.5 of the test part, of a run that finds steps in time.
        perfect_match: share of sequences put in order without a mistake, of a run that orders steps; ``kendall_tau`` of them.
        wrong: why the run cannot be read; empty where it can.
    """

    run: str
    model: str = ""
    split: str = ""
    seed: int = 0
    observed: float = 1.0
    auc: float | None = None
    auc_within: float | None = None
    mean_ap: float | None = None
    perfect_match: float | None = None
    kendall_tau: float | None = None
    wrong: str = ""


def list_runs(settings: RunsSettings) -> list[ListedRun]:
    """Return the runs in a folder and below it, sorted by their names; damaged ones say what is wrong.

    Raises:
        UserError: if the folder is not there.
    """
    if not settings.folder.is_dir():
        raise UserError(
            "there is no such folder.",
            where=str(settings.folder),
            hint="name a folder that runs were written to",
        )
    found = [Path(where) for where, _, files in os.walk(settings.folder) if RECORD in files]
    return [_listed(folder) for folder in sorted(found)]


def _listed(folder: Path) -> ListedRun:
    try:
        target = read_record(folder).target
        if target == TARGET:
            return _localized(folder)
        if target == SEQUENCE_TARGET:
            return _ordered(folder)
        record = read_run(folder).record
        test = msgspec.convert(record.results.get("test"), Recognised)
        figures = test.auc.value, test.auc_within.value
    except UserError as error:
        file = (error.where or "").removeprefix(str(folder)).lstrip("/")
        return ListedRun(str(folder), wrong=f"{file}: {error.message}" if file else error.message)
    except msgspec.ValidationError:  # a run that was written without figures
        figures = None, None
    return ListedRun(str(folder), record.model, record.split, record.seed, record.observed, *figures)


def _localized(folder: Path) -> ListedRun:
    record = read_tables(folder)
    try:
        test = msgspec.convert(record.results.get("test"), LocalizeFigures)
        at = next((row.at for row in test.rows if row.name == "mAP"), ())
        found = dict(zip(test.tiou, at, strict=False)).get(0.5)
    except msgspec.ValidationError:  # as above
        found = None
    return ListedRun(
        str(folder), record.model, record.split, record.seed, mean_ap=None if found is None else found.value
    )


def _ordered(folder: Path) -> ListedRun:
    found = read_learned(folder)
    return ListedRun(
        str(folder), found.model, "task", found.seed,
        perfect_match=found.test.perfect_match_ratio, kendall_tau=found.test.kendall_tau,
    )  # fmt: skip
