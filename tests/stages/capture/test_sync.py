"""``proctor capture sync`` and ``residuals`` as functions; the page as a reader gets it."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from tests.capture.sync.made import IMU, SOUND, START, VIDEO, recording

from proctor.capture.records import MANIFEST, Event, Manifest, recording_folder
from proctor.errors import UserError
from proctor.records import read_json, write_json
from proctor.stages.capture.ingest import synced
from proctor.stages.capture.settings import SyncSettings
from proctor.stages.capture.sync import sync
from proctor.stages.capture.sync_page import sync_page
from proctor_rehearsal.kitchen.residuals import BEGIN, END, HEAD, residual_cells, residuals, write_residuals
from proctor_rehearsal.kitchen.settings import ResidualSettings
from proctor_rehearsal.kitchen.times import Faults


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A workspace with one good recording, one with faults, one whose manifest names no stream, and one that is not over."""
    recording(recording_folder(tmp_path, "good"), {VIDEO: Faults(), IMU: Faults(offset_s=9)}, 65)
    bad = {
        VIDEO: Faults(),
        IMU: Faults(gaps=((20, 8),), resets=(40,)),
        SOUND: Faults(gaps=((0, 99),), latency_ms=24),
    }
    clap = Event(n=0, kind="clap", host_ns=START + 10**10)
    recording(recording_folder(tmp_path, "faulty"), bad, 65, events=(clap,))
    recording(recording_folder(tmp_path, "planned"), {VIDEO: Faults()}, 2)
    for name, changed in (("planned", {"state": "recording"}),):
        path = recording_folder(tmp_path, name) / MANIFEST
        write_json(path, msgspec.structs.replace(read_json(path, Manifest), **changed))
    return tmp_path


def test_recordings_that_are_over_get_tables_a_report_and_a_page(kitchen: Path) -> None:
    seen: list[str] = []
    done = {one.recording: one for one in sync(kitchen, SyncSettings(), seen=seen.append)}
    assert sorted(done) == sorted(seen) == ["faulty", "good"]
    assert (done["good"].verdict, done["good"].reasons, done["good"].frames) == ("good", (), 1950)
    assert done["faulty"].verdict == "poor"
    assert any(r.startswith("imu: ") and "2 segments" in r for r in done["faulty"].reasons)
    assert any(r.startswith("sound: it has no sample") for r in done["faulty"].reasons)
    assert done["faulty"].coverage["imu"] == pytest.approx(57 / 65, abs=0.001)
    for one in done.values():
        assert one.page is not None
        found = synced(recording_folder(kitchen, one.recording))
        assert found is not None
        report = found[1]
        assert one.page.parent.name == report.hash
        assert sorted(p.name for p in one.page.parent.iterdir()) == sorted(
            ["report.html", "report.json", *(f"{s.name}.parquet" for s in report.streams)]
        )
    before = done["good"].page.read_bytes()  # type: ignore[union-attr]
    sync(kitchen, SyncSettings(recording=("good",)))
    assert done["good"].page.read_bytes() == before  # type: ignore[union-attr]


def test_the_page_says_verdicts_first_and_runs_nothing(kitchen: Path) -> None:
    (done,) = sync(kitchen, SyncSettings(recording=("faulty",)))
    assert done.page is not None
    page = done.page.read_text()
    order = [page.index(f'id="{name}"') for name in ("verdicts", "clocks", "distances", "gaps", "settings")]
    assert order == sorted(order)
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert re.search(r"its clock jumped or started over: 2 segments", page)
    assert "20.00 s" in page


def test_names_from_devices_are_escaped(kitchen: Path) -> None:
    sync(kitchen, SyncSettings(recording=("good",)))
    found = synced(recording_folder(kitchen, "good"))
    assert found is not None
    report = found[1]
    evil = "<img src=x onerror=alert(1)>"
    stream = msgspec.structs.replace(report.streams[1], name=evil, reasons=(evil,), gaps=((1.0, 2.0),))
    from proctor.report.page import render_page

    page = render_page(
        sync_page(
            msgspec.structs.replace(
                report, recording=evil, streams=(report.streams[0], stream), reasons=(evil,)
            )
        )
    )
    assert "<img" not in page
    assert page.count("&lt;img") > 5


