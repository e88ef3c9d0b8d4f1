"""The stage: candidates into the desk, the project's key, and the links on the command line."""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proctor.errors import UserError
from proctor.exam.question import Footage, gold_texts, part_of
from proctor.samples import copy_sample
from proctor.stages.derive import derive
from proctor.stages.generate import generate
from proctor.stages.read import read
from proctor.stages.settings import BuildSettings, GenerateSettings
from proctor.stages.studio import (
    KEY_FILE,
    desk_target,
    first_link,
    open_desk,
    open_studio,
    sign_in_link,
    sync_desk,
)
from proctor.stages.studio_demo import CAST, make_demo
from proctor.studio.context import Settings
from proctor.verify.desk import items, people
from proctor.verify.desk.browse import Narrow, page_items
from proctor.workspace import Workspace

ORIGIN = "http://127.0.0.1:8642"
PROMISED = {"undealt", "training", "judging", "case", "settled", "held", "returned"}
"""What the sample project shows of what can become of an item."""


@contextmanager
def quiet(_title: str, _total: int | None = None) -> Iterator[Callable[[], None]]:
    yield lambda: None


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("studio")
    copy_sample(root / "sample")
    read("plain", root / "sample", root / "bench")
    derive(root / "bench")
    generate(root / "bench", GenerateSettings(sample="all"), limit=12)
    return root / "bench"


@pytest.fixture
def bench(made: Path, tmp_path: Path) -> Path:
    import shutil

    shutil.copytree(made, tmp_path / "bench")
    return tmp_path / "bench"


def test_candidates_go_in_once(bench: Path) -> None:
    with open_desk(bench) as desk:
        first = sync_desk(bench, desk)
        assert first is not None
        assert (first.new, first.changed, first.gone) == (12, 0, 0)
        assert sync_desk(bench, desk) is None
    with open_desk(bench) as desk:
        assert sync_desk(bench, desk) is None


def test_a_candidate_that_is_gone_is_taken_out(bench: Path) -> None:
    path = bench / "candidates.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    with open_desk(bench) as desk:
        sync_desk(bench, desk)
        path.write_bytes(b"".join(lines[1:]))
        second = sync_desk(bench, desk)
        assert second is not None
        assert (second.gone, second.same) == (1, 11)
        states = [one.state for one in desk.read(lambda c: page_items(c, Narrow(), ()))]
    assert states.count("gone") == 1


@pytest.mark.parametrize("name", ["candidates.jsonl", "examples.jsonl", "graphs.json"])
def test_a_broken_file_changes_nothing(bench: Path, name: str) -> None:
    with open_desk(bench) as desk:
        sync_desk(bench, desk)
        path = bench / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(UserError, match=name):
            sync_desk(bench, desk)
        assert len(desk.read(lambda c: page_items(c, Narrow(), ()))) == 12


def test_without_candidates(tmp_path: Path) -> None:
    with open_desk(tmp_path) as desk, pytest.raises(UserError, match=r"candidates\.jsonl"):
        sync_desk(tmp_path, desk)


# -- the key ---------------------------------------------------------------------------------------------------


def test_the_key_is_made_once_and_for_its_owner_alone(bench: Path) -> None:
    with open_desk(bench) as desk:
        first = desk.secret
    assert len(first) == 32
    assert stat.S_IMODE((bench / KEY_FILE).stat().st_mode) == 0o600
    with open_desk(bench) as desk:
        assert desk.secret == first


@pytest.mark.parametrize("text", [None, "", "00" * 31, "zz" * 32, "00" * 32])
def test_another_key_is_refused(bench: Path, text: str | None) -> None:
    with open_desk(bench):
        pass
    path = bench / KEY_FILE
    path.unlink()
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match="key"), open_desk(bench):
        pass
    assert path.exists() == (text is not None)


# -- links -----------------------------------------------------------------------------------------------------


def test_the_first_link_stops_the_one_before_and_ends_with_an_owner(bench: Path) -> None:
    from proctor.studio.auth import hash_token

    with open_desk(bench) as desk:
        one, two = first_link(desk, ORIGIN), first_link(desk, ORIGIN)
        assert one is not None
        assert two is not None
        assert two.startswith(f"{ORIGIN}/setup/")
        old, new = (hash_token(link.rpartition("/")[2]) for link in (one, two))
        assert desk.read(lambda c: people.read_invite(desk, c, old)) is None
        assert desk.read(lambda c: people.read_invite(desk, c, new)) is not None
        desk.write(
            lambda c: people.consume_invite(desk, c, new, handle="me", name="Me", password="a long password")
        ).result()
        assert first_link(desk, ORIGIN) is None
        assert "/start/" in sign_in_link(desk, ORIGIN, "me")
        with pytest.raises(UserError, match="there is no account 'you'"):
            sign_in_link(desk, ORIGIN, "you")


def test_an_open_studio_has_all_it_needs(bench: Path) -> None:
    settings = Settings(project="P", origin=ORIGIN, folder=bench / "studio")
    with open_studio(bench, settings) as studio:
        assert len(studio.library.graphs) == 3
        assert studio.clips is not None
        listed = studio.desk.read(lambda c: page_items(c, Narrow(), (), limit=1))
        item = studio.desk.read(lambda c: items.get_item(c, listed[0].id))
        assert (
            studio.find_video(part_of(item.question, Footage)) is None
        )  # the sample's videos are rendered on demand


