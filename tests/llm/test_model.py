"""Names of models."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.llm.message import Parameters
from proctor.llm.model import ModelName
from proctor.llm.registry import unsent_parameters


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("openai/gpt-4o-2024-08-06", ("openai", "gpt-4o-2024-08-06", "")),
        ("compat/qwen@http://localhost:8000/v1", ("compat", "qwen", "http://localhost:8000/v1")),
        ("compat/org/model-7b@https://host/a/b/", ("compat", "org/model-7b", "https://host/a/b")),
        ("compat/m@v2@http://h/v1", ("compat", "m@v2", "http://h/v1")),
        ("compat/m@http://[::1]:8000/v1", ("compat", "m", "http://[::1]:8000/v1")),
        ("transformers//abs/path to/model", ("transformers", "/abs/path to/model", "")),
        ("transformers/../x@y", ("transformers", "../x@y", "")),
        ("replay/runs/calls.jsonl", ("replay", "runs/calls.jsonl", "")),
        ("anyllm/mistral/small", ("anyllm", "mistral/small", "")),
        ("compat/user@example.org@http://h/v1", ("compat", "user@example.org", "http://h/v1")),
    ],
)
def test_a_name_in_its_parts(text: str, parts: tuple[str, str, str]) -> None:
    name = ModelName.parse(text)
    assert (name.provider, name.model, name.base_url) == parts
    assert ModelName.parse(str(name)) == name


@pytest.mark.parametrize("text", ["", "gpt-4o", "openai/", "/gpt", "/", "openai/@http://h", "@http://h/v1"])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(UserError, match="not the name of a model"):
        ModelName.parse(text)


@pytest.mark.parametrize("text", ["openai/m@http://user:secret@h/v1", "openai/m@https://secret@h"])
def test_no_credentials_in_a_name_and_none_in_the_message(text: str) -> None:
    with pytest.raises(UserError) as caught:
        ModelName.parse(text)
    assert "secret" not in str(caught.value)


@given(st.text(max_size=40))
def test_parsing_gives_a_name_or_a_user_error(text: str) -> None:
    try:
        name = ModelName.parse(text)
    except UserError:
        return
    assert name.provider
    assert name.model
    assert "/" not in name.provider


def test_parameters_that_are_not_sent_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)  # no key is needed to know
    wanted = Parameters(temperature=0.0, seed=3, max_tokens=5)
    assert unsent_parameters("anthropic/claude-sonnet-5", wanted) == ("seed", "temperature")
    assert unsent_parameters("anthropic/claude-haiku-4-5", wanted) == ("seed",)
    assert unsent_parameters("compat/m@http://127.0.0.1:1/v1", wanted) == ()
    assert unsent_parameters("anthropic/claude-sonnet-5", Parameters(max_tokens=5)) == ()
    with pytest.raises(UserError, match="no provider"):
        unsent_parameters("nobody/x", wanted)
