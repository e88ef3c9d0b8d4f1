"""Pages composed of sections: all that was given stands there, nothing of it acts."""

from __future__ import annotations

import dataclasses
import random
import re
from pathlib import Path

import pytest
from tests.report.pages import HOSTILE, full_page

from proctor.metrics.figure import IntervalPlot
from proctor.report.page import render_page, write_page
from proctor.report.parts import (
    Cell,
    ExampleView,
    Heat,
    Highlight,
    Led,
    Listing,
    Page,
    Section,
    SourceView,
    Table,
)


def test_everything_that_was_given_stands_on_the_page():
    text = render_page(full_page("Lemon"))
    for part in ("Lemon questions", "Lemon lead.", "Lemon warning.", "Lemon numbers", "Lemon cells", "manual.pdf, page 3",
                 "9 rows are not shown", "Lemon/model", "not marked", "data:image/png;base64,", "Nothing to show.", "Lemon because", "Lemon fold",
                 "5 more are left out"):  # fmt: skip
        assert part in text
    assert text.count("<details") == 10
    assert len(re.findall(r'<details class="example"[^>]* open>', text)) == 1
    assert re.findall(r'<section id="([a-z]+)"', text) == [
        "corpus",
        "tables",
        "figures",
        "examples",
        "method",
    ]


def test_how_to_read_a_kind_of_picture_is_said_once():
    page = full_page()
    again = dataclasses.replace(page, sections=(page.sections[2],))
    text = render_page(again)
    from proctor.report.figures import figure_guide

    assert text.count(figure_guide(page.sections[2].parts[2])) == 1


def test_hostile_text_stays_text():
    text = render_page(full_page(HOSTILE))
    assert text.count("<script") == 3  # the filter of the examples, tables and lists
    assert "<img src=x" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "default-src 'none'" in text.replace("&#39;", "'")


def test_equal_pages_are_equal_bytes(tmp_path: Path):
    first = write_page(tmp_path / "a.html", full_page()).read_bytes()
    assert first == write_page(tmp_path / "b.html", full_page()).read_bytes()


def test_an_empty_page_can_be_drawn():
    assert "<h1" in render_page(Page("Nothing"))


def test_a_picture_that_is_an_address_is_refused():
    source = SourceView("i", "image", "cited", "t", picture="https://example.org/x.png")
    with pytest.raises(ValueError, match="no data address"):
        render_page(Page("p", examples=(ExampleView("q", "k", "?", "!", sources=(source,)),)))


def test_a_picture_of_several_questions_is_in_the_page_once():
    def asked(name: str, picture: str) -> ExampleView:
        source = SourceView("i", "image", "cited", name, picture=f"data:image/png;base64,{picture}")
        return ExampleView(name, "k", "?", "!", sources=(source,))

    page = Page("p", examples=(asked("a", "AAAA"), asked("b", "BBBB"), asked("c", "AAAA")))
    text = render_page(page)
    assert (text.count("base64,AAAA"), text.count("base64,BBBB")) == (1, 1)
    assert text.count('<use href="#picture-0"') == 2
    assert 'aria-label="a"' in text


def test_the_striking_example_shows_the_frame_of_its_moment_and_pictures_are_decoded_when_needed():
    earlier, last = (
        SourceView(name, "frame", role, name, picture=f"data:image/webp;base64,{name}")
        for name, role in (("AAAA", ""), ("BBBB", "the moment"))
    )
    example = ExampleView("q", "k", "?", "!", sources=(earlier, last))
    text = render_page(Page("p", examples=(example,), striking=Highlight("q", "separates runs", "why")))
    opening, _, rest = text.partition('<section id="examples"')
    assert 'aria-label="Enlarge: BBBB"' in opening
    assert "Enlarge: AAAA" not in opening
    assert rest.index("Enlarge: AAAA") < rest.index("Enlarge: BBBB")
    pictures = re.findall("<img [^>]*>", text)
    assert [('loading="lazy"' in p, 'decoding="async"' in p) for p in pictures] == [(True, True)]


def test_two_sections_of_one_id_are_refused():
    with pytest.raises(ValueError, match="same id"):
        render_page(Page("p", sections=(Section("a", "A"), Section("a", "B"))))


