"""What a run would cost, told before anything is spent: from the real prompts, minus what the store already has."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from proctor.llm.budget import Need, dollars
from proctor.llm.limits import fits
from proctor.llm.message import Audio, Image, Request, Video
from proctor.llm.model import FUNCTION, PERSON
from proctor.llm.outcome import Usage
from proctor.llm.prices import Price, PriceTable, meant_model
from proctor.llm.tokens import TokenEstimate, estimate_reply, estimate_tokens, rules_date
from proctor.records import canonical_json

__all__ = ["EarlierReplies", "Estimate", "Estimator", "Line", "Meter", "render_estimate"]

_BATCH: Final = 500
_USUAL_REPLY: Final = 600
"""Tokens that are expected of a reply of whose like none is known, where no thinking is asked for and no limit is lower."""


class EarlierReplies(NamedTuple):
    """What replies of the same kind were like: the best guess of those to come.

    Attributes:
        calls: how many there were.
        tokens: of all of them together, thinking included.
    """

    calls: int
    tokens: int

    @property
    def mean(self) -> int:
        """Tokens of one, rounded up. The mean, not the median: what is wanted is the sum of many."""
        return -(-self.tokens // self.calls)


class Meter:
    """Says what a call may take at worst, and what it took: the ``Meter`` of a ``Caller``.

    Args:
        prices: today's, with the user's file, by default.
    """

    def __init__(self, prices: PriceTable | None = None) -> None:
        self.prices = prices or PriceTable.load()

    def need(self, request: Request) -> Need:
        """Estimate tokens and cost of a request, on the safe side.

        Raises:
            UserError: if the model's name is none.
        """
        tokens = estimate_tokens(request)
        reply = estimate_reply(request).worst
        price = self.prices.find(request.model)
        cost = None if price is None else _worst_cost(price, request, tokens, reply)
        paced = tokens.worst + min(reply, _usual_reply(request, reply))
        return Need(model=request.model, tokens=tokens.worst + reply, cost=cost, paced=paced)

    def cost(self, model: str, usage: Usage) -> int | None:
        """Return nano-dollars of what was used, None when price or usage are not known."""
        return self.prices.cost(model, usage)


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of one stage to one model. Tokens and money are of the new calls alone.

    Attributes:
        stage: name of the stage.
        model: full name.
        requests: asked for, repeated ones included.
        calls: different ones.
        new: that are not in the store, and will be sent.
        images: in the new calls.
        input: prompt tokens as expected.
        input_worst: prompt tokens at worst.
        output: reply tokens as expected: by the mean of earlier replies, else 600 each, and their limit where thinking is asked for.
        output_worst: reply tokens at worst.
        earlier: replies that ``output`` is told by; 0 when there are none.
        reply: tokens of each of them on average.
        cost: nano-dollars as expected; None when the price is not known.
        cost_worst: nano-dollars at worst.
        price: source and day of the price; empty when it is not known.
        unsure: True when the rule for this model's media is not known, so that tokens are a rough guess.
        unlimited: new calls that set no limit on the reply.
        too_large: new calls that the provider is not going to take as they are.
        guessed: new calls whose prompts cannot be made yet; they are counted by samples.
    """

    stage: str
    model: str
    requests: int = 0
    calls: int = 0
    new: int = 0
    images: int = 0
    input: int = 0
    input_worst: int = 0
    output: int = 0
    output_worst: int = 0
    earlier: int = 0
    reply: int = 0
    cost: int | None = None
    cost_worst: int | None = None
    price: str = ""
    unsure: bool = False
    unlimited: int = 0
    too_large: int = 0
    guessed: int = 0


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """What a run would take.

    Attributes:
        lines: by stage and model, in the order in which they came.
        requests: of all lines.
        calls: different ones.
        new: to be sent.
        input: prompt tokens as expected.
        input_worst: prompt tokens at worst.
        output: reply tokens as expected.
        output_worst: reply tokens at worst.
        cost: nano-dollars as expected, of the models whose price is known.
        cost_worst: nano-dollars at worst, of the models whose price is known.
        unpriced: models whose price is not known and that have new calls: they come on top.
        rules: day of the rules for media.
        left_out: recordings whose videos are not here, so that nothing that is shown of them is counted.
    """

    lines: tuple[Line, ...]
    requests: int
    calls: int
    new: int
    input: int
    input_worst: int
    output: int
    output_worst: int
    cost: int
    cost_worst: int
    unpriced: tuple[str, ...]
    rules: datetime.date
    left_out: tuple[str, ...] = ()


