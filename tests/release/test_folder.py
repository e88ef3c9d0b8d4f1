"""A release is written whole or not at all, says what is in it, and is read only when nothing was changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.moments import gold, moment_item, with_example, without_seen

from proctor.errors import MissingExtraError, UserError
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.question import Item
from proctor.procedure.graph import TaskGraph
from proctor.records import Dropped, file_sha256, write_json, write_jsonl
from proctor.release import folder as module
from proctor.release.build import RULES
from proctor.release.folder import (
    Benchmark,
    benchmark_names,
    changed_files,
    load_benchmark,
    read_release,
    write_release,
)
from proctor.release.manifest import Manifest, ReleaseInfo, Source, count_items
from proctor.release.promqa import PromqaRecords
from proctor.release.rows import COLUMNS, Row, from_row, to_row, without_local_paths

INFO = ReleaseInfo(
    name="tiny-tea",
    version="1.2.0",
    title="Tiny tea",
    licence="Apache-2.0",
    summary="Four questions about tea.",
    citation="Nobody (2026)",
    sources=(Source(name="hand", title="Made by hand", version="3", licence="CC0-1.0"),),
    limits=("It is tiny.",),
)

Write = Callable[..., Manifest]


@pytest.fixture
def write(records: PromqaRecords, graphs: dict[str, TaskGraph]) -> Write:
    def write_(path: Path, **more: Any) -> Manifest:
        settings: dict[str, Any] = {
            "items": records.items,
            "graphs": graphs,
            "info": INFO,
            "rules": RULES["humans"],
            "candidates": records.questions,
            "verdicts": records.verdicts,
            "dropped": [Dropped("x", "question-rejected")],
            "seeds": {"run": 7},
            **more,
        }
        return write_release(
            path,
            settings.pop("items"),
            settings.pop("graphs"),
            settings.pop("info"),
            settings.pop("rules"),
            **settings,
        )

    return write_


def _files(path: Path) -> dict[str, bytes]:
    return {p.relative_to(path).as_posix(): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


# -- there and back ------------------------------------------------------------------------------------------


def test_what_is_released_comes_back_equal(
    write: Write, records: PromqaRecords, graphs: dict[str, TaskGraph], tmp_path: Path
) -> None:
    manifest = write(tmp_path / "release")
    benchmark = load_benchmark(tmp_path / "release")
    assert benchmark.items == without_seen(records.items)
    assert benchmark.graphs == graphs
    assert benchmark.manifest == manifest
    assert (benchmark.name, benchmark.version) == ("tiny-tea", "1.2.0")
    assert benchmark.signature.startswith("tiny-tea@1.2.0#")
    assert changed_files(tmp_path / "release") == ()


def test_the_manifest_says_what_is_in_it(write: Write, tmp_path: Path) -> None:
    manifest = write(tmp_path / "release", parquet=True)
    assert set(manifest.files) == {
        "README.md", "graphs.json", "data/test.jsonl", "data/default/test-00000-of-00001.parquet"
    }  # fmt: skip
    for name, entry in manifest.files.items():
        assert entry.sha256 == file_sha256(tmp_path / "release" / name)
        assert entry.bytes == (tmp_path / "release" / name).stat().st_size
    counts = manifest.counts
    assert (counts.items, counts.golds, counts.recordings, counts.activities) == (4, 7, 2, 1)
    assert counts.by_type == {"next": 1, "missing": 1, "order": 1, "technique": 1}
    assert (counts.clean, counts.noisy) == (3, 1)
    assert counts.golds_by_source == {"adjudicator": 1, "annotator": 2, "machine": 4}
    assert counts.golds_by_approver == {"adjudicator": 5, "annotator": 2}
    assert counts.dropped == {"question-rejected": 1}
    assert manifest.seeds == {"run": 7}
    assert manifest.generators == [
        {"generator": "promqa", "version": "published", "model": "hand", "items": "4"}
    ]
    assert manifest.verification.annotators == {"human": 2}
    assert manifest.verification.answer_agreement is not None
    assert manifest.verification.answer_agreement[0] == 0.5
    assert manifest.rules == RULES["humans"]


def test_the_same_inputs_give_the_same_bytes(write: Write, tmp_path: Path) -> None:
    write(tmp_path / "a", parquet=True)
    write(tmp_path / "elsewhere/b", parquet=True)
    assert _files(tmp_path / "a") == _files(tmp_path / "elsewhere/b")


def test_no_path_of_this_machine_is_published(write: Write, records: PromqaRecords, tmp_path: Path) -> None:
    def at(video: str) -> Item:
        item = records.items[0]
        return with_example(item, video=video)

    for video, shown in [
        ("/home/ana/videos/7_1.mp4", "7_1.mp4"),
        ("C:\\Users\\ana\\7_1.mp4", "7_1.mp4"),
        ("../../ana/7_1.mp4", "7_1.mp4"),
        ("videos/7_1.mp4", "videos/7_1.mp4"),
    ]:
        assert moment_example(without_local_paths(at(video)).question).video == shown
    write(tmp_path / "release", items=[at("/home/ana/videos/7_1.mp4")])
    content = b"".join(_files(tmp_path / "release").values())
    assert b"ana" not in content
    assert str(tmp_path).encode() not in content


def test_the_signature_follows_the_data_not_the_card(
    write: Write, records: PromqaRecords, tmp_path: Path
) -> None:
    one = write(tmp_path / "a").signature
    other_words = msgspec.structs.replace(INFO, summary="Other words.")
    assert write(tmp_path / "b", info=other_words).signature == one
    assert write(tmp_path / "c", items=records.items[:3]).signature != one
    assert write(tmp_path / "d", info=msgspec.structs.replace(INFO, version="1.2.1")).signature != one


@given(
    st.text(max_size=30),
    st.lists(
        st.tuples(st.text(max_size=20), st.lists(st.text(max_size=4), max_size=3)), min_size=0, max_size=4
    ),
)
def test_any_text_survives_a_row(question: str, golds: list[tuple[str, list[str]]]) -> None:
    from proctor.exam.kinds.example import Example

    example = Example(
        id=question, clip_id="c", recording_id="r", activity_id="a", activity_name=question, type="next", end=1.5,
        state="started", noisy=False,
    )  # fmt: skip
    accepted = [gold(text, cites=tuple(steps)) for text, steps in golds]
    item = moment_item(example, question, accepted, name="i", candidate="c")
    row = msgspec.json.decode(msgspec.json.encode(to_row(item)), type=Row)
    assert from_row(row, "here") == item


def test_the_columns_are_those_of_the_row() -> None:
    assert tuple(COLUMNS) == Row.__struct_fields__


# -- replacing -----------------------------------------------------------------------------------------------


def test_an_older_release_is_replaced(write: Write, records: PromqaRecords, tmp_path: Path) -> None:
    path = tmp_path / "release"
    write(path, parquet=True)
    write(path, items=records.items[:2])
    assert len(load_benchmark(path).items) == 2
    assert set(_files(path)) == {"README.md", "graphs.json", "manifest.json", "data/test.jsonl"}
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_an_empty_folder_is_filled(write: Write, tmp_path: Path) -> None:
    (tmp_path / "release").mkdir()
    write(tmp_path / "release")
    assert len(load_benchmark(tmp_path / "release").items) == 4


def test_nothing_that_is_not_ours_is_deleted(write: Write, tmp_path: Path) -> None:
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter1.tex").write_text("x")
    with pytest.raises(UserError, match="not a release"):
        write(folder)
    release = tmp_path / "release"
    write(release)
    (release / ".git").mkdir()
    (release / ".git/config").write_text("x")
    with pytest.raises(UserError, match=r"not part of it: \.git/config"):
        write(release)
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("x")
    link.symlink_to(release)
    for place in (file, link):
        with pytest.raises(UserError, match="a folder was expected"):
            write(place)
    assert len(load_benchmark(release).items) == 4


@pytest.mark.parametrize("failing", ["write_jsonl", "render_card", "write_json"])
def test_the_older_release_survives_a_failure(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "release"
    write(path)
    before = _files(path)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, failing, fail)
    with pytest.raises(UserError, match="No space left"):
        write(path)
    assert _files(path) == before
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_the_older_release_is_put_back_when_the_new_one_cannot_take_its_place(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "release"
    write(path)
    before = _files(path)
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name.endswith(".new"):
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(UserError, match="older release is untouched"):
        write(path)
    assert _files(path) == before
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from proctor.release.folder import load_benchmark, write_release
from proctor.errors import UserError
benchmark = load_benchmark(Path(sys.argv[1]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    write_release(Path(sys.argv[1]), benchmark.items, benchmark.graphs, benchmark.manifest.info, benchmark.manifest.rules)
except UserError as error:
    print(error)
    raise SystemExit(2)
"""


