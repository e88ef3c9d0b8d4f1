"""One trainer for every network: what is learned is a ``Learner``, how is ``TrainSettings``.

Killed at any moment, a training that has a folder goes on from its last checkpoint and ends, on a CPU, with the very
weights that it would have had. Several processes (torchrun) learn as one does that accumulates as many batches. This
module imports torch: import it late.
"""

from __future__ import annotations

import gc
import importlib
import math
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Adam, AdamW
from torch.optim.lr_scheduler import ReduceLROnPlateau

from proctor.errors import UserError
from proctor.learn.checkpoints import Checkpoint, configuration_of, read_checkpoint, write_checkpoint
from proctor.learn.group import Group, joined
from proctor.learn.schedule import warm_cosine
from proctor.learn.settings import TrainSettings
from proctor.metrics.errors import MetricInputError
from proctor.records import Json, write_jsonl

__all__ = ["Epoch", "Learner", "Show", "Trained", "device_of", "fit", "load_weights", "seeded"]

Items = NDArray[np.int64]

LAST: Final = "last.pt"
BEST: Final = "best.pt"
LOG: Final = "log.jsonl"


class Show(Protocol):
    """Shows progress: the context's value is called once a batch; ``proctor.stages.show.Show`` is one."""

    def __call__(self, title: str, total: int | None = None) -> AbstractContextManager[Callable[[], None]]:
        """Begin a bar of this many batches."""
        ...


class Learner(Protocol):
    """What is learned from what.

    Attributes:
        module: is moved to the device; ``loss`` and ``validate`` bring their data to where its parameters are.
    """

    module: nn.Module

    def batches(self, generator: np.random.Generator) -> Sequence[Items]:
        """Return the batches of one epoch, each the places of its items; as many in every epoch."""
        ...

    def loss(self, items: Items) -> Tensor:
        """Return the mean loss of a batch, a scalar; the module is in training mode."""
        ...

    def validate(self) -> float:
        """Return a figure of the validation part, higher is better; the module is in evaluation mode."""
        ...


class Epoch(msgspec.Struct, frozen=True):
    """A line of ``log.jsonl``.

    Attributes:
        epoch: from 1.
        loss: mean over the batches.
        figure: of the validation part.
        lr: that the epoch was trained with.
        seconds: that it took; after a crash those since the last checkpoint.
        batches: in it.
        batches_a_second: in training, without validation.
        best: its figure is the best so far.
    """

    epoch: int
    loss: float
    figure: float
    lr: float
    seconds: float
    batches: int
    batches_a_second: float
    best: bool


@dataclass(frozen=True)
class Trained:
    """What came of it.

    Attributes:
        history: every epoch.
        best: epoch with the best figure; the first of equals.
        figure: its figure.
        early: training ended before the last epoch because nothing became better.
    """

    history: tuple[Epoch, ...]
    best: int
    figure: float
    early: bool

    @property
    def chosen(self) -> dict[str, Json]:
        """For the record of a run."""
        return {
            "epochs": len(self.history),
            "best_epoch": self.best,
            "val_figure": self.figure,
            "early": self.early,
        }


def fit(
    learner: Learner,
    settings: TrainSettings,
    folder: Path | None = None,
    *,
    seed: int = 0,
    about: Mapping[str, Json] | None = None,
    show: Show | None = None,
    anew: bool = False,
) -> Trained:
    """Train, choosing on the validation figure only; the module has the chosen weights afterwards.

    Args:
        learner: what is learned.
        settings: how.
        folder: for ``last.pt``, ``best.pt`` and ``log.jsonl``; what is there already is gone on with. None keeps nothing.
        seed: of the order of batches and of dropout.
        about: what else makes two trainings different (data, model, split); a checkpoint that differs is refused.
        show: shows progress.
        anew: what a checkpoint of another configuration, or of more epochs, says is not gone on with, but written over.

    Raises:
        UserError: if the loss or the figure is no number, memory does not suffice, a checkpoint is damaged or of another
            configuration, the disk is full, or the device is not there.
    """
    device = device_of(settings)
    with joined(device) as group, _deterministic(settings.deterministic), seeded(seed):
        learner.module.to(device)
        run = _Run(learner, settings, folder, seed, group, device)
        run.configuration = configuration_of(settings, learner.module, seed, group.size, about or {})
        run.go_on(anew)
        with _shown(show, run) as seen, _board(settings, folder, group, run.epoch) as written:
            while not run.ended:
                run.train_epoch(seen)
                written(run.finish_epoch())
        run.choose()
    return Trained(tuple(run.history), run.best_epoch, run.best, len(run.history) < settings.epochs)


