"""Coming in and going out, over HTTP, through the whole application."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from proctor.drawing.layout import Layouts
from proctor.exam.kinds.moment_question import JUDGING
from proctor.exam.library import Library
from proctor.llm.media import MediaStore
from proctor.studio.app import build_app
from proctor.studio.auth import REFUSED, Auth, hash_token, new_token
from proctor.studio.context import Settings, Studio
from proctor.studio.pages import account
from proctor.studio.passwords import Passwords
from proctor.verify.desk import documents, people
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.documents import Protocol
from proctor.verify.desk.people import COMMAND_LINE
from proctor.verify.desk.records import Person
from proctor.verify.schema import tables

ORIGIN = "http://127.0.0.1:8642"
DAY = 86400.0
PAGE = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
DATA = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class Site:
    """A whole studio without candidates."""

    def __init__(self, folder: Path) -> None:
        self.clock, self.ticks = Clock(), Clock()
        self.desk = Desk.open(folder / "store.sqlite", secret=b"s" * 32, clock=self.clock)
        self.desk.write(lambda c: documents.ensure_defaults(self.desk, c)).result()
        self.passwords = Passwords(time_cost=1, memory_kib=64, lanes=1)
        self.auth = Auth(self.desk, ORIGIN, passwords=self.passwords, clock=self.ticks)
        self.studio = Studio(
            desk=self.desk,
            settings=Settings(project="Kitchen", origin=ORIGIN, folder=folder),
            library=Library(media=MediaStore()),
            find_video=lambda example: None,
            clips=None,
            layouts=Layouts(),
            auth=self.auth,
        )
        self.app = build_app(self.studio)
        self.hashed = asyncio.run(self.passwords.hash("correct horse"))

    def do(self, function: Any, *args: Any, **more: Any) -> Any:
        return self.desk.write(lambda c: function(self.desk, c, *args, **more)).result()

    def person(self, handle: str = "ana", role: str = "annotator", **more: Any) -> Person:
        row = {"handle": handle, "name": handle.title(), "role": role, "actor": "cli", "gate": "open"}
        found: Person = self.do(people.add, **{**row, "password": self.hashed, **more})
        return found

    def now(self, person: Person) -> Person:
        found = self.desk.read(lambda c: people.by_id(self.desk, c, person.id))
        assert found is not None
        return found

    def invite(self, role: str = "annotator", *, actor: str = COMMAND_LINE, email: str = "") -> str:
        token = new_token()
        self.do(people.create_invite, hash_token(token), role, actor=actor, email=email)
        return token

    def link(self, person: Person) -> str:
        token = new_token()
        self.do(people.create_link, hash_token(token), person, actor=COMMAND_LINE)
        return token

    def text(self, kind: Any, body: str) -> None:
        self.desk.write(lambda c: documents.add(self.desk, c, kind, body, actor="cli")).result()
        self.studio.more.pop("versions", None)  # two seconds have gone by

    def protocol(self, **more: Any) -> None:
        self.desk.write(
            lambda c: documents.set_protocol(self.desk, c, Protocol(**more), actor="cli")
        ).result()

    def rows(self) -> str:
        with self.desk.reading() as connection:
            return repr([connection.execute(table.select()).all() for table in tables()])

    def browser(self, address: str = "127.0.0.1") -> Browser:
        return Browser(self, address)

    def signed_in(self, person: Person, *, ready: bool = True) -> Browser:
        if ready:
            self.do(people.consent_given, person, 1)
            self.do(people.guideline_ticked, person, 1)
        browser = self.browser()
        assert browser.post(f"/start/{self.link(person)}").status_code == 303
        self.ticks.now += 60  # what the test does next is not part of this minute
        return browser


class Browser:
    def __init__(self, site: Site, address: str) -> None:
        self.site, self.address = site, address
        self.jar = httpx.Cookies()

    def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        more.setdefault("headers", PAGE)

        async def go() -> httpx.Response:
            transport = httpx.ASGITransport(self.site.app, client=(self.address, 9))
            async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, cookies=self.jar) as http:
                response = await http.request(method, path, **more)
                self.jar = http.cookies
                return response

        return asyncio.run(go())

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.send("GET", path, **more)

    def post(self, path: str, data: dict[str, str] | None = None, **more: Any) -> httpx.Response:
        return self.send("POST", path, data=data or {}, **more)

    def sign_in(self, handle: str = "ana", password: str = "correct horse", **more: Any) -> httpx.Response:
        return self.post("/signin", {"handle": handle, "password": password, **more})

    def goes(self, path: str) -> str:
        """Where a page leads: an address, or "" when it shows itself."""
        response = self.get(path)
        return response.headers.get("location", "")

    @property
    def is_in(self) -> bool:
        return self.get("/my").status_code == 200


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path)
    yield site
    site.auth.close()
    site.desk.close()


# -- the first owner and invitations ------------------------------------------------------------------


def test_the_first_owner_comes_by_a_link_from_the_command_line(site: Site) -> None:
    token, browser = site.invite("owner"), site.browser()
    for _ in range(3):
        page = browser.get(f"/setup/{token}")
        assert page.status_code == 200
        assert "Kitchen" in page.text
    assert site.desk.read(lambda c: people.list_people(site.desk, c)) == []
    form = {"handle": "Olga", "name": "Olga O.", "password": "a long sentence"}
    response = browser.post(f"/setup/{token}", form)
    assert (response.status_code, response.headers["location"]) == (303, "/")
    owner = site.desk.read(lambda c: people.by_handle(site.desk, c, "olga"))
    assert owner is not None
    assert (owner.role, owner.name, owner.gate, owner.has_password) == ("owner", "Olga O.", "open", True)
    assert browser.is_in
    again = site.browser()
    assert again.get(f"/setup/{token}").status_code == 404
    assert again.post(f"/setup/{token}", {**form, "handle": "eve"}).status_code == 404
    assert again.sign_in("olga", "a long sentence").status_code == 303


def test_the_owner_needs_a_password_and_all_mistakes_are_told_at_once(site: Site) -> None:
    token, browser = site.invite("owner"), site.browser()
    page = browser.post(f"/setup/{token}", {"handle": "x y", "name": "", "password": "short"})
    assert page.status_code == 422
    for part in ("Give a name", "Use 2 to 64 letters", "Use 10 characters or more"):
        assert part in page.text
    assert "short" not in re.findall(r'value="([^"]*)"', page.text)
    assert browser.post(f"/setup/{token}", {"handle": "olga", "name": "Olga"}).status_code == 422
    assert browser.get(f"/setup/{token}").status_code == 200  # still usable


def test_an_invitation_says_who_and_what_and_makes_one_account(site: Site) -> None:
    owner = site.person("olga", "owner")
    token, browser = site.invite("adjudicator", actor=owner.pid, email="ben@example.org"), site.browser()
    page = browser.get(f"/invite/{token}")
    assert "Olga" in page.text
    assert "an adjudicator" in page.text
    # a form that asks for more than was offered
    form = {"handle": "ben", "name": "Ben", "role": "owner", "email": "eve@example.org", "gate": "open"}
    assert browser.post(f"/invite/{token}", form).status_code == 303
    ben = site.desk.read(lambda c: people.by_handle(site.desk, c, "ben"))
    assert ben is not None
    assert (ben.role, ben.email, ben.has_password) == ("adjudicator", "ben@example.org", False)
    assert site.browser().post(f"/invite/{token}", {"handle": "eve", "name": "Eve"}).status_code == 404


def test_programs_that_follow_links_use_nothing_up(site: Site) -> None:
    owner = site.person("olga", "owner")
    token, link = site.invite(actor=owner.pid), site.link(owner)
    before = site.rows()
    for method in ("GET", "HEAD"):
        for path in (f"/invite/{token}", f"/start/{link}"):
            response = site.browser().send(method, path)
            assert response.status_code == 200
            assert "set-cookie" not in response.headers
    assert site.rows() == before


def test_an_invitation_after_seven_days(site: Site) -> None:
    token = site.invite(actor=site.person("olga", "owner").pid)
    site.clock.now += 7 * DAY
    page = site.browser().get(f"/invite/{token}")
    assert page.status_code == 404
    assert "does not work" in page.text
    assert site.browser().post(f"/invite/{token}", {"handle": "ben", "name": "Ben"}).status_code == 404


def test_an_invitation_whose_author_was_downgraded(site: Site) -> None:
    site.person("olga", "owner")
    cora = site.person("cora", "coordinator")
    token = site.invite("coordinator", actor=cora.pid)
    site.do(people.set_role, cora, "annotator", actor="cli")
    assert site.browser().post(f"/invite/{token}", {"handle": "eve", "name": "Eve"}).status_code == 404


def test_an_invitation_is_not_for_whoever_has_an_account(site: Site) -> None:
    owner = site.person("olga", "owner")
    browser, token = site.signed_in(owner), site.invite(actor=owner.pid)
    for response in (
        browser.get(f"/invite/{token}"),
        browser.post(f"/invite/{token}", {"handle": "x2", "name": "X"}),
    ):
        assert response.status_code == 409
        assert "sign out first" in response.text
    assert site.now(owner).role == "owner"
    assert site.browser().get(f"/invite/{token}").status_code == 200


@pytest.mark.parametrize("token", ["x", "a" * 43, "a" * 900, "..a", "_" * 43])
@pytest.mark.parametrize("path", ["invite", "setup", "start"])
def test_tokens_that_nobody_made(site: Site, path: str, token: str) -> None:
    assert site.browser().get(f"/{path}/{token}").status_code == 404
    assert site.browser().post(f"/{path}/{token}", {"handle": "eve", "name": "Eve"}).status_code == 404


def test_a_sign_in_name_that_is_taken(site: Site) -> None:
    owner = site.person("olga", "owner")
    token = site.invite(actor=owner.pid)
    page = site.browser().post(f"/invite/{token}", {"handle": "OLGA", "name": "<b>Other</b>"})
    assert page.status_code == 422
    assert "is taken" in page.text
    assert "&lt;b&gt;Other" in page.text
    assert "<b>Other" not in page.text


def test_where_training_is_asked_annotators_begin_there(site: Site) -> None:
    owner = site.person("olga", "owner")
    site.protocol(training_required=True)
    for role, gate in (("annotator", "training"), ("adjudicator", "open")):
        token = site.invite(role, actor=owner.pid)
        site.browser().post(f"/invite/{token}", {"handle": role, "name": role})
        found = site.desk.read(lambda c, role=role: people.by_handle(site.desk, c, role))
        assert found is not None
        assert found.gate == gate


# -- links ------------------------------------------------------------------------------------------------------


def test_a_link_signs_in_by_a_button_and_once(site: Site) -> None:
    ana = site.person(password="")
    token, browser = site.link(ana), site.browser()
    page = browser.get(f"/start/{token}")
    assert f'action="/start/{token}"' in page.text
    assert "Ana" in page.text
    response = browser.post(f"/start/{token}")
    assert response.status_code == 303
    assert browser.is_in
    assert site.browser().get(f"/start/{token}").status_code == 404
    assert site.browser().post(f"/start/{token}").status_code == 404


def test_a_link_for_another_person_signs_the_first_one_out(site: Site) -> None:
    ana, ben = site.person(), site.person("ben")
    browser = site.signed_in(ana)
    old = browser.jar[site.auth.cookie]
    browser.post(f"/start/{site.link(ben)}")
    assert "ben" in browser.get("/my").text
    assert (
        site.browser().get("/my", headers={**PAGE, "Cookie": f"{site.auth.cookie}={old}"}).status_code == 303
    )


# -- the door --------------------------------------------------------------------------------------


def test_signing_in_leads_to_where_one_wanted_to_go(site: Site) -> None:
    site.person()
    browser = site.browser()
    away = browser.get("/my")
    assert (away.status_code, away.headers["location"]) == (303, "/signin?next=/my")
    page = browser.get(away.headers["location"])
    assert '<input type="hidden" name="next" value="/my">' in page.text
    response = browser.sign_in(next="/my")
    assert (response.status_code, response.headers["location"]) == (303, "/my")
    assert browser.get("/signin?next=/my").headers["location"] == "/my"


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "",
        "/my?x=1",
        "\\\\e",
        "/a\r\nX: y",
    ],
)
def test_nobody_is_led_away(site: Site, address: str) -> None:
    site.person()
    response = site.browser().sign_in(next=address)
    assert response.headers["location"] == "/"
    page = site.browser().send("GET", "/signin", params={"next": address})
    assert 'name="next" value="/"' in page.text


def test_a_refusal_reads_alike_on_the_page(site: Site) -> None:
    site.person()
    pages = [site.browser(f"10.0.0.{n}").sign_in(h, "wrong horse") for n, h in enumerate(("ana", "nob"))]
    assert [p.status_code for p in pages] == [401, 401]
    assert pages[0].text.replace("ana", "nob") == pages[1].text
    assert REFUSED in pages[0].text
    assert "wrong horse" not in pages[0].text


def test_the_dialog_above_a_page_gets_data(site: Site) -> None:
    ana = site.person()
    browser = site.browser()
    refused = browser.post("/signin", {"handle": "ana", "password": "x"}, headers=DATA)
    assert refused.status_code == 401
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["detail"] == REFUSED
    answer = browser.post("/signin", {"handle": "ana", "password": "correct horse"}, headers=DATA)
    assert answer.status_code == 200
    assert answer.json() == {"person": ana.pid, "next": "/"}
    assert browser.is_in


def test_five_wrong_ones_and_one_waits(site: Site) -> None:
    site.person()
    for _ in range(5):
        site.browser().sign_in(password="wrong horse")
    page = site.browser().sign_in()
    assert page.status_code == 429
    assert int(page.headers["retry-after"]) >= 1
    assert "Too many attempts" in page.text
    data = site.browser().post("/signin", {"handle": "ana", "password": "x"}, headers=DATA)
    assert (data.status_code, data.headers["retry-after"]) == (429, page.headers["retry-after"])


def test_signing_out_is_a_form_and_ends_the_session(site: Site) -> None:
    browser = site.signed_in(site.person())
    cookie = f"{site.auth.cookie}={browser.jar[site.auth.cookie]}"
    assert browser.get("/signout").status_code == 405
    assert browser.is_in
    response = browser.post("/signout")
    assert response.headers["location"] == "/signin?said=signed-out"
    assert site.browser().get("/my", headers={**PAGE, "Cookie": cookie}).status_code == 303
    assert "You are signed out" in browser.get("/signin?said=signed-out").text


def test_a_new_role_signs_out_at_once(site: Site) -> None:
    ana = site.person()
    browser = site.signed_in(ana)
    assert browser.is_in
    site.do(people.set_role, ana, "adjudicator", actor="cli")
    assert not browser.is_in


def test_foreign_pages_cannot_sign_anybody_in_or_out(site: Site) -> None:
    ana = site.person()
    browser = site.signed_in(ana)
    token = site.link(ana)
    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "null"},
        {"Origin": "https://evil.example"},
        {},
    ):
        for path in ("/signin", "/signout", "/my/withdraw", "/my/sessions/end-all", f"/start/{token}"):
            response = browser.post(
                path, {"sure": "1", "handle": "ana", "password": "correct horse"}, headers=headers
            )
            assert response.status_code == 403
    assert browser.is_in
    assert site.browser().get(f"/start/{token}").status_code == 200


def test_no_get_changes_anything(site: Site) -> None:
    """Made from the table of these pages."""
    ana = site.person()
    browser = site.signed_in(ana)
    fill = {"token": site.link(site.person("ben")), "pid": ana.pid}
    browser.get("/my")
    site.desk.write(lambda c: None).result()
    before = site.rows()
    for path, method, _, _ in account.ROUTES:
        if method == "GET":
            browser.get(path.format(**fill) + "?agree=1&read=1&sure=1&version=1")
    site.desk.write(lambda c: None).result()
    assert site.rows() == before


def test_pages_are_not_kept_by_caches(site: Site) -> None:
    browser = site.signed_in(site.person())
    for path in ("/my", "/consent", "/guideline", "/signin", "/", "/nothing"):
        assert browser.get(path).headers["cache-control"] == "no-store"


def test_large_bodies_and_files_are_refused(site: Site) -> None:
    browser = site.browser()
    assert browser.post("/signin", {"handle": "x" * 1_100_000}).status_code == 413
    assert browser.send("POST", "/signin", files={"handle": ("a.svg", b"<svg/>")}).status_code == 400
    many = {f"f{n}": "x" for n in range(200)}
    assert browser.post("/signin", many).status_code == 400


def test_tokens_and_passwords_stay_out_of_logs(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "proctor"):
        token, browser = site.invite("owner"), site.browser()
        browser.get(f"/setup/{token}")
        browser.post(f"/setup/{token}", {"handle": "olga", "name": "Olga", "password": "a long sentence"})
        browser.sign_in("olga", "a wrong sentence")
        browser.get("/nothing-here")
    for word in (token, "a long sentence", "a wrong sentence", browser.jar[site.auth.cookie]):
        assert word not in caplog.text


def test_an_address_that_cannot_be_ours_gets_a_page_of_ours(site: Site) -> None:
    page = site.browser().get("/w/%3Cscript%3E?q=%3Cimg%3E")
    assert page.status_code == 404
    assert "<h1>There is nothing here</h1>" in page.text
    assert "script&gt;" not in page.text
    assert "img" not in page.text.split("<h1>")[1]
    assert page.headers["x-frame-options"] == "DENY"


# -- consent and guideline ------------------------------------------------------------------------


def test_consent_then_guideline_then_work(site: Site) -> None:
    ana = site.person()
    browser = site.signed_in(ana, ready=False)
    assert browser.goes("/") == "/consent"
    page = browser.get("/consent")
    assert "may be released as part of a public data set" in " ".join(page.text.split())
    assert browser.post("/consent", {"version": "1"}).status_code == 422
    assert browser.goes("/") == "/consent"
    assert browser.post("/consent", {"version": "1", "agree": "1"}).headers["location"] == "/"
    assert browser.goes("/") == "/guideline"
    assert browser.post("/guideline", {"version": "1"}).status_code == 422
    assert browser.post("/guideline", {"version": "1", "read": "1"}).headers["location"] == "/"
    assert browser.get("/").status_code == 200
    now = site.now(ana)
    assert (now.consent_version, now.guidelines) == (1, {"moment": 1})
    assert "You agreed on" in browser.get("/consent").text
    assert "You ticked this version on" in browser.get("/guideline").text


def test_programs_are_told_where_to_go_first(site: Site) -> None:
    browser = site.signed_in(site.person(), ready=False)
    response = browser.get("/w/abcdefgh/state", headers=DATA)
    assert response.status_code == 403
    assert response.json()["go"] == "/consent"


def test_coordinators_are_asked_before_they_judge_themselves(site: Site) -> None:
    browser = site.signed_in(site.person("cora", "coordinator"), ready=False)
    assert browser.goes("/") == ""
    assert browser.goes("/w/abcdefgh") == "/consent"


@pytest.mark.parametrize("version", ["2", "0", "", "x", "-1", "1e3", "9" * 50, "\u0661"])
@pytest.mark.parametrize("path", ["consent", "guideline"])
def test_one_agrees_to_what_one_was_shown(site: Site, path: str, version: str) -> None:
    ana = site.person()
    browser = site.signed_in(ana, ready=False)
    response = browser.post(f"/{path}", {"version": version, "agree": "1", "read": "1"})
    assert response.status_code == 409
    assert "newer version" in response.text
    assert (site.now(ana).consent_version, site.now(ana).guidelines) == (0, {})


def test_a_new_consent_is_asked_for_again_and_a_new_guideline_is_not(site: Site) -> None:
    browser = site.signed_in(site.person())
    assert browser.goes("/") == ""
    site.text("guideline", JUDGING.guideline.replace("Work alone.", "Work alone and calmly."))
    assert browser.goes("/") == ""
    page = browser.get("/guideline").text
    assert "changed since version 1" in page
    assert "Work alone and calmly." in page
    assert "<ins>" in page
    assert "<del>" in page
    site.text("consent", "# New\n\nOther words.")
    assert browser.goes("/") == "/consent"


def test_nothing_is_asked_or_kept_of_what_was_watched(site: Site) -> None:
    ana = site.person()
    browser = site.signed_in(ana, ready=False)
    assert "watching" not in browser.get("/consent").text
    browser.post("/consent", {"version": "1", "agree": "1", "watching": "1"})
    browser.post("/my/settings", {"theme": "auto", "watching": "1"})
    assert site.now(ana).consent_version == 1
    assert "store_watching" not in site.now(ana).settings
    assert "watching" not in browser.get("/my").text


def test_texts_of_coordinators_are_inert(site: Site) -> None:
    browser = site.signed_in(site.person())
    bad = "# T\n\n<script>alert(1)</script> <img src=x onerror=alert(1)> [x](javascript:alert(1)) {{7*7}}"
    site.text("guideline", bad)
    page = browser.get("/guideline").text
    assert "<script>alert" not in page
    assert "<img" not in page
    assert 'href="javascript' not in page
    assert "{{7*7}}" in page
    assert " style=" not in page
    assert "onerror=alert(1)&gt;" in page


# -- one's own settings --------------------------------------------------------------------------------------------


def test_settings_are_kept_and_shown(site: Site) -> None:
    ana = site.person()
    browser = site.signed_in(ana)
    form = {"theme": "dark", "key-submit": "Mod+s", "key-yes": "y", "key-undo": ""}
    assert browser.post("/my/settings", form).headers["location"] == "/my?said=saved"
    now = site.now(ana)
    assert now.settings["theme"] == "dark"
    assert account.keys_of(now) == {"single": False, "map": {"submit": ["Mod+s"], "undo": []}}
    page = browser.get("/my?said=saved").text
    assert 'data-theme="dark"' in page
    assert 'name="key-submit" value="Mod+s"' in page
    assert "Saved." in page
    browser.post("/my/settings", {"theme": "auto", "single_keys": "1"})
    assert account.keys_of(site.now(ana)) == {"single": True, "map": {}}


@pytest.mark.parametrize(
    "form",
    [
        {"theme": "neon"},
        {},
        {"theme": "dark", "key-submit": "Mod+Enter Alt"},
        {"theme": "dark", "key-submit": "<script>"},
        {"theme": "dark", "key-submit": "x" * 500},
        {"theme": "dark", "key-submit": "é"},
    ],
)
def test_settings_that_make_no_sense_change_nothing(site: Site, form: dict[str, str]) -> None:
    ana = site.person()
    response = site.signed_in(ana).post("/my/settings", form)
    assert response.status_code == 422
    assert "<script>" not in response.text
    assert site.now(ana).settings == {}


def test_who_never_agreed_is_not_said_to_have_agreed(site: Site) -> None:
    page = site.signed_in(site.person("olga", "owner"), ready=False).get("/my").text
    assert "You agreed to version" not in page
    assert "You have not agreed to" in page
    assert "You agreed to version 1" in site.signed_in(site.person()).get("/my").text


def test_one_sees_and_ends_ones_sessions(site: Site) -> None:
    ana = site.person()
    here = site.signed_in(ana)
    there = site.browser()
    agent = "Mozilla/5.0 (iPad; CPU OS 18_0) Version/18.0 Safari/604.1"
    there.post(f"/start/{site.link(ana)}", headers={**PAGE, "User-Agent": agent})
    page = here.get("/my").text
    assert "Safari, iPad" in page
    assert "here, now" in page
    ends = re.findall(r'action="(/my/sessions/[0-9a-f]+/end)"', page)
    assert len(ends) == 1
    assert here.post(ends[0]).status_code == 303
    assert here.is_in
    assert not there.is_in
    assert here.post(ends[0]).status_code == 404


def test_nobody_ends_anothers_session(site: Site) -> None:
    ana, ben = site.person(), site.person("ben")
    hers, his = site.signed_in(ana), site.signed_in(ben)
    pid = site.desk.read(lambda c: people.list_sessions(site.desk, c, ana))[0].pid
    assert his.post(f"/my/sessions/{pid}/end").status_code == 404
    assert hers.is_in


def test_everywhere_is_everywhere(site: Site) -> None:
    ana = site.person()
    here, there, other = site.signed_in(ana), site.signed_in(ana), site.signed_in(site.person("ben"))
    assert here.post("/my/sessions/end-all").headers["location"] == "/signin?said=signed-out"
    assert not here.is_in
    assert not there.is_in
    assert other.is_in


def test_a_new_password_needs_the_old_one_and_ends_other_sessions(site: Site) -> None:
    ana = site.person()
    here, there = site.signed_in(ana), site.signed_in(ana)
    wrong = here.post("/my/password", {"current": "wrong horse", "password": "a new sentence"})
    assert wrong.status_code == 422
    assert "The current password is not right" in wrong.text
    short = here.post("/my/password", {"current": "correct horse", "password": "short"})
    assert short.status_code == 422
    assert (
        here.post("/my/password", {"current": "correct horse", "password": "a new sentence"}).status_code
        == 303
    )
    assert here.is_in
    assert not there.is_in
    assert site.browser().sign_in().status_code == 401
    assert site.browser().sign_in(password="a new sentence").status_code == 303


def test_an_unlocked_screen_is_no_place_to_guess(site: Site) -> None:
    browser = site.signed_in(site.person())
    codes = [
        browser.post("/my/password", {"current": f"guess {n}", "password": "a new sentence"}).status_code
        for n in range(6)
    ]
    assert codes == [422] * 5 + [429]


def test_whoever_has_no_password_sets_one(site: Site) -> None:
    browser = site.signed_in(site.person(password=""))
    assert "Set a password" in browser.get("/my").text
    assert browser.post("/my/password", {"password": "a new sentence"}).status_code == 303
    assert site.browser().sign_in(password="a new sentence").status_code == 303


def test_names_are_shown_as_text(site: Site) -> None:
    ana = site.person(name='"><img src=x onerror=alert(1)>{{7*7}}')
    browser = site.signed_in(ana)
    pages = [browser.get("/my").text, site.browser().get(f"/start/{site.link(ana)}").text]
    for page in pages:
        assert "<img" not in page
        assert "{{7*7}}" in page
    page = site.browser().sign_in('"><script>alert(1)</script>', "x").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


# -- withdrawal ------------------------------------------------------------------------------------------


def test_withdrawing_removes_the_person_and_signs_out(site: Site) -> None:
    zelda = site.person("zeldaq", name="Zelda Quux", email="zelda@example.org")
    browser, other = site.signed_in(zelda), site.signed_in(zelda)
    assert browser.post("/my/withdraw").status_code == 422
    assert site.now(zelda).state == "active"
    page = browser.post("/my/withdraw", {"sure": "1"})
    assert page.status_code == 200
    assert "You have withdrawn" in page.text
    assert "Zelda" not in page.text
    assert not browser.is_in
    assert not other.is_in
    rows = site.rows()
    for word in ("zelda", "Zelda", "Quux", "example.org", site.hashed):
        assert word not in rows
    assert zelda.pid in rows
    assert site.browser().sign_in("zeldaq").status_code == 401


def test_the_last_owner_cannot_withdraw(site: Site) -> None:
    owner = site.person("olga", "owner")
    browser = site.signed_in(owner)
    page = browser.post("/my/withdraw", {"sure": "1"})
    assert page.status_code == 409
    assert "make another person owner first" in page.text
    assert browser.is_in
    assert site.now(owner).name == "Olga"
