"""Sessions and sign-in without pages: cookies, what is remembered, limits, timing; a real server for the cookies."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from proctor.studio.auth import (
    REFUSED,
    Attempts,
    Auth,
    Limits,
    Rate,
    RefusedError,
    SlowDownError,
    agent_name,
    hash_token,
    new_token,
)
from proctor.studio.passwords import Passwords
from proctor.verify.desk import people
from proctor.verify.desk.desk import Desk
from proctor.verify.desk.records import Person
from proctor.verify.schema import tables

ORIGIN = "http://127.0.0.1:8642"
HOUR, DAY = 3600.0, 86400.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class Door:
    """A desk with one person, an ``Auth``, and a small application that says who asks."""

    def __init__(self, folder: Path, origin: str = ORIGIN, limits: Limits | None = None) -> None:
        self.clock, self.ticks = Clock(), Clock()
        self.path = folder / "store.sqlite"
        self.desk = Desk.open(self.path, secret=b"s" * 32, clock=self.clock)
        self.passwords = Passwords(time_cost=1, memory_kib=64, lanes=1)
        self.auth = Auth(self.desk, origin, passwords=self.passwords, limits=limits, clock=self.ticks)
        hashed = asyncio.run(self.passwords.hash("correct horse"))
        self.ana = self.add("ana", password=hashed)
        self.app = Starlette(
            routes=[
                Route("/who", self._who, methods=["GET", "POST"]),
                Route("/in", self._in, methods=["POST"]),
                Route("/out", self._out, methods=["POST"]),
            ]
        )

    def add(self, handle: str, **more: Any) -> Person:
        row = {"handle": handle, "name": handle.title(), "role": "annotator", "actor": "cli", **more}
        return self.do(people.add, **row)

    def do(self, function: Callable[..., Any], *args: Any, **more: Any) -> Any:
        return self.desk.write(lambda c: function(self.desk, c, *args, **more)).result()

    async def _who(self, request: Request) -> Response:
        person = await self.auth.find(request)
        session = request.state.session
        return JSONResponse(
            {
                "who": person.handle if person else None,
                "role": person.role if person else None,
                "session": session.pid if session else None,
            }
        )

    async def _in(self, request: Request) -> Response:
        form = await request.form()
        await self.auth.find(request)
        try:
            person, token = await self.auth.sign_in(request, str(form["handle"]), str(form["password"]))
        except RefusedError as error:
            return JSONResponse({"error": error.message}, 401)
        except SlowDownError as error:
            return JSONResponse({"error": error.message}, 429, {"Retry-After": str(error.seconds)})
        response = JSONResponse({"who": person.handle})
        self.auth.set_cookie(response, token)
        self.auth.know_device(request, response, person.handle)
        return response

    async def _out(self, request: Request) -> Response:
        await self.auth.sign_out(request)
        response = JSONResponse({})
        self.auth.clear_cookie(response)
        return response

    def sessions(self) -> list[Any]:
        with self.desk.reading() as connection:
            return list(connection.execute(tables().sessions.select()).all())

    def browser(self, address: str = "127.0.0.1") -> Browser:
        return Browser(self, address)

    def close(self) -> None:
        self.auth.close()
        self.desk.close()


class Browser:
    """A client with a jar of its own."""

    def __init__(self, door: Door, address: str) -> None:
        self.door, self.address = door, address
        self.jar = httpx.Cookies()

    def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        async def go() -> httpx.Response:
            transport = httpx.ASGITransport(self.door.app, client=(self.address, 9))
            async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, cookies=self.jar) as http:
                response = await http.request(method, path, **more)
                self.jar = http.cookies
                return response

        return asyncio.run(go())

    def sign_in(self, handle: str = "ana", password: str = "correct horse") -> httpx.Response:
        return self.send("POST", "/in", data={"handle": handle, "password": password})

    def who(self, **more: Any) -> str | None:
        name: str | None = self.send("GET", "/who", **more).json()["who"]
        return name

    @property
    def token(self) -> str:
        return self.jar[self.door.auth.cookie]


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    door = Door(tmp_path)
    yield door
    door.close()


# -- tokens and cookies -----------------------------------------------------------------------------


def test_a_token_has_256_bits_and_is_never_stored(door: Door) -> None:
    assert len({new_token() for _ in range(100)}) == 100
    assert all(len(new_token()) == 43 for _ in range(10))
    browser = door.browser()
    browser.sign_in()
    row = door.sessions()[0]
    assert row.token_hash == hashlib.sha256(browser.token.encode()).hexdigest()
    files = [path.read_bytes() for path in door.path.parent.iterdir()]
    assert not any(browser.token.encode() in data for data in files)


def test_the_cookie_on_loopback() -> None:
    response = Response()
    auth = Auth(None, ORIGIN, passwords=Passwords(time_cost=1, memory_kib=64, lanes=1))  # type: ignore[arg-type]
    auth.set_cookie(response, "t" * 43)
    line = response.headers["set-cookie"]
    assert line.startswith("proctor-8642=" + "t" * 43)
    parts = {part.strip().lower() for part in line.split(";")}
    assert {"httponly", "samesite=lax", "path=/", "max-age=1209600"} <= parts
    assert "secure" not in parts
    assert not any(part.startswith("domain") for part in parts)


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ("https://studio.example", "__Host-proctor"),
        ("https://studio.example:443", "__Host-proctor"),
        ("https://studio.example:8443", "__Host-proctor-8443"),
        ("http://localhost", "proctor"),
        ("http://127.0.0.1:80", "proctor"),
        ("http://[::1]:8642", "proctor-8642"),
    ],
)
def test_the_cookies_name(origin: str, name: str) -> None:
    auth = Auth(None, origin, passwords=Passwords(time_cost=1, memory_kib=64, lanes=1))  # type: ignore[arg-type]
    assert auth.cookie == name
    response = Response()
    auth.set_cookie(response, "t" * 43)
    auth.clear_cookie(response)
    for line in response.headers.getlist("set-cookie"):
        assert line.startswith(name + "=")
        assert ("secure" in line.lower()) == origin.startswith("https")


@pytest.mark.parametrize(
    "cookie",
    [
        "proctor-8642=",
        "proctor-8642=x",
        "proctor-8642=" + "a" * 44,
        "proctor-8642=" + "é" * 43,
        "proctor-8642=' OR 1=1 --",
        "proctor=" + "a" * 43,
        "=;;=;",
        "proctor-8642",
        "x" * 100_000,
    ],
)
def test_odd_cookies_are_nobody(door: Door, cookie: str) -> None:
    assert door.browser().who(headers={"Cookie": cookie.encode()}) is None


def test_two_cookies_that_differ_are_nobody(door: Door) -> None:
    browser = door.browser()
    browser.sign_in()
    mine, other = f"proctor-8642={browser.token}", f"proctor-8642={'a' * 43}"
    browser.jar.clear()
    assert browser.who(headers={"Cookie": f"a=b; {mine}"}) == "ana"
    assert browser.who(headers={"Cookie": f"{mine}; {mine}"}) == "ana"
    assert browser.who(headers={"Cookie": f"{other}; {mine}"}) is None
    assert browser.who(headers=[("Cookie", mine), ("Cookie", other)]) is None


def test_a_planted_cookie_never_becomes_somebody(door: Door) -> None:
    planted = new_token()
    browser = door.browser()
    browser.jar.set(door.auth.cookie, planted, domain="127.0.0.1", path="/")
    assert browser.who() is None
    assert browser.send("GET", "/who").headers.get("set-cookie") is None
    browser.sign_in()
    assert browser.token != planted
    attacker = door.browser()
    assert attacker.who(headers={"Cookie": f"{door.auth.cookie}={planted}"}) is None


def test_signing_in_again_rotates_and_ends_the_old_session(door: Door) -> None:
    browser = door.browser()
    browser.sign_in()
    old = browser.token
    browser.sign_in()
    assert browser.token != old
    assert browser.who() == "ana"
    assert door.browser().who(headers={"Cookie": f"{door.auth.cookie}={old}"}) is None


def test_signing_out_ends_the_session_not_just_the_cookie(door: Door) -> None:
    browser = door.browser()
    browser.sign_in()
    token = browser.token
    browser.send("POST", "/out")
    assert browser.who() is None
    assert browser.who(headers={"Cookie": f"{door.auth.cookie}={token}"}) is None
    assert browser.send("POST", "/out").status_code == 200  # again is no error


def test_a_pass_names_a_person_while_their_session_lasts(door: Door) -> None:
    browser = door.browser()
    browser.sign_in()
    made = door.auth.make_pass(hash_token(browser.token), door.clock.now)

    def whose(text: str, within: float = 60) -> str | None:
        person = asyncio.run(door.auth.find_by_pass(text, within=within))
        return person.handle if person else None

    assert whose(made) == "ana"
    hashed, at, mark = made.split(".")
    forged = (
        f"{hashed}.{int(at) + 9}.{mark}",
        f"{hash_token('x')}.{at}.{mark}",
        f"{hashed}.{at}.{'0' * 64}",
        hashed,
        "é" * 140,
        "",
    )
    assert {whose(text) for text in forged} == {None}
    assert browser.who(headers={"Cookie": f"{door.auth.cookie}={made}"}) is None  # it opens nothing
    door.clock.now += 61
    assert (whose(made), whose(made, float("inf"))) == (None, "ana")
    browser.send("POST", "/out")
    assert whose(made, float("inf")) is None


def test_twelve_hours_idle_and_fourteen_days(door: Door) -> None:
    browser = door.browser()
    browser.sign_in()
    door.clock.now += 12 * HOUR - 1
    assert browser.who() == "ana"  # this use is noted
    door.desk.write(lambda c: None).result()
    door.clock.now += 12 * HOUR - 1
    assert browser.who() == "ana"
    door.desk.write(lambda c: None).result()
    door.clock.now += 12 * HOUR + 1
    assert browser.who() is None
    browser.sign_in()
    for _ in range(14 * 3):
        assert browser.who() == "ana"
        door.desk.write(lambda c: None).result()
        door.clock.now += 8 * HOUR
    door.clock.now += 1
    assert browser.who() is None


def test_use_is_noted_once_a_minute(door: Door) -> None:
    browser = door.browser()
    browser.sign_in()
    begun = door.sessions()[0].seen_at
    for _ in range(10):
        door.clock.now += 5
        browser.who()
    door.desk.write(lambda c: None).result()
    assert door.sessions()[0].seen_at == begun
    door.clock.now += 10
    browser.who()
    door.desk.write(lambda c: None).result()
    assert door.sessions()[0].seen_at == begun + 60


# -- what is remembered ------------------------------------------------------------------------------------------


def count_reads(door: Door, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    reads: list[int] = []
    inner = people.find_session

    def counting(*args: Any) -> Any:
        reads.append(1)
        return inner(*args)

    monkeypatch.setattr(people, "find_session", counting)
    return reads


def test_many_requests_read_once(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = door.browser()
    browser.sign_in()
    monkeypatch.setattr(people, "_SETTLING_SECONDS", 0.0)
    reads = count_reads(door, monkeypatch)
    monkeypatch.setattr("proctor.studio.auth._REMEMBER_SECONDS", 60.0)
    assert all(browser.who() == "ana" for _ in range(20))
    assert len(reads) == 1


def test_what_is_remembered_grows_old_too(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = door.browser()
    browser.sign_in()
    monkeypatch.setattr(people, "_SETTLING_SECONDS", 0.0)
    monkeypatch.setattr("proctor.studio.auth._REMEMBER_SECONDS", 60.0)
    assert browser.who() == "ana"
    door.clock.now += 12 * HOUR + 1
    assert browser.who() is None


def test_two_seconds_later_it_reads_again(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = door.browser()
    browser.sign_in()
    monkeypatch.setattr(people, "_SETTLING_SECONDS", 0.0)
    reads = count_reads(door, monkeypatch)
    monkeypatch.setattr("proctor.studio.auth._REMEMBER_SECONDS", 0.05)
    browser.who()
    time.sleep(0.06)
    browser.who()
    assert len(reads) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda door: door.do(people.leave, door.ana, actor="cli"),
        lambda door: door.do(people.withdraw, door.ana, actor="cli"),
        lambda door: door.do(people.set_role, door.ana, "coordinator", actor="cli"),
        lambda door: door.do(people.set_password, door.ana, "x", actor="cli"),
        lambda door: door.do(people.end_all_sessions, door.ana, actor="cli"),
    ],
)
def test_changes_of_this_process_count_at_once(door: Door, change: Callable[[Door], Any]) -> None:
    browser = door.browser()
    browser.sign_in()
    assert browser.who() == "ana"
    change(door)
    assert browser.who() is None


def test_a_change_seen_before_it_was_on_disk_is_not_remembered(door: Door) -> None:
    """The change is noted, a request reads the old state, then it is committed: the next request has to know."""
    browser = door.browser()
    browser.sign_in()
    held, go = threading.Event(), threading.Event()

    def slow(connection: Any) -> None:
        people.set_gate(door.desk, connection, door.ana, "open", actor="cli")
        people.leave(door.desk, connection, door.ana, actor="cli")
        held.set()
        assert go.wait(60)

    future = door.desk.write(slow)
    assert held.wait(60)
    assert browser.who() == "ana"  # not on disk yet
    go.set()
    future.result()
    assert browser.who() is None


def test_changes_of_another_process_count_after_two_seconds(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = door.browser()
    browser.sign_in()
    browser.who()
    with Desk.open(door.path, secret=b"s" * 32, clock=door.clock) as other:
        other.write(lambda c: people.leave(other, c, door.ana, actor="cli")).result()
    monkeypatch.setattr("proctor.studio.auth._REMEMBER_SECONDS", 0.0)  # the two seconds have gone by
    assert browser.who() is None


# -- sign-in ------------------------------------------------------------------------------------------


def test_wrong_unknown_left_and_without_password_read_alike(door: Door) -> None:
    door.add("nopass")
    left = door.add("left", password=asyncio.run(door.passwords.hash("correct horse")))
    door.do(people.leave, left, actor="cli")
    answers = [
        door.browser(f"10.0.0.{n}").sign_in(handle, password)
        for n, (handle, password) in enumerate(
            [
                ("ana", "wrong horse"),
                ("nobody", "correct horse"),
                ("left", "correct horse"),
                ("nopass", ""),
                ("nopass", "correct horse"),
                ("not a handle", "x"),
                ("ana\x00", "correct horse"),
                ("", ""),
                ("a" * 100_000, "x"),
            ]
        )
    ]
    assert {(a.status_code, a.text) for a in answers} == {(401, f'{{"error":"{REFUSED}"}}')}
    assert not any("set-cookie" in a.headers for a in answers)
    assert door.sessions() == []


def test_the_same_work_for_names_that_nobody_has(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    inner = door.passwords._verify

    def counting(hashed: str, password: str) -> bool:
        calls.append(hashed)
        return inner(hashed, password)

    monkeypatch.setattr(door.passwords, "_verify", counting)
    door.browser("10.0.0.1").sign_in("ana", "wrong horse")
    door.browser("10.0.0.2").sign_in("nobody", "wrong horse")
    door.browser("10.0.0.3").sign_in("not a handle", "wrong horse")
    assert len(calls) == 3
    assert calls[1:] == ["", ""]  # which is computed against a stand-in; see test_passwords


def test_five_wrong_ones_a_minute_for_one_name_from_one_address(door: Door) -> None:
    for _ in range(5):
        assert door.browser().sign_in("ana", "wrong horse").status_code == 401
    blocked = door.browser().sign_in(" ANA ", "correct horse")
    assert blocked.status_code == 429
    assert 1 <= int(blocked.headers["retry-after"]) <= 61
    for _ in range(5):
        assert door.browser().sign_in("nobody", "wrong horse").status_code == 401
    assert door.browser().sign_in("nobody", "x").text == blocked.text  # unknown names alike
    assert door.browser("10.0.0.9").sign_in().status_code == 200  # nobody locks Ana out from elsewhere
    door.ticks.now += 61
    assert door.browser().sign_in().status_code == 200


def test_who_mistypes_behind_one_address_does_not_keep_the_others_out(door: Door) -> None:
    for n in range(20):
        assert door.browser().sign_in(f"guess{n}", "wrong horse").status_code == 401
    assert door.browser().sign_in().status_code == 200


@pytest.mark.parametrize(("name", "place"), [("guess{}", "10.0.0.1"), ("ana", "10.0.1.{}")])
def test_guessing_with_many_names_or_from_many_addresses_ends_too(
    tmp_path: Path, name: str, place: str
) -> None:
    door = Door(tmp_path, limits=Limits(sign_ins=5, sign_ins_together=10))
    codes = [
        door.browser(place.format(n)).sign_in(name.format(n), "wrong horse").status_code for n in range(11)
    ]
    assert codes == [401] * 10 + [429]
    door.close()


def test_a_stranger_locks_out_nobody_who_has_worked_here_before(tmp_path: Path) -> None:
    door = Door(tmp_path, limits=Limits(sign_ins=5, sign_ins_together=10))
    mine = door.browser()
    assert mine.sign_in().status_code == 200
    mine.send("POST", "/out")
    for n in range(12):  # at the same address, then with my name from everywhere
        door.browser().sign_in(f"guess{n}", "wrong horse")
        door.browser(f"10.0.1.{n}").sign_in("ana", "wrong horse")
    assert door.browser().sign_in().status_code == 429
    assert mine.sign_in().status_code == 200  # my own device is counted apart
    codes = [mine.sign_in("ana", "wrong horse").status_code for _ in range(6)]
    assert codes == [401] * 5 + [429]  # and guessing on it ends, too
    forged = door.browser()
    forged.jar.set("proctor-device-8642", f"{'0' * 16}.{'1' * 32}", domain="127.0.0.1")
    assert forged.sign_in().status_code == 429
    door.close()


def test_right_ones_do_not_count(door: Door) -> None:
    """A class of fifty behind one address signs in within the same minute."""
    assert all(door.browser().sign_in().status_code == 200 for _ in range(12))


def test_many_guesses_at_once_do_not_slip_through(door: Door) -> None:
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda _: door.browser().sign_in("ana", "wrong horse").status_code, range(16)))
    assert codes.count(401) <= 5
    assert codes.count(429) >= 11


def test_a_hash_with_old_parameters_is_renewed(door: Door) -> None:
    other = door.browser("10.0.0.2")
    other.sign_in()
    door.auth.passwords = Passwords(time_cost=2, memory_kib=64, lanes=1)
    assert door.browser().sign_in().status_code == 200
    hashed = door.desk.read(lambda c: people.password_of(door.desk, c, "ana"))[1]
    assert "t=2" in hashed
    assert door.browser().sign_in().status_code == 200
    assert other.who() == "ana"  # nobody is signed out by that


# -- limits ------------------------------------------------------------------------------------------------------


def test_a_sliding_minute() -> None:
    clock = Clock()
    attempts = Attempts(clock=clock)
    assert attempts.take({"a": 2}) == 0
    clock.now += 30
    assert attempts.take({"a": 2}) == 0
    assert attempts.take({"a": 2}) == 30
    assert attempts.take({"b": 2}) == 0
    assert attempts.take({"b": 2, "a": 2}) == 30
    assert attempts.take({"b": 2}) == 0  # what was refused was not counted
    clock.now += 30
    assert attempts.take({"a": 2}) == 0
    attempts.give_back(("a", "unknown"))
    assert attempts.take({"a": 2}) == 0


def test_attempts_do_not_fill_the_memory() -> None:
    attempts = Attempts(clock=Clock(), keys=100)
    for n in range(1_000):
        attempts.take({f"name {n}": 5})
    assert len(attempts._times) <= 100


def test_ten_a_second_and_thirty_at_once() -> None:
    clock = Clock()
    rate = Rate(10, 30, clock=clock)
    assert [rate.take("a") for _ in range(30)] == [0.0] * 30
    assert rate.take("a") == pytest.approx(0.1)
    assert rate.take("b") == 0
    clock.now += 1
    assert [rate.take("a") for _ in range(10)] == [0.0] * 10
    assert rate.take("a") > 0
    clock.now += 3_600
    assert [rate.take("a") for _ in range(30)] == [0.0] * 30
    assert rate.take("a") > 0


def test_writes_are_limited_by_person_and_reads_are_not(door: Door) -> None:
    browser, other = door.browser(), door.browser()
    door.add("ben", password=asyncio.run(door.passwords.hash("correct horse")))
    browser.sign_in()
    other.sign_in("ben")
    codes = [browser.send("POST", "/who").status_code for _ in range(31)]
    assert codes == [200] * 30 + [429]
    refused = browser.send("POST", "/who")
    assert refused.headers["retry-after"] == "1"
    assert browser.send("GET", "/who").status_code == 200
    assert other.send("POST", "/who").status_code == 200
    door.ticks.now += 0.2
    assert browser.send("POST", "/who").status_code == 200


def test_limits_can_be_set(tmp_path: Path) -> None:
    with Desk.open(tmp_path / "s.sqlite", secret=b"s" * 32) as desk:
        auth = Auth(
            desk,
            ORIGIN,
            passwords=Passwords(time_cost=1, memory_kib=64, lanes=1),
            limits=Limits(1e6, 10_000_000, 50),
        )
        assert all(auth._writes.take("a") == 0 for _ in range(1_000))
        auth.close()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0 Safari/537.36",
            "Chrome, Linux",
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Firefox, Windows",
        ),
        (
            "Mozilla/5.0 (iPad; CPU OS 18_0 like Mac OS X) AppleWebKit/605.1 Version/18.0 Safari/604.1",
            "Safari, iPad",
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/156.0 Safari/537.36 Edg/156.0",
            "Edge, Windows",
        ),
        ("", "A browser"),
        ("<script>alert(1)</script>", "A browser"),
    ],
)
def test_browsers_are_named_in_two_words(text: str, name: str) -> None:
    assert agent_name(text) == name


# -- a real server -----------------------------------------------------------------------------------------------


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Door, str]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    origin = f"http://127.0.0.1:{port}"
    door = Door(tmp_path, origin)
    server = uvicorn.Server(uvicorn.Config(door.app, host="127.0.0.1", port=port, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield door, origin
    server.should_exit = True
    thread.join(60)
    door.close()


def test_cookies_over_a_real_server(served: tuple[Door, str]) -> None:
    door, origin = served
    with httpx.Client(base_url=origin) as http:
        assert http.get("/who").json()["who"] is None
        answer = http.post("/in", data={"handle": "ana", "password": "correct horse"})
        assert answer.status_code == 200
        port = origin.rsplit(":", 1)[1]
        assert answer.headers["set-cookie"].startswith(f"proctor-{port}=")
        assert http.get("/who").json()["who"] == "ana"
        old = http.cookies[f"proctor-{port}"]
        http.post("/in", data={"handle": "ana", "password": "correct horse"})
        assert http.cookies[f"proctor-{port}"] != old
        http.post("/out")
        assert f"proctor-{port}" not in http.cookies
        assert http.get("/who", headers={"Cookie": f"proctor-{port}={old}"}).json()["who"] is None
    assert hash_token(old) in {row.token_hash for row in door.sessions()}


def test_a_restart_signs_nobody_out(served: tuple[Door, str]) -> None:
    door, origin = served
    with httpx.Client(base_url=origin) as http:
        http.post("/in", data={"handle": "ana", "password": "correct horse"})
        door.auth._known.clear()  # what a new process knows
        assert http.get("/who").json()["who"] == "ana"
