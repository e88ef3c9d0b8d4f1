"""A grid of short texts in the formats of terminals, papers and pages; every format escapes what it must."""

from __future__ import annotations

import html
import re
import textwrap
import unicodedata
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final, Literal

__all__ = [
    "TABLE_FORMATS",
    "TableFormat",
    "display_width",
    "escape_latex",
    "escape_markdown",
    "fits",
    "render_grid",
]

TableFormat = Literal["text", "markdown", "latex", "html"]
TABLE_FORMATS: Final[tuple[TableFormat, ...]] = ("text", "markdown", "latex", "html")

_GAP: Final = "  "
_NAME_WIDTH: Final = 36
"""Where the width is limited, names are broken into lines of this many columns."""
_HEAD_WIDTH: Final = 18


def render_grid(
    head: Sequence[str],
    body: Sequence[Sequence[str]],
    format_: TableFormat = "text",
    *,
    text_columns: int = 2,
    width: int | None = None,
    rules: Collection[int] = (),
) -> str:
    """Lay cells out in one of the formats.

    Args:
        head: column names.
        body: lines of cells, as long as ``head``.
        format_: see ``TABLE_FORMATS``.
        text_columns: this many columns from the left are set flush left, the others flush right.
        width: of ``text``, in columns of a terminal: names are broken over lines, and columns that still do not
            fit stand in further blocks below, each with the first column again.
        rules: numbers of the lines in ``body`` before which ``text`` and ``latex`` set a rule.

    Raises:
        ValueError: if the format is unknown.
    """
    writers: dict[TableFormat, Callable[[Sequence[str], Sequence[Sequence[str]], int], str]] = {
        "text": partial(_text, width=width, rules=rules),
        "markdown": _markdown,
        "latex": partial(_latex, rules=rules),
        "html": _html,
    }
    if format_ not in writers:
        raise ValueError(f"format must be one of {', '.join(TABLE_FORMATS)}, got {format_!r}")
    return writers[format_](head, body, text_columns)


# -- text --------------------------------------------------------------------------------------------------------


def display_width(text: str) -> int:
    """Columns that a terminal needs: two for wide East Asian characters, none for combining marks."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def fits(head: Sequence[str], body: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether the grid needs no further block of columns at this width."""
    head, body = _broken(head, body, 1)
    return _total(_widths(head, body)) <= width


def _text(
    head: Sequence[str],
    body: Sequence[Sequence[str]],
    text_columns: int,
    *,
    width: int | None,
    rules: Collection[int],
) -> str:
    if width is None or _total(_widths(head, body)) <= width:
        return _block(head, body, rules, text_columns)
    head, body = _broken(head, body, text_columns)
    groups = _column_blocks(_widths(head, body), width)
    return "\n".join(
        _block(*_part(head, body, columns, rules, len(groups) > 1), text_columns) for columns in groups
    )


def _part(
    head: Sequence[str],
    body: Sequence[Sequence[str]],
    columns: Sequence[int],
    rules: Collection[int],
    several: bool,
) -> tuple[list[str], list[list[str]], set[int]]:
    """Take some columns; where there are several blocks, a line that is blank in one is left out there."""
    kept: list[list[str]] = []
    moved: set[int] = set()
    due = False
    for n, line in enumerate(body):
        due = due or n in rules
        cells = [line[column] for column in columns]
        if several and not any(cells[1:]):
            continue
        if due and kept:
            moved.add(len(kept))
        due = False
        kept.append(cells)
    return [head[n] for n in columns], kept, moved


def _broken(
    head: Sequence[str], body: Sequence[Sequence[str]], text_columns: int
) -> tuple[list[str], list[list[str]]]:
    """Break the names at the left and the names above into lines."""
    return [_wrap(h, _NAME_WIDTH if n < text_columns else _HEAD_WIDTH) for n, h in enumerate(head)], [
        [_wrap(cell, _NAME_WIDTH) if n < text_columns else cell for n, cell in enumerate(line)]
        for line in body
    ]


def _wrap(text: str, width: int) -> str:
    return text if display_width(text) <= width else "\n".join(textwrap.wrap(text, width)) or text


