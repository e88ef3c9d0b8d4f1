"""The table of scores of questions about clips: by category, level, data set and position, clustered by video.

Shares, from 0 to 1. Questions about one video are alike, so intervals draw whole videos. A question that failed is in no mean and is
counted; one that was answered unreadably is wrong, and counted too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Literal, get_args

import msgspec

from proctor.errors import UserError
from proctor.exam.clip_question import ClipQuestion
from proctor.exam.prediction import Prediction
from proctor.metrics.answer import mean_score
from proctor.metrics.score import Score, Signature
from proctor.metrics.significance import Comparison, compare_all_pairs

__all__ = [
    "ClipRow",
    "ClipSlice",
    "ClipTable",
    "Resampling",
    "compare_clip_runs",
    "of_one_predictor",
    "rows_of",
    "slices_of",
]

ClipSlice = Literal["all", "level", "category", "dataset", "position", "letter"]
SLICES: Final[tuple[ClipSlice, ...]] = get_args(ClipSlice)


class Resampling(msgspec.Struct, frozen=True, kw_only=True):
    """How intervals are made: BCa bootstrap over videos.

    Attributes:
        confidence: coverage aimed at.
        resamples: number of draws; 0 leaves the intervals out.
        seed: of the draws.
    """

    confidence: float = 0.95
    resamples: int = 10_000
    seed: int = 0

    @property
    def name(self) -> str:
        """For signatures."""
        return f"bca-{100 * self.confidence:g}" if self.resamples else "none"


class ClipRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One aggregated number.

    Attributes:
        slice: ``all``, ``level=fine``, ``category=ordering``, ``dataset=hirest``, ``position=early``, ``letter=A`` (of the right
            option as shown).
        kind: what the slice is cut by.
        measure: ``accuracy``, ``circular_accuracy`` (all rotations right) or ``consistency`` (open-ended).
        value: share from 0 to 1, None where it is undefined.
        low: lower end of the interval.
        high: upper end.
        n: questions in the number.
        videos: clusters behind it.
        failed: questions without an answer or a mark, in no mean.
        skipped: questions that were not asked.
        unparsed: questions of ``n`` with an unreadable reply, counted as wrong.
        chance: what guessing would get, None where it cannot be said.
        signature: every choice that changes the number.
        note: why something is undefined, or what to beware of.
    """

    slice: str
    kind: ClipSlice
    measure: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    videos: int = 0
    failed: int = 0
    skipped: int = 0
    unparsed: int = 0
    chance: float | None = None
    signature: str = ""
    note: str = ""


