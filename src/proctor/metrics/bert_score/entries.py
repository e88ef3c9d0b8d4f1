"""The metrics of this family, for the catalogue."""

from __future__ import annotations

from typing import Final

from proctor.metrics.metric import Metric

__all__ = ["METRICS"]


METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        name="bert_score",
        label="BERTScore",
        family="answer",
        function="bert_score:bert_score",
        signature="bert_score|layer:40|model:deberta-xlarge-mnli@0123abcd|references:best-f1|rescaled:no|value:f1|"
        "weights:one",
        range="-1 to 1; unrelated texts are far above 0 unless rescaled",
        direction="higher",
        definition="Harmonic mean of the mean best cosine of each answer token and of each reference token.",
        citation="Zhang et al. 2020; SMMQG",
        traps="Model, layer and rescaling change everything. SMMQG Table 7 prints tau 0.50 (p 0.11) with its judge; its "
        "own Table 6 has 8 discordant pairs: 0.4286 (p 0.179). Negation hardly lowers it.",
    ),
)
