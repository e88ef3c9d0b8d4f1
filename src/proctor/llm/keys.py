"""Keys and addresses of providers: from the environment only, and never shown.

A key lives in a ``Key``, whose every printed form is the name of its variable. Only the HTTP headers of a request hold the
text itself. Whatever a provider writes goes through ``redact`` before it becomes a message of ours.
"""

from __future__ import annotations

import ipaddress
import os
import re
from typing import Final, NoReturn
from urllib.parse import urlsplit

from proctor.errors import UserError

__all__ = ["Key", "SecretText", "find_base_url", "find_key", "is_loopback", "redact"]

_KEY_LIKE: Final = re.compile(
    r"\b(?:sk|pk|rk|key|gsk|hf|xai|nvapi|pplx|r8)[-_](?=[A-Za-z._\-]*[0-9*])[A-Za-z0-9*._\-]{6,}"
    r"|\bAIza[A-Za-z0-9*_\-]{6,}|\bAQ\.[A-Za-z0-9*_\-]{6,}|\bBearer\s+[^\s\"',;]{8,}"
    r"|\b[A-Za-z0-9_\-]{2,}\*{4,}[A-Za-z0-9]*"
)
"""What keys of the usual providers look like, whole or with their middle starred out."""
_MAX_KEY: Final = 4_096


class SecretText(str):
    """Text that is a secret: equal to itself everywhere, but not shown by ``repr`` (tracebacks with local variables)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'[secret]'"


class Key:
    """A provider's key. Printing, formatting and logging show the variable's name; pickling is refused.

    Args:
        variable: the environment variable that it came from.
        value: the key.
    """

    __slots__ = ("_value", "variable")

    def __init__(self, variable: str, value: str) -> None:
        self.variable = variable
        self._value = SecretText(value)

    def reveal(self) -> str:
        """Return the key itself; for the header of a request and nothing else."""
        return self._value

    def header(self, name: str, before: str = "") -> dict[str, str]:
        """Return the header that carries the key; its value does not show itself.

        Args:
            name: of the header.
            before: what stands in front of the key, such as ``Bearer`` and a space.
        """
        return {name: SecretText(before + self._value)}

    def hide(self, text: str) -> str:
        """Return the text without this key, and without what looks like one."""
        return redact(text.replace(self._value, f"[{self.variable}]"))

    def __repr__(self) -> str:
        return f"Key({self.variable})"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not pickled: each process reads its own environment")


def redact(text: str) -> str:
    """Return the text with everything that looks like a key, whole or starred, replaced by ``[key]``."""
    return _KEY_LIKE.sub("[key]", text)


def find_key(*variables: str, required: bool = True) -> Key | None:
    """Return the first key that is set among the environment variables.

    Args:
        variables: names, the preferred one first.
        required: raise when there is none.

    Raises:
        UserError: if it is missing (naming the variable), or cannot be sent in a header (without showing it).
    """
    for variable in variables:
        value = os.environ.get(variable, "").strip()
        if value:
            return Key(variable, _checked(variable, value))
    if required:
        raise UserError(
            f"there is no key: the environment variable {variables[0]} is not set.",
            hint=f"export {variables[0]}=… in the shell that runs proctor"
            + (f" ({', '.join(variables[1:])} is read as well)" if variables[1:] else ""),
        )
    return None


def _checked(variable: str, value: str) -> str:
    if len(value) > _MAX_KEY or not (value.isascii() and value.isprintable()) or " " in value:
        raise UserError(
            f"the environment variable {variable} does not hold a key: "
            f"{len(value)} characters, of which some cannot be part of one.",
            hint="copy the key again: one line, no quotes, no spaces",
        )
    return value


def find_base_url(given: str, *variables: str, default: str, sends_key: bool) -> str:
    """Return the address of a provider, without a slash at the end.

    Args:
        given: from the model's name; wins, and is trusted as the user's word.
        variables: environment variables, such as ``OPENAI_BASE_URL``, the preferred one first.
        default: the provider's own; empty where there is none.
        sends_key: a key goes along, so plain HTTP to another machine is refused unless the name says it.

    Raises:
        UserError: if there is no address, or it is not one, holds credentials, or would send a key in clear text.
    """
    if given:
        return _checked_url(given, "the model's name")
    for variable in variables:
        url = os.environ.get(variable, "").strip()
        if url:
            url = _checked_url(url, variable)
            if sends_key and url.startswith("http://") and not is_loopback(url):
                raise UserError(
                    f"{variable} would send the key over plain HTTP.",
                    hint="use https://, or write the address into the model's name: PROVIDER/MODEL@http://host/v1",
                )
            return url
    if not default:
        raise UserError(
            "the model has no address.",
            hint="write it behind the name: compat/NAME@http://localhost:8000/v1"
            + (f", or set {variables[0]}" if variables else ""),
        )
    return default


def _checked_url(url: str, where: str) -> str:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not host or port == 0 or not url.isprintable() or " " in url:
        raise UserError(
            "this is not the address of a server.", where=where, hint="write http://host:port/v1 or https://…"
        )
    if "@" in parts.netloc:
        raise UserError(
            "the address of a model must not hold a user name or a key.",
            where=where,
            hint="keys come from the environment, such as OPENAI_API_KEY",
        )
    if parts.query or parts.fragment:
        raise UserError(
            "the address of a model has no question mark and no #.", where=where, hint="end it with the path"
        )
    return url.rstrip("/")


def is_loopback(url: str) -> bool:
    """Return True when the address is this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
