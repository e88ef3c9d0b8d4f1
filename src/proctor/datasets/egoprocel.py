"""EgoProceL: key steps of procedures that people do in front of their own camera (Bansal et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from proctor.datasets.annotation_rows import (
    ROW_RULES,
    FirstMeaning,
    iter_rows,
    number_from,
    seconds_from,
    shown,
    text_from,
    token_from,
    whole_from,
)
from proctor.datasets.dataset import Corrections, DataFile, Dataset, Log, checker, reader
from proctor.datasets.step_rows import STEP_RULES, StepRows
from proctor.procedure.recording import Recording

__all__ = ["DATASET", "iter_egoprocel"]

_FILES: Final = "annotations/**/*.csv"
_HEADERS: Final = ("start", "start_time", "start time", "start_sec", "begin")


def iter_egoprocel(
    root: Path, _corrections: Corrections, log: Log, /, **_options: str
) -> Iterator[Recording]:
    """Yield one recording for each file of key steps, by path.

    Both correction modes are the same: no correction of EgoProceL is known.

    Raises:
        UserError: if there are no files, or one is no text.
    """
    DATASET.require_files(root)
    names = FirstMeaning(log, "step-name-differs")
    seen = set[str]()
    for path in sorted(root.glob(_FILES)):
        parts = path.relative_to(root / "annotations").with_suffix("").parts
        id_ = token_from(".".join(parts))
        if id_ is None:
            log.drop(shown("/".join(parts)), "bad-id", "path of a file")
        elif id_ in seen:
            log.drop(id_, "duplicate-id", shown("/".join(parts)))
        else:
            seen.add(id_)
            recording = _recording(id_, path, parts, log, names)
            if recording is not None:
                yield recording


def _recording(
    id_: str, path: Path, parts: tuple[str, ...], log: Log, names: FirstMeaning
) -> Recording | None:
    folders = parts[:-1]
    activity = ".".join(folders) or "egoprocel"
    found = StepRows(id_, log)
    for line, row in iter_rows(path, log, id_, cells=(3, 4), header=lambda cell: cell.lower() in _HEADERS):
        _add(found, str(line), row, activity, names)
    segments = found.segments()
    if not segments:
        return None
    attributes = {"source": folders[0]} if folders else {}
    return Recording(id_, activity, folders[-1] if folders else activity, segments, attributes=attributes)


def _add(found: StepRows, place: str, row: list[str], activity: str, names: FirstMeaning) -> None:
    start, end, label = row[:3]
    number = whole_from(label)
    if number == 0:
        found.drop(place, "background", f"{shown(start)} to {shown(end)} s")
        return
    step = str(number) if number is not None else token_from(label)
    numeric = number_from(label) is not None
    if step is None or (number is not None and number < 0) or (number is None and numeric):
        found.drop(place, "unknown-step", shown(label))
        return
    said = text_from(row[3]) if len(row) == 4 else None
    text = said or (f"key step {step}" if number is not None else step)
    if not found.add(place, f"{activity}.{step}", text, seconds_from(start), seconds_from(end)):
        return
    if number is None:
        found.find("not-numbered", place, shown(label))
    if said is not None:
        names.tell(found.named(place), f"{activity}.{step}", said)


DATASET = Dataset(
    name="egoprocel",
    title="EgoProceL",
    version="as released; the files name none",
    licence="not stated for the annotations; each source of videos has its own",
    citation="Bansal, Arora and Jawahar 2022: My View is the Best View: Procedure Learning from Egocentric Videos. ECCV.",
    homepage="https://sid2697.github.io/egoprocel/",
    files=(
        DataFile(
            _FILES,
            "one video a file, in folders source/task: start, end in seconds, number of the key step; no header line",
        ),
    ),
    read=reader(iter_egoprocel),
    check=checker(iter_egoprocel),
    iterate=iter_egoprocel,
    access="The authors' page links to the annotations; the videos come from their own sources, under their own licences.",
    rules={
        **ROW_RULES,
        **STEP_RULES,
        "background": "a row has the key step 0, which means background; it is left out",
        "unknown-step": "a key step is no whole number from 1 and no name; it is left out",
        "not-numbered": "a key step has a name in place of a number; the name is its id",
        "step-name-differs": "a key step has another name in the fourth column than before",
    },
    notes=(
        (
            "Place the annotations under `annotations/`, as they come: `annotations/<source>/<task>/<video>.csv`, or without "
            "the folder of the task where a source has only one. The id of a recording is that path with points "
            "(`<source>.<task>.<video>`), the activity is the path without the video."
        ),
        (
            "Key steps are numbered from 1 within a task; 0 is background. `step_id` is the activity and the number, so "
            "that it means one step in the whole data set. The files hold numbers and no names: the text is `key step 3`, unless "
            "a fourth column names the step. Questions cannot be asked about such texts; localisation and procedure learning can."
        ),
        (
            "Evaluation (`proctor.metrics.clustering`) wants frame labels at half the frame rate of the video, background "
            "included; the authors' code labels the frame in which a step ends too. Here steps are seconds, `[start, end)`."
        ),
        "Numbers are names, not an order: no task graph is made.",
        (
            "Not verified on a real file: columns, their order, seconds as the unit, the absence of a header line (one is "
            "recognised and reported), the folders. EgoProceL's third-person parts (CrossTask, ProceL) have other columns and "
            "are not read: take `crosstask` for the first."
        ),
    ),
)
