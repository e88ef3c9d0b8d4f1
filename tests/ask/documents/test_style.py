"""Styles as files: ours, a user's own, and every way in which a file can be wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.documents.style import (
    BUILTIN_STYLES,
    PUBLISHED_COUNTS,
    Combination,
    load_style,
    load_styles,
    parse_combination,
    part_style,
    render_combination,
    style_of,
)
from proctor.errors import UserError

SINGLES = {(1, 0, 0), (0, 1, 0), (0, 0, 1)}
PAIRS = {(2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), (0, 0, 2)}
PUBLISHED: dict[str, set[Combination]] = {
    "information-extraction": SINGLES,
    "compare-contrast": PAIRS,
    "numerical": {(1, 0, 0), (0, 1, 0), (2, 0, 0), (1, 1, 0), (0, 2, 0)},
    "compound": PAIRS,
    "multi-hop": PAIRS - {(0, 0, 2)},
}

OWN = """---
name: cause
version: 2
title: Cause
combinations: 1-0-0, 1-1-0
---
The question asks why something happened.

=== example 1-0-0 ===
=== text ===
Fountain: It was switched off because its spray froze.
=== table ===
Year | Frost
1958 | 40 days
=== reply ===
Why was the fountain switched off? | Because its spray froze. | 1
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "cause.md"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", BUILTIN_STYLES)
def test_ours_have_the_published_combinations_and_three_examples(name: str) -> None:
    style = load_style(name)
    assert style.name == name
    assert set(style.combinations) == PUBLISHED[name]
    assert len(style.examples) == 3
    assert len({example.modalities for example in style.examples}) == 3
    assert style.checks == (("digit",) if name == "numerical" else ())
    assert style.hops == (name == "multi-hop")
    assert style.max_sources == (1 if name == "information-extraction" else 4)


def test_the_published_set_is_complete(shared_expected: Callable[[str], dict[str, Any]]) -> None:
    totals = shared_expected("smmqg-instructionbench")["smmqg_totals"]
    assert list(PUBLISHED_COUNTS.values()) == [
        totals["style_counts"][k] for k in ("IE", "CC", "NUM", "CMP", "MH")
    ]
    assert sum(PUBLISHED_COUNTS.values()) == totals["sum"]
    assert tuple(PUBLISHED_COUNTS) == BUILTIN_STYLES == tuple(style.name for style in load_styles())


@pytest.mark.parametrize("name", ["hop-first", "hop-second"])
def test_halves_of_multi_hop_questions_are_no_styles_of_their_own(
    name: Literal["hop-first", "hop-second"],
) -> None:
    assert len(part_style(name).examples) == 3
    with pytest.raises(UserError, match="there is no style"):
        load_style(name)
    with pytest.raises(UserError, match="there is no style"):
        load_style(f"_{name}")


def test_ours_say_when_to_refuse() -> None:
    for name in ("compare-contrast", "compound"):
        assert [e.reply for e in load_style(name).examples].count("None") == 1
        assert len(load_style(name).questions) == 2


def test_a_file_of_a_users_own(tmp_path: Path) -> None:
    style = load_style(write(tmp_path, OWN))
    assert (style.name, style.version, style.title) == ("cause", "2", "Cause")
    assert style.combinations == ((1, 0, 0), (1, 1, 0))
    assert style.description == "The question asks why something happened."
    assert style.examples[0].sources == (
        ("text", "Fountain: It was switched off because its spray froze."),
        ("table", "Year | Frost\n1958 | 40 days"),
    )
    assert style.questions == ("Why was the fountain switched off?",)
    crlf = load_style(write(tmp_path, OWN.replace("\n", "\r\n")))
    assert crlf.hash == style.hash
    assert load_style(write(tmp_path, OWN.replace("why", "how"))).hash != style.hash


