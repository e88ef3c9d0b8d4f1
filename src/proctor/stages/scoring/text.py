"""``proctor score text``: how long and how varied the texts of a file are, and how alike by their vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tokenize import TokenError
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from proctor.errors import UserError
from proctor.metrics.answer import mean_score
from proctor.metrics.embedding import (
    DUPLICATE,
    mean_pairwise_cosine,
    near_duplicates,
    nearest_cosines,
    unit_vectors,
)
from proctor.metrics.figure import Bars, Figure
from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.metrics.text_statistics import (
    MOVING_WINDOW,
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

__all__ = ["score_text"]

_TEXT: Final = ("question", "text", "answer", "answers", "response")
_CLUSTER: Final = ("recording", "recording_id", "video_id", "cluster")
_ALL: Final = "all"
_FIRST_WORDS: Final = 10
_NEAREST_SHOWN: Final = 10
_FEW_VALUES: Final = 200
"""Values of a column to slice by, beyond which it is taken for an id."""
_NO_INTERVAL: Final = "no interval: drawing texts again repeats them, which lowers variety"
_UNREADABLE: Final = (OSError, ValueError, EOFError, MemoryError, SyntaxError, TokenError, BadZipFile)
"""What NumPy raises for files that are cut off, damaged or of another kind."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Text:
    """One text with where it came from."""

    text: str
    row: int
    place: str
    cluster: str
    slices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Settings:
    window: int
    threshold: float
    vectors: str
    cluster: str
    confidence: float
    resamples: int
    seed: int

    def interval(self) -> dict[str, str]:
        """What the signatures of means say about their intervals."""
        if not self.resamples:
            return {"interval": "none"}
        return {
            "cluster": self.cluster,
            "interval": f"bca-{100 * self.confidence:g}",
            "resamples": str(self.resamples),
            "seed": str(self.seed),
        }


def score_text(
    path: Path,
    *,
    column: str | None = None,
    vectors: Path | None = None,
    slices: Sequence[str] = (),
    cluster: str | None = None,
    window: int = MOVING_WINDOW,
    threshold: float = DUPLICATE,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> ScoreTable:
    """Describe the texts of one column.

    Args:
        path: table with the column.
        column: whose values are texts, or lists of texts; question, text, answer, answers or response by default.
        vectors: ``.npy`` file, one row a line of the table, shape (lines, dimensions).
        slices: columns to slice by.
        cluster: column that the bootstrap draws by; recording, recording_id, video_id or cluster by default.
        window: words of the moving average.
        threshold: cosine above which texts are near-duplicates.
        confidence: of the intervals of the lengths.
        resamples: of the bootstrap; 0 leaves the intervals out.
        seed: of the bootstrap.

    Raises:
        UserError: if a file or an option cannot be used.
    """
    if not 0 < confidence < 1:
        raise UserError(f"the confidence must lie between 0 and 1, got {confidence}.", hint="try 0.95")
    table = read_table(path)
    name = table.require(column) if column is not None else table.require(*_TEXT)
    drawn = table.require(cluster) if cluster is not None else table.find(*_CLUSTER)
    texts, empty = _read_texts(table, name, drawn, slices)
    if not texts:
        raise UserError(
            f"the column {name!r} has no text.", where=str(path), hint="choose another with --column"
        )
    units = None if vectors is None else _read_vectors(vectors, table, texts, name)
    settings = _Settings(
        window,
        threshold,
        "" if vectors is None else vectors.name.replace("|", "_"),
        drawn or "text",
        confidence,
        resamples,
        seed,
    )
    rows: list[ScoreRow] = []
    with explained(path):
        for part, indices in _parts(texts, slices).items():
            rows += _describe(part, [texts[i] for i in indices], texts, settings)
            if units is not None:
                rows += _alike(part, units[indices], settings)
    words = first_words(t.text for t in texts)
    headline: dict[str, object] = {
        row.score.signature.name + (row.score.signature.parameters.get("n") or ""): row.score.value
        for row in rows
        if row.slice == _ALL
    }
    headline["first_words"] = dict(words[:_FIRST_WORDS])
    notes = [] if drawn else ["every text is drawn by itself: name the column of recordings with --cluster"]
    notes.append("no chance level: these numbers describe texts, and nothing is guessed")
    if units is not None and len(units) > 1:
        headline["nearest_pairs"] = _pairs(texts, units, threshold)
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
        notes=tuple(notes),
        figures=_figures(words, len(texts), name),
    )


# -- reading -----------------------------------------------------------------------------------------------------


def _read_texts(
    table: Table, column: str, cluster: str | None, slices: Sequence[str]
) -> tuple[list[_Text], int]:
    """Return the texts, and how many lines have none; a list of texts is several texts."""
    clusters = table.texts(cluster) if cluster else None
    values = [table.texts(name) for name in slices]
    for name, column_values in zip(slices, values, strict=True):
        if len(set(column_values)) > _FEW_VALUES:
            raise UserError(
                f"the column {name!r} has {len(set(column_values)):,} different values.",
                where=str(table.path),
                hint="slice by a column with few values",
            )
    out: list[_Text] = []
    empty = 0
    for row, value in enumerate(table.columns[column]):
        found = [
            t for v in (value if isinstance(value, list) else [value]) if (t := _text(table, row, column, v))
        ]
        empty += not found
        for text in found:
            place = table.place(row)
            drawn = clusters[row] if clusters else str(len(out))
            out.append(_Text(text, row, place, drawn, tuple(v[row] for v in values)))
    return out, empty


