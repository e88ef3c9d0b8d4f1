"""``proctor corpus`` as it is typed: documents, several folders, duplicates, and everything that may be wrong with them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.corpus.collection import FORMAT, load_corpus

Command = Callable[..., Any]
PROSE = " ".join(f"The pump {n} moves {n * 7} litres through valve {n % 5} of the housing." for n in range(8))


def note(folder: Path, name: str, text: str = PROSE, rows: int = 3) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    table = "\n".join(f"| part {n} | {n * 11} |" for n in range(rows))
    path.write_text(f"# About {name} in {folder.name}\n\n{text}\n\n| Part | Price |\n|---|---|\n{table}\n")
    return path


def picture(path: Path, colour: int = 90) -> None:
    from PIL import Image

    Image.new("RGB", (64, 48), (colour, 120, 30)).save(path)


def ids(workspace: Path) -> set[str]:
    return {source.id for source in load_corpus(workspace / "corpus")}


def test_a_folder_becomes_a_corpus_that_is_told_about(tmp_path: Path, proctor: Command) -> None:
    docs = tmp_path / "docs"
    note(docs, "pump.md")
    picture(docs / "pump photo.png")
    (docs / "prices.csv").write_text("part,price\nvalve,3\nseal,4\n")
    (docs / "broken.png").write_bytes(b"no picture")
    (docs / "tool.exe").write_bytes(b"MZ")
    (docs / "empty.md").write_text("")
    built = proctor("corpus", "build", tmp_path / "w", "--from", docs, "--licence", "CC0-1.0", "--json")
    assert built.status == 0, built.err
    assert built.json["modalities"] == {"text": 1, "table": 2, "image": 1}
    assert built.json["dropped"] == {"empty-document": 1, "not-an-image": 1, "unknown-kind": 1}
    told = proctor("corpus", "info", tmp_path / "w")
    assert told.status == 0, told.err
    assert "licences: CC0-1.0 4" in told.out
    assert "images: 1 with pixels" in told.out
    assert "1 not-an-image" in told.out


def test_what_was_read_by_a_guess_is_not_left_out(tmp_path: Path, proctor: Command) -> None:
    docs = note(tmp_path / "docs", "x.md").parent
    (docs / "café.txt").write_bytes(f"Le café est prêt. {PROSE}".encode("cp1252"))
    built = proctor("corpus", "build", tmp_path / "w", "--from", docs)
    assert built.status == 0, built.err
    assert (
        len({one.partition("#")[0] for one in ids(tmp_path / "w")}) == 3
    )  # a text and a table, the other text
    for told in (built, proctor("corpus", "info", tmp_path / "w")):
        assert "left out" not in told.out
        assert "read in an encoding that was guessed: 1 (corpus/dropped.jsonl says which" in told.out
    assert "encoding-guessed" in (tmp_path / "w/corpus/dropped.jsonl").read_text()
    (docs / "x.md").unlink()
    (docs / "café.txt").write_bytes("Le café est prêt.".encode("cp1252"))
    refused = proctor("corpus", "build", tmp_path / "v", "--from", docs)
    assert "what was found; 1 were left out." in refused.err
    assert "left out: 1 too_short; the first is text:café.txt#1: " in refused.err


def test_an_error_leaves_no_folder_and_a_folder_that_was_there(tmp_path: Path, proctor: Command) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "short.md").write_text("Too short.")
    (tmp_path / "there").mkdir()
    for name in ("new", "there"):
        refused = proctor("corpus", "build", tmp_path / name, "--from", tmp_path / "docs")
        assert refused.status == 2, refused.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs", "there"]


def test_sources_of_several_folders_stay_apart_by_the_folders_names(tmp_path: Path, proctor: Command) -> None:
    note(tmp_path / "a", "x.md", PROSE)
    note(tmp_path / "b", "x.md", PROSE.replace("pump", "fan"), rows=5)
    built = proctor("corpus", "build", tmp_path / "w", "--from", tmp_path / "a", "--from", tmp_path / "b")
    assert built.status == 0, built.err
    assert ids(tmp_path / "w") == {"text:a/x.md#1", "table:a/x.md#1", "text:b/x.md#1", "table:b/x.md#1"}
    assert {s.doc_id for s in load_corpus(tmp_path / "w" / "corpus")} == {"a/x.md", "b/x.md"}
    alone = proctor("corpus", "build", tmp_path / "v", "--from", tmp_path / "a", "--from", tmp_path / "a")
    assert alone.status == 0, alone.err
    assert ids(tmp_path / "v") == {"text:x.md#1", "table:x.md#1"}, "a folder that is named twice is read once"


@pytest.mark.parametrize("files", [False, True])
def test_two_folders_or_files_of_one_name_are_refused(tmp_path: Path, proctor: Command, files: bool) -> None:
    one, two = note(tmp_path / "a", "x.md"), note(tmp_path / "o" / "a", "x.md", "other words " * 40)
    given = (one, two) if files else (one.parent, two.parent)
    refused = proctor("corpus", "build", tmp_path / "w", "--from", given[0], "--from", given[1])
    assert refused.status == 2
    assert "have the same name" in refused.err
    assert not (tmp_path / "w" / "corpus").exists()


def test_a_workspace_within_the_documents_is_refused(tmp_path: Path, proctor: Command) -> None:
    note(tmp_path / "docs", "x.md")
    for workspace in (tmp_path / "docs" / "w", tmp_path / "docs"):
        refused = proctor("corpus", "build", workspace, "--from", tmp_path / "docs")
        assert refused.status == 2
        assert "is inside the folder that is read" in refused.err


def test_a_link_to_itself_is_refused(tmp_path: Path, proctor: Command) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for places in ((tmp_path / "w", "--from", loop), (loop, "--from", tmp_path)):
        built = proctor("corpus", "build", *places)
        assert (built.status, str(loop) in built.err) == (2, True), built.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "there is nothing to build a corpus from"),
        (("--from", "nowhere"), "there is no such file"),
        (("--from", "empty"), "hold nothing that can be read"),
        (("--from", "odd"), "1 unknown-kind"),
        (("--data", "empty"), "of no known data set"),
        (("--data", "empty", "--dataset", "nonsense"), "there is no data set 'nonsense'"),
        (("--data", "empty", "--dataset", "youcook2"), "not a corpus"),
        (("--recordings", "empty"), "graphs.json"),
        (("--from", "odd", "--near", "7"), "--near"),
    ],
)
def test_what_is_no_corpus_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proctor: Command, arguments: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "x.exe").write_bytes(b"MZ")
    refused = proctor("corpus", "build", "w", *arguments)
    assert refused.status == 2
    assert told in refused.err
    assert "Traceback" not in refused.err
    assert not (tmp_path / "w" / "corpus" / "manifest.json").exists()


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory, proctor: Command) -> Path:
    """A corpus with a text that nearly repeats another one."""
    home = tmp_path_factory.mktemp("twins")
    note(home / "docs", "a.md", PROSE)
    note(home / "docs", "b.md", PROSE.replace("valve 3", "valve three"), rows=6)
    built = proctor("corpus", "build", home / "w", "--from", home / "docs")
    assert built.status == 0, built.err
    return home / "w"


def test_duplicates_are_listed_and_collapsed_when_it_is_asked_for(
    twins: Path, tmp_path: Path, proctor: Command
) -> None:
    w = Path(shutil.copytree(twins, tmp_path / "w"))
    before = (w / "corpus" / "sources.jsonl").read_bytes()
    listed = proctor("corpus", "dedupe", w, "--near", "0.5", "--json")
    assert listed.status == 0, listed.err
    assert listed.json["near"] == 1
    assert listed.json["applied"] is False
    assert (w / "corpus" / "sources.jsonl").read_bytes() == before
    applied = proctor("corpus", "dedupe", w, "--near", "0.5", "--apply", "--json")
    assert applied.json["left"] == listed.json["sources"] - 1
    (group,) = listed.json["groups"]
    corpus = load_corpus(w / "corpus")
    assert dict(corpus.aliases) == {group["aliases"][0]: group["kept"]}
    assert proctor("corpus", "dedupe", w, "--near", "0.5", "--json").json["groups"] == []


def test_of_ten_thousand_equal_texts_one_is_left(tmp_path: Path, proctor: Command) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    rows = f"{PROSE},0\n" * 10_000
    (docs / "same.csv").write_text("text,n\n" + rows)
    built = proctor("corpus", "build", tmp_path / "w", "--from", docs, "--json")
    assert built.status == 0, built.err
    assert built.json["sources"] + built.json["aliases"] > 100
    assert built.json["sources"] <= 3, "parts of a table that are equal are one source"


@pytest.mark.parametrize("name", ["manifest.json", "sources.jsonl", "aliases.jsonl"])
@pytest.mark.parametrize("junk", [b"\x00\xff{{{", b"[1, 2]\n"])
def test_a_damaged_corpus_is_told_by_its_file(
    twins: Path, tmp_path: Path, proctor: Command, name: str, junk: bytes
) -> None:
    w = Path(shutil.copytree(twins, tmp_path / "w"))
    (w / "corpus" / name).write_bytes(junk)
    told = proctor("corpus", "info", w)
    assert told.status == 2
    assert name in told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize(("step", "age"), [(1, "newer"), (-1, "older")])
def test_a_corpus_of_another_version_is_refused_by_name(
    twins: Path, tmp_path: Path, proctor: Command, step: int, age: str
) -> None:
    w = Path(shutil.copytree(twins, tmp_path / "w"))
    path = w / "corpus" / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "format": FORMAT + step}))
    for command in (
        ("corpus", "info", w),
        ("corpus", "dedupe", w),
        ("generate", "documents", w, "-g", "compat/x"),
    ):
        told = proctor(*command)
        assert told.status == 2
        assert f"{age} than format {FORMAT}" in told.err


def test_a_corpus_that_is_not_there_is_told_with_the_command_that_makes_it(
    tmp_path: Path, proctor: Command
) -> None:
    for command in (("info",), ("dedupe",)):
        told = proctor("corpus", *command, tmp_path / "w")
        assert told.status == 2
        assert "proctor corpus build" in told.err


def test_sources_are_embedded_beforehand_by_processes_too(tmp_path: Path, proctor: Command) -> None:
    for name in ("a.md", "b.md", "c.md"):
        note(tmp_path / "docs", name, PROSE.replace("pump", name[0] * 4))
    assert proctor("corpus", "build", tmp_path / "w", "--from", tmp_path / "docs").status == 0
    made = proctor("corpus", "embed", tmp_path / "w", "-e", "lsa:4", "--workers", "2", "--json")
    assert made.status == 0, made.err
    assert (made.json["sources"], made.json["dimension"]) == (6, 4)
    again = proctor("corpus", "embed", tmp_path / "w", "-e", "lsa:4", "--json")
    assert again.json == made.json
    assert proctor("corpus", "embed", tmp_path / "w", "-e", "word2vec").status == 2
