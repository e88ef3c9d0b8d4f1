"""Sign-in by a provider of OpenID Connect: the ways in, and every lie that has to be noticed."""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import RSAKey
from starlette.testclient import TestClient
from tests.studio.oidc_provider import CLIENT, SECRET, FakeProvider, serving

from proctor.errors import UserError
from proctor.studio.app import build_app
from proctor.studio.auth import Rate, hash_token, new_token
from proctor.studio.oidc import BACK_CHANNEL, DONE, Provider, check_provider
from proctor.verify.desk import identities, people
from proctor.verify.desk.documents import Protocol, set_protocol
from proctor.verify.desk.identities import Claimed

PAGE = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}


class Door:
    """A studio with a provider, and browsers that go back and forth between them."""

    def __init__(self, office: Any, provider: FakeProvider) -> None:
        self.office, self.provider = office, provider
        self.allow()

    def allow(self, *patterns: str) -> None:
        known = Provider(
            issuer=self.provider.issuer, client=CLIENT, secret=SECRET, name="Lab login", allow=patterns
        )
        studio = self.office.studio
        studio.settings = dataclasses.replace(studio.settings, provider=known)
        studio.more.pop("openid", None)
        self.office.app = build_app(studio)

    def browser(self) -> TestClient:
        client = TestClient(self.office.app, base_url=self.office.origin, follow_redirects=False)
        client.headers.update(PAGE)
        return client

    def leave(self, browser: TestClient, path: str = "/signin/provider", **form: str) -> str:
        """Press the button; returns where the browser is sent."""
        page = browser.post(path, data=form)
        assert page.status_code == 200, page.text
        address = page.headers["refresh"].partition("url=")[2]
        assert address.startswith(self.provider.issuer)
        return address

    def sent_back(self, address: str) -> str:
        """Sign in at the provider; returns the address here to which it sends the browser."""
        back: str = httpx.get(address).headers["location"]
        assert back.startswith(self.office.origin + DONE)
        return back.removeprefix(self.office.origin)

    def enter(self, browser: TestClient, path: str = "/signin/provider", **form: str) -> Any:
        return browser.get(self.sent_back(self.leave(browser, path, **form)))

    def invitation(self, role: str = "annotator", email: str = "") -> str:
        token = new_token()
        self.office.do(people.create_invite, hash_token(token), role, actor=people.COMMAND_LINE, email=email)
        return token

    def who(self, browser: TestClient) -> str:
        """The sign-in name of who is signed in there; "" for nobody."""
        page = browser.get("/my")
        found = re.search(r"signed in as <bdi>(.*?)</bdi>", page.text)
        return found[1] if found else ""


@pytest.fixture
def door(office: Any) -> Iterator[Door]:
    with serving() as provider:
        yield Door(office, provider)


# -- the ways in -----------------------------------------------------------------------------------------------------


def test_an_invitation_binds_the_login_which_then_signs_in(door: Door) -> None:
    browser, token = door.browser(), door.invitation(email="ana@example.org")
    assert "Go on with <bdi>Lab login</bdi>" in browser.get(f"/invite/{token}").text
    answer = door.enter(browser, invite=token)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert door.who(browser) == "ana.ruiz"
    (person,) = door.office.rows("people")
    assert (person.name, person.email, person.role, person.password) == (
        "Ana Ruiz",
        "ana@example.org",
        "annotator",
        "",
    )
    (bound,) = door.office.rows("identities")
    assert (bound.issuer, bound.subject, bound.person_id) == (door.provider.issuer, "u-1", person.id)
    assert [e.subject for e in door.office.events("identity.connected")] == [person.pid]

    door.provider.who = {"sub": "u-1", "name": "Another Name"}
    again = door.browser()
    answer = door.enter(again, next="/my")
    assert answer.headers["location"] == "/my"
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert door.who(again) == "ana.ruiz"
    used = door.enter(door.browser(), invite=token)
    assert used.status_code in (403, 409)
    assert len(door.office.rows("people")) == 1


