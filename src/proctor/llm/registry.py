"""From the name of a model to the model, through the entry points ``proctor.models``."""

from __future__ import annotations

import difflib
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from proctor.errors import UserError
from proctor.llm.keys import redact
from proctor.llm.message import Parameters
from proctor.llm.model import ENTRY_POINTS, FUNCTION, Model, ModelName, Provider, Unsent
from proctor.llm.outcome import Failure, Outcome
from proctor.plugins import load_plugin, told

if TYPE_CHECKING:
    from proctor.llm.media import MediaStore
    from proctor.llm.message import Request

__all__ = ["provider_names", "resolve", "unsent_parameters"]

_PARTS = ("name", "endpoint", "attempt", "close")


def provider_names() -> tuple[str, ...]:
    """Return the names of all providers that are installed, sorted."""
    return tuple(sorted({entry.name for entry in _entries()}))


def resolve(name: str) -> Model:
    """Return the model of a name such as ``openai/gpt-4o`` or ``compat/qwen@http://localhost:8000/v1``.

    Raises:
        UserError: if the name is none, the provider is unknown, broken or installed twice, or a key or address is missing.
    """
    parsed = ModelName.parse(name)
    make = _provider(parsed.provider, parsed.model)
    ours = getattr(make, "__module__", "").startswith("proctor.")
    try:
        model = make(parsed)
    except UserError as error:
        raise _named(error, name) from None
    except Exception as error:
        if ours:
            raise  # a mistake of ours, which is told with its traceback
        raise UserError(
            f"the provider {parsed.provider!r} failed: {redact(told(error))}",
            where=name,
            hint="report it to the package that brings the provider",
        ) from error
    missing = [part for part in _PARTS if not hasattr(model, part)]
    if missing:
        raise UserError(
            f"the provider {parsed.provider!r} returned something that is no model: it lacks {', '.join(missing)}.",
            where=name,
            hint="report it to the package that brings the provider",
        )
    return model if ours else _Guarded(model, parsed.provider)


class _Guarded:
    """A model of another package: what it raises, or returns in place of an outcome, is a failure of that call.

    Args:
        model: as its provider made it.
        provider: the provider's name, for messages.
    """

    def __init__(self, model: Model, provider: str) -> None:
        self.name, self.endpoint = model.name, model.endpoint
        self._model = model
        self._provider = provider

    async def attempt(self, request: Request, media: MediaStore, *, timeout: float) -> Outcome:
        """Return what the model returns; the same request would fail again, so its mistakes are no reason to repeat it."""
        try:
            outcome: object = await self._model.attempt(request, media, timeout=timeout)
        except Exception as error:  # somebody else's code
            wrong = redact(told(error))
        else:
            if isinstance(outcome, Outcome):
                return outcome
            wrong = f"it returned {type(outcome).__name__}, which is no outcome"
        return Failure(kind="bad_request", message=f"the provider {self._provider!r} failed: {wrong}")

    async def close(self) -> None:
        """Give the model's connections back."""
        await self._model.close()


def unsent_parameters(name: str, parameters: Parameters) -> tuple[str, ...]:
    """Return the names of parameters that are set but that this model's provider has no field for, sorted. Needs no key.

    Raises:
        UserError: if the name is none, or the provider is unknown or broken.
    """
    parsed = ModelName.parse(name)
    if parsed.provider == FUNCTION:
        return ()
    unsent: Unsent | None = getattr(_provider(parsed.provider, parsed.model), "unsent", None)
    names = unsent(parsed, parameters) if unsent is not None else ()
    return tuple(sorted(name for name in names if getattr(parameters, name) not in (None, (), {})))


def _named(error: UserError, name: str) -> UserError:
    """Return the error with the model's name in front, where it has no other place."""
    if error.where is not None or type(error) is not UserError:
        return error
    return UserError(error.message, where=name, hint=error.hint)


@lru_cache(maxsize=1)
def _entries() -> tuple[EntryPoint, ...]:
    """Return the entry points; reading them takes milliseconds and they do not change while we run."""
    return tuple(entry_points(group=ENTRY_POINTS))


def _provider(name: str, model: str) -> Provider:
    found = [entry for entry in _entries() if entry.name == name]
    if not found:
        raise _unknown(name, model)
    provider: Provider = load_plugin(
        found, f"the provider {name!r}", "a function that makes models", callable
    )
    return provider


def _unknown(name: str, model: str) -> UserError:
    known = provider_names()
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    listed = ", ".join(known) or "none: is Proctor installed?"
    return UserError(
        f"there is no provider {name[:80]!r}; known are {listed}.",
        hint=f"did you mean {close[0]}/{model[:80]}?"
        if close
        else "models are written PROVIDER/MODEL; any OpenAI-compatible server is compat/MODEL@http://host:port/v1",
    )
