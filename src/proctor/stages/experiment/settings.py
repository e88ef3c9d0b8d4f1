"""Options of the stages of experiments that no command has alone: who answers and marks in which ways."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal

from proctor.settings import Outline, Settings, option
from proctor.stages.clip.settings import ChoiceOptions, FilterOptions, PairOptions
from proctor.stages.documents.settings import CorpusOptions, DocumentsOptions, RetrievalOptions
from proctor.stages.exam_settings import (
    CalibrateSettings,
    Captioner,
    Circular,
    JudgeFloors,
    MatchOptions,
    MinCoverage,
    Repeats,
    ScoreSettings,
    Shuffle,
)
from proctor.stages.scoring.settings import Resamples
from proctor.stages.settings import (
    REPLY_NAMES,
    BuildSettings,
    GenerateSettings,
    Limit,
    ReplyOptions,
    ReportSettings,
    Seed,
    Videos,
)

__all__ = [
    "NOBODY",
    "OUTLINES",
    "AnswerSettings",
    "ClipAnswerSettings",
    "CorpusAnswerSettings",
    "MarkSettings",
    "OverlapSettings",
    "ReadingSettings",
    "ReviewSettings",
]


NOBODY: Final = "none"
"""In the place of systems: baselines and the upper bound answer alone."""


class ReadingSettings(Settings, frozen=True, kw_only=True):
    """Where recordings come from; needed the first time only."""

    section: ClassVar[str] = "source"

    data: Annotated[Path | None, option("Folder of the data set; needed the first time only.")] = None
    dataset: Annotated[str, option("Its reader; see 'proctor read'.", metavar="DATASET")] = "captaincook4d"
    published: Annotated[
        Path | None,
        option("File of published ProMQA questions to use in place of your own questions."),
    ] = None
    release: Annotated[
        str | None,
        option(
            "Released benchmark to answer in place of your own questions: its folder, or a registered name such as everyday.",
            metavar="FOLDER|BENCHMARK",
        ),
    ] = None
    protocol: Annotated[
        Literal["corrected", "published"], option("How data are read and examples derived.")
    ] = "corrected"


class ReviewSettings(ReplyOptions, frozen=True, kw_only=True):
    """Which models check questions beside the task graph's oracle."""

    verifier: Annotated[
        tuple[str, ...],
        option("Model that checks questions beside the task graph; may be repeated.", metavar="MODEL"),
    ] = ()


class AnswerSettings(ReplyOptions, frozen=True, kw_only=True):
    """Who answers, seeing what."""

    predictor: Annotated[
        tuple[str, ...],
        option(
            "Model that answers, or python:module:function, or human:FILE; may be repeated; 'none': baselines alone. MODEL=VIEW,VIEW "
            "shows it other views than --show.",
            "-p",
            metavar="PREDICTOR",
        ),
    ] = ()
    show: Annotated[
        tuple[str, ...],
        option(
            "What every predictor is shown, once for each way: question, recipe, captions:50@288p, frames:50@765p, "
            "frames:100@288p:uniform, video:360p (default: question, recipe, frames:50@360p).",
            metavar="VIEW",
        ),
    ] = ("question", "recipe", "frames:50@360p")
    captioner: Captioner = ""
    videos: Videos = None
    seed: Seed = 0


class MarkSettings(ReplyOptions, frozen=True, kw_only=True):
    """Who marks, and how; scores are made of the first judge's marks by the first rubric. Without one Proctor's rules mark."""

    judge: Annotated[
        tuple[str, ...],
        option("Model that marks; may be repeated; scores are the first one's.", "-j", metavar="MODEL"),
    ] = ()
    rubric: Annotated[
        tuple[str, ...],
        option(
            "How judges are asked: ternary-step (the paper's figure), ternary-step-mistakes (the released code, which shows the "
            "mistakes too), ...; may be repeated: the first judge is asked by all of them."
        ),
    ] = ("ternary-step",)
    repeats: Repeats = 1
    judge_floors: JudgeFloors = False


