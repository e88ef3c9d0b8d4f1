"""The server's player: reads a request, finds in the workspace what it is about, and replies in the role that is asked for."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from proctor.errors import UserError
from proctor.verify.oracle.annotator import Oracle
from proctor_rehearsal.players.captioner import play_captioner
from proctor_rehearsal.players.clip import play_clip
from proctor_rehearsal.players.clip_known import AnswersKnown
from proctor_rehearsal.players.clip_reading import read_clip_call
from proctor_rehearsal.players.documents import Knowledge, play_documents
from proctor_rehearsal.players.documents_reading import read_documents_call
from proctor_rehearsal.players.files import Files, Now
from proctor_rehearsal.players.generator import play_generator
from proctor_rehearsal.players.items_known import ItemsKnown
from proctor_rehearsal.players.judge import play_judge
from proctor_rehearsal.players.order import order_keys, play_order
from proctor_rehearsal.players.predictor import play_predictor
from proctor_rehearsal.players.reading import Asked, read_call
from proctor_rehearsal.players.slips import Player
from proctor_rehearsal.players.step import play_step, step_keys
from proctor_rehearsal.players.verifier import play_verifier
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.call import Call
from proctor_rehearsal.standin.script import Latency, Script
from proctor_rehearsal.standin.server import Standin

__all__ = ["QUALITY", "Rehearsal", "parse_quality", "rehearse"]

QUALITY: Final = 0.7
"""How often a model is right where nothing else is said."""


class Rehearsal:
    """Plays every model of an experiment on a workspace; put it into a stand-in as its ``answer``.

    The files of the workspace are read when a request needs them, and again when they have changed. Every draw depends on the
    seed and on what the request says, its fences' token left out: order, concurrency, resuming and the workspace's secret
    change no reply.

    Templates of the user's own are understood as long as they keep the labels of the fences and, for generation, the words that
    say which kind of question is wanted; other requests are left to the server's other rules.

    Args:
        root: the workspace.
        quality: how often a model is right, 0 to 1; or by regular expressions found in its name, in order.
        seed: of every draw.

    Raises:
        UserError: if a quality does not lie between 0 and 1.
    """

    def __init__(self, root: Path, *, quality: float | Mapping[str, float] = QUALITY, seed: int = 0) -> None:
        self._files = Files(root)
        self._player = Player(quality, seed=seed)
        self._seed = seed
        self._oracle = Oracle()
        self._lock = threading.Lock()
        self._knowledge = Knowledge(root / "corpus")
        self._answers = AnswersKnown(root)
        self._steps = ItemsKnown(root, "step", step_keys)
        self._orders = ItemsKnown(root, "order", order_keys)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why files of the workspace could not be used, for whoever runs the server."""
        return self._files.problems

    def quality_of(self, model: str) -> float:
        """Return how often a model is right."""
        return self._player.quality_of(model)

    def __call__(self, call: Call) -> Answer | None:
        """Reply to a request; None where it is no prompt of ours, or nothing in the workspace fits it."""
        step = play_step(call, self.quality_of(call.model), self._seed, self._steps)
        if step is not None:
            return step
        if (ordered := play_order(call, self.quality_of(call.model), self._seed, self._orders)) is not None:
            return ordered
        clip = read_clip_call(call)
        if clip is not None:
            return play_clip(clip, self.quality_of(call.model), self._seed, self._answers)
        if (written := read_documents_call(call)) is not None:
            return play_documents(written, self.quality_of(call.model), self._seed, self._knowledge)
        asked = read_call(call)
        if asked is None:
            return None
        with self._lock:
            return self._play(asked, self._files.now())

    def _play(self, asked: Asked, now: Now) -> Answer | None:
        quality, seed = self.quality_of(asked.call.model), self._seed
        if asked.role == "generator":
            return play_generator(asked, now, quality, seed)
        if asked.role == "predictor":
            return play_predictor(asked, now, self._player, seed)
        if asked.role == "captioner":
            return play_captioner(asked, now, seed)
        if asked.role == "judge":
            return play_judge(asked, now, quality, seed)
        return play_verifier(asked, now, self._oracle, quality, seed)


@contextmanager
def rehearse(
    root: Path,
    *,
    quality: float | Mapping[str, float] = QUALITY,
    seed: int = 0,
    latency: Latency | None = None,
) -> Iterator[Standin]:
    """Run a stand-in that plays the models of a workspace.

    Args:
        root: the workspace.
        quality: as for ``Rehearsal``.
        seed: of every draw.
        latency: how long replies take; none by default.

    Raises:
        UserError: if a quality makes no sense or no port is free.
    """
    script = Script(seed=seed, latency=latency) if latency is not None else Script(seed=seed)
    with Standin(script, answer=Rehearsal(root, quality=quality, seed=seed)) as server:
        yield server


def parse_quality(texts: Sequence[str]) -> dict[str, float]:
    """Read qualities as they are typed: ``mini=0.5`` for models with that in their name, ``0.8`` for all others.

    Raises:
        UserError: if one is no number, an expression is none, or two are for the same models.
    """
    found: dict[str, float] = {}
    for text in texts:
        pattern, _, number = text.rpartition("=")
        try:
            value = float(number)
            re.compile(pattern)
        except (ValueError, re.error) as error:
            raise UserError(
                f"{text!r} is no quality: {error}.", hint="write 0.8, or 'mini=0.5' for some of the models"
            ) from None
        if pattern in found:
            raise UserError(f"there are two qualities for {pattern or 'all models'!r}.")
        found[pattern] = value
    # What holds for all comes last: the first expression that is found in a name decides.
    everybody = found.pop("", QUALITY)
    return {**found, "": everybody}
