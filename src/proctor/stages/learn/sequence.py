"""``proctor learn sequence``: learn to put steps in order, and test it beside floors on manuals of other tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final, cast

import msgspec
import numpy as np

from proctor.datasets.sequence_files import SequenceFile, read_sequences
from proctor.errors import UserError
from proctor.exam.kinds.order_marks import Right
from proctor.learn.runs import RECORD, RunRecord, read_record, read_tables, require_free, write_tables
from proctor.learn.sequencing.data import MODALITY, Ordered, Presented, Shown, divide_by_task, presented
from proctor.learn.sequencing.figures import (
    OrderEvaluation,
    OrderFigures,
    category_of,
    evaluate_orders,
    order_figures,
    predicted_steps,
)
from proctor.learn.sequencing.training import OBJECTIVES, Objective, TrainedOrder, Training
from proctor.learn.settings import TrainOptions
from proctor.procedure.manual import Order
from proctor.procedure.manual import Sequence as Steps
from proctor.records import Dropped, encode_jsonl, is_there, read_jsonl, write_json, write_jsonl
from proctor.stages.learn.sequence_settings import SequenceSettings
from proctor.stages.sequence_items import picture_in
from proctor.stages.show import Show

__all__ = [
    "LEARNED_FROM", "SEQUENCE_TARGET", "LearnedSequence", "learn_sequence", "read_learned", "read_test_part", "train_order",
]  # fmt: skip

_PREDICTED: Final = "predictions.jsonl"
_ITEMS: Final = "items.jsonl"
LEARNED_FROM: Final = "learned-from.json"
"""Tasks of the train and dev parts: an exam about these shows what was learned by heart."""
SEQUENCE_TARGET: Final = "orders of steps"
"""What a run of this kind is about, in its record."""


class LearnedSequence(OrderEvaluation, frozen=True, kw_only=True):
    """What a model of orders does on manuals of tasks that it has not seen, and what was asked.

    ``parts`` counts sequences, everything was chosen on ``dev``; ``dropped`` is by reason, ``dropped.jsonl`` of the run lists it.
    """

    model: str
    encoder: str
    modality: Shown
    pretrain: tuple[str, ...]
    protocol: str
    goal: bool
    seed: int
    data: str
    parts: Mapping[str, int]
    dev: OrderFigures
    chosen: Mapping[str, object]
    dropped: Mapping[str, int]
    notes: tuple[str, ...]
    run: str | None

    @property
    def asked(self) -> str:
        """What was trained, in words."""
        pretrained = f", pretrained by {'+'.join(self.pretrain)}" if self.pretrain else ""
        return f"{self.model}, {self.encoder}, {self.modality}{pretrained}, protocol {self.protocol}, seed {self.seed}"


def learn_sequence(
    settings: SequenceSettings, options: TrainOptions | None = None, show: Show | None = None
) -> LearnedSequence:
    """Divide by task, train, and predict the test part once, in shuffles that are the same for every model.

    A run that is done is read and not made again; one that was killed goes on where it was.

    Raises:
        UserError: if file, model, encoder and objectives cannot be used together, or the folder holds another run.
    """
    options, out, shown = options or TrainOptions(), settings.out, settings.modality
    encoder = _encoder(settings)
    objectives = _objectives(settings, encoder)
    file = read_sequences(settings.data)
    same = {name: getattr(settings, name) for name in ("modality", "goal", "seed", "protocol", "model")}
    own = {name: getattr(settings, name) for name in ("pretrain_epochs", "most_steps", "resamples")}
    own |= {"encoder": encoder, "pretrain": list(objectives), "training": msgspec.to_builtins(options)}
    record = RunRecord(
        model=settings.model, split="task", data=settings.data.name, data_hash=file.hash, seed=settings.seed,
        protocol=settings.protocol, target=SEQUENCE_TARGET, settings={"modality": shown, "goal": settings.goal, **own},
    )  # fmt: skip
    if out is not None:
        require_free(out, record)
        if is_there(out / RECORD) and read_record(out).files:
            with suppress(UserError):  # a file of it is missing or was changed: it is made again
                return read_learned(out)
    kept, dropped = _kept(settings, encoder, file)
    parts = divide_by_task(kept, settings.seed)
    if out is not None:
        write_tables(out, record, {})  # what a kill leaves behind says what it is
    trained = train_order(
        settings.model,
        Training(
            parts=parts, root=file.root, shown=shown, encoder=encoder, protocol=settings.protocol, pretrain=objectives,
            goal=settings.goal, seed=settings.seed, options=options,
            pretrain_options=msgspec.structs.replace(options, epochs=settings.pretrain_epochs),
            folder=None if out is None else out / "training", show=show,
        ),
    )  # fmt: skip
    dev, items = presented(parts.dev, shown), presented(parts.test, shown)
    predicted = trained.model.predict(items)
    figures = evaluate_orders(items, predicted, shown, resamples=settings.resamples)
    result = LearnedSequence(
        **(msgspec.structs.asdict(figures) | same),
        encoder=encoder,
        pretrain=objectives,
        data=str(settings.data),
        parts={name: len(getattr(parts, name)) for name in ("train", "dev", "test")},
        dev=order_figures(dev, trained.model.predict(dev), shown, resamples=settings.resamples),
        chosen=trained.chosen,
        dropped=dict(Counter(d.reason for d in dropped) + Counter(trained.dropped)),
        notes=(*trained.notes, *_notes(parts.test, shown)),
        run=None if out is None else str(out),
    )
    if out is not None:
        trained.model.save(out)
        write_json(out / LEARNED_FROM, sorted({s.task or s.id for s in (*parts.train, *parts.dev)}))
        write_jsonl(out / "dropped.jsonl", dropped)
        lines = [_prediction(item, one) for item, one in zip(items, predicted, strict=True)]
        tables = {_PREDICTED: encode_jsonl(lines), _ITEMS: encode_jsonl(map(_item, items))}
        results = cast("dict[str, object]", msgspec.to_builtins(result)) | {"run": None}
        record = msgspec.structs.replace(record, chosen=dict(result.chosen), results=results)
        write_tables(out, record, {name: (len(lines), content) for name, content in tables.items()})
    return result


def read_learned(folder: Path) -> LearnedSequence:
    """Return what a finished run found.

    Raises:
        UserError: if there is none, it is of another kind, or a file of it was changed.
    """
    record = read_tables(folder)
    if record.target != SEQUENCE_TARGET:
        hint = "name a run of proctor learn sequence"
        raise UserError(f"it is a run about {record.target}.", where=str(folder), hint=hint)
    try:
        return msgspec.convert(record.results | {"run": str(folder)}, LearnedSequence)
    except msgspec.ValidationError as error:
        problem, hint = f"its figures are of another version ({error}).", "make it again, in another folder"
        raise UserError(problem, where=str(folder), hint=hint) from None


def train_order(model: str, training: Training) -> TrainedOrder:
    """Train a model; ``tiny`` is ``berson`` with the encoder of that name.

    Raises:
        UserError: if encoder, pictures or options cannot be used.
    """
    if model == "pairwise":
        from proctor.learn.sequencing.precedence import train_pairwise

        return train_pairwise(training)
    from proctor.learn.sequencing.finetune import train_berson

    return train_berson(training)


# -- what is asked -------------------------------------------------------------------------------------------------


def _encoder(settings: SequenceSettings) -> str:
    encoder = settings.encoder or {"tiny": "tiny", "pairwise": "words"}.get(settings.model)
    if encoder is None:
        hint = "name a local folder, such as text:roberta-large, or use --model tiny, which needs none"
        raise UserError("the model 'berson' needs an encoder.", where="--encoder", hint=hint)
    if settings.model == "tiny" and encoder != "tiny":
        hint = "leave it out, or use --model berson"
        raise UserError("the model 'tiny' has an encoder of its own.", where="--encoder", hint=hint)
    return encoder


def _objectives(settings: SequenceSettings, encoder: str) -> tuple[Objective, ...]:
    names = [name.strip() for name in settings.pretrain.split(",") if name.strip()]
    problem = hint = ""
    if wrong := [name for name in names if name not in OBJECTIVES]:
        problem, hint = f"'{wrong[0][:40]}' is no objective.", f"give some of {','.join(OBJECTIVES)}"
    elif len(set(names)) < len(names):
        problem, hint = "an objective is named twice.", "name each once"
    elif names and (settings.model == "pairwise" or encoder == "words"):
        problem, hint = "the model 'pairwise' is not pretrained.", "leave --pretrain out, or use --model tiny"
    elif settings.modality == "text" and (wrong := sorted({*names} - {"mlm"})):
        problem, hint = f"'{wrong[0]}' needs pictures, and only texts are shown.", "use --modality both"
    elif settings.modality == "image" and "mlm" in names:
        problem, hint = "'mlm' needs texts, and only pictures are shown.", "use --modality both"
    if problem:
        raise UserError(problem, where="--pretrain", hint=hint)
    return tuple(name for name in OBJECTIVES if name in names)


def _kept(settings: SequenceSettings, encoder: str, file: SequenceFile) -> tuple[list[Steps], list[Dropped]]:
    """Return the sequences that can be learned from, their pictures all there, and what was left out."""
    kept, dropped = [], [*file.dropped]
    place = encoder.rpartition("+")[2].rpartition(":")[2]
    # The pictures of features that were made before need not be there.
    looked_at = settings.modality != "text" and not (":" in encoder and any(Path(place).rglob("*.npy")))

    @cache
    def problem_of(name: str) -> tuple[str, str] | None:  # no pixels are kept
        found = picture_in(file.root, name) if looked_at else None
        return found if isinstance(found, tuple) else None

    for sequence in sorted(file.sequences, key=lambda s: s.id):  # the order of the file must not matter
        names = dict.fromkeys(name for step in sequence.steps for name in step.images)
        wrong = {name: found for name in names if (found := problem_of(name)) is not None}
        steps = [replace(s, images=tuple(n for n in s.images if n not in wrong)) for s in sequence.steps]
        shown = replace(sequence, steps=tuple(steps))
        dropped += [Dropped(sequence.id, w[0], f"{name[:100]!r}: {w[1]}") for name, w in wrong.items()]
        if (n := len(steps)) > settings.most_steps:
            dropped.append(Dropped(sequence.id, "too-many-steps", f"{n} of {settings.most_steps}"))
        elif len(set(shown.alike(MODALITY[settings.modality]))) == 1:
            dropped.append(Dropped(sequence.id, "nothing-to-order", "all steps look the same"))
        else:
            kept.append(shown)
    problem = hint = ""
    if settings.modality != "text" and not any(step.images for s in kept for step in s.steps):
        problem = "none of its steps has a picture that is there."
        hint = "give 'pictures', of each step a path relative to the file, or use --modality text"
    elif not kept:
        problem = f"no sequence is left ({dropped[-1].reason}: {dropped[-1].detail})."
        hint = "raise --most-steps, or give sequences whose steps differ"
    if problem:
        raise UserError(problem, where=str(settings.data), hint=hint)
    return kept, dropped


def _notes(test: Iterable[Steps], shown: Shown) -> Iterator[str]:
    if alike := sum(len(set(s.alike(MODALITY[shown]))) < len(s.steps) for s in test):
        yield f"{alike} test sequences have steps that look the same; these count in either order, for chance too"
    bare = sum(not step.images for s in test for step in s.steps)
    if bare and shown != "text":
        yield f"{bare} test steps have no picture"
    if (tasks := len({s.task or s.id for s in test})) < 10:
        yield f"the test part has {tasks} tasks: intervals over so few are wide and rough"


# -- the folder ----------------------------------------------------------------------------------------------------


class _ItemLine(msgspec.Struct, frozen=True):
    """A line that ``proctor metrics ordering --gt`` reads, with the sequence as it was shown, for the page."""

    id: str
    order: Order
    references: tuple[Order, ...]
    presented: Order
    constraints: tuple[tuple[int, int], ...] | None
    task: str
    category: str
    sequence: Steps


class _PredictionLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line that ``proctor metrics ordering --pred`` reads; equal steps stand as in the reference, ``precedence`` is of slots."""

    id: str
    order: Order
    precedence: list[list[float]] | None = None


