"""Every file that a command reads, broken in every way: status 2, a message that helps, nothing half-written.

The tables say which file is read by which command and how it is broken. Commands share their readers, so every way of a
file is tried with one of its commands in turn, and every command with one of the ways. The few combinations that are no
mistake (a settings file need not exist) are listed with what happens instead, and all of them are tried.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

RUN = "runs/constant/"

READ_BY = {
    "recordings.jsonl": ["derive"],
    "graphs.json": ["derive", "generate", "verify", "build", "predict", "judge", "score", "report"],
    "examples.jsonl": ["generate", "verify", "build", "export"],
    "candidates.jsonl": ["verify", "build", "report", "export"],
    "items.jsonl": ["predict", "judge", "score", "report", "export"],
    "verification.sqlite": ["verify", "build", "report", "export"],
    RUN + "predictions.jsonl": ["predict", "judge", "score", "report"],
    RUN + "judgements.jsonl": ["score", "report"],
    RUN + "run.json": ["predict", "judge", "score", "report"],
    "proctor.toml": ["read", "derive", "generate", "verify", "build", "predict", "score", "report"],
    "stages.json": ["read", "derive", "verify", "build", "predict", "judge", "score", "report", "doctor"],
}


def command_line(command: str, bench: Path) -> list[object]:
    """Return the arguments that run a command on a finished workspace."""
    match command:
        case "read":
            return ["read", "plain", bench.parent / "sample", bench]
        case "predict":
            return ["predict", bench, "-p", "constant"]
        case "export":
            return ["export", "promqa", bench, bench / "published.json"]
        case "generate":
            return ["generate", bench, "--limit", "40"]
        case _:
            return [command, bench]


# -- ways to break a file ----------------------------------------------------------------------------------------


def _missing(path: Path) -> None:
    path.unlink()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _not_json(path: Path) -> None:
    path.write_bytes(b"once upon a time = {\n")


def _truncated(path: Path) -> None:
    """Cut in the middle; a table of settings inside a string, because half of one may well be a whole one."""
    whole = path.read_bytes()
    middle = whole.index(b'"') + 1 if path.suffix == ".toml" else len(whole) // 2
    path.write_bytes(whole[:middle])


def _list_of_numbers(path: Path) -> None:
    path.write_bytes(b"[1, 2, 3]\n")


def _number(path: Path) -> None:
    path.write_bytes(b"17\n")


def _not_utf8(path: Path) -> None:
    path.write_bytes(b'{"id": "caf\xe9 \xff\xfe"}\n')


def _nul_bytes(path: Path) -> None:
    path.write_bytes(b"\x00" * 4096)


def _nested(path: Path) -> None:
    path.write_bytes(b"[" * 200_000 + b"]" * 200_000)


def _symlink_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


WAYS: dict[str, Callable[[Path], None]] = {
    "missing": _missing,
    "empty": _empty,
    "not JSON": _not_json,
    "truncated": _truncated,
    "a list": _list_of_numbers,
    "a number": _number,
    "not UTF-8": _not_utf8,
    "NUL bytes": _nul_bytes,
    "nested too deeply": _nested,
    "a link to itself": _symlink_loop,
    "a folder": _folder,
}

FINE = {
    ("proctor.toml", "missing"): "the defaults hold",
    ("proctor.toml", "empty"): "the defaults hold",
    ("stages.json", "missing"): "what was done is not known, but nothing is wrong",
    (RUN + "run.json", "missing", "predict"): "the run is begun anew",
    (RUN + "predictions.jsonl", "missing", "predict"): "the run is begun anew",
    (RUN + "predictions.jsonl", "missing", "judge"): "there is one run less",
    (RUN + "predictions.jsonl", "missing", "score"): "there is one run less",
    (RUN + "predictions.jsonl", "missing", "report"): "there is one run less",
    (RUN + "judgements.jsonl", "missing", "report"): "the run is shown without marks",
    ("candidates.jsonl", "missing", "report"): "the page leaves the candidates out",
    ("verification.sqlite", "missing", "verify"): "everything is verified anew",
    ("verification.sqlite", "empty", "verify"): "an empty file is an empty SQLite database",
}


def in_turn(ways: Iterable[str], commands: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs in which each way and each command occur at least once."""
    ways = list(ways)
    return [(ways[i % len(ways)], commands[i % len(commands)]) for i in range(max(len(ways), len(commands)))]