class _Sum:
    """A line in the making."""

    def __init__(self, stage: str, model: str, price: Price | None, earlier: EarlierReplies | None) -> None:
        self.stage, self.model, self.price = stage, model, price
        self.earlier = earlier if earlier is not None and earlier.calls else None
        self.requests = self.calls = self.new = self.images = 0
        self.input = self.input_worst = self.output = self.output_worst = 0
        self.cost = self.cost_worst = 0
        self.unsure = False
        self.unlimited = self.too_large = self.guessed = 0

    def line(self) -> Line:
        known = self.price is not None
        return Line(
            stage=self.stage,
            model=self.model,
            requests=self.requests,
            calls=self.calls,
            new=self.new,
            images=self.images,
            input=self.input,
            input_worst=self.input_worst,
            output=self.output,
            output_worst=self.output_worst,
            earlier=self.earlier.calls if self.earlier else 0,
            reply=self.earlier.mean if self.earlier else 0,
            cost=self.cost if known else None,
            cost_worst=self.cost_worst if known else None,
            price=self.price.dated if self.price is not None else "",
            unsure=self.unsure,
            unlimited=self.unlimited,
            too_large=self.too_large,
            guessed=self.guessed,
        )


class Estimator:
    """Adds up what stages would send.

    Args:
        prices: today's, with the user's file, by default.
        known: says which of some request keys the store has a final outcome for; nothing is known by default.
        earlier: earlier replies in a stage by a model, None when there are none; their mean is what is expected. Without
            them 600 tokens (a guess), or what the request allows where that is less or thinking is asked for.
    """

    def __init__(
        self,
        prices: PriceTable | None = None,
        known: Callable[[Sequence[str]], Collection[str]] | None = None,
        earlier: Callable[[str, str], EarlierReplies | None] | None = None,
    ) -> None:
        self._prices = prices or PriceTable.load()
        self._known = known or (lambda _: ())
        self._earlier = earlier or (lambda _stage, _model: None)
        self._seen: set[bytes] = set()
        self._sums: dict[tuple[str, str], _Sum] = {}

    def add(self, stage: str, requests: Iterable[Request], *, copies: int = 1) -> None:
        """Count the requests of a stage.

        Args:
            stage: its name.
            requests: the real ones; they are taken once, and not kept.
            copies: for stages whose prompts need the replies of earlier ones: each request stands for so many like it.
                Nothing is known then of what the store has.

        Raises:
            UserError: if a model's name is none.
            ValueError: if ``copies`` is below 1.
        """
        if copies < 1:
            raise ValueError(f"copies is {copies}")
        iterator = iter(requests)
        while batch := list(islice(iterator, _BATCH)):
            self._add(stage, batch, copies)

    def result(self) -> Estimate:
        """Return what has been added up."""
        lines = tuple(each.line() for each in self._sums.values())
        return Estimate(
            lines=lines,
            requests=sum(line.requests for line in lines),
            calls=sum(line.calls for line in lines),
            new=sum(line.new for line in lines),
            input=sum(line.input for line in lines),
            input_worst=sum(line.input_worst for line in lines),
            output=sum(line.output for line in lines),
            output_worst=sum(line.output_worst for line in lines),
            cost=sum(line.cost or 0 for line in lines),
            cost_worst=sum(line.cost_worst or 0 for line in lines),
            unpriced=tuple(dict.fromkeys(line.model for line in lines if line.cost is None and line.new)),
            rules=rules_date(),
        )

    def _add(self, stage: str, batch: Sequence[Request], copies: int) -> None:
        keys = [hashlib.sha256(canonical_json(request)).digest() for request in batch]
        fresh: list[tuple[str, Request]] = []
        for key, request in zip(keys, batch, strict=True):
            line = self._sum(stage, request.model)
            line.requests += copies
            if copies == 1 and key in self._seen:
                continue
            self._seen.add(key)
            line.calls += copies
            fresh.append((key.hex(), request))
        known = set(self._known([name for name, _ in fresh])) if copies == 1 and fresh else set()
        for name, request in fresh:
            if name not in known:
                self._count(self._sum(stage, request.model), request, copies)

    def _sum(self, stage: str, model: str) -> _Sum:
        found = self._sums.get((stage, model))
        if found is None:
            price, earlier = self._prices.find(model), self._earlier(stage, model)
            found = self._sums[stage, model] = _Sum(stage, model, price, earlier)
        return found

    def _count(self, line: _Sum, request: Request, copies: int) -> None:
        line.new += copies
        line.guessed += copies if copies > 1 else 0
        line.images += copies * sum(isinstance(part, Image) for part in request.media)
        if line.model.startswith((FUNCTION, PERSON)):
            return  # no tokens, and no price
        tokens, reply = estimate_tokens(request), estimate_reply(request)
        usual = line.earlier.mean if line.earlier else _usual_reply(request, reply.worst)
        output = min(reply.worst, usual)
        line.input += copies * tokens.expected
        line.input_worst += copies * tokens.worst
        line.output += copies * output
        line.output_worst += copies * reply.worst
        line.unsure |= tokens.unsure
        line.unlimited += 0 if reply.limited else copies
        price = line.price
        line.too_large += 0 if fits(request, context=price.context if price else None) else copies
        if price is not None:
            expected = price.of_tokens(tokens.expected, output, audio=tokens.audio)
            line.cost += copies * (expected + _media_cost(price, request))
            line.cost_worst += copies * _worst_cost(price, request, tokens, reply.worst)


