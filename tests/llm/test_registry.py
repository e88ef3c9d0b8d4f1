"""Names become models through entry points; a broken plug-in is reported, not a traceback."""

from __future__ import annotations

import asyncio
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from proctor.errors import UserError
from proctor.llm import registry
from proctor.llm.media import MediaStore
from proctor.llm.message import Request, user
from proctor.llm.model import ENTRY_POINTS, ModelName
from proctor.llm.outcome import Failure, Outcome, Reply
from proctor.llm.registry import provider_names, resolve


class Echo:
    """A model of somebody else's package."""

    endpoint = ""

    def __init__(self, name: ModelName) -> None:
        self.name = str(name)

    async def attempt(self, request: Request, media: MediaStore, *, timeout: float) -> Outcome:
        return Reply(text=request.messages[-1].text)

    async def close(self) -> None:
        pass


def refuses(name: ModelName) -> Any:
    raise UserError("the moon is in the wrong house.", hint="wait")


def returns_nothing(name: ModelName) -> Any:
    return object()


def crashes(name: ModelName) -> Any:
    raise RuntimeError("a bug of theirs")


not_callable = 5


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    here = __name__
    entries = (
        EntryPoint("echo", f"{here}:Echo", ENTRY_POINTS),
        EntryPoint("careless", f"{here}:Careless", ENTRY_POINTS),
        EntryPoint("refuses", f"{here}:refuses", ENTRY_POINTS),
        EntryPoint("nothing", f"{here}:returns_nothing", ENTRY_POINTS),
        EntryPoint("crashes", f"{here}:crashes", ENTRY_POINTS),
        EntryPoint("five", f"{here}:not_callable", ENTRY_POINTS),
        EntryPoint("lost", "no_such_package_of_theirs:provider", ENTRY_POINTS),
        EntryPoint("gone", f"{here}:no_such_name", ENTRY_POINTS),
        EntryPoint("twice", f"{here}:Echo", ENTRY_POINTS),
        EntryPoint("twice", f"{here}:refuses", ENTRY_POINTS),
        EntryPoint("same", f"{here}:Echo", ENTRY_POINTS),
        EntryPoint("same", f"{here}:Echo", ENTRY_POINTS),
    )
    monkeypatch.setattr(registry, "_entries", lambda: entries)


def test_ours_come_in_by_the_same_door() -> None:
    assert {"openai", "anthropic", "google", "compat", "human", "anyllm", "transformers"} <= set(
        provider_names()
    )


def test_a_plug_in_works(plugins: None) -> None:
    model = resolve("echo/a/b@http://x:1/v1")
    assert model.name == "echo/a/b@http://x:1/v1"
    request = Request(model=model.name, messages=(user("hello"),))
    assert asyncio.run(model.attempt(request, MediaStore(), timeout=1)) == Reply(text="hello")
    assert resolve("same/x").name == "same/x"


class Careless(Echo):
    async def attempt(self, request: Request, media: MediaStore, *, timeout: float) -> Any:
        return request.messages[-1].text if request.draw else {}["answer"]


def test_what_a_model_of_theirs_raises_or_returns_fails_that_call(plugins: None) -> None:
    model = resolve("careless/x")
    failures = [
        asyncio.run(model.attempt(Request(model=model.name, messages=(user("hi"),), draw=draw), MediaStore(), timeout=1))
        for draw in (0, 1)
    ]  # fmt: skip
    raised, returned = (f for f in failures if isinstance(f, Failure))
    assert raised.kind == "bad_request"
    assert raised.message.startswith("the provider 'careless' failed: KeyError: 'answer' (test_registry.py:")
    assert not raised.retryable
    assert returned.message == "the provider 'careless' failed: it returned str, which is no outcome"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("refuses/x", "the moon is in the wrong house"),
        ("nothing/x", "is no model: it lacks name, endpoint, attempt, close"),
        ("five/x", "not a function that makes models"),
        ("lost/x", "ModuleNotFoundError: No module named 'no_such_package_of_theirs'"),
        ("gone/x", "AttributeError"),
        ("twice/x", "more than one package"),
        ("crashes/x", "RuntimeError: a bug of theirs"),
        ("ecko/x", "did you mean echo/"),
        ("zzz/x", "there is no provider 'zzz'"),
        ("echo", "not the name of a model"),
        ("echo/", "not the name of a model"),
        ("/x", "not the name of a model"),
        ("", "not the name of a model"),
        ("echo/x@http://user:pass@host/v1", "must not hold a user name"),
    ],
)
def test_what_goes_wrong_is_told(plugins: None, name: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        resolve(name)
    assert told in str(caught.value)
    assert "pass" not in str(caught.value).replace("password", "")


def test_the_model_is_named_where_its_provider_refuses(plugins: None) -> None:
    with pytest.raises(UserError) as caught:
        resolve("refuses/x")
    assert caught.value.where == "refuses/x"
    assert caught.value.hint == "wait"


def test_an_unknown_provider_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"known are anthropic, anyllm, compat, google, human, openai"):
        resolve("gpt-4o/x")
    with pytest.raises(UserError, match=r"did you mean openai/gpt-4o"):
        resolve("open-ai/gpt-4o")