def test_a_line_without_all_its_cells_is_refused():
    with pytest.raises(ValueError, match="2 cells"):
        Table("t", ("a", "b"), (("1",),))


def test_shades_follow_values():
    heat = Heat("t", "", ("a",), (("r", (1.0,)),), high=2.0)
    assert [heat.shade(v) for v in (None, float("nan"), -1.0, 0.0, 1.0, 2.0, 9.0)] == [
        None,
        None,
        0,
        0,
        4,
        8,
        8,
    ]
    assert [heat.show(v) for v in (None, float("nan"), 1.0)] == ["", "", "1.00"]
    assert Heat("t", "", ("a",), (("r", (0.0,)),), high=0.0).shade(0.0) == 0
    with pytest.raises(ValueError, match="2 cells"):
        Heat("t", "", ("a", "b"), (("r", (1.0,)),))


def test_names_of_columns_are_broken_behind_their_signs_and_stay_text():
    name = "python:mine:<b>answer_two</b>"
    parts = (Heat("h", "", (name,), (("r", (1.0,)),)), Table("t", ("", name), (("r", "1"),)))
    text = render_page(Page("p", sections=(Section("a", "A", parts),)))
    assert text.count("<bdi>python:<wbr>mine:&lt;b&gt;answer_<wbr>two&lt;/<wbr>b&gt;</bdi>") == 2


def test_a_number_of_a_picture_leads_where_its_cell_says():
    plot = IntervalPlot("t", ("a", "b"), (0.5, 0.25), (0.4, None), (0.6, None))
    lines = Listing.of("all", "Each", ("Line",), (((HOSTILE,), ("one",)),))
    cells = (Cell("other", "beneath", among=("all", "one")), Cell(among=("all", "nothing")))
    text = render_page(Page("p", sections=(Section("a", "A", (Led(plot, cells), lines)),)))
    assert re.findall(
        '<a class="find" href="#list-all" data-tag="one"><bdi>([^<]*)</bdi></a></td>', text
    ) == [
        "0.500",
        "[0.400, 0.600]",
    ]
    assert "<bdi>0.250</bdi></td>" in text
    assert "beneath" not in text
    assert '<data value="0">0.500</data>' in render_page(Page("p", sections=(Section("a", "A", (plot,)),)))


def test_regions_of_one_title_have_names_of_their_own():
    table = Table("Board <b>", ("", "b"), (("x", "1"),))
    text = render_page(Page("p", sections=(Section("a", "A", (table,)), Section("c", "C", (table, table)))))
    assert re.findall('role="region" aria-label="([^"]*)"', text) == [
        "Board &lt;b&gt;", "Board &lt;b&gt; (2)", "Board &lt;b&gt; (3)",
    ]  # fmt: skip


def test_the_opening_is_not_named_as_a_section_is():
    text = render_page(Page("Benchmark", sections=(Section("benchmark", "Benchmark"),)))
    assert re.findall("<section [^>]*>", text)[0] == '<section class="opening" aria-label="Summary">'


def test_an_empty_cell_stays_empty():
    page = Page("p", sections=(Section("a", "A", (Table("t", ("", "b"), (("x", ""),)),)),))
    assert "(no name)" not in render_page(page)


def test_lines_of_a_long_list_have_so_much_room_and_what_has_none_is_counted():
    rng = random.Random(0)
    lines = [((f"{rng.getrandbits(900):x}",), ["all"]) for _ in range(6_000)]
    listings = tuple(Listing.of(name, f"Each {name}", ("Line",), lines) for name in ("first", "then"))
    text = render_page(Page("p", sections=(Section("a", "A", listings),)))
    packed = [len(one) for one in re.findall('data-rest="([^"]*)"', text)]
    assert sum(packed) <= 250_000
    assert len(text) < 250_000 + 2 * 500 * 330 + 100_000
    left = [
        int(n.replace(",", "")) for n in re.findall("The first 500 of 6,000; ([0-9,]+) have no room", text)
    ]
    heavy = render_page(Page("p", lead=("x" * 5_000,) * 900, sections=(Section("a", "A", listings),)))
    assert "data-rest" not in heavy  # no room at all
    assert "The first 500 of 6,000; 5,500 have no room" in heavy
    assert len(left) == 2
    assert 0 < left[0] < left[1] <= 5_500
