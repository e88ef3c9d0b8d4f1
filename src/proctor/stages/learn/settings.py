"""Options of ``proctor learn`` and ``proctor features``; msgspec only, so that ``--help`` waits for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import Settings, argument, option
from proctor.stages.scoring.settings import Resamples

__all__ = [
    "AnomalySettings",
    "CheckStoreSettings",
    "ConvertStoreSettings",
    "ExtractSettings",
    "LearnDemoSettings",
    "MistakesSettings",
    "PageSettings",
    "ProtocolsSettings",
    "RunsSettings",
    "StoreSettings",
    "StudySettings",
    "SweepSettings",
    "TableSettings",
]

ANNOTATIONS = option("Folder of the annotations, such as CaptainCook4D's.", metavar="DIR")
SPLIT = option("By recordings (R), persons (P), environments (E) or steps (S), as in the code of the paper.")
PROTOCOL = option("What the paper says, what its released code does, or what is right; see docs/learn.md.")
SEED = option("Of everything that is drawn.", ge=0)
PAGE = option("The page.", metavar="FILE")
TITLE = option("Heading of the page.")
OVERWRITE = option("Write over a run of another configuration.")


class MistakesSettings(Settings, frozen=True, kw_only=True):
    """Train one model to recognise mistakes in steps, and test it."""

    section = "learn.mistakes"

    annotations: Annotated[Path, ANNOTATIONS]
    features: Annotated[
        tuple[Path, ...],
        option("Store of features (proctor features); one for each modality.", metavar="STORE"),
    ] = ()
    model: Annotated[
        Literal["floor", "local", "step", "context", "sequence", "both", "v1", "v2", "v3"],
        option(
            "floor, local, step and context see no pixels: five numbers; rates, length and immediate predecessors of the "
            "step; its place among all that has begun; what else the recording shows. sequence is a transformer over these (and --features, if given), both is context and "
            "sequence together. v1, v2 and v3 are the paper's, and need --features."
        ),
    ] = "context"
    context: Annotated[
        Literal["causal", "offline"],
        option("What context, sequence and both know of the recording: the past of the step, or all of it."),
    ] = "causal"
    split: Annotated[Literal["R", "P", "E", "S"], SPLIT] = "R"
    observed: Annotated[
        float, option("Share of the step that is seen, from its start: early recognition.", ge=0.01, le=1)
    ] = 1.0
    protocol: Annotated[Literal["paper", "code", "right"], PROTOCOL] = "right"
    seed: Annotated[int, SEED] = 0
    resamples: Resamples = 2_000
    out: Annotated[
        Path | None, option("Folder for the run: predictions, reasons, checkpoints.", metavar="RUN")
    ] = None
    page: Annotated[
        Path | None,
        option("Draw the run as a page too, as proctor learn page does; needs --out.", metavar="FILE"),
    ] = None
    overwrite: Annotated[bool, OVERWRITE] = False


class StudySettings(Settings, frozen=True, kw_only=True):
    """Compare what needs no pixels: how far do rates, durations, the graph and the rest of the recording go?"""

    section = "learn.study"

    annotations: Annotated[Path, ANNOTATIONS]
    splits: Annotated[
        tuple[Literal["R", "P", "E", "S"], ...], option("Only this split (repeatable).", "--split")
    ] = ("R", "P", "E", "S")
    seeds: Annotated[int, option("Trainings of each model; their mean and deviation are shown.", ge=1)] = 5
    resamples: Resamples = 2_000
    markdown: Annotated[Path | None, option("Write the tables to this page.", metavar="FILE")] = None


class StoreSettings(Settings, frozen=True, kw_only=True):
    """Which store of features is meant."""

    store: Annotated[Path, argument("Folder of a store of features.", "STORE")]


class TableSettings(Settings, frozen=True, kw_only=True):
    """Make a table of the paper again: what it prints, what is measured here, what knowing nothing gives."""

    number: Annotated[
        Literal["2", "3", "9", "11", "12"],
        argument(
            "2: trained; 3 and 9: asked, all mistakes and by kind; 11: from half a step; 12: windows.",
            "TABLE",
        ),
    ]
    annotations: Annotated[Path, ANNOTATIONS]
    features: Annotated[
        tuple[Path, ...],
        option("Store of features (repeatable); what is missing is said in its row.", metavar="STORE"),
    ] = ()
    asked: Annotated[
        tuple[Path, ...],
        option("Folder of a run of learn zeroshot, for tables 3 and 9 (repeatable).", metavar="RUN"),
    ] = ()
    protocol: Annotated[Literal["paper", "code", "right"], PROTOCOL] = "right"
    seed: Annotated[int, SEED] = 0
    resamples: Resamples = 2_000
    form: Annotated[
        Literal["text", "markdown", "latex"], option("How it is printed, without --json.", "--as")
    ] = "text"


class ConvertStoreSettings(Settings, frozen=True, kw_only=True):
    """Published features, and the store that is made of them."""

    folder: Annotated[
        Path, argument("Folder with the files of features, or the root of all that are published.")
    ]
    backbone: Annotated[
        str,
        option(
            "omnivore, slowfast, x3d, 3dresnet, videomae, imagebind-video, -audio, -text or -depth; any other name with "
            "--seconds."
        ),
    ]
    out: Annotated[Path, option("Folder of the store to write.", metavar="STORE")]
    annotations: Annotated[
        Path | None,
        option("List recordings of these annotations that have no features, or too few.", metavar="DIR"),
    ] = None
    key: Annotated[
        str | None, option("Name of the array in .npz files, where it is not the published one.")
    ] = None
    seconds: Annotated[
        float | None, option("From one row to the next, where it is not as published.", ge=0.001)
    ] = None
    pool: Annotated[
        int, option("Average this many rows into one; an incomplete last group is left out.", ge=1)
    ] = 1
    modality: Annotated[
        Literal["video", "audio", "text", "depth"] | None,
        option("Of a backbone of another name; video by default."),
    ] = None
    anew: Annotated[bool, option("Start over: discard what an interrupted conversion left.")] = False


class CheckStoreSettings(StoreSettings, frozen=True, kw_only=True):
    """A store of features, and the annotations that it is to fit."""

    annotations: Annotated[Path | None, option("Also compare it with these annotations.", metavar="DIR")] = (
        None
    )
    rule: Annotated[str | None, option("List every finding of this rule, for example short.")] = None


class PageSettings(Settings, frozen=True, kw_only=True):
    """Draw runs side by side as one page: scores, what they mean, and every step with its prediction and the reason."""

    runs: Annotated[tuple[Path, ...], argument("Folders of runs, on the same test steps.", metavar="RUN")]
    out: Annotated[Path, PAGE] = Path("page.html")
    annotations: Annotated[
        Path | None,
        option("Folder of the annotations, for texts and times that a run does not hold.", metavar="DIR"),
    ] = None
    title: Annotated[str, TITLE] = ""
    resamples: Annotated[int, option("Draws of the bootstrap; 0 leaves intervals and bands out.", ge=0)] = (
        2_000
    )


class ExtractSettings(Settings, frozen=True, kw_only=True):
    """What is looked at, by whom, and where the rows go."""

    sources: Annotated[
        tuple[Path, ...],
        argument("Videos, or folders of them; for text narrations, or a data set for its steps.", "VIDEO"),
    ]
    out: Annotated[Path, option("Folder of the new store; of several windows STORE-1s, …", metavar="STORE")]
    features: Annotated[
        str,
        option(
            "plain, plain-sound, timm, timm:NAME, torchvision:NAME, transformers, depth (estimated), text:EMBEDDER, or maps of a "
            "layer for detectors of anomalies: timm:NAME@LAYER, torchvision:NAME@LAYER.",
            metavar="WHAT",
        ),
    ] = "plain"
    weights: Annotated[
        Path | None, option("Local folder of the model's weights; nothing is downloaded.", metavar="DIR")
    ] = None
    window: Annotated[
        tuple[float, ...], option("Seconds of a window, a row a second (repeatable).", ge=0.1, le=600)
    ] = (1.0,)
    frames: Annotated[
        int | None, option("Frames of a window; the model's own number without it.", ge=1, le=1024)
    ] = None
    batch: Annotated[int | None, option("Windows at a time, for models; 8 without it.", ge=1, le=4096)] = None
    device: Annotated[str, option("cpu, cuda, cuda:1: where models run.")] = "cpu"


class AnomalySettings(Settings, frozen=True, kw_only=True):
    """Learn what normal recordings look like, and find the frames that do not."""

    section = "learn.anomaly"

    annotations: Annotated[Path, ANNOTATIONS]
    features: Annotated[
        Path, option("Store of features (proctor features): rows, or maps for the blocks.", metavar="STORE")
    ]
    block: Annotated[
        Literal["sspcab", "ssmctb", "knn", "mahalanobis"],
        option(
            "sspcab and ssmctb are the paper's: they predict each place of a map, or second, from those around it. knn and "
            "mahalanobis measure how far a frame is from normal ones; compare with them first."
        ),
    ] = "mahalanobis"
    split: Annotated[
        Literal["R", "P", "E"],
        option("By recordings (R), persons (P) or environments (E), as in the code of the paper."),
    ] = "R"
    per_step: Annotated[
        bool, option("knn, mahalanobis: compare with normal frames of the step that is annotated there.")
    ] = False
    neighbours: Annotated[int, option("knn: how many.", ge=1)] = 5
    most: Annotated[int, option("knn: normal frames that are kept, drawn evenly.", ge=1)] = 50_000
    kernel: Annotated[int, option("sspcab, ssmctb: places that each of the convolutions covers.", ge=1)] = 1
    dilation: Annotated[
        int, option("sspcab, ssmctb: places from the hidden centre to the convolutions, less one.", ge=0)
    ] = 1
    window: Annotated[
        int, option("sspcab, ssmctb: rows that are predicted together, without maps.", ge=1)
    ] = 64
    post: Annotated[
        Literal["none", "published"],
        option(
            "Which scores are written: as they are, or from 0 to 1 within each video and smoothed over time, as published. "
            "Both are evaluated."
        ),
    ] = "none"
    sigma: Annotated[float, option("Seconds of the Gaussian that smooths published scores.", ge=0)] = 3.0
    seed: Annotated[int, SEED] = 0
    resamples: Resamples = 1_000
    out: Annotated[
        Path | None,
        option("Folder for the run: frames.jsonl, scores of steps, checkpoints.", metavar="RUN"),
    ] = None


class ProtocolsSettings(Settings, frozen=True, kw_only=True):
    """Measure what each difference between the paper, its code and what is right changes."""

    annotations: Annotated[Path, ANNOTATIONS]
    model: Annotated[
        Literal["floor", "step", "context"], option("Whose scores are decided and counted in both ways.")
    ] = "context"
    context: Annotated[Literal["causal", "offline"], option("What context knows of the recording.")] = (
        "causal"
    )
    features: Annotated[
        tuple[Path, ...],
        option(
            "Store of features for what networks do (repeatable); planted ones without it.", metavar="STORE"
        ),
    ] = ()
    planted: Annotated[int, option("Recordings of planted features.", ge=12)] = 240
    epochs: Annotated[int, option("Of networks.", ge=1)] = 15
    runs: Annotated[int, option("Trainings, of which one is chosen by test and one by validation.", ge=1)] = 3
    resamples: Resamples = 2_000
    markdown: Annotated[bool, option("Print the table of docs/learn.md.")] = False


class RunsSettings(Settings, frozen=True, kw_only=True):
    """Which runs are listed."""

    folder: Annotated[Path, argument("Folder that runs were written to.", metavar="FOLDER")]


class LearnDemoSettings(Settings, frozen=True, kw_only=True):
    """Where the demo of learning is written, and how long it trains."""

    folder: Annotated[Path, argument("Where to write; made if needed.")] = Path("learn-demo")
    seed: Annotated[int, SEED] = 0
    epochs: Annotated[int, option("Times that all training steps are seen, at most.", ge=1)] = 30
    resamples: Resamples = 2_000


class SweepSettings(Settings, frozen=True, kw_only=True):
    """Try many settings of learn mistakes, and choose on validation."""

    settings: Annotated[
        Path,
        option(
            "What is fixed, tried in every combination, and drawn (TOML); see docs/learn.md.", metavar="FILE"
        ),
    ]
    out: Annotated[Path, option("Folder for the runs and their journal.", metavar="FOLDER")]
