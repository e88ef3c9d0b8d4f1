"""The whole job on the shipped sample, in one go."""

from __future__ import annotations

from pathlib import Path

import msgspec

from proctor.datasets.dataset import load_dataset
from proctor.errors import MissingExtraError
from proctor.procedure.recording import Recording
from proctor.samples import copy_sample
from proctor.stages.build import Built, build
from proctor.stages.derive import Derived, derive
from proctor.stages.everyday import NAME, VERSION
from proctor.stages.exam_settings import PredictSettings, ScoreSettings
from proctor.stages.generate import Generated, generate
from proctor.stages.judge import Judged, judge
from proctor.stages.predict import PREDICTORS, predict
from proctor.stages.read import read
from proctor.stages.rehearsing import find_rehearser
from proctor.stages.report import Reported, report
from proctor.stages.score import ScoredRuns, score
from proctor.stages.settings import BuildSettings, GenerateSettings, ReportSettings
from proctor.stages.show import Show
from proctor.stages.verify import Verified, verify
from proctor.workspace import Workspace, is_there

__all__ = ["Show", "Shown", "demo", "render_videos"]


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What every stage of the demo says of itself.

    Attributes:
        rendered: videos that were drawn.
        no_video: why none could be; empty when they could.
        scores: the scored runs.
    """

    rendered: int
    no_video: str
    read: dict[str, int]
    derive: Derived
    generate: Generated
    verify: Verified
    build: Built
    judge: Judged
    report: Reported
    scores: ScoredRuns


def demo(folder: Path, *, show: Show, video: bool, seed: int) -> Shown:
    """Copy the sample, render its videos, and run every stage; what is there already is used again.

    Args:
        folder: where everything is written: ``sample/`` (the data) and ``bench/`` (the workspace).
        show: shows progress.
        video: render the videos, so that the report has pictures.
        seed: of all stages.

    Raises:
        UserError: if the folder cannot be written.
    """
    data, bench = folder / "sample", folder / "bench"
    if not is_there(data / "dataset.json"):
        copy_sample(data)
    rendered, no_video = 0, ""
    if video:
        try:
            rendered = render_videos(data, show=show)
        except MissingExtraError as error:
            no_video = f"no videos: {error.message} ({error.hint})"
    brought = read("plain", data, bench).counts
    derived = derive(bench)
    with show("asking questions", derived.examples) as seen:
        generated = generate(bench, GenerateSettings(sample="all", seed=seed), seen=seen)
    with show("checking them against the task graph", generated.candidates) as seen:
        verified = verify(bench, seen=seen)
    built = build(bench, Workspace(bench).resolve(BuildSettings, name=NAME, version=VERSION, seed=seed))
    for name in PREDICTORS:
        with show(f"answering: {name}", built.items) as seen:
            predict(bench, name, PredictSettings(seed=seed), seen=seen)
    with show("marking the answers", built.items * len(PREDICTORS)) as seen:
        judged = judge(bench, seen=seen)
    scored = score(bench, ScoreSettings(seed=seed))
    with show("taking frames for the report", built.items) as seen:
        page = report(bench, ReportSettings(title="Everyday sample"), seen=seen)
    return Shown(
        rendered=rendered, no_video=no_video, read=brought, derive=derived, generate=generated, verify=verified,
        build=built, judge=judged, report=page, scores=scored,
    )  # fmt: skip


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