def test_annotators_begin_where_the_project_says_and_names_are_free(door: Door) -> None:
    door.office.do(set_protocol, Protocol(training_required=True), actor="cli")
    door.office.hire("ana.ruiz")
    door.enter(door.browser(), invite=door.invitation())
    person = door.office.rows("people")[-1]
    assert (person.handle, person.gates) == ("ana.ruiz-2", '{"":"training"}')
    door.provider.who = {"sub": "u-2", "name": "\u202e" * 5}
    door.enter(door.browser(), invite=door.invitation("coordinator"))
    person = door.office.rows("people")[-1]
    assert (person.handle, person.name, person.role, person.gates) == (
        "person",
        "person",
        "coordinator",
        '{"":"open"}',
    )


def test_an_account_is_connected_and_disconnected(door: Door) -> None:
    gita = door.office.hire("gita", "coordinator")
    browser = door.browser()
    browser.cookies = door.office.client(gita).cookies
    assert door.enter(browser, "/my/provider").headers["location"] == "/my?said=connected"
    assert "Connected since" in browser.get("/my").text
    door_in = door.browser()
    assert door.who(door_in) == ""
    door.enter(door_in)
    assert door.who(door_in) == "gita"

    refused = browser.post("/my/provider/end")  # she has no password
    assert refused.status_code == 409
    assert "Set a password first" in refused.text
    door.office.do(people.set_password, gita, "hash", actor="cli")
    token = new_token()
    door.office.do(people.open_session, hash_token(token), gita)
    browser.cookies.set(door.office.studio.auth.cookie, token)
    assert browser.post("/my/provider/end").status_code == 303
    assert door.office.rows("identities") == []
    assert door.enter(door.browser()).status_code == 403


def test_checked_addresses_come_in_without_an_invitation(door: Door) -> None:
    door.allow("*@example.org")
    door.provider.who = {"sub": "u-9", "email": "New.One@Example.org", "email_verified": True}
    browser = door.browser()
    assert door.enter(browser).status_code == 303
    assert door.who(browser) == "new.one"
    (person,) = door.office.rows("people")
    assert (person.role, person.email) == ("annotator", "New.One@Example.org")
    strangers = (
        {"email": "x@example.org", "email_verified": False},
        {"email": "x@example.org", "email_verified": "true"},
        {"email": "x@example.org"},
        {"email": "x@example.org.evil.test", "email_verified": True},
        {"email_verified": True},
    )
    for n, who in enumerate(strangers):
        door.provider.who = {"sub": f"stranger-{n}", **who}
        assert door.enter(door.browser()).status_code == 403, who
    assert len(door.office.rows("people")) == 1


def test_an_address_alone_takes_over_nobodys_account(door: Door) -> None:
    door.allow("*@example.org")
    farid = door.office.do(
        people.add,
        handle="farid@example.org",
        name="Farid",
        role="owner",
        actor="cli",
        email="farid@example.org",
    )
    door.provider.who = {
        "sub": "thief", "email": "Farid@example.org", "email_verified": True, "preferred_username": "farid@example.org",
    }  # fmt: skip
    browser = door.browser()
    answer = door.enter(browser)
    assert answer.status_code == 409
    assert "connect this login on My account" in answer.text
    assert door.who(browser) == ""
    assert [p.id for p in door.office.rows("people")] == [farid.id]
    # An invitation makes an account of its own, whatever the provider says of names and addresses.
    door.enter(browser, invite=door.invitation())
    assert door.who(browser) == "farid"
    assert door.office.rows("people")[0].handle == "farid@example.org"


def test_the_first_owner_comes_in_by_the_provider_or_with_a_password(door: Door) -> None:
    browser, token = door.browser(), door.invitation("owner")
    page = browser.get(f"/setup/{token}").text
    assert "Go on with <bdi>Lab login</bdi>" in page
    assert 'name="password"' in page
    assert door.enter(browser, invite=token).headers["location"] == "/"
    assert door.who(browser) == "ana.ruiz"
    assert [(p.role, p.password) for p in door.office.rows("people")] == [("owner", "")]
    assert door.browser().get(f"/setup/{token}").status_code == 404


# -- out -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/signout", "/my/sessions/end-all"])
def test_signing_out_goes_on_at_the_provider_and_comes_back(door: Door, path: str) -> None:
    door.enter(browser := door.browser(), invite=door.invitation())
    page = browser.post(path)
    assert "signed out" in page.text
    assert "Ana Ruiz" not in page.text
    assert door.who(browser) == ""
    address = page.headers["refresh"].partition("url=")[2]
    back = door.office.origin + DONE
    assert parse_qs(urlsplit(address).query) == {"client_id": [CLIENT], "post_logout_redirect_uri": [back]}
    assert httpx.get(address).headers["location"] == back
    assert browser.get(DONE).headers["location"] == "/signin?said=signed-out"
    assert browser.post("/signout").status_code == 303  # nobody is signed in there any more


