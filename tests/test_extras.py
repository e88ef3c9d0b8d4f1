"""A missing extra is named with the line that installs it, whichever import is the first to miss it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
from tests.typed import proctor

from proctor.cli.console import run
from proctor.errors import EXTRAS, MissingExtraError, missing_extra
from proctor.samples import copy_sample

ROOT: Final = Path(__file__).resolve().parents[1]
PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
NAMES: Final = {
    "PIL": "pillow",
    "any_llm": "any-llm-sdk",
    "argon2": "argon2-cffi",
    "faiss": "faiss-cpu",
    "faster_whisper": "faster-whisper",
    "markdown_it": "markdown-it-py",
    "sklearn": "scikit-learn",
}
"""Distributions that are not called like what is imported."""
BROUGHT: Final = {"IPython", "anyio", "markupsafe", "yarl", "genai_prices"}
"""What the packages of the core or of an extra bring along, and what is used only where it is there."""


def requirements(extra: str | None) -> set[str]:
    listed = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    return {re.split(r"[^A-Za-z0-9_.-]", one)[0].lower() for one in listed}


def distribution(package: str) -> str:
    return NAMES.get(package, package.replace("_", "-")).lower()


SOURCES: Final = sorted((ROOT / "src").rglob("*.py"))
_IMPORT: Final = re.compile(
    r"^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)[\w.]*(?:[ \t]+(?:as|import)\b|[ \t]*$)", re.MULTILINE
)
_BY_NAME: Final = re.compile(r"\b(?:package|import_module|find_spec)\(\s*\"(\w+)")
_NAMED: Final = re.compile(r"\bMissingExtraError\(\s*\"([^\"]+)\",\s*\"([^\"]+)\"")


def test_every_import_is_of_the_core_or_of_an_extra_that_is_known() -> None:
    core = requirements(None)
    texts = [path.read_text(encoding="utf-8") for path in SOURCES]
    foreign = {name for text in texts for one in (_IMPORT, _BY_NAME) for name in one.findall(text)}
    foreign -= {*sys.stdlib_module_names, "proctor", "proctor_rehearsal"}
    assert {"av", "PIL", "pyarrow", "starlette", "pdfplumber", "qdrant_client"} <= foreign
    assert {p for p in foreign - EXTRAS.keys() - BROUGHT if distribution(p) not in core} == set()


@pytest.mark.parametrize("package", EXTRAS)
def test_the_extra_brings_the_package(package: str) -> None:
    assert distribution(package) in requirements(EXTRAS[package])


def test_every_extra_that_is_named_brings_what_is_missing() -> None:
    named = {pair for path in SOURCES for pair in _NAMED.findall(path.read_text(encoding="utf-8"))}
    assert len(named) > 10
    wrong = {(p, extra) for p, extra in named if not {p.lower(), distribution(p)} & requirements(extra)}
    assert wrong == set()


@pytest.mark.parametrize("package", ["av", "starlette.applications", "PIL.Image", "psycopg"])
def test_an_import_that_fails_anywhere_ends_with_the_line_to_install(
    package: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    assert run(command) == 2
    top = package.partition(".")[0]
    assert f"pip install 'proctor-bench[{EXTRAS[top]}]'" in capsys.readouterr().err


def test_a_module_of_nobody_is_a_bug() -> None:
    def command() -> None:
        raise ModuleNotFoundError("No module named 'proctor.nothing'", name="proctor.nothing")

    with pytest.raises(ModuleNotFoundError):
        run(command)
    assert missing_extra(ModuleNotFoundError("?")) is None
    assert isinstance(missing_extra(ModuleNotFoundError("?", name="av.error")), MissingExtraError)


_BARE: Final = """
import json, sys
from proctor.errors import EXTRAS
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Without())
from tests.typed import proctor
for words in json.load(sys.stdin):
    shown = proctor(*words[: 1 + (words[0] in ("datasets", "learn"))], "--help")
    print(json.dumps([words, proctor(*words).err, shown.out]))
"""


def test_what_a_command_lacks_is_named_by_its_help_and_by_its_error(tmp_path: Path) -> None:
    copy_sample(tmp_path / "sample")
    assert proctor("read", "plain", tmp_path / "sample", tmp_path / "bench").status == 0
    for stage in ("derive", "generate", "verify", "build"):
        assert proctor(stage, tmp_path / "bench").status == 0
    commands = [
        ["datasets", "export", "sample", "--out", "shards"],
        ["build", "bench", "--parquet"],
        ["studio", "bench"],
        ["doctor", "bench", "--videos"],
        ["learn", "mistakes", "--annotations", "sample"],
    ]
    made = subprocess.run(
        [sys.executable, "-c", _BARE],
        input=json.dumps(commands),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found = [json.loads(line) for line in made.stdout.splitlines()]
    assert [words for words, _, _ in found] == commands
    for words, said, shown in found:
        lacking = re.findall(r"→ pip install 'proctor-bench\[([a-z-]+)\]'", said)
        named = ",".join(re.findall(r"pip\s+install\s+'proctor-bench\[([a-z,-]+)\]'", shown)).split(",")
        assert lacking, (words, said)
        assert set(lacking) <= set(named), (words, said)
