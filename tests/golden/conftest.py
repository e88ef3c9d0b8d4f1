"""The account of a file of expected numbers: where each of them is reproduced, or where else it belongs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parents[1]


@cache
def source(file: str) -> str:
    return (TESTS / file).read_text(encoding="utf-8")


def leaves(value: Any, at: str = "") -> Iterator[str]:
    """Yield the path of everything that is neither an object nor a list of objects or lists."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{at}.{key}" if at else key)
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for inner in value:
            yield from leaves(inner, f"{at}[]")
    else:
        yield at


def check(document: Any, covered: Mapping[str, str], elsewhere: Mapping[str, str]) -> list[str]:
    """Return what is wrong with an account.

    Args:
        document: the expected numbers.
        covered: from the beginning of a path to the test that reproduces what is there (``file::test``, in tests/).
        elsewhere: from the beginning of a path to the reason why it is not a metric's value.
    """
    problems = []
    paths = sorted(set(leaves(document)))
    prefixes = {**covered, **elsewhere}

    def under(path: str, prefix: str) -> bool:
        return path == prefix or path.startswith((f"{prefix}.", f"{prefix}["))

    problems += [f"in both lists: {p}" for p in covered.keys() & elsewhere.keys()]
    problems += [f"in no list: {p}" for p in paths if not any(under(p, q) for q in prefixes)]
    problems += [f"not in the file: {q}" for q in prefixes if not any(under(p, q) for p in paths)]
    problems += [f"without a reason: {q}" for q, why in elsewhere.items() if len(why) < 10]
    for prefix, test in covered.items():
        file, _, name = test.partition("::")
        if not (TESTS / file).is_file() or f"def {name}(" not in source(file):
            problems.append(f"no such test: {test} of {prefix}")
    return problems


@pytest.fixture(scope="session")
def account() -> Callable[[Any, Mapping[str, str], Mapping[str, str]], list[str]]:
    """The function ``check``: tests cannot import from here."""
    return check