def load_weights(path: Path, module: nn.Module, map_location: str = "cpu") -> Mapping[str, Json]:
    """Give a module the weights of a checkpoint; returns the configuration that it was trained with.

    Raises:
        UserError: if the checkpoint is damaged, or of another network.
    """
    found = read_checkpoint(path, map_location)
    _give(module, found, path)
    return found.configuration


def device_of(settings: TrainSettings) -> torch.device:
    """Return what trains: each process of several has its own.

    Raises:
        UserError: if a GPU was asked for where there is none.
    """
    if settings.device == "cpu" or (settings.device == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise UserError("torch finds no GPU.", hint="train with --device cpu, or install torch for your GPU")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch, NumPy and Python inside the block, and leave them as they were outside."""
    before = _random_states()
    _seed(seed)
    try:
        yield
    finally:
        _set_random_states(before)


@dataclass
class _Run:
    """A training under way; what changes in it is what a checkpoint holds."""

    learner: Learner
    settings: TrainSettings
    folder: Path | None
    seed: int
    group: Group
    device: torch.device
    configuration: dict[str, Json] = field(default_factory=dict)
    epoch: int = 0
    """Epochs that are finished."""
    place: int = 0
    """Batches of the present epoch that are."""
    total: float = 0.0
    """Their losses."""
    best: float = -math.inf
    best_epoch: int = 0
    best_weights: dict[str, Tensor] | None = None
    average: dict[str, Tensor] | None = None
    """Of all weights, where the settings want it: that is what is validated and kept."""
    history: list[Epoch] = field(default_factory=list)

    def __post_init__(self) -> None:
        settings = self.settings
        self.parameters = [p for p in self.learner.module.parameters() if p.requires_grad]
        self.adam = _optimiser(self.parameters, settings)
        self.schedule = None if settings.plateau is None else ReduceLROnPlateau(
            self.adam, "max", settings.plateau_factor, settings.plateau,
            threshold=settings.margin, threshold_mode="abs", min_lr=settings.lowest_lr,
        )  # fmt: skip
        self.count = len(self.learner.batches(np.random.default_rng([self.seed, 0])))
        if not self.count:
            raise UserError("there is nothing to train on.", hint="check the split and the features")
        self.group.share(self.learner.module)
        if settings.average is not None:
            self.average = {name: value.clone() for name, value in self.learner.module.state_dict().items()}

    @property
    def ended(self) -> bool:
        """All epochs are done, or nothing has become better for so long."""
        patience = self.settings.patience
        waited = self.epoch - self.best_epoch
        return self.epoch >= self.settings.epochs or (patience is not None and waited >= patience)

    # -- an epoch

    def train_epoch(self, seen: Callable[[], None]) -> None:
        """Train the rest of the present epoch."""
        number, stride = self.epoch + 1, self.settings.accumulate * self.group.size
        batches = self.learner.batches(np.random.default_rng([self.seed, number]))
        if self.place == 0:
            _seed(int(np.random.SeedSequence([self.seed, number, self.group.rank]).generate_state(1)[0]))
        self.begun = self.saved = time.monotonic()
        self.first = self.place
        self.learner.module.train()
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        while self.place < len(batches):
            together = batches[self.place : self.place + stride]
            mine = together[self.group.rank :: self.group.size]
            for items in mine:
                total += self._backward(items, len(together))
                seen()
            self._step()
            self.place += len(together)
            # Several processes would have to agree on the moment; they save at the end of each epoch.
            if (
                self.place < len(batches)
                and self.group.size == 1
                and time.monotonic() - self.saved >= self.settings.save_seconds
            ):
                self.total += float(total)
                total.zero_()
                self.save()
        self.total += float(self.group.sum(total))
        self.trained = time.monotonic()
        if not math.isfinite(self.total):
            raise UserError(
                f"the loss became {self.total} in epoch {number}.",
                hint=f"lower the learning rate (--lr is {self.settings.lr:g}), or clip gradients (--clip 1)",
            )

    def finish_epoch(self) -> Epoch:
        """Validate, choose, write."""
        figure = self.group.told(self._validate)
        lr = float(self.adam.param_groups[0]["lr"])
        if self.schedule is not None:
            self.schedule.step(figure)
        self.epoch += 1
        better = figure > self.best or not self.history
        if better:
            self.best, self.best_epoch = figure, self.epoch
        now, batches = time.monotonic(), self.place
        rate = (batches - self.first) / max(self.trained - self.begun, 1e-9)
        line = Epoch(self.epoch, self.total / batches, figure, lr, now - self.begun, batches, rate, better)
        self.history.append(line)
        self.place, self.total = 0, 0.0
        if better or self.settings.keep == "last":
            self._keep()
        self.save()
        return line

    def _backward(self, items: Items, together: int) -> Tensor:
        loss = self._tried(items, together)
        if loss is None:
            raise self._too_large(items)
        return loss

    def _tried(self, items: Items, together: int) -> Tensor | None:
        """Add the gradients of a batch and return its loss; None where memory does not suffice.

        The error is not kept: what it remembers of where it happened holds the memory of the batch.
        """
        try:
            with self._autocast():
                loss = self.learner.loss(items)
            (loss / together).backward()  # type: ignore[no-untyped-call]
        except (RuntimeError, MemoryError) as error:
            if not _is_memory(error):
                raise
            return None
        return loss.detach().double()

    def _step(self) -> None:
        self.group.sum_gradients(self.parameters)
        if self.settings.clip is not None:
            nn.utils.clip_grad_norm_(self.parameters, self.settings.clip)
        self._warm()
        self.adam.step()
        self.adam.zero_grad()
        self._average()

    def _warm(self) -> None:
        """Set the rate of the step, where it has a schedule of steps."""
        settings = self.settings
        if settings.warmup is None:
            return
        stride = settings.accumulate * self.group.size
        each = math.ceil(self.count / stride)
        step = self.epoch * each + self.place // stride
        rate = warm_cosine(
            step, settings.warmup * each, settings.epochs * each, settings.lr, settings.lowest_lr
        )
        for group in self.adam.param_groups:
            group["lr"] = rate

    @torch.no_grad()
    def _average(self) -> None:
        """Move the average towards the weights; what is no fraction is theirs."""
        if self.average is None or self.settings.average is None:
            return
        for name, value in self.learner.module.state_dict().items():
            if value.is_floating_point():
                self.average[name].lerp_(value, 1 - self.settings.average)
            else:
                self.average[name].copy_(value)

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """Give the module the average inside the block."""
        if self.average is None:
            yield
            return
        own = {name: value.clone() for name, value in self.learner.module.state_dict().items()}
        self.learner.module.load_state_dict(self.average)
        try:
            yield
        finally:
            self.learner.module.load_state_dict(own)

    def _validate(self) -> float:
        self.learner.module.eval()
        with torch.inference_mode(), self._autocast(), self._averaged():
            try:
                figure = self.learner.validate()
            except MetricInputError as error:
                raise UserError(
                    f"the validation part gives no figure: {error.message}.",
                    hint=f"where scores are no numbers the training diverged: lower the learning rate (--lr is {self.settings.lr:g})",
                ) from None
        if math.isnan(figure):
            raise UserError(
                "the validation part gives no figure.",
                hint="it needs steps with and steps without a mistake: check the split",
            )
        return figure

    def _autocast(self) -> AbstractContextManager[object]:
        wanted = self.settings.precision
        cuda = self.device.type == "cuda"
        able = torch.cuda.is_bf16_supported() if cuda else True
        if wanted == "bf16" and not able:
            raise UserError("the GPU has no bf16.", hint="train with --precision 32")
        if wanted == "bf16" or (wanted == "auto" and cuda and able):
            return torch.autocast(self.device.type, torch.bfloat16)
        return nullcontext()

    def _too_large(self, items: Items) -> UserError:
        """Find the batch that fits by halving, and say so."""
        size = len(items) // 2
        while size:
            gc.collect()
            self.adam.zero_grad()
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
            if self._tried(items[:size], 1) is not None:
                break
            size //= 2
        # A batch of long items is smaller than what was set (most_rows).
        whole = max(self.settings.batch, len(items))
        several = math.ceil(whole / max(size, 1)) * self.settings.accumulate
        return UserError(
            f"a batch of {len(items)} does not fit into the memory of {self.device}.",
            hint=f"a batch of {size} fits: --batch {size} --accumulate {several} learns the same"
            if size
            else "not even one item fits: train on a device with more memory, or with narrower features",
        )

    # -- checkpoints

    def _keep(self) -> None:
        """Keep these weights; before ``last.pt`` is written, so that a crash between the two trains the epoch again."""
        weights = self.average or self.learner.module.state_dict()
        if self.folder is None:
            self.best_weights = {name: value.clone() for name, value in weights.items()}
        elif self.group.rank == 0:
            kept = Checkpoint(self.configuration, {"epoch": self.epoch}, weights)
            write_checkpoint(self.folder / BEST, kept)

    def save(self) -> None:
        """Write where the training is, and its log."""
        if self.folder is None or self.group.rank:
            return
        place: dict[str, Any] = {
            "epoch": self.epoch, "place": self.place, "total": self.total, "best": self.best, "best_epoch": self.best_epoch,
            "history": msgspec.to_builtins(self.history), "adam": self.adam.state_dict(), "random": _random_states(),
            "schedule": None if self.schedule is None else self.schedule.state_dict(), "average": self.average,
        }  # fmt: skip
        # The log first: killed between the two, the epoch is trained, and its line written, again. The other way round a
        # training that has ended would never write its last line.
        write_jsonl(self.folder / LOG, self.history)
        write_checkpoint(
            self.folder / LAST, Checkpoint(self.configuration, place, self.learner.module.state_dict())
        )
        self.saved = time.monotonic()

    def go_on(self, anew: bool) -> None:
        """Begin where the last checkpoint was written, if there is one."""
        if self.folder is None:
            return
        if self.group.rank == 0:  # what a kill in the middle of writing left; a hundred megabytes each
            for name in (LAST, BEST, LOG):
                for half in self.folder.glob(f".{name}.*.tmp"):
                    half.unlink(missing_ok=True)
        path = self.folder / LAST
        if not path.exists():
            return
        found = read_checkpoint(path, str(self.device))
        place = found.place
        try:
            found.require(self.configuration, path)
            if place.get("epoch", 0) > self.settings.epochs:
                raise UserError(
                    f"the checkpoint has seen {place['epoch']} epochs, more than {self.settings.epochs}.",
                    where=str(path),
                    hint="train in another folder, remove the checkpoint, or ask for as many epochs",
                )
        except UserError:
            if anew:
                return
            raise
        _give(self.learner.module, found, path)
        try:
            self.epoch, self.place, self.total = place["epoch"], place["place"], place["total"]
            self.best, self.best_epoch = place["best"], place["best_epoch"]
            self.history = msgspec.convert(place["history"], list[Epoch])
            self.adam.load_state_dict(place["adam"])
            if self.schedule is not None:
                self.schedule.load_state_dict(place["schedule"])
            if self.average is not None:
                self.average = place["average"]
            _set_random_states(place["random"])
        except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
            raise UserError(
                f"parts of the checkpoint are missing: {error}.",
                where=str(path),
                hint="remove the file to train again",
            ) from None

    def choose(self) -> None:
        """Give the module the weights that are kept."""
        self.group.wait()
        if self.folder is not None:
            best = read_checkpoint(self.folder / BEST, str(self.device))
            best.require(self.configuration, self.folder / BEST)
            _give(self.learner.module, best, self.folder / BEST)
        elif self.best_weights is not None:
            self.learner.module.load_state_dict(self.best_weights)
        self.learner.module.eval()


def _optimiser(parameters: Sequence[nn.Parameter], settings: TrainSettings) -> Adam:
    if settings.optimiser is None:
        return Adam(parameters, lr=settings.lr, weight_decay=settings.weight_decay, fused=True)
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    return AdamW([g for g in groups if g["params"]], lr=settings.lr, fused=True)


def _give(module: nn.Module, found: Checkpoint, path: Path) -> None:
    try:
        module.load_state_dict(found.weights)
    except RuntimeError as error:
        raise UserError(
            f"the checkpoint is of another network: {str(error).splitlines()[-1].strip()}",
            where=str(path),
            hint="name the model and the features that it was trained with",
        ) from None


def _is_memory(error: BaseException) -> bool:
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return any(text in str(error) for text in ("DefaultCPUAllocator", "CUBLAS_STATUS_ALLOC_FAILED"))


@contextmanager
def _shown(show: Show | None, run: _Run) -> Iterator[Callable[[], None]]:
    """Show one bar for the whole training; epochs that were trained before count as seen."""
    if show is None or run.group.rank or run.ended:
        yield lambda: None
        return
    left = (run.settings.epochs - run.epoch) * run.count - run.place
    with show("train", math.ceil(left / run.group.size)) as seen:
        yield seen


@contextmanager
def _board(
    settings: TrainSettings, folder: Path | None, group: Group, epoch: int
) -> Iterator[Callable[[Epoch], None]]:
    """Write events for TensorBoard, if that was asked for."""
    if not settings.tensorboard or folder is None or group.rank:
        yield lambda _: None
        return
    try:
        board = importlib.import_module("torch.utils.tensorboard")
    except ImportError:
        raise UserError(
            "TensorBoard is not installed.", hint="pip install tensorboard, or train without --tensorboard"
        ) from None
    writer = board.SummaryWriter(str(folder / "tensorboard"), purge_step=epoch + 1)

    def written(line: Epoch) -> None:
        for name in ("loss", "figure", "lr", "batches_a_second"):
            writer.add_scalar(name, getattr(line, name), line.epoch)
        writer.flush()

    try:
        yield written
    finally:
        writer.close()


@contextmanager
def _deterministic(wanted: bool) -> Iterator[None]:
    if not wanted:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def _random_states() -> dict[str, Any]:
    """Return the states of all generators as what a checkpoint may hold: tensors, numbers, lists."""
    state: Any = np.random.get_state()
    kind, keys, place, has, cached = state
    version, words, gauss = random.getstate()
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": [kind, torch.from_numpy(keys.astype(np.int64)), int(place), int(has), float(cached)],
        "python": [version, list(words), gauss],
    }


def _set_random_states(states: Mapping[str, Any]) -> None:
    torch.set_rng_state(states["torch"].cpu())
    if states["cuda"]:
        torch.cuda.set_rng_state_all([state.cpu() for state in states["cuda"]])
    kind, keys, *rest = states["numpy"]
    np.random.set_state((kind, keys.cpu().numpy().astype(np.uint32), *rest))
    version, words, gauss = states["python"]
    random.setstate((version, tuple(words), gauss))
