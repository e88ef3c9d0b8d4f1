"""``proctor predict`` with models as it is typed: views, videos, what was shrunk, what went wrong."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from proctor_rehearsal.standin import Standin

Command = Callable[..., Any]


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Standin]:
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-0123456789abcdef")
    with Standin(reply="Attach the shade.") as server:
        yield server


@pytest.fixture
def bench(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished / "bench", tmp_path / "bench"))


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two videos of a hundred seconds, four frames a second, each of another grey; the rest is missing."""
    folder = tmp_path_factory.mktemp("videos")
    for name in ("lamp_1_48p.mp4", "lamp_2.mp4"):
        with av.open(str(folder / name), "w") as container:
            stream = container.add_stream("mpeg4", rate=4, options={"g": "10"})
            stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
            for number in range(400):
                picture = np.full((48, 64, 3), number % 250, dtype=np.uint8)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            container.mux(stream.encode())
    return folder


def test_a_view_may_be_given_whole_or_in_parts(
    bench: Path, standin: Standin, videos: Path, proctor: Command
) -> None:
    name = f"anthropic/claude-sonnet-4-5@{standin.url}"
    common = ("predict", bench, "-p", name, "--videos", videos, "--limit", 6, "--json")
    whole = proctor(*common, "--show", "frames:3@48p:uniform")
    assert whole.status == 0, whole.err
    (run,) = whole.json["runs"]
    assert run["run"] == "anthropic-claude-sonnet-4-5-frames-3f-48p-uniform"
    sent = standin.count
    for parts in (
        ("--show", "frames", "--frames", 3, "--height", 48, "--sampling", "uniform"),
        ("--show", "frames:3", "--height", 48, "--sampling", "uniform"),
    ):
        again = proctor(*common, "--run", f"r{len(parts)}", *parts)
        assert again.status == 0, again.err
        assert again.json["runs"][0]["calls"]["sent"] == 0
    assert standin.count == sent


def test_what_was_shrunk_and_what_failed_is_told(
    bench: Path, standin: Standin, videos: Path, proctor: Command
) -> None:
    name = f"anthropic/claude-sonnet-4-5@{standin.url}"
    arguments = ("predict", bench, "-p", name, "--videos", videos, "--show", "frames:120@48p:uniform")
    refused = proctor(*arguments, "--no-shrink")
    assert refused.status == 2
    assert "too large for the provider (anthropic: 120 images, at most 100 are taken" in refused.err
    assert standin.count == 0
    dry = proctor(*arguments, "--dry-run")
    assert dry.status == 0, dry.err
    assert standin.count == 0
    made = proctor(*arguments)
    assert made.status == 0, made.err
    assert "shrunk for " in made.out
    assert "120 → 100 frames (anthropic: 120 images, at most 100 are taken)" in made.out
    assert "Traceback" not in made.out + made.err
    assert max(r.media["image"] for r in standin.requests) == 100
    (videos / "lamp_1.mkv").write_bytes(b"")
    try:
        missing = proctor(*arguments, "--run", "other", "--limit", 2)
    finally:
        (videos / "lamp_1.mkv").unlink()
    assert missing.status == 0, missing.err
    assert "failed: not_shown 2\n  not_shown: " in missing.out
    assert "→ --videos FOLDER says where videos are" in missing.out


def test_the_clip_itself(bench: Path, standin: Standin, videos: Path, proctor: Command) -> None:
    arguments = ("predict", bench, "--videos", videos, "--show", "video:48p", "--limit", 2)
    made = proctor(*arguments, "-p", f"google/gemini-2.5-flash@{standin.url}")
    assert made.status == 0, made.err
    assert {tuple(r.media) for r in standin.requests} == {("video",)}
    refused = proctor(*arguments, "-p", f"openai/gpt-4o@{standin.url}/v1")
    assert refused.status == 2
    assert "openai takes no video" in refused.err
    assert "--show frames" in refused.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--show", "smell"), "'smell' is none of question, recipe, captions, frames, video"),
        (("--show", "frames:50:20"), "gives its frames twice"),
        (("--show", "frames:50", "--frames", 20), "gives its frames twice"),
        (("--show", "recipe:50"), "a view 'recipe' has no frames"),
        (("--show", "frames", "--sampling", "dice"), "dice"),
        (("--show", "captions"), "needs a captioner"),
        (("--show", "frames", "--captioner", "a/b"), "needs a captioner"),
        (("--show", "frames", "--height", 100_000), "100000 pixels"),
        (("--show", "frames", "--videos", "/nowhere"), "no such folder of videos"),
    ],
)
def test_what_is_no_view_is_one_clear_line(
    bench: Path, standin: Standin, proctor: Command, options: tuple[object, ...], message: str
) -> None:
    before = (bench / "stages.json").read_bytes()
    made = proctor("predict", bench, "-p", f"compat/x@{standin.url}/v1", *options)
    assert made.status == 2
    assert message in made.err
    assert "→" in made.err
    assert "Traceback" not in made.err
    assert (bench / "stages.json").read_bytes() == before
    assert standin.count == 0
