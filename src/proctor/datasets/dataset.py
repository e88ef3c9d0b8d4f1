"""The reader contract: what a data set declares and what reading it returns.

A data set module declares one ``Dataset`` value and registers it under the entry-point group ``proctor.datasets``.
Reading yields recordings, manuals or sources one by one, and tells everything that was dropped or corrected in a ``Log``;
nothing is repaired silently. A new reader is one generator function (``iterate``); ``reader`` makes ``read`` of it.
"""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from proctor.errors import UserError, did_you_mean
from proctor.procedure.graph import TaskGraph
from proctor.procedure.recording import Recording
from proctor.records import Dropped, file_sha256

if TYPE_CHECKING:
    from proctor.compute import Place

__all__ = [
    "Correction",
    "Corrections",
    "DataFile",
    "Dataset",
    "Download",
    "Finding",
    "Iterate",
    "Kind",
    "Log",
    "Performance",
    "Performances",
    "Published",
    "ReadResult",
    "Split",
    "SplitRule",
    "checker",
    "corrections_mode",
    "dataset_names",
    "guess_dataset",
    "load_dataset",
    "reader",
    "refuse_special",
]

Kind = Literal["recordings", "manuals", "corpus"]
"""What a data set holds: ``Recording``, ``Manual`` or ``Source`` values."""

Corrections = Literal["published", "corrected"]
"""``published`` reproduces the release, its mistakes included; ``corrected`` is right (default)."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that a reader opens: its path in the folder, what it holds, and its checksum where it is fixed."""

    path: str
    what: str
    sha256: str | None = None
    required: bool = True


