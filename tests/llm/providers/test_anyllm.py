"""any-llm as a provider: the real package against a local server, where it is installed; a clear word where it is not."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import pytest

from proctor.errors import MissingExtraError, UserError
from proctor.llm.media import MediaStore
from proctor.llm.message import Parameters, Request, system, user
from proctor.llm.outcome import Failure, Outcome, Refusal, Reply, Truncated
from proctor.llm.registry import resolve

REPLY = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m-1",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "yes"}}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
}


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "any_llm", None)
    with pytest.raises(MissingExtraError, match=r"proctor-bench\[anyllm\]"):
        resolve("anyllm/mistral/small")


@pytest.fixture
def any_llm() -> Any:
    return pytest.importorskip(
        "any_llm", reason="needs any-llm-sdk, which wants another anthropic than our tests"
    )


def ask(server: Any, media: MediaStore, *messages: Any, timeout: float = 10.0, **parameters: Any) -> Outcome:
    name = f"anyllm/openai/org/model@{server.url}/v1"

    async def main() -> Outcome:
        model = resolve(name)
        request = Request(model=name, messages=messages or (user("x"),), parameters=Parameters(**parameters))
        try:
            return await model.attempt(request, media, timeout=timeout)
        finally:
            await model.close()

    return asyncio.run(main())


def test_one_call(any_llm: Any, server: Any, media: MediaStore) -> None:
    server.say(REPLY)
    picture = media.image("a", lambda: (os.urandom(50_000), 64, 64))
    outcome = ask(server, media, system("s"), user("Look", picture), temperature=0.0, max_tokens=9, seed=3)
    assert isinstance(outcome, Reply)
    assert (outcome.text, outcome.model, outcome.usage.input, outcome.usage.output) == ("yes", "m-1", 5, 1)
    sent = server.last.json
    assert sent["model"] == "org/model"
    assert sent["temperature"] == 0
    assert sent["messages"][0] == {"role": "system", "content": "s"}
    assert media.base64(picture).decode() in sent["messages"][1]["content"][1]["image_url"]["url"]
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("choice", "type_"),
    [
        ({"finish_reason": "length", "message": {"role": "assistant", "content": "ye"}}, Truncated),
        (
            {"finish_reason": "stop", "message": {"role": "assistant", "content": None, "refusal": "no"}},
            Refusal,
        ),
    ],
)
def test_ends(any_llm: Any, server: Any, media: MediaStore, choice: dict[str, Any], type_: type) -> None:
    server.say({**REPLY, "choices": [{"index": 0, **choice}]})
    assert isinstance(ask(server, media), type_)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (429, {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}, "rate_limit"),
        (401, {"message": "Incorrect API key provided: sk-openai-0123456789abcdef"}, "auth"),
        (400, {"message": "maximum context length is 5", "code": "context_length_exceeded"}, "too_large"),
        (
            400,
            {"message": "rejected by our safety system", "code": "content_policy_violation"},
            "content_filter",
        ),
        (400, {"message": "no such field"}, "bad_request"),
        (404, {"message": "no such model"}, "bad_request"),
        (500, {"message": "sorry"}, "server"),
        (503, {"message": "overloaded"}, "overload"),
        (529, {"message": "overloaded"}, "overload"),
    ],
)
def test_failures(any_llm: Any, server: Any, media: MediaStore, status: int, error: Any, kind: str) -> None:
    server.say({"error": error}, status=status, headers={"Retry-After": "7"})
    outcome = ask(server, media)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.status) == (kind, status)
    assert "0123456789abcdef" not in repr(outcome)
    assert len(server.seen) == 1  # its own retries are off
    if status == 429:
        assert outcome.retry_after == 7.0


def test_broken_replies_and_connections(any_llm: Any, server: Any, media: MediaStore) -> None:
    for body in (b"<html>", b'{"choices": [', {"choices": []}):
        server.clear()
        server.say(body)
        outcome = ask(server, media)
        assert isinstance(outcome, Failure), body
        assert outcome.kind == "server", (body, outcome)
    server.clear()
    server.say(b"", drop=True)
    assert ask(server, media).kind == "connection"  # type: ignore[union-attr]
    server.clear()
    server.say(REPLY, delay=3.0)
    assert ask(server, media, timeout=0.3).kind == "timeout"  # type: ignore[union-attr]


def test_a_missing_key_names_the_variable(any_llm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        resolve("anyllm/openai/m")


@pytest.mark.parametrize(
    "name", ["anyllm/openai", "anyllm/openai/", "anyllm//m", "anyllm/no-such-provider/m"]
)
def test_names_that_make_no_sense(any_llm: Any, name: str) -> None:
    with pytest.raises(UserError):
        resolve(name)


# -- the same paths without the package: a module of its shape (1.40), so that they are tested everywhere ----------------


class AnyLLMError(Exception):
    def __init__(self, message: str = "m", original_exception: Any = None, **fields: Any) -> None:
        super().__init__(message)
        self.message, self.original_exception = message, original_exception
        self.status_code = self.code = self.error_type = None
        vars(self).update(fields)


def error_type(name: str) -> type[AnyLLMError]:
    return type(name, (AnyLLMError,), {})


class Shape:
    """What ``AnyLLM.create`` returns: a client whose call does what the test says."""

    ENV_API_KEY_NAME = "SHAPE_API_KEY"

    def __init__(self, does: Any) -> None:
        self._does = does
        self.client = self
        self.closed = 0
        self.asked: list[dict[str, Any]] = []

    async def acompletion(self, **fields: Any) -> Any:
        self.asked.append(fields)
        if isinstance(self._does, Exception):
            raise self._does
        return self

    def model_dump_json(self) -> str:
        import json

        return json.dumps(self._does)

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def shape(monkeypatch: pytest.MonkeyPatch) -> Any:
    import types

    def install(does: Any, creating: Exception | None = None) -> Shape:
        made = Shape(does)
        module: Any = types.ModuleType("any_llm")
        module.AnyLLMError = AnyLLMError
        module.MissingApiKeyError = error_type("MissingApiKeyError")
        module.UnsupportedParameterError = error_type("UnsupportedParameterError")

        def create(provider: str, **options: Any) -> Shape:
            assert options["unified_exceptions"] is True
            if provider == "keyless":
                raise module.MissingApiKeyError("x", env_var_name="KEYLESS_API_KEY")
            if provider == "stubborn" and "max_retries" in options:
                raise module.UnsupportedParameterError("max_retries")
            if creating is not None:
                raise creating
            return made

        module.AnyLLM = types.SimpleNamespace(create=create)
        monkeypatch.setitem(sys.modules, "any_llm", module)
        monkeypatch.setenv("SHAPE_API_KEY", "correct-horse-battery")
        return made

    return install


def attempt(name: str = "anyllm/some/model", **parameters: Any) -> Outcome:
    async def main() -> Outcome:
        model = resolve(name)
        request = Request(model=name, messages=(user("x"),), parameters=Parameters(**parameters))
        try:
            return await model.attempt(request, MediaStore(), timeout=5)
        finally:
            await model.close()

    return asyncio.run(main())


def test_the_request_has_the_shape_that_any_llm_takes(shape: Any) -> None:
    made = shape(REPLY)
    assert attempt(temperature=0.0, max_tokens=4, extra={"top_k": 3}).text == "yes"  # type: ignore[union-attr]
    assert made.asked == [
        {
            "model": "model",
            "messages": [{"role": "user", "content": "x"}],
            "temperature": 0.0,
            "max_tokens": 4,
            "top_k": 3,
        }
    ]
    assert made.closed == 1
    shape(REPLY)
    assert isinstance(attempt("anyllm/stubborn/m"), Reply)


@pytest.mark.parametrize(
    ("name", "fields", "kind"),
    [
        ("RateLimitError", {"status_code": 429, "retry_after": "4"}, "rate_limit"),
        ("RateLimitError", {}, "rate_limit"),
        ("AuthenticationError", {"status_code": 401}, "auth"),
        ("InsufficientFundsError", {"status_code": 402}, "auth"),
        ("ContentFilterError", {"status_code": 400}, "content_filter"),
        ("ContextLengthExceededError", {"status_code": 400}, "too_large"),
        ("InvalidRequestError", {"status_code": 400}, "bad_request"),
        ("InvalidRequestError", {"status_code": 413}, "too_large"),
        ("ModelNotFoundError", {"status_code": 404}, "bad_request"),
        ("UnsupportedParameterError", {}, "bad_request"),
        ("UpstreamProviderError", {"status_code": 502}, "server"),
        ("GatewayTimeoutError", {"status_code": 504}, "timeout"),
        ("ProviderError", {"status_code": 500}, "server"),
        ("ProviderError", {"status_code": 503}, "overload"),
        ("ProviderError", {"status_code": 529}, "overload"),
        ("ProviderError", {"status_code": 200}, "server"),
        ("ProviderError", {"original_exception": ConnectionResetError()}, "connection"),
        ("ProviderError", {"original_exception": TimeoutError()}, "timeout"),
        ("ProviderError", {"original_exception": ValueError("no JSON")}, "server"),
        ("SomethingNew", {}, "server"),
    ],
)
def test_exceptions_become_kinds(shape: Any, name: str, fields: dict[str, Any], kind: str) -> None:
    shape(error_type(name)("it said correct-horse-battery", **fields))
    outcome = attempt()
    assert isinstance(outcome, Failure)
    assert outcome.kind == kind
    assert outcome.status in {fields.get("status_code"), None}
    assert "correct-horse" not in outcome.message
    if "retry_after" in fields:
        assert outcome.retry_after == 4.0


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TypeError("unexpected keyword"), "bad_request"),
        (NotImplementedError(), "bad_request"),
        (ConnectionError(), "connection"),
        (RuntimeError("x"), "server"),
    ],
)
def test_exceptions_of_a_provider_that_any_llm_let_through(shape: Any, error: Exception, kind: str) -> None:
    shape(error)
    outcome = attempt()
    assert isinstance(outcome, Failure)
    assert outcome.kind == kind


def test_what_cannot_be_made_is_told(shape: Any) -> None:
    shape(REPLY)
    with pytest.raises(UserError, match="KEYLESS_API_KEY"):
        resolve("anyllm/keyless/m")
    shape(REPLY, ImportError("no mistralai"))
    with pytest.raises(UserError, match=r"any-llm-sdk\[mistral\]"):
        resolve("anyllm/mistral/m")
    shape(REPLY, AnyLLMError("unknown provider sk-secret-0123456789"))
    with pytest.raises(UserError, match="cannot make this model") as caught:
        resolve("anyllm/nobody/m")
    assert "0123456789" not in str(caught.value)