def read_test_part(folder: Path) -> tuple[list[Presented], list[Ordered]]:
    """Return what a finished run was tested on, and what it said.

    Raises:
        UserError: if a file cannot be read.
    """
    lines: list[_ItemLine] = read_jsonl(folder / _ITEMS, _ItemLine)
    answers: list[_PredictionLine] = read_jsonl(folder / _PREDICTED, _PredictionLine)
    predicted = []
    for line, one in zip(lines, answers, strict=True):
        matrix = None if one.precedence is None else np.array(one.precedence)
        predicted.append(Ordered(tuple(map(line.presented.index, one.order)), matrix))
    return [Presented(line.sequence, line.presented) for line in lines], predicted


def _prediction(item: Presented, one: Ordered) -> _PredictionLine:
    right = Right((item.sequence.authored,), None, item.sequence.alike())
    order = right.settled(predicted_steps(item, one.order))
    matrix = None if one.precedence is None else one.precedence.round(4).tolist()
    return _PredictionLine(id=item.sequence.id, order=order, precedence=matrix)


def _item(item: Presented) -> _ItemLine:
    sequence = item.sequence
    (orders,) = sequence.references.values()
    task, category = sequence.task or sequence.id, category_of(sequence)
    return _ItemLine(
        sequence.id, sequence.authored, orders, item.slots, sequence.before, task, category, sequence
    )
