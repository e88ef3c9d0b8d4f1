"""Bad files and bad command lines around the stages that ask models: a clear error, status 2, and nothing is sent.

What the file says is broken is named by its place, what was there before stays, and no key or traceback is shown.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import av
import numpy as np
import pytest

from proctor.cli.console import run
from proctor.cli.main import app
from proctor.exam.kinds.example import Example
from proctor.exam.prediction import Prediction
from proctor.records import read_jsonl

Contents = Callable[[Path], dict[str, bytes]]
Break = Callable[[Path], object]


def proctor(*arguments: object) -> tuple[int, str, str]:
    """Run one command in this process as the console script does; what is no user's mistake is raised."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["proctor", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        status = run(app)
    return status, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def finished(built: Path, tmp_path_factory: pytest.TempPathFactory, calmed: Any) -> Path:
    """A benchmark with a run of a model, judged by a model; not to be changed."""
    copy = Path(shutil.copytree(built, tmp_path_factory.mktemp("finished") / "bench"))
    assert proctor("predict", copy, "-p", f"compat/answerer@{calmed().url}/v1", "--run", "toy")[0] == 0
    assert proctor("judge", copy, "--judge", f"compat/marker@{calmed().url}/v1")[0] == 0
    return copy


@pytest.fixture
def bench(finished: Path, tmp_path: Path, models: Any) -> Path:
    """The same, to be broken; the server has forgotten what it took."""
    models.server.reset()
    return Path(shutil.copytree(finished, tmp_path / "bench"))


@pytest.fixture(scope="module")
def still_there(
    finished: Path, tmp_path_factory: pytest.TempPathFactory, contents: Contents
) -> Iterator[Path]:
    """The same for commands that change nothing, which is checked in the end."""
    copy = Path(shutil.copytree(finished, tmp_path_factory.mktemp("still") / "bench"))
    yield copy
    assert contents(copy.parent) == contents(finished.parent)


@pytest.fixture
def still(still_there: Path, models: Any) -> Path:
    """The same for commands that change nothing; the server has forgotten what it took."""
    models.server.reset()
    return still_there


def command(stage: str, bench: Path, models: Any, model: str = "") -> list[object]:
    match stage:
        case "predict":
            return ["predict", bench, "-p", model or models.name("answerer"), "--run", "toy"]
        case "judge":
            return ["judge", bench, "--judge", model or models.name("marker"), "--run", "toy"]
        case _:
            return ["generate", bench, "--generator", model or models.name("asker"), "--examples", 12]


def refused(models: Any, *arguments: object, says: str) -> str:
    """The command ends with status 2 and says this, and nothing is sent."""
    status, _, err = proctor(*arguments)
    assert status == 2, err
    assert re.search(says, err, re.IGNORECASE | re.DOTALL), err
    assert "Traceback" not in err
    assert models.server.count == 0
    return err


# -- files ---------------------------------------------------------------------------------------------------------


def _cut(name: str, *, by: int = 40) -> Break:
    return lambda bench: os.truncate(bench / name, (bench / name).stat().st_size - by)


def _write(name: str, data: bytes) -> Break:
    return lambda bench: (bench / name).write_bytes(data)


def _folder_instead(name: str) -> Break:
    def put(bench: Path) -> None:
        (bench / name).unlink()
        (bench / name).mkdir()

    return put


def _another_version(version: str) -> Break:
    def put(bench: Path) -> None:
        (bench / "calls.sqlite-wal").unlink(missing_ok=True)
        connection = sqlite3.connect(bench / "calls.sqlite")
        connection.execute("UPDATE proctor_calls_meta SET value = ? WHERE key = 'schema_version'", (version,))
        connection.commit()
        connection.close()

    return put


def _somebody_elses(bench: Path) -> None:
    (bench / "calls.sqlite").unlink()
    connection = sqlite3.connect(bench / "calls.sqlite")
    connection.execute("CREATE TABLE holidays (day TEXT)")
    connection.commit()
    connection.close()


def _drop_a_column(bench: Path) -> None:
    connection = sqlite3.connect(bench / "calls.sqlite")
    connection.execute("ALTER TABLE proctor_calls RENAME COLUMN outcome TO result")
    connection.commit()
    connection.close()


