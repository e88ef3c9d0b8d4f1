"""The records of an evaluation run: a prediction by a predictor, a judgement by a judge."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

__all__ = ["Judgement", "Prediction"]


class Prediction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a predictor answered to one item. Exactly one of ``answer`` and ``failure`` is set.

    Attributes:
        item_id: the question.
        predictor: who answered.
        answer: the text that goes to the judge.
        failure: why there is none; a failure is never judged and never counts as 0.
        frame_indices: frames that were shown, in the stream's own order.
        frame_times: their times in seconds.
        details: model, tokens, cost, prompt hash, ... as text.
    """

    item_id: str
    predictor: str
    answer: str | None = None
    failure: str | None = None
    frame_indices: tuple[int, ...] = ()
    frame_times: tuple[float, ...] = ()
    details: Mapping[str, str] = {}


class Judgement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a judge says of one prediction: 0 wrong, 1 partial, 2 match; ``score`` is None when unscored.

    Attributes:
        item_id: the question.
        predictor: whose answer it is.
        judge: who judged, with version.
        score: 0, 1, 2 or None.
        rationale: why, for people.
        gold: index of the gold answer that decided, if any.
        failure: why it is unscored.
        details: of the call as text, as on predictions; for calibration also ``template``, ``scale`` (``binary`` or
            ``ternary``), ``repeat`` and ``confidence`` (0 to 1), where there are any.
    """

    item_id: str
    predictor: str
    judge: str
    score: int | None = None
    rationale: str = ""
    gold: int | None = None
    failure: str | None = None
    details: Mapping[str, str] = {}
