"""The list of formats, and the page that describes it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.datasets.interchange import Format, find_format, formats, guess_format
from proctor.datasets.interchange.format import render_formats
from proctor.errors import UserError

PAGE = Path(__file__).resolve().parents[3] / "docs" / "interchange.md"


def test_names_are_unique_and_complete() -> None:
    names = [f.name for f in formats()]
    assert len(set(names)) == len(names)
    assert {
        "activitynet",
        "croissant",
        "csv",
        "elan",
        "hugging-face",
        "label-studio",
        "srt",
        "webvtt",
    } <= set(names)


@pytest.mark.parametrize("format_", formats(), ids=lambda f: f.name)
def test_declarations_are_consistent(format_: Format) -> None:
    assert format_.read or format_.write
    assert format_.title
    assert format_.lossless or format_.loss, "what is lost has to be said"
    assert all(s.startswith(".") and s == s.lower() for s in format_.suffixes)
    taken = {
        name
        for function in (format_.read, format_.write)
        if function is not None
        for name, p in inspect.signature(function).parameters.items()
        if p.kind is inspect.Parameter.KEYWORD_ONLY
    }
    if format_.kind == "recordings":
        assert taken == {*format_.options, *(["graphs"] if format_.carries_graphs else [])}


def test_the_page_has_the_table_of_all_formats() -> None:
    assert render_formats() in PAGE.read_text(encoding="utf-8"), (
        "docs/interchange.md differs from the declarations: put render_formats() between its marks"
    )


def test_listing_formats_imports_nothing_heavy() -> None:
    code = (
        "import sys; from proctor.datasets.interchange import formats; formats(); "
        "print(sorted({m.split('.')[0] for m in sys.modules} & "
        "{'pyarrow', 'pandas', 'datasets', 'mlcroissant', 'pympi', 'numpy', 'networkx', 'pydot'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_an_unknown_name_lists_all() -> None:
    with pytest.raises(UserError) as caught:
        find_format("eaf")
    assert "elan" in str(caught.value)


@pytest.mark.parametrize(
    ("path", "name"), [("a/B.EAF", "elan"), ("x.vtt", "webvtt"), ("x.srt", "srt"), ("x.tsv", "csv")]
)
def test_an_ending_tells_the_format(path: str, name: str) -> None:
    assert guess_format(Path(path)).name == name


@pytest.mark.parametrize(
    ("path", "message"), [("x.json", "several formats"), ("x.xyz", "no format"), ("folder", "no format")]
)
def test_an_ending_that_does_not_tell(path: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        guess_format(Path(path), "recordings")
    assert "activitynet" in str(caught.value)
