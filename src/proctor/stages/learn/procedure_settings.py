"""Options of ``proctor learn procedure``; msgspec only, so that ``--help`` waits for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import Settings, option
from proctor.stages.learn.settings import ANNOTATIONS, SEED
from proctor.stages.scoring.settings import Resamples

__all__ = ["ProcedureSettings"]


class ProcedureSettings(Settings, frozen=True, kw_only=True):
    """Find the key steps of each activity in its videos, without labels, and compare them with the annotated ones."""

    section = "learn.procedure"

    annotations: Annotated[Path, ANNOTATIONS]
    features: Annotated[
        Path | None,
        option(
            "Store of features (proctor features): rows, or maps of a layer. Without one only the rows of chance are printed.",
            metavar="STORE",
        ),
    ] = None
    method: Annotated[
        Literal["tcc", "cidm", "none"],
        option(
            "How frames are embedded: by cycles between videos, by these and by time within a video (C-IDM), or not at all."
        ),
    ] = "tcc"
    head: Annotated[
        Literal["procut", "kmeans", "subset", "ordered"],
        option(
            "How embedded frames become key steps: fuzzy c-means and a chain, k-means, half of the centres of k-means; ordered "
            "follows the task graph, and uses how many steps it has."
        ),
    ] = "procut"
    clusters: Annotated[
        str,
        option("How many clusters, or auto: those of 30 that a chain goes on using.", metavar="K|auto"),
    ] = "30"
    distance: Annotated[
        Literal["l1", "potts"],
        option(
            "procut: what a change costs, by the number of clusters in between (in order of time), or the same."
        ),
    ] = "l1"
    idm_weight: Annotated[float, option("cidm: weight of C-IDM beside the cycles.", ge=0)] = 0.01
    far: Annotated[
        float,
        option(
            "cidm: frames that are more than so many seconds apart are pushed apart; at most the length of a short step.",
            metavar="SECONDS",
            ge=0,
            le=3_600,
        ),
    ] = 10.0
    anchors: Annotated[
        Path | None,
        option(
            "ordered: store of the texts of steps, a row a step and its id as the recording, embedded by the model that looked "
            "at the frames.",
            metavar="STORE",
        ),
    ] = None
    recordings: Annotated[
        Literal["normal", "all"], option("Recordings without any mistake, as published, or all.")
    ] = "normal"
    rate: Annotated[
        float, option("Frames a second that are labelled and counted; chance depends on it.", ge=0.01, le=240)
    ] = 15.0
    protocol: Annotated[
        Literal["code", "right"],
        option(
            "What is right, or what the released code does; docs/procedure-learning.md lists what differs."
        ),
    ] = "right"
    seed: Annotated[int, SEED] = 0
    draws: Annotated[int, option("Draws of random labels.", ge=1, le=1000)] = 20
    resamples: Resamples = 1_000
    out: Annotated[
        Path | None,
        option("Folder for the run: labels of each recording, figures, checkpoints.", metavar="RUN"),
    ] = None
