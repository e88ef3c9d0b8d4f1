"""Files of sequences: paths of pictures stay in the folder, and what cannot be is listed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.datasets.sequence_files import SequenceFile, read_sequences, write_sequences
from proctor.errors import UserError


def _read(path: Path, *rows: dict[str, Any]) -> SequenceFile:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_sequences(path)


def test_lines_pictures_and_references_that_cannot_be_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    pictures = ["../../etc/passwd", ["a/1.png", "a/../../2.png"], "a\\b.png", None, "c:/d.png"]
    found = _read(
        path,
        {"id": "p", "steps": list("abcde"), "pictures": pictures},
        {"id": "one", "steps": ["a"]},
        {"id": " x", "steps": ["a", "a", "b"], "before": [[0, 2]], "references": {"text": [[2, 0, 1], [1, 0, 2], [0, 1]], "sound": []}},
        {"id": "x", "steps": ["a", "b"]},
        {"id": "against", "steps": ["a", "b"], "before": [[1, 0]]},
        {"id": "few", "steps": ["a", "b"], "pictures": [None]},
        {"id": "", "steps": ["a", "b"]},
    )  # fmt: skip
    shown, other = found.sequences
    assert [step.images for step in shown.steps] == [(), ("a/1.png",), (), (), ()]
    assert (other.orders("text"), other.alike()) == (((0, 1, 2), (1, 0, 2)), (0, 0, 2))
    assert [(d.id, d.reason) for d in found.dropped] == [
        *[("p", "picture")] * 4, ("one", "too-few-steps"), ("x", "contradiction"), ("x", "reference"), ("x", "reference"),
        ("x", "duplicate-id"), ("against", "contradiction"), ("few", "pictures"), ("", "no-id"),
    ]  # fmt: skip
    path.write_text(path.read_text()[:-20])
    with pytest.raises(UserError, match="JSON"):
        read_sequences(path)


def test_what_is_written_is_read_again_with_all_paths_of_categories_and_orders(tmp_path: Path) -> None:
    paths = [["Root", "Food", "Drinks", "Tea"], "Home"]
    found = _read(
        tmp_path / "f.jsonl",
        {"id": "a", "steps": list("abc"), "category": paths, "references": {"both": [[2, 0, 1]], "multimodal": [[1, 2, 0]]}},
        {"id": "b", "steps": list("abc"), "category": paths[0], "semantics": "ranks", "references": {"image": [[1, 2, 0]]}},
        {"id": "c", "steps": list("abc"), "category": "Food", "pictures": ["1.png", None, ["2.png"]]},
    )  # fmt: skip
    several, one, top = found.sequences
    assert several.category_paths == (tuple(paths[0]), ("Root", "Home"))
    assert several.orders() == ((0, 1, 2), (2, 0, 1), (1, 2, 0))
    assert (one.category_paths, one.orders("image")[1]) == ((tuple(paths[0]),), (2, 0, 1))
    assert top.category_paths == (("Root", "Food"),)
    assert write_sequences(tmp_path / "g.jsonl", found.sequences) == 3
    assert read_sequences(tmp_path / "g.jsonl").sequences == found.sequences
