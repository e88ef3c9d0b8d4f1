"""What tablets send: slices in order and once, leases, clocks and verbs, of whoever records alone."""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.studio import roundwork

from proctor.capture import control
from proctor.errors import UserError
from proctor.records import read_jsonl
from proctor.studio import slices
from proctor.studio.slices import INDEX, MissingSliceError, SliceRow, hold_lease, keep_slice, list_parts
from proctor.verify.desk import rounds

WEBM = b"\x1a\x45\xdf\xa3" + bytes(500)


def begin(office: Any, person: Any, kind: str = "record") -> str:
    """A task of somebody; returns its pid."""
    round_ = roundwork.begin(office.desk, kind, roundwork.make_tasks(kind, 1), wanted=1)
    batch = office.do(rounds.open_batch, round_, person)
    return str(office.desk.read(lambda c: rounds.count_batch(c, batch).following))


def put(
    office: Any, person: Any, path: str, data: bytes, *, kind: str = "video/webm", sha256: str = ""
) -> Any:
    headers = {
        "Content-Type": kind,
        "Proctor-Sha256": sha256 or hashlib.sha256(data).hexdigest(),
        "Proctor-Perf-Ns": "12",
    }
    return office.client(person).put(path, content=data, headers=headers)


def keep(folder: Path, seq: int, data: bytes, part: str = "tablet-1", **more: Any) -> str:
    given = {"kind": "video/webm", "sha256": hashlib.sha256(data).hexdigest(), "perf_ns": seq, **more}
    return keep_slice(folder, "pid", part, seq, data, **given)


def test_slices_come_in_order_once_and_a_differing_one_is_kept_beside(tmp_path: Path) -> None:
    with pytest.raises(MissingSliceError, match="1"):
        keep(tmp_path, 2, b"later")
    assert keep(tmp_path, 1, WEBM) == "new"
    assert keep(tmp_path, 2, b"second") == "new"
    with pytest.raises(MissingSliceError, match="3"):
        keep(tmp_path, 9, b"ninth")
    assert keep(tmp_path, 2, b"second") == "again"
    assert keep(tmp_path, 2, b"another") == keep(tmp_path, 2, b"another") == "conflict"
    (files,) = list_parts(tmp_path, "pid").values()
    assert [path.read_bytes() for path in files] == [WEBM, b"second"]
    (beside,) = files[0].parent.glob("*.conflict-*")
    assert beside.read_bytes() == b"another"
    rows = read_jsonl(files[0].parent / INDEX, SliceRow)
    assert [(r.seq, r.perf_ns, r.bytes) for r in rows] == [(1, 1, len(WEBM)), (2, 2, 6)]
    assert rows[0].host_ns < rows[1].host_ns