BROKEN = {(name, *pair): None for name, commands in READ_BY.items() for pair in in_turn(WAYS, commands)}
BROKEN |= {key: None for key in FINE if len(key) == 3}


@pytest.mark.parametrize(("name", "way", "command"), BROKEN)
def test_a_broken_file_of_the_workspace(
    name: str,
    command: str,
    way: str,
    bench: Path,
    proctor: Callable[..., Any],
    contents: Callable[[Path], dict[str, bytes]],
) -> None:
    WAYS[way](bench / name)
    before = contents(bench)
    outcome = proctor(*command_line(command, bench))
    if (name, way) in FINE or (name, way, command) in FINE:
        assert outcome.status == 0, outcome.err
        return
    assert_helpful(outcome, Path(name).name)
    assert_untouched(before, contents(bench))


def assert_helpful(outcome: Any, *named: str) -> None:
    """The status says that the user can fix it, and the message names what is wrong and what to do."""
    assert outcome.status == 2, (outcome.out, outcome.err)
    assert outcome.out == ""
    message = [line for line in outcome.err.splitlines() if not line.startswith("warning: ")]
    assert message[0].startswith("proctor: "), outcome.err
    assert "Traceback" not in outcome.err
    assert len(outcome.err) < 2_000
    for text in named:
        assert text in outcome.err, outcome.err
    assert any(line.lstrip().startswith("→ ") for line in message), f"no hint: {outcome.err}"


