"""Options of how models reply, the same for every stage that asks some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from proctor.settings import Settings, option

if TYPE_CHECKING:
    from proctor.llm.replying import Replying

__all__ = ["REPLY_NAMES", "ReplyOptions"]

_WHO = "[WHO=]"


class ReplyOptions(Settings, frozen=True, kw_only=True):
    """How models reply; what is left out is the protocol's own.

    WHO is a model (``openai/o3=high``) or what models are asked as (``judge=0``); each option may be repeated.

    Raises:
        UserError: if a value is none, or is for nobody.
    """

    reply_tokens: Annotated[
        tuple[str, ...],
        option(
            "Tokens of a reply at most, thinking included (default: 4,096 or the protocol's own where that is more, and "
            "what --reasoning takes); 'published' for the protocol's own. WHO: a model, or judge, predictor, generator, …",
            metavar=f"{_WHO}N",
        ),
    ] = ()
    temperature: Annotated[
        tuple[str, ...],
        option("Of the draw, 0 for greedy (default: the protocol's own).", metavar=f"{_WHO}X"),
    ] = ()
    reasoning: Annotated[
        tuple[str, ...],
        option(
            "How much models think: none, minimal, low, medium, high, or a number of tokens (default: the provider's).",
            metavar=f"{_WHO}LEVEL|BUDGET",
        ),
    ] = ()
    top_p: Annotated[
        tuple[str, ...], option("Draw from the most likely tokens alone.", metavar=f"{_WHO}X")
    ] = ()
    model_seed: Annotated[
        tuple[str, ...],
        option("Seed of the provider's draw, where it takes one (--seed is of our own).", metavar=f"{_WHO}N"),
    ] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(getattr(self, name) for name in REPLY_NAMES):
            self.replying()

    def replying(self) -> Replying:
        """Return what was said."""
        from proctor.llm.replying import Replying

        return Replying.parse({name: getattr(self, name) for name in REPLY_NAMES})

    def said(self) -> dict[str, Any]:
        """Return the options that were given, for records."""
        return {name: list(value) for name in REPLY_NAMES if (value := getattr(self, name))}


REPLY_NAMES = tuple(field.name for field in msgspec.structs.fields(ReplyOptions))