def test_a_slice_that_comes_twice_at_once_is_kept_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page and its service worker both send what waits when the network is back."""
    there = slices.list_parts

    def slowly(*args: Any) -> Any:
        found = there(*args)
        time.sleep(0.02)
        return found

    monkeypatch.setattr(slices, "list_parts", slowly)
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(lambda _: keep(tmp_path, 1, WEBM), range(4))) == ["again"] * 3 + ["new"]
    (files,) = list_parts(tmp_path, "pid").values()
    assert len(read_jsonl(files[0].parent / INDEX, SliceRow)) == 1


def test_over_the_wire_a_gap_says_which_slice_comes_first(office: Any) -> None:
    ana, ben = office.hire("ana"), office.hire("ben")
    path = f"/w/{begin(office, ana)}/slice/tablet-1"
    answer = put(office, ana, f"{path}/3", b"third")
    assert (answer.status_code, answer.json()["needs"]) == (409, 1)
    assert put(office, ana, f"{path}/1", WEBM).json() == {"kept": "new"}
    assert put(office, ana, f"{path}/1", WEBM).json() == {"kept": "again"}
    assert put(office, ben, f"{path}/2", b"his").status_code == 404


@pytest.mark.parametrize(
    ("data", "kind", "path", "sha256", "status"),
    [
        (b"<html><script>", "video/webm", "tablet-1/1", "", 422),
        (b"", "video/webm", "tablet-1/1", "", 422),
        (WEBM, "video/webm", "tablet-1/1", "0" * 64, 422),
        (WEBM, "video/webm", "tablet-1/0", "", 422),
        (WEBM, "video/webm", "tablet-1/100001", "", 422),
        (WEBM, "video/webm", "Tablet/1", "", 422),
        (WEBM, "video/webm", "../1", "", 415),
        (WEBM, "video/webm", "..%2f..%2fx/1", "", 404),
        (WEBM, "text/html", "tablet-1/1", "", 415),
        (WEBM, "application/json", "tablet-1/1", "", 415),
        (WEBM + bytes(16_000_000), "video/webm", "tablet-1/1", "", 413),
        (WEBM + bytes(15_000_000), "video/webm", "tablet-1/1", "", 200),
    ],
)
def test_what_is_no_slice_is_refused(
    office: Any, data: bytes, kind: str, path: str, sha256: str, status: int
) -> None:
    ana = office.hire("ana")
    pid = begin(office, ana)
    assert put(office, ana, f"/w/{pid}/slice/{path}", data, kind=kind, sha256=sha256).status_code == status
    assert sum(map(len, list_parts(office.studio.settings.folder, pid).values())) == (status == 200)


def test_parts_have_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "_MOST_PARTS", 2)
    for n in (1, 2):
        keep(tmp_path, 1, WEBM, f"tablet-{n}")
    with pytest.raises(UserError, match="too many"):
        keep(tmp_path, 1, WEBM, "tablet-3")
    assert keep(tmp_path, 2, b"more", "tablet-2") == "new"


def test_a_full_disk_takes_no_slice(office: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ana = office.hire("ana")
    pid = begin(office, ana)
    monkeypatch.setattr(slices, "_RESERVE", 10**18)
    assert put(office, ana, f"/w/{pid}/slice/tablet-1/1", WEBM).status_code == 507
    assert list_parts(office.studio.settings.folder, pid).get("tablet-1", []) == []


def test_one_tablet_records(office: Any) -> None:
    ana = office.hire("ana")
    path = f"/w/{begin(office, ana)}/lease"

    def ask(client: str, **more: Any) -> bool:
        return bool(office.client(ana).post(path, json={"client": client, **more}).json()["mine"])

    assert [ask("tablet-one"), ask("tablet-two"), ask("tablet-one")] == [True, False, True]
    assert [ask("tablet-two", take=True), ask("tablet-one"), ask("tablet-two")] == [True, False, True]
    assert office.client(ana).post(path, json={"client": "x"}).status_code == 422
    folder = office.studio.settings.folder
    assert hold_lease(folder, path.split("/")[2], "tablet-two")  # it is on the disk


def test_the_clock_is_monotonic(office: Any) -> None:
    ana = office.hire("ana")
    path = f"/w/{begin(office, ana)}/clock"
    first, second = (office.get(ana, path).json()["host_ns"] for _ in range(2))
    assert first < second


def test_who_withdraws_leaves_no_picture_and_no_voice(office: Any) -> None:
    ana, ben = office.hire("ana"), office.hire("ben")
    kept = []
    for n, person in enumerate((ana, ben)):
        round_ = roundwork.begin(
            office.desk, "record", roundwork.make_tasks("record", 1), wanted=1, name=f"r{n}"
        )
        batch = office.do(rounds.open_batch, round_, person)
        pid = office.desk.read(lambda c, b=batch: rounds.count_batch(c, b).following)
        put(office, person, f"/w/{pid}/slice/tablet-1/1", WEBM)
        kept += list_parts(office.studio.settings.folder, pid)["tablet-1"]
    office.post(ana, "/my/withdraw", sure="1")
    assert [path.exists() for path in kept] == [False, True]


def test_camera_and_microphone_are_for_this_page_alone(office: Any) -> None:
    ana = office.hire("ana")
    allowed = office.get(ana, f"/w/{begin(office, ana)}").headers["permissions-policy"]
    assert "camera=(self), microphone=(self), geolocation=()" in allowed
    timeline = office.get(ana, f"/w/{begin(office, ana, 'timeline')}").headers["permissions-policy"]
    assert "camera=(), microphone=(self)" in timeline
    assert "camera=(), microphone=()" in office.get(ana, "/my").headers["permissions-policy"]


def test_the_service_worker_is_a_script_of_ours(office: Any) -> None:
    answer = office.get(office.hire("ana"), "/tablet.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "service-worker-allowed" not in answer.headers  # below / it may have any scope
    assert "skipWaiting" in answer.text


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What a recorder was asked."""
    found: list[tuple[Any, ...]] = []

    def answer(root: Path, recording: str, verb: Any, **who: Any) -> control.Status:
        found.append((recording, verb, who))
        return control.Status(recording=recording, state="armed", holder=who["holder"])

    monkeypatch.setattr(control, "ask_recorder", answer)
    return found