RUN = "runs/toy/"
ALL = ("generate", "predict", "judge")
BROKEN: dict[str, tuple[Break, tuple[str, ...], str]] = {
    "run.json cut": (_cut(RUN + "run.json"), ("predict", "judge"), r"run\.json.*JSON"),
    "run.json empty": (_write(RUN + "run.json", b""), ("predict", "judge"), r"run\.json"),
    "run.json a list": (_write(RUN + "run.json", b"[]"), ("predict", "judge"), r"run\.json"),
    "run.json of another role": (
        _write(RUN + "run.json", b'{"predictor": "x", "role": "king"}'),
        ("predict", "judge"),
        r"run\.json.*king",
    ),
    "predictions with half a line": (
        _cut(RUN + "predictions.jsonl"),
        ("predict", "judge"),
        r"predictions\.jsonl:54: not valid JSON",
    ),
    "predictions empty": (_write(RUN + "predictions.jsonl", b""), ("predict", "judge"), "no records in it"),
    "predictions a folder": (
        _folder_instead(RUN + "predictions.jsonl"),
        ("predict", "judge"),
        r"predictions\.jsonl",
    ),
    "items with half a line": (_cut("items.jsonl"), ("predict", "judge"), r"items\.jsonl:54: not valid JSON"),
    "examples with half a line": (_cut("examples.jsonl"), ("generate",), r"examples\.jsonl"),
    "calls no database": (
        _write("calls.sqlite", b"no database" * 999),
        ALL,
        r"calls\.sqlite.*not a database",
    ),
    "calls cut": (_cut("calls.sqlite", by=30_000), ALL, r"calls\.sqlite.*(malformed|disk image)"),
    "calls of somebody else": (_somebody_elses, ALL, r"calls\.sqlite.*holidays"),
    "calls of a newer version": (_another_version("99"), ALL, r"calls\.sqlite.*newer"),
    "calls of no version": (_another_version("latest"), ALL, r"calls\.sqlite.*latest"),
    "calls with other columns": (_drop_a_column, ("generate", "judge"), r"calls\.sqlite.*column"),
    "calls a folder": (_folder_instead("calls.sqlite"), ALL, r"calls\.sqlite.*folder"),
    "secret empty": (_write("prompt-secret", b""), ALL, r"prompt-secret.*not the secret"),
    "secret too short": (_write("prompt-secret", b"abcd"), ALL, r"prompt-secret.*not the secret"),
    "secret no digits": (_write("prompt-secret", b"\xff" * 64), ALL, r"prompt-secret.*not the secret"),
    "secret a folder": (_folder_instead("prompt-secret"), ALL, r"prompt-secret"),
}


@pytest.mark.parametrize(
    ("what", "stage"), [(w, stages[n % len(stages)]) for n, (w, (_, stages, _)) in enumerate(BROKEN.items())]
)
def test_a_broken_file_is_named_and_nothing_is_sent(
    what: str, stage: str, bench: Path, models: Any, contents: Contents
) -> None:
    broken, _, says = BROKEN[what]
    broken(bench)
    before = contents(bench)
    refused(models, *command(stage, bench, models), says=says)
    assert contents(bench) == before


def test_an_empty_file_of_calls_is_a_new_store(bench: Path, models: Any, contents: Contents) -> None:
    """SQLite makes such a file when it is killed while it makes one."""
    for path in bench.glob("calls.sqlite*"):
        path.unlink()
    (bench / "calls.sqlite").write_bytes(b"")
    before = contents(bench)
    assert proctor(*command("judge", bench, models))[0] == 0
    assert models.server.count > 0
    assert contents(bench) == before


def test_stored_outcomes_that_are_none_are_told(bench: Path, models: Any) -> None:
    connection = sqlite3.connect(bench / "calls.sqlite")
    connection.execute("UPDATE proctor_calls SET outcome = '{\"type\":\"reply\"' WHERE stage LIKE 'judge/%'")
    connection.commit()
    connection.close()
    refused(models, *command("judge", bench, models), says=r"calls\.sqlite.*call [0-9a-f]{12}")


