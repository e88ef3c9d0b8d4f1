"""What a run would score if people had judged it, from the machine judge's marks and people's marks on a part.

Two estimates. The *mean* is prediction-powered: the judge's marks on all answers, corrected by how far it is off on the
answers of this run that people marked, with the judge's weight tuned to what it is worth (PPI++). It assumes only that
those answers were drawn at random. The *share right* is Rogan and Gladen's: the judge's share of right answers, corrected
by its sensitivity and specificity; these may come from answers of other runs, if the judge errs alike on them. Its interval
draws whole recordings and recomputes share, sensitivity and specificity together, so neither clustering nor the overlap of
the calibration with the run is forgotten.

Nothing is printed that the marks do not identify: with few human marks, or a judge that is not shown to be better than
chance, there is no value and a note says why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from proctor.errors import UserError
from proctor.exam.estimate import Draws, Estimate, cluster_t_test, difference_of_means
from proctor.exam.judge_calibration import says_right
from proctor.exam.judge_marks import Answer, JudgeMarks, JudgeSetup
from proctor.metrics.bootstrap import Floats, bootstrap_interval, cluster_sums
from proctor.metrics.interval import normal_quantile
from proctor.metrics.judge_error import JudgeError, corrected_share, prediction_powered_mean
from proctor.metrics.score import Score, Signature

__all__ = ["MIN_LABELS", "MIN_RECORDINGS", "MIN_SIDE", "CorrectedScore", "correct_score"]

MIN_LABELS: Final = 20
"""Fewer human marks on a run do not identify its corrected mean."""

MIN_RECORDINGS: Final = 5
"""Nor do marks from fewer recordings: variation between recordings would be guessed."""

MIN_SIDE: Final = 10
"""Fewer answers that people call right (or not right) do not identify sensitivity (or specificity)."""

_SUSPICIOUS: Final = 0.01


class CorrectedScore(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One run as its judge sees it, and as people would.

    Attributes:
        predictor: who answered.
        judge: who marked, with which template.
        labels: answers of this run that people marked, among those that the judge marked.
        labelled_recordings: recordings they come from.
        judged: mean of the judge's marks, in points of 0 to 100.
        people: mean of people's marks on the labelled answers alone, in points.
        mean: the corrected mean, in points.
        judged_share: share that the judge calls right, in per cent.
        share: the corrected share, in per cent.
        own_error: the judge's error was measured on this run's own answers.
        warning: what makes the correction doubtful.
    """

    predictor: str
    judge: JudgeSetup
    labels: int
    labelled_recordings: int
    judged: Estimate
    people: Estimate
    mean: Estimate
    judged_share: Estimate
    share: Estimate
    own_error: bool = True
    warning: str = ""


@dataclass(frozen=True, slots=True)
class _Labelled:
    """Answers that both marked: recording, is right by people, is right by the judge."""

    clusters: tuple[str, ...]
    truth: tuple[bool, ...]
    said: tuple[bool, ...]

    def error(self, confidence: float) -> JudgeError:
        pairs = list(zip(self.truth, self.said, strict=True))
        return JudgeError(
            right=sum(self.truth),
            right_yes=sum(t and s for t, s in pairs),
            wrong=len(pairs) - sum(self.truth),
            wrong_no=sum(not t and not s for t, s in pairs),
            confidence=confidence,
        )


def correct_score(
    judge: JudgeMarks,
    predictor: str,
    votes: Mapping[Answer, tuple[int, ...]],
    recordings: Mapping[str, str],
    *,
    calibration: str,
    right: int = 2,
    draws: Draws | None = None,
) -> CorrectedScore:
    """Correct the score of one run.

    Args:
        judge: marks of the run's judge, on this run and, for the error of the share, on others.
        predictor: whose answers.
        votes: people's marks of answers of any runs; where several people marked one, their mean counts.
        recordings: recording of every item.
        calibration: hash of the calibration, for the signatures.
        right: mark from which on people call an answer right.
        draws: of the intervals.

    Raises:
        UserError: if there are answers to items without a recording.
    """
    draws = draws or Draws()
    setup = judge.setup
    answers = sorted(a for a, m in judge.marks.items() if a.predictor == predictor and m is not None)
    strange = [a.item_id for a in answers if a.item_id not in recordings]
    if strange:
        raise UserError(f"there are judgements of unknown items, such as '{strange[0][:80]}'.")
    work = _Run(judge, answers, votes, recordings, right, draws, calibration)
    labelled = [a for a in answers if a in votes]
    mean, warning = work.mean(labelled)
    share, own = work.share(labelled)
    return CorrectedScore(
        predictor=predictor,
        judge=setup,
        labels=len(labelled),
        labelled_recordings=len({recordings[a.item_id] for a in labelled}),
        judged=work.plain("judged_mean", [work.said(a) for a in answers], answers),
        people=work.plain("human_mean", [work.truth(a) for a in labelled], labelled),
        mean=mean,
        judged_share=work.plain("judged_share", [100.0 * work.says_right(a) for a in answers], answers),
        share=share,
        own_error=own,
        warning=warning,
    )


