"""What the pages for people who extend Proctor have in common: a package made from a page, and its commands as they are typed."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from pathlib import Path

from tests.typed import Outcome, proctor_process

__all__ = ["Outsider"]

DOCS = Path(__file__).resolve().parents[2] / "docs"


class Outsider:
    """Somebody who has a page and an empty folder.

    Args:
        page: its name in ``docs``.
        module: the file that the first Python block is saved as.
        home: the folder; what ``pip`` would install goes to ``home/site``.
    """

    def __init__(self, page: str, module: str, home: Path) -> None:
        self.text = (DOCS / page).read_text(encoding="utf-8")
        self.home = home
        self.module = home / "site" / module
        self.environment = {**os.environ, "PYTHONPATH": str(home / "site")}

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
        found: list[tuple[list[str], list[str]]] = []
        for line in self.blocks("console")[block].splitlines():
            if line.startswith("$ "):
                found.append((shlex.split(line[2:]), []))
            else:
                found[-1][1].append(line)
        return found

    def type(self, words: list[str]) -> Outcome:
        assert words[0] == "proctor"
        return proctor_process(*words[1:], cwd=self.home, env=self.environment)


def assert_seen(shown: list[str], done: Outcome) -> None:
    """Hold every line of the page against what was printed; ``…`` stands for anything."""
    printed = [line.rstrip() for line in (done.out + "\n" + done.err).splitlines()]
    for line in shown:
        pattern = re.compile(".*".join(map(re.escape, line.split("…"))))
        assert any(map(pattern.fullmatch, printed)), (line, done.out, done.err)
