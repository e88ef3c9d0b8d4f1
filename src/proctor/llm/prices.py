"""What calls cost: list prices with their date and source, overridable, and never guessed.

Where a price comes from, first found first taken:

1. the user's file (``--prices``, or the environment variable ``PROCTOR_PRICES``): names may hold ``*``;
2. nobody is paid: ``transformers/``, ``replay/`` and ``human/`` cost nothing;
3. the package ``genai-prices``, if it is installed (it knows more providers, and may be newer than Proctor);
4. Proctor's own table, ``data/prices.json``, made from that package on the day that it names.

A model that none of them knows has no price. A name matches a name of a table when it is the same, or the same with a version
behind it (a date, ``-001``, ``-latest``, ``-preview``): ``gpt-4o-2024-08-06`` is a ``gpt-4o``, ``gpt-4o-mini`` is not.

Prices are of the standard service tier, without discounts for batches and without what writing to a cache costs extra.
"""

from __future__ import annotations

import datetime
import fnmatch
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.errors import UserError
from proctor.llm.budget import nano_dollars
from proctor.llm.model import FUNCTION, PERSON, ModelName
from proctor.llm.outcome import Usage
from proctor.records import decode, read_bytes

__all__ = ["FREE_PROVIDERS", "PRICES_VARIABLE", "Price", "PriceTable", "Rates", "meant_model", "meant_name"]

PRICES_VARIABLE: Final = "PROCTOR_PRICES"
FREE_PROVIDERS: Final = frozenset({"transformers", "replay", "human", FUNCTION, PERSON})
_MILLION: Final = 10**6
_VERSION: Final = re.compile(
    r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{3}|latest|preview|preview-\d{2}-\d{2}|preview-\d{2}-\d{4}|exp)\Z"
)
_OUR_FILE: Final = "prices.json"


