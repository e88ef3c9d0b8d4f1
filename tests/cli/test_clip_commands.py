"""InstructionBench's commands as they are typed, against a stand-in or rehearsed; on the real annotations, too."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.stages.clip.material import row, write_rows

from proctor.ask.clip.record import ChoiceItem, ClipPair, ShownClip
from proctor.records import read_jsonl
from proctor_rehearsal.players import rehearse
from proctor_rehearsal.standin import Standin
from proctor_rehearsal.standin.script import Latency

Command = Callable[..., Any]

MODELS = (
    "-g", "openai/gpt-4o", "-j", "anthropic/claude-sonnet-4-5", "-a", "openai/gpt-4o", "-a", "google/gemini-2.0-flash",
    "-a", "anthropic/claude-sonnet-4-5",
)  # fmt: skip


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


# -- issue 8, done when 1 --------------------------------------------------------------------------------------------


def test_one_command_on_the_real_annotations(shared_data: Path, tmp_path: Path, proctor: Command) -> None:
    data, bench = tmp_path / "steps", tmp_path / "bench"
    data.mkdir()
    for name in ("youcook2.jsonl.gz", "hirest.jsonl", "goalstep_val.jsonl.gz"):
        shutil.copy(shared_data / "steps" / name, data / name)
    typed = (
        "experiment", "clip", bench, "--data", data, "--dataset", "steps", "--max-videos", 12, "--total", 36, *MODELS,
        "-p", "openai/gpt-4o-mini", "-p", "google/gemini-2.5-pro", "--show", "steps", "--open-judge", "openai/gpt-4o",
        "--benchmark-share", 0.7, "--name", "drills", "--rehearse", 0.9, "--json",
    )  # fmt: skip
    made = proctor(*typed)
    assert made.status == 0, made.err
    assert '"name": "drills"' in (bench / "release" / "manifest.json").read_text()
    stages = {part["stage"]: part for part in made.json["stages"]}
    clips = read_jsonl(bench / "clips.jsonl", ShownClip)
    assert {clip.dataset for clip in clips} == {"youcook2", "hirest", "goalstep"}
    pairs = read_jsonl(bench / "pairs.jsonl", ClipPair)
    known = {clip.id: {step.id for step in clip.steps} for clip in clips}
    assert all(set(pair.step_ids) <= known[pair.clip_id] for pair in pairs)
    assert {pair.level for pair in pairs} == {"coarse", "fine"}
    kept = read_jsonl(bench / "open.jsonl", ClipPair)
    assert 0 < len(kept) < len(pairs), "some are filtered"
    items = read_jsonl(bench / "choices.jsonl", ChoiceItem)
    letters = Counter(item.letter for item in items)
    counts = [letters.get(letter, 0) for letter in "ABCDE"]
    assert len(items) >= 5
    assert max(counts) - min(counts) <= 1
    assert all(len(set(item.options)) == 5 for item in items)
    systems = {name.partition("/")[0] for name in stages}
    assert {
        "generate",
        "filter",
        "choices",
        "build",
        "floor",
        "predict",
        "open",
        "judge",
        "report",
    } <= systems
    assert sum(name.startswith("predict/") for name in stages) == 2
    assert sum(name.startswith("floor/") for name in stages) >= 2
    for name, part in stages.items():
        if name.startswith(("predict/", "floor/")):
            assert part["items"] == part["answered"] == len(items)
    page = (bench / "report.html").read_text(encoding="utf-8")
    for section in ("pairs", "clip-filters", "options", "clip-choice", "clip", "statistics"):
        assert f'id="{section}"' in page, section
    again = proctor(*typed)
    assert again.status == 0, again.err
    assert not any(part["calls"]["sent"] for part in again.json["stages"] if part.get("calls"))


# -- command by command ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``data`` and a finished ``bench`` (its models' address is in ``url``); not to be changed."""
    folder = tmp_path_factory.mktemp("commands")
    write_rows(folder / "data", [row(n) for n in range(6)])
    return folder


@pytest.fixture(scope="module")
def server(home: Path) -> Any:
    with rehearse(home / "bench", quality=0.95, seed=3, latency=Latency()) as running:
        yield running


