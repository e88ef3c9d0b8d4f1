"""``proctor learn demo``: the whole way from video to page on the shipped sample, without any weights or downloads."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final, Literal

import msgspec

from proctor.learn.settings import TrainOptions
from proctor.records import is_there
from proctor.samples import copy_sample
from proctor.stages.demo import render_videos
from proctor.stages.learn.extract import Extraction, extract
from proctor.stages.learn.mistakes import LearnedMistakes, learn_mistakes
from proctor.stages.learn.page import draw_runs
from proctor.stages.learn.settings import ExtractSettings, LearnDemoSettings, MistakesSettings, PageSettings
from proctor.stages.show import Show

__all__ = ["LearnDemo", "learn_demo"]

MODELS: Final[tuple[Literal["floor", "v2"], ...]] = ("floor", "v2")
"""What is trained: the floor without pixels, and the paper's transformer over the features of a step."""


class LearnDemo(msgspec.Struct, frozen=True):
    """What came out.

    Attributes:
        rendered: videos that were drawn by this run.
        extraction: of the features; None where the store was there already.
        learned: by model.
        page: of the runs.
        seconds: by part of the job.
    """

    rendered: int
    extraction: Extraction | None
    learned: dict[str, LearnedMistakes]
    page: str
    seconds: dict[str, float]


def learn_demo(settings: LearnDemoSettings, *, show: Show) -> LearnDemo:
    """Render the sample's videos, extract plain features, train V2 and the floor, and draw the page; what is there is used again.

    Raises:
        UserError: if the folder cannot be written, or what is in it is of another seed.
        MissingExtraError: without the extras ``video``, ``rehearsal`` or ``learn``.
    """
    folder, seconds = settings.folder, _Watch()
    data, store, runs = folder / "sample", folder / "plain", folder / "runs"
    if not is_there(data / "dataset.json"):
        copy_sample(data)
    rendered = render_videos(data, show=show)
    seconds.lap("render")
    extraction = None
    if not is_there(store):
        extraction = extract(ExtractSettings(sources=(data / "videos",), out=store), show=show)
    seconds.lap("extract")
    learned: dict[str, LearnedMistakes] = {
        model: _learn(model, data, store, runs / model, settings, show) for model in MODELS
    }
    seconds.lap("train")
    page = PageSettings(
        runs=tuple(runs / model for model in MODELS),
        out=folder / "page.html",
        annotations=data,
        title="Everyday sample: mistakes in steps",
        resamples=settings.resamples,
    )
    drawn = draw_runs(page)
    seconds.lap("page")
    return LearnDemo(rendered, extraction, learned, drawn.page, seconds.laps)


def _learn(
    model: Literal["floor", "v2"], data: Path, store: Path, run: Path, settings: LearnDemoSettings, show: Show
) -> LearnedMistakes:
    asked = MistakesSettings(
        annotations=data,
        features=(store,) if model == "v2" else (),
        model=model,
        seed=settings.seed,
        resamples=settings.resamples,
        out=run,
    )
    return learn_mistakes(asked, TrainOptions(epochs=settings.epochs, device="cpu"), show)


class _Watch:
    """Seconds of each part of a job."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._begin = time.monotonic()

    def lap(self, name: str) -> None:
        now = time.monotonic()
        self.laps[name], self._begin = round(now - self._begin, 1), now
