"""Features of context: what they count, and that nothing leaks into them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learn.made import flipped, make_data, make_graph, renamed, with_samples

from proctor.errors import UserError
from proctor.learn.context import SETTINGS, Features, Setting, context_features
from proctor.learn.history import Histories, learn_histories
from proctor.learn.samples import Execution, StepData, StepSample

DATA, DIVISION = make_data()
HISTORIES = learn_histories(DATA, DIVISION.train, DATA.labels(), 0)


def features(
    data: StepData, setting: Setting = "offline", observed: float = 1.0, histories: Histories | None = None
) -> Features:
    """Compute features, with tables of this data's own training labels unless others are given."""
    histories = histories or learn_histories(data, DIVISION.train, data.labels(), 0)
    return context_features(data, histories, setting, observed)


def of(found: Features, name: str) -> np.ndarray:
    """Return a column."""
    return found.values[:, found.names.index(name)]


def recording(*executions: tuple[int, float, float]) -> StepData:
    """Make one recording from (node, start, end)."""
    groups: dict[int, list[Execution]] = {}
    for node, start, end in executions:
        groups.setdefault(node, []).append(Execution(start, end))
    samples = tuple(
        StepSample("1_0", f"1{node}", f"n{node}", "1", f"Step {node}", tuple(group))
        for node, group in groups.items()
    )
    return StepData(samples, {}, {"1": make_graph("1")}, (), "made", "0")


def known(data: StepData) -> Histories:
    """Learn tables from the data itself."""
    return learn_histories(data, np.arange(len(data.samples)), data.labels(), 0)


def test_steps_begun_before_what_they_need() -> None:
    data = recording((0, 0, 10), (2, 8, 20), (5, 21, 30), (3, 31, 40), (1, 41, 50))
    found = context_features(data, known(data))
    # 2 needs 0 (not finished) and 1 (comes last); 5 needs 3 and 4 at once, 1 in the end; 3 needs 2, which was begun
    assert of(found, "immediate predecessors not begun").tolist() == [0, 1, 2, 0, 0]
    assert of(found, "earlier steps not begun").tolist() == [0, 1, 3, 1, 0]
    assert of(found, "share of earlier steps not begun").tolist() == [0, 0.5, 0.6, 1 / 3, 0]
    assert of(found, "later steps already begun").tolist() == [0, 0, 0, 1, 3]
    assert of(found, "immediate predecessors not finished").tolist() == [0, 1, 0, 0, 0]
    assert of(found, "earlier steps never begun").tolist() == [0, 0, 1, 0, 0]
    assert of(found, "earlier steps begun too late").tolist() == [0, 1, 2, 1, 0]
    assert of(found, "steps of the graph never begun").tolist() == [3] * 5
    assert of(found, "largest earlier steps not begun, before").tolist() == [1, 0, 1, 3, 3]
    assert of(found, "largest earlier steps not begun, all other steps").tolist() == [3, 3, 1, 3, 3]
    assert of(found, "largest earlier steps not begun, after").tolist() == [3, 3, 1, 0, 0]
    assert of(found, "executions, before").tolist() == [
        1,
        1,
        2,
        3,
        4,
    ]  # the first ends after the second begins
    assert of(found, "steps passed over so far").tolist() == [1, 1, 3, 2, 1]
    assert of(found, "gap before").tolist() == [0, 0, 1, 1, 1]
    assert of(found, "share of the graph begun").tolist() == [0, 1 / 8, 2 / 8, 3 / 8, 4 / 8]


def test_the_length_of_a_step_that_goes_on_is_not_known_yet() -> None:
    data = recording((0, 0, 100), (1, 10, 20), (2, 101, 110))
    found = context_features(data, known(data), "causal")
    of_before = of(found, "length against usual of the step before")
    assert np.isnan(of_before).tolist() == [True, True, False]
    assert np.isnan(of(found, "mean length against usual, before")).tolist() == [False, True, False]
    assert of(found, "other steps running").tolist() == [0, 1, 0]
    assert of(found, "steps begun meanwhile").tolist() == [1, 0, 0]


