"""The predictor's role: how much a model knows of an item depends on its quality *q* and on what it is shown.

One number *u*, drawn from seed, model and item, decides:

- ``u < p``: it answers rightly. Who sees the recording has ``p = q ** e``; the exponent counts the places where a fact can get
  lost on its way: 1 for the model itself, ``2 / frames`` for moments between frames, ``20 / height`` for what is too small to
  see, and 1 more where another model's words stand between picture and answer. Who has the procedure picks one of the *k*
  answers that it leaves open, so that p is never less than ``q / k``: two sides of a yes or no, else as many as there are
  steps. Who has the question alone has ``p = 0``.
- ``u < q``: it gives what is mostly the answer to questions of this type about other recordings (the ``constant`` floor).
- else it makes one of the mistakes that models make (``proctor_rehearsal.players.slips``).

So pictures beat descriptions, descriptions beat the procedure alone, and that beats the question alone, at any quality between
0 and 1 and by no score that is written here; whatever a model knows with less, it knows with more.
"""

from __future__ import annotations

import copy
from typing import Final

from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.question import Item
from proctor.procedure.graph import TaskGraph
from proctor_rehearsal.players.answers import choices
from proctor_rehearsal.players.files import Now, activity_names
from proctor_rehearsal.players.reading import Asked
from proctor_rehearsal.players.slips import Player
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.behaviours import pick
from proctor_rehearsal.standin.call import Call, draw

__all__ = ["exponent", "find_item", "knows", "play_predictor"]

_BETWEEN_FRAMES: Final = 2.0
_TOO_SMALL: Final = 20.0


def play_predictor(asked: Asked, now: Now, player: Player, seed: int) -> Answer | None:
    """Answer a question; None where the item is not in the workspace."""
    item = find_item(asked, now)
    graph = now.graphs.get(moment_example(item.question).activity_id) if item is not None else None
    if item is None or graph is None:
        return None
    own = _of_item(asked.call, item, seed)
    sheet = now.sheet(item, graph)
    right, wrong = sheet.right, sheet.wrong
    blind = "procedure" not in asked.blocks
    if blind:
        wrong = sheet.blind
    if own.draw("right", seed) >= knows(asked, item, graph, player.quality_of(own.model)):
        right = (now.constant.constant(item.question.facets["type"], item.question.cluster),)
    return player.play(own, right, wrong)


def knows(asked: Asked, item: Item, graph: TaskGraph, quality: float) -> float:
    """Return how likely a model of this quality is to know the answer from what it is shown."""
    lost = exponent(asked)
    by_procedure = quality / choices(item, graph) if "procedure" in asked.blocks else 0.0
    return by_procedure if lost is None else max(quality**lost, by_procedure)


def exponent(asked: Asked) -> float | None:
    """Return how many times a fact can get lost before the answer; None for who is shown nothing of the recording."""
    described = asked.entries("descriptions")
    if described is not None:
        return 2.0 + _BETWEEN_FRAMES / max(1, len(described))
    shown = [a for a in asked.call.content.attached if a.kind in ("image", "video")]
    if not shown:
        return None
    frames = [m for m in asked.call.media if m.kind == "image"]
    if len(frames) < len(shown):  # a clip
        return 1.0
    height = max(16, min(frame.height for frame in frames))
    return 1.0 + _BETWEEN_FRAMES / len(frames) + _TOO_SMALL / height


def find_item(asked: Asked, now: Now) -> Item | None:
    """Return the item that is asked; one of several that look the same is chosen by the request's content."""
    found = list(now.items_of.get(asked.blocks["question"], ()))
    activity = asked.blocks.get("activity")
    if activity is not None:
        found = [
            i
            for i in found
            if activity in activity_names(e := moment_example(i.question), now.graphs.get(e.activity_id))
        ]
    if asked.end:
        found = [i for i in found if f"{moment_example(i.question).end:.2f}" == asked.end]
    if not found:
        return None
    chosen: Item = pick(
        asked.call,
        sorted(found, key=lambda i: (i.question.cluster, moment_example(i.question).end, i.id)),
        "item",
    )
    return chosen


def _of_item(call: Call, item: Item, seed: int) -> Call:
    """Return the request under a name of model and item: whatever is shown, the same facts are hard for a model."""
    own = copy.copy(call)
    example = moment_example(item.question)
    own.key = f"{draw(seed, call.model, item.question.text, example.recording_id, example.end)}"
    return own
