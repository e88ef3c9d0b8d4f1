"""OTT-QA: tables of Wikipedia, the passages that their cells link to, and questions over both.

Formats: ``traindev_tables_tok/<id>.json`` is a table (``uid``, ``title``, ``section_title``, ``section_text``, ``intro``,
``url``, ``header``, ``data``; a cell is a text with the list of its links), ``traindev_request_tok/<id>.json`` the passages
that it links to (link to text), ``released_data/*.json`` lists of questions (``question_id``, ``question``, ``table_id``,
``answer-text``); those named ``*.traced.json`` also say in which cell or passage the answer was found (``answer-node``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from proctor.corpus.question import CorpusQuestion
from proctor.corpus.source import Source, table_source, text_source
from proctor.datasets.corpus_reading import (
    SOURCE_RULES,
    check_corpus,
    corpus_readers,
    gold_of,
    page_of,
)
from proctor.datasets.dataset import DataFile, Dataset, Log, reader
from proctor.datasets.first_seen import FirstSeen
from proctor.errors import UserError
from proctor.records import decode, read_bytes

__all__ = ["DATASET", "iter_questions", "iter_sources"]

_TABLES: Final = "traindev_tables_tok"
_PASSAGES: Final = "traindev_request_tok"
_QUESTIONS: Final = "released_data"
_LICENCE: Final = "CC-BY-SA-3.0"
_BOM: Final = b"\xef\xbb\xbf"

_Linked = tuple[str, list[str]]
"""Text of a cell with the links in it."""


class _Table(msgspec.Struct):
    title: str
    header: list[_Linked | str]
    data: list[list[_Linked | str]]
    uid: str = ""
    url: str | None = None
    section_title: str = ""
    section_text: str = ""
    intro: str = ""


class _Question(msgspec.Struct, rename={"answer": "answer-text", "nodes": "answer-node"}):
    question_id: str
    question: str
    table_id: str = ""
    answer: str | None = None
    nodes: list[tuple[str, tuple[int, int], str | None, str]] | None = None
    where: str = ""


# -- sources ---------------------------------------------------------------------------------------------------


def _sources(root: Path, log: Log) -> Iterator[Source]:
    """Every table, followed by those passages it links to that no table before it links to."""
    with FirstSeen() as bodies:
        for path in sorted((root / _TABLES).glob("*.json")):
            table = _read(path, _Table, log)
            if table is None:
                continue
            if table.uid and table.uid != path.stem:
                log.find("other-uid", f"{_TABLES}/{path.name}", f"uid is {table.uid[:200]!r}; it is used")
            id_ = f"table:{table.uid or path.stem}"
            links = _links(table)
            yield _table(id_, table, links)
            yield from _passages(root / _PASSAGES / path.name, id_, links, log, bodies)


def _read(path: Path, type_: Any, log: Log) -> Any:
    """Return what a file of one record holds; None, told to the log, where it is broken."""
    data = read_bytes(path)
    try:
        return decode(data.removeprefix(_BOM), type_, "")
    except UserError as error:
        reason = "wrong-shape" if _is_json(data) else "not-json"
        log.drop(f"{path.parent.name}/{path.name}", reason, error.message[:300])
        return None


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data.removeprefix(_BOM), type=msgspec.Raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


def _table(id_: str, table: _Table, links: list[str]) -> Source:
    told = {"links": " ".join(links), "intro": table.intro, "section_text": table.section_text}
    return table_source(
        id_,
        table.title,
        [_cell(cell) for cell in table.header],
        [[_cell(cell) for cell in row] for row in table.data],
        section=table.section_title,
        doc_id=page_of(table.url, table.title),
        locator=table.section_title,
        url=table.url,
        licence=_LICENCE,
        meta={key: text for key, text in told.items() if text},
    )


def _cell(cell: _Linked | str) -> str:
    return cell if isinstance(cell, str) else cell[0]


def _links(table: _Table) -> list[str]:
    found = [
        link
        for row in (table.header, *table.data)
        for cell in row
        if not isinstance(cell, str)
        for link in cell[1]
    ]
    return list(dict.fromkeys(found))


def _passages(path: Path, table_id: str, links: list[str], log: Log, bodies: FirstSeen) -> Iterator[Source]:
    if not os.path.lexists(path):
        if links:
            log.find("no-passages", table_id, f"there is no {_PASSAGES}/{path.name}")
        return
    found = _read(path, dict[str, str | None], log)
    if found is None:
        return
    missing = [link for link in links if link not in found]
    if missing:
        log.counts["links_without_passage"] += len(missing)
        log.find("link-without-passage", table_id, ", ".join(missing)[:300])
    for link, body in found.items():
        if body is None:
            log.drop(f"text:{_key(link)}", "wrong-shape", f"the passage of {link[:200]!r} is null")
            continue
        first = bodies.add(link, body)
        if first is None:
            yield _passage(link, body)
            continue
        log.counts["passages_linked_again"] += 1
        if first != body:
            log.find(
                "other-passage", f"text:{_key(link)}", f"{path.name} has another text; the first is used"
            )


def _passage(link: str, body: str) -> Source:
    key = _key(link)
    return text_source(
        f"text:{key}",
        unquote(key).replace("_", " "),
        body,
        doc_id=unquote(key),
        url=f"https://en.wikipedia.org{link}" if link.startswith("/wiki/") else None,
        licence=_LICENCE,
    )


def _key(link: str) -> str:
    return link.removeprefix("/wiki/")


# -- questions -------------------------------------------------------------------------------------------------


def _questions(root: Path, log: Log) -> Iterator[CorpusQuestion]:
    """Questions of every file; of a split that is there traced and untraced, only the traced file is read."""
    files = sorted((root / _QUESTIONS).glob("*.json"))
    traced = {f.name.split(".")[0] for f in files if ".traced." in f.name}
    for path in files:
        split = path.name.split(".")[0]
        if split in traced and ".traced." not in path.name:
            continue
        rows: list[msgspec.Raw] = decode(read_bytes(path).removeprefix(_BOM), list[msgspec.Raw], str(path))
        for number, raw in enumerate(rows):
            try:
                line = msgspec.json.decode(raw, type=_Question)
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
                log.drop(f"{_QUESTIONS}/{path.name}[{number}]", "wrong-shape", str(error)[:300])
            else:
                yield _question(line, split, log)


def _question(line: _Question, split: str, log: Log) -> CorpusQuestion:
    nodes = line.nodes or []
    passages = [f"text:{_key(link)}" for _, _, link, kind in nodes if kind == "passage" and link]
    named = ([f"table:{line.table_id}"] if line.table_id else []) + list(dict.fromkeys(passages))
    gold, counted = gold_of(line.question_id, named, log)
    return CorpusQuestion(
        qid=line.question_id,
        question=line.question,
        answers=(line.answer,) if line.answer else (),
        gold=gold,
        modalities=counted,
        type=line.where,
        gold_complete=len(nodes) == 1 and len(passages) == 1,
        split=split,
    )


iter_sources, iter_questions = corpus_readers(lambda: DATASET, _sources, _questions)

DATASET: Dataset = Dataset(
    name="ottqa",
    title="OTT-QA",
    version="1.0",
    licence="MIT; texts and tables are from Wikipedia (CC-BY-SA-3.0)",
    citation=(
        "Chen, Chang, Schlinger, Wang, Cohen: Open Question Answering over Tables and Text. ICLR 2021."
    ),
    homepage="https://github.com/wenhuchen/OTT-QA",
    kind="corpus",
    seen="fields",
    access="open",
    files=(
        DataFile(f"{_TABLES}/*.json", "one table a file"),
        DataFile(
            f"{_PASSAGES}/*.json", "the passages that the table of the same name links to", required=False
        ),
        DataFile(f"{_QUESTIONS}/*.json", "questions of a split", required=False),
    ),
    read=reader(iter_sources, "corpus"),
    check=check_corpus(iter_sources),
    iterate=iter_sources,
    questions=iter_questions,
    rules={
        **SOURCE_RULES,
        "other-uid": "the table's uid is not the name of its file; the uid is used",
        "no-passages": "a table has links and there is no file with their passages",
        "link-without-passage": "a cell links to a page whose passage is not there",
        "other-passage": "a page has different texts in the files of two tables; the first is used",
    },
    notes=(
        (
            "Ids are `table:` with the table's uid and `text:` with the page that a cell links to. A passage that several tables "
            "link to is one source."
        ),
        (
            "Every question needs its table. The passage that it needs is known only where the answer was traced to one passage of "
            "one cell (`*.traced.json`); otherwise `gold_complete` is false and the gold sources are a lower bound."
        ),
        "Texts are tokenised (spaces around punctuation, doubled quotes): put them together again before a model sees them.",
        "The open-domain corpus (`all_plain_tables.json`, `all_passages.json`) is not read.",
    ),
)
