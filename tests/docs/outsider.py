"""What the tests of pages have in common: files and packages made from a page, and its commands as they are typed.

A test says by ``@types`` which page it types, and fails when it has not. ``test_reference_pages`` holds every page with
commands or Python against these tests.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from tests.docs.test_commands_exist import typed as commands_of
from tests.typed import SAID, Outcome, proctor, proctor_process

__all__ = [
    "PARTS",
    "README",
    "RUN",
    "Outsider",
    "run_python",
    "sections",
    "shown",
    "these",
    "type_all",
    "types",
]

DOCS = Path(__file__).resolve().parents[2] / "docs"
README: Final = "../README.md"
"""As a page."""
PARTS: Final[dict[str, list[tuple[str, str]]]] = {}
"""Of each page, which commands and which Python the tests that were loaded say that they type: patterns."""
RUN: Final[list[str]] = []
"""The Python of pages that was run or saved, as it stands there."""


def types(
    *pages: str, commands: str = "", python: str = "", instead: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Say that a test types the commands and runs the Python of pages, and let it fail if it does not.

    Args:
        pages: in ``docs``, or ``README``; a test with a parameter ``page`` types that one at a time.
        commands: which, as a pattern; by default all of them.
        python: which blocks, likewise.
        instead: words of the page for which the test types others; so it may for ``~/…`` and words in capitals.
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        for page in pages:
            PARTS.setdefault(page, []).append((commands, python))

        @functools.wraps(test)
        def held(*given: Any, **named: Any) -> None:
            said, run = len(SAID), len(RUN)
            test(*given, **named)
            for page in (one for one in pages if named.get("page", one) == one):
                asked, code = shown(page)
                typed = [["proctor", *words] for words in SAID[said:]]
                for line in (one for one in asked if re.search(commands, one)):
                    words = shlex.split(line, comments=True)
                    assert any(_fits(words, one, instead) for one in typed), f"{page}: not typed: {line}"
                left = {one for one in code if re.search(python, one)} - {*RUN[run:]}
                assert not left, f"{page}: not run: {left}"

        return held

    return decorate


def shown(page: str) -> tuple[list[str], list[str]]:
    """Return the commands and the blocks of Python of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    code = re.findall(r"^ *```python[^\n]*\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    return [*commands_of(text)], [*map(textwrap.dedent, code)]


def sections(page: str) -> dict[str, list[str]]:
    """Return the commands of a page by the title of their section; what comes before the first one has the page's."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return {part.partition("\n")[0]: [*commands_of(part)] for part in text.split("\n## ")}


def these(commands: Sequence[str]) -> str:
    """Return the pattern of commands, for ``types``."""
    return "|".join(f"^{re.escape(line)}$" for line in commands)


def _fits(shown: Sequence[str], said: Sequence[str], instead: Sequence[str]) -> bool:
    """True when words were typed as a page shows them; in place of a folder of the reader there may be any."""
    return len(shown) == len(said) and all(
        one == other
        or "~" in one
        or re.search(r"127\.0\.0\.1|localhost", one)
        or one in instead
        or re.fullmatch(r"[A-Z]+(\.json)?", one)
        for one, other in zip(shown, said, strict=True)
    )


def type_all(commands: Sequence[str], home: Path, **places: str) -> None:
    """Type commands of a page in the current folder; ``places`` stand for its words in capitals."""
    for line in commands:
        for word, place in {"~": str(home), **places}.items():
            line = line.replace(word, place)
        done = proctor(*shlex.split(line, comments=True)[1:])
        assert done.status == 0, (line, done.err)


def run_python(code: str, given: dict[str, Any] | None = None, changed: str = "") -> dict[str, Any]:
    """Run a block of Python of a page with what it takes for given, or with changes that a test needs; return its names."""
    RUN.append(textwrap.dedent(code))
    names = {"__name__": "page"} if given is None else given
    exec(compile(changed or RUN[-1], "page.py", "exec"), names)
    return names


class Outsider:
    """Somebody who has a page and an empty folder.

    Args:
        page: its name in ``docs``.
        home: the folder; what ``pip`` would install goes to ``home/site``.
        module: the file that the first Python block of a page about a package is saved as.
    """

    def __init__(self, page: str, home: Path, module: str = "") -> None:
        self.text = (DOCS / page).read_text(encoding="utf-8")
        self.home = home
        self.module = home / "site" / module
        given = [Path(one).resolve() for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [home / "site", *given]))}

    def blocks(self, language: str) -> list[str]:
        return re.findall(rf"```{language}\n(.*?)```", self.text, re.DOTALL)

    def install(self) -> None:
        """Leave behind what ``pip install`` does: the module, and the entry points that the page's pyproject names."""
        (declared,) = self.blocks("toml")
        project = tomllib.loads(declared)["project"]
        info = self.module.parent / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        (info / "entry_points.txt").write_text(
            "".join(
                f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
                for group, points in project["entry-points"].items()
            )
        )
        self.module.write_text(self.blocks("python")[0])
        RUN.append(self.blocks("python")[0])

    def typed(self, block: int) -> list[tuple[list[str], list[str]]]:
        """Return the commands of a block, each with the lines that the page shows below it."""
        return typed(self.blocks("console")[block])

    def type(self, words: list[str]) -> Outcome:
        if words[0] == "python":
            command = [sys.executable, *words[1:]]
            done = subprocess.run(
                command, cwd=self.home, env=self.environment, capture_output=True, text=True
            )
            return Outcome(done.returncode, done.stdout, done.stderr)
        assert words[0] == "proctor"
        return proctor_process(*words[1:], cwd=self.home, env=self.environment)

    def follow(self) -> int:
        """Save what has a title under it and type what stands behind a ``$``, from top to bottom; return how many were typed."""
        number = 0
        for language, title, body in _BLOCK.findall(self.text):
            if title:
                (self.home / title).parent.mkdir(parents=True, exist_ok=True)
                (self.home / title).write_text(body, encoding="utf-8")
                RUN.append(body)
            elif language == "console":
                for words, shown in typed(body):
                    done = self.type(words)
                    assert done.status == 0, (words, done.out, done.err)
                    assert_seen([line for line in shown if line.strip()], done)
                    number += 1
        return number


_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```", re.DOTALL | re.MULTILINE)


def typed(block: str) -> list[tuple[list[str], list[str]]]:
    """Return the commands of a block, each with the lines that are shown below it."""
    found: list[tuple[list[str], list[str]]] = []
    for line in block.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            found.append((shlex.split(line[2:], comments=True), []))
        else:
            found[-1][1].append(line)
    return found


def assert_seen(shown: list[str], done: Outcome) -> None:
    """Hold every line of the page against what was printed; ``…`` stands for anything."""
    printed = [line.rstrip() for line in (done.out + "\n" + done.err).splitlines()]
    for line in shown:
        pattern = re.compile(".*".join(map(re.escape, line.split("…"))))
        assert any(map(pattern.fullmatch, printed)), (line, done.out, done.err)
