"""A whole run: balanced letters, order and concurrency, what stops it, and going on afterwards."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.ask.clip.choice_player import Port, maker, play, question, read_request

from proctor.ask.clip.choice_run import ChoiceRun, make_choices
from proctor.ask.clip.choices import ChoiceResult
from proctor.ask.clip.record import ChoiceItem
from proctor.errors import UserError
from proctor.exam.lines import Line
from proctor.llm.message import Request
from proctor.llm.outcome import Failure, Outcome, Reply
from proctor.records import canonical_json

QUESTIONS = [question(n) for n in range(17)]
QUALITY = {"blind": 0.45, "seeing": 0.8, "faults": 0.5}


def written(run: ChoiceRun) -> bytes:
    """Everything that a run would write."""
    return canonical_json([run.items, run.attempts, run.summary, list(run.dropped)])


@pytest.fixture(scope="module")
def straight() -> bytes:
    """A run in which replies come in the order of requests, one at a time."""
    return written(make_choices(QUESTIONS, maker(), Port(ahead=1, **QUALITY), in_flight=1))


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.integers(0, 2**32), ahead=st.integers(1, 60), in_flight=st.integers(1, 60))
def test_order_and_concurrency_change_nothing(straight: bytes, order: int, ahead: int, in_flight: int):
    port = Port(order=order, ahead=ahead, **QUALITY)
    assert written(make_choices(QUESTIONS, maker(), port, in_flight=in_flight)) == straight


def test_the_order_of_the_questions_changes_no_question(straight: bytes):
    mixed = random.Random(1).sample(QUESTIONS, len(QUESTIONS))
    run = make_choices(mixed, maker(), Port(**QUALITY))
    again = make_choices(QUESTIONS, maker(), Port(**QUALITY))
    assert sorted(run.items, key=lambda i: i.id) == sorted(again.items, key=lambda i: i.id)
    assert [result.question.id for result in run.results] == [q.id for q in mixed]


def test_another_seed_is_another_run(straight: bytes):
    assert written(make_choices(QUESTIONS, maker(seed=1), Port(**QUALITY))) != straight


def test_the_run_is_worth_testing(straight: bytes):
    run = make_choices(QUESTIONS, maker(), Port(**QUALITY))
    outcomes = run.summary.outcomes
    assert {"ok", "duplicate", "too_few", "with_steps_fail", "without_steps_fail"} <= set(outcomes), outcomes
    assert max(map(int, run.summary.attempts_needed)) >= 3


@settings(max_examples=10)
@given(n=st.integers(0, 23), wrong=st.integers(1, 6), seed=st.integers(0, 2**20))
def test_letters_are_exactly_balanced(n: int, wrong: int, seed: int):
    def reply(request: Request) -> str:
        asked = read_request(request)
        if asked.role == "pick":
            return f'{{"best": {list(range(1, wrong + 1))}}}'
        return play(asked, blind=0.0, seeing=1.0, faults=0.0)

    run = make_choices(
        [question(k) for k in range(n)], maker(wrong=wrong, written=6, seed=seed, attempts=20), Port(reply)
    )
    counts = Counter(item.letter for item in run.items)
    letters = "ABCDEFGH"[: wrong + 1]
    assert set(counts) <= set(letters)
    assert sum(counts.values()) == len(run.items)
    assert not run.items or max(counts.values()) - min(counts[letter] for letter in letters) <= 1
    for item in run.items:
        assert item.options["ABCDEFGH".index(item.letter)].endswith("right")
        assert sum(option.endswith("right") for option in item.options) == 1
        assert len(item.options) == len(set(item.options)) == wrong + 1


def test_an_item_tells_how_it_was_made():
    run = make_choices(QUESTIONS, maker(price=lambda model, outcome: 1_000), Port(**QUALITY))
    later = next(item for item in run.items if item.attempts > 1)
    attempts = [attempt for attempt in run.attempts if attempt.item == later.id]
    assert later.attempts == len(attempts)
    assert later.votes == attempts[-1].votes
    assert {vote.attempt for vote in later.votes} == {later.attempts - 1}
    assert later.distractors == attempts[-1].wrong
    assert set(later.options) == {f"thing {int(later.id[1:])} right", *(d.text for d in later.distractors)}
    calls = {call for attempt in attempts for call in attempt.calls}
    assert later.details["calls"] == str(len(calls))
    assert float(later.details["cost"]) == pytest.approx(len(calls) * 1e-6)
    assert later.details["assistants"].count(" + ") == 2
    assert {name for name in later.details if name.startswith("template:")} == {
        "template:choices-write",
        "template:choices-pick",
        "template:choices-vote",
    }
    for item in run.items:
        assert msgspec.json.decode(msgspec.json.encode(item), type=ChoiceItem) == item


# -- what does not come to its end -------------------------------------------------------------------------------


def replayed(port: Port, kept: dict[str, Outcome], chance: float, rng: random.Random) -> Port:
    """Replies from what is kept, as a store does; else asks, unless the call is made to fail."""

    def reply(request: Request) -> Outcome:
        if request.key in kept:
            return kept[request.key]
        if rng.random() < chance:
            kind = rng.choice(["timeout", "budget", "overload", "cancelled"])
            return Failure(kind=kind, message="not now")  # type: ignore[arg-type]
        port.sent.append(request)
        kept[request.key] = outcome = Reply(text=port.reply(request))
        return outcome

    return Port(reply, order=rng.randrange(2**32))


@pytest.mark.parametrize("seed", range(3))
def test_runs_that_fail_again_and_again_end_as_one_that_did_not(seed: int):
    expected = make_choices(QUESTIONS, maker(), Port(**QUALITY))
    port, rng = Port(**QUALITY), random.Random(seed)
    kept: dict[str, Outcome] = {}
    runs = [
        make_choices(QUESTIONS, maker(), replayed(port, kept, chance, rng)) for chance in (0.3, 0.2, 0.1, 0.0)
    ]
    assert not runs[0].is_complete
    assert runs[0].summary.postponed == sum(result.state == "postponed" for result in runs[0].results) > 0
    assert written(runs[-1]) == written(expected)
    assert max(Counter(request.key for request in port.sent).values()) == 1, "nothing is asked twice"


def test_an_assistant_that_was_not_asked_postpones_what_it_had_to_vote_on():
    def reply(request: Request) -> str | Outcome:
        if "assistant1" in request.model:
            return Failure(kind="budget", message="spent")
        return play(read_request(request), **QUALITY)

    run = make_choices(QUESTIONS, maker(), Port(reply))
    assert run.items == ()
    assert run.summary.outcomes["postponed"] + run.summary.open_ended == len(QUESTIONS)
    assert not run.is_complete
    assert run.summary.leak.seen_to_fail.whole == 0, "nobody has voted"


def test_ctrl_c_leaves_what_there_is_and_says_so():
    class Interrupted(Port):
        def __call__(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Outcome]]:
            for number, pair in enumerate(super().__call__(requests)):
                if number == 100:
                    raise KeyboardInterrupt
                yield pair

    ended: list[ChoiceResult] = []
    run = make_choices(
        QUESTIONS, maker(), Interrupted(**QUALITY, ahead=1), in_flight=3, progress=ended.append
    )
    assert run.interrupted
    assert not run.is_complete
    assert 0 < len(ended) < len(QUESTIONS)
    assert run.summary.postponed == len(QUESTIONS) - len(ended)
    assert {item.id for item in run.items} <= {result.question.id for result in ended}


def test_progress_is_told_of_every_question():
    ended: list[str] = []
    make_choices(
        QUESTIONS, maker(), Port(**QUALITY), progress=lambda result: ended.append(result.question.id)
    )
    assert sorted(ended) == [q.id for q in QUESTIONS]


def test_nothing_to_do():
    run = make_choices([], maker(), Port())
    assert run.items == ()
    assert run.is_complete
    assert run.summary.asked == 0


def test_what_is_open_ended_is_listed_with_its_reason():
    unfit = question(50, answer="")
    run = make_choices([*QUESTIONS, unfit], maker(attempts=1), Port(**QUALITY))
    dropped = {d.id: d.reason for d in run.dropped}
    assert dropped["q0050"] == "no_answer"
    assert run.is_complete
    assert set(dropped) | {item.id for item in run.items} == {q.id for q in [*QUESTIONS, unfit]}
    assert run.summary.unfit == {"no_answer": 1}
    assert run.summary.open_ended == len(dropped) - 1


# -- bad input ---------------------------------------------------------------------------------------------------


def test_ids_are_unique():
    with pytest.raises(UserError, match="same id: 'q0000'"):
        make_choices([question(), question(1), question()], maker(), Port())


def test_citations_have_to_exist():
    with pytest.raises(UserError, match=r"question 'q0000'.*cites 's9'"):
        make_choices([question(cites=("s9",))], maker(), Port())


def test_lines_have_ids_of_their_own():
    lines = (Line(id="s1", text="one"), Line(id="s1", text="two"))
    with pytest.raises(UserError, match="have the id 's1'"):
        make_choices([question(lines=lines, cites=())], maker(), Port())