def assert_untouched(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Nothing was written, not even a temporary file; SQLite's side files come and go as it is opened."""

    def own(files: dict[str, bytes]) -> dict[str, bytes]:
        return {n: b for n, b in files.items() if not n.endswith(("-wal", "-shm"))}

    assert own(after) == own(before)


# -- records that are well-formed and wrong ----------------------------------------------------------------------


def edit(path: Path, change: Callable[[list[Any]], None]) -> None:
    """Change the decoded records of a JSON Lines file and write them back, infinities and all."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(records)
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")


def put(*route: str | int, value: Any) -> Callable[[list[Any]], None]:
    """Return a change that sets one field of the third record."""

    def change(records: list[Any]) -> None:
        place = records[2]
        for part in route[:-1]:
            place = place[part]
        place[route[-1]] = value

    return change


def drop(*route: str) -> Callable[[list[Any]], None]:
    """Return a change that takes a field away from the third record."""

    def change(records: list[Any]) -> None:
        place = records[2]
        for part in route[:-1]:
            place = place[part]
        del place[route[-1]]

    return change


def again(records: list[Any]) -> None:
    """Write the third record twice."""
    records.append(records[2])


def swap_times(records: list[Any]) -> None:
    """Let a segment end before it starts."""
    segment = next(s for s in records[2]["segments"] if s.get("end") is not None)
    segment["start"], segment["end"] = segment["end"], segment["start"]


def swap_performed(records: list[Any]) -> None:
    """Let a performed step of an example end before it starts."""
    current = next(r["current"] for r in records if r.get("current"))
    current["start"], current["end"] = current["end"], current["start"]


def start_early(records: list[Any]) -> None:
    """Let a performed step of an example start before its recording."""
    next(r["current"] for r in records if r.get("current"))["start"] = -3.5


BAD_TIMES = {
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "negative": -3.5,
    "text": "3",
}

RECORDING = {
    "duplicate id": (again, "id"),
    "no id": (drop("id"), "id"),
    "id is a number": (put("id", value=3), "id"),
    "segments are a text": (put("segments", value="none"), "segments"),
    "step is not in the graph": (put("segments", 0, "step_id", value="nowhere"), "nowhere"),
    "swapped times": (swap_times, "before it starts"),
    **{f"start {n}": (put("segments", 1, "start", value=t), "") for n, t in BAD_TIMES.items()},
    **{f"end {n}": (put("segments", 1, "end", value=t), "") for n, t in BAD_TIMES.items()},
    **{f"duration {n}": (put("duration", value=t), "duration") for n, t in BAD_TIMES.items() if n != "text"},
}

EXAMPLE = {
    "duplicate id": (again, "id"),
    "no id": (drop("id"), "id"),
    "unknown type": (put("type", value="sing"), "sing"),
    "unknown state": (put("state", value="asleep"), "asleep"),
    "no such activity": (put("activity_id", value="opera"), "opera"),
    "next step not in the graph": (put("all_next", value=[{"step_id": "nowhere", "text": "x"}]), "nowhere"),
    "blocking step not in the graph": (put("blocking", value=[["nowhere", "pole"]]), "nowhere"),
    "swapped times": (swap_performed, "before it starts"),
    "performed before 0": (start_early, "-3.5"),
    **{f"end {n}": (put("end", value=t), "") for n, t in BAD_TIMES.items()},
}

CANDIDATE = {
    "duplicate id": (again, "id"),
    "no question": (drop("question"), "question"),
    "empty question": (put("question", value=" "), "question"),
    "no answers": (put("answers", value=[]), "answer"),
    "answers are texts": (put("answers", value=["yes"]), "answers"),
    "unknown kind of answer": (put("answers", value=[{"text": "x", "kind": "song"}]), "song"),
    "unknown example": (put("example_id", value="nowhere"), "nowhere"),
    "another type than its example": (put("type", value="timing"), "type"),
}

ITEM = {
    "duplicate id": (again, "id"),
    "no golds": (put("golds", value=[]), "gold"),
    "no example": (drop("question", "facts"), "facts"),
    "empty question": (put("question", "text", value=""), "question"),
    "no such activity": (put("question", "facts", "activity_id", value="opera"), "opera"),
    "another recording": (put("question", "evidence", 0, "recording", value="opera"), "evidence"),
    "no type": (drop("question", "facets"), "facets"),
    "a gold that is an option": (put("golds", value=[{"value": {"is": "pick", "option": 0}}]), "text"),
    **{f"end {n}": (put("question", "facts", "end", value=t), "") for n, t in BAD_TIMES.items()},
}

PREDICTION = {
    "duplicate id": (again, "id"),
    "unknown item": (put("item_id", value="nowhere"), "nowhere"),
    "neither answer nor failure": (drop("answer"), "answer"),
    "answer and failure": (put("failure", value="x"), "failure"),
    "answer is a list": (put("answer", value=["yes"]), "answer"),
    "infinite time": (put("frame_times", value=[math.inf]), ""),
}

JUDGEMENT = {
    "duplicate id": (again, "id"),
    "unknown item": (put("item_id", value="nowhere"), "nowhere"),
    "score 3": (put("score", value=3), "3"),
    "score -1": (put("score", value=-1), "-1"),
    "score 1.5": (put("score", value=1.5), "score"),
    "score NaN": (put("score", value=math.nan), ""),
    "unknown gold": (put("gold", value=99), "99"),
}

WRONG_RECORDS: list[tuple[str, tuple[str, ...], dict[str, tuple[Callable[[list[Any]], None], str]]]] = [
    ("recordings.jsonl", ("derive",), RECORDING),
    ("examples.jsonl", ("generate", "verify", "build"), EXAMPLE),
    ("candidates.jsonl", ("verify", "build"), CANDIDATE),
    ("items.jsonl", ("predict", "judge", "score", "report"), ITEM),
    (RUN + "predictions.jsonl", ("predict", "judge", "score"), PREDICTION),
    (RUN + "judgements.jsonl", ("score", "report"), JUDGEMENT),
]


@pytest.mark.parametrize(
    ("name", "command", "wrong"),
    [
        pytest.param(name, command, wrong[kind], id=f"{name}-{command}-{kind}")
        for name, commands, wrong in WRONG_RECORDS
        for kind, command in in_turn(wrong, commands)
    ],
)
def test_a_record_that_cannot_be_right(
    name: str,
    command: str,
    wrong: tuple[Callable[[list[Any]], None], str],
    bench: Path,
    proctor: Callable[..., Any],
    contents: Callable[[Path], dict[str, bytes]],
) -> None:
    change, named = wrong
    edit(bench / name, change)
    before = contents(bench)
    outcome = proctor(*command_line(command, bench))
    assert_helpful(outcome, Path(name).name, named)
    assert_untouched(before, contents(bench))


# -- task graphs -------------------------------------------------------------------------------------------------


def _cycle(graph: dict[str, Any]) -> None:
    before, after = graph["edges"][-1]
    graph["edges"].append([after, before])


def _unknown_edge(graph: dict[str, Any]) -> None:
    graph["edges"].append(["nowhere", graph["steps"][1]["id"]])


def _twice(graph: dict[str, Any]) -> None:
    graph["steps"].append(graph["steps"][1])


def _self_loop(graph: dict[str, Any]) -> None:
    graph["edges"].append([graph["steps"][1]["id"]] * 2)


def _no_steps(graph: dict[str, Any]) -> None:
    graph["steps"] = []


def _text_edges(graph: dict[str, Any]) -> None:
    graph["edges"] = "none"


GRAPHS = {
    "a cycle": (_cycle, "cycle"),
    "an edge to nowhere": (_unknown_edge, "nowhere"),
    "a step twice": (_twice, "2 times"),
    "a step before itself": (_self_loop, "its own prerequisite"),
    "no steps": (_no_steps, "no steps"),
    "edges are a text": (_text_edges, "edges"),
}


@pytest.mark.parametrize(("kind", "command"), in_turn(GRAPHS, READ_BY["graphs.json"]))
def test_a_task_graph_that_cannot_be_right(
    kind: str, command: str, bench: Path, proctor: Callable[..., Any], contents: Callable[..., Any]
) -> None:
    change, named = GRAPHS[kind]
    path = bench / "graphs.json"
    graphs = json.loads(path.read_text(encoding="utf-8"))
    change(next(iter(graphs.values())))
    path.write_text(json.dumps(graphs), encoding="utf-8")
    before = contents(bench)
    outcome = proctor(*command_line(command, bench))
    assert_helpful(outcome, "graphs.json", named)
    assert_untouched(before, contents(bench))


def test_a_graph_that_lost_a_step_which_examples_name(bench: Path, proctor: Callable[..., Any]) -> None:
    path = bench / "graphs.json"
    graphs = json.loads(path.read_text(encoding="utf-8"))
    first = json.loads((bench / "recordings.jsonl").read_text(encoding="utf-8").splitlines()[0])
    lost = first["segments"][0]["step_id"]
    graph = graphs[first["activity_id"]]
    graph["steps"] = [s for s in graph["steps"] if s["id"] != lost]
    graph["edges"] = [e for e in graph["edges"] if lost not in e]
    path.write_text(json.dumps(graphs), encoding="utf-8")
    for command in ("derive", "generate"):
        outcome = proctor(command, bench)
        assert outcome.status == 2
        assert f"'{lost}'" in outcome.err or "cannot" in outcome.err


# -- settings and provenance -------------------------------------------------------------------------------------

SETTINGS = {
    "unknown key": ("[{}]\ncolour = 'red'\n", "colour"),
    "wrong type": ("[{}]\n{} = [1]\n", "was expected"),
    "not a table": ("{} = 3\n", "must be a table"),
}
A_KEY = {
    "read": "corrections",
    "derive": "protocol",
    "generate": "seed",
    "verify": "store",
    "build": "accept",
    "predict": "seed",
    "score": "resamples",
    "report": "title",
}


@pytest.mark.parametrize(("kind", "command"), in_turn(SETTINGS, list(A_KEY)))
def test_settings_that_cannot_be_right(
    kind: str, command: str, bench: Path, proctor: Callable[..., Any], contents: Callable[..., Any]
) -> None:
    text, named = SETTINGS[kind]
    (bench / "proctor.toml").write_text(text.format(command, A_KEY[command]), encoding="utf-8")
    before = contents(bench)
    assert_helpful(proctor(*command_line(command, bench)), "proctor.toml", named)
    assert_untouched(before, contents(bench))


FLAGS = [
    ("derive", ["--protocol", "guess"], "guess"),
    ("generate", ["--generator", "oracle"], "oracle"),
    ("generate", ["--sample", "best"], "best"),
    ("generate", ["--limit", "0"], "--limit"),
    ("generate", ["--examples", "many"], "--examples"),
    ("verify", ["--threshold", "0.3"], "0.3"),
    ("verify", ["--threshold", "nan"], "nan"),
    ("verify", ["--store", "mysql://root:secret@localhost/x"], "mysql"),
    ("build", ["--accept", "nobody"], "nobody"),
    ("build", ["--min-confidence", "2"], "--min-confidence"),
    ("build", ["--min-confidence", "nan"], "--min-confidence"),
    ("build", ["--name", "../up"], "../up"),
    ("build", ["--version", ""], "version"),
    ("predict", ["-p", "clairvoyant"], "clairvoyant"),
    ("predict", ["-p", "clairvoyant", "--dry-run"], "clairvoyant"),
    ("predict", ["-p", "constant", "--run", "../up"], "../up"),
    ("predict", ["-p", "constant", "-p", "annotations", "--run", "x"], "--run"),
    ("judge", ["--run", "nowhere"], "nowhere"),
    ("judge", ["--judge", "jury"], "jury"),
    ("score", ["--run", "nowhere"], "nowhere"),
    ("score", ["--confidence", "95"], "95"),
    ("score", ["--confidence", "nan"], "nan"),
    ("score", ["--resamples", "1"], "1"),
    ("report", ["--frames", "-1"], "--frames"),
    ("report", ["--output", ""], "name of a file"),
]


@pytest.mark.parametrize(("command", "flags", "named"), FLAGS)
def test_a_flag_that_cannot_be_right_is_not_kept(
    command: str,
    flags: list[str],
    named: str,
    bench: Path,
    proctor: Callable[..., Any],
    contents: Callable[..., Any],
) -> None:
    before = contents(bench)
    outcome = proctor(command, bench, *flags)
    assert outcome.status == 2, outcome
    assert named in outcome.err
    assert "secret" not in outcome.err
    assert_untouched(before, contents(bench))
    assert proctor(command, bench).status == 0, "the flag must not hold for the next run"


# -- the store of verdicts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["verify", "build", "report"])
@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE proctor_verdicts SET body = '{' WHERE sequence = 3", "verdict 3"),
        ("UPDATE proctor_verdicts SET body = x'ff' WHERE sequence = 3", "verdict 3"),
        ("UPDATE proctor_verdicts SET body = '{\"candidate_id\": 7}' WHERE sequence = 3", "verdict 3"),
        ("UPDATE proctor_verdicts_meta SET value = '99' WHERE key = 'schema_version'", "newer"),
        ("UPDATE proctor_verdicts_meta SET value = 'x' WHERE key = 'schema_version'", "number"),
        ("ALTER TABLE proctor_verdicts RENAME COLUMN body TO mind", "body"),
    ],
)
def test_a_store_that_was_tampered_with(
    command: str, statement: str, named: str, bench: Path, proctor: Callable[..., Any]
) -> None:
    connection = sqlite3.connect(bench / "verification.sqlite")
    connection.execute(statement)
    connection.commit()
    connection.close()
    assert_helpful(proctor(command, bench), "verification.sqlite", named)


def test_a_database_of_somebody_else(bench: Path, proctor: Callable[..., Any]) -> None:
    (bench / "verification.sqlite").unlink()
    connection = sqlite3.connect(bench / "verification.sqlite")
    connection.execute("CREATE TABLE diary (entry TEXT)")
    connection.commit()
    connection.close()
    assert_helpful(proctor("verify", bench), "verification.sqlite", "diary")


# -- places that cannot be used ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", ["derive", "generate", "verify", "build", "predict", "judge", "score", "report", "doctor"]
)
def test_no_workspace_there(command: str, tmp_path: Path, proctor: Callable[..., Any]) -> None:
    assert_helpful(proctor(command, tmp_path / "nowhere"), "nowhere")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    "command", ["derive", "generate", "verify", "build", "predict", "judge", "score", "report", "doctor"]
)
def test_a_file_where_the_workspace_should_be(
    command: str, tmp_path: Path, proctor: Callable[..., Any]
) -> None:
    (tmp_path / "file").write_text("x")
    assert_helpful(proctor(command, tmp_path / "file"), "file")


@pytest.mark.parametrize(
    "place", ["file/below", "/proc/proctor", "loop/below", "x" * 300, "full\ufffd/" + "y" * 256]
)
def test_a_folder_that_cannot_be_made(place: str, home: Path, proctor: Callable[..., Any]) -> None:
    (home / "file").write_text("x")
    (home / "loop").symlink_to("loop")
    assert_helpful(proctor("read", "plain", home / "sample", home / place))
    assert_helpful(proctor("demo", home / place, "--no-video"))
    assert_helpful(proctor("report", home / "bench", "--output", home / place / "report.html"))


@pytest.mark.parametrize("command", ["export"])
def test_an_export_that_cannot_be_written(command: str, bench: Path, proctor: Callable[..., Any]) -> None:
    (bench / "file").write_text("x")
    assert_helpful(proctor("export", "promqa", bench, bench / "file" / "below.json"), "below.json")
    assert_helpful(proctor("export", "promqa", bench, bench), "bench")


def test_a_report_over_a_folder(bench: Path, proctor: Callable[..., Any]) -> None:
    assert_helpful(proctor("report", bench, "--output", bench / "runs"), "runs")
    assert (bench / "runs" / "constant").is_dir()


@pytest.mark.parametrize("linked", [False, True])
def test_a_report_never_replaces_what_is_no_file(
    linked: bool, bench: Path, proctor: Callable[..., Any]
) -> None:
    pipe = bench / "pipe"  # stands for a device: a test must not risk the machine's own
    os.mkfifo(pipe)
    target = bench / "link" if linked else pipe
    if linked:
        target.symlink_to("pipe")
    assert_helpful(proctor("report", bench, "--output", target), target.name)
    assert pipe.is_fifo()
    assert target.is_symlink() == linked


# -- a release -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["a file", "a folder of somebody else", "a foreign file", "a link"])
def test_a_release_folder_that_is_not_ours_is_left_alone(
    kind: str, bench: Path, proctor: Callable[..., Any], contents: Callable[..., Any]
) -> None:
    release = bench / "release"
    if kind == "a foreign file":
        (release / "thesis.tex").write_text("ten years of work")
    else:
        release.rename(bench / "moved")
        if kind == "a file":
            release.write_text("mine")
        elif kind == "a link":
            release.symlink_to("moved")
        else:
            release.mkdir()
            (release / "thesis.tex").write_text("ten years of work")
    before = contents(bench)
    assert_helpful(proctor("build", bench), "release")
    assert_untouched(before, contents(bench))


@pytest.mark.parametrize(
    "way", ["missing", "empty", "not JSON", "truncated", "a list", "not UTF-8", "a link to itself"]
)
@pytest.mark.parametrize("name", ["manifest.json", "graphs.json", "data/test.jsonl"])
def test_a_broken_release_is_noticed(name: str, way: str, bench: Path) -> None:
    from proctor.errors import UserError
    from proctor.release.folder import read_release

    WAYS[way](bench / "release" / name)
    with pytest.raises(UserError) as caught:
        read_release(bench / "release")
    assert Path(name).name in caught.value.render()


# -- size ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "command"), [("recordings.jsonl", "derive"), ("items.jsonl", "predict")])
def test_a_line_of_50_megabytes(name: str, command: str, bench: Path, proctor: Callable[..., Any]) -> None:
    with (bench / name).open("ab") as stream:
        stream.write(b'{"id": "' + b"a" * (50 * 2**20) + b"\n")
    assert_helpful(proctor(*command_line(command, bench)), name)
