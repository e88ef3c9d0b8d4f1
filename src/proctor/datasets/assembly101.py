"""Assembly101: people put toy vehicles together and apart; coarse actions, and which of them were mistakes.

Two layers of annotations, which are never mixed: the tables of mistakes (actions that are correct, a mistake or a
correction) and the coarse labels. Times are frames.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from proctor.datasets.annotation_rows import (
    ROW_RULES,
    iter_rows,
    option_fps,
    seconds_from,
    shown,
    text_from,
    token_from,
)
from proctor.datasets.dataset import Corrections, DataFile, Dataset, Log, checker, reader
from proctor.datasets.step_rows import STEP_RULES, StepRows
from proctor.errors import UserError
from proctor.procedure.recording import Mistake, Recording, Segment

__all__ = ["DATASET", "FPS", "REMARKS", "iter_assembly101"]

FPS: Final = 30.0
"""Frames a second of the annotations."""

REMARKS: Final[Mapping[str, str]] = {
    "wrong order": "order",
    "wrong position": "position",
    "previous one is mistake": "previous mistake",
    "shouldn't have happened": "unneeded",
}
"""Kind of a mistake by the remark beside it; any other remark, or none, is ``other``."""

_MISTAKES: Final = "annots/*.csv"
_COARSE: Final = "coarse_labels/*"
_DELIMITERS: Final = {".csv": ",", ".txt": "\t"}
_LABELS: Final = ("correct", "mistake", "correction")
_JOINS: Final = {"attach": "to", "detach": "from"}
_TOY: Final = re.compile(r"_[0-9]{4}-([a-z][0-9]{2}[a-z]?)_")
_PHASES: Final = ("assembly", "disassembly")

_Row = tuple[int, list[str]]


def iter_assembly101(
    root: Path, _corrections: Corrections, log: Log, /, **options: str
) -> Iterator[Recording]:
    """Yield one recording for each file of the layer, by file name.

    Both correction modes are the same: no correction of Assembly101 is known.

    Args:
        root: folder that holds ``annots/`` or ``coarse_labels/``.
        log: is told everything.
        options: ``layer``: ``mistakes`` or ``coarse``; ``fps``: frames a second of the annotations.

    Raises:
        UserError: if the layer has no files, one is no text, or ``fps`` is no frame rate.
    """
    fps = option_fps(options.get("fps"), FPS)
    coarse = options.get("layer") == "coarse"
    if coarse:
        _require_coarse(root)
    else:
        DATASET.require_files(root)
    seen = set[str]()
    for path in sorted(root.glob(_COARSE if coarse else _MISTAKES)):
        id_ = token_from(path.stem)
        if path.suffix not in _DELIMITERS:
            log.find("unknown-file", path.name, "neither .txt nor .csv")
        elif id_ is None:
            log.drop(shown(path.name), "bad-id", "name of a file")
        elif id_ in seen:
            log.drop(id_, "duplicate-id", path.name)
        else:
            seen.add(id_)
            recording = _recording(id_, path, fps, log, _add_coarse if coarse else _add_judged)
            if recording is not None:
                yield recording


def _require_coarse(root: Path) -> None:
    if not root.is_dir() or not any(root.glob(_COARSE)):
        raise UserError(
            f"there are no coarse labels ({_COARSE}).",
            where=str(root),
            hint=f"give the folder that holds coarse_labels/; the data are at {DATASET.homepage}",
        )


def _recording(
    id_: str, path: Path, fps: float, log: Log, add: Callable[[StepRows, _Row, float], str]
) -> Recording | None:
    found = StepRows(id_, log)
    cells = (3, 3) if add is _add_coarse else (6, 7)
    delimiter = _DELIMITERS[path.suffix]
    rows = iter_rows(
        path,
        log,
        id_,
        cells=cells,
        delimiter=delimiter,
        header=lambda cell: cell.lower() in ("start", "start_frame", "start frame"),
    )
    corrected = [row[1][0] for row in rows if add(found, row, fps) == "correction"]
    segments = found.segments()
    if not segments:
        return None
    log.counts["steps with mistakes"] += sum(bool(s.mistakes) for s in segments)
    return _described(id_, segments, [float(start) / fps for start in corrected], fps)


def _described(id_: str, segments: tuple[Segment, ...], corrected: list[float], fps: float) -> Recording:
    phase = next((p for p in _PHASES if id_.startswith(f"{p}_")), "assembly")
    toy = _TOY.search(id_)
    attributes = {"phase": phase, "fps": f"{fps:.12g}"}
    if toy is not None:
        attributes["toy"] = toy[1]
    if corrected:
        attributes["corrections_at"] = " ".join(f"{start:.3f}" for start in sorted(corrected))
    activity = f"{phase}-{toy[1]}" if toy is not None else phase
    name = f"{phase} of toy {toy[1]}" if toy is not None else phase
    return Recording(id_, activity, name, segments, attributes=attributes)


# -- rows --------------------------------------------------------------------------------------------------------


def _add_coarse(found: StepRows, row: _Row, fps: float) -> str:
    line, (start, end, action) = str(row[0]), row[1]
    text = text_from(action)
    if text is None:
        found.drop(line, "bad-row", shown(row[1]))
    else:
        found.add(line, text, text, seconds_from(start, fps), seconds_from(end, fps))
    return ""


def _add_judged(found: StepRows, row: _Row, fps: float) -> str:
    """Add a row of a table of mistakes and return its label, empty where the row was dropped."""
    line, (start, end, verb, this, that, label, *rest) = str(row[0]), row[1]
    remark = rest[0] if rest else ""
    text = _action(verb, this, that)
    if text is None:
        found.drop(line, "bad-row", shown(row[1]))
        return ""
    label = label.lower()
    mistakes = (
        (Mistake(REMARKS.get(" ".join(remark.replace("’", "'").lower().split()), "other"), remark),)
        if label == "mistake"
        else ()
    )
    times = seconds_from(start, fps), seconds_from(end, fps)
    if not found.add(line, text, text, *times, mistakes=mistakes):
        return ""
    found.log.counts[f"label {label if label in _LABELS else 'unknown'}"] += 1
    if label not in _LABELS:
        found.find("unknown-label", line, shown(label))
    elif remark and not mistakes:
        found.find("remark-without-mistake", line, f"{label}: {shown(remark)}")
    elif mistakes and mistakes[0].kind == "other":
        found.find("unknown-remark", line, shown(remark))
    return label


def _action(verb: str, this: str, that: str) -> str | None:
    """Return what is done as a text: ``attach wheel to chassis``; None where the verb or the part is missing."""
    if not verb or not this:
        return None
    join = _JOINS.get(verb.split()[-1].lower())
    return " ".join([verb, this, *([join] if join and that else []), *([that] if that else [])])


DATASET = Dataset(
    name="assembly101",
    title="Assembly101",
    version="as released; the files name none",
    licence="CC-BY-NC-4.0",
    citation=(
        "Sener et al. 2022: Assembly101: A Large-Scale Multi-View Video Dataset for Understanding Procedural "
        "Activities. CVPR."
    ),
    homepage="https://assembly-101.github.io",
    files=(
        DataFile(
            _MISTAKES,
            "one sequence a file: start frame, end frame, verb, this part, that part, label, remark; no header line",
        ),
        DataFile(
            _COARSE,
            "one sequence a file (.txt with tabs, or .csv): start frame, end frame, action; for layer=coarse",
            required=False,
        ),
    ),
    read=reader(iter_assembly101),
    check=checker(iter_assembly101),
    iterate=iter_assembly101,
    options={"layer": ("mistakes", "coarse"), "fps": ()},
    access="The annotations are open in the authors' repositories; the videos are on request, not for commerce.",
    rules={
        **ROW_RULES,
        **STEP_RULES,
        "unknown-label": "a label is none of correct, mistake and correction; the step is kept without a mistake",
        "remark-without-mistake": "a step that is no mistake has a remark; the step is kept, the remark has no place in it",
        "unknown-remark": "a mistake has no remark or one that Proctor does not know; its kind is `other`",
        "unknown-file": "a file in coarse_labels/ is neither .txt nor .csv; it is not read",
    },
    notes=(
        (
            "Two layers, chosen by the option `layer`. `mistakes` (default) reads `annots/`, the tables of mistakes, which cover "
            "assembly only. `coarse` reads `coarse_labels/`, assembly and disassembly, which say nothing about mistakes: "
            "a recording without mistakes there is one that was *not looked at*. The layers are not mixed."
        ),
        (
            "A step labelled `mistake` has one mistake; its text is the remark, its kind follows from it: `wrong order` is `order`, "
            "`wrong position` is `position`, `previous one is mistake` is `previous mistake`, `shouldn't have happened` is `unneeded`, "
            "anything else `other`. Of these, `order` and `other` are kinds that all of Proctor knows; the rest count as mistakes, and no question type is made of them."
        ),
        (
            "A step labelled `correction` undoes an earlier mistake and is *not* a mistake. A segment has no place for "
            "that; the starts of corrections in seconds are in the attribute `corrections_at` of the recording."
        ),
        (
            "Times are frames and become seconds by the option `fps` (30 unless given; whole frames only). An end frame `n` becomes "
            "`n / fps`, the end excluded. Whether the release means the last frame itself was not verified: if so, each step is one "
            "frame (33 ms) longer. Steps may overlap, since both hands work; overlaps are kept and listed."
        ),
        (
            "`step_id` and `text` are the action (`attach wheel to chassis`: `to` and `from` are put in after attach and detach). "
            "No task graph is made: sequences of actions do not say what must come before what."
        ),
        (
            "Not verified on a real file: columns and their order, header lines (one is recognised and reported), the frame rate, the folder names, "
            "the spelling of remarks, the toy number in file names. Fine-grained actions, poses and `actions.csv` are not read."
        ),
    ),
)
