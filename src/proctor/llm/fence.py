r"""Fences: how text that others wrote stands in a prompt without being taken for the prompt itself.

A value stands between two marker lines that carry a token::

    <<<BEGIN answer 8c1f0a2e9b7d4455>>>
    whatever the candidate wrote
    <<<END answer 8c1f0a2e9b7d4455>>>

**The token** is an HMAC-SHA256 (its first 64 bits) over the template and *all* values of the prompt, keyed with a secret
of the workspace (``FenceSecret``). So:

- the same request made again has the same token, hence the same key in the call store, and is not paid for twice;
- who writes data (an answer, a step text, a file name) cannot know the token in advance: the secret is not in any
  record, and 64 bits are not guessed;
- who has *seen* tokens, because a prompt of this workspace was published, learns nothing about others: the token
  changes with every character of every value, and writing a seen token into a value changes the token;
- the token is checked not to occur in any value; would it ever, another one is derived.

What remains: who knows the secret can compute tokens of texts that he fully controls. Publish a workspace's secret only
together with its replay file, when its run is over, and never judge new data under a published secret.

**Look-alikes** of a marker, markers of chat templates (``<|im_start|>``, ``[INST]``, …, which some servers turn into
real role changes) and characters that cannot be seen are written as visible escapes (``\x3c``, ``\u202e``): nothing
is taken away, and nothing in a value can end its fence.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from proctor.errors import UserError
from proctor.records import canonical_json, read_bytes

__all__ = [
    "FENCE_FILE",
    "VALUE_LIMIT",
    "FenceSecret",
    "Fencer",
    "Untrusted",
    "Value",
    "escape_text",
    "strip_fences",
]

FENCE_FILE: Final = "prompt-secret"
"""Name of the secret's file in a workspace."""

VALUE_LIMIT: Final = 400_000
"""Characters of one text in a prompt where nothing else is said."""

_SECRET_BYTES: Final = 32
_TOKEN_DIGITS: Final = 16
_LABEL = re.compile(r"[a-z][a-z0-9 -]{0,40}")

_LESS: Final = "<＜﹤‹«〈⟨《⟪≪⋘˂ᐸ❮❰〈⧼"
_MORE: Final = ">＞﹥›»〉⟩》⟫≫⋙˃ᐳ❯❱〉⧽"
_BAR: Final = "|｜∣ǀ¦"
_SPECIAL_TAGS: Final = (
    r"s|bos|eos|pad|unk|mask|sep|cls|image|img|video|audio|im_\w+|(?:start|end)_of_\w+|begin_of_\w+|eo[tms]_id|"
    r"image_\w+|vision_\w+|tool_\w+|function_\w+|unused\d+|user|assistant|system|think|thinking|endoftext"
)
_ESCAPED = re.compile(
    "|".join(
        (
            f"[{_LESS}]{{2,}}|[{_MORE}]{{2,}}",  # markers, << SYS >>
            f"[{_LESS}](?=[{_BAR}])|(?<=[{_BAR}])[{_MORE}]",  # <|im_start|>
            rf"[{_LESS}](?=\s*/?\s*(?:{_SPECIAL_TAGS})\s*/?\s*[{_MORE}])",  # <s>, </s>, <start_of_turn>
            r"\[(?=\s*/?\s*(?:INST|SYS|SYSTEM_PROMPT|TOOL_\w+|AVAILABLE_TOOLS|IMG\w*|gMASK)\s*\])",  # [INST]
            "[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}",  # bytes hidden in variation selectors
        )
    ),
    re.IGNORECASE,
)
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    "\u2800\u3000\u3164\ufeff\uffa0\ufff0-\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
    "\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff]"
)
_ORDINARY = re.compile(r"[\t\n -;=?-Z\\\]-{}~]*")
"""ASCII without control characters, angle brackets, ``[`` and ``|``: nothing in it is ever escaped."""
_SPACES: Final = frozenset("\xa0\u2002\u2003\u2009\u202f\u3000")
"""Blanks of ordinary typography: they become a plain space."""
_JOINERS: Final = frozenset("\u200c\u200d")
_MARKER = re.compile(r"<<<(BEGIN|END) ([a-z][a-z0-9 -]{0,40} [0-9a-f]{16})>>>")


# -- the secret ------------------------------------------------------------------------------------------------


class FenceSecret:
    """What makes the tokens of a workspace unpredictable.

    Args:
        secret: at least 16 bytes.
    """

    def __init__(self, secret: bytes) -> None:
        if len(secret) < 16:
            raise UserError("the secret of the prompts must have at least 16 bytes.")
        self._secret = secret

    @classmethod
    def load(cls, path: Path) -> FenceSecret:
        """Read the secret of a workspace; made at the first use, readable by its owner only.

        Raises:
            UserError: if the file cannot be read or written, or holds something else.
        """
        if not path.exists():
            _create(path)
        text = read_bytes(path).decode("ascii", "replace").strip()
        if not re.fullmatch(r"[0-9a-f]{32,256}", text) or len(text) % 2:
            raise UserError(
                "this is not the secret of the prompts.",
                where=str(path),
                hint="restore a copy; deleting it means that every call is made and paid for again",
            )
        return cls(bytes.fromhex(text))

    def token(self, content: object) -> str:
        """Return the token of a content: 16 hex digits."""
        return hmac.new(self._secret, canonical_json(content), hashlib.sha256).hexdigest()[:_TOKEN_DIGITS]

    def __repr__(self) -> str:
        return "FenceSecret(…)"

    def __reduce__(self) -> tuple[object, ...]:
        """Let it travel to worker processes."""
        return FenceSecret, (self._secret,)


