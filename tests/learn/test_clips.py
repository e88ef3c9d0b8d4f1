"""V1, V2 and V3 as recognisers: rows of steps, protocols, what is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from proctor.errors import UserError
from proctor.learn.features.store import FeatureStore, StoreWriter
from proctor.learn.recogniser import Task
from proctor.learn.samples import Division, Execution, StepData, StepSample
from proctor.learn.settings import TrainOptions

torch = pytest.importorskip("torch")
from proctor.learn import clips  # noqa: E402
from proctor.learn.clips import (  # noqa: E402
    ClipRecogniser,
    Way,
    clips_of,
    usual_training,
    way_of,
    with_features,
)
from proctor.learn.networks import StepNetwork  # noqa: E402

QUICK = TrainOptions(epochs=2, device="cpu")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make_store(
    path: Path, rows: dict[str, Any], modality: Any = "video", seconds: float = 1.0, backbone: str = "b"
) -> FeatureStore:
    width = next(iter(rows.values())).shape[1]
    with StoreWriter(
        path, width=width, seconds=seconds, modality=modality, backbone=backbone, source="a test"
    ) as writer:
        for name, one in rows.items():
            writer.add(name, one)
    return FeatureStore.open(path)


def counting(rows: int, width: int = 1) -> Any:
    return np.repeat(np.arange(rows, dtype=np.float64)[:, None], width, 1)


def step(recording: str, *executions: tuple[float, float], kinds: tuple[str, ...] = ()) -> StepSample:
    return StepSample(recording, "1", "", "1", "Mix", tuple(Execution(a, b, kinds) for a, b in executions))


def rows_of(
    samples: Sequence[StepSample], stores: Sequence[FeatureStore], **options: Any
) -> list[list[float]]:
    table = clips_of(samples, stores, **options).table
    return [table.batch(np.array([i])).x[0, :, 0].tolist() for i in range(len(samples))]


def test_executions_follow_each_other_in_the_order_of_the_annotation(tmp_path: Path) -> None:
    store = make_store(tmp_path / "s", {"x": counting(3), "r": counting(20)})
    one = step("r", (10.2, 12.9), (3.0, 5.0))
    assert rows_of([one, step("x", (0.1, 0.2))], [store]) == [[10, 11, 12, 3, 4], [0]]


def test_seen_early_each_execution_is_cut_or_all_of_them_together(tmp_path: Path) -> None:
    store = make_store(tmp_path / "s", {"r": counting(30)})
    one = step("r", (0, 9), (20, 24))
    assert rows_of([one], [store], observed=0.5) == [[0, 1, 2, 3, 20, 21]]
    assert rows_of([one], [store], observed=0.5, by_execution=False) == [[0, 1, 2, 3, 4, 5]]
    assert rows_of([one], [store], observed=0.1) == [[0, 20]]
    assert rows_of([step("r", (5, 6))], [store], observed=0.1, by_execution=False) == [[5]]
    assert rows_of([step("r", (0, 10))], [store], observed=0.3) == [[0, 1, 2]]


def test_past_the_end_there_are_zeros_and_they_are_counted(tmp_path: Path) -> None:
    store = make_store(tmp_path / "s", {"r": counting(5) + 1})
    found = clips_of([step("r", (3, 8))], [store])
    assert found.table.batch(np.array([0])).x[0, :, 0].tolist() == [4, 5, 0, 0, 0]
    assert (found.past_the_end, found.cut) == (3, 0)


def test_modalities_end_with_the_shortest(tmp_path: Path) -> None:
    long = make_store(tmp_path / "a", {"r": counting(10, 2)})
    short = make_store(tmp_path / "b", {"r": counting(6) * 100}, "audio")
    found = clips_of([step("r", (4, 9)), step("r", (7, 9)), step("r", (9, 12))], [long, short])
    assert found.table.batch(np.array([0])).x[0].tolist() == [[4, 4, 400], [5, 5, 500]]
    assert found.table.batch(np.array([1])).x[0].tolist() == [[7, 7, 0]]  # one row always stays
    assert found.table.lengths.tolist() == [2, 1, 2]
    assert (found.cut, found.past_the_end) == (3 + 1 + 1, 2)


def test_after_its_last_line_a_narration_is_silent_and_cuts_nothing(tmp_path: Path) -> None:
    seen = make_store(tmp_path / "a", {"r": counting(10)})
    said = make_store(tmp_path / "b", {"r": counting(6) * 100}, "text", backbone="text:st:minilm")
    found = clips_of([step("r", (4, 8)), step("r", (8, 11))], [seen, said])
    assert found.table.batch(np.array([0])).x[0].tolist() == [[4, 400], [5, 500], [6, 0], [7, 0]]
    assert found.table.batch(np.array([1])).x[0].tolist()[:2] == [[8, 0], [9, 0]]
    assert (found.cut, found.past_the_end) == (0, 1)


def test_modalities_of_another_stride_are_refused(tmp_path: Path) -> None:
    one = make_store(tmp_path / "a", {"r": counting(10)})
    two = make_store(tmp_path / "b", {"r": counting(5)}, "audio", seconds=2.0)
    with pytest.raises(UserError, match="audio 2 s"):
        clips_of([step("r", (0, 3))], [one, two])
    assert rows_of([step("r", (3, 6.5))], [two]) == [[1, 2, 3]]


# -- learning


def make_task(recordings: int = 12, width: int = 8, seed: int = 0) -> tuple[Task, dict[str, Any]]:
    """Mistaken steps have a shift in the first number of each row."""
    drawn = np.random.default_rng(seed)
    samples, rows = [], {}
    for r in range(recordings):
        rows[f"r{r}"] = drawn.normal(size=(40, width))
        for s in range(4):
            wrong = bool((r + s) % 2)
            kinds = (("timing",) if s < 2 else ("technique",)) if wrong else ()
            samples.append(
                StepSample(f"r{r}", str(s), "", "1", "", (Execution(10 * s, 10 * s + 3 + r % 7, kinds),))
            )
            rows[f"r{r}"][10 * s : 10 * s + 10, 0] += 2 * wrong
    data = StepData(tuple(samples), {}, {}, (), "made", "hash")
    third = 4 * recordings // 3
    parts = np.split(np.arange(4 * recordings), [third, 2 * third])
    return Task(data, Division("R", *parts), data.labels(), seed), rows


@pytest.mark.parametrize(
    ("variant", "protocol"), [("v1", "right"), ("v1", "code"), ("v2", "right"), ("v3", "right")]
)
def test_they_learn(variant: Any, protocol: Any, tmp_path: Path) -> None:
    task, rows = make_task()
    stores = [make_store(tmp_path / "s", rows)]
    if variant == "v3":
        stores.append(make_store(tmp_path / "t", rows, "audio"))
    model = ClipRecogniser(variant, stores, TrainOptions(epochs=12, device="cpu", lr=3e-3))
    chosen = model.fit(replace(task, protocol=protocol))
    scores, test = model.scores(task.division.test), task.division.test
    right, wrong = scores[task.target[test]], scores[~task.target[test]]
    assert (right[:, None] > wrong).mean() > 0.9
    assert scores.min() >= 0
    assert scores.max() <= 1
    assert msgspec.json.encode(chosen)
    assert set(chosen.get("modalities", {})) == ({"video", "audio"} if variant == "v3" else set())  # type: ignore[arg-type, call-overload]
    kinds = model.kind_scores(test)
    assert set(kinds) == ({"technique", "timing"} if protocol == "right" else set())
    assert model.reasons(test) == [()] * len(test)
    # places in another order give the same scores: batches are of like length
    assert model.scores(test[::-1])[::-1] == pytest.approx(scores, abs=1e-6)


def test_learning_and_scoring_hold_no_more_rows_at_once_than_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else steps of a thousand rows decide how much memory is needed."""
    task, rows = make_task()
    seen: list[int] = []

    class Looking(StepNetwork):
        def forward(self, x: Any, mask: Any = None) -> Any:
            seen.append(x.shape[0] * x.shape[1])
            return super().forward(x, mask)

    few = msgspec.structs.replace(usual_training("v2", "right"), most_rows=30)
    monkeypatch.setattr(clips, "StepNetwork", Looking)
    monkeypatch.setattr(clips, "usual_training", lambda *_: few)
    ClipRecogniser("v2", [make_store(tmp_path / "s", rows)], QUICK).fit(task)
    assert 10 < max(seen) <= 30
    assert usual_training("v2", "right").most_rows <= 3072  # 1.4 GB at a width of 1,024


