"""What all commands share: tables, progress on and off a terminal, errors and exit statuses."""

from __future__ import annotations

import json

import pytest

from proctor import terminal
from proctor.cli import console
from proctor.errors import UserError


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


def test_quiet_progress_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.progress("x", quiet=True) as step:
        step()
    assert capsys.readouterr().err == ""
