"""Numbers of a set beside the published ones."""

import msgspec
import pytest
from tests.exam.clip_set import OPTIONS, clip, pair

from proctor.ask.clip.record import ChoiceItem
from proctor.ask.clip.statistics import (
    PUBLISHED,
    choice_statistics,
    compare_with_published,
    open_statistics,
)
from proctor.errors import UserError

PAIRS = [pair(n) for n in range(8)]
CLIPS = [clip("v0", end=50.0), clip("v1", end=250.0), clip("unused")]


def test_numbers_of_open_questions() -> None:
    found = open_statistics(PAIRS, CLIPS)
    assert (found.datasets, found.videos, found.clips, found.samples) == (1, 2, 2, 8)
    assert found.mean_duration == 150.0
    assert (found.question_words, found.question_tokens) == (6.0, 7.0)
    assert (found.answer_words, found.options) == (3.0, None)
    assert found.durations == (50.0, 250.0)
    assert found.by_level == {"coarse": 4, "fine": 4}
    assert sum(found.by_category.values()) == 8


def test_numbers_of_questions_with_options() -> None:
    items = [
        ChoiceItem(id=f"p{n}", question="What is done?", options=OPTIONS, letter="AB"[n % 2])
        for n in range(8)
    ]
    items.append(ChoiceItem(id="foreign", question="What is done?", options=("yes", "no"), letter="A"))
    found = choice_statistics(items, PAIRS, CLIPS)
    assert (found.samples, found.videos, found.without_clip) == (9, 2, 1)
    assert found.letters == {"A": 5, "B": 4}
    assert found.options == pytest.approx(42 / 9)
    assert found.answer_words == pytest.approx((8 * 15 + 2) / 42)


def test_published_numbers_stand_beside_ours() -> None:
    rows = {row.name: row for row in compare_with_published(open_statistics(PAIRS, CLIPS, kind="training"))}
    assert (rows["samples"].ours, rows["samples"].published) == (8, 19_495)
    assert (rows["mean_duration"].unit, rows["mean_duration"].published) == ("s", 284.10)
    assert (rows["question_words"].unit, rows["question_tokens"].unit) == ("words", "tokens")
    assert rows["question_tokens"].published is None
    assert "options" not in rows
    choice = {row.name: row for row in compare_with_published(choice_statistics([], [], []))}
    assert choice["options"].published == 5
    assert choice["answer_words"].label == "mean length of an option"
    assert choice["answer_words"].ours is None
    assert (PUBLISHED["open"]["samples"], PUBLISHED["multiple-choice"]["samples"]) == (5_635, 5_000)


def test_clips_that_are_not_known_are_counted() -> None:
    lost = msgspec.structs.replace(PAIRS[0], clip_id="gone")
    assert open_statistics([lost], CLIPS).without_clip == 1
    assert open_statistics([lost], CLIPS).mean_duration is None
    with pytest.raises(UserError):
        open_statistics(PAIRS, CLIPS, kind="multiple-choice")
