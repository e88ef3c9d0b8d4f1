"""Assembly101: two layers, frames to seconds, mistakes by remark, corrections that are no mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.datasets.attacks import FAMILIES, survive
from tests.datasets.flips import survive_flips

from proctor.datasets.assembly101 import DATASET, REMARKS
from proctor.datasets.dataset import ReadResult
from proctor.errors import UserError
from proctor.procedure.recording import MISTAKE_KINDS, Mistake, Segment


@pytest.fixture
def folder(tests_data: Path) -> Path:
    return tests_data / "datasets" / "assembly101"


def make(root: Path, annots: dict[str, str] | None = None, coarse: dict[str, str] | None = None) -> Path:
    for place, files in (("annots", annots), ("coarse_labels", coarse)):
        for name, text in (files or {}).items():
            (root / place).mkdir(exist_ok=True)
            (root / place / name).write_text(text)
    return root


def judged(root: Path, text: str, **options: str) -> ReadResult:
    return DATASET.read(make(root, {"a.csv": text}), "published", **options)


def rules(result: ReadResult) -> list[tuple[str, str]]:
    return [(f.rule, f.where) for f in result.findings] + [(d.reason, d.id) for d in result.dropped]


def test_the_fixture_is_read_whole(folder: Path):
    result = DATASET.read(folder)
    first, second = result.recordings
    assert (first.activity_id, first.activity_name) == ("assembly-a07", "assembly of toy a07")
    assert (second.activity_id, second.attributes["toy"]) == ("assembly-b12x", "b12x")
    assert first.segments[0] == Segment("attach wheel to chassis", "attach wheel to chassis", 1.0, 5.0)
    assert [s.mistakes for s in first.segments] == [
        (),
        (Mistake("order", "wrong order"),),
        (Mistake("previous mistake", "previous one is mistake"),),
        (),
        (),
        (Mistake("position", "wrong position"),),
    ]
    assert second.segments[1].mistakes == (Mistake("unneeded", "shouldn't have happened"),)
    assert result.graphs == {}
    assert rules(result) == []
    assert result.counts == {
        "recordings": 2,
        "steps": 9,
        "steps with mistakes": 4,
        "label correct": 3,
        "label mistake": 4,
        "label correction": 2,
    }


def test_a_correction_is_no_mistake_and_its_time_is_kept(folder: Path):
    first, second = DATASET.read(folder).recordings
    assert [s.text for s in first.segments if s.start in (15.0, 20.0)] == [
        "detach roof from cabin",
        "detach cabin from chassis",
    ]
    assert first.attributes["corrections_at"] == "15.000 20.000"
    assert "corrections_at" not in second.attributes


def test_frames_become_seconds_by_the_rate_that_is_given(folder: Path):
    by_default, by_60 = DATASET.read(folder), DATASET.read(folder, fps="60")
    assert by_default == DATASET.read(folder, fps="30")
    for slow, fast in zip(by_default.recordings, by_60.recordings, strict=True):
        assert [s.start for s in fast.segments] == [(s.start or 0.0) / 2 for s in slow.segments]
        assert [s.end for s in fast.segments] == [(s.end or 0.0) / 2 for s in slow.segments]
    assert by_60.recordings[0].attributes["fps"] == "60"
    assert by_60.recordings[0].attributes["corrections_at"] == "7.500 10.000"


@pytest.mark.parametrize("rate", ["0", "-30", "nan", "fast"])
def test_a_rate_that_is_none_is_refused(folder: Path, rate: str):
    with pytest.raises(UserError, match="fps is"):
        DATASET.read(folder, fps=rate)


@pytest.mark.parametrize("remark", [*REMARKS, "Wrong  Order", "shouldn’t have happened"])
def test_the_remark_says_the_kind_and_stays_the_text(tmp_path: Path, remark: str):
    result = judged(tmp_path, f"0,30,attach,a,b,mistake,{remark}\n")
    (mistake,) = result.recordings[0].segments[0].mistakes
    assert mistake.kind in {*REMARKS.values()}
    assert mistake.kind == REMARKS[" ".join(remark.lower().replace("’", "'").split())]
    assert mistake.text == remark
    assert rules(result) == []


def test_only_a_wrong_order_is_a_kind_that_all_know():
    assert {kind for kind in REMARKS.values() if kind in MISTAKE_KINDS} == {"order"}


@pytest.mark.parametrize("remark", ["", "too slow", '"order, wrong"', "=1+1"])
def test_a_remark_that_nobody_knows_is_a_mistake_of_another_kind(tmp_path: Path, remark: str):
    result = judged(tmp_path, f"0,30,attach,a,b,mistake,{remark}\n")
    assert result.recordings[0].segments[0].mistakes == (Mistake("other", remark.strip('"')),)
    assert rules(result) == [("unknown-remark", "a: step 1")]


@pytest.mark.parametrize("label", ["correct", "correction"])
def test_a_remark_beside_no_mistake_is_told(tmp_path: Path, label: str):
    result = judged(tmp_path, f"0,30,attach,a,b,{label},wrong order\n")
    assert not result.recordings[0].has_mistakes
    assert rules(result) == [("remark-without-mistake", "a: step 1")]


@pytest.mark.parametrize("label", ["", "mistaken", "error", "1"])
def test_an_unknown_label_is_told_and_the_step_kept(tmp_path: Path, label: str):
    result = judged(tmp_path, f"0,30,attach,a,b,{label},\n")
    assert not result.recordings[0].has_mistakes
    assert rules(result) == [("unknown-label", "a: step 1")]
    assert result.counts["label unknown"] == 1


def test_capitals_and_a_missing_column_of_remarks_are_read(tmp_path: Path):
    result = judged(tmp_path, "0,30,attach,a,b,Mistake\n30,60,attach,c,d,Correct\n")
    assert [bool(s.mistakes) for s in result.recordings[0].segments] == [True, False]


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        ("attach,wheel,chassis", "attach wheel to chassis"),
        ("attempt to attach,wheel,chassis", "attempt to attach wheel to chassis"),
        ("detach,wheel,chassis", "detach wheel from chassis"),
        ("attach,wheel,", "attach wheel"),
        ("screw,wheel,chassis", "screw wheel chassis"),
    ],
)
def test_the_text_says_the_action(tmp_path: Path, cells: str, text: str):
    segment = judged(tmp_path, f"0,30,{cells},correct,\n").recordings[0].segments[0]
    assert (segment.step_id, segment.text) == (text, text)


@pytest.mark.parametrize(
    ("line", "reason", "where"),
    [
        ("60,30,attach,a,b,correct,", "swapped-times", "a: step 2"),
        ("-1,30,attach,a,b,correct,", "negative-time", "a: step 2"),
        ("1.5,30,attach,a,b,correct,", "bad-time", "a: step 2"),
        ("nan,30,attach,a,b,mistake,", "bad-time", "a: step 2"),
        ("x,30,attach,a,b,correction,", "bad-time", "a: step 2"),
        (f"1,{10**9},attach,a,b,correct,", "bad-time", "a: step 2"),
        ("1,2,,a,b,correct,", "bad-row", "a: step 2"),
        ("1,2,attach,,b,correct,", "bad-row", "a: step 2"),
        ("1,2,attach,a,b", "bad-row", "a:2"),
        ("1,2,attach,a,b,correct,x,y", "bad-row", "a:2"),
    ],
)
def test_a_line_that_makes_no_sense_costs_itself(tmp_path: Path, line: str, reason: str, where: str):
    result = judged(tmp_path, f"0,30,attach,a,b,correct,\n{line}\n")
    assert len(result.recordings[0].segments) == 1
    assert "corrections_at" not in result.recordings[0].attributes
    assert rules(result) == [(reason, where)]
    assert reason in DATASET.rules


def test_overlaps_of_two_hands_are_kept_and_told(tmp_path: Path):
    text = "0,300,attach,a,b,correct,\n30,60,attach,c,d,correct,\n90,90,attach,e,f,correct,\n"
    result = judged(tmp_path, text)
    assert len(result.recordings[0].segments) == 3
    assert rules(result) == [
        ("overlap", "a: step 2"),
        ("zero-length", "a: step 3"),
        ("overlap-earlier", "a: step 3"),
    ]


def test_a_header_is_recognised_and_told(tmp_path: Path):
    result = judged(tmp_path, "start,end,verb,this,that,label,remark\n0,30,attach,a,b,correct,\n")
    assert rules(result) == [("header", "a")]


def test_a_sequence_without_toy_or_phase_in_its_name_is_an_assembly(tmp_path: Path):
    recording = judged(tmp_path, "0,30,attach,a,b,correct,\n").recordings[0]
    assert (recording.activity_id, recording.activity_name) == ("assembly", "assembly")
    assert recording.attributes == {"phase": "assembly", "fps": "30"}


# -- coarse labels -----------------------------------------------------------------------------------------------


def test_coarse_labels_are_a_layer_of_their_own(folder: Path):
    result = DATASET.read(folder, layer="coarse")
    assert [(r.activity_id, r.attributes["phase"]) for r in result.recordings] == [
        ("assembly-a07", "assembly"),
        ("disassembly-a07", "disassembly"),
    ]
    assert result.recordings[0].segments[0] == Segment("attach wheel", "attach wheel", 1.0, 5.0)
    assert not any(r.has_mistakes for r in result.recordings)
    assert rules(result) == []


def test_coarse_labels_are_read_without_tables_of_mistakes(tmp_path: Path):
    make(tmp_path, coarse={"a.txt": "0\t30\tattach, then turn\n", "a.csv": "0,30,x\n", "README.md": "x"})
    result = DATASET.read(tmp_path, layer="coarse")
    assert [r.segments[0].text for r in result.recordings] == ["x"]
    assert rules(result) == [("unknown-file", "README.md"), ("duplicate-id", "a")]
    with pytest.raises(UserError, match=r"annots/\*\.csv missing"):
        DATASET.read(tmp_path)


def test_broken_coarse_lines_are_told(tmp_path: Path):
    make(tmp_path, coarse={"a.txt": "0\t30\tturn\n5\t3\tturn\n1\t2\n1\t2\t\n"})
    result = DATASET.read(tmp_path, layer="coarse")
    assert len(result.recordings[0].segments) == 1
    assert rules(result) == [("swapped-times", "a: step 2"), ("bad-row", "a:3"), ("bad-row", "a: step 4")]


def test_a_folder_without_the_layer_is_refused(tmp_path: Path):
    make(tmp_path, {"a.csv": "0,30,attach,a,b,correct,\n"})
    with pytest.raises(UserError, match="no coarse labels"):
        DATASET.read(tmp_path, layer="coarse")
    with pytest.raises(UserError, match="no coarse labels"):
        DATASET.read(tmp_path / "none", layer="coarse")


@pytest.mark.parametrize("family", FAMILIES)
def test_it_survives(family: str, folder: Path, tmp_path: Path):
    ended = survive(DATASET, folder, tmp_path, family, cap=60)
    assert ended or family == "wrong number"


def test_flipped_bytes_are_survived(folder: Path, tmp_path: Path):
    assert set(survive_flips(DATASET, folder, tmp_path, 300)) == {"read", "refused"}
