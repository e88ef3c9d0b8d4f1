"""Every fault that the stand-in knows, in every stage: the documented code, never an answer, never a traceback.

``docs/llm.md`` says what each outcome becomes in predictions and judgements; here each kind of fault is held to it, through
real HTTP, on three items. A fault that leaves a good reply behind (slow, compressed, said twice) gives a normal result.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.taking import judge, predict

from proctor.ask.moment.candidate import Candidate
from proctor.errors import UserError
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.table import ScoreRow
from proctor.llm.flow import FlowSettings
from proctor.llm.gate import GateRules
from proctor.llm.store import CallStore, StoredCall
from proctor.records import Dropped, read_jsonl
from proctor.stages.exam_settings import ScoreSettings
from proctor.stages.generate import generate
from proctor.stages.models import CALLS, Limits
from proctor.stages.score import score
from proctor.stages.settings import GenerateSettings
from proctor_rehearsal.standin.script import FAULT_KINDS, FaultKind

REPLY = "reply"
CODES: dict[FaultKind, str] = {
    "status": "rate_limit",
    "stall": "timeout",
    "cut": "connection",
    "reset": "connection",
    "redirect": "bad_request",
    "html": "server",
    "prompt_filter": "content_filter",
    "refusal": "refusal",
    "content_filter": "content_filter",
    "length": "truncated",
    "empty_reply": "empty",
    "wrong_schema": REPLY,
    "duplicate": REPLY,
    "two_choices": REPLY,
    "slow": REPLY,
    "cut_body": "server",
    "reset_body": "server",
    "malformed": "server",
    "truncated": "server",
    "error_body": "server",
    "empty": "server",
    "missing": "server",
    "two_bodies": "server",
    "bad_utf8": "server",
    "wrong_type": REPLY,
    "too_long": "server",
    "too_short": "server",
    "gzip": REPLY,
    "bad_gzip": "server",
    "gzip_bomb": "server",
    "huge": "server",
}
FINAL = {"refusal", "truncated", "empty", "content_filter"}
"""What the same request meets again: it is paid for, kept, and not asked again. Every other failure is tried again by the next run."""
STATUSES = {
    400: "bad_request",
    401: "auth",
    402: "auth",
    403: "auth",
    404: "bad_request",
    408: "timeout",
    413: "too_large",
    422: "bad_request",
    429: "rate_limit",
    500: "server",
    502: "server",
    503: "overload",
    504: "timeout",
    529: "overload",
}
ITEMS = 3


def test_every_kind_of_fault_is_in_the_table() -> None:
    assert set(CODES) == set(FAULT_KINDS)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two attempts, with pauses of milliseconds."""
    rules = GateRules(first_backoff=0.002, longest_backoff=0.01)
    settings = FlowSettings(rules=rules, attempts=2, throttled_attempts=2)
    monkeypatch.setattr("proctor.stages.models.FlowSettings", lambda: settings)


@pytest.fixture(scope="session")
def three(built: Path, tmp_path_factory: pytest.TempPathFactory, calmed: Any) -> Path:
    """The first three items with the answers of a run to be judged; not to be changed."""
    bench = Path(shutil.copytree(built, tmp_path_factory.mktemp("three") / "bench"))
    lines = (bench / "items.jsonl").read_text().splitlines(keepends=True)
    (bench / "items.jsonl").write_text("".join(lines[:ITEMS]))
    predict(bench, f"compat/answerer@{calmed().url}/v1", run="good")
    (bench / CALLS).unlink()
    return bench


@pytest.fixture
def bench(three: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(three, tmp_path / "bench"))


def fault_of(kind: FaultKind) -> dict[str, Any]:
    fault: dict[str, Any] = {"kind": kind, "seconds": {"slow": 0.2, "stall": 5.0}.get(kind, 1.0)}
    return fault | ({"bytes": 2**25 + 2**16} if kind in ("huge", "gzip_bomb") else {})


def limits_of(kind: FaultKind | None) -> Limits:
    return Limits(timeout=0.3) if kind == "stall" else Limits()


