"""Files of questions with their gold sources, of rankings, and of the pool that is ranked."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from proctor.errors import UserError
from proctor.stages.scoring.files import Table, read_lines, read_table

__all__ = ["MODALITY_ORDER", "Pool", "Question", "complete", "read_pool", "read_questions", "read_rankings"]


_ID: Final = ("id", "question_id", "qid")

_GOLD: Final = ("gold", "gold_sources", "sources")

_MODALITIES: Final = ("gold_modalities", "modalities")

_COUNTS: Final = ("modality_counts", "M")

_RANKING: Final = ("ranking", "retrieved", "results")

_GAIN: Final = ("gain", "relevance")

MODALITY_ORDER: Final = ("text", "table", "image")

_QRELS: Final = (".qrels", ".trec")

_RUN: Final = (".run", ".trec")

_COUNT: Final = re.compile(r"\d{1,3}", re.ASCII)

"""Gold sources of one modality."""

_POOL_DIGITS: Final = 18

"""Larger pools do not fit into the whole numbers of NumPy."""


@dataclass(slots=True)
class Question:
    """A question of the reference."""

    gold: dict[str, float]
    repeated: int = 0
    modalities: dict[str, str] = field(default_factory=dict)
    style: str = ""
    cell: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class Pool:
    """The sources that are ranked: how many, and where a table names them their modality and ids."""

    size: int
    modality: Mapping[str, str] = field(default_factory=dict)
    ids: frozenset[str] = frozenset()


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def read_questions(path: Path, cluster: str | None) -> tuple[dict[str, Question], int]:
    """Return the questions by id, and how many have no gold (possible in TREC's format only)."""
    if _suffix(path) in _QRELS:
        if cluster is not None:
            raise UserError(
                "qrels have no columns to cluster by.", where=str(path), hint="leave --cluster out"
            )
        return _read_qrels(path)
    table = read_table(path)
    ids = _unique_ids(table)
    golds = table.id_lists(*_GOLD)
    column = table.require(*_GOLD)
    modalities = table.id_lists(*_MODALITIES, spaces=True) if table.find(*_MODALITIES) else None
    questions = {}
    for row, (name, gold) in enumerate(zip(ids, golds, strict=True)):
        question = _question(table, row, column, gold)
        if modalities is not None:
            _add_modalities(table, row, question, gold, modalities[row])
        questions[name] = question
    _add_columns(table, ids, questions, cluster)
    return questions, 0


def _unique_ids(table: Table) -> list[str]:
    return table.unique(
        *_ID, twice=lambda name, _: (f"the question {name!r} is there twice.", "give every question one row")
    )


def _question(table: Table, row: int, column: str, gold: list[Any]) -> Question:
    found = Question({})
    seen: set[str] = set()
    for one in gold:
        name = _source_id(table, row, column, one)
        gain = _source_gain(table, row, column, one)
        if found.gold.setdefault(name, gain) != gain:
            raise table.wrong(
                row,
                column,
                f"the source {name!r} has two gains, {found.gold[name]:g} and {gain:g}.",
                "keep one of them",
            )
        if name in seen:
            found.repeated += 1
            continue
        seen.add(name)
        if isinstance(one, dict) and isinstance(one.get("modality"), str):
            found.modalities[name] = one["modality"]
    if not found.gold:
        raise table.wrong(
            row,
            column,
            "the question has no gold source.",
            "it has no recall: remove it, or name its sources",
        )
    return found


def _source_id(table: Table, row: int, column: str, one: Any) -> str:
    name = one.get("id") if isinstance(one, dict) else one
    if isinstance(name, str) and name:
        return name
    if isinstance(name, int) and not isinstance(name, bool):
        return str(name)
    raise table.wrong(row, column, f"the id of a source was expected, got {one!r:.60}.", "ids are texts")


def _source_gain(table: Table, row: int, column: str, one: Any) -> float:
    given = next((one[n] for n in _GAIN if n in one), 1.0) if isinstance(one, dict) else 1.0
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= sys.float_info.max:
        raise table.wrong(
            row, column, f"a gain above 0 was expected, got {given!r:.60}.", "leave sources of no use out"
        )
    return float(given)


def _add_modalities(table: Table, row: int, question: Question, gold: list[Any], kinds: list[Any]) -> None:
    column = table.require(*_MODALITIES)
    if len(kinds) != len(gold):
        raise table.wrong(
            row,
            column,
            f"{len(kinds)} modalities for {len(gold)} gold sources.",
            "give one each, in the same order",
        )
    for one, kind in zip(gold, kinds, strict=True):
        question.modalities.setdefault(_source_id(table, row, table.require(*_GOLD), one), str(kind))


def _add_columns(table: Table, ids: list[str], questions: dict[str, Question], cluster: str | None) -> None:
    for column, attribute in (("style", "style"), ("modality", "cell"), (cluster, "cluster")):
        if column is not None and (column in table or column == cluster):
            for name, value in zip(ids, table.texts(column), strict=True):
                setattr(questions[name], attribute, value)
    if table.find(*_COUNTS) and "modality" not in table:
        column = table.require(*_COUNTS)
        for row, (name, counts) in enumerate(zip(ids, table.id_lists(column), strict=True)):
            questions[name].cell = _combination(table, row, column, counts)


def _combination(table: Table, row: int, column: str, counts: list[Any]) -> str:
    """Name a triple of counts: (2, 1, 0) is ``text+text+table``."""
    if len(counts) != len(MODALITY_ORDER) or not all(_COUNT.fullmatch(str(n)) for n in counts):
        raise table.wrong(
            row, column, f"three counts (text, table, image) were expected, got {counts!r:.60}."
        )
    return _joined([kind for kind, n in zip(MODALITY_ORDER, counts, strict=True) for _ in range(int(n))])


def _joined(kinds: Sequence[str]) -> str:
    """Name a combination of modalities; many of one kind are counted: ``text×5+table``."""
    rank = {kind: number for number, kind in enumerate(MODALITY_ORDER)}
    parts = []
    for kind in sorted(set(kinds), key=lambda one: (rank.get(one, len(MODALITY_ORDER)), one)):
        n = list(kinds).count(kind)
        parts.append("+".join([kind] * n) if n <= 2 else f"{kind}×{n}")
    return "+".join(parts)


def complete(questions: Iterable[Question], pool: Pool | None) -> None:
    """Take modalities from the pool, and name the combination where the reference does not."""
    for question in questions:
        if pool:
            for source in question.gold:
                if source in pool.modality:
                    question.modalities.setdefault(source, pool.modality[source])
        if not question.cell and all(source in question.modalities for source in question.gold):
            question.cell = _joined([question.modalities[source] for source in question.gold])


def _read_qrels(path: Path) -> tuple[dict[str, Question], int]:
    """``question iteration source relevance``; a relevance of 0 or less is no gold."""
    questions: dict[str, Question] = {}
    judged: dict[str, dict[str, float]] = {}
    for number, parts in _trec_lines(path, 4, "question, iteration, source, relevance"):
        relevance = _trec_number(path, number, parts[3])
        known = judged.setdefault(parts[0], {})
        first = parts[2] not in known
        if known.setdefault(parts[2], relevance) != relevance:
            raise UserError(
                f"the relevance of {parts[2]!r} to question {parts[0]!r} is {relevance:g} here and "
                f"{known[parts[2]]:g} further up.",
                where=f"{path}, line {number}",
                hint="keep one of the lines",
            )
        if relevance <= 0:
            continue
        question = questions.setdefault(parts[0], Question({}))
        question.repeated += not first
        question.gold[parts[2]] = relevance
    if not questions:
        raise UserError(
            "no source is relevant to any question.", where=str(path), hint="relevance is above 0"
        )
    return questions, len(judged) - len(questions)


def read_rankings(path: Path) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Return the rankings by question, and how many entries of each were left out as repeated.

    A question whose ranking is null or an empty cell has none; an empty list found nothing.
    """
    if _suffix(path) in _RUN:
        return _read_run(path)
    table = read_table(path)
    ids = _unique_ids(table)
    column = table.require(*_RANKING)
    return {
        name: [_source_id(table, row, column, one) for one in ranking]
        for row, (name, ranking) in enumerate(zip(ids, table.id_lists(column), strict=True))
        if table.columns[column][row] not in (None, "")
    }, {}


def _read_run(path: Path) -> tuple[dict[str, list[str]], dict[str, int]]:
    """``question Q0 source rank score tag``; ordered by falling score, equal ones by falling id, as trec_eval."""
    entries: dict[str, dict[str, float]] = {}
    repeated: dict[str, int] = {}
    for number, parts in _trec_lines(path, 6, "question, Q0, source, rank, score, tag"):
        scores = entries.setdefault(parts[0], {})
        score = _trec_number(path, number, parts[4])
        if parts[2] in scores:
            repeated[parts[0]] = repeated.get(parts[0], 0) + 1
            score = max(score, scores[parts[2]])
        scores[parts[2]] = score
    rankings = {
        name: [source for _, source in sorted(((s, d) for d, s in scores.items()), reverse=True)]
        for name, scores in entries.items()
    }
    return rankings, repeated


def _trec_lines(path: Path, columns: int, meaning: str) -> Iterator[tuple[int, list[str]]]:
    empty = True
    for number, line in enumerate(read_lines(path), start=1):
        parts = line.split()
        if not parts:
            continue
        if len(parts) != columns:
            raise UserError(
                f"{len(parts)} columns instead of {columns} ({meaning}).",
                where=f"{path}, line {number}",
                hint="the columns are separated by white space",
            )
        empty = False
        yield number, parts
    if empty:
        raise UserError("the file has no rows.", where=str(path), hint="nothing can be scored without them")


def _trec_number(path: Path, line: int, text: str) -> float:
    try:
        value = float(text)
        if not math.isfinite(value):
            raise ValueError
    except ValueError:
        raise UserError(
            f"a finite number was expected, got {text!r:.60}.", where=f"{path}, line {line}"
        ) from None
    return value


def read_pool(pool: str | None) -> Pool | None:
    """Read a number of sources, or a table of them."""
    if pool is None:
        return None
    if (digits := pool.strip()).isdecimal():
        if len(digits) > _POOL_DIGITS:
            raise UserError(f"a pool of a number with {len(digits)} digits is too large.", where="--pool")
        if int(digits) < 1:
            raise UserError("a pool has at least one source.", where="--pool")
        return Pool(int(digits))
    table = read_table(Path(pool))
    ids = table.names(*_ID)
    kinds = table.texts("modality") if "modality" in table else []
    return Pool(len(set(ids)), dict(zip(ids, kinds, strict=False)), frozenset(ids))