@pytest.mark.parametrize(
    ("stage", "mode", "names"),
    [
        ("predict", 0, "prompt-secret"),
        ("generate", 0, "calls.sqlite*"),
        ("judge", 0o444, "calls.sqlite*"),
        ("predict", 0, "items.jsonl"),
        ("judge", 0, "items.jsonl"),
        ("generate", 0, "graphs.json"),
    ],
)
def test_files_that_may_not_be_read_or_written(
    stage: str, mode: int, names: str, bench: Path, models: Any, launcher: Any, contents: Contents
) -> None:
    before = contents(bench)
    for path in bench.glob(names):
        path.chmod(mode)
    role = {"generate": "asker", "predict": "answerer", "judge": "marker"}[stage]
    ended = launcher.run(*command(stage, bench, models, models.name(f"{role}-2")), powerless=True)
    for path in bench.glob(names):
        path.chmod(0o644)
    assert ended.status == 2, ended.err
    assert names.rstrip("*") in ended.err
    assert "Traceback" not in ended.err
    assert models.server.count == 0
    assert contents(bench) == before


@pytest.mark.parametrize("stage", ALL)
def test_a_workspace_that_may_not_be_written(
    stage: str, bench: Path, models: Any, launcher: Any, contents: Contents
) -> None:
    """Nothing is paid for that cannot be kept."""
    before = contents(bench)
    folders = [bench, *(p for p in bench.rglob("*") if p.is_dir())]
    for path in folders:
        path.chmod(0o555)
    line = command(stage, bench, models, models.name(f"{stage}-by-another"))
    ended = launcher.run(*line, powerless=True)
    for path in folders:
        path.chmod(0o755)
    assert ended.status == 2, ended.err
    assert str(bench) in ended.err
    assert "Traceback" not in ended.err
    assert models.server.count == 0
    assert contents(bench) == before


@pytest.mark.parametrize("place", ["/proc/calls.sqlite", "/dev/null/x.sqlite", "/dev/null", "/proc/version"])
def test_places_where_no_store_can_be(place: str, still: Path, models: Any) -> None:
    refused(models, *command("judge", still, models), "--calls", place, says=place)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://nobody@127.0.0.1:9/none", "127.0.0.1"),
        ("postgresql://nobody:hush-hush-secret@127.0.0.1:9/none", "127.0.0.1"),
        ("postgresql://[", "address|URL|parse"),
        ("postgresql://127.0.0.1:many/none", "address|URL|port|parse"),
        ("mysql://127.0.0.1/none", "mysql"),
    ],
)
def test_stores_that_are_not_there(still: Path, models: Any, url: str, says: str) -> None:
    told = refused(models, *command("predict", still, models), "--calls", url, says=says)
    assert "hush-hush-secret" not in told


def test_a_folder_of_pictures_that_is_a_file(bench: Path, models: Any, tmp_path: Path) -> None:
    examples: list[Example] = read_jsonl(bench / "examples.jsonl", Example)
    for video in sorted({e.video for e in examples if e.video}):
        _write_video(tmp_path / "videos" / video)
    line = ["predict", bench, "-p", models.name("answerer"), "--run", "seen", "--show", "frames"]
    line += ["--frames", 2, "--height", 32, "--videos", tmp_path / "videos"]
    (bench / "media").write_bytes(b"a file")
    refused(models, *line, says=r"media")
    assert not (bench / "runs/seen").exists()
    (bench / "media").unlink()
    status, out, err = proctor(*line)
    assert status == 0, err
    assert "answered" in out
    predictions: list[Prediction] = read_jsonl(bench / "runs/seen/predictions.jsonl", Prediction)
    assert any(p.answer for p in predictions)


