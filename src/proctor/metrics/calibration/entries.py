"""The metrics of this family, for the catalogue."""

from __future__ import annotations

from proctor.metrics.metric import Metric

__all__ = ["METRICS"]


METRICS: tuple[Metric, ...] = (
    Metric(
        name="expected_calibration_error",
        label="ECE",
        family="significance",
        function="calibration:expected_calibration_error",
        signature="expected_calibration_error|binning:width|bins:10|edges:closed-open|norm:l1",
        range="1 to 0",
        direction="lower",
        definition="Σ_b n_b/n · |share that came true - mean confidence| over bins of confidence.",
        citation="Naeini et al. 2015; Guo et al. 2017; equal mass: Nixon et al. 2019",
        traps="Biased upwards with few items a bin, so are bootstrap intervals (none is offered): compare with calibrated_ece. "
        "Depends on number and kind of bins. A confidence of 1.0 belongs into the "
        "last bin; Guo et al. close bins above instead of below.",
    ),
    Metric(
        name="calibrated_ece",
        label="ECE if calibrated",
        family="significance",
        function="calibration:calibrated_ece",
        signature="calibrated_ece|binning:width|bins:10|edges:closed-open|level:0.95|norm:l1|resamples:2000|seed:0",
        range="1 to 0",
        direction="neither",
        definition="Mean ECE when what comes true is drawn with the stated confidences.",
        citation="Bröcker and Smith 2007",
        traps="Items are taken as independent; with clusters the true value is larger.",
    ),
    Metric(
        name="calibration_test",
        label="p (calibrated)",
        family="significance",
        function="calibration:calibration_test",
        signature="calibration_test|binning:width|bins:10|edges:closed-open|norm:l1|resamples:2000|seed:0|sided:one",
        range="0 to 1",
        direction="neither",
        definition="Share of draws of a calibrated system with these confidences whose ECE is at least the observed one.",
        citation="Bröcker and Smith 2007; Vaicenavicius et al. 2019",
        traps="A large p is no proof of calibration; items are taken as independent.",
    ),
    Metric(
        name="maximum_calibration_error",
        label="MCE",
        family="significance",
        function="calibration:maximum_calibration_error",
        signature="maximum_calibration_error|binning:width|bins:10|edges:closed-open|norm:l1",
        range="1 to 0",
        direction="lower",
        definition="The largest gap between the share that came true and the mean confidence of a bin with items.",
        citation="Naeini et al. 2015",
        traps="A bin with one item can decide it.",
    ),
    Metric(
        name="brier_score",
        label="Brier",
        family="significance",
        function="calibration:brier_score",
        signature="brier_score|classes:1",
        range="1 to 0",
        direction="lower",
        definition="Mean of (confidence - correct)² = reliability - resolution + uncertainty.",
        citation="Brier 1950; Murphy 1973",
        traps="Half of Brier's own sum over two classes. Mixes calibration with knowledge: compare with the base rate's.",
    ),
    Metric(
        name="negative_log_likelihood",
        label="NLL",
        family="significance",
        function="calibration:negative_log_likelihood",
        signature="negative_log_likelihood|clip:no|log:natural",
        range="infinity to 0",
        direction="lower",
        definition="Mean of -ln(probability given to what came true).",
        citation="Good 1952",
        traps="One certain mistake makes it infinite; libraries clip silently, so that their number depends on float type.",
    ),
)
