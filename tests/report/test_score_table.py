from __future__ import annotations

import math
from typing import Any, cast

import pytest

from proctor.metrics.score import Score, Signature
from proctor.metrics.table import ScoreRow, ScoreTable
from proctor.report.grid import display_width
from proctor.report.score_table import (
    SCORE_FORMATS,
    ScoreFormat,
    arrange_scores,
    lay_out,
    render_scores,
    show_ends,
    show_number,
    show_score,
)
from proctor.version import __version__

EVIL = "<script>|\\&%$#_{}~^`*\n\u202e\x00"


def score(value: float, low: float | None = None, high: float | None = None, **changes: Any) -> Score:
    note = changes.pop("note", "because" if math.isnan(value) else "")
    return Score(value, Signature("f1", {"v": "1"}), changes.pop("n", 10), low, high, note=note, **changes)


def table(*rows: ScoreRow) -> ScoreTable:
    return ScoreTable("classification", rows)


TWO = table(
    ScoreRow("F1", score(0.5, 0.41, 0.5904), "model"),
    ScoreRow("AUC", score(0.75), "model"),
    ScoreRow("F1", score(0.2), "prior", chance=True),
    ScoreRow("AUC", score(math.nan), "prior", chance=True),
)


def test_text_is_one_line_a_slice() -> None:
    lines = render_scores(TWO).splitlines()
    assert lines[0].split() == ["F1", "AUC", "n"]
    assert lines[2].split() == ["model", "0.500", "[0.410,", "0.590]", "0.750", "10"]
    assert set(lines[3]) == {"─", " "}
    assert lines[4].split() == ["prior", "(chance)", "0.200", "–¹", "10"]
    assert lines[-1] == "¹ because"


def test_numbers_end_in_the_same_column() -> None:
    lines = render_scores(TWO).splitlines()
    assert len({len(line) for line in lines[:5]}) == 1


def test_markdown() -> None:
    assert render_scores(TWO, "markdown") == (
        "|  | F1 | AUC | n |\n"
        "| :-- | --: | --: | --: |\n"
        "| model | 0.500 [0.410, 0.590] | 0.750 | 10 |\n"
        "| prior (chance) | 0.200 | –¹ | 10 |\n"
        "\n"
        "¹ because\n"
    )


def test_latex_uses_booktabs_brackets_and_a_rule_before_chance() -> None:
    assert render_scores(TWO, "latex") == (
        "% needs \\usepackage{booktabs}\n"
        f"% f1|v:1|version:{__version__}\n"
        "\\begin{tabular}{lrrr}\n"
        "\\toprule\n"
        " & F1 & AUC & n \\\\\n"
        "\\midrule\n"
        "model & 0.500 [0.410, 0.590] & 0.750 & 10 \\\\\n"
        "\\midrule\n"
        "prior (chance) & 0.200 & --$^{1}$ & 10 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\\par{\\footnotesize $^{1}$ because}\n"
    )
    assert "\\pm" not in render_scores(TWO, "latex")


@pytest.mark.parametrize("format_", SCORE_FORMATS)
def test_names_from_data_break_no_format(format_: ScoreFormat) -> None:
    rows = (ScoreRow(EVIL, score(0.5, note=EVIL), EVIL), ScoreRow("F1", score(0.5), "x" * 10_000_000))
    text = render_scores(table(*rows), format_)
    assert not set("\u202e\x00") & set(text)
    assert len(text) < 5_000
    assert "10,000,000 characters" in " ".join(text.split())
    if format_ == "latex":
        assert r"\textbackslash{}\&\%\$\#\_\{\}\textasciitilde{}\textasciicircum{}" in text
    if format_ == "markdown":
        grid = [line for line in text.splitlines() if line.startswith("|")]
        assert len({line.replace(r"\|", "").count("|") for line in grid}) == 1
        assert "<script" not in text


def test_a_signature_cannot_leave_its_comment() -> None:
    hostile = Score(0.5, Signature("f1", {"labels": "a\n\\input{/etc/passwd}\r\\x"}), 1)
    lines = render_scores(table(ScoreRow("F1", hostile)), "latex").splitlines()
    assert all(line.startswith("%") for line in lines if "input" in line)


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (-0.00001, 3, "0.000"),
        (-0.0, 1, "0.0"),
        (-0.0006, 3, "-0.001"),
        (math.nan, 3, "–"),
        (math.inf, 2, "∞"),
        (-math.inf, 2, "-∞"),
        (41.25, 1, "41.2"),
        (7.0, 0, "7"),
    ],
)
def test_numbers(value: float, digits: int, expected: str) -> None:
    assert show_number(value, digits) == expected


def test_ends() -> None:
    def ends(made, **how):
        return show_ends(ScoreRow("F1", made, digits=2, **how))

    assert ends(score(0.5, -0.0001, 0.75)) == "[0.00, 0.75]"
    assert ends(score(0.5, 0.25, 0.75), percent=True) == "[25.00, 75.00]"
    assert ends(score(0.5)) == ""
    assert ends(score(0.5, math.nan, math.nan)) == ""


def test_each_row_keeps_its_digits() -> None:
    rows = (ScoreRow("mAP", score(41.256), digits=1), ScoreRow("τ", score(0.41256), digits=4))
    assert render_scores(table(*rows)).splitlines()[2].split() == ["all", "41.3", "0.4126", "10"]


