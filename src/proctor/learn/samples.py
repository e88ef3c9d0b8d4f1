"""What is recognised: one step of one recording, with all its executions. Source: CaptainCook4D (Peddi et al. 2024), Section 4.1.

A sample is (recording, step): all executions of the step, in the order of the annotation. It is a mistake when one of
its executions is (the released code looks at the last one only; ``labels("last")``). Steps without times cannot be
seen; they are counted and listed. Steps are keyed by the annotation's id, never by text.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from proctor.datasets.dataset import Dataset, Performance, Split, guess_dataset
from proctor.datasets.splits import split_records
from proctor.errors import UserError
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Segment
from proctor.records import Dropped, content_hash

__all__ = [
    "KINDS",
    "SHARED",
    "SPLITS",
    "Division",
    "Execution",
    "SplitName",
    "StepData",
    "StepSample",
    "Subset",
    "dealt",
    "divide",
    "homes",
    "read_step_data",
    "released_or_made",
]

KINDS: Final = ("order", "preparation", "measurement", "technique", "temperature", "timing")
"""Kinds of mistakes that a step with times can carry; ``missing`` has none but four times, ``other`` eight in all."""

SplitName = Literal["R", "P", "E", "S"]
"""By recordings, persons, environments and steps, as in the code for error recognition."""

SPLITS: Final[Mapping[str, str]] = {
    "R": "er-recordings",
    "P": "er-person",
    "E": "er-environment",
    "S": "steps",
}

Subset = Literal["train", "val", "test"]


@dataclass(frozen=True, slots=True)
class Execution:
    """One time that a step was carried out: seconds, and the kinds of mistakes that it carries."""

    start: float
    end: float
    kinds: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class StepSample:
    """A step of a recording.

    Attributes:
        recording_id: where it was carried out.
        step: the annotation's own id, the same in every recording.
        node: its node in the task graph; empty where its text is not in it.
        activity_id: of the task graph.
        text: the instruction.
        executions: at least one, in the order of the annotation.
    """

    recording_id: str
    step: str
    node: str
    activity_id: str
    text: str
    executions: tuple[Execution, ...]

    @property
    def id(self) -> str:
        """Unique in a data set."""
        return f"{self.recording_id}:{self.step}"

    @property
    def mistaken(self) -> bool:
        """Whether one of the executions carries a mistake of any kind."""
        return any(e.kinds for e in self.executions)

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of mistakes over all executions."""
        return frozenset(kind for e in self.executions for kind in e.kinds)

    @property
    def seconds(self) -> float:
        """Length of all executions together."""
        return sum(e.seconds for e in self.executions)


@dataclass(frozen=True)
class StepData:
    """All steps of a data set.

    Attributes:
        samples: in the order of the data set.
        performances: by recording id, also what has no times (for what is missing and what the graph says).
        graphs: by activity id.
        dropped: steps that are no sample, with their reason.
        name: of the data set.
        hash: of the annotations.
    """

    samples: tuple[StepSample, ...]
    performances: Mapping[str, Performance]
    graphs: Mapping[str, TaskGraph]
    dropped: tuple[Dropped, ...]
    name: str
    hash: str

    def labels(self, rule: Literal["any", "last"] = "any") -> NDArray[np.bool_]:
        """Return whether each sample is a mistake; shape (samples,).

        Args:
            rule: of its executions any (right), or the last (as the released code does).
        """
        if rule == "any":
            return np.fromiter((s.mistaken for s in self.samples), np.bool_, len(self.samples))
        return np.fromiter((bool(s.executions[-1].kinds) for s in self.samples), np.bool_, len(self.samples))

    def of_kind(self, kind: str) -> NDArray[np.bool_]:
        """Return whether each sample carries a mistake of a kind; shape (samples,)."""
        return np.fromiter((kind in s.kinds for s in self.samples), np.bool_, len(self.samples))

    @property
    def recordings(self) -> tuple[str, ...]:
        """The recording of each sample; what intervals are drawn over."""
        return tuple(s.recording_id for s in self.samples)


