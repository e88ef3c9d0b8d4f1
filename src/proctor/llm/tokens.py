"""How many tokens a request will use, before it is sent: text by a measured rule, media by each provider's own.

**Text.** No provider publishes a tokeniser that works for all of its models without a download, so characters are counted by
kind, each kind with its own share of a token (``_SHARES``). Against ``o200k_base`` and ``cl100k_base`` (OpenAI), on 293 prompts, task
graphs, JSON records and encyclopaedia texts, the rule gives 0.79 to 1.20 times the true number (prompts of the published ProMQA
experiment: 0.92 to 1.03). Tables of bare numbers come out 0.7, other scripts 0.65 to 1.4, random strings (base64) 0.3 times. Other
providers' tokenisers are not at hand; theirs is a factor (``data/media.json``). ``worst`` is half as much again, and more for other
scripts.

**Images** count by width and height as the provider says: OpenAI in tiles of 512 or patches of 32 pixels after scaling,
Anthropic by area, Google in crops of 258 or a fixed number, by detail or media resolution. **Video and sound** count by the second.
Where a rule is not known for a model (it is newer than the data file), the estimate is marked and its worst is doubled.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from proctor.llm.message import Audio, Image, Request, Text, Video
from proctor.llm.model import ModelName
from proctor.records import canonical_json, decode

__all__ = [
    "DEFAULT_REPLY_TOKENS",
    "MediaLimits",
    "ReplyEstimate",
    "TokenEstimate",
    "estimate_reply",
    "estimate_text",
    "estimate_tokens",
    "media_limits",
    "rules_date",
]

DEFAULT_REPLY_TOKENS: Final = {"anthropic": 8_192, "openai": 16_384, "google": 65_536, "compat": 16_384}
"""The longest reply that is reckoned with when a request sets no limit (Anthropic's is the one that Proctor sends)."""

_WORST: Final = 1.5
_UNSURE: Final = 2.0
_MESSAGE_TOKENS: Final = 5
"""Tokens around each message: role and separators."""
_FRAME_TOKENS: Final = 8
_PART_TOKENS: Final = 4
"""Tokens around each image or clip (names, timestamps)."""


class TokenEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """Prompt tokens of a request.

    Attributes:
        expected: the best guess.
        worst: hardly ever exceeded; budgets count with it.
        text: expected tokens of text, the schema of a structured reply included.
        images: expected tokens of images.
        video: expected tokens of video.
        audio: expected tokens of sound.
        unsure: True when the rule for this model's media is not known.
    """

    expected: int
    worst: int
    text: int = 0
    images: int = 0
    video: int = 0
    audio: int = 0
    unsure: bool = False


class ReplyEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """Reply tokens of a request: the limit that it sets, or the longest that is reckoned with (``limited`` is False)."""

    worst: int
    limited: bool


class _Image(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    provider: str
    starts: str
    rule: str
    base: int = 0
    tile: int = 0
    cap: int = 0
    multiplier: float = 1.0
    edge: int = 0
    pixels: int = 1
    round: int = 0
    tokens: int = 0
    low: int = 0
    medium: int = 0
    high: int = 0
    sure: bool = True


class _Seconds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    provider: str
    starts: str
    video: float
    audio: float
    low: float = 0.0
    high: float = 0.0
    sure: bool = True


class _TextFactor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    provider: str
    factor: float


class MediaLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a provider takes in one request; None where it does not say.

    Attributes:
        provider: whose.
        images: how many.
        image_bytes: of one image, encoded.
        image_edge: pixels of the longer side.
        many_images: above so many images the sides may only have ``many_edge`` pixels.
        many_edge: see ``many_images``.
        request_bytes: of the whole body, media in base64.
        mimes: kinds of media; empty for any.
    """

    provider: str
    images: int | None = None
    image_bytes: int | None = None
    image_edge: int | None = None
    many_images: int | None = None
    many_edge: int | None = None
    request_bytes: int | None = None
    mimes: tuple[str, ...] = ()


class _Rules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    as_of: datetime.date
    source: str
    note: str
    images: tuple[_Image, ...]
    seconds: tuple[_Seconds, ...]
    text: tuple[_TextFactor, ...]
    limits: tuple[MediaLimits, ...]


class _ModelRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one model."""

    family: str
    image: _Image
    seconds: _Seconds
    factor: float


@cache
def _rules() -> _Rules:
    return decode((files("proctor.llm") / "data" / "media.json").read_bytes(), _Rules, "media.json")


def rules_date() -> datetime.date:
    """Return the day on which the rules for media were written down."""
    return _rules().as_of


def media_limits(model: str) -> MediaLimits:
    """Return what the provider of a model takes.

    Raises:
        UserError: if it is not the name of a model.
    """
    family = _family(ModelName.parse(model))[0]
    return next(limits for limits in _rules().limits if limits.provider == family)


def _family(name: ModelName) -> tuple[str, str]:
    """Return whose rules hold, and the provider's name of the model."""
    provider, model = name.provider, name.model
    if provider == "anyllm":
        provider, _, model = model.partition("/")
    return (provider if provider in {"openai", "anthropic", "google"} else "compat"), model


@lru_cache(maxsize=256)
def _rules_of(model: str, provider: str) -> _ModelRules:
    family, name = _family(ModelName.parse(model))
    if provider:
        family = provider if provider in {"openai", "anthropic", "google"} else "compat"
    rules = _rules()

    def longest(entries: Iterable[Any]) -> Any:
        fitting = [each for each in entries if each.provider == family and name.startswith(each.starts)]
        return max(fitting, key=lambda each: len(each.starts))

    factor = next(each.factor for each in rules.text if each.provider == family)
    return _ModelRules(
        family=family, image=longest(rules.images), seconds=longest(rules.seconds), factor=factor
    )


# -- text ----------------------------------------------------------------------------------------------------------

_LOWER, _UPPER, _DIGIT, _SPACE, _BREAK, _PUNCTUATION, _HIGH = range(7)
_SHARES: Final = (0.16, 0.24, 0.5, 0.34, 0.6, 0.75, 0.25)
"""Tokens for each small letter, capital, digit, space, other white space, sign, and byte of a character beyond ASCII (UTF-8)."""
_HIGH_WORST: Final = 0.45


def _kind(byte: int) -> int:
    character = chr(byte)
    if byte >= 128:
        return _HIGH
    if character.islower():
        return _LOWER
    if character.isupper():
        return _UPPER
    if character.isdigit():
        return _DIGIT
    if character == " ":
        return _SPACE
    return _BREAK if byte < 32 else _PUNCTUATION


_KINDS: Final = bytes(_kind(byte) for byte in range(256))


def _text_tokens(text: str) -> tuple[float, float]:
    """Return expected and worst tokens of the measured kind."""
    kinds = text.encode("utf-8", "surrogatepass").translate(_KINDS)
    expected = 0.0
    for kind, share in enumerate(_SHARES):
        expected += kinds.count(kind) * share
    more = kinds.count(_HIGH) * (_HIGH_WORST - _SHARES[_HIGH])
    return expected, min((expected + more) * _WORST, float(len(kinds)))


def estimate_text(text: str, model: str = "openai/-") -> tuple[int, int]:
    """Return expected and worst tokens of a text for a model."""
    factor = _rules_of(model, "").factor
    expected, worst = _text_tokens(text)
    return math.ceil(expected * factor), math.ceil(worst * factor)


# -- images --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1_024)
def _image_tokens(width: int, height: int, rule: _Image, detail: str) -> int:
    width, height = max(1, width), max(1, height)
    if rule.rule == "tiles":
        return _in_tiles(width, height, rule, detail)
    if rule.rule == "patches":
        return _in_patches(width, height, rule, detail)
    if rule.rule == "area":
        return _by_area(width, height, rule)
    fixed = {"low": rule.low, "medium": rule.medium, "high": rule.high}.get(detail, 0)
    if fixed:
        return fixed
    return rule.tokens if rule.rule == "fixed" else _in_crops(width, height, rule)


def _in_tiles(width: int, height: int, rule: _Image, detail: str) -> int:
    """OpenAI: fit into 2048 x 2048, then the shorter side to 768 at most, then tiles of 512; ``low`` is the base alone."""
    if detail == "low":
        return rule.base
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    return rule.base + rule.tile * _pieces(width * scale, 512) * _pieces(height * scale, 512)


def _in_patches(width: int, height: int, rule: _Image, detail: str) -> int:
    """OpenAI: patches of 32 pixels; an image with too many is scaled down until they are few enough."""
    cap = 10_000 if detail == "original" and rule.cap > 2_000 else rule.cap
    if detail == "low":
        scale = min(1.0, 512 / max(width, height))
        width, height = max(1, round(width * scale)), max(1, round(height * scale))
    patches = _pieces(width, 32) * _pieces(height, 32)
    if patches > cap:
        scale = math.sqrt(32 * 32 * cap / (width * height))
        across, down = width * scale / 32, height * scale / 32
        if across >= 1 and down >= 1:
            scale *= min(math.floor(across) / across, math.floor(down) / down)
        patches = min(cap, _pieces(width * scale, 32) * _pieces(height * scale, 32))
    return math.ceil(patches * rule.multiplier)


def _by_area(width: int, height: int, rule: _Image) -> int:
    """Anthropic: area / 750 after scaling the longer side to a limit; open models: patches of so many pixels."""
    scale = min(1.0, rule.edge / max(width, height))
    across, down = width * scale, height * scale
    if rule.round:
        across, down = _pieces(across, rule.round) * rule.round, _pieces(down, rule.round) * rule.round
    return max(1, min(rule.cap, math.ceil(across * down / rule.pixels)))


def _in_crops(width: int, height: int, rule: _Image) -> int:
    """Google (Gemini 2): one piece up to 384 x 384, else crops of the shorter side / 1.5, between 256 and 768 pixels."""
    if max(width, height) <= 384:
        return rule.tile
    unit = min(768, max(256, math.floor(min(width, height) / 1.5)))
    return rule.tile * _pieces(width, unit) * _pieces(height, unit)


def _pieces(length: float, unit: int) -> int:
    return max(1, math.ceil(round(length / unit, 9)))


# -- requests ------------------------------------------------------------------------------------------------------


def estimate_tokens(
    request: Request, provider: str = "", *, fixed_image_tokens: int | None = None
) -> TokenEstimate:
    """Estimate the prompt tokens of a request.

    Args:
        request: the call.
        provider: whose rules; that of the model's name when empty.
        fixed_image_tokens: of every image, for local models that turn any image into so many (LLaVA 1.5: 576).

    Raises:
        UserError: if the model's name is none.
    """
    rules = _rules_of(request.model, provider)
    detail, resolution = _asked_detail(request)
    if rules.family != "openai":
        detail = resolution
    text = worst = float(_FRAME_TOKENS)
    images = video = audio = parts = 0
    for message in request.messages:
        text += _MESSAGE_TOKENS
        worst += _MESSAGE_TOKENS * _WORST
        for part in message.parts:
            if isinstance(part, Text):
                expected, most = _text_tokens(part.text)
                text += expected * rules.factor
                worst += most * rules.factor
                continue
            parts += 1
            if isinstance(part, Image):
                if fixed_image_tokens is None:
                    images += _image_tokens(part.width, part.height, rules.image, detail)
                else:
                    images += fixed_image_tokens
            elif isinstance(part, Video):
                by_detail = {"low": rules.seconds.low, "high": rules.seconds.high}
                rate = by_detail.get(detail, 0.0) or rules.seconds.video
                video += math.ceil(_seconds(part) * rate)
            else:
                audio += math.ceil(_seconds(part) * rules.seconds.audio)
    if request.parameters.json_schema is not None:
        schema = canonical_json(request.parameters.json_schema).decode("utf-8", "replace")
        expected, most = _text_tokens(schema)
        text += expected * rules.factor
        worst += most * rules.factor
    media = images + video + audio + parts * _PART_TOKENS
    unsure = bool(
        (images and fixed_image_tokens is None and not rules.image.sure)
        or ((video or audio) and not rules.seconds.sure)
    )
    return TokenEstimate(
        expected=math.ceil(text) + media,
        worst=math.ceil(worst + media * (_UNSURE if unsure else 1.1)),
        text=math.ceil(text),
        images=images,
        video=video,
        audio=audio,
        unsure=unsure,
    )


def estimate_reply(request: Request) -> ReplyEstimate:
    """Return how long the reply may be.

    Models that think count their thinking as reply, within the same limit.
    """
    wanted = request.parameters.max_tokens
    if wanted is not None:
        return ReplyEstimate(worst=max(0, wanted), limited=True)
    family = _rules_of(request.model, "").family
    return ReplyEstimate(worst=DEFAULT_REPLY_TOKENS[family], limited=family == "anthropic")


def _seconds(part: Video | Audio) -> float:
    return part.seconds if math.isfinite(part.seconds) and part.seconds > 0 else 0.0


def _asked_detail(request: Request) -> tuple[str, str]:
    """Return OpenAI's detail of images and Google's media resolution, as the extra parameters ask for them."""
    extra = request.parameters.extra
    if not extra:
        return "", ""
    config = extra.get("generationConfig")
    asked = config.get("mediaResolution", "") if isinstance(config, dict) else ""
    resolution = str(asked).removeprefix("MEDIA_RESOLUTION_").lower()
    return str(extra.get("image_detail", "")), resolution