def stages_of(bench: Path, models: Any, limits: Limits) -> dict[str, Callable[[], dict[str, Any]]]:
    return {
        "predict": lambda: predict(bench, models.name("answerer"), run="bad", limits=limits),
        "judge": lambda: judge(bench, ["good"], judge=models.name("marker"), limits=limits),
        "generate": lambda: msgspec.to_builtins(
            generate(
                bench,
                GenerateSettings(generator=(models.name("asker"),), sample="all"),
                limit=3,
                limits=limits,
            )
        ),
    }


def codes(bench: Path, stage: str) -> list[str]:
    """Return the first word of what each of three records says; ``reply`` for those with an answer, score, or pairs."""
    if stage == "predict":
        predictions: list[Prediction] = read_jsonl(bench / "runs/bad/predictions.jsonl", Prediction)
        assert all((p.answer is None) != (p.failure is None) for p in predictions)
        return [REPLY if p.failure is None else p.failure.partition(":")[0] for p in predictions]
    if stage == "judge":
        marks: list[Judgement] = read_jsonl(bench / "runs/good/judgements.jsonl", Judgement)
        assert all((j.score is None) == (j.failure is not None) for j in marks)
        return [REPLY if j.failure is None else j.failure.partition(":")[0] for j in marks]
    path = bench / "candidates.jsonl"  # not there yet where no model has replied
    candidates: list[Candidate] = read_jsonl(path, Candidate) if path.exists() else []
    dropped: list[Dropped] = read_jsonl(bench / "generate.dropped.jsonl", Dropped)
    return [REPLY] * len(candidates) + [d.reason for d in dropped if "#" not in d.id]


STAGES = ("predict", "judge", "generate")


def in_turn(kinds: Iterable[FaultKind]) -> list[tuple[FaultKind, str]]:
    """Give each kind one stage in turn, since all ask over one connection; what is final is kept by each on its own."""
    pairs = [(kind, STAGES[number % len(STAGES)]) for number, kind in enumerate(kinds)]
    return pairs + [(k, s) for k, first in pairs for s in STAGES if CODES[k] in FINAL and s != first]


@pytest.mark.parametrize(("kind", "stage"), in_turn(kind for kind in FAULT_KINDS if CODES[kind] != REPLY))
def test_a_bad_reply_is_no_answer(kind: FaultKind, stage: str, bench: Path, models: Any) -> None:
    models.script(faults=[fault_of(kind)])
    run = stages_of(bench, models, limits_of(kind))[stage]
    if stage == "generate":
        (bench / "candidates.jsonl").unlink()
    if stage == "generate" and CODES[kind] != "empty":
        with pytest.raises(UserError, match=f"no model replied; {ITEMS} of {ITEMS} times: {CODES[kind]}"):
            run()
        told = {}
    else:
        told = run()
    assert codes(bench, stage) == [CODES[kind]] * ITEMS
    if stage == "predict":
        assert told["calls"]["outcomes"].get(REPLY, 0) == (ITEMS if CODES[kind] == "empty" else 0)
        assert told["failed"] == ITEMS
    if stage == "judge":
        row: ScoreRow = score(bench, ScoreSettings(runs=("good",), resamples=100)).tables["good"].rows[0]
        assert (row.n, row.failed, row.value) == (0, ITEMS, None)
    with CallStore.open(bench / CALLS) as store:
        assert (len(store) > 0) == (CODES[kind] in FINAL)
    # Another try asks for what failed, and for nothing that the model has said.
    sent = models.server.count
    models.script()
    with suppress(UserError) if stage == "generate" and CODES[kind] in FINAL else nullcontext():
        run()
    if CODES[kind] in FINAL:
        assert models.server.count == sent
        assert codes(bench, stage) == [CODES[kind]] * ITEMS
    else:
        assert models.server.count > sent
        assert set(codes(bench, stage)) <= {REPLY, "refusal"}


@pytest.mark.parametrize(
    ("kind", "stage"), in_turn(k for k, code in CODES.items() if code == REPLY and k != "wrong_schema")
)
def test_an_odd_way_to_say_something_good(kind: FaultKind, stage: str, bench: Path, models: Any) -> None:
    models.script(faults=[fault_of(kind)])
    stages_of(bench, models, limits_of(kind))[stage]()
    assert set(codes(bench, stage)) <= {REPLY, "refusal"}
    assert REPLY in codes(bench, stage)


