"""An experiment rehearsed: the same stages, calls and files, with all models played on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from proctor.llm.model import Model, ModelName
from proctor.llm.registry import resolve
from proctor.llm.standin import Standin
from proctor.stages.experiment.conduct import Show
from proctor.stages.models import CALLS
from proctor.stages.rehearsal import rehearse, render_videos, write_marks
from proctor.stages.rehearsal.marker import Played, mark_rehearsal
from proctor.workspace import Workspace

__all__ = ["REHEARSAL_VIDEOS", "RehearsedModels", "open_rehearsal", "played_keys"]

_PLAYED: Final[Mapping[str, tuple[str, str]]] = {
    "openai": ("openai", "/v1"),
    "anthropic": ("anthropic", ""),
    "google": ("google", ""),
    "compat": ("compat", "/v1"),
    "anyllm": ("compat", "/v1"),
}
"""Providers that are played, by which of ours, and where the server speaks their protocol. Others need no network."""
_MARKS: Final = "rehearsal-marks.csv"
REHEARSAL_VIDEOS: Final = "rehearsal-videos"
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
        """Return the model of this name, played here when it would be asked over the network."""
        parsed = ModelName.parse(name)
        if parsed.provider not in _PLAYED:
            return resolve(name)
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
    with rehearse(root, quality=quality, seed=seed) as server, played_keys(server.environment):
        yield RehearsedModels(root, server, seed, show)


@contextmanager
def played_keys(environment: Mapping[str, str]) -> Iterator[None]:
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
