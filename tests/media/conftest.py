"""Videos are made once per test run and shared."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def _make_video_module() -> ModuleType:
    # pytest runs with --import-mode=importlib, where test files cannot import their neighbours
    name = "proctor_test_make_video"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("make_video.py"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def maker() -> ModuleType:
    """The module ``make_video``."""
    pytest.importorskip("av", reason="the extra 'video' is not installed")
    return _make_video_module()


@pytest.fixture(scope="session")
def video(maker: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A function that makes a video of a recipe once and returns its path."""
    folder = tmp_path_factory.mktemp("videos")
    made: dict[str, Path] = {}

    def make(name: str, **recipe: Any) -> Path:
        key = f"{name}{sorted(recipe.items(), key=str)}"
        if key not in made:
            path = folder / str(len(made)) / name
            path.parent.mkdir()
            recipe.setdefault("times", range(60))
            recipe.setdefault("time_base", Fraction(1, 30))
            made[key] = maker.make_video(path, maker.Recipe(**recipe))
        return made[key]

    return make
