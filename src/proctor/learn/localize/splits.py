"""Which recordings are trained on, chosen on and tested on: splits of the annotations, not of the code for error recognition.

By environments (E), persons (P), recordings (R) and recipes (Re). The paper trains on the training and the validation part and
chooses nothing, so the protocols ``paper`` and ``code`` do; their R is the split of 2023, which the printed figures are of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from proctor.errors import UserError
from proctor.learn.features.store import FeatureStore
from proctor.learn.localize.data import LocalizeData, TimedRecording, localize_data
from proctor.learn.localize.localizer import LocalizeTask
from proctor.learn.localize.reference import reference_labels
from proctor.learn.recogniser import ProtocolName
from proctor.learn.samples import SHARED, homes, read_step_data, released_or_made
from proctor.records import Dropped

__all__ = ["LOCALIZE_SPLITS", "LocalizeSplit", "classes_of", "localize_task", "with_stores"]

LocalizeSplit = Literal["E", "P", "R", "Re"]

LOCALIZE_SPLITS: Final[dict[LocalizeSplit, str]] = {
    "E": "environment",
    "P": "person",
    "R": "recordings",
    "Re": "recipes",
}
_PRINTED_R: Final = "recordings-2023"
"""As R, with the number of a recording for whether it is mistaken: behind the printed figures."""
_SHARED: Final = {**SHARED, "Re": ("activity",)}


def localize_task(
    folder: Path,
    split: LocalizeSplit,
    protocol: ProtocolName = "right",
    seed: int = 0,
    *,
    with_val: bool = False,
) -> tuple[LocalizeTask, tuple[str, ...]]:
    """Read annotations and divide them; also return what a reader of figures has to know.

    Args:
        folder: of the annotations.
        split: by what.
        protocol: ``paper`` and ``code`` train on the validation part, too; ``code`` trains each text under one id.
        seed: of everything that the localizer draws.
        with_val: train on the validation part under ``right``, too.

    Raises:
        UserError: if the annotations or the split cannot be used, or a part has no step with times.
    """
    steps, dataset = read_step_data(folder)
    printed = split == "R" and protocol != "right" and any(r.name == _PRINTED_R for r in dataset.splits)
    name = _PRINTED_R if printed else LOCALIZE_SPLITS[split]
    subsets, notes = released_or_made(steps, dataset, folder, name, _SHARED.get(split, ()))
    home = homes(subsets, split, folder)
    data = localize_data(steps)
    if unknown := [id_ for id_ in home if id_ not in data.recordings]:
        notes.append(
            f"the split names {len(unknown):,} that are not annotated: {', '.join(sorted(unknown)[:5])}"
        )
    data = _without_empty(data, home)
    parts = {part: [i for i in data.recordings if home.get(i) == part] for part in ("train", "val", "test")}
    if with_val or protocol != "right":
        parts["train"], parts["val"] = [i for i in data.recordings if home.get(i) in ("train", "val")], []
    if protocol == "code":
        trained = localize_data(steps, reference_labels(steps))
        data = replace(
            data, recordings={**data.recordings, **{i: trained.recordings[i] for i in parts["train"]}}
        )
    task = LocalizeTask(
        data, tuple(parts["train"]), tuple(parts["val"]), tuple(parts["test"]), seed, protocol
    )
    _require_parts(task, split, folder)
    return task, (*notes, *_unseen(task))


def with_stores(task: LocalizeTask, stores: Sequence[FeatureStore], folder: Path) -> LocalizeTask:
    """Return the task without the recordings that a store has no rows of; each is listed.

    Listed as changed are recordings with steps that begin where a store's rows have ended: no network can find these.

    Raises:
        UserError: if a store is given twice, or a part is then empty.
    """
    if len({s.path.resolve() for s in stores}) < len(stores):
        raise UserError("a store is given twice.", where="--features", hint="name each store once")
    short = tuple(_short(r, s) for s in stores for i, r in task.data.recordings.items() if i in s)
    task = replace(task, data=replace(task.data, changed=(*task.data.changed, *filter(None, short))))
    lacking = {i: s.backbone for s in reversed(stores) for i in task.data.recordings if i not in s}
    if not lacking:
        return task
    data = replace(
        task.data,
        recordings={i: r for i, r in task.data.recordings.items() if i not in lacking},
        dropped=(*task.data.dropped, *(Dropped(i, "no_features", f"of {b}") for i, b in lacking.items())),
    )
    train, val, test = (
        tuple(i for i in ids if i not in lacking) for ids in (task.train, task.val, task.test)
    )
    found = replace(task, data=data, train=train, val=val, test=test)
    _require_parts(found, "with features", folder)
    return found


def _short(recording: TimedRecording, store: FeatureStore) -> Dropped | None:
    end = store.held[recording.id].rows * store.seconds
    after = sum(span.start >= end for span in recording.spans)
    if not after:
        return None
    what = (
        f"rows of {store.backbone} end at {end:g} s of {recording.seconds:g}; steps that begin later: {after}"
    )
    return Dropped(recording.id, "short_features", what)


def _without_empty(data: LocalizeData, home: dict[str, str]) -> LocalizeData:
    """Leave out recordings without any step with times, and those that are in no part; both are listed."""
    dropped: list[Dropped] = []
    for id_, recording in data.recordings.items():
        if not recording.spans:
            dropped.append(Dropped(id_, "no_timed_step", "nothing in it can be found"))
        elif id_ not in home:
            dropped.append(Dropped(id_, "in_no_part", "the split does not name it"))
    out = {d.id for d in dropped}
    kept = {id_: r for id_, r in data.recordings.items() if id_ not in out}
    return replace(data, recordings=kept, dropped=(*data.dropped, *dropped))


def _require_parts(task: LocalizeTask, split: str, folder: Path) -> None:
    for part, ids in (("train", task.train), ("test", task.test)):
        if not ids:
            raise UserError(
                f"no recording with a timed step is in '{part}' of the split {split}.",
                where=str(folder),
                hint="check the files of splits, the annotations and the features, or take another split",
            )


def classes_of(data: LocalizeData, ids: Iterable[str]) -> frozenset[str]:
    """Return the steps that these recordings have."""
    return frozenset(s.step for i in ids for s in data.recordings[i].spans)


def _unseen(task: LocalizeTask) -> list[str]:
    seen, tested = classes_of(task.data, task.train), classes_of(task.data, task.test)
    unseen = tested - seen
    if not unseen:
        return []
    seen_in = (
        f"{len(unseen):,} of {len(tested):,} classes of the test part are in no recording that is trained on"
    )
    return [f"{seen_in}: they count as not found"]