@pytest.mark.parametrize(
    "metadata", [{"end_session_endpoint": None}, {"issuer": "https://other.example.org"}]
)
def test_without_the_providers_log_out_the_session_ends_here(door: Door, metadata: dict[str, Any]) -> None:
    door.enter(browser := door.browser(), invite=door.invitation())
    door.provider.metadata = metadata
    door.office.studio.more.pop("openid")  # which remembers what the provider said
    assert browser.post("/signout").headers["location"] == "/signin?said=signed-out"
    assert door.who(browser) == ""


def test_who_came_by_another_way_signs_out_here_alone(door: Door) -> None:
    browser = door.browser()
    browser.cookies = door.office.client(door.office.hire("ben")).cookies
    assert browser.post("/signout").headers["location"] == "/signin?said=signed-out"


# -- lies ------------------------------------------------------------------------------------------------------------


def _foreign(provider: FakeProvider) -> None:
    other = type(provider.key).generate_key(2048, {"kid": provider.key.kid})
    provider.sign = (other, "RS256")


def _none(provider: FakeProvider) -> None:
    provider.sign = (None, "none")


def _confused(provider: FakeProvider) -> None:
    provider.metadata = {"id_token_signing_alg_values_supported": ["HS256", "none"]}
    provider.sign = (provider.public_as_secret(), "HS256")


