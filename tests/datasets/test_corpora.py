"""The readers of corpora: what they yield, what they tell, and that no broken file gets past them."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.datasets.attacks import FAMILIES, survive

from proctor.corpus.source import Source, render_source
from proctor.datasets import corpus_reading, json_files, multimodalqa, ottqa, sources
from proctor.datasets.dataset import Dataset, Log
from proctor.datasets.json_files import iter_lines, iter_typed
from proctor.errors import UserError

CORPORA = {"sources": sources.DATASET, "multimodalqa": multimodalqa.DATASET, "ottqa": ottqa.DATASET}


@pytest.fixture(params=CORPORA)
def dataset(request: pytest.FixtureRequest) -> Dataset:
    return CORPORA[request.param]


@pytest.fixture
def folder(dataset: Dataset, tests_data: Path, tmp_path: Path) -> Path:
    return copy_of(dataset.name, tests_data, tmp_path)


def copy_of(name: str, tests_data: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tests_data / "datasets" / name, tmp_path / name))


def rules(dataset: Dataset, folder: Path) -> Counter[str]:
    return Counter(f.rule for f in dataset.check(folder))


def questions(dataset: Dataset, folder: Path, log: Log | None = None) -> list[Any]:
    assert dataset.questions is not None
    return list(dataset.questions(folder, "corrected", log or Log()))


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rewrite(path: Path, lines: list[Any]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


# -- all of them -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_no_broken_file_gets_past(family: str, dataset: Dataset, tests_data: Path, tmp_path: Path):
    assert survive(dataset, tests_data / "datasets" / dataset.name, tmp_path, family, cap=40)


def test_ids_begin_with_the_modality_and_documents_are_pages(dataset: Dataset, folder: Path):
    read = dataset.read(folder)
    assert read.sources
    for source in read.sources:
        assert source.id.startswith(f"{source.modality}:")
        assert source.doc_id
        assert len(source.content_hash) == 64
    assert not read.dropped


def test_gold_resolves_and_its_modalities_are_counted(dataset: Dataset, folder: Path):
    log = Log()
    ids = {s.id: s.modality for s in dataset.iter_records(folder)}
    asked = questions(dataset, folder, log)
    assert len(asked) == log.counts["questions"] == len({q.qid for q in asked})
    for question in asked:
        assert set(question.gold) <= set(ids)
        assert len(set(question.gold)) == len(question.gold)
        kinds = Counter(ids[g] for g in question.gold)
        assert question.modalities == (kinds["text"], kinds["table"], kinds["image"])
    assert "unresolved" not in rules(dataset, folder)


def test_every_rule_that_is_told_is_explained(dataset: Dataset, folder: Path):
    log = Log()
    for _ in dataset.iter_records(folder, "published", log):
        pass
    assert {f.rule for f in log.findings} | set(log.reasons) <= set(dataset.rules)


def test_the_folder_of_another_is_refused(dataset: Dataset, tmp_path: Path):
    assert dataset.questions is not None
    for read in (dataset.iterate, dataset.questions):
        assert read is not None
        with pytest.raises(UserError, match="this is not a"):
            list(read(tmp_path, "corrected", Log()))


# -- normalised sources ------------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_the_real_corpus_has_the_numbers_of_its_readme(shared_data: Path):
    dataset, folder = CORPORA["sources"], shared_data / "mmrag"
    read = dataset.read(folder, "published")
    assert len(read.sources) == 3_117
    assert {k: read.counts[k] for k in ("texts", "tables", "images")} == {
        "texts": 2_151,
        "tables": 70,
        "images": 896,
    }
    assert (read.counts["questions"], read.counts["questions_with_complete_gold"]) == (286, 161)
    assert not read.dropped
    assert not read.findings
    assert rules(dataset, folder) == {"short-text": 286, "duplicate-body": 32}
    assert sum(s.verbalisation is not None for s in read.sources) == 82
    assert sum(q.gold_complete for q in questions(dataset, folder)) == 161


def test_a_verbalisation_is_taken_from_its_own_file_where_the_source_has_none(tests_data: Path):
    read = CORPORA["sources"].read(tests_data / "datasets" / "sources")
    said = {s.id: s.verbalisation for s in read.sources if s.modality == "image"}
    assert said == {"image:0a1b": "a lake with a boat.", "image:2c3d": "a pond in the rain."}


def test_what_is_odd_about_sources_is_told(tests_data: Path, tmp_path: Path):
    dataset, folder = CORPORA["sources"], copy_of("sources", tests_data, tmp_path)
    lines = lines_of(folder / "sources.jsonl")
    lines += [
        {**lines[1], "title": "again"},
        {**lines[1], "id": "table:text"},
        {**lines[1], "id": "text:"},
        {**lines[1], "id": "text:empty", "text": " "},
        {**lines[0], "id": "table:ragged", "rows": [["a"], ["a", "b"]]},
        {**lines[1], "id": "text:n", "n_chars": 7},
        {"id": "sound:1", "modality": "sound"},
    ]
    rewrite(folder / "sources.jsonl", lines)
    asked = lines_of(folder / "questions.jsonl")
    asked[0]["gold_sources"] += ["text:gone", "text:gone"]
    asked[1]["modality_counts"] = [3, 0, 0]
    asked += [{**asked[1], "question": " "}, asked[0], {**asked[1], "qid": "q3", "gold_sources": []}]
    rewrite(folder / "questions.jsonl", asked)
    rewrite(folder / "image_verbalisations_more.jsonl", [{"image_id": "0a1b", "verbalisation": "a ship"}])
    log = Log()
    kept = list(dataset.iter_records(folder, "published", log))
    assert [s.id for s in kept][-2:] == ["table:ragged", "text:n"]
    assert log.reasons == {
        "duplicate-id": 2,
        "id-of-another-modality": 1,
        "no-id": 1,
        "no-content": 1,
        "wrong-shape": 1,
        "no-question": 1,
    }
    found = {(f.rule, f.where) for f in log.findings}
    assert found >= {
        ("ragged-row", "table:ragged"),
        ("other-length", "text:n"),
        ("unresolved", "q1"),
        ("repeated-gold", "q1"),
        ("other-modalities", "q2"),
        ("no-gold", "q3"),
        ("two-verbalisations", "image:0a1b"),
    }
    assert log.counts["gold_unresolved"] == 1
    assert "text:gone" in questions(dataset, folder)[0].gold, "a question does not become easier"


def test_pixels_give_the_hash_of_their_bytes(tests_data: Path, tmp_path: Path):
    dataset, folder = CORPORA["sources"], copy_of("sources", tests_data, tmp_path)
    (folder / "images").mkdir()
    (folder / "images" / "0a1b.jpg").write_bytes(b"pixels")
    log = Log()
    found = {s.id: s for s in dataset.iter_records(folder, "published", log)}
    assert found["image:0a1b"].content_hash == hashlib.sha256(b"pixels").hexdigest()
    assert (log.counts["images_with_pixels"], log.counts["images_without_pixels"]) == (1, 1)
    assert [(f.rule, f.where) for f in log.findings] == [("no-picture", "image:2c3d")]


@pytest.mark.parametrize(
    "path", ["../secret.jpg", "/etc/passwd", "a/../../secret.jpg", "..\\secret.jpg", "link.jpg", "C:x"]
)
def test_no_path_leads_out_of_the_folder_of_images(path: str, tests_data: Path, tmp_path: Path):
    dataset, folder = CORPORA["sources"], copy_of("sources", tests_data, tmp_path)
    (folder / "images").mkdir()
    (folder / "secret.jpg").write_bytes(b"secret")
    (folder / "images" / "link.jpg").symlink_to(folder / "secret.jpg")
    lines = lines_of(folder / "sources.jsonl")
    rewrite(
        folder / "sources.jsonl",
        [line | ({"path": path} if line["id"] == "image:0a1b" else {}) for line in lines],
    )
    log = Log()
    found = {s.id: s for s in dataset.iter_records(folder, "published", log)}
    assert found["image:0a1b"].content_hash != hashlib.sha256(b"secret").hexdigest()
    assert ("path-outside", "image:0a1b") in {(f.rule, f.where) for f in log.findings}


# -- MultiModalQA ------------------------------------------------------------------------------------------------------


def test_multimodalqa_is_read_packed_or_not(tests_data: Path, tmp_path: Path):
    dataset, folder = CORPORA["multimodalqa"], copy_of("multimodalqa", tests_data, tmp_path)
    before = dataset.read(folder)
    for path in folder.glob("*.jsonl"):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert dataset.read(folder) == before
    assert [s.id for s in before.sources] == ["text:t1", "text:t2", "table:b1", "image:i1", "image:i2"]
    table = before.sources[2]
    assert render_source(table) == "Kestrel (band)\nAlbums\nYear | Album\n1999 | High Field\n2003 | Nest"
    assert {s.doc_id for s in before.sources} == {"Kestrel_(band)", "Low_Moor"}


def test_questions_of_multimodalqa(tests_data: Path):
    dataset, folder = CORPORA["multimodalqa"], tests_data / "datasets" / "multimodalqa"
    first, second, third = questions(dataset, folder)
    assert (first.qid, first.answers, first.type, first.split) == (
        "d1",
        ("2003",),
        "Compose(TableQ,TextQ)",
        "dev",
    )
    assert first.gold == ("table:b1", "text:t1"), "a document that is named twice counts once"
    assert first.context == ("text:t1", "text:t2", "image:i1", "table:b1")
    assert second.modalities == (0, 0, 1)
    assert (third.answers, third.gold, third.split) == ((), (), "test")
    assert rules(dataset, folder)["repeated-gold"] == 1


def test_without_texts_and_tables_what_does_not_resolve_is_counted(tests_data: Path, tmp_path: Path):
    dataset, folder = CORPORA["multimodalqa"], copy_of("multimodalqa", tests_data, tmp_path)
    for name in ("MMQA_texts.jsonl", "MMQA_tables.jsonl"):
        (folder / name).unlink()
    log = Log()
    assert [s.id for s in dataset.iter_records(folder, "published", log)] == ["image:i1", "image:i2"]
    assert [f.where for f in log.findings if f.rule == "no-such-file"] == [
        "MMQA_texts.jsonl",
        "MMQA_tables.jsonl",
    ]
    assert (log.counts["gold_unresolved"], log.counts["context_unresolved"]) == (2, 7)
    assert {f.where for f in log.findings if f.rule == "unresolved"} == {"d1", "d2", "x1"}


# -- OTT-QA --------------------------------------------------------------------------------------------------------------


def test_ottqa_yields_tables_and_every_passage_once(tests_data: Path):
    dataset, folder = CORPORA["ottqa"], tests_data / "datasets" / "ottqa"
    read = dataset.read(folder)
    assert [s.id for s in read.sources] == [
        "table:Ports_of_Arl_0",
        "text:Sund",
        "text:Vik",
        "table:Towns_of_Arl_1",
        "text:%C3%85s",
    ]
    assert read.counts["passages_linked_again"] == 1
    last: Source = read.sources[-1]
    assert (last.title, last.doc_id, last.url) == ("Ås", "Ås", "https://en.wikipedia.org/wiki/%C3%85s")
    assert read.sources[0].meta["links"] == "/wiki/Sund /wiki/Vik"


def test_gold_of_ottqa_is_complete_only_where_one_passage_was_traced(tests_data: Path, tmp_path: Path):
    dataset, folder = CORPORA["ottqa"], copy_of("ottqa", tests_data, tmp_path)
    found = {q.qid: q for q in questions(dataset, folder)}
    assert (found["o1"].gold, found["o1"].gold_complete) == (("table:Ports_of_Arl_0", "text:Sund"), True)
    assert (found["o2"].gold, found["o2"].gold_complete) == (("table:Towns_of_Arl_1",), False)
    assert (found["r1"].split, found["r1"].gold_complete) == ("train", False)
    untraced = [{"question_id": "o1", "question": "?", "table_id": "x", "answer-text": "y"}]
    (folder / "released_data" / "dev.json").write_text(json.dumps(untraced))
    assert {q.qid: q for q in questions(dataset, folder)} == found, "of a split the traced file counts"


def test_what_is_odd_about_ottqa_is_told(tests_data: Path, tmp_path: Path):
    dataset, folder = CORPORA["ottqa"], copy_of("ottqa", tests_data, tmp_path)
    (folder / "traindev_request_tok" / "Towns_of_Arl_1.json").write_text(
        json.dumps({"/wiki/Sund": "Something else", "/wiki/Null": None})
    )
    (folder / "traindev_tables_tok" / "Third.json").write_text(
        json.dumps({"uid": "Third_0", "title": "T", "header": ["a"], "data": [[["b", ["/wiki/B"]]]]})
    )
    (folder / "traindev_tables_tok" / "broken.json").write_text("{")
    log = Log()
    ids = [s.id for s in dataset.iter_records(folder, "published", log)]
    assert "table:Third_0" in ids
    assert {(f.rule, f.where) for f in log.findings} >= {
        ("other-uid", "traindev_tables_tok/Third.json"),
        ("no-passages", "table:Third_0"),
        ("link-without-passage", "table:Towns_of_Arl_1"),
        ("other-passage", "text:Sund"),
    }
    assert log.reasons == {"not-json": 1, "wrong-shape": 1}


# -- JSON Lines ----------------------------------------------------------------------------------------------------------


def test_a_file_of_something_else_is_refused_before_all_of_it_is_read(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    path.write_text("hello\n" * 5_000)
    log = Log()
    with pytest.raises(UserError, match="none of its first 1,000 lines is a number; line 1"):
        list(iter_typed(path, int, log, "number"))
    assert len(log.dropped) == 1_000
    path.write_text("1\n" + "hello\n" * 1_200)
    log = Log()
    assert list(iter_typed(path, int, log, "number")) == [(1, 1)]
    assert log.reasons == {"not-json": 1_200}


def test_a_line_without_an_end_is_left_out_and_never_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(json_files, "MAX_LINE_BYTES", 1 << 20)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' + b" " * (1 << 23)))
    log = Log()
    assert list(iter_lines(path, log)) == [(1, b'{"a": 1}\n')]
    assert [(d.id, d.reason) for d in log.dropped] == [("bomb.jsonl.gz:2", "line-too-long")]
    path.write_bytes(gzip.compress(b" " * (1 << 23)))
    with pytest.raises(UserError, match="nothing but lines of more than 1,048,576 bytes") as caught:
        list(iter_lines(path, log))
    assert caught.value.where == str(path)


def test_pages_are_told_by_their_address():
    page_of = corpus_reading.page_of
    assert page_of("https://en.wikipedia.org/wiki/Caf%C3%A9_(song)?x=1", "") == "Café_(song)"
    assert page_of("https://example.org/x", "A page") == page_of(None, "A page") == "A_page"
    assert page_of("https://example.org/x?of=/wiki/y#/wiki/z", "A page") == "A_page"
    assert page_of("http://[broken/wiki/x", "A page") == "x"