def test_the_same_seed_gives_the_same_scores_and_a_folder_is_gone_on_with(tmp_path: Path) -> None:
    task, rows = make_task()
    store = make_store(tmp_path / "s", rows)

    def scores(seed: int, folder: Path | None = None) -> Any:
        model = ClipRecogniser("v2", [store], QUICK, folder)
        model.fit(replace(task, seed=seed))
        return model.scores(task.division.test).tolist()

    assert scores(1) == scores(1, tmp_path / "run") == scores(1, tmp_path / "run")
    assert scores(1) != scores(2)
    assert (tmp_path / "run" / "best.pt").exists()
    with pytest.raises(UserError, match="seed is 1 there and 2 here"):
        scores(2, tmp_path / "run")


def test_no_label_of_the_test_part_is_looked_at(tmp_path: Path) -> None:
    task, rows = make_task()
    store = make_store(tmp_path / "s", rows)
    other = task.target.copy()
    other[task.division.test] = ~other[task.division.test]
    samples = list(task.data.samples)
    for i in task.division.test:
        samples[i] = replace(samples[i], executions=(replace(samples[i].executions[0], kinds=("order",)),))
    scores = []
    for one in (task, replace(task, target=other, data=replace(task.data, samples=tuple(samples)))):
        model = ClipRecogniser("v1", [store], QUICK)
        model.fit(one)
        scores.append(model.scores(task.division.test).tolist())
    assert scores[0] == scores[1]


