"""What all commands share: tables, progress on and off a terminal, errors and exit statuses."""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.typed import proctor

from proctor import terminal
from proctor.cli import console
from proctor.errors import UserError
from proctor.exam.kind import ViewOptions, kind_named

ROOT = Path(__file__).resolve().parents[2]


def test_numbers_are_flush_right_and_text_left() -> None:
    text = console.table([("a", 1), ("long", 12345)], ("name", "n"))
    assert text.splitlines() == ["name       n", "────  ──────", "a          1", "long  12,345"]


def test_an_empty_table() -> None:
    assert console.table([]) == ""


def test_json_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    console.emit({"n": 1}, "one", as_json=True)
    terminal.note("hello")
    seen = capsys.readouterr()
    assert json.loads(seen.out) == {"n": 1}
    assert seen.err == "hello\n"


def test_a_users_mistake_ends_with_2_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise UserError("it is broken.", where="file.json:3", hint="correct it")

    assert console.run(fail) == 2
    assert capsys.readouterr().err == "proctor: file.json:3: it is broken.\n  → correct it\n"


def test_an_interruption_ends_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    assert console.run(stop) == 130
    assert "kept" in capsys.readouterr().err


def test_a_bug_keeps_its_traceback() -> None:
    def bug() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        console.run(bug)


def test_progress_off_a_terminal_prints_lines_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "_PLAIN_EVERY_SECONDS", 0.0)
    with terminal.progress("reading", 2) as step:
        step()
        step()
    assert [line.split(",")[0] for line in capsys.readouterr().err.splitlines()] == [
        "reading: 1 of 2",
        "reading: 2 of 2",
    ]


def test_progress_in_a_notebook_is_a_bar_below_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = pytest.importorskip("IPython.display", reason="needs IPython")
    shown: list[str] = []

    class Handle:
        def update(self, html: Any) -> None:
            shown.append(html.data)

    def display(html: Any, *, display_id: bool) -> Handle:
        shown.append(html.data)
        return Handle()

    monkeypatch.setattr(cell, "display", display)
    monkeypatch.setattr(terminal, "_in_notebook", lambda: True)
    monkeypatch.setattr(terminal, "_CELL_EVERY_SECONDS", 0.0)
    with terminal.progress("read <b>", 2) as step:
        step()
        step()
    first, *bars, last = shown
    assert (first, last) == ("<p>read &lt;b&gt; …</p>", "")
    assert [bar.partition("read")[0] for bar in bars] == [
        f"<p><progress value={n} max=2></progress> " for n in (1, 2)
    ]


def test_quiet_progress_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.progress("x", quiet=True) as step:
        step()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("typed", "said", "hint"),
    [
        (["prdict"], "there is no command 'prdict'.", "did you mean predict?"),
        (["score", "x", "--jsn"], "there is no option --jsn.", "did you mean --json"),
        (["read"], "the argument DATASET is missing.", "proctor read --help"),
        (["metrics", "answer"], "the option --gt is missing.", "proctor metrics answer --help"),
        (
            ["predict", "x", "--form", "opne"],
            "--form: 'opne' is not one of 'open', 'choice', 'order'.",
            "did you mean open?",
        ),
        (["predict", "x", "--frames", "0"], "--frames: at least 1 was expected.", "proctor predict --help"),
        (["score", "x", "--resamples", "x"], "--resamples: a whole number was expected.", "--help"),
        (["score", "x", "y"], "unexpected: y.", "--help"),
        (["predict", "x", "--kind"], "the option --kind needs a value.", "proctor predict --help"),
        (["report", "x", "--output"], "the option --output needs a value.", "proctor report --help"),
        (
            ["corpus", "info", "x", "--json=1"],
            "the option --json takes no value.",
            "proctor corpus info --help",
        ),
        (
            ["learn", "mistakes", "--model", "contxt"],
            "--model: 'contxt' is not one of",
            "did you mean context?",
        ),
    ],
)
def test_what_is_typed_wrongly_reads_like_every_other_message(typed: list[str], said: str, hint: str) -> None:
    outcome = proctor(*typed)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(f"proctor: {said}")
    assert hint in outcome.err.partition("\n  → ")[2]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["verify", "--verifier", "gpt-4o"], "openai/gpt-4o"),
        (["predict", "-p", "gpt-4o-mini"], "openai/gpt-4o-mini"),
        (["predict", "-p", "constnat"], "constant"),
        (["predict", "-p", "openai/gpt-4o", "--show", "frmes:5"], "frames"),
        (["predict", "-p", "openai/gpt-4o", "--show", "frames:unifrm"], "uniform"),
        (["predict", "-p", "openai/gpt-4o", "--sampling", "unifrm"], "uniform"),
        (["predict", "-p", "openai/gpt-4o", "--kind", "moments"], "moment"),
        (["judge", "-j", "gpt4o"], "openai/gpt-4o"),
        (["generate", "-g", "gpt-4o"], "openai/gpt-4o"),
        (["generate", "-g", "openai/gpt-4o", "--template", "exerpt-steps"], "excerpt-steps"),
        (["build", "--accept", "orcale"], "oracle"),
        (["calibrate", "--kind", "momnt"], "moment"),
        (["filter", "--on", "momnt", "-j", "openai/gpt-4o"], "moment"),
        (["round", "answer", "--kind", "momnt"], "moment"),
    ],
)
def test_what_is_meant_is_said_for_values_too(typed: list[str], meant: str, finished: Path) -> None:
    place = 2 if typed[0] == "round" else 1
    outcome = proctor(*typed[:place], finished / "bench", *typed[place:])
    assert outcome.status == 2
    assert f"did you mean {meant}?" in outcome.err


