"""Everything a report is made from, as one immutable value.

The caller gathers it (the stage ``report`` from a workspace, a test by hand); the report reads no files and makes no
picture. All text in it is untrusted: it comes from data sets, models and people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from proctor.exam.corrected import CorrectedScore
from proctor.exam.judge_calibration import Calibration
from proctor.exam.judge_marks import Answer, JudgeMarks
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item, Question
from proctor.exam.self_preference import SelfPreference
from proctor.exam.table import ScoreTable
from proctor.records import Dropped
from proctor.report.parts import ExampleView, Section
from proctor.verify.agreement import AgainstPeople
from proctor.verify.verdict import Verdict

__all__ = [
    "ROLES",
    "About",
    "Asked",
    "Exam",
    "Judging",
    "ReportData",
    "ReportOptions",
    "Role",
    "Run",
    "SharedCost",
    "Stage",
]

Role = Literal["floor", "system", "human", "upper"]

ROLES: Final[Mapping[Role, str]] = {
    "system": "system",
    "human": "people",
    "floor": "floor",
    "upper": "upper bound",
}
"""What a run stands for, in words. A *floor* answers without looking, the *upper bound* reads the annotations."""


@dataclass(frozen=True, slots=True)
class Run:
    """One predictor's answers to an exam and what was said of them.

    Attributes:
        name: of the run; differs from run to run.
        predictor: who answered, as in the records.
        role: what the run stands for.
        predictions: at most one an item and turn.
        judgements: of the judge whose marks make the score, at most one an item.
        table: the run's scores; None where it has none yet.
        opinions: what further judges, and the same judge with other rubrics, say of its answers.
        captions: item id to the descriptions that stood in place of frames, in the order of the frames.
        played: a rehearsal answered in the place of its model.
    """

    name: str
    predictor: str
    role: Role = "system"
    predictions: tuple[Prediction, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    table: ScoreTable | None = None
    opinions: tuple[Judgement, ...] = ()
    captions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    played: bool = False


@dataclass(frozen=True, slots=True)
class Exam:
    """Questions of one kind in one form, and everybody who took them.

    Attributes:
        id: for links: letters and hyphens, such as ``moment`` or ``clip-choice``.
        title: for headings, such as ``multiple choice``.
        items: what was asked.
        runs: who answered, in the order in which they should be listed where scores are equal.
        warnings: what makes its numbers doubtful: made from something else than what is there now.
    """

    id: str
    title: str
    items: tuple[Item, ...]
    runs: tuple[Run, ...] = ()
    warnings: tuple[str, ...] = ()
    _counts: dict[tuple[str, ...], Counter[tuple[str | None, ...]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def kind(self) -> str:
        """Of its questions."""
        return self.items[0].question.kind if self.items else ""

    def count(self, facets: Mapping[str, str]) -> int:
        """Return how many questions have all of these facets; they are counted once for the same names."""
        names = tuple(facets)
        if names not in self._counts:
            asked = (item.question.facets for item in self.items)
            self._counts[names] = Counter(tuple(map(own.get, names)) for own in asked)
        return self._counts[names][tuple(facets.values())]


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions of a kind as they were proposed, and the latest verdict of every annotator on them, machines included."""

    questions: tuple[Question, ...]
    verdicts: tuple[Verdict, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the making: how many came out of it, and how many were dropped for which reason.

    Attributes:
        name: derived, sampled, generated, verified, built, or the like.
        count: how many it passed on.
        unit: what is counted (examples, candidates, items).
        dropped: how many were dropped for each reason code.
        note: what a reader should know about the stage.
        passed: ids of what it passed on, where they are known.
        gone: what it dropped, one by one, as far as that is known.
    """

    name: str
    count: int
    unit: str = "examples"
    dropped: Mapping[str, int] = field(default_factory=dict)
    note: str = ""
    passed: tuple[str, ...] = ()
    gone: tuple[Dropped, ...] = ()


@dataclass(frozen=True, slots=True)
class About:
    """What the benchmark is: facts for the head of the report.

    Attributes:
        name: of the benchmark.
        version: of the release.
        licence: of questions and annotations.
        made: one or two sentences on how questions and answers were made and who verified them.
        hashes: name of a file or record to its hash.
        rehearsal: why nothing on the page was measured on a model; empty where something was.
        lacking: which questions are in no score, since what they cite is not there; empty for none.
    """

    name: str = ""
    version: str = ""
    licence: str = ""
    made: str = ""
    hashes: Mapping[str, str] = field(default_factory=dict)
    rehearsal: str = ""
    lacking: str = ""


@dataclass(frozen=True, slots=True)
class Judging:
    """How far the judges can be believed; its predictors are runs.

    Attributes:
        calibration: judges against people.
        hash: of the calibration, as signatures name it.
        corrected: run to its scores as people would have judged, one for each judge that is worth showing.
        self_preference: of model families.
        judges: the marks that the judges gave.
        people: the marks of each person, as far as runs keep them.
        writers: item to the model that wrote its question.
    """

    calibration: Calibration
    hash: str = ""
    corrected: Mapping[str, tuple[CorrectedScore, ...]] = field(default_factory=dict)
    self_preference: SelfPreference = field(default_factory=SelfPreference)
    judges: tuple[JudgeMarks, ...] = ()
    people: Mapping[str, Mapping[Answer, int]] = field(default_factory=dict)
    writers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SharedCost:
    """What was paid once for several runs: descriptions of frames.

    Attributes:
        name: what it was, for people.
        calls: that were made.
        tokens_in: of their prompts.
        tokens_out: of their replies.
        cost: US dollars, as far as prices are known.
        unpriced: some price is not known.
    """

    name: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float
    unpriced: bool = False


@dataclass(frozen=True, slots=True)
class ReportData:
    """The whole input of a report.

    Attributes:
        exams: questions with their runs, one for each kind and form.
        title: of the page; the benchmark's name when empty.
        about: facts for the head.
        funnel: stages of the making, in order.
        asked: what was proposed and what annotators said of it, by kind.
        against: what the oracle, models and filters say, held against people.
        judging: the calibration of the judges, where there is one.
        shared: costs that belong to no single run.
        making: sections of single kinds about how questions came about.
        results: sections of single kinds about how they were answered.
        examples: questions with their evidence and answers.
        missing_captions: answers given from descriptions that are not here.
        method: name and value of everything else that has to be known to make it again.
    """

    exams: tuple[Exam, ...] = ()
    title: str = ""
    about: About = field(default_factory=About)
    funnel: tuple[Stage, ...] = ()
    asked: Mapping[str, Asked] = field(default_factory=dict)
    against: Sequence[AgainstPeople] = ()
    judging: Judging | None = None
    shared: tuple[SharedCost, ...] = ()
    making: tuple[Section, ...] = ()
    results: tuple[Section, ...] = ()
    examples: tuple[ExampleView, ...] = ()
    missing_captions: int = 0
    method: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """Choices about the numbers of the page.

    Attributes:
        resamples: of the test behind comparisons.
        confidence: level of the intervals.
        seed: of both.
        min_coverage: share of the questions that have to be answered and marked for a run to be ranked.
    """

    resamples: int = 10_000
    confidence: float = 0.95
    seed: int = 0
    min_coverage: float = 0.95
