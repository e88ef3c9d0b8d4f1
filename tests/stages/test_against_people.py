"""Annotators that are no people against people, on questions of two kinds: agreement, precision of what they keep, cost."""

from __future__ import annotations

import json
from datetime import datetime, tzinfo
from pathlib import Path

import msgspec
import pytest
from tests.typed import proctor

from proctor.ask.clip.filters import FilterResult
from proctor.ask.clip.record import FilterVerdict
from proctor.exam.question import Footage, Open, Proposed, Question, Source, Text, version_of
from proctor.metrics.interval import wilson_interval
from proctor.records import write_jsonl
from proctor.report.benchmark import verification_section
from proctor.report.parts import Cell, Table
from proctor.stages.clip.reading import load_verdicts
from proctor.stages.questions import import_questions
from proctor.stages.verify import against_people, costs_of, open_store, store_filters
from proctor.verify.verdict import AnswerVerdict, Verdict
from proctor.workspace import Workspace

MODEL = "openai/reviewer"


def question(n: int) -> Question:
    return Question(
        id=f"q{n}", kind="clip" if n % 2 else "documents", text=f"What is {n}?", form=Open(), cluster=f"v{n}",
        evidence=(Footage(recording=f"v{n}", end=9),) if n % 2 else (Source(id="t"),),
        proposals=(Proposed(value=Text(text="This.")),),
    )  # fmt: skip


def said(asked: Question, who: str, *, right: bool) -> Verdict:
    return Verdict(
        candidate_id=asked.id, candidate_hash=version_of(asked), annotator=who,
        annotator_kind="model" if who == MODEL else "human", at="2026-11-01T00:00:00+00:00",
        question=AnswerVerdict("right" if right else "wrong"), answers=(AnswerVerdict("right"),) if right else (),
    )  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    asked = [question(n) for n in range(8)]
    write_jsonl(tmp_path / "asked.jsonl", asked)
    root = tmp_path / "bench"
    import_questions(tmp_path / "asked.jsonl", root)
    verdicts = [
        FilterVerdict(
            item_id=q.id, filter="tricky", keep=n < 6, judge="j/m", evidence={"problem": "none"}, details={"calls": "1", "cost": "0.01"}
        )
        for n, q in enumerate(asked)
    ]  # fmt: skip
    write_jsonl(root / "filters.jsonl", verdicts)
    store_filters(Workspace(root), [FilterResult(v.item_id, (v,)) for v in verdicts], asked)
    with open_store(Workspace(root)) as store:
        store.append_many(said(q, "anna", right=n < 3) for n, q in enumerate(asked[:6]))
        store.append_many(said(q, MODEL, right=n != 1) for n, q in enumerate(asked[:4]))
    return root


def test_each_is_measured_on_what_people_judged_too(bench: Path) -> None:
    found = {(row.annotator, row.of): row for row in against_people(bench)}
    tricky = found["filter:tricky/j/m", "questions"]
    interval = wilson_interval(3, 6)
    # It keeps six, all of which Anna judged; she upholds three.
    assert (tricky.kind, tricky.judged, tricky.pairs) == ("filter", 8, 6)
    assert tricky.agreement == tricky.precision == (0.5, interval.low, interval.high)
    assert tricky.cost == pytest.approx(0.08)
    model = found[MODEL, "questions"]
    # Right on 0, 2 and 3, wrong on 1; Anna: right on 0 to 2.
    assert (model.judged, model.pairs) == (4, 4)
    assert model.agreement is not None
    assert model.agreement[0] == 0.5
    assert model.precision is not None
    assert model.precision[0] == pytest.approx(2 / 3)
    assert model.cost is None
    assert found[MODEL, "answers"].pairs == 2


def test_a_cost_that_is_known_in_part_is_not_told(bench: Path) -> None:
    verdicts = load_verdicts(Workspace(bench))
    some = msgspec.structs.replace(verdicts[0], details={"calls": "1"})
    write_jsonl(bench / "filters.jsonl", [some, *verdicts[1:]])
    assert costs_of(Workspace(bench)) == {}


def test_what_a_filter_said_before_is_not_said_again_later(
    bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Later(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Later:
            return cls(2100, 1, 1, tzinfo=tz)

    monkeypatch.setattr("proctor.stages.verify.datetime", Later)
    first, *others = load_verdicts(Workspace(bench))
    asked = [question(n) for n in range(8)]
    said = [msgspec.structs.replace(first, keep=not first.keep), *others]
    results = [FilterResult(v.item_id, (v,)) for v in said]
    # Of one question a filter says something else, and so do all filters together.
    assert [store_filters(Workspace(bench), results, asked) for _ in range(2)] == [2, 0]


def test_the_command_prints_one_table(bench: Path) -> None:
    done = proctor("verify", bench, "--list")
    assert done.status == 0, done.err
    row = next(line for line in done.out.splitlines() if "filter:tricky/j/m" in line)
    assert "50.0 [" in row
    assert "0.0800" in row
    told = json.loads(proctor("verify", bench, "--list", "--json").out)
    assert {entry["annotator"] for entry in told["annotators"]} == {
        MODEL,
        "filter:all",
        "filter:tricky/j/m",
    }


def test_the_page_prints_the_same(bench: Path) -> None:
    section = verification_section({}, against_people(bench))
    assert section is not None
    (table,) = section.parts
    assert isinstance(table, Table)
    row = next(r for r in table.rows if r[:2] == ("filter:tricky/j/m", "questions"))
    interval = wilson_interval(3, 6)
    judged, double = ("asked", "filter:tricky/j/m: right or wrong"), ("asked", "filter:tricky/j/m and people")
    assert row[2:4] == (Cell("8", among=judged), Cell("6", among=double))
    share, cost = row[5], row[6]
    assert isinstance(share, Cell)
    assert isinstance(cost, Cell)
    assert (share.text, share.small) == ("0.50", f"{interval.low:.2f} to {interval.high:.2f}")
    assert (cost.text, cost.among) == ("0.08", judged)
