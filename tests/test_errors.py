"""A user's mistake: place in front, hint behind, nothing that steers a terminal."""

from __future__ import annotations

import pickle

import pytest

from proctor.errors import MissingExtraError, UserError


def test_message_alone():
    assert str(UserError("the lid is open.")) == "the lid is open."


def test_place_stands_in_front_and_hint_behind():
    error = UserError("the lid is open.", where="jar.json:3", hint="close it")
    assert str(error) == "jar.json:3: the lid is open.\n  → close it"
    assert (error.message, error.where, error.hint) == ("the lid is open.", "jar.json:3", "close it")


def test_missing_extra_names_the_command_to_run():
    error = MissingExtraError("av", "video", "Decoding video")
    assert isinstance(error, UserError)
    assert "Decoding video needs the package 'av'" in str(error)
    assert "pip install 'proctor-bench[video]'" in str(error)


@pytest.mark.parametrize("hostile", ["\x1b[2J", "\r", "\x07", "\u202e", "\x00", "\ud800", "\u2028"])
def test_characters_that_steer_a_terminal_are_escaped(hostile: str):
    text = str(UserError(f"seen {hostile}!", where=f"file{hostile}", hint=f"try{hostile}"))
    assert hostile not in text
    assert text.count("\\") == 3
    text.encode()  # a lone surrogate could not be printed at all


def test_other_scripts_and_line_breaks_stay_readable():
    assert str(UserError("Tee für 二人\nok")) == "Tee für 二人\nok"


@pytest.mark.parametrize(
    "error", [UserError("seen.", where="w", hint="h"), MissingExtraError("av", "video", "Decoding")]
)
def test_it_crosses_process_borders_unchanged(error: UserError):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert (again.message, again.where, again.hint) == (error.message, error.where, error.hint)


def test_a_line_that_quotes_something_huge_is_cut() -> None:
    text = UserError("x" * 10_000_000 + " end", where="file", hint="correct it").render()
    assert len(text) < 1_100
    assert text.startswith("file: xxx")
    assert text.endswith(" end\n  → correct it")