def test_a_full_disk_leaves_the_older_release(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "release"
    write(path)
    before = _files(path)
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, timeout=180, check=False
    )
    assert (done.returncode, done.stderr) == (2, "")
    assert "cannot be written" in done.stdout
    assert _files(path) == before
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_what_cannot_be_released(write: Write, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no item"):
        write(tmp_path / "a", items=[])
    with pytest.raises(UserError, match="task graph of activity '7' is missing"):
        write(tmp_path / "a", graphs={})
    for name in ("", "a/b", "../x", "a b", "-x", "a#b", "x" * 90):
        with pytest.raises(UserError, match="name of a release"):
            write(tmp_path / "a", info=msgspec.structs.replace(INFO, name=name))
    with pytest.raises(UserError, match="version of a release"):
        write(tmp_path / "a", info=msgspec.structs.replace(INFO, version="1|2"))
    assert not (tmp_path / "a").exists()


def test_parquet_without_pyarrow_names_the_extra(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="parquet"):
        write(tmp_path / "release", parquet=True)
    assert not (tmp_path / "release").exists()


# -- tampering -----------------------------------------------------------------------------------------------


@pytest.fixture
def released(write: Write, tmp_path: Path) -> Path:
    write(tmp_path / "release", parquet=True)
    return tmp_path / "release"


@pytest.mark.parametrize(
    "name", ["data/test.jsonl", "graphs.json", "data/default/test-00000-of-00001.parquet"]
)
@pytest.mark.parametrize(
    ("how", "seen"),
    [
        (lambda content: content[:-20], "bytes instead of"),
        (lambda content: content[:40] + b"#" + content[41:], "same size"),
        (lambda content: b"", "0 bytes instead of"),
        (None, "no such file"),
    ],
)
def test_a_changed_file_is_refused(
    released: Path, name: str, how: Callable[[bytes], bytes] | None, seen: str
) -> None:
    path = released / name
    if how is None:
        path.unlink()
    else:
        path.write_bytes(how(path.read_bytes()))
    with pytest.raises(UserError, match=seen) as caught:
        load_benchmark(released)
    assert name in str(caught.value)
    assert changed_files(released) == (name,)


def test_the_card_may_be_edited_but_it_is_told(released: Path) -> None:
    (released / "README.md").write_text("my words")
    assert len(load_benchmark(released).items) == 4
    assert changed_files(released) == ("README.md",)


def _edit_manifest(released: Path, **changes: Any) -> None:
    path = released / "manifest.json"
    manifest = json.loads(path.read_text())
    for key, value in changes.items():
        if value is None:
            del manifest[key]
        else:
            manifest[key] = value
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"format": "croissant"}, "something else"),
        ({"format_version": 2}, "newer Proctor"),
        ({"signature": "tiny-tea@1.2.0#0000"}, "signature does not fit"),
        ({"info": {"name": "other"}}, "signature does not fit"),
        ({"counts": None}, "counts"),
        ({"files": {}}, "does not list"),
        ({"files": {"../../etc/passwd": {"sha256": "", "bytes": 0}}}, "outside the release"),
        ({"files": {"/etc/passwd": {"sha256": "", "bytes": 0}}}, "outside the release"),
        ({"files": {"a\\..\\b": {"sha256": "", "bytes": 0}}}, "outside the release"),
        ({"files": {"x": {"sha256": 5, "bytes": 0}}}, "sha256"),
        ({"rules": {"conflict": "fight"}}, "fight"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(released: Path, changes: dict[str, Any], seen: str) -> None:
    _edit_manifest(released, **changes)
    with pytest.raises(UserError, match=seen):
        load_benchmark(released)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"format": 1}', b"[" * 100_000])
