"""What a stand-in does: rules that make replies, faults with their schedules, latency. From Python or from a JSON file."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final, Literal, get_args

import msgspec

from proctor.errors import UserError
from proctor.records import read_bytes
from proctor_rehearsal.standin.answer import Outcome
from proctor_rehearsal.standin.call import Call

__all__ = [
    "FAULT_KINDS",
    "Fault",
    "FaultKind",
    "Latency",
    "Match",
    "Rule",
    "Script",
    "load_script",
    "parse_script",
]

FaultKind = Literal[
    # before the model: nothing is answered
    "status",  # an error status with the provider's own error body
    "stall",  # takes the request and says nothing for `seconds`, then closes
    "cut",  # closes the connection before the first header
    "reset",  # the same with a reset (RST)
    "redirect",  # 302 to `location`
    "html",  # an error page of a proxy
    "prompt_filter",  # the prompt is blocked, in the provider's own way
    # what the model does
    "refusal",
    "content_filter",  # the reply is blocked, in the provider's own way
    "length",  # the reply is cut off by the limit on tokens
    "empty_reply",  # a reply without text
    "wrong_schema",  # JSON that does not follow the schema; without a schema, another shape than asked for
    "duplicate",  # the reply that the model gave last, to whatever question
    "two_choices",  # two replies in one response
    # the body on the wire
    "slow",  # dribbles the body over `seconds`
    "cut_body",  # closes in the middle of the body
    "reset_body",  # the same with a reset (RST)
    "malformed",  # a body that is no JSON
    "truncated",  # a body that ends in the middle, with a length that fits
    "error_body",  # 200 with an error in the body
    "empty",  # 200 without a body
    "missing",  # 200 and JSON without any reply in it
    "two_bodies",  # the body twice, one after the other
    "bad_utf8",  # bytes that are no text
    "wrong_type",  # Content-Type text/plain
    "too_long",  # Content-Length promises more than there is
    "too_short",  # Content-Length promises less than there is
    "gzip",  # a good reply, compressed
    "bad_gzip",  # said to be compressed, and is not
    "gzip_bomb",  # a small body that unpacks to `bytes`
    "huge",  # a body of `bytes`
]
FAULT_KINDS: Final[tuple[FaultKind, ...]] = get_args(FaultKind)


_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@lru_cache(maxsize=1_000)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.DOTALL | re.MULTILINE)


class Match(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which requests are meant; every condition that is set must hold.

    Attributes:
        protocol: ``openai``, ``responses``, ``anthropic``, ``google`` or ``embeddings``.
        model: regular expression that must be found in the model's name.
        text: regular expression that must be found in system prompt and turns.
        last: regular expression that must be found in the last user turn.
        system: regular expression that must be found in the system prompt.
        media: True for requests with images, video or audio, False for those without.
        schema: True for requests that ask for structured output, False for those that do not.
        nth: the n-th time that this very request is seen (1 the first time).
    """

    protocol: str | None = None
    model: str | None = None
    text: str | None = None
    last: str | None = None
    system: str | None = None
    media: bool | None = None
    schema: bool | None = None
    nth: int | None = None

    def __post_init__(self) -> None:
        for name in ("model", "text", "last", "system"):
            pattern = getattr(self, name)
            if pattern is not None:
                try:
                    _pattern(pattern)
                except re.error as error:
                    raise ValueError(f"`{name}` is not a regular expression: {error}") from None

    def holds(self, call: Call) -> bool:
        """Say whether a request is meant; looks into the body only when a condition needs it."""
        if self.protocol is not None and call.protocol.name != self.protocol:
            return False
        if self.nth is not None and call.nth != self.nth:
            return False
        for pattern, get in (
            (self.model, _model),
            (self.system, _system),
            (self.last, _last),
            (self.text, _text),
        ):
            if pattern is not None and not _pattern(pattern).search(get(call)):
                return False
        if self.media is not None and self.media != bool(call.content.attached):
            return False
        return self.schema is None or self.schema == (call.content.schema is not None)

    def found(self, call: Call) -> re.Match[str] | None:
        """Return what `last`, `text` or `model` found, the first of these that is set."""
        for pattern, get in ((self.last, _last), (self.text, _text), (self.model, _model)):
            if pattern is not None:
                return _pattern(pattern).search(get(call))
        return None


def _model(call: Call) -> str:
    return call.model