def test_larger_combinations_need_every_pair(tmp_path: Path) -> None:
    compare, hop, numbers = load_styles(["compare-contrast", "multi-hop", "numerical"])
    assert compare.allows((1, 1, 1))
    assert compare.allows((2, 1, 1))
    assert not compare.allows((2, 2, 1))
    assert not compare.allows((1, 0, 0))
    assert hop.allows((1, 1, 1))
    assert not hop.allows((1, 0, 2))
    assert not numbers.allows((1, 1, 1))
    assert numbers.allows((1, 2, 0))
    assert not load_style("information-extraction").allows((1, 1, 1))
    anything = load_style(write(tmp_path, OWN.replace("1-0-0, 1-1-0", "any\nmax_sources: 3")))
    assert len(anything.combinations) == 19
    assert anything.combinations[:4] == ((1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 0, 0))
    assert anything.allows((0, 0, 3))
    assert not anything.allows((4, 0, 0))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("---\nname", "name", "begins with a header"),
        ("name: cause", "name: Cause!", "cannot be the name"),
        ("name: cause", "name: compound", "name of one of our styles"),
        ("name: cause\n", "", r"lacks name:"),
        ("title: Cause", "title: " + "x" * 100, "cannot be the title"),
        ("title: Cause", "title: Cause\ncolour: red", "the header has the line 'colour: red'"),
        ("title: Cause", "title: Cause\ntitle: Cause", "the header has the line"),
        ("title: Cause", "title: Cause\nchecks: digit, spell", "no check 'spell'"),
        ("title: Cause", "title: Cause\nchecks: digit", "breaks a check of its own style"),
        ("title: Cause", "title: Cause\nhops: maybe", "hops: is 'yes' or 'no'"),
        ("title: Cause", "title: Cause\nmax_sources: 99", "max_sources: is a number from 1 to 8"),
        ("title: Cause", "title: Cause\nmax_sources: 1", "is less than combinations"),
        ("1-0-0, 1-1-0", "1-0-0, 1-0-0", "each combination once"),
        ("1-0-0, 1-1-0", "1-0", "does not say how many"),
        ("1-0-0, 1-1-0", "0-0-0", "at least one source"),
        ("1-0-0, 1-1-0", "9-9-9", "27 sources is too much"),
        ("1-0-0, 1-1-0", "0-0-1", "not for 1-0-0"),
        ("The question asks why something happened.", "", "no description"),
        ("The question asks why something happened.", "x" * 9000, "at most 8,000 characters"),
        ("It was switched", "x" * 5000, "at most 4,000 characters"),
        ("=== text ===", "=== video ===", "'=== video ===' is empty or out of place"),
        ("=== text ===\n", "=== text ===\n=== text ===\n", "'=== text ===' is empty or out of place"),
        ("=== example 1-0-0 ===\n", "", "out of place"),
        ("=== example 1-0-0 ===", "=== example ===", "out of place"),
        ("| 1\n", "| 1\n=== example 1-0-0 ===\n=== text ===\nMore.\n", "the last example has no reply"),
        ("| 1\n", "| 2\n", r"example of 1-0-0, and its reply cites 0-1-0"),
        ("| 1\n", "| 7\n", "citation_out_of_range"),
        (" | Because its spray froze. | 1", "", "format_error"),
        (OWN[OWN.index("=== example") :], "", "1 to 12 examples"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in OWN
    path = write(tmp_path, OWN.replace(old, new, 1))
    with pytest.raises(UserError, match=re.escape(says)) as caught:
        load_style(path)
    assert "cause.md" in str(caught.value.where)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        load_style(tmp_path / "lost.md")
    with pytest.raises(UserError, match="there is no style 'rhyme'"):
        load_style("rhyme")
    (tmp_path / "cause.md").write_bytes(b"---\nname: \xff")
    with pytest.raises(UserError, match="not UTF-8"):
        load_style(tmp_path / "cause.md")
    write(tmp_path, OWN + "x" * 300_000)
    with pytest.raises(UserError, match="at most 200,000 bytes"):
        load_style(tmp_path / "cause.md")


def test_several_styles(tmp_path: Path) -> None:
    styles = load_styles(["compound", write(tmp_path, OWN)])
    assert style_of(styles, "cause").title == "Cause"
    with pytest.raises(UserError, match="no style 'numerical'"):
        style_of(styles, "numerical")
    with pytest.raises(UserError, match="asked for twice"):
        load_styles(["compound", "compound"])
    with pytest.raises(UserError, match="no style is asked for"):
        load_styles([])


@given(st.tuples(*[st.integers(0, 8)] * 3).filter(lambda m: 1 <= sum(m) <= 8))
def test_combinations_read_what_they_write(combination: Combination) -> None:
    assert parse_combination(render_combination(combination)) == combination == parse_combination(combination)


@pytest.mark.parametrize("bad", ["", "1", "1-1", "1-1-1-1", "-1-0-1", "a-b-c", "1.0-0-0", (1, 0), (1.0, 0, 0), (-1, 1, 1), (True, 0, 0), ("1", 0, 0)])  # fmt: skip
def test_what_is_no_combination(bad: Any) -> None:
    with pytest.raises(UserError, match="does not say how many"):
        parse_combination(bad)


@given(st.text(alphabet=st.sampled_from("-=: \nabdegilmnoprtuvx1230|,")) | st.text())
def test_any_text_is_a_style_or_an_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.md"
    head = OWN[: OWN.index("=== example")]
    places: list[str | None] = []
    for content in (text, head + text, OWN + text):
        path.write_text(content, encoding="utf-8", errors="replace", newline="")
        try:
            assert load_style(path).examples
        except UserError as error:
            places.append(error.where)
    assert all(places)
