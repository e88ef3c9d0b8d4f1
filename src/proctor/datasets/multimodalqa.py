"""MultiModalQA: texts, tables and images of Wikipedia, with questions that need one or several of them.

Files are JSON Lines, packed (``.gz``) or not. SMMQG takes its corpus from here. A context file (``MMQA_texts``,
``MMQA_tables``, ``MMQA_images``) has one source a line; a question file (``MMQA_train``, ``MMQA_dev``, ``MMQA_test``) one
question a line, whose sources are named by their ids in the context files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.corpus.question import CorpusQuestion
from proctor.corpus.source import MODALITIES, Modality, Source, image_source, table_source, text_source
from proctor.datasets.corpus_reading import (
    SOURCE_RULES,
    check_corpus,
    corpus_readers,
    gold_of,
    page_of,
    picture_hash,
)
from proctor.datasets.dataset import DataFile, Dataset, Log, reader
from proctor.datasets.json_files import iter_typed
from proctor.records import is_there

__all__ = ["DATASET", "iter_questions", "iter_sources"]

_SPLITS: Final = ("train", "dev", "test")
_PICTURES: Final = "final_dataset_images"
_WIKIPEDIA: Final = "CC-BY-SA-3.0"


class _Text(msgspec.Struct):
    id: str
    title: str
    text: str
    url: str | None = None


class _Column(msgspec.Struct):
    column_name: str


class _Cell(msgspec.Struct):
    text: str


class _Grid(msgspec.Struct):
    header: list[_Column]
    table_rows: list[list[_Cell]]
    table_name: str = ""


class _Table(msgspec.Struct):
    id: str
    title: str
    table: _Grid
    url: str | None = None


class _Image(msgspec.Struct):
    id: str
    title: str
    path: str
    url: str | None = None


class _Answer(msgspec.Struct):
    answer: str | int | float
    type: str = ""
    modality: str = ""


class _Support(msgspec.Struct):
    doc_id: str
    doc_part: str


class _Metadata(msgspec.Struct):
    type: str = ""
    modalities: list[str] = []
    image_doc_ids: list[str] = []
    text_doc_ids: list[str] = []
    table_id: str | None = None


class _Question(msgspec.Struct):
    qid: str
    question: str
    metadata: _Metadata
    answers: list[_Answer] | None = None
    supporting_context: list[_Support] | None = None


def _files(root: Path, stem: str) -> list[Path]:
    """The file, packed or not; the one that is not packed where both are there."""
    return [root / name for name in (f"{stem}.jsonl", f"{stem}.jsonl.gz") if is_there(root / name)][:1]


# -- sources ---------------------------------------------------------------------------------------------------


def _sources(root: Path, log: Log) -> Iterator[Source]:
    for stem, type_, build in _CONTEXTS:
        files = _files(root, stem)
        if not files:
            log.find(
                "no-such-file",
                f"{stem}.jsonl",
                "its sources are missing; questions that need them do not resolve",
            )
        for path in files:
            for _, line in iter_typed(path, type_, log, "source"):
                yield build(root, line, log)


def _text(_: Path, line: _Text, __: Log) -> Source:
    page = page_of(line.url, line.title)
    return text_source(
        f"text:{line.id}", line.title, line.text, doc_id=page, url=line.url, licence=_WIKIPEDIA
    )


def _table(_: Path, line: _Table, __: Log) -> Source:
    return table_source(
        f"table:{line.id}",
        line.title,
        [column.column_name for column in line.table.header],
        [[cell.text for cell in row] for row in line.table.table_rows],
        section=line.table.table_name,
        doc_id=page_of(line.url, line.title),
        locator=line.table.table_name,
        url=line.url,
        licence=_WIKIPEDIA,
    )


def _image(root: Path, line: _Image, log: Log) -> Source:
    return image_source(
        f"image:{line.id}",
        line.title,
        line.path,
        pixels_sha256=picture_hash(root / _PICTURES, line.path, log, f"image:{line.id}"),
        doc_id=page_of(line.url, line.title),
        locator=line.path,
        url=line.url,
    )


_CONTEXTS: Final[tuple[tuple[str, Any, Callable[[Path, Any, Log], Source]], ...]] = (
    ("MMQA_texts", _Text, _text),
    ("MMQA_tables", _Table, _table),
    ("MMQA_images", _Image, _image),
)


# -- questions -------------------------------------------------------------------------------------------------


def _questions(split: str, root: Path, log: Log) -> Iterator[CorpusQuestion]:
    for path in _files(root, f"MMQA_{split}"):
        for _, line in iter_typed(path, _Question, log, "question"):
            yield _question(line, split, log)


def _question(line: _Question, split: str, log: Log) -> CorpusQuestion:
    support = line.supporting_context or ()
    unknown = sorted({s.doc_part for s in support} - set(MODALITIES))
    if unknown:
        log.find("unknown-part", line.qid, f"doc_part is {', '.join(map(repr, unknown))[:200]}")
    gold, counted = gold_of(line.qid, [f"{s.doc_part}:{s.doc_id}" for s in support], log)
    about = line.metadata
    context = _named("text", about.text_doc_ids) + _named("image", about.image_doc_ids)
    if about.table_id:
        context += _named("table", [about.table_id])
    return CorpusQuestion(
        qid=line.qid,
        question=line.question,
        answers=tuple(str(a.answer) for a in line.answers or ()),
        gold=gold,
        modalities=counted,
        type=about.type,
        gold_complete=bool(gold),
        context=tuple(dict.fromkeys(context)),
        split=split,
        meta={"modalities": " ".join(about.modalities)} if about.modalities else {},
    )


def _named(modality: Modality, ids: Sequence[str]) -> list[str]:
    return [f"{modality}:{id_}" for id_ in ids]


iter_sources, iter_questions = corpus_readers(
    lambda: DATASET, _sources, *(partial(_questions, split) for split in _SPLITS)
)

DATASET: Dataset = Dataset(
    name="multimodalqa",
    title="MultiModalQA",
    version="1.0",
    licence="none given; texts and tables are from Wikipedia (CC-BY-SA-3.0), images have their own",
    citation=(
        "Talmor, Yoran, Catav, Lahav, Wang, Asai, Ilharco, Hajishirzi, Berant: MultiModalQA: Complex Question Answering "
        "over Text, Tables and Images. ICLR 2021."
    ),
    homepage="https://github.com/allenai/multimodalqa",
    kind="corpus",
    seen="fields",
    access="open; the pictures are a download of their own",
    files=(
        DataFile("MMQA_images.jsonl*", "one image a line: id, title, url, path"),
        DataFile("MMQA_texts.jsonl*", "one passage a line: id, title, url, text", required=False),
        DataFile("MMQA_tables.jsonl*", "one table a line: id, title, url, table", required=False),
        *(
            DataFile(f"MMQA_{split}.jsonl*", f"questions of {split}, one a line", required=False)
            for split in _SPLITS
        ),
    ),
    read=reader(iter_sources, "corpus"),
    check=check_corpus(iter_sources),
    iterate=iter_sources,
    questions=iter_questions,
    rules={
        **SOURCE_RULES,
        "no-such-file": "one of the three files of sources is missing",
        "unknown-part": "doc_part of a supporting document is none of text, table, image",
        "no-picture": f"there is a folder {_PICTURES}, and the image is not in it",
        "path-outside": "the path of an image leads out of the folder; it is not followed",
    },
    notes=(
        (
            "Source ids are those of the release with the modality before them (`text:…`, `table:…`, `image:…`), because the release "
            "names a document by its part and its id. Captions of images are the titles of their Wikipedia pages."
        ),
        (
            f"A folder `{_PICTURES}` beside the files may hold the pixels; the content hash of an image is then that of its bytes, "
            "otherwise that of caption and path."
        ),
        (
            "Questions of the test file have no answers and name no source that is needed. In the other two, some name one twice "
            "(315 of 2,441 of dev): gold has it once."
        ),
    ),
)
