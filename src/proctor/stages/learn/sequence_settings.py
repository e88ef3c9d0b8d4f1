"""Options of ``proctor learn sequence``, its tables and its page; msgspec only, so that ``--help`` waits for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import Settings, argument, option
from proctor.stages.learn.settings import RESAMPLES, SEED

__all__ = ["SequencePageSettings", "SequenceSettings", "SequenceTableSettings"]

_PROTOCOL = option(
    "What is right, what the paper says, or what its released code does; docs/sequencing.md lists what differs."
)


class SequenceSettings(Settings, frozen=True, kw_only=True):
    """Learn to put the shuffled steps of manuals in order, and test it on manuals of other tasks."""

    section = "learn.sequence"

    data: Annotated[
        Path,
        option(
            'A manual a line: {"id": …, "task": …, "steps": [text, …]} in true order; docs/sequencing.md says what else.',
            metavar="FILE",
        ),
    ]
    model: Annotated[
        Literal["tiny", "pairwise", "berson"],
        option(
            "tiny: BERSON with an encoder trained from nothing; pairwise: calibrated pairs, the likeliest order of all; berson: with any encoder."
        ),
    ] = "tiny"
    encoder: Annotated[
        str | None,
        option(
            "tiny, text:DIR, clip:DIR, resnet:DIR, features:DIR, visualbert:DIR+DIR, clip-vil:DIR+DIR; of pairwise also words.",
            metavar="ENCODER",
        ),
    ] = None
    modality: Annotated[
        Literal["text", "image", "both"], option("What is shown of a step; the rest is hidden.")
    ] = "text"
    pretrain: Annotated[
        str,
        option(
            "Objectives of pretraining: mlm (words), isp (swapped images), pisp (swapped patches), smrm (hidden regions).",
            metavar="mlm,isp,…",
        ),
    ] = ""
    pretrain_epochs: Annotated[int | None, option("Times that pretraining sees all manuals.", ge=1)] = None
    protocol: Annotated[Literal["paper", "code", "right"], _PROTOCOL] = "right"
    goal: Annotated[
        bool, option("Show the goal before every step; people saw it, published models did not.")
    ] = False
    most_steps: Annotated[
        int,
        option("Longer sequences are left out and counted: every ordered pair is looked at.", ge=2, le=1_000),
    ] = 64
    seed: Annotated[int, SEED] = 0
    resamples: Annotated[int, RESAMPLES] = 2_000
    out: Annotated[
        Path | None,
        option(
            "Folder for the run: model, predictions.jsonl, items.jsonl, checkpoints; one that was killed goes on.",
            metavar="RUN",
        ),
    ] = None


class SequenceTableSettings(Settings, frozen=True, kw_only=True):
    """Make Table 2 or 3 of the paper on other data: what is printed, what is measured here, people and chance."""

    number: Annotated[
        Literal["2", "3"],
        argument(
            "2: modalities and models, with and without pretraining; 3: objectives one by one.", "TABLE"
        ),
    ]
    data: Annotated[
        tuple[Path, ...], option("File of sequences (repeatable): a column of figures each.", metavar="FILE")
    ]
    out: Annotated[Path, option("Folder for the runs, one a cell and seed; done ones are used again.")]
    model: Annotated[
        tuple[Literal["tiny", "pairwise"], ...],
        option("Of table 2 (repeatable); pairwise has no pretraining and is shown texts."),
    ] = ("tiny", "pairwise")
    encoder: Annotated[
        tuple[str, ...],
        option(
            "More rows: BERSON with this encoder (repeatable), as MODALITY=ENCODER.", metavar="text=text:DIR"
        ),
    ] = ()
    protocol: Annotated[Literal["paper", "code", "right"], _PROTOCOL] = "right"
    seeds: Annotated[int, option("Trainings of each cell; their mean and deviation are shown.", ge=1)] = 1
    resamples: Annotated[int, RESAMPLES] = 0
    form: Annotated[
        Literal["text", "markdown", "latex"], option("How it is printed, without --json.", "--as")
    ] = "text"


class SequencePageSettings(Settings, frozen=True, kw_only=True):
    """Draw runs of learn sequence as one page: leaderboard, pairs, and sequences in predicted and true order."""

    runs: Annotated[tuple[Path, ...], argument("Folders of runs, on the same file and seed.", metavar="RUN…")]
    out: Annotated[Path, option("The page.", metavar="FILE")] = Path("page.html")
    data: Annotated[
        Path | None,
        option("The file of sequences, where it is no more where the runs read it.", metavar="FILE"),
    ] = None
    people: Annotated[
        Path | None,
        option(
            "Answers of people, for a row of their own; docs/sequencing.md says what a line holds.",
            metavar="FILE",
        ),
    ] = None
    examples: Annotated[int, option("Sequences that are shown.", ge=0, le=200)] = 24
    title: Annotated[str, option("Heading of the page.")] = ""
