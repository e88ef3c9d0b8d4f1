"""``anyllm/PROVIDER/MODEL``: any provider that any-llm knows, through its own client (extra ``anyllm``).

Slower than our own clients, and as wide as it gets. Requests and replies have OpenAI's shape there, so this file renders and
parses with the functions of ``compat``; exceptions become typed failures by the status that came with them.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import Any, Final
from weakref import WeakKeyDictionary

import msgspec

from proctor.errors import MissingExtraError, UserError
from proctor.llm.http import joined
from proctor.llm.keys import Key, find_key, redact
from proctor.llm.media import MediaStore
from proctor.llm.message import Request
from proctor.llm.model import Model, ModelName
from proctor.llm.outcome import Failure, FailureKind, Outcome
from proctor.llm.providers.compat import parse_compat, render_compat
from proctor.llm.providers.failures import failure, parse_retry_after

__all__ = ["AnyLlmModel", "provider"]

_KINDS: Final[dict[str, FailureKind]] = {
    "RateLimitError": "rate_limit",
    "AuthenticationError": "auth",
    "MissingApiKeyError": "auth",
    "InsufficientFundsError": "auth",
    "ContentFilterError": "content_filter",
    "ContentFilterFinishReasonError": "content_filter",
    "ContextLengthExceededError": "too_large",
    "ModelNotFoundError": "bad_request",
    "InvalidRequestError": "bad_request",
    "UnsupportedParameterError": "bad_request",
    "UnsupportedProviderError": "bad_request",
    "GatewayTimeoutError": "timeout",
    "UpstreamProviderError": "server",
}
_CERTAIN: Final = frozenset({"ContentFilterError", "ContextLengthExceededError", "InsufficientFundsError"})


class AnyLlmModel:
    """A model behind any-llm, with one client per event loop.

    Args:
        name: ``anyllm/PROVIDER/MODEL``, with an address behind it where the provider takes one.

    Raises:
        UserError: if the provider is unknown to any-llm, or a package or key of its is missing.
    """

    def __init__(self, name: ModelName) -> None:
        try:
            self._package = importlib.import_module("any_llm")
        except ImportError:
            raise MissingExtraError("any-llm-sdk", "anyllm", f"the model {name}") from None
        self.name = str(name)
        self._provider, slash, self._model = name.model.partition("/")
        if not (slash and self._provider and self._model):
            raise UserError(
                "the name lacks a provider or a model.",
                where=self.name,
                hint="write anyllm/PROVIDER/MODEL, such as anyllm/mistral/mistral-small-latest",
            )
        self.endpoint = f"{name.base_url or f'anyllm:{self._provider}'}#{self._model}"
        self._base_url = name.base_url or None
        self._fresh: Any = self._client_of()
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        variable = getattr(self._fresh, "ENV_API_KEY_NAME", "") or ""
        self._key: Key | None = find_key(*variable.split("/"), required=False) if variable else None

    def __repr__(self) -> str:
        return f"AnyLlmModel({self.name!r})"

    def _client_of(self) -> Any:
        create = self._package.AnyLLM.create
        try:
            try:
                return create(self._provider, api_base=self._base_url, unified_exceptions=True, max_retries=0)
            except self._package.UnsupportedParameterError:  # its client has no retries to turn off
                return create(self._provider, api_base=self._base_url, unified_exceptions=True)
        except self._package.MissingApiKeyError as error:
            raise UserError(
                f"there is no key: the environment variable {error.env_var_name} is not set.",
                where=self.name,
                hint=f"export {error.env_var_name}=… in the shell that runs proctor",
            ) from None
        except ImportError as error:
            raise UserError(
                f"any-llm lacks a package for this provider: {redact(str(error))[:200]}",
                where=self.name,
                hint=f"pip install 'any-llm-sdk[{self._provider}]'",
            ) from None
        except (self._package.AnyLLMError, ValueError) as error:
            raise UserError(
                f"any-llm cannot make this model: {redact(str(error))[:300]}", where=self.name
            ) from None

    def _client(self) -> Any:
        loop = asyncio.get_running_loop()
        found = self._clients.get(loop)
        if found is None:
            found, self._fresh = self._fresh or self._client_of(), None
            self._clients[loop] = found
        return found

    async def attempt(self, request: Request, media: MediaStore, *, timeout: float) -> Outcome:
        """Hand the request to any-llm once and say what became of it."""
        try:
            fields = msgspec.json.decode(joined(render_compat(request, media, self._model)))
        except UserError as error:
            return Failure(kind="bad_request", message=error.message)
        try:
            async with asyncio.timeout(timeout):
                reply = await self._client().acompletion(**fields)
            return parse_compat(200, {}, reply.model_dump_json().encode())
        except TimeoutError:
            return Failure(kind="timeout", message=f"no complete reply within {timeout:g} seconds.")
        except Exception as error:  # any provider's own client is behind it
            return self._failure(error)

    def _failure(self, error: Exception) -> Failure:
        kind = _KINDS.get(type(error).__name__)
        status = getattr(error, "status_code", None)
        text = str(getattr(error, "message", None) or error) or type(error).__name__
        text = self._key.hide(text) if self._key is not None else redact(text)
        wait = getattr(error, "retry_after", None)
        headers = {"Retry-After": str(wait)} if wait is not None else {}
        if isinstance(status, int) and type(error).__name__ not in _CERTAIN and not 200 <= status < 300:
            body = {
                "message": text,
                "code": getattr(error, "code", None),
                "type": getattr(error, "error_type", None),
            }
            return failure(status, headers, msgspec.json.encode({"error": body}))
        if kind is None:
            kind = _kind_of_cause(error)
        return Failure(
            kind=kind,
            message=f"any-llm: {type(error).__name__}: {' '.join(text.split())[:300]}",
            status=status if isinstance(status, int) else None,
            retry_after=parse_retry_after(headers),
        )

    async def close(self) -> None:
        """Close the provider's client, where it has a way to."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        inner = getattr(client, "client", None)
        for name in ("close", "aclose"):
            close = getattr(inner, name, None)
            if asyncio.iscoroutinefunction(close):
                await close()
                return


def _kind_of_cause(error: Exception) -> FailureKind:
    """Return the kind of an exception without a status: by the type that the provider's client raised."""
    cause = getattr(error, "original_exception", None) or error
    names = {base.__name__.lower() for base in type(cause).__mro__}
    if any("timeout" in name for name in names):
        return "timeout"
    if isinstance(cause, OSError) or any("connect" in name or "network" in name for name in names):
        return "connection"
    if type(error).__name__ == "ProviderError" or "decode" in type(cause).__name__.lower():
        return "server"  # such as a reply that is no JSON
    if isinstance(cause, TypeError | ValueError | NotImplementedError | AttributeError | LookupError):
        return "bad_request"
    return "server"


def provider(name: ModelName) -> Model:
    """Return ``anyllm/PROVIDER/MODEL``; the key is where any-llm looks for it.

    Raises:
        UserError: see ``AnyLlmModel``; ``MissingExtraError`` if any-llm is not installed.
    """
    return AnyLlmModel(name)
