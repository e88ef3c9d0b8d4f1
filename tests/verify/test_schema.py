"""Tables and their upgrades, on both databases."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.ask.moment.question import moment_question
from proctor.database import Database
from proctor.errors import UserError
from proctor.exam.kinds.example import Example
from proctor.exam.kinds.moment_question import moment_seen
from proctor.procedure.graph import Step, TaskGraph
from proctor.records import canonical_json, content_hash
from proctor.verify import migrations
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.items import load_graphs, to_item
from proctor.verify.desk.people import _person
from proctor.verify.schema import SCHEMA_VERSION, tables
from proctor.verify.store import VERDICTS, VerdictStore, seen_versions
from proctor.verify.verdict import AnswerVerdict, Verdict

PYTHON = sys.executable
GRAPH = TaskGraph(id="tea", name="Tea", steps=(Step("a", "Boil."),), edges=())


def verdict(n: int) -> Verdict:
    return Verdict(
        candidate_id=f"c{n % 3}",
        annotator=f"a{n}",
        annotator_kind="human",
        at="2026-01-01T00:00:00Z",
        question=AnswerVerdict("right", reason="💥 \u202e"),
    )


def raw(target: str) -> Any:
    """An engine of our own on a target."""
    from sqlalchemy import create_engine, make_url

    if "://" in target:
        return create_engine(make_url(target).set(drivername="postgresql+psycopg"))
    return create_engine(f"sqlite:///{target}")


def make_old(target: str, rows: int = 7) -> list[tuple[Any, ...]]:
    """Make a store as Proctor 0.1 wrote it (revision 0001), with verdicts; returns its rows."""
    from sqlalchemy import text

    from proctor.verify.store import _row_of

    engine = raw(target)
    with engine.begin() as connection:
        migrations.upgrade(connection, 0, "0001")
        connection.execute(text(f"DROP TABLE {migrations.REVISION_TABLE}"))  # 0.1 knew no Alembic
        connection.execute(text("INSERT INTO proctor_verdicts_meta VALUES ('schema_version', '1')"))
        for n in range(rows):
            connection.execute(
                text(
                    "INSERT INTO proctor_verdicts (digest, candidate_id, annotator, role, body) "
                    "VALUES (:digest, :candidate_id, :annotator, :role, :body)"
                ),
                _row_of(verdict(n)),
            )
    found = kept(engine)
    engine.dispose()
    return found


def kept(engine: Any) -> list[tuple[Any, ...]]:
    from sqlalchemy import text

    with engine.connect() as connection:
        found = connection.execute(text("SELECT * FROM proctor_verdicts ORDER BY sequence")).all()
    return [tuple(row) for row in found]


def names(target: str) -> set[str]:
    from sqlalchemy import inspect

    engine = raw(target)
    found = set(inspect(engine).get_table_names())
    engine.dispose()
    return found


def version(target: str) -> str:
    from sqlalchemy import text

    engine = raw(target)
    with engine.connect() as connection:
        found = connection.execute(
            text("SELECT value FROM proctor_verdicts_meta WHERE key = 'schema_version'")
        )
        value = str(found.scalar_one())
    engine.dispose()
    return value


def test_an_old_store_is_brought_to_today_with_every_row(target: str) -> None:
    before = make_old(target)
    with VerdictStore.open(target) as store:
        assert [s.verdict for s in store.history()] == [verdict(n) for n in range(7)]
        assert store.append(verdict(99))
    engine = raw(target)
    assert kept(engine)[:7] == before
    engine.dispose()
    assert version(target) == str(SCHEMA_VERSION)
    assert {t.name for t in tables()} <= names(target)
    with Desk.open(target, secret=b"x") as desk:
        from proctor.verify.desk.events import add_event, check_chain

        desk.write(lambda c: add_event(desk, c, "kind", "subject", "actor")).result()
        assert desk.read(check_chain) == (1, None)


def test_what_people_saw_of_the_items_of_an_old_store_is_noted(target: str) -> None:
    from sqlalchemy import text

    example = Example(
        id="e", clip_id="r_1", recording_id="r", activity_id="tea", activity_name="Tea", type="next", end=9.0,
        state="ongoing", noisy=False,
    )  # fmt: skip
    candidate = Candidate(
        id="c", example_id="e", recording_id="r", type="next", question="What now? 💥", answers=(Answer("Pour."),),
        provenance=Provenance(generator="rules", version="1"),
    )  # fmt: skip
    item = {
        "pid": "p", "candidate_id": "c", "candidate_hash": content_hash(candidate), "stratum": "next",
        "candidate": canonical_json(candidate).decode(), "example": canonical_json(example).decode(),
        "recording_id": "r", "activity_id": "tea", "activity_name": "Tea", "ends_at": 9.0, "wanted": 0, "reason": "",
        "state": "gone", "agreement": "", "in_training": False, "changed_at": 0.0,
    }  # fmt: skip
    engine = raw(target)
    with engine.begin() as connection:
        migrations.upgrade(connection, 0, "0002")
        connection.execute(text(f"DROP TABLE {migrations.REVISION_TABLE}"))
        connection.execute(text("INSERT INTO proctor_verdicts_meta VALUES ('schema_version', '2')"))
        names_, values = ", ".join(item), ", ".join(f":{name}" for name in item)
        connection.execute(text(f"INSERT INTO proctor_items ({names_}) VALUES ({values})"), item)
        graph = {"activity_id": "tea", "body": canonical_json(GRAPH).decode()}
        connection.execute(
            text("INSERT INTO proctor_graphs (activity_id, body) VALUES (:activity_id, :body)"), graph
        )
        connection.execute(text(
            "INSERT INTO proctor_people (pid, handle, name, email, role, state, gate, password, consent_version, "
            "guideline_version, settings, created_at) VALUES ('p', 'ana', 'Ana', '', 'annotator', 'active', 'open', '', 1, 3, "
            "'{}', 0.0)"
        ))  # fmt: skip
    engine.dispose()
    with VerdictStore.open(target) as store, store._database.transaction() as connection:
        question = moment_question(candidate, example)
        assert seen_versions(connection) == {("c", content_hash(candidate)): moment_seen(question)}
        (row,) = connection.execute(tables().items.select()).all()
        assert to_item(row).question == question
        assert (row.kind, row.cluster, row.topic, row.title, row.place) == ("moment", "r", "tea", "Tea", 9.0)
        (ana,) = map(_person, connection.execute(tables().people.select()).all())
        assert (ana.gate_of("moment"), ana.gate_of("clip"), ana.guidelines) == (
            "open",
            "training",
            {"moment": 3},
        )
        assert load_graphs(connection) == {"tea": GRAPH}


def test_sessions_of_an_old_store_go_on_and_end_with_any_log_out_of_a_provider_s_person(target: str) -> None:
    from sqlalchemy import text

    from proctor.verify.desk import people
    from proctor.verify.desk.identities import Claimed, find

    VerdictStore.open(target).close()
    engine = raw(target)
    with engine.begin() as connection:  # as it was at revision 6
        connection.execute(text("ALTER TABLE proctor_sessions DROP COLUMN provider_session"))
        connection.execute(text("UPDATE proctor_verdicts_meta SET value = '6'"))
        connection.execute(text(f"DROP TABLE IF EXISTS {migrations.REVISION_TABLE}"))
        for n, name in enumerate(("ana", "ben"), 1):
            connection.execute(text(
                "INSERT INTO proctor_people (pid, handle, name, email, role, state, password, consent_version, settings, "
                "created_at) VALUES (:name, :name, :name, '', 'annotator', 'active', '', 1, '{}', 0.0)"
            ), {"name": name})  # fmt: skip
            connection.execute(text(
                "INSERT INTO proctor_sessions (token_hash, person_id, created_at, seen_at, agent) "
                "VALUES (:name, :n, 1e10, 1e10, '')"
            ), {"name": name, "n": n})  # fmt: skip
        connection.execute(text(
            "INSERT INTO proctor_identities (issuer, subject, person_id, created_at) VALUES ('https://a', 'u-1', 1, 0.0)"
        ))  # fmt: skip
    engine.dispose()
    with Desk.open(target, secret=b"x", clock=lambda: 1e10) as desk:
        found = [desk.read(lambda c, n=n: people.find_session(desk, c, n)) for n in ("ana", "ben")]
        assert [f and f[0].provider_session for f in found] == ["", None]
        claimed = Claimed(issuer="https://a", subject="u-1", session="s-1")

        def end(connection: Any) -> None:
            ana = find(desk, connection, claimed)
            people.end_provider_session(desk, connection, claimed.session_hash, ana)

        desk.write(end).result()
        assert desk.read(lambda c: people.find_session(desk, c, "ana")) is None
        assert desk.read(lambda c: people.find_session(desk, c, "ben")) is not None


def test_a_copy_lies_beside_an_upgraded_file_and_works(tmp_path: Path) -> None:
    path = tmp_path / "verification.sqlite"
    before = make_old(str(path))
    VerdictStore.open(path).close()
    copy = tmp_path / "verification.sqlite.schema-1.bak"
    assert copy.is_file()
    assert not list(tmp_path.glob(".*tmp*"))
    assert version(str(copy)) == "1"
    engine = raw(str(copy))
    assert kept(engine) == before
    engine.dispose()
    for left in tmp_path.glob("verification.sqlite*"):
        if left != copy:
            left.unlink()
    shutil.copy(copy, path)
    with VerdictStore.open(path) as store:
        assert len(store) == 7
    assert version(str(path)) == str(SCHEMA_VERSION)


def test_a_store_of_today_is_not_copied_again(tmp_path: Path) -> None:
    VerdictStore.open(tmp_path / "s.sqlite").close()
    VerdictStore.open(tmp_path / "s.sqlite").close()
    assert not list(tmp_path.glob("*.bak"))


def test_the_upgrade_makes_what_a_new_store_has(target: str) -> None:
    """create_all and the migrations agree: tables, columns, types, indexes, constraints."""
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    make_old(target)
    VerdictStore.open(target).close()
    engine = raw(target)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_name": _ours})
        assert compare_metadata(context, tables().meta.metadata) == []
    engine.dispose()


def _ours(name: str | None, kind: str, _parents: Any) -> bool:
    return kind != "table" or name != migrations.REVISION_TABLE


def shape(target: str) -> dict[str, Any]:
    """Indexes with their conditions, unique constraints and keys, which the comparison above passes over in part."""
    from sqlalchemy import inspect

    engine = raw(target)
    look = inspect(engine)
    found: dict[str, Any] = {}
    for name in sorted(set(look.get_table_names()) - {migrations.REVISION_TABLE}):
        found[name] = (
            [(c["name"], str(c["type"]), c["nullable"]) for c in look.get_columns(name)],
            look.get_pk_constraint(name)["constrained_columns"],
            sorted(tuple(u["column_names"]) for u in look.get_unique_constraints(name)),
            sorted(
                (str(i["name"]), tuple(str(c) for c in i["column_names"]), bool(i["unique"]),
                 str(i["dialect_options"].get(f"{engine.dialect.name}_where", "")).strip("()"))
                for i in look.get_indexes(name) if not i.get("duplicates_constraint")
            ),
            sorted((tuple(f["constrained_columns"]), f["referred_table"]) for f in look.get_foreign_keys(name)),
        )  # fmt: skip
    engine.dispose()
    return found


def test_a_new_and_an_upgraded_store_have_one_shape(target: str, tmp_path: Path, request: Any) -> None:
    make_old(target)
    VerdictStore.open(target).close()
    upgraded = shape(target)
    if "://" in target:
        from sqlalchemy import text

        engine = raw(target)
        with engine.begin() as connection:
            connection.execute(text("DROP SCHEMA public CASCADE"))
            connection.execute(text("CREATE SCHEMA public"))
        engine.dispose()
        fresh = target
    else:
        fresh = str(tmp_path / "fresh.sqlite")
    VerdictStore.open(fresh).close()
    assert shape(fresh) == upgraded


def test_two_live_rows_of_one_slot_are_impossible(target: str) -> None:
    """Whatever a mistake of ours might try: the database itself refuses."""
    from sqlalchemy.exc import IntegrityError

    from proctor.verify.desk import people

    with Desk.open(target, secret=b"x") as desk:
        ana, ben = (
            desk.write(
                lambda c, h=h: people.add(desk, c, handle=h, name=h, role="annotator", actor="cli")
            ).result()
            for h in ("ana", "ben")
        )
        item = {
            "pid": "i", "candidate_id": "c", "candidate_hash": "", "body": "{}", "stratum": "",
            "cluster": "", "topic": "", "title": "", "state": "judging",
            "changed_at": 0.0,
        }  # fmt: skip

        def put(pid: str, person: Any, slot: int, *, live: bool = True, stage: str = "judge") -> None:
            row = {
                "pid": pid, "item_id": 1, "person_id": person.id, "stage": stage, "slot": slot, "state": "open",
                "live": live, "queue_pos": 0, "created_at": 0.0,
            }  # fmt: skip
            desk.write(lambda c: c.execute(tables().assignments.insert(), row)).result()

        desk.write(lambda c: c.execute(tables().items.insert(), item)).result()
        put("a", ana, 0)
        for pid, person, slot in (("b", ben, 0), ("c", ana, 1)):
            with pytest.raises(IntegrityError):
                put(pid, person, slot)
        put("d", ben, 0, live=False)
        put("e", ana, 0, stage="adjudicate")
        put("f", ben, 1)


def test_a_newer_store_is_left_alone(target: str) -> None:
    VerdictStore.open(target).close()
    from sqlalchemy import text

    engine = raw(target)
    with engine.begin() as connection:
        newer = str(SCHEMA_VERSION + 1)
        connection.execute(
            text("UPDATE proctor_verdicts_meta SET value = :v WHERE key = 'schema_version'"), {"v": newer}
        )
    engine.dispose()
    with pytest.raises(UserError, match="newer Proctor"):
        VerdictStore.open(target)
    assert version(target) == str(SCHEMA_VERSION + 1)


@pytest.mark.parametrize("after", ["upgrade", "half"])
def test_an_upgrade_that_fails_leaves_the_old_store(
    target: str, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    before, tables_before = make_old(target), names(target)
    whole = migrations.upgrade

    def broken(connection: Any, at: int, *_more: Any) -> None:
        if after == "upgrade":
            whole(connection, at)
        else:
            from sqlalchemy import text

            connection.execute(text("CREATE TABLE proctor_people (id INTEGER)"))
        raise RuntimeError("power")

    monkeypatch.setattr(migrations, "upgrade", broken)
    with pytest.raises(RuntimeError, match="power"):
        VerdictStore.open(target)
    monkeypatch.undo()
    engine = raw(target)
    assert kept(engine) == before
    engine.dispose()
    assert (version(target), names(target)) == ("1", tables_before)
    with VerdictStore.open(target) as store:
        assert len(store) == 7


KILLED = """
    import os, sys
    from proctor.verify import migrations
    whole = migrations.upgrade
    def upgrade(connection, version, target="head"):
        whole(connection, version, target)
        os.kill(os.getpid(), 9)
    migrations.upgrade = upgrade
    from proctor.verify.store import VerdictStore
    VerdictStore.open(sys.argv[1])
