"""Paths of pictures in a file of sequences stay in its folder."""

from __future__ import annotations

import json
from pathlib import Path

from proctor.datasets.sequence_files import read_sequences


def test_paths_that_lead_out_of_the_folder_are_dropped_and_listed(tmp_path: Path) -> None:
    pictures = ["../../etc/passwd", ["a/1.png", "a/../../2.png"], "a\\b.png", None, "c:/d.png"]
    path = tmp_path / "f.jsonl"
    path.write_text(json.dumps({"id": "x", "steps": list("abcde"), "pictures": pictures}) + "\n")
    found = read_sequences(path)
    assert [step.images for step in found.sequences[0].steps] == [(), ("a/1.png",), (), (), ()]
    assert [(d.id, d.reason) for d in found.dropped] == [("x", "picture")] * 4
