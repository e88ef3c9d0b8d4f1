"""The whole job on the shipped sample, in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from proctor.datasets.dataset import load_dataset
from proctor.errors import MissingExtraError
from proctor.procedure.recording import Recording
from proctor.samples import copy_sample
from proctor.stages.build import build
from proctor.stages.derive import derive
from proctor.stages.everyday import NAME, VERSION
from proctor.stages.exam_settings import PredictSettings, ScoreSettings
from proctor.stages.generate import generate
from proctor.stages.judge import judge
from proctor.stages.predict import PREDICTORS, predict
from proctor.stages.read import read
from proctor.stages.rehearsing import find_rehearser
from proctor.stages.report import report
from proctor.stages.score import ScoredRuns, score
from proctor.stages.settings import GenerateSettings, ReportSettings
from proctor.stages.show import Show
from proctor.stages.verify import verify
from proctor.workspace import is_there

__all__ = ["Show", "demo", "render_videos"]


def demo(folder: Path, *, show: Show, video: bool = True, seed: int = 0) -> dict[str, Any]:
    """Copy the sample, render its videos, and run every stage; what is there already is used again.

    Args:
        folder: where everything is written: ``sample/`` (the data) and ``bench/`` (the workspace).
        show: shows progress.
        video: render the videos, so that the report has pictures.
        seed: of all stages.

    Returns:
        The counts of every stage, and under ``scores`` the scored runs.

    Raises:
        UserError: if the folder cannot be written.
    """
    data, bench = folder / "sample", folder / "bench"
    if not is_there(data / "dataset.json"):
        copy_sample(data)
    counts: dict[str, Any] = {"rendered": 0, "no_video": ""}
    if video:
        try:
            counts["rendered"] = render_videos(data, show=show)
        except MissingExtraError as error:
            counts["no_video"] = f"no videos: {error.message} ({error.hint})"
    counts["read"] = read("plain", data, bench).counts
    counts["derive"] = msgspec.to_builtins(derive(bench))
    with show("asking questions", counts["derive"]["examples"]) as seen:
        counts["generate"] = msgspec.to_builtins(
            generate(bench, GenerateSettings(sample="all", seed=seed), seen=seen)
        )
    with show("checking them against the task graph", counts["generate"]["candidates"]) as seen:
        counts["verify"] = verify(bench, seen=seen)
    counts["build"] = build(bench, name=NAME, version=VERSION, seed=seed)
    for name in PREDICTORS:
        with show(f"answering: {name}", counts["build"]["items"]) as seen:
            predict(bench, name, PredictSettings(seed=seed), seen=seen)
    with show("marking the answers", counts["build"]["items"] * len(PREDICTORS)) as seen:
        counts["judge"] = msgspec.to_builtins(judge(bench, seen=seen))
    scored: ScoredRuns = score(bench, ScoreSettings(seed=seed))
    with show("taking frames for the report", counts["build"]["items"]) as seen:
        page = report(bench, ReportSettings(title="Everyday sample"), seen=seen)
        counts["report"] = msgspec.to_builtins(page)
    return {**counts, "scores": scored}


def render_videos(data: Path, *, show: Show) -> int:
    """Render the video of every recording of a plain folder that names one which is not there yet.

    Raises:
        MissingExtraError: without the extra ``rehearsal``.
        UserError: if a video cannot be written.
    """
    rehearser = find_rehearser("Drawing the sample's videos")
    missing: list[tuple[Path, Recording]] = [
        (data / recording.video, recording)
        for recording in load_dataset("plain").read(data, "corrected").recordings
        if recording.video and not (data / recording.video).exists()
    ]
    with show("rendering the sample's videos", len(missing)) as seen:
        rehearser.draw_recordings(missing, seen=lambda _: seen())
    return len(missing)
