from __future__ import annotations

import html
import itertools
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proctor.metrics.figure import Bars, Figure, Histogram, IntervalPlot, Matrix, Reliability
from proctor.metrics.table import ScoreTable
from proctor.report.figures import draw_figure, figure_guide
from proctor.report.figures.matrix import SHADES, read_cells, shade_name
from proctor.report.figures.parts import Scale, ticks
from proctor.report.numbers import show_value
from proctor.report.page import asset

EVIL = "<script>alert(1)</script>\"'&\u202e\x00\n" + "x" * 1_000_000


def parse(markup: str) -> ET.Element:
    """The markup as a tree; HTML's own entities are the only ones that XML does not know."""
    return ET.fromstring(f"<div>{markup.replace('&nbsp;', ' ').replace('&emsp;', ' ')}</div>")


def texts(tree: ET.Element, path: str) -> list[str]:
    return ["".join(e.itertext()).strip() for e in tree.findall(path)]


def classes(tree: ET.Element, tag: str) -> list[set[str]]:
    return [set((e.get("class") or "").split()) for e in tree.iter(tag)]


def all_figures(tables: dict[str, ScoreTable]) -> Iterable[Figure]:
    return itertools.chain.from_iterable(t.figures for t in tables.values())


# -- all kinds ---------------------------------------------------------------------------------------------------


def test_every_figure_is_well_formed_without_scripts_or_inline_styles(
    score_tables: dict[str, ScoreTable],
) -> None:
    for figure in all_figures(score_tables):
        tree = parse(draw_figure(figure))
        for element in tree.iter():
            assert element.tag not in ("script", "style", "foreignObject", "a", "img")
            assert not {name for name in element.keys() if name == "style" or name.startswith("on")}  # noqa: SIM118


def test_every_class_of_the_markup_is_known_to_the_style_sheet(score_tables: dict[str, ScoreTable]) -> None:
    known = set(
        re.findall(r"\.([a-z][\w-]*)", asset("base.css") + asset("figures.css") + asset("scores.css"))
    )
    used = {
        name
        for figure in all_figures(score_tables)
        for element in parse(draw_figure(figure)).iter()
        for name in (element.get("class") or "").split()
    }
    unstyled = {"level", "few", "counts", "end", "ends", "value", "count", "name", "drawn"}
    assert used - known - unstyled == set()


def test_equal_figures_give_equal_markup(score_tables: dict[str, ScoreTable]) -> None:
    for figure in all_figures(score_tables):
        assert draw_figure(figure) == draw_figure(replace(figure))


def hostile_figures() -> list[Figure]:
    bins = (0.5,)
    return [
        Matrix(EVIL, (EVIL,), (EVIL,), ((3.0,),), row_title=EVIL, column_title=EVIL),
        Matrix(EVIL, (EVIL,) * 40, (EVIL,) * 40, ((1.0,) * 40,) * 40, row_title=EVIL, column_title=EVIL),
        Matrix(EVIL, (EVIL,), (EVIL,), ((0.3,),), "values", EVIL, EVIL),
        Bars(EVIL, (EVIL,), (3.0,), (1,), 100.0, EVIL),
        Reliability(EVIL, bins, bins, bins, bins, (1,), (0.0, 1.0)),
        IntervalPlot(EVIL, (EVIL,), (0.5,), (0.4,), (0.6,), (0.1,)),
        Histogram(EVIL, (0.0, 1.0), (1,), EVIL, ((EVIL, 0.5),), ((EVIL, math.nan), (EVIL, 9.0))),
    ]


@pytest.mark.parametrize("figure", hostile_figures(), ids=lambda f: type(f).__name__)
def test_texts_from_data_are_escaped_shown_and_cut(figure: Figure) -> None:
    markup = draw_figure(figure)
    assert "<script" not in markup
    assert not set("\u202e\x00") & set(markup)
    assert len(markup) < 3_000_000
    if not isinstance(figure, Reliability):
        assert "&lt;script&gt;" in markup
        assert "⟨U+202E⟩" in markup
        assert f"{len(EVIL):,} characters" in markup
    parse(markup)


