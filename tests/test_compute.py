"""Mapping a function over items: the same outcomes here, in threads and in processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import compute_work as work
from tests.patience import PATIENCE, wait_until

from proctor import compute
from proctor.compute import HERE, Place, map_items, on_ray, processes, threads
from proctor.errors import MissingExtraError, UserError

PLACES = [HERE, threads(3), processes(2)]
pytestmark = pytest.mark.filterwarnings("error")


def name(place: Place) -> str:
    return place.kind


@pytest.fixture(params=PLACES, ids=name)
def place(request: pytest.FixtureRequest) -> Place:
    return request.param


def children() -> int:
    return len(multiprocessing.active_children())


# -- order, names, progress --------------------------------------------------------------------------------------


def test_outcomes_come_in_the_order_of_the_items(place: Place):
    outcomes = list(map_items(work.late_if_even, range(11), place))
    assert [o.value for o in outcomes] == list(range(11))
    assert [o.index for o in outcomes] == [o.item for o in outcomes] == list(range(11))


def test_nothing_to_do(place: Place):
    assert list(map_items(work.square, [], place)) == []


def test_progress_is_told_after_each(place: Place):
    done: list[int] = []
    for outcome in map_items(work.square, range(5), place, seen=lambda: done.append(len(done))):
        assert len(done) == outcome.index
    assert len(done) == 5


def test_items_are_taken_only_as_fast_as_outcomes_are(place: Place):
    taken: list[int] = []

    def items() -> Iterator[int]:
        for i in range(10**9):
            taken.append(i)
            yield i

    outcomes = map_items(work.square, items(), place, in_flight=4)
    got = [next(outcomes).value for _ in range(20)]
    assert got == [i * i for i in range(20)]
    assert len(taken) <= 24
    outcomes.close()
    assert children() == 0


def test_an_iterator_of_items_that_fails_ends_it(place: Place):
    def items() -> Iterator[int]:
        yield 1
        raise UserError("the file is broken.")

    with pytest.raises(UserError, match="broken"):
        list(map_items(work.square, items(), place))
    assert children() == 0


# -- failures ----------------------------------------------------------------------------------------------------


def test_an_item_that_fails_is_told_with_its_name_and_stops_nobody(place: Place):
    outcomes = list(map_items(work.fail_at_three, range(6), place, name=lambda i: f"shard {i}"))
    assert [o.item for o in outcomes if o.failure] == [3, 4]
    assert [o.value for o in outcomes if not o.failure] == [0, 1, 2, 5]
    failure = outcomes[3].failure
    assert failure is not None
    assert (failure.kind, failure.message) == ("ValueError", "three is not wanted")
    assert "fail_at_three" in failure.trace
    with pytest.raises(UserError, match=r"^shard 3: ValueError: three is not wanted$"):
        _ = outcomes[3].value
    told = outcomes[4].failure
    assert told is not None
    assert told.kind == "UserError"
    assert "the list: four is not wanted" in told.message
    assert "take it out" in told.message
    with pytest.raises(UserError, match=r"^shard 4: the list: four is not wanted"):
        _ = outcomes[4].value


def test_a_value_that_cannot_travel_is_a_failure_of_its_item():
    outcomes = list(map_items(work.unpicklable, range(3), processes(1)))
    assert [o.failure is None for o in outcomes] == [True, False, True]


def test_a_function_that_cannot_travel_is_refused():
    with pytest.raises(UserError, match="cannot be sent to another process"):
        list(map_items(lambda i: i, [1], processes(1)))


@pytest.mark.parametrize("workers", [0, -1])
def test_workers_are_at_least_one(workers: int):
    for make in (threads, processes):
        with pytest.raises(UserError, match="can do nothing"):
            make(workers)
    with pytest.raises(UserError, match="in flight"):
        list(map_items(work.square, [1], HERE, in_flight=workers))
    with pytest.raises(UserError, match="address"):
        on_ray("  ")


# -- workers that die --------------------------------------------------------------------------------------------


def test_a_worker_that_is_killed_changes_nothing(tmp_path: Path):
    outcomes = list(map_items(work.die_once, [(str(tmp_path), i) for i in range(12)], processes(2)))
    assert (tmp_path / "died").exists()
    assert [o.value for o in outcomes] == [i * i for i in range(12)]
    assert children() == 0


def test_a_worker_that_somebody_kills_changes_nothing(tmp_path: Path):
    items = [(str(tmp_path), i) for i in range(5)]
    outcomes = map_items(work.wait_until, items, processes(2), in_flight=3)

    def kill() -> None:
        os.kill(int(wait_for(tmp_path / "began-0")), signal.SIGKILL)
        (tmp_path / "go").touch()

    import threading

    killer = threading.Thread(target=kill)
    killer.start()
    assert [o.value for o in outcomes] == [0, 1, 4, 9, 16]
    killer.join()


def test_an_item_that_always_kills_is_found_and_the_others_are_done():
    outcomes = list(map_items(work.die_always, range(5), processes(2), retries=1))
    assert [o.item for o in outcomes if o.failure] == [2]
    failure = outcomes[2].failure
    assert failure is not None
    assert failure.kind == "worker-died"
    assert "2 times" in failure.message
    assert [o.value for o in outcomes if not o.failure] == [0, 1, 3, 4]


def test_workers_end_when_nobody_wants_more_outcomes():
    outcomes = map_items(work.square, range(100), processes(2))
    assert next(outcomes).value == 0
    assert children() in (1, 2)  # a second one is begun where the first one was still busy
    outcomes.close()
    assert children() == 0


SCRIPT = """
import signal, sys
from proctor.compute import map_items, processes
from tests import compute_work as work
if __name__ == "__main__":
    # Whoever runs the tests in the background of a shell starts them with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print("begin", flush=True)
    try:
        for outcome in map_items(work.wait_until, [(sys.argv[1], i) for i in range(4)], processes(2)):
            pass
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.exit(130)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_whoever_started_them(how: signal.Signals, tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    root = Path(__file__).resolve().parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        pids = [int(wait_for(tmp_path / f"began-{i}")) for i in range(2)]
        process.send_signal(how)
        process.wait(PATIENCE)
        assert process.returncode == (130 if how is signal.SIGINT else -9)
        wait_until(lambda: not any(alive(pid) for pid in pids))


def wait_for(path: Path) -> str:
    return str(wait_until(lambda: path.exists() and path.read_text(), what=path))


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


# -- Ray, where it is not ------------------------------------------------------------------------------------------


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    def gone(_: str) -> object:
        raise ImportError

    monkeypatch.setattr(compute.importlib, "import_module", gone)
    with pytest.raises(MissingExtraError, match=r"proctor-bench\[ray\]"):
        list(map_items(work.square, [1], on_ray("127.0.0.1:1")))


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:no", "127.0.0.1:999999"])
def test_a_cluster_that_is_not_there_is_the_users_to_mend(address: str):
    pytest.importorskip("ray", reason="needs the extra 'ray'")
    with pytest.raises(UserError, match="no cluster answers") as caught:
        list(map_items(work.square, [1], on_ray(address)))
    assert caught.value.where == address