def test_votes_count_rows_and_a_tie_is_no_mistake(tmp_path: Path) -> None:
    task, rows = make_task()
    store = make_store(tmp_path / "s", rows)
    model = ClipRecogniser("v1", [store], QUICK)
    model.fit(replace(task, protocol="paper"))
    learner = model._learner
    assert learner is not None
    learner.module = _Signs()
    sample = replace(task.data.samples[0], executions=(Execution(0, 4),))
    store = make_store(tmp_path / "t", {"r0": np.array([[5.0], [-0.1], [0.1], [-5.0]])})
    learner._clips = clips_of([sample], [store])
    model._scored.clear()
    assert model.scores(np.array([0])).tolist() == [0.5]  # and not above it
    learner._way = way_of("code")
    model._scored.clear()
    mean = torch.tensor([5.0, -0.1, 0.1, -5.0]).sigmoid().mean().item()
    assert model.scores(np.array([0])).tolist() == pytest.approx([mean], abs=1e-3)


class _Signs(torch.nn.Module):
    """Gives back what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.nothing = torch.nn.Parameter(torch.zeros(1))

    def forward(self, x: Any, mask: Any = None) -> Any:
        return x + self.nothing


def test_recordings_without_features_are_dropped_and_listed(tmp_path: Path) -> None:
    task, rows = make_task()
    del rows["r1"]
    store = make_store(tmp_path / "s", rows)
    with pytest.raises(UserError, match="without features"):
        ClipRecogniser("v1", [store], QUICK).fit(task)
    found = with_features(task, [store])
    assert [d.id for d in found.data.dropped] == [f"r1:{s}" for s in range(4)]
    assert {(d.reason, d.detail) for d in found.data.dropped} == {("no_features", "of recording r1: b")}
    assert found.division.train.tolist() == [0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15]
    assert found.division.test is not task.division.test
    assert ClipRecogniser("v1", [store], QUICK).fit(found)
    assert with_features(found, [make_store(tmp_path / "all", make_task()[1])]) is found
    with pytest.raises(UserError, match="part 'val'"):
        with_features(task, [make_store(tmp_path / "few", {k: rows[k] for k in ("r0", "r9")})])


def test_one_class_alone_is_refused(tmp_path: Path) -> None:
    task, rows = make_task()
    store = make_store(tmp_path / "s", rows)
    for value, said in ((True, "are mistakes"), (False, "are without mistakes")):
        target = task.target.copy()
        target[task.division.val] = value
        with pytest.raises(UserError, match=f"part 'val' {said}"):
            ClipRecogniser("v2", [store], QUICK).fit(replace(task, target=target))


def test_one_store_a_modality(tmp_path: Path) -> None:
    stores = [make_store(tmp_path / name, {"a": counting(3)}) for name in ("x", "y")]
    with pytest.raises(UserError, match="two stores are of the same modality"):
        ClipRecogniser("v3", stores)


def test_features_are_needed() -> None:
    with pytest.raises(UserError, match="looks at features"):
        ClipRecogniser("v2", [])


def test_protocols_differ_in_what_is_documented() -> None:
    paper, code, right = (usual_training("v2", p) for p in ("paper", "code", "right"))
    assert (paper.lr, paper.batch, paper.keep, paper.weight_decay, paper.clip) == (1e-5, 1, "best", 0, None)
    assert (code.lr, code.batch, code.keep, code.weight_decay, code.clip) == (1e-4, 1, "last", 1e-3, 1)
    assert (right.batch, right.keep, right.patience) == (32, "best", 10)
    assert [usual_training("v1", "paper", early).lr for early in (False, True)] == [1e-3, 1e-4]
    assert usual_training("v1", "paper").batch == 512
    assert usual_training("v3", "paper").lr == 5e-5
    assert way_of("paper") == Way("sinusoidal", "vote")
    assert way_of("code") == Way("none", "mean")


def test_each_step_counts_once_however_long(tmp_path: Path) -> None:
    """Batches of like steps learn what one step a batch learns, its gradients accumulated."""
    task, rows = make_task()
    store = make_store(tmp_path / "s", rows)
    way = Way("none", "mean")
    found = []
    for batch, accumulate in ((16, 1), (1, 16)):
        options = TrainOptions(epochs=1, batch=batch, accumulate=accumulate, device="cpu")
        model = ClipRecogniser("v1", [store], options, way=way)
        model.fit(replace(task, protocol="code"))  # V1 by steps
        found.append(model.scores(task.division.test))
    assert found[0] == pytest.approx(found[1], abs=1e-5)


def test_published_depth_lies_beside_the_other_modalities_though_its_rows_are_a_little_longer(
    tmp_path: Path,
) -> None:
    video = make_store(tmp_path / "v", {"r": counting(1000)}, seconds=2.0)
    depth = make_store(tmp_path / "d", {"r": counting(900)}, "depth", seconds=2 * 30 * 1001 / 30000)
    assert rows_of([step("r", (2.0, 6.0))], [video, depth]) == [[1, 2]]
    beside = clips_of([step("r", (1500.0, 1504.0))], [video, depth]).table.batch(np.array([0])).x[0]
    assert beside.tolist() == [[750, 749], [751, 750]]  # the middle, 1501 s, is in the row from 1499.5 s on
    with pytest.raises(UserError, match=r"b video 2 s, b depth 1\.001 s"):
        clips_of(
            [step("r", (2.0, 6.0))], [video, make_store(tmp_path / "e", {"r": counting(9)}, "depth", 1.001)]
        )
