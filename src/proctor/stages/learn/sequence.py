"""``proctor learn sequence``: learn to put steps in order, and test it beside floors on manuals of other tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, cast, get_args

import msgspec
import numpy as np

from proctor.corpus.collection import NoImage, find_image
from proctor.datasets.sequence_files import SequenceFile, read_sequences
from proctor.errors import UserError
from proctor.learn.runs import RECORD, RunRecord, read_record, read_tables, require_free, write_tables
from proctor.learn.sequencing.data import (
    MODALITY,
    Ordered,
    OrderModel,
    Parts,
    Presented,
    Shown,
    divide_by_task,
    presented,
)
from proctor.learn.sequencing.figures import (
    OrderEvaluation,
    OrderFigures,
    category_of,
    evaluate_orders,
    order_figures,
    predicted_steps,
)
from proctor.learn.sequencing.models import train_order
from proctor.learn.sequencing.training import Objective, Training
from proctor.learn.settings import TrainOptions
from proctor.metrics.ordering import settle_alike
from proctor.procedure.manual import Order, SequenceStep
from proctor.procedure.manual import Sequence as Steps
from proctor.records import Dropped, encode_jsonl, is_there, read_jsonl, write_json, write_jsonl
from proctor.stages.learn.sequence_settings import SequenceSettings
from proctor.stages.show import Show

__all__ = [
    "ITEMS",
    "LEARNED_FROM",
    "PREDICTED",
    "SEQUENCE_TARGET",
    "LearnedSequence",
    "learn_sequence",
    "picture_problem",
    "read_learned",
    "read_test_part",
]

PREDICTED: Final = "predictions.jsonl"
ITEMS: Final = "items.jsonl"
DROPPED: Final = "dropped.jsonl"
LEARNED_FROM: Final = "learned-from.json"
"""Tasks of the train and dev parts: an exam about these shows what was learned by heart."""
SEQUENCE_TARGET: Final = "orders of steps"
"""What a run of this kind is about, in its record."""
_VISUAL: Final = frozenset({"isp", "pisp", "smrm"})


class LearnedSequence(OrderEvaluation, frozen=True, kw_only=True):
    """What a model of orders does on manuals of tasks that it has not seen.

    Attributes:
        model, encoder, modality, pretrain, protocol, goal, seed: what was asked.
        data: the file.
        parts: sequences in each part.
        dev: figures of the part that everything was chosen on.
        chosen: in training.
        dropped: what was left out, by reason; ``dropped.jsonl`` of the run lists it.
        notes: what a reader of the figures has to know.
        run: folder of the run, where one was asked for.
    """

    model: str
    encoder: str
    modality: str
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


@dataclass(frozen=True)
class _Asked:
    """A command that makes sense, with its file."""

    settings: SequenceSettings
    options: TrainOptions
    encoder: str
    pretrain: tuple[Objective, ...]
    file: SequenceFile


def learn_sequence(
    settings: SequenceSettings, options: TrainOptions | None = None, show: Show | None = None
) -> LearnedSequence:
    """Divide by task, train, and predict the test part once, in shuffles that are the same for every model.

    A run that is done is read and not made again; one that was killed goes on where it was.

    Args:
        settings: which model on which file.
        options: of training, what the user set.
        show: shows progress.

    Raises:
        UserError: if file, model, encoder and objectives cannot be used together, or the folder holds another run.
    """
    asked = _asked(settings, options or TrainOptions())
    record = _record(asked)
    if settings.out is not None:
        require_free(settings.out, record)
        if is_there(settings.out / RECORD) and read_record(settings.out).files:
            return read_learned(settings.out)
    kept, dropped = _kept(asked)
    parts = divide_by_task(kept, settings.seed)
    if settings.out is not None:
        write_tables(settings.out, record, {})  # what a kill leaves behind says what it is
    trained = train_order(
        settings.model,
        Training(
            parts=parts,
            root=asked.file.root,
            shown=settings.modality,
            encoder=asked.encoder,
            protocol=settings.protocol,
            pretrain=asked.pretrain,
            goal=settings.goal,
            seed=settings.seed,
            options=asked.options,
            pretrain_options=msgspec.structs.replace(asked.options, epochs=settings.pretrain_epochs),
            folder=None if settings.out is None else settings.out / "training",
            show=show,
        ),
    )
    items = presented(parts.test, settings.modality)
    predicted = trained.model.predict(items)
    result = LearnedSequence(
        **msgspec.structs.asdict(
            evaluate_orders(items, predicted, settings.modality, resamples=settings.resamples)
        ),
        model=settings.model,
        encoder=asked.encoder,
        modality=settings.modality,
        pretrain=asked.pretrain,
        protocol=settings.protocol,
        goal=settings.goal,
        seed=settings.seed,
        data=str(settings.data),
        parts={name: len(getattr(parts, name)) for name in ("train", "dev", "test")},
        dev=_dev(trained.model, parts, settings),
        chosen=trained.chosen,
        dropped=dict(Counter(d.reason for d in dropped) + Counter(trained.dropped)),
        notes=(*trained.notes, *_notes(parts, settings)),
        run=None if settings.out is None else str(settings.out),
    )
    if settings.out is not None:
        trained.model.save(settings.out)
        write_json(settings.out / LEARNED_FROM, sorted({s.task or s.id for s in (*parts.train, *parts.dev)}))
        write_jsonl(settings.out / DROPPED, dropped)
        _write(settings.out, record, result, items, predicted)
    return result


def read_learned(folder: Path) -> LearnedSequence:
    """Return what a finished run found.

    Raises:
        UserError: if there is none, it is of another kind, or a file of it was changed.
    """
    record = read_tables(folder)
    if record.target != SEQUENCE_TARGET:
        raise UserError(
            f"it is a run about {record.target}.",
            where=str(folder),
            hint="name a run of proctor learn sequence",
        )
    try:
        return msgspec.convert(record.results | {"run": str(folder)}, LearnedSequence)
    except msgspec.ValidationError as error:
        hint = "run the same command again with this version, into another folder"
        raise UserError(
            f"its figures are of another version ({error}).", where=str(folder), hint=hint
        ) from None


# -- what is asked -------------------------------------------------------------------------------------------------


def _asked(settings: SequenceSettings, options: TrainOptions) -> _Asked:
    usual = {"tiny": "tiny", "pairwise": "words"}
    encoder = settings.encoder or usual.get(settings.model)
    if encoder is None:
        raise UserError(
            "the model 'berson' needs an encoder.",
            where="--encoder",
            hint="name a local folder, such as text:roberta-large, or use --model tiny, which needs none",
        )
    if settings.model == "tiny" and encoder != "tiny":
        raise UserError(
            f"the model 'tiny' has an encoder of its own, not '{encoder[:80]}'.",
            where="--encoder",
            hint="use --model berson",
        )
    return _Asked(settings, options, encoder, _objectives(settings, encoder), read_sequences(settings.data))


def _objectives(settings: SequenceSettings, encoder: str) -> tuple[Objective, ...]:
    names = [name.strip() for name in settings.pretrain.split(",") if name.strip()]
    known = get_args(Objective)
    problem = hint = ""
    if wrong := [name for name in names if name not in known]:
        problem, hint = f"'{wrong[0][:40]}' is no objective.", f"give some of {','.join(known)}"
    elif len(set(names)) < len(names):
        problem, hint = "an objective is named twice.", "name each once"
    elif names and (settings.model == "pairwise" or encoder == "words"):
        problem, hint = "the model 'pairwise' is not pretrained.", "leave --pretrain out, or use --model tiny"
    elif settings.modality == "text" and (wrong := sorted(_VISUAL & set(names))):
        problem, hint = (
            f"'{wrong[0]}' needs pictures, and only texts are shown.",
            "use mlm, or --modality both",
        )
    elif settings.modality == "image" and "mlm" in names:
        problem, hint = (
            "'mlm' needs texts, and only pictures are shown.",
            "use isp, pisp and smrm, or --modality both",
        )
    if problem:
        raise UserError(problem, where="--pretrain", hint=hint)
    return tuple(name for name in known if name in names)


def _record(asked: _Asked) -> RunRecord:
    s = asked.settings
    return RunRecord(
        model=s.model,
        split="task",
        data=s.data.name,
        data_hash=asked.file.hash,
        seed=s.seed,
        protocol=s.protocol,
        target=SEQUENCE_TARGET,
        settings={
            "encoder": asked.encoder,
            "modality": s.modality,
            "pretrain": list(asked.pretrain),
            "pretrain_epochs": s.pretrain_epochs,
            "goal": s.goal,
            "most_steps": s.most_steps,
            "resamples": s.resamples,
            "training": msgspec.to_builtins(asked.options),
        },
    )


def _kept(asked: _Asked) -> tuple[list[Steps], list[Dropped]]:
    """Return the sequences that can be learned from, their pictures all there, and what was left out.

    Raises:
        UserError: if pictures are to be shown and there is none, or no sequence is left.
    """
    settings, kept, dropped = asked.settings, [], [*asked.file.dropped]
    modality = MODALITY[settings.modality]
    for sequence in sorted(asked.file.sequences, key=lambda s: s.id):  # the order of the file must not matter
        found = sequence
        if settings.modality != "text":
            found, without = _with_pictures(sequence, asked.file.root)
            dropped += without
        if len(found.steps) > settings.most_steps:
            dropped.append(
                Dropped(found.id, "too-many-steps", f"{len(found.steps)} of {settings.most_steps}")
            )
        elif len(set(found.alike(modality))) == 1:
            dropped.append(Dropped(found.id, "nothing-to-order", "all steps look the same"))
        else:
            kept.append(found)
    if settings.modality != "text" and not any(step.images for s in kept for step in s.steps):
        raise UserError(
            "none of its steps has a picture that is there.",
            where=str(settings.data),
            hint="give 'pictures', of each step a path relative to the file, or use --modality text",
        )
    if not kept:
        raise UserError(
            f"no sequence is left ({dropped[-1].reason}: {dropped[-1].detail}).",
            where=str(settings.data),
            hint="raise --most-steps, or give sequences whose steps differ",
        )
    return kept, dropped


def _with_pictures(sequence: Steps, root: Path) -> tuple[Steps, list[Dropped]]:
    names = dict.fromkeys(name for step in sequence.steps for name in step.images)
    found = {name: problem for name in names if (problem := picture_problem(root, name)) is not None}
    steps = (replace(s, images=tuple(name for name in s.images if name not in found)) for s in sequence.steps)
    dropped = [Dropped(sequence.id, reason, detail) for reason, detail in found.values()]
    return replace(sequence, steps=tuple(steps)), dropped


def picture_problem(root: Path, name: str, *, decode: bool = False) -> tuple[str, str] | None:
    """Return why a picture cannot be shown: a reason that can be counted, and what was seen; None for one that can.

    Args:
        root: that its path is relative to, and must not lead out of.
        name: its path.
        decode: read all of it, not its beginning alone.
    """
    from PIL import Image

    path = find_image(root, name)
    if isinstance(path, NoImage):
        return "picture-missing", path.detail
    try:
        with Image.open(path) as image:
            if decode:
                image.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        return "picture-broken", f"{name[:100]!r} cannot be read ({type(error).__name__})"
    return None


def _dev(model: OrderModel, parts: Parts, settings: SequenceSettings) -> OrderFigures:
    items = presented(parts.dev, settings.modality)
    return order_figures(items, model.predict(items), settings.modality, resamples=settings.resamples)


def _notes(parts: Parts, settings: SequenceSettings) -> Iterator[str]:
    modality = MODALITY[settings.modality]
    alike = sum(len(set(s.alike(modality))) < len(s.steps) for s in parts.test)
    if alike:
        yield f"{alike} test sequences have steps that look the same; these count in either order, for chance too"
    if settings.modality != "text":
        bare = sum(not step.images for s in parts.test for step in s.steps)
        if bare:
            yield f"{bare} test steps have no picture"
    tasks = len({s.task or s.id for s in parts.test})
    if tasks < 10:
        yield f"the test part has {tasks} tasks: intervals over so few are wide and rough"


# -- the folder ----------------------------------------------------------------------------------------------------


class _ItemLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that ``proctor score ordering --gt`` reads, with what the page shows."""

    id: str
    order: Order
    references: tuple[Order, ...]
    presented: Order
    constraints: tuple[tuple[int, int], ...] | None
    task: str
    category: str
    goal: str
    texts: tuple[str, ...]
    pictures: tuple[tuple[str, ...], ...]


