"""A trained model of orders as a system that answers an exam: ``proctor predict WORKSPACE -p model:RUN``.

It needs no provider, no key and no network. It is shown the steps as the question presents them, of the modality that it was trained
on, and answers with their numbers, from 1; how probable it is that one comes before another stands in the prediction's details.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import msgspec

from proctor.errors import UserError
from proctor.exam.kind import Floor
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item, Order, Picture, Words
from proctor.learn.runs import read_record
from proctor.learn.sequencing.data import MODALITY, OrderModel, Presented, Shown
from proctor.procedure.manual import Sequence as Steps
from proctor.procedure.manual import SequenceStep
from proctor.stages.learn.sequence import LearnedSequence, read_learned
from proctor.stages.sequence_items import picture_in

__all__ = ["load_order_model", "open_order_system"]


def load_order_model(folder: Path, root: Path) -> OrderModel:
    """Open the model of a run; paths of pictures will be relative to ``root``.

    Raises:
        UserError: if there is none, or it is damaged or of another version.
    """
    if read_record(folder).model == "pairwise":
        from proctor.learn.sequencing.precedence import load_pairwise

        return load_pairwise(folder, root)
    from proctor.learn.sequencing.finetune import BersonModel

    return BersonModel.load(folder, root)


def open_order_system(folder: Path, name: str, root: Path) -> tuple[Floor, LearnedSequence]:
    """Return the model of a finished run as a system of this name without a provider, and what the run found.

    Pictures are found under ``root``; one that is missing or broken makes a failed prediction of its item.

    Raises:
        UserError: if it is no such run, or not whole.
    """
    learned = read_learned(folder)
    shown = learned.modality

    @cache
    def model() -> OrderModel:
        return load_order_model(folder, root)

    def answer(item: Item, _: random.Random) -> Prediction:
        try:
            presented = _presented(item, shown, root)
        except UserError as error:
            return Prediction(item_id=item.id, predictor=name, failure=f"not_shown: {error.message}")
        (said,) = model().predict([presented])
        details = {"modality": str(MODALITY[shown])}
        if said.precedence is not None:
            details["precedence"] = msgspec.json.encode(said.precedence.round(4).tolist()).decode()
        numbers = ", ".join(str(slot + 1) for slot in said.order)
        return Prediction(item_id=item.id, predictor=name, answer=f"[{numbers}]", details=details)

    return Floor(name, answer), learned


def _presented(item: Item, shown: Shown, root: Path) -> Presented:
    """Return the steps as they are presented; nothing of the right order is in it."""
    question = item.question
    assert isinstance(question.form, Order)  # seen before anything is asked
    texts: dict[str, list[str]] = {}
    pictures: dict[str, list[str]] = {}
    for part in question.evidence:
        if isinstance(part, Words):
            texts.setdefault(part.id, []).append(part.text)
        elif isinstance(part, Picture) and shown != "text":
            if isinstance(found := picture_in(root, part.path), tuple):
                raise UserError(": ".join(found))
            pictures.setdefault(part.id, []).append(part.path)
    ids, goal = question.form.ids, str(question.facts.get("goal", ""))
    steps = tuple(SequenceStep(i, " ".join(texts.get(i, ())), tuple(pictures.get(i, ()))) for i in ids)
    sequence = Steps(id=item.id, goal=goal, steps=steps).view(MODALITY[shown])
    if not any(step.text or step.images for step in sequence.steps):
        raise UserError(f"the model was trained on {shown}, and no step has that")
    return Presented(sequence, sequence.authored)
