from __future__ import annotations

import datetime
import gc
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from proctor.errors import UserError
from proctor.llm.budget import Budget
from proctor.llm.estimate import EarlierReplies, Estimate, Estimator, Line, Meter, render_estimate
from proctor.llm.message import Audio, Image, Parameters, Request, Video, user
from proctor.llm.outcome import Usage
from proctor.llm.prices import PriceTable
from proctor.llm.tokens import estimate_tokens

DAY = datetime.date(2026, 11, 20)
FRAME = Image("a" * 64, "image/jpeg", 640, 360)
GPT = "openai/gpt-4o-2024-08-06"


def prices(tmp_path: Path | None = None, text: str = "") -> PriceTable:
    if tmp_path is None:
        return PriceTable(day=DAY, packages=False)
    path = tmp_path / "prices.toml"
    path.write_text(text)
    return PriceTable.load(path, day=DAY, packages=False)


def ask(text: str = "What is next?", model: str = GPT, limit: int | None = 128, images: int = 0) -> Request:
    return Request(
        model=model,
        messages=(user(text, *[FRAME] * images),),
        parameters=Parameters(temperature=0.0, max_tokens=limit),
    )


def estimator(**changes: object) -> Estimator:
    return Estimator(prices(), **changes)  # type: ignore[arg-type]


# -- what one call may take -----------------------------------------------------------------------------------------


def test_needs_are_on_the_safe_side() -> None:
    meter = Meter(prices())
    request = ask("Did I forget the salt? " * 50, images=10)
    need, tokens = meter.need(request), estimate_tokens(request)
    assert need.tokens == tokens.worst + 128
    assert need.cost == tokens.worst * 2_500 + 128 * 10_000
    assert need.cost > (meter.cost(GPT, Usage(input=tokens.expected, output=128)) or 0)
    assert need.model == GPT
    roomy = meter.need(
        ask(limit=4_096)
    )  # the pace is kept by what replies usually take, the budget by what they may
    assert roomy.tokens - roomy.paced == 4_096 - 600
    assert need.paced == need.tokens


def test_a_model_without_a_price_has_no_cost() -> None:
    meter = Meter(prices())
    need = meter.need(ask(model="compat/x@http://localhost:1/v1"))
    assert need.cost is None
    assert need.tokens > 128
    assert meter.cost("compat/x@http://localhost:1/v1", Usage(input=1, output=1)) is None
    with pytest.raises(UserError, match="price of compat/x"):
        Budget(max_cost=1).reserve(need)


def test_sound_and_media_at_their_own_price(tmp_path: Path) -> None:
    clip = Request(
        model="google/gemini-2.5-flash",
        messages=(user("?", Audio("b" * 64, "audio/wav", 100.0)),),
        parameters=Parameters(max_tokens=10),
    )
    need = Meter(prices()).need(clip)
    tokens = estimate_tokens(clip)
    assert tokens.audio == 3_200
    assert need.cost is not None
    assert need.cost >= 3_200 * 1_000 + 10 * 2_500
    table = prices(
        tmp_path,
        '[prices."a/b"]\ninput=0\noutput=0\nper_image=0.01\nper_video_second=0.5\nper_audio_second=1',
    )
    parts = (FRAME, FRAME, Video("c" * 64, "video/mp4", 2.0), Audio("d" * 64, "audio/wav", 3.0))
    request = Request(model="a/b", messages=(user(*parts),))
    assert Meter(table).need(request).cost == 20_000_000 + 1_000_000_000 + 3_000_000_000


def test_a_need_that_crosses_a_price_step_is_at_the_higher_price() -> None:
    model = "google/gemini-2.5-pro"
    request = ask("salt and pepper and oil " * 30_000, model=model)
    tokens = estimate_tokens(request)
    assert tokens.expected < 200_000 < tokens.worst
    need = Meter(prices()).need(request)
    assert need.cost == tokens.worst * 2_500 + 128 * 15_000


# -- adding up ------------------------------------------------------------------------------------------------------


def test_lines_by_stage_and_model() -> None:
    total = estimator()
    total.add("predict", [ask(f"question {n}", images=10) for n in range(50)])
    total.add("predict", [ask(f"question {n}", model="openai/gpt-4o-mini") for n in range(50)])
    total.add("judge", (ask(f"judge {n}", limit=256) for n in range(100)))
    estimate = total.result()
    assert [(line.stage, line.model, line.new) for line in estimate.lines] == [
        ("predict", GPT, 50),
        ("predict", "openai/gpt-4o-mini", 50),
        ("judge", GPT, 100),
    ]
    assert estimate.new == estimate.calls == estimate.requests == 200
    first = estimate.lines[0]
    assert first.images == 500
    one = estimate_tokens(ask("question 10", images=10))
    assert first.input == pytest.approx(50 * one.expected, rel=0.01)
    assert first.output_worst == 50 * 128
    assert first.output == 50 * 128  # nothing is known of earlier replies
    assert first.cost is not None
    assert first.cost_worst is not None
    assert first.cost == pytest.approx(first.input * 2_500 + first.output * 10_000, abs=1_000)
    assert first.cost < first.cost_worst
    assert estimate.cost == sum(line.cost or 0 for line in estimate.lines)
    assert first.price.endswith("as of 2026-11-20")