def test_every_kind_says_how_to_read_it(score_tables: dict[str, ScoreTable]) -> None:
    guides = {figure_guide(figure) for figure in all_figures(score_tables)}
    assert len(guides) == 7
    assert all(guide.endswith(".") for guide in guides)


@pytest.mark.parametrize(
    "figure",
    [
        Matrix("x", ("a", "b"), ("a",), ((1.0,),)),
        Matrix("x", ("a",), ("a", "b"), ((1.0,),)),
        Bars("x", ("a",), (1.0, 2.0)),
        Bars("x", ("a",), (1.0,), (1, 2)),
        Reliability("x", (0.5,), (0.5,), (0.4,), (0.6,), (1,), (0.0, 0.5, 1.0)),
        Reliability("x", (0.5,), (), (0.4,), (0.6,), (1,), (0.0, 1.0)),
        IntervalPlot("x", ("a",), (1.0,), (), ()),
        IntervalPlot("x", ("a",), (1.0,), (0.5,), (2.0,), (0.1, 0.2)),
        Histogram("x", (0.0, 1.0), (1, 2)),
    ],
)
def test_labels_and_numbers_that_do_not_fit_are_refused(figure: Figure) -> None:
    with pytest.raises(ValueError, match=r"the picture 'x' has \d+ .* they must be equally many"):
        draw_figure(figure)


@pytest.mark.parametrize(
    "figure",
    [Matrix("x", (), (), ()), Bars("x", (), ()), Reliability("x", (), (), (), (), (), (0.0,)), IntervalPlot("x", (), (), (), ()), Histogram("x", (0.0, 1.0), (0,))],
)  # fmt: skip
def test_nothing_to_draw_is_said_in_words(figure: Figure) -> None:
    (paragraph,) = parse(draw_figure(figure))
    assert paragraph.get("class") == "empty"
    assert (paragraph.text or "").startswith("There is no")


# -- histograms --------------------------------------------------------------------------------------------------


def test_columns_stand_between_their_borders_and_lines_at_their_values() -> None:
    figure = Histogram(
        "Lengths",
        (10.0, 20.0, 30.0, 40.0),
        (4, 0, 2),
        "s",
        (("median", 15.0),),
        (("published", 30.0), ("mean", 50.0)),
    )
    tree = parse(draw_figure(figure))
    bars = [{k: float(e.get(k) or 0) for k in ("x", "y", "width", "height")} for e in tree.iter("rect")]
    assert [bar["height"] for bar in bars] == [180.0, 0.0, 90.0]
    assert len({bar["y"] + bar["height"] for bar in bars}) == 1
    step = bars[1]["x"] - bars[0]["x"]
    at = {e.get("class"): float(e.get("x1") or 0) for e in tree.iter("line") if e.get("class") == "own"}
    assert at["own"] == pytest.approx(bars[0]["x"] + step / 2, abs=0.2)
    dashed = sorted(float(e.get("x1") or 0) for e in tree.iter("line") if e.get("class") == "reference")
    assert dashed == pytest.approx([bars[2]["x"], bars[0]["x"] + 4 * step], abs=0.2)  # beyond the columns
    named = [(e.text, float(e.get("y") or 0)) for e in tree.iter("text") if (e.text or "").endswith(" s")]
    assert [name for name, _ in sorted(named, key=lambda pair: pair[1])] == [
        "median 15 s",
        "published 30 s",
        "mean 50 s",
    ]
    assert texts(tree, "p") == ["median 15 s; published 30 s; mean 50 s"]
    rows = [[("".join(cell.itertext())) for cell in row] for row in tree.iter("tr")]
    assert rows[1:] == [["10 to 20", "4"], ["20 to 30", "0"], ["30 to 40", "2"]]


