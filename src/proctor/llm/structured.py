"""Reading JSON out of replies: tolerant of what models put around it, strict about what it is.

Providers with structured output send bare JSON. Others put it into a code fence, write prose around it, or leave a comma
before a closing bracket. The *last* well-formed object that has the wanted keys counts: models think first and answer
last. What is not JSON (single quotes, comments, a missing bracket, the same key twice, NaN) is never guessed at:
``Unreadable`` says why, one repair round may be made with ``repair_messages``, and what is still unreadable then stays
unscored.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from proctor.llm.fence import escape_text, strip_fences
from proctor.llm.message import Message, Request, Text, user
from proctor.llm.outcome import Outcome, Reply

__all__ = [
    "REPLY_LIMIT",
    "FoundObject",
    "Unreadable",
    "ask_until_read",
    "find_objects",
    "read_object",
    "repair_messages",
    "spoken_text",
]

T = TypeVar("T")

REPLY_LIMIT: Final = 200_000
"""Characters beyond which a reply is not read: nothing that was asked for is that long."""

_ATTEMPTS: Final = 2_000
_WORK: Final = 20 * REPLY_LIMIT
"""Characters that may be looked at while objects are searched: a hostile reply costs no more than that."""
_DEPTH: Final = 60
_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THINKING_BEGINS = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_THINKING_ENDS = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_PAGE = re.compile(r"\s*(?:<!doctype\s+html|<html[\s>]|<\?xml|<head[\s>]|<body[\s>])", re.IGNORECASE)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}\[\],]', re.DOTALL)
"""Strings and brackets; a string without an end goes to the end of the text, so that reading stays linear."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a reply could not be read; ``detail`` is for people and for the repair round."""

    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FoundObject:
    """A JSON object in a text, with where it begins and ends."""

    value: dict[str, Any]
    begin: int
    end: int


def spoken_text(reply: str) -> str | Unreadable:
    """Return what a model says, without its thinking and without fenced values that it repeats.

    Unreadable are replies that are empty, too long, an error page, or thinking without an end.
    """
    if len(reply) > REPLY_LIMIT:
        return Unreadable("too_long", f"{len(reply)} characters")
    if _PAGE.match(reply):
        return Unreadable("not_a_reply", "an HTML or XML page")
    text = _without_thinking(reply)
    if text is None:
        return Unreadable("unfinished_thinking", "the thinking has no end")
    text = strip_fences(text)
    return text if text.strip() else Unreadable("empty")


def _without_thinking(text: str) -> str | None:
    if not _THINKING_ENDS.search(text):
        return None if _THINKING_BEGINS.match(text.lstrip()) else text
    if _THINKING_BEGINS.match(text.lstrip()) or not _THINKING_BEGINS.search(text):
        # Servers that strip the opening tag leave thinking and a closing tag.
        ends = list(_THINKING_ENDS.finditer(text))
        return text[ends[-1].end() :]
    return _THINKING.sub("", text)


def find_objects(text: str) -> list[FoundObject]:
    """Return the JSON objects of a text in order; objects inside objects are part of the outer one.

    A comma before a closing bracket is forgiven. An object with the same key twice, NaN or Infinity is none.
    """
    found: list[FoundObject] = []
    at = attempts = work = 0
    while attempts < _ATTEMPTS and work < _WORK and (begin := text.find("{", at)) >= 0:
        end, is_balanced = _balanced_end(text, begin)
        attempts, work = attempts + 1, work + end - begin
        value = _loads(text[begin:end]) if is_balanced else None
        if value is None:
            at = begin + 1
        else:
            found.append(FoundObject(value, begin, end))
            at = end
    return found


