"""Every command that asks models can be tried first: a dry run sends nothing and leaves the workspace as it was, byte by byte."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import typer
from PIL import Image
from tests.documents import document
from tests.stages.clip.material import row, write_rows

from proctor.cli.main import app
from proctor.corpus.source import Source
from proctor.exam.question import Item
from proctor.records import read_jsonl, write_jsonl
from proctor.stages.clip.pairs import found_clips
from proctor.stages.clip.settings import PairOptions
from proctor.workspace import Workspace

Command = Callable[..., Any]

TYPED = {
    "capture plan": "{moments} --hints {m}",
    "corpus build": "{new} --from {docs} --verbaliser {m}",
    "generate moment": "{moments} -g {m} --sample all --limit 3",
    "generate documents": "{documents} -g {m} --total 2 --style numerical",
    "generate clip": "{clips} -g {m} --data {steps} --dataset steps --total 4",
    "verify": "{moments} --verifier {m} --limit 3",
    "filter": "{moments} -j {m} -a {m} -a {m}2 -a {m}3 --limit 3",
    "choices": "{moments} -w {m} -a {m} -a {m}2 -a {m}3 --limit 3",
    "retrieve": "{documents} -r bm25 -r bm25~{m}",
    "predict": "{moments} -p {m} -p constant --limit 3",
    "judge answers": "{moments} -j {m} --run constant --judge-floors",
    "learn zeroshot": "--annotations {sample} -m {m} -o {new} --show times --develop 0",
    "experiment moment": "{moments} --data plain={sample} -g {m} -p {m} -j {m} --show frames:2 --examples 3",
    "experiment documents": "{new} --from {docs} -g {m} -m {m} -m python:os:getcwd -m human:anna.csv -j {m} --total 2 --style numerical",
    "experiment clip": "{new} --data {steps} --dataset steps -g {m} -j {m} -a {m} -a {m}2 -a {m}3 -p {m} -p python:os:getcwd -p human:anna.csv --show frames:8 --total 4",
}
"""What is typed after each command that asks."""
MORE = {
    "filter": "{clips} -j {m} -a {m} -a {m}2 -a {m}3 --audit 2",
    "predict": "{moments} -p {m} --show frames:2 --limit 3",
    "verify": "{moments} --verifier {m} --frames 2 --limit 3",
    "generate moment": "{moments} -g {m} --template excerpt-frames --sample all --limit 3",
    "retrieve": "{documents} -r {m} -r {m}~{m}",
}


def commands(command: Any, *words: str) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from commands(command.get_command(None, name), *words, name)
    else:
        yield " ".join(words), command


def test_every_command_that_may_spend_can_be_tried() -> None:
    flags = {
        name: {flag for parameter in command.params for flag in parameter.opts}
        for name, command in commands(typer.main.get_command(app))
    }
    asking = {name for name, known in flags.items() if "--max-cost" in known}
    assert {name for name in asking if "--dry-run" not in flags[name]} == set()
    assert asking == TYPED.keys()


@pytest.fixture(scope="module")
def counted() -> Iterator[list[str]]:
    """What a server was asked; the first one is its address."""
    asked: list[str] = []

    class Listening(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_error(500)

        do_GET = do_POST

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listening)
    Thread(target=server.serve_forever, daemon=True).start()
    asked.append(f"http://127.0.0.1:{server.server_port}/v1")
    yield asked
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def places(
    finished: Path, tmp_path_factory: pytest.TempPathFactory, proctor: Command, counted: list[str]
) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("tried")
    shutil.copytree(finished, home / "moments")
    docs = home / "docs"
    docs.mkdir()
    for name in ("Arlen", "Borga", "Calder", "Esker"):
        rows = "".join(f"| {name} {part} | {n * 7} |\n" for n, part in enumerate(("east", "west", "port")))
        (docs / f"{name}.md").write_text(
            f"# {name}\n\nIn 1231 the council of {name} built 4 mills.\n\n| Ward | Houses |\n|---|---|\n{rows}"
        )
    Image.new("RGB", (64, 48), (40, 90, 200)).save(docs / "Arlen at dusk.png")
    assert proctor("corpus", "build", home / "documents", "--from", docs).status == 0
    sources = [source.id for source in read_jsonl(home / "documents" / "corpus" / "sources.jsonl", Source)]
    asked = [
        document(
            f"d{n}", text="What did the council of Arlen build in 1231?", answer="Mills.", gold=(sources[n],)
        )
        for n in range(2)
    ]
    write_jsonl(home / "documents" / "documents.jsonl", asked)
    write_rows(home / "steps", [row(n) for n in range(4)])
    found = found_clips(Workspace(home / "clips"), PairOptions(data=(home / "steps",), dataset=("steps",)))
    write_jsonl(home / "clips" / "clips.jsonl", found.clips)
    return {
        "moments": home / "moments" / "bench", "sample": home / "moments" / "sample", "docs": docs, "documents": home / "documents",
        "steps": home / "steps", "clips": home / "clips", "new": home / "new",
    }  # fmt: skip


def files(folder: Path) -> dict[str, bytes | None]:
    return {str(p): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


@pytest.mark.parametrize(("name", "typed"), [*TYPED.items(), *MORE.items()])
def test_a_dry_run_sends_nothing_and_writes_nothing(
    name: str, typed: str, places: dict[str, Path], counted: list[str], proctor: Command
) -> None:
    home = places["docs"].parent
    words = (
        typed.format(m=f"compat/m@{counted[0]}", **places)
        .replace(f"{counted[0]}2", f"{counted[0]}/2")
        .replace(f"{counted[0]}3", f"{counted[0]}/3")
    )
    before = files(home)
    done = proctor(*name.split(), *words.split(), "--dry-run", "--json")
    assert done.status == 0, done.err
    found = done.json if "lines" in done.json else done.json["estimates"][0]
    assert found["new"] > 0
    assert bool(found["left_out"]) == ("frames" in typed), "videos are not here, and this is said"
    assert counted[1:] == []
    assert files(home) == before


def test_what_would_be_embedded_is_counted_and_no_server_is_asked(
    places: dict[str, Path], counted: list[str], proctor: Command
) -> None:
    bench = places["documents"]
    before = files(bench)
    for embedder in (f"compat/m@{counted[0]}", "lsa:4"):
        done = proctor("corpus", "embed", bench, "-e", embedder, "--dry-run", "--json")
        assert done.status == 0, done.err
        sources = len(read_jsonl(bench / "corpus" / "sources.jsonl", Source))
        assert 0 < done.json["texts"] + done.json["pictures"] <= sources
        assert done.json["characters"] > 0
    assert counted[1:] == []
    assert files(bench) == before


def test_functions_and_people_answer_in_experiments_and_a_dry_run_calls_nobody(
    places: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proctor: Command
) -> None:
    bench, asked = tmp_path / "bench", tmp_path / "asked.txt"
    (tmp_path / "own_answers.py").write_text(
        "import pathlib\n\n\ndef answer(shown):\n"
        f"    with pathlib.Path({str(asked)!r}).open('a') as stream:\n        print(shown.id, file=stream)\n    return 'Yes.'\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    typed = [
        "experiment",
        bench,
        "--data",
        places["sample"],
        "--dataset",
        "plain",
        "--show",
        "recipe",
        "--show",
        "question",
    ]
    typed += ["-p", "python:own_answers:answer", "--examples", 4]
    dry = proctor(*typed, "--dry-run", "--json")
    assert dry.status == 0, dry.err
    assert not asked.exists()
    done = proctor(*typed)
    assert done.status == 0, done.err
    items = read_jsonl(bench / "items.jsonl", Item)
    assert len(asked.read_text().split()) == 2 * len(items)
    rows = [{"item_id": item.id, "answer": "No."} for item in items]
    write_jsonl(tmp_path / "anna.jsonl", rows)
    more = proctor(*typed, "-p", "human:anna.jsonl")
    assert more.status == 0, more.err
    assert len(asked.read_text().split()) == 2 * len(items)
    runs = {path.name for path in (bench / "runs").iterdir()}
    assert {
        "human-anna.jsonl",
        "python-own_answers-answer-recipe",
        "python-own_answers-answer-question",
    } <= runs