# -- scales and numbers ------------------------------------------------------------------------------------------


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_few_rising_and_inside(low: float, span: float) -> None:
    high = low + span
    found = ticks(low, high)
    assert 1 <= len(found) <= 6
    assert found == sorted(set(found)) or span < 1e-9 * abs(low)
    slack = 1e-6 * max(span, abs(low), 1e-9)
    assert all(low - slack <= t <= high + slack for t in found)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0, 100, [0, 20, 40, 60, 80, 100]),
        (-1, 1, [-1, -0.5, 0, 0.5, 1]),
        (0.2, 0.45, [0.2, 0.25, 0.3, 0.35, 0.4, 0.45]),
        (3, 3, [3]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [(None, 2, "–"), (math.nan, 2, "–"), (math.inf, 2, "–"), (-0.001, 2, "0.00"), (-0.5, 2, "−0.50"), (1234.5, 1, "1,234.5")],
)  # fmt: skip
def test_numbers(value: float | None, digits: int, expected: str) -> None:
    assert show_value(value, digits) == expected


def test_scales_can_always_be_drawn() -> None:
    assert Scale.between(0, 0).place(0) == 0
    assert Scale.between(5, 2).place(5) == 0
    assert Scale.between(math.nan, 1).place(1) == 100
    assert Scale.between(0, math.inf).place(0.5) == 50


# -- matrices ----------------------------------------------------------------------------------------------------

TWO = Matrix(
    "x", ("ok", "mistake"), ("ok", "mistake"), ((412.0, 96.0), (0.0, 170.0)), row_title="reference", column_title="prediction"
)  # fmt: skip


def test_a_confusion_matrix_is_a_table_with_heads_numbers_shares_and_totals() -> None:
    tree = parse(draw_figure(TWO))
    rows = [[" ".join(c.itertext()) for c in row if c.tag == "td"] for row in tree.iter("tr")][2:]
    assert rows == [["412 81 %", "96 19 %", "508"], ["0", "170 100 %", "170"]]
    assert [e.get("scope") for e in tree.iter("th")].count("row") == 2
    first = next(e for e in tree.iter("td") if "right" in (e.get("class") or ""))
    assert (
        first.get("title") == "reference: ok prediction: ok 412 (81.1 % of the row)"
    )  # XML reads line feeds as spaces


def shade(matrix: Matrix, value: float | None) -> str:
    """The shade of one value on the scale of the matrix."""
    one = replace(matrix, rows=("r",), columns=("c",), cells=((value,),))
    return shade_name(int(read_cells(one).codes[0, 0]))


def test_counts_are_shaded_by_the_share_of_their_row_and_never_fade_to_nothing() -> None:
    cells = read_cells(
        Matrix(
            "x",
            ("a", "b", "c"),
            tuple("wxyz"),
            ((0.0, 1.0, 500.0, 499.0), (0.0,) * 4, (None, math.nan, math.inf, 4.0)),
        )
    )
    names = [[shade_name(code) for code in line] for line in cells.codes.tolist()]
    assert names == [["p0", "p1", "p4", "p4"], ["p0"] * 4, ["void", "void", "void", "p8"]]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=10))
def test_stronger_shades_are_higher_values(values: list[float]) -> None:
    heat = Matrix("x", ("a",), ("a",), ((0.0,),), "values")
    steps = [int(shade(heat, v)[1:]) for v in sorted(values)]
    assert steps == sorted(steps)
    assert 0 <= steps[0] <= steps[-1] <= SHADES


@given(st.floats(-1, 1))
def test_values_around_zero_have_two_colours_of_equal_strength(value: float) -> None:
    heat = Matrix("x", ("a",), ("a",), ((0.0,),), "values", low=-1.0)
    one, other = shade(heat, value), shade(heat, -value)
    assert one[1:] == other[1:]
    assert (one[0] == "n") is (value < 0 and one[1:] != "0")


def test_an_uneven_scale_keeps_equal_distances_equally_strong() -> None:
    heat = Matrix("x", ("a",), ("a",), ((0.0,),), "values", low=-0.5, high=1.0)
    assert (shade(heat, -0.5), shade(heat, 0.5), shade(heat, 1.0)) == ("n4", "p4", "p8")


def test_values_outside_the_scale_take_its_ends() -> None:
    heat = Matrix("x", ("a",), ("a",), ((0.0,),), "values", low=0.5, high=0.7)
    assert (shade(heat, 0.1), shade(heat, 0.9)) == ("p0", "p8")
    flat = Matrix("x", ("a",), ("a",), ((0.0,),), "values", low=1.0, high=1.0)
    assert shade(flat, 3.0) == "p0"


