"""Extraction into stores: every video once, what cannot be read is listed, and a kill costs only time."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.learn.features.films import moving_square, write_film
from tests.typed import proctor

from proctor.compute import processes
from proctor.errors import UserError
from proctor.learn.features.plain import PLAIN_COLUMNS
from proctor.learn.features.store import FeatureStore
from proctor.stages.learn.extract import extract
from proctor.stages.learn.settings import ExtractSettings


@contextmanager
def show(title: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    yield lambda: None


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("videos")
    for number, name in enumerate(("b_360p.mp4", "a.mp4", "c.MKV")):
        write_film(folder / name, moving_square(1, 0, (4 + number, 20)), 20)
    return folder


def settings(*sources: Path, **given: object) -> ExtractSettings:
    return ExtractSettings(sources=sources, **given)


def read(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def test_a_folder_of_videos_becomes_a_store_of_a_row_a_second(videos: Path, tmp_path: Path) -> None:
    found = extract(settings(videos, out=tmp_path / "s"), show=show)
    store = FeatureStore.open(tmp_path / "s")
    assert store.recordings == ("a", "b", "c")
    assert (store.width, store.seconds, store.modality, store.backbone) == (
        len(PLAIN_COLUMNS),
        1.0,
        "video",
        "plain",
    )
    assert [len(store.rows(r)) for r in store.recordings] == [3, 3, 3]
    assert not np.array_equal(store.rows("a"), store.rows("b"))
    assert (found.stores[0].rows, found.dropped, found.dropped_file) == (9, {}, "")
    assert found.hours == pytest.approx(3 * 2.5 / 3600)
    with pytest.raises(UserError, match="something here already"):
        extract(settings(videos, out=tmp_path / "s"), show=show)


def test_the_same_videos_give_the_same_bytes_also_in_processes(videos: Path, tmp_path: Path) -> None:
    extract(settings(videos, out=tmp_path / "one"), show=show)
    extract(settings(videos, out=tmp_path / "two"), show=show, place=processes(2))
    assert read(tmp_path / "one") == read(tmp_path / "two")


def test_windows_of_several_lengths_are_stores_of_their_own(videos: Path, tmp_path: Path) -> None:
    extract(settings(videos, out=tmp_path / "s", window=(1.0, 3.0)), show=show)
    extract(settings(videos, out=tmp_path / "alone", window=(3.0,)), show=show)
    extract(settings(videos, out=tmp_path / "single"), show=show)
    assert read(tmp_path / "s-3s") == read(tmp_path / "alone")
    assert read(tmp_path / "s-1s") == read(tmp_path / "single")
    assert read(tmp_path / "s-3s") != read(tmp_path / "s-1s")
    assert FeatureStore.open(tmp_path / "s-3s").seconds == 1.0


def test_what_cannot_be_read_is_listed_and_the_others_are_done(videos: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"nothing of a video" * 9)
    found = extract(settings(videos, broken, tmp_path / "gone.mp4", out=tmp_path / "s"), show=show)
    assert found.dropped == {"unreadable": 2}
    listed = [json.loads(line) for line in Path(found.dropped_file).read_text().splitlines()]
    assert [(row["id"], row["reason"]) for row in listed] == [
        ("broken", "unreadable"),
        ("gone", "unreadable"),
    ]
    assert "No such file" in listed[1]["detail"]
    assert found.stores[0].recordings == 3
    shutil.rmtree(tmp_path / "s")
    extract(settings(videos, out=tmp_path / "s"), show=show)
    assert not Path(found.dropped_file).exists()  # what was left out is not left out of this store
    with pytest.raises(UserError, match="nothing could be read"):
        extract(settings(broken, out=tmp_path / "none"), show=show)
    assert not (tmp_path / "none").exists()


def test_two_files_of_one_recording_and_folders_without_videos_are_refused(
    videos: Path, tmp_path: Path
) -> None:
    twin = tmp_path / "a_360p.mp4"
    twin.write_bytes(b"x")
    with pytest.raises(UserError, match="recording 'a'"):
        extract(settings(videos, twin, out=tmp_path / "s"), show=show)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no videos"):
        extract(settings(tmp_path / "empty", out=tmp_path / "s"), show=show)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"features": "nonsense"}, "there are plain"),
        ({"features": "plain", "weights": Path("w")}, "leave --weights out"),
        ({"features": "timm:resnet18"}, "nothing is downloaded"),
        ({"features": "transformers", "weights": Path("w")}, "no such folder"),
        ({"features": "transformers:vit", "weights": Path("w")}, "takes no name"),
        ({"features": "plain", "window": (1.0, 3.0, 1.0)}, "twice"),
        ({"features": "text:lsa", "window": (3.0,)}, "rows of words"),
        ({"features": "text:lsa", "device": "cuda"}, "text:st/models"),
        ({"features": "text:lsa", "weights": Path("w")}, "text:st/models"),
    ],
)
def test_what_cannot_be_extracted_says_what_can(
    videos: Path, tmp_path: Path, given: dict[str, object], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        extract(settings(videos, out=tmp_path / "s", **given), show=show)
    assert not list(tmp_path.iterdir())


_KILLED = """
import sys
from pathlib import Path
from contextlib import contextmanager
from proctor.stages.learn.extract import extract
from proctor.stages.learn.settings import ExtractSettings
@contextmanager
def show(title, total=None):
    yield lambda: None
