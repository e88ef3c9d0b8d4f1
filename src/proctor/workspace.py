"""A benchmark's folder: which file each stage reads and writes, with which settings, and what is out of date.

``proctor.toml`` holds the settings (every flag of a command has a line there, and back: a flag that is given is
written down when the stage has succeeded, and holds from then on). ``stages.json`` holds what each stage did:
settings, counts and the hashes of what it read and wrote, so that a file that was changed behind a stage's back
is noticed. ``workspace.json`` says the format of the records.
"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import msgspec

from proctor.errors import UserError, did_you_mean
from proctor.procedure.graph import GraphError, TaskGraph
from proctor.records import (
    Dropped,
    atomic_write,
    decode_document,
    file_sha256,
    is_there,
    read_bytes,
    read_json,
    read_jsonl,
    write_json,
    write_jsonl,
)
from proctor.settings import Settings, fields_of
from proctor.version import __version__

__all__ = [
    "FORMAT",
    "STAGES",
    "StageRecord",
    "Workspace",
    "format_of",
    "is_there",
    "place_in_job",
    "write_format",
]

T = TypeVar("T")
S = TypeVar("S", bound=Settings)

FORMAT: Final = 3
"""Of the records in a workspace: 1 until October 2026, 2 since items of every kind are one record, 3 since questions are, too (``proctor
upgrade``)."""
_FORMAT_FILE: Final = "workspace.json"

STAGES: Final = ("read", "derive", "generate", "verify", "build")
"""The stages that write one file into the workspace, in order; runs come after them."""

_MADE_BY: Final = {
    "recordings.jsonl": "read",
    "graphs.json": "read",
    "examples.jsonl": "derive",
    "candidates.jsonl": "generate",
    "items.jsonl": "build",
    "corpus": "corpus build",
    "clips.jsonl": "generate clip",
    "pairs.jsonl": "generate clip",
    "open.jsonl": "filter",
    "choices.jsonl": "choices",
    "documents.jsonl": "generate documents",
    "people.jsonl": "round collect",
}


_COMMANDS: Final = {
    "corpus": "corpus build",
    "corpus-dedupe": "corpus dedupe",
    "documents": "generate documents",
    "overlap": "experiment documents",
    "pairs": "generate clip",
}
"""Stages that are called otherwise on the command line."""

_SETTINGS_USED: Final[dict[str, Any]] = {
    **dict.fromkeys(("dataset", "folder", "corrections", "store", "name", "version", "licence"), str),
    "generator": str | list[str],
    "seed": int,
    "accept": str | dict[str, Any],
}
_COUNTS_USED: Final[dict[str, Any]] = {
    **dict.fromkeys(("examples", "sampled", "candidates", "items"), int),
    "about": dict[str, str],
    "dropped": dict[str, int] | int,
    "sampling": dict[str, dict[str, Any]],
}
"""What one stage writes down and another reads, with its type."""

_FIX_SETTINGS: Final = "correct the file, or remove it to go back to the defaults"


class _Format(msgspec.Struct, frozen=True):
    format: int


def format_of(root: Path) -> int | None:
    """Return the format of the records in a folder; None where no stage has written any.

    Raises:
        UserError: if the file that says so is broken.
    """
    path = root / _FORMAT_FILE
    if is_there(path):
        said: _Format = read_json(path, _Format)
        return said.format
    return 1 if is_there(root / "stages.json") else None


def write_format(root: Path) -> None:
    """Say that the records in a folder are of today's format."""
    write_json(root / _FORMAT_FILE, _Format(FORMAT))


class StageRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one stage did: with which settings, from what, to what, and the numbers of its closing line."""

    version: str
    settings: dict[str, Any]
    counts: dict[str, Any]
    inputs: dict[str, str] = {}
    outputs: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder with the files of one benchmark in the making.

    Raises:
        UserError: if its records are of another format.
    """

    root: Path

    def __post_init__(self) -> None:
        """Refuse a folder of an older or a newer version, whatever is to be done with it."""
        found = format_of(self.root)
        if found is not None and found < FORMAT:
            raise UserError(
                "this workspace was made by an older version of Proctor.",
                where=str(self.root),
                hint=f"bring a copy of it up to date: proctor upgrade {shlex.quote(str(self.root))}",
            )
        if found is not None and found > FORMAT:
            raise UserError(
                f"this workspace was made by a newer version of Proctor (format {found}; this one knows {FORMAT}).",
                where=str(self.root),
                hint="pip install --upgrade proctor-bench",
            )

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
        if not os.path.isdir(self.runs):  # noqa: PTH112 - pathlib's raises where access is denied
            return []
        return sorted(p.name for p in self.runs.iterdir() if is_there(p / "predictions.jsonl"))

    def run_folder(self, name: str) -> Path:
        """Return the folder of a run.

        Raises:
            UserError: if the name could leave the folder of runs, or cannot be seen or typed.
        """
        strange = name != name.strip() or not name.isprintable() or any(c in name for c in "/\\")
        if not name or strange or name.startswith(".") or len(name) > 120:
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

    def require_folder(self, start: str = "recordings.jsonl") -> None:
        """Refuse a workspace that is not there.

        Args:
            start: what its first command writes.

        Raises:
            UserError: naming the workspace that may be meant, and the commands that make one.
        """
        if not os.path.isdir(self.root):  # noqa: PTH112 - pathlib's raises where access is denied
            own = f"for tasks of your own: proctor round own {shlex.quote(str(self.root))} TABLE --form FORM"
            anew = f"start with: {self.command_for(start)}; {own}"
            hint = f"{meant} If not, {anew}" if (meant := self.meant()) else anew
            raise UserError("there is no such workspace.", where=str(self.root), hint=hint)

    def meant(self) -> str:
        """Return a question where another workspace beside this one is called nearly the same; empty where none is."""
        beside = set[str]()
        with suppress(OSError):
            # one that has nothing but tasks has no records, one of the first version no file that says so
            for sign in (_FORMAT_FILE, "stages.json", "studio-secret"):
                beside |= {path.parent.name for path in self.root.absolute().parent.glob(f"*/{sign}")}
        near = get_close_matches(self.root.name, sorted(beside - {self.root.name}), n=1)
        return f"did you mean {self.root.with_name(near[0])}?" if near else ""

    def require(self, name: str) -> Path:
        """Return the path of a file that an earlier stage must have written.

        Raises:
            UserError: naming the command that writes it.
        """
        self.require_folder("corpus" if name == "corpus" else "recordings.jsonl")
        path = self.file(name)
        if not is_there(path):
            raise UserError(
                f"{name} is not there yet.", where=str(self.root), hint=f"run first: {self.command_for(name)}"
            )
        return path

    def command_for(self, name: str) -> str:
        """Return the command that writes a file of the workspace, as it is typed."""
        stage = _MADE_BY[name]
        folder = shlex.quote(str(self.root))
        if stage == "read":
            return f"proctor read DATASET FOLDER {folder}"
        return f"proctor {stage} {folder}" + (" --from FOLDER" if stage == "corpus build" else "")

    # -- content -----------------------------------------------------------------------------------------------

    def load(self, name: str, type_: type[T]) -> list[T]:
        """Return the records of a stage's file."""
        return read_jsonl(self.require(name), type_)

    def known_graphs(self) -> dict[str, TaskGraph]:
        """Return the task graphs by activity id; none where the workspace has no file of them.

        Raises:
            UserError: if a graph is broken.
        """
        return self.graphs() if is_there(self.file("graphs.json")) else {}

    def graphs(self) -> dict[str, TaskGraph]:
        """Return the task graphs by activity id.

        Raises:
            UserError: if the file is missing or a graph is broken.
        """
        path = self.require("graphs.json")
        try:
            return dict(_decode_graphs(read_bytes(path), path))
        except GraphError as error:
            raise UserError(
                f"{error}.",
                where=str(path),
                hint=f"correct the file, or make it again: {self.command_for(path.name)}",
            ) from None

    def write_graphs(self, graphs: Mapping[str, TaskGraph]) -> None:
        """Write the task graphs."""
        write_json(self.file("graphs.json"), dict(graphs))

    def write_dropped(self, stage: str, dropped: Sequence[Dropped]) -> dict[str, int]:
        """Write what a stage dropped and return the number of each reason."""
        write_jsonl(self.file(f"{stage}.dropped.jsonl"), dropped)
        return dict(sorted(Counter(d.reason for d in dropped).items()))

    # -- settings ----------------------------------------------------------------------------------------------

    def settings(self, stage: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Merge flags, ``proctor.toml`` and defaults, in this order of strength.

        Nothing is written: a flag that turns out to be wrong must not hold for the next run. See ``keep``.

        Raises:
            UserError: if the file is not TOML, a key is unknown or a value has another type.
        """
        path = self.file("proctor.toml")
        table: Any = self._toml()
        for name in stage.split("."):  # [learn.mistakes] is a table in a table
            table = table.get(name, {})
            if not isinstance(table, dict):
                raise UserError(f"[{stage}] must be a table.", where=str(path), hint=_FIX_SETTINGS)
        for key, value in table.items():
            if key not in defaults:
                where = f"{path}: [{stage}]"
                raise UserError(f"unknown key '{key}'.", where=where, hint=did_you_mean(key, defaults))
            if isinstance(defaults[key], list) and not isinstance(value, list):
                table[key] = value = [value]  # one name need not be written as a list
            if defaults[key] is not None and not _same_type(value, defaults[key]):
                raise UserError(
                    f"'{key}' is {value!r}; {type(defaults[key]).__name__} was expected.",
                    where=f"{path}: [{stage}]",
                    hint=_FIX_SETTINGS,
                )
        return {**defaults, **table, **{k: v for k, v in given.items() if v is not None}}

    def resolve(self, settings: type[S], **given: Any) -> S:
        """Return the settings of a stage: what was given, then ``proctor.toml``, then the defaults of the struct.

        Args:
            settings: a struct with a ``section``.
            **given: values of its fields that were typed, or passed in Python; None is none.

        Raises:
            UserError: as ``settings`` above, or if a value there is out of its bounds or none of its choices.
        """
        values = self.said(settings, **given)
        typed = {n: value for n, value in given.items() if value not in (None, ())}
        try:
            return settings(**values).with_given(typed)
        except UserError as error:
            # Where what was given is wrong by itself, the file is not to blame.
            settings(**{**_plain(settings), **typed}).with_given(typed)
            where = f"{self.file('proctor.toml')}: [{settings.section}]"
            raise UserError(error.message, where=where, hint=_FIX_SETTINGS) from None

    def said(self, settings: type[Settings], **given: Any) -> dict[str, Any]:
        """Return the values of a stage's settings as ``resolve`` finds them, whether or not they go together.

        Raises:
            UserError: as ``settings`` above.
        """
        declared = {field.name: field for field in fields_of(settings)}
        defaults = {n: list(v) if isinstance(v, tuple) else v for n, v in _plain(settings).items()}
        found = self.settings(settings.section, {n: v for n, v in given.items() if v != ()}, defaults)
        return {n: declared[n].read(value) if n in declared else value for n, value in found.items()}

    def model_settings(self, known: Collection[str]) -> dict[str, dict[str, Any]]:
        """Return what ``proctor.toml`` says of models, by model or role: tables ``[models."openai/o3"]``, ``[models.judge]``.

        What stands in ``[models]`` itself is for all of them, and stands under an empty name.

        Raises:
            UserError: if the file is not TOML, or holds something else there.
        """
        tables: Any = self._toml().get("models", {})
        found: dict[str, dict[str, Any]] = tables if isinstance(tables, dict) else {"models": tables}
        where = f"{self.file('proctor.toml')}: [models]"
        if everybody := {name: value for name, value in found.items() if name in known}:
            found = {"": everybody, **{who: values for who, values in found.items() if who not in known}}
        for who, values in found.items():
            if not isinstance(cast("object", values), dict):
                raise UserError(
                    f"{who} must be a table.",
                    where=where,
                    hint=f'such as [models."openai/o3"]; keys for all models: {", ".join(known)}',
                )
            if strange := [name for name in values if name not in known]:
                raise UserError(
                    f"unknown key '{strange[0]}' of {who}.",
                    where=where,
                    hint=did_you_mean(strange[0], known),
                )
        return found

    def _toml(self) -> dict[str, Any]:
        path = self.file("proctor.toml")
        if not is_there(path):
            return {}
        try:
            return tomllib.loads(read_bytes(path).decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UserError(f"not valid TOML: {error}.", where=str(path), hint=_FIX_SETTINGS) from None

    def keep(self, stage: str, values: Mapping[str, Any]) -> None:
        """Write the settings of a stage that has succeeded into ``proctor.toml``; comments there survive."""
        with self._alone():
            self._keep(stage, values)

    def _keep(self, stage: str, values: Mapping[str, Any]) -> None:
        import tomlkit

        path = self.file("proctor.toml")
        old = read_bytes(path).decode() if path.exists() else ""
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
        """Return what every stage did so far.

        Raises:
            UserError: if the file is broken, or a value that later stages use has another type.
        """
        path = self.file("stages.json")
        if not is_there(path):
            return {}
        records: dict[str, StageRecord] = read_json(path, dict[str, StageRecord])
        for stage, record in records.items():
            _check_types(record.settings, _SETTINGS_USED, f"{path}: {stage}.settings")
            _check_types(record.counts, _COUNTS_USED, f"{path}: {stage}.counts")
        return records

    @property
    def published(self) -> bool:
        """True where the examples were derived by the published protocol, or published items were imported.

        Prompts about moments are then those of that protocol.

        Raises:
            UserError: as ``stages``.
        """
        stages = self.stages()
        if "derive" in stages:
            return stages["derive"].settings.get("protocol") == "published"
        return "build" in stages and stages["build"].settings.get("accept") == "published"

    def record(
        self,
        stage: str,
        *,
        settings: Mapping[str, Any],
        counts: Mapping[str, Any],
        inputs: Iterable[str] = (),
        outputs: Iterable[str] = (),
        kept: Mapping[str, Any] | None = None,
    ) -> None:
        """Write down what a stage did. A file belongs to the stage that wrote it last.

        Args:
            stage: its name; ``<stage>/<run>`` for the stages of a run.
            settings: what it was done with.
            counts: the numbers of its closing line.
            inputs: names of the files that it read.
            outputs: names of the files that it wrote.
            kept: what goes into ``proctor.toml``, where that differs from ``settings``.
        """
        record = StageRecord(
            version=__version__,
            settings=dict(settings),
            counts=dict(counts),
            inputs={n: file_sha256(self.file(n)) for n in inputs},
            outputs={n: file_sha256(self.file(n)) for n in outputs},
        )
        with self._alone():
            if not is_there(self.file(_FORMAT_FILE)):
                write_format(self.root)
            others = {}
            for name, old in self.stages().items():  # without the files that this stage has written since
                left = {n: digest for n, digest in old.outputs.items() if n not in record.outputs}
                others[name] = msgspec.structs.replace(old, outputs=left)
            write_json(self.file("stages.json"), {**others, stage: record})
            if stage in STAGES:
                self._keep(stage, settings if kept is None else kept)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one process at a time change the files that all stages share; a lock ends with its process.

        Where the system or the file system has no locks, nobody waits.
        """
        handle = None
        try:
            with suppress(ImportError, OSError):
                import fcntl

                handle = os.open(self.root, os.O_RDONLY)
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            if handle is not None:
                os.close(handle)

    def changed(self, stage: str) -> list[str]:
        """Return the names of the files that a stage read and that are different now, or gone."""
        record = self.stages().get(stage)
        return self._changed(record.inputs) if record else []

    def stale(self) -> list[str]:
        """Say which stages' results no longer fit what they were made from, one sentence each."""
        sentences = []
        for name, record in sorted(self.stages().items(), key=lambda pair: place_in_job(pair[0])):
            command = _COMMANDS.get(name.partition("/")[0], name.partition("/")[0])
            for source in self._changed(record.inputs):
                what = "changed" if self.file(source).exists() else "is gone"
                sentences.append(f"{source} {what} after '{name}' had read it: run 'proctor {command}' again")
            for result in self._changed(record.outputs):
                what = "was changed by hand" if self.file(result).exists() else "is gone"
                sentences.append(
                    f"{result} {what} after '{name}' had written it: run 'proctor {command}' again"
                )
        return sentences

    def _changed(self, digests: Mapping[str, str]) -> list[str]:
        def now(name: str) -> str:
            path = self.file(name)
            return file_sha256(path) if path.is_file() else ""

        return [name for name, digest in digests.items() if now(name) != digest]


@lru_cache(maxsize=4)
def _decode_graphs(data: bytes, path: Path) -> dict[str, TaskGraph]:
    """Return the task graphs of a file; checking them takes longer than a small stage, and each stage of a job wants them."""
    return cast("dict[str, TaskGraph]", decode_document(data, dict[str, TaskGraph], path))


def place_in_job(stage: str) -> tuple[int, str]:
    """Sort key: the order of the job, runs by name."""
    order = (*STAGES, "predict", "judge")
    command = stage.partition("/")[0]
    return order.index(command) if command in order else len(order), stage


def _check_types(values: Mapping[str, Any], types: Mapping[str, Any], where: str) -> None:
    for key in sorted(types.keys() & values.keys()):
        try:
            msgspec.convert(values[key], types[key])
        except msgspec.ValidationError as error:
            raise UserError(f"{error}.", where=f"{where}.{key}", hint="run the stage again") from None


def _plain(settings: type[Settings]) -> dict[str, Any]:
    """Return the defaults of settings; None for what has to be given."""
    fields = msgspec.structs.fields(settings)
    return {f.name: None if f.default is msgspec.NODEFAULT else f.default for f in fields}


def _same_type(value: object, default: object) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(default, bool)
    if isinstance(default, float):
        return isinstance(value, int | float)
    return isinstance(value, type(default))
