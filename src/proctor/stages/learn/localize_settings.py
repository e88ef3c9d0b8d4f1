"""Options of ``proctor learn localize``; msgspec only, so that ``--help`` waits for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import Settings, option
from proctor.stages.learn.settings import ANNOTATIONS, OVERWRITE, SEED
from proctor.stages.scoring.settings import Resamples

__all__ = ["LocalizeSettings"]


class LocalizeSettings(Settings, frozen=True, kw_only=True):
    """Train a model that finds which step happens when in whole recordings, and test it."""

    section = "learn.localize"

    annotations: Annotated[Path, ANNOTATIONS]
    features: Annotated[
        tuple[Path, ...],
        option("Store of features (proctor features); rows of several are concatenated.", metavar="STORE"),
    ] = ()
    model: Annotated[
        Literal["prior", "actionformer", "segmenter"],
        option(
            "prior sees no pixels: it knows the recipe and the length of a recording. actionformer is the paper's; segmenter "
            "labels every row. Both need --features."
        ),
    ] = "prior"
    hidden: Annotated[
        int | None, option("Channels inside of a network; 512 for actionformer, 64 for segmenter.", ge=4)
    ] = None
    levels: Annotated[
        int, option("Levels of actionformer's pyramid, each of half the rate of the one before.", ge=1, le=8)
    ] = 8
    split: Annotated[
        Literal["E", "P", "R", "Re"],
        option(
            "By environments (E), persons (P), recordings (R) or recipes (Re), as in the annotations; not those of learn "
            "mistakes."
        ),
    ] = "E"
    protocol: Annotated[
        Literal["paper", "code", "right"],
        option("What the paper says, what its released code does, or what is right; see docs/localize.md."),
    ] = "right"
    with_val: Annotated[
        bool,
        option(
            "Train on the validation recordings, too, as the other protocols do; nothing is then chosen on them."
        ),
    ] = False
    robust: Annotated[
        bool,
        option(
            "Also train on recordings without mistakes alone, and on as many of all, and compare test recordings without "
            "and with mistakes."
        ),
    ] = False
    seed: Annotated[int, SEED] = 0
    resamples: Resamples = 1_000
    out: Annotated[
        Path | None,
        option(
            "Folder for the run: predictions.csv and truth.csv for proctor metrics localization.",
            metavar="RUN",
        ),
    ] = None
    overwrite: Annotated[bool, OVERWRITE] = False