extract(ExtractSettings(sources=(Path(sys.argv[1]),), out=Path(sys.argv[2])), show=show)
"""


def test_killed_it_goes_on_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    videos = tmp_path / "videos"
    videos.mkdir()
    for name in "abcdef":
        write_film(videos / f"{name}.mp4", moving_square(1, 0, (4, 20)), 40)
    extract(settings(videos, out=tmp_path / "whole"), show=show)
    killed = subprocess.Popen([sys.executable, "-c", _KILLED, str(videos), str(tmp_path / "s")])
    rows = tmp_path / "s.part" / "journal.jsonl"
    begin = time.monotonic()
    while not (rows.exists() and rows.read_bytes().count(b"\n") >= 3):
        assert killed.poll() is None
        assert time.monotonic() - begin < 60
        time.sleep(0.005)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert not (tmp_path / "s").exists()
    found = extract(settings(videos, out=tmp_path / "s"), show=show)
    assert 2 <= found.resumed < 6
    assert read(tmp_path / "s") == read(tmp_path / "whole")


def test_narrations_and_steps_become_rows_of_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Letters:
        """Says how many of each of three letters a text has."""

        name, dimension = "letters", 3

        def embed(self, texts: list[str], role: str) -> np.ndarray:
            assert role == "passage"
            return np.array([[t.count(c) for c in "abc"] for t in texts], np.float32)

    monkeypatch.setattr("proctor.corpus.embed.open.open_embedder", lambda spec: Letters())
    folder = tmp_path / "said"
    folder.mkdir()
    lines = [(0.0, 1.5, "aa"), (1.0, 2.0, "b"), (4.2, 4.9, "ccc"), (5.0, 5.0, "nothing"), (6.0, 7.0, " ")]
    (folder / "one.jsonl").write_text(
        "".join(json.dumps({"start": s, "end": e, "text": t}) + "\n" for s, e, t in lines)
    )
    (folder / "two.srt").write_text("1\n00:00:01,000 --> 00:00:02,500\ncab\n")
    found = extract(settings(folder, out=tmp_path / "s", features="text:letters"), show=show)
    store = FeatureStore.open(tmp_path / "s")
    assert (store.modality, store.backbone) == ("text", "text:letters")
    assert store.about.source.startswith("narrations by letters")
    assert store.rows("one").tolist() == [[2, 0, 0], [1, 0.5, 0], [0, 0, 0], [0, 0, 0], [0, 0, 3]]
    assert store.rows("two").tolist() == [[0, 0, 0], [1, 1, 1], [1, 1, 1]]
    assert found.dropped == {"no_line": 2}
    (folder / "two.srt").unlink()
    extract(settings(folder, out=tmp_path / "alone", features="text:letters"), show=show)
    assert FeatureStore.open(tmp_path / "alone").recordings == ("one",)
    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(UserError, match=r"\.jsonl, \.srt or \.vtt"):
        extract(settings(tmp_path / "x.txt", out=tmp_path / "t", features="text:letters"), show=show)


def test_the_steps_of_a_data_set_become_rows_of_their_instructions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from proctor.samples import path

    class Lengths:
        name, dimension = "lengths", 1

        def embed(self, texts: list[str], role: str) -> np.ndarray:
            return np.array([[len(t)] for t in texts], np.float32)

    monkeypatch.setattr("proctor.corpus.embed.open.open_embedder", lambda spec: Lengths())
    found = extract(settings(path(), out=tmp_path / "s", features="text:lengths"), show=show)
    store = FeatureStore.open(tmp_path / "s")
    assert len(store.recordings) == 12
    assert store.about.source.startswith("instructions of annotated steps by lengths")
    first, second = len("Pour 500 ml of hot water into the teapot"), len("Place two tea bags in the teapot")
    # from 2 s to 9.5 s, and from 10 s to 15 s
    assert store.rows("tea_1")[:16, 0].tolist() == [0, 0, *[first] * 8, *[second] * 5, 0]
    assert found.dropped == {"no_times": 7}


def test_the_command_says_what_was_made_and_what_was_left_out(videos: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"nothing of a video" * 9)
    done = proctor("features", "extract", videos / "a.mp4", broken, "--out", tmp_path / "s", "--json")
    assert done.status == 0, done.err
    told = json.loads(done.out)
    assert (told["stores"][0]["recordings"], told["dropped"]) == (1, {"unreadable": 1})
    again = proctor("features", "extract", videos / "a.mp4", "--out", tmp_path / "s")
    assert again.status == 2
    assert "something here already" in again.err
    shown = proctor("features", "extract", videos / "c.MKV", broken, "--out", tmp_path / "t", "--window", "2")
    assert "listed in" in shown.out
    assert "times real time" in shown.out