class _Fields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Prices as they are written: US dollars per million tokens, except the last three."""

    input: Decimal
    output: Decimal
    cached: Decimal | None = None
    audio: Decimal | None = None
    per_image: Decimal | None = None
    per_video_second: Decimal | None = None
    per_audio_second: Decimal | None = None


class _Above(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    tokens: int
    input: Decimal | None = None
    output: Decimal | None = None
    cached: Decimal | None = None
    audio: Decimal | None = None


class _TableRates(_Fields, frozen=True, kw_only=True, rename={"since": "from"}):
    since: datetime.date | None = None
    above: tuple[_Above, ...] = ()


class _TableModel(msgspec.Struct, frozen=True, kw_only=True):
    provider: str
    names: tuple[str, ...]
    rates: tuple[_TableRates, ...]
    context: int | None = None


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    as_of: datetime.date
    source: str
    note: str
    models: tuple[_TableModel, ...]


class _UserPrice(_Fields, frozen=True, kw_only=True):
    as_of: datetime.date | None = None
    context: int | None = None
    above: tuple[_Above, ...] = ()


class _UserFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    prices: dict[str, _UserPrice]


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """Prices that hold from a number of prompt tokens on, in whole nano-dollars (exact).

    Attributes:
        above: prompt tokens above which they hold; every token of such a call has this price.
        input: per million prompt tokens.
        output: per million reply tokens, thinking included.
        cached: per million prompt tokens read from a cache.
        audio: per million prompt tokens of sound.
    """

    above: int
    input: int
    output: int
    cached: int
    audio: int


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """What one model costs.

    Attributes:
        model: full name as it was asked for.
        source: who says so.
        as_of: day on which it was true; None when the source does not say.
        rates: by prompt tokens, the first from 0 on.
        per_image: nano-dollars for each image, beside its tokens.
        per_video_second: nano-dollars for each second of video, beside its tokens.
        per_audio_second: nano-dollars for each second of sound, beside its tokens.
        context: prompt and reply tokens that the model takes, where the table says so.
    """

    model: str
    source: str
    as_of: datetime.date | None
    rates: tuple[Rates, ...]
    per_image: int = 0
    per_video_second: int = 0
    per_audio_second: int = 0
    context: int | None = None

    @property
    def dated(self) -> str:
        """Source and day in words, to be shown wherever the price is used."""
        return f"{self.source}, as of {self.as_of}" if self.as_of else self.source

    def of_tokens(self, input: int, output: int, *, cached: int = 0, audio: int = 0) -> int:
        """Return nano-dollars of a call, rounded up.

        Args:
            input: prompt tokens, cached ones and sound included.
            output: reply tokens.
            cached: of the prompt, read from a cache.
            audio: of the prompt, sound that is not cached.
        """
        rates = self.rates[0]
        if len(self.rates) > 1:
            rates = next(rates for rates in reversed(self.rates) if rates.above == 0 or input > rates.above)
        cached = max(0, min(cached, input))
        audio = max(0, min(audio, input - cached))
        plain = max(0, input) - cached - audio
        parts = (
            plain * rates.input + cached * rates.cached + audio * rates.audio + max(0, output) * rates.output
        )
        return -(-parts // _MILLION)

    def of_media(self, images: int = 0, video_seconds: float = 0.0, audio_seconds: float = 0.0) -> int:
        """Return nano-dollars that media cost beside their tokens, where a provider asks for that."""
        seconds = video_seconds * self.per_video_second + audio_seconds * self.per_audio_second
        return images * self.per_image + -int(-seconds // 1)

    def of_usage(self, usage: Usage) -> int | None:
        """Return nano-dollars of what was used; None when tokens cost something and the provider did not count them.

        Providers do not say which prompt tokens were sound, so those count as text.
        """
        if usage.input is None or usage.output is None:
            return None if any(rate.input or rate.output for rate in self.rates) else 0
        return self.of_tokens(usage.input, usage.output, cached=usage.cached or 0)


class PriceTable:
    """Finds prices. Make one for each run: what it found once, it finds again.

    Args:
        user: the user's prices by name of the model, from ``load``.
        user_source: where they come from.
        day: on which calls are made; today by default (UTC).
        packages: also ask ``genai-prices`` where it is installed.
    """

    def __init__(
        self,
        user: Mapping[str, _UserPrice] | None = None,
        *,
        user_source: str = "",
        day: datetime.date | None = None,
        packages: bool = True,
    ) -> None:
        self._user = dict(user or {})
        self._user_source = user_source
        self._day = day or datetime.datetime.now(datetime.UTC).date()
        self._packages = packages
        self._found: dict[str, Price | None] = {}

    @classmethod
    def load(
        cls, file: Path | None = None, *, day: datetime.date | None = None, packages: bool = True
    ) -> PriceTable:
        """Return the table, with the user's file over it.

        Args:
            file: TOML or JSON; by default the one that ``PROCTOR_PRICES`` names, if any.
            day: as for the class.
            packages: as for the class.

        Raises:
            UserError: if the file is missing or malformed; file and field are named.
        """
        if file is None and os.environ.get(PRICES_VARIABLE):
            file = Path(os.environ[PRICES_VARIABLE])
        if file is None:
            return cls(day=day, packages=packages)
        return cls(_read_user_file(file), user_source=str(file), day=day, packages=packages)

    def find(self, model: str) -> Price | None:
        """Return the price of a model by its full name, or None if nobody knows it.

        Raises:
            UserError: if it is not the name of a model.
        """
        if model not in self._found:
            self._found[model] = self._find(model)
        return self._found[model]

    def cost(self, model: str, usage: Usage) -> int | None:
        """Return nano-dollars of what was used, None when price or usage are not known."""
        price = self.find(model)
        return None if price is None else price.of_usage(usage)

    def _find(self, model: str) -> Price | None:
        name = ModelName.parse(model)
        written = _best_name(self._user, (model, f"{name.provider}/{name.model}"))
        if written is not None:
            own = self._user[written]
            return _price(model, self._user_source, own.as_of, own, own.above, own.context)
        if name.provider in FREE_PROVIDERS:
            free = Rates(above=0, input=0, output=0, cached=0, audio=0)
            return Price(model=model, source="runs here, nobody is paid", as_of=None, rates=(free,))
        if name.provider == "anyllm":
            provider, _, inner = name.model.partition("/")
            name = ModelName(provider, inner, name.base_url)
        if self._packages and (price := _genai_price(model, name, self._day)) is not None:
            return price
        return _our_price(model, name, self._day)


# -- our table -----------------------------------------------------------------------------------------------------


@cache
def _our_table() -> _Table:
    text = (files("proctor.llm") / "data" / _OUR_FILE).read_bytes()
    return decode(text, _Table, _OUR_FILE)


@cache
def _our_names() -> dict[tuple[str, str], _TableModel]:
    return {(model.provider, name): model for model in _our_table().models for name in model.names}


def meant_model(model: str) -> str:
    """Return ``Did you mean PROVIDER/MODEL? `` where our table holds nearly this name; empty for none.

    Names that differ in their digits are other versions, and a new one is not in the table. Own servers have names of their own.
    """
    name = ModelName.parse(model)
    if name.base_url:
        return ""
    written = f"{name.provider}/{name.model}"
    near = _alike(written, [f"{provider}/{one}" for provider, one in _our_names()])
    return f"Did you mean {near[0]}? " if near and near[0] != written else ""


def meant_name(word: str) -> str:
    """Return what was meant by a word that is no model; empty for nothing that is known.

    It is ``did you mean PROVIDER/MODEL?`` where it is nearly a model of our table without its provider, and ``python:module:function``
    where it is a function without its prefix.
    """
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", word):
        return f"did you mean {FUNCTION}{word}?"
    full = {one: f"{provider}/{one}" for provider, one in _our_names()}
    near = _alike(word, full)
    return f"did you mean {full[near[0]]}?" if near else ""


def _alike(written: str, known: Iterable[str]) -> list[str]:
    digits = re.findall(r"\d", written)
    alike = [one for one in known if re.findall(r"\d", one) == digits]
    return get_close_matches(written, alike, n=1, cutoff=0.85)


def _our_price(model: str, name: ModelName, day: datetime.date) -> Price | None:
    table, names = _our_table(), _our_names()
    found = names.get((name.provider, name.model))
    if found is None and (suffix := _VERSION.search(name.model)):
        found = names.get((name.provider, name.model[: suffix.start()]))
    if found is None:
        return None
    valid = [rates for rates in found.rates if rates.since is None or rates.since <= day] or found.rates[:1]
    written = valid[-1]
    return _price(model, table.source, table.as_of, written, written.above, found.context)


def _price(
    model: str,
    source: str,
    as_of: datetime.date | None,
    written: _Fields,
    above: tuple[_Above, ...],
    context: int | None,
) -> Price:
    base = _rates(0, written.input, written.output, written.cached, written.audio)
    steps = [
        _rates(
            step.tokens,
            written.input if step.input is None else step.input,
            written.output if step.output is None else step.output,
            step.cached if step.input is not None or step.cached is not None else written.cached,
            step.audio if step.input is not None or step.audio is not None else written.audio,
        )
        for step in sorted(above, key=lambda step: step.tokens)
    ]
    return Price(
        model=model,
        source=source,
        as_of=as_of,
        rates=(base, *steps),
        per_image=nano_dollars(written.per_image or 0),
        per_video_second=nano_dollars(written.per_video_second or 0),
        per_audio_second=nano_dollars(written.per_audio_second or 0),
        context=context,
    )


def _rates(
    above: int, input: Decimal, output: Decimal, cached: Decimal | None, audio: Decimal | None
) -> Rates:
    """Return exact rates; what has no price of its own costs what other prompt tokens cost."""
    plain = nano_dollars(input)
    return Rates(
        above=above,
        input=plain,
        output=nano_dollars(output),
        cached=plain if cached is None else nano_dollars(cached),
        audio=plain if audio is None else nano_dollars(audio),
    )


# -- the user's file -----------------------------------------------------------------------------------------------


def _read_user_file(file: Path) -> dict[str, _UserPrice]:
    data = read_bytes(file)
    prices: dict[str, _UserPrice]
    if file.suffix.lower() != ".toml":
        prices = decode(data, _UserFile, str(file)).prices
    else:
        try:
            table = tomllib.loads(data.decode("utf-8"), parse_float=Decimal)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UserError(f"not valid TOML: {error}.", where=str(file), hint=_EXAMPLE) from None
        try:
            prices = msgspec.convert(table, _UserFile).prices
        except msgspec.ValidationError as error:
            raise UserError(f"{error}.", where=str(file), hint=_EXAMPLE) from None
    for name, price in prices.items():
        _check(name, price, file)
    return prices


_EXAMPLE: Final = (
    'write [prices."openai/gpt-4o"] and below it input = 2.5 and output = 10.0 (USD per million tokens)'
)


def _check(name: str, price: _UserPrice, file: Path) -> None:
    if "/" not in name:
        raise UserError(f"{name!r} is not the full name of a model.", where=str(file), hint=_EXAMPLE)
    numbers: dict[str, Any] = msgspec.structs.asdict(price)
    numbers.update(
        {
            f"above {step.tokens} {key}": v
            for step in price.above
            for key, v in msgspec.structs.asdict(step).items()
        }
    )
    for field, value in numbers.items():
        if isinstance(value, Decimal) and not (value.is_finite() and 0 <= value <= _MILLION):
            raise UserError(
                f"{field} is {value}, which is no price in USD.", where=f"{file}: {name}", hint=_EXAMPLE
            )


def _best_name(written: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the entry for a model: its own name first, then the longest pattern that fits."""
    for name in names:
        if name in written:
            return name
    fitting = [
        pattern
        for pattern in written
        if "*" in pattern
        and any(fnmatch.fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]")) for name in names)
    ]
    return max(fitting, key=lambda pattern: (len(pattern), pattern)) if fitting else None


