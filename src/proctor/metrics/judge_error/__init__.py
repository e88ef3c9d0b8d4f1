"""What a mean would be if people had judged: correction of a machine judge's marks by its known error.

Two ways. ``corrected_share`` (Rogan and Gladen 1978) is for yes/no marks and needs only how often the judge says yes to
right and to wrong answers, from any calibration sample. ``prediction_powered_mean`` (Angelopoulos et al. 2023) is for any
marks and needs people's marks on a *random* part of the same items; it assumes nothing about the judge.

Conventions: the human mark is the reference and comes first; marks are in one unit; an undefined value is ``nan`` with a
note. Intervals take the uncertainty of the calibration into account. All intervals are two-sided.

References: Rogan and Gladen (1978); Lang and Reiczigel (2014) for its interval; Angelopoulos, Bates, Fannjiang, Jordan and
Zrnic, "Prediction-powered inference", Science (2023); Angelopoulos, Duchi and Zrnic, "PPI++" (2023) for the tuned weight.
"""

from __future__ import annotations

from proctor.metrics.judge_error.agreement import judge_accuracy, judge_correlation
from proctor.metrics.judge_error.correction import corrected_share
from proctor.metrics.judge_error.entries import METRICS
from proctor.metrics.judge_error.powered import prediction_powered_mean
from proctor.metrics.judge_error.rates import JudgeError, judge_error

__all__ = [
    "METRICS",
    "JudgeError",
    "corrected_share",
    "judge_accuracy",
    "judge_correlation",
    "judge_error",
    "prediction_powered_mean",
]
