"""The metrics of this family, for the catalogue."""

from __future__ import annotations

from proctor.metrics.metric import Metric

__all__ = ["METRICS"]


METRICS: tuple[Metric, ...] = (
    Metric(
        name="judge_accuracy",
        label="judge accuracy",
        family="significance",
        function="judge_error:judge_accuracy",
        signature="judge_accuracy|cluster:item|interval:wilson-95",
        range="0 to 1",
        direction="higher",
        definition="Share of items on which the judge gives the mark that people give, on any scale.",
        citation="ProMQA 2025, judge calibration (0.75 for its default judge)",
        traps="Chance agreement is high when most answers are wrong; a finer scale lowers it.",
    ),
    Metric(
        name="judge_correlation",
        label="judge r",
        family="significance",
        function="judge_error:judge_correlation",
        signature="judge_correlation|cluster:item|interval:bca-95|kind:pearson|resamples:10000|seed:0",
        range="-1 to 1",
        direction="higher",
        definition="Pearson's correlation of the judge's marks with people's.",
        citation="ProMQA 2025, judge calibration (0.76 for its default judge)",
        traps="Blind to a judge that is too strict or too mild everywhere; undefined when either side is constant. ProMQA "
        "calibrated against one person.",
    ),
    Metric(
        name="corrected_share",
        label="corrected",
        family="significance",
        function="judge_error:corrected_share",
        signature="corrected_share|calibration:120+80|confidence:0.95|interval:lang-reiczigel|method:rogan-gladen",
        range="0 to 1",
        direction="higher",
        definition="(p + specificity - 1) / (sensitivity + specificity - 1) for the share p that the judge calls right.",
        citation="Rogan and Gladen 1978; interval: Lang and Reiczigel 2014",
        traps="Undefined when sensitivity + specificity ≤ 1. The judge must err alike on benchmark and calibration; calibrated "
        "on one system, it may favour another (ProMQA table 11). An interval without calibration error is far too narrow.",
    ),
    Metric(
        name="prediction_powered_mean",
        label="PPI",
        family="significance",
        function="judge_error:prediction_powered_mean",
        signature="prediction_powered_mean|cluster:recording|confidence:0.95|labels:80|weight:1",
        range="unit of the marks",
        direction="higher",
        definition="w·mean(judge on unlabelled) + mean(human - w·judge on labelled), w = 1 or tuned.",
        citation="Angelopoulos et al. 2023 (Science); tuned: Angelopoulos, Duchi and Zrnic 2023 (PPI++)",
        traps="The items that people judged must be drawn at random; with w = 1 a bad judge makes the interval wider than "
        "people's marks alone.",
    ),
)
