"""What the readers of corpora share: ids that come once, gold that resolves, and what is odd about sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote

from proctor.corpus.question import CorpusQuestion, count_modalities
from proctor.corpus.source import MIN_TEXT_LENGTH, MODALITIES, Modality, Source, body_length, is_long_enough
from proctor.datasets.dataset import Corrections, Dataset, Finding, Iterate, Log
from proctor.datasets.first_seen import FirstSeen
from proctor.datasets.json_files import LONG_LINE
from proctor.records import file_sha256

__all__ = [
    "SOURCE_RULES",
    "QuietLog",
    "check_corpus",
    "corpus_readers",
    "filled",
    "gold_of",
    "keep_first",
    "modality_of",
    "page_of",
    "picture_hash",
    "resolve",
]

SOURCE_RULES: Final = {
    "not-json": "the line is no JSON; it is left out",
    LONG_LINE: "the line has more than 64 MB; it is left out",
    "wrong-shape": "a field is missing or of another type; the record is left out",
    "no-id": "the id is empty, longer than 1,000 characters or of several lines; the record is left out",
    "no-content": "a text without a body, a table without a cell, an image without a caption and a path; left out",
    "duplicate-id": "the id was there before; the later record is left out",
    "no-question": "the question has no text; it is left out",
    "ragged-row": "a row has more or fewer cells than the header; it is kept as it is",
    "short-text": f"the body of a text has under {MIN_TEXT_LENGTH} characters; SMMQG leaves such texts out",
    "duplicate-body": "another text has the same body; kept",
    "duplicate-content": "another table or image has the same content; kept",
    "unresolved": "a source that a question names is not there",
    "repeated-gold": "a question names a source twice; it counts once",
    "no-gold": "a question that is not of the test split names no source that is needed",
}
"""Reasons and rules of every corpus."""

_MAX_ID: Final = 1_000
_BREAK: Final = re.compile("[\x00\n\r]")
_MODALITIES: Final[dict[str, Modality]] = {m: m for m in MODALITIES}


class QuietLog(Log):
    """A log that keeps nothing: of a reading that was told before."""

    def drop(self, id_: str, reason: str, detail: str = "") -> None:
        """Do nothing."""

    def find(self, rule: str, where: str, seen: str) -> None:
        """Do nothing."""


def filled(text: str) -> bool:
    """True for an id that can stand in one line of a file: not empty, not huge, no line break, no NUL."""
    return bool(text.strip()) and len(text) <= _MAX_ID and _BREAK.search(text) is None


def page_of(url: str | None, title: str) -> str:
    """Return the key of a Wikipedia page: the last part of its address, else the title with underscores."""
    if url:
        path = url.partition("#")[0].partition("?")[0]
        _, found, page = path.partition("/wiki/")
        if found:
            return unquote(page) if "%" in page else page
    return title.strip().replace(" ", "_")


def modality_of(source_id: str) -> Modality | None:
    """Return the modality that an id of ours begins with (``table:…``)."""
    return _MODALITIES.get(source_id.partition(":")[0])


def keep_first(sources: Iterable[Source], log: Log, seen: FirstSeen) -> Iterator[Source]:
    """Yield the sources whose ids are new, count them by modality, and tell what their shape says.

    Args:
        sources: of the reader.
        log: told ``no-id``, ``no-content``, ``duplicate-id`` and ``ragged-row``.
        seen: gets the ids.
    """
    for source in sources:
        if not filled(source.id.partition(":")[2]):
            log.drop(
                source.id[:200] or "?",
                "no-id",
                f"the id of a {source.modality} is {source.id[:80]!r} ({len(source.id):,} characters)",
            )
        elif not _has_content(source):
            log.drop(source.id, "no-content", f"nothing is in the {source.modality}")
        elif seen.add(source.id, source.id) is not None:
            log.drop(source.id, "duplicate-id", f"another {source.modality} has this id")
        else:
            if source.modality == "table":
                _tell_ragged(source, log)
            log.counts[f"{source.modality}s"] += 1
            yield source


def _has_content(source: Source) -> bool:
    if source.modality == "text":
        return bool(source.body.strip())
    if source.modality == "table":
        return any(cell.strip() for row in (source.header, *source.rows) for cell in row)
    return bool(source.title.strip() or source.image.strip())


def _tell_ragged(source: Source, log: Log) -> None:
    if not source.header:
        return
    ragged = [n for n, row in enumerate(source.rows) if len(row) != len(source.header)]
    if ragged:
        first = source.rows[ragged[0]]
        log.find(
            "ragged-row",
            source.id,
            f"{len(ragged)} of {len(source.rows)} rows; row {ragged[0]} has {len(first)} cells under "
            f"{len(source.header)} names",
        )


# -- questions -------------------------------------------------------------------------------------------------


def resolve(
    questions: Iterable[CorpusQuestion], log: Log, sources: FirstSeen, *, context: bool = True
) -> Iterator[CorpusQuestion]:
    """Yield the questions whose ids are new, and tell which of the sources that they name are not there.

    Gold that is not there stays in the question: leaving it out would make the question easier.

    Args:
        questions: with ids of sources.
        log: told ``no-id``, ``no-question``, ``duplicate-id``, ``no-gold`` and ``unresolved``; counts ``questions``,
            ``gold_named``, ``gold_unresolved`` and ``context_unresolved``.
        sources: every id of the corpus.
        context: whether the further sources of a question have to be there, too.
    """
    with FirstSeen() as ids:
        for question in questions:
            qid = question.qid
            if not filled(qid):
                log.drop(qid[:200].strip() or "?", "no-id", f"the id of a question is {qid[:80]!r}")
                continue
            if not question.question.strip():
                log.drop(qid, "no-question", "the text of the question is empty")
                continue
            if ids.add(qid, qid) is not None:
                log.drop(qid, "duplicate-id", "another question has this id")
                continue
            log.counts["questions"] += 1
            if not question.gold and question.split != "test":
                log.find("no-gold", qid, "no source is named as needed")
            log.counts["gold_named"] += len(question.gold)
            _tell_unresolved(qid, question.gold, "gold", log, sources)
            if context:
                _tell_unresolved(qid, question.context, "context", log, sources)
            yield question


def _tell_unresolved(qid: str, named: Sequence[str], role: str, log: Log, sources: FirstSeen) -> None:
    missing = [id_ for id_ in named if id_ not in sources]
    if missing:
        log.counts[f"{role}_unresolved"] += len(missing)
        log.find("unresolved", qid, f"{role}: {', '.join(missing)[:500]}")


def gold_of(qid: str, named: Sequence[str], log: Log) -> tuple[tuple[str, ...], tuple[int, int, int]]:
    """Return the ids each once, in order, and how many texts, tables and images they are; repetitions are told."""
    gold = tuple(dict.fromkeys(named))
    if len(gold) < len(named):
        log.counts["questions_with_repeated_gold"] += 1
        log.find("repeated-gold", qid, f"{len(named)} named, {len(gold)} different")
    kinds = tuple(m for m in map(modality_of, gold) if m is not None)
    return gold, count_modalities(kinds)


def corpus_readers(
    dataset: Callable[[], Dataset],
    sources: Callable[[Path, Log], Iterable[Source]],
    *questions: Callable[[Path, Log], Iterable[CorpusQuestion]],
) -> tuple[Iterate, Iterate]:
    """Return ``iter_sources`` and ``iter_questions`` of a corpus.

    The first yields the sources and then tells about the questions, without yielding them; the second reads the sources
    before, for their ids, and tells nothing of them. No corrections are known, and no options. Both raise a UserError if a
    file is missing or cannot be read at all.

    Args:
        dataset: returns the declaration, which names the files.
        sources: of the folder, in their order.
        questions: of each part of them; ids are different within a part.
    """

    def iter_sources(root: Path, corrections: Corrections, log: Log, /, **options: str) -> Iterator[Source]:
        del corrections, options
        dataset().require_files(root)
        with FirstSeen() as seen:
            yield from keep_first(sources(root, log), log, seen)
            for part in questions:
                for _ in resolve(part(root, log), log, seen):
                    pass

    def iter_questions(
        root: Path, corrections: Corrections, log: Log, /, **options: str
    ) -> Iterator[CorpusQuestion]:
        del corrections, options
        dataset().require_files(root)
        with FirstSeen() as seen:
            quiet = QuietLog()
            for _ in keep_first(sources(root, quiet), quiet, seen):
                pass
            for part in questions:
                yield from resolve(part(root, log), log, seen)

    return iter_sources, iter_questions


# -- pixels ----------------------------------------------------------------------------------------------------


def picture_hash(folder: Path, path: str, log: Log, where: str) -> str | None:
    """Return the SHA-256 of an image's bytes; None, told to the log, where the picture is not in its folder.

    Args:
        folder: of the pictures; without it no picture is expected, and nothing is told.
        path: in the folder; one that leads out of it is not followed.
        log: told ``no-picture`` and ``path-outside``.
        where: id of the source.
    """
    if not folder.is_dir():
        return None
    parts = PurePosixPath(path.replace("\\", "/"))
    try:
        file = folder / parts
        inside = not parts.is_absolute() and ".." not in parts.parts and ":" not in path
        if not inside or not file.resolve().is_relative_to(folder.resolve()):
            log.find("path-outside", where, path[:200])
            return None
        if not file.is_file():
            log.counts["images_without_pixels"] += 1
            log.find("no-picture", where, path[:200])
            return None
    except (OSError, ValueError, RuntimeError) as error:
        log.find("path-outside", where, f"{path[:200]!r}: {error}"[:300])
        return None
    log.counts["images_with_pixels"] += 1
    return file_sha256(file)


# -- check -----------------------------------------------------------------------------------------------------


def check_corpus(iterate: Iterate, **options: str) -> Callable[[Path], tuple[Finding, ...]]:
    """Return a ``check`` that also looks at what is in the sources: short texts and duplicates."""

    def check(root: Path) -> tuple[Finding, ...]:
        log = Log()
        with FirstSeen() as contents:
            for source in iterate(root, "published", log, **options):
                _tell_content(source, log, contents)
        return (*log.findings, *(Finding(d.reason, d.id, d.detail) for d in log.dropped))

    return check


def _tell_content(source: Source, log: Log, contents: FirstSeen) -> None:
    if not is_long_enough(source):
        log.find("short-text", source.id, f"{body_length(source)} characters")
    if source.modality == "text":
        first = contents.add(" ".join(source.body.split()), source.id)
        if first is not None:
            log.find("duplicate-body", source.id, f"as in {first}")
    else:
        first = contents.add(f"{source.modality}\n{source.content_hash}", source.id)
        if first is not None:
            log.find("duplicate-content", source.id, f"as in {first}")