@dataclass(frozen=True)
class Division:
    """Which samples are trained on, chosen on and tested on.

    Attributes:
        split: its name.
        train: places in ``StepData.samples``, increasing; likewise ``val`` and ``test``.
        unassigned: recordings of the data set that the split leaves out.
        notes: what a reader of figures has to know of the split, such as that the released one is not there.
    """

    split: str
    train: NDArray[np.int64]
    val: NDArray[np.int64]
    test: NDArray[np.int64]
    unassigned: tuple[str, ...] = field(default=())
    notes: tuple[str, ...] = ()

    @property
    def hash(self) -> str:
        """Of which samples are in which part: a file of a split may change under its name."""
        return content_hash([self.train.tolist(), self.val.tolist(), self.test.tolist()])

    def __getitem__(self, subset: Subset) -> NDArray[np.int64]:
        places: NDArray[np.int64] = getattr(self, subset)
        return places


def read_step_data(folder: Path) -> tuple[StepData, Dataset]:
    """Read the samples of a folder of annotations.

    Raises:
        UserError: if the data set is not known, has no mistakes of steps, or a file cannot be read.
    """
    dataset = guess_dataset(folder)
    if dataset.performances is None:
        raise UserError(
            f"{dataset.title} says nothing of mistakes in steps.",
            where=str(folder),
            hint="use CaptainCook4D's annotations, or a plain folder (docs/datasets/plain.md)",
        )
    found = dataset.performances(folder)
    samples: list[StepSample] = []
    dropped = list(found.dropped)
    for performance in found.all:
        samples += _samples_of(performance, dropped)
    if not samples:
        raise UserError("no step has times, so there is nothing to recognise.", where=str(folder))
    by_id = {p.recording.id: p for p in found.all}
    return StepData(
        tuple(samples), by_id, found.graphs, tuple(dropped), dataset.name, content_hash([by_id, found.graphs])
    ), dataset


def _samples_of(performance: Performance, dropped: list[Dropped]) -> list[StepSample]:
    recording = performance.recording
    groups: dict[str, list[Segment]] = {}
    for key, segment in zip(performance.keys, recording.segments, strict=True):
        if segment.start is None or segment.end is None:
            kinds = ", ".join(sorted({m.kind for m in segment.mistakes})) or "no mistake"
            dropped.append(Dropped(f"{recording.id}:{key}", "no_times", f"{kinds}; it cannot be seen"))
        else:
            groups.setdefault(key, []).append(segment)
    return [
        StepSample(
            recording.id, key, segments[0].step_id, recording.activity_id, segments[0].text,
            tuple(Execution(s.start or 0.0, s.end or 0.0, tuple(m.kind for m in s.mistakes)) for s in segments),
        )
        for key, segments in groups.items()
    ]  # fmt: skip


_SHARES: Final = {"train": 0.5, "val": 0.25, "test": 0.25}
_FEW: Final = 0.05
"""Of the steps may be in no task graph before it is told; two of CaptainCook4D's are in none."""

SHARED: Final[Mapping[str, tuple[str, ...]]] = {"P": ("person",), "E": ("environment", "place")}
"""Attributes of recordings that must not be in two parts."""


def dealt(data: StepData, shared: Sequence[str], folder: Path) -> Split:
    """Deal recordings out, where no split is released: a half trains, a quarter each is chosen and tested on.

    Args:
        data: all steps; recordings without any step that can be seen are in no part.
        shared: attributes of recordings of which the first that is there must not be in two parts; ``activity`` is one.
        folder: of the annotations, for messages.

    Raises:
        UserError: if a recording has none of the attributes.
    """
    mistaken = dict.fromkeys(data.recordings, False)
    for sample in data.samples:
        mistaken[sample.recording_id] |= sample.mistaken
    keys: dict[str, tuple[str, ...]] = {}
    for id_ in mistaken:
        recording = data.performances[id_].recording
        attributes = {**recording.attributes, "activity": recording.activity_id}
        own = [attributes[name] for name in shared if attributes.get(name)][:1]
        if shared and not own:
            raise UserError(
                f"recordings have no attribute '{shared[0]}', so they cannot be divided by it.",
                where=f"{folder}: recording '{id_}'",
                hint="add it to the recordings, or use --split R",
            )
        keys[id_] = (*own, id_)
    strata = {
        id_: f"{data.performances[id_].recording.activity_id} {wrong}" for id_, wrong in mistaken.items()
    }
    return split_records(keys, _SHARES, rng=random.Random(0), strata=strata).split  # noqa: S311 - not for secrets


