"""The trainer: the same weights after any accident, words for what is wrong, several processes."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from proctor.errors import UserError
from proctor.learn.settings import TrainOptions, TrainSettings
from proctor.metrics.classification import roc_auc
from proctor.records import read_jsonl

torch = pytest.importorskip("torch")
from tests.learn.toy import AVERAGED, SETTINGS, Toy  # noqa: E402

from proctor.learn import trainer  # noqa: E402
from proctor.learn.checkpoints import read_checkpoint  # noqa: E402
from proctor.learn.group import started  # noqa: E402
from proctor.learn.trainer import Epoch, Trained, fit, load_weights  # noqa: E402

TOY = Path(__file__).with_name("toy.py")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def changed(**settings: Any) -> TrainSettings:
    return msgspec.structs.replace(SETTINGS, **settings)


def weights(toy: Toy) -> list[float]:
    return [float(v) for p in toy.module.state_dict().values() for v in p.flatten()]


def stored(path: Path) -> dict[str, list[float]]:
    return {name: value.flatten().tolist() for name, value in read_checkpoint(path).weights.items()}


def lines(folder: Path) -> list[tuple[Any, ...]]:
    read: list[Epoch] = read_jsonl(folder / "log.jsonl", Epoch)
    return [(e.epoch, e.loss, e.figure, e.lr, e.batches, e.best) for e in read]


def test_it_learns_and_keeps_the_best(tmp_path: Path) -> None:
    toy = Toy(dropout=0.0)
    found = fit(toy, changed(epochs=30), tmp_path)
    assert found.figure > 0.95
    assert (
        [e.figure for e in found.history][found.best - 1]
        == found.figure
        == max(e.figure for e in found.history)
    )
    assert toy.validate() == pytest.approx(found.figure)
    assert not toy.module.training
    assert [e.epoch for e in read_jsonl(tmp_path / "log.jsonl", Epoch)] == list(range(1, 31))
    assert found.chosen == {
        "epochs": 30,
        "best_epoch": found.best,
        "val_figure": found.figure,
        "early": False,
    }
    again = Toy(dropout=0.0)
    configuration = load_weights(tmp_path / "best.pt", again.module)
    assert weights(again) == weights(toy)
    assert configuration["lr"] == 0.05


def test_a_folder_changes_nothing(tmp_path: Path) -> None:
    inside, outside = Toy(), Toy()
    fit(inside, SETTINGS, tmp_path)
    fit(outside, SETTINGS)
    assert weights(inside) == weights(outside)


def test_the_last_weights_where_the_protocol_wants_them() -> None:
    best, last = Toy(), Toy()
    found = fit(best, changed(epochs=12))
    assert found.best < 12
    fit(last, changed(epochs=12, keep="last"))
    until = Toy()
    fit(until, changed(epochs=found.best))
    assert weights(best) == weights(until) != weights(last)


def test_seeds_and_the_callers_generators() -> None:
    def trained(seed: int) -> list[float]:
        toy = Toy()
        fit(toy, changed(epochs=2), seed=seed)
        return weights(toy)

    torch.manual_seed(5)
    random.seed(5)
    before = (torch.rand(1).item(), random.random())
    torch.manual_seed(5)
    random.seed(5)
    assert trained(1) == trained(1)
    assert (torch.rand(1).item(), random.random()) == before
    assert trained(1) != trained(2)


def test_it_stops_when_nothing_becomes_better() -> None:
    class Flat(Toy):
        figures = iter([0.5, 0.7, 0.6, 0.7, 0.69, 0.9])

        def validate(self) -> float:
            return next(self.figures)

    found = fit(Flat(), changed(patience=3))
    assert (len(found.history), found.best, found.figure, found.early) == (5, 2, 0.7, True)


def test_the_rate_falls_on_a_plateau(tmp_path: Path) -> None:
    class Same(Toy):
        def validate(self) -> float:
            return 0.5

    found = fit(Same(), changed(epochs=6, plateau=1, lowest_lr=1e-3))
    assert [e.lr for e in found.history] == pytest.approx([0.05, 0.05, 0.05, 0.005, 0.005, 0.001])
    fit(Same(), changed(epochs=2, plateau=1, lowest_lr=1e-3), tmp_path)
    resumed = fit(Same(), changed(epochs=6, plateau=1, lowest_lr=1e-3), tmp_path)
    assert [e.lr for e in resumed.history] == [e.lr for e in found.history]
    assert {e.lr for e in fit(Same(), changed(plateau=None)).history} == {0.05}


def test_the_rate_of_each_step_and_the_average_of_all_weights() -> None:
    passed: list[list[float]] = []
    validated: list[list[float]] = []

    class Seen(Toy):
        def loss(self, items: Any) -> Any:
            passed.append(weights(self))
            return super().loss(items)

        def validate(self) -> float:
            validated.append(weights(self))
            return super().validate()

    toy = Seen(dropout=0.0)
    found = fit(toy, AVERAGED)
    cosine = [1e-8 + (0.05 - 1e-8) * (1 + np.cos(np.pi * step / 20)) / 2 for step in (4, 9, 14, 19)]
    assert [e.lr for e in found.history] == pytest.approx([0.05 * 4 / 9, 0.05, *cosine])
    assert passed[0] == passed[1] != passed[2]  # the first rate is 0
    average = np.array(passed[0])
    for after in passed[1:26]:
        average = 0.9 * average + 0.1 * np.array(after)
    assert validated[4] == pytest.approx(average, abs=1e-6)  # of five epochs of five batches
    assert np.abs(average - passed[25]).max() > 1e-3
    assert weights(toy) == validated[-1]


def test_adamw_decays_weights_of_more_than_one_dimension_only() -> None:
    class Still(Toy):
        def loss(self, items: Any) -> Any:
            return super().loss(items) * 0

    toy = Still(dropout=0.0)
    before = {name: value.clone() for name, value in toy.module.state_dict().items()}
    fit(toy, changed(optimiser="adamw", weight_decay=0.1, epochs=1, plateau=None))
    for name, value in toy.module.state_dict().items():
        kept = (1 - 0.05 * 0.1) ** 5 if value.ndim > 1 else 1.0
        assert value.flatten().tolist() == pytest.approx((before[name] * kept).flatten().tolist()), name


def test_with_a_cosine_the_number_of_epochs_is_part_of_the_configuration(tmp_path: Path) -> None:
    fit(Toy(), AVERAGED, tmp_path)
    with pytest.raises(UserError, match="epochs is 6 there and 8 here"):
        fit(Toy(), msgspec.structs.replace(AVERAGED, epochs=8), tmp_path)


def test_accumulated_batches_are_one_larger_batch() -> None:
    large, small = Toy(dropout=0.0, size=8), Toy(dropout=0.0, size=4)
    # Adam does not see the size of a gradient; beside weight decay it does
    fit(large, changed(clip=None, weight_decay=0.5))
    fit(small, changed(clip=None, weight_decay=0.5, accumulate=2))
    assert weights(small) == pytest.approx(weights(large), abs=1e-5)
    clipped = Toy(dropout=0.0, size=8)
    fit(clipped, changed(clip=1e-2, weight_decay=0.5))
    assert np.linalg.norm(weights(clipped)) < 0.9 * np.linalg.norm(weights(large))


def test_bf16_learns_about_the_same() -> None:
    exact, short = Toy(dropout=0.0), Toy(dropout=0.0)
    fit(exact, SETTINGS)
    fit(short, changed(precision="bf16"))
    assert weights(short) != weights(exact)
    assert weights(short) == pytest.approx(weights(exact), abs=0.2)
    assert next(short.module.parameters()).dtype == torch.float32


# -- accidents


def run_toy(
    folder: Path, seconds: float = 0.0, dropout: float = 0.5, epochs: int = 6, how: str = ""
) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(TOY), str(folder), str(epochs), str(seconds), str(dropout), how]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})


@pytest.mark.parametrize(("how", "waits"), [("", (0.05, 0.43, 0.71)), ("averaged", (0.43,))])
def test_killed_again_and_again_it_ends_with_the_same_weights(
    tmp_path: Path, how: str, waits: tuple[float, ...]
) -> None:
    fit(Toy(), AVERAGED if how else SETTINGS, tmp_path / "calm")
    killed, places = 0, []
    for wait in waits:
        process = run_toy(tmp_path / "hurt", seconds=0.1, how=how)
        last = tmp_path / "hurt" / "last.pt"
        before = last.stat().st_mtime_ns if last.exists() else 0
        deadline = time.monotonic() + 200
        while time.monotonic() < deadline and (not last.exists() or last.stat().st_mtime_ns == before):
            time.sleep(0.01)
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        place = read_checkpoint(last).place
        places.append((place["epoch"], place["place"]))
    assert killed == len(waits)
    assert places == sorted(places)
    assert len(waits) == 1 or any(
        place for _, place in places
    )  # within an epoch; one kill may come between two
    assert run_toy(tmp_path / "hurt", how=how).wait(120) == 0
    for name in ("best.pt", "last.pt"):
        assert stored(tmp_path / "hurt" / name) == stored(tmp_path / "calm" / name)
    assert lines(tmp_path / "hurt") == lines(tmp_path / "calm")


@pytest.mark.parametrize("dies", ["write_jsonl", "write_checkpoint"])
def test_killed_while_the_last_epoch_is_written_no_line_of_the_log_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: str
) -> None:
    class Killed(BaseException):
        pass

    def killed(path: Path, what: Any) -> None:
        if path.name != "best.pt" and len(what if dies == "write_jsonl" else what.place["history"]) == 6:
            raise Killed
        real(path, what)

    real = getattr(trainer, dies)
    monkeypatch.setattr(trainer, dies, killed)
    with pytest.raises(Killed):
        fit(Toy(), SETTINGS, tmp_path / "hurt")
    monkeypatch.undo()
    fit(Toy(), SETTINGS, tmp_path / "hurt")
    fit(Toy(), SETTINGS, tmp_path / "calm")
    assert lines(tmp_path / "hurt") == lines(tmp_path / "calm")
    assert stored(tmp_path / "hurt" / "best.pt") == stored(tmp_path / "calm" / "best.pt")


def test_what_a_kill_left_half_written_is_removed(tmp_path: Path) -> None:
    for name in (".last.pt.0f.tmp", ".best.pt.1e.tmp", ".log.jsonl.2d.tmp"):
        (tmp_path / name).write_bytes(b"half")
    (tmp_path / ".other.tmp").touch()
    fit(Toy(), SETTINGS, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".other.tmp", "best.pt", "last.pt", "log.jsonl"]


def test_a_finished_training_is_not_begun_again(tmp_path: Path) -> None:
    first = fit(Toy(), SETTINGS, tmp_path)
    again = Toy()
    again.loss = None  # type: ignore[assignment, method-assign]
    assert fit(again, SETTINGS, tmp_path) == first
    longer = fit(Toy(), changed(epochs=8), tmp_path)
    assert [e.loss for e in longer.history] == [e.loss for e in fit(Toy(), changed(epochs=8)).history]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (lambda folder: fit(Toy(), changed(lr=0.01), folder), "lr is 0.05 there and 0.01 here"),
        (lambda folder: fit(Toy(), SETTINGS, folder, seed=3), "seed is 0 there and 3 here"),
        (lambda folder: fit(Toy(), SETTINGS, folder, about={"data": "b"}), "data is None there and 'b' here"),
    ],
)
def test_a_checkpoint_of_another_configuration_is_refused(
    tmp_path: Path, other: Callable[[Path], Trained], said: str
) -> None:
    fit(Toy(), SETTINGS, tmp_path)
    with pytest.raises(UserError, match=said):
        other(tmp_path)


@pytest.mark.parametrize("other", [{"lr": 0.01}, {"epochs": 2}])
def test_unless_it_is_to_be_trained_anew(tmp_path: Path, other: dict[str, Any]) -> None:
    fit(Toy(), SETTINGS, tmp_path / "run")
    with pytest.raises(UserError, match=r"lr is|has seen 6 epochs, more than 2"):
        fit(Toy(), changed(**other), tmp_path / "run")
    fit(Toy(), changed(**other), tmp_path / "run", anew=True)
    fit(Toy(), changed(**other), tmp_path / "calm")
    for name in ("best.pt", "last.pt"):
        assert stored(tmp_path / "run" / name) == stored(tmp_path / "calm" / name)
    assert lines(tmp_path / "run") == lines(tmp_path / "calm")
    fit(Toy(), changed(**{"epochs": 8, **other}), tmp_path / "run", anew=True)  # what fits is gone on with
    assert len(lines(tmp_path / "run")) == other.get("epochs", 8)


def test_the_best_weights_of_another_training_are_not_taken(tmp_path: Path) -> None:
    fit(Toy(), SETTINGS, tmp_path / "one")
    fit(Toy(), changed(lr=0.01), tmp_path / "two")
    (tmp_path / "two" / "best.pt").replace(tmp_path / "one" / "best.pt")
    with pytest.raises(UserError, match=r"best\.pt: the checkpoint is of another configuration: lr is 0\.01"):
        fit(Toy(), SETTINGS, tmp_path / "one")


def test_another_network_is_refused(tmp_path: Path) -> None:
    fit(Toy(), SETTINGS, tmp_path)
    toy = Toy()
    toy.module = torch.nn.Sequential(torch.nn.Linear(6, 3), torch.nn.Linear(3, 1))
    with pytest.raises(UserError, match="network is"):
        fit(toy, SETTINGS, tmp_path)
    with pytest.raises(UserError, match="of another network"):
        load_weights(tmp_path / "best.pt", toy.module)


@pytest.mark.parametrize("damage", ["cut", "empty", "bit", "text", "code"])
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, damage: str) -> None:
    fit(Toy(), SETTINGS, tmp_path)
    path = tmp_path / "last.pt"
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "empty":
        data.clear()
    elif damage == "bit":
        data[len(data) // 2] ^= 4
    elif damage == "text":
        data = bytearray(b"not a checkpoint")
    path.write_bytes(data)
    if damage == "code":
        torch.save({"format": "proctor-checkpoint-1", "place": _Evil(tmp_path / "ran")}, path)
    with pytest.raises(UserError, match="checkpoint"):
        fit(Toy(), SETTINGS, tmp_path)
    assert not (tmp_path / "ran").exists()


class _Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def test_no_checkpoint_and_parts_of_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no checkpoint"):
        load_weights(tmp_path / "best.pt", Toy().module)
    torch.save({"format": "proctor-checkpoint-1", "configuration": {}}, tmp_path / "best.pt")
    with pytest.raises(UserError, match="parts of the checkpoint are missing"):
        load_weights(tmp_path / "best.pt", Toy().module)
    torch.save({"weights": {}}, tmp_path / "best.pt")
    with pytest.raises(UserError, match="no checkpoint of this Proctor"):
        load_weights(tmp_path / "best.pt", Toy().module)


@contextmanager
def small_files(largest: int) -> Iterator[None]:
    """Let no file of this process grow larger: what a full disk does to a write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)


