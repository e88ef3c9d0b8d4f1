"""How models are to reply: what the user says, over what the protocol of a stage says.

A protocol says how many tokens a reply may have, and whether it is drawn or greedy. Its limits are made for models that answer at
once: a model that thinks first spends them on thinking, and its reply is cut off before it has begun. So a limit is raised to
``LEAST_TOKENS``, more where thinking is asked for; it costs nothing where a reply ends by itself. ``published`` keeps the
protocol's own.

Each value is said for all models of a command, for a role (``judge=0``) or for one model (``openai/o3=high``); the more precise
word counts. What is said is part of the request, and so of its key (docs/llm.md, "How models reply").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from proctor.errors import UserError
from proctor.llm.message import Parameters

__all__ = ["EFFORTS", "LEAST_TOKENS", "NAMES", "PUBLISHED", "ROLES", "Replying", "thinking_tokens"]

PUBLISHED: Final = "published"
LEAST_TOKENS: Final = 4_096
"""Tokens that a reply may have at least, thinking included: what the smallest of the models in use takes at most."""
EFFORTS: Final[Mapping[str, int]] = {
    "none": 0,
    "minimal": 512,
    "low": 1_024,
    "medium": 8_192,
    "high": 24_576,
    "xhigh": 32_768,
    "max": 32_768,
}
"""Tokens of thinking that a level stands for, where a provider takes a number, and that a reply may have beside its own."""
ROLES: Final = (
    "assistant",
    "captioner",
    "categoriser",
    "classifier",
    "generator",
    "judge",
    "predictor",
    "reranker",
    "verbaliser",
    "verifier",
    "writer",
)
"""What models are asked as."""


def thinking_tokens(reasoning: str | None) -> int:
    """Return the tokens of thinking that a level, or a number of tokens as text, stands for."""
    if reasoning is None:
        return 0
    return int(reasoning) if reasoning.isdecimal() else EFFORTS.get(reasoning, 0)


def _not_known(_model: str) -> None:
    return None


class Replying(msgspec.Struct, frozen=True):
    """What was said of replies.

    Attributes:
        said: values by field of ``Parameters``, then by whom they are for: a model, a role, or everybody (an empty text).
        context: prompt and reply tokens that a model takes, None when not known: a limit that nobody named is raised to no more
            than a quarter of it.
    """

    said: Mapping[str, Mapping[str, Any]] = {}
    context: Callable[[str], int | None] = _not_known

    @classmethod
    def parse(cls, options: Mapping[str, Iterable[object]]) -> Replying:
        """Read options as they are typed: ``2048``, ``judge=0``, ``openai/o3=high``.

        Args:
            options: values by name, such as ``reply_tokens``.

        Raises:
            UserError: if a value is none, or is for nobody.
        """
        said: dict[str, dict[str, Any]] = {}
        for name, texts in options.items():
            for text in map(str, texts):
                who, _, value = text.rpartition("=")
                if who and "/" not in who and who not in ROLES:
                    raise UserError(
                        f"--{_dashed(name)} is {text[:80]!r}, and no model is asked as {who[:40]!r}.",
                        hint=f"name a model such as openai/o3, or one of {', '.join(ROLES)}",
                    )
                field, read = _FIELDS[name]
                said.setdefault(field, {})[who.strip()] = read(name, value.strip())
        _check_room(said)
        return cls(said)

    def after(self, other: Replying) -> Replying:
        """Return what both say; where both say something for the same, this counts."""
        return Replying(
            {
                name: {**other.said.get(name, {}), **self.said.get(name, {})}
                for name in (*other.said, *self.said)
            },
            self.context,
        )

    def of(self, model: str, role: str) -> dict[str, Any]:
        """Return what was said for a model in a role, by field of ``Parameters``."""
        found: dict[str, Any] = {}
        for name, by in self.said.items():
            for who in (model, model.partition("@")[0], role, ""):
                if who in by:
                    found[name] = by[who]
                    break
        return found

    def drawn(self, model: str, role: str) -> dict[str, Any]:
        """Return what was said that gives other replies: everything but their longest length."""
        return {name: value for name, value in self.of(model, role).items() if name != "max_tokens"}

    @property
    def identity(self) -> tuple[Mapping[str, Any], ...]:
        """What belongs into a hash of settings: nothing where nothing was said that gives other replies."""
        said = {name: by for name, by in self.said.items() if name != "max_tokens"}
        return (said,) if said else ()

    def over(self, own: Parameters, model: str, role: str) -> Parameters:
        """Return the parameters of a request.

        Args:
            own: the protocol's.
            model: full name.
            role: one of ``ROLES``.
        """
        found = self.of(model, role)
        wanted = found.pop("max_tokens", None)
        if own.max_tokens is not None:
            reasoning = found.get("reasoning", own.reasoning)
            if wanted is None:
                raised = max(own.max_tokens, LEAST_TOKENS) + thinking_tokens(reasoning)
                room = self.context(model)
                found["max_tokens"] = raised if room is None else min(raised, max(own.max_tokens, room // 4))
            elif wanted != PUBLISHED:
                found["max_tokens"] = wanted
            elif reasoning is not None and reasoning.isdecimal():  # it is part of the reply
                found["max_tokens"] = own.max_tokens + int(reasoning)
        return msgspec.structs.replace(own, **found) if found else own


def _check_room(said: Mapping[str, Mapping[str, Any]]) -> None:
    """See that thinking leaves room for a reply.

    Raises:
        UserError: if it takes all.
    """
    tokens, thinking = said.get("max_tokens", {}), said.get("reasoning", {})
    for who in (*tokens, *thinking):
        most, budget = tokens.get(who, tokens.get("")), thinking.get(who, thinking.get("")) or ""
        if isinstance(most, int) and budget.isdecimal() and int(budget) >= most:
            raise UserError(
                f"{int(budget):,} tokens of thinking leave nothing of a reply of {most:,}.",
                hint="--reply-tokens counts thinking, too: raise it, or leave it out",
            )


# -- values ------------------------------------------------------------------------------------------------------


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _number(kind: type[int] | type[float], low: float, high: float, wanted: str) -> Callable[[str, str], Any]:
    def read(name: str, text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise UserError(f"--{_dashed(name)} is {text[:40]!r}; {wanted} was expected.")
        return value

    return read


_tokens = _number(int, 1, 10**7, f"a number of tokens, or '{PUBLISHED}',")
_budget = _number(int, 1, 10**7, f"{', '.join(EFFORTS)}, or a number of tokens,")

_FIELDS: Final[Mapping[str, tuple[str, Callable[[str, str], Any]]]] = {
    "reply_tokens": (
        "max_tokens",
        lambda name, text: PUBLISHED if text == PUBLISHED else _tokens(name, text),
    ),
    "temperature": ("temperature", _number(float, 0, 2, "a number from 0 to 2")),
    "reasoning": ("reasoning", lambda name, text: text if text in EFFORTS else str(_budget(name, text))),
    "top_p": ("top_p", _number(float, 1e-9, 1, "a number above 0, at most 1,")),
    "model_seed": ("seed", _number(int, -(2**63), 2**63 - 1, "a whole number")),
}
NAMES: Final = tuple(_FIELDS)
"""What can be said."""
