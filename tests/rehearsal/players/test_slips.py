"""The player: right with the chosen probability, wrong as models are wrong, the same every time."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor_rehearsal.players.slips import Player, flip_yes_no
from proctor_rehearsal.standin import Answer, Call
from proctor_rehearsal.standin.protocols.openai import CHAT

RIGHT, WRONG = ("Yes, stir it.",), ("Pour it.", "Heat it.")


def play(
    player: Player,
    count: int = 2_000,
    model: str = "m",
    right: tuple[str, ...] = RIGHT,
    wrong: tuple[str, ...] = WRONG,
) -> list[Answer]:
    """Return what a player replies to many requests."""

    def call(number: int) -> Call:
        messages = [{"role": "user", "content": f"question {number}"}]
        return Call(CHAT, "/v1/chat/completions", json.dumps({"model": model, "messages": messages}).encode())

    return [player.play(call(n), right, wrong) for n in range(count)]


@pytest.mark.parametrize("quality", [0.0, 0.25, 0.7, 1.0])
def test_it_is_right_as_often_as_asked_for(quality: float) -> None:
    answers = play(Player(quality, habits={}))
    right = sum(a.text == "Yes, stir it." for a in answers) / len(answers)
    assert right == pytest.approx(quality, abs=0.03)
    if quality in (0.0, 1.0):
        assert right == quality


def test_a_better_player_is_right_wherever_a_worse_one_is() -> None:
    worse, better = (play(Player(q, habits={}), 500) for q in (0.4, 0.6))
    assert all(
        b.text == "Yes, stir it." for w, b in zip(worse, better, strict=True) if w.text == "Yes, stir it."
    )


def test_the_same_request_gets_the_same_reply_and_another_seed_another() -> None:
    one, two, three = (play(Player(0.5, seed=s), 300) for s in (1, 1, 2))
    assert one == two
    assert one != three


def test_quality_by_model() -> None:
    player = Player({"^good": 1.0, "": 0.0}, habits={})
    assert {a.text for a in play(player, 50, "good-1")} == {"Yes, stir it."}
    assert "Yes, stir it." not in {a.text for a in play(player, 50, "other")}
    assert "Yes, stir it." not in {a.text for a in play(Player({"^good": 1.0}, habits={}), 50, "other")}


def test_mistakes_are_of_every_kind_in_proportion() -> None:
    answers = play(Player(0.0, habits={}), 4_000)

    def kind(answer: Answer) -> str:
        if answer.outcome == "refusal":
            return "refusal"
        if answer.text == "No, stir it.":
            return "flip"
        if answer.text in ("Pour it.", "Heat it."):
            return "other"
        return "list" if answer.text.startswith("* ") else "vague"

    counts = Counter(map(kind, answers))
    shares = {k: n / len(answers) for k, n in counts.items()}
    assert shares == pytest.approx(
        {"other": 0.5, "flip": 0.3, "vague": 0.1, "list": 0.05, "refusal": 0.05}, abs=0.03
    )


def test_mistakes_that_a_question_does_not_allow_are_not_made() -> None:
    answers = play(Player(0.0, habits={}), 500, right=("Stir it.",), wrong=())
    assert all(a.outcome == "refusal" or "Stir" not in a.text for a in answers)
    assert {a.outcome for a in answers} == {"reply", "refusal"}
    assert not any(a.text.startswith("* ") for a in answers)


def test_habits_dress_right_answers_too() -> None:
    answers = play(Player(1.0), 2_000)
    assert all("Yes, stir it." in a.text for a in answers)
    dressed = [a.text for a in answers if a.text != "Yes, stir it."]
    assert 0.15 < len(dressed) / len(answers) < 0.28
    assert any(t.startswith("**") for t in dressed)
    assert any(t.endswith("else!") for t in dressed)
    always = play(Player(1.0, habits={"markdown": 1.0}), 5)
    assert {a.text for a in always} == {"**Yes, stir it.**"}


def test_any_of_several_right_answers_is_given() -> None:
    assert {a.text for a in play(Player(1.0, habits={}), 30, right=("a", "b"))} == {"a", "b"}


@pytest.mark.parametrize("quality", [1.5, {"a": -1}])
def test_bad_players(quality: float | dict[str, float]) -> None:
    with pytest.raises(UserError):
        Player(quality)


@pytest.mark.parametrize(
    ("text", "flipped"),
    [
        ("Yes.", "No."),
        ("no, you did", "yes, you did"),
        ("  YES", "  NO"),
        ("Not yet", None),
        ("Yesterday", None),
        ("Nothing", None),
        ("", None),
        ("I say yes", None),
    ],
)
def test_flips(text: str, flipped: str | None) -> None:
    assert flip_yes_no(text) == flipped


@given(st.text())
def test_a_flip_twice_is_none(text: str) -> None:
    flipped = flip_yes_no(text)
    if flipped is not None:
        again = flip_yes_no(flipped)
        assert again is not None
        assert again.lower() == text.lower()
