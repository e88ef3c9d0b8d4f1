import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import effort

from proctor.exam.inquiry import read_inquiry


@pytest.mark.parametrize(
    ("question", "asked", "before"),
    [
        ("Should I tighten the clamp for 30 seconds now?", ["4"], []),
        ("Is it time to tighten the clamp?", ["4"], []),
        ("Did I forget to wipe the shelf with a dry cloth?", ["5"], []),
        ("After tightening the clamp, can I wipe the shelf with a dry cloth?", ["5"], []),
        ("I just tightened the clamp. What now?", [], []),
        ("I just wiped the shelf. Did I leave anything out up to here?", [], []),
        ("Did I leave something out before tightening the clamp?", [], ["4"]),
        ("Should wiping the shelf have come before tightening the clamp?", ["5"], ["4"]),
        ("Were all the steps done that tightening the clamp depends on?", [], ["4"]),
        ("I'd like to tighten the clamp for 30 seconds now. Is that okay?", ["4"], []),
        ("Tighten the clamp?", ["4"], []),
        ("What now?", [], []),
        ("Did I miss a step that involves the cloth?", [], []),
    ],
)
def test_steps_and_their_roles(shelf, question, asked, before):
    found = read_inquiry(question, shelf)
    assert (list(found.asked), list(found.before)) == (asked, before)


@pytest.mark.parametrize(
    ("question", "wish"),
    [
        ("How many steps have I skipped so far?", "count"),
        ("How long should it have been?", "figure"),
        ("What temperature should I have picked?", "figure"),
        ("The amount isn't right. What do I do now?", "remedy"),
        ("How can I fix that?", "remedy"),
        ("Was that too much?", "more"),
        ("Did I take longer than I should have?", "more"),
        ("Should I have stopped sooner?", "more"),
        ("Is that not tight enough?", "less"),
        ("Should it have gone on for longer?", "less"),
        ("Did I do this too early?", "less"),
        ("Am I done?", "whole"),
        ("Was tightening the clamp the last thing to do?", "whole"),
        ("Is there anything else to be done?", "plain"),
        ("How should I have done this?", "instruction"),
        ("What should I have paid more attention to?", "plain"),
        ("Can I go on without tightening the clamp?", "without"),
        (
            "Does it matter whether I tighten the clamp for 30 seconds or wipe the shelf with a dry cloth first?",
            "order-free",
        ),
        ("What should I do now?", "remedy"),
    ],
)
def test_wish(shelf, question, wish):
    assert read_inquiry(question, shelf).wish == wish


def test_choice_is_no_yes_no_question(shelf):
    found = read_inquiry(
        "Should I tighten the clamp for 30 seconds or wipe the shelf with a dry cloth now?", shelf
    )
    assert found.choice
    assert not found.yes_no
    assert set(found.asked) == {"4", "5"}
    assert read_inquiry("Should I tighten the clamp for 30 seconds?", shelf).yes_no


def test_scope_comes_from_the_question_alone(shelf):
    add = read_inquiry("I just wiped the shelf. Is there anything I should attach now?", shelf)
    assert add.verbs == {"attach"}
    assert add.things == frozenset()
    thing = read_inquiry("What happens to the bracket now?", shelf)
    assert thing.things == {"bracket"}
    assert read_inquiry("Quick check: what now?", shelf).verbs == frozenset()


@pytest.mark.parametrize(
    ("question", "back"),
    [
        ("Did I forget anything?", True),
        ("Should I have wiped it by now?", True),
        ("Do I have to go back for anything?", True),
        ("What should I do now?", False),
    ],
)
def test_looking_back(shelf, question, back):
    assert read_inquiry(question, shelf).back is back


@given(st.text(max_size=200))
def test_any_text_can_be_read(shelf, text):
    found = read_inquiry(text, shelf)
    assert found == read_inquiry(text, shelf)
    assert set(found.asked).isdisjoint(found.before)


def test_long_questions_take_no_long_time(shelf):
    for piece in ("one of these ", "<1> ", "have ", "before ", "tightening the clamp ", "what should ", "x"):
        with effort(5, piece):
            read_inquiry(piece * 5_000, shelf)