def test_a_full_disk_leaves_the_old_checkpoint(tmp_path: Path) -> None:
    fit(Toy(), changed(epochs=2), tmp_path)
    before = (tmp_path / "last.pt").read_bytes()
    with small_files(4000), pytest.raises(UserError, match="cannot be written: File too large"):
        fit(Toy(), SETTINGS, tmp_path)
    assert (tmp_path / "last.pt").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["best.pt", "last.pt", "log.jsonl"]
    resumed, calm = Toy(), Toy()
    fit(resumed, SETTINGS, tmp_path)
    fit(calm, SETTINGS)
    assert weights(resumed) == weights(calm)


@pytest.mark.parametrize(("fits", "hint"), [(3, "--batch 2 --accumulate 4"), (0, "not even one item fits")])
def test_out_of_memory_says_what_fits(fits: int, hint: str) -> None:
    class Large(Toy):
        def loss(self, items: Any) -> Any:
            if len(items) > fits:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return super().loss(items)

    with pytest.raises(UserError, match="a batch of 8 does not fit") as told:
        fit(Large(), changed(batch=8))
    assert hint in str(told.value)


def test_what_a_batch_held_is_free_when_a_smaller_one_is_tried() -> None:
    held: list[weakref.ref[Any]] = []

    class Large(Toy):
        def loss(self, items: Any) -> Any:
            full = any(tensor() is not None for tensor in held)
            activations = self.x[items].clone()
            held.append(weakref.ref(activations))
            if full or len(items) > 4:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return super().loss(items)

    # eight of the 32 that were set: they were long
    with pytest.raises(UserError, match="a batch of 4 fits: --batch 4 --accumulate 8 learns the same"):
        fit(Large(), changed(batch=32))


