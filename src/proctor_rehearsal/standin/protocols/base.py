"""What a protocol has to do, and what several of them share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final
from typing import Protocol as Interface

from proctor_rehearsal.standin.answer import Answer, Used
from proctor_rehearsal.standin.call import Attached, Call, Content, Rejected

__all__ = ["Protocol", "Said", "Trouble", "data_url", "expect", "expect_list", "number"]

_DATA_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.-]+)*;base64,")


@dataclass(frozen=True, slots=True)
class Said:
    """A reply that is to be put into a provider's words.

    Attributes:
        call: the request.
        answer: what the model says.
        used: tokens.
        model: the request's model.
        name: of the call, unique.
    """

    call: Call
    answer: Answer
    used: Used
    model: str
    name: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error that is to be put into a provider's words.

    Attributes:
        status: HTTP status.
        message: for people.
        code: the provider's own code or status word, instead of the usual one.
        param: the field at fault.
        wait: seconds to wait, for protocols that say so in the body.
        name: of the call.
    """

    status: int
    message: str
    code: str = ""
    param: str | None = None
    wait: float | None = None
    name: str = ""


class Protocol(Interface):
    """One provider's way of speaking."""

    @property
    def name(self) -> str:
        """Short name: ``openai``, ``responses``, ``anthropic``, ``google`` or ``embeddings``."""
        ...

    def parse(self, call: Call) -> Content:
        """Read a request.

        Raises:
            Rejected: if the provider would not take it.
        """
        ...

    def render(self, said: Said) -> dict[str, Any]:
        """Return the body of a 200 reply."""
        ...

    def events(self, body: dict[str, Any]) -> bytes:
        """Return a rendered body as server-sent events."""
        ...

    def error(self, trouble: Trouble) -> dict[str, Any]:
        """Return the body of an error."""
        ...

    def blocked_prompt(self, said: Said) -> tuple[int, dict[str, Any]]:
        """Return status and body of a reply to a prompt that the provider blocks."""
        ...

    def headers(self, name: str) -> dict[str, str]:
        """Return the headers that every reply has."""
        ...


def expect(body: dict[str, Any], name: str, kind: type | tuple[type, ...], *, optional: bool = False) -> Any:
    """Return a field of the right type.

    Raises:
        Rejected: if it is missing or of another type.
    """
    value = body.get(name)
    if value is None:
        if optional:
            return None
        raise Rejected(f"Missing required parameter: '{name}'.", param=name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Rejected(f"Invalid type for '{name}': got {type(value).__name__}.", param=name)
    return value


def expect_list(body: dict[str, Any], name: str) -> list[Any]:
    """Return a list that is not empty.

    Raises:
        Rejected: if it is something else.
    """
    value = expect(body, name, list)
    if not value:
        raise Rejected(f"'{name}' must not be empty.", param=name)
    return list(value)


def number(body: dict[str, Any], *names: str) -> int | None:
    """Return the first of several limits that is set, 1 or more.

    Raises:
        Rejected: if it is no such number.
    """
    for name in names:
        value = expect(body, name, int, optional=True)
        if value is not None:
            if value < 1:
                raise Rejected(f"'{name}' must be at least 1.", param=name)
            return int(value)
    return None


def data_url(kind: str, url: object) -> Attached:
    """Read a data URL, or keep another URL as it is (nothing is fetched).

    Raises:
        Rejected: if it is no URL.
    """
    if not isinstance(url, str):
        raise Rejected(f"the {kind}'s url is not a string")
    if url.startswith("data:"):
        found = _DATA_URL.match(url)
        if found is None:
            raise Rejected(f"the {kind}'s data URL is not base64 with a media type")
        return Attached(kind, found[1] or "text/plain", text=url, start=found.end())
    if not url.startswith(("http://", "https://", "gs://")):
        raise Rejected(f"the {kind}'s url has a scheme that is not taken")
    return Attached(kind, "", url=url)