class ClipTable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All scores of one run.

    Attributes:
        benchmark: name and version.
        predictor: who answered.
        judge: who marked: a judge, or the parser of letters.
        rows: in the order of the measures, within these all, levels, categories, data sets, positions, letters.
        item_marks: mark of every question from 0 to 1, None where there is none.
        clusters: of every question.
        counts: questions, failures by their code, unparsed replies by the rule.
        privilege: what the system saw that others do not; empty for honest ones.
    """

    benchmark: str
    predictor: str
    judge: str
    rows: tuple[ClipRow, ...]
    item_marks: Mapping[str, float | None]
    clusters: Mapping[str, str]
    counts: Mapping[str, int] = {}
    privilege: str = ""

    def row(self, slice_: str = "all", measure: str | None = None) -> ClipRow:
        """Return the row of a slice, of the first measure unless another is named.

        Raises:
            KeyError: if there is none.
        """
        for row in self.rows:
            if row.slice == slice_ and measure in (None, row.measure):
                return row
        raise KeyError((slice_, measure))


def slices_of(
    questions: Sequence[ClipQuestion], letters: Mapping[str, str] | None = None
) -> dict[str, tuple[ClipSlice, tuple[int, ...]]]:
    """Return kind and positions of the questions of each slice; what a question does not have puts it in no slice.

    Args:
        questions: all.
        letters: by question, under which its right option was shown.
    """
    found: dict[str, tuple[ClipSlice, tuple[int, ...]]] = {"all": ("all", tuple(range(len(questions))))}
    for kind in SLICES[1:]:
        named: dict[str, list[int]] = {}
        for place, question in enumerate(questions):
            value = (letters or {}).get(question.id, "") if kind == "letter" else getattr(question, kind)
            if value:
                named.setdefault(value, []).append(place)
        found |= {f"{kind}={_part(value)}": (kind, tuple(named[value])) for value in sorted(named)}
    return found


def rows_of(
    questions: Sequence[ClipQuestion],
    marks: Mapping[str, float | None],
    signature: Signature,
    *,
    measure: str,
    resampling: Resampling,
    unparsed: Mapping[str, bool] | None = None,
    chances: Mapping[str, float] | None = None,
    letters: Mapping[str, str] | None = None,
) -> list[ClipRow]:
    """Return the rows of a measure over all slices.

    Args:
        questions: the whole set, asked or not.
        marks: of the questions that were asked, None where one failed.
        signature: of the number, without slice and interval.
        measure: its name.
        resampling: of the intervals.
        unparsed: by question, whether its reply was unreadable.
        chances: by question, what guessing gets.
        letters: see ``slices_of``.
    """
    rows = []
    for name, (kind, places) in slices_of(questions, letters).items():
        inside = [questions[place] for place in places]
        asked = [question for question in inside if question.id in marks]
        own = signature.having(
            slice=name, cluster="video", interval=resampling.name, weighting="question",
            resamples=str(resampling.resamples), seed=str(resampling.seed),
        )  # fmt: skip
        score = mean_score(
            [marks[question.id] for question in asked],
            [question.cluster for question in asked],
            own,
            skipped=len(inside) - len(asked),
            confidence=resampling.confidence,
            resamples=resampling.resamples,
            seed=resampling.seed,
        )
        scored = [question for question in asked if marks[question.id] is not None]
        rows.append(_row(name, kind, measure, score, scored, unparsed or {}, chances or {}))
    return rows


def _row(
    name: str,
    kind: ClipSlice,
    measure: str,
    score: Score,
    scored: Sequence[ClipQuestion],
    unparsed: Mapping[str, bool],
    chances: Mapping[str, float],
) -> ClipRow:
    known = [chances[question.id] for question in scored if question.id in chances]
    return ClipRow(
        slice=name,
        kind=kind,
        measure=measure,
        value=None if math.isnan(score.value) else score.value,
        low=score.low,
        high=score.high,
        n=score.n,
        videos=len({question.cluster for question in scored}),
        failed=score.failed,
        skipped=score.skipped,
        unparsed=sum(unparsed.get(question.id, False) for question in scored),
        chance=math.fsum(known) / len(known) if known and len(known) == len(scored) else None,
        signature=str(score.signature),
        note=score.note,
    )


def of_one_predictor(
    questions: Sequence[ClipQuestion], predictions: Sequence[Prediction], predictor: str = ""
) -> list[Prediction]:
    """Return the predictions of one predictor.

    Raises:
        UserError: without questions or predictions, if predictors are mixed, or predictions are of other questions or there
            twice.
    """
    if not questions:
        raise UserError("there are no questions to score.")
    known = Counter(question.id for question in questions)
    if len(known) < len(questions):
        raise UserError("two questions have the same id.", where=known.most_common(1)[0][0])
    chosen = [p for p in predictions if not predictor or p.predictor == predictor]
    names = sorted({p.predictor for p in chosen})
    if not chosen:
        raise UserError("there are no predictions to score.", hint="run `proctor predict` first")
    if len(names) > 1:
        raise UserError(
            f"the predictions are of {len(names)} predictors: {', '.join(names)[:300]}.",
            hint="choose one by name",
        )
    strange = [p.item_id for p in chosen if p.item_id not in known]
    if strange:
        raise UserError(
            f"{len(strange):,} predictions are about questions that the set does not have, such as '{strange[0][:80]}'.",
            hint="was the run made on another version?",
        )
    twice = [
        name
        for name, n in Counter((p.item_id, p.details.get("rotation", "")) for p in chosen).items()
        if n > 1
    ]
    if twice:
        raise UserError(f"{len(twice):,} questions have several predictions, such as '{twice[0][0][:80]}'.")
    return chosen


def compare_clip_runs(
    tables: Sequence[ClipTable], resampling: Resampling | None = None
) -> tuple[Comparison, ...]:
    """Compare every two runs on the same questions, clustered by video; p-values are corrected over all pairs (Holm).

    Raises:
        UserError: if runs have the same name or were not measured alike.
    """
    names = [table.predictor for table in tables]
    if len(set(names)) < len(names):
        raise UserError(
            f"two runs have the same predictor: {', '.join(names)[:300]}.", hint="give runs different names"
        )
    how = resampling or Resampling()
    try:
        return compare_all_pairs(
            {table.predictor: table.item_marks for table in tables},
            {id_: name for table in tables for id_, name in table.clusters.items()},
            signatures={table.predictor: Signature.parse(table.row().signature) for table in tables},
            confidence=how.confidence,
            resamples=how.resamples,
            seed=how.seed,
        )
    except ValueError as error:
        raise UserError(f"{error}.", hint="score both runs on the same questions in the same way") from None


def _part(text: str) -> str:
    """Names come from files: what a signature cannot hold is replaced."""
    return text.replace("|", "/").strip() or "unnamed"
