"""SMMQG's commands as they are typed: the whole experiment rehearsed, its parts, and what may be wrong with them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.llm.store import CallStore

Command = Callable[..., Any]
KEY = "sk-canary-7f3d9a"
NAMES = ("Arlen", "Borga", "Calder", "Dunmore", "Esker", "Farrow")
PLAN = ("-g", "openai/gpt-4o", "-m", "openai/gpt-4o-mini", "-j", "openai/gpt-4o", "--total", "6",
        "--style", "compare-contrast", "--sources", "gold", "--sources", "bm25@3", "--rehearse", "0.9")  # fmt: skip
RESULTS = ("documents.jsonl", "documents.attempts.jsonl", "questions.jsonl", "report.html")


def documents(folder: Path, *, pictures: bool = True) -> Path:
    from PIL import Image

    folder.mkdir(parents=True)
    for n, name in enumerate(NAMES):
        facts = " ".join(
            f"In {1200 + 31 * n + k} the council of {name} built {n + k} mills." for k in range(6)
        )
        rows = "\n".join(
            f"| {name} {part} | {n * 7 + k} |" for k, part in enumerate(("east", "west", "port"))
        )
        (folder / f"{name}.md").write_text(f"# {name}\n\n{facts}\n\n| Ward | Houses |\n|---|---|\n{rows}\n")
        if pictures:
            Image.new("RGB", (64, 48), (40 * n, 90, 200 - 30 * n)).save(folder / f"{name} at dusk.png")
    return folder


@pytest.fixture(scope="module", autouse=True)
def key() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        patch.setenv("ANTHROPIC_API_KEY", KEY)
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, proctor: Command) -> Path:
    """A folder with ``docs`` and the workspace ``w``, everything done; not to be changed."""
    home = tmp_path_factory.mktemp("styled")
    docs = documents(home / "docs")
    done = proctor("experiment", "documents", home / "w", "--from", docs, *PLAN)
    assert done.status == 0, done.err
    assert "6 of 6 questions were made" in done.out
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "home"))


def results(workspace: Path) -> dict[str, bytes]:
    files = [workspace / name for name in RESULTS]
    files += [p for folder in ("retrieval", "runs") for p in (workspace / folder).rglob("*") if p.is_file()]
    return {str(p.relative_to(workspace)): p.read_bytes() for p in files if p.exists()}


def test_the_same_command_again_pays_nothing_and_changes_no_byte(made: Path, proctor: Command) -> None:
    before = results(made / "w")
    assert {"documents.jsonl", "report.html", "retrieval/styled/table.json"} <= before.keys()
    again = proctor("experiment", "documents", made / "w", "--from", made / "docs", *PLAN, "--json")
    assert again.status == 0, again.err
    assert sum(stage["calls"]["sent"] for stage in again.json["stages"] if "calls" in stage) == 0
    assert results(made / "w") == before


def test_the_same_sources_by_other_paths_continue_and_what_was_found_is_a_table(
    home: Path, proctor: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    record = home / "w" / "stages.json"
    stages = json.loads(record.read_text())
    stages["corpus"]["settings"]["files"] = ["docs"]  # as if it had been typed so, here
    record.write_text(json.dumps(stages))
    again = proctor("experiment", "documents", "w", "--from", home / "docs", *PLAN)
    assert again.status == 0, again.err
    lines = [line.split() for line in again.out.splitlines()]
    head = next(line for line in lines if line[:2] == ["questions", "system"])
    assert head[2:] == ["recall@5", "all-gold@5", "recall@10", "all-gold@10", "n"]
    assert [line[0] for line in lines if line[1:2] == ["bm25"]] == ["styled"]
    shutil.copytree(home / "docs", tmp_path / "docs")
    other = proctor("experiment", "documents", "w", "--from", tmp_path / "docs", *PLAN)
    assert "the workspace's corpus was built from other sources" in other.err


def test_no_key_is_in_any_file(made: Path) -> None:
    files = [p for p in (made / "w").rglob("*") if p.is_file()]
    assert len(files) > 20
    assert [p for p in files if KEY.encode() in p.read_bytes()] == []


def test_the_parts_are_commands_of_their_own(home: Path, proctor: Command) -> None:
    w = home / "w"
    found = proctor("retrieve", w, "-r", "bm25", "-r", "lsa", "--json")
    assert found.status == 0, found.err
    overall = {
        (c["system"], c["measure"]): c["value"] for c in found.json["table"]["cells"] if c["slice"] == "all"
    }
    assert 0 < overall["bm25", "recall@5"] <= overall["bm25", "recall@10"] <= 100
    foreseen = proctor("predict", w, "-p", "openai/gpt-4.1", "--dry-run", "--json")
    assert foreseen.status == 0, foreseen.err
    assert foreseen.json["estimates"][0]["new"] == 6
    same = proctor("concur", f"{w}:styled", f"{w}:styled", "--json")
    assert same.json["tau"] in (1.0, None)
    page = proctor("report", w)
    assert page.status == 0, page.err
    assert "documents, styled: 6" in page.out


def test_edited_questions_are_told_on_the_page_and_to_who_goes_on(home: Path, proctor: Command) -> None:
    w = home / "w"
    assert "Out of date" not in (w / "report.html").read_text()
    rows = [json.loads(line) for line in (w / "documents.jsonl").read_text().splitlines()]
    rows[0]["text"] = "Which of the two <script>alert(1)</script> \u202e wards is larger?"
    (w / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    refused = proctor("predict", w, "-p", "openai/gpt-4o-mini", "--show", "bm25@3", "--dry-run")
    assert refused.status == 2
    assert "of other questions" in refused.err
    assert proctor("report", w).status == 0
    page = (w / "report.html").read_text()
    assert page.count("Out of date (retrieve/styled)") == 1
    assert "Out of date (build)" in page
    assert page.count("<script") == 3  # the filter of the examples, tables and lists
    assert "\u202e" not in page


def test_indexes_of_another_corpus_are_made_again(home: Path, proctor: Command) -> None:
    w = home / "w"
    heads = {p: p.read_bytes() for p in (w / "index").glob("*/manifest.json")}
    assert len(heads) == 2
    for path, data in heads.items():
        path.write_text(json.dumps({**json.loads(data), "corpus": "0" * 64}))
    before = results(w)
    assert proctor("retrieve", w).status == 0
    assert {p: p.read_bytes() for p in heads} == heads
    after = results(w)
    assert {n: after[n] for n in after if n.startswith("retrieval")} == {
        n: before[n] for n in before if n.startswith("retrieval")
    }


@pytest.mark.parametrize(
    "name",
    ["documents.jsonl", "documents.json", "documents.attempts.jsonl", "retrieval/styled/table.json",
     "retrieval/styled/bm25.run.json", "retrieval/styled/bm25.jsonl", "rehearsal.json", "corpus/sources.jsonl",
     "runs/*/scores.json", "runs/*/predictions.jsonl"],
)  # fmt: skip
def test_a_damaged_file_is_told_by_its_name_and_the_old_page_stays(
    home: Path, proctor: Command, name: str
) -> None:
    path = sorted((home / "w").glob(name))[0]
    path.write_bytes(b"\x00\xff{{{")
    page = (home / "w" / "report.html").read_bytes()
    told = proctor("report", home / "w")
    assert told.status == 2
    assert path.name in told.err
    assert "Traceback" not in told.err
    assert (home / "w" / "report.html").read_bytes() == page


def test_a_budget_that_ends_half_way_ends_with_3_and_the_same_command_goes_on(
    made: Path, tmp_path: Path, proctor: Command
) -> None:
    w = tmp_path / "w"
    w.mkdir()
    shutil.copy(made / "w" / "prompt-secret", w)  # keys of requests depend on it
    line = ("experiment", "documents", w, "--from", made / "docs", *PLAN)
    sent = 0
    for most in (3, 9, 14):
        stopped = proctor(*line, "--max-calls", most, "--json")
        assert stopped.status == 3, stopped.err
        assert "the same command continues from here" in stopped.err
        sent += sum(s["calls"]["sent"] for s in stopped.json["stages"] if "calls" in s)
    done = proctor(*line, "--json")
    assert done.status == 0, done.err
    assert results(w) == results(made / "w")
    whole = sum(s["calls"]["sent"] for s in done.json["stages"] if "calls" in s) + sent
    with CallStore.open(w / "calls.sqlite") as store:
        assert len(store) == whole, "no call was sent twice"


def test_what_a_corpus_without_pictures_cannot_fill_is_told_before_anything_is_asked_and_left_out(
    tmp_path: Path, proctor: Command
) -> None:
    docs = documents(tmp_path / "docs", pictures=False)
    assert proctor("corpus", "build", tmp_path / "w", "--from", docs).status == 0
    told = proctor("generate", "documents", tmp_path / "w", "-g", "openai/gpt-4o", "--combination", "0-0-1")
    assert told.status == 2
    assert "1 image source, and the corpus has 0" in told.err
    assert "nothing was asked yet" in told.err

    line = (
        "experiment",
        "documents",
        tmp_path / "w",
        "-g",
        "openai/gpt-4o",
        "--style",
        "information-extraction",
    )
    lost = (
        "1 of 3 questions cannot be asked of this corpus and are left out: information-extraction 0-0-1 (1)"
    )
    foreseen = proctor(*line, "--dry-run")
    assert foreseen.status == 0, foreseen.err
    assert lost in foreseen.err
    done = proctor(*line, "--rehearse", "1")
    assert done.status == 0, done.err
    assert lost in done.err
    assert "2 of 2 questions were made" in done.out
    (dropped,) = map(json.loads, (tmp_path / "w" / "documents.dropped.jsonl").read_text().splitlines())
    assert (dropped["id"], dropped["reason"]) == ("information-extraction/0-0-1/0001", "impossible_cell")
    assert "Left out of the plan" in (tmp_path / "w" / "report.html").read_text()


def test_what_the_corpus_lacks_is_said_in_the_first_line_of_the_scores(home: Path, proctor: Command) -> None:
    path = home / "w" / "stages.json"
    stages = json.loads(path.read_text())
    stages["build"]["counts"]["dropped"] = {"source-not-in-corpus": 3}
    path.write_text(json.dumps(stages))
    told = proctor("score", home / "w", "--resamples", "100")
    assert told.status == 0, told.err
    assert told.out.startswith("3 questions are in no score, since the corpus lacks a source that they cite")


def test_after_a_dry_run_one_may_still_rehearse(tmp_path: Path, made: Path, proctor: Command) -> None:
    w = tmp_path / "w"
    assert proctor("corpus", "build", w, "--from", made / "docs").status == 0
    foreseen = proctor(
        "generate", "documents", w, "-g", "openai/gpt-4o", "--total", "2", "--style", "numerical", "--dry-run"
    )
    assert foreseen.status == 0, foreseen.err
    line = (
        "experiment",
        "documents",
        w,
        "-g",
        "openai/gpt-4o",
        "--total",
        "2",
        "--style",
        "numerical",
        "--rehearse",
        "1",
    )
    done = proctor(*line)
    assert done.status == 0, done.err
    refused = proctor("experiment", "documents", w, "-g", "openai/gpt-4o")
    assert refused.status == 2
    assert "is a rehearsal" in refused.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-r", "bm25+"), "something is missing"),
        (("-r", "bm25~"), "something is missing"),
        (("-r", "bm25+bm25"), "names one retriever twice"),
        (("-r", "bm25:zscore"), "nothing to fuse"),
        (("-r", "bm25~foo"), "there is no reranker"),
        (("-r", "foo"), "'foo' is not an embedder"),
        (("-r", "bm25", "-r", "bm25"), "named twice"),
        (("-r", "bm25~embed/foo"), "'foo' is not an embedder"),
        (("-r", "onnx/nowhere"), "not the folder of such a model"),
        (("--pool", "foo"), "'foo' is not one of 'all'"),
        (("--score", "foo"), "'foo' is not one of 'raw'"),
        (("--questions", "foo"), "there is no set of questions"),
        (("--questions", "data"), "has no question"),
    ],
)
def test_retrievers_that_are_none_are_told_and_nothing_is_written(
    made: Path, proctor: Command, arguments: tuple[str, ...], told: str
) -> None:
    before = results(made / "w")
    refused = proctor("retrieve", made / "w", *arguments)
    assert refused.status == 2
    assert told in refused.err
    assert results(made / "w") == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--sources", "lsa:9@3"), "is not among the retrievers"),
        (("--sources", "bm25"), "cannot be answered from"),
        (("-m", "nonsense"), "is not the name of a model"),
        (("-m", "a/b,c/d,e/f"), "more than two models"),
        (("-r", "bm25~"), "something is missing"),
        (("--classifier", "nonsense"), "is not the name of a model"),
        (("--style", "nonsense"), "there is no style"),
        (("--embedder", "nonsense"), "is not an embedder"),
        (("--from", "elsewhere"), "built from other sources"),
    ],
)
def test_what_a_later_stage_cannot_do_is_told_before_the_first_one(
    home: Path, proctor: Command, arguments: tuple[str, ...], told: str
) -> None:
    before = results(home / "w")
    refused = proctor(
        "experiment", "documents", home / "w", "-g", "openai/gpt-4o", "--rehearse", "0.9", *arguments
    )
    assert refused.status == 2
    assert told in refused.err
    assert results(home / "w") == before


@pytest.mark.parametrize(
    ("package", "command"),
    [("bm25s", ("retrieve", "-r", "bm25")), ("faiss", ("retrieve", "-r", "lsa")), ("PIL", ("report",))],
)
def test_without_the_extra_its_name_is_said(
    home: Path, proctor: Command, monkeypatch: pytest.MonkeyPatch, package: str, command: tuple[str, ...]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    told = proctor(command[0], home / "w", *command[1:])
    assert told.status == 2
    assert "proctor-bench[corpus]" in told.err
