"""What the README shows is what the demo prints."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from PIL import Image

from proctor_rehearsal.players import Rehearsal
from proctor_rehearsal.standin import Standin

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_demo_in_the_readme_is_todays(tmp_path: Path, proctor: Any) -> None:
    outcome = proctor("demo", tmp_path / "demo", "--no-video")
    assert outcome.status == 0
    shown = README.read_text(encoding="utf-8")
    printed = [line for line in outcome.out.partition("done in")[0].splitlines() if line.strip()]
    assert len(printed) == 7
    assert [line for line in printed if line not in shown] == []


def _blocks() -> dict[str, list[list[str]]]:
    """Return the typed commands under each heading."""
    sections = re.split(r"^## ", README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {}
    for section in sections:
        text = "".join(re.findall(r"```console\n(.*?)```", section, re.DOTALL)).replace("\\\n", " ")
        typed = [line[2:] for line in text.splitlines() if line.startswith("$ proctor ")]
        found[section.splitlines()[0]] = [shlex.split(line, comments=True)[1:] for line in typed]
    return {title: commands for title, commands in found.items() if commands}


@pytest.mark.parametrize("command", [c for block in _blocks().values() for c in block], ids=" ".join)
def test_every_command_and_option_in_the_readme_exists(command: list[str], proctor: Any) -> None:
    outcome = proctor(*command, "--help")
    assert outcome.status == 0, outcome.err


def test_the_first_screen_works_as_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proctor: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    cards = next(iter(_blocks().values()))
    assert len(cards) == 9
    for command in cards:
        if command[0] == "studio":
            is_served(command)
        else:
            outcome = proctor(*command)
            assert outcome.status == 0, (command, outcome.err)
            assert "\n\n\n" not in f"\n{outcome.out}", command
    for plan in ("mine", "ours", "guides"):
        assert (tmp_path / plan / "report.html").is_file()


def test_the_python_block_works_as_typed_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    for _ in range(2):
        exec(compile(block, "readme.py", "exec"), {"__name__": "readme"})
    assert re.search(r"^ *1 +mine +system", capsys.readouterr().out, re.MULTILINE)


def is_served(command: list[str]) -> None:
    script = "from proctor.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-u", "-c", script, *command, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        seen, status = "", 0
        try:
            for line in process.stdout:
                seen += line
                if found := re.search(r"http://127\.0\.0\.1:\d+/setup/\S+", line):
                    with urlopen(found[0], timeout=60) as page:
                        status = page.status
                    break
        finally:
            process.terminate()
    assert status == 200, seen


def write_manuals(folder: Path) -> None:
    """Write four manuals, each with text, a table and a picture."""
    folder.mkdir()
    for number, (name, care) in enumerate(
        (("Kettle", "descale"), ("Toaster", "empty"), ("Blender", "rinse"), ("Scale", "wipe"))
    ):
        Image.new("RGB", (320, 240), (60 * number, 90, 120)).save(folder / f"{name}.png")
        text = f"The {name} lasts for {number + 2} years. Always {care} it after use, and never open it. " * 4
        table = f"| Part | Weight |\n|---|---|\n| lid | {number}20 g |\n| base | {number}80 g |"
        picture = f"![Figure {number}: the {name} from the front]({name}.png)"
        (folder / f"{name}.md").write_text(f"# {name}\n\n{text}\n\n{table}\n\n{picture}\n")


def test_the_corpus_block_works_on_one_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proctor: Any
) -> None:
    write_manuals(tmp_path / "manuals")
    monkeypatch.chdir(tmp_path)
    with Standin(answer=Rehearsal(tmp_path / "bench", quality=0.8)) as server:
        for key, value in server.environment.items():
            monkeypatch.setenv(key, value)
        rehearsal, *commands = _blocks()["Questions over documents"]
        assert rehearsal[0] == "experiment"  # a folder of its own, and its own tests: docs/corpus.md
        for command in commands:
            fewer = " ".join(command).replace(
                "--per-cell 5", "--per-cell 1"
            )  # a fifth of the questions is as good a test
            outcome = proctor(*fewer.replace("~", str(tmp_path)).split())
            assert outcome.status == 0, (command, outcome.err)


@pytest.mark.shared
def test_steps_on_real_recordings_and_published_results_work_as_typed(
    tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch, proctor: Any
) -> None:
    (tmp_path / "captaincook4d").symlink_to(shared_data / "captaincook4d")
    (tmp_path / "examples.json").symlink_to(shared_data / "promqa" / "examples_dev.json")
    monkeypatch.chdir(tmp_path)
    printed = ""
    for title in ("Step by step, on real recordings", "Published results, reproduced"):
        for command in _blocks()[title]:
            # the home, and the benchmark of another group
            outcome = proctor(*(word.replace("~", ".").replace("THEIR", "bench") for word in command))
            assert outcome.status == 0, (command, outcome.err)
            printed += outcome.out
    assert (tmp_path / "bench" / "report.html").is_file()
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "examples.json").read_bytes()
    for number in ("384", "5,700", "47", "11,781"):  # as the README says beside the commands
        assert re.search(rf"\b{number}\b", printed), number
