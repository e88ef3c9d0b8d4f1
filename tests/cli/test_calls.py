"""``proctor calls``: what was asked, what it cost, and how to take it along."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from proctor.llm.media import MediaStore
from proctor.llm.message import Image, Request, user
from proctor.llm.outcome import AttemptRecord, Failure, Outcome, Reply, Usage, is_final
from proctor.llm.store import CallStore, StoredCall
from proctor.records import canonical_json

Run = Callable[..., Any]
DAY = 86_400.0


def _pair(
    text: str,
    outcome: Outcome,
    *,
    model: str = "openai/gpt-4o",
    stage: str = "judge",
    cost: int | None = 10**9,
    created: float = 1e9,
    image: Image | None = None,
) -> tuple[StoredCall, list[AttemptRecord]]:
    request = Request(model=model, messages=(user(text, *([image] if image else [])),))
    final = is_final(outcome)
    usage = outcome.usage
    call = StoredCall(
        key=request.key,
        model=model,
        stage=stage,
        kind=outcome.kind if isinstance(outcome, Failure) else "reply",
        created=created,
        seconds=1.25,
        input=usage.input,
        output=usage.output,
        cached=usage.cached,
        cost=cost,
        outcome=canonical_json(outcome).decode() if final else None,
        request=canonical_json(request).decode(),
    )
    return call, [msgspec.structs.replace(AttemptRecord.of(1, created, 1.25, outcome), cost=cost)]


def test_it_lists_where_no_command_is_named(
    bench: Path, proctor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = proctor("calls", "list", bench, "--json").json
    assert listed["count"] == 5
    assert proctor("calls", bench, "--json").json == listed
    monkeypatch.chdir(bench)
    assert proctor("calls", "--json").json == listed
    assert proctor("calls").out == proctor("calls", "list", ".").out
    assert "Usage" in proctor("calls", "--help").out
    assert "cost" in proctor("calls", "csot").err


def _lost(pair: tuple[StoredCall, list[AttemptRecord]]) -> tuple[StoredCall, list[AttemptRecord]]:
    """Put an attempt before the only one, whose reply was lost."""
    call, (attempt,) = pair
    lost = AttemptRecord(number=1, started=1e9, seconds=9.0, outcome="timeout", lost=True, feared=250_000_000)
    return call, [lost, msgspec.structs.replace(attempt, number=2)]


@pytest.fixture
def media(tmp_path: Path) -> MediaStore:
    return MediaStore(tmp_path / "media")


@pytest.fixture
def bench(tmp_path: Path, media: MediaStore) -> Path:
    """A folder with a store: 3 judgements, 1 prediction at an unknown price, 1 failure; one image."""
    folder = tmp_path / "bench"
    image = media.image("frame", lambda: (b"picture", 2, 2))
    with CallStore.open(folder / "calls.sqlite") as store:
        store.put(
            [
                *(
                    _pair(f"j{n}", Reply(text="1", usage=Usage(1_000, 10, 500)), created=1e9 + n)
                    for n in range(3)
                ),
                _pair(
                    "p",
                    Reply(text="x", usage=Usage(7, 3)),
                    model="compat/\x1b[2Jown",
                    stage="predict",
                    cost=None,
                    image=image,
                ),
                _lost(_pair("f", Failure(kind="rate_limit", message="slow"), cost=None, created=2e9)),
            ]
        )
    return folder


def test_list(proctor: Run, bench: Path) -> None:
    shown = proctor("calls", "list", bench)
    assert shown.status == 0
    rows = shown.out.splitlines()[2:]
    assert len(rows) == 5
    assert "rate_limit" in rows[0]
    assert "2033-05-18" in rows[0]
    assert "\x1b" not in shown.out
    assert "compat/\\x1b[2Jown" in shown.out
    assert "unknown" in shown.out
    failed = proctor("calls", "list", bench / "calls.sqlite", "--kind", "failed", "--json").json
    assert (failed["count"], failed["calls"][0]["kind"], failed["calls"][0]["final"]) == (
        1,
        "rate_limit",
        False,
    )
    one = proctor("calls", "list", bench, "--stage", "judge", "--model", "openai/*", "--limit", "1")
    assert "3 more" in one.out
    assert "no such call" in proctor("calls", "list", bench, "--stage", "none").out


def test_cost(proctor: Run, bench: Path) -> None:
    shown = proctor("calls", "cost", bench)
    assert shown.status == 0
    assert "$3.00" in shown.out
    assert "possibly USD" in shown.out
    assert shown.out.splitlines()[-1].split()[-2:] == ["1", "$0.25"]
    assert "price of 1 attempts in stage 'predict' is not known" in shown.err
    result = proctor("calls", "cost", bench, "--json").json
    assert result["sum"] | {"model": "", "stage": ""} == {
        "model": "",
        "stage": "",
        "calls": 4,
        "failed": 1,
        "attempts": 6,
        "input": 3_007,
        "output": 33,
        "cached": 1_500,
        "cost": 3 * 10**9,
        "unpriced": 1,
        "lost": 1,
        "feared": 250_000_000,
    }
    assert [row["stage"] for row in result["totals"]] == ["predict", "judge"]
    nothing = proctor("calls", "cost", bench, "--stage", "none", "--json")
    assert nothing.json["sum"]["calls"] == 0
    assert "no calls" in proctor("calls", "cost", bench, "--stage", "none").out


def test_export_and_replay(proctor: Run, bench: Path, tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl.gz"
    shown = proctor("calls", "export", bench, file, "--media", tmp_path / "media")
    assert shown.status == 0, shown.err
    assert "5 calls and 1 media" in shown.out
    other = tmp_path / "other"
    other.mkdir()
    taken = proctor("calls", "replay", other, file, "--media", tmp_path / "taken", "--json")
    assert taken.json == {"calls": 5, "new": 5, "store": str(other / "calls.sqlite")}
    assert len([p for p in (tmp_path / "taken").rglob("*") if p.is_file()]) == 1
    assert proctor("calls", "replay", other, file, "--json").json["new"] == 0
    one, two = (proctor("calls", "list", where, "--json").out for where in (bench, other))
    assert one == two
    some = proctor("calls", "export", bench, tmp_path / "j.jsonl", "--stage", "judge", "--json").json
    assert some == {"calls": 4, "media": 0, "file": str(tmp_path / "j.jsonl")}


def test_prune_asks_first(proctor: Run, bench: Path) -> None:
    refused = proctor("calls", "prune", bench, "--stage", "judge")
    assert refused.status == 2
    assert "4 calls worth $3.00" in refused.err
    assert "--yes" in refused.err
    dry = proctor("calls", "prune", bench, "--stage", "judge", "--dry-run", "--yes", "--json").json
    assert (dry["selected"], dry["removed"], dry["cost"]) == (4, 0, 3 * 10**9)
    assert proctor("calls", "list", bench, "--json").json["count"] == 5
    assert proctor("calls", "prune", bench, "--stage", "judge", "--yes", "--json").json["removed"] == 4
    assert proctor("calls", "list", bench, "--json").json["count"] == 1


def test_prune_by_age_model_and_kind(proctor: Run, bench: Path) -> None:
    assert proctor("calls", "prune", bench, "--older-than", "1", "--yes", "--json").json["removed"] == 4
    assert proctor("calls", "prune", bench, "--model", "compat/*", "--yes", "--json").json["removed"] == 0
    assert proctor("calls", "prune", bench, "--kind", "failed", "--yes", "--json").json["removed"] == 1


def test_prune_wants_to_be_told_what(proctor: Run, bench: Path) -> None:
    refused = proctor("calls", "prune", bench, "--yes")
    assert refused.status == 2
    assert "--stage" in refused.err
    assert proctor("calls", "prune", bench, "--all", "--yes", "--json").json["removed"] == 5


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "{none}"),
        ("cost", "{folder}"),
        ("export", "{none}", "{out}"),
        ("prune", "{none}", "--all", "--yes"),
        ("replay", "{bench}", "{none}"),
        ("replay", "{bench}", "{text}"),
        ("export", "{bench}", "{folder}"),
        ("export", "{bench}", "{out}", "--media", "{none}"),
        ("list", "{text}"),
        ("list", "mysql://ana:geheim@host/db"),
        ("replay", "{text}", "{none}"),
        ("prune", "{bench}", "--older-than", "-1", "--yes"),
        ("list", "{bench}", "--limit", "0"),
    ],
)
def test_bad_input_ends_with_status_2_and_leaves_no_traces(
    proctor: Run, bench: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    text = tmp_path / "text"
    text.write_text("hello")
    names = {
        "none": tmp_path / "none",
        "folder": folder,
        "out": tmp_path / "out.jsonl",
        "bench": bench,
        "text": text,
    }
    shown = proctor("calls", *(argument.format(**names) for argument in arguments))
    assert shown.status == 2, shown
    assert "Traceback" not in shown.err
    assert "geheim" not in shown.err
    assert not (tmp_path / "none").exists()
    assert not (tmp_path / "out.jsonl").exists()
    assert text.read_text() == "hello"


def test_the_exported_file_is_plain_json_lines(proctor: Run, bench: Path, tmp_path: Path) -> None:
    proctor("calls", "export", bench, tmp_path / "c.jsonl")
    first, *calls, last = map(json.loads, (tmp_path / "c.jsonl").read_text().splitlines())
    assert first == {"format": 1, "proctor": "calls"}
    assert last == {"proctor": "end", "calls": 5}
    assert [call["key"] for call in calls] == sorted(call["key"] for call in calls)
    assert all(call["attempts"] for call in calls)


def test_the_commands_of_the_page_work_as_typed(
    proctor: Run, bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bench.parent)
    page = (Path(__file__).parents[2] / "docs" / "llm.md").read_text()
    commands = re.findall(r"^proctor (calls .*)$", page, re.MULTILINE)
    done = [
        proctor(*shlex.split(line.replace(" bench", f" {bench.name}"), comments=True)) for line in commands
    ]
    assert [one.status for one in done] == [0] * 6
    assert "new in theirs.sqlite" in done[4].out


def test_a_folder_without_calls_names_the_workspace_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proctor: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "workspace.json").write_text("{}")
    CallStore.open(tmp_path / "bench" / "calls.sqlite").close()
    assert "there are no calls in this folder" in (outcome := proctor("calls")).err
    assert "proctor calls bench\n" in outcome.err
    assert "did you mean bench?" in proctor("calls", "bnech").err
    assert "there is no command 'cots'.\n  → did you mean cost?" in proctor("calls", "cots", "bench").err
