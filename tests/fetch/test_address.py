"""Addresses: which are asked, where redirects may lead, and what is shown of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor.fetch.address import (
    below,
    is_public,
    next_hop,
    proxy_for,
    require_allowed,
    same_origin,
    shown_address,
    split_credentials,
)

PRIVATE = [
    "127.0.0.1", "localhost", "a.localhost", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "0.0.0.0",
    "[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
    "2130706433", "0x7f.1", "127.1", "0177.0.0.1", "printer.local", "metadata.internal", "224.0.0.1", "LOCALHOST.",
]  # fmt: skip


@pytest.mark.parametrize("host", PRIVATE)
def test_private_hosts_are_asked_only_where_the_user_gave_the_address(host: str) -> None:
    with pytest.raises(UserError):
        require_allowed(f"https://{host}/a", given=False)
    with pytest.raises(UserError, match="redirects"):
        next_hop("https://data.example/a", f"https://{host}/a", given=False)
    require_allowed(f"http://{host}/a", given=True)


@pytest.mark.parametrize(
    "host", ["data.example", "8.8.8.8", "[2001:4860:4860::8888]", "a-b.example.org:8443"]
)
def test_public_hosts_are_asked(host: str) -> None:
    require_allowed(f"https://{host}/a?b=c", given=False)


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://a.example/b", "", "a", "//a.example", "https://", "https:///a", "http://[::1",
     "https://a.example:99999/", "https://a.example:0/", "https://a b/", "https://a.example/\n", "javascript:x",
     "data:,x", "https://evil.example\\@a.example/", "https://" + "x" * 70 + ".example/", "https://a.example/" + "x" * 9_000],
)  # fmt: skip
def test_what_is_no_address_is_refused(url: str) -> None:
    for given_ in (True, False):
        with pytest.raises(UserError):
            require_allowed(url, given=given_)


def test_http_is_only_the_users_choice_and_never_after_https() -> None:
    with pytest.raises(UserError, match="https"):
        require_allowed("http://data.example/a", given=False)
    assert next_hop("http://m.example/a", "https://m.example/b", given=True) == "https://m.example/b"
    assert next_hop("http://m.example/a", "/b", given=True) == "http://m.example/b"
    with pytest.raises(UserError, match="not secure"):
        next_hop("https://m.example/a", "http://m.example/b", given=True)


def test_credentials_of_a_redirect_are_left_out() -> None:
    assert next_hop("https://m.example/a", "https://u:p@m.example/b#x", given=False) == "https://m.example/b"


def test_credentials_are_split_and_never_shown() -> None:
    url = "https://ana:s%40cret@m.example:444/a?sig=hush"
    assert split_credentials(url) == ("https://m.example:444/a?sig=hush", ("ana", "s@cret"))
    assert shown_address(url) == "https://m.example:444/a?…"
    assert split_credentials("https://m.example/a") == ("https://m.example/a", None)


@given(st.text(st.characters(codec="ascii", exclude_characters="/?#@[]:\\"), min_size=6, max_size=20))
def test_no_password_is_shown(word: str) -> None:
    assert shown_address(f"https://u:{word}@m.example/a") == "https://m.example/a"


@given(st.text(max_size=60))
def test_any_text_is_allowed_or_refused(text: str) -> None:
    for url in (text, f"https://{text}", f"https://a.example/{text}"):
        try:
            require_allowed(url, given=False)
            next_hop("https://a.example/b", url, given=False)
        except UserError:
            pass


def test_places_below_a_base() -> None:
    assert below("http://m.example/x/", "a b/ä#1.json") == "http://m.example/x/a%20b/%C3%A4%231.json"
    assert below("http://m.example?t=1", "a") == "http://m.example/a?t=1"


def test_origins() -> None:
    assert same_origin("https://a.example/x", "https://A.example:443/y")
    assert not same_origin("https://a.example", "http://a.example")
    assert not same_origin("https://a.example", "https://a.example:444")


def test_only_addresses_are_public() -> None:
    assert is_public("8.8.8.8")
    assert not is_public("data.example")
    assert not is_public("fe80::1%eth0")


def test_the_environment_names_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "near.example")
    assert proxy_for("https://data.example/a") == "http://proxy.example:3128"
    assert proxy_for("http://data.example/a") is None
    assert proxy_for("https://near.example/a") is None
    assert proxy_for("https://127.0.0.1/a") is None
