"""Options of taking, marking and scoring an exam."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from proctor.errors import UserError
from proctor.settings import option
from proctor.stages.scoring import settings as scoring
from proctor.stages.settings import Height, Limit, ReplyForm, ReplyOptions, Sampling, Seed, Videos

__all__ = [
    "CalibrateSettings",
    "Captioner",
    "Circular",
    "JudgeFloors",
    "JudgeSettings",
    "MatchOptions",
    "MinCoverage",
    "PredictSettings",
    "Repeats",
    "Runs",
    "ScoreSettings",
    "Shuffle",
    "VerifySettings",
]

JudgeFloors = Annotated[
    bool,
    option(
        "A model marks baselines and the upper bound (constant, annotations, …), too; otherwise rules do, which cost nothing, and their scores are not compared with those of systems."
    ),
]
MinCoverage = Annotated[
    float,
    option("Share of the questions that must be answered and marked for a run to be ranked.", ge=0, le=1),
]
Captioner = Annotated[
    str, option("Moments: model that describes frames, for --show captions.", metavar="MODEL")
]
Repeats = Annotated[int, option("How often a model is asked.", ge=1)]
MatchOptions = Annotated[
    str | None,
    option(
        "Questions with options: a model that says which option a reply means, where no rule reads one (default: such a reply "
        "stays unread, which is wrong). Counted apart.",
        metavar="MODEL",
    ),
]
Shuffle = Annotated[
    int | None, option("Shuffle the options of every question with this seed (default: as released).")
]
Circular = Annotated[bool, option("Ask every rotation of the options; right only if all are right.")]
Runs = Annotated[
    tuple[str, ...],
    option("Name of a run; may be repeated; all when left out.", "--run", "-r", metavar="RUN"),
]


class VerifySettings(ReplyOptions, frozen=True, kw_only=True):
    """Who judges, and what a model is shown.

    Raises:
        UserError: if a model is named together with the oracle's threshold.
    """

    store: Annotated[
        str | None,
        option("Where verdicts are kept: a file in the workspace, or a postgresql:// URL (extra postgres)."),
    ] = None
    threshold: Annotated[
        float | None, option("Confidence from 0.5 to 1 below which the oracle says 'unsure' (default 0.8).")
    ] = None
    verifier: Annotated[
        str | None,
        option(
            "A model that reviews in place of the oracle, such as openai/gpt-4o; its verdicts are kept with all others.",
            metavar="MODEL",
        ),
    ] = None
    form: ReplyForm = "text"
    frames: Annotated[int, option("Frames that a model sees with the steps, at most; 0 for none.", ge=0)] = 0
    height: Height = 360
    sampling: Sampling = "published"
    videos: Videos = None
    limit: Limit = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.verifier is not None and self.threshold is not None:
            raise UserError(
                "--threshold is the oracle's, and a model verifies.", hint="leave one of them out"
            )


class PredictSettings(ReplyOptions, frozen=True, kw_only=True):
    """Which items are answered, what a model is shown of them, and how it is asked."""

    section: ClassVar[str] = "predict"

    run: Annotated[
        str | None,
        option(
            "Name of the run (default: the predictor's, with the kind unless it is moments).", metavar="RUN"
        ),
    ] = None
    kind: Annotated[
        str | None,
        option(
            "Kind of the questions: moment, clip, documents, … (default: all that have the view).",
            metavar="KIND",
        ),
    ] = None
    form: Annotated[
        Literal["open", "choice", "order"] | None,
        option("Only open-ended questions, only those with options, or only those about the order of steps."),
    ] = None
    questions: Annotated[
        str | None,
        option(
            "Of questions about documents only those generated (styled), or the data's own (data).",
            metavar="styled|data",
        ),
    ] = None
    show: Annotated[
        str | None,
        option(
            "What a model sees. Moments: question, recipe (default), captions (a captioner describes frames), frames, or video "
            "(the clip itself), or all in one, such as frames:50@765p:published. Clips: frames:8 (default), frames:16, "
            "frames:fps1, frames:8@quarter-side, question (blind) or steps. Documents: gold (default; the cited sources), or "
            "RETRIEVER@k such as bm25@5. Orders of steps: both (default), text or image, with +goal the goal as well, or question (blind).",
            metavar="VIEW",
        ),
    ] = None
    frames: Annotated[int | None, option("Moments: frames at most (default 50).", ge=1)] = None
    height: Annotated[int | None, option("Moments: of frames or clip, in pixels (default 360).", ge=16)] = (
        None
    )
    sampling: Annotated[
        str | None,
        option(
            "Moments: of the frames: published (default; 1 a second, counted back), uniform, fps, or steps (middles of the "
            "annotated steps; the run is marked, since it gets information that others do not).",
            metavar="published|uniform|fps|steps",
        ),
    ] = None
    captioner: Captioner = ""
    style: Annotated[
        str | None,
        option(
            "Clips: of prompts with frames: a, b (an opened bracket), c, or d (default; a series of frames). Orders of steps: listwise "
            "(default), or pairwise (every two steps, both ways round)."
        ),
    ] = None
    shuffle: Shuffle = None
    circular: Circular = False
    image_model: Annotated[
        str | None,
        option(
            "Documents: model that answers where a source is an image, as in the paper (default: the same model).",
            metavar="MODEL",
        ),
    ] = None
    shrink: Annotated[
        bool,
        option(
            "What is too large for a provider is shrunk, and this is reported: as many frames as it takes by the same sampling; "
            "then, for bytes, a lower height. --no-shrink makes it an error."
        ),
    ] = True
    videos: Videos = None
    seed: Seed = 0
    limit: Limit = None


class JudgeSettings(ReplyOptions, frozen=True, kw_only=True):
    """Who marks which runs, and how a model is asked."""

    runs: Runs = ()
    judge: Annotated[
        str,
        option(
            "Who marks: 'rules' (no model), a model such as openai/gpt-4o-2024-08-06, or your own function: python:module:function.",
            "--judge",
            "-j",
            metavar="rules|MODEL",
        ),
    ] = "rules"
    rubric: Annotated[
        str | None,
        option(
            "How a model is asked: consistency (clips: does it mean the same), source or reference (documents: with the cited "
            "sources, or by the reference alone), or of moments a name such as ternary-step-mistakes in place of the options below."
        ),
    ] = None
    scale: Annotated[
        Literal["ternary", "binary"], option("Moments: a model's scale, ternary (0, 1, 2) or binary.")
    ] = "ternary"
    context: Annotated[
        Literal["none", "recipe", "step"],
        option(
            "Moments: what a model sees beside question and golds: none, recipe or step (performed steps)."
        ),
    ] = "step"
    mistakes: Annotated[
        bool,
        option(
            "Moments: show annotated mistakes below the steps, as the released code does and the paper's figure does not."
        ),
    ] = False
    form: Annotated[
        Literal["text", "json"], option("Moments: of the verdict, text or json (structured output).")
    ] = "text"
    repeats: Repeats = 1
    match_options: MatchOptions = None
    judge_floors: JudgeFloors = False


class ScoreSettings(scoring.ScoreSettings, frozen=True, kw_only=True):
    """Which runs are scored, and how intervals are drawn.

    Raises:
        UserError: as of all scores, or if there are too few draws to compare runs by.
    """

    section: ClassVar[str] = "score"

    runs: Runs = ()
    bert_score: Annotated[
        str,
        option(
            "Documents: folder of a model for BERTScore (the paper: microsoft/deberta-xlarge-mnli); the default leaves it out."
        ),
    ] = ""
    min_coverage: MinCoverage = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_draws(self.resamples)


class CalibrateSettings(scoring.ScoreSettings, frozen=True, kw_only=True):
    """What judges are held against, and by what one is chosen.

    Raises:
        UserError: as of all scores, or if there are too few draws to compare judges by.
    """

    section: ClassVar[str] = "calibrate"

    human: Annotated[
        tuple[str, ...],
        option(
            "People's marks: CSV or JSONL with item_id, predictor, human (0, 1, 2), and annotator for several people. "
            "Judgements by human/NAME in the runs count, too. May be given again."
        ),
    ] = ()
    kind: Annotated[
        str,
        option(
            "Kind of the questions whose judges are calibrated (default: the one that people marked).",
            metavar="KIND",
        ),
    ] = ""
    judge: Annotated[
        tuple[str, ...],
        option("Only this judge or template, or a pattern. May be given again.", metavar="MODEL"),
    ] = ()
    family: Annotated[
        tuple[str, ...],
        option("PATTERN=FAMILY of models whose name does not show it. May be given again."),
    ] = ()
    right: Annotated[int, option("Lowest mark that counts as right.", ge=1, le=2)] = 2
    criterion: Annotated[
        Literal["correlation", "accuracy", "kappa", "weighted_kappa"], option("What a judge is chosen by.")
    ] = "correlation"
    template: Annotated[
        str, option("Template for measuring self-preference (default: the most frequent).")
    ] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_draws(self.resamples)


def _require_draws(resamples: int) -> None:
    if resamples < 100:
        raise UserError(f"{resamples} resamples are too few.", hint="give 100 or more")
