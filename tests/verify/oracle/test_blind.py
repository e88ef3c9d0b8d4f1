"""Agreement with the blind set of docs/oracle.md, so that later changes of reading are noticed.

The questions, answers and labels are our own, written without sight of the oracle; no person of the published data
gave them; both halves have been opened, so agreement here is no test of how new
wordings fare. The floors lie a bit under what is reached: a change that goes below them has broken some reading.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from proctor.ask.moment.derive import PUBLISHED, derive_examples
from proctor.datasets.captaincook4d import DATASET
from proctor.exam.kinds.example import Example
from proctor.verify.oracle import Decision, Oracle

FLOOR = 0.925
"""Least agreement over all answers."""
SURE_FLOOR = 0.965
"""Least agreement over the answers whose label its writer was sure of."""
SUREST_FLOOR = 0.965
"""Least share of right answers among the half that the oracle takes to be likeliest right."""

Judged = tuple[bool, bool, Decision]
"""Label, whether its writer was sure, and what the oracle says."""


@pytest.fixture(scope="module")
def judged(shared_data: Path) -> Sequence[Judged]:
    """Every answer of the blind set, decided."""
    read = DATASET.read(shared_data / "captaincook4d", "published")
    derived = derive_examples(read.recordings, read.graphs, PUBLISHED)
    examples = {e.id: e for e in derived if isinstance(e, Example)}
    oracle = Oracle(threshold=0.5)
    found: list[Judged] = []
    for line in (Path(__file__).parents[2] / "data" / "oracle_blind.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        example = examples[row["example_id"]]
        for answer in row["answers"]:
            decision = oracle.decide(
                row["question"], answer["text"], example, read.graphs[example.activity_id]
            )
            found.append((answer["label"], answer["sure"], decision))
    return found


@pytest.mark.shared
def test_agreement_over_all(judged: Sequence[Judged]) -> None:
    assert len(judged) == 271
    assert sum(d.guess == label for label, _, d in judged) / len(judged) >= FLOOR


@pytest.mark.shared
def test_agreement_where_the_label_is_sure(judged: Sequence[Judged]) -> None:
    sure = [(label, d) for label, certain, d in judged if certain]
    assert sum(d.guess == label for label, d in sure) / len(sure) >= SURE_FLOOR


@pytest.mark.shared
def test_precision_of_the_surest_half(judged: Sequence[Judged]) -> None:
    surest = sorted(judged, key=lambda t: -t[2].probability)[: len(judged) // 2]
    assert sum(label for label, _, _ in surest) / len(surest) >= SUREST_FLOOR