def test_what_the_store_has_and_what_is_asked_twice_is_free() -> None:
    requests = [ask(f"question {n}") for n in range(10)]
    stored = {request.key for request in requests[:4]}
    asked: list[int] = []

    def known(keys: Sequence[str]) -> set[str]:
        asked.append(len(keys))
        return stored & set(keys)

    total = estimator(known=known)
    total.add("a", requests + requests[5:7])
    total.add("b", requests[8:9])
    line, repeated = total.result().lines
    assert (line.requests, line.calls, line.new) == (12, 10, 6)
    assert (repeated.requests, repeated.calls, repeated.new, repeated.cost) == (1, 0, 0, 0)
    assert asked == [10]
    alone = estimator()
    alone.add("a", requests[4:])
    assert alone.result().lines[0].input == line.input


def test_the_store_is_asked_in_batches_and_requests_are_not_kept() -> None:
    sizes: list[int] = []

    def known(keys: Sequence[str]) -> list[str]:
        sizes.append(len(keys))
        return []

    def requests(number: int) -> Iterator[Request]:
        for n in range(number):
            yield ask(f"question {n} " + "with a long prompt " * 200)

    total = estimator(known=known)
    total.add("warm", requests(10))
    gc.collect()
    tracemalloc.start()
    total.add("a", requests(1_010))
    used = tracemalloc.get_traced_memory()[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sizes == [10, 490, 500, 10]  # ten were counted before
    assert used < 600_000  # the hashes, not 4 MB of prompts
    assert peak < 6_000_000  # one batch of 500


def test_samples_stand_for_calls_that_cannot_be_made_yet() -> None:
    total = estimator(known=lambda keys: list(keys))
    total.add("judge", [ask("judge a"), ask("judge b"), ask("judge a")], copies=100)
    (line,) = total.result().lines
    assert (line.requests, line.calls, line.new, line.guessed) == (300, 300, 300, 300)
    assert line.input == 100 * sum(
        estimate_tokens(ask(text)).expected for text in ("judge a", "judge b", "judge a")
    )
    assert "300 new calls depend on earlier replies" in render_estimate(total.result())
    with pytest.raises(ValueError, match="copies"):
        total.add("judge", [], copies=0)


def test_replies_are_expected_to_be_like_earlier_ones() -> None:
    known = {("judge", GPT): EarlierReplies(10, 195), ("long", GPT): EarlierReplies(1, 100_000)}
    total = estimator(earlier=lambda stage, model: known.get((stage, model)))
    for stage in ("judge", "long", "new"):
        total.add(stage, [ask(f"{stage} {n}") for n in range(3)])
    total.add("judge", [ask(model="openai/gpt-4o-mini")])
    estimate = total.result()
    lines = {(line.stage, line.model): line for line in estimate.lines}
    judge = lines["judge", GPT]
    assert (judge.output, judge.earlier, judge.reply) == (3 * 20, 10, 20)  # 19.5 on average
    assert lines["long", GPT].output == 3 * 128  # never more than the request allows
    for name in (("new", GPT), ("judge", "openai/gpt-4o-mini")):
        line = lines[name]
        assert (line.output, line.earlier) == (line.output_worst, 0)
    assert (judge.cost or 0) < (lines["new", GPT].cost or 0)
    text = render_estimate(estimate)
    assert f"tokens out of judge, {GPT}: by the mean of 10 earlier replies, 20 tokens" in text
    assert (
        "tokens out without earlier replies: 600 each, or the limit of a reply that thinks or is shorter"
        in text
    )
    assert "without earlier replies" not in render_estimate(_only(known))


def _only(known: dict[tuple[str, str], EarlierReplies]) -> Estimate:
    total = estimator(earlier=lambda stage, model: known.get((stage, model)))
    total.add("judge", [ask()])
    return total.result()


def test_no_earlier_replies_are_as_if_nothing_were_known() -> None:
    total = estimator(earlier=lambda stage, model: EarlierReplies(0, 0))
    total.add("a", [ask()])
    assert total.result().lines[0].earlier == 0
    assert total.result().output == 128


def test_replies_without_a_limit_are_told() -> None:
    total = estimator()
    total.add("a", [ask(limit=None), ask("other", limit=5)])
    estimate = total.result()
    assert estimate.lines[0].unlimited == 1
    assert estimate.output == 600 + 5
    assert estimate.output_worst == 16_384 + 5
    assert "1 new calls set no limit" in render_estimate(estimate)


def test_a_function_takes_no_tokens_and_has_no_price_to_check() -> None:
    counted = estimator()
    counted.add("predict", [ask(str(n), "python:mine:answer", None, images=2) for n in range(3)])
    estimate = counted.result()
    (line,) = estimate.lines
    assert (line.new, line.images, line.input, line.output_worst, line.cost) == (3, 6, 0, 0, 0)
    heads, row = render_estimate(estimate).splitlines()  # no remarks
    assert heads.split() == ["stage", "model", "calls", "stored", "new", "images"]
    assert row.split() == ["predict", "python:mine:answer", "3", "0", "3", "6"]
    counted.add("judge", [ask()])  # beside a model its columns are there
    assert "tokens in" in render_estimate(counted.result())


def test_requests_that_are_too_large_are_told() -> None:
    total = estimator()
    total.add("a", [ask("word " * 200_000), ask(images=501), ask()])
    assert total.result().lines[0].too_large == 2
    assert "2 new calls are larger than the provider takes" in render_estimate(total.result())


def test_nothing_to_do() -> None:
    empty = estimator().result()
    assert (empty.new, empty.cost, empty.lines) == (0, 0, ())
    assert render_estimate(empty).startswith("stage")


def test_a_name_that_is_none_is_an_error() -> None:
    with pytest.raises(UserError):
        estimator().add("a", [ask(model="gpt")])


# -- for people and machines ------------------------------------------------------------------------------------------


def test_unknown_prices_are_named_and_not_added() -> None:
    total = estimator()
    total.add("predict", [ask(), ask(model="compat/qwen@http://h/v1", images=3)])
    estimate = total.result()
    assert estimate.unpriced == ("compat/qwen@http://h/v1",)
    assert estimate.lines[1].cost is None
    assert estimate.cost == estimate.lines[0].cost
    text = render_estimate(estimate)
    assert "the price of compat/qwen@http://h/v1 is not known" in text
    assert "+?" in text
    assert text.count("unknown") == 1
    assert "rough guess" in text


def test_a_model_whose_calls_are_all_stored_needs_no_price() -> None:
    total = estimator(known=lambda keys: list(keys))
    total.add("a", [ask(model="compat/qwen@http://h/v1")])
    assert total.result().unpriced == ()


def test_the_table() -> None:
    total = estimator()
    total.add("predict", [ask(f"question {n}", images=50) for n in range(401)])
    total.add("judge", [ask(f"verdict {n}", limit=256) for n in range(401)])
    lines = render_estimate(total.result()).split("\n")
    assert lines[0].split() == [
        *(
            "stage",
            "model",
            "calls",
            "stored",
            "new",
            "images",
            "tokens",
            "in",
            "tokens",
            "out",
            "cost",
            "at",
            "most",
        )
    ]
    assert lines[1].split()[:6] == ["predict", GPT, "401", "0", "401", "20,050"]
    assert lines[3].split()[:3] == ["together", "802", "0"]
    assert len({len(line) for line in lines[:4]}) == 1  # right-aligned
    assert lines[4].startswith("tokens out without earlier replies")
    assert lines[5] == (
        f"prices of {GPT}: list prices as collected by genai-prices 0.2.3 (MIT), as of 2026-11-20; "
        "check them before you rely on them"
    )
    dollars = float(lines[1].split()[8].lstrip("$"))
    assert 15 < dollars < 30  # the published runs cost 30 to 60 dollars with larger frames


def test_as_a_record() -> None:
    total = estimator()
    total.add("a", [ask()])
    estimate = total.result()
    assert msgspec.json.decode(msgspec.json.encode(estimate), type=Estimate) == estimate
    assert isinstance(estimate.lines[0], Line)
    assert estimate.rules.year >= 2025


def test_estimates_bound_what_a_run_then_costs() -> None:
    """A run under a budget of the worst estimate is never stopped by it."""
    requests = [ask(f"question {n}", images=n % 4) for n in range(40)]
    total = estimator()
    total.add("predict", requests)
    estimate = total.result()
    meter = Meter(prices())
    budget = Budget(
        max_cost=estimate.cost_worst / 1e9, max_tokens=estimate.input_worst + estimate.output_worst
    )
    open_calls = [budget.reserve(meter.need(request)) for request in requests]
    for reservation, request in zip(open_calls, requests, strict=True):
        usage = Usage(input=estimate_tokens(request).expected, output=60)
        budget.settle(reservation, usage, meter.cost(request.model, usage))
    assert budget.spent.underestimated == 0
    assert budget.spent.cost < estimate.cost_worst
