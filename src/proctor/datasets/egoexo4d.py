"""Ego-Exo4D keysteps: takes of people who cook, repair and test, steps with times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from proctor.datasets.annotation_rows import (
    ROW_RULES,
    load_object,
    seconds_from,
    shown,
    text_from,
    token_from,
)
from proctor.datasets.dataset import Corrections, DataFile, Dataset, Log, checker, reader
from proctor.datasets.step_rows import STEP_RULES, StepRows
from proctor.errors import UserError
from proctor.procedure.recording import Recording

__all__ = ["DATASET", "iter_egoexo4d"]

_FILES: Final = "annotations/keystep_*.json"
_PREFIX: Final = "keystep_"


@dataclass(slots=True)
class _Labels:
    """What a file says of its labels: names by global id, and the nodes of each scenario's tree."""

    log: Log
    names: Mapping[str, str]
    scenarios: Mapping[str, Mapping[str, Any]]
    told: set[str] = field(default_factory=set)

    def tell(self, rule: str, where: str, seen: str) -> None:
        """Tell something of a label, once for each thing seen."""
        if f"{rule} {seen}" not in self.told:
            self.told.add(f"{rule} {seen}")
            self.log.find(rule, where, seen)


@dataclass(frozen=True, slots=True)
class _Step:
    """A step as the release has it, its fields checked; ``local`` is its id within the scenario."""

    id: str
    local: str
    name: str
    description: str | None
    essential: object
    times: tuple[object, object]


def iter_egoexo4d(root: Path, _corrections: Corrections, log: Log, /, **options: str) -> Iterator[Recording]:
    """Yield one recording a take, file by file.

    Both correction modes are the same: no correction of Ego-Exo4D is known.

    Args:
        root: folder that holds ``annotations/keystep_train.json`` and the like.
        log: is told everything.
        options: ``text``: ``name`` or ``description`` of the step as its text; ``steps``: ``all`` or ``essential``.

    Raises:
        UserError: if files are missing, no JSON, or without an object ``annotations``.
    """
    DATASET.require_files(root)
    seen = set[str]()
    for path in sorted(root.glob(_FILES)):
        document, takes = load_object(path, log, "annotations")
        if not takes:
            raise UserError("its 'annotations' are empty.", where=str(path), hint="is the file complete?")
        labels = _labels(path.name, document, log)
        split = token_from(path.stem.removeprefix(_PREFIX)) or path.stem
        for uid, take in takes.items():
            id_ = token_from(uid)
            if id_ is None:
                log.drop(shown(uid), "bad-id", "of a take")
            elif id_ in seen:
                log.drop(id_, "duplicate-id", f"again in {path.name}")
            else:
                seen.add(id_)
                recording = _recording(id_, take, split, labels, options)
                if recording is not None:
                    yield recording


# -- labels ------------------------------------------------------------------------------------------------------


def _labels(name: str, document: dict[str, Any], log: Log) -> _Labels:
    parts = {}
    for key in ("taxonomy", "vocabulary"):
        part = document.get(key)
        if not isinstance(part, dict):
            log.drop(f"{name}/{key}", "bad-field", shown(part))
        parts[key] = part if isinstance(part, dict) else {}
    names = {}
    for key, value in parts["vocabulary"].items():
        id_, text = token_from(key), text_from(value)
        if id_ is None or text is None:
            log.drop(f"{name}/vocabulary", "bad-field", f"{shown(key)}: {shown(value)}")
        else:
            names[id_] = text
    trees = {}
    for key, value in parts["taxonomy"].items():
        if isinstance(value, dict):
            trees[key] = value
        else:
            log.drop(f"{name}/taxonomy", "bad-field", f"{shown(key)}: {shown(value)}")
    log.counts["scenarios of the taxonomy"] = max(log.counts["scenarios of the taxonomy"], len(trees))
    return _Labels(log, names, trees)


def _compare(where: str, step: _Step, scenario: str, labels: _Labels) -> None:
    """Tell where a step and the lists of labels do not say the same."""
    if labels.names:
        known = labels.names.get(step.id)
        if known is None:
            labels.tell("unknown-label", where, f"step_unique_id {step.id} is not in the vocabulary")
        elif known != step.name:
            seen = f"{step.id} is {shown(step.name)}, in the vocabulary {shown(known)}"
            labels.tell("label-differs", where, seen)
    tree = labels.scenarios.get(scenario)
    if tree is None:
        if labels.scenarios:
            labels.tell("unknown-scenario", where, f"{shown(scenario)} is not in the taxonomy")
        return
    node = tree.get(step.local)
    if not isinstance(node, dict):
        labels.tell("unknown-label", where, f"step_id {step.local} is not in {shown(scenario)}")
    elif node.get("is_leafnode") is not True:
        labels.tell("not-a-leaf", where, f"step_id {step.local} of {shown(scenario)}")
    elif token_from(node.get("unique_id")) != step.id:
        seen = f"step_id {step.local} of {shown(scenario)} is {shown(node.get('unique_id'))}, here {step.id}"
        labels.tell("label-differs", where, seen)


# -- takes -------------------------------------------------------------------------------------------------------


