"""Open-ended questions about clips: a consistency judge says whether an answer means the same as the right one.

InstructionBench's supplement: yes or no, and accuracy is the share of yes. A reply of the judge that cannot be read leaves
the answer unmarked: it is in no mean, and counted. (The filters, which decide on questions and not on systems, fail closed instead.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

from proctor.errors import UserError
from proctor.evaluate.clip_question import ClipQuestion
from proctor.evaluate.clip_scores import ClipTable, Resampling, of_one_predictor, rows_of
from proctor.evaluate.prediction import Judgement, Prediction
from proctor.llm.converse import Conversation, converse
from proctor.llm.message import Request
from proctor.llm.outcome import Ask
from proctor.metrics.score import Signature

if TYPE_CHECKING:
    from proctor.generate.instructional.asking import Asked, Price
    from proctor.generate.instructional.consistency import ConsistencyJudge

__all__ = ["judge_open", "open_requests", "score_open"]

_Judged = Callable[[Sequence[Judgement]], None]


def judge_open(
    questions: Sequence[ClipQuestion],
    predictions: Sequence[Prediction],
    judge: ConsistencyJudge,
    ask: Ask,
    *,
    price: Price | None = None,
    interrupted: _Judged | None = None,
) -> list[Judgement]:
    """Judge the answers of one predictor: 2 for the same meaning, 0 for another, None where no mark could be had.

    Args:
        questions: with the right answers.
        predictions: of one predictor; those that failed are not judged.
        judge: says yes or no.
        ask: makes the calls.
        price: nano-dollars of a reply.
        interrupted: called with the judgements that are there when the run ends early, which is then raised.

    Raises:
        UserError: as ``of_one_predictor``.
    """
    chosen = of_one_predictor(questions, predictions)
    by_id = {question.id: question for question in questions}
    made: dict[str, Judgement] = {}
    for prediction in chosen:
        if prediction.answer is None:
            why = f"prediction failed: {prediction.failure or 'no answer'}"
            made[prediction.item_id] = _judgement(prediction, judge, failure=why)
    talks = (
        (prediction.item_id, _talk(by_id[prediction.item_id], prediction, judge, price))
        for prediction in chosen
        if prediction.answer is not None
    )
    try:
        for name, judgement in converse(talks, ask):
            made[name] = judgement  # noqa: PERF403 - what is there so far has to be kept when the run ends early
    except BaseException:
        if interrupted is not None:
            interrupted([made[p.item_id] for p in chosen if p.item_id in made])
        raise
    unasked = "cancelled: the run ended before it was judged"
    return [made.get(p.item_id) or _judgement(p, judge, failure=unasked) for p in chosen]


def open_requests(
    questions: Sequence[ClipQuestion], predictions: Sequence[Prediction], judge: ConsistencyJudge
) -> Iterator[Request]:
    """Yield the first request of each answer without sending any, for estimates."""
    by_id = {question.id: question for question in questions}
    for prediction in of_one_predictor(questions, predictions):
        if prediction.answer is not None:
            question = by_id[prediction.item_id]
            yield judge.request(question.question, [question.answer], prediction.answer)


def score_open(
    questions: Sequence[ClipQuestion],
    predictions: Sequence[Prediction],
    judgements: Sequence[Judgement],
    *,
    benchmark: str,
    predictor: str = "",
    resampling: Resampling | None = None,
) -> ClipTable:
    """Score one run of open-ended answers: the share that means the same as the right answer.

    An answer without a judgement, or with one that failed, has failed: it is in no mean.

    Raises:
        UserError: if there is nothing to score, records of several predictors or judges are mixed, or there twice.
    """
    how = resampling or Resampling()
    chosen = of_one_predictor(questions, predictions, predictor)
    ours = [j for j in judgements if j.predictor == chosen[0].predictor]
    judges = sorted({j.judge for j in ours})
    if len(judges) != 1:
        raise UserError(
            f"the judgements are of {len(judges)} judges.", where=", ".join(judges)[:300] or None,
            hint="judge the run first, and score the judgements of one judge at a time",
        )  # fmt: skip
    if twice := [id_ for id_, n in Counter(j.item_id for j in ours).items() if n > 1]:
        raise UserError(f"{len(twice):,} answers have several judgements.", where=twice[0])
    by_id = {j.item_id: j for j in ours}
    marks = {p.item_id: _mark(p, by_id.get(p.item_id)) for p in chosen}
    signature = Signature(
        "consistency", {"benchmark": _part(benchmark), "judge": _part(judges[0]), "unjudged": "left out"}
    )
    return ClipTable(
        benchmark=benchmark,
        predictor=chosen[0].predictor,
        judge=judges[0],
        rows=tuple(rows_of(questions, marks, signature, measure="consistency", resampling=how)),
        item_marks={question.id: marks.get(question.id) for question in questions},
        clusters={question.id: question.cluster for question in questions},
        counts=_counts(questions, chosen, marks, by_id),
    )


def _talk(
    question: ClipQuestion, prediction: Prediction, judge: ConsistencyJudge, price: Price | None
) -> Conversation[Judgement]:
    from proctor.generate.instructional.asking import call_notes, no_price

    asked = yield from judge.judge(question.question, [question.answer], prediction.answer or "")
    details = {
        "model": judge.model,
        "scale": "binary",
        **call_notes([cast("Asked[object]", asked)], price or no_price),
    }
    if asked.said is None:
        return _judgement(
            prediction, judge, failure=asked.why or "unparsed: nothing was said", details=details
        )
    score = 2 if asked.said.consistent else 0
    return _judgement(prediction, judge, score=score, rationale=asked.said.reason, details=details)


def _judgement(
    prediction: Prediction,
    judge: ConsistencyJudge,
    *,
    score: int | None = None,
    rationale: str = "",
    failure: str | None = None,
    details: dict[str, str] | None = None,
) -> Judgement:
    return Judgement(
        item_id=prediction.item_id,
        predictor=prediction.predictor,
        judge=judge.name,
        score=score,
        rationale=rationale,
        failure=failure,
        details=details or {},
    )


def _mark(prediction: Prediction, judgement: Judgement | None) -> float | None:
    if prediction.answer is None or judgement is None or judgement.score is None:
        return None
    if judgement.score not in (0, 2):
        raise UserError(
            f"a consistency judge marks 0 or 2, not {judgement.score}.", where=judgement.item_id,
            hint="are these judgements of another judge?",
        )  # fmt: skip
    return judgement.score / 2


def _counts(
    questions: Sequence[ClipQuestion],
    predictions: Sequence[Prediction],
    marks: dict[str, float | None],
    judgements: dict[str, Judgement],
) -> dict[str, int]:
    failed = Counter((p.failure or "no answer").partition(":")[0] for p in predictions if p.answer is None)
    unmarked = Counter(
        (judgements[p.item_id].failure or "no mark").partition(":")[0]
        if p.item_id in judgements
        else "not judged"
        for p in predictions
        if p.answer is not None and marks[p.item_id] is None
    )
    found = {
        "questions": len(questions),
        "not asked": len(questions) - len(predictions),
        "consistent": sum(mark == 1.0 for mark in marks.values()),
        "inconsistent": sum(mark == 0.0 for mark in marks.values()),
        "failed": sum(failed.values()),
        "unmarked": sum(unmarked.values()),
    }
    found |= {f"failed: {code}": n for code, n in sorted(failed.items())}
    return found | {f"unmarked: {code}": n for code, n in sorted(unmarked.items())}


def _part(text: str) -> str:
    return text.replace("|", "/").strip() or "unnamed"
