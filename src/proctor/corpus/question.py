"""A question about a corpus, with the sources that its answer is taken from."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from proctor.corpus.source import MODALITIES, Modality

__all__ = ["CorpusQuestion", "count_modalities"]


class CorpusQuestion(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One question.

    Attributes:
        qid: unique in its data set.
        question: as asked.
        answers: all that have to be given; empty where the data set withholds them.
        gold: ids of the sources that are needed, each once, in the order of the data set.
        modalities: how many texts, tables and images ``gold`` has (SMMQG's M).
        type: what kind of question the data set says it is (``TextQ``, ``Compose(TableQ,TextQ)``).
        gold_complete: False where the data set does not know all sources that are needed (``gold`` is then a lower
            bound).
        context: ids of further sources that the data set sets before the reader, needed or not.
        split: ``train``, ``dev``, ``test``, where it is known.
        meta: whatever else is known, plain text values.
    """

    qid: str
    question: str
    answers: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    modalities: tuple[int, int, int] = (0, 0, 0)
    type: str = ""
    gold_complete: bool = True
    context: tuple[str, ...] = ()
    split: str = ""
    meta: Mapping[str, str] = {}


def count_modalities(modalities: tuple[Modality, ...]) -> tuple[int, int, int]:
    """Return how many texts, tables and images there are."""
    text, table, image = (modalities.count(m) for m in MODALITIES)
    return text, table, image