def _usual_reply(request: Request, worst: int) -> int:
    return worst if request.parameters.reasoning not in {None, "none"} else _USUAL_REPLY


def _worst_cost(price: Price, request: Request, tokens: TokenEstimate, reply: int) -> int:
    audio = min(tokens.worst, 2 * tokens.audio)
    return price.of_tokens(tokens.worst, reply, audio=audio) + _media_cost(price, request)


def _media_cost(price: Price, request: Request) -> int:
    if not (price.per_image or price.per_video_second or price.per_audio_second):
        return 0
    media = request.media
    return price.of_media(
        images=sum(isinstance(part, Image) for part in media),
        video_seconds=sum(part.seconds for part in media if isinstance(part, Video)),
        audio_seconds=sum(part.seconds for part in media if isinstance(part, Audio)),
    )


# -- for people ----------------------------------------------------------------------------------------------------

_HEADINGS: Final = (
    "stage",
    "model",
    "calls",
    "stored",
    "new",
    "images",
    "tokens in",
    "tokens out",
    "cost",
    "at most",
)
_SPENT: Final = 6
"""The columns from here on are of tokens and money."""


def render_estimate(estimate: Estimate) -> str:
    """Return the estimate as a small table with its reservations below; of functions alone nothing is said of tokens and money."""
    rows = [_row(line) for line in estimate.lines]
    if len(rows) > 1:
        rows.append(
            (
                "together",
                "",
                f"{estimate.calls:,}",
                f"{estimate.calls - estimate.new:,}",
                f"{estimate.new:,}",
                f"{sum(line.images for line in estimate.lines):,}",
                f"{estimate.input:,}",
                f"{estimate.output:,}",
                dollars(estimate.cost) + ("+?" if estimate.unpriced else ""),
                dollars(estimate.cost_worst) + ("+?" if estimate.unpriced else ""),
            )
        )
    spent = any(not line.model.startswith((FUNCTION, PERSON)) for line in estimate.lines)
    shown = [row[: None if spent else _SPENT] for row in (_HEADINGS, *rows)]
    return "\n".join([*_aligned(shown), *_remarks(estimate)])


def _row(line: Line) -> tuple[str, ...]:
    return (
        line.stage,
        line.model,
        f"{line.calls:,}",
        f"{line.calls - line.new:,}",
        f"{line.new:,}",
        f"{line.images:,}",
        f"{line.input:,}",
        f"{line.output:,}",
        "unknown" if line.cost is None else dollars(line.cost),
        "" if line.cost_worst is None else dollars(line.cost_worst),
    )


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number < 2 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _remarks(estimate: Estimate) -> list[str]:
    remarks = [
        f"the price of {model} is not known: its cost comes on top. {meant_model(model)}Write it into a file and name that in PROCTOR_PRICES."
        for model in estimate.unpriced
    ]
    if estimate.left_out:
        remarks.append(
            f"the videos of {len(estimate.left_out):,} recordings are not here: their frames and clips are not counted, and come on "
            "top (say where they are: --videos FOLDER)"
        )
    remarks += [
        f"tokens out of {line.stage}, {line.model}: by the mean of {line.earlier:,} earlier replies, {line.reply:,} tokens"
        for line in estimate.lines
        if line.earlier and line.new
    ]
    if any(line.output and not line.earlier for line in estimate.lines):
        remarks.append(
            f"tokens out without earlier replies: {_USUAL_REPLY} each, or the limit of a reply that thinks or is shorter"
        )
    for price in dict.fromkeys(line.price for line in estimate.lines if line.price and line.output):
        models = ", ".join(
            dict.fromkeys(line.model for line in estimate.lines if line.price == price and line.output)
        )
        remarks.append(f"prices of {models}: {price}; check them before you rely on them")
    if any(line.unsure for line in estimate.lines):
        models = ", ".join(dict.fromkeys(line.model for line in estimate.lines if line.unsure))
        remarks.append(
            f"how {models} counts images or clips is not known to the rules of {estimate.rules}: tokens are a rough guess"
        )
    for count, text in (
        (sum(line.unlimited for line in estimate.lines), "set no limit on the reply: see 'at most'"),
        (sum(line.too_large for line in estimate.lines), "are larger than the provider takes"),
        (sum(line.guessed for line in estimate.lines), "depend on earlier replies: counted by samples"),
    ):
        if count:
            remarks.append(f"{count:,} new calls {text}")
    return remarks