def _system(call: Call) -> str:
    return call.system


def _last(call: Call) -> str:
    return call.last


def _text(call: Call) -> str:
    return call.text


class Latency(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long a reply takes, in seconds: always the same, between two limits, or log-normal.

    The draw depends on seed and request, not on order or time.

    Attributes:
        seconds: fixed part.
        low: with ``high``: a further part between the two, all equally likely.
        high: see ``low``.
        median: a further part that is log-normal with this median.
        spread: standard deviation of the logarithm of that part.
        most: no reply takes longer than this.
    """

    seconds: float = 0.0
    low: float = 0.0
    high: float = 0.0
    median: float = 0.0
    spread: float = 0.5
    most: float = 600.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"`{name}` must be a number of seconds, 0 or more")
        if self.high < self.low:
            raise ValueError("`high` must not be less than `low`")

    def draw(self, call: Call, seed: int) -> float:
        """Return the seconds that this request takes, the n-th time that it is seen."""
        took = self.seconds
        if self.high:
            took += self.low + (self.high - self.low) * call.draw("latency", seed, call.nth)
        if self.median:
            chance = min(max(call.draw("tail", seed, call.nth), 1e-9), 1 - 1e-9)
            took += self.median * math.exp(self.spread * NormalDist().inv_cdf(chance))
        return min(took, self.most)


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that goes wrong, and when. Conditions that are set must all hold; without any it always happens.

    Numbers of requests count those that ``match``, from 1, since the script was set.

    Attributes:
        kind: what happens.
        match: which requests it may meet.
        first: only the first n requests.
        every: only each n-th request.
        window: only from the a-th to the b-th request, both included (an outage).
        probability: only with this probability, drawn from the seed and the request's own bytes, so that order and
            concurrency do not change which requests fail.
        sticky: with ``probability``: True draws once for a request, so that it fails whenever it comes; False draws
            anew each time that the same request comes again.
        attempts: only the first n times that one and the same request comes; then it recovers.
        limit: at most n times altogether.
        crowd: only while more than n requests are being answered, this one included (a limit on concurrency).
        rate: only when more than n requests came within so many seconds and met no fault (a limit on the rate); this
            and ``crowd`` depend on time and therefore on the client.
        status: HTTP status of ``status`` (429 unless set) and ``html`` (502 unless set).
        retry_after: seconds that the client is asked to wait.
        retry_date: say so as a date instead of seconds.
        message: text of the error.
        code: the provider's code or status word of the error, instead of the usual one for this status.
        headers: further headers of the reply.
        body: the whole body of a ``status`` or ``html`` reply, instead of the usual one.
        location: where ``redirect`` points.
        seconds: of ``stall`` and ``slow``.
        bytes: of ``huge`` and ``gzip_bomb``, after unpacking.
    """

    kind: FaultKind = "status"
    match: Match = Match()
    first: int | None = None
    every: int | None = None
    window: tuple[int, int] | None = None
    probability: float | None = None
    sticky: bool = False
    attempts: int | None = None
    limit: int | None = None
    crowd: int | None = None
    rate: tuple[int, float] | None = None
    status: int | None = None
    retry_after: float | None = None
    retry_date: bool = False
    message: str = ""
    code: str = ""
    headers: dict[str, str] = {}
    body: str | None = None
    location: str = "http://127.0.0.1:9/elsewhere"
    seconds: float = 1.0
    bytes: int = 64 * 2**20

    def __post_init__(self) -> None:
        if self.probability is not None and not 0 <= self.probability <= 1:
            raise ValueError("`probability` must lie between 0 and 1")
        for name in ("first", "every", "attempts", "limit", "crowd"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"`{name}` must be 1 or more")
        if self.window is not None and not 1 <= self.window[0] <= self.window[1]:
            raise ValueError("`window` must be two counts of requests, from 1, in order")
        if self.rate is not None and not (self.rate[0] >= 1 and 0 < self.rate[1] <= 3_600):
            raise ValueError("`rate` must be a count of requests and a number of seconds, both above 0")
        if self.status is not None and not 200 <= self.status <= 599:
            raise ValueError("`status` must be an HTTP status from 200 to 599")
        if self.retry_after is not None and not (math.isfinite(self.retry_after) and self.retry_after >= 0):
            raise ValueError("`retry_after` must be a number of seconds, 0 or more")
        if not (math.isfinite(self.seconds) and self.seconds >= 0):
            raise ValueError("`seconds` must be 0 or more")
        if not 0 <= self.bytes <= 2**34:
            raise ValueError("`bytes` must lie between 0 and 16 GiB")
        _check_headers({**self.headers, "location": self.location})


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    r"""Which requests get which reply; the first rule that matches counts.

    Attributes:
        match: which requests are meant.
        reply: the text, or several to choose from.
        pick: which of several: ``hash`` by seed and request, ``turn`` one after the other as this rule is used.
        expand: put what the match's groups found for ``\1`` or ``\g<name>``.
        data: values by field name, for requests with a schema.
        behaviour: a built-in way to reply instead of a text: ``echo``, ``choices``, ``star-list`` or ``judge``.
        options: of the behaviour.
        outcome: how the reply ends.
        thinking: what the model says to itself first.
        latency: instead of the script's.
    """

    match: Match = Match()
    reply: str | list[str] | None = None
    pick: Literal["hash", "turn"] = "hash"
    expand: bool = False
    data: dict[str, Any] = {}
    behaviour: str | None = None
    options: dict[str, Any] = {}
    outcome: Outcome = "reply"
    thinking: str = ""
    latency: Latency | None = None

    def __post_init__(self) -> None:
        if isinstance(self.reply, list) and not self.reply:
            raise ValueError("`reply` must hold at least one text")
        if self.reply is not None and self.behaviour is not None:
            raise ValueError("a rule has a `reply` or a `behaviour`, not both")
        if self.options and self.behaviour is None:
            raise ValueError("`options` belong to a `behaviour`")


class Script(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that a stand-in does.

    Attributes:
        rules: tried in order; a request that none matches gets the reply of ``otherwise``.
        otherwise: the last rule; unless set, a fixed sentence.
        faults: tried in order; the first that is due happens.
        latency: seconds until a reply.
        seed: of every draw.
        headers: further headers of every reply of a model, such as ``x-ratelimit-remaining-requests``.
        models: names that ``/v1/models`` lists; when ``strict`` is set, others are not found (404).
        strict: see ``models``.
        key: the key that clients must send; None takes any and none. It is never logged.
        limit: bytes that a request may have; larger ones get 413.
        media_limit: bytes that one image, clip or sound may have.
        check: ``full`` decodes and hashes media; ``count`` only counts them; ``none`` looks at nothing unless a rule
            does, for measuring clients: tokens then count the body's bytes.
    """

    rules: list[Rule] = []
    otherwise: Rule = Rule(reply="This is the stand-in speaking.")
    faults: list[Fault] = []
    latency: Latency = Latency()
    seed: int = 0
    headers: dict[str, str] = {}
    models: list[str] = []
    strict: bool = False
    key: str | None = None
    limit: int = 64 * 2**20
    media_limit: int = 20 * 2**20
    check: Literal["full", "count", "none"] = "full"

    def __post_init__(self) -> None:
        _check_headers(self.headers)

    def __repr__(self) -> str:
        """Leave the key out: reprs end in logs."""
        return f"Script({len(self.rules)} rules, {len(self.faults)} faults, seed={self.seed})"

    def public(self) -> Script:
        """Return the script without its key."""
        return self if self.key is None else msgspec.structs.replace(self, key="(set)")


def _check_headers(headers: dict[str, str]) -> None:
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            raise ValueError(f"{name[:80]!r} is not the name of a header")
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"the header {name!r} holds what a header cannot hold")


def parse_script(data: bytes | str, *, where: str = "script") -> Script:
    """Read a script from JSON.

    Raises:
        UserError: if it is no JSON, or a field is unknown or out of range; the message names the field.
    """
    try:
        script = msgspec.json.decode(data, type=Script)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(
            f"{error}.", where=where, hint="docs/rehearsal.md shows the fields of a script"
        ) from None
    from proctor_rehearsal.standin.behaviours import check_rule

    for number, rule in enumerate([*script.rules, script.otherwise], start=1):
        try:
            check_rule(rule)
        except UserError as error:
            raise UserError(error.message, where=f"{where}, rule {number}", hint=error.hint) from None
    return script


def load_script(path: Path) -> Script:
    """Read a script file.

    Raises:
        UserError: if it cannot be read or is no script.
    """
    return parse_script(read_bytes(path), where=str(path))
