"""Options of ``proctor learn zeroshot``; msgspec only, so that ``--help`` waits for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from proctor.settings import option
from proctor.stages.learn.settings import ANNOTATIONS, SEED
from proctor.stages.settings import ReplyOptions

__all__ = ["ZeroshotSettings"]


class ZeroshotSettings(ReplyOptions, frozen=True, kw_only=True):
    """Whom to ask about which steps, what of them is shown, and how replies become decisions."""

    section = "learn.zeroshot"

    annotations: Annotated[Path, ANNOTATIONS]
    out: Annotated[
        Path, option("Folder of the run: its questions, calls, answers, figures and page.", "--out", "-o")
    ]
    model: Annotated[
        str,
        option(
            "Model that is asked: openai/gpt-4o, compat/NAME@http://host:8000/v1, …",
            "--model",
            "-m",
            metavar="MODEL",
        ),
    ]
    variant: Annotated[
        Literal["v1", "v2"],
        option("v1: was the step carried out? v2: one question for each of seven categories of mistakes."),
    ] = "v1"
    protocol: Annotated[
        Literal["right", "published"],
        option(
            "published asks all seven categories of every step; right skips those that a step has nothing of."
        ),
    ] = "right"
    show: Annotated[
        str,
        option(
            "What is shown of a step: frames:8 (default), frames:16@full, frames:fps1:32, video:360p (its clip), times (text only: when it was), or "
            "question (blind)."
        ),
    ] = "frames:8"
    style: Annotated[
        Literal["short", "instruction"],
        option(
            "How it is asked: a short question (Video-LLaVA), or an instruction that comes with a video (TimeChat)."
        ),
    ] = "short"
    videos: Annotated[
        Path | None,
        option(
            "Folder of the recordings' videos, by id (1_7.mp4, 1_7_360p.mp4). Default: that of the annotations."
        ),
    ] = None
    missing: Annotated[
        Literal["gap", "whole", "skip"],
        option(
            "Which part of the video stands for a step without times: the gap where the task graph would have it, the whole "
            "recording, or none (left out, and counted)."
        ),
    ] = "gap"
    combine: Annotated[
        Literal["or", "logistic"],
        option(
            "v2: one category that signals a mistake is enough, or weights fitted on the validation part (test is scored)."
        ),
    ] = "or"
    split: Annotated[
        Literal["R", "P", "E", "S"],
        option("By which wordings and weights are chosen: recordings, persons, environments or steps."),
    ] = "R"
    part: Annotated[
        Literal["all", "test"], option("Which steps are scored: all 5,700, as published, or the test part.")
    ] = "all"
    develop: Annotated[
        int,
        option(
            "Steps of the training part, for each category, on which its wordings compete; 0 takes the first wording.",
            ge=0,
        ),
    ] = 40
    writer: Annotated[
        str | None,
        option(
            "v2: a language model that writes each question for its step, as published; what it writes is checked and kept in "
            "written.jsonl (default: our fixed wordings).",
            metavar="MODEL",
        ),
    ] = None
    sample: Annotated[int | None, option("Ask only about this many steps, drawn by the seed.", ge=1)] = None
    resamples: Annotated[int, option("Of the intervals over recordings; 0 for none.", ge=0)] = 2_000
    seed: Annotated[int, SEED] = 0
