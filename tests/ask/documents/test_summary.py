"""Numbers of a run: each is counted by hand here."""

from __future__ import annotations

import msgspec
import pytest
from tests.documents import document

from proctor.ask.documents.record import AttemptRecord, Target
from proctor.ask.documents.summary import combination, summarise_documents
from proctor.exam.kinds.documents_question import DocumentFacts

TARGETS = [
    Target(id="a1", style="numerical", modalities=(1, 1, 0)),
    Target(id="a2", style="numerical", modalities=(1, 1, 0)),
    Target(id="a3", style="numerical", modalities=(1, 1, 0)),
    Target(id="b1", style="compound", modalities=(0, 0, 2)),
]


def attempt(
    target: str, number: int, outcome: str, calls: tuple[str, ...] = (), cost: str | None = "0.01", **more
):
    return AttemptRecord(target=target, number=number, outcome=outcome, calls=calls, cost=cost, **more)  # type: ignore[arg-type]


ATTEMPTS = [
    attempt("a1", 0, "refused", ("1", "2")),
    attempt("a1", 1, "accepted", ("1", "3", "4"), cost="0.02", short_candidates=True),
    *(attempt("a2", n, "style_fail", (f"5{n}",)) for n in range(8)),
    attempt("a3", 0, "refused", ("6",)),
    attempt("a3", 1, "budget_stop", (), cost=None),
    attempt("b1", 0, "accepted", ("7",), cost="0.0000001"),
]
QUESTIONS = [
    document(
        "a1",
        style="numerical",
        modalities=(1, 1, 0),
        gold=("s", "t"),
        facts=DocumentFacts(entity="Cup", attempts=2),
    ),
    document(
        "b1", style="compound", modalities=(0, 0, 2), gold=("t", "u"), facts=DocumentFacts(entity="cup")
    ),
]


def summary(**more):
    return summarise_documents(TARGETS, QUESTIONS, ATTEMPTS, **more)


def test_cells_say_what_was_asked_and_achieved():
    first, second = summary().cells
    assert (first.style, first.combination, first.asked, first.achieved) == (
        "numerical",
        "1 text + 1 table",
        3,
        1,
    )
    assert (first.gave_up, first.open) == (1, 1)
    assert first.attempts == 11, "the one that the budget stopped found nothing out"
    assert first.calls == 4 + 8 + 1
    assert first.cost == "0.12"
    assert first.yield_ == pytest.approx(1 / 11, abs=1e-6)
    assert (second.combination, second.asked, second.achieved, second.cost) == ("2 image", 1, 1, "0.0000001")
    assert second.yield_ == 1.0


def test_totals_and_funnel():
    whole = summary()
    assert (whole.asked, whole.achieved, whole.open, whole.attempts, whole.calls) == (4, 2, 1, 12, 14)
    assert whole.outcomes == {"accepted": 2, "refused": 2, "style_fail": 8, "budget_stop": 1}
    assert list(whole.outcomes) == ["accepted", "refused", "style_fail", "budget_stop"], (
        "in the order of the record"
    )
    assert whole.by_style["compound"] == {"accepted": 1}
    assert whole.attempts_needed == {"1": 1, "2": 1}
    assert whole.short_candidates == 1


def test_diversity_counts_entities_documents_and_sources():
    found = summary(
        document_of=lambda id: "page" if id in "st" else id, all_documents=9, all_sources=10
    ).diversity
    assert (found.entities, found.most_common, found.effective) == (1, ("cup", 2), 1.0)
    assert (found.documents, found.all_documents, found.sources, found.all_sources) == (2, 9, 3, 10)


def test_a_price_that_is_not_known_makes_the_sum_unknown():
    attempts = [attempt("a1", 0, "refused", ("1",), cost=None), attempt("b1", 0, "refused", ("2",))]
    whole = summarise_documents(TARGETS, [], attempts)
    assert whole.cost is None
    assert [cell.cost for cell in whole.cells] == [None, "0.01"]


def test_nothing_was_done():
    whole = summarise_documents(TARGETS, [], [])
    assert (whole.achieved, whole.open, whole.yield_, whole.cost) == (0, 4, None, "0")
    assert whole.diversity.most_common == ("", 0)
    assert summarise_documents([], [], []).cells == []


def test_it_can_be_written_and_read_under_its_name():
    text = msgspec.json.encode(summary())
    assert b'"yield":' in text
    assert msgspec.json.decode(text, type=type(summary())).cells[0].yield_ == summary().cells[0].yield_


def test_combinations_in_words():
    assert combination((2, 0, 1)) == "2 text + 1 image"
    assert combination((0, 0, 0)) == "none"