def _recording(
    id_: str, take: object, split: str, labels: _Labels, options: Mapping[str, str]
) -> Recording | None:
    entry = take if isinstance(take, dict) else {}
    scenario, listed = text_from(entry.get("scenario")), entry.get("segments")
    activity = token_from(scenario.replace("/", "-")) if scenario else None
    if scenario is None or activity is None or not isinstance(listed, list):
        labels.log.drop(
            id_, "bad-record", f"scenario {shown(entry.get('scenario'))}, segments {type(listed).__name__}"
        )
        return None
    found = StepRows(id_, labels.log)
    left_out = 0
    for number, one in enumerate(listed, start=1):
        left_out += not _add(found, str(number), one, scenario, labels, options)
    labels.log.counts["steps left out by the option steps"] += left_out
    segments = found.segments()
    if not segments:
        return None
    return Recording(id_, activity, scenario, segments, attributes=_attributes(id_, entry, split, labels.log))


def _add(
    found: StepRows, place: str, one: object, scenario: str, labels: _Labels, options: Mapping[str, str]
) -> bool:
    """Add a step, or tell why not; False where the option ``steps`` leaves it out."""
    step = _step(one)
    if step is None:
        found.drop(place, "bad-record", shown(one))
        return True
    if not isinstance(step.essential, bool):
        found.find("unknown-flag", place, f"is_essential: {shown(step.essential)}")
    if options.get("steps") == "essential" and step.essential is False:
        return False
    text = step.name
    if options.get("text") == "description":
        text = step.description or step.name
        if step.description is None:
            found.find("no-description", place, shown(step.name))
    if found.add(place, step.id, text, *map(seconds_from, step.times)):
        _compare(found.named(place), step, scenario, labels)
        found.log.counts["essential steps"] += step.essential is True
    return True


def _step(one: object) -> _Step | None:
    entry = one if isinstance(one, dict) else {}
    id_, local = token_from(entry.get("step_unique_id")), token_from(entry.get("step_id"))
    name = text_from(entry.get("step_name"))
    if id_ is None or local is None or name is None:
        return None
    times = entry.get("start_time"), entry.get("end_time")
    return _Step(id_, local, name, text_from(entry.get("step_description")), entry.get("is_essential"), times)


def _attributes(id_: str, entry: Mapping[str, Any], split: str, log: Log) -> dict[str, str]:
    found = {"split": split}
    name, uid = text_from(entry.get("take_name")), token_from(entry.get("take_uid"))
    if name is None:
        log.drop(f"{id_}/take_name", "bad-field", shown(entry.get("take_name")))
    else:
        found["take_name"] = name
    if uid != id_:
        log.find("id-differs", id_, f"its take_uid is {shown(entry.get('take_uid'))}")
    return found


DATASET = Dataset(
    name="egoexo4d",
    title="Ego-Exo4D keysteps",
    version="as released; the files name none",
    licence="LicenseRef-Ego-Exo4D",
    citation=(
        "Grauman et al. 2024: Ego-Exo4D: Understanding Skilled Human Activity from First- and Third-Person "
        "Perspectives. CVPR."
    ),
    homepage="https://ego-exo4d-data.org",
    files=(DataFile(_FILES, "one subset a file: takes with their steps, taxonomy, vocabulary (JSON)"),),
    read=reader(iter_egoexo4d),
    check=checker(iter_egoexo4d),
    iterate=iter_egoexo4d,
    options={"text": ("name", "description"), "steps": ("all", "essential")},
    access="A licence agreement has to be signed with the consortium; their command line tool then fetches the annotations.",
    rules={
        **ROW_RULES,
        **STEP_RULES,
        "unknown-label": "the vocabulary has no such step_unique_id, or the scenario's taxonomy no such step_id",
        "label-differs": "the step and the vocabulary, or the step and the taxonomy, do not say the same; reported once for each",
        "not-a-leaf": "the step is a node of the taxonomy that has nodes below it",
        "unknown-scenario": "the taxonomy has no such scenario",
        "unknown-flag": "is_essential is neither true nor false; the step counts as essential for the option `steps`",
        "no-description": "with the option text=description: the step has none, its name is taken",
        "id-differs": "take_uid is not the key under which the take is listed; the key is the id",
    },
    notes=(
        (
            "`step_id` of the release counts within one scenario: the same number means another step in another scenario. "
            "`step_unique_id` is global, and is what Proctor calls `step_id` (also for trimming by category)."
        ),
        (
            "`text` of a step is `step_name`; with the option `text=description` it is `step_description`. `is_essential` has no "
            "place in a segment: the option `steps=essential` leaves the other steps out and counts them."
        ),
        (
            "The taxonomy is a tree of kinds of steps (only leaves are annotated). It does not say what must come before what, so "
            "it is no task graph and none is made; steps are checked against it and against the vocabulary."
        ),
        (
            "`activity_id` is the scenario, with `-` for `/` so that files can be named after it; `activity_name` is the scenario as it is. `split` is the part of the file name after `keystep_`. A subset without steps gives no recordings: its takes are listed "
            "under `no-steps`. `annotation_meta` is not read. Lengths of takes are not in these files."
        ),
        (
            "Not verified on a real file: all of it (the data need a signed licence; the reader was built from the documented "
            "fields), above all the folder `annotations/`, and whether ids are numbers or texts (both are read)."
        ),
    ),
)
