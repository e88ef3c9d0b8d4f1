"""Rehearsals: workspaces whose models are played, and the package that plays them, found by its entry point.

Played replies and real ones never meet: ``choose_models`` is the one place that decides which of them a workspace takes.
Models, people's marks and videos are played by ``proctor-rehearsal``, a package of its own. This room knows it only as the
entry point ``proctor.rehearsal``, whose object is a ``Rehearser``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast
from urllib.parse import urlsplit

import msgspec

from proctor.errors import MissingExtraError, UserError
from proctor.llm.model import Model, ModelName
from proctor.llm.registry import resolve
from proctor.llm.store import CallStore
from proctor.procedure.recording import Recording
from proctor.records import read_json, write_json
from proctor.workspace import is_there

if TYPE_CHECKING:
    from proctor.corpus.collection import Corpus
    from proctor.stages.show import Show

__all__ = [
    "ENTRY_POINTS",
    "PLAYS",
    "REHEARSAL_FILE",
    "REHEARSAL_VIDEOS",
    "TRIAL_FILE",
    "Played",
    "Rehearser",
    "Rehearsing",
    "choose_models",
    "find_rehearser",
    "in_trial",
    "is_served",
    "mark_rehearsal",
    "played_in",
    "require_local_embedder",
    "require_no_rehearsal",
]

ENTRY_POINTS: Final = "proctor.rehearsal"
"""Group of the entry point that brings a ``Rehearser``."""
REHEARSAL_FILE: Final = "rehearsal.json"
TRIAL_FILE: Final = ".trial"
"""Marks the copy of a workspace that a dry run works on."""
REHEARSAL_VIDEOS: Final = "rehearsal-videos"
"""Folder of drawn videos in a workspace."""
PLAYS: Final = "/standin/plays"
"""Where a server on this machine says that it plays the models of a workspace."""
_ASK_SECONDS: Final = 2.0


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
        qualities: of some models by regular expressions found in their names, in order; written where there are any.
    """

    quality: float
    seed: int = 0
    qualities: dict[str, float] | msgspec.UnsetType = msgspec.UNSET


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
            f"this rehearsal was begun with {_told(before)}, not with {_told(played)}.",
            where=str(root),
            hint="continue with the same, or rehearse in a workspace of its own",
        )
    if before is None:
        write_json(root / REHEARSAL_FILE, played)


def _told(played: Played) -> str:
    some = "".join(f", {value:g} of {name!r}" for name, value in (played.qualities or {}).items())
    return f"quality {played.quality:g}{some} and seed {played.seed}"


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
            hint="continue with --rehearse, or begin the experiment in another folder",
        )


def is_served(embedder: str) -> bool:
    """True for an embedder that is asked over the network."""
    return embedder.startswith(("openai/", "compat/"))


def require_local_embedder(root: Path, spec: str) -> None:
    """See that a rehearsal asks no server for vectors.

    Raises:
        UserError: if the workspace is a rehearsal's and the embedder is asked over the network.
    """
    if is_served(spec) and played_in(root) is not None:
        raise UserError(
            f"this workspace is a rehearsal: no server is asked for vectors, and '{spec[:80]}' is one.",
            where=str(root),
            hint="embed with lsa or a model in a folder",
        )


def in_trial(root: Path) -> bool:
    """True in the copy of a workspace that a dry run works on: no server is asked for anything."""
    return is_there(root / TRIAL_FILE)


def choose_models(root: Path, calls: str | None, rehearsal: Rehearsing | None) -> Callable[[str], Model]:
    """Return how names become models in a workspace, whichever command asks.

    A rehearsal's workspace takes played models alone, a real one real models alone; so do their call stores.

    Args:
        root: the workspace.
        calls: path or URL of the call store; None for the workspace's own.
        rehearsal: that is going on.

    Returns:
        A function from the name of a model to the model, which raises ``UserError`` for one that is not taken.

    Raises:
        UserError: if played and real replies would meet in the call store.
    """
    played = played_in(root)
    if calls is None or "://" in calls:
        stored = played if calls is None else None
    else:
        stored = played_in(Path(calls).parent)
    if stored != played if rehearsal is None else stored is None:
        raise UserError(
            "replies of models and played ones would meet in this call store.",
            where=calls or str(root),
            hint="leave --calls out, or name the call store of a workspace that is rehearsed the same way"
            if played is not None
            else "it is a rehearsal's; leave --calls out, or name another one",
        )
    if rehearsal is not None:
        return rehearsal.resolve
    return partial(_real if played is None else _played, root)


def _real(root: Path, name: str) -> Model:
    parsed = ModelName.parse(name)
    if parsed.provider == "replay" and played_in(Path(parsed.model.partition("#")[0]).parent) is not None:
        raise UserError(
            "these calls were played in a rehearsal, and this workspace is none.",
            where=name,
            hint="replay calls of real models",
        )
    model = resolve(name)
    if _plays(model.endpoint):
        raise UserError(
            f"the server of '{name}' plays models, and this workspace is no rehearsal.",
            where=str(root),
            hint="play the models of this workspace (proctor standin --workspace), or ask real ones",
        )
    return model


def _played(root: Path, name: str) -> Model:
    try:
        model = resolve(name)
    except UserError:  # such as a missing key, which is not what is wrong here
        model = None
    if model is None or not _plays(model.endpoint):
        raise UserError(
            f"this workspace is a rehearsal: '{name}' is not asked in it, since its replies would be mixed with played ones.",
            where=str(root),
            hint="continue with --rehearse, or begin in another folder",
        )
    return model


def _plays(endpoint: str) -> bool:
    """Ask the server of a model whether it plays models; no other machine is asked."""
    import urllib.request
    from http.client import HTTPException

    host = urlsplit(endpoint).hostname or ""
    try:
        if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
            return False
    except ValueError:  # a name
        return False
    origin = "://".join(urlsplit(endpoint)[:2])
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(origin + PLAYS, timeout=_ASK_SECONDS) as reply:
            return bool(reply.status == 200 and reply.read(64).strip() == b'{"plays":true}')
    except (OSError, HTTPException, ValueError):
        return False
