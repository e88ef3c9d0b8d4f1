"""What is really sent, over every role and kind: no ``Verb-`` tag, no START and no END of a data set's files.

Under the published protocol prompts about moments keep both.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.datasets.captaincook4d_part import write_part
from tests.golden.playing import Asked, listening, replaced
from tests.media.make_video import make_grey_videos
from tests.typed import proctor

from proctor.ask.moment import recipe_picture
from proctor.ask.moment.promqa_prompt import TEMPLATES
from proctor.llm.message import Text
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Recording
from proctor.records import read_jsonl, write_jsonl
from proctor.samples import copy_sample
from proctor.workspace import Workspace
from proctor_rehearsal.players import rehearse

pytestmark = pytest.mark.filterwarnings("ignore:THE PRICE")

_G, _V, _C = "openai/gpt-4o", "google/gemini-2.0-flash", "anthropic/claude-sonnet-4-5"
_VOTERS = f"-a {_G} -a {_V} -a {_C}"
_TAGGED = re.compile(r"\s*([A-Za-z]+(?: (?:and|or) [A-Za-z]+)?) ?-(?:(?i:\1)|[A-Z0-9])")
_FRAMES = "--frames 2 --height 48 --videos {w}/videos"
_RUBRICS = ("ternary-step-mistakes", "binary-recipe")
_MOMENTS = (
    *(f"generate {{w}} -g {_G} --sample quota --examples 3 --template {t} {_FRAMES}" for t in TEMPLATES),
    f"generate {{w}} -g rules -g {_G} --sample quota --examples 16 --template excerpt-steps",
    f"verify {{w}} --verifier {_G}",
    f"verify {{w}} --verifier {_V} {_FRAMES}",
    "build {w} --accept any --min-confidence 0",
    f"filter {{w}} --on candidates -j {_C} {_VOTERS} --limit 8",
    f"choices {{w}} --on items -w {_G} {_VOTERS} --limit 4",
    *(f"predict {{w}} -p {_G} --run {show} --show {show}" for show in ("question", "recipe")),
    f"predict {{w}} -p {_G} --run frames --show frames:2@48p --videos {{w}}/videos",
    f"predict {{w}} -p {_V} --run video --show video:48p --videos {{w}}/videos",
    f"predict {{w}} -p {_G} --captioner {_C} --run captions --show captions:2@48p --videos {{w}}/videos",
    *(f"judge {{w}} -r recipe --judge {_G} --rubric {rubric}" for rubric in _RUBRICS),
    f"build {{w}};predict {{w}} -p {_G} --run options --kind clip --form choice --show question",
)
_DOCUMENTS = (
    "corpus build {d} --recordings {w} --min-text 0",
    f"generate documents {{d}} -g {_G} --verifier {_C} --total 6 --necessity ablate --closed-book measure",
    f"build {{d}};predict {{d}} -p {_G} --run gold --kind documents --show gold;judge {{d}} -r gold -j {_C}",
)
_CLIPS = (
    f"generate clip {{c}} -g {_G} --data {{s}} --dataset steps --total 8",
    f"filter {{c}} -j {_C} {_VOTERS}",
    f"choices {{c}} -w {_G} {_VOTERS}",
    f"build {{c}};predict {{c}} -p {_G} --run told --kind clip --show steps --form open",
)


_OF_MOMENTS = (
    {"a picture", "review", "caption-frame", "choices-write", "filter-hallucination"}
    | {f"predict-{show}" for show in ("captions", "frames", "recipe", "video")}
    | {"judge-ternary-step", "judge-binary-recipe"}
)
_PUBLISHED = (
    *(
        f"generate {{w}} -g {_G} --sample quota --examples 5 --template {t}"
        for t in ("dot-steps", "image-steps", "excerpt-steps")
    ),
    f"verify {{w}} --verifier {_G}",
    "build {w} --accept any --min-confidence 0",
    f"predict {{w}} -p {_G} --run recipe --show recipe",
    f"judge {{w}} -r recipe --judge {_G} --rubric ternary-step",
)

_PUBLISHED_TEMPLATES = (
    "dot-steps",
    "image-steps",
    "excerpt-steps",
    "review",
    "predict-recipe",
    "judge-ternary-step",
    "a picture",
)


class Sent:
    """Every request of a run, and every graph that was drawn for one."""

    def __init__(self) -> None:
        self.asked = Asked()
        self.drawn: list[TaskGraph] = []
        self._draw = recipe_picture.draw_procedure

    def draw(self, graph: TaskGraph) -> Any:
        self.drawn.append(graph)
        return self._draw(graph)

    @contextmanager
    def noted(self) -> Iterator[None]:
        with listening(self.asked), replaced(recipe_picture.draw_procedure, self.draw):
            yield

    @property
    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield what was said with which template, without the fences' marks and their rule."""
        for (_, template), requests in self.asked.requests.items():
            for request in requests.values():
                parts = [part for message in request.messages for part in message.parts]
                said = "\n".join(part.text for part in parts if isinstance(part, Text))
                yield template, re.sub(r"<<<(?:BEGIN|END)\b", "", said)
        for graph in self.drawn:
            boxes = recipe_picture.layout_procedure(graph).boxes.values()
            yield "a picture", "\n".join(" ".join(box.lines) for box in boxes)


def closed(graph: TaskGraph) -> TaskGraph:
    """The graph as a data set writes it that tags its steps and closes its graphs."""
    first = [s.id for s in graph.steps if not graph.predecessors(s.id)]
    last = [s.id for s in graph.steps if all(s.id != a for a, _ in graph.edges)]
    steps = (Step("0", "START"), *(replace(s, text=tag(s.text)) for s in graph.steps), Step("99", "END"))
    edges = (*(("0", i) for i in first), *graph.edges, *((i, "99") for i in last))
    return TaskGraph(graph.id, graph.name, steps, edges, "0", "99")


