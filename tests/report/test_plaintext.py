from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.report.plaintext import clip_line, clip_text, show_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ntext\t!", "plain\ntext\t!"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\x00b", "a⟨U+0000⟩b"),
        ("a\r\nb", "a\nb"),
        ("\ud800", "⟨U+D800⟩"),
        ("مرحبا", "مرحبا"),
        ("日本語", "日本語"),
        ("👩\u200d🍳", "👩\u200d🍳"),
    ],
)
def test_hidden_characters_become_visible_and_others_stay(text: str, shown: str) -> None:
    assert show_text(text) == shown


@given(st.text())
def test_shown_text_can_be_written_and_is_stable(text: str) -> None:
    shown = show_text(text)
    shown.encode("utf-8")
    assert show_text(shown) == shown


def test_a_long_text_says_that_it_was_cut() -> None:
    assert clip_text("abc", 3) == "abc"
    cut = clip_text("x" * 1_000_000, 10)
    assert cut.startswith("x" * 10 + " … [1,000,000 characters")
    assert len(cut) < 100


def test_clip_line_is_one_visible_line() -> None:
    assert clip_line(" a\n\n b\tc ", 20) == "a b c"
    assert clip_line("\n \t", 20) == "(no name)"
    assert clip_line("\u202eabc", 20) == "⟨U+202E⟩abc"
    assert clip_line("x" * 30, 10) == "x" * 10 + " … [30 characters, the first 10 are shown]"
