"""The records of a run: a prediction by a predictor, a judgement by a judge, and what became of the calls that they took."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

import msgspec

from proctor.llm.outcome import Failure, Outcome, Reply, Usage, why_incomplete
from proctor.tables import Shown

__all__ = ["Judgement", "Prediction", "call_details", "total_cost", "why_no_reply"]


def why_no_reply(outcome: Outcome) -> str | None:
    """Return why an outcome is not an answer, None when it is one. The first word is a code that can be counted."""
    if not isinstance(outcome, Reply):
        return ": ".join(why_incomplete(outcome))
    return None if outcome.text.strip() else "empty: the model replied nothing"


def call_details(outcome: Outcome, *, cost: int | None = None) -> dict[str, str]:
    """Return model, tokens and price (US dollars) of a call as texts for a record; what is not known is left out.

    Args:
        outcome: of the call.
        cost: nano-dollars, None when the price is not known.
    """
    if isinstance(outcome, Failure):
        return {}
    usage: Usage = outcome.usage
    # The provider's name of the call is left out: it changes when a call is repeated, and files would with it.
    found = {"model_version": outcome.model, "stop": outcome.stop}
    numbers = {"tokens_in": usage.input, "tokens_out": usage.output}
    known = {k: v for k, v in found.items() if v} | {k: str(n) for k, n in numbers.items() if n is not None}
    return known if cost is None else known | {"cost": f"{Decimal(cost) / 10**9:f}"}


def total_cost(
    calls: Iterable[tuple[str, Outcome]], price: Callable[[str, Outcome], int | None]
) -> int | None:
    """Return what several calls cost together, nano-dollars; None when the price of one is not known.

    A call that failed before anything was said costs nothing.

    Args:
        calls: model and outcome of each.
        price: nano-dollars of an outcome, None when not known.
    """
    total = 0
    for model, outcome in calls:
        cost = price(model, outcome)
        if cost is None:
            if not isinstance(outcome, Failure) or outcome.lost:
                return None
            cost = 0
        total += cost
    return total


class Prediction(Shown, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a predictor answered to one item. Exactly one of ``answer`` and ``failure`` is set.

    Attributes:
        item_id: the question.
        predictor: who answered.
        answer: the text that goes to the judge.
        failure: why there is none; a failure is never judged and never counts as 0.
        frame_indices: frames that were shown. ``details["frame_numbers"]`` says what is counted: ``video``, the frames of the
            video from 0; ``second``, one a second from 1 (the published sampling). Where it says nothing, an older version
            wrote presentation time stamps in the stream's own time base.
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


class Judgement(Shown, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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