# -- genai-prices --------------------------------------------------------------------------------------------------


def _genai_price(model: str, name: ModelName, day: datetime.date) -> Price | None:
    """Ask the package; it is imported only here, at the first model that is asked for."""
    if name.provider == "compat" and not name.base_url:
        return None
    try:
        snapshot = import_module("genai_prices.data_snapshot").get_snapshot()
    except ImportError:
        return None
    by_url = name.provider == "compat"
    place = (None, name.base_url) if by_url else (name.provider, None)
    try:
        _, found = snapshot.find_provider_model(name.model, None, *place)
    except (LookupError, ValueError):
        return None
    prices = found.get_prices(datetime.datetime.combine(day, datetime.time(12), datetime.UTC))
    written, above = _genai_fields(prices)
    if written is None:
        return None
    source = f"genai-prices {version('genai-prices')}"
    return _price(model, source, None, written, above, found.context_window)


def _genai_fields(prices: Any) -> tuple[_Fields | None, tuple[_Above, ...]]:
    fields = {
        "input": "input_mtok",
        "output": "output_mtok",
        "cached": "cache_read_mtok",
        "audio": "input_audio_mtok",
    }
    base: dict[str, Decimal] = {}
    above: dict[int, dict[str, Decimal]] = {}
    for ours, theirs in fields.items():
        price = getattr(prices, theirs, None)
        if price is None:
            continue
        for step in getattr(price, "tiers", ()):
            above.setdefault(step.start, {})[ours] = step.price
        base[ours] = getattr(price, "base", price)
    if not {"input", "output"} <= base.keys():
        return None, ()
    return _Fields(**base), tuple(_Above(tokens=start, **step) for start, step in sorted(above.items()))
