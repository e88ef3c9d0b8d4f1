from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.report.grid import (
    TABLE_FORMATS,
    display_width,
    escape_latex,
    escape_markdown,
    fits,
    render_grid,
)

TEXTS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=30)


def test_wide_characters_take_two_columns_and_marks_none() -> None:
    assert display_width("abc") == 3
    assert display_width("手順") == 4
    assert display_width("e\u0301") == 1


def test_columns_line_up_by_what_a_terminal_shows() -> None:
    lines = render_grid(["", "v"], [["手順", "1"], ["abcd", "22"]], text_columns=1).splitlines()
    assert [display_width(line) for line in lines] == [len("abcd  22")] * 4


@given(
    st.integers(1, 9).flatmap(
        lambda k: st.tuples(
            st.lists(TEXTS, min_size=k, max_size=k),
            st.lists(st.lists(TEXTS, min_size=k, max_size=k), max_size=4),
        )
    )
)
def test_text_keeps_to_its_width_and_loses_no_cell(grid: tuple[list[str], list[list[str]]]) -> None:
    head, body = grid
    text = render_grid(head, body, text_columns=1, width=100)
    assert max(map(display_width, text.splitlines()), default=0) <= 100
    kept = "".join(text.split())
    for line in body:
        for cell in line[1:]:
            assert "".join(cell.split()) in kept


def test_a_grid_that_fits_is_one_block() -> None:
    head, body = ["", "a", "b"], [["x", "1", "2"]]
    assert fits(head, body, 10)
    assert not fits(head, body, 4)
    assert render_grid(head, body, text_columns=1, width=10) == render_grid(head, body, text_columns=1)


def test_names_are_broken_before_columns_are_moved_down() -> None:
    name = "a system whose name says everything that anybody could want to know about it"
    text = render_grid(["", "accuracy", "F1"], [[name, "0.500", "0.25"]], text_columns=1, width=60)
    assert "accuracy" in text.splitlines()[0]
    assert "F1" in text.splitlines()[0]
    assert "".join(text.split()).count("asystem") == 1


def test_blocks_repeat_the_first_column() -> None:
    head = ["", *(f"metric {n}" for n in range(20))]
    text = render_grid(head, [["Ana", *("0.123 [0.1, 0.2]" for _ in range(20))]], text_columns=1, width=100)
    assert text.count("Ana") == len(text.split("\n\n")) == 4


def test_a_line_without_a_cell_in_a_block_is_left_out_there() -> None:
    wide = "9" * 40
    body = [["x", wide, ""], ["y", "", "2"], ["z", "3", wide]]
    first, second = render_grid(["", "a", "b"], body, text_columns=1, width=60, rules={1}).split("\n\n")
    assert [line.split() for line in first.splitlines()[2:]] == [["x", wide], ["─", "─" * 40], ["z", "3"]]
    assert [line.split() for line in second.splitlines()[2:]] == [["y", "2"], ["z", wide]]


def test_a_column_wider_than_the_width_stands_alone_and_whole() -> None:
    text = render_grid(["", "v", "w"], [["x", "9" * 200, "1"]], text_columns=1, width=100)
    assert "9" * 200 in text


@pytest.mark.parametrize(("format_", "rule"), [("text", "─"), ("latex", r"\midrule")])
def test_rules_stand_before_their_lines(format_: str, rule: str) -> None:
    plain = render_grid(["a"], [["1"], ["2"], ["3"]], format_, text_columns=0).count(rule)
    ruled = render_grid(["a"], [["1"], ["2"], ["3"]], format_, text_columns=0, rules={2}).splitlines()
    assert sum(rule in line for line in ruled) == plain + 1
    assert rule in ruled[[line.startswith("3") for line in ruled].index(True) - 1]


@pytest.mark.parametrize("format_", TABLE_FORMATS)
def test_no_lines_is_a_head(format_: str) -> None:
    assert "name" in render_grid(["name", "v"], [], format_)


# -- escaping ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_b & 5 % of $x$ #1", r"a\_b \& 5 \% of \$x\$ \#1"),
        ("\\input{x}", r"\textbackslash{}input\{x\}"),
        ("[0.1, 0.2]", "{[}0.1, 0.2]"),
        ("*star", "{*}star"),
        ("0.5 [0.1, 0.2]", "0.5 [0.1, 0.2]"),
        ("--json ---", "-{}-json -{}-{}-"),
        ("−0.5 –", "$-$0.5 --"),
        ("Kendall τ ≥ κ×α, R²", r"Kendall $\tau$ $\geq$ $\kappa$$\times$$\alpha$, R$^{2}$"),
        ("a<b>c|d`", r"a\textless{}b\textgreater{}c\textbar{}d\textasciigrave{}"),
        ("two\nlines\n\nhere", "two lines here"),
        ("", ""),
    ],
)
def test_latex(text: str, expected: str) -> None:
    assert escape_latex(text) == expected


@given(st.text(max_size=40))
def test_latex_leaves_no_command_of_the_text(text: str) -> None:
    escaped = escape_latex(text)
    assert "\n" not in escaped
    for known in (r"\textbackslash{}", r"\&", r"\%", r"\#", r"\_", r"\{", r"\}", r"\$"):
        escaped = escaped.replace(known, "")
    assert not set("&%#_") & set(escaped.replace("$_{", ""))
    assert escaped.count("$") % 2 == 0
    assert escaped.count("{") == escaped.count("}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", r"a\|b"),
        ("<script>&amp;", "&lt;script>&amp;amp;"),
        ("step_1_cut", "step_1_cut"),
        ("_emphasis_ **bold** `code` ~~gone~~", r"\_emphasis\_ \*\*bold\*\* \`code\` \~~gone\~~"),
        ("[x](javascript:y)", r"[x\](javascript:y)"),
        ("0.5 [0.1, 0.2]", "0.5 [0.1, 0.2]"),
        ("a\n|b", r"a \|b"),
    ],
)
def test_markdown(text: str, expected: str) -> None:
    assert escape_markdown(text) == expected


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_latex_compiles_whatever_the_names_are(tmp_path: Path) -> None:
    names = [
        "[4mm] x",
        "*",
        *map(chr, range(33, 127)),
        "−×≤≥≠≈→←∞⟨⟩±·–—…’",
        "αβγδεκλμπρστφχωΔΣΩ",
        "⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₉",
        "?` !` ``''",
    ]
    table = render_grid(names[:3], [[n, n, n] for n in names], "latex", rules={1, 2})
    source = r"\documentclass{article}\usepackage{booktabs}\begin{document}" + table + r"\end{document}"
    (tmp_path / "table.tex").write_text(source, "utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"], cwd=tmp_path, capture_output=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
