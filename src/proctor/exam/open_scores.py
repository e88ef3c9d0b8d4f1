"""Open-ended questions about clips: a consistency judge says whether an answer means the same as the right one.

InstructionBench's supplement: yes or no, and accuracy is the share of yes. A reply of the judge that cannot be read leaves
the answer unmarked: it is in no mean, and counted. (The filters, which decide on questions and not on systems, fail closed instead.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from proctor.errors import UserError
from proctor.exam.clip_question import ClipQuestion
from proctor.exam.clip_scores import clip_rows, predictions_of_one
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.table import Resampling, ScoreTable, signature_part
from proctor.metrics.score import Signature

__all__ = ["score_open"]


def score_open(
    questions: Sequence[ClipQuestion],
    predictions: Sequence[Prediction],
    judgements: Sequence[Judgement],
    *,
    benchmark: str,
    predictor: str = "",
    resampling: Resampling | None = None,
) -> ScoreTable:
    """Score one run of open-ended answers: the share that means the same as the right answer.

    An answer without a judgement, or with one that failed, has failed: it is in no mean.

    Raises:
        UserError: if there is nothing to score, records of several predictors or judges are mixed, or there twice.
    """
    how = resampling or Resampling()
    chosen = predictions_of_one(questions, predictions, predictor)
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
        "consistency",
        {"benchmark": signature_part(benchmark), "judge": signature_part(judges[0]), "unjudged": "left out"},
    )
    return ScoreTable(
        benchmark=benchmark,
        predictor=chosen[0].predictor,
        judge=judges[0],
        rows=tuple(clip_rows(questions, marks, signature, measure="consistency", resampling=how)),
        marks={"consistency": {question.id: marks.get(question.id) for question in questions}},
        clusters={question.id: question.cluster for question in questions},
        counts=_counts(questions, chosen, marks, by_id),
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
