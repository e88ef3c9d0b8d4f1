"""The shipped sample as a workspace with tiny videos, and requests as the stand-in gets them."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.media.make_video import make_grey_video

from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.question import Item
from proctor.llm.prompt import Rendered
from proctor.procedure.recording import Recording
from proctor.records import read_jsonl, write_jsonl
from proctor.samples import copy_sample
from proctor.stages.build import build
from proctor.stages.derive import derive
from proctor.stages.generate import generate
from proctor.stages.read import read
from proctor.stages.settings import BuildSettings, GenerateSettings
from proctor.stages.verify import verify
from proctor_rehearsal.players.files import Files, Now
from proctor_rehearsal.standin import Call, Standin
from proctor_rehearsal.standin.protocols.openai import CHAT

Request = Callable[..., Call]


def name_videos(bench: Path) -> None:
    """Let the recordings name the videos that a rehearsal draws."""
    path = bench / "recordings.jsonl"
    write_jsonl(path, [replace(r, video=f"{r.id}.mp4") for r in read_jsonl(path, Recording)])


@pytest.fixture(scope="session", name="name_videos")
def name_videos_fixture() -> Callable[[Path], None]:
    """The function ``name_videos``: tests cannot import from here."""
    return name_videos


@dataclass(frozen=True)
class Home:
    """A workspace with items made by rule, and videos of its recordings: a frame a second, each of another grey."""

    bench: Path
    videos: Path


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Not to be changed."""
    folder = tmp_path_factory.mktemp("rehearsal")
    copy_sample(folder / "sample")
    bench = folder / "bench"
    read("plain", folder / "sample", bench)
    name_videos(bench)
    derive(bench)
    generate(bench, GenerateSettings(sample="all", seed=1))
    verify(bench)
    build(bench, BuildSettings(name="rehearsed"))
    ends: dict[str, float] = {}
    for item in read_jsonl(bench / "items.jsonl", Item):
        ends[item.question.cluster] = max(
            ends.get(item.question.cluster, 0.0), moment_example(item.question).end
        )
    for name, end in ends.items():
        make_grey_video(folder / "videos" / f"{name}.mp4", int(end) + 2)
    return Home(bench, folder / "videos")


@pytest.fixture
def bench(home: Home, tmp_path: Path) -> Path:
    """A copy of the workspace."""
    return Path(shutil.copytree(home.bench, tmp_path / "bench"))


@pytest.fixture(scope="session")
def now(home: Home) -> Now:
    """The workspace's files."""
    return Files(home.bench).now()


@pytest.fixture(scope="session")
def request_of() -> Request:
    """A function that makes the request of a prompt, as a client of OpenAI's protocol sends it."""

    def make(
        prompt: Rendered | Sequence[tuple[str, str]],
        *,
        model: str = "m",
        pictures: Sequence[bytes] = (),
        schema: dict[str, Any] | None = None,
    ) -> Call:
        turns = [(m.role, m.text) for m in prompt.messages] if isinstance(prompt, Rendered) else list(prompt)
        messages: list[dict[str, Any]] = [{"role": role, "content": text} for role, text in turns]
        if pictures:
            parts: list[dict[str, Any]] = [{"type": "text", "text": messages[-1]["content"]}]
            for data in pictures:
                url = "data:image/png;base64," + base64.b64encode(data).decode()
                parts.append({"type": "image_url", "image_url": {"url": url}})
            messages[-1]["content"] = parts
        body: dict[str, Any] = {"model": model, "messages": messages}
        if schema is not None:
            form = {"name": "reply", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return Call(CHAT, "/v1/chat/completions", json.dumps(body).encode())

    return make


@pytest.fixture
def standin() -> Iterator[Standin]:
    """A running server that plays the providers; a test fails when one of its own rules failed."""
    with Standin() as server:
        yield server
        assert server.errors == []
