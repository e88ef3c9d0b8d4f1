"""What ``proctor`` finds under its entry point ``proctor.rehearsal``: models played, people's marks, videos and cards drawn.

The functions of this module are a ``proctor.stages.rehearsing.Rehearser``. Stages, calls and files of an experiment stay the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from proctor.errors import UserError
from proctor.llm.model import Model, ModelName
from proctor.llm.registry import resolve
from proctor.procedure.recording import Recording
from proctor.stages.models import CALLS
from proctor.stages.rehearsing import REHEARSAL_VIDEOS, Played, mark_rehearsal
from proctor.stages.show import Show
from proctor.workspace import Workspace
from proctor_rehearsal.drawing.cards import draw_missing
from proctor_rehearsal.drawing.recordings import render_videos
from proctor_rehearsal.drawing.render import Job, render_many
from proctor_rehearsal.drawing.scene import scenes_from_recording
from proctor_rehearsal.players.marks import write_marks
from proctor_rehearsal.players.player import rehearse
from proctor_rehearsal.standin.server import Standin

__all__ = ["RehearsedModels", "draw_missing", "draw_recordings", "open_rehearsal", "play"]

_PLAYED: Final[Mapping[str, tuple[str, str]]] = {
    "openai": ("openai", "/v1"),
    "anthropic": ("anthropic", ""),
    "google": ("google", ""),
    "compat": ("compat", "/v1"),
    "anyllm": ("compat", "/v1"),
}
"""Providers that are played, by which of ours, and where the server speaks their protocol."""
_MARKS: Final = "rehearsal-marks.csv"
_SHARE: Final = 0.5
"""Of the answers that the rehearsal's people mark."""


@dataclass(frozen=True, slots=True)
class RehearsedModels:
    """A rehearsal that is going on.

    Attributes:
        root: the workspace.
        server: that plays the models.
        seed: of every draw.
        show: shows progress.
    """

    root: Path
    server: Standin
    seed: int
    show: Show

    @property
    def url(self) -> str:
        """Where the models are played."""
        return self.server.url

    def resolve(self, name: str) -> Model:
        """Return the model of this name, played here.

        Raises:
            UserError: if models of this provider are not played: a real one is never asked in a rehearsal.
        """
        parsed = ModelName.parse(name)
        if parsed.provider not in _PLAYED:
            raise UserError(
                f"models of '{parsed.provider}' are not played in rehearsals.",
                where=name,
                hint=f"rehearse with one of {', '.join(_PLAYED)}",
            )
        provider, path = _PLAYED[parsed.provider]
        return resolve(f"{provider}/{parsed.model}@{self.url}{path}")

    def videos(self) -> Path:
        """Draw the videos of the recordings that are asked about, and return their folder."""
        folder = self.root / REHEARSAL_VIDEOS
        with self.show("drawing videos in place of recordings") as seen:
            render_videos(self.root, folder, seen=lambda _: seen())
        return folder

    def marks(self) -> Sequence[Path]:
        """Mark answers as people would, and return the file."""
        path = self.root / _MARKS
        write_marks(self.root, path, share=_SHARE, seed=self.seed)
        return [path]


@contextmanager
def open_rehearsal(root: Path, quality: float, *, seed: int = 0, show: Show) -> Iterator[RehearsedModels]:
    """Play all models of a workspace for as long as the block lasts. No key leaves this machine.

    Args:
        root: the workspace; it becomes a rehearsal's.
        quality: how often models are right, 0 to 1.
        seed: of every draw.
        show: shows progress.

    Raises:
        UserError: if models were asked in it before, or were played otherwise.
    """
    workspace = Workspace(root)
    workspace.create()
    mark_rehearsal(root, Played(quality=quality, seed=seed), calls=workspace.root / CALLS)
    with _played(root, quality, seed, show) as models:
        yield models


@contextmanager
def play(root: Path, quality: float, *, seed: int = 0) -> Iterator[RehearsedModels]:
    """Play all models of a workspace and leave it as it is: for estimates, whose replies nobody keeps."""
    with _played(root, quality, seed, lambda _title, _total=None: nullcontext(lambda: None)) as models:
        yield models


@contextmanager
def _played(root: Path, quality: float, seed: int, show: Show) -> Iterator[RehearsedModels]:
    with rehearse(root, quality=quality, seed=seed) as server, _keys(server.environment):
        yield RehearsedModels(root, server, seed, show)


def draw_recordings(
    recordings: Sequence[tuple[Path, Recording]], *, seen: Callable[[Path], None] | None = None
) -> None:
    """Write a drawn video of each recording to the path beside it.

    Raises:
        UserError: if a video cannot be written.
    """
    render_many(
        [Job(path, scenes_from_recording(r), seed=n) for n, (path, r) in enumerate(recordings)], seen=seen
    )


@contextmanager
def _keys(environment: Mapping[str, str]) -> Iterator[None]:
    """Put the server's keys in place of the user's."""
    keys = {name: value for name, value in environment.items() if name.endswith("_KEY")}
    keys |= {"GOOGLE_API_KEY": keys["GEMINI_API_KEY"], "COMPAT_API_KEY": keys["OPENAI_API_KEY"]}
    before = {name: os.environ.get(name) for name in keys}
    os.environ.update(keys)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
