from __future__ import annotations

import asyncio
import logging
import math
import pickle
import random
import threading
import tomllib
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from proctor.errors import UserError
from proctor.llm.budget import NANO, Budget, BudgetReached, Need, Reservation, dollars, nano_dollars
from proctor.llm.outcome import Usage


def need(tokens: int = 100, cost: int | None = 1_000, model: str = "openai/gpt-4o") -> Need:
    return Need(model=model, tokens=tokens, cost=cost)


# -- money ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "nano"),
    [
        ("2.50", 2_500_000_000),
        (0.1, 100_000_000),
        (5, 5 * NANO),
        (Decimal("0.0000000011"), 2),
        (" 1e-9 ", 1),
        (0, 0),
        ("1000000000000", 10**21),
    ],
)
def test_dollars_are_whole_nano_dollars(amount: Decimal | str | float, nano: int) -> None:
    assert nano_dollars(amount) == nano


def test_limits_are_rounded_down() -> None:
    assert nano_dollars("0.0000000019", up=False) == 1


@pytest.mark.parametrize(
    "amount", ["", "five", "nan", "inf", "-1", -0.01, math.nan, math.inf, 1e13, "1,5", "$5"]
)
def test_what_is_no_amount_is_refused(amount: str | float) -> None:
    with pytest.raises(UserError, match="not an amount"):
        Budget(max_cost=amount)


@pytest.mark.parametrize(
    ("nano", "text"),
    [
        (0, "$0.00"),
        (1, "$0.0001"),
        (99_999_999, "$0.1000"),
        (100_000_000, "$0.10"),
        (123_456_789, "$0.13"),
        (12 * NANO, "$12.00"),
        (1_234_567 * NANO + 1, "$1,234,567.01"),
        (999_999_999, "$1.00"),
    ],
)
def test_dollars_as_text(nano: int, text: str) -> None:
    assert dollars(nano) == text


@given(st.integers(0, 10**18))
def test_text_is_never_below_the_sum(nano: int) -> None:
    shown = nano_dollars(dollars(nano).lstrip("$").replace(",", ""))
    assert 0 <= shown - nano < NANO // 100


def test_sums_do_not_drift() -> None:
    budget = Budget(max_cost=1)
    for _ in range(10):
        budget.settle(budget.reserve(need(cost=nano_dollars(0.1))), Usage(1, 1), nano_dollars(0.1))
    assert budget.spent.cost == NANO
    with pytest.raises(BudgetReached):
        budget.reserve(need(cost=1))
    assert sum([0.1] * 10) != 1.0  # what floats would have made of it


# -- limits -----------------------------------------------------------------------------------------------------


def test_work_in_flight_counts() -> None:
    budget = Budget(max_cost="0.000003")
    first = budget.reserve(need(cost=1_000))
    second = budget.reserve(need(cost=1_000))
    with pytest.raises(BudgetReached) as caught:
        budget.reserve(need(cost=1_001))
    assert caught.value.limit == "max_cost"
    assert caught.value.may_fit_later
    assert "calls in flight may cost $0.0001" in caught.value.message
    assert "--max-cost" in str(caught.value)
    budget.settle(first, Usage(1, 1), 500)
    budget.settle(second, None, None)
    third = budget.reserve(need(cost=2_500))
    assert budget.spent.cost == 500
    assert budget.spent.reserved_cost == 2_500
    budget.settle(third, Usage(1, 1), 2_500)
    with pytest.raises(BudgetReached) as caught:
        budget.reserve(need(cost=1))
    assert not caught.value.may_fit_later


def test_exactly_the_limit_fits() -> None:
    budget = Budget(max_cost="0.000001", max_calls=1, max_tokens=100)
    budget.reserve(need())


def test_calls_and_tokens() -> None:
    budget = Budget(max_calls=2)
    for _ in range(2):
        budget.settle(budget.reserve(need()), None, None)
    with pytest.raises(BudgetReached, match="limit of 2 calls") as caught:
        budget.reserve(need())
    assert caught.value.limit == "max_calls"
    budget = Budget(max_tokens=150)
    budget.settle(budget.reserve(need(tokens=100)), Usage(10, 20), 5)
    budget.reserve(need(tokens=120))
    with pytest.raises(BudgetReached, match="30 are used, calls in flight may use 120") as caught:
        budget.reserve(need(tokens=1))
    assert caught.value.limit == "max_tokens"


