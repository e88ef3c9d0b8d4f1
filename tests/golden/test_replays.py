"""Stored workspaces of the old code played again: no call is missing, and every result is what it was.

They protect paid calls and published numbers: a change that moves one byte of one request, or one field of one result, fails
here by name. See ``tests/golden/stored/README.md``.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.golden.cells import CELLS
from tests.golden.families import FAMILIES
from tests.golden.now import differences, today
from tests.golden.playing import Asked, Pictures, Table, collect, moved, replaying, typed_into

from proctor.llm.outcome import Failure
from proctor.workspace import format_of

STORED = Path(__file__).parent / "stored"
FORMER = ("clip-runs/", "answers/")
"""Folders that answers about clips and documents had."""


def unpacked(store: str, home: Path) -> Path:
    """Return a stored workspace as it was before its cells, with all its calls and media."""
    with zipfile.ZipFile(STORED / store / "workspace.zip") as archive:
        archive.extractall(home)
    bench = home / "bench"
    kept = {*json.loads((home / "before.json").read_text()), "calls.sqlite", "prompt-secret"}
    for path in [p for p in bench.rglob("*") if p.is_file()]:
        name = path.relative_to(bench).as_posix()
        if name not in kept and not name.startswith(("media/", "videos/", "some-videos/")):
            path.unlink()
    (home / "before").mkdir(
        exist_ok=True
    )  # nothing that was there has changed since, where the archive has none
    shutil.copytree(home / "before", bench, dirs_exist_ok=True)
    if format_of(bench) is None:  # nothing was made yet
        return bench
    done = typed_into("upgrade", str(bench), "--output", str(home / "today" / "bench"))
    assert done.status == 0, done.err
    return home / "today" / "bench"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "COMPAT_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def read(store: str, name: str, type_: Any) -> Any:
    return msgspec.json.decode((STORED / store / name).read_bytes(), type=type_)


@pytest.mark.parametrize("store", CELLS)
def test_nothing_is_sent_and_every_result_is_what_it_was(store: str, tmp_path: Path) -> None:
    bench = unpacked(store, tmp_path)
    shutil.copy(bench / "calls.sqlite", tmp_path / "old.sqlite")
    stored = read(store, "requests.json", dict[str, dict[str, list[str]]])
    table = msgspec.json.decode((tmp_path / "pictures.json").read_bytes(), type=Table)
    asked = Asked()
    answered = answered_by(bench)
    wrong: list[str] = []
    failures = read(store, "failures.json", dict[str, Failure])
    with ExitStack() as stack:
        stack.enter_context(replaying(asked, Pictures(table, bench / "media"), failures))
        for family in FAMILIES:
            stack.enter_context(family.as_before(table))
        for cell in CELLS[store]:
            asked.cell = cell.name
            problems = []
            for command in cell.commands(bench):
                done = typed_into(*command)
                if done.status:
                    problems.append(f"{' '.join(command)}: {done.err.strip()}")
            if asked.missed[cell.name]:
                problems.append(f"{len(asked.missed[cell.name])} calls are not in the store")
            problems += moved(asked, stored.get(cell.name, {}), tmp_path / "old.sqlite", answered)
            problems += compared(STORED / store / "results" / cell.name, bench, cell.results)
            wrong += [f"== {store}/{cell.name}: {problem}" for problem in problems]
    wrong += [problem for family in FAMILIES for problem in family.miscounted(store, asked)]
    assert not wrong, "\n".join(wrong)


def answered_by(bench: Path) -> frozenset[str]:
    """Return how the keys begin of requests about clips and documents whose answers are in runs already; the old code asked all again."""
    found = set()
    for path in bench.glob("runs/*/predictions.jsonl"):
        if json.loads(path.with_name("run.json").read_text()).get("kind", "moment") != "moment":
            found |= {json.loads(line)["details"]["request"] for line in path.read_text("utf-8").splitlines()}
    return frozenset(found)


def compared(results: Path, bench: Path, patterns: tuple[str, ...]) -> list[str]:
    """Compare what the old code wrote in a cell with what is in the workspace now."""
    new = collect(bench, patterns)
    old = {
        p.relative_to(results).as_posix(): p.read_text("utf-8")
        for p in sorted(results.rglob("*"))
        if p.is_file()
    }
    assert old, f"nothing is stored in {results}"
    found = []
    for path, text in old.items():
        now = of_run(path, text, old, new) if path.startswith(FORMER) else new.get(today(path))
        if now is None:
            found.append(f"{path} is not written any more")
        else:
            found += differences(path, text, now)[:5]
    return found


def of_run(path: str, text: str, old: Mapping[str, str], new: Mapping[str, str]) -> str | None:
    """Return what the run says today that answers what an old folder of answers about clips or documents did.

    Questions with options have ids of their own now.
    """
    folder, name = path.rpartition("/")[::2]
    predictor = json.loads(old[f"{folder}/predictions.jsonl"].splitlines()[0])["predictor"]
    which = folder.split("/")[1]
    for at in [at for at in new if at.endswith("/run.json")]:
        info, run = json.loads(new[at]), at.removesuffix("/run.json")
        if info["predictor"] == predictor and which in (info.get("questions"), info.get("form", "open")):
            if not name.startswith("judgements"):
                return new[f"{run}/{'scores.json' if name == 'table.json' else name}"].replace(
                    '.choice"', '"'
                )
            judge = json.loads(text.splitlines()[0])["judge"]
            marks = [t for at, t in new.items() if at.startswith(f"{run}/judgements/")]
            return next((t for t in marks if json.loads(t.splitlines()[0])["judge"] == judge), None)
    return None


def stored(pattern: str) -> list[Any]:
    """Return all records of stored results."""
    texts = [p.read_text("utf-8") for p in sorted(STORED.glob(pattern))]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def test_what_a_number_could_come_to_mean_is_in_a_cell() -> None:
    """Whoever makes a store again must not lose what these results are compared for."""
    moments = stored("moment/results/score-judge/runs/*/scores.json")
    assert {mark for run in moments for mark in run["item_marks"].values()} == {
        0.0,
        50.0,
        100.0,
        None,
    }  # 0 to 100
    (turned,) = stored("clips/results/circular/clip-runs/*/*/table.json")
    assert {None, 0.8} < set(turned["item_marks"].values())  # 0 to 1; None where a rotation has no answer
    documents = stored("documents/results/answer-*/answers/*/*/table.json")
    assert {0.0, 50.0, 100.0} <= {
        m for t in documents for marks in t["marks"].values() for m in marks.values()
    }

    golds = {item["id"]: len(item["golds"]) for item in stored("people/results/release/items.jsonl")}
    assert max(golds.values()) > 1
    best = [mark.get("gold") for mark in stored("moment/results/judge-rules/runs/*/judgements.jsonl")]
    assert {None, 0, 1} < set(best)  # any of the golds will do …
    asked = {
        question["qid"]: question["answers"]
        for question in stored("documents/results/corpus/questions.jsonl")
    }
    answered = {p["item_id"] for p in stored("documents/results/answer-data/answers/*/*/predictions.jsonl")}
    assert [qid for qid in answered if len(asked[qid]) > 1]  # … or all have to be given

    failures = [
        p.get("failure", "") for p in stored("moment/results/frames-skipped/runs/*/predictions.jsonl")
    ]
    kinds = {failure.partition(":")[0] for failure in failures}
    assert {"", "not_shown"} < kinds  # not asked, against asked in vain
    assert kinds & {"truncated", "refusal", "bad_request"}
    rules = stored("moment/results/judge-rules/runs/frames-skipped/judgements.jsonl")
    assert all(
        "score" not in mark and mark["failure"] for mark in rules if "not_shown" in mark.get("failure", "")
    )


@pytest.mark.parametrize("store", [store for store in CELLS if store.startswith("experiment-")])
def test_killed_experiments_were_in_the_middle(store: str) -> None:
    results = STORED / store / "results" / "whole"
    written = {p.relative_to(results).as_posix() for p in results.rglob("*") if p.is_file()}
    with zipfile.ZipFile(STORED / store / "workspace.zip") as archive:
        kept = set(json.loads(archive.read("before.json")))
    assert written & kept
    assert written - kept
