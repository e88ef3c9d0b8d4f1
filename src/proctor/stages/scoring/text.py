"""Texts described from a file: how long and how varied they are, and how alike by their vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tokenize import TokenError
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.metrics.answer import mean_score
from proctor.metrics.embedding import mean_pairwise_cosine, near_duplicates, nearest_cosines, unit_vectors
from proctor.metrics.figure import Bars
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.metrics.text_statistics import (
    count_tokens,
    count_words,
    distinct_n,
    distinct_texts,
    first_words,
    hd_d,
    moving_average_ttr,
    type_token_ratio,
    vocabulary_share,
)
from proctor.stages.scoring.files import Table, explained, read_table
from proctor.stages.scoring.options import TextSettings
from proctor.stages.scoring.tables import ALL, interval_words, slice_word, sliced

__all__ = ["score_text"]


_TEXT: Final = ("question", "text", "answer", "answers", "response")
_CLUSTER: Final = ("recording", "recording_id", "video_id", "cluster")
_SHOWN: Final = 10
"""First words, and pairs of texts."""
_FEW_VALUES: Final = 200
"""Values of a column to slice by, beyond which it is taken for an id."""
_NO_INTERVAL: Final = "no interval: drawing texts again repeats them, which lowers variety"
_UNREADABLE: Final = (OSError, ValueError, EOFError, MemoryError, SyntaxError, TokenError, BadZipFile)
"""What NumPy raises for files that are cut off, damaged or of another kind."""


@dataclass(frozen=True, slots=True)
class _Text:
    """One text with where it came from."""

    text: str
    row: int
    cluster: str
    slices: tuple[str, ...]


def score_text(settings: TextSettings) -> ScoreTable:
    """Describe the texts of one column.

    Raises:
        UserError: if a file or an option cannot be used.
    """
    table = read_table(settings.file)
    column = table.require(*(_TEXT if settings.column is None else (settings.column,)))
    cluster = table.named(settings.cluster, *_CLUSTER)
    texts, empty = _read_texts(table, column, cluster, settings.slices)
    if not texts:
        raise UserError(
            f"the column {column!r} has no text.", where=str(table.path), hint="choose another with --column"
        )
    units = None if settings.vectors is None else _read_vectors(settings.vectors, table, texts, column)
    rows: list[ScoreRow] = []
    with explained(table.path):
        for part, inside in sliced([t.slices for t in texts], settings.slices).items():
            rows += _describe(part, [texts[i] for i in inside], texts, cluster or "text", settings)
            if units is not None:
                rows += _alike(part, units[inside], settings)
    words = first_words(t.text for t in texts)[:_SHOWN]
    signed = [(row.score.signature, row.score.value) for row in rows if row.slice == ALL]
    headline: dict[str, object] = {s.name + (s.parameters.get("n") or ""): value for s, value in signed}
    headline["first_words"] = dict(words)
    if units is not None and len(units) > 1:
        headline["nearest_pairs"] = [
            {
                "cosine": cosine,
                "a": table.place(texts[i].row),
                "b": table.place(texts[j].row),
                "texts": [texts[i].text, texts[j].text],
            }
            for i, j, cosine in near_duplicates(units, threshold=settings.threshold, keep=_SHOWN).nearest
        ]
    bars = Bars(
        title=f"First words of {column}",
        labels=tuple(word for word, _ in words),
        values=tuple(100 * n / len(texts) for _, n in words),
        counts=tuple(n for _, n in words),
        unit=" %",
    )
    alone = (
        () if cluster else ("every text is drawn by itself: name the column of recordings with --cluster",)
    )
    return ScoreTable(
        family="text",
        rows=tuple(rows),
        headline=headline,
        counts={
            "texts": len(texts),
            "without text": empty,
            "words": sum(count_words(t.text) for t in texts),
            "clusters": len({t.cluster for t in texts}),
        },
        notes=(*alone, "no chance level: these numbers describe texts, and nothing is guessed"),
        figures=(bars,) if words else (),
    )


def _read_texts(
    table: Table, column: str, cluster: str | None, slices: Sequence[str]
) -> tuple[list[_Text], int]:
    """Return the texts, and how many lines have none; a list of texts is several texts."""
    clusters = table.texts(cluster) if cluster else None
    values = [table.texts(name) for name in slices]
    for name, column_values in zip(slices, values, strict=True):
        if (different := len(set(column_values))) > _FEW_VALUES:
            raise UserError(
                f"the column {name!r} has {different:,} different values.",
                where=str(table.path),
                hint="slice by a column with few values",
            )
    out: list[_Text] = []
    empty = 0
    for row, value in enumerate(table.columns[column]):
        cells = value if isinstance(value, list) else [value]
        found = [text for cell in cells if (text := _text(table, row, column, cell))]
        empty += not found
        for text in found:
            drawn = clusters[row] if clusters else str(len(out))
            out.append(_Text(text, row, drawn, tuple(v[row] for v in values)))
    return out, empty


def _text(table: Table, row: int, column: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise table.wrong(row, column, f"a text was expected, got {str(value)[:60]}.")
    return str(value) if str(value).strip() else ""


def _read_vectors(path: Path, table: Table, texts: Sequence[_Text], column: str) -> NDArray[np.float64]:
    """Return the vector of each text at length 1."""
    rows = [t.row for t in texts]
    if len(set(rows)) != len(rows):
        raise UserError(
            f"the column {column!r} has lists of texts, but vectors belong to lines.",
            where=str(table.path),
            hint="write one text a line, or leave --vectors out",
        )
    try:
        with path.open("rb") as file:
            vectors = np.load(file, allow_pickle=False)
    except _UNREADABLE as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:120]
        raise UserError(
            f"not a file of vectors that NumPy can read ({reason}).",
            where=str(path),
            hint="write it with numpy.save: one row a line of the table",
        ) from None
    if not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or len(vectors) != len(table):
        shape = getattr(vectors, "shape", "several arrays")
        raise UserError(
            f"{len(table):,} lines need vectors of shape ({len(table)}, dimensions), got {shape}.",
            where=str(path),
            hint="embed every line of the table, in its order",
        )
    with explained(path):
        return unit_vectors(vectors[rows])


def _describe(
    part: str, chosen: Sequence[_Text], every: Sequence[_Text], cluster: str, settings: TextSettings
) -> Iterator[ScoreRow]:
    """Lengths with intervals, measures of variety without."""
    texts, here = [t.text for t in chosen], slice_word(part)
    lengths: list[tuple[str, str, Callable[[str], int], dict[str, str]]] = [
        ("words", "mean_words", count_words, {"split": "white-space"}),
        ("tokens", "mean_tokens", count_tokens, {"punctuation": "counted", "tokeniser": "proctor-1"}),
    ]
    for label, name, count, words in lengths:
        signature = Signature(name, {**words, **interval_words(settings, cluster), **here})
        counts = [float(count(text)) for text in texts]
        score = mean_score(counts, [t.cluster for t in chosen], signature, **settings.resampling)
        yield ScoreRow(label, score, part, digits=2)
    variety: list[tuple[str, Score, dict[str, str]]] = [
        ("TTR", type_token_ratio(texts), {}),
        ("HD-D", hd_d(texts), {}),
        ("MATTR", moving_average_ttr(texts, settings.window), {"order": "file"}),
        *((f"distinct-{n}", distinct_n(texts, n), {}) for n in (1, 2)),
        ("distinct texts", distinct_texts(texts), {}),
    ]
    if part != ALL:
        variety.append(("vocabulary", vocabulary_share(texts, [t.text for t in every]), {"of": ALL}))
    for label, score, more in variety:
        signature = score.signature.having(**more, **here)
        yield ScoreRow(label, replace(score, signature=signature, note=score.note or _NO_INTERVAL), part)


def _alike(part: str, units: NDArray[np.float64], settings: TextSettings) -> Iterator[ScoreRow]:
    """Similarity of the vectors of a slice."""
    values: Sequence[float] = (math.nan,) * 3
    if len(units) > 1:
        values = (
            mean_pairwise_cosine(units).value,
            math.fsum(nearest_cosines(units)[0]) / len(units),
            near_duplicates(units, threshold=settings.threshold, keep=0).share,
        )
    assert settings.vectors is not None
    words = {"vectors": settings.vectors.name.replace("|", "_"), **slice_word(part)}
    measures: list[tuple[str, str, dict[str, str]]] = [
        ("self-similarity", "mean_pairwise_cosine", {}),
        ("nearest", "nearest_cosine", {"search": "exact"}),
        ("near-duplicates", "near_duplicates", {"above": f"{settings.threshold:g}", "search": "exact"}),
    ]
    for (label, name, more), value in zip(measures, values, strict=True):
        note = "only one text" if math.isnan(value) else _NO_INTERVAL
        yield ScoreRow(label, Score(value, Signature(name, {**words, **more}), len(units), note=note), part)