@pytest.mark.parametrize(
    "typed",
    [
        "report WRONG",
        "retrieve WRONG",
        "corpus info WRONG",
        "generate documents WRONG -g openai/gpt-4o",
        "upgrade WRONG",
        "concur WRONG:data WRONG:styled",
        "filter WRONG",
        "filter WRONG -j openai/gpt-4o --dry-run",
        "choices WRONG",
        "score WRONG",
        "standin --workspace WRONG",
    ],
)
def test_a_workspace_that_is_meant_is_named_before_anything_else_is_asked_for(
    typed: str, finished: Path
) -> None:
    wrong = finished / "bnech"
    outcome = proctor(*typed.replace("WRONG", str(wrong)).split())
    assert (outcome.status, outcome.out, wrong.exists()) == (2, "", False)
    assert f"did you mean {finished / 'bench'}?" in outcome.err


def test_a_plan_that_is_meant_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").touch()
    assert (
        f"no such plan.\n  → did you mean {tmp_path / 'mine.toml'}?"
        in proctor("run", tmp_path / "mnie.toml").err
    )
    other = tmp_path / "other.toml"
    assert f"no such plan.\n  → proctor init {other} writes one" in proctor("run", other).err


@pytest.mark.parametrize(
    ("kind", "view", "meant"),
    [
        ("clip", "framse:8", "frames"),
        ("clip", "frames:8@half-sied", "half-side"),
        ("order", "imgae+goal", "image"),
        ("step", "tmies", "times"),
        ("documents", "glod", "gold"),
    ],
)
def test_what_is_meant_is_said_for_views_of_every_kind(kind: str, view: str, meant: str) -> None:
    with pytest.raises(UserError, match=f"did you mean {meant}\\?"):
        kind_named(kind).view(view, ViewOptions())


def test_help_shows_whole_summaries_types_in_words_examples_and_extras() -> None:
    text = runpy.run_path(str(ROOT / "scripts" / "write-commands"))["render"]()
    assert re.findall(r"x>=|<=x|<(?:str|path|int|float)\b|^  [a-z].*\.\.\.$", text, re.MULTILINE) == []
    for page in text.split("\n## ")[1:]:
        name, _, body = page.partition("\n")
        assert "\nExamples:\n  proctor " in body, name
        if name.split()[1:2] in (["studio"], ["corpus"], ["learn"], ["capture"]):
            assert f"{' '.join(name.split()[:2])} needs: pip install 'proctor-bench[" in body, name
    lines = re.findall(r"pip install .*", text)
    extras = {one for line in lines for one in re.search(r"\[(.*)\]", line)[1].split(",")}  # type: ignore[index]
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras <= set(declared) - {"rehearsal"}  # which is on no index: its folder is named
    assert "  proctor demo does more after, in a clone of Proctor: pip install 'proctor-bench[video]' ./src/proctor_rehearsal\n" in text  # fmt: skip


@pytest.mark.parametrize(
    ("former", "now"),
    [
        (["generate", "procedural"], ["generate", "moment"]),
        (["generate", "styled"], ["generate", "documents"]),
        (["generate", "instructional"], ["generate", "clip"]),
        (["experiment", "promqa"], ["experiment", "moment"]),
        (["predict", "procedural"], ["predict", "--kind", "moment"]),
    ],
)
def test_a_former_name_is_a_hidden_alias(former: list[str], now: list[str], tmp_path: Path) -> None:
    place = tmp_path / "nowhere"
    old, new = proctor(*former, place), proctor(*now, place)
    assert not place.exists()
    said = f"warning: 'proctor {' '.join(former)}' is now called 'proctor {' '.join(now)}'\n"
    assert (old.status, old.err) == (new.status, said + new.err)
    assert proctor(former[0], "--help").out.count(former[1]) == 0


def test_a_former_command_that_was_split_says_what_is_typed_now() -> None:
    outcome = proctor("answer", "bench")
    assert outcome.status == 2
    assert outcome.err.startswith(
        "proctor: there is no 'proctor answer' any more.\n  → type proctor predict WORKSPACE"
    )
