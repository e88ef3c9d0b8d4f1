"""Examinations, several at once, and what they say about a question."""

from __future__ import annotations

from collections.abc import Callable, Generator

import pytest
from tests.ask.documents.rehearsed import PROMPTS, SECRET, Scripted, corpus

from proctor.ask.documents.difficulty import (
    DifficultyRules,
    Examined,
    Examiner,
    NotAnswered,
    judge_difficulty,
    settled,
    together,
)
from proctor.ask.documents.prompting import PromptKit
from proctor.llm.converse import Conversation, converse
from proctor.llm.message import Request, user
from proctor.llm.outcome import Failure, Outcome, Refusal, Reply, Truncated

KIT = PromptKit(PROMPTS, SECRET)
EXAMINER = Examiner(KIT, "a/answerer", "a/marker", seeing="a/seer")
GOLD = corpus(1).sources


def hold(talk: Conversation[object], reply: Callable[[Request], Outcome]) -> tuple[object, Scripted]:
    port = Scripted(reply)
    ((_, result),) = converse([("x", talk)], port)
    return result, port


def by_model(**said: str | Outcome) -> Callable[[Request], Outcome]:
    def reply(request: Request) -> Outcome:
        text = said[request.model.partition("/")[2]]
        return Reply(text=text) if isinstance(text, str) else text

    return reply


def test_one_answers_and_one_marks():
    result, port = hold(
        EXAMINER.examine("q?", "ref", GOLD[:1]), by_model(answerer="Six.", marker="Right.\nScore: 2")
    )
    assert result == Examined("Six.", 2)
    assert [r.model for r in port.sent] == ["a/answerer", "a/marker"]
    assert "Arlen" in port.sent[0].messages[-1].text
    assert "ref" not in "".join(m.text for m in port.sent[0].messages), (
        "who answers does not see the reference"
    )
    assert all(r.parameters.temperature == 0.0 for r in port.sent)


def test_images_are_for_the_one_that_sees_and_nothing_is_shown_without_sources():
    _, port = hold(EXAMINER.examine("q?", "ref", GOLD), by_model(seer="A tower.", marker="Score: 1"))
    assert port.sent[0].model == "a/seer"
    _, port = hold(EXAMINER.examine("q?", "ref", ()), by_model(answerer="A tower.", marker="Score: 1"))
    assert "The sources" not in port.sent[0].messages[-1].text


@pytest.mark.parametrize(
    "said",
    [
        "Unknown",
        " unknown. ",
        Refusal(text="no"),
        Truncated(text="it is"),
        "",
        Failure(kind="content_filter", message="x"),
    ],
)
def test_no_answer_is_marked_0_without_a_marker(said: str | Outcome):
    result, port = hold(EXAMINER.examine("q?", "ref", ()), by_model(answerer=said))
    assert result == Examined("", 0)
    assert len(port.sent) == 1


def test_a_mark_that_cannot_be_read_is_asked_for_once_more():
    marks = iter(["Quite good.", "Score: 1"])
    reply = lambda r: Reply(text="Six." if r.model == "a/answerer" else next(marks))  # noqa: E731
    assert hold(EXAMINER.examine("q?", "ref", ()), reply)[0] == Examined("Six.", 1)
    result, port = hold(EXAMINER.examine("q?", "ref", ()), by_model(answerer="Six.", marker="Score: 7"))
    assert result == Examined("Six.", None)
    assert result.text == "unknown"  # type: ignore[attr-defined]
    assert len(port.sent) == 3


@pytest.mark.parametrize("model", ["answerer", "marker"])
@pytest.mark.parametrize(("kind", "outcome"), [("timeout", "api_error"), ("budget", "budget_stop")])
def test_a_call_that_failed_says_so(model: str, kind: str, outcome: str):
    said: dict[str, str | Outcome] = {"answerer": "Six.", "marker": "Score: 1"}
    said[model] = Failure(kind=kind, message="x")  # type: ignore[arg-type]
    with pytest.raises(NotAnswered) as raised:
        hold(EXAMINER.examine("q?", "ref", ()), by_model(**said))
    assert raised.value.miss.outcome == outcome