def test_undefined_cells_are_hatched_dashed_and_explained() -> None:
    heat = Matrix("x", ("a", "b"), ("a", "b"), ((None, 0.25), (math.nan, -0.5)), "values", low=-1.0)
    tree = parse(draw_figure(heat))
    cells = [e for row in list(tree.iter("tr"))[2:] for e in row if e.tag == "td"]
    assert [(e.get("class"), "".join(e.itertext())) for e in cells] == [
        ("void", "–"),
        ("p2", "0.25"),
        ("void", "–"),
        ("n4", "−0.50"),
    ]
    assert "undefined" in texts(tree, ".//li")[-1]


def test_totals_and_frames_belong_to_counts_of_the_same_classes() -> None:
    heat = parse(draw_figure(Matrix("x", ("a",), ("a",), ((1.0,),), "values")))
    assert not any({"total", "right"} & c for c in (*classes(heat, "td"), *classes(heat, "th")))
    other = parse(draw_figure(replace(TWO, columns=("good", "bad"))))
    assert not any("right" in c for c in classes(other, "td"))
    assert "framed" not in figure_guide(replace(TWO, columns=("good", "bad")))


def numbered(size: int) -> Matrix:
    names = tuple(f"class {n}" for n in range(1, size + 1))
    cells = tuple(
        tuple(50.0 if r == c else 7.0 if (r, c) == (0, size - 1) else 0.0 for c in range(size))
        for r in range(size)
    )
    return Matrix("x", names, names, cells, row_title="reference", column_title="prediction")


def test_thirty_classes_have_numbers_and_thirty_one_a_drawing() -> None:
    assert "<svg" not in draw_figure(numbered(30))
    tree = parse(draw_figure(numbered(31)))
    drawing = tree.find("svg[@role='img']")
    assert drawing is not None
    assert "31 rows by 31 columns" in (drawing.get("aria-label") or "")
    assert len(drawing.findall("rect[@class='hit']")) == 32
    assert (
        drawing.findtext("rect[@class='hit']/title")
        == "reference: class 1\nprediction: class 1\n50 (87.7 % of the row)"
    )
    assert len(texts(tree, ".//ol/li")) == 31


