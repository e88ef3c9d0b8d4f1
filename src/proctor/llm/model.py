"""Names of models and what a model has to do.

A model is a string: ``openai/gpt-4o-2024-08-06``, ``anthropic/…``, ``google/…``, ``compat/NAME@http://host:8000/v1``,
``transformers/PATH``, ``replay/FILE``, ``human/NAME``, ``anyllm/PROVIDER/MODEL``. The part before the first slash names
the provider, an entry point of the group ``proctor.models``; ours come in by the same door. ``python:module:function`` is a
function in the place of a model (``proctor.exam.function``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from proctor.errors import UserError

if TYPE_CHECKING:
    from proctor.llm.media import MediaStore
    from proctor.llm.message import Parameters, Request
    from proctor.llm.outcome import Outcome

__all__ = [
    "ENTRY_POINTS",
    "FUNCTION",
    "PERSON",
    "TRAINED",
    "Model",
    "ModelName",
    "Provider",
    "Unsent",
    "is_asked",
    "leaves_out",
]

ENTRY_POINTS: Final = "proctor.models"
FUNCTION: Final = "python:"
"""Before the name of a function that answers in the place of a model."""
PERSON: Final = "human:"
"""Before the name of a file with a person's answers, which are read without asking."""
TRAINED: Final = "model:"
"""Before the folder of a run of ``proctor learn sequence``, whose model answers on this machine."""

_P = TypeVar("_P", bound="Callable[[ModelName], Model]")


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model's name in its parts.

    Attributes:
        provider: before the first slash.
        model: what the provider calls it (may hold slashes), or a path.
        base_url: after the last ``@http``, without a slash at the end; empty for the provider's own.
    """

    provider: str
    model: str
    base_url: str = ""

    @classmethod
    def parse(cls, text: str) -> ModelName:
        """Split a name.

        Raises:
            UserError: if it has no provider or no model, or credentials in its URL.
        """
        for kind in (FUNCTION, PERSON):
            if text.startswith(kind):
                return cls(kind, text.removeprefix(kind))
        name, url = text, ""
        for scheme in ("@http://", "@https://"):
            place = text.rfind(scheme)
            if place >= 0:
                name, url = text[:place], text[place + 1 :].rstrip("/")
        provider, slash, model = name.partition("/")
        if not (slash and provider and model):
            from proctor.llm.prices import meant_name  # it reads names here

            raise UserError(
                f"{text!r} is not the name of a model.",
                hint=meant_name(text)
                or "write PROVIDER/MODEL, such as openai/gpt-4o or compat/qwen@http://localhost:8000/v1",
            )
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise UserError(
                "the URL of a model must not hold a user name or a key.",
                hint="keys come from the environment, such as OPENAI_API_KEY",
            )
        return cls(provider, model, url)

    def __str__(self) -> str:
        if self.provider in (FUNCTION, PERSON):
            return self.provider + self.model
        return f"{self.provider}/{self.model}" + (f"@{self.base_url}" if self.base_url else "")


def is_asked(name: str) -> bool:
    """Return whether a name is that of a model, or of a function in its place, and not that of a rule.

    Example:
        >>> [is_asked(name) for name in ("openai/gpt-4o", "python:mine:answer", "human:answers/anna.csv", "chance")]
        [True, True, False, False]
    """
    return name.startswith(FUNCTION) or ("/" in name and not name.startswith((PERSON, TRAINED)))


class Model(Protocol):
    """Anything that answers requests. One attempt only: retries, limits and the store are around it."""

    @property
    def name(self) -> str:
        """Full name, as in ``Request.model``."""
        ...

    @property
    def endpoint(self) -> str:
        """What shares one limit: ``https://api.openai.com/v1#gpt-4o``; empty where nothing limits (replay)."""
        ...

    async def attempt(self, request: Request, media: MediaStore, *, timeout: float) -> Outcome:
        """Send the request once and say what became of it; never raises for what the other side does.

        Args:
            request: what to ask; ``request.model`` is this model.
            media: where the bytes of images, video and audio are.
            timeout: seconds until the attempt is given up.
        """
        ...

    async def close(self) -> None:
        """Give connections back; the model is not used afterwards."""
        ...


class Provider(Protocol):
    """An entry point of ``proctor.models``: makes models of its kind; see ``leaves_out``."""

    def __call__(self, name: ModelName) -> Model:
        """Return the model.

        Raises:
            UserError: if a key is missing (the message names the variable) or the name makes no sense.
        """
        ...


Unsent = Callable[[ModelName, "Parameters"], tuple[str, ...]]
"""Names of the parameters that a model would not be sent, set or not."""


def leaves_out(unsent: Unsent) -> Callable[[_P], _P]:
    """Mark a provider whose protocol has no field for some parameters (a seed at Anthropic's, a temperature of newer models).

    A stage tells them once: what looks greedy may not be. The mark is the attribute ``unsent`` of the entry point, so no key
    is needed to ask. A provider without it sends everything.

    Args:
        unsent: from a model's name and what is wished to the names of parameters that are not sent, set or not.
    """

    def mark(provider: _P) -> _P:
        provider.unsent = unsent  # type: ignore[attr-defined]
        return provider

    return mark