def test_a_filter_is_a_refusal_and_nothing_else_is_changed():
    assert isinstance(settled(Failure(kind="content_filter", message="x")), Refusal)
    late = Failure(kind="timeout", message="x")
    assert settled(late) is late


# -- together ------------------------------------------------------------------------------------------------------


def ask(text: str) -> Request:
    return Request(model="a/m", messages=(user(text),))


def counting(name: str, rounds: int) -> Generator[Request, Outcome, list[str]]:
    heard = []
    for n in range(rounds):
        outcome = yield ask(f"{name}{n}")
        assert isinstance(outcome, Reply)
        heard.append(outcome.text)
    return heard


def test_conversations_go_on_together():
    rounds = []

    def outer() -> Generator[object, object, object]:
        talk = together([counting("a", 2), counting("b", 0), counting("c", 1)])
        sent: object = None
        while True:
            try:
                said = talk.send(sent)
            except StopIteration as end:
                return end.value
            rounds.append([r.messages[0].text for r in said])
            sent = yield said

    result, _ = hold(outer(), lambda r: Reply(text=r.messages[0].text.upper()))
    assert result == [["A0", "A1"], [], ["C0"]]
    assert rounds == [["a0", "c0"], ["a1"]]
    assert hold(together([]), lambda _: Reply(text=""))[0] == []


def test_where_one_raises_the_others_are_closed():
    closed = []

    def patient() -> Generator[Request, Outcome, None]:
        try:
            for n in range(9):
                yield ask(f"p{n}")
        finally:
            closed.append(True)

    def raising() -> Generator[Request, Outcome, None]:
        yield ask("r")
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        hold(together([patient(), raising()]), lambda _: Reply(text="x"))
    assert closed == [True]


# -- what speaks against a question --------------------------------------------------------------------------------


def judged(rules: DifficultyRules, ranks: list[int | None] | None = None, marks: str = "2", gold: int = 2):
    rank = None if ranks is None else (lambda _q, _g: ranks)
    talk = judge_difficulty("q?", "ref", GOLD[:gold], rules, EXAMINER, rank)
    (found, against), port = hold(talk, by_model(answerer="Six.", seer="Six.", marker=f"Score: {marks}"))  # type: ignore[misc]
    return found, against, len(port.sent)


def test_nothing_is_measured_unless_it_is_wanted():
    assert judged(DifficultyRules()) == ({}, None, 0)


def test_ranks_cost_nothing_and_come_first():
    rules = DifficultyRules(closed_book="refuse", max_rank=5)
    assert judged(rules, [2, 9]) == ({"gold_rank": "9", "gold_ranks": "2 9"}, "too_hard", 0)
    assert judged(rules, [2, None])[1] == "too_hard"
    assert judged(DifficultyRules(min_rank=3), [1, 2]) == (
        {"gold_rank": "2", "gold_ranks": "1 2"},
        "too_easy",
        0,
    )
    assert judged(DifficultyRules(min_rank=3), [1, 3])[1] is None, "the worst one counts"
    assert judged(DifficultyRules(gold_rank=True), [1, None])[1] is None


def test_closed_book_and_one_source():
    assert judged(DifficultyRules(closed_book="measure")) == ({"closed_book": "2"}, None, 2)
    assert judged(DifficultyRules(closed_book="refuse")) == ({"closed_book": "2"}, "too_easy", 2)
    assert judged(DifficultyRules(closed_book="refuse"), marks="1")[1] is None
    both = DifficultyRules(closed_book="refuse", one_source="refuse")
    assert judged(both)[2] == 2, "nothing more is asked about a question that is refused"
    assert judged(both, marks="1") == ({"closed_book": "1", "one_source": "1 1"}, None, 5), (
        "equal marks are one"
    )
    assert judged(DifficultyRules(one_source="refuse")) == ({"one_source": "2 2"}, "too_easy", 3)
    assert judged(DifficultyRules(one_source="refuse"), gold=1) == ({}, None, 0), "one source is all of them"
