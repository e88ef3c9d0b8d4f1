"""``proctor generate`` and ``proctor verify`` with models, as they are typed, against a stand-in."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.verify.llm_prompt import OF_MOMENTS
from proctor_rehearsal.standin import Standin

PAIRS = "* Is it time?\n    * Yes.\n* Did I forget it?\n    * No.\n* What now?\n    * Go on.\n"
REVIEW = json.dumps(
    {
        "question": {"reason": "r"} | dict.fromkeys(OF_MOMENTS.names, "yes"),
        "answers": [{"reason": "r", "verdict": "right"}],
        "own_answers": [],
    }
)
RULES = [
    {"match": {"model": "asker"}, "reply": PAIRS},
    {"match": {"model": "reviewer"}, "reply": REVIEW},
]

Command = Callable[..., Any]


@pytest.fixture
def standin() -> Iterator[Standin]:
    with Standin({"rules": RULES}) as server:
        yield server


@pytest.fixture
def bench(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished / "bench", tmp_path / "bench"))


def names(standin: Standin) -> tuple[str, str]:
    return f"compat/asker@{standin.url}/v1", f"compat/reviewer@{standin.url}/v1"


def test_asked_and_reviewed_with_the_funnel_printed(bench: Path, standin: Standin, proctor: Command) -> None:
    asker, reviewer = names(standin)
    options = ("--template", "excerpt-steps", "--sample", "quota", "--examples", 12)
    made = proctor("generate", bench, "--generator", asker, *options)
    assert made.status == 0, made.err
    rows = {line.split()[0]: line.split()[1:] for line in made.out.splitlines() if line.strip()}
    assert rows["asked"] == rows["picked"] == ["12", "100%"]
    assert "12 sent, 0 from the store" in made.out
    assert "24 not_picked" in made.out
    reviewed = proctor("verify", bench, "--verifier", reviewer)
    assert reviewed.status == 0, reviewed.err
    rows = {line.split()[0]: line.split()[1:] for line in reviewed.out.splitlines() if line.strip()}
    assert rows["asked"] == rows["reviewed"] == rows["well_formed"] == rows["kept"] == ["12"]
    assert "without a verdict: none" in reviewed.out
    sent = standin.count
    assert 12 < sent <= 24  # candidates may share a review
    again = proctor("verify", bench, "--verifier", reviewer, "--json")
    assert again.json["judged_now"] == 0
    assert again.json["funnel"]["kept"] == 12
    assert standin.count == sent


def test_a_dry_run_tells_what_it_would_take_and_sends_nothing(
    bench: Path, standin: Standin, proctor: Command
) -> None:
    asker, reviewer = names(standin)
    made = proctor(
        "generate", bench, "--generator", asker, "--sample", "all", "--limit", 7, "--dry-run", "--json"
    )
    assert made.status == 0, made.err
    assert [e["new"] for e in made.json["estimates"]] == [7]
    text = proctor("verify", bench, "--verifier", reviewer, "--limit", 5, "--dry-run")
    assert text.status == 0, text.err
    assert "verify/compat-reviewer" in text.out
    for command in ("generate", "verify"):
        free = proctor(command, bench, "--dry-run")
        assert (free.status, free.out.strip()) == (0, "No model is asked: it costs nothing.")
    assert standin.count == 0


def test_a_limit_is_told(bench: Path, standin: Standin, proctor: Command) -> None:
    made = proctor("generate", bench, "--generator", names(standin)[0], "--sample", "all", "--max-calls", 4)
    assert made.status == 3, made.err
    assert "stopped: the limit of 4 calls is reached" in made.out
    assert standin.count == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("generate", "--generator", "gpt"), "there is no generator 'gpt'"),
        (("generate", "--generator", "nobody/gpt"), "nobody"),
        (("generate", "--generator", "compat/x@http://127.0.0.1:9/v1", "--template", "smell"), "no template"),
        (("generate", "--generator", "compat/x@http://127.0.0.1:9/v1", "--sampling", "dice"), "dice"),
        (("generate", "--generator", "rules", "--pairs", "2"), "rules have no pairs"),
        (("verify", "--verifier", "gpt"), "there is no verifier 'gpt'"),
        (("verify", "--verifier", "compat/x@http://127.0.0.1:9/v1", "--form", "xml"), "'xml' is not one of"),
        (("verify", "--verifier", "compat/x@http://127.0.0.1:9/v1", "--threshold", "0.9"), "the oracle's"),
        (("verify", "--verifier", "compat/x@http://127.0.0.1:9/v1", "--max-cost", "much"), "US dollars"),
    ],
)
def test_what_cannot_be_is_one_clear_line(
    bench: Path, proctor: Command, arguments: tuple[str, ...], message: str
) -> None:
    command, *options = arguments
    before = (bench / "stages.json").read_bytes(), (bench / "proctor.toml").read_bytes()
    made = proctor(command, bench, *options)
    assert made.status not in (0, 70)
    assert message in made.err
    assert "Traceback" not in made.err
    assert ((bench / "stages.json").read_bytes(), (bench / "proctor.toml").read_bytes()) == before


def test_a_key_that_is_missing_is_named_and_nothing_is_changed(
    bench: Path, proctor: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = (bench / "candidates.jsonl").read_bytes()
    for command in (("generate", "--generator"), ("verify", "--verifier")):
        made = proctor(command[0], bench, command[1], "openai/gpt-4o")
        assert made.status != 0
        assert "OPENAI_API_KEY" in made.err
    assert (bench / "candidates.jsonl").read_bytes() == before