def test_the_drawing_covers_each_cell_once() -> None:
    tree = parse(draw_figure(numbered(40)))
    size = 720 // 40
    covered: set[tuple[float, int]] = set()
    for path in tree.iter("path"):
        for x, y, width in re.findall(r"M(\d+) ([\d.]+)h(\d+)", path.get("d") or ""):
            for n in range(int(width) // size):
                cell = (float(y), int(x) + n * size)
                assert cell not in covered
                covered.add(cell)
    assert len(covered) == 41


def test_confusions_are_listed_from_the_largest_and_without_the_diagonal() -> None:
    tree = parse(draw_figure(numbered(12)))
    assert texts(tree, "details/summary") == ["The most frequent confusions"]
    assert texts(tree, "details/table/tbody/tr/td") == ["class 1", "class 12", "7", "12.3 %"]


def test_the_ends_of_a_large_heat_map_are_listed() -> None:
    names = tuple(f"s{n}" for n in range(40))
    cells = tuple(tuple(None if r == c else (r * 40 + c) / 1600 - 0.2 for c in range(40)) for r in range(40))
    tree = parse(draw_figure(Matrix("x", names, names, cells, "values", low=-1.0)))
    assert texts(tree, "details/summary") == ["The highest values", "The lowest values", "Rows by number"]
    assert texts(tree, "details/table/tbody/tr/td")[:3] == ["s39", "s38", show_value(1598 / 1600 - 0.2, 3)]
    assert any("void" in c for c in classes(tree, "path"))


def test_a_dense_matrix_of_many_classes_stays_small_and_too_many_are_not_drawn() -> None:
    names = tuple(map(str, range(400)))
    cells = tuple(tuple(float((r * 7 + c * 13) % 11) for c in range(400)) for r in range(400))
    markup = draw_figure(Matrix("x", names, names, cells))
    assert len(markup) < 4_000_000
    wide = Matrix("x", ("a",), tuple(map(str, range(1001))), ((1.0,) * 1001,), "values")
    assert "too many to draw" in draw_figure(wide)
    assert "The highest values" in draw_figure(wide)


def test_large_counts_are_short_where_there_is_little_room_and_exact_when_pointed_at() -> None:
    names = tuple("abcdefghi")
    cells = tuple(tuple(123_456.0 if r == c else 1.5 for c in range(9)) for r in range(9))
    markup = draw_figure(Matrix("x", names, names, cells))
    assert ">123k<" in markup
    assert "123,456" in markup
    assert ">1.5<" in markup


def test_many_or_long_names_stand_upright() -> None:
    assert "upright" in draw_figure(numbered(9))
    assert "upright" not in draw_figure(numbered(8))
    long = tuple(f"a long name, number {n}" for n in range(4))
    assert "upright" in draw_figure(Matrix("x", long, long, ((1.0,) * 4,) * 4))


# -- bars --------------------------------------------------------------------------------------------------------


def test_bars_keep_their_order_and_print_values_units_and_counts() -> None:
    tree = parse(draw_figure(Bars("AP", ("b", "a", "c"), (12.34, None, 100.0), (3, 0, 1200), 100.0, "%")))
    assert texts(tree, ".//tbody/tr/th") == ["b", "a", "c"]
    assert texts(tree, ".//tbody/tr/td[@class='num value']") == ["12.3 %", "–", "100.0 %"]
    assert texts(tree, ".//tbody/tr/td[3]") == ["3", "0", "1,200"]
    assert [r.get("width") for r in tree.iter("rect")] == ["12.34%", "100%"]


def test_bars_without_counts_have_no_such_column() -> None:
    tree = parse(draw_figure(Bars("AP", ("a",), (0.5,), high=1.0)))
    assert texts(tree, ".//thead/tr/th")[-1] == "value"
    assert texts(tree, ".//td[@class='num value']") == ["0.500"]


@pytest.mark.parametrize(("size", "parts"), [(45, [45]), (46, [40, 6]), (350, [40, 310])])
def test_many_bars_unfold(size: int, parts: list[int]) -> None:
    bars = Bars("AP", tuple(map(str, range(size))), (1.0,) * size)
    tree = parse(draw_figure(bars))
    assert [len(body) for body in tree.iter("tbody")] == parts
    assert texts(tree, ".//summary") == ([f"The other {parts[1]}"] if len(parts) > 1 else [])


def test_the_bars_are_summed_up() -> None:
    tree = parse(draw_figure(Bars("AP", tuple("abcde"), (10.0, None, 30.0, 20.0, math.nan))))
    assert texts(tree, "p") == ["5 in all; lowest 10.0, median 20.0, highest 30.0; 2 undefined"]


@given(
    st.lists(st.none() | st.floats(allow_nan=True, allow_infinity=True), max_size=8),
    st.floats(allow_nan=True),
)
@settings(max_examples=60)
@example([None], 5e-324)
def test_bars_stay_inside_whatever_the_values_are(values: list[float | None], high: float) -> None:
    markup = draw_figure(Bars("x", tuple(map(str, range(len(values)))), tuple(values), high=high))
    parse(markup)
    assert "nan" not in markup
    assert all(0 <= float(x) <= 100 for x in re.findall(r'width="([\d.]+)%"', markup))


# -- intervals ---------------------------------------------------------------------------------------------------


def test_interval_plots_print_the_numbers_and_draw_chance_as_another_shape() -> None:
    plot = IntervalPlot("x", ("a", "b"), (0.5, None), (0.4, None), (0.625, None), (0.25, None))
    tree = parse(draw_figure(plot))
    assert [texts(row, "td")[1:] for row in tree.findall(".//tbody/tr")] == [
        ["0.500", "[0.400, 0.625]", "0.250"],
        ["–", "–", "–"],
    ]
    first, second = tree.findall(".//tbody/tr")
    assert [p.get("x") for p in first.findall(".//svg[@class='point']")] == ["25%", "50%"]
    assert first.find(".//g[@class='floor']/svg/path[@class='hollow']") is not None
    assert first.find(".//svg[@class='point']/circle") is not None
    assert second.find(".//svg[@class='point']") is None
    assert texts(tree, ".//li") == ["value and interval", "chance"]


def test_an_interval_that_leaves_the_scale_has_no_end_there() -> None:
    tree = parse(draw_figure(IntervalPlot("x", ("a",), (0.5,), (-0.5,), (0.75,))))
    row = tree.find(".//tbody/tr")
    assert row is not None
    lines = row.findall(".//g[@class='whisker']/line")
    assert [(x.get("x1"), x.get("x2")) for x in lines] == [("0%", "75%"), ("75%", "75%")]


def test_the_scale_has_ticks_with_numbers() -> None:
    tree = parse(draw_figure(IntervalPlot("τ", ("a",), (0.0,), (None,), (None,), (), (-1.0, 1.0))))
    assert texts(tree, ".//thead//text") == ["−1", "−0.5", "0", "0.5", "1"]
    anchors = [t.get("text-anchor") for t in tree.findall(".//thead//text")]
    assert anchors == ["start", "middle", "middle", "middle", "end"]


# -- reliability -------------------------------------------------------------------------------------------------

BINS = Reliability(
    "x", (None, 0.3, 0.9), (None, 0.5, 0.6), (None, 0.2, 0.5), (None, 0.8, 0.7), (0, 12, 30_000), (0.0, 0.2, 0.6, 1.0)
)  # fmt: skip


def test_reliability_draws_dots_gaps_whiskers_and_counts() -> None:
    tree = parse(draw_figure(BINS))
    drawing = tree.find("svg")
    assert drawing is not None
    assert drawing.get("role") == "img"
    assert "30,012 items in 3 bins" in (drawing.get("aria-label") or "")
    dots = [
        (float(d.get("cx") or 0), float(d.get("cy") or 0)) for d in drawing.findall("circle[@class='dot']")
    ]
    assert dots == [(40 + 300 * 0.3, 8 + 300 * 0.5), (40 + 300 * 0.9, 8 + 300 * 0.4)]
    gaps = [
        (g.get("class"), float(g.get("height") or 0))
        for g in drawing.iter("rect")
        if "gap" in (g.get("class") or "")
    ]
    assert gaps == [("gap under", 60.0), ("gap over", 90.0)]
    assert len(drawing.findall("line[@class='whisker']")) == 6
    bars = [float(b.get("height") or 0) for b in drawing.findall("rect[@class='bar']")]
    assert bars == [0.0, 1.0, 60.0]
    assert {"12", "30k"} <= set(texts(drawing, "text"))


def test_the_numbers_of_a_reliability_diagram_unfold() -> None:
    tree = parse(draw_figure(BINS))
    rows = [texts(row, "*") for row in tree.findall("details//tbody/tr")]
    assert rows[0] == ["0–0.2", "0", "–", "–", "–", "–"]
    assert rows[1] == ["0.2–0.6", "12", "0.300", "0.500", "[0.200, 0.800]", "−0.200"]
    assert rows[2][-1] == "+0.300"


@given(
    st.lists(
        st.tuples(st.none() | st.floats(0, 1), st.none() | st.floats(0, 1), st.integers(0, 10**7)),
        min_size=1,
        max_size=20,
    )
)
@settings(max_examples=60)
def test_reliability_stays_inside_its_frame(bins: list[tuple[float | None, float | None, int]]) -> None:
    confidence, accuracy, counts = zip(*bins, strict=True)
    edges = tuple(n / len(bins) for n in range(len(bins) + 1))
    markup = draw_figure(Reliability("x", confidence, accuracy, accuracy, accuracy, counts, edges))
    tree = parse(markup)
    for element in tree.iter():
        for key in ("cx", "x", "x1", "x2"):
            assert -8 <= float(element.get(key) or 0) <= 360
        for key in ("cy", "y", "y1", "y2"):
            assert -1 <= float(element.get(key) or 0) <= 452
        assert float(element.get("height") or 0) >= 0


# -- the colours -------------------------------------------------------------------------------------------------


def palettes() -> dict[str, dict[str, str]]:
    """The tokens of the style sheets by scheme: what the first rule sets, and what dark screens change."""
    found: dict[str, dict[str, str]] = {"light": {}, "dark": {}}
    for name in ("base.css", "figures.css"):
        light, dark = asset(name).split("prefers-color-scheme: dark", 1)
        dark = dark.split("\n}\n", 1)[0]
        found["light"] |= dict(re.findall(r"--([\w-]+): (#\w{6})", light))
        found["dark"] |= dict(re.findall(r"--([\w-]+): (#\w{6})", dark))
    return found


def test_a_dark_page_is_the_same_by_wish_of_the_system_and_of_the_reader() -> None:
    by_system, by_reader = (
        asset("figures.css").split("prefers-color-scheme: dark", 1)[1].split("@media screen {", 1)
    )
    colours = re.compile(r"--([\w-]+): (#\w{6})")
    assert dict(colours.findall(by_system)) == dict(colours.findall(by_reader))
    assert len(colours.findall(by_system)) > 30


def channels(colour: str) -> list[float]:
    values = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    return [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]


def luminance(colour: str) -> float:
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), channels(colour), strict=True))


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


