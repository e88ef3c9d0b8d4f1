"""A model of orders for tests: each word has the mean place of the steps that it stood in, and a step the mean of its words."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from proctor.learn.sequencing.data import Ordered, Presented
from proctor.learn.sequencing.training import TrainedOrder, Training
from proctor.records import read_json, write_json


class WordPlaces:
    def __init__(self, places: dict[str, float], root: Path = Path()) -> None:
        self.places, self.root = places, root

    def predict(self, shown) -> list[Ordered]:
        return [self._one(item) for item in shown]

    def _one(self, item: Presented) -> Ordered:
        for name in (name for step in item.sequence.steps for name in step.images):
            assert (self.root / name).resolve().is_relative_to(self.root.resolve()), name
        known = [
            [self.places.get(w, 0.5) for w in item.sequence.steps[s].text.split()] or [0.5]
            for s in item.slots
        ]
        at = np.array([np.mean(words) for words in known])
        before = 1 / (1 + np.exp(-8 * (at[None, :] - at[:, None])))
        return Ordered(tuple(int(i) for i in np.argsort(at, kind="stable")), before)

    def save(self, folder: Path) -> None:
        write_json(folder / "model.json", {"model": "pairwise", "places": self.places})


def train_word_places(training: Training) -> TrainedOrder:
    found = defaultdict(list)
    for sequence in training.parts.train:
        for place, step in enumerate(sequence.steps):
            for word in step.text.split():
                found[word].append(place / (len(sequence.steps) - 1))
    model = WordPlaces(
        {word: float(np.mean(places)) for word, places in sorted(found.items())}, training.root
    )
    return TrainedOrder(model=model, chosen={"words": len(found)}, notes=("a note of the training",))


def load_word_places(folder: Path, root: Path) -> WordPlaces:
    return WordPlaces(read_json(folder / "model.json")["places"], root)


def use_word_places(monkeypatch) -> None:
    """Let it stand for every trained model."""
    stage = "proctor.stages.learn.sequence"
    monkeypatch.setattr(f"{stage}.train_order", lambda _, training: train_word_places(training))
    monkeypatch.setattr("proctor.stages.order_model.load_order_model", load_word_places)
