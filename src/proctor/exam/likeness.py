"""Measures that need no judge: likeness of an answer to the reference, from 0 to 100 (SMMQG's ROUGE-1 and BERTScore)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.errors import UserError
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item, Text
from proctor.exam.table import Measure
from proctor.metrics.answer import Tokeniser, rouge_1_overlap
from proctor.metrics.errors import MetricInputError
from proctor.metrics.score import Signature

if TYPE_CHECKING:
    from proctor.metrics.bert_score import BertEncoder

__all__ = ["bert_measure", "rouge_measure"]


def rouge_measure(
    items: Sequence[Item],
    predictions: Sequence[Prediction],
    *,
    tokeniser: Tokeniser = "unicode",
) -> Measure:
    """Return ROUGE-1 F1 without stemming of each answer against its reference, times 100.

    Args:
        items: with a reference, which is the first gold.
        predictions: answers to them.
        tokeniser: ``unicode`` keeps the words of all scripts; ``ascii`` is the published one, which differs from it only where
            there are other letters than a to z.

    Raises:
        UserError: if the tokeniser leaves nothing of a reference with letters.
    """
    marks: dict[str, float | None] = {p.item_id: None for p in predictions}
    for id_, reference, answer in _answered(items, predictions):
        try:
            marks[id_] = 100 * rouge_1_overlap(reference, answer, tokeniser=tokeniser).f1
        except MetricInputError as error:
            raise UserError(f"{error.message}.", where=id_, hint=error.hint or None) from None
    signature = Signature(
        "rouge_1", {"scale": "100", "stemming": "no", "tokeniser": tokeniser, "value": "f1"}
    )
    return Measure(name="rouge-1", signature=signature, marks=marks, full=100.0)


def bert_measure(
    items: Sequence[Item],
    predictions: Sequence[Prediction],
    model: Path | BertEncoder,
    *,
    batch: int = 64,
) -> Measure:
    """Return BERTScore F1 of each answer against its reference, times 100.

    Args:
        items: with a reference, which is the first gold.
        predictions: answers to them.
        model: folder of a model, or an encoder (the paper: microsoft/deberta-xlarge-mnli).
        batch: texts run at a time.

    Raises:
        MissingExtraError: without the packages of the extra ``bertscore``.
        UserError: if the model cannot be used.
    """
    from proctor.metrics.bert_score import bert_score

    pairs = list(_answered(items, predictions))
    try:
        found = bert_score([r for _, r, _ in pairs], [a for _, _, a in pairs], model, batch=batch)
    except MetricInputError as error:
        raise UserError(f"{error.message}.", hint=error.hint or None) from None
    marks: dict[str, float | None] = {p.item_id: None for p in predictions}
    marks |= {id_: 100 * match.f1 for (id_, _, _), match in zip(pairs, found.matches, strict=True)}
    signature = Signature("bert_score", {**found.parameters, "scale": "100", "value": "f1"})
    return Measure(name="bertscore", signature=signature, marks=marks, full=100.0)


def _answered(items: Sequence[Item], predictions: Sequence[Prediction]) -> Iterator[tuple[str, str, str]]:
    """Yield id, reference and answer of what was answered and has a reference."""
    by_id = {p.item_id: p for p in predictions}
    for item in items:
        reference = next((gold.value.text for gold in item.golds if isinstance(gold.value, Text)), "")
        prediction = by_id.get(item.id)
        if prediction is not None and prediction.answer is not None and reference.strip():
            yield item.id, reference, prediction.answer
