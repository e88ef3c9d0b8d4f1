"""A benchmark's folder: which file each stage reads and writes, with which settings, and what is out of date.

``proctor.toml`` holds the settings (every flag of a command has a line there, and back: a flag that is given is
written down and holds from then on). ``stages.json`` holds what each stage did: settings, counts and the hashes
of what it read and wrote, so that a file that was changed behind a stage's back is noticed.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from proctor.errors import UserError
from proctor.procedure.graph import GraphError, TaskGraph
from proctor.records import (
    Dropped,
    atomic_write,
    file_sha256,
    read_bytes,
    read_json,
    read_jsonl,
    write_json,
    write_jsonl,
)
from proctor.version import __version__

__all__ = ["STAGES", "StageRecord", "Workspace"]

T = TypeVar("T")

STAGES: Final = ("read", "derive", "generate", "verify", "build")
"""The stages that write one file into the workspace, in order; runs come after them."""

_MADE_BY: Final = {
    "recordings.jsonl": "read",
    "graphs.json": "read",
    "examples.jsonl": "derive",
    "candidates.jsonl": "generate",
    "items.jsonl": "build",
}


class StageRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one stage did: with which settings, from what, to what, and the numbers of its closing line."""

    version: str
    settings: dict[str, Any]
    counts: dict[str, Any]
    inputs: dict[str, str] = {}
    outputs: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder with the files of one benchmark in the making."""

    root: Path

    # -- places ------------------------------------------------------------------------------------------------

    def file(self, name: str) -> Path:
        """Return the path of a file of the workspace."""
        return self.root / name

    @property
    def runs(self) -> Path:
        """Folder of the evaluation runs."""
        return self.root / "runs"

    def run_names(self) -> list[str]:
        """Names of the runs that hold predictions, sorted."""
        return sorted(p.parent.name for p in self.runs.glob("*/predictions.jsonl"))

    def run_folder(self, name: str) -> Path:
        """Return the folder of a run.

        Raises:
            UserError: if the name could leave the folder of runs.
        """
        if not name or name.startswith(".") or any(c in name for c in "/\\\0") or len(name) > 120:
            raise UserError(f"{name!r} cannot be the name of a run.", hint="use letters, digits, '-' and '_'")
        return self.runs / name

    def create(self) -> None:
        """Make the folder.

        Raises:
            UserError: if it cannot be made, or is a file.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"cannot be used as a workspace: {error.strerror or error}.",
                where=str(self.root),
                hint="give another folder",
            ) from None

    def require(self, name: str) -> Path:
        """Return the path of a file that an earlier stage must have written.

        Raises:
            UserError: naming the command that writes it.
        """
        if not self.root.is_dir():
            raise UserError(
                "there is no such workspace.",
                where=str(self.root),
                hint=f"start with: proctor read DATASET FOLDER {self.root}",
            )
        path = self.file(name)
        if not path.exists():
            stage = _MADE_BY.get(name, "")
            raise UserError(
                f"{name} is not there yet.",
                where=str(self.root),
                hint=f"run first: proctor {stage} {self.root}",
            )
        return path

    # -- content -----------------------------------------------------------------------------------------------

    def load(self, name: str, type_: type[T]) -> list[T]:
        """Return the records of a stage's file."""
        return read_jsonl(self.require(name), type_)

    def graphs(self) -> dict[str, TaskGraph]:
        """Return the task graphs by activity id.

        Raises:
            UserError: if the file is missing or a graph is broken.
        """
        path = self.require("graphs.json")
        try:
            return read_json(path, dict[str, TaskGraph])
        except GraphError as error:
            raise UserError(f"{error}.", where=str(path)) from None

    def write_graphs(self, graphs: Mapping[str, TaskGraph]) -> None:
        """Write the task graphs."""
        write_json(self.file("graphs.json"), dict(graphs))

    def write_dropped(self, stage: str, dropped: Sequence[Dropped]) -> dict[str, int]:
        """Write what a stage dropped and return the number of each reason."""
        write_jsonl(self.file(f"{stage}.dropped.jsonl"), dropped)
        return dict(sorted(Counter(d.reason for d in dropped).items()))

    # -- settings ----------------------------------------------------------------------------------------------

    def settings(self, stage: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Merge flags, ``proctor.toml`` and defaults, in this order of strength, and write the result down.

        Raises:
            UserError: if the file is not TOML, a key is unknown or a value has another type.
        """
        path = self.file("proctor.toml")
        table = self._toml().get(stage, {})
        if not isinstance(table, dict):
            raise UserError(f"[{stage}] must be a table.", where=str(path))
        for key, value in table.items():
            if key not in defaults:
                known = ", ".join(defaults) or "none"
                raise UserError(
                    f"unknown key '{key}'.", where=f"{path}: [{stage}]", hint=f"known keys: {known}"
                )
            if defaults[key] is not None and not _same_type(value, defaults[key]):
                raise UserError(
                    f"'{key}' is {value!r}; {type(defaults[key]).__name__} was expected.",
                    where=f"{path}: [{stage}]",
                )
        merged = {**defaults, **table, **{k: v for k, v in given.items() if v is not None}}
        self._write_toml(stage, merged)
        return merged

    def _toml(self) -> dict[str, Any]:
        path = self.file("proctor.toml")
        if not path.exists():
            return {}
        try:
            return tomllib.loads(read_bytes(path).decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UserError(f"not valid TOML: {error}.", where=str(path)) from None

    def _write_toml(self, stage: str, values: Mapping[str, Any]) -> None:
        import tomlkit

        path = self.file("proctor.toml")
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        document = tomlkit.parse(old)
        table = document.setdefault(stage, tomlkit.table())
        for key, value in values.items():
            if value is not None and table.get(key) != value:
                table[key] = value
        new = tomlkit.dumps(document)
        if new != old:
            with atomic_write(path) as stream:
                stream.write(new.encode())

    # -- provenance --------------------------------------------------------------------------------------------

    def stages(self) -> dict[str, StageRecord]:
        """Return what every stage did so far."""
        path = self.file("stages.json")
        return read_json(path, dict[str, StageRecord]) if path.exists() else {}

    def record(
        self,
        stage: str,
        *,
        settings: Mapping[str, Any],
        counts: Mapping[str, Any],
        inputs: Iterable[str] = (),
        outputs: Iterable[str] = (),
    ) -> None:
        """Write down what a stage did."""
        record = StageRecord(
            version=__version__,
            settings=dict(settings),
            counts=dict(counts),
            inputs={n: file_sha256(self.file(n)) for n in inputs},
            outputs={n: file_sha256(self.file(n)) for n in outputs},
        )
        write_json(self.file("stages.json"), {**self.stages(), stage: record})

    def stale(self) -> list[str]:
        """Say which stages' results no longer fit what they were made from, one sentence each."""
        stages, sentences = self.stages(), []
        current = {p.name: file_sha256(p) for name in _MADE_BY if (p := self.file(name)).is_file()}
        for name, record in stages.items():
            for source, digest in record.inputs.items():
                if source in current and current[source] != digest:
                    sentences.append(
                        f"{source} changed after '{name}' had read it: run 'proctor {name}' again"
                    )
            for result, digest in record.outputs.items():
                if result in current and current[result] != digest:
                    sentences.append(f"{result} was changed by hand after '{name}' had written it")
        return sentences


def _same_type(value: object, default: object) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(default, bool)
    if isinstance(default, float):
        return isinstance(value, int | float)
    return isinstance(value, type(default))