def test_nothing_may_be_spent() -> None:
    for budget in (Budget(max_cost=0), Budget(max_calls=0), Budget(max_tokens=0)):
        with pytest.raises(BudgetReached) as caught:
            budget.reserve(need())
        assert not caught.value.may_fit_later
    Budget(max_cost=0).reserve(need(cost=0))  # what is free is free


def test_without_limits_all_is_counted() -> None:
    budget = Budget()
    for _ in range(3):
        budget.settle(budget.reserve(need()), Usage(7, 3), 12)
    assert (budget.spent.calls, budget.spent.tokens, budget.spent.cost) == (3, 30, 36)


def test_negative_limits_are_refused() -> None:
    with pytest.raises(UserError, match="max_calls"):
        Budget(max_calls=-1)
    with pytest.raises(UserError, match="max_tokens"):
        Budget(max_tokens=-1)


# -- settling ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "cost", "tokens", "spent"),
    [
        (Usage(30, 20), 400, 50, 400),
        (None, None, 0, 0),
        (None, 70, 0, 70),
        (Usage(), None, 100, 1_000),  # charged, but nobody said how much
        (Usage(input=30), None, 100, 1_000),
        (Usage(output=300), 10, 300, 10),
        (Usage(0, 0), 0, 0, 0),
    ],
)
def test_what_is_not_told_counts_as_set_aside(
    usage: Usage | None, cost: int | None, tokens: int, spent: int
) -> None:
    budget = Budget()
    budget.settle(budget.reserve(need()), usage, cost)
    assert (budget.spent.tokens, budget.spent.cost) == (tokens, spent)
    assert (budget.spent.reserved_calls, budget.spent.reserved_tokens, budget.spent.reserved_cost) == (
        0,
        0,
        0,
    )


def test_calls_that_used_more_than_feared_are_counted() -> None:
    budget = Budget()
    budget.settle(budget.reserve(need(tokens=10)), Usage(10, 1), 1_000)
    budget.settle(budget.reserve(need(cost=10)), Usage(1, 1), 11)
    budget.settle(budget.reserve(need()), Usage(1, 1), 11)
    assert budget.spent.underestimated == 2


def test_twice_is_an_error() -> None:
    budget = Budget()
    reservation = budget.reserve(need())
    budget.settle(reservation, None, None)
    for again in (lambda: budget.settle(reservation, None, None), lambda: budget.cancel(reservation)):
        with pytest.raises(ValueError, match="before"):
            again()


def test_a_call_that_was_never_sent_is_no_call() -> None:
    budget = Budget(max_calls=1)
    budget.cancel(budget.reserve(need()))
    assert budget.spent.calls == 0
    budget.reserve(need())


# -- unknown prices ---------------------------------------------------------------------------------------------


def test_with_a_limit_on_money_an_unknown_price_is_refused_and_the_way_out_is_told() -> None:
    budget = Budget(max_cost=5)
    with pytest.raises(UserError) as caught:
        budget.reserve(need(cost=None, model="compat/qwen"))
    assert not isinstance(caught.value, BudgetReached)
    assert "price of compat/qwen is not known" in str(caught.value)
    assert "PROCTOR_PRICES" in str(caught.value)
    line = str(caught.value).partition("PROCTOR_PRICES:\n")[2]
    assert tomllib.loads(line) == {"prices": {"compat/qwen": {"input": 2.5, "output": 10.0}}}
    with pytest.raises(UserError, match="not known"):
        asyncio.run(budget.reserve_when_free(need(cost=None)))


def test_without_one_it_is_said_once() -> None:
    said: list[str] = []
    budget = Budget(max_calls=10, warn=said.append)
    for model in ("compat/a", "compat/a", "compat/b", "compat/a"):
        budget.settle(budget.reserve(need(cost=None, model=model)), Usage(5, 5), None)
    assert [text.split(" is")[0] for text in said] == ["the price of compat/a", "the price of compat/b"]
    assert budget.spent.cost == 0
    assert budget.spent.unpriced_calls == 4


def test_the_warning_goes_to_the_log_by_default(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        Budget().reserve(need(cost=None))
    assert "PRICE" in caplog.text


def test_the_error_survives_the_way_between_processes() -> None:
    error = BudgetReached("reached.", limit="max_cost", may_fit_later=True, hint="raise it")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.message, copy.limit, copy.may_fit_later, copy.hint) == (
        "reached.",
        "max_cost",
        True,
        "raise it",
    )


