from proctor.ask.clip.choices import ChoiceAttempt
from proctor.ask.cost import Heard, call_cost, no_price, total_cost
from proctor.llm.message import Request, user
from proctor.llm.outcome import Failure, Outcome, Reply

ONE, OTHER = (Request(model="made/m", messages=(user(text),)) for text in ("how many?", "how much?"))


def seven(_model: str, outcome: Outcome) -> int | None:
    return 7 if isinstance(outcome, Reply) else None


def test_a_call_that_failed_before_anything_was_said_costs_nothing() -> None:
    assert call_cost(seven, ONE, Reply(text="2")) == 7
    assert call_cost(no_price, ONE, Reply(text="2")) is None
    assert call_cost(seven, ONE, Failure(kind="overload", message="busy")) == 0
    assert call_cost(seven, ONE, Failure(kind="timeout", message="late", lost=True)) is None  # may be charged


def test_a_call_is_heard_once_and_one_unknown_price_makes_the_sum_unknown() -> None:
    heard = Heard()
    for request in (ONE, ONE, OTHER):
        heard.hear(request, Reply(text="2"), seven)
    assert (heard.calls, heard.cost) == ([ONE.key[:16], OTHER.key[:16]], 14)
    heard.hear(Request(model="made/n", messages=()), Reply(text="2"), no_price)
    heard.hear(Request(model="made/o", messages=()), Reply(text="2"), seven)
    assert (len(heard.calls), heard.cost) == (4, None)


def test_attempts_are_added_up_where_all_prices_are_known() -> None:
    def attempt(cost: str | None, *calls: str) -> ChoiceAttempt:
        return ChoiceAttempt(item="q", number=1, outcome="accepted", calls=calls, cost=cost)

    assert total_cost([]) == "0"
    assert total_cost([attempt("0.5", "a"), attempt("0.25", "a", "b"), attempt(None)]) == "0.75"
    assert total_cost([attempt("0.5", "a"), attempt(None, "b")]) is None