def test_memory_of_the_processor_is_told_from_other_errors() -> None:
    class Large(Toy):
        def loss(self, items: Any) -> Any:
            if len(items) > 3:
                torch.empty(2**56, dtype=torch.uint8)  # torch's own words for it
            return super().loss(items)

    with pytest.raises(UserError, match="--batch 2 --accumulate 4"):
        fit(Large(), changed(batch=8))


def test_other_errors_are_not_called_memory() -> None:
    class Wrong(Toy):
        def loss(self, items: Any) -> Any:
            raise RuntimeError("shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="shapes"):
        fit(Wrong(), SETTINGS)


def test_a_loss_that_is_no_number_is_told() -> None:
    class Exploding(Toy):
        def loss(self, items: Any) -> Any:
            return super().loss(items) * float("inf")

    with pytest.raises(UserError, match=r"loss became (inf|nan) in epoch 1"):
        fit(Exploding(), SETTINGS)


def test_a_validation_part_without_a_figure_is_told() -> None:
    class One(Toy):
        def validate(self) -> float:
            return float("nan")

    with pytest.raises(UserError, match="validation part"):
        fit(One(), SETTINGS)


def test_scores_that_are_no_numbers_are_told() -> None:
    class Diverged(Toy):
        def validate(self) -> float:
            return float(roc_auc(self.y.bool().numpy(), self.module(self.x)[:, 0].numpy()).value)

    with pytest.raises(UserError, match=r"finite, got (nan|-?inf)[^\n]*\n.*lower the learning rate"):
        fit(Diverged(size=40), changed(lr=1e38))


def test_nothing_to_train_on_is_told() -> None:
    with pytest.raises(UserError, match="nothing to train on"):
        fit(Toy(items=0), SETTINGS)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_told() -> None:
    with pytest.raises(UserError, match="no GPU"):
        fit(Toy(), changed(device="cuda"))


# -- options, progress, TensorBoard


def test_options_go_over_what_is_usual() -> None:
    usual = TrainSettings(lr=1e-5, batch=1, clip=None)
    assert TrainOptions().over(usual) == usual
    assert TrainOptions(lr=0.2, tensorboard=True).over(usual) == msgspec.structs.replace(
        usual, lr=0.2, tensorboard=True
    )
    with pytest.raises(UserError, match="--batch is 0"):
        TrainOptions(batch=0)


def test_what_needs_no_torch_does_not_wait_for_it() -> None:
    names = ("cli.main", "cli.learn", "learn.samples", "learn.evaluate", "learn.settings", "learn.runs")
    code = "import sys, " + ", ".join(f"proctor.{n}" for n in names) + "; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_progress_counts_the_batches_that_are_left(tmp_path: Path) -> None:
    told: list[Any] = []

    @contextmanager
    def show(title: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        told.append(total)
        yield lambda: told.append(1)

    fit(Toy(), changed(epochs=2), tmp_path, show=show)
    assert (told[0], sum(told[1:])) == (10, 10)
    told.clear()
    fit(Toy(), changed(epochs=3), tmp_path, show=show)
    assert (told[0], sum(told[1:])) == (5, 5)


def test_tensorboard_is_optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UserError, match="pip install tensorboard"):
        fit(Toy(), changed(tensorboard=True), tmp_path)
    monkeypatch.undo()
    pytest.importorskip("tensorboard")
    fit(Toy(), changed(tensorboard=True), tmp_path)
    assert list((tmp_path / "tensorboard").glob("events.*"))


def test_deterministic_mode_ends_with_the_training() -> None:
    class Looking(Toy):
        seen = False

        def validate(self) -> float:
            self.seen |= torch.are_deterministic_algorithms_enabled()
            return super().validate()

    toy = Looking()
    fit(toy, changed(deterministic=True))
    assert toy.seen
    assert not torch.are_deterministic_algorithms_enabled()


def test_two_processes_learn_what_one_does(tmp_path: Path) -> None:
    two = tmp_path / "two"
    assert started(2, [str(TOY), str(two), "6", "0", "0"])
    fit(Toy(dropout=0.0), changed(accumulate=2), tmp_path / "one")
    one, together = stored(tmp_path / "one" / "best.pt"), stored(two / "best.pt")
    logs = [
        json.loads((p / "log.jsonl").read_text().splitlines()[-1])["epoch"] for p in (two, tmp_path / "one")
    ]
    assert logs == [6, 6]
    assert together != stored_untrained()
    for name, values in one.items():
        assert np.abs(np.array(values) - np.array(together[name])).max() < 1e-5, name


def test_a_process_that_fails_is_told(tmp_path: Path) -> None:
    code = "import os, sys, time; r = os.environ['RANK']; time.sleep(60 * (r == '0')); sys.exit(f'no luck for {r}')"
    before = time.monotonic()
    with pytest.raises(UserError, match="process 1 of 2 ended with status 1") as told:
        started(2, ["-c", code])
    assert "no luck for 1" in str(told.value)
    assert time.monotonic() - before < 30
    assert not started(1, ["-c", code])


def stored_untrained() -> dict[str, list[float]]:
    return {name: value.flatten().tolist() for name, value in Toy(dropout=0.0).module.state_dict().items()}
