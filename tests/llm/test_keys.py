"""Keys come from the environment and appear nowhere."""

from __future__ import annotations

import logging
import pickle
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.llm.keys import Key, SecretText, find_base_url, find_key, is_loopback, redact

SECRET = "sk-proj-TOPSECRET0123456789"


def test_the_first_variable_that_is_set_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A_KEY", raising=False)
    monkeypatch.setenv("B_KEY", f"  {SECRET}\n")
    key = find_key("A_KEY", "B_KEY")
    assert key is not None
    assert key.reveal() == SECRET
    assert key.variable == "B_KEY"
    monkeypatch.setenv("A_KEY", "other-key")
    assert find_key("A_KEY", "B_KEY").reveal() == "other-key"  # type: ignore[union-attr]


@pytest.mark.parametrize("value", [None, "", "  \n"])
def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    if value is None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    else:
        monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        find_key("OPENAI_API_KEY")
    assert find_key("OPENAI_API_KEY", required=False) is None


@pytest.mark.parametrize(
    "value", [f"{SECRET} x", f"{SECRET}\r\nX-Evil: 1", f"{SECRET}ü", "x" * 5_000, f"a\x7f{SECRET}"]
)
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(UserError, match="OPENAI_API_KEY") as caught:
        find_key("OPENAI_API_KEY")
    assert "SECRET" not in str(caught.value)
    assert "xxxx" not in str(caught.value)


def test_no_printed_form_shows_it(caplog: pytest.LogCaptureFixture) -> None:
    key = Key("OPENAI_API_KEY", SECRET)
    header = key.header("Authorization", "Bearer ")
    forms = [
        repr(key),
        str(key),
        f"{key}",
        f"{key!r}",
        "{}".format(key),  # noqa: UP032 - the way that loggers do
        repr([key]),
        repr(header),
        repr({"k": key.reveal()}),
    ]
    logging.getLogger("x").error("%s %r %s", key, key, header)
    assert all(SECRET not in form for form in [*forms, caplog.text])
    assert header["Authorization"] == f"Bearer {SECRET}"
    with pytest.raises(TypeError):
        pickle.dumps(key)


def test_a_traceback_with_local_variables_does_not_show_it() -> None:
    def fails() -> None:
        key = Key("OPENAI_API_KEY", SECRET)
        value = key.reveal()
        header = key.header("x-api-key")
        raise RuntimeError(len(value) + len(header))

    try:
        fails()
    except RuntimeError as error:
        shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    assert SECRET not in "".join(shown.format())
    assert "[secret]" in "".join(shown.format())


def test_a_message_that_repeats_the_key_is_cleaned() -> None:
    key = Key("COMPAT_API_KEY", "correct horse battery")
    assert key.hide("no: correct horse battery!") == "no: [COMPAT_API_KEY]!"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key sk-proj-abc123DEF456 is wrong", "key [key] is wrong"),
        ("sk-ab**********yz", "[key]"),
        ("AIzaSyD-1234567890abcdef", "[key]"),
        ("Authorization: Bearer abcdefghij", "Authorization: [key]"),
        ("hf_abcdefghij0123", "[key]"),
        ("You gave abcd****wxyz", "You gave [key]"),
        ("the API key provided is wrong", "the API key provided is wrong"),
        (
            "a key-value store, a sk-learn model, **bold** text",
            "a key-value store, a sk-learn model, **bold** text",
        ),
        ("model gpt-4o-2024-08-06, id chatcmpl-AbC123", "model gpt-4o-2024-08-06, id chatcmpl-AbC123"),
    ],
)
def test_what_looks_like_a_key_is_hidden_and_other_words_are_not(text: str, shown: str) -> None:
    assert redact(text) == shown


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60))
def test_any_key_is_hidden(value: str) -> None:
    message = Key("X_API_KEY", value).hide(f"refused: {value}")
    assert value not in message.replace("X_API_KEY", "").replace("[key]", "") or value in "refused: []"


def test_secret_text_is_text() -> None:
    assert SecretText("a") == "a"
    assert {SecretText("a"): 1}["a"] == 1


# -- addresses ---------------------------------------------------------------------------------------------------


def test_the_name_wins_then_the_environment_then_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("T_BASE_URL", raising=False)

    def find(given: str = "") -> str:
        return find_base_url(given, "T_BASE_URL", default="https://api.example/v1", sends_key=True)

    assert find() == "https://api.example/v1"
    monkeypatch.setenv("T_BASE_URL", "https://proxy.example/v1/")
    assert find() == "https://proxy.example/v1"
    assert find("http://10.0.0.7:8000/v1") == "http://10.0.0.7:8000/v1"


def test_a_key_does_not_travel_in_the_clear_unless_the_name_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T_BASE_URL", "http://proxy.example/v1")
    with pytest.raises(UserError, match="plain HTTP"):
        find_base_url("", "T_BASE_URL", default="", sends_key=True)
    assert find_base_url("", "T_BASE_URL", default="", sends_key=False) == "http://proxy.example/v1"
    for here in (
        "http://localhost:1/v1",
        "http://127.0.0.1:1/v1",
        "http://[::1]:1/v1",
        "http://127.9.9.9/v1",
    ):
        monkeypatch.setenv("T_BASE_URL", here)
        assert find_base_url("", "T_BASE_URL", default="", sends_key=True) == here


def test_no_address_is_told_with_what_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMPAT_BASE_URL", raising=False)
    with pytest.raises(UserError, match=r"(?s)no address.*COMPAT_BASE_URL"):
        find_base_url("", "COMPAT_BASE_URL", default="", sends_key=False)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x/v1",
        "file:///etc/passwd",
        "http://",
        "http:///v1",
        "localhost:8000",
        "http://x:99999/",
        "http://x:0/",
        "http://[::1/v1",
        "http://x /v1",
        "http://x/v1?key=1",
        "http://x/#a",
        f"http://u:{SECRET}@x/v1",
        "http://x/\x00",
        "javascript:1",
    ],
)
def test_what_is_no_address_is_refused(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    if "\x00" not in url:
        monkeypatch.setenv("T_BASE_URL", url)
        with pytest.raises(UserError) as caught:
            find_base_url("", "T_BASE_URL", default="https://x", sends_key=True)
        assert SECRET not in str(caught.value)
    with pytest.raises(UserError) as caught:
        find_base_url(url, default="https://x", sends_key=True)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost/", True),
        ("http://a.localhost:1/", True),
        ("http://127.0.0.1/", True),
        ("http://[::1]:9/v1", True),
        ("http://localhost.evil.example/", False),
        ("http://127.0.0.1.evil.example/", False),
        ("http://10.0.0.1/", False),
        ("http://0.0.0.0/", False),
        ("https://api.openai.com/v1", False),
    ],
)
def test_this_machine(url: str, local: bool) -> None:
    assert is_loopback(url) is local