def test_another_base_and_the_published_rule_have_folders_of_their_own(kitchen: Path) -> None:
    first, second, third = (
        sync(kitchen, SyncSettings(recording=("good",), base=base, rule=rule))[0]  # type: ignore[arg-type]
        for base, rule in (("", "nearest"), ("imu", "nearest"), ("", "published"))
    )
    assert len({one.page for one in (first, second, third)}) == 3
    assert (first.frames, second.frames, third.frames) == (1950, 13_000, 1950)
    assert "published rule" in third.page.read_text()  # type: ignore[union-attr]


def test_who_asks_for_the_wrong_thing_is_told(kitchen: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'planned' is recording"):
        sync(kitchen, SyncSettings(recording=("planned",)))
    with pytest.raises(UserError, match="no recording is over"):
        sync(tmp_path / "empty", SyncSettings())
    done = {one.recording: one for one in sync(kitchen, SyncSettings(base="sound"))}
    assert done["faulty"].page is not None
    assert (done["good"].page, done["good"].verdict) == (None, "poor")
    assert "there is no stream 'sound'" in done["good"].reasons[0]


def test_a_manifest_that_is_cut_off_stops_no_other_recording(kitchen: Path) -> None:
    path = recording_folder(kitchen, "faulty") / MANIFEST
    path.write_bytes(path.read_bytes()[:99])
    done = {one.recording: one for one in sync(kitchen, SyncSettings())}
    assert (done["faulty"].page, done["faulty"].verdict) == (None, "poor")
    assert str(path) in done["faulty"].reasons[0]
    assert done["good"].page is not None
    assert [one.recording for one in sync(kitchen, SyncSettings(recording=("good",)))] == ["good"]
    with pytest.raises(UserError, match="'faulty' cannot be read"):
        sync(kitchen, SyncSettings(recording=("faulty",)))


# -- residuals ---------------------------------------------------------------------------------------------------------


def test_residuals_hold_what_the_docs_say(tmp_path: Path) -> None:
    settings = ResidualSettings(seconds=180, markdown=tmp_path / "page.md")
    rows = residuals(settings)
    assert rows == residuals(settings)
    by = {(r.scenario, r.rule): r for r in rows}
    assert len(by) == 18
    ours = [r for r in rows if r.rule == "ours"]
    assert all(r.error_ms[2] < 1 for r in ours)
    assert all(r.far == 0 and r.missed <= 2 for r in ours)
    assert by["gap of 8 s", "published"].far == 234
    assert by["gap of 8 s", "published"].paired == 180 * 30
    assert by["device jumps by −3 s", "published"].missed > 1000
    assert by["clean", "published"].error_ms[2] < 0.001
    write_residuals(settings, rows)
    text = settings.markdown.read_text()  # type: ignore[union-attr]
    assert text.count("\n| ") == 18 + 2
    assert text.startswith(BEGIN)
    with pytest.raises(UserError, match="this is a folder"):
        write_residuals(ResidualSettings(markdown=tmp_path), rows)
    settings.markdown.write_text(f"# Top\n\n{BEGIN}old{END}\nrest\n")  # type: ignore[union-attr]
    write_residuals(settings, rows)
    assert settings.markdown.read_text() == f"# Top\n\n{text.rstrip()}\nrest\n"  # type: ignore[union-attr]
    settings.markdown.write_text("# no marks\n")  # type: ignore[union-attr]
    with pytest.raises(UserError, match="no place"):
        write_residuals(settings, rows)
    assert all(len(cells) == len(HEAD) for cells in residual_cells(rows))
