"""Files that people put into the folder: copied, hashed, and not believed."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import av
import numpy as np
import pytest
from tests.capture.sensors.sensing import Kept

from proctor.capture.sensors.file_drop import FILES, DroppedFile, make, take
from proctor.errors import UserError
from proctor.records import file_sha256, read_json

BEGUN = datetime(2026, 3, 14, 10, 0, tzinfo=UTC)
ENDED = BEGUN + timedelta(minutes=12)


def _video(path: Path, shade: int, created: str = "2026-03-14T10:00:02Z", frames: int = 60) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(f"file:{path}", "w", format="mp4") as out:
        if created:
            out.metadata["creation_time"] = created
        stream = out.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        rng = np.random.default_rng(shade)
        for _ in range(frames):
            noise = rng.integers(0, 255, (48, 64, 3), dtype=np.uint8)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(noise, format="rgb24")))
        out.mux(stream.encode(None))
    return path


@pytest.mark.parametrize(
    ("created", "doubt"),
    [
        ("2026-03-14T10:00:02Z", ""),
        ("1970-01-01T00:00:07Z", "never set"),
        ("2026-03-14T13:00:02Z", r"\+3.0 h"),  # local time that calls itself UTC
        ("2026-03-14T07:30:00Z", r"-2.5 h"),
        ("2037-01-01T00:00:00Z", "h from"),
        ("", "does not say"),
    ],
)
def test_a_creation_time_is_a_label_and_doubted_where_it_is_odd(
    tmp_path: Path, created: str, doubt: str
) -> None:
    import re

    _video(tmp_path / "drop" / "any.mp4", 1, created)
    (file,) = take(tmp_path / "drop", tmp_path / "raw", BEGUN, ENDED)
    assert file.path == "file-001.mp4"
    assert file.created[:10] == created[:10]
    assert re.search(doubt, file.doubt) if doubt else not file.doubt


def test_what_is_no_good_is_refused_with_its_reason_and_nothing_is_moved(tmp_path: Path) -> None:
    drop, raw = tmp_path / "drop", tmp_path / "raw" / "any"
    good = _video(drop / "b.mp4", 1)
    (drop / "a-empty.mp4").write_bytes(b"")
    (drop / "c-cut.mp4").write_bytes(good.read_bytes()[:-2000])
    (drop / "d-again.mp4").write_bytes(good.read_bytes())
    (drop / "e-notes.mp4").write_text("no video at all, but a list of things to buy")
    (drop / "f-link.mp4").symlink_to(good)
    (drop / "g-folder.mp4").mkdir()
    odd = _video(drop / "h <b>..\\'\"\n.MP4", 2)
    raw_name = os.fsencode(drop) + b"/i-\xff.mp4"
    Path(os.fsdecode(raw_name)).write_bytes(_video(tmp_path / "x.mp4", 3).read_bytes())
    before = {path.name: path.read_bytes() for path in drop.iterdir() if path.is_file()}
    files = take(drop, raw, BEGUN, ENDED)
    refused = {file.name[0]: file.refused for file in files if file.refused}
    assert set(refused) == set("acdefg")
    for letter, told in {
        "a": "empty",
        "c": "cut off",
        "d": "same as b.mp4",
        "e": "not a video",
        "f": "link",
        "g": "folder",
    }.items():
        assert told in refused[letter], letter
    kept = [file for file in files if file.path]
    assert [file.path for file in kept] == ["file-001.mp4", "file-002.mp4", "file-003.mp4"]
    assert [file.sha256 for file in kept[:2]] == [file_sha256(good), file_sha256(odd)]
    assert sorted(path.name for path in raw.iterdir()) == [
        "file-001.mp4",
        "file-002.mp4",
        "file-003.mp4",
        FILES,
    ]
    assert {path.name: path.read_bytes() for path in drop.iterdir() if path.is_file()} == before
    assert read_json(raw / FILES, list[DroppedFile]) == files

    _video(drop / "z-late.mp4", 4)  # one more is taken later, the others stay as they are
    again = take(drop, raw, BEGUN, ENDED)
    assert [file for file in again if file.path][:3] == kept
    assert [file.path for file in again if file.path][3:] == ["file-004.mp4"]


def test_files_that_are_there_are_taken_when_the_session_ends(tmp_path: Path) -> None:
    sensor, kept = make("any", {}), Kept(tmp_path / "raw" / "any")

    async def play() -> tuple[str, ...]:
        running = asyncio.create_task(sensor.run(kept))
        await asyncio.sleep(0)
        _video(tmp_path / "drop" / "one.mp4", 1, "1970-01-01T00:00:07Z")
        (tmp_path / "drop" / "two.txt").write_text("x")
        running.cancel()
        await asyncio.wait([running])
        return (await sensor.stop()).files

    assert asyncio.run(play()) == ("file-001.mp4",)
    assert len(kept.texts) == 2
    assert "never set" in kept.texts[0]
    assert asyncio.run(make("any", {}).stop()).files == ()
    with pytest.raises(UserError, match="colour"):
        make("any", {"colour": "red"})