def test_a_broken_manifest_is_refused(released: Path, content: bytes) -> None:
    (released / "manifest.json").write_bytes(content)
    with pytest.raises(UserError, match=r"manifest\.json"):
        load_benchmark(released)


def _reseal(released: Path, name: str, content: bytes) -> None:
    """Change a file and make the manifest fit, so that only its content can be wrong."""
    (released / name).write_bytes(content)
    manifest = msgspec.json.decode((released / "manifest.json").read_bytes(), type=Manifest)
    files = {**manifest.files, name: module._entry(released / name)}
    data = {n: e for n, e in files.items() if n != "README.md"}
    write_json(
        released / "manifest.json",
        msgspec.structs.replace(manifest, files=files, signature=module.sign(manifest.info, data)),
    )


@pytest.mark.parametrize(
    ("edit", "seen"),
    [
        (lambda rows: rows[:3], "holds 3 questions, the manifest says 4"),
        (lambda rows: [*rows[:3], rows[0]], "occurs more than once"),
        (lambda rows: [{**rows[0], "answer_kinds": []}, *rows[1:]], "differ in length"),
        (lambda rows: [{**rows[0], "answer_sources": ["robot"]}, *rows[1:]], "robot"),
        (lambda rows: [{**rows[0], "facts": "{}"}, *rows[1:]], "facts"),
        (lambda rows: [{**rows[0], "noisy": 1}, *rows[1:]], r"test\.jsonl:1"),
        (lambda rows: [rows[0], {"question": "?"}], r"test\.jsonl:2"),
    ],
)
def test_rows_that_do_not_hold_are_refused(
    released: Path, edit: Callable[[list[Any]], list[Any]], seen: str
) -> None:
    rows = [json.loads(line) for line in (released / "data/test.jsonl").read_bytes().splitlines()]
    _reseal(released, "data/test.jsonl", b"\n".join(json.dumps(row).encode() for row in edit(rows)))
    with pytest.raises(UserError, match=seen):
        load_benchmark(released)


