"""What the stand-in's model says, before it is put into a provider's words."""

from __future__ import annotations

from typing import Any, Final, Literal, get_args

import msgspec

from proctor_rehearsal.standin.call import Call

__all__ = ["OUTCOMES", "Answer", "Outcome", "Used", "count_tokens", "count_used", "finish"]

Outcome = Literal["reply", "refusal", "truncated", "content_filter"]
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)

_UNKNOWN_IMAGE: Final = 258
_PIXELS_PER_TOKEN: Final = 750
_MEDIA_BYTES_PER_TOKEN: Final = 1_000


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a model says to one request.

    Attributes:
        text: the reply, or the explanation of a refusal.
        outcome: how it ended.
        data: values by field name for a reply that must follow a schema; fields without a value are made up by rule.
        thinking: what a model of this kind says to itself first; no part of the reply.
        copies: replies in the same response (more than were asked for is a fault of some servers).
        stop: the provider's own word for why it ended, instead of the usual one.
    """

    text: str = ""
    outcome: Outcome = "reply"
    data: dict[str, Any] = {}
    thinking: str = ""
    copies: int = 1
    stop: str = ""


class Used(msgspec.Struct, frozen=True):
    """Tokens of one call, by the stand-in's own rule."""

    input: int
    output: int
    reasoning: int = 0


def count_tokens(text: str) -> int:
    """Return the tokens of a text by the stand-in's rule: a token is four bytes of UTF-8, the last one begun."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return (size + 3) // 4


def count_used(call: Call, answer: Answer, *, media: bool = True) -> Used:
    """Return the tokens of a call: equal requests and replies count the same.

    Images cost a token for 750 pixels (258 where the size cannot be read), other media one for 1,000 bytes.

    Args:
        call: the request.
        answer: the reply.
        media: False leaves media out, so that they need not be decoded.
    """
    asked = count_tokens(call.text) + 4 * len(call.content.turns)
    for part in call.media if media else ():
        if part.kind == "image":
            pixels = part.width * part.height
            asked += -(-pixels // _PIXELS_PER_TOKEN) if pixels else _UNKNOWN_IMAGE
        else:
            asked += -(-part.size // _MEDIA_BYTES_PER_TOKEN)
    thought = count_tokens(answer.thinking)
    return Used(asked, count_tokens(answer.text) * answer.copies + thought, thought)


def finish(call: Call, answer: Answer) -> Answer:
    """Apply what the request asks of any reply: stop strings, then the limit on tokens, which counts thinking, too."""
    text, content = answer.text, call.content
    if answer.outcome != "reply":
        return answer
    places = [place for stop in content.stop if stop and (place := text.find(stop)) >= 0]
    if places:
        answer = msgspec.structs.replace(
            answer, text=text[: min(places)], stop=answer.stop or "stop_sequence"
        )
    if content.max_tokens is None:
        return answer
    left = content.max_tokens - count_tokens(answer.thinking)
    if left < 0:  # it was cut off while it thought
        thought = answer.thinking[: 4 * content.max_tokens]
        return msgspec.structs.replace(answer, thinking=thought, text="", outcome="truncated", stop="")
    return cut(answer, left) if count_tokens(answer.text) > left else answer


def cut(answer: Answer, tokens: int) -> Answer:
    """Cut a reply after so many tokens and say so."""
    kept = answer.text.encode("utf-8", "surrogatepass")[: 4 * tokens].decode("utf-8", "ignore")
    return msgspec.structs.replace(answer, text=kept, outcome="truncated", stop="")
