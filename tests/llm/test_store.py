"""The call store keeps every outcome once, on SQLite and on PostgreSQL, whatever happens to the processes that use it."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import MissingExtraError, UserError
from proctor.llm.gate import FlowEvent
from proctor.llm.lane import Claim
from proctor.llm.message import Request, user
from proctor.llm.outcome import AttemptRecord, Failure, Outcome, Refusal, Reply, Usage, is_final
from proctor.llm.owner import Owner, Watch
from proctor.llm.store import CallStore, Selection, StoredCall, attempt_row, decode_outcome, storable
from proctor.records import canonical_json


def ask(text: str = "Where is the salt?", model: str = "compat/m@http://127.0.0.1:1/v1") -> Request:
    return Request(model=model, messages=(user(text),))


def row_of(
    request: Request,
    outcome: Outcome,
    *,
    stage: str = "predict",
    cost: int | None = 5,
    created: float | None = None,
) -> dict[str, Any]:
    final = is_final(outcome)
    kind = outcome.kind if isinstance(outcome, Failure) else type(outcome).__name__.lower()
    return {
        "key": request.key,
        "model": request.model,
        "stage": stage,
        "kind": kind,
        "created": time.time() if created is None else created,
        "seconds": 0.5,
        "input": outcome.usage.input,
        "output": outcome.usage.output,
        "cached": outcome.usage.cached,
        "cost": cost,
        "outcome": canonical_json(outcome).decode() if final else None,
        "request": canonical_json(request).decode(),
    }


def keep(store: CallStore, request: Request, outcome: Outcome, *records: AttemptRecord, **more: Any) -> None:
    """Store one call as a caller does."""

    async def run() -> None:
        assert await store.lane.begin(request.key) is Claim.OURS
        for record in records:
            store.lane.attempt(request.key, attempt_row(request.key, record))
        await store.lane.finish(request.key, row_of(request, outcome, **more))

    asyncio.run(run())


def begin(store: CallStore, *requests: Request) -> list[str | Claim]:
    """Begin calls at once."""

    async def run() -> list[str | Claim]:
        return await asyncio.gather(*(store.lane.begin(r.key) for r in requests))

    return asyncio.run(run())


def tried(outcome: str = "reply", **more: Any) -> AttemptRecord:
    return AttemptRecord(**{"number": 1, "started": 1.0, "seconds": 0.5, "outcome": outcome, **more})


REPLY = Reply(text="In the Ünïcödé \u2028 and\x00NUL 😀", usage=Usage(12, 3, 4, 1), model="m-1", stop="stop")


# -- the ordinary life ---------------------------------------------------------------------------------------


def test_what_is_stored_comes_back_equal(target: str) -> None:
    record = tried(usage=Usage(12, 3, 4, 1), cost=5)
    late = tried("rate_limit", status=429, retry_after=2.5, message="slow down", number=2)
    with CallStore.open(target) as store:
        keep(store, ask(), REPLY, record, late)
    with CallStore.open(target, create=False) as store:
        assert len(store) == 1
        call = store.get(ask().key)
        assert call is not None
        assert call.result == REPLY
        assert (call.stage, call.kind, call.input, call.output, call.cached, call.cost) == (
            *("predict", "reply"),
            *(12, 3, 4, 5),
        )
        assert call.request.encode() == canonical_json(ask())
        assert store.attempts([ask().key]) == {ask().key: [record, late]}
        assert store.has([ask().key, "0" * 64]) == {ask().key}
        assert begin(store, ask()) == [call.outcome]
        assert store.get("0" * 64) is None


def test_a_refusal_and_a_content_filter_are_final(target: str) -> None:
    blocked = Failure(kind="content_filter", message="no", usage=Usage(7))
    with CallStore.open(target) as store:
        keep(store, ask("a"), Refusal(text="I cannot"))
        keep(store, ask("b"), blocked)
        assert len(store) == 2
        found = store.get(ask("b").key)
        assert found is not None
        assert found.result == blocked


def test_a_failed_call_may_be_made_again_and_keeps_its_attempts(target: str) -> None:
    with CallStore.open(target) as store:
        keep(store, ask(), Failure(kind="overload", message="busy"), tried("overload", message="busy"))
        assert len(store) == 0
        assert store.has([ask().key]) == set()  # an estimate counts it as one to pay for
        assert [call.kind for call in store.calls()] == ["overload"]
        keep(store, ask(), REPLY, tried())
        assert len(store) == 1
        assert [r.outcome for r in store.attempts([ask().key])[ask().key]] == ["overload", "reply"]


def test_a_final_outcome_is_never_replaced(target: str) -> None:
    """A process that slept for longer than its lease comes back with a reply of its own: the first one holds."""

    async def late(store: CallStore) -> str | None:
        return await store.lane.finish(ask().key, row_of(ask(), Reply(text="second")))

    with CallStore.open(target) as store:
        keep(store, ask(), REPLY)
        told = asyncio.run(late(store))
        assert told is not None
        assert decode_outcome(told, "") == REPLY
        failed = store.lane
        failed.fail(ask().key, row_of(ask(), Failure(kind="timeout", message="")))
        assert begin(store, ask()) == [told]


def test_a_key_is_claimed_once(target: str) -> None:
    with CallStore.open(target) as one, CallStore.open(target) as two:
        assert begin(one, ask(), ask()) == [Claim.OURS, Claim.BUSY]
        assert begin(two, ask()) == [Claim.BUSY]
        one.lane.release(ask().key)
        assert _until(lambda: begin(two, ask())[0], Claim.OURS)
        assert begin(one, ask()) == [Claim.BUSY]
    with CallStore.open(target) as three:
        assert begin(three, ask()) == [Claim.OURS]


def _until(look: Callable[[], object], wanted: object, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while (seen := look()) != wanted:
        assert time.monotonic() < end, f"{seen!r} is not {wanted!r}"
        time.sleep(0.01)
    return True


def test_many_loops_and_threads_share_one_store(target: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    requests = [ask(f"q{n}") for n in range(60)]
    with CallStore.open(target) as store, ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: begin(store, *requests), range(4)))
    for n in range(60):
        assert sorted(str(answer[n]) for answer in answers) == ["Claim.BUSY"] * 3 + ["Claim.OURS"]


def test_many_results_are_one_commit(tmp_path: Path) -> None:
    async def run(store: CallStore) -> None:
        requests = [ask(f"q{n}") for n in range(200)]
        await asyncio.gather(*(store.lane.begin(r.key) for r in requests))
        await asyncio.gather(*(store.lane.finish(r.key, row_of(r, REPLY)) for r in requests))

    with CallStore.open(tmp_path / "c.sqlite") as store:
        asyncio.run(run(store))
        assert len(store) == 200
        assert store.lane.commits <= 10


def test_a_claim_whose_asker_was_cancelled_is_given_back(target: str) -> None:
    async def run(store: CallStore, delay: float) -> None:
        task = asyncio.create_task(store.lane.begin(ask().key))
        await asyncio.sleep(delay)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while await store.lane.begin(ask().key) is not Claim.OURS:
            await asyncio.sleep(0.01)
        store.lane.release(ask().key)

    with CallStore.open(target) as store:
        for delay in (0, 0.0005, 0.001, 0.002):
            asyncio.run(asyncio.wait_for(_until_cancelled(run, store, delay), 60))


async def _until_cancelled(run: Callable[..., Awaitable[None]], store: CallStore, delay: float) -> None:
    """Run it; when the answer was quicker than the cancellation there was nothing to be cancelled."""
    try:
        await run(store, delay)
    except BaseException as error:
        if "DID NOT RAISE" not in str(error):
            raise
        store.lane.release(ask().key)


def test_an_answer_that_came_before_the_cancellation_is_given_back(tmp_path: Path) -> None:
    """The future is done, the task has not run yet, and then it is cancelled."""

    async def run(store: CallStore) -> None:
        task = asyncio.create_task(store.lane.begin(ask().key))
        await asyncio.sleep(0)
        time.sleep(0.3)  # the lane answers, but this loop does not run
        asyncio.get_running_loop().call_soon(task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
        while await store.lane.begin(ask().key) is not Claim.OURS:
            await asyncio.sleep(0.01)

    with CallStore.open(tmp_path / "c.sqlite") as store:
        begin(store, ask("warm"))
        asyncio.run(asyncio.wait_for(run(store), 10))


def test_hostile_text_is_only_text(target: str) -> None:
    nasty = "'; DROP TABLE proctor_calls; -- %s :k ? \x1b[2J"
    with CallStore.open(target) as store:
        keep(store, ask(nasty), Reply(text=nasty), tried("server", message=nasty + "\x00\ud800"), stage=nasty)
        (call,) = store.calls(Selection(stage=nasty))
        assert call.result == Reply(text=nasty)
        assert store.attempts([call.key])[call.key][0].message == storable(nasty + "\x00\ud800")
        assert list(store.calls(Selection(stage="' OR 1=1"))) == []


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = CallStore.open(tmp_path / "c.sqlite")
    store.close()
    store.lane.release("nobody waits")
    with pytest.raises(UserError, match="closed"):
        begin(store, ask())
    store.close()


# -- selections, sums, pruning ---------------------------------------------------------------------------------


@pytest.fixture
def full(target: str) -> Iterator[CallStore]:
    """Seven calls by two models in two stages, two of them failed."""
    with CallStore.open(target) as store:
        for n in range(3):
            keep(store, ask(f"p{n}", "openai/A"), Reply(text="x"), tried(usage=Usage(100, 10, 40), cost=7))
        usage = Usage(1, 1)
        keep(store, ask("j1", "openai/a"), Refusal(usage=usage), tried("refusal", usage=usage), stage="judge")
        keep(store, ask("j2", "google/b"), Reply(text="y"), tried(cost=2**40), stage="judge", created=100.0)
        failed = Failure(kind="timeout", message="slow")
        slow = (tried("timeout", lost=True, feared=50), tried("timeout", number=2, cost=3, lost=True))
        keep(store, ask("f1", "openai/A"), failed, *slow)
        keep(store, ask("f2", "google/b"), failed, tried("timeout"), stage="judge")
        yield store


def test_sums_by_model_and_stage(full: CallStore) -> None:
    assert [tuple(total) for total in full.totals()] == [
        ("google/b", "judge", 1, 1, 2, 0, 0, 0, 2**40, 0, 0, 0),
        ("openai/A", "predict", 3, 1, 5, 300, 30, 120, 24, 0, 2, 50),
        ("openai/a", "judge", 1, 0, 1, 1, 1, 0, 0, 1, 0, 0),
    ]
    assert full.models() == ["google/b", "openai/A", "openai/a"]


def test_attempts_that_may_have_been_charged_come_back_as_they_were(full: CallStore) -> None:
    key = ask("f1", "openai/A").key
    first, second = full.attempts([key])[key]
    assert (first.lost, first.feared, first.cost) == (True, 50, None)
    assert (second.lost, second.feared, second.cost) == (True, None, 3)
    other = ask("j1", "openai/a").key
    assert [a.lost for a in full.attempts([other])[other]] == [False]


def test_the_length_of_replies_by_stage_and_model(full: CallStore) -> None:
    assert full.reply_tokens() == {("judge", "openai/a"): (1, 1)}  # the others do not tell theirs


@pytest.mark.parametrize(
    ("selection", "number"),
    [
        (Selection(), 7),
        (Selection(stage="judge"), 3),
        (Selection(model="openai/*"), 5),
        (Selection(model="openai/A*"), 4),
        (Selection(model="*b", kind="failed"), 1),
        (Selection(kind="refusal"), 1),
        (Selection(kind="timeout"), 2),
        (Selection(before=200.0), 1),
        (Selection(stage="*"), 7),
        (Selection(stage=""), 0),
        (Selection(model="o_enai/%"), 0),
    ],
)
def test_selections(full: CallStore, selection: Selection, number: int) -> None:
    assert full.count(selection) == number
    assert len(list(full.calls(selection))) == number
    assert len(full.latest(selection)) == number
    assert full.prune(selection) == number
    assert full.count(Selection()) == 7 - number


def test_pruning_takes_attempts_along_and_leaves_what_is_being_made(full: CallStore) -> None:
    key = ask("f1", "openai/A").key
    assert begin(full, ask("f1", "openai/A")) == [Claim.OURS]
    assert full.prune(Selection()) == 6
    assert [call.key for call in full.calls()] == [key]
    assert list(full.attempts([key, ask("j1", "openai/a").key])) == [key]


EVENTS = (
    FlowEvent(100.0, "http://a#m", "shrink", 7, "rate_limit"),
    FlowEvent(90.0, "http://a#m", "grow", 9),  # the clock was set back
    FlowEvent(110.0, "http://b#\x00", "stop", 1, "no\x00 key \ud800"),
)


def test_the_history_of_the_pace_comes_back_in_order(full: CallStore) -> None:
    assert full.history() == []
    full.add_history("predict/a", EVENTS[:2])
    full.add_history("predict/a", ())
    full.add_history("judge", [msgspec.structs.replace(EVENTS[2], endpoint="http://b#m")])
    assert full.history("predict/*") == [("predict/a", event) for event in EVENTS[:2]]
    ((stage, last),) = full.history(limit=1)
    assert (stage, last.kind, last.limit, last.detail) == ("judge", "stop", 1, storable(EVENTS[2].detail))
    assert full.history("nothing") == full.history("x*") == []
    assert len(full.history()) == 3


@pytest.mark.parametrize(
    ("selection", "left"),
    [
        (Selection(), 0),
        (Selection(stage="judge"), 2),
        (Selection(stage="pre*"), 1),
        (Selection(before=95.0), 2),
        (Selection(model="openai/*"), 3),
        (Selection(kind="failed"), 3),
    ],
)
def test_the_history_is_pruned_with_its_calls(full: CallStore, selection: Selection, left: int) -> None:
    full.add_history("predict", EVENTS[:2])
    full.add_history("judge", [FlowEvent(100.0, "http://b#m", "pause", 1, "")])
    full.prune(selection)
    assert len(full.history()) == left


def test_the_latest_come_first_without_their_requests(full: CallStore) -> None:
    latest = full.latest(limit=3)
    assert [call.created for call in latest] == sorted((c.created for c in full.calls()), reverse=True)[:3]
    assert {call.request for call in latest} == {""}


def test_calls_from_elsewhere_are_taken_in_once(full: CallStore, tmp_path: Path) -> None:
    calls = list(full.calls())
    tries = full.attempts(call.key for call in calls)
    with CallStore.open(tmp_path / "other.sqlite") as other:
        assert other.put((call, tries[call.key]) for call in calls) == 7
        assert other.put((call, tries[call.key]) for call in calls) == 0
        assert list(other.calls()) == calls
        assert other.attempts(call.key for call in calls) == tries
        assert other.totals() == full.totals()


def test_reading_is_paged(tmp_path: Path) -> None:
    with CallStore.open(tmp_path / "c.sqlite") as store:
        calls = [
            StoredCall(
                **{**row_of(ask(f"q{n}"), REPLY), "created": float(n)},  # type: ignore[arg-type]
            )
            for n in range(1203)
        ]
        assert store.put((call, ()) for call in calls) == 1203
        assert list(store.calls()) == sorted(calls, key=lambda call: call.key)
        assert store.has(call.key for call in calls) == {call.key for call in calls}


# -- processes -------------------------------------------------------------------------------------------------

HOLDER = """
import asyncio, sys, time
from proctor.llm.store import CallStore
store = CallStore.open(sys.argv[1], lease_seconds=float(sys.argv[3]))
print(asyncio.run(store.lane.begin(sys.argv[2])), flush=True)
time.sleep(60)
"""


def _holder(target: str, key: str, *, lease: float = 60.0) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, target, key, str(lease)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "Claim.OURS"
    return process


def test_the_claim_of_a_killed_process_is_free_at_once(target: str) -> None:
    with _holder(target, ask().key) as process, CallStore.open(target) as store:
        assert begin(store, ask()) == [Claim.BUSY]
        process.kill()  # it stays a zombie until it is waited for
        assert _until(lambda: begin(store, ask())[0], Claim.OURS)
        process.wait()


def test_claims_of_killed_processes_do_not_pile_up(target: str) -> None:
    for n in range(3):
        with _holder(target, ask(f"q{n}").key) as process:
            process.kill()
    with CallStore.open(target) as store:
        assert begin(store, ask("another")) == [Claim.OURS]
        with store._database.transaction() as connection:
            counted = [
                connection.exec_driver_sql(f"SELECT count(*) FROM proctor_call_{name}").scalar()
                for name in ("owners", "claims")
            ]
    assert counted == [1, 1]


def test_a_living_process_keeps_its_claim_beyond_the_lease(target: str) -> None:
    with _holder(target, ask().key, lease=4.0) as process, CallStore.open(target, lease_seconds=4.0) as store:
        end = time.monotonic() + 9.0
        while time.monotonic() < end:
            assert begin(store, ask()) == [Claim.BUSY]
            time.sleep(0.05)
        process.kill()
        process.wait()


def test_a_process_that_hangs_loses_its_claim_after_the_lease(target: str) -> None:
    with _holder(target, ask().key, lease=0.8) as process, CallStore.open(target, lease_seconds=0.8) as store:
        process.send_signal(signal.SIGSTOP)
        start = time.monotonic()
        assert begin(store, ask()) == [Claim.BUSY]
        assert _until(lambda: begin(store, ask())[0], Claim.OURS)
        assert time.monotonic() - start > 0.7
        process.send_signal(signal.SIGCONT)
        time.sleep(0.5)  # it wakes, and moves its counter again
        assert begin(store, ask("another")) == [Claim.OURS]
        process.kill()
        process.wait()


def test_who_lives_is_told_without_clocks() -> None:
    me = Owner.new()
    assert not me.has_ended()
    assert me._replace(pid=2**22 + 5).has_ended()
    assert not me._replace(pid=2**22 + 5, host="another machine").has_ended()
    assert me._replace(began="1").has_ended()  # another process has the number now
    assert not me._replace(began="").has_ended()
    assert not me._replace(pid=1, began="").has_ended()
    watch = Watch(0.2)
    far = me._replace(host="another machine")
    assert not watch.is_gone(far)
    time.sleep(0.25)
    assert watch.is_gone(far)
    assert not watch.is_gone(far._replace(beat=1))


def test_a_clock_that_is_set_back_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.sqlite"
    with CallStore.open(path) as one, CallStore.open(path) as two:
        assert begin(one, ask()) == [Claim.OURS]
        monkeypatch.setattr(time, "time", lambda: 0.0)
        assert begin(two, ask()) == [Claim.BUSY]
        keep(two, ask("b"), REPLY)
        monkeypatch.setattr(time, "time", lambda: 4e9)
        assert begin(two, ask(), ask("b"))[0] is Claim.BUSY
        assert len(two) == 1


@given(
    st.lists(
        st.tuples(
            st.integers(0, 1), st.sampled_from(["begin", "finish", "fail", "release"]), st.integers(0, 2)
        ),
        max_size=25,
    )
)
@settings(max_examples=40)
def test_whatever_two_stores_do_a_key_has_one_holder_and_one_outcome(
    steps: list[tuple[int, str, int]],
) -> None:
    """Random lives of three calls, against a model of what must hold."""
    holder: dict[int, int] = {}
    final: dict[int, str] = {}

    async def live(stores: tuple[CallStore, CallStore]) -> None:
        for number, (who, what, n) in enumerate(steps):
            lane, request = stores[who].lane, ask(f"q{n}")
            if what == "begin":
                answer = await lane.begin(request.key)
                if n in final:
                    assert answer == final[n]
                elif n in holder:
                    assert answer is Claim.BUSY
                else:
                    assert answer is Claim.OURS
                    holder[n] = who
            elif holder.get(n) == who:  # a caller finishes and releases only what is its own
                del holder[n]
                if what == "finish":
                    row = row_of(request, Reply(text=f"{number}"))
                    assert await lane.finish(request.key, row) == row["outcome"]
                    final[n] = row["outcome"]
                elif what == "fail":
                    assert (
                        await lane.finish(request.key, row_of(request, Failure(kind="server", message="")))
                        is None
                    )
                else:
                    lane.release(request.key)
                    await lane.lookup([])  # a release is on its way; what comes after it is later

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.sqlite"
        with CallStore.open(path) as one, CallStore.open(path) as two:
            asyncio.run(live((one, two)))
        with CallStore.open(path) as store:
            assert {call.key: call.outcome for call in store.calls() if call.outcome} == {
                ask(f"q{n}").key: outcome for n, outcome in final.items()
            }
            assert set(begin(store, *(ask(f"q{n}") for n in range(3) if n not in final))) <= {Claim.OURS}


# -- files that are something else -----------------------------------------------------------------------------


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"folder.*\n.*calls\.sqlite"):
        CallStore.open(tmp_path)


def test_a_missing_file_is_not_made_for_readers(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        CallStore.open(tmp_path / "none.sqlite", create=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"hello, this is no database at all" * 40, b"{}", b"\x00" * 5000])
def test_another_kind_of_file_is_refused_and_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"c\.sqlite"):
        CallStore.open(path)
    assert path.read_bytes() == content


def test_a_damaged_file_is_a_user_error(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with CallStore.open(path) as store:
        for n in range(30):
            keep(store, ask(f"q{n}" + "x" * 3000), REPLY)
    data = bytearray(path.read_bytes())
    data[8192:] = os.urandom(len(data) - 8192)
    path.write_bytes(bytes(data))
    with pytest.raises(UserError), CallStore.open(path) as store:
        list(store.calls())


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (x)")
    connection.close()
    with pytest.raises(UserError, match="recipes"):
        CallStore.open(path)


def test_a_newer_schema_is_refused(target: str) -> None:
    with CallStore.open(target) as store, store._database.transaction(write=True) as connection:
        connection.exec_driver_sql("UPDATE proctor_calls_meta SET value = '99'")
    with pytest.raises(UserError, match="newer Proctor"):
        CallStore.open(target)


def test_an_older_schema_is_refused_before_a_column_is_missed(target: str) -> None:
    with CallStore.open(target) as store, store._database.transaction(write=True) as connection:
        connection.exec_driver_sql("UPDATE proctor_calls_meta SET value = '1'")
    with pytest.raises(UserError, match=r"older Proctor \(schema 1; this one needs 2\)"):
        CallStore.open(target)


def test_an_outcome_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with CallStore.open(path) as store:
        keep(store, ask(), REPLY)
        with store._database.transaction(write=True) as connection:
            connection.exec_driver_sql("UPDATE proctor_calls SET outcome = '{\"type\": 1}'")
        call = store.get(ask().key)
        assert call is not None
        with pytest.raises(UserError, match=ask().key[:12]):
            _ = call.result


def test_sqlalchemy_is_imported_late() -> None:
    code = "import proctor.llm.caller, sys; assert 'sqlalchemy' not in sys.modules; assert 'aiohttp' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


# -- as an ordinary user on a full or protected disk -------------------------------------------------------------

EXPECT = """
import asyncio, os, resource, signal, sys, tempfile
from proctor.errors import UserError
from proctor.llm.store import CallStore
target, limit, user = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
async def fill(store, count):
    for n in range(count):
        key = f"{n:064x}"
        await store.lane.begin(key)
        row = dict.fromkeys(("seconds", "input", "output", "cached", "cost"))
        await store.lane.finish(key, row | dict(key=key, model="m", stage="s", kind="reply", created=0.0,
                                                outcome="{}", request="x" * 5000))
        print(n, flush=True)