def test_graphs_that_are_none_are_refused(released: Path) -> None:
    graphs = json.loads((released / "graphs.json").read_text())
    graphs["7"]["edges"].append(["5", "1"])
    _reseal(released, "graphs.json", json.dumps(graphs).encode())
    with pytest.raises(UserError, match="cycle"):
        load_benchmark(released)


# -- by name and from a workspace ----------------------------------------------------------------------------


def test_a_workspace_is_a_benchmark_that_is_not_released(
    records: PromqaRecords, tmp_path: Path, write: Write
) -> None:
    space = tmp_path / "my space"
    with pytest.raises(UserError, match="no such folder, and no benchmark of that name"):
        load_benchmark(space)
    space.mkdir()
    with pytest.raises(UserError, match="neither a release"):
        load_benchmark(space)
    write(space / "release")
    assert load_benchmark(space).name == "tiny-tea"
    write_jsonl(space / "items.jsonl", records.items)
    benchmark = load_benchmark(space)
    assert (benchmark.items, benchmark.name, benchmark.version) == (records.items, "my space", "workspace")
    write_jsonl(space / "items.jsonl", [*records.items, records.items[0]])
    with pytest.raises(UserError, match="occurs more than once"):
        load_benchmark(space)


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    def register_(value: Any) -> None:
        class Point(EntryPoint):
            def load(self) -> Any:
                if isinstance(value, Exception):
                    raise value
                return value

        point = Point("tea", "somewhere:BENCHMARK", "proctor.benchmarks")
        monkeypatch.setattr(module, "entry_points", lambda *, group: [point])

    return register_


def test_a_registered_benchmark_is_found_by_name(register: Callable[[Any], None], released: Path) -> None:
    given_: Benchmark = read_release(released)
    for value in (released, str(released), given_, lambda: released, lambda: given_):
        register(value)
        assert benchmark_names() == ("tea",)
        assert load_benchmark("tea") == given_
    register(5)
    with pytest.raises(UserError, match="neither a folder nor a Benchmark"):
        load_benchmark("tea")
    register(ImportError("no module"))
    with pytest.raises(UserError, match="does not load: no module"):
        load_benchmark("tea")
    with pytest.raises(UserError, match="registered names: tea"):
        load_benchmark("coffee")
    with pytest.raises(UserError, match="no benchmark of that name"):
        load_benchmark("x\0y")


# -- what others read ----------------------------------------------------------------------------------------

LOAD = """
import json, sys
from datasets import load_dataset
rows = load_dataset(sys.argv[1], split="test")
print(json.dumps({"rows": list(rows), "features": {k: str(v) for k, v in rows.features.items()}}))
"""


@pytest.fixture(scope="module")
def hub_home() -> Iterator[Path]:
    pytest.importorskip("datasets", reason="needs the extra 'hf'")
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.parametrize("parquet", [False, True])
def test_the_folder_loads_with_datasets_offline(
    write: Write, tmp_path: Path, hub_home: Path, parquet: bool
) -> None:
    path = tmp_path / "release"
    write(path, parquet=parquet)
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(hub_home),
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(path)],
        capture_output=True, text=True, timeout=240, check=False, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "dataset card" not in done.stderr, "the front matter was not understood"
    loaded = json.loads(done.stdout)
    assert loaded["rows"] == [
        json.loads(line) for line in (path / "data/test.jsonl").read_bytes().splitlines()
    ]
    shown = {
        "string": "Value('string')",
        "float64": "Value('float64')",
        "bool": "Value('bool')",
        "list": "List(Value('string'))",
        "lists": "List(List(Value('string')))",
    }
    assert loaded["features"] == {name: shown[kind] for name, kind in COLUMNS.items()}


def test_counts_of_nothing() -> None:
    counts = count_items([])
    assert (counts.items, counts.by_type) == (0, {})


@pytest.mark.shared
def test_all_195_are_released_and_read_again(
    dev_records: PromqaRecords, dev_graphs: dict[str, TaskGraph], tmp_path: Path
) -> None:
    path = tmp_path / "release"
    write_release(
        path,
        dev_records.items,
        dev_graphs,
        ReleaseInfo(name="promqa-dev", licence="Apache-2.0"),
        RULES["humans"],
        candidates=dev_records.questions,
        verdicts=dev_records.verdicts,
    )
    benchmark = load_benchmark(path)
    assert benchmark.items == without_seen(dev_records.items)
    assert benchmark.manifest is not None
    assert benchmark.manifest.counts.golds == 373
    assert len(benchmark.graphs) == 12
    shutil.rmtree(path)
