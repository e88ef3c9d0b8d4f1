"""One run of one system scored, whatever was asked: marks of items by measure, rows over slices, what is left out and why.

What differs between kinds of questions is declared by the kind: its slices, and how its judge's marks are measured
(``proctor.exam.measured``). Questions with options are measured by their letters (``proctor.exam.choice_scores``), whatever
their kind; likeness to the reference (``proctor.exam.likeness``) is a measure like any other. An item without a prediction is
skipped; one whose prediction or mark failed has failed. Neither counts as 0; the bounds of each number count them as wrong and
as right.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from proctor.errors import UserError
from proctor.exam.choice_scores import choice_marks
from proctor.exam.kind import Kind
from proctor.exam.measured import Measured, Slices, signature_part
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Choice, Item
from proctor.exam.self_preference import model_family
from proctor.exam.table import (
    Letters,
    Measure,
    Resampling,
    ScoreRow,
    ScoreTable,
    of_one_predictor,
    row_of,
    rows_of,
)
from proctor.metrics.answer import POINTS
from proctor.metrics.choice.reading import PARSER
from proctor.metrics.score import Score, Signature

__all__ = ["score_run"]

_TOP: Final = 2
"""The mark of a judge for an answer that is right."""


def score_run(
    kind: Kind[Any],
    items: Sequence[Item],
    predictions: Iterable[Prediction],
    judgements: Mapping[str, Sequence[Judgement]] | None = None,
    likeness: Sequence[Measure] = (),
    *,
    benchmark: str,
    predictor: str = "",
    privilege: str = "",
    resampling: Resampling | None = None,
) -> ScoreTable:
    """Make the table of one system.

    Args:
        kind: of the items.
        items: of one kind, all with options or none: the whole set, which is the denominator.
        predictions: of one predictor; of a circular run one a rotation.
        judgements: of these predictions, by the name of their measure, one judge each; of choices (``accuracy``) those of a model
            that matched replies with options, if there was one.
        likeness: measures that need no judge.
        benchmark: name and version of the items, for signatures.
        predictor: whose predictions to score, where the records hold those of several.
        privilege: what it saw that others must not.
        resampling: of the intervals.

    Raises:
        UserError: if there is nothing to score, some items have options and others none, records are of several predictors or
            judges, are there twice or about other items, or a mark is none of those that the kind's judges give.
    """
    how, judgements = resampling or Resampling(), judgements or {}
    asked = _asked(items, predictions, predictor)
    who, known = asked[0].predictor, [item.id for item in items]
    counts = _counts(items, asked)
    letters: Letters | None = None
    measures: list[Measure] = []
    judge = PARSER
    said: tuple[str, ...] = ()
    if kind.measured.computed:
        computed = kind.measures(items, asked)
        measures, judge, said = list(computed.measures), "none", computed.notes
        counts |= computed.counts
    elif any(isinstance(item.question.form, Choice) for item in items):
        matched = judgements.get("accuracy", ())
        measures, letters, more = choice_marks(items, asked, matched)
        counts |= more
        judge = matched[0].judge if matched else PARSER
    else:
        judges = []
        for name, records in judgements.items():
            made = _of_one_judge(records, known, who, named=bool(predictor))
            judges.append(made[0].judge if made else "none")
            measures.append(_judged(kind.measured, name, asked, made))
            counts |= _mark_counts(kind.measured, name, asked, made)
        judge = next(iter(judges), "none")
    measures += likeness
    clusters = {item.id: item.question.cluster or item.id for item in items}
    slices, rows = kind.slices(items), list[ScoreRow]()
    for measure in measures:
        rows += _rows(kind.measured, measure, slices, clusters, benchmark, how)
    return ScoreTable(
        benchmark=benchmark,
        predictor=who,
        judge=judge,
        rows=tuple(rows),
        marks={measure.name: {id_: measure.marks.get(id_) for id_ in known} for measure in measures},
        clusters=clusters,
        counts=counts,
        privilege=privilege,
        notes=tuple(dict.fromkeys((*said, *_notes(items, asked, judgements)))),
        letters=letters,
    )


# -- what is scored ------------------------------------------------------------------------------------------------


def _asked(items: Sequence[Item], predictions: Iterable[Prediction], predictor: str) -> list[Prediction]:
    ids = [item.id for item in items]
    if not ids:
        raise UserError("there are no questions to score.")
    if len(set(ids)) < len(ids):
        raise UserError("two questions have the same id.", where=max(ids, key=ids.count))
    chosen = of_one_predictor(predictions, ids, "prediction", predictor)
    if not chosen:
        raise UserError("there are no predictions to score.", hint="run `proctor predict` first")
    return chosen


def _of_one_judge(
    records: Iterable[Judgement], known: Iterable[str], predictor: str, *, named: bool
) -> list[Judgement]:
    made = of_one_predictor(records, known, "judgement", predictor if named else "")
    if made and made[0].predictor != predictor:
        raise UserError(f"the judgements are of '{made[0].predictor}', the predictions of '{predictor}'.")
    judges = sorted({record.judge for record in made})
    if len(judges) > 1:
        raise UserError(
            f"the judgements are of {len(judges)} judges: {', '.join(judges)[:300]}.",
            hint="score the judgements of one judge at a time: marks of two judges cannot be averaged",
        )
    return made


def _judged(measured: Measured, name: str, asked: Sequence[Prediction], made: Sequence[Judgement]) -> Measure:
    by_id = {record.item_id: record for record in made}
    # A judgement of an answer that is no longer there, because the run was done again, is no mark.
    marks = {
        p.item_id: _mark(measured, by_id.get(p.item_id)) if p.answer is not None else None for p in asked
    }
    judge = {"judge": signature_part(made[0].judge) if made else "none"}
    signature = (
        Signature("consistency", {**judge, "unjudged": "left out"})
        if measured.share
        else Signature("mean_score", {**judge, "scale": "0-50-100"})
    )
    return Measure(
        name=name,
        signature=signature,
        marks=marks,
        full=1.0 if measured.share else _TOP * POINTS,
        judge=made[0].judge if made else "none",
        graded=True,
    )


def _mark(measured: Measured, judgement: Judgement | None) -> float | None:
    if judgement is None or judgement.score is None:
        return None
    score, known = judgement.score, (0, 2) if measured.share else (0, 1, 2)
    if isinstance(score, bool) or score not in known:
        raise UserError(
            f"a judgement is {', '.join(map(str, known[:-1]))} or {known[-1]}, got {score!r}.",
            where=f"judgement of item '{judgement.item_id}'",
            hint="is it of a judge of other questions?",
        )
    return score / _TOP if measured.share else POINTS * score


# -- rows ----------------------------------------------------------------------------------------------------------


def _rows(
    measured: Measured,
    measure: Measure,
    slices: Slices,
    clusters: Mapping[str, str],
    benchmark: str,
    how: Resampling,
) -> Iterator[ScoreRow]:
    basis = {"weighting": measured.weighting, "interval": how.name}
    if not measured.brief:
        basis |= {"benchmark": signature_part(benchmark), "cluster": measured.cluster}
        basis |= {"resamples": str(how.resamples), "seed": str(how.seed)}
    basis |= measure.signature.parameters
    signature, cut = Signature(measure.signature.name, basis), _cut(measure, {**slices, **measure.slices})

    def sign(name: str) -> Signature:
        return signature.having(slice=signature_part(name))

    bounded: list[ScoreRow] = []
    for row in rows_of(cut, measure.marks, clusters, sign, measure.name, resampling=how):
        scored = [id_ for id_ in cut[row.slice][1] if measure.marks.get(id_) is not None]
        lost = [id_ for id_ in cut[row.slice][1] if measure.marks.get(id_) is None]
        known = [measure.chances[id_] for id_ in scored if id_ in measure.chances]
        marks = Counter(measure.marks[id_] for id_ in scored) if measure.graded else Counter[float | None]()
        bounded.append(
            msgspec.structs.replace(
                row,
                least=_filled(row, lost, measure, 0),
                most=_filled(row, lost, measure, 1),
                full=measure.full,
                raw=measure.raw,
                lower=measure.lower,
                judge=measure.judge,
                clusters=len({clusters[id_] for id_ in scored}),
                unparsed=sum(id_ in measure.unparsed for id_ in scored),
                matched=sum(id_ in measure.matched for id_ in scored),
                chance=math.fsum(known) / len(known) if known and len(known) == len(scored) else None,
                marks=(marks[0.0], marks[measure.full / 2], marks[measure.full]),
            )
        )
    yield from bounded
    if measured.mean_of:
        of = f"mean of {measured.mean_of}s"
        own = signature.having(slice=of, weighting=measured.mean_of, interval="none")
        parts = [row for row in bounded if row.kind == measured.mean_of]
        bounds = {end: [x for r in parts if (x := getattr(r, end)) is not None] for end in ("least", "most")}
        filled = {end: math.fsum(values) / len(values) for end, values in bounds.items() if values}
        score = _mean_of(parts, own, measured.mean_of)
        yield row_of(score, measure.name, of, "all", judge=measure.judge, full=measure.full, **filled)


def _cut(measure: Measure, slices: Slices) -> Slices:
    """Return the slices without items that the measure says nothing of; those without any are left out."""
    if measure.about is None:
        return slices
    inside = {name: (kind, [i for i in ids if i in measure.about]) for name, (kind, ids) in slices.items()}
    return {name: (kind, ids) for name, (kind, ids) in inside.items() if ids}


def _filled(row: ScoreRow, lost: Sequence[str], measure: Measure, end: int) -> float | None:
    """Return the number with every item that has no mark as wrong (``end`` 0) or as right (1)."""
    if not lost:
        return row.value
    marks = [measure.ends.get(id_, (0.0, measure.full))[end] for id_ in lost]
    return (row.n * (row.value or 0.0) + math.fsum(marks)) / row.asked


def _mean_of(parts: Sequence[ScoreRow], signature: Signature, what: str) -> Score:
    values = [row.value for row in parts if row.value is not None]
    n, failed, skipped = (sum(getattr(row, name) for row in parts) for name in ("n", "failed", "skipped"))
    if not values:
        return Score(math.nan, signature, n, failed=failed, skipped=skipped, note=f"no {what} has a value")
    lost = len(parts) - len(values)
    note = f"{lost} {what}s have no value and are left out" if lost else ""
    return Score(math.fsum(values) / len(values), signature, n, failed=failed, skipped=skipped, note=note)


# -- what is counted -----------------------------------------------------------------------------------------------


def _counts(items: Sequence[Item], asked: Sequence[Prediction]) -> dict[str, int]:
    failed = Counter((p.failure or "no answer").partition(":")[0] for p in asked if p.answer is None)
    return {
        "questions": len(items),
        "not asked": len(items) - len({p.item_id for p in asked}),
        "failed": failed.total(),
        **{f"failed: {code}": n for code, n in sorted(failed.items())},
    }


def _mark_counts(
    measured: Measured, name: str, asked: Sequence[Prediction], made: Sequence[Judgement]
) -> dict[str, int]:
    by_id = {record.item_id: record for record in made}
    answered = [by_id.get(p.item_id) for p in asked if p.answer is not None]
    marks = Counter(j.score for j in answered if j is not None and j.score is not None)
    unmarked = Counter(
        "not judged" if j is None else (j.failure or "no mark").partition(":")[0]
        for j in answered
        if j is None or j.score is None
    )
    words = {0: "no", 2: "yes"} if measured.share else {0: "0", 1: "1", 2: "2"}
    return {
        **{f"{name}: {word}": marks[score] for score, word in words.items()},
        f"{name}: unmarked": unmarked.total(),
        **{f"{name}: unmarked: {code}": n for code, n in sorted(unmarked.items())},
    }


# -- who wrote, answered and marked --------------------------------------------------------------------------------


def _notes(
    items: Sequence[Item], asked: Sequence[Prediction], judgements: Mapping[str, Sequence[Judgement]]
) -> Iterator[str]:
    authors = Counter(g for item in items if (g := item.question.provenance.get("generator")))
    models = _models(asked)
    for made in judgements.values():
        yield from _kinship(authors, len(items), models, made)
    for model in sorted(models):
        for author, n in sorted(authors.items()):
            if model == author:
                yield f"{model} wrote {n:,} of the {len(items):,} questions that it answers: report it separately"
            elif model_family(model) and model_family(model) == model_family(author):
                yield f"{model} answers {n:,} questions that {author}, of the same family, wrote"


def _kinship(
    authors: Mapping[str, int], questions: int, answering: set[str], made: Sequence[Judgement]
) -> Iterator[str]:
    """Say where a judge marks its own answers, or questions that it wrote."""
    judging = _models(made)
    for model in sorted(judging & answering):
        yield f"{made[0].judge}: {model} marks its own answers"
    if written := sum(n for author, n in authors.items() if author in judging):
        yield f"{made[0].judge}: the judge wrote {written:,} of the {questions:,} questions and their references"


def _models(records: Iterable[Prediction | Judgement]) -> set[str]:
    return {model for record in records if (model := record.details.get("model"))}