def names(server: Standin) -> dict[str, tuple[str, ...]]:
    def name(model: str) -> str:
        return f"compat/{model}@{server.url}/v1"

    voters = tuple(part for n in range(3) for part in ("-a", name(f"assistant{n}")))
    return {
        "generate": ("-g", name("writer")),
        "filter": ("-j", name("judge"), *voters),
        "choices": ("-w", name("writer"), *voters),
        "predict": ("-p", name("predictor")),
        "judge": ("-j", name("judge")),
    }


@pytest.fixture(scope="module")
def done(home: Path, server: Standin, proctor: Command) -> dict[str, Any]:
    """What each command printed, one after the other; dry runs come first and send nothing."""
    bench, who = home / "bench", names(server)
    commands = {
        "generate": (
            "generate", "clip", bench, *who["generate"], "--data", home / "data", "--dataset", "steps", "--total", 20
        ),
        "filter": ("filter", bench, *who["filter"], "--benchmark-share", 0.7),
        "choices": ("choices", bench, *who["choices"]),
        "predict": ("predict", bench, *who["predict"], "--form", "choice", "--show", "question"),
        "open": ("predict", bench, *who["predict"], "--form", "open", "--show", "steps"),
        "judge": ("judge", bench, *who["judge"]),
    }  # fmt: skip
    found: dict[str, Any] = {}
    for name, command in commands.items():
        if name == "predict":
            assert proctor("build", bench).status == 0
        before = server.count
        found[f"dry-{name}"] = dry = proctor(*command, "--dry-run", "--json")
        assert dry.status == 0, dry.err
        assert server.count == before, f"the dry run of {name} sent something"
        found[name] = made = proctor(*command, "--json")
        assert made.status == 0, made.err
        found[f"{name}-sent"] = server.count - before
    found["floors"] = proctor("predict", bench, "--json")
    found["score"] = proctor("score", bench, "--json")
    found["training"] = proctor("export", "training", bench, home / "training", "--json")
    found["report"] = proctor("report", bench, "--json")
    return found


def test_estimates_are_near_what_it_took(done: dict[str, Any]) -> None:
    for name in ("generate", "predict", "open", "judge"):
        new = sum(e["new"] for e in done[f"dry-{name}"].json["estimates"])
        assert 0.5 * done[f"{name}-sent"] <= new <= 2 * done[f"{name}-sent"] + 2, name
    most = sum(e["new"] for e in done["dry-filter"].json["estimates"])
    assert most > 0
    planned = done["dry-choices"].json
    assert (
        planned["least"]
        <= done["choices-sent"] + planned["questions"]
        <= planned["most"] + planned["questions"]
    )


def test_a_word_that_is_no_kind_or_rubric_is_told_with_those_there_are(
    done: dict[str, Any], home: Path, server: Standin, proctor: Command
) -> None:
    assert done
    judge = names(server)["judge"]
    refused = proctor("filter", home / "bench", *judge, "--on", "instructional")
    assert (refused.status, "→ known here: clip\n" in refused.err) == (2, True), refused.err
    refused = proctor("judge", home / "bench", *judge, "--rubric", "instructional")
    assert (refused.status, "rubrics for the kind 'clip': consistency" in refused.err) == (2, True), (
        refused.err
    )


def test_all_of_it_is_there_in_the_end(done: dict[str, Any], home: Path) -> None:
    assert done["floors"].status == 0
    assert len(done["floors"].json["runs"]) >= 2
    assert done["report"].status == 0, done["report"].err
    assert done["training"].status == 0, done["training"].err
    assert list((home / "training").rglob("*.json*"))
    assert done["filter"].json["benchmark"] + done["filter"].json["training"] == done["filter"].json["kept"]


def test_options_of_questions_are_told_apart_and_scores_printed(
    done: dict[str, Any], home: Path, proctor: Command, server: Standin
) -> None:
    assert done["choices"].json["achieved"] > 0
    bench = home / "bench"
    text = proctor("predict", bench, *names(server)["predict"], "--form", "choice", "--show", "question")
    assert text.status == 0, text.err
    assert "0 sent" in text.out
    assert done["score"].status == 0, done["score"].err
    assert "accuracy" in proctor("score", bench).out