def _text(table: Table, row: int, column: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise table.wrong(row, column, f"a text was expected, got {str(value)[:60]}.")
    return str(value) if str(value).strip() else ""


def _read_vectors(path: Path, table: Table, texts: Sequence[_Text], column: str) -> Floats:
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


def _parts(texts: Sequence[_Text], slices: Sequence[str]) -> dict[str, list[int]]:
    parts: dict[str, list[int]] = {_ALL: list(range(len(texts)))}
    for column, name in enumerate(slices):
        for value in sorted({t.slices[column] for t in texts}):
            parts[f"{name}={value}"] = [i for i, t in enumerate(texts) if t.slices[column] == value]
    return parts


# -- rows --------------------------------------------------------------------------------------------------------


def _describe(
    part: str, chosen: Sequence[_Text], every: Sequence[_Text], settings: _Settings
) -> list[ScoreRow]:
    """Lengths with intervals, measures of variety without."""
    texts = [t.text for t in chosen]
    lengths: list[tuple[str, str, Callable[[str], int], dict[str, str]]] = [
        ("words", "mean_words", count_words, {"split": "white-space"}),
        ("tokens", "mean_tokens", count_tokens, {"punctuation": "counted", "tokeniser": "proctor-1"}),
    ]
    rows = []
    for label, name, count, words in lengths:
        score = mean_score(
            [float(count(text)) for text in texts],
            [t.cluster for t in chosen],
            Signature(name, {**words, **settings.interval(), **_slice(part)}),
            confidence=settings.confidence,
            resamples=settings.resamples,
            seed=settings.seed,
        )
        rows.append(ScoreRow(label, score, part, digits=2))
    variety: list[tuple[str, Score, dict[str, str]]] = [
        ("TTR", type_token_ratio(texts), {}),
        ("HD-D", hd_d(texts), {}),
        ("MATTR", moving_average_ttr(texts, settings.window), {"order": "file"}),
        *((f"distinct-{n}", distinct_n(texts, n), {}) for n in (1, 2)),
        ("distinct texts", distinct_texts(texts), {}),
    ]
    if part != _ALL:
        variety.append(("vocabulary", vocabulary_share(texts, [t.text for t in every]), {"of": _ALL}))
    rows += [
        ScoreRow(
            label,
            replace(
                score,
                signature=score.signature.having(**more, **_slice(part)),
                note=score.note or _NO_INTERVAL,
            ),
            part,
        )
        for label, score, more in variety
    ]
    return rows


def _slice(part: str) -> dict[str, str]:
    return {"slice": part.replace("|", "/")}


def _plain(value: float, signature: Signature, n: int, why: str) -> Score:
    return Score(value, signature, n, note=why if math.isnan(value) else _NO_INTERVAL)


def _alike(part: str, units: Floats, settings: _Settings) -> list[ScoreRow]:
    """Similarity of the vectors of a slice."""
    known = len(units) > 1
    words = {"vectors": settings.vectors, **_slice(part)}
    values: list[tuple[str, str, float, dict[str, str]]] = [
        (
            "self-similarity",
            "mean_pairwise_cosine",
            mean_pairwise_cosine(units).value if known else math.nan,
            {},
        ),
        (
            "nearest",
            "nearest_cosine",
            math.fsum(nearest_cosines(units)[0]) / len(units) if known else math.nan,
            {"search": "exact"},
        ),
        (
            "near-duplicates",
            "near_duplicates",
            near_duplicates(units, threshold=settings.threshold, keep=0).share if known else math.nan,
            {"above": f"{settings.threshold:g}", "search": "exact"},
        ),
    ]
    return [
        ScoreRow(label, _plain(value, Signature(name, {**words, **more}), len(units), "only one text"), part)
        for label, name, value, more in values
    ]


def _pairs(texts: Sequence[_Text], units: Floats, threshold: float) -> list[dict[str, object]]:
    """The most alike pairs above the threshold, with their places, for looking at them."""
    found = near_duplicates(units, threshold=threshold, keep=_NEAREST_SHOWN)
    return [
        {"cosine": cosine, "a": texts[i].place, "b": texts[j].place, "texts": [texts[i].text, texts[j].text]}
        for i, j, cosine in found.nearest
    ]


def _figures(words: Sequence[tuple[str, int]], texts: int, column: str) -> tuple[Figure, ...]:
    shown = words[:_FIRST_WORDS]
    if not shown:
        return ()
    return (
        Bars(
            title=f"First words of {column}",
            labels=tuple(word for word, _ in shown),
            values=tuple(100 * n / texts for _, n in shown),
            counts=tuple(n for _, n in shown),
            unit=" %",
        ),
    )
