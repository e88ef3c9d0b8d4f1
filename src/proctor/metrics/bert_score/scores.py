"""BERTScore of pairs of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from proctor.metrics.bert_score.baseline import read_baseline, rescale
from proctor.metrics.bert_score.encoder import BertEncoder, EncodedText, load_bert_encoder
from proctor.metrics.bert_score.matching import Floats, Match, greedy_match, inverse_document_frequency
from proctor.metrics.errors import MetricInputError

__all__ = ["BertScores", "bert_score"]

_CHUNK: Final = 16
"""Batches whose vectors are held in memory at a time."""


@dataclass(frozen=True, slots=True)
class BertScores:
    """Values of each pair of texts, in the order given, and what they depend on.

    Attributes:
        matches: one for each pair.
        parameters: of the signature: model with fingerprint, layer, weights, rescaling.
        truncated: texts that were longer than the model takes, and were cut.
        note: what to beware of.
    """

    matches: tuple[Match, ...]
    parameters: Mapping[str, str]
    truncated: int = 0
    note: str = ""


def bert_score(
    references: Sequence[str | Sequence[str]],
    candidates: Sequence[str],
    model: Path | str | BertEncoder,
    *,
    layer: int | None = None,
    idf: bool = False,
    baseline: Path | None = None,
    batch: int = 64,
    device: str = "cpu",
    step: Callable[[], None] | None = None,
) -> BertScores:
    """Compute BERTScore of candidates against their references with a local model.

    Args:
        references: of each candidate one text, or several alternatives: the one with the best F1 counts.
        candidates: parallel to ``references``.
        model: folder of a model, or an encoder that was loaded before (then ``layer`` and ``device`` are its own).
        layer: see ``load_bert_encoder``.
        idf: weigh tokens by inverse document frequency over all references.
        baseline: file for rescaling, see ``read_baseline``.
        batch: texts run at a time.
        device: of torch.
        step: called once per pair of texts that is done, for a progress bar.

    Returns:
        Values by pair; the order of the pairs changes nothing.

    Raises:
        MissingExtraError: if torch or transformers is not installed.
        MetricInputError: if lengths differ, a candidate has no reference, something is not a text, the model cannot
            be loaded, or all tokens of a text weigh 0 by ``idf``.

    Reference: Zhang et al. 2020; SMMQG uses microsoft/deberta-xlarge-mnli (layer 40).
    """
    pairs = _pairs(references, candidates)
    if batch < 1:
        raise MetricInputError(f"a batch has at least one text, got {batch}")
    encoder = (
        model
        if isinstance(model, BertEncoder)
        else load_bert_encoder(Path(model), layer=layer, device=device)
    )
    base = None if baseline is None else read_baseline(baseline, encoder.layer)
    tokens = {text: encoder.tokenise(text) for pair in pairs for text in pair[1:]}
    weigh = _weigher([tokens[reference][0] for _, reference, _ in pairs] if idf else None, encoder.marks)
    ordered = sorted(pairs, key=lambda p: (max(len(tokens[t][0]) for t in p[1:]), p[1:], p[0]))
    best: dict[int, Match] = {}
    for chunk in _chunks(ordered, batch * _CHUNK):
        encoded = encoder.encode([text for pair in chunk for text in pair[1:]], batch=batch)
        for i, reference, candidate in chunk:
            match = _match(encoded[reference], encoded[candidate], weigh)
            match = match if base is None else rescale(match, base)
            if i not in best or _rank(match) > _rank(best[i]):
                best[i] = match
            if step is not None:
                step()
    return BertScores(
        matches=tuple(best[i] for i in range(len(candidates))),
        parameters={
            "layer": str(encoder.layer),
            "model": encoder.name.replace("|", "_") or "unnamed",
            "references": "best-f1",
            "rescaled": "no" if baseline is None else baseline.name.replace("|", "_"),
            "weights": "idf" if idf else "one",
        },
        truncated=sum(cut for _, cut in tokens.values()),
        note=encoder.note,
    )


def _pairs(
    references: Sequence[str | Sequence[str]], candidates: Sequence[str]
) -> list[tuple[int, str, str]]:
    if isinstance(references, str) or isinstance(candidates, str):
        raise MetricInputError(
            "references and candidates are lists of texts, got one text", "put it into a list"
        )
    if len(references) != len(candidates):
        raise MetricInputError(f"references of {len(references)} items for {len(candidates)} candidates")
    pairs = []
    for i, (given, candidate) in enumerate(zip(references, candidates, strict=True)):
        alternatives = (given,) if isinstance(given, str) else given
        if not alternatives:
            raise MetricInputError(
                f"candidate {i} has no reference", "give at least one, or leave the item out"
            )
        for reference in alternatives:
            _require_text(reference, i)
            _require_text(candidate, i)
            pairs.append((i, reference, candidate))
    return pairs


def _require_text(value: object, item: int) -> None:
    if not isinstance(value, str):
        raise MetricInputError(
            f"item {item}: a text is wanted, got {value!r}",
            "an answer that was not given has failed: leave it out",
        )


def _weigher(
    documents: Sequence[Sequence[int]] | None, marks: frozenset[int]
) -> Callable[[EncodedText], Floats]:
    known, unseen = inverse_document_frequency(documents) if documents is not None else ({}, 1.0)

    def weigh(text: EncodedText) -> Floats:
        weights = np.array([0.0 if t in marks else known.get(t, unseen) for t in text.ids])
        if documents is not None and not weights.any() and any(t not in marks for t in text.ids):
            raise MetricInputError(
                "all tokens of a text weigh 0, because every reference holds them", "score without idf"
            )
        return weights

    return weigh


def _match(reference: EncodedText, candidate: EncodedText, weigh: Callable[[EncodedText], Floats]) -> Match:
    return greedy_match(
        reference.vectors,
        candidate.vectors,
        reference_weights=weigh(reference),
        candidate_weights=weigh(candidate),
    )


def _chunks(pairs: Sequence[tuple[int, str, str]], size: int) -> Iterator[Sequence[tuple[int, str, str]]]:
    for first in range(0, len(pairs), size):
        yield pairs[first : first + size]


def _rank(match: Match) -> tuple[float, float, float]:
    return match.f1, match.recall, match.precision