def tag(text: str) -> str:
    return f"{text.split()[0]}-{text}"


def made(bench: Path) -> None:
    """The shipped sample, tagged and closed."""
    copy_sample(bench.parent / "sample")
    assert proctor("read", "plain", bench.parent / "sample", bench).status == 0
    workspace = Workspace(bench)
    workspace.write_graphs({name: closed(graph) for name, graph in workspace.graphs().items()})
    recordings = [
        replace(
            recording,
            segments=tuple(
                replace(s, text=tag(s.text), performed=tag(s.performed) if s.performed else None)
                for s in recording.segments
            ),
        )
        for recording in read_jsonl(bench / "recordings.jsonl", Recording)
    ]
    write_jsonl(bench / "recordings.jsonl", recordings)


def real(bench: Path, shared_data: Path) -> None:
    """A dozen recordings of CaptainCook4D."""
    data = write_part(shared_data / "captaincook4d", bench.parent / "part")
    assert proctor("read", "captaincook4d", data, bench).status == 0
    path = bench / "recordings.jsonl"
    write_jsonl(path, read_jsonl(path, Recording)[::5])


def with_videos(bench: Path) -> None:
    path = bench / "recordings.jsonl"
    recordings = [replace(r, video=f"{r.id}.mp4") for r in read_jsonl(path, Recording)]
    write_jsonl(path, recordings)
    lasts = {f"{r.id}.mp4": max(s.end or 0.0 for s in r.segments) for r in recordings}
    (bench / "videos").mkdir()
    make_grey_videos(bench / "videos", lasts)


def rows(bench: Path, folder: Path) -> Path:
    """The recordings as rows of the reader ``steps``."""
    folder.mkdir()
    lines = []
    for recording in read_jsonl(bench / "recordings.jsonl", Recording)[:4]:
        steps = [
            {"i": i, "start": s.start, "end": s.end, "text": s.description}
            for i, s in enumerate(recording.performed)
        ]
        lines.append(
            {"dataset": "HiREST", "video_id": recording.id, "task": recording.activity_name, "split": "train",
             "duration": 9_000.0, "moment": [0, 9_000], "steps": steps}
        )  # fmt: skip
    (folder / "hirest.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def squeeze(text: str) -> str:
    return " ".join(text.split())


def raw_texts(bench: Path) -> set[str]:
    """Every tagged text of the files, as it is there."""
    graphs = Workspace(bench).graphs().values()
    texts = {step.text for graph in graphs for step in graph.actions}
    for recording in read_jsonl(bench / "recordings.jsonl", Recording):
        for segment in recording.segments:
            texts |= {segment.text, segment.description, *(m.text for m in segment.mistakes)}
    return {text for text in texts if _TAGGED.match(text)}


def walked(bench: Path, commands: tuple[str, ...], played: Path, where: dict[str, Path]) -> Sent:
    """Type commands, with models that a stand-in plays, and return what was sent."""
    sent = Sent()
    with rehearse(played, quality=0.9) as server, sent.noted(), pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        for command in (part for line in commands for part in line.split(";")):
            done = proctor(*shlex.split(command.format(w=bench, **where)))
            assert done.status == 0, f"{command}: {done.err}"
    return sent


def found(sent: Sent, bench: Path) -> dict[str, set[str]]:
    """Return by template what is in its prompts and only in the data set's files."""
    raw = {squeeze(text) for text in raw_texts(bench)}
    bad: dict[str, set[str]] = {}
    for template, said in sent.texts:
        text = squeeze(said)
        there = {r for r in raw if r in text} | set(re.findall(r"\b(?:START|END)\b", text))
        there |= {m[0] for m in re.finditer(r"\b([A-Za-z]{3,}) ?- ?\1(?:ing|ed|es|s)?\b", text)}
        if there:
            bad.setdefault(template, set()).update(there)
    return bad


@pytest.fixture(params=["made", pytest.param("real", marks=pytest.mark.shared)])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A workspace of tagged recordings with videos, nothing derived yet."""
    folder = tmp_path / "bench"
    if request.param == "real":
        real(folder, request.getfixturevalue("shared_data"))
    else:
        made(folder)
    with_videos(folder)
    return folder


def test_tags_and_ends_of_files_are_in_no_prompt(bench: Path, tmp_path: Path) -> None:
    assert proctor("derive", bench).status == 0
    documents, clips = tmp_path / "documents", tmp_path / "clips"
    moments = walked(bench, _MOMENTS, bench, {})
    assert found(moments, bench) == {}
    assert {name for name, _ in moments.texts} >= {*TEMPLATES, *_OF_MOMENTS}
    asked = walked(bench, _DOCUMENTS, documents, {"d": documents})
    assert found(asked, bench) == {}
    assert {name for name, _ in asked.texts} >= {
        "styled-entity",
        "styled-question",
        "styled-verification",
        "source-judge",
    }
    shown = walked(bench, _CLIPS, clips, {"c": clips, "s": rows(bench, tmp_path / "rows")})
    assert found(shown, bench) == {}
    assert {name for name, _ in shown.texts} >= {"filter-tricky", "choices-write", "choice-open"}


def test_the_published_protocol_shows_them_as_published(bench: Path) -> None:
    assert proctor("derive", bench, "--protocol", "published").status == 0
    bad = found(walked(bench, _PUBLISHED, bench, {}), bench)
    assert bad.keys() == {*_PUBLISHED_TEMPLATES}
    assert {"START", "END"} <= bad["dot-steps"] & bad["review"] & bad["predict-recipe"] & bad["a picture"]
    assert all(bad[name] - {"START", "END"} for name in bad)