def test_a_repeated_step_is_known_by_all_its_executions() -> None:
    data = recording((0, 0, 10), (2, 12, 20), (0, 22, 62), (1, 64, 70), (2, 72, 80))
    found = context_features(data, known(data), "causal")
    assert of(found, "executions").tolist() == [2, 2, 1]
    assert of(found, "log length of all executions") == pytest.approx(np.log([50.1, 16.1, 6.1]))
    assert of(found, "earlier steps not begun").tolist() == [0, 1, 0]
    assert of(found, "earlier steps not begun at the last execution").tolist() == [0, 0, 0]


def test_a_step_that_no_graph_knows_has_no_predecessors() -> None:
    data = recording((3, 0, 10), (4, 12, 20))
    data = with_samples(data, [replace(data.samples[0], node=""), data.samples[1]])
    found = context_features(data, known(data))
    assert of(found, "earlier steps not begun").tolist() == [0, 3]
    assert of(found, "steps of the graph never begun").tolist() == [7, 7]
    assert of(found, "steps passed over so far").tolist() == [0, 3]


def test_without_a_graph_no_step_needs_another() -> None:
    data = replace(recording((3, 0, 10), (0, 12, 20)), graphs={})
    found = context_features(data, known(data))
    assert of(found, "earlier steps not begun").tolist() == [0, 0]
    assert of(found, "share of the graph begun").tolist() == [0, 0]
    assert of(found, "steps of the graph never begun").tolist() == [0, 0]
    assert of(found, "rank").tolist() == [0, 1]


def test_settings_hold_each_other() -> None:
    found = {setting: features(DATA, setting) for setting in SETTINGS}
    for small, large in (("local", "step"), ("step", "causal"), ("causal", "offline")):
        chosen = features(DATA, "offline").select(small)  # type: ignore[arg-type]
        assert chosen.names == found[small].names
        assert set(found[small].names) < set(found[large].names)
        assert np.array_equal(chosen.values, found[small].values, equal_nan=True)
    assert len(set(found["offline"].names)) == found["offline"].values.shape[1]


def test_local_knows_of_other_steps_only_the_immediate_predecessors() -> None:
    """Of 6, 5 is the immediate predecessor; that 1 comes after it shows in the whole graph alone."""
    usual = recording((0, 0, 10), (1, 11, 20), (2, 21, 30), (4, 31, 40), (5, 41, 50), (6, 51, 60))
    other = recording((0, 0, 10), (2, 21, 30), (4, 31, 40), (5, 41, 50), (6, 51, 60), (1, 61, 70))
    tables = known(usual)

    def of_six(data: StepData, setting: Setting) -> np.ndarray:
        place = [s.node for s in data.samples].index("n6")
        return context_features(data, tables, setting).values[place]

    assert np.array_equal(of_six(usual, "local"), of_six(other, "local"), equal_nan=True)
    assert not np.array_equal(of_six(usual, "step"), of_six(other, "step"), equal_nan=True)
    late = recording((0, 0, 10), (6, 51, 60), (5, 61, 70))
    assert of(context_features(late, known(late), "local"), "immediate predecessors not begun").tolist() == [
        0,
        1,
        2,
    ]


@pytest.mark.parametrize("seed", range(3))
def test_names_of_recordings_change_nothing(seed: int) -> None:
    names = list(dict.fromkeys(DATA.recordings))
    other = dict(zip(names, np.random.default_rng(seed).permutation(names).tolist(), strict=True))
    data = renamed(DATA, {name: f"7_{other[name]}_199" for name in names})
    assert np.array_equal(features(data).values, features(DATA).values, equal_nan=True)


def test_who_and_where_are_not_looked_at() -> None:
    class Refusing(dict[str, object]):
        def __getitem__(self, key: str) -> object:
            raise AssertionError(key)

    data = replace(DATA, performances=Refusing())  # type: ignore[arg-type]
    assert np.array_equal(features(data).values, features(DATA).values, equal_nan=True)


