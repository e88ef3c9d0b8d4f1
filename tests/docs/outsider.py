"""What the tests of pages have in common: files and packages made from a page, and its commands as they are typed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.typed import Outcome, proctor_process

__all__ = ["Outsider"]

DOCS = Path(__file__).resolve().parents[2] / "docs"


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
