"""From what became of a call to a prediction: only a complete reply is an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from proctor.exam.prediction import Prediction
from proctor.llm.outcome import Failure, Outcome, Refusal, Reply, Truncated, Usage

__all__ = ["call_details", "prediction_of", "why_no_reply"]

_SHOWN = 300
"""Characters of a refusal or a message that a record keeps."""


def why_no_reply(outcome: Outcome) -> str | None:
    """Return why an outcome is not an answer, None when it is one. The first word is a code that can be counted."""
    if isinstance(outcome, Failure):
        return f"{outcome.kind}: {outcome.message[:_SHOWN]}"
    if isinstance(outcome, Truncated):
        return f"truncated: cut off by the limit on tokens after {len(outcome.text):,} characters"
    if isinstance(outcome, Refusal):
        return f"refusal: {outcome.text[:_SHOWN] or 'the model declined without a word'}"
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


def prediction_of(
    item_id: str,
    predictor: str,
    outcome: Outcome,
    *,
    frames: Sequence[tuple[int, float]] = (),
    details: Mapping[str, str],
) -> Prediction:
    """Return the prediction that an outcome is; a refusal, a cut-off reply and a failure have no answer.

    Args:
        item_id: the question.
        predictor: who was asked.
        outcome: what became of it.
        frames: index and time of each frame that was shown.
        details: of the prompt and the call.
    """
    failure = why_no_reply(outcome)
    answer = outcome.text.strip() if failure is None and isinstance(outcome, Reply) else None
    return Prediction(
        item_id=item_id,
        predictor=predictor,
        answer=answer,
        failure=failure,
        frame_indices=tuple(index for index, _ in frames),
        frame_times=tuple(time for _, time in frames),
        details=dict(details),
    )