def _write_video(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=1, options={"g": "10"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for second in range(600):
            picture = np.full((48, 64, 3), second % 250, dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


# -- files that options name ---------------------------------------------------------------------------------------

PRICES = '[prices."compat/*"]\ninput = {}\noutput = 1.0\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (PRICES.format("-1"), r"-1.*no price"),
        (PRICES.format("nan"), r"nan.*no price"),
        (PRICES.format("inf"), r"inf.*no price"),
        (PRICES.format("1e400"), r"prices\.toml"),
        (PRICES.format('"cheap"'), r"prices\.toml"),
        (PRICES.format("true"), r"prices\.toml"),
        ('[prices."gpt"]\ninput = 1.0\noutput = 1.0\n', "not the full name"),
        ('[prices."openai/x"]\ninput = 1.0\noutput = 1.0\ninptu = 3.0\n', "inptu"),
        ("[prices\n", r"prices\.toml"),
        ("", r"prices\.toml"),
        ("\x00", r"prices\.toml"),
    ],
)
@pytest.mark.parametrize("stage", ["predict", "judge"])
def test_a_file_of_prices_that_is_none(
    stage: str, text: str, says: str, still: Path, models: Any, tmp_path: Path
) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    refused(models, *command(stage, still, models), "--prices", path, "--max-cost", 1, says=says)


def test_a_file_of_prices_that_is_not_there(still: Path, models: Any, tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path, "/dev/null/prices.toml"):
        refused(models, *command("judge", still, models), "--prices", path, says="prices|none|folder|/")


TEMPLATE = "judge-ternary-step.md.j2"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("=== user ===", "=== user ===\n{{ colour }}"), "colour"),
        (("=== user ===", "=== user ===\n{{ question }}"), "outside of a fence"),
        (("=== user ===", "=== user ===\n{{ fence(question"), r"md\.j2"),
        (("=== user ===", "=== user ===\n{% for x in range(10**9) %}x{% endfor %}"), r"md\.j2"),
        (("=== user ===", "=== user ===\n{{ ''.__class__.__mro__ }}"), r"md\.j2"),
        (("=== user ===", "=== user ===\n{% include '../../../etc/passwd' %}"), "passwd|include"),
        (("data: activity", "data: smell, activity"), "smell"),
        (("---\n", ""), r"md\.j2"),
    ],
)
def test_a_template_that_cannot_be_used(
    change: tuple[str, str], says: str, still: Path, models: Any, tmp_path: Path
) -> None:
    import proctor.exam

    ours = Path(str(proctor.exam.__file__)).parent / "prompts" / TEMPLATE
    folder = tmp_path / "own"
    (folder / "evaluate").mkdir(parents=True)
    (folder / "evaluate" / ours.name).write_text(ours.read_text().replace(*change, 1))
    refused(models, *command("judge", still, models), "--prompts", folder, says=says)


def test_a_template_of_the_predictor_that_cannot_be_used(still: Path, models: Any, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    (folder / "evaluate").mkdir(parents=True)
    (folder / "evaluate" / "predict-recipe.md.j2").write_text("---\n")
    line = [*command("predict", still, models)[:-1], "anew"]  # a run that is not there has all to ask
    refused(models, *line, "--prompts", folder, says=r"predict-recipe\.md\.j2")


@pytest.mark.parametrize("stage", ALL)
def test_a_folder_of_templates_that_is_none(stage: str, still: Path, models: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "own").mkdir()
    (tmp_path / "own/judge-quaternary.md.j2").write_text("x")
    for place in ("file", "none", "own"):
        refused(models, *command(stage, still, models), "--prompts", tmp_path / place, says=place)


# -- command lines -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ALL)
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--max-cost", "-1"),
        ("--max-cost", "NaN"),
        ("--max-cost", "sNaN"),
        ("--max-cost", "1e400"),
        ("--max-cost", "inf"),
        ("--max-cost", "much"),
        ("--max-cost", ""),
        ("--max-cost", "1e999999999999"),
        ("--max-calls", "-1"),
        ("--max-calls", "1.5"),
        ("--max-tokens", "-1"),
        ("--max-tokens", "many"),
    ],
)
def test_limits_that_are_none(stage: str, option: str, value: str, still: Path, models: Any) -> None:
    refused(models, *command(stage, still, models), f"{option}={value}", says=f"{option[2:]}|dollars")