def released_or_made(
    data: StepData, dataset: Dataset, folder: Path, rule_name: str, shared: Sequence[str]
) -> tuple[Split, list[str]]:
    """Return a split as its released file has it, or, where that is missing, by its rule; and what is to be known of it.

    Args:
        data: what is divided, where the data set has no released split.
        dataset: whose splits.
        folder: of the annotations.
        rule_name: of the split.
        shared: see ``dealt``.

    Raises:
        UserError: if the data set has splits but not this one, or recordings cannot be dealt out.
    """
    rule = next((r for r in dataset.splits if r.name == rule_name), None)
    notes: list[str] = []
    if not dataset.splits:
        subsets = dealt(data, shared, folder)
        notes.append("no split is released: a half trains, a quarter each is chosen and tested on")
    elif rule is None:
        raise UserError(f"{dataset.title} has no split '{rule_name}'.", hint="see proctor datasets info")
    elif rule.released is None or rule.read_released is None:
        subsets = rule.make(folder)
    elif (folder / rule.released).exists() and any((found := rule.read_released(folder)).values()):
        subsets = found
    else:
        subsets = rule.make(folder)
        lack = "is empty" if (folder / rule.released).exists() else "is not there"
        notes.append(f"{rule.released} {lack}: the split is made by its rule, not as released")
    if changed := dataset.changed_files(folder):
        notes.append(
            f"{', '.join(changed)} differs from the release: compare figures with no published ones, and see 'proctor datasets check'"
        )
    return subsets, notes


def divide(data: StepData, dataset: Dataset, folder: Path, split: SplitName) -> Division:
    """Divide the samples as the released split files do, or, where these are missing, by their rule.

    A data set without any released split is dealt out: half of it trains, a quarter each is chosen and tested on, with
    activities and mistaken recordings mixed alike, and always in the same way.

    Raises:
        UserError: if the data set has no such split, something is in two parts of it, or a part is empty or has one class only.
    """
    if split == "S" and not dataset.splits:
        raise UserError(
            "this data set has no released split by steps, and none is made up: both sides would show one recording.",
            where=str(folder),
            hint="use --split R, P or E",
        )
    subsets, notes = released_or_made(data, dataset, folder, SPLITS[split], SHARED.get(split, ()))
    ids: Sequence[str] = [s.id for s in data.samples] if split == "S" else data.recordings
    home = homes(subsets, split, folder)
    known = {*ids, *data.performances}
    if unknown := [id_ for id_ in home if id_ not in known]:
        notes.append(f"the split names {len(unknown):,} that are not annotated: {', '.join(unknown[:5])}")
    apart = sum(not s.node for s in data.samples)
    if apart > _FEW * len(data.samples):
        notes.append(
            f"{apart:,} of {len(data.samples):,} steps are in no task graph by their text: what is wrong with their order is not seen"
        )
    places = {
        name: np.array([i for i, id_ in enumerate(ids) if home.get(id_) == name], dtype=np.int64)
        for name in ("train", "val", "test")
    }
    target = data.labels()
    if not target.any():
        raise UserError(
            "no step carries a mistake, so there is nothing to recognise.",
            where=str(folder),
            hint="are the labels of another version? see 'proctor datasets check'",
        )
    for name, members in places.items():
        if not members.size or len({*target[members].tolist()}) < 2:
            what = "mistaken" if target[members].all() else "without mistake"
            raise UserError(
                f"all {members.size:,} steps in '{name}' of the split {split} are {what}; nothing can be learnt from one class."
                if members.size
                else f"no step is in '{name}' of the split {split}.",
                where=str(folder),
                hint="check the files of splits and the annotations, or take another split",
            )
    left = tuple(dict.fromkeys(r for r, id_ in zip(data.recordings, ids, strict=True) if id_ not in home))
    return Division(split, places["train"], places["val"], places["test"], left, tuple(notes))


def homes(subsets: Mapping[str, Sequence[str]], split: str, folder: Path) -> dict[str, str]:
    """Return the part of each recording or step.

    Raises:
        UserError: if one is in two: it would be tested on what was trained on.
    """
    home: dict[str, str] = {}
    for name, members in subsets.items():
        for id_ in members:
            if home.setdefault(id_, name) != name:
                raise UserError(
                    f"'{id_}' is in '{home[id_]}' and in '{name}' of the split {split}.",
                    where=str(folder),
                    hint="correct the file of the split: what is trained on must not be tested on",
                )
    return home
