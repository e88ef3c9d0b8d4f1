from __future__ import annotations

import datetime
import json
import sys
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.llm.budget import NANO, Budget
from proctor.llm.outcome import Usage
from proctor.llm.prices import Price, PriceTable, Rates, meant_model

DAY = datetime.date(2026, 11, 20)
MILLION = Usage(input=1_000_000, output=0)


def ours(day: datetime.date = DAY) -> PriceTable:
    return PriceTable(day=day, packages=False)


def written(tmp_path: Path, text: str, name: str = "prices.toml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def per_million(price: Price | None, tokens: int = 1_000) -> tuple[Decimal, Decimal, Decimal]:
    """Input, cached and output, in dollars per million tokens, read back from costs."""
    assert price is not None

    def each(nano: int) -> Decimal:
        return Decimal(nano) / NANO * 1_000_000 / tokens

    return (
        each(price.of_tokens(tokens, 0)),
        each(price.of_tokens(tokens, 0, cached=tokens)),
        each(price.of_tokens(0, tokens)),
    )


# -- our table --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        # the models of the published experiment, at the prices that their providers published
        ("openai/gpt-4o-2024-08-06", ("2.5", "1.25", "10")),
        ("google/gemini-1.5-pro-001", ("1.25", "1.25", "5")),
        ("anthropic/claude-3-5-sonnet-20240620", ("3", "0.3", "15")),
        ("openai/gpt-4o", ("2.5", "1.25", "10")),
        ("openai/gpt-4o-2024-05-13", ("5", "5", "15")),
        ("openai/gpt-4o-mini", ("0.15", "0.075", "0.6")),
        ("openai/gpt-4o-mini-2024-07-18", ("0.15", "0.075", "0.6")),
        ("openai/gpt-4.1-2025-04-14", ("2", "0.5", "8")),
        ("openai/o3", ("2", "0.5", "8")),
        ("anthropic/claude-3-haiku-20240307", ("0.25", "0.03", "1.25")),
        ("anthropic/claude-opus-4-20250514", ("15", "1.5", "75")),
        ("anthropic/claude-opus-4-1-20250805", ("15", "1.5", "75")),
        ("anthropic/claude-opus-4-5-20251101", ("5", "0.5", "25")),
        ("google/gemini-2.5-flash", ("0.3", "0.03", "2.5")),
        ("google/gemini-2.5-pro", ("1.25", "0.125", "10")),
        ("google/gemini-1.5-flash-latest", ("0.075", "0.01875", "0.3")),
    ],
)
def test_list_prices(model: str, expected: tuple[str, str, str]) -> None:
    price = ours().find(model)
    assert per_million(price) == tuple(Decimal(number) for number in expected)
    assert price is not None
    assert price.as_of == DAY
    assert "genai-prices" in price.source
    assert "as of 2026-11-20" in price.dated


@pytest.mark.parametrize(
    "model",
    [
        "openai/gpt-4o-audio",
        "openai/gpt-4o-minimal",
        "openai/gpt-4o-mini-2024-07-18-ft",
        "openai/gpt-4",  # known, but see below: not the price of gpt-4o
        "openai/gpt",
        "openai/gpt-4o-2",
        "openai/ft:gpt-4o:mine",
        "anthropic/gpt-4o",
        "anthropic/claude-opus-4-17",
        "anthropic/claude",
        "google/gemini-2.5-pro-tts",
        "google/gemini-2.5-pro-preview-tts",
        "compat/gpt-4o",
        "compat/gpt-4o@http://localhost:8000/v1",
        "elsewhere/gpt-4o",
        "anyllm/mistral/mistral-large",
    ],
)
def test_no_price_is_taken_from_a_model_of_a_similar_name(model: str) -> None:
    price = ours().find(model)
    if model == "openai/gpt-4":
        assert per_million(price)[0] == 30
    else:
        assert price is None