def _balanced_end(text: str, begin: int) -> tuple[int, bool]:
    """Return where the brackets that begin here end, strings respected, and whether they do."""
    stack: list[str] = []
    for token in _TOKEN.finditer(text, begin):
        char = token[0][0]
        if char in "{[":
            stack.append("}" if char == "{" else "]")
            if len(stack) > _DEPTH:
                return token.end(), False
        elif char in "}]":
            if stack.pop() != char:
                return token.end(), False
            if not stack:
                return token.end(), True
    return len(text), False


def _loads(text: str) -> dict[str, Any] | None:
    for version in (text, _without_trailing_commas(text)):
        try:
            value = json.loads(version, object_pairs_hook=_object, parse_constant=_refused, strict=False)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _without_trailing_commas(text: str) -> str:
    tokens = list(_TOKEN.finditer(text))
    drop = [
        token.start()
        for token, following in itertools.pairwise(tokens)
        if token[0] == ","
        and following[0] in ("}", "]")
        and not text[token.end() : following.start()].strip()
    ]
    pieces, at = [], 0
    for place in drop:
        pieces.append(text[at:place])
        at = place + 1
    return "".join((*pieces, text[at:]))


def read_object(reply: str, type_: type[T], *, required: Collection[str] = ()) -> T | Unreadable:
    """Read the last JSON object with the wanted keys into a type.

    Args:
        reply: what the model answered.
        type_: a msgspec structure or any other type that msgspec can convert to.
        required: keys that make an object the wanted one.
    """
    text = spoken_text(reply)
    if isinstance(text, Unreadable):
        return text
    objects = [o.value for o in find_objects(text) if all(key in o.value for key in required)]
    if not objects:
        keys = ", ".join(required)
        return Unreadable(
            "no_json", f"no well-formed JSON object{f' with the keys {keys}' if keys else ''} was found"
        )
    try:
        return msgspec.convert(objects[-1], type_)
    except (msgspec.ValidationError, RecursionError) as error:
        return Unreadable("wrong_shape", str(error)[:300])


def repair_messages(
    messages: Sequence[Message], reply: str, problem: Unreadable, form: str
) -> tuple[Message, ...]:
    """Return the messages of the one repair round: the old ones, the reply, and what is wrong with it.

    Args:
        messages: what was asked.
        reply: the answer that could not be read; at most its last 20,000 characters are sent back.
        problem: why not.
        form: the wanted form, in words of ours; no text of the data belongs here.
    """
    why = {
        "empty": "it was empty",
        "too_long": "it was far too long",
        "no_json": "it holds no well-formed JSON object of the wanted kind",
        "wrong_shape": "its JSON does not have the wanted keys and values",
        "no_verdict": "it does not end with a verdict in the wanted form",
        "contradictory": "it gives more than one verdict at once",
        "scale": "its verdict is not on the scale that was asked for",
    }.get(problem.reason, "it does not have the wanted form")
    asked = f"Your reply could not be read: {why}. Change nothing in what it says; repeat it in this form and write nothing else.\n{form}"
    said = escape_text(reply[-20_000:])
    if not said.strip():
        return (*messages, user(asked))
    return (*messages, Message("assistant", (Text(said),)), user(asked))


def ask_until_read(
    request: Request, problem: Callable[[str], Unreadable | None], form: str, *, repair: bool = True
) -> Generator[Request, Outcome, list[tuple[Request, Outcome]]]:
    """Ask, and ask once more for the right form where a reply lacks it; a part of a conversation.

    Args:
        request: the call.
        problem: from a reply to why it cannot be read; None when it can.
        form: the wanted form in words of ours.
        repair: False asks once only.

    Returns:
        The calls that were made with their outcomes, one or two; the last one counts.
    """
    calls: list[tuple[Request, Outcome]] = []
    while True:
        outcome = yield request
        calls.append((request, outcome))
        if len(calls) > 1 or not repair or not isinstance(outcome, Reply):
            return calls
        found = problem(outcome.text)
        if found is None:
            return calls
        messages = repair_messages(request.messages, outcome.text, found, form)
        request = msgspec.structs.replace(request, messages=messages)