def test_a_limit_ends_with_status_3_and_the_same_command_goes_on(
    done: dict[str, Any], home: Path, tmp_path: Path, server: Standin, proctor: Command
) -> None:
    assert done
    bench, who = tmp_path / "bench", names(server)
    shutil.copytree(home / "bench", bench)
    (bench / "calls.sqlite").unlink()
    shutil.rmtree(bench / "runs")
    wanted = {n: (bench / n).read_bytes() for n in ("filters.jsonl", "open.jsonl", "choices.jsonl")}
    for following, command in (
        ("choices", ("filter", bench, *who["filter"], "--benchmark-share", 0.7)),
        ("build", ("choices", bench, *who["choices"])),
        ("judge", ("predict", bench, *who["predict"], "--form", "choice", "--show", "question")),
    ):
        stopped = proctor(*command, "--max-calls", 5)
        assert stopped.status == 3, (command[0], stopped.out, stopped.err)
        assert "continues from here" in stopped.err
        whole = proctor(*command)
        assert whole.status == 0, whole.err
        assert whole.out.endswith(f"next: proctor {following} {bench}\n")
    assert {n: (bench / n).read_bytes() for n in wanted} == wanted


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("generate", "clip", "B", "-g", "gpt", "--data", "D", "--dataset", "steps"), "gpt"),
        (("generate", "clip", "B", "-g", "X"), "no videos to ask about"),
        (
            (
                "generate",
                "clip",
                "B",
                "-g",
                "X",
                "--data",
                "D",
                "--dataset",
                "steps",
                "--level",
                "smell",
            ),
            "smell",
        ),
        (("generate", "clip", "B", "-g", "X", "--data", "D", "--dataset", "nobody"), "nobody"),
        (("generate", "clip", "B", "-g", "X", "--data", "T"), "no such folder"),
        (("generate", "clip", "B", "-g", "X", "--data", "B"), "--dataset NAME"),
        (("filter", "B"), "no model was named"),
        (("filter", "B", "-j", "X"), "nothing to filter"),
        (("filter", "B", "-j", "X", "--on", "smells"), "smells"),
        (("filter", "B", "-j", "X", "--only", "smell"), "smell"),
        (("filter", "B", "-j", "X", "--votes", "2"), "2 votes"),
        (("choices", "B", "-w", "X"), "no assistants were named"),
        (("choices", "B", "-w", "X", "-a", "X"), "no questions"),
        (("choices", "B", "-w", "X", "-a", "X", "--confirm", "maybe"), "'maybe' is not one of"),
        (("choices", "B", "-w", "X", "-a", "X", "--on", "smells"), "smells"),
        (("predict", "B"), "items.jsonl is not there yet"),
        (("predict", "instructional", "B"), "there is no 'proctor predict instructional' any more"),
        (("answer", "B", "-m", "X"), "there is no 'proctor answer' any more"),
        (("experiment", "clip", "B", "-g", "X", "--data", "D"), "no assistants were named"),
        (("experiment", "clip", "B", "-g", "X", "-a", "X", "--style", "e"), "'e' is not one of"),
        (("export", "training", "B", "T"), "not there yet"),
    ],
)
def test_what_cannot_be_is_one_clear_line(
    tmp_path: Path, home: Path, proctor: Command, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "bench").mkdir()
    places = {
        "B": tmp_path / "bench",
        "D": home / "data",
        "T": tmp_path / "out",
        "X": "compat/x@http://127.0.0.1:9/v1",
    }
    made = proctor(*(places.get(a, a) for a in arguments))
    assert made.status == 2, made.err
    assert message in made.err
    assert "Traceback" not in made.err
    assert not list((tmp_path / "bench").glob("*.jsonl"))


