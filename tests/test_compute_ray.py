"""The same outcomes on a Ray cluster of two nodes on loopback; workers and a node are killed in between."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import wait_until

pytest.importorskip("ray", reason="needs the extra 'ray'")
if sys.platform != "linux":
    pytest.skip("clusters of several nodes on one machine are for Linux", allow_module_level=True)

from tests import compute_work as work
from tests.ray_cluster import RayCluster, ray_cluster

from proctor.compute import map_items, on_ray

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # Ray's own: it is not ours to mend
    pytest.mark.timeout(280),
]


def check_two_nodes_give_the_outcomes_of_one_machine(cluster: RayCluster, _: Path):
    place = on_ray(cluster.address)
    assert [o.value for o in map_items(work.late_if_even, range(25), place)] == list(range(25))
    here = list(map_items(work.fail_at_three, range(6), place))
    there = list(map_items(work.fail_at_three, range(6)))
    assert [(o.item, o.name, o.failure and (o.failure.kind, o.failure.message)) for o in here] == [
        (o.item, o.name, o.failure and (o.failure.kind, o.failure.message)) for o in there
    ]
    seen: set[str] = set()

    def both() -> bool:
        seen.update(o.value for o in map_items(work.node_of, range(8), place))
        return len(seen) == 2

    wait_until(both, what="both nodes work")


def check_a_worker_that_is_killed_changes_nothing(cluster: RayCluster, folder: Path):
    items = [(str(folder), i) for i in range(10)]
    outcomes = list(map_items(work.die_once, items, on_ray(cluster.address)))
    assert (folder / "died").exists()
    assert [o.value for o in outcomes] == [i * i for i in range(10)]


def check_an_item_that_always_kills_is_told(cluster: RayCluster, _: Path):
    outcomes = list(map_items(work.die_always, range(4), on_ray(cluster.address), retries=1))
    assert [(o.item, o.failure.kind) for o in outcomes if o.failure] == [(2, "worker-died")]
    assert [o.value for o in outcomes if not o.failure] == [0, 1, 3]


def check_few_items_are_in_flight_and_an_end_leaves_nothing_behind(cluster: RayCluster, folder: Path):
    taken: list[int] = []

    def items() -> Iterator[int]:
        for i in range(10**9):
            taken.append(i)
            yield i

    import ray

    outcomes = map_items(work.square, items(), on_ray(cluster.address), in_flight=3)
    assert [next(outcomes).value for _ in range(5)] == [0, 1, 4, 9, 16]
    assert len(taken) <= 8
    assert ray.is_initialized()
    outcomes.close()
    assert not ray.is_initialized()
    ends, waits = folder / "ends", folder / "waits"
    for place in (ends, waits):
        place.mkdir()
    (ends / "go").touch()
    outcomes = map_items(work.wait_until, [(str(ends), 0), (str(waits), 1)], on_ray(cluster.address))
    assert next(outcomes).value == 0
    began = waits / "began-1"
    wait_until(lambda: began.exists() and began.read_text(), what="the second item is at work")
    outcomes.close()
    wait_until(lambda: not Path("/proc", began.read_text()).exists(), what="its worker is ended")


def check_many_early_ends_leave_the_caller_alive(cluster: RayCluster, _: Path):
    """Ray ends the process of who cancels a call that finishes at that moment."""
    for number in range(200):
        outcomes = map_items(work.square, range(100), on_ray(cluster.address), in_flight=3)
        for _item in range(1 + number % 6):
            next(outcomes)
        time.sleep(0.0005 * (number % 7))
        outcomes.close()
    assert [o.value for o in map_items(work.square, range(4), on_ray(cluster.address))] == [0, 1, 4, 9]


def check_a_node_that_goes_away_changes_nothing(cluster: RayCluster, folder: Path):
    cluster.add()
    items = [(str(folder), i) for i in range(6)]
    outcomes = map_items(work.wait_until, items, on_ray(cluster.address), in_flight=6)

    def remove() -> None:
        end = time.monotonic() + 60
        while len(list(folder.glob("began-*"))) < 3:
            assert time.monotonic() < end
            time.sleep(0.05)
        cluster.kill_last()
        (folder / "go").touch()

    import threading

    remover = threading.Thread(target=remove)
    remover.start()
    assert [o.value for o in outcomes] == [i * i for i in range(6)]
    remover.join()


CHECKS = (
    check_few_items_are_in_flight_and_an_end_leaves_nothing_behind,
    check_two_nodes_give_the_outcomes_of_one_machine,
    check_many_early_ends_leave_the_caller_alive,
    check_a_worker_that_is_killed_changes_nothing,
    check_an_item_that_always_kills_is_told,
    check_a_node_that_goes_away_changes_nothing,
)


def test_a_cluster_of_two_nodes(tmp_path: Path, subtests: pytest.Subtests):
    """One test, so that only one cluster is started however many processes the tests run in."""
    import ray

    with ray_cluster(2) as cluster:
        try:
            for check in CHECKS:
                with subtests.test(check.__name__):
                    folder = tmp_path / check.__name__
                    folder.mkdir()
                    check(cluster, folder)
                if not ray.is_initialized():  # the first check connects itself; once is enough for the others
                    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
        finally:
            ray.shutdown()
