"""JSON in which nothing is lost on the way: a repeated key, NaN and half characters are refused."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, Final, Never

from proctor.errors import UserError

__all__ = ["parse_json"]

_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")


class _RefusedError(ValueError):
    pass


def parse_json(data: bytes, where: str) -> object:
    """Return the document.

    Raises:
        UserError: if it is not UTF-8, not JSON, nested too deeply, or has a repeated key, a number that is none, or
            a half character (a lone surrogate).
    """
    try:
        text = data.decode("utf-8-sig")
        value: object = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        if _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise UserError(
            f"not UTF-8: {error.reason} at byte {error.start}.", where=where, hint="save the file as UTF-8"
        ) from None
    except UnicodeEncodeError:
        raise UserError(
            "a text has half of a character (a lone surrogate).", where=where, hint="correct the text"
        ) from None
    except json.JSONDecodeError as error:
        raise UserError(
            f"not valid JSON: {error.msg} in line {error.lineno}, column {error.colno}.",
            where=where,
            hint="is the file complete?",
        ) from None
    except _RefusedError as error:
        raise UserError(f"{error}.", where=where, hint="correct the file") from None
    except RecursionError:
        raise UserError("it is nested too deeply to be read.", where=where) from None
    except ValueError as error:  # numbers of thousands of digits
        raise UserError(f"not readable as JSON: {error}.", where=where) from None
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise _RefusedError(f"the key '{twice[:60]}' occurs twice in one object")
    return values


def _no_constant(name: str) -> Never:
    raise _RefusedError(f"{name} is not a JSON number")
