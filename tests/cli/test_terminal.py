"""The console script as a process: pipes, signals, full disks, odd surroundings; and what every command's help says."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor import terminal
from proctor.cli import console
from proctor.cli.capture_commands import apps as capture_apps
from proctor.cli.datasets import _COMMANDS as DATASET_COMMANDS
from proctor.cli.features import app as features_app
from proctor.cli.learn import app as learn_app
from proctor.cli.main import _COMMANDS
from proctor.cli.round import app as round_app
from proctor.version import __version__

Proctor = Callable[..., Any]
SCRIPT = [sys.executable, "-c", "from proctor.cli.main import main; main()"]


def start(*arguments: object, **settings: Any) -> subprocess.Popen[bytes]:
    environment = {**os.environ, **settings.pop("env", {})}
    return subprocess.Popen(
        [*SCRIPT, *map(str, arguments)],
        stdout=settings.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        env=environment,
        **settings,
    )


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, (out or b"").decode(), err.decode()


# -- help --------------------------------------------------------------------------------------------------------

NAMES = [name for commands in _COMMANDS.values() for name in commands]
PATHS = [
    *(
        [name]
        for name in NAMES
        if name
        not in (
            "import",
            "export",
            "reproduce",
            "oracle",
            "calls",
            "studio",
            "datasets",
            "graph",
            "corpus",
            "study",
            "round",
            "learn",
            "features",
            "capture",
            "metrics",
        )
    ),
    ["import", "promqa"],
    ["export", "promqa"],
    ["reproduce", "promqa"],
    ["oracle", "evaluate"],
    ["calls", "cost"],
    *(["studio", name] for name in ("link", "check", "backup", "import", "export", "prepare")),
    *(["datasets", name] for name in DATASET_COMMANDS),
    *(["graph", name] for name in ("lint", "convert", "draw", "induce")),
    *(["corpus", name] for name in ("build", "info", "embed", "dedupe")),
    *([command, name] for command in ("generate", "experiment") for name in ("documents", "clip")),
    ["export", "training"],
    *(
        [group, command.name or command.callback.__name__]
        for group, app in (("learn", learn_app), ("features", features_app), ("round", round_app))
        for command in app.registered_commands
        if command.callback is not None
    ),
    *(["capture", name] for name in (*capture_apps, "simulate", "residuals")),
    *(["study", name] for name in ("draw", "tables", "manuals", "ballots")),
]


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_command_explains_itself_with_an_example(path: list[str], proctor: Proctor) -> None:
    outcome = proctor(*path, "--help")
    assert outcome.status == 0
    assert re.search(rf"^Examples:\n( .*\n)*  proctor {' '.join(path)}\b", outcome.out, flags=re.M)
    assert "--json" in outcome.out
    assert "completion" not in outcome.out
    assert outcome.err == ""


def test_the_help_lists_every_command_quickly(proctor: Proctor) -> None:
    times = []
    for _ in range(3):
        before = os.times()
        status, out, err = finish(start("--help"))
        after = os.times()
        times.append(sum(after[2:4]) - sum(before[2:4]))  # of the processor, for children that have ended
        assert (status, err) == (0, "")
    assert all(re.search(rf"^  {name}\s", out, flags=re.M) for name in NAMES)
    assert min(times) < 2.0, "0.1 s of work; the rest is a slow machine"


def test_the_help_loads_no_stage() -> None:
    code = (
        "import sys; from proctor.cli.main import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'sqlalchemy', 'rich', 'jinja2', 'av', 'PIL')"
        " or m.startswith(('proctor.stages', 'proctor.datasets', 'proctor.verify'))], file=sys.stderr)"
    )
    seen = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert seen.stderr.strip() == "[]"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["predcit"], "did you mean predict"),
        (["reports", "x"], "did you mean report"),
        (["import", "promqaa"], "did you mean promqa"),
        (["generate", "x", "--sed", "1"], "--seed"),
        (["build", "x", "--min-confidance", "1"], "--min-confidence"),
    ],
)
def test_a_typing_mistake_is_understood(typed: list[str], meant: str, proctor: Proctor) -> None:
    outcome = proctor(*typed)
    assert outcome.status == 2
    assert meant in outcome.err
    assert outcome.out == ""


def test_the_page_of_commands_is_up_to_date() -> None:
    root = Path(__file__).resolve().parents[2]
    seen = subprocess.run(
        [sys.executable, root / "scripts/write-commands", "--check"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert seen.returncode == 0, seen.stderr


# -- pipes and signals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [["doctor"], ["--help"], ["--version"], ["derive", "--help"], ["doctor", "--json"]]
)
def test_a_reader_that_leaves_is_no_error(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = start(*arguments, stdout=writing)
    os.close(writing)
    assert finish(process) == (0, "", "")


def test_a_full_disk_behind_standard_output(bench: Path) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        status, _, err = finish(start("derive", bench, stdout=full))
    assert status == 2
    assert "cannot be printed" in err
    assert "Traceback" not in err


SLOW = """
import signal, sys, time
# Whoever runs the tests in the background of a shell starts them with Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
import proctor.ask.moment.rules as rules
real = rules.RuleGenerator.generate
def slowly(self, example, graph):
    open(sys.argv[2] + ".begun", "w").close()
    time.sleep(0.05)
    return real(self, example, graph)