def test_a_base_url_and_another_door_make_no_difference() -> None:
    table = ours()
    plain = table.find("openai/gpt-4o")
    assert plain is not None
    for model in ("openai/gpt-4o@http://127.0.0.1:9/v1", "anyllm/openai/gpt-4o"):
        price = table.find(model)
        assert price is not None
        assert price.model == model
        assert price.rates == plain.rates


@pytest.mark.parametrize("model", ["transformers//models/qwen", "replay/calls.jsonl", "human/ana"])
def test_what_runs_here_is_free(model: str) -> None:
    price = ours().find(model)
    assert price is not None
    assert price.of_tokens(10**6, 10**6) == 0


def test_a_name_that_is_none() -> None:
    with pytest.raises(UserError, match="not the name"):
        ours().find("gpt-4o")


def test_long_prompts_cost_more_with_all_their_tokens() -> None:
    price = ours().find("google/gemini-2.5-pro")
    assert price is not None
    assert price.of_tokens(200_000, 0) == int(Decimal("1.25") * 200_000 * NANO / 10**6)
    assert price.of_tokens(200_001, 0) == int(Decimal("2.5") * 200_001 * NANO / 10**6)
    assert price.of_tokens(200_001, 10) - price.of_tokens(200_001, 0) == 10 * 15_000
    assert price.of_tokens(200_001, 0, cached=200_001) == int(Decimal("0.25") * 200_001 * NANO / 10**6)


def test_prices_change_on_their_day() -> None:
    model = "google/gemini-4-argon"
    before = ours(datetime.date(2026, 11, 30)).find(model)
    after = ours(datetime.date(2026, 12, 1)).find(model)
    assert per_million(before)[0] == 2
    assert per_million(after)[0] == 4


def test_sound_has_its_own_price() -> None:
    price = ours().find("google/gemini-2.5-flash")
    assert price is not None
    assert price.of_tokens(1_000, 0, audio=400) == 600 * 300 + 400 * 1_000


def test_parts_of_a_prompt_never_add_up_to_more_than_it() -> None:
    price = ours().find("google/gemini-2.5-flash")
    assert price is not None
    assert price.of_tokens(10, 0, cached=8, audio=8) == 8 * 30 + 2 * 1_000
    assert price.of_tokens(10, 0, cached=-5, audio=-5) == 10 * 300
    assert price.of_tokens(-1, -1) == 0


def test_every_entry_of_the_table_is_sound() -> None:
    from proctor.llm.prices import _our_table

    table = _our_table()
    seen: set[tuple[str, str]] = set()
    assert "check" in table.note
    assert len(table.models) > 80
    for model in table.models:
        assert model.names
        for name in model.names:
            assert (model.provider, name) not in seen, f"{name} has two prices"
            seen.add((model.provider, name))
            assert name == name.strip().lower()
            price = ours().find(f"{model.provider}/{name}")
            assert price is not None
            plain, cached, output = per_million(price)
            assert 0 < cached <= plain <= output < 1_000
            assert [rates.above for rates in price.rates] == sorted({rates.above for rates in price.rates})


# -- arithmetic -------------------------------------------------------------------------------------------------

TOKENS = st.integers(0, 10**9)


