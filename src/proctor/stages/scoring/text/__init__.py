"""Options of ``proctor score text``; what it computes is in ``score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from proctor.settings import argument, option
from proctor.stages.scoring.settings import ScoreSettings

__all__ = ["TextSettings"]


class TextSettings(ScoreSettings, frozen=True, kw_only=True):
    """Describe texts: words and tokens, type-token ratio, HD-D, distinct-n, first words, similarity of vectors.

    The file is CSV, TSV, JSON Lines or JSON with a column of texts (in JSON also lists of texts). Words are split
    at white space; tokens count punctuation too, as published figures do. Type-token ratio and distinct-n fall
    with the amount of text: to compare slices of unlike size use HD-D, the type-token ratio of 42 words drawn at
    random. "vocabulary" is the share of all different words that a slice uses.

    \b
      questions.csv
      id,question,type,recording
      q1,Did I miss a step?,missing,1_7

    Vectors come from a model of your choice, saved with numpy.save; the JSON lists the most similar pairs.

    Example: proctor score text questions.csv --column question --slice type --vectors e5.npy
    """  # noqa: D301  # \b keeps the lines of the example apart

    file: Annotated[Path, argument("Table with a column of texts.", metavar="FILE")]
    column: Annotated[
        str | None, option("Of texts or lists of texts (default: question, text, answer).", metavar="NAME")
    ] = None
    vectors: Annotated[
        Path | None, option("Embeddings, one row a line, in the same order.", metavar="FILE.npy")
    ] = None
    slices: Annotated[
        tuple[str, ...],
        option("Also describe every value of this column by itself.", "--slice", metavar="COLUMN"),
    ] = ()
    cluster: Annotated[
        str | None, option("Column the bootstrap draws by (default: recording).", metavar="COLUMN")
    ] = None
    window: Annotated[int, option("Words in the window of MATTR.", ge=1)] = 50
    threshold: Annotated[float, option("Cosine above which texts are near-duplicates.")] = 0.95