def _create(path: Path) -> None:
    """Write a new secret; of several processes that try at once, one wins."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write_new(temporary)
            with suppress(FileExistsError):
                _publish(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot be written: {error.strerror or error}.",
            where=str(path),
            hint="check permissions and free space, then run the same command again",
        ) from error


def _write_new(path: Path) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as stream:
        stream.write(secrets.token_hex(_SECRET_BYTES).encode("ascii") + b"\n")
        stream.flush()
        os.fsync(stream.fileno())


def _publish(temporary: Path, path: Path) -> None:
    """Give the file its name, unless the name is taken; whole where the file system has hard links."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        _write_new(path)


# -- values ----------------------------------------------------------------------------------------------------


class Untrusted:
    """A text from data or from a model: it can be fenced and tested for emptiness, and nothing else.

    Printing it outside of a fence is an error of the template, found whenever it is rendered.
    """

    __slots__ = ("_name", "_text")

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._text = text

    def __str__(self) -> str:
        raise UserError(
            f"the template prints '{self._name}' outside of a fence.",
            hint=f'write {{{{ fence({self._name}, "{self._name}") }}}}',
        )

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return str(self)

    def __bool__(self) -> bool:
        return bool(self._text.strip())


Value = Untrusted | Sequence["Value"] | None
"""What the fences take: one text, or texts in lists; a list inside a list belongs to the text before it."""


def escape_text(text: str, *, one_line: bool = False) -> str:
    r"""Write look-alikes of markers and what cannot be seen as visible escapes.

    Args:
        text: from data or from a model.
        one_line: line breaks are written as ``\n`` as well, so that a text stays one entry of a list.
    """
    if not _ORDINARY.fullmatch(text):
        text = _escaped(text)
    return text.replace("\n", "\\n") if one_line else text


@lru_cache(maxsize=1_024)  # a source stands in many prompts
def _escaped(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _INVISIBLE.sub(lambda found: _shown(text, found), text)
    return _ESCAPED.sub(lambda found: "".join(map(_code, found[0])), text)


def _shown(text: str, found: re.Match[str]) -> str:
    char = found[0]
    if char in _SPACES:
        return " "
    # a joiner between letters of scripts that need it, or between parts of an emoji
    at = found.start()
    around = text[at - 1 : at] + text[at + 1 : at + 2]
    joins = len(around) == 2 and all(
        unicodedata.category(c) in ("Lo", "Mn", "Mc", "So", "Sk") for c in around
    )
    return char if char in _JOINERS and joins else _code(char)


def _code(char: str) -> str:
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


class Fencer:
    """Puts the values of one prompt between markers.

    Args:
        token: of the prompt.
        limits: characters of one text, by the name of its variable; of a longer one the middle is left out, visibly.
    """

    def __init__(self, token: str, limits: Mapping[str, int]) -> None:
        self.token = token
        self.labels: list[str] = []
        self.shortened: list[str] = []
        self._limits = limits

    def block(self, value: Value, label: str) -> str:
        """Return one text between marker lines."""
        return self._wrap(label, "\n" + self._text(value, label, one_line=False) + "\n")

    def inline(self, value: Value, label: str) -> str:
        """Return one text between markers on the same line."""
        return self._wrap(label, self._text(value, label, one_line=True))

    def items(self, values: Value, label: str) -> str:
        """Return a list between marker lines, one line an entry; a list inside is indented below its entry."""
        return self._wrap(label, "\n" + "".join(self._lines(values, label, "")))

    def each(self, values: Value, label: str) -> str:
        """Return every entry of a list between its own marker lines: ``label 1``, ``label 2`` and so on."""
        return "\n".join(self.block(v, f"{label} {n}") for n, v in enumerate(self._list(values, label), 1))

    def _wrap(self, label: str, content: str) -> str:
        if not _LABEL.fullmatch(label):
            raise UserError(
                f"{label[:60]!r} cannot label a fence: small letters, digits, spaces and dashes can."
            )
        if label in self.labels:
            raise UserError(f"the template has two fences with the label '{label}'.")
        self.labels.append(label)
        return f"<<<BEGIN {label} {self.token}>>>{content}<<<END {label} {self.token}>>>"

    def _text(self, value: Value, label: str, *, one_line: bool) -> str:
        if not isinstance(value, Untrusted):
            raise UserError(f"the fence '{label}' needs one text of the data, not {type(value).__name__}.")
        text = value._text
        limit = self._limits.get(value._name, VALUE_LIMIT)
        if len(text) > limit:
            half = limit // 2
            left_out = len(text) - 2 * half
            text = f"{text[:half]}\n[... {left_out} characters left out here ...]\n{text[-half:]}"
            self.shortened.append(f"{label}: {left_out} characters left out of the middle")
        return escape_text(text, one_line=one_line)

    def _list(self, values: Value, label: str) -> Sequence[Value]:
        if isinstance(values, Sequence) and not isinstance(values, str):
            return values
        raise UserError(f"the fence '{label}' needs a list of texts, not {type(values).__name__}.")

    def _lines(self, values: Value, label: str, indent: str) -> list[str]:
        lines: list[str] = []
        for value in self._list(values, label):
            if isinstance(value, Untrusted):
                lines.append(f"{indent}- {self._text(value, label, one_line=True)}\n")
            else:
                lines += self._lines(value, label, indent + "    ")
        return lines


def strip_fences(text: str) -> str:
    """Return a reply without fenced values that the model repeated: they are data, not its words."""
    kept: list[str] = []
    begin, opened, at = 0, "", 0
    for marker in _MARKER.finditer(text):
        if not opened and marker[1] == "BEGIN":
            begin, opened = marker.start(), marker[2]
        elif marker[1] == "END" and marker[2] == opened:
            kept.append(text[at:begin])
            at, opened = marker.end(), ""
    return "".join((*kept, text[at:]))