HOSTILE_NAMES = {
    "newline": "compat/a\nb@{url}/v1",
    "quotes": "compat/a\"b'c@{url}/v1",
    "file for an address": "compat/../../x@file:///etc/passwd",
    "credentials": "compat/x@http://user:sekrit-pass@127.0.0.1:9/v1",
    "password file": "replay//etc/passwd",
    "folder": "replay//etc",
    "not there": "replay/../../../../none.jsonl",
    "device": "human//dev/null",
    "no model": "compat/@{url}/v1",
    "only an address": "compat/x@http://",
    "no provider": "/etc/passwd",
    "two slashes": "//",
    "NUL": "compat/a\x00b@{url}/v1",
    "escape": "compat/\x1b[2Jx@{url}/v1",
    "other provider": "nobody/x",
    "a module": "os.system/x",
    "local model that is not there": "transformers//none",
}
MAY_WORK = {"quotes", "newline", "escape"}
"""Odd names that a server of one's own may have."""


@pytest.mark.parametrize(("what", "stage"), [(what, ALL[n % 3]) for n, what in enumerate(HOSTILE_NAMES)])
def test_names_of_models_that_are_none(
    what: str, stage: str, bench: Path, models: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    name = HOSTILE_NAMES[what].format(url=models.server.url)
    outside = sorted(p.name for p in tmp_path.iterdir())
    line = command(stage, bench, models, name)
    if "--run" in line and stage == "predict":
        line = line[: line.index("--run")]
    status, _, err = proctor(*line)
    assert "Traceback" not in err
    assert "sekrit-pass" not in err
    assert "root:" not in err
    assert "\x1b" not in err
    if what in MAY_WORK:
        assert status in (0, 2), err
    else:
        assert status == 2, err
        assert models.server.count == 0
    # Whatever the name says, files are written into the workspace's own folders.
    assert sorted(p.name for p in tmp_path.iterdir()) == outside
    assert all(re.fullmatch(r"[\w.-]+", p.name) for p in (bench / "runs").iterdir())


@pytest.mark.parametrize("name", ["../x", "..", ".hidden", "a/b", "a\\b", "x" * 300, "a\x00b"])
def test_names_of_runs_that_are_none(name: str, still: Path, models: Any, contents: Contents) -> None:
    before = contents(still.parent)
    line = ["predict", still, "-p", models.name("answerer"), f"--run={name}"]
    refused(models, *line, says="name of a run")
    refused(models, "judge", still, "--judge", models.name("marker"), f"--run={name}", says="no run")
    assert contents(still.parent) == before


@pytest.mark.parametrize("name", ["a\nb", "a b", "\u202etoy", "\x1b[31m", "-rf", "très"])
def test_odd_names_of_runs_cannot_steer_the_terminal(name: str, bench: Path, models: Any) -> None:
    status, out, err = proctor("predict", bench, "-p", models.name("answerer"), f"--run={name}", "--limit=1")
    assert status in (0, 2), err
    assert "Traceback" not in err
    assert not any(c in out + err for c in ("\x1b", "\u202e"))


@pytest.mark.parametrize(
    "line",
    [
        ("predict", "-p", "compat/x", "--show", "smell"),
        ("predict", "-p", "compat/x", "--show", "captions"),
        ("predict", "-p", "compat/x", "--show", "frames", "--sampling", "dice"),
        ("predict", "-p", "compat/x", "--show", "frames", "--frames", "0"),
        ("predict", "-p", "compat/x", "--show", "frames", "--height", "-5"),
        ("predict", "-p", "gpt-4o"),
        ("judge", "--judge", "gpt-4o"),
        ("judge", "--judge", "compat/x", "--scale", "quaternary"),
        ("judge", "--judge", "compat/x", "--context", "gossip"),
        ("judge", "--judge", "compat/x", "--repeats", "0"),
        ("generate", "--generator", "gpt-4o"),
        ("generate", "--generator", "compat/x", "--template", "../../x"),
    ],
)
def test_options_that_are_none(line: tuple[str, ...], still: Path, models: Any) -> None:
    stage, *options = (f"{part}@{models.server.url}/v1" if part == "compat/x" else part for part in line)
    refused(models, stage, still, *options, says=r"\w")


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"])
def test_a_key_that_is_missing_is_named(
    variable: str, still: Path, models: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    model = f"{variable.split('_')[0].lower()}/a-model"
    for stage in ALL:
        refused(models, *command(stage, still, models, model), says=variable)
