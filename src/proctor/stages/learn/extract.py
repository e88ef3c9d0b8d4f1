"""``proctor features extract``: videos, or words about them, to stores of features."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from proctor.compute import HERE, Place, map_items
from proctor.datasets.dataset import guess_dataset
from proctor.errors import UserError
from proctor.learn.features.extract import Extracted, Looks, extract_video, open_extractor
from proctor.learn.features.narrated import Line, embed_lines, read_lines, step_lines
from proctor.learn.features.store import WORDS, StoreWriter
from proctor.learn.features.windows import STRIDE
from proctor.learn.samples import read_step_data
from proctor.records import Dropped, is_there, write_jsonl
from proctor.stages.learn.settings import ExtractSettings
from proctor.stages.show import Show

__all__ = ["Extraction", "Written", "extract", "recording_of"]

VIDEO_ENDINGS: Final = frozenset(
    {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".wmv", ".flv", ".ogv"}
)
_TEXT_ENDINGS: Final = frozenset({".jsonl", ".srt", ".vtt"})


class Written(msgspec.Struct, frozen=True):
    """A store that was made, of windows of so many seconds: recordings, rows, numbers a row, its folder."""

    store: str
    window: float
    recordings: int
    rows: int
    width: int


class Extraction(msgspec.Struct, frozen=True):
    """What was extracted.

    Attributes:
        stores: one for each kind of window.
        resumed: recordings that a former run had done.
        silent: recordings without sound, whose rows are those of silence.
        dropped: how many were left out, by reason.
        dropped_file: where they are listed; empty where there are none.
        hours: of video, of this run.
        rate: seconds of video in a second.
    """

    stores: tuple[Written, ...]
    resumed: int
    silent: int
    dropped: dict[str, int]
    dropped_file: str
    hours: float
    rate: float


def recording_of(path: Path) -> str:
    """Return the id of the recording that a file is of: its name without ending, and without ``_360p``, as published."""
    return path.stem.removesuffix("_360p")


def extract(settings: ExtractSettings, *, place: Place = HERE, show: Show) -> Extraction:
    """Extract features; run again after a crash, it goes on with the recordings that are not done.

    Args:
        settings: what is looked at, by whom, and where rows go.
        place: where videos are looked at, one at a time each.
        show: shows progress.

    Raises:
        UserError: if a store is there already, no video could be read, or the extractor cannot be opened.
        MissingExtraError: if a package is not installed.
    """
    folders = [
        settings.out if len(settings.window) == 1 else settings.out.with_name(f"{settings.out.name}-{w:g}s")
        for w in settings.window
    ]
    if len({*folders}) < len(folders):
        raise UserError(
            "--window is given twice with the same length.", hint="each length makes a store of its own"
        )
    for folder in folders:
        if is_there(folder):
            raise UserError(
                "there is something here already.",
                where=str(folder),
                hint="name a new store, or move it away",
            )
    if settings.features.startswith(WORDS):
        return _extract_words(settings, folders, show)
    looks = Looks(
        settings.features, settings.weights, settings.window, settings.frames, settings.batch, settings.device,
        threads=None if place.kind == "here" else 1,
    )  # fmt: skip
    videos = _files_by_recording(settings.sources, VIDEO_ENDINGS, "videos")
    extractor = open_extractor(looks)
    source = f"extracted by {extractor.name}, {extractor.identity}"
    with ExitStack() as stack:
        writers = [
            stack.enter_context(
                StoreWriter(
                    folder, width=extractor.width, seconds=STRIDE, modality=extractor.modality, shape=extractor.shape,
                    backbone=extractor.name, resume=True,
                    source=f"{source}, windows of {seconds:g} s, {extractor.window(seconds).frames} frames",
                )
            )
            for folder, seconds in zip(folders, settings.window, strict=True)
        ]  # fmt: skip
        todo = [(id_, path) for id_, path in videos.items() if not all(id_ in w for w in writers)]
        done = _Tally(len(videos) - len(todo))
        with show(f"{extractor.name} features", len(todo)) as seen:
            outcomes = map_items(partial(_one, looks), todo, place, name=lambda v: str(v[1]), seen=seen)
            for outcome in outcomes:
                id_, path = outcome.item
                if outcome.failure is not None:
                    done.drop(id_, outcome.failure.kind, outcome.failure.message, path)
                    continue
                done.take(id_, outcome.value, writers)
        done.finish(settings.sources, writers)
    return done.result(folders, settings.window, writers, settings.out)


def _one(looks: Looks, video: tuple[str, Path]) -> Extracted:
    return extract_video(video[1], looks)


class _Tally:
    """What came out so far."""

    def __init__(self, resumed: int) -> None:
        self.resumed, self.silent, self.seconds = resumed, 0, 0.0
        self.dropped: list[Dropped] = []
        self._begin = time.monotonic()

    def drop(self, id_: str, kind: str, message: str, path: Path) -> None:
        reason = "unreadable" if kind == UserError.__name__ else "failed"
        self.dropped.append(Dropped(id_, reason, message.removeprefix(f"{path}: ").split("\n")[0]))

    def take(self, id_: str, found: Extracted, writers: Sequence[StoreWriter]) -> None:
        self.silent += found.silent
        self.seconds += found.seconds
        for writer, rows in zip(writers, found.rows, strict=True):
            if id_ not in writer:
                writer.add(id_, rows)

    def finish(self, sources: Sequence[Path], writers: Sequence[StoreWriter]) -> None:
        """Make sure that something came out."""
        if not any(writer.held for writer in writers):
            first = self.dropped[0]
            raise UserError(
                f"nothing could be read: {first.detail}",
                where=first.id,
                hint=f"all {len(self.dropped)} files failed; check {sources[0]}",
            )

    def result(
        self, folders: Sequence[Path], windows: Sequence[float], writers: Sequence[StoreWriter], out: Path
    ) -> Extraction:
        listed = out.with_name(f"{out.name}.dropped.jsonl")
        if self.dropped:
            write_jsonl(listed, self.dropped)
        else:  # of a store of this name that is gone
            listed.unlink(missing_ok=True)
        spent = time.monotonic() - self._begin
        return Extraction(
            stores=tuple(
                Written(str(f), w, len(writer.held), sum(h.rows for h in writer.held), writer.about.width)
                for f, w, writer in zip(folders, windows, writers, strict=True)
            ),
            resumed=self.resumed,
            silent=self.silent,
            dropped=dict(Counter(d.reason for d in self.dropped)),
            dropped_file=str(listed) if self.dropped else "",
            hours=self.seconds / 3600,
            rate=self.seconds / max(spent, 1e-9),
        )


def _files_by_recording(sources: Sequence[Path], endings: frozenset[str], what: str) -> dict[str, Path]:
    """Return files by the id of their recording, in the order of the ids; folders are looked through.

    Raises:
        UserError: if two files are of one recording, or there is none.
    """
    found: dict[str, Path] = {}
    for path in _walk(sources, endings):
        id_ = recording_of(path)
        if id_ in found:
            raise UserError(
                f"two files are of the recording '{id_}': {found[id_]} is the other one.",
                where=str(path),
                hint="a recording is named by its file; rename one, or leave it out",
            )
        found[id_] = path
    if not found:
        raise UserError(
            f"there are no {what} in it.",
            where=", ".join(map(str, sources))[:200],
            hint=f"files that end with {', '.join(sorted(endings))}",
        )
    return dict(sorted(found.items()))


def _walk(sources: Sequence[Path], endings: frozenset[str]) -> Iterator[Path]:
    for source in sources:
        if source.is_dir():
            yield from (p for p in sorted(source.rglob("*")) if p.suffix.lower() in endings and p.is_file())
        else:
            yield source


# -- words ---------------------------------------------------------------------------------------------------------


def _extract_words(settings: ExtractSettings, folders: Sequence[Path], show: Show) -> Extraction:
    from proctor.corpus.embed.open import open_embedder

    if settings.window != (STRIDE,):
        raise UserError("rows of words are 1 s long.", hint="leave --window out")
    if {settings.weights, settings.frames, settings.batch} != {None} or settings.device != "cpu":
        raise UserError(
            "words have no --weights, --frames, --batch or --device.",
            hint="name the embedder and its folder in one: text:st/models/minilm",
        )
    dropped: list[Dropped] = []
    steps = len(settings.sources) == 1 and _is_dataset(settings.sources[0])
    lines = _lines_of_steps(settings.sources[0], dropped) if steps else _narrated(settings.sources, dropped)
    embedder = open_embedder(settings.features.removeprefix(WORDS))
    done = _Tally(0)
    done.dropped = dropped
    with StoreWriter(
        folders[0], width=embedder.dimension, seconds=STRIDE, modality="text", backbone=f"{WORDS}{embedder.name}",
        source=f"{'instructions of annotated steps' if steps else 'narrations'} by {embedder.name}, a row a second, zeros in silence",
        resume=True,
    ) as writer:  # fmt: skip
        done.resumed = sum(id_ in writer for id_ in lines)
        with show("words", len(lines) - done.resumed) as seen:
            for id_ in [name for name in lines if name not in writer]:
                writer.add(id_, embed_lines(lines[id_], embedder))
                seen()
        done.finish(settings.sources, [writer])
    return done.result(folders, settings.window, [writer], settings.out)


def _lines_of_steps(folder: Path, dropped: list[Dropped]) -> Mapping[str, tuple[Line, ...]]:
    data, _ = read_step_data(folder)
    dropped += data.dropped
    return step_lines(data)


def _narrated(sources: Sequence[Path], dropped: list[Dropped]) -> Mapping[str, tuple[Line, ...]]:
    found: dict[str, tuple[Line, ...]] = {}
    for id_, path in _files_by_recording(sources, _TEXT_ENDINGS, "narrations").items():
        found[id_], lost = read_lines(path)
        dropped += lost
    return found


def _is_dataset(source: Path) -> bool:
    """Tell whether this is the folder of a data set that is known, and no folder of narrations."""
    try:
        return source.is_dir() and guess_dataset(source) is not None
    except UserError:
        return False