"""


def test_an_upgrade_that_is_killed_leaves_the_old_store(target: str) -> None:
    before, tables_before = make_old(target), names(target)
    done = subprocess.run([PYTHON, "-c", textwrap.dedent(KILLED), target], timeout=60, check=False)
    assert done.returncode == -9
    engine = raw(target)
    assert kept(engine) == before
    engine.dispose()
    assert (version(target), names(target)) == ("1", tables_before)
    with VerdictStore.open(target) as store:
        assert len(store) == 7


OPENER = """
    import sys
    from proctor.verify.store import VerdictStore
    sys.stdin.readline()
    with VerdictStore.open(sys.argv[1]) as store:
        print(len(store))
"""


@pytest.mark.parametrize("old", [True, False])
def test_many_who_open_at_once_upgrade_once(target: str, old: bool) -> None:
    if old:
        make_old(target)
    running = [
        subprocess.Popen(
            [PYTHON, "-c", textwrap.dedent(OPENER), target],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(4)
    ]  # fmt: skip
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    ended = [(process.communicate(timeout=60), process.returncode) for process in running]
    for (out, err), code in ended:
        assert code == 0, err
        assert out.strip() == ("7" if old else "0")
    if old and "://" not in target:
        assert version(f"{target}.schema-1.bak") == "1"
    assert version(target) == str(SCHEMA_VERSION)


def test_no_room_for_the_copy_means_no_upgrade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.sqlite"
    make_old(str(path))

    def full(*_args: Any, **_more: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UserError, match="no copy"):
        VerdictStore.open(path)
    monkeypatch.undo()
    assert version(str(path)) == "1"


def test_what_is_written_while_it_is_copied_is_whole_in_the_copy(tmp_path: Path) -> None:
    """A copy of an open store holds everything that was acknowledged before it was asked for."""
    path = tmp_path / "s.sqlite"
    with VerdictStore.open(path) as store:
        store.append_many(verdict(n) for n in range(50))
        database = Database.open(VERDICTS, path, create=False, busy_seconds=5)
        copy = database.back_up("now")
        database.close()
        store.append(verdict(99))
    assert copy is not None
    with sqlite3.connect(copy) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    with VerdictStore.open(copy) as store:
        assert len(store) == 50
