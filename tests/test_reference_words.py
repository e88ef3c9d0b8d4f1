"""What a reader looks up: the Python reference is in plain words, and the glossary has every concept."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.test_words import found

DOCS = Path(__file__).resolve().parents[1] / "docs"
NAMES = re.findall(r"^::: (\S+)", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
HEADS = re.compile(r"^\*\*(.+?)\.\*\*", re.MULTILINE)


def docstrings(name: str) -> Iterator[str]:
    """Yield what the page shows of a name: its docstring and those of its public members."""
    value = pkgutil.resolve_name(f"{name.rpartition('.')[0]}:{name.rpartition('.')[2]}")
    parts = [value, *(getattr(value, one) for one in vars(value) if not one.startswith("_"))]
    yield from (inspect.getdoc(part) or "" for part in parts if part is value or not isinstance(part, str))


@pytest.mark.parametrize("name", NAMES)
def test_the_python_reference_is_in_plain_words(name: str) -> None:
    texts = [*docstrings(name)]
    assert texts[0]
    assert [words for text in texts for words in found(re.sub(r"``.*?``", "", text))] == []


def test_every_concept_has_a_line_in_the_glossary() -> None:
    concepts = HEADS.findall((DOCS / "concepts.md").read_text(encoding="utf-8"))
    words = HEADS.findall((DOCS / "glossary.md").read_text(encoding="utf-8"))
    assert len(concepts) == 12
    assert {one.replace(" and ", ", ").lower() for one in concepts} <= {one.lower() for one in words}
    assert words == sorted(words, key=str.lower)
