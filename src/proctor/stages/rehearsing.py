"""Rehearsals: workspaces whose models are played, and the package that plays them, found by its entry point.

Models, people's marks and videos are played by ``proctor-rehearsal``, a package of its own. This room knows it only as the
entry point ``proctor.rehearsal``, whose object is a ``Rehearser``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol, cast

import msgspec

from proctor.corpus.collection import Corpus
from proctor.errors import MissingExtraError, UserError
from proctor.llm.model import Model
from proctor.llm.store import CallStore
from proctor.procedure.recording import Recording
from proctor.records import read_json, write_json
from proctor.stages.show import Show
from proctor.workspace import is_there

__all__ = [
    "ENTRY_POINTS",
    "REHEARSAL_FILE",
    "REHEARSAL_VIDEOS",
    "Played",
    "Rehearser",
    "Rehearsing",
    "find_rehearser",
    "mark_rehearsal",
    "played_in",
    "require_no_rehearsal",
]

ENTRY_POINTS: Final = "proctor.rehearsal"
"""Group of the entry point that brings a ``Rehearser``."""
REHEARSAL_FILE: Final = "rehearsal.json"
REHEARSAL_VIDEOS: Final = "rehearsal-videos"
"""Folder of drawn videos in a workspace."""


class Rehearsing(Protocol):
    """A rehearsal that is going on: what stands in for models, videos and people."""

    @property
    def url(self) -> str:
        """Where the models are played."""
        ...

    def resolve(self, name: str) -> Model:
        """Return the model of this name, played."""
        ...

    def videos(self) -> Path:
        """Return a folder with videos of the recordings that are asked about."""
        ...

    def marks(self) -> Sequence[Path]:
        """Return files of marks as people would give them."""
        ...


class Rehearser(Protocol):
    """What the package brings."""

    def open_rehearsal(
        self, root: Path, quality: float, *, seed: int = 0, show: Show
    ) -> AbstractContextManager[Rehearsing]:
        """Play all models of a workspace, which becomes a rehearsal's, for as long as the block lasts.

        Args:
            root: the workspace.
            quality: how often models are right, 0 to 1.
            seed: of every draw.
            show: shows progress.

        Raises:
            UserError: if models were asked in it before, or were played otherwise.
        """
        ...

    def play(self, root: Path, quality: float, *, seed: int = 0) -> AbstractContextManager[Rehearsing]:
        """Play all models of a workspace and leave it as it is: for estimates, whose replies nobody keeps."""
        ...

    def draw_recordings(
        self, recordings: Sequence[tuple[Path, Recording]], *, seen: Callable[[Path], None] | None = None
    ) -> None:
        """Write a drawn video of each recording to the path beside it.

        Raises:
            UserError: if a video cannot be written.
        """
        ...

    def draw_missing(self, corpus: Corpus, images: Path) -> tuple[Corpus, int]:
        """Return the corpus with a drawn card for every image that has no pixels, and how many were drawn.

        Args:
            corpus: whose root is the folder that holds ``images``.
            images: folder of the pictures, within the corpus.

        Raises:
            UserError: if the folder cannot be written.
        """
        ...


def find_rehearser(purpose: str) -> Rehearser:
    """Return what plays models and draws videos.

    Args:
        purpose: what it is needed for, as the first words of a message.

    Raises:
        MissingExtraError: if the package is not installed.
    """
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINTS):
        return cast("Rehearser", entry.load())
    raise MissingExtraError("proctor-rehearsal", "rehearsal", purpose)


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """How models are played in a workspace: replies of another quality or seed would not fit those in the store.

    Attributes:
        quality: probability of being right.
        seed: of every draw.
    """

    quality: float
    seed: int = 0


def played_in(root: Path) -> Played | None:
    """Return how models are played in a workspace, None when it is a real one.

    Raises:
        UserError: if the file that says so cannot be read.
    """
    path = root / REHEARSAL_FILE
    if not is_there(path):
        return None
    played: Played = read_json(path, Played)
    return played


def mark_rehearsal(root: Path, played: Played, *, calls: Path) -> None:
    """Make a workspace a rehearsal's, or see that it is one of this kind.

    Args:
        root: the workspace.
        played: how models are played.
        calls: the workspace's own call store.

    Raises:
        UserError: if models were asked in it before, or were played otherwise.
    """
    before = played_in(root)
    if before is None and is_there(calls) and _has_calls(calls):
        raise UserError(
            "models were asked in this workspace; a rehearsal would mix its replies with theirs.",
            where=str(root),
            hint="rehearse in a workspace of its own",
        )
    if before is not None and before != played:
        raise UserError(
            f"this rehearsal was begun with quality {before.quality:g} and seed {before.seed}, not with quality "
            f"{played.quality:g} and seed {played.seed}.",
            where=str(root),
            hint="go on with the same, or rehearse in a workspace of its own",
        )
    if before is None:
        write_json(root / REHEARSAL_FILE, played)


def _has_calls(path: Path) -> bool:
    """A dry run opens the store and leaves it empty."""
    with CallStore.open(path) as store:
        return len(store) > 0


def require_no_rehearsal(root: Path) -> None:
    """See that real models may be asked.

    Raises:
        UserError: if the workspace is a rehearsal's.
    """
    if played_in(root) is not None:
        raise UserError(
            "this workspace is a rehearsal: its questions, answers and marks were played, not given by models.",
            where=str(root),
            hint="go on with --rehearse, or begin the experiment in another folder",
        )
