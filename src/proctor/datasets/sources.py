"""Sources: a corpus in JSON Lines, normalised: ``sources.jsonl``, ``questions.jsonl``, and descriptions of images.

A line of ``sources.jsonl`` is a text (``id``, ``modality``, ``title``, ``text``, ``url``), a table (``id``, ``modality``,
``title``, ``section``, ``header``, ``rows``, ``url``) or an image (``id``, ``modality``, ``caption``, ``path``, ``url``,
``verbalisation``). Ids begin with the modality: ``table:Boss_(TV_series)_0``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from proctor.corpus.question import CorpusQuestion
from proctor.corpus.source import Source, image_source, table_source, text_source
from proctor.datasets.corpus_reading import (
    SOURCE_RULES,
    check_corpus,
    corpus_readers,
    gold_of,
    modality_of,
    page_of,
    picture_hash,
)
from proctor.datasets.dataset import DataFile, Dataset, Log, reader
from proctor.datasets.json_files import iter_typed
from proctor.records import is_there

__all__ = ["DATASET", "iter_questions", "iter_sources"]

_SOURCES: Final = "sources.jsonl"
_QUESTIONS: Final = "questions.jsonl"
_VERBALISATIONS: Final = "image_verbalisations*.jsonl"
_PICTURES: Final = "images"


class _Text(msgspec.Struct, tag_field="modality", tag="text"):
    id: str
    title: str
    text: str
    url: str | None = None
    n_chars: int | None = None
    licence: str | None = None


class _Table(msgspec.Struct, tag_field="modality", tag="table"):
    id: str
    title: str
    header: list[str]
    rows: list[list[str]]
    section: str = ""
    url: str | None = None
    links: list[str] = []
    intro: str = ""
    licence: str | None = None


class _Image(msgspec.Struct, tag_field="modality", tag="image"):
    id: str
    caption: str
    path: str
    url: str | None = None
    verbalisation: str | None = None
    entity: str = ""
    licence: str | None = None


class _Question(msgspec.Struct):
    qid: str
    question: str
    answer: str
    gold_sources: list[str]
    gold_complete: bool | None = None
    trace_unique: bool | None = None
    modality_counts: tuple[int, int, int] | None = None
    type: str = ""
    split: str = ""


class _Verbalisation(msgspec.Struct):
    image_id: str
    verbalisation: str
    caption: str = ""


_Line = _Text | _Table | _Image


# -- sources ---------------------------------------------------------------------------------------------------


def _sources(root: Path, log: Log) -> Iterator[Source]:
    described = _verbalisations(root, log)
    told: set[str] = set()
    for number, line in iter_typed(root / _SOURCES, _Line, log, "source"):  # type: ignore[arg-type,var-annotated]
        if modality_of(line.id) != line.__struct_config__.tag:
            where = f"{_SOURCES}:{number}"
            log.drop(
                where, "id-of-another-modality", f"a {line.__struct_config__.tag} has the id {line.id[:80]!r}"
            )
        elif isinstance(line, _Image):
            yield _image(root, line, described, log)
            told.add(line.id)
        elif isinstance(line, _Text):
            yield _text(line, log)
        else:
            yield _table(line)
    for id_ in described:
        if id_ not in told:
            log.find("unused-verbalisation", id_, "no such image is among the sources")


def _text(line: _Text, log: Log) -> Source:
    if line.n_chars is not None and line.n_chars != len(line.text):
        log.find("other-length", line.id, f"n_chars is {line.n_chars}, the text has {len(line.text)}")
    page = page_of(line.url, line.title)
    return text_source(line.id, line.title, line.text, doc_id=page, url=line.url, licence=line.licence)


def _table(line: _Table) -> Source:
    meta = {"links": " ".join(line.links)} if line.links else {}
    if line.intro:
        meta["intro"] = line.intro
    return table_source(
        line.id,
        line.title,
        line.header,
        line.rows,
        section=line.section,
        doc_id=page_of(line.url, line.title),
        locator=line.section,
        url=line.url,
        licence=line.licence,
        meta=meta,
    )


def _image(root: Path, line: _Image, described: dict[str, str], log: Log) -> Source:
    other = described.get(line.id)
    if other is not None and line.verbalisation is not None and other != line.verbalisation:
        log.find(
            "two-verbalisations",
            line.id,
            f"{line.verbalisation[:100]!r} and {other[:100]!r}; the first is used",
        )
    return image_source(
        line.id,
        line.caption,
        line.path,
        pixels_sha256=picture_hash(root / _PICTURES, line.path, log, line.id),
        verbalisation=line.verbalisation if line.verbalisation is not None else other,
        doc_id=page_of(line.url, line.caption),
        locator=line.path,
        url=line.url,
        licence=line.licence,
        meta={"entity": line.entity} if line.entity else None,
    )


def _verbalisations(root: Path, log: Log) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(root.glob(_VERBALISATIONS)):
        for _, line in iter_typed(path, _Verbalisation, log, "verbalisation"):
            id_ = f"image:{line.image_id}"
            if found.setdefault(id_, line.verbalisation) != line.verbalisation:
                log.find("two-verbalisations", id_, f"{path.name} has another one; the first is used")
    return found


# -- questions -------------------------------------------------------------------------------------------------


def _questions(root: Path, log: Log) -> Iterator[CorpusQuestion]:
    path = root / _QUESTIONS
    if not is_there(path):
        return
    for _, line in iter_typed(path, _Question, log, "question"):
        gold, counted = gold_of(line.qid, line.gold_sources, log)
        if line.modality_counts is not None and line.modality_counts != counted:
            log.find(
                "other-modalities", line.qid, f"modality_counts is {line.modality_counts}, gold has {counted}"
            )
        if line.gold_complete:
            log.counts["questions_with_complete_gold"] += 1
        yield CorpusQuestion(
            qid=line.qid,
            question=line.question,
            answers=(line.answer,) if line.answer else (),
            gold=gold,
            modalities=counted,
            type=line.type,
            gold_complete=line.gold_complete is not False,
            split=line.split,
            meta={} if line.trace_unique is None else {"trace_unique": str(line.trace_unique).lower()},
        )


iter_sources, iter_questions = corpus_readers(lambda: DATASET, _sources, _questions)

DATASET: Dataset = Dataset(
    name="sources",
    title="corpus of sources",
    version="1",
    licence="as the folder's own files say",
    citation="as the folder's own files say",
    homepage="docs/corpus.md",
    kind="corpus",
    seen="real",
    access="your own folder in this layout",
    files=(
        DataFile(_SOURCES, "one text, table or image a line"),
        DataFile(
            _QUESTIONS, "one question a line, with the ids of the sources that it needs", required=False
        ),
        DataFile(_VERBALISATIONS, "one description of an image a line", required=False),
    ),
    read=reader(iter_sources, "corpus"),
    check=check_corpus(iter_sources),
    iterate=iter_sources,
    questions=iter_questions,
    rules={
        **SOURCE_RULES,
        "id-of-another-modality": "an id has to begin with the modality of its source (text:, table:, image:); left out",
        "other-length": "n_chars is not the length of the text",
        "other-modalities": "modality_counts is not what the gold sources are",
        "two-verbalisations": "an image is described twice, differently; the first description is used",
        "unused-verbalisation": "an image that is described is not among the sources",
        "no-picture": "there is a folder of images, and the image is not in it",
        "path-outside": "the path of an image leads out of the folder; it is not followed",
    },
    notes=(
        (
            "Ids begin with the modality, because the questions name their sources by them. A folder `images` beside the files may "
            "hold the pixels; the content hash of an image is then that of its bytes, otherwise that of caption and path."
        ),
        "Texts that come from OTT-QA are tokenised (spaces around punctuation): put them together again before a model sees them.",
        "Where `gold_complete` is false the gold sources of a question are a lower bound: recall computed from them is, too.",
    ),
)
