"""Who is asking: cookies, sessions, sign-in, and how much one may ask for.

A cookie holds 256 random bits; the store knows their SHA-256. A cookie is made when somebody signs in and never before,
so there is none that could be planted beforehand. Every request needs the answer, so it is remembered for two seconds;
what this process changes itself counts at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyio import to_thread
from sqlalchemy import Connection
from starlette.exceptions import HTTPException

from proctor.errors import UserError
from proctor.said import say
from proctor.studio.guard import SAFE_METHODS
from proctor.studio.language import PROGRAMS
from proctor.studio.passwords import LONGEST, Passwords
from proctor.verify.desk import people, tokens
from proctor.verify.desk.people import Session
from proctor.verify.desk.records import GoneError, InvalidError, Person
from proctor.verify.desk.tokens import Token

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from proctor.verify.desk.desk import Desk

__all__ = [
    "REFUSED",
    "Attempts",
    "Auth",
    "Limits",
    "Rate",
    "RefusedError",
    "SlowDownError",
    "agent_name",
    "hash_token",
    "new_token",
]

REFUSED: Final = say("The name or the password is not right.")
"""Said for a wrong password, an unknown name, somebody who left, and an account without a password alike."""
SEEN_EVERY: Final = 60.0
"""Seconds between notes that a session is in use; a write for each request would be dear."""

_REMEMBER_SECONDS: Final = 2.0
_MOST_REMEMBERED: Final = 10_000
_MARKS: Final = 8
"""People whom a device remembers."""
_DEVICE_SECONDS: Final = 400 * 24 * 3600
_DEVICE: Final = re.compile(r"[0-9a-f]{16}(?:\.[0-9a-f]{32}){0,8}", re.ASCII)
_BRING_ONE: Final = say("Send a valid token from My account: Authorization: Bearer proctor_…")
_PASS: Final = re.compile(r"([0-9a-f]{64})\.([0-9]{1,12})\.[0-9a-f]{64}", re.ASCII)
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}


class Limits(NamedTuple):
    """How much one may ask for.

    Attributes:
        writes_per_second: of one person, in the long run.
        writes_at_once: that may come together.
        sign_ins: wrong ones per minute, for one name from one address, or on one device that the name has signed in on before.
        sign_ins_together: wrong ones per minute, for one address with all names, and for one name from all addresses. Known
            devices are counted apart: a stranger who uses these up keeps nobody out who has worked here before.
    """

    writes_per_second: float = 10.0
    writes_at_once: int = 30
    sign_ins: int = 5
    sign_ins_together: int = 100


class RefusedError(UserError):
    """Nobody signs in with that."""

    def __init__(self) -> None:
        super().__init__(REFUSED, hint=say("ask your coordinator for a sign-in link if you forgot it"))


class SlowDownError(UserError):
    """Too many attempts; ``seconds`` until the next one makes sense."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(1, round(seconds + 0.5))
        super().__init__(
            say("Too many attempts."), hint=say("try again in {seconds} seconds", seconds=self.seconds)
        )


# -- tokens --------------------------------------------------------------------------------------------------


def new_token() -> str:
    """Return 256 random bits as 43 characters that can stand in a cookie or an address."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """Return the SHA-256 of a token as hex digits, which is all that is stored."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def agent_name(text: str) -> str:
    """Return browser and system in two words; the exact version would say too much about a person."""
    browsers = (("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"))
    systems = (("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"))
    more = (("Mac OS X", "macOS"), ("CrOS", "ChromeOS"), ("Linux", "Linux"))
    browser = _first(text, (*browsers, ("Safari/", "Safari"))) or "A browser"
    system = _first(text, (*systems, *more))
    return f"{browser}, {system}" if system else browser


def _first(text: str, signs: Iterable[tuple[str, str]]) -> str:
    return next((word for sign, word in signs if sign in text), "")


# -- limits --------------------------------------------------------------------------------------------------