class Correction(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change that was made to the raw annotations, with its reason (rule id or hand edit)."""

    recording_id: str
    rule: str
    reason: str
    step: str = ""
    old: str = ""
    new: str = ""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One oddity that ``check`` found: rule id, where, and what was seen."""

    rule: str
    where: str
    seen: str


class Log:
    """What happens to the annotations on their way, told by a reader while it yields records.

    Args:
        sink: gets every drop at once instead of ``dropped``, for a corpus that never has to fit in memory.
    """

    def __init__(self, sink: Callable[[Dropped], None] | None = None) -> None:
        self.corrections: list[Correction] = []
        self.dropped: list[Dropped] = []
        self.findings: list[Finding] = []
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.about: dict[str, str] = {}
        self._sink = sink or self.dropped.append

    def drop(self, id_: str, reason: str, detail: str = "") -> None:
        """Tell that something is left out: what, a reason code that is counted, and what was seen."""
        self.reasons[reason] += 1
        self._sink(Dropped(id_, reason, detail))

    def find(self, rule: str, where: str, seen: str) -> None:
        """Tell an oddity that changes nothing."""
        self.findings.append(Finding(rule, where, seen))

    def correct(self, correction: Correction) -> None:
        """Tell a change that was made to the raw annotations."""
        self.corrections.append(correction)


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What reading a whole data set returns.

    Attributes:
        recordings: of a data set of recordings.
        graphs: task graphs by activity id; empty where the data set has none.
        corrections: every change that was made.
        dropped: everything that was left out, with its reason.
        findings: oddities that changed nothing.
        counts: raw numbers before correction (steps, mistakes, ...).
        about: what the folder says of itself where that is not fixed by the format (name, version, licence, citation,
            homepage).
        manuals: of a data set of manuals (``procedure.manual.Manual``).
        sources: of a corpus (``corpus.source.Source``).
    """

    recordings: tuple[Recording, ...]
    graphs: Mapping[str, TaskGraph]
    corrections: tuple[Correction, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    findings: tuple[Finding, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    manuals: tuple[Any, ...] = ()
    sources: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Performance:
    """A recording as it was annotated, nothing corrected: what published figures of recognition count.

    Attributes:
        recording: segments in the order of the file; the step id is that of the task graph, empty where the text is not
            in it. Attributes: ``person`` and ``environment`` of the annotations, ``video_person`` of the table of videos.
        keys: the annotation's own step id of each segment; the same in every recording.
    """

    recording: Recording
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Performances:
    """All recordings of a folder as annotated, with the task graphs by activity id and what was left out."""

    all: tuple[Performance, ...]
    graphs: Mapping[str, TaskGraph]
    dropped: tuple[Dropped, ...] = ()


class Iterate(Protocol):
    """A reader: yields records in file order, each when it is complete, and tells the rest to the log.

    It begins with ``DATASET.require_files(root)``.
    """

    def __call__(self, root: Path, corrections: Corrections, log: Log, /, **options: str) -> Iterator[Any]:
        """Yield recordings, manuals or sources.

        Raises:
            UserError: if a file cannot be read at all; one record that makes no sense is dropped and reported.
        """
        ...


def refuse_special(path: Path) -> None:
    """Make sure, since opening or reading one may never end, that a path is no pipe, device or socket, nor a link to one; whether it can be read is not asked.

    Raises:
        UserError: naming what it is.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return  # whoever opens it says what is wrong
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return
    kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise UserError(f"this is {kind}, a file was expected.", where=str(path), hint="give a file")


@dataclass(frozen=True, slots=True)
class Download:
    """A file that users may fetch: where from, where to, and what it must be.

    Attributes:
        url: https address.
        path: the file's place in the data set's folder; with ``unpack`` the folder that the archive is unpacked into
            (``.`` for the data set's own).
        size: bytes, for the question before it starts; None where nobody has said.
        sha256: that it must have; None where the release does not fix it.
        unpack: it is a .zip or .tar archive.
    """

    url: str
    path: str
    size: int | None = None
    sha256: str | None = None
    unpack: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """A figure as a paper prints it, to be set beside what is found.

    Attributes:
        quantity: key of what is measured (``recordings``, ``hours``, ``mean_step_seconds``).
        value: printed.
        where: table or section.
        why: the reason when it differs, as far as it is known.
        digits: printed after the point; found values are compared rounded to as many.
    """

    quantity: str
    value: float
    where: str
    why: str = ""
    digits: int = 0


Split = Mapping[str, tuple[str, ...]]
"""Ids of recordings (manuals, sources) by subset (``train``, ``val``, ``test``), in the order of the data set."""


@dataclass(frozen=True, slots=True)
class SplitRule:
    """A split that can be made again from a rule.

    Attributes:
        name: what users type (``environment``).
        what: the rule in words.
        make: folder of the data set to the split.
        released: path of the released file in the folder, None where there is none.
        read_released: reads that file; None where there is none.
    """

    name: str
    what: str
    make: Callable[[Path], Split]
    released: str | None = None
    read_released: Callable[[Path], Split] | None = None


def corrections_mode(text: str | None) -> Corrections:
    """Return what ``--corrections`` asks for; corrected where nothing was said.

    Raises:
        UserError: if there is no such mode.
    """
    if text in (None, "corrected"):
        return "corrected"
    if text == "published":
        return "published"
    raise UserError(f"--corrections is {text!r}.", hint="use 'corrected' or 'published'")


@dataclass(frozen=True, slots=True)
class Dataset:
    """The declaration of a data set.

    Attributes:
        name: what users type.
        title: its full name.
        version: of the annotations.
        licence: of the annotations, SPDX where there is one.
        citation: how to cite it.
        homepage: where users get it.
        files: what is read from the folder.
        read: folder and correction mode (and options) to everything; see ``reader``.
        check: folder to every oddity that the linter finds in the raw files; see ``checker``.
        kind: what it holds.
        iterate: the same lazily; None for a reader that has only ``read``.
        options: further choices of the reader with their values, the default first (``{"level": ("step", "leaf")}``).
        rules: meaning of the rules of ``check`` that are its own.
        access: how users get the data: what is open, what has to be signed.
        seen: on what the reader was tried: ``real`` files of the release, a ``sample`` of them, or only files made by
            hand from the ``fields`` that the release documents.
        notes: what users should know: what is left out, traps of the format (Markdown paragraphs).
        downloads: what ``proctor datasets get`` may fetch.
        published: figures of the paper.
        measure: folder to the figures found, by the keys of ``published``; None where the common statistics do.
        splits: that can be made again.
        questions: of a corpus: yields its questions (``corpus.question.CorpusQuestion``) lazily, as ``iterate`` does the
            sources; None where it has none.
        performances: folder to the recordings as annotated, for recognising mistakes; None where there are no mistakes.
        spreads: ``read`` takes a ``place`` (``proctor.compute``), and reads record by record there.
    """

    name: str
    title: str
    version: str
    licence: str
    citation: str
    homepage: str
    files: tuple[DataFile, ...]
    read: Callable[..., ReadResult]
    check: Callable[..., tuple[Finding, ...]]
    kind: Kind = "recordings"
    iterate: Iterate | None = None
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)
    access: str = ""
    seen: Literal["real", "sample", "fields"] = "fields"
    notes: tuple[str, ...] = ()
    downloads: tuple[Download, ...] = ()
    published: tuple[Published, ...] = ()
    measure: Callable[[Path], Mapping[str, float]] | None = None
    splits: tuple[SplitRule, ...] = ()
    questions: Iterate | None = None
    performances: Callable[[Path], Performances] | None = None
    spreads: bool = False

    def __post_init__(self) -> None:
        """Let a folder be a string, too, as everywhere in Python."""
        for name in ("read", "check"):
            object.__setattr__(self, name, partial(_in_folder, getattr(self, name)))

    def iter_records(
        self, root: Path | str, corrections: Corrections = "corrected", log: Log | None = None, **options: str
    ) -> Iterator[Any]:
        """Yield the records one by one; a reader without ``iterate`` reads all of them first.

        Raises:
            UserError: if files are missing or cannot be read, or an option is unknown.
        """
        self.check_options(options)
        log = log if log is not None else Log()
        if self.iterate is not None:
            yield from self.iterate(Path(root), corrections, log, **options)
            return
        result = self.read(root, corrections, **options)
        _tell(log, result)
        yield from result.recordings or result.manuals or result.sources

    def read_in(
        self, place: Place, root: Path, corrections: Corrections = "corrected", **options: str
    ) -> ReadResult:
        """Read in a place where the reader can; most read a few large files, which is the work of one process."""
        spread: dict[str, Any] = {"place": place} if self.spreads else {}
        return self.read(root, corrections, **options, **spread)

    def check_options(self, options: Mapping[str, str]) -> None:
        """Make sure that the options are the reader's own.

        Raises:
            UserError: naming what it knows.
        """
        for name, value in options.items():
            known = self.options.get(name)
            if known is None:
                hint = f"known: {', '.join(self.options)}" if self.options else "it has none"
                raise UserError(f"the reader of {self.title} has no option '{name}'.", hint=hint)
            if known and value not in known:
                raise UserError(f"{name} is {value!r}.", hint=f"one of {', '.join(known)}")

    def require_files(self, root: Path) -> None:
        """Make sure that every required file is there, and that none is a pipe or a device, which may never end.

        Raises:
            UserError: naming all that are missing and where to get the data, or the file that is none.
        """
        if not root.is_dir():
            raise UserError(
                "there is no such folder.", where=str(root), hint=f"{self.title} is at {self.homepage}"
            )
        missing = [f.path for f in self.files if f.required and not any(root.glob(f.path))]
        if missing:
            raise UserError(
                f"this is not a {self.title} folder: {', '.join(missing)} missing.",
                where=str(root),
                hint=f"give the folder that holds {self.files[0].path}; the data are at {self.homepage}",
            )
        for found in (p for f in self.files for p in root.glob(f.path)):
            refuse_special(found)

    def changed_files(self, root: Path) -> tuple[str, ...]:
        """Paths of files whose checksum is not the declared one."""
        return tuple(
            f.path
            for f in self.files
            if f.sha256 and (root / f.path).is_file() and file_sha256(root / f.path) != f.sha256
        )