class _PredictionLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line that ``proctor score ordering --pred`` reads; equal steps stand as in the reference, ``precedence`` is of slots."""

    id: str
    order: Order
    precedence: list[list[float]] | None = None


def read_test_part(folder: Path, shown: Shown) -> tuple[list[Presented], list[Ordered]]:
    """Return what a finished run was tested on, and what it said.

    Raises:
        UserError: if a file cannot be read.
    """
    items, predicted = [], []
    answers: list[_PredictionLine] = read_jsonl(folder / PREDICTED, _PredictionLine)
    lines: list[_ItemLine] = read_jsonl(folder / ITEMS, _ItemLine)
    said = {answer.id: answer for answer in answers}
    for line in lines:
        parts = enumerate(zip(line.texts, line.pictures, strict=True))
        sequence = Steps(
            id=line.id,
            goal=line.goal,
            task=line.task,
            steps=tuple(SequenceStep(str(n), text, images) for n, (text, images) in parts),
            references={MODALITY[shown]: line.references},
            before=line.constraints,
        )
        items.append(Presented(sequence, line.presented))
        one = said[line.id]
        matrix = None if one.precedence is None else np.array(one.precedence)
        predicted.append(Ordered(tuple(line.presented.index(step) for step in one.order), matrix))
    return items, predicted


def _write(
    folder: Path,
    record: RunRecord,
    result: LearnedSequence,
    items: Sequence[Presented],
    predicted: Sequence[Ordered],
) -> None:
    lines = [_prediction(item, one) for item, one in zip(items, predicted, strict=True)]
    tables = {PREDICTED: encode_jsonl(lines), ITEMS: encode_jsonl(map(_item, items))}
    results = cast("dict[str, object]", msgspec.to_builtins(result))
    write_tables(
        folder,
        msgspec.structs.replace(record, chosen=dict(result.chosen), results=results | {"run": None}),
        {name: (len(lines), content) for name, content in tables.items()},
    )


def _prediction(item: Presented, one: Ordered) -> _PredictionLine:
    alike: dict[Hashable, Hashable] = dict(enumerate(item.sequence.alike()))
    order = settle_alike(predicted_steps(item, one.order), item.sequence.authored, alike)
    matrix = None if one.precedence is None else [[round(float(p), 4) for p in row] for row in one.precedence]
    return _PredictionLine(id=item.sequence.id, order=cast("Order", order), precedence=matrix)


def _item(item: Presented) -> _ItemLine:
    sequence = item.sequence
    (orders,) = sequence.references.values()
    return _ItemLine(
        id=sequence.id,
        order=sequence.authored,
        references=orders,
        presented=item.slots,
        constraints=sequence.before,
        task=sequence.task or sequence.id,
        category=category_of(sequence),
        goal=sequence.goal,
        texts=tuple(step.text for step in sequence.steps),
        pictures=tuple(step.images for step in sequence.steps),
    )