def _widths(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(display_width(t) for line in (head, *body) for t in line[n].split("\n")) for n in range(len(head))
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _column_blocks(widths: Sequence[int], width: int) -> list[list[int]]:
    """Put columns together until the width is used; the first one stands in every block."""
    blocks = [[0]]
    for n in range(1, len(widths)):
        if len(blocks[-1]) > 1 and _total([widths[m] for m in (*blocks[-1], n)]) > width:
            blocks.append([0])
        blocks[-1].append(n)
    return blocks


def _block(
    head: Sequence[str], body: Sequence[Sequence[str]], rules: Collection[int], text_columns: int
) -> str:
    widths = _widths(head, body)
    rule = _GAP.join("─" * w for w in widths)
    lines = [*_lines(head, widths, text_columns, bottom=True), rule]
    for n, cells in enumerate(body):
        lines += [rule] if n in rules else []
        lines += _lines(cells, widths, text_columns)
    return "\n".join(lines) + "\n"


def _lines(
    cells: Sequence[str], widths: Sequence[int], text_columns: int, *, bottom: bool = False
) -> list[str]:
    """Return the lines of one row: cells of several lines stand at the top, or at the bottom of a head."""
    parts = [cell.split("\n") for cell in cells]
    height = max((len(p) for p in parts), default=1)
    padded = [[""] * (height - len(p)) + p if bottom else p + [""] * (height - len(p)) for p in parts]
    return [
        _GAP.join(
            _pad(p[k], w, n < text_columns) for n, (p, w) in enumerate(zip(padded, widths, strict=True))
        ).rstrip()
        for k in range(height)
    ]


def _pad(text: str, width: int, left: bool) -> str:
    blank = " " * (width - display_width(text))
    return text + blank if left else blank + text


# -- markdown ----------------------------------------------------------------------------------------------------

_MARKED: Final = re.compile(r"[\\|*`]|(?<!\w)_|_(?!\w)|~(?=~)|\](?=[(\[])")


def escape_markdown(text: str) -> str:
    """Escape what GitHub's Markdown would read as a border of a cell, markup, a link or HTML."""
    flat = " ".join(text.split())
    return _MARKED.sub(lambda m: "\\" + m[0], flat.replace("&", "&amp;").replace("<", "&lt;"))


def _markdown(head: Sequence[str], body: Sequence[Sequence[str]], text_columns: int) -> str:
    def render(line: Sequence[str]) -> str:
        return "| " + " | ".join(map(escape_markdown, line)) + " |"

    rule = "|" + "|".join(" :-- " if n < text_columns else " --: " for n in range(len(head))) + "|"
    return "\n".join([render(head), rule, *map(render, body)]) + "\n"


# -- latex -------------------------------------------------------------------------------------------------------

_GREEK: Final = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "κ": "kappa", "λ": "lambda",
    "μ": "mu", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "varphi", "χ": "chi", "ω": "omega",
    "Δ": "Delta", "Σ": "Sigma", "Ω": "Omega",
}  # fmt: skip
_MATH: Final = {
    "−": "-", "×": r"\times", "≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "≈": r"\approx", "→": r"\rightarrow",
    "←": r"\leftarrow", "∞": r"\infty", "⟨": r"\langle", "⟩": r"\rangle", "±": r"\pm", "·": r"\cdot",
    **{c: "\\" + name for c, name in _GREEK.items()},
    **{c: f"^{{{n}}}" for n, c in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    **{c: f"_{{{n}}}" for n, c in enumerate("₀₁₂₃₄₅₆₇₈₉")},
}  # fmt: skip
_TEX: Final = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "’": "'",
    "−": "$-$",
    **{c: f"${m}$" for c, m in _MATH.items()},
}


def escape_latex(text: str) -> str:
    r"""Escape a text for a cell of a table: no command, no ligature of hyphens, no argument of ``\\``.

    After ``\\`` and ``\midrule`` an opening bracket or a star would be read as their argument, so those are
    braced at the start of a text. Letters that LaTeX has no name for stay as they are (XeLaTeX sets them).
    """
    flat = " ".join(text.split())
    escaped = "".join(_TEX.get(c, c) for c in flat.replace("--", "-\0-").replace("--", "-\0-")).replace(
        "\0", "{}"
    )
    return f"{{{escaped[0]}}}{escaped[1:]}" if escaped[:1] in ("[", "*") else escaped


def _latex(
    head: Sequence[str], body: Sequence[Sequence[str]], text_columns: int, *, rules: Collection[int]
) -> str:
    def render(line: Sequence[str]) -> str:
        return " & ".join(map(escape_latex, line)) + r" \\"

    lines = []
    for n, cells in enumerate(body):
        lines += [r"\midrule"] if n in rules else []
        lines.append(render(cells))
    return "\n".join(
        [
            r"\begin{tabular}{" + "l" * text_columns + "r" * (len(head) - text_columns) + "}",
            r"\toprule",
            render(head),
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


# -- html --------------------------------------------------------------------------------------------------------


def _html(head: Sequence[str], body: Sequence[Sequence[str]], _text_columns: int) -> str:
    def render(line: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in line) + "</tr>"

    rows = "\n".join(render(line, "td") for line in body)
    return f"<table>\n<thead>{render(head, 'th')}</thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n"