def _in_folder(act: Callable[..., Any], root: Path | str, *given: Any, **options: Any) -> Any:
    return act(Path(root), *given, **options)


def reader(
    iterate: Iterate,
    kind: Kind = "recordings",
    graphs: Callable[[Path], Mapping[str, TaskGraph]] | None = None,
) -> Callable[..., ReadResult]:
    """Return a ``read`` that collects what ``iterate`` yields.

    Args:
        iterate: of the data set.
        kind: of what it yields.
        graphs: reads the task graphs of a folder, where there are any.
    """

    def read(root: Path, corrections: Corrections = "corrected", **options: str) -> ReadResult:
        log = Log()
        records = tuple(iterate(root, corrections, log, **options))
        return ReadResult(
            recordings=records if kind == "recordings" else (),
            graphs=graphs(root) if graphs is not None else {},
            corrections=tuple(log.corrections),
            dropped=tuple(log.dropped),
            findings=tuple(log.findings),
            counts=dict(log.counts),
            about=dict(log.about),
            manuals=records if kind == "manuals" else (),
            sources=records if kind == "corpus" else (),
        )

    return read


def checker(iterate: Iterate, **options: str) -> Callable[[Path], tuple[Finding, ...]]:
    """Return a ``check`` that reads everything and lists the findings, and what was dropped under its reason."""

    def check(root: Path) -> tuple[Finding, ...]:
        log = Log()
        for _ in iterate(root, "published", log, **options):
            pass
        return (*log.findings, *(Finding(d.reason, d.id, d.detail) for d in log.dropped))

    return check


