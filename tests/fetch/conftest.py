"""A server of the tests' own, and a wanted file of it."""

from __future__ import annotations

import hashlib
import importlib.util
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("server.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def web() -> ModuleType:
    """The module ``server``: tests cannot import each other."""
    return sys.modules.get("proctor_tests_fetch_server") or _load("proctor_tests_fetch_server")


@pytest.fixture
def site(web: ModuleType, data: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with web.serving(**{"a.bin": data}) as site:
        yield site


@pytest.fixture(scope="session")
def data() -> bytes:
    return random.Random(6).randbytes(300_000)


@pytest.fixture
def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