@pytest.mark.parametrize("part", ["train", "val", "test"])
def test_labels_of_a_recording_change_none_of_its_features(part: str) -> None:
    for name in sorted({DATA.samples[p].recording_id for p in DIVISION[part]})[:5]:  # type: ignore[index]
        mine = np.array(DATA.recordings) == name
        after = features(flipped(DATA, name)).values
        assert np.array_equal(after[mine], features(DATA, histories=HISTORIES).values[mine], equal_nan=True)
        told = not np.array_equal(after[~mine], features(DATA).values[~mine], equal_nan=True)
        assert told == (part == "train")


def cut(data: StepData, place: int, moment: float, rng: np.random.Generator) -> StepData:
    """Change everything of a recording that happens after a moment: what began goes on, what did not happens otherwise or never."""
    samples: list[StepSample] = []
    for n, sample in enumerate(data.samples):
        executions: list[Execution] = []
        for e in sample.executions:
            if sample.recording_id != data.samples[place].recording_id or e.end <= moment:
                executions.append(e)
            elif e.start < moment:
                executions.append(replace(e, end=moment + 1 + 100 * rng.random()))
            elif rng.random() < 0.5 or (n != place and not executions):
                begin = moment + 200 * rng.random()
                executions.append(Execution(begin, begin + 1 + 50 * rng.random()))
        samples.append(replace(sample, executions=tuple(executions)))
    return with_samples(data, samples)


@given(
    place=st.integers(0, len(DATA.samples) - 1),
    seed=st.integers(0, 99),
    observed=st.sampled_from((1.0, 0.5, 0.1)),
)
@settings(max_examples=60)
def test_what_happens_later_changes_no_causal_feature(place: int, seed: int, observed: float) -> None:
    sample = DATA.samples[place]
    last = max(sample.executions, key=lambda e: e.start)
    moment = last.start + observed * last.seconds
    if observed == 1:
        moment = max(e.end for e in sample.executions)
    before = context_features(DATA, HISTORIES, "causal", observed).values[place]
    data = cut(DATA, place, moment, np.random.default_rng(seed))
    if observed < 1:  # the share is of the true length, which the cut changed
        now = data.samples[place].executions[-1]
        share = (moment - now.start) / now.seconds
        after = context_features(data, HISTORIES, "causal", share).values[place]
    else:
        after = context_features(data, HISTORIES, "causal").values[place]
    assert np.allclose(before, after, rtol=0, atol=1e-9, equal_nan=True)


def test_when_a_step_that_goes_on_will_end_is_told_by_no_causal_feature() -> None:
    short, long = (recording((0, 0, end), (1, 10, 20), (2, 25, 30)) for end in (40, 200))
    tables = known(short)
    first, second = (context_features(data, tables, "causal") for data in (short, long))
    assert np.array_equal(first.values[1:], second.values[1:], equal_nan=True)


def test_what_happens_later_changes_offline_features() -> None:
    place = 2
    moment = max(e.end for e in DATA.samples[place].executions)
    data = cut(DATA, place, moment, np.random.default_rng(0))
    before, after = (context_features(d, HISTORIES).values[place] for d in (DATA, data))
    assert not np.array_equal(before, after, equal_nan=True)


def test_the_length_of_a_step_that_is_not_over_is_hidden() -> None:
    found = features(DATA, "causal", 0.5)
    hidden = [n for n, column in zip(found.names, found.values.T, strict=True) if np.isnan(column).all()]
    assert {"log length", "length against usual", "log length of all executions"} <= set(hidden)
    longer = of(found, "already longer than usual")
    assert longer.min() == 0
    assert 0 < (longer > 0).mean() < 0.2
    with pytest.raises(UserError, match="rest of a recording"):
        features(DATA, "offline", 0.5)


def test_lengths_that_an_instruction_asks_for() -> None:
    found = features(DATA)
    fry = np.array([s.text == "Fry for 2 minutes" for s in DATA.samples])
    asked = of(found, "length asked for")
    assert asked[fry] == pytest.approx(np.log(120))
    assert np.isnan(asked[~fry]).all()
    last = np.array([s.executions[-1].seconds for s in DATA.samples])
    assert of(found, "length against what is asked for")[fry] == pytest.approx(np.log(last[fry] / 120))