def test_a_missing_cell_is_blank_and_not_a_dash() -> None:
    rows = (ScoreRow("F1", score(0.5), "a"), ScoreRow("AUC", score(0.75), "b"))
    assert "| a | 0.500 |  | 10 |" in render_scores(table(*rows), "markdown")


def test_two_scores_of_one_name_are_both_printed() -> None:
    other = Score(0.9, Signature("f1", {"average": "micro"}), 10)
    text = render_scores(table(ScoreRow("F1", score(0.5)), ScoreRow("F1", other)))
    assert "0.500" in text
    assert "0.900" in text


def test_chance_is_marked_once() -> None:
    rows = [ScoreRow("F1", score(0.1), name, chance=True) for name in ("prior", "chance", "Chance (exact)")]
    names = [line.name for line in arrange_scores(table(*rows)).lines]
    assert names == ["prior (chance)", "chance", "Chance (exact)"]


def test_a_slice_and_the_chance_of_the_same_name_are_two_lines() -> None:
    lines = arrange_scores(table(ScoreRow("F1", score(0.5)), ScoreRow("F1", score(0.1), chance=True))).lines
    assert [(line.name, line.chance) for line in lines] == [("all", False), ("all (chance)", True)]


def test_counts_are_one_number_or_a_span_and_failures_only_where_there_are_some() -> None:
    rows = (ScoreRow("F1", score(0.5, n=1_000)), ScoreRow("AUC", score(0.5, n=12, failed=2)))
    lines = render_scores(table(*rows)).splitlines()
    assert lines[0].split() == ["F1", "AUC", "n", "failed"]
    assert lines[2].split()[-2:] == ["12–1,000", "0–2"]
    assert "skipped" not in render_scores(table(*rows))
    assert "skipped" in render_scores(table(ScoreRow("F1", score(0.5, skipped=1))))


def test_equal_notes_share_a_mark_and_many_are_cut() -> None:
    rows = [ScoreRow(f"m{n}", score(0.5, note=f"note {n // 2}")) for n in range(100)]
    text = render_scores(table(*rows))
    assert "¹ note 0\n" in text
    assert "²⁰ note 19\n" in text
    assert text.endswith("… and 30 more notes; they stand in the JSON\n")


def test_many_metrics_are_set_one_below_the_other() -> None:
    rows = [ScoreRow(f"mAP@{n}", score(0.5, 0.4, 0.6), name) for name in ("a", "b") for n in range(30)]
    text = render_scores(table(*rows))
    assert text.splitlines()[0].split() == ["metric", "a", "b", "n"]
    assert len(text.splitlines()) == 32


def test_a_table_that_is_too_wide_is_turned() -> None:
    rows = [ScoreRow(f"metric {n}", score(0.5, 0.4, 0.6), name) for name in ("a", "b") for n in range(6)]
    assert render_scores(table(*rows)).splitlines()[0].split() == ["metric", "a", "b", "n"]
    assert render_scores(table(*rows), width=200).splitlines()[0].split()[:2] == ["metric", "0"]


@pytest.mark.parametrize("systems", [1, 3, 12])
@pytest.mark.parametrize("metrics", [1, 4, 9, 40])
def test_text_keeps_to_a_hundred_columns(systems: int, metrics: int) -> None:
    rows = [
        ScoreRow(
            f"metric number {m}, the long one", score(0.5, 0.4, 0.6), f"a system with a long name, take {s}"
        )
        for s in range(systems)
        for m in range(metrics)
    ]
    text = render_scores(table(*rows))
    assert max(map(display_width, text.splitlines())) <= 100
    assert text.count("0.500") == systems * metrics


@pytest.mark.parametrize("format_", SCORE_FORMATS)
def test_every_format_keeps_every_score(score_tables: dict[str, ScoreTable], format_: ScoreFormat) -> None:
    for found in score_tables.values():
        text = render_scores(found, format_)
        for row in found.rows:
            if not math.isnan(row.score.value):
                assert show_number(row.score.value, row.digits).removeprefix("-") in text
        assert "nan" not in text


def test_no_scores_is_said() -> None:
    assert render_scores(table()) == "(no scores)\n"
    assert render_scores(table(), "latex") == "% no scores\n"


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(ValueError, match="csv"):
        render_scores(TWO, cast("Any", "csv"))


def test_turning_keeps_every_cell(score_tables: dict[str, ScoreTable]) -> None:
    arranged = arrange_scores(score_tables["classification"])
    upright, turned = (lay_out(arranged, turned=t) for t in (False, True))
    assert [list(column) for column in zip(*(line.cells for line in upright.lines), strict=True)] == [
        list(line.cells) for line in turned.lines
    ]
    assert upright.rules == {3}
    assert turned.rules == set()
    assert turned.chance == (False, False, False, True, True)


def test_chance_below_every_slice_is_not_ruled_off() -> None:
    rows = [ScoreRow("F1", score(0.5), name, chance) for name in ("a", "b") for chance in (False, True)]
    grid = lay_out(arrange_scores(table(*rows)), turned=False)
    assert [line.chance for line in grid.lines] == [False, True, False, True]
    assert grid.rules == set()


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [(0.00001, 4, "<0.0001"), (0.00006, 4, "0.0001"), (0.0, 4, "0.0000"), (1e-17, 4, "0.0000"), (-0.00001, 4, "0.0000"),
     (0.2, 0, "<1"), (math.nan, 3, "–")],
)  # fmt: skip
def test_small_values_are_not_printed_as_nothing(value: float, digits: int, expected: str) -> None:
    assert show_score(ScoreRow("p", score(value), digits=digits)) == expected
