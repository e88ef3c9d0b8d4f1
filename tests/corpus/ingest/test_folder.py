"""Folders: order, odd names, links, two runs alike; and the process that reads."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus.ingest.makers import drops_of, handbook, image_bytes, prose, sources_of

from proctor.corpus.ingest import documents
from proctor.corpus.ingest.blocks import caption_from_name, document_id, safe_name
from proctor.corpus.ingest.folder import ingest_file, ingest_folder
from proctor.corpus.ingest.isolation import Answer, Job, ReaderProcess
from proctor.corpus.ingest.reading import IngestOptions
from proctor.corpus.source import Source
from proctor.errors import MissingExtraError, UserError
from proctor.records import Dropped

Ingest = Callable[..., list[Source | Dropped]]


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    folder = tmp_path / "mixed"
    (folder / "sub" / "deep").mkdir(parents=True)
    handbook(folder / "book.pdf", pages=1)
    (folder / "page.html").write_text(f'<h1>P</h1><p>{prose(1, 5)}</p><img src="sub/shown.png" alt="Shown">')
    (folder / "sub" / "shown.png").write_bytes(image_bytes(1))
    (folder / "sub" / "alone.png").write_bytes(image_bytes(2))
    (folder / "sub" / "alone.txt").write_text("Alone")
    (folder / "sub" / "deep" / "t.tsv").write_text("a\tb\n1\t2\n")
    (folder / "notes.md").write_text(prose(2, 5))
    (folder / ".hidden").write_text("x")
    (folder / "what.xyz").write_text("x")
    return folder


def test_a_mixed_folder_in_the_order_of_paths_and_twice_the_same(mixed: Path, tmp_path: Path) -> None:
    runs = []
    for run in ("one", "two"):
        out = tmp_path / run / "images"
        options = IngestOptions(licence="CC-BY-4.0", isolate=run == "two")
        found = list(ingest_folder(mixed, out_images=out, options=options))
        kept = sorted((p.name, p.read_bytes()) for p in out.iterdir())
        runs.append((msgspec.json.encode(found), kept))
    assert runs[0] == runs[1]
    sources = sources_of(found)
    assert list(dict.fromkeys(s.doc_id for s in sources)) == [
        "book.pdf", "notes.md", "page.html", "sub/deep/t.tsv", "sub/alone.png"
    ]  # fmt: skip
    assert len({s.id for s in sources}) == len(sources)
    assert {s.licence for s in sources} == {"CC-BY-4.0"}
    assert drops_of(found) == {"what.xyz": "unknown-kind"}
    assert [s.caption for s in sources if s.modality == "image"][1:] == ["Shown", "Alone"]


def test_odd_names_give_safe_unique_ids(tmp_path: Path, ingest: Ingest) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    names = [
        "a b.md",
        "a%20b.md",
        "a#1.md",
        "a:b.md",
        "ü ber.md",
        "new\nline.md",
        "-rf.md",
        "'q\".md",
        "é.md",
        "e\u0301.md",
    ]
    for number, name in enumerate(names):
        (folder / name).write_text(prose(number, 4))
    bad = os.fsdecode(b"not\xffutf8.md")
    (folder / bad).write_text(prose(99, 4))
    found = ingest(folder)
    sources = sources_of(found)
    assert len({s.id for s in sources}) == len(names) + 1
    assert "text:a%20b.md#1" in {s.id for s in sources}
    assert "text:a%2520b.md#1" in {s.id for s in sources}
    for source in sources:
        assert not set(source.id) & set(" \n\"'")
        assert source.id.count("#") == 1
    msgspec.json.decode(msgspec.json.encode(found))
    assert {s.doc_id for s in sources} == {*names, "not%FFutf8.md"}


@given(st.text(max_size=12), st.text(max_size=12))
def test_different_names_stay_different(one: str, other: str) -> None:
    one, other = (text.encode("utf-8", "ignore").decode() for text in (one, other))
    assert (safe_name(one) == safe_name(other)) == (one == other)


def test_names() -> None:
    folder = Path("/x")
    assert document_id(folder / "a b" / "c.md", folder) == "a b/c.md"
    assert caption_from_name(Path("red_kettle-2.jpg")) == "red kettle 2"


def test_links_and_special_files(tmp_path: Path, ingest: Ingest) -> None:
    folder, outside = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    outside.mkdir()
    (outside / "secret.md").write_text(prose(1, 5))
    (folder / "good.md").write_text(prose(2, 5))
    (folder / "file.md").symlink_to(outside / "secret.md")
    (folder / "tree").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    (folder / "gone.md").symlink_to(folder / "nothing")
    (folder / "again.md").symlink_to(folder / "good.md")
    os.mkfifo(folder / "pipe.md")
    found = ingest(folder)
    assert [s.doc_id for s in sources_of(found)] == ["again.md", "good.md"]
    assert drops_of(found) == {
        "file.md": "link-outside",
        "tree": "link-outside",
        "loop": "link-to-folder",
        "gone.md": "broken-link",
        "pipe.md": "not-a-file",
    }


def test_a_sidecar_that_leads_out_is_not_read(tmp_path: Path, ingest: Ingest) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "secret").write_text("top secret")
    (folder / "a.png").write_bytes(image_bytes(1))
    (folder / "a.txt").symlink_to(tmp_path / "secret")
    found = ingest(folder)
    assert [s.caption for s in sources_of(found)] == ["a"]
    assert drops_of(found) == {"a.txt": "link-outside"}


def test_the_folder_of_images_is_not_read_again(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(image_bytes(1))
    for _ in range(2):
        found = list(
            ingest_folder(tmp_path, out_images=tmp_path / "images", options=IngestOptions(isolate=False))
        )
        assert [getattr(s, "id", "") for s in found] == ["image:a.png"]


def test_what_the_user_has_to_put_right(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        list(ingest_folder(tmp_path / "none", out_images=None))
    with pytest.raises(UserError, match="no such file"):
        list(ingest_file(tmp_path / "none.pdf", out_images=None))
    (tmp_path / "a.md").write_text("x")
    with pytest.raises(UserError, match="not in the folder"):
        list(ingest_file(tmp_path / "a.md", out_images=None, folder=tmp_path / "b"))
    with pytest.raises(UserError, match="max_pages is 0"):
        IngestOptions(max_pages=0)
    with pytest.raises(UserError, match="min_passage"):
        IngestOptions(passage_length=100)
    (tmp_path / "p.png").write_bytes(image_bytes(1))
    (tmp_path / "images").write_text("a file where a folder has to be")
    for isolate in (True, False):
        options = IngestOptions(isolate=isolate)
        with pytest.raises(UserError, match="images cannot be made"):
            list(ingest_file(tmp_path / "p.png", out_images=tmp_path / "images", options=options))


def test_the_extra_is_named_where_a_package_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "find_spec", lambda name: None if name == "pdfplumber" else object())
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    with pytest.raises(MissingExtraError, match="pdfplumber") as caught:
        list(ingest_file(tmp_path / "a.pdf", out_images=None))
    assert "[corpus]" in str(caught.value)


# -- the process -------------------------------------------------------------------------------------------------


def job_of(path: Path, options: IngestOptions) -> Job:
    return Job("plain", os.fsencode(path), os.fsencode(path.parent), None, options)


def test_a_reading_that_takes_too_long_is_stopped_and_the_next_one_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    options = IngestOptions(max_seconds=0.001)
    with ReaderProcess(options) as process:
        assert process.read(job_of(tmp_path / "a.txt", options)).failed is not None
        patient = IngestOptions(max_seconds=60)
        process._options = patient
        assert len(process.read(job_of(tmp_path / "a.txt", patient)).blocks) == 1


def test_a_process_that_dies_is_told_and_the_next_one_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    options = IngestOptions()
    with ReaderProcess(options) as process:
        assert process.read(job_of(tmp_path / "a.txt", options)).failed is None
        assert process._process is not None
        process._process.kill()
        process._process.wait()
        failed = process.read(job_of(tmp_path / "a.txt", options)).failed
        assert failed is not None
        assert failed[0] == "reader-died"
        assert "SIGKILL" in failed[1]
        assert process.read(job_of(tmp_path / "a.txt", options)).failed is None


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS does not keep limits of address space")
def test_memory_has_a_limit(tmp_path: Path) -> None:
    (tmp_path / "big.csv").write_text("a,b\n" + "1,2\n" * 1_500_000)
    (tmp_path / "small.csv").write_text("a,b\n1,2\n")
    options = IngestOptions(max_memory=300 * 2**20)
    assert sources_of(list(ingest_file(tmp_path / "small.csv", out_images=None, options=options)))
    found = list(ingest_file(tmp_path / "big.csv", out_images=None, options=options))
    assert not sources_of(found)
    assert set(drops_of(found).values()) <= {"too-much-memory", "reader-died"}


def test_nothing_is_imported_from_the_folder_one_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "charset_normalizer.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    (tmp_path / "a.txt").write_bytes("schön größer".encode("latin-1") * 50)
    monkeypatch.chdir(tmp_path)
    found = list(ingest_file(tmp_path / "a.txt", out_images=None))
    assert sources_of(found)
    assert not (tmp_path / "ran").exists()


def test_an_answer_survives_the_way() -> None:
    answer = Answer(failed=("a", "b"))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(answer), type=Answer) == answer