@given(TOKENS, TOKENS, TOKENS, TOKENS, st.decimals(0, 1_000, places=5), st.decimals(0, 1_000, places=5))
def test_costs_are_exact_and_rounded_up(
    input: int, output: int, cached: int, audio: int, plain: Decimal, said: Decimal
) -> None:
    nano = int(plain * NANO), int(said * NANO)
    price = Price(
        model="x/y",
        source="",
        as_of=None,
        rates=(Rates(above=0, input=nano[0], output=nano[1], cached=nano[0] // 10, audio=nano[1]),),
    )
    cached, audio = min(cached, input), max(0, min(audio, input - min(cached, input)))
    exact = (
        Decimal(nano[0]) * (input - cached - audio)
        + Decimal(nano[0] // 10) * cached
        + Decimal(nano[1]) * audio
        + Decimal(nano[1]) * output
    ) / 10**6
    assert price.of_tokens(input, output, cached=cached, audio=audio) == int(
        exact.to_integral_value(ROUND_CEILING)
    )


@pytest.mark.parametrize("usage", [Usage(), Usage(input=5), Usage(output=5)])
def test_what_was_not_counted_has_no_cost(usage: Usage) -> None:
    assert ours().cost("openai/gpt-4o", usage) is None


def test_costs_of_usage() -> None:
    table = ours()
    assert table.cost("openai/gpt-4o", Usage(input=1_000, output=100, cached=400)) == (
        600 * 2_500 + 400 * 1_250 + 100 * 10_000
    )
    assert table.cost("openai/gpt-4o", Usage(input=10, output=0, cached=99)) == 10 * 1_250
    assert table.cost("compat/unknown", Usage(input=10, output=0)) is None


# -- the user's prices ------------------------------------------------------------------------------------------

USER = """
[prices."compat/qwen*"]
input = 0.2
output = 0.6
as_of = 2026-10-01

[prices."compat/qwen-vl@http://gpu:8000/v1"]
input = 1
output = 3
cached = 0.1
per_image = 0.001
per_video_second = 0.0002
per_audio_second = 0.0001
above = [{ tokens = 1000, input = 2 }]

[prices."openai/gpt-4o"]
input = 2.0
output = 8.0
"""


def test_the_users_file_wins(tmp_path: Path) -> None:
    path = written(tmp_path, USER)
    table = PriceTable.load(path, day=DAY)
    assert per_million(table.find("openai/gpt-4o")) == (2, 2, 8)
    price = table.find("openai/gpt-4o@http://proxy/v1")
    assert price is not None
    assert price.rates[0].input == 2 * NANO
    assert price.source == str(path)
    qwen = table.find("compat/qwen2.5-72b@http://gpu:8000/v1")
    assert qwen is not None
    assert per_million(qwen) == (Decimal("0.2"), Decimal("0.2"), Decimal("0.6"))
    assert qwen.dated == f"{path}, as of 2026-10-01"
    assert per_million(table.find("openai/gpt-4o-mini"))[0] == Decimal("0.15")


def test_steps_and_media_of_the_users_file(tmp_path: Path) -> None:
    price = PriceTable.load(written(tmp_path, USER)).find("compat/qwen-vl@http://gpu:8000/v1")
    assert price is not None
    assert price.of_tokens(1_000, 0) == 1_000 * 1_000
    assert price.of_tokens(1_001, 1) == 1_001 * 2_000 + 3_000
    assert price.of_tokens(1_001, 0, cached=1_001) == 1_001 * 2_000  # no cached price is given there
    assert price.of_media(images=3) == 3_000_000
    assert price.of_media(video_seconds=2.5, audio_seconds=1.0) == 600_000
    assert price.of_media(video_seconds=1e-9) == 1


def test_json_and_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, json.dumps({"prices": {"a/*": {"input": 0.1, "output": 0.3}}}), "p.json")
    monkeypatch.setenv("PROCTOR_PRICES", str(path))
    assert per_million(PriceTable.load().find("a/b"))[0] == Decimal("0.1")
    monkeypatch.setenv("PROCTOR_PRICES", "")
    assert PriceTable.load().find("a/b") is None


def test_patterns_know_only_stars_and_the_longest_wins(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "".join(
            f"[prices.'{name}']\ninput = {number}\noutput = 1\n"
            for number, name in enumerate(["c/*", "c/x*", "c/x[1]*", "c/?", "c/xy"], start=1)
        ),
    )
    table = PriceTable.load(path, packages=False)
    found = {name: per_million(table.find(name))[0] for name in ("c/z", "c/xz", "c/x[1]a", "c/x1", "c/xy")}
    assert found == {"c/z": 1, "c/xz": 2, "c/x[1]a": 3, "c/x1": 2, "c/xy": 5}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prices = 3", "prices"),
        ("[price.x]\ninput=1", "price"),
        ('[prices."a/b"]\ninput = 1', "output"),
        ('[prices."a/b"]\ninput = "cheap"\noutput = 1', "input"),
        ('[prices."a/b"]\ninput = 1\noutput = 1\noutputs = 2', "outputs"),
        ('[prices."a/b"]\ninput = -1\noutput = 1', "input is -1"),
        ('[prices."a/b"]\ninput = nan\noutput = 1', "input"),
        ('[prices."a/b"]\ninput = inf\noutput = 1', "input"),
        ('[prices."a/b"]\ninput = 2000000\noutput = 1', "input is 2000000"),
        ('[prices."a/b"]\ninput = 1\noutput = 1\nabove = [{tokens = 5, input = -2}]', "above 5 input"),
        ('[prices."gpt-4o"]\ninput = 1\noutput = 1', "gpt-4o"),
        ("[prices", "TOML"),
        ("\udcff", "UTF-8"),
    ],
)
def test_a_broken_file_is_named_with_its_field(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UserError) as caught:
        PriceTable.load(path)
    assert str(path) in str(caught.value)
    assert said.lower() in str(caught.value).lower().replace("utf8", "utf-8")


