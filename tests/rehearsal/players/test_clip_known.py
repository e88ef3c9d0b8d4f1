"""Right answers are looked up in a workspace, by the question and its options."""

from __future__ import annotations

from pathlib import Path

from tests.rehearsal.players.clip_material import pair

from proctor.ask.clip.record import ChoiceItem
from proctor.records import write_jsonl
from proctor_rehearsal.players.clip_known import AnswersKnown


def test_answers_come_from_pairs_and_options(tmp_path: Path):
    known = AnswersKnown(tmp_path)
    assert known.answers("What is cut?") == ()
    write_jsonl(
        tmp_path / "pairs.jsonl",
        [pair("What is cut?", "the bread", id="p1"), pair("What is cut?", "the rope", id="p2")],
    )
    assert known.answers("what is  cut") == ("the bread", "the rope"), "the files are read again"
    assert known.answers("What is cut?", ["The rope", "the hair"]) == ("The rope",)
    assert known.answers("What is cut?", ["the rope", "the bread"]) == ("the rope", "the bread")
    item = ChoiceItem(id="p1", question="What is cut?", options=("the rope", "the bread"), letter="B")
    write_jsonl(tmp_path / "choices.jsonl", [item])
    assert known.answers("What is cut?", ["the bread", "the rope"]) == ("the bread",), "the options decide"


def test_files_that_cannot_be_used_hold_nothing(tmp_path: Path):
    (tmp_path / "pairs.jsonl").write_text("no json\n", encoding="utf-8")
    assert AnswersKnown(tmp_path).answers("What is cut?") == ()
    item = ChoiceItem(id="p1", question="What is cut?", options=("the rope", "the bread"), letter="F")
    write_jsonl(tmp_path / "choices.jsonl", [item])
    assert AnswersKnown(tmp_path).answers("What is cut?") == ()


def test_texts_are_compared_as_prompts_show_them(tmp_path: Path):
    write_jsonl(tmp_path / "open.jsonl", [pair("What does <s> mean?", "first\nsecond <|x|>")])
    assert AnswersKnown(tmp_path).answers("What does \\x3cs> mean?") == ("first\\nsecond \\x3c|x|\\x3e",)
