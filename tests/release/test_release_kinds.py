"""A release of questions of several kinds: everything comes back, and what may not be passed on is only named."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.moments import moment_item

from proctor.corpus.collection import Corpus
from proctor.corpus.source import text_source
from proctor.errors import UserError
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.library import Library
from proctor.exam.question import Choice, Footage, Gold, Item, Open, Pick, Picture, Question, Source, Text
from proctor.llm.media import MediaStore
from proctor.procedure.graph import TaskGraph
from proctor.release.build import RULES
from proctor.release.folder import changed_files, load_benchmark, write_release
from proctor.release.manifest import Manifest, ReleaseInfo
from proctor.release.promqa import PromqaRecords
from proctor.release.rows import KIND_COLUMNS, KindRow, from_kind_row, to_kind_row
from proctor.stages.exam_library import exam_library
from proctor.stages.exchange import import_release
from proctor.stages.inputs import load_all_items
from proctor.workspace import Workspace

LONG = "Hot water and leaves make tea. "
PIXELS = b"\x89PNG picture"
DOCUMENT = Item(
    question=Question(
        id="d1", kind="documents", text="What makes tea?", form=Open(need="all"), cluster="tea", facets={"hops": "2"},
        evidence=(Source(id="free"), Source(id="kept")), provenance={"generator": "model"},
    ),
    golds=(Gold(value=Text(text="Water.")), Gold(value=Text(text="Leaves."), written_by="annotator")),
    seen="0123456789abcdef",
)  # fmt: skip
CLIP = Item(
    question=Question(
        id="c1.choice", parent="c1", kind="clip", text="What is poured?", form=Choice(options=("tea", "milk")),
        evidence=(Footage(recording="r", start=3, end=9, video="/home/ana/r.mp4"),), facets={"level": "fine"},
    ),
    golds=(Gold(value=Pick(option=1), approved_by="oracle"),),
)  # fmt: skip
PICTURE = Item(
    question=Question(
        id="p1",
        kind="picture",
        text="What is that?",
        form=Open(),
        evidence=(Picture(path="shown/Cup.PNG"),),
    ),
    golds=(Gold(value=Text(text="A cup.")),),
)

Release = Callable[..., Manifest]


@pytest.fixture
def release(tmp_path: Path, graphs: dict[str, TaskGraph]) -> Release:
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown/Cup.PNG").write_bytes(PIXELS)
    sources = [
        text_source("free", "Tea", LONG, url="https://tea.example", licence="CC-BY-4.0"),
        text_source("kept", "More tea", LONG * 2, doc_id="page", licence=None),
        text_source("other", "Milk", LONG * 3, licence="MIT"),
    ]
    library = Library(media=MediaStore(), corpus=Corpus(sources), root=tmp_path)

    def write(*items: Item, **more: Any) -> Manifest:
        info = ReleaseInfo(name="mixed", licence="CC-BY-4.0")
        settings = {"library": library, **more}
        return write_release(tmp_path / "release", items, graphs, info, RULES["humans"], **settings)

    return write


def test_every_kind_comes_back(release: Release, records: PromqaRecords, tmp_path: Path) -> None:
    moment = msgspec.structs.replace(records.items[0], seen="")
    manifest = release(DOCUMENT, moment, CLIP, PICTURE)
    found = load_benchmark(tmp_path / "release")
    name = f"pictures/{hashlib.sha256(PIXELS).hexdigest()}.png"
    by_id = {item.id: item for item in found.items}
    assert by_id["d1"] == DOCUMENT
    assert by_id[moment.id] == moment
    assert by_id["c1.choice"].question.evidence == (Footage(recording="r", start=3, end=9, video="r.mp4"),)
    assert by_id["c1.choice"].golds == CLIP.golds
    assert by_id["p1"].question.evidence == (Picture(path=name, sha256=hashlib.sha256(PIXELS).hexdigest()),)
    assert (tmp_path / "release" / name).read_bytes() == PIXELS
    assert list(found.graphs) == [moment_example(moment.question).activity_id]
    assert {kind: n.items for kind, n in manifest.counts.kinds.items()} == {
        "clip": 1, "documents": 1, "moment": 1, "picture": 1
    }  # fmt: skip
    assert manifest.counts.kinds["documents"].facets == {"hops": {"2": 1}}
    assert changed_files(tmp_path / "release") == ()


def test_the_content_of_a_source_is_in_it_only_where_its_licence_allows(
    release: Release, tmp_path: Path
) -> None:
    manifest = release(DOCUMENT)
    free, kept = load_benchmark(tmp_path / "release").sources
    assert (free.body, free.url) == (LONG, "https://tea.example")
    assert (kept.id, kept.doc_id, kept.body, kept.title) == ("kept", "page", "", "")
    assert kept.content_hash
    assert manifest.library is not None
    assert (manifest.library.sources, manifest.library.named) == ({"CC-BY-4.0": 1}, {"unknown": 1})
    files = {p.name for p in (tmp_path / "release").rglob("*") if p.is_file()}
    assert files == {"README.md", "manifest.json", "documents.jsonl", "sources.jsonl"}
    card = (tmp_path / "release/README.md").read_text()
    assert "- config_name: documents" in card
    assert "1 sources are named there without their content; licences: unknown (1)" in card


def test_what_was_released_can_be_taken_elsewhere(release: Release, tmp_path: Path) -> None:
    release(DOCUMENT, PICTURE)
    import_release(tmp_path / "release", tmp_path / "there")
    workspace = Workspace(tmp_path / "there")
    items = load_all_items(workspace)
    assert [item.id for item in items] == ["d1", "p1"]
    library = exam_library(workspace, items, MediaStore())
    assert library.corpus is not None
    assert [source.id for source in library.corpus] == ["free"]
    (part,) = items[1].question.evidence
    assert isinstance(part, Picture)
    assert (library.root / part.path).read_bytes() == PIXELS


@pytest.mark.parametrize("file", ["data/picture.jsonl", "sources.jsonl", "pictures"])
def test_a_changed_file_is_noticed(release: Release, tmp_path: Path, file: str) -> None:
    release(DOCUMENT, PICTURE)
    path = tmp_path / "release" / file
    path = next(path.iterdir()) if path.is_dir() else path
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(UserError, match="not the one that was released"):
        load_benchmark(tmp_path / "release")


def test_what_cannot_be_shipped_is_an_error(release: Release, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="that a question cites"):
        release(DOCUMENT, library=None)
    (tmp_path / "shown/Cup.PNG").unlink()
    with pytest.raises(UserError, match="Cup"):
        release(PICTURE)
    odd = msgspec.structs.replace(
        PICTURE, question=msgspec.structs.replace(PICTURE.question, kind="../x", evidence=())
    )
    with pytest.raises(UserError, match="cannot name a file"):
        release(odd)
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize("item", [DOCUMENT, CLIP, PICTURE])
def test_a_row_says_what_its_record_says(item: Item) -> None:
    assert tuple(KIND_COLUMNS) == KindRow.__struct_fields__
    row = msgspec.json.decode(msgspec.json.encode(to_kind_row(item)), type=KindRow)
    assert from_kind_row(row, "here") == item
    with pytest.raises(UserError, match="something else"):
        from_kind_row(msgspec.structs.replace(row, question="Edited?"), "here")
    with pytest.raises(UserError, match="record"):
        from_kind_row(msgspec.structs.replace(row, record="{}"), "here")


def test_the_card_is_read_by_the_hub(release: Release, records: PromqaRecords, tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    release(*records.items, moment_item(moment_example(records.items[0].question), "And now?", ["x"]), CLIP)
    front = yaml.safe_load((tmp_path / "release/README.md").read_text().split("---")[1])
    assert [c["config_name"] for c in front["configs"]] == ["default", "clip"]
    assert [d["splits"][0]["num_examples"] for d in front["dataset_info"]] == [5, 1]