rules.RuleGenerator.generate = slowly
from proctor.cli.main import main
main()
"""


def test_an_interruption_leaves_the_old_files(bench: Path, contents: Callable[..., Any]) -> None:
    before = contents(bench)
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, "generate", str(bench), "--seed", "9"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not Path(f"{bench}.begun").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    status, out, err = finish(process)
    assert (status, out) == (130, "")
    assert err == "proctor: interrupted; what was finished is kept, run the same command to continue\n"
    assert contents(bench) == before


def test_progress_goes_to_standard_error_only(
    bench: Path, proctor: Proctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "_PLAIN_EVERY_SECONDS", 0.0)
    for command in ("generate", "verify", "predict", "judge"):
        if command == "verify":
            (bench / "verification.sqlite").unlink()
        seen = proctor(command, bench, *(["-p", "random-step"] if command == "predict" else []))
        assert re.search(r"^[\w-]+: \d+.*/s$", seen.err, flags=re.M), (command, seen.err)
        assert "/s\n" not in seen.out
        if command != "judge":
            continue
        quiet = proctor(command, bench, "--json")
        assert quiet.err == ""


def test_a_bar_on_a_terminal_leaves_standard_output_clean(bench: Path) -> None:
    (bench / "verification.sqlite").unlink()
    terminal, side = os.openpty()
    process = subprocess.Popen(
        [*SCRIPT, "verify", str(bench)],
        stdout=subprocess.PIPE,
        stderr=side,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(side)
    shown = b""
    while True:
        try:
            block = os.read(terminal, 4096)
        except OSError:  # the other side is closed
            break
        if not block:
            break
        shown += block
    out, _ = process.communicate(timeout=60)
    os.close(terminal)
    assert process.returncode == 0, shown
    assert b"verifying" in shown
    assert b"\x1b" not in out
    assert out.decode().startswith("annotator")


def test_rates() -> None:
    assert terminal._rate(3000, 1.5) == "2,000/s"
    assert terminal._rate(2, 16.0) == "8.0 s each"


# -- surroundings ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "options"),
    [
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, ()),
        ({"PYTHONIOENCODING": "ascii", "LANG": "C"}, ("--json",)),
        ({"PYTHONIOENCODING": "latin-1", "TZ": "Asia/Kathmandu", "COLUMNS": "20", "TERM": "dumb", "NO_COLOR": "1"}, ()),
    ],
    ids=str,
)  # fmt: skip
def test_any_locale(env: dict[str, str], options: tuple[str, ...], bench: Path) -> None:
    status, out, err = finish(start("score", bench, "--resamples", "200", *options, env=env))
    assert status == 0, err
    assert "annotations" in out
    if options:
        json.loads(out)


def test_a_home_that_cannot_be_written(bench: Path, tmp_path: Path) -> None:
    env = {"HOME": "/proc", "XDG_CACHE_HOME": "/proc/cache", "MPLCONFIGDIR": "/proc/x"}
    status, _, err = finish(start("report", bench, env=env, cwd=tmp_path))
    assert status == 0, err
    assert "Traceback" not in err
    assert list(tmp_path.glob("*cache*")) == []


def test_a_name_that_is_not_utf8(home: Path) -> None:
    strange = os.fsdecode(os.fsencode(home) + b"/caf\xe9")
    status, out, err = finish(start("read", "plain", home / "sample", strange))
    assert (status, out) == (2, "")
    assert "not UTF-8" in err


def test_what_the_system_refuses_is_no_bug(capsys: pytest.CaptureFixture[str]) -> None:
    def refused() -> None:
        raise PermissionError(13, "Permission denied", "/some/file")

    assert console.run(refused) == 2
    assert "/some/file: Permission denied" in capsys.readouterr().err

    def bug() -> None:
        raise OSError(22, "Invalid argument")

    with pytest.raises(OSError, match="Invalid"):
        console.run(bug)


def test_tables_escape_what_does_not_print() -> None:
    assert console.table([("a\x1b[2J\nb", 1)]) == r"a\x1b[2J\nb  1"


def test_json_escapes_what_does_not_print(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"text": "\x9b31m \u202e \U000e0041 é 日本"}
    console.emit(value, "", as_json=True)
    out = capsys.readouterr().out
    assert json.loads(out) == value
    assert all(c.isprintable() or c == "\n" for c in out)
    assert "é 日本" in out


def test_at_its_end_a_process_does_not_look_for_garbage() -> None:
    """Looking through everything that was imported would take 0.2 s of each command."""
    program = """
from proctor.cli.main import main
class Loop:
    def __del__(self): print("looked")
try:
    main()
except SystemExit:
    loop = Loop()
    loop.own = loop
    del loop
"""
    done = subprocess.run(
        [sys.executable, "-c", program, "--version"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == f"proctor {__version__}\n"