class Attempts:
    """At most so many attempts in a sliding minute, by key.

    Args:
        clock: seconds that never go back.
        keys: remembered at most; the longest unused is forgotten.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, keys: int = 20_000) -> None:
        self._clock = clock
        self._keys = keys
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def take(self, limits: Mapping[str, int]) -> float:
        """Note an attempt under all keys and return 0; if one has none left, note nothing and return seconds.

        Args:
            limits: key to how many it has in a minute.
        """
        now = self._clock()
        wait = max(self._wait(key, now, most) for key, most in limits.items())
        if wait <= 0:
            for key in limits:
                self._times.setdefault(key, deque()).append(now)
                self._times.move_to_end(key)
            while len(self._times) > self._keys:
                self._times.popitem(last=False)
        return max(0.0, wait)

    def give_back(self, keys: Iterable[str]) -> None:
        """Take the last attempt back: it was right."""
        for key in keys:
            with suppress(IndexError):
                self._times.get(key, deque()).pop()

    def _wait(self, key: str, now: float, most: int) -> float:
        times = self._times.get(key)
        while times and now - times[0] >= 60.0:
            times.popleft()
        return 60.0 - (now - times[0]) if times and len(times) >= most else 0.0


class Rate:
    """So many a second in the long run, and some at once, by key (a token bucket).

    Args:
        per_second: in the long run.
        at_once: that may come together.
        clock: seconds that never go back.
    """

    def __init__(
        self, per_second: float, at_once: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = per_second
        self._most = float(at_once)
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> float:
        """Return 0 if there was one left under a key, else the seconds until there is one."""
        now = self._clock()
        left, at = self._left.pop(key, (self._most, now))
        left = min(self._most, left + (now - at) * self._rate)
        wait = 0.0 if left >= 1 else (1 - left) / self._rate
        self._left[key] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > _MOST_REMEMBERED:
            self._left.popitem(last=False)
        return wait


# -- sign-in -------------------------------------------------------------------------------------------------


class _Known(NamedTuple):
    session: Session
    person: Person
    read_at: float


class Auth:
    """Sessions of a studio.

    Args:
        desk: of the store.
        origin: scheme, host and port that browsers use; decides the cookie's name and whether it is ``Secure``.
        passwords: hashes; tests bring cheap ones.
        limits: see ``Limits``.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        desk: Desk,
        origin: str,
        *,
        passwords: Passwords | None = None,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        limits = limits or Limits()
        self.desk = desk
        self.passwords = passwords or Passwords()
        self.secure = origin.lower().startswith("https://")
        self.cookie = _cookie_name(origin)
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._seen: dict[str, float] = {}
        self._limits = limits
        self._attempts = Attempts(clock=clock)
        self._writes = Rate(limits.writes_per_second, limits.writes_at_once, clock=clock)

    def close(self) -> None:
        """End the threads that compute hashes."""
        self.passwords.close()

    async def find(self, request: Request) -> Person | None:
        """Return who asks, None when nobody is signed in; ``request.state.session`` is then theirs or None.

        Raises:
            HTTPException: 429 with ``Retry-After`` when somebody changes things too fast.
        """
        known = await self._known_by_cookie(request)
        request.state.session = known.session if known else None
        if request.method not in SAFE_METHODS:
            self._allow_write(known.person.pid if known else _address(request))
        return known.person if known else None

    async def reader(self, request: Request) -> Person | None:
        """Return who reads that a request is refused: it counts as nothing. Programs, and a store that fails, have nobody."""
        with suppress(UserError):
            program = request.scope["path"].startswith(PROGRAMS)
            known = None if program else await self._known_by_cookie(request)
            return known.person if known else None
        return None

    async def find_program(self, request: Request) -> tuple[Token, Person]:
        """Return the token that a request brings, and in whose name it works; cookies are not looked at.

        Raises:
            HTTPException: 401 for none that works; 429 after many wrong ones from an address, or too many changes.
        """
        given = request.headers.getlist("authorization")
        scheme, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        known, desk = None, self.desk
        if scheme.lower() == "bearer":
            hashed = hash_token(secret)
            known = await to_thread.run_sync(desk.read, lambda c: tokens.find(desk, c, hashed))
        if known is None:
            try:
                if given:
                    self.take_try(request, "token")
            except SlowDownError as error:
                raise HTTPException(429, error.hint, headers={"Retry-After": str(error.seconds)}) from None
            raise HTTPException(401, _BRING_ONE, headers={"WWW-Authenticate": 'Bearer realm="proctor"'})
        token, person = known
        if request.method not in SAFE_METHODS:
            self._allow_write(person.pid)
        key = f"token {token.pid}"
        if desk.now() - max(token.used_at or 0.0, self._seen.get(key, 0.0)) >= SEEN_EVERY:
            self._seen[key] = desk.now()
            with suppress(UserError):
                desk.write(lambda c: tokens.touch(desk, c, token))
        return known

    def token_of(self, request: Request) -> str:
        """Return the token in the request's cookie; "" when there is none, or two that differ: one may be planted."""
        values = {
            value.strip().strip('"')
            for line in request.headers.getlist("cookie")
            for name, sign, value in (part.partition("=") for part in line.split(";"))
            if sign and name.strip() == self.cookie
        }
        if len(values) != 1:
            return ""
        token = values.pop()
        return token if _TOKEN.fullmatch(token) else ""

    async def sign_in(self, request: Request, handle: str, password: str) -> tuple[Person, str]:
        """Check a name and a password, and open a session.

        Returns:
            who it is, and the token for ``set_cookie``.

        Raises:
            SlowDownError: after five wrong attempts in a minute for this name from this address, or after many more for the
                name from anywhere, or from the address for any names (``Limits``).
            RefusedError: if nobody signs in with that.
        """
        person, hashed = await self._checked(request, handle, password)
        new_hash = await self.passwords.hash(password) if self.passwords.is_outdated(hashed) else ""
        try:
            token = await self.open(request, person, keep_hash=new_hash)
        except GoneError:
            raise RefusedError from None  # they left in this very moment
        return person, token

    async def check(self, request: Request, person: Person, password: str) -> None:
        """Check the password of somebody who is signed in, under the limits of ``sign_in``.

        Raises:
            SlowDownError: as ``sign_in``.
            RefusedError: if it is wrong.
        """
        await self._checked(request, person.handle, password)

    async def _checked(self, request: Request, handle: str, password: str) -> tuple[Person, str]:
        name, place = f"name {_handle_key(handle)}", f"from {_address(request)}"
        one, together = self._limits.sign_ins, self._limits.sign_ins_together
        limits = {f"{name} {place}": one, name: together, place: together}
        device = self._device_of(request)
        if device and self._mark(device[0], handle) in device[1:]:
            limits = {f"{name} on {device[0]}": one}
        # Taken before the work is done, or a hundred attempts at once would all pass; given back when it was right.
        wait = self._attempts.take(limits)
        if wait > 0:
            raise SlowDownError(wait)
        person, hashed = await to_thread.run_sync(
            self.desk.read, lambda c: people.password_of(self.desk, c, handle)
        )
        right = await self.passwords.verify(hashed, password)
        if person is None or not right:
            raise RefusedError
        self._attempts.give_back(limits)
        return person, hashed

    def take_try(self, request: Request, what: str) -> Callable[[], None]:
        """Note a try by something else than a password, and return what takes it back if it was right.

        Raises:
            SlowDownError: after as many wrong ones of an address in a minute as for passwords of all names.
        """
        key = f"{what} from {_address(request)}"
        wait = self._attempts.take({key: self._limits.sign_ins_together})
        if wait > 0:
            raise SlowDownError(wait)
        return lambda: self._attempts.give_back([key])

    async def open(
        self, request: Request, person: Person, *, keep_hash: str = "", provider_session: str | None = None
    ) -> str:
        """Open a session (``people.Session``) and return its token; the one that the request came with ends.

        Raises:
            GoneError: if the person is no longer active.
        """
        token, old, agent = new_token(), self.token_of(request), self.agent_of(request)

        def work(connection: Connection) -> None:
            if old:
                people.end_session(self.desk, connection, hash_token(old))
            if keep_hash:
                people.renew_hash(self.desk, connection, person, keep_hash)
            people.open_session(
                self.desk,
                connection,
                hash_token(token),
                person,
                agent=agent,
                provider_session=provider_session,
            )

        await self.write(work)
        return token

    async def sign_out(self, request: Request) -> None:
        """End the session that the request came with."""
        token = self.token_of(request)
        if token:
            hashed = hash_token(token)
            await self.write(lambda c: people.end_session(self.desk, c, hashed))
            self._known.pop(hashed, None)

    async def write(self, work: Callable[[Connection], Any]) -> Any:
        """Write to the desk; returns when it is on disk."""
        return await asyncio.wrap_future(self.desk.write(work))

    def agent_of(self, request: Request) -> str:
        """Return what the request says of its browser, shortened; see ``agent_name``."""
        return agent_name(request.headers.get("user-agent", ""))

    def set_cookie(self, response: Response, token: str) -> None:
        """Give the browser a token: not for scripts, not for other sites, over TLS only where there is TLS."""
        response.set_cookie(
            self.cookie,
            token,
            max_age=int(people.ABSOLUTE_SECONDS),
            path="/",
            secure=self.secure,
            httponly=True,
            samesite="lax",
        )

    def know_device(self, request: Request, response: Response, handle: str) -> None:
        """Note in a cookie that somebody has signed in on this device (OWASP: device cookies).

        It opens nothing: wrong passwords on this device are counted apart from those of strangers.
        """
        device, *marks = self._device_of(request) or [secrets.token_hex(8)]
        mine = self._mark(device, handle)
        marks = [mine, *(mark for mark in marks if mark != mine)][:_MARKS]
        response.set_cookie(
            self.cookie_for("device"), ".".join((device, *marks)), max_age=_DEVICE_SECONDS, path="/", secure=self.secure, httponly=True,
            samesite="lax",
        )  # fmt: skip

    def _device_of(self, request: Request) -> list[str]:
        """Return the number of a device and the marks of those who signed in on it; [] for a new one."""
        text = request.cookies.get(self.cookie_for("device"), "")
        return text.split(".") if _DEVICE.fullmatch(text) else []

    def _mark(self, device: str, handle: str) -> str:
        text = f"device {device} {_handle_key(handle)}".encode()
        return hmac.digest(self.desk.secret, text, "sha256").hex()[:32]

    def cookie_for(self, what: str) -> str:
        """Return the name of a cookie beside that of the session."""
        return self.cookie.replace("proctor", f"proctor-{what}", 1)

    def clear_cookie(self, response: Response) -> None:
        """Take the token from the browser."""
        response.delete_cookie(self.cookie, path="/", secure=self.secure, httponly=True, samesite="lax")

    # -- beside other projects -------------------------------------------------------------------------------

    def make_pass(self, token_hash: str, at: float) -> str:
        """Return a text by which the list of projects shows what is a session's; it opens nothing."""
        mark = hmac.digest(self.desk.secret, f"pass {token_hash} {at:.0f}".encode(), "sha256").hex()
        return f"{token_hash}.{at:.0f}.{mark}"

    async def find_by_pass(self, text: str, *, within: float = float("inf")) -> Person | None:
        """Return whose pass this is while their session lasts; None for any other text, or one made more than so many seconds ago."""
        parts = _PASS.fullmatch(text)
        if parts is None or not hmac.compare_digest(self.make_pass(parts[1], at := float(parts[2])), text):
            return None
        known = await self._look_up(parts[1]) if self.desk.now() - at < within else None
        return known.person if known else None

    # -- inside ----------------------------------------------------------------------------------------------

    async def _known_by_cookie(self, request: Request) -> _Known | None:
        token = self.token_of(request)
        return await self._look_up(hash_token(token)) if token else None

    async def _look_up(self, token_hash: str) -> _Known | None:
        known = self._known.get(token_hash)
        if known is None or not self._is_fresh(known):
            known = await self._read(token_hash)
        if known is not None:
            self._note_use(token_hash, known)
        return known

    def _is_fresh(self, known: _Known) -> bool:
        young = time.monotonic() - known.read_at < _REMEMBER_SECONDS
        if not young or people.is_over(self.desk, known.session):
            return False
        return not people.changed_recently(self.desk, known.person.id, known.read_at)

    async def _read(self, token_hash: str) -> _Known | None:
        read_at = time.monotonic()
        found = await to_thread.run_sync(
            self.desk.read, lambda c: people.find_session(self.desk, c, token_hash)
        )
        if found is None:
            self._known.pop(token_hash, None)
            self._seen.pop(token_hash, None)
            return None
        known = _Known(*found, read_at)
        self._known[token_hash] = known
        if len(self._known) > _MOST_REMEMBERED:
            forgotten, _ = self._known.popitem(last=False)
            self._seen.pop(forgotten, None)
        return known

    def _note_use(self, token_hash: str, known: _Known) -> None:
        now = self.desk.now()
        seen = max(known.session.seen_at, self._seen.get(token_hash, 0.0))
        if now - seen < SEEN_EVERY:
            return
        self._seen[token_hash] = now
        with suppress(UserError):  # nobody waits for this; the next request notes it again
            self.desk.write(lambda c: people.touch(self.desk, c, known.session.id))

    def _allow_write(self, key: str) -> None:
        wait = self._writes.take(key)
        if wait > 0:
            seconds = max(1, round(wait + 0.5))
            raise HTTPException(
                429,
                say("Wait {seconds} seconds and send it again.", seconds=seconds),
                headers={"Retry-After": str(seconds)},
            )


def _cookie_name(origin: str) -> str:
    """Cookies know no ports: two studios on one machine would sign each other out under one name."""
    scheme, _, place = origin.lower().partition("://")
    port = re.search(r":(\d+)$", place)
    own = f"-{port[1]}" if port and port[1] != _DEFAULT_PORTS.get(scheme) else ""
    return f"__Host-proctor{own}" if scheme == "https" else f"proctor{own}"


def _address(request: Request) -> str:
    return request.client.host if request.client else "somewhere"


def _handle_key(handle: str) -> str:
    try:
        return people.clean_handle(handle)
    except InvalidError:
        return hash_token(handle[:LONGEST])
