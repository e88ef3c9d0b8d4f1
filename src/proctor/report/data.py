"""Everything a report is made from, as one immutable value.

The caller gathers it (the command line from a workspace, a test by hand); the report reads no files and makes no
picture. All text in it is untrusted: it comes from data sets, models and people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from proctor.exam.corrected import CorrectedScore
from proctor.exam.judge_calibration import Calibration
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item
from proctor.exam.self_preference import SelfPreference
from proctor.exam.table import ScoreTable
from proctor.generate.candidate import Candidate
from proctor.procedure.graph import TaskGraph
from proctor.verify.verdict import Verdict

__all__ = [
    "ROLES",
    "About",
    "Frame",
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
    """One predictor's answers to the benchmark and what the judge said of them.

    Attributes:
        name: for the page; differs from run to run.
        predictor: who answered, as in the records.
        role: what the run stands for.
        predictions: at most one an item.
        judgements: of one judge, at most one an item.
        table: the run's scores where they are already there (``scores.json``); computed otherwise.
    """

    name: str
    predictor: str
    role: Role = "system"
    predictions: tuple[Prediction, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    table: ScoreTable | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture of the recording: its time in seconds and the bytes of a JPEG file."""

    time: float
    jpeg: bytes


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the making: how many came out of it, and how many were dropped for which reason.

    Attributes:
        name: derived, sampled, generated, verified, built, or the like.
        count: how many it passed on.
        unit: what is counted (examples, candidates, items).
        dropped: how many were dropped for each reason code.
        note: what a reader should know about the stage.
    """

    name: str
    count: int
    unit: str = "examples"
    dropped: Mapping[str, int] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True)
class About:
    """What the benchmark is: facts for the head of the report.

    Attributes:
        name: of the benchmark.
        version: of the release.
        licence: of questions and annotations.
        made: one or two sentences on how questions and answers were made and who verified them.
        judge: who judged the answers, with version.
        hashes: name of a file or record to its hash.
        rehearsal: why nothing on the page was measured on a model; empty where something was.
        written: date that the caller wants printed; nothing is printed without it, so that reports are
            reproducible.
    """

    name: str = "Benchmark"
    version: str = ""
    licence: str = ""
    made: str = ""
    judge: str = ""
    hashes: Mapping[str, str] = field(default_factory=dict)
    rehearsal: str = ""
    written: str = ""


@dataclass(frozen=True, slots=True)
class Judging:
    """How far the judges can be believed; its predictors are runs.

    Attributes:
        calibration: judges against people.
        hash: of the calibration, as signatures name it.
        corrected: run to its scores as people would have judged, one for each judge that is worth showing.
        self_preference: of model families.
    """

    calibration: Calibration
    hash: str = ""
    corrected: Mapping[str, tuple[CorrectedScore, ...]] = field(default_factory=dict)
    self_preference: SelfPreference = field(default_factory=SelfPreference)


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
        items: the benchmark.
        title: of the page; the benchmark's name when empty.
        about: facts for the head.
        graphs: activity id to task graph; activities without one are shown as lists only.
        runs: in the order in which they should be listed where scores are equal.
        candidates: every question that was verified, kept or not (for approval rates); empty when unknown.
        verdicts: what annotators, the oracle included, said of the candidates.
        funnel: stages of the making, in order.
        frames: item id to pictures in time order, the last one of the moment that is asked about.
        judging: the calibration of the judges, where there is one.
        shared: costs that belong to no single run.
        opinions: run to what further judges, and the same judge with other rubrics, say of its answers.
        captions: run to item id to the descriptions that stood in place of frames, in the order of the frames.
        missing_captions: answers given from descriptions that are not here.
    """

    items: tuple[Item, ...]
    title: str = ""
    about: About = field(default_factory=About)
    graphs: Mapping[str, TaskGraph] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    funnel: tuple[Stage, ...] = ()
    frames: Mapping[str, tuple[Frame, ...]] = field(default_factory=dict)
    judging: Judging | None = None
    shared: tuple[SharedCost, ...] = ()
    opinions: Mapping[str, tuple[Judgement, ...]] = field(default_factory=dict)
    captions: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    missing_captions: int = 0


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """Choices about the page.

    Attributes:
        drawing: ``dot`` draws graphs with the Graphviz program, ``page`` lets the page draw them (adds 1.3 MB),
            ``none`` keeps the lists only, ``auto`` takes a layout program that is there (Graphviz, else the library
            fast-sugiyama), else ``page``.
        max_text: characters of one text that are kept; the page states what was cut.
        max_frames: pictures kept per item, evenly spread, the last one always among them.
        max_frame_bytes: bytes of pictures in the whole page; the page states how many items have theirs.
        resamples: of the bootstrap behind the intervals, and of the test behind comparisons.
        confidence: level of the intervals.
        seed: of the bootstrap.
    """

    drawing: Literal["auto", "dot", "page", "none"] = "auto"
    max_text: int = 20_000
    max_frames: int = 6
    max_frame_bytes: int = 24_000_000
    resamples: int = 10_000
    confidence: float = 0.95
    seed: int = 0
