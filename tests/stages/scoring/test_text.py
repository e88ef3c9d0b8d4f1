import json
import math
import random

import numpy as np
import pytest
from tests.stages.scoring.scored import family

from proctor.errors import UserError
from proctor.metrics.figure import Bars
from proctor.metrics.score import Signature

score_text = family("text", "file")

ROWS = [
    {"question": "Did I add the salt?", "type": "missing", "recording": "r1"},
    {"question": "did I add the milk?", "type": "missing", "recording": "r1"},
    {"question": "What is next?", "type": "next", "recording": "r2"},
    {"question": "What is  NEXT?", "type": "next", "recording": "r3"},
    {"question": "", "type": "next", "recording": "r3"},
]
VECTORS = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 2.0], [0.0, 1.0], [5.0, 5.0]])


@pytest.fixture
def describe(tmp_path):
    def describe_(rows, vectors=None, **options):
        path = tmp_path / "texts.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        if vectors is not None:
            np.save(tmp_path / "v.npy", vectors)
            options["vectors"] = tmp_path / "v.npy"
        options.setdefault("resamples", 100)
        return score_text(path, **options)

    return describe_


def values(table):
    return {(row.metric, row.slice): row.score for row in table.rows}


def test_golden(describe):
    table = describe(ROWS, window=3)
    found = {metric: score for (metric, _), score in values(table).items()}
    assert found["words"].value == 4.0
    assert found["tokens"].value == 5.0
    assert found["TTR"].value == 9 / 16
    assert found["distinct-1"].value == 9 / 16
    assert found["distinct-2"].value == 7 / 12
    assert found["distinct texts"].value == 0.75
    assert math.isnan(found["HD-D"].value)
    assert "42" in found["HD-D"].note
    assert found["MATTR"].value > 0.8
    assert table.headline["first_words"] == {"did": 2, "what": 2}
    assert "no chance level: these numbers describe texts, and nothing is guessed" in table.notes
    assert table.headline["distinct_n2"] == 7 / 12
    assert table.counts == {"texts": 4, "without text": 1, "words": 16, "clusters": 3}


def test_intervals_are_of_lengths_only(describe):
    found = values(describe(ROWS))
    assert found["words", "all"].low <= 4.0 <= found["words", "all"].high
    assert found["TTR", "all"].low is None
    assert "no interval" in found["TTR", "all"].note
    assert values(describe(ROWS, resamples=0))["words", "all"].low is None


def test_slices(describe):
    found = values(describe(ROWS, slices=["type"]))
    assert found["words", "type=missing"].value == 5.0
    assert found["distinct texts", "type=next"].value == 0.5
    assert found["vocabulary", "type=next"].value == 3 / 9
    assert found["vocabulary", "type=missing"].value == 6 / 9
    assert ("vocabulary", "all") not in found


def test_vectors(describe):
    table = describe(ROWS, VECTORS, slices=["type"])
    found = values(table)
    near = 1 / math.sqrt(1.01)
    far = 0.1 / math.sqrt(1.01)
    assert found["self-similarity", "all"].value == pytest.approx((near + 1 + 2 * far) / 6)
    assert found["nearest", "all"].value == pytest.approx((near + 1) / 2)
    assert found["near-duplicates", "all"].value == 1.0
    assert found["self-similarity", "type=next"].value == pytest.approx(1.0)
    assert found["nearest", "all"].signature.parameters["vectors"] == "v.npy"
    pairs = table.headline["nearest_pairs"]
    assert [pair["texts"][0] for pair in pairs] == ["What is next?", "Did I add the salt?"]
    assert pairs[0]["b"].endswith("texts.jsonl, line 4")
    assert values(describe(ROWS, VECTORS, threshold=0.999))["near-duplicates", "all"].value == 0.5


def test_one_text_has_no_similarity(describe):
    found = values(describe(ROWS[:1], VECTORS[:1]))
    assert math.isnan(found["nearest", "all"].value)
    assert found["nearest", "all"].note == "only one text"


def test_lists_of_texts(describe):
    table = describe([{"answers": ["Yes.", "Yes, add it"]}, {"answers": []}, {"answers": ["No"]}])
    assert table.counts["texts"] == 3
    assert table.counts["without text"] == 1
    assert values(table)["words", "all"].value == 5 / 3
    assert any("--cluster" in note for note in table.notes)
    with pytest.raises(UserError, match="vectors belong to lines"):
        describe([{"answers": ["a", "b"]}], VECTORS[:1])


def test_numbers_are_texts(describe):
    assert values(describe([{"text": 12}, {"text": "a b"}]))["words", "all"].value == 1.5