def test_a_missing_or_broken_json_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        PriceTable.load(tmp_path / "none.toml")
    with pytest.raises(UserError, match="JSON"):
        PriceTable.load(written(tmp_path, "{", "p.json"))


# -- genai-prices -----------------------------------------------------------------------------------------------


def test_without_the_package_our_table_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    price = PriceTable(day=DAY).find("openai/gpt-4o")
    assert price is not None
    assert price.as_of == DAY


@pytest.mark.parametrize(
    "model",
    [
        "openai/gpt-4o-2024-08-06",
        "openai/gpt-5.4",
        "anthropic/claude-sonnet-4-5-20250929",
        "google/gemini-2.5-pro",
        "google/gemini-2.5-flash",
        "google/gemini-4-argon",
    ],
)
def test_the_package_and_our_table_agree(model: str) -> None:
    pytest.importorskip("genai_prices")
    theirs = PriceTable(day=DAY).find(model)
    mine = ours().find(model)
    assert theirs is not None
    assert mine is not None
    assert theirs.rates == mine.rates
    assert theirs.context == mine.context
    assert theirs.source.startswith("genai-prices ")


def test_the_package_knows_more_providers() -> None:
    pytest.importorskip("genai_prices")
    table = PriceTable(day=DAY)
    assert table.find("anyllm/mistral/mistral-large-latest") is not None
    assert table.find("compat/llama-3.3-70b-versatile@https://api.groq.com/openai/v1") is not None
    for unknown in ("compat/x@http://localhost:1/v1", "compat/x", "elsewhere/x", "openai/none-such"):
        assert table.find(unknown) is None


def test_the_package_computes_what_we_compute() -> None:
    package: Any = pytest.importorskip("genai_prices")
    for model, provider in (("gpt-4o", "openai"), ("gemini-2.5-pro", "google")):
        for input, output, cached in ((1_000, 50, 0), (300_000, 7, 1_000), (3, 0, 3)):
            usage = package.Usage(input_tokens=input, output_tokens=output, cache_read_tokens=cached)
            theirs = package.calc_price(usage, model, provider_id=provider).total_price
            mine = ours().cost(f"{provider}/{model}", Usage(input=input, output=output, cached=cached))
            assert mine == int((theirs * NANO).to_integral_value(ROUND_CEILING))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("openai/gpt-4oo", "openai/gpt-4o"),
        ("opnai/gpt-4o", "openai/gpt-4o"),
        ("openai/gpt-97", ""),  # another version, which may be new
        ("compat/gpt-4oo@http://127.0.0.1/v1", ""),  # servers name their models as they like
    ],
)
def test_a_name_that_is_nearly_one_of_the_table_is_hinted_at_and_never_refused(
    written: str, meant: str
) -> None:
    hint = f"Did you mean {meant}? " if meant else ""
    assert meant_model(written) == hint
    said: list[str] = []
    Budget(warn=said.append).require_price(written, known=False)
    assert hint in said[0]
    with pytest.raises(UserError) as caught:
        Budget(max_cost=Decimal(1)).require_price(written, known=False)
    assert str(caught.value.hint).startswith(hint)