if user:  # everything is imported by using it once, since another user may not read the interpreter's files
    with tempfile.TemporaryDirectory() as warm, CallStore.open(f"{warm}/c.sqlite") as store:
        asyncio.run(fill(store, 1))
        try:
            CallStore.open(f"{warm}/c.sqlite/x")
        except UserError:
            pass
    os.setgroups([]), os.setgid(user), os.setuid(user)
if limit:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    with CallStore.open(target) as store:
        asyncio.run(fill(store, 400))
except UserError as error:
    print(str(error).replace(chr(10), " "))
    raise SystemExit(2)
"""


def _expect(path: Path, *, limit: int = 0, user: int = 0) -> tuple[int, int, str]:
    command = [sys.executable, "-c", EXPECT, str(path), str(limit), str(user)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert not done.stderr, done.stderr
    *saved, message = done.stdout.splitlines()
    return done.returncode, len(saved), message


def test_a_full_disk_is_told_and_what_was_saved_stays(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    code, saved, message = _expect(path, limit=3_000_000)
    assert code == 2
    assert saved > 10
    assert "what was saved before is safe" in message
    with CallStore.open(path) as store:
        assert [call.key for call in store.calls()] == [f"{n:064x}" for n in range(saved)]
        keep(store, ask(), REPLY)  # with space again, it goes on


@pytest.fixture
def open_folder() -> Iterator[tuple[Path, int]]:
    """A folder that another user reaches, and who that is: permissions do not bind root."""
    with tempfile.TemporaryDirectory(prefix="proctor-store-") as name:
        Path(name).chmod(0o755)
        yield Path(name), 65534 if os.geteuid() == 0 else 0


def test_a_folder_that_cannot_be_written(open_folder: tuple[Path, int]) -> None:
    folder, user = open_folder
    (folder / "locked").mkdir(mode=0o555)
    code, saved, message = _expect(folder / "locked" / "c.sqlite", user=user)
    assert (code, saved) == (2, int(bool(user)))
    assert "locked/c.sqlite" in message
    assert "writable" in message


def test_a_file_that_cannot_be_written(open_folder: tuple[Path, int]) -> None:
    folder, user = open_folder
    path = folder / "c.sqlite"
    CallStore.open(path).close()
    path.chmod(0o444)
    code, saved, message = _expect(path, user=user)
    assert (code, saved) == (2, int(bool(user)))
    assert "writable" in message


# -- addresses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["mysql://ana:geheim@host/db", "://", "sqlite:///x"])
def test_other_addresses_are_refused_without_showing_secrets(url: str) -> None:
    with pytest.raises(UserError, match="postgresql://user") as caught:
        CallStore.open(url)
    assert "geheim" not in str(caught.value)


def test_a_server_that_is_not_there_is_a_user_error() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(UserError, match="cannot be used") as caught:
        CallStore.open("postgresql://ana:geheim@127.0.0.1:1/db")
    assert "geheim" not in str(caught.value)


def test_the_extra_is_named_when_psycopg_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match="postgres"):
        CallStore.open("postgresql://127.0.0.1/db")


@pytest.mark.postgres
def test_a_server_that_goes_away_is_told_to_everybody_who_waits(postgres_url: str) -> None:
    import psycopg

    with CallStore.open(postgres_url) as store:
        assert begin(store, ask()) == [Claim.OURS]
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                " AND datname = current_database()"
            )
        with pytest.raises(UserError, match="cannot be used"):
            begin(store, ask("b"))
        assert begin(store, ask("c")) == [Claim.OURS]  # the next one finds a new connection
