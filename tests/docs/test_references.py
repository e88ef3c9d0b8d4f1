"""Docstrings, comments and citations refer to papers and to pages of this repository, never to a text that is not here."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "tests", "benchmarks", "scripts")
NOT_HELD = re.compile(
    r"§|\b[Ss]pec(?:ification)?s? (?:of the studio|part|section|[A-Z]?\d)|\b(?:the|our|studio|\w+'s) specifications?\b"
    r"|\b[AB]\d\.\d+\b|(?<![\w/.-])[a-z-]+\.md,? (?:section|part|[A-Z]?\d)"
)
"""Sections of a specification, by any of the names that were used for it."""
PAGE = re.compile(r"(?<![\w/.-])(?:[\w-]+/)*[\w-]+\.md\b(?!\.j2|#)")
EXAMPLES = {"NAME.md", "my-style.md"}
"""Names of files of the user's in explanations."""


def missing(text: str) -> Iterator[str]:
    """Yield what a docstring, a comment or a citation names and the repository does not hold."""
    yield from (m[0] for m in NOT_HELD.finditer(text))
    for page in PAGE.findall(text):
        if page not in EXAMPLES and not (ROOT / page).is_file():
            yield page


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield comments, strings that stand alone (docstrings), and other strings without the names of files."""
    if not any(missing(source)):
        return
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
        elif token.type == tokenize.STRING:
            alone = before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
            yield token.start[0], token.string if alone else PAGE.sub("", token.string)
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            before = token.type


@pytest.mark.parametrize("folder", FOLDERS)
def test_nothing_refers_to_a_text_that_is_not_here(folder: str) -> None:
    files = [f for f in sorted((ROOT / folder).rglob("*")) if f.suffix in ("", ".py") and f.is_file()]
    files = [f for f in files if f != Path(__file__)]
    assert files
    found = [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file in files
        for line, text in texts(file.read_text(encoding="utf-8"))
        for name in missing(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "promqa.md section 3", "studio.md F4", "(§B1.5)", "the specification", "specification A2.1", "spec 5, item 12",
        "docs/nothing.md", "SMMQG A2.2", "house.md", "SMMQG's specification",
    ],
)  # fmt: skip
def test_what_is_not_here_is_found(text: str) -> None:
    assert list(missing(text))


@pytest.mark.parametrize(
    "text",
    ["docs/metrics.md", "Wu et al. 2022, Table 1", "``text:a.md#2``", "spec: name of the model", "README.md"],
)
def test_papers_and_pages_pass(text: str) -> None:
    assert not list(missing(text))