def _tell(log: Log, result: ReadResult) -> None:
    log.corrections.extend(result.corrections)
    log.findings.extend(result.findings)
    log.counts.update(result.counts)
    log.about.update(result.about)
    for dropped in result.dropped:
        log.drop(dropped.id, dropped.reason, dropped.detail)


def dataset_names() -> tuple[str, ...]:
    """Names of all registered data sets, ours and those of plugins."""
    return tuple(sorted(e.name for e in entry_points(group="proctor.datasets")))


def load_dataset(name: str) -> Dataset:
    """Return the declaration of a registered data set.

    Raises:
        UserError: if no data set of that name is registered, or its plugin does not load.
    """
    found = [e for e in entry_points(group="proctor.datasets") if e.name == name]
    if not found:
        raise UserError(f"there is no data set '{name}'.", hint=did_you_mean(name, dataset_names()))
    try:
        dataset = found[0].load()
    except ImportError as error:
        raise UserError(f"the plugin of data set '{name}' does not load: {error}.") from error
    if not isinstance(dataset, Dataset):
        raise UserError(f"the plugin of data set '{name}' does not declare a Dataset.")
    return dataset


def guess_dataset(root: Path) -> Dataset:
    """Return the data set whose files a folder holds.

    The one with the most required files wins; of several with as many, the one that the folder is named after.

    Raises:
        UserError: if there is no such folder, or its files are of no registered data set, or of several.
    """
    if not root.is_dir():
        raise UserError(
            "this is a file, a folder was expected." if root.is_file() else "there is no such folder.",
            where=str(root),
            hint="give the folder that holds the data set's files",
        )
    found: dict[str, tuple[int, Dataset]] = {}
    near: dict[str, list[str]] = {}
    for name in dataset_names():
        try:
            declared = load_dataset(name)
        except UserError:  # a plugin that does not load: it is told when it is asked for by name
            continue
        required = [f.path for f in declared.files if f.required]
        lacking = [path for path in required if not any(root.glob(path))]
        if required and not lacking:
            found[name] = (len(required), declared)
        elif len(lacking) < len(required):
            near[declared.title] = lacking
    most = max((n for n, _ in found.values()), default=0)
    best = {name: declared for name, (n, declared) in found.items() if n == most}
    if len(best) > 1 and root.resolve().name in best:
        return best[root.resolve().name]
    if len(best) == 1:
        return next(iter(best.values()))
    if best:
        raise UserError(
            f"its files fit {', '.join(best)}.", where=str(root), hint="give the name before the folder"
        )
    title = min(near, key=lambda title: len(near[title]), default="")
    raise UserError(
        "its files are of no known data set"
        + (f"; to be {title}'s it lacks {', '.join(near[title])}." if near else "."),
        where=str(root),
        hint="your own recordings: docs/datasets/plain.md, or from a table: proctor datasets convert STEPS.csv FOLDER --to plain; "
        f"a published data set: give the name before the folder; known: {', '.join(dataset_names())}",
    )
