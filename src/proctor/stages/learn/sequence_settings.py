"""Options of ``proctor learn sequence``, its tables and its page; msgspec only, so that ``--help`` waits for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import Settings, argument, option
from proctor.stages.learn.settings import PAGE, SEED, TITLE
from proctor.stages.scoring.settings import Resamples

__all__ = ["SequencePageSettings", "SequenceSettings", "SequenceTableSettings"]

_FILE = "FILE"
_PROTOCOL = option("What is right, what the paper says, or what its code does; see docs/sequencing.md.")


class SequenceSettings(Settings, frozen=True, kw_only=True):
    """Train a model that puts the shuffled steps of manuals in order, and test it on manuals of other tasks."""

    section = "learn.sequence"

    data: Annotated[Path, option('{"id", "task", "steps": [text, …]} a line, in true order.', metavar=_FILE)]
    model: Annotated[
        Literal["tiny", "pairwise", "berson"],
        option("tiny: BERSON, from nothing; pairwise: calibrated pairs; berson: any encoder."),
    ] = "tiny"
    encoder: Annotated[
        str | None, option("tiny, words; text:, clip:, resnet:, features:DIR; visualbert:, clip-vil:DIR+DIR.")
    ] = None
    modality: Annotated[Literal["text", "image", "both"], option("What is shown of a step.")] = "text"
    pretrain: Annotated[str, option("mlm, isp (images), pisp (patches), smrm (regions), with commas.")] = ""
    pretrain_epochs: Annotated[int | None, option("Times that pretraining sees all manuals.", ge=1)] = None
    protocol: Annotated[Literal["paper", "code", "right"], _PROTOCOL] = "right"
    goal: Annotated[bool, option("Show the goal before every step, as people saw it.")] = False
    most_steps: Annotated[int, option("Longer sequences are left out.", ge=2, le=1_000)] = 64
    seed: Annotated[int, SEED] = 0
    resamples: Resamples = 2_000
    out: Annotated[Path | None, option("Folder of the run; an interrupted one continues.", metavar="RUN")] = (
        None
    )


class SequenceTableSettings(Settings, frozen=True, kw_only=True):
    """Make Table 2 or 3 of the paper on other data: what is printed, what is measured here, people and chance."""

    number: Annotated[Literal["2", "3"], argument("2: models; 3: objectives one by one.", "TABLE")]
    data: Annotated[tuple[Path, ...], option("File of sequences (repeatable).", metavar=_FILE)]
    out: Annotated[Path, option("Folder for the runs, one a cell and seed; done ones are used again.")]
    model: Annotated[
        tuple[Literal["tiny", "pairwise"], ...],
        option("Of table 2 (repeatable); pairwise has no pretraining and is shown texts."),
    ] = ("tiny", "pairwise")
    encoder: Annotated[tuple[str, ...], option("Of berson (repeatable).", metavar="MODALITY=ENCODER")] = ()
    protocol: Annotated[Literal["paper", "code", "right"], _PROTOCOL] = "right"
    seeds: Annotated[int, option("Trainings of each cell; their mean and deviation are shown.", ge=1)] = 1
    resamples: Resamples = 0
    form: Annotated[Literal["text", "markdown", "latex"], option("How it is printed.", "--as")] = "text"


class SequencePageSettings(Settings, frozen=True, kw_only=True):
    """Draw runs of learn sequence as one page: leaderboard, pairs, and sequences in predicted and true order."""

    runs: Annotated[tuple[Path, ...], argument("Folders of runs, on the same file and seed.", metavar="RUN")]
    out: Annotated[Path, PAGE] = Path("page.html")
    data: Annotated[Path | None, option("The file, where it was moved.", metavar=_FILE)] = None
    people: Annotated[Path | None, option("Answers of people: docs/sequencing.md.", metavar=_FILE)] = None
    examples: Annotated[int, option("Sequences that are shown.", ge=0, le=200)] = 24
    title: Annotated[str, TITLE] = ""
