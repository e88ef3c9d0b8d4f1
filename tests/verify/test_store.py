"""The store keeps every acknowledged verdict once, on SQLite and on PostgreSQL, whatever happens to the process."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from proctor.ask.moment.candidate import Answer, Candidate
from proctor.ask.moment.question import moment_question
from proctor.errors import MissingExtraError, UserError
from proctor.exam.kinds.example import Example
from proctor.records import content_hash
from proctor.verify.schema import SCHEMA_VERSION
from proctor.verify.store import VerdictStore, seen_versions, split_stale, verdict_key
from proctor.verify.verdict import Verdict

MakeVerdict = Callable[..., Verdict]

WRITER = """
import sys
from proctor.verify.store import VerdictStore
from proctor.verify.verdict import AnswerVerdict, Verdict
target, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with VerdictStore.open(target) as store:
    for n in range(count):
        store.append(Verdict(candidate_id=f"c{n}", annotator=name, annotator_kind="human", at=f"{n}",
                             question=AnswerVerdict("right", reason="x" * 400)))
        print(n, flush=True)
"""


def _writer(target: str, name: str, count: int, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, target, name, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


# -- the ordinary life ---------------------------------------------------------------------------------------


def test_what_is_saved_comes_back_equal(target: str, make_verdict: MakeVerdict) -> None:
    verdict = make_verdict(
        "c1",
        "ana",
        "+ +-?",
        "Ünïcödé; \u2028 and\x00NUL 😀",
        "",
        confidence=0.25,
        note="n",
        candidate_hash="h",
    )
    with VerdictStore.open(target) as store:
        assert store.append(verdict)
    with VerdictStore.open(target, create=False) as store:
        assert store.latest() == [verdict]
        assert len(store) == 1


def test_the_same_verdict_is_stored_once(target: str, make_verdict: MakeVerdict) -> None:
    verdicts = [make_verdict(f"c{n}", "ana", "+ +") for n in range(5)]
    with VerdictStore.open(target) as store:
        assert store.append_many(verdicts) == 5
        assert store.append_many([*verdicts, make_verdict("c9", "ana", "-")]) == 1
        assert not store.append(verdicts[0])
        assert store.append_many([]) == 0
        assert len(store) == 6


def test_a_later_verdict_supersedes_but_nothing_is_lost(target: str, make_verdict: MakeVerdict) -> None:
    first = make_verdict("c1", "ana", "+ -", at="2026-02-02T00:00:00Z")
    clock_set_back = make_verdict("c1", "ana", "+ +", at="2026-01-01T00:00:00Z")
    other = make_verdict("c1", "ben", "-")
    settled = make_verdict("c1", "ana", "+ +", role="adjudicator")
    with VerdictStore.open(target) as store:
        store.append_many([first, other])
        store.append_many([clock_set_back, settled])
        assert store.latest() == [other, clock_set_back, settled]
        history = store.history("c1", annotator="ana")
        assert [h.verdict for h in history] == [first, clock_set_back, settled]
        assert [h.verdict for h in store.history(after=history[1].sequence)] == [settled]
        assert store.latest("c2") == []
        assert len({verdict_key(v) for v in store.latest()}) == 3


def test_superseding_by_going_back_needs_a_new_time(target: str, make_verdict: MakeVerdict) -> None:
    """Who changes their mind twice saves at another time, so the content differs and counts."""
    yes, no = make_verdict("c", "ana", "+", at="1"), make_verdict("c", "ana", "-", at="2")
    with VerdictStore.open(target) as store:
        for verdict in (yes, no, msgspec.structs.replace(yes, at="3")):
            store.append(verdict)
        assert store.latest()[0].question.value == "right"


def test_a_transaction_is_all_or_nothing(target: str, make_verdict: MakeVerdict) -> None:
    bad = make_verdict("c\x00", "ana", "+")
    with VerdictStore.open(target) as store:
        with pytest.raises(UserError, match="NUL"):
            store.append_many([make_verdict("c1", "ana", "+"), bad])
        with pytest.raises(UserError, match="not Unicode"):
            store.append(make_verdict("c1", "ana", "+", "\ud800"))
        assert len(store) == 0


def test_hostile_text_is_only_text(target: str, make_verdict: MakeVerdict) -> None:
    name = "'; DROP TABLE proctor_verdicts; --"
    with VerdictStore.open(target) as store:
        store.append(make_verdict(name, name, "+", name))
        assert store.latest(name)[0].own_answers == (name,)
        assert len(store.history(annotator=name)) == 1


# -- several writers, sudden ends ----------------------------------------------------------------------------


def test_processes_that_write_at_once(target: str) -> None:
    """None of them opens the store before the others: creating it is part of the race."""
    writers = [_writer(target, f"annotator-{n}", 25) for n in range(3)]
    for writer in writers:
        _, errors = writer.communicate(timeout=180)
        assert writer.returncode == 0, errors
    with VerdictStore.open(target) as store:
        assert len(store) == 75
        assert len(store.latest()) == 75


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.06])
def test_kill_9_keeps_what_was_acknowledged_once(target: str, delay: float) -> None:
    writer = _writer(target, "ana", 100_000)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "0\n"
    time.sleep(delay)
    writer.send_signal(signal.SIGKILL)
    rest = writer.stdout.read()  # not communicate(): it would pass over what readline() has buffered
    writer.stdout.close()
    assert writer.stderr is not None
    writer.stderr.close()
    writer.wait(timeout=180)
    acknowledged = len([line for line in rest.splitlines(keepends=True) if line.endswith("\n")]) + 1
    with VerdictStore.open(target) as store:
        ids = [h.verdict.candidate_id for h in store.history()]
        assert len(ids) == len(set(ids))
        assert acknowledged <= len(ids) <= acknowledged + 1
        assert ids == [f"c{n}" for n in range(len(ids))]
        assert not store.append(store.latest()[0])


def test_a_writer_that_does_not_end_is_told(tmp_path: Path, make_verdict: MakeVerdict) -> None:
    path = tmp_path / "v.sqlite"
    with VerdictStore.open(path, busy_seconds=0.05) as store:
        other = sqlite3.connect(path, isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            assert store.latest() == []  # readers do not wait
            with pytest.raises(UserError, match=r"locked(.|\n)*too long"):
                store.append(make_verdict("c", "ana", "+"))
            other.execute("ROLLBACK")
        finally:
            other.close()
        assert store.append(make_verdict("c", "ana", "+"))


# -- files that cannot be used -------------------------------------------------------------------------------


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"folder(.|\n)*verification.sqlite"):
        VerdictStore.open(tmp_path)


def test_a_missing_file_is_not_made_for_readers(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        VerdictStore.open(tmp_path / "none.sqlite", create=False)
    assert not (tmp_path / "none.sqlite").exists()


def test_missing_folders_are_made_and_strange_names_work(tmp_path: Path, make_verdict: MakeVerdict) -> None:
    path = tmp_path / "a b" / "ü?mode=ro#x" / "v%41.sqlite"
    with VerdictStore.open(path) as store:
        store.append(make_verdict("c", "ana", "+"))
    assert path.is_file()


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to be read as one" * 40, b"\x00" * 5000]
)
def test_another_kind_of_file_is_refused_and_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "v.sqlite"
    path.write_bytes(content)
    with pytest.raises(UserError, match="not a database"):
        VerdictStore.open(path)
    assert path.read_bytes() == content


def test_a_damaged_file_is_a_user_error(tmp_path: Path, make_verdict: MakeVerdict) -> None:
    path = tmp_path / "v.sqlite"
    with VerdictStore.open(path) as store:
        store.append_many(make_verdict(f"c{n}", "ana", "+", "x" * 2000) for n in range(50))
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + os.urandom(len(whole) - 8192))
    with (
        pytest.raises(UserError, match=r"cannot be used|not valid JSON|malformed"),
        VerdictStore.open(path) as store,
    ):
        store.latest()


def test_a_truncated_file_is_a_user_error(tmp_path: Path, make_verdict: MakeVerdict) -> None:
    path = tmp_path / "v.sqlite"
    with VerdictStore.open(path) as store:
        store.append_many(make_verdict(f"c{n}", "ana", "+", "x" * 2000) for n in range(50))
    path.write_bytes(path.read_bytes()[:10_000])
    with pytest.raises(UserError, match=r"malformed|cannot be used"), VerdictStore.open(path) as store:
        store.latest()


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE calls (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(UserError, match=r"belongs to something else: it has a table 'calls'"):
        VerdictStore.open(path)
    assert path.read_bytes() == before


def _set_version(target: str, value: str) -> None:
    from sqlalchemy import create_engine, text

    url = (
        target.replace("postgresql://", "postgresql+psycopg://") if "://" in target else f"sqlite:///{target}"
    )
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE proctor_verdicts_meta SET value = :v"), {"v": value})
    engine.dispose()


def test_a_newer_schema_is_refused(target: str) -> None:
    VerdictStore.open(target).close()
    _set_version(target, str(SCHEMA_VERSION + 1))
    with pytest.raises(UserError, match=rf"newer Proctor \(schema {SCHEMA_VERSION + 1}"):
        VerdictStore.open(target)
    _set_version(target, "soon")
    with pytest.raises(UserError, match="'soon'"):
        VerdictStore.open(target)


def test_a_row_that_is_no_verdict_is_named(tmp_path: Path, make_verdict: MakeVerdict) -> None:
    path = tmp_path / "v.sqlite"
    with VerdictStore.open(path) as store:
        store.append(make_verdict("c", "ana", "+"))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE proctor_verdicts SET body = '{\"question\": 1}'")
    connection.close()
    with VerdictStore.open(path) as store, pytest.raises(UserError, match="verdict 1"):
        store.latest()


# -- as an ordinary user on a full or protected disk ------------------------------------------------------------


EXPECT = """
import os, resource, signal, sys, tempfile
from proctor.errors import UserError
from proctor.verify.store import VerdictStore
from proctor.verify.verdict import AnswerVerdict, Verdict
target, limit, user = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if user:  # everything is imported by using it once, since another user may not read the interpreter's files
    with tempfile.TemporaryDirectory() as warm, VerdictStore.open(f"{warm}/v.sqlite") as store:
        store.append(Verdict(candidate_id="c", annotator="a", annotator_kind="human", at="0",
                             question=AnswerVerdict("right")))
        try:
            VerdictStore.open(f"{warm}/v.sqlite/x")
        except UserError:
            pass
    os.setgroups([]), os.setgid(user), os.setuid(user)
