"""A data set of any kind as sharded Parquet or JSON Lines, streamed; see ``proctor.datasets.shards``.

Beside the shards, ``dropped.jsonl`` lists what the reader left out and why. The questions of a corpus go to a folder
``questions`` of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from proctor.compute import HERE, Place
from proctor.corpus.question import CorpusQuestion
from proctor.corpus.source import Source, is_long_enough
from proctor.datasets.dataset import Corrections, Dataset, Kind, Log, corrections_mode
from proctor.datasets.shards import ROWS, ShardFormat, write_shards
from proctor.errors import UserError
from proctor.procedure.manual import Manual
from proctor.procedure.recording import Recording
from proctor.records import Dropped, Json, atomic_write

__all__ = ["RECORDS", "StreamingLog", "export_dataset"]

RECORDS: Final[Mapping[Kind, type[Any]]] = {"recordings": Recording, "manuals": Manual, "corpus": Source}
"""Record type by what a data set holds."""

_DROPPED: Final = "dropped.jsonl"
_QUESTIONS: Final = "questions"


class StreamingLog(Log):
    """Writes drops to a file as they come, and counts findings by rule: nothing of it fills the memory."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(lambda dropped: self._write(stream, dropped))
        self.rules: Counter[str] = Counter()

    @staticmethod
    def _write(stream: IO[bytes], dropped: Dropped) -> None:
        stream.write(msgspec.json.encode(dropped) + b"\n")

    def find(self, rule: str, where: str, seen: str) -> None:
        """Count the finding."""
        del where, seen  # 'proctor datasets check' lists them
        self.rules[rule] += 1

    def correct(self, correction: Any) -> None:
        """Count the correction."""
        self.rules[f"corrected: {correction.rule}"] += 1


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """What was written.

    Attributes:
        dataset: its name.
        out: the folder.
        dropped_file: which lists what was dropped.
        records: how many.
        shards: how many.
        bytes: of all shards.
        dropped: by reason.
        findings: by rule.
        questions: of data sets that have some.
    """

    dataset: str
    out: str
    dropped_file: str
    records: int
    shards: int
    bytes: int
    dropped: dict[str, int]
    findings: dict[str, int]
    questions: int | msgspec.UnsetType = msgspec.UNSET


def export_dataset(
    dataset: Dataset,
    folder: Path,
    out: Path,
    *,
    format: ShardFormat = "parquet",
    rows: int = ROWS,
    place: Place = HERE,
    corrections: Corrections = "corrected",
    options: Mapping[str, str] | None = None,
    min_text: int = 0,
    seen: Callable[[], None] | None = None,
) -> Exported:
    """Write a data set into a folder of shards and return what is in it.

    Args:
        dataset: whose files they are.
        folder: with the files.
        out: new, empty, or left by an earlier run of the same export, which then goes on.
        format: ``parquet`` or ``jsonl``.
        rows: of a shard.
        place: where shards are encoded.
        corrections: ``corrected`` or ``published``.
        options: of the reader.
        min_text: of a corpus: texts with a shorter body are dropped (SMMQG: 200; see ``corpus.source.body_length``).
        seen: called after each shard.

    Raises:
        UserError: if the data cannot be read, or ``out`` cannot be written or holds something else.
        MissingExtraError: without pyarrow or Ray, where they are needed.
    """
    corrections = corrections_mode(corrections)
    if min_text and dataset.kind != "corpus":
        raise UserError(f"{dataset.title} holds {dataset.kind}; only texts of a corpus can be too short.")
    given = dict(options or {})
    log: StreamingLog

    def about() -> dict[str, Json]:
        return {
            "dataset": dataset.name,
            "title": dataset.title,
            "version": dataset.version,
            "licence": dataset.licence,
            "citation": dataset.citation,
            "corrections": corrections,
            "options": given,
            "min_text": min_text,
            "counts": dict(sorted(log.counts.items())),
            "dropped": dict(sorted(log.reasons.items())),
            "findings": dict(sorted(log.rules.items())),
        }

    _refuse_inside(folder, out)
    records_folder = out / "data" if dataset.questions is not None else out
    with atomic_write(_beside(out)) as stream:
        log = StreamingLog(stream)
        records = dataset.iter_records(folder, corrections, log, **given)
        if min_text:
            records = _long_enough(records, log, min_text)
        type_ = RECORDS[dataset.kind]
        manifest = write_shards(
            records, records_folder, type_, format=format, rows=rows, place=place, about=about, seen=seen
        )
    questions: int | msgspec.UnsetType = msgspec.UNSET
    if dataset.questions is not None:
        questions = _export_questions(dataset, folder, out, format, rows, corrections, given)
    return Exported(
        dataset=dataset.name,
        out=str(out),
        dropped_file=str(_beside(out)),
        records=manifest.rows,
        shards=len(manifest.shards),
        bytes=sum(shard.bytes for shard in manifest.shards),
        dropped=dict(sorted(log.reasons.items())),
        findings=dict(sorted(log.rules.items())),
        questions=questions,
    )


def _beside(out: Path) -> Path:
    return out.with_name(f"{out.name}.{_DROPPED}")


def _refuse_inside(folder: Path, out: Path) -> None:
    """The data set's own folder is not written to."""
    try:
        inside = out.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError) as error:
        raise UserError(f"is no folder to write to: {error}.", where=str(out)) from None
    if inside:
        raise UserError(
            "this is within the data set's own folder, which is never changed.",
            where=str(out),
            hint="name a folder elsewhere",
        )


def _long_enough(records: Iterator[Any], log: Log, minimum: int) -> Iterator[Any]:
    for source in records:
        if is_long_enough(source, minimum):
            yield source
        else:
            log.drop(source.id, "short-text", f"under {minimum} characters")


def _export_questions(
    dataset: Dataset,
    folder: Path,
    out: Path,
    format: ShardFormat,
    rows: int,
    corrections: Corrections,
    options: Mapping[str, str],
) -> int:
    """Write the questions, where there are any; what is odd about them was told while the sources were read."""
    assert dataset.questions is not None
    questions = dataset.questions(folder, corrections, Log(lambda _: None), **options)
    first = next(questions, None)
    if first is None:
        return 0

    def all_of_them() -> Iterator[CorpusQuestion]:
        yield first
        yield from questions

    return write_shards(all_of_them(), out / _QUESTIONS, CorpusQuestion, format=format, rows=rows).rows