class _Run:
    def __init__(
        self,
        judge: JudgeMarks,
        answers: Sequence[Answer],
        votes: Mapping[Answer, tuple[int, ...]],
        recordings: Mapping[str, str],
        right: int,
        draws: Draws,
        calibration: str,
    ) -> None:
        self.judge, self.answers, self.votes = judge, answers, votes
        self.recordings, self.right, self.draws, self.calibration = recordings, right, draws, calibration

    # -- marks of one answer ---------------------------------------------------------------------------------------

    def said(self, answer: Answer) -> float:
        """Judge's mark in points."""
        setup = self.judge.setup
        return setup.points * setup.level(self.judge.marks[answer] or 0)

    def truth(self, answer: Answer) -> float:
        """People's mark in points of the judge's scale, their mean where several marked it."""
        setup, votes = self.judge.setup, self.votes[answer]
        return setup.points * sum(setup.human_level(v, self.right) for v in votes) / len(votes)

    def is_right(self, answer: Answer) -> bool | None:
        """True when most people call it right; None when they are divided evenly."""
        votes = self.votes[answer]
        twice = 2 * sum(v >= self.right for v in votes)
        return None if twice == len(votes) else twice > len(votes)

    def says_right(self, answer: Answer) -> bool:
        return says_right(self.judge.setup, self.judge.marks[answer] or 0, self.right)

    def _clusters(self, answers: Sequence[Answer]) -> list[str]:
        return [self.recordings[a.item_id] for a in answers]

    def _sign(self, signature: Signature) -> str:
        judge = self.judge.setup
        return str(
            signature.having(
                calibration=self.calibration or "none",
                judge=judge.name.replace("|", "/"),
                right=str(self.right),
                scale=judge.scale,
            )
        )

    # -- numbers ---------------------------------------------------------------------------------------------------

    def plain(self, name: str, values: Sequence[float], answers: Sequence[Answer]) -> Estimate:
        signature = self.draws.sign(Signature(name, {"cluster": self.draws.cluster}))
        if not values:
            return Estimate(signature=str(signature), note="there are no such answers")
        sums = cluster_sums([values, [1.0] * len(values)], self._clusters(answers))
        interval = bootstrap_interval(
            sums, confidence=self.draws.confidence, resamples=self.draws.resamples, seed=self.draws.seed
        )
        return Estimate.with_interval(math.fsum(values) / len(values), interval, len(values), signature)

    def mean(self, labelled: Sequence[Answer]) -> tuple[Estimate, str]:
        """Return the prediction-powered mean, and what speaks against a random choice of the labelled answers."""
        recordings = len(set(self._clusters(labelled)))
        name = Signature("prediction_powered_mean", {"labels": str(len(labelled))})
        if not self.answers:
            return Estimate(signature=self._sign(name), note="the judge marked nothing"), ""
        if len(labelled) < MIN_LABELS or recordings < MIN_RECORDINGS:
            why = (
                f"not identified: people marked {len(labelled)} answers of {recordings} recordings; "
                f"{MIN_LABELS} of {MIN_RECORDINGS} are needed"
            )
            return Estimate(n=len(self.answers), signature=self._sign(name), note=why), ""
        marks = [self.truth(a) if a in self.votes else None for a in self.answers]
        score = prediction_powered_mean(
            marks,
            [self.said(a) for a in self.answers],
            clusters=self._clusters(self.answers),
            tuned=True,
            confidence=self.draws.confidence,
        )
        return self._within_scale(score, recordings), self._not_random(labelled)

    def _within_scale(self, score: Score, recordings: int) -> Estimate:
        """Widen the normal interval to Student's, for the labelled recordings are few, and cut it to the scale."""
        from scipy.special import stdtrit

        tail = 0.5 + self.draws.confidence / 2
        wider = float(stdtrit(recordings - 1, tail)) / normal_quantile(tail)

        def moved(end: float | None) -> float | None:
            return None if end is None else _on_scale(score.value + wider * (end - score.value))

        return Estimate(
            value=_on_scale(score.value),
            low=moved(score.low),
            high=moved(score.high),
            n=score.n,
            signature=self._sign(score.signature.having(interval=f"student-{recordings - 1}")),
            note=score.note,
        )

    def _not_random(self, labelled: Sequence[Answer]) -> str:
        """Compare the judge's marks on what people marked with those on the rest: a random part should not differ."""
        chosen = frozenset(labelled)
        if len(chosen) == len(self.answers):
            return ""
        here = [float(a in chosen) for a in self.answers]
        said = [self.said(a) for a in self.answers]
        sums = cluster_sums(
            [
                [h * s for h, s in zip(here, said, strict=True)],
                here,
                [(1 - h) * s for h, s in zip(here, said, strict=True)],
                [1 - h for h in here],
            ],
            self._clusters(self.answers),
        )
        difference = float(difference_of_means(sums.sum(axis=0, keepdims=True))[0])
        p = cluster_t_test(np.array(said), np.array(here), self._clusters(self.answers), difference)
        if p is None or p >= _SUSPICIOUS:
            return ""
        side = "higher" if difference > 0 else "lower"
        return (
            f"the judge's marks are {side} on the answers that people marked than on the others: "
            "if these were not drawn at random, the corrected mean is wrong"
        )

    def share(self, labelled: Sequence[Answer]) -> tuple[Estimate, bool]:
        """Return the corrected share of right answers in per cent, and whether the error is this run's own."""
        own = self._labelled(labelled)
        error = own.error(self.draws.confidence)
        is_own = min(error.right, error.wrong) >= MIN_SIDE
        if not is_own:
            pool = [a for a, m in sorted(self.judge.marks.items()) if m is not None and a in self.votes]
            own = self._labelled([a for a in pool if a.item_id in self.recordings])
            error = own.error(self.draws.confidence)
        yes = sum(self.says_right(a) for a in self.answers)
        score = corrected_share(yes, len(self.answers), error)
        # The interval of that function takes all answers as independent; the one below draws recordings.
        signature = self._sign(
            self.draws.sign(
                score.signature.having(error="own" if is_own else "pooled", interval="percentile")
            )
        )
        why = self._why_no_share(error, own)
        if not why and math.isnan(score.value):
            why = score.note
        if why:
            return Estimate(n=len(self.answers), signature=signature, note=f"not identified: {why}"), is_own
        interval = bootstrap_interval(
            self._share_sums(own),
            _rogan_gladen,
            method="percentile",
            confidence=self.draws.confidence,
            resamples=self.draws.resamples,
            seed=self.draws.seed,
        )
        if interval.low == interval.high and score.note.startswith("cut"):
            why = "the judge errs otherwise here than on the marked answers: the share would leave 0 to 100 %"
            return Estimate(n=len(self.answers), signature=signature, note=f"not identified: {why}"), is_own
        notes = [interval.note, score.note if score.note.startswith("cut") else ""]
        if not is_own:
            notes.append(
                "error measured on answers of all runs: right only if the judge makes the same errors on each"
            )
        return Estimate(
            value=100 * score.value,
            low=None if interval.low is None else 100 * interval.low,
            high=None if interval.high is None else 100 * interval.high,
            n=len(self.answers),
            signature=signature,
            note="; ".join(filter(None, notes)),
        ), is_own

    def _labelled(self, answers: Sequence[Answer]) -> _Labelled:
        decided = [(a, truth) for a in answers if (truth := self.is_right(a)) is not None]
        return _Labelled(
            tuple(self._clusters([a for a, _ in decided])),
            tuple(truth for _, truth in decided),
            tuple(self.says_right(a) for a, _ in decided),
        )

    def _why_no_share(self, error: JudgeError, own: _Labelled) -> str:
        if not self.answers:
            return "the judge marked nothing"
        if min(error.right, error.wrong) < MIN_SIDE:
            return (
                f"people call {error.right} of the marked answers right and {error.wrong} not; "
                f"{MIN_SIDE} of each are needed"
            )
        if len(set(own.clusters)) < MIN_RECORDINGS:
            return (
                f"the marked answers are of {len(set(own.clusters))} recordings; {MIN_RECORDINGS} are needed"
            )
        better = bootstrap_interval(
            cluster_sums(_error_columns(own), own.clusters),
            _youden,
            method="percentile",
            confidence=self.draws.confidence,
            resamples=self.draws.resamples,
            seed=self.draws.seed,
        )
        if better.low is None or better.low <= 0:
            found = (error.sensitivity or 0) + (error.specificity or 0) - 1
            return f"the judge is not shown to be better than chance (sensitivity + specificity − 1 = {found:.2f})"
        return ""

    def _share_sums(self, own: _Labelled) -> Floats:
        """Sums by recording: yes and all of this run, then the error's columns; all recordings of either."""
        n, m = len(self.answers), len(own.clusters)
        columns = [
            [*(float(self.says_right(a)) for a in self.answers), *[0.0] * m],
            [*[1.0] * n, *[0.0] * m],
            *([*[0.0] * n, *column] for column in _error_columns(own)),
        ]
        return cluster_sums(columns, [*self._clusters(self.answers), *own.clusters])


def _on_scale(points: float) -> float:
    return min(100.0, max(0.0, points))


def _error_columns(own: _Labelled) -> list[list[float]]:
    pairs = list(zip(own.truth, own.said, strict=True))
    return [
        [float(t and s) for t, s in pairs],
        [float(t) for t, _ in pairs],
        [float(not t and not s) for t, s in pairs],
        [float(not t) for t, _ in pairs],
    ]


def _youden(sums: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = sums[:, 0] / sums[:, 1] + sums[:, 2] / sums[:, 3] - 1
    return result


def _rogan_gladen(sums: Floats) -> Floats:
    """Corrected share of rows of (yes, n, right_yes, right, wrong_no, wrong); nan where the judge is no better than chance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        youden = _youden(sums[:, 2:])
        share = (sums[:, 0] / sums[:, 1] + sums[:, 4] / sums[:, 5] - 1) / youden
    result: Floats = np.where(youden > 0, np.clip(share, 0.0, 1.0), np.nan)
    return result