SHADE_NAMES = [f"p{n}" for n in range(SHADES + 1)] + [f"n{n}" for n in range(1, SHADES + 1)] + ["void"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", SHADE_NAMES)
def test_text_can_be_read_in_every_cell(scheme: str, name: str) -> None:
    tokens = palettes()[scheme]
    assert contrast(tokens[name], tokens[f"{name}-ink"]) >= 4.5
    if name == "void":
        assert contrast(tokens["void-line"], tokens["void-ink"]) >= 4.5
    if name == "p0":
        assert contrast(tokens["p0"], tokens["soft"]) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("sign", ["p", "n"])
def test_shades_go_one_way_and_can_be_told_apart_without_colour(scheme: str, sign: str) -> None:
    tokens = palettes()[scheme]
    steps = [luminance(tokens[f"{sign if n else 'p'}{n}"]) for n in range(SHADES + 1)]
    assert steps == sorted(steps, reverse=scheme == "light")
    assert all(
        contrast(tokens[f"{sign if n else 'p'}{n}"], tokens[f"{sign}{n + 1}"]) >= 1.08 for n in range(SHADES)
    )


def dichromat(colour: str, kind: str) -> list[float]:
    """Linear RGB as people without red or green cones see it (Viénot, Brettel and Mollon 1999)."""
    red, green, blue = channels(colour)
    to_lms = ((17.8824, 43.5161, 4.11935), (3.45565, 27.1554, 3.86714), (0.0299566, 0.184309, 1.46709))
    long, middle, short = (a * red + b * green + c * blue for a, b, c in to_lms)
    if kind == "protan":
        long = 2.02344 * middle - 2.52581 * short
    else:
        middle = 0.494207 * long + 1.24827 * short
    back = (
        (0.0809444479, -0.130504409, 0.116721066),
        (-0.0102485335, 0.0540193266, -0.113614708),
        (-0.000365296938, -0.00412161469, 0.693511405),
    )
    return [a * long + b * middle + c * short for a, b, c in back]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["protan", "deutan"])
def test_above_and_below_zero_differ_for_the_colour_blind(scheme: str, kind: str) -> None:
    tokens = palettes()[scheme]
    for n in range(2, SHADES + 1):
        above, below = (dichromat(tokens[f"{sign}{n}"], kind) for sign in "pn")
        assert above[2] - above[0] > 0 > below[2] - below[0]


def test_the_style_sheets_hold_nothing_from_elsewhere() -> None:
    for name in ("base.css", "figures.css", "scores.css"):
        assert "@import" not in asset(name)
        assert not re.search(r"url\((?!#)", asset(name))
        assert html.escape(asset(name), quote=False).count("&lt;") == 0