def test_the_store_of_the_settings_is_used(bench: Path) -> None:
    workspace = Workspace(bench)
    assert desk_target(workspace) == bench / "verification.sqlite"
    assert desk_target(workspace, "other.sqlite") == bench / "other.sqlite"
    assert desk_target(workspace, "postgresql://h/d") == "postgresql://h/d"


def test_the_demo_is_made_once(tmp_path: Path) -> None:
    bench = make_demo(tmp_path, show=quiet)
    before = (bench / "verification.sqlite").stat().st_mtime_ns
    assert make_demo(tmp_path, show=quiet) == bench
    assert (bench / "verification.sqlite").stat().st_mtime_ns == before
    with open_desk(bench) as desk:
        everybody = desk.read(lambda c: people.list_people(desk, c))
        counts = desk.read(items.count_items)
    assert {p.handle for p in everybody} == {handle for handle, _, _ in CAST}
    states = {state for kinds in counts.values() for state in kinds}
    assert states >= PROMISED


def decisions(bench: Path) -> str:
    """Who said what of what, in the order in which it was said, and what came of it, without times and random names."""
    from proctor.verify.schema import tables

    with open_desk(bench, create=False) as desk, desk.reading() as connection:
        t = tables()
        handles = {p.id: p.handle for p in connection.execute(t.people.select())}
        found = connection.execute(t.items.select().order_by(t.items.c.id)).all()
        names = {item.id: item.candidate_id for item in found}
        given = connection.execute(t.assignments.select().order_by(t.assignments.c.id)).all()
        mine = {a.id: (handles[a.person_id], names[a.item_id], a.stage) for a in given}
        columns = ("slot", "state", "live", "queue_pos", "reason", "rev", "active_ms", "blind_repeat")
        responses = connection.execute(t.responses.select().order_by(t.responses.c.id))
        finals = connection.execute(
            t.final_answers.select().order_by(t.final_answers.c.item_id, t.final_answers.c.position)
        )
        return json.dumps(
            {
                "items": [(i.candidate_id, i.state, i.reason, i.agreement, i.repeat_lot) for i in found],
                "given": [(mine[a.id], *(getattr(a, c) for c in columns)) for a in given],
                "said": [(mine[r.assignment_id], r.sheet, r.active_ms) for r in responses],
                "final": [(names[f.item_id], f.text, f.source, f.approved_by) for f in finals],
            },
            indent=1,
        )


@pytest.fixture(scope="module")
def first_demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    return decisions(make_demo(tmp_path_factory.mktemp("first"), show=quiet))


@pytest.mark.parametrize("later", [0.0, 11 * 3_600.0, 200 * 86_400.0 + 0.37])
def test_the_demo_is_the_same_at_any_time_and_with_any_random_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_demo: str, later: float
) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + later)
    assert decisions(make_demo(tmp_path, show=quiet)) == first_demo
    assert first_demo.count('"judge"') > 100
    assert '"adjudicate"' in first_demo


def test_a_demo_that_was_interrupted_says_so_and_work_of_others_is_left_alone(tmp_path: Path) -> None:
    bench = make_demo(tmp_path, show=quiet)
    before = decisions(bench)
    (bench / "studio-demo.txt").unlink()
    (bench / "candidates.jsonl").write_bytes(b"untouched")
    with pytest.raises(UserError, match="no finished sample"):
        make_demo(tmp_path, show=quiet)
    assert decisions(bench) == before
    assert (bench / "candidates.jsonl").read_bytes() == b"untouched"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_demo_has_every_state(tmp_path: Path, seed: int) -> None:
    bench = make_demo(tmp_path, show=quiet, seed=seed)
    with open_desk(bench, create=False) as desk:
        counts = desk.read(items.count_items)
    assert {state for kinds in counts.values() for state in kinds} >= PROMISED


@pytest.mark.parametrize("accept", ["humans", "policy"])
def test_a_build_lets_in_what_the_desk_has_settled_and_nothing_else(tmp_path: Path, accept: str) -> None:
    """Half-judged, disputed and returned items are not published, whoever asks for it."""
    from proctor.exam.question import Item
    from proctor.records import read_jsonl
    from proctor.stages.build import build
    from proctor.verify.schema import tables

    bench = make_demo(tmp_path, show=quiet)
    counts = build(bench, BuildSettings(accept=accept))
    with open_desk(bench) as desk, desk.reading() as connection:
        rows = connection.execute(tables().items.select()).all()
        finals: dict[str, list[str]] = {row.candidate_id: [] for row in rows if row.state == "settled"}
        names = {row.id: row.candidate_id for row in rows}
        table = tables().final_answers
        for row in connection.execute(table.select().order_by(table.c.item_id, table.c.position)):
            finals[names[row.item_id]].append(row.text)
        touched = {row.candidate_id for row in rows if row.state not in ("undealt", "training", "settled")}
    items_: list[Item] = read_jsonl(bench / "items.jsonl", Item)
    built = {item.id: list(gold_texts(item)) for item in items_}
    assert len(finals) > 3
    assert {name: built[name] for name in finals} == finals
    assert not touched & set(built)
    assert counts.dropped["not-finished"] > 3
    assert (set(built) == set(finals)) == (accept == "humans")