# -- charged, and perhaps charged ---------------------------------------------------------------------------------


def test_what_may_have_been_charged_counts_against_the_limits_and_is_told_apart() -> None:
    budget = Budget(max_cost="0.000003", max_tokens=1_000)  # 3,000 nano-dollars
    call = budget.reserve(need(tokens=100, cost=1_000))
    budget.fear(call)
    budget.again(call)  # the second attempt fits
    budget.spend(call, Usage(10, 20), 400)
    now = budget.spent
    assert (now.cost, now.tokens, now.calls) == (400, 30, 0)
    assert (now.feared_cost, now.feared_tokens, now.feared_calls) == (1_000, 100, 1)
    assert (now.reserved_cost, now.reserved_calls) == (1_000, 1)
    budget.settle(call, None, None)
    now = budget.spent
    assert (now.cost, now.feared_cost, now.reserved_cost, now.calls) == (400, 1_000, 0, 1)
    with pytest.raises(BudgetReached, match=r"\$0.0001 more may have been charged") as caught:
        budget.reserve(need(tokens=1, cost=1_601))
    assert (caught.value.limit, caught.value.may_fit_later) == ("max_cost", False)
    with pytest.raises(BudgetReached, match="30 are used, 100 more may have been, calls in flight may use 0"):
        budget.reserve(need(tokens=871, cost=0))
    budget.reserve(need(tokens=870, cost=1_600))


@pytest.mark.parametrize(("cost", "tokens"), [(1_000, 1), (1, 500)])
def test_another_attempt_is_not_made_when_it_could_exceed_a_limit(cost: int, tokens: int) -> None:
    budget = Budget(max_cost="0.0000015", max_tokens=700)
    call = budget.reserve(need(tokens=tokens, cost=cost))
    budget.again(call)
    budget.fear(call)
    with pytest.raises(BudgetReached) as caught:
        budget.again(call)
    assert not caught.value.may_fit_later
    assert not budget.spent.cost
    budget.settle(call, None, None)
    assert budget.spent.calls == 1


def test_another_attempt_is_not_another_call() -> None:
    budget = Budget(max_calls=1)
    call = budget.reserve(need())
    budget.fear(call)
    budget.again(call)
    budget.settle(call, None, None)
    assert budget.spent.calls == 1


def test_another_attempt_may_fit_later_while_others_are_in_flight() -> None:
    budget = Budget(max_cost="0.000003")
    first, second = budget.reserve(need(cost=1_000)), budget.reserve(need(cost=1_500))
    budget.fear(first)
    with pytest.raises(BudgetReached) as caught:
        budget.again(first)
    assert caught.value.may_fit_later
    budget.settle(second, Usage(1, 1), 10)
    budget.again(first)


def test_unknown_prices_are_feared_as_calls_and_tokens() -> None:
    budget = Budget(warn=lambda _: None)
    call = budget.reserve(need(tokens=7, cost=None))
    budget.fear(call)
    assert (budget.spent.feared_calls, budget.spent.feared_tokens, budget.spent.feared_cost) == (1, 7, 0)


@pytest.mark.parametrize("what", ["fear", "again", "spend"])
def test_what_is_over_is_over(what: str) -> None:
    budget = Budget()
    call = budget.reserve(need())
    budget.settle(call, None, None)
    with pytest.raises(ValueError, match="settled before"):
        getattr(budget, what)(call, *((Usage(1, 1), 1) if what == "spend" else ()))


# -- properties -------------------------------------------------------------------------------------------------