def test_order_of_lines_changes_only_the_moving_average(describe):
    rows = [{"text": f"w{i % 7} w{i % 3} x{i}", "recording": f"r{i % 5}"} for i in range(40)]
    shuffled = list(rows)
    random.Random(0).shuffle(shuffled)
    a, b = values(describe(rows)), values(describe(shuffled))
    a.pop(("MATTR", "all"))
    moved = b.pop(("MATTR", "all"))
    assert a == b
    assert moved.signature.parameters["order"] == "file"


def test_first_words_picture(describe):
    (bars,) = describe(ROWS).figures
    assert isinstance(bars, Bars)
    assert bars.labels == ("did", "what")
    assert bars.values == (50.0, 50.0)
    assert describe([{"text": "?"}]).figures == ()


def test_texts_without_words_are_undefined_and_say_why(describe):
    found = values(describe([{"text": "?"}, {"text": "..."}]))
    assert math.isnan(found["TTR", "all"].value)
    assert found["TTR", "all"].note == "there is no word"
    assert found["tokens", "all"].value == 1.0


def test_signatures_can_be_read_back(describe):
    for row in describe(ROWS, VECTORS, slices=["type"]).rows:
        assert Signature.parse(str(row.score.signature)) == row.score.signature


@pytest.mark.shared
def test_words_of_the_published_questions(shared_data):
    """On half of the published examples; the means of all 401 are 8.913 and 7.865."""
    table = score_text(shared_data / "promqa" / "examples_dev.json", slices=["type"], resamples=0)
    found = values(table)
    assert found["tokens", "all"].value == pytest.approx(8.913, abs=0.15)
    assert found["words", "all"].value == pytest.approx(7.865, abs=0.15)
    assert list(table.headline["first_words"])[:2] == ["is", "did"]
    assert found["distinct texts", "all"].value == pytest.approx(351 / 401, abs=0.03)
    answers = values(score_text(shared_data / "promqa" / "examples_dev.json", column="answers", resamples=0))
    assert answers["tokens", "all"].value == pytest.approx(11.821, abs=0.3)
    assert answers["words", "all"].value == pytest.approx(9.974, abs=0.3)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([{"x": "a"}], {}, "no column 'question'"),
        (ROWS, {"column": "x"}, "no column 'x'"),
        (ROWS, {"slices": ["x"]}, "no column 'x'"),
        (ROWS, {"cluster": "x"}, "no column 'x'"),
        ([{"text": ""}, {"text": None}], {}, "has no text"),
        ([{"text": {}}], {}, "a text was expected"),
        ([{"text": [["a"]]}], {}, "a text was expected"),
        (ROWS, {"window": 0}, "at least 1 was expected"),
        (ROWS, {"confidence": 0.0}, "between 0 and 1"),
        ([{"text": "a", "id": str(i)} for i in range(201)], {"slices": ["id"]}, "201 different values"),
    ],
)
def test_bad_input_is_named(describe, rows, options, message):
    with pytest.raises(UserError, match=message):
        describe(rows, **options)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (VECTORS[:3], r"shape \(5, dimensions\), got \(3, 2\)"),
        (VECTORS[:, 0], r"got \(5,\)"),
        (VECTORS * [[1], [1], [0], [1], [1]], "row 2 has length 0"),
        (VECTORS * [[1], [1], [math.nan], [1], [1]], "row 2 is not finite"),
        (VECTORS.astype(str), "cannot be|table of numbers"),
        (np.array([{}], dtype=object), "not a file of vectors"),
    ],
)
def test_bad_vectors_are_named(describe, vectors, message):
    if vectors.dtype.kind == "U":
        vectors = np.array([["a", "b"]] * 5)
    with pytest.raises(UserError, match=message):
        describe(ROWS, vectors)
    with pytest.raises(UserError, match="between -1 and 1"):
        describe(ROWS, VECTORS, threshold=2.0)


def test_files_that_hold_no_vectors(describe, tmp_path):
    np.save(tmp_path / "whole.npy", VECTORS)
    whole = (tmp_path / "whole.npy").read_bytes()
    end = f"{VECTORS.shape}, }}".encode()
    assert end in whole
    for name, content in (
        ("a.npy", b""),
        ("b.npy", b"text"),
        ("none.npy", None),
        ("zip.npy", b"PK\x03\x04 cut off"),
        ("torn.npy", whole.replace(end, b"(5" + b" " * (len(end) - 2))),
        ("huge.npy", whole.replace(end + b" " * 12, b"(9999999999999, 2), }".ljust(len(end) + 12))),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match="not a file of vectors"):
            describe(ROWS, vectors=None) and score_text(tmp_path / "texts.jsonl", vectors=tmp_path / name)
    np.savez(tmp_path / "c.npz", a=VECTORS)
    with pytest.raises(UserError, match="several arrays"):
        score_text(tmp_path / "texts.jsonl", vectors=tmp_path / "c.npz")
