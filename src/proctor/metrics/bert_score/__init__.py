"""BERTScore: each token of one text finds its nearest token of the other, by the cosine of contextual vectors.

Conventions: precision is the weighted mean, over the tokens of the candidate, of the best cosine with a token of the
reference; recall the same over the tokens of the reference; F1 their harmonic mean. Beginning and end marks ([CLS],
[SEP]) weigh nothing, but can be found by other tokens: so does the published implementation, on which its numbers
stand. Weights are 1, or inverse document frequencies counted on the references. A text without tokens scores 0.

The numbers depend on the model, its layer, the tokenizer, and on rescaling: all of them are in the signature. The
model is a folder on this machine; nothing is ever downloaded. ``greedy_match`` needs NumPy only and takes vectors of
any origin; ``bert_score`` needs the packages of the extra ``bertscore`` (torch, transformers), imported when called.

Differences from the package ``bert-score`` 0.3.13: cosines below 0 are kept (there the best one of a padded row is at
least 0); of several references the one with the best F1 gives all three values (there each value takes its own best);
RoBERTa's first word is read as inside of a text, as in the published numbers (with transformers 5 the package loses
that space without a word, which moves its values; given a tokenizer that keeps it, both agree).

References: Zhang et al. 2020; SMMQG (microsoft/deberta-xlarge-mnli, F1).
"""

from __future__ import annotations

from proctor.metrics.bert_score.baseline import Baseline, read_baseline, rescale
from proctor.metrics.bert_score.encoder import (
    LAYERS,
    BertEncoder,
    EncodedText,
    default_layer,
    load_bert_encoder,
)
from proctor.metrics.bert_score.entries import METRICS
from proctor.metrics.bert_score.matching import Match, greedy_match, inverse_document_frequency
from proctor.metrics.bert_score.scores import BertScores, bert_score

__all__ = [
    "LAYERS",
    "METRICS",
    "Baseline",
    "BertEncoder",
    "BertScores",
    "EncodedText",
    "Match",
    "bert_score",
    "default_layer",
    "greedy_match",
    "inverse_document_frequency",
    "load_bert_encoder",
    "read_baseline",
    "rescale",
]