LIES: dict[str, Any] = {
    "nonce": {"nonce": "another"},
    "no nonce": {"nonce": None},
    "audience": {"aud": "another"},
    "audiences": {"aud": [CLIENT, "another"]},
    "party": {"azp": "another"},
    "issuer": {"iss": "https://login.example.org"},
    "no issuer": {"iss": None},
    "no subject": {"sub": None},
    "odd subject": {"sub": 7},
    "long subject": {"sub": "x" * 256},
    "access token": {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
    "expired": {"exp": -120},
    "no expiry": {"exp": None},
    "not yet": {"nbf": 120},
    "foreign key": _foreign,
    "alg none": _none,
    "public key as secret": _confused,
}


@pytest.mark.parametrize("lie", LIES)
def test_a_token_that_lies_signs_nobody_in(door: Door, lie: str, caplog: pytest.LogCaptureFixture) -> None:
    door.enter(door.browser(), invite=door.invitation())
    what = LIES[lie]
    if callable(what):
        what(door.provider)
        door.office.studio.more.pop("openid")  # which remembers the keys
    else:
        door.provider.lies = what
    browser = door.browser()
    with caplog.at_level(logging.WARNING):
        answer = door.enter(browser)
    assert answer.status_code == 502, answer.text
    assert door.who(browser) == ""
    assert "sign-in by" in caplog.text
    assert SECRET not in caplog.text + answer.text


def test_a_little_too_late_is_in_time(door: Door) -> None:
    door.enter(door.browser(), invite=door.invitation())
    door.provider.lies = {"exp": -30, "iat": 30}
    assert door.enter(door.browser()).status_code == 303


def test_keys_that_rotate_are_asked_for_again(door: Door) -> None:
    door.enter(door.browser(), invite=door.invitation())
    door.provider.rotate()
    assert door.enter(door.browser()).status_code == 303
    asked = [path for path, _ in door.provider.seen if path.endswith("/keys")]
    assert len(asked) == 2  # ES256 now, and nobody had to start the studio again


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"issuer": "https://login.example.org"}, "another issuer"),
        ({"token_endpoint": "http://login.example.org/token"}, "http elsewhere"),
        ({"jwks_uri": "file:///etc/passwd"}, "no address"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "a script"),
        ({"end_session_endpoint": "javascript:alert(1)"}, "a script to sign out"),
        ({"token_endpoint": 7}, "no text"),
        ({"padding": "x" * 300_000}, "too long"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_provider_that_is_not_what_it_says_is_left_alone(
    door: Door, metadata: dict[str, Any], why: str
) -> None:
    door.provider.metadata = metadata
    answer = door.browser().post("/signin/provider")
    assert answer.status_code == 503, why
    assert "refresh" not in answer.headers
    assert "log says why" in answer.text


def test_a_provider_that_is_gone_or_redirects(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door.provider, "answer", lambda *_: "http://127.0.0.1:1/elsewhere")
    assert door.browser().post("/signin/provider").status_code == 503
    monkeypatch.setattr(door.provider, "answer", lambda *_: (200, ["no", "document"]))
    assert door.browser().post("/signin/provider").status_code == 503


# -- a log-out that begins there -----------------------------------------------------------------------------------

EVENT = "http://schemas.openid.net/event/backchannel-logout"


def signed_out(door: Door, *, headers: dict[str, str] | None = None, **lies: Any) -> Any:
    """The provider tells the studio that somebody has signed out; None as a lie takes a claim away."""
    now = int(door.provider.clock())
    claims = {"iss": door.provider.issuer, "aud": CLIENT, "iat": now, "exp": now + 120, "jti": new_token(), "sub": "u-1"}  # fmt: skip
    told = {
        name: value for name, value in {**claims, "events": {EVENT: {}}, **lies}.items() if value is not None
    }
    with TestClient(door.office.app, base_url=door.office.origin) as server:
        return server.post(BACK_CHANNEL, data={"logout_token": door.provider.signed(told)}, headers=headers)


def test_who_signs_out_at_the_provider_is_signed_out_here(door: Door) -> None:
    gita = door.office.hire("gita", "coordinator")
    door.enter(one := door.browser(), invite=door.invitation())
    door.enter(other := door.browser())
    answer = signed_out(door)
    assert (answer.status_code, answer.text, answer.headers["cache-control"]) == (204, "", "no-store")
    assert [door.who(one), door.who(other)] == ["", ""]
    assert door.office.get(gita, "/my").status_code == 200
    (event,) = door.office.events("signed-out-everywhere")
    assert event.actor == "studio"
    door.enter(one)
    assert door.who(one) == "ana.ruiz"
    assert signed_out(door, sub="nobody-here").status_code == 204
    assert signed_out(door, jti="once", sub="nobody-here").status_code == 204
    assert signed_out(door, jti="once").status_code == 400
    door.provider.rotate()
    assert signed_out(door).status_code == 204
    assert door.who(one) == ""


def enter_in_session(door: Door, sid: Any, **form: str) -> TestClient:
    """Come by the provider from one of its sessions, as a new browser."""
    door.provider.who = {**door.provider.who, "sid": sid}
    door.enter(browser := door.browser(), **form)
    assert door.who(browser) == "ana.ruiz"
    return browser


@pytest.mark.parametrize("claims", [{}, {"sub": None}], ids=["person and session", "session alone"])
def test_a_log_out_of_one_session_ends_that_one_alone(door: Door, claims: dict[str, Any]) -> None:
    laptop = enter_in_session(door, "s-1", invite=door.invitation())
    tablet = enter_in_session(door, long := "s-2" * 200)
    (ana,) = door.office.rows("people")
    with_link = door.browser()
    door.office.do(people.create_link, hash_token("t"), door.office.now(ana), actor="cli")
    with_link.post("/start/t")
    assert door.who(with_link) == "ana.ruiz"
    assert signed_out(door, sid="s-9", **claims).status_code == 204
    assert [door.who(b) for b in (laptop, tablet, with_link)] == ["ana.ruiz"] * 3
    assert signed_out(door, sid=long, **claims).status_code == 204
    assert [door.who(b) for b in (laptop, tablet, with_link)] == ["ana.ruiz", "", "ana.ruiz"]
    assert not door.office.events("signed-out-everywhere")
    assert signed_out(door).status_code == 204
    assert [door.who(b) for b in (laptop, tablet, with_link)] == ["", "", ""]


def test_a_session_is_named_by_its_provider_and_its_person(door: Door) -> None:
    laptop = enter_in_session(door, "s-1", invite=door.invitation())
    assert "s-1" not in {row.provider_session for row in door.office.rows("sessions")}
    ben = door.office.hire("ben")
    other = Claimed(issuer=door.provider.issuer, subject="u-2")
    door.office.do(identities.connect, ben, other)
    assert signed_out(door, sub="u-2", sid="s-1").status_code == 204  # not ben's
    assert door.who(laptop) == "ana.ruiz"
    here, elsewhere = (
        Claimed(issuer=i, subject="u-1", session="s-1").session_hash for i in ("https://a", "https://b")
    )
    assert len({here, elsewhere, other.session_hash}) == 3


@pytest.mark.parametrize("sid", [None, 7], ids=["none", "no text"])
def test_a_session_that_the_provider_did_not_name_ends_with_any_of_the_person(door: Door, sid: Any) -> None:
    browser = enter_in_session(door, sid, invite=door.invitation())
    assert signed_out(door, sub=None, sid="s-1").status_code == 204
    assert door.who(browser) == "ana.ruiz"
    assert signed_out(door, sid="s-1").status_code == 204
    assert door.who(browser) == ""


def test_a_new_password_keeps_the_session_with_the_provider_s(door: Door) -> None:
    browser = enter_in_session(door, "s-1", invite=door.invitation())
    assert browser.post("/my/password", data={"password": "a long one of mine"}).status_code == 303
    assert door.who(browser) == "ana.ruiz"
    assert signed_out(door, sid="s-1").status_code == 204
    assert door.who(browser) == ""


@pytest.mark.parametrize(
    "lies",
    [
        {"iss": "https://login.example.org"}, {"aud": "another"}, {"aud": None}, {"iss": None}, {"iat": None}, {"exp": None},
        {"jti": None}, {"jti": ""}, {"sub": None}, {"sub": 7}, {"sub": 7, "sid": "s-1"}, {"sid": 7}, {"sid": ""}, {"nonce": "n"}, {"events": None},
        {"events": {}}, {"events": EVENT}, {"events": {EVENT: True}}, {"exp": 1}, {"iat": 4e9},
    ],
    ids=str,
)  # fmt: skip
def test_a_log_out_that_is_not_the_provider_s_ends_nothing(door: Door, lies: dict[str, Any]) -> None:
    door.enter(browser := door.browser(), invite=door.invitation())
    answer = signed_out(door, **lies)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    assert door.who(browser) == "ana.ruiz"


def test_a_log_out_needs_the_provider_s_key_and_no_browser(door: Door) -> None:
    door.enter(browser := door.browser(), invite=door.invitation())
    assert signed_out(door, headers={"Origin": "https://evil.example"}).status_code == 403
    right = door.provider.sign
    for wrong in (
        (b"", "none"),
        (door.provider.public_as_secret(), "HS256"),
        (RSAKey.generate_key(2048), "RS256"),
    ):
        door.provider.sign = wrong
        assert signed_out(door).status_code == 400
    with TestClient(door.office.app, base_url=door.office.origin) as server:
        for form in ({}, {"logout_token": "x" * 5000}, {"logout_token": "a.b.c"}):
            assert server.post(BACK_CHANNEL, data=form).status_code == 400
    assert door.who(browser) == "ana.ruiz"
    door.provider.sign = right
    assert signed_out(door).status_code == 204


# -- browsers and what they bring ------------------------------------------------------------------------------------


def test_a_browser_comes_back_as_it_left(door: Door) -> None:
    door.enter(door.browser(), invite=door.invitation())
    one, other = door.browser(), door.browser()
    back, mixed = (door.sent_back(door.leave(b)) for b in (one, other))
    assert one.get(mixed).status_code == 400  # the code of another browser
    assert door.who(one) == ""
    assert one.get(back).status_code == 400  # and its own note is used up
    assert other.get(mixed).status_code == 303

    late = door.browser()
    back = door.sent_back(door.leave(late))
    door.office.time += 601
    assert late.get(back).status_code == 400
    for change in ("state=", "state=%C3%A4", "code=&x="):
        fresh = door.browser()
        back = door.sent_back(door.leave(fresh))
        name = change.partition("=")[0]
        assert fresh.get(re.sub(rf"{name}=[^&]*", change, back)).status_code == 400, change
    denied = door.browser()
    state = parse_qs(urlsplit(door.leave(denied)).query)["state"][0]
    assert denied.get(f"{DONE}?error=access_denied&state={state}").status_code == 400
    sent = door.browser()
    back = door.sent_back(door.leave(sent))
    assert sent.get(re.sub("iss=[^&]*", "iss=https://mixed.example.org", back)).status_code == 502


def test_a_code_works_once(door: Door) -> None:
    door.enter(door.browser(), invite=door.invitation())
    browser = door.browser()
    back = door.sent_back(door.leave(browser))
    kept = dict(browser.cookies)
    assert browser.get(back).status_code == 303
    thief = door.browser()
    thief.cookies.update({n: v for n, v in kept.items() if "provider" in n})
    assert thief.get(back).status_code == 502
    assert door.who(thief) == ""


def test_a_note_cannot_be_written_by_hand(door: Door) -> None:
    browser = door.browser()
    back = door.sent_back(door.leave(browser))
    (name,) = (n for n in browser.cookies if "provider" in n)
    note = browser.cookies[name].strip('"')
    for forged in (
        note[:-1] + ("0" if note[-1] != "0" else "1"),
        "x" + note,
        "e30=." + note.rpartition(".")[2],
        "ä",
        ".",
    ):
        browser.cookies.clear()
        cookie = f"{name}={forged}".encode()
        assert browser.get(back, headers={"Cookie": cookie}).status_code == 400, forged


def test_the_note_is_not_for_scripts_and_names_no_secret(door: Door) -> None:
    answer = door.browser().post("/signin/provider", data={"next": "//evil.example.org/x"})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    query = parse_qs(urlsplit(answer.headers["refresh"].partition("url=")[2]).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["redirect_uri"] == [door.office.origin + DONE]
    assert SECRET not in answer.text + str(answer.headers)
    door.enter(browser := door.browser(), invite=door.invitation())
    assert door.enter(browser, next="//evil.example.org/x").headers["location"] == "/"


def test_a_session_of_somebody_else_ends_and_connecting_is_theirs_alone(door: Door) -> None:
    door.enter(browser := door.browser(), invite=door.invitation())
    planted = browser.cookies[door.office.studio.auth.cookie]
    door.enter(browser)
    assert browser.cookies[door.office.studio.auth.cookie] != planted
    old = door.browser()
    old.cookies.set(door.office.studio.auth.cookie, planted)
    assert door.who(old) == ""

    ben = door.office.hire("ben")
    mine = door.browser()
    mine.cookies = door.office.client(ben).cookies
    back = door.sent_back(door.leave(mine, "/my/provider"))
    mine.post("/signout")
    assert mine.get(back).status_code == 409
    assert [row.person_id for row in door.office.rows("identities")] != [ben.id]


def test_leaving_comes_from_our_own_pages_and_looking_changes_nothing(door: Door) -> None:
    browser = door.browser()
    cross = browser.post("/signin/provider", headers={"Sec-Fetch-Site": "cross-site"})
    assert cross.status_code == 403
    back = door.sent_back(door.leave(browser, invite=door.invitation()))
    assert browser.head(back).status_code == 405
    assert door.office.rows("people") == []
    assert browser.get(back).status_code == 303


def test_wrong_ones_are_limited_by_address(door: Door) -> None:
    door.provider.lies = {"aud": "another"}
    door.office.studio.auth._writes = Rate(1.0, 1000)  # what limits all writes is another's test
    for _ in range(door.office.studio.auth._limits.sign_ins_together // 2):
        door.enter(door.browser())
    answer = door.browser().post("/signin/provider")
    assert answer.status_code == 429


def test_a_studio_without_a_provider_has_no_such_door(office: Any) -> None:
    with TestClient(office.app, base_url=office.origin, headers=PAGE) as browser:
        assert "provider" not in browser.get("/signin").text
        assert browser.post("/signin/provider").status_code == 404
        assert browser.get(DONE).status_code == 404


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"issuer": "http://login.example.org"}, "--oidc"),
        ({"issuer": "https://user@login.example.org"}, "--oidc"),
        ({"issuer": "login.example.org"}, "--oidc"),
        ({"client": ""}, "--oidc-client"),
        ({"allow": ("*",)}, "--oidc-allow"),
        ({"allow": ("*@*",)}, "--oidc-allow"),
    ],
)
def test_a_provider_that_cannot_be_meant_is_refused_at_the_start(given: dict[str, Any], where: str) -> None:
    with pytest.raises(UserError) as caught:
        check_provider(Provider(**{"issuer": "https://login.example.org", "client": "proctor", **given}))
    assert caught.value.where == where
    check_provider(Provider(issuer="http://127.0.0.1:8080/realms/lab", client="proctor", allow=("*@x.org",)))
    assert SECRET not in repr(Provider(issuer="x", client="y", secret=SECRET))
