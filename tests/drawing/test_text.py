from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.drawing.text import escape_xml, show_text, text_width, wrap_text

ROOM = 148.0


@given(st.text(), st.floats(8, 300))
def test_wrapping_keeps_every_character_but_white_space(text: str, room: float) -> None:
    lines = wrap_text(text, room, 12)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(lines)


@given(st.text())
def test_no_line_is_wider_than_the_room(text: str) -> None:
    assert all(text_width(line, 12) <= ROOM + 1e-9 for line in wrap_text(text, ROOM, 12))


def test_words_stay_whole_where_they_fit() -> None:
    text = "Add 1 heaped tablespoon of flour to the blender and then blitz it"
    assert " ".join(wrap_text(text, ROOM, 12)) == text
    assert wrap_text(text, ROOM, 12)[0] == "Add 1 heaped"


def test_a_word_that_is_longer_than_a_line_is_broken() -> None:
    lines = wrap_text("x" * 100, ROOM, 12)
    assert len(lines) > 2
    assert "".join(lines) == "x" * 100


def test_a_letter_keeps_its_accents_when_a_word_is_broken() -> None:
    lines = wrap_text("e\u0301" * 60, 40, 12)
    assert len(lines) > 5
    assert all(line.startswith("e") for line in lines)


def test_wide_characters_need_more_room() -> None:
    assert text_width("水", 12) > 1.5 * text_width("w", 12) - 5
    assert wrap_text("水を沸かしてください", 54, 12) == ["水を沸か", "してくだ", "さい"]


def test_widths_are_those_of_helvetica_with_room_for_bold() -> None:
    assert text_width("m", 1000) == pytest.approx(833 * 1.1)
    assert text_width("illi", 1000) < text_width("mmmm", 1000) / 3


@given(st.text())
def test_escaped_text_is_xml_whatever_it_says(text: str) -> None:
    read = ET.fromstring(f'<a b="{escape_xml(show_text(text))}">{escape_xml(show_text(text))}</a>')
    assert set(read.keys()) == {"b"}
    assert not list(read)


def test_escaping_keeps_the_text() -> None:
    text = """<a href="x" b='y'>&amp;</a> \U0001f373"""
    assert ET.fromstring(f"<a>{escape_xml(text)}</a>").text == text
    assert escape_xml("\x00\ufffe") == "\ufffd\ufffd"
