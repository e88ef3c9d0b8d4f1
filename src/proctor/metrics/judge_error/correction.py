"""Shares corrected for the errors of a yes/no judge."""

from __future__ import annotations

import math

from proctor.metrics.errors import MetricInputError
from proctor.metrics.interval import normal_quantile
from proctor.metrics.judge_error.rates import FEW_LABELS, JudgeError
from proctor.metrics.score import Score, Signature

__all__ = ["corrected_share"]


def corrected_share(yes: int, n: int, error: JudgeError) -> Score:
    """Correct a share of yes by the judge's sensitivity and specificity (Rogan and Gladen 1978).

    ``corrected = (p + specificity - 1) / (sensitivity + specificity - 1)``, cut to 0..1 (the note gives the value before).
    The interval follows Lang and Reiczigel (2014); its coverage was checked by simulation, not against their tables. It adds the calibration's uncertainty to the sampling error of ``p``.

    Args:
        yes: items that the judge calls right.
        n: items that it judged; independent of one another and not those of the calibration.
        error: of the judge; its ``confidence`` is that of the interval.

    Returns:
        The corrected share; undefined (nan, with a note) when nothing was judged, when the calibration lacks right or
        wrong answers, or when sensitivity + specificity ≤ 1, that is when the judge does not tell right from wrong.

    Raises:
        MetricInputError: if the counts are impossible.
    """
    if not 0 <= yes <= n:
        raise MetricInputError(f"{yes} yes of {n} items cannot be")
    signature = Signature(
        "corrected_share",
        {
            "calibration": f"{error.right}+{error.wrong}",
            "confidence": f"{error.confidence:g}",
            "interval": "lang-reiczigel",
            "method": "rogan-gladen",
        },
    )
    sensitivity, specificity = error.sensitivity, error.specificity
    why = ""
    if not n:
        why = "nothing was judged"
    elif sensitivity is None or specificity is None:
        missing = "right" if sensitivity is None else "wrong"
        why = f"the calibration holds no answer that people call {missing}"
    elif sensitivity + specificity <= 1:
        why = (
            f"sensitivity {sensitivity:.3f} + specificity {specificity:.3f} ≤ 1: "
            "the judge does not tell right from wrong, nothing can be corrected"
        )
    if why or sensitivity is None or specificity is None:
        return Score(math.nan, signature, n, note=why)
    raw = (yes / n + specificity - 1) / (sensitivity + specificity - 1)
    notes = []
    if not 0 <= raw <= 1:
        notes.append(f"cut to the scale from {raw:.4f}: calibration and benchmark do not fit well")
    low, high = _lang_reiczigel(yes, n, error)
    if low is None:
        notes.append("no interval: the calibration is too small to tell the judge from chance")
    elif error.right < FEW_LABELS or error.wrong < FEW_LABELS:
        notes.append(f"the calibration has only {error.right} right and {error.wrong} wrong answers")
    return Score(min(1.0, max(0.0, raw)), signature, n, low, high, note="; ".join(notes))


def _lang_reiczigel(yes: int, n: int, error: JudgeError) -> tuple[float | None, float | None]:
    """Interval of Lang and Reiczigel (2014): counts are moved towards the middle, then the delta method."""
    z = normal_quantile(0.5 + error.confidence / 2)
    n_p, n_se, n_sp = n + z * z, error.right + 2, error.wrong + 2
    p = (yes + z * z / 2) / n_p
    se, sp = (error.right_yes + 1) / n_se, (error.wrong_no + 1) / n_sp
    youden = se + sp - 1
    if youden <= 0:
        return None, None
    share = (p + sp - 1) / youden
    v_se, v_sp = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    centre = share + 2 * z * z * (share * v_se - (1 - share) * v_sp)
    half = z * math.sqrt(p * (1 - p) / n_p + share**2 * v_se + (1 - share) ** 2 * v_sp) / youden
    low, high = (min(1.0, max(0.0, end)) for end in (centre - half, centre + half))
    return low, high