def test_another_shape_than_was_asked_for(bench: Path, models: Any) -> None:
    """Nobody asked the predictor for a shape; who needs one says that it is not there."""
    models.script(faults=[fault_of("wrong_schema")])
    stages = stages_of(bench, models, Limits())
    for name in ("judge", "generate"):
        stages[name]()
    assert codes(bench, "judge") == ["no_verdict"] * ITEMS
    assert set(codes(bench, "generate")) <= {"no_pairs", "stray_line", "refusal"}
    generate(bench, GenerateSettings(generator=(models.name("asker"),), sample="all", form="json"), limit=3)
    replies = "".join(call.outcome or "" for call in stored_calls(bench))
    candidates: list[Candidate] = read_jsonl(bench / "candidates.jsonl", Candidate)
    assert all(c.question in replies for c in candidates)  # read in spite of its shape, not made up
    assert len(codes(bench, "generate")) == ITEMS


def stored_calls(bench: Path) -> list[StoredCall]:
    with CallStore.open(bench / CALLS) as store:
        return list(store.calls())


@pytest.mark.parametrize("end", ["", ', "finish_reason": null', ', "finish_reason": "function_call"'])
def test_a_provider_that_always_says_why_a_reply_ended_has_to(
    end: str, bench: Path, models: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-any-key-of-somebody-0123456789")
    body = '{"choices": [{"message": {"content": "Verdict: 2"}' + end + "}]}"
    models.script(faults=[{"kind": "status", "status": 200, "body": body}])
    predict(bench, f"openai/gpt-x@{models.server.url}/v1", run="bad")
    assert codes(bench, "predict") == ["server"] * ITEMS


@pytest.mark.parametrize("status", STATUSES)
def test_each_status_has_its_code(status: int, bench: Path, models: Any) -> None:
    models.script(faults=[{"kind": "status", "status": status}])
    stages_of(bench, models, Limits())["predict"]()
    assert codes(bench, "predict") == [STATUSES[status]] * ITEMS


@pytest.mark.parametrize(
    "body",
    [
        "",
        "null",
        "[]",
        "{",
        '"text"',
        "2",
        "NaN",
        "<html>",
        "\ufeff{}",
        '{"choices": []}',
        '{"choices": [{}]}',
        '{"choices": [{"message": null, "finish_reason": "stop"}]}',
        '{"choices": [{"message": {"content": 2}, "finish_reason": "stop"}]}',
        '{"choices": [{"message": {"content": "Verdict: 2"}, "finish_reason": "tool_calls"}]}',
        '{"choices": [{"message": {"content": null}, "finish_reason": "stop"}]}',
        '{"choices": [{"message": {"content": "  \\n"}, "finish_reason": "stop"}]}',
        '{"choices": [{"message": {"content": "\\ud800"}, "finish_reason": "stop"}]}',
        '{"error": {"message": "Verdict: 2"}}',
        '{"detail": "Verdict: 2"}',
        "[" * 5_000,
    ],
    ids=range(20),
)
def test_bodies_that_are_no_replies(body: str, bench: Path, models: Any) -> None:
    models.script(faults=[{"kind": "status", "status": 200, "body": body}])
    for stage in ("predict", "judge"):
        stages_of(bench, models, Limits())[stage]()
        assert REPLY not in codes(bench, stage), json.dumps(body[:100])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("I'm sorry, I can't help with that.", "refusal"),
        ("2", REPLY),
        ("Verdict: 3", "scale"),
        ("Verdict: 2\nVerdict: 0", "contradictory"),
        ("Verdict: 2 or 1", "contradictory"),
        ("Out of 10 I give 9.", "no_verdict"),
        ("x" * 300_000, "truncated"),
        ("<!DOCTYPE html><html><body>Verdict: 2</body></html>", "not_a_reply"),
        ("<think>Verdict: 2", "unfinished_thinking"),
        ("A\x00B\x1b[2J\nVerdict: 1", REPLY),
    ],
    ids=range(12),
)
def test_what_a_judge_may_say(text: str, code: str, bench: Path, models: Any) -> None:
    models.server.script(reply=text)
    stages_of(bench, models, Limits())["judge"]()
    assert codes(bench, "judge") == [code] * ITEMS
