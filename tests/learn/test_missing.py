"""What was left out, by the task graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.learn.made import make_data, make_graph

from proctor.datasets.dataset import Performance
from proctor.learn.missing import find_missing
from proctor.learn.samples import StepData, read_step_data
from proctor.procedure.recording import Mistake, Recording, Segment


def performed(*steps: tuple[int, float | None], missing: tuple[int, ...] = ()) -> Performance:
    """Begin steps (their number in the graph) at these seconds; None is never."""
    segments = tuple(
        Segment(
            step_id=f"n{n}",
            text="",
            start=start,
            end=None if start is None else start + 5,
            mistakes=(Mistake("missing", ""),) if n in missing else (),
        )
        for n, start in steps
    )
    return Performance(Recording("a", "1", "", segments), tuple(str(n) for n, _ in steps))


def data_of(**performances: Performance) -> StepData:
    return replace(make_data()[0], performances=performances, graphs={"1": make_graph("1")})


def test_absent_is_what_nobody_did_and_passed_over_what_a_later_step_did_not_wait_for() -> None:
    """Of eight steps 1 comes late, 4 never (marked), 7 never (the last one, not marked); 3 is marked, but was done."""
    found = find_missing(
        data_of(
            a=performed(
                (0, 0), (2, 10), (1, 20), (3, 30), (4, None), (5, 40), (6, 50), (7, None), missing=(3, 4)
            )
        ),
        ["a", "a"],
        resamples=0,
    )
    assert found is not None
    assert (found.n, found.positives) == (8, 2)
    assert found.absent.called == 2
    assert (found.absent.precision.value, found.absent.recall.value) == (0.5, 0.5)
    assert found.passed_over.called == 2  # 1 for a while, and 4; after 7 comes nothing
    assert (found.passed_over.precision.value, found.passed_over.recall.value) == (0.5, 0.5)


def test_without_a_graph_or_a_mark_nothing_is_told() -> None:
    done = performed((0, 0), (1, None))
    assert find_missing(data_of(a=done), ["a", "b"], resamples=0) is None
    marked = performed((0, 0), (1, None), missing=(1,))
    assert find_missing(replace(data_of(a=marked), graphs={}), ["a"], resamples=0) is None
    assert find_missing(data_of(), ["a"], resamples=0) is None


@pytest.mark.shared
def test_of_all_recordings(shared_data: Path) -> None:
    """288 steps of the graphs have no execution, 285 are marked as missing (five of these were done), 280 are both."""
    data, _ = read_step_data(shared_data / "captaincook4d")
    found = find_missing(data, data.recordings, resamples=50)
    assert found is not None
    assert (found.positives, found.absent.called) == (285, 288)
    assert (found.absent.precision.value or 0) * 288 == pytest.approx(280)
    assert (found.absent.recall.value or 0) * 285 == pytest.approx(280)
    low, high = found.absent.precision.low, found.absent.precision.high
    assert low is not None
    assert high is not None
    assert low < 280 / 288 < high
    assert found.passed_over.called == 759
    assert (found.passed_over.recall.value or 0) * 285 == pytest.approx(238)