def test_a_recorder_hears_its_person_alone(office: Any, heard: list[Any]) -> None:
    ana, ben, boss = office.hire("ana"), office.hire("ben"), office.hire("boss", "coordinator")
    path = f"/w/{begin(office, ana)}/recorder"
    asked = {"client": "a-tablet", "verb": "start"}
    assert office.client(ana).post(path, json=asked).json()["state"] == "armed"
    assert heard == [("t0-zq-recording", "start", {"holder": "a-tablet", "take_over": False})]
    for who in (ben, boss):
        assert office.client(who).post(path, json=asked).status_code == 404
    assert office.client(ana).get(path).status_code == 405
    assert len(heard) == 1


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"client": "a-tablet", "verb": "kill"},
        {"client": "a b", "verb": "start"},
        {"client": "a-tablet", "verb": "stop", "pid": 1},
    ],
)
def test_verbs_that_are_none_reach_no_recorder(office: Any, heard: list[Any], body: dict[str, Any]) -> None:
    ana = office.hire("ana")
    assert office.client(ana).post(f"/w/{begin(office, ana)}/recorder", json=body).status_code == 422
    assert heard == []


def test_where_no_recorder_listens_the_tablet_is_alone(office: Any, tmp_path: Path) -> None:
    ana = office.hire("ana")
    office.studio.library.root = tmp_path
    answer = office.client(ana).post(f"/w/{begin(office, ana)}/recorder", json={"client": "a-tablet"})
    assert (answer.status_code, answer.json()) == (200, None)


def test_people_choose_among_theirs_and_anybodys(office: Any) -> None:
    from proctor.verify.rounds.record import RecordTask

    ana, ben = office.hire("p07"), office.hire("p08")
    tasks = roundwork.make_tasks("record", 3)
    for n, owner in enumerate(("", "P07", "P08")):
        body = msgspec.json.decode(tasks[n].body, type=RecordTask)
        slot = msgspec.structs.replace(body.slot, participant=owner)
        raw = msgspec.Raw(msgspec.json.encode(msgspec.structs.replace(body, slot=slot)))
        tasks[n] = msgspec.structs.replace(tasks[n], body=raw)
    round_ = roundwork.begin(office.desk, "record", tasks, wanted=1, batch=1)
    page = office.get(ana, f"/r/{round_.pid}").text
    offers = office.do(rounds.list_offers, round_, ana)
    assert [offer.owner for _, offer in offers] == ["P07", ""]
    theirs = next(t.pid for t, o in office.do(rounds.list_offers, round_, ben) if o.owner == "P08")
    assert [t.pid in page for t, _ in offers] == [True, True]
    assert theirs not in page
    assert office.post(ana, f"/r/{round_.pid}/start", task=theirs).headers["location"].endswith("empty=1")
    chosen = offers[1][0]
    address = office.post(ana, f"/r/{round_.pid}/start", task=chosen.pid).headers["location"]
    assert address.startswith("/w/")
    assert [o.owner for _, o in office.do(rounds.list_offers, round_, ben)] == ["P08"]  # anybody's is taken
    batch = office.do(rounds.open_batch, round_, ben)  # without a choice: drawn among theirs
    assert office.do(lambda _d, c: rounds.count_batch(c, batch).total) == 1
