"""Letting systems without a model answer: what they may see, one seed an item, failures that stay failures.

A ``Predictor`` gets a ``Task``: the question, the activity with its task graph, the video and where the clip ends.
It never sees the question type, the golds or the annotations. A ``PrivilegedPredictor`` sees the whole item; it
exists for floors and bounds and says why it needs to.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from proctor.errors import UserError
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item
from proctor.procedure.graph import TaskGraph

if TYPE_CHECKING:
    from proctor.exam.kind import Floor

__all__ = ["Predictor", "PrivilegedPredictor", "Task", "item_rng", "make_task", "predict_items"]

_FAILURE_LIMIT = 500
"""Characters of an exception that are kept: its text may hold anything."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a predictor may see of an item.

    Attributes:
        item_id: to put on the prediction.
        question: the question.
        activity_name: for prompts.
        graph: steps and prerequisites of the activity.
        end: seconds; the clip is ``[0, end)`` of the video, nothing after it may be used.
    """

    item_id: str
    question: str
    activity_name: str
    graph: TaskGraph
    end: float


class Predictor(Protocol):
    """Anyone who answers: a model, a floor, a person."""

    @property
    def name(self) -> str:
        """Name under which the predictions are kept."""
        ...

    def predict(self, task: Task, rng: random.Random) -> Prediction:
        """Answer one task; all randomness comes from ``rng``, which is seeded for this item alone."""
        ...


@runtime_checkable
class PrivilegedPredictor(Protocol):
    """A floor or bound that needs more than a predictor may see."""

    @property
    def name(self) -> str:
        """Name under which the predictions are kept."""
        ...

    @property
    def privilege(self) -> str:
        """What it sees that a predictor must not; shown beside its score."""
        ...

    def predict_item(self, item: Item, graph: TaskGraph, rng: random.Random) -> Prediction:
        """Answer one item."""
        ...


def item_rng(seed: int, item_id: str) -> random.Random:
    """Random numbers of one item: they depend on the run's seed and the item id, not on the order of items."""
    digest = hashlib.sha256(f"{seed}\x00{item_id}".encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))  # noqa: S311


def make_task(item: Item, graph: TaskGraph) -> Task:
    """Show of an item what a predictor may see."""
    example = moment_example(item.question)
    return Task(item.id, item.question.text, example.activity_name, graph, example.end)


def predict_items(
    items: Iterable[Item],
    floor: Floor,
    *,
    seed: int = 0,
    progress: Callable[[], None] | None = None,
) -> Iterator[Prediction]:
    """Have a system without a model answer items, one after the other.

    An exception of the system becomes a prediction with a ``failure``; it is never an answer and never counts
    as wrong. A ``UserError`` is passed on, because it would be the same for every item.

    Args:
        items: what to answer.
        floor: who answers.
        seed: of the run.
        progress: called after each item.
    """
    for item in items:
        yield _predict(item, floor, item_rng(seed, f"{floor.salt}{item.question.parent or item.id}"))
        if progress is not None:
            progress()


def _predict(item: Item, floor: Floor, rng: random.Random) -> Prediction:
    try:
        prediction = floor.answer(item, rng)
    except UserError:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}"[:_FAILURE_LIMIT]
        return Prediction(item_id=item.id, predictor=floor.name, failure=text)
    if prediction.item_id != item.id or prediction.predictor != floor.name:
        text = f"the predictor answered as '{prediction.predictor[:80]}' for '{prediction.item_id[:80]}'"
        return Prediction(item_id=item.id, predictor=floor.name, failure=text)
    if (prediction.answer is None) == (prediction.failure is None):
        text = "the predictor gave neither an answer nor a failure, or both"
        return Prediction(item_id=item.id, predictor=floor.name, failure=text)
    return prediction