if limit:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
saved = 0
try:
    with VerdictStore.open(target) as store:
        for n in range(400):
            store.append(Verdict(candidate_id=f"c{n}", annotator="ana", annotator_kind="human", at=f"{n}",
                                 question=AnswerVerdict("right", reason="x" * 3000)))
            saved += 1
except UserError as error:
    print(saved, str(error).replace(chr(10), " "))
    raise SystemExit(2)
"""


def _expect(path: Path, *, limit: int = 0, user: int = 0) -> tuple[int, int, str]:
    command = [sys.executable, "-c", EXPECT, str(path), str(limit), str(user)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert not done.stderr, done.stderr
    saved, _, message = done.stdout.partition(" ")
    return done.returncode, int(saved), message


def test_a_full_disk_is_told_and_what_was_saved_stays(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    code, saved, message = _expect(path, limit=700_000)
    assert code == 2
    assert saved > 10
    assert "what was saved before is safe" in message
    with VerdictStore.open(path) as store:
        assert [h.verdict.candidate_id for h in store.history()] == [f"c{n}" for n in range(saved)]


@pytest.fixture
def open_folder() -> Iterator[tuple[Path, int]]:
    """A folder that another user reaches, and who that is: permissions do not bind root."""
    with tempfile.TemporaryDirectory(prefix="proctor-store-") as name:
        Path(name).chmod(0o755)
        yield Path(name), 65534 if os.geteuid() == 0 else 0


def test_a_folder_that_cannot_be_written(open_folder: tuple[Path, int]) -> None:
    folder, user = open_folder
    (folder / "locked").mkdir(mode=0o555)
    code, saved, message = _expect(folder / "locked" / "v.sqlite", user=user)
    assert (code, saved) == (2, 0)
    assert "locked/v.sqlite" in message
    assert "writable" in message


def test_a_folder_that_cannot_be_made(open_folder: tuple[Path, int]) -> None:
    folder, user = open_folder
    (folder / "locked").mkdir(mode=0o555)
    code, _, message = _expect(folder / "locked" / "new" / "v.sqlite", user=user)
    assert code == 2
    assert "folder cannot be made" in message


def test_a_file_that_cannot_be_written(open_folder: tuple[Path, int]) -> None:
    folder, user = open_folder
    path = folder / "v.sqlite"
    VerdictStore.open(path).close()
    path.chmod(0o444)
    code, saved, message = _expect(path, user=user)
    assert (code, saved) == (2, 0)
    assert "writable" in message


# -- addresses -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["mysql://ana:geheim@host/db", "://", "sqlite:///x"])
def test_other_addresses_are_refused_without_showing_secrets(url: str) -> None:
    with pytest.raises(UserError, match="postgresql://user") as caught:
        VerdictStore.open(url)
    assert "geheim" not in str(caught.value)


def test_a_server_that_is_not_there_is_a_user_error() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(UserError, match="cannot be used") as caught:
        VerdictStore.open("postgresql://ana:geheim@127.0.0.1:1/db")
    assert "geheim" not in str(caught.value)


def test_the_extra_is_named_when_psycopg_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match="postgres"):
        VerdictStore.open("postgresql://127.0.0.1/db")


@pytest.mark.postgres
def test_a_shared_database_keeps_its_other_tables(postgres_url: str, make_verdict: MakeVerdict) -> None:
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE calls (x int)")
    with VerdictStore.open(postgres_url) as store:
        store.append(make_verdict("c", "ana", "+"))
        assert len(store) == 1


def test_sqlalchemy_is_imported_late() -> None:
    code = "import proctor.verify.store, sys; assert 'sqlalchemy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


# -- verdicts and the candidates they saw --------------------------------------------------------------------


def test_a_candidate_that_was_edited_later_is_noticed(
    make_candidate: Callable[..., Candidate], make_verdict: MakeVerdict
) -> None:
    seen = make_candidate("c1", "yes")
    edited = msgspec.structs.replace(seen, answers=(Answer("no"),))
    verdict = make_verdict("c1", "ana", "+ +", candidate_hash=content_hash(seen))
    seen, edited = moment_question(seen), moment_question(edited)
    unhashed, unknown = make_verdict("c1", "ben", "+ +"), make_verdict("c2", "ana", "+ +")
    assert split_stale([verdict], {"c1": seen}) == ([verdict], [])
    good, stale = split_stale([verdict, unhashed, unknown], {"c1": edited})
    assert good == [unhashed]
    assert [(s.id, s.reason) for s in stale] == [("c1", "candidate-changed"), ("c2", "candidate-unknown")]
    assert "ana" in stale[0].detail


def remade(candidate: Candidate) -> Candidate:
    """The same question and answers, made by another version."""
    made = msgspec.structs.replace(candidate.provenance, version="99")
    return msgspec.structs.replace(candidate, provenance=made)


def test_peoples_verdicts_hold_while_they_would_see_the_same_and_machines_judge_anew(
    target: str,
    make_candidate: Callable[..., Candidate],
    make_verdict: MakeVerdict,
) -> None:
    first = make_candidate("c1", "yes")
    other, edited = remade(first), msgspec.structs.replace(remade(first), answers=(Answer("no"),))
    moment = Example(
        id=first.example_id, clip_id="r1_1", recording_id="r1", activity_id="tea", activity_name="Tea", type="missing",
        end=9.0, state="ongoing", noisy=False,
    )  # fmt: skip
    person = make_verdict("c1", "ana", "+ +", candidate_hash=content_hash(first))
    machine = make_verdict("c1", "oracle", "+ +", candidate_hash=content_hash(first), annotator_kind="oracle")
    with VerdictStore.open(target) as store:
        store.append_many([person, machine])
        for _ in range(2):
            was, new, text = (moment_question(c, moment) for c in (first, other, edited))
            assert store.latest_on([was]) == [person, machine]
            held, stale = split_stale(store.latest_on([new]), {"c1": new})
            assert [v.annotator for v in held] == ["ana"]
            assert [s.reason for s in stale] == ["candidate-changed"]
            held, stale = split_stale(store.latest_on([text]), {"c1": text})
            assert (held, len(stale)) == ([], 2)
        assert [s.verdict for s in store.history()] == [person, machine]
        with store._database.transaction() as connection:
            assert len(seen_versions(connection)) == 3