class CorpusAnswerSettings(ReplyOptions, frozen=True, kw_only=True):
    """Who answers from which sources, and who marks."""

    model: Annotated[
        tuple[str, ...],
        option(
            "Model that answers, or LLM,LMM: the second where a source is an image; may be repeated.",
            "-m",
            metavar="MODEL",
        ),
    ] = ()
    sources: Annotated[tuple[str, ...], option("What models answer from: gold, bm25@5; may be repeated.")] = (
        "gold",
    )
    judge: Annotated[
        tuple[str, ...], option("Model that marks; may be repeated.", "-j", metavar="MODEL")
    ] = ()
    reference_judge: Annotated[
        tuple[str, ...], option("Model that marks by the reference alone; may be repeated.", metavar="MODEL")
    ] = ()
    bert_score: Annotated[
        Path | None, option("Folder of a model for BERTScore; left out without one.", metavar="FOLDER")
    ] = None
    questions: Annotated[str, option("The set that is answered: styled, or data.", metavar="styled|data")] = (
        "styled"
    )
    resamples: Resamples = 10_000
    min_coverage: MinCoverage = 0.95
    seed: Seed = 0
    limit: Limit = None


class OverlapSettings(ReplyOptions, frozen=True, kw_only=True):
    """Who says of which styles questions are."""

    classifier: Annotated[
        str | None,
        option("Model that says of which styles questions are: style overlap.", metavar="MODEL"),
    ] = None


class ClipAnswerSettings(ReplyOptions, frozen=True, kw_only=True):
    """Who answers questions about clips, seeing what, and who marks open-ended answers."""

    predictor: Annotated[
        tuple[str, ...],
        option(
            "Model that answers, or python:module:function, or human:FILE; may be repeated.",
            "-p",
            metavar="PREDICTOR",
        ),
    ] = ()
    show: Annotated[
        tuple[str, ...],
        option(
            "What models are shown: frames:8, frames:16, question, steps; may be repeated.", metavar="VIEW"
        ),
    ] = ("question", "steps")
    style: Annotated[Literal["a", "b", "c", "d"], option("Of prompts with frames.")] = "d"
    shuffle: Shuffle = None
    circular: Circular = False
    judge: Annotated[
        str | None,
        option("Model that marks open-ended answers; without one, none are asked for.", metavar="MODEL"),
    ] = None
    match_options: MatchOptions = None
    resamples: Resamples = 10_000
    min_coverage: MinCoverage = 0.95
    videos: Videos = None
    seed: Seed = 0
    limit: Limit = None


_SHARED = ("seed", *REPLY_NAMES)

OUTLINES = {
    "moment": Outline(
        name="moment",
        settings={
            "source": ReadingSettings,
            "generate": GenerateSettings,
            "verify": ReviewSettings,
            "build": BuildSettings,
            "predict": AnswerSettings,
            "judge": MarkSettings,
            "calibrate": CalibrateSettings,
            "score": ScoreSettings,
            "report": ReportSettings,
        },
        flags={"source.protocol": "--protocol", "judge.judge": "--judge", "generate.template": "--template"},
        shared=_SHARED,
    ),
    "documents": Outline(
        name="documents",
        settings={
            "corpus": CorpusOptions,
            "documents": DocumentsOptions,
            "retrieve": RetrievalOptions,
            "build": BuildSettings,
            "answer": CorpusAnswerSettings,
            "overlap": OverlapSettings,
        },
        flags={"corpus.licence": "--licence"},
        shared=_SHARED,
    ),
    "clip": Outline(
        name="clip",
        settings={
            "pairs": PairOptions,
            "filter": FilterOptions,
            "choices": ChoiceOptions,
            "build": BuildSettings,
            "predict": ClipAnswerSettings,
        },
        flags={"filter.judge": "--judge", "predict.judge": "--open-judge"},
        shared=(*_SHARED, "assistant"),
    ),
}
"""The stages of each experiment with their settings, in order."""