class BudgetMachine(RuleBasedStateMachine):
    """Whatever is reserved, settled and cancelled in whatever order: a limit is never exceeded, and sums are exact."""

    open = Bundle("open")

    def __init__(self) -> None:
        super().__init__()
        self.budget = Budget(max_cost="0.00001", max_calls=20, max_tokens=5_000)
        self.spent = [0, 0, 0]
        self.feared = [0, 0]
        self.reserved: dict[int, Need] = {}

    @rule(target=open, tokens=st.integers(0, 3_000), cost=st.integers(0, 6_000))
    def reserve(self, tokens: int, cost: int) -> Reservation | None:
        asked = need(tokens, cost)
        fits = (
            self.spent[0] + len(self.reserved) + 1 <= 20
            and self.gone[0] + sum(r.tokens for r in self.reserved.values()) + tokens <= 5_000
            and self.gone[1] + sum(r.cost or 0 for r in self.reserved.values()) + cost <= 10_000
        )
        try:
            reservation = self.budget.reserve(asked)
        except BudgetReached as reached:
            assert not fits
            alone = (
                self.spent[0] + 1 <= 20 and self.gone[0] + tokens <= 5_000 and self.gone[1] + cost <= 10_000
            )
            later = reached.may_fit_later
            return self.refused(alone, later)
        assert fits
        self.reserved[reservation.number] = asked
        return reservation

    @property
    def gone(self) -> tuple[int, int]:
        return self.spent[1] + self.feared[0], self.spent[2] + self.feared[1]

    @rule(reservation=open, lost=st.booleans(), share=st.floats(0, 1))
    def attempt_fails(self, reservation: Reservation | None, lost: bool, share: float) -> None:
        """An attempt is charged or lost; if another one may not be made, the call is over."""
        if reservation is None or reservation.number not in self.reserved:
            return
        asked = self.reserved[reservation.number]
        if lost:
            self.budget.fear(reservation)
            self.feared = [self.feared[0] + asked.tokens, self.feared[1] + (asked.cost or 0)]
        else:
            tokens, cost = int(asked.tokens * share), int((asked.cost or 0) * share)
            self.budget.spend(reservation, Usage(tokens, 0), cost)
            self.spent = [self.spent[0], self.spent[1] + tokens, self.spent[2] + cost]
        try:
            self.budget.again(reservation)
        except BudgetReached:
            del self.reserved[reservation.number]
            self.budget.settle(reservation, None, None)
            self.spent[0] += 1

    def refused(self, alone: bool, later: bool) -> None:
        assert later == (alone and bool(self.reserved))

    @rule(reservation=consumes(open), share=st.floats(0, 1))
    def settle(self, reservation: Reservation | None, share: float) -> None:
        if reservation is None or reservation.number not in self.reserved:
            return
        asked = self.reserved.pop(reservation.number)
        tokens, cost = int(asked.tokens * share), int((asked.cost or 0) * share)
        self.budget.settle(reservation, Usage(tokens // 2, tokens - tokens // 2), cost)
        self.spent = [self.spent[0] + 1, self.spent[1] + tokens, self.spent[2] + cost]

    @rule(reservation=consumes(open))
    def cancel(self, reservation: Reservation | None) -> None:
        if reservation is not None and reservation.number in self.reserved:
            del self.reserved[reservation.number]
            self.budget.cancel(reservation)

    @invariant()
    def never_exceeded(self) -> None:
        now = self.budget.spent
        assert now.calls + now.reserved_calls <= 20
        assert now.tokens + now.feared_tokens + now.reserved_tokens <= 5_000
        assert now.cost + now.feared_cost + now.reserved_cost <= 10_000
        assert [now.feared_tokens, now.feared_cost] == self.feared
        assert [now.calls, now.tokens, now.cost] == self.spent
        assert now.underestimated == 0


TestBudgetMachine = BudgetMachine.TestCase
TestBudgetMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_threads_never_exceed_it_together() -> None:
    budget = Budget(max_cost="0.001", max_tokens=1_000_000)
    exceeded: list[int] = []

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(2_000):
            cost = chance.randrange(1, 5_000)
            try:
                reservation = budget.reserve(need(tokens=10, cost=cost))
            except BudgetReached:
                continue
            spent = budget.spent
            if spent.cost + spent.reserved_cost > 1_000_000:
                exceeded.append(spent.cost)
            budget.settle(reservation, Usage(1, 1), chance.randrange(cost + 1))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not exceeded
    assert 990_000 < budget.spent.cost <= 1_000_000
    assert budget.spent.reserved_calls == 0


# -- waiting for room -------------------------------------------------------------------------------------------


def test_waiting_uses_the_budget_up() -> None:
    """Each call fears 16,000 nano-dollars and costs 100: with 100,000 a thousand calls fit, six at a time."""

    async def main() -> tuple[int, int, int]:
        budget = Budget(max_cost="0.0001")
        done = refused = most = 0

        async def call() -> None:
            nonlocal done, refused, most
            try:
                reservation = await budget.reserve_when_free(need(cost=16_000))
            except BudgetReached:
                refused += 1
                return
            most = max(most, budget.spent.reserved_calls)
            await asyncio.sleep(0)
            budget.settle(reservation, Usage(1, 1), 100)
            done += 1

        await asyncio.gather(*(call() for _ in range(1_000)))
        assert budget.spent.cost + budget.spent.reserved_cost <= 100_000
        return done, refused, most

    done, refused, most = asyncio.run(main())
    assert most == 6
    assert done == 841  # (100,000 - 16,000) / 100, and one more
    assert refused == 159


def test_first_come_first_served() -> None:
    async def main() -> list[int]:
        budget, order = Budget(max_tokens=100), []
        first = budget.reserve(need(tokens=60))

        async def call(tokens: int) -> None:
            reservation = await budget.reserve_when_free(need(tokens=tokens))
            order.append(tokens)
            budget.settle(reservation, Usage(0, 0), 0)

        calls = [asyncio.create_task(call(tokens)) for tokens in (90, 10, 80)]
        await asyncio.sleep(0)
        assert order == []  # the small one would fit, but it is not its turn
        budget.settle(first, None, None)
        await asyncio.gather(*calls)
        return order

    assert asyncio.run(main()) == [90, 10, 80]


def test_those_that_will_never_fit_do_not_block_the_others() -> None:
    async def main() -> list[object]:
        budget = Budget(max_tokens=100)
        first = budget.reserve(need(tokens=60))
        calls = [
            asyncio.create_task(budget.reserve_when_free(need(tokens=tokens))) for tokens in (90, 20, 20)
        ]
        await asyncio.sleep(0)
        budget.settle(first, Usage(30, 30), 0)
        results = await asyncio.gather(*calls, return_exceptions=True)
        with pytest.raises(BudgetReached):
            await budget.reserve_when_free(need(tokens=101))
        return list(results)

    large, *small = asyncio.run(main())
    assert isinstance(large, BudgetReached)
    assert all(isinstance(result, Reservation) for result in small)


def test_cancelled_waiters_take_nothing_along() -> None:
    async def main() -> None:
        budget = Budget(max_tokens=100)
        for served_first in (False, True):
            first = budget.reserve(need(tokens=100))
            blocked = asyncio.create_task(budget.reserve_when_free(need(tokens=100)))
            behind = asyncio.create_task(budget.reserve_when_free(need(tokens=50)))
            await asyncio.sleep(0)
            if served_first:
                budget.settle(first, None, None)
                asyncio.get_running_loop().call_soon(blocked.cancel)  # it has arrived, but was not yet taken
            else:
                blocked.cancel()
                budget.settle(first, None, None)
            with pytest.raises(asyncio.CancelledError):
                await blocked
            budget.settle(await behind, None, None)
            assert budget.spent.reserved_tokens == 0

    asyncio.run(main())


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_random_cancellation_leaves_nothing_set_aside(seed: int) -> None:
    async def main() -> None:
        chance = random.Random(seed)
        budget = Budget(max_tokens=300)

        async def call() -> None:
            reservation = await budget.reserve_when_free(need(tokens=chance.randrange(1, 200)))
            try:
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
            finally:
                budget.settle(reservation, None, None)

        tasks = [asyncio.create_task(call()) for _ in range(12)]
        for _ in range(20):
            chance.choice(tasks).cancel() if chance.random() < 0.4 else None
            await asyncio.sleep(0)
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5.0)
        await asyncio.sleep(0)
        assert (budget.spent.reserved_calls, budget.spent.reserved_tokens) == (0, 0)

    asyncio.run(main())


def test_waiters_in_other_event_loops_are_served_and_dead_loops_forgotten() -> None:
    budget = Budget(max_tokens=100)
    first = budget.reserve(need(tokens=100))
    dead = asyncio.new_event_loop()
    task = dead.create_task(budget.reserve_when_free(need(tokens=50)))
    dead.call_soon(dead.call_soon, dead.stop)
    dead.run_forever()
    dead.close()
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    got: list[Reservation] = []
    waits = threading.Event()

    async def other() -> None:
        waiting = asyncio.ensure_future(budget.reserve_when_free(need(tokens=100)))
        await asyncio.sleep(0)
        waits.set()
        got.append(await waiting)

    thread = threading.Thread(target=asyncio.run, args=(other(),))
    thread.start()
    waits.wait()
    budget.settle(first, None, None)
    thread.join(60)
    assert len(got) == 1
    assert budget.spent.reserved_tokens == 100
    task.get_coro().close()