def test_a_folder_that_is_not_there_and_a_file_in_its_place(tmp_path: Path, proctor: Command) -> None:
    (tmp_path / "file").write_text("x")
    model = "compat/x@http://127.0.0.1:9/v1"
    for place in (tmp_path / "nowhere", tmp_path / "file"):
        for command in (
            ("filter", place, "-j", model),
            ("choices", place, "-w", model, "-a", model),
            ("predict", place),
            ("generate", "clip", place, "-g", model, "--dry-run"),
        ):
            made = proctor(*command)
            assert made.status == 2, made.err
            assert "Traceback" not in made.err
    assert not (tmp_path / "nowhere").exists()


# -- questions of other benchmarks -----------------------------------------------------------------------------------


@pytest.fixture
def promqa(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished / "bench", tmp_path / "promqa"))


def test_filters_and_options_work_on_promqa(promqa: Path, server: Standin, proctor: Command) -> None:
    who = names(server)
    dry = proctor("filter", promqa, *who["filter"], "--limit", 4, "--dry-run", "--json")
    assert dry.status == 0, dry.err
    made = proctor("filter", promqa, *who["filter"], "--limit", 4, "--json")
    assert made.status == 0, made.err
    assert (made.json["subject"], made.json["asked"]) == ("candidates", 4)
    assert not (promqa / "open.jsonl").exists()
    verdicts = [json.loads(line) for line in (promqa / "filters.jsonl").read_text().splitlines()]
    assert verdicts
    options = proctor("choices", promqa, *who["choices"], "--limit", 4, "--attempts", 2, "--json")
    assert options.status == 0, options.err
    assert options.json["subject"] == "items"
    assert options.json["asked"] == 4
    if options.json["achieved"]:
        built = proctor("build", promqa)
        assert built.status == 0, built.err
        scored = proctor("predict", promqa, "--kind", "clip", "--json")
        assert scored.status == 0, scored.err


def test_nothing_answered_is_said_and_is_no_traceback(
    done: dict[str, Any], home: Path, tmp_path: Path, server: Standin, proctor: Command
) -> None:
    assert done
    bench = Path(shutil.copytree(home / "bench", tmp_path / "bench"))
    model = f"compat/newcomer@{server.url}/v1"
    none = proctor("predict", bench, "-p", model, "--form", "choice", "--show", "question", "--max-calls", 0)
    assert none.status == 3, none.err
    assert "0 sent" in none.out
    assert "Traceback" not in none.err


def test_filters_and_options_work_on_styled_questions(
    tmp_path: Path, server: Standin, proctor: Command
) -> None:
    from PIL import Image

    docs, bench = tmp_path / "docs", tmp_path / "styled"
    docs.mkdir()
    for n, name in enumerate(("Arlen", "Borga", "Calder", "Dunmore")):
        facts = " ".join(
            f"In {1200 + 31 * n + k} the council of {name} built {n + k} mills." for k in range(6)
        )
        table = "\n".join(f"| {name} {part} | {n * 7 + 3} |" for part in ("east", "west"))
        (docs / f"{name}.md").write_text(
            f"# {name}\n\n{facts}\n\n| Ward | Houses |\n|---|---|\n{table}\n", encoding="utf-8"
        )
        Image.new("RGB", (64, 48), (40 * n, 90, 200 - 30 * n)).save(docs / f"{name} at dusk.png")
    made = proctor(
        "experiment", "documents", bench, "--from", docs, "-g", "openai/gpt-4o", "-m", "openai/gpt-4o-mini", "-j", "openai/gpt-4o",
        "--total", 4, "--style", "compare-contrast", "--sources", "gold", "--rehearse", 0.95,
    )  # fmt: skip
    assert made.status == 0, made.err
    (bench / "rehearsal.json").unlink()  # as if real models had written it
    who = names(server)
    filtered = proctor("filter", bench, *who["filter"], "--json")
    assert filtered.status == 0, filtered.err
    assert filtered.json["subject"] == "styled"
    assert filtered.json["asked"] > 0
    options = proctor("choices", bench, *who["choices"], "--attempts", 2, "--json")
    assert options.status == 0, options.err
    assert options.json["subject"] == "styled"
    assert options.json["asked"] == filtered.json["asked"]
