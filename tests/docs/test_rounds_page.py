"""docs/rounds.md, section by section, as it is typed; between the commands people do what the section says."""

from __future__ import annotations

import json
import shutil
import sys
import types as modules
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.docs.outsider import sections, these, type_all, types
from tests.docs.people import Says, opened_studios, perform, take_part
from tests.study import study_bench
from tests.typed import proctor

from proctor.exam.question import Item, gold_texts
from proctor.records import read_jsonl
from proctor.samples import copy_sample
from proctor.stages.rounds.order import authored, ordered_items
from proctor.studio.narrations import keep_sound
from proctor.workspace import Workspace
from proctor_rehearsal.standin import Standin

SECTIONS = sections("rounds.md")
TITLE = next(iter(SECTIONS))
STEPS = ("Boil the water", "Chop the onion", "Pour the water over it")
TEXT = ". ".join(STEPS)


def follow(title: str, home: Path, **between: Callable[[], object]) -> None:
    """Type a section; before the command in which a word is, with spaces for ``_``, people do what it needs."""
    left = {word.replace("_", " "): act for word, act in between.items()}
    for line in SECTIONS[title]:
        for word in [one for one in left if one in line]:
            left.pop(word)()
        type_all([line], home)
    assert not left


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark of the shipped recordings with a run."""
    home = tmp_path_factory.mktemp("rounds")
    copy_sample(home / "sample")
    assert proctor("read", "plain", home / "sample", home / "bench").status == 0
    for step in (["derive"], ["generate", "--limit", 9], ["verify"], ["build"], ["predict"]):
        assert proctor(*step, home / "bench").status == 0
    return home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    with opened_studios() as pages:
        yield tmp_path
    assert all("<title>Sign in" in page for page in pages), pages


@pytest.fixture
def bench(made: Path, home: Path) -> Path:
    return Path(shutil.copytree(made / "bench", home / "bench"))


def answers(bench: Path) -> Says:
    right = {item.id: gold_texts(item)[0] for item in read_jsonl(bench / "items.jsonl", Item)}
    return lambda asked, _: {"values": {"answer": right[asked.task.name]}}


def write_soup(folder: Path) -> None:
    """Write a plain folder of an activity without an order and three recordings."""
    steps = [{"id": str(n), "text": text} for n, text in enumerate(STEPS)]
    files = {"activities/soup.json": {"id": "soup", "name": "Soup", "steps": steps}}
    for number, order in enumerate(("012", "102", "012")):
        segments = [{"step": step, "start": 5 * n, "end": 5 * n + 4} for n, step in enumerate(order)]
        about = {"id": f"r{number}", "activity": "soup", "duration": 20, "segments": segments}
        files[f"recordings/r{number}.json"] = about
    for name, record in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(record))


@types("rounds.md", commands=these(SECTIONS[TITLE]))
def test_a_round_from_beginning_to_end(bench: Path, home: Path) -> None:
    follow(TITLE, home, round_collect=lambda: take_part(bench, "people", "ana", says=answers(bench)))
    assert (bench / "runs" / "people" / "predictions.jsonl").is_file()


@types("rounds.md", commands=these(SECTIONS["Answering"]))
def test_people_answer(bench: Path, home: Path) -> None:
    follow("Answering", home, round_collect=lambda: take_part(bench, "people", "ana", says=answers(bench)))
    rows = {run["run"]: run for run in proctor("score", bench, "--json").json["runs"]}
    assert (rows["people"]["role"], rows["people"]["score"]) == ("human", 100.0)


@types("rounds.md", commands=these(SECTIONS["Marking"]))
def test_people_mark(bench: Path, home: Path) -> None:
    def marks(asked: Any, _: str) -> dict[str, Any]:
        return {"values": {"mark": "2" if asked.body.answer in asked.body.golds else "0"}}

    assert proctor("judge", bench).status == 0
    follow("Marking", home, round_collect=lambda: take_part(bench, "mark", "ana", "ben", says=marks))


@types("rounds.md", commands=these(SECTIONS["Writing"]))
def test_people_write(bench: Path, home: Path) -> None:
    def writes(asked: Any, _: str) -> dict[str, Any]:
        return {"values": {"question": f"What is next, number {asked.task.name}?", "answers": ["Tea."]}}

    follow("Writing", home, round_collect=lambda: take_part(bench, "write", "ana", says=writes))
    assert len(read_jsonl(bench / "people.jsonl", dict[str, Any])) == 10


@types("rounds.md", commands=these(SECTIONS["A study"]))
def test_a_study(home: Path) -> None:
    study_bench(home / "bench", each=64)

    def fill_in() -> None:
        key = home / "study" / "key.csv"
        key.write_text(key.read_text().replace(",\n", ",yes\n"))

    yes = {"fluency": "4", **dict.fromkeys(("style", "relevance", "answerability", "correctness"), "yes")}

    def rates(asked: Any, _: str) -> dict[str, Any]:
        return {"values": {**yes, **asked.options.rights.get(asked.task.name, {})}}

    def rate() -> None:
        take_part(home / "bench", "rate", "p1", "p2", says=rates, outside=True)

    follow("A study", home, round_rate=fill_in, round_collect=rate)


@types("rounds.md", commands=these(SECTIONS["Ordering"]))
def test_manuals_are_put_in_order(home: Path) -> None:
    assert proctor("datasets", "synthetic", "made", "--manuals", 6).status == 0
    assert (
        proctor("sequences", "wikihow", "made", "--semantics", "ranks", "--out", "manuals.jsonl").status == 0
    )
    assert proctor("import", "sequences", "manuals.jsonl", "bench").status == 0

    right = {id_: authored(item) for id_, item in ordered_items(Workspace(home / "bench")).items()}

    def orders(asked: Any, _: str) -> dict[str, Any]:
        values = {"confidence": "4"} | ({"helped": "both"} if asked.body.shows == "both" else {})
        return {"order": right[asked.task.group], "kept": True, "values": values}

    follow("Ordering", home, round_collect=lambda: take_part(home / "bench", "order", "ana", says=orders))


def film(path: Path, frames: int, codec: str) -> Path:
    pytest.importorskip("av", reason="the extra 'video' is not installed")
    from tests.media.make_video import Recipe, make_video

    return make_video(path, Recipe(times=range(frames), codec=codec))


@types("rounds.md", commands=these(SECTIONS["Recordings"]))
def test_recordings_are_made(home: Path) -> None:
    write_soup(home)
    assert proctor("capture", "plan", "bench", "--graphs", "activities", "--people", 1).status == 0
    says = perform(home / "bench", film(home / "a.webm", 20, "libvpx").read_bytes())
    follow("Recordings", home, round_collect=lambda: take_part(home / "bench", "record", "p01", says=says))
    assert [*(home / "bench/capture/recordings").glob("*/raw/tablet-1/tablet-1.webm")]


@types("rounds.md", commands=these(SECTIONS["Timelines"]))
def test_recordings_are_annotated(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "kitchen").mkdir()
    film(home / "kitchen" / "soup_1.mp4", 300, "libx264")
    (home / "recipe.txt").write_text("\n".join(STEPS))
    (home / "bench").mkdir()
    spoken = "0123abcd-0000-4000-8000-0123456789ab"

    def marks(asked: Any, pid: str) -> dict[str, Any]:
        keep_sound(home / "bench" / "studio", pid, spoken, b"\x1a\x45\xdf\xa3" + bytes(500))
        segments = [
            {"id": f"m{n}", "step": step.id, "start_s": 3.0 * n, "end_s": 3.0 * n + 2}
            for n, step in enumerate(asked.body.steps)
        ]
        return {"segments": segments, "narrations": [{"id": spoken, "video_s": 1.0}]}

    class Whisper:
        def __init__(self, folder: str, **_: Any) -> None:
            assert folder == "models/faster-whisper-small"

        def transcribe(self, _: str, **__: Any) -> Any:
            return [modules.SimpleNamespace(text=" It boils.", no_speech_prob=0.1)], None

    whisper: Any = modules.ModuleType("faster_whisper")
    whisper.WhisperModel = Whisper
    monkeypatch.setitem(sys.modules, "faster_whisper", whisper)
    (home / "models" / "faster-whisper-small").mkdir(parents=True)
    (home / "models" / "faster-whisper-small" / "model.bin").touch()
    follow(
        "Timelines",
        home,
        round_collect=lambda: take_part(home / "bench", "timeline", "ana", "ben", says=marks),
    )
    assert proctor("round", "collect", "bench", "timeline").status == 0
    told = (home / "bench" / "rounds" / "timeline" / "narrations.jsonl").read_text()
    assert [one["text"] for one in map(json.loads, told.splitlines())] == ["It boils."] * 2


@types("rounds.md", commands=these(SECTIONS["Task graphs from text"]))
def test_task_graphs_are_written_and_reviewed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_soup(home / "plain")
    assert proctor("read", "plain", "plain", "bench").status == 0
    (home / "recipes").mkdir()
    (home / "recipes" / "soup.txt").write_text(TEXT)

    def writes(*_: Any) -> dict[str, Any]:
        steps = [
            {"id": f"s{n}", "text": s, "spans": [[TEXT.index(s), TEXT.index(s) + len(s)]]}
            for n, s in enumerate(STEPS)
        ]
        return {"steps": steps, "edges": [["s0", "s2"], ["s1", "s2"]]}

    def reviews(asked: Any, _: str) -> dict[str, Any]:
        first, *others = [[edge.before, edge.after] for edge in asked.body.edges]
        return {"edges": [first], "refused": others}

    draft = {"steps": [[s, s] for s in STEPS], "edges": [[1, 3, 0.9]]}
    with Standin(reply=json.dumps(draft)) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        follow(
            "Task graphs from text",
            home,
            collect_bench_graph=lambda: take_part(home / "bench", "graph", "ana", "ben", says=writes),
            collect_bench_review=lambda: take_part(home / "bench", "review", "ana", "ben", says=reviews),
        )
    assert (home / "graphs" / "activities" / "soup.json").is_file()
