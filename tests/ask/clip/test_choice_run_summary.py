"""Counts of a run: what chance predicts beside what was seen, tells, letters, cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from tests.ask.clip.choice_player import Port, maker, play, question, read_request

from proctor.ask.clip.choice_run import (
    BLIND_ACCURACIES,
    ChoiceRun,
    ChoiceSummary,
    Share,
    leak_table,
    make_choices,
    summarise_choices,
)
from proctor.ask.clip.choices import ChoiceAttempt, ChoiceOutcome, ChoiceResult
from proctor.ask.clip.record import ChoiceItem, Distractor, Vote
from proctor.llm.message import Request
from proctor.records import Dropped

WRONG = tuple(Distractor(text=f"w{n}") for n in range(4))


def votes(stage: str, right: int, attempt: int = 0, letters: str = "AAA") -> tuple[Vote, ...]:
    return tuple(
        Vote(
            stage=stage,  # type: ignore[arg-type]
            attempt=attempt,
            assistant=f"a{n}",
            order=(0, 1, 2, 3, 4),
            letter=letters[n].strip(),
            right=n < right,
        )
        for n in range(3)
    )


def attempt(
    number: int,
    outcome: ChoiceOutcome,
    *,
    blind: int | None = None,
    confirm: int | None = None,
    cost: str | None = "0.5",
    calls: Sequence[str] = ("c",),
) -> ChoiceAttempt:
    said = () if blind is None else (*votes("with_steps", 3, number), *votes("without_steps", blind, number))
    if confirm is not None:
        said = (*said, *votes("confirm", confirm, number))
    return ChoiceAttempt(
        item="q", number=number, outcome=outcome, wrong=WRONG, votes=said, cost=cost,
        confirmed=None if confirm is None else confirm < 2, calls=tuple(f"{c}{number}" for c in calls),
    )  # fmt: skip


def result(n: int, *attempts: ChoiceAttempt, **more: Any) -> ChoiceResult:
    return ChoiceResult(question(n), attempts, **more)


def item(n: int, letter: str, answer: str = "right") -> ChoiceItem:
    options = ["w", "w w", "x", "y"]
    options.insert("ABCDE".index(letter), answer)
    return ChoiceItem(id=f"q{n:04}", question="?", options=tuple(options), letter=letter)


def summary(results: Sequence[ChoiceResult], items: Sequence[ChoiceItem] = ()) -> ChoiceSummary:
    return summarise_choices(results, items, attempts=10, options=5, voters=3)


RESULTS = [
    result(0, attempt(0, "ok", blind=0, confirm=0)),
    result(1, attempt(0, "without_steps_fail", blind=2), attempt(1, "ok", blind=1, confirm=2)),
    result(2, attempt(0, "duplicate"), attempt(1, "ok", blind=1, confirm=1)),
    result(3, *(attempt(n, "without_steps_fail", blind=3) for n in range(10))),
    result(4, attempt(0, "format"), attempt(1, "postponed", cost=None, calls=())),
    result(5),
    result(6, unfit=Dropped("q6", "no_context")),
    result(7, attempt(0, "ok", blind=0, confirm=3), keeps_unconfirmed=False),
]


def test_states_and_outcomes():
    found = summary(RESULTS)
    assert (found.asked, found.achieved, found.open_ended, found.unconfirmed, found.postponed) == (
        8,
        3,
        1,
        1,
        2,
    )
    assert found.unfit == {"no_context": 1}
    assert found.achieved + found.open_ended + found.unconfirmed + found.postponed + 1 == found.asked
    assert found.outcomes == {"ok": 4, "format": 1, "duplicate": 1, "without_steps_fail": 11, "postponed": 1}
    assert found.attempts == 17
    assert found.attempts_needed == {"1": 1, "2": 2}
    assert found.kinds == {"model": 12}
    assert found.calls == 10, "those of different questions have the same names here"
    assert found.cost == "8.5"


def test_a_cost_that_is_not_known():
    assert summary([result(0, attempt(0, "ok", blind=0, cost=None))]).cost is None
    assert summary([]).cost == "0"


def test_luck_beside_what_was_seen():
    leak = summary(RESULTS).leak
    # first blind votes: 0, 2, 1, 3 and 0 of three were right
    assert (leak.blind_accuracy.part, leak.blind_accuracy.whole) == (6, 15)
    assert leak.blind_accuracy.share == 0.4
    assert leak.expected_to_fail == pytest.approx(0.352), "3 * 0.4² * 0.6 + 0.4³"
    assert (leak.seen_to_fail.part, leak.seen_to_fail.whole) == (2, 5)
    assert leak.expected_to_pass == pytest.approx(1 - 0.352**10, abs=1e-6)
    assert (leak.seen_to_pass.part, leak.seen_to_pass.whole) == (4, 5)
    assert (leak.confirmation_failed.part, leak.confirmation_failed.whole) == (2, 4)
    assert {n: (s.part, s.whole) for n, s in leak.by_attempt.items()} == {"1": (1, 2), "2": (1, 2)}
    assert [(r.right, r.questions, r.accepted, r.unconfirmed) for r in leak.by_first_vote] == [
        (0, 2, 2, 1),
        (1, 1, 1, 0),
        (2, 1, 1, 1),
        (3, 1, 0, 0),
    ]


@pytest.mark.shared
def test_the_expected_probabilities(shared_expected: Callable[[str], dict[str, Any]]):
    rows = shared_expected("smmqg-instructionbench")["mc_votes"]["independent_assistants"]
    assert [row["blind_acc"] for row in rows] == list(BLIND_ACCURACIES)
    for row, found in zip(rows, summary([]).leak.table, strict=True):
        assert found.blind_accuracy == row["blind_acc"]
        assert found.fails_one_attempt == pytest.approx(row["fail_stage3_per_attempt"], abs=1e-6)
        assert found.passes_within == pytest.approx(row["pass_within_10"], abs=1e-6)


def test_fewer_attempts_let_less_slip_through():
    for many, few in zip(leak_table(10, 3), leak_table(2, 3), strict=True):
        assert few.passes_within <= many.passes_within
    assert leak_table(1, 3, [0.5])[0].passes_within == 0.5
    assert leak_table(1, 5, [1.0])[0].passes_within == 0.0


def test_nothing_counted_is_none_and_no_number():
    found = summary([])
    assert found.leak.blind_accuracy == Share(part=0, whole=0)
    assert found.leak.expected_to_pass is None
    assert found.letters.chi2 is None
    assert found.tells.longest_right is None
    assert b"NaN" not in msgspec.json.encode(found)


def test_letters_and_tells():
    found = summary(
        [], [item(0, "A", "a long one"), item(1, "B", "s"), item(2, "B", "t u"), item(3, "E", "v")]
    )
    assert found.letters.counts == {"A": 1, "B": 2, "C": 0, "D": 0, "E": 1}
    assert found.letters.chi2 == pytest.approx((0.2**2 * 2 + 1.2**2 + 0.8**2 * 2) / 0.8)
    assert found.letters.df == 4
    assert found.tells.longest_right == pytest.approx(1.5 / 4), (
        "one is longest, one shares it with another one"
    )
    assert found.tells.chance == pytest.approx(0.2)
    assert found.tells.words_right == pytest.approx((3 + 1 + 2 + 1) / 4)
    assert found.tells.words_wrong == pytest.approx(5 / 4)


def test_every_assistant_is_counted():
    said = (
        *votes("with_steps", 2, letters="AB "),
        *votes("without_steps", 1, letters="CA "),
        *votes("confirm", 3),
    )
    made = ChoiceAttempt(item="q", number=0, outcome="ok", wrong=WRONG, votes=said, confirmed=False)
    found = {a.assistant: a for a in summary([result(0, made)]).assistants}
    assert list(found) == ["a0", "a1", "a2"]
    assert (found["a0"].votes, found["a0"].unparsed) == (3, 0)
    assert (found["a2"].votes, found["a2"].unparsed) == (3, 2)
    assert [found[a].with_steps.part for a in found] == [1, 1, 0]
    assert [found[a].without_steps.part for a in found] == [1, 0, 0]
    assert found["a0"].letters.counts == {"A": 2, "B": 0, "C": 1, "D": 0, "E": 0}


def run(blind: float, n: int = 150, **more: Any) -> ChoiceRun:
    port = Port(blind=blind, seeing=1.0, faults=0.0)
    return make_choices([question(k) for k in range(n)], maker(**more), port)


def test_what_was_seen_agrees_with_chance_where_voters_are_independent():
    found = run(0.7).summary
    leak = found.leak
    assert leak.blind_accuracy.share == pytest.approx(0.98 * 0.7, abs=0.06), "2 % of the votes cannot be read"
    assert leak.seen_to_fail.share == pytest.approx(leak.expected_to_fail, abs=0.08)
    assert leak.seen_to_pass.share == pytest.approx(leak.expected_to_pass, abs=0.08)
    assert leak.confirmation_failed.share == pytest.approx(leak.expected_to_fail, abs=0.1), (
        "what has passed is as guessable as it was"
    )


def test_a_set_that_nobody_guesses_is_confirmed():
    leak = run(0.0, 40).summary.leak
    assert leak.confirmation_failed.part == 0
    assert leak.blind_accuracy.part == 0


def test_a_model_that_always_says_the_same_letter_shows():
    def reply(request: Request) -> str:
        asked = read_request(request)
        biased = asked.role in ("with", "without") and "assistant2" in request.model
        return "C" if biased else play(asked, blind=0.2, seeing=1.0, faults=0.0)

    found = make_choices([question(n) for n in range(60)], maker(), Port(reply)).summary
    fair, other, biased = found.assistants
    assert set(biased.letters.counts) - {k for k, v in biased.letters.counts.items() if not v} == {"C"}
    assert biased.letters.p == 0.0, "to six places"
    assert (fair.letters.p or 0) > 1e-6
    assert (other.letters.p or 0) > 1e-6
