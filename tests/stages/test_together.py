"""Jobs side by side: what overlaps, what does not, what becomes of a failure, and in which order results are handed over."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.stages.experiment.conftest import quietly

from proctor.errors import UserError
from proctor.llm.blocking import run_calls
from proctor.llm.message import Request, user
from proctor.llm.outcome import Reply
from proctor.stages.limits import Limits
from proctor.stages.models import open_models
from proctor.stages.together import Job, Turn, side_by_side
from proctor.workspace import Workspace
from proctor_rehearsal.standin import Standin

MODELS = [f"compat/m@http://127.0.0.{n}:1/v1" for n in (1, 2, 3)]


def job(name: str, do: Callable[[Turn], object] = lambda _: None, **more: object) -> Job[str]:
    def run(turn: Turn) -> str:
        do(turn)
        return name

    return Job(title=name, do=run, **more)  # type: ignore[arg-type]


def done(root: Path, jobs: list[Job[str]], limits: Limits | None = None) -> list[str]:
    return [one.title for one in side_by_side(root, jobs, limits or Limits(), quietly)]


def test_jobs_of_different_endpoints_overlap_and_come_back_in_order(tmp_path: Path) -> None:
    """Each waits for the others to have begun; the first one ends last."""
    meeting, said = threading.Barrier(3, timeout=PATIENCE), []

    def do(turn: Turn) -> None:
        turn.later.append(partial(said.append, meeting.wait()))

    ended = threading.Event()

    def slowly(turn: Turn) -> None:
        do(turn)
        assert ended.wait(PATIENCE)

    def last(turn: Turn) -> None:
        do(turn)
        ended.set()

    jobs = [job(n, f, models=(m,)) for n, f, m in zip("abc", (slowly, do, last), MODELS, strict=True)]
    assert done(tmp_path, jobs) == ["a", "b", "c"]
    assert sorted(said) == [0, 1, 2]


def test_what_two_jobs_write_is_written_in_their_order(tmp_path: Path) -> None:
    first, said = threading.Event(), []

    def slow(turn: Turn) -> None:
        assert first.wait(PATIENCE)
        turn.later.append(lambda: said.append("slow"))

    def fast(turn: Turn) -> None:
        turn.later.append(lambda: said.append("fast"))
        first.set()

    done(tmp_path, [job("slow", slow, models=MODELS[:1]), job("fast", fast, models=MODELS[1:2])])
    assert said == ["slow", "fast"]


def test_one_endpoint_is_asked_by_one_job_at_a_time_and_a_job_waits_for_its_forerunner(
    tmp_path: Path,
) -> None:
    """Two models of one server on this machine share it; nothing else is exclusive."""
    going, most, order = [0], [0], []

    def do(turn: Turn) -> None:
        going[0] += 1
        most[0] = max(most[0], going[0])
        time.sleep(0.05)
        order.append(turn)
        going[0] -= 1

    other = MODELS[0].replace("/m@", "/n@")
    assert done(tmp_path, [job(n, do, models=(m,)) for n, m in (("a", MODELS[0]), ("b", other))]) == [
        "a",
        "b",
    ]
    assert (most, len(order)) == ([1], 2)
    first = job("a", do, models=MODELS[:1])
    assert done(tmp_path, [first, job("b", do, models=MODELS[1:2], after=(first,))]) == ["a", "b"]
    assert most == [1]


def test_a_failure_is_told_when_the_others_have_ended_and_nothing_more_begins(tmp_path: Path) -> None:
    begun, failed = threading.Barrier(2, timeout=PATIENCE), threading.Event()

    def fail(_: Turn) -> None:
        begun.wait()
        failed.set()
        raise UserError("no.")

    def go_on(_: Turn) -> None:
        begun.wait()
        assert failed.wait(PATIENCE)
        time.sleep(0.05)

    jobs = [
        job("a", fail, models=MODELS[:1]),
        job("b", go_on, models=MODELS[1:2]),
        job("c", models=MODELS[:1]),
    ]
    told = []
    with pytest.raises(UserError, match="no"):
        told += [one.title for one in side_by_side(tmp_path, jobs, Limits(), quietly)]
    assert [one.result for one in jobs] == [None, "b", None]


def test_what_ends_early_lets_no_other_begin(tmp_path: Path) -> None:
    jobs = [job(n, models=MODELS[:1]) for n in "ab"]
    jobs[0].ends = lambda _: True
    assert done(tmp_path, [*jobs, job("c", models=MODELS[1:2])])[0] == "a"
    assert jobs[1].result is None


def asking(root: Path, url: str, count: int, heard: list[str]) -> Callable[[Turn], None]:
    """Return a job that asks a model so many questions of its own."""

    def do(turn: Turn) -> None:
        requests = [Request(model=f"compat/m@{url}/v1", messages=(user(f"{n} {url}"),)) for n in range(count)]
        with open_models(Workspace(root), turn.limits) as models:
            heard.extend(o.text for _, o in models.ask("predict")(requests) if isinstance(o, Reply))

    return do


def test_two_providers_never_overspend_one_budget(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[prices."compat/*"]\ninput = 1000.0\noutput = 1000.0\n')
    heard: list[str] = []
    with (
        Standin(reply="yes", latency={"seconds": 0.01}) as a,
        Standin(reply="yes", latency={"seconds": 0.01}) as b,
    ):
        jobs = [
            job(s.url, asking(tmp_path, s.url, 100, heard), models=(f"compat/m@{s.url}/v1",)) for s in (a, b)
        ]
        limits = Limits(max_cost=Decimal("30"), max_calls=150, prices=prices).shared()
        done(tmp_path, jobs, limits)
        spent = limits.spending().spent
        assert a.count + b.count == spent.calls == len(heard) <= 150
        assert 0 < spent.cost <= 30 * 10**9
        assert min(a.count, b.count) > 0
    assert not [t for t in threading.enumerate() if t.name == "proctor-calls"], "one store, and it is closed"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C is an exception, also where the suite was begun in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_stops_all_and_keeps_what_is_there(tmp_path: Path) -> None:
    """The second one does not wait for calls that hang."""
    main = threading.get_ident()
    heard: list[str] = []
    hung = threading.Event()

    with Standin(reply="yes") as quick, Standin(reply="no", latency={"seconds": 60.0}) as slow:

        def watch() -> None:
            while not slow.most_in_flight or len(heard) < 20:
                time.sleep(0.01)
            signal.pthread_kill(main, signal.SIGINT)
            time.sleep(0.3)
            hung.set()
            signal.pthread_kill(main, signal.SIGINT)

        names = [f"compat/m@{s.url}/v1" for s in (quick, slow)]

        def asks_and_waits(turn: Turn) -> None:
            asking(tmp_path, quick.url, 20, heard)(turn)
            with open_models(Workspace(tmp_path), turn.limits) as models:
                list(models.ask("judge")([Request(model=names[1], messages=(user("else"),))]))

        jobs = [
            job("quick", asks_and_waits, models=names[:1]),
            job("slow", asking(tmp_path, slow.url, 3, heard), models=names[1:]),
        ]
        jobs.append(job("never", models=names[:1]))
        threading.Thread(target=watch, daemon=True).start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            done(tmp_path, jobs)
        assert time.monotonic() - begun < 4.0
        assert hung.is_set()
    assert heard == ["yes"] * 20
    assert [one.result for one in jobs] == [None] * 3
    with open_models(Workspace(tmp_path)) as models:
        again = [
            o
            for _, o in run_calls(
                models.caller, [Request(model=names[0], messages=(user(f"0 {quick.url}"),))]
            )
        ]
        assert models.caller.tally.stored == len(again) == 1
