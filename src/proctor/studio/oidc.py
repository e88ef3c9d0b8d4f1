"""Sign-in by a provider of OpenID Connect (Core 1.0): where browsers are sent, and what comes back. docs/studio.md.

The flow, PKCE and the checks of tokens are authlib's and joserfc's. Here are the limits around them: which algorithms and
addresses, how many bytes, how long; and the note by which a browser that comes back is known to be the one that left.
"""

from __future__ import annotations

import base64
import hmac
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

import msgspec

from proctor.errors import MissingExtraError, UserError
from proctor.said import say
from proctor.studio.context import studio_of
from proctor.studio.language import PROGRAMS
from proctor.studio.server import is_loopback
from proctor.verify.desk.identities import Claimed
from proctor.verify.desk.records import GoneError

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = [
    "BACK_CHANNEL",
    "DONE",
    "GOING_SECONDS",
    "Going",
    "OpenId",
    "Provider",
    "ProviderError",
    "check_provider",
    "openid_of",
]

DONE: Final = "/signin/provider/done"
"""Where providers send browsers back to, after log-out too: this has to be registered with them."""
BACK_CHANNEL: Final = f"{PROGRAMS}provider/logout"
"""Where a provider says by itself that somebody has signed out there (OpenID Connect Back-Channel Logout 1.0)."""
GOING_SECONDS: Final = 600.0
"""How long somebody may take to sign in there."""

_ALGORITHMS: Final = [f"{kind}{size}" for kind in ("RS", "PS", "ES") for size in (256, 384, 512)]
"""Signatures by a key that only the provider has; ``none`` and those by a shared secret are not among them."""
_LOGOUT: Final = "http://schemas.openid.net/event/backchannel-logout"
_MOST_BYTES: Final = 256_000
_SECONDS: Final = 10.0
_LEEWAY: Final = 60
_KNOWN_SECONDS: Final = 3600.0
_LONGEST: Final = 255
_LOG: Final = logging.getLogger("proctor.studio")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Who says who somebody is: its address as it calls itself, what it calls this studio, and what proves that ("" for a public
    client); its name for people; patterns of checked e-mail addresses of people who need no invitation.
    """  # noqa: D205

    issuer: str
    client: str
    secret: str = field(default="", repr=False)
    name: str = ""
    allow: tuple[str, ...] = ()


class ProviderError(UserError):
    """Somebody could not be signed in by the provider; the message is for them, the log says more."""


class Going(msgspec.Struct, frozen=True):
    """What the browser of somebody who goes to the provider keeps, signed, until they come back (``until``, seconds since 1970).

    ``state`` is what the provider sends back; nonce and PKCE's verifier come from it and the project's key. ``next`` is where
    they go on, ``invite`` the token of the invitation that they accept, ``person`` whose account the login is connected to.
    """

    state: str
    until: float
    next: str = "/"
    invite: str = ""
    person: str = ""

    def sealed(self, key: bytes) -> str:
        """Return it as text for a cookie."""
        body = base64.urlsafe_b64encode(msgspec.json.encode(self)).decode()
        return f"{body}.{_mac(key, 'going', body)}"

    @classmethod
    def opened(cls, text: str, key: bytes, now: float) -> Going | None:
        """Return what ``sealed`` made; None for anything else, and for what is too old."""
        body, _, sign = text.rpartition(".")
        if not hmac.compare_digest(_mac(key, "going", body).encode(), sign.encode()):
            return None
        found = msgspec.json.decode(base64.urlsafe_b64decode(body), type=cls)
        return found if now < found.until else None


def _mac(key: bytes, what: str, text: str) -> str:
    return hmac.digest(key, f"openid {what} {text}".encode(), "sha256").hex()


def check_provider(provider: Provider) -> Provider:
    """Return a provider that can be meant, before anything listens.

    Raises:
        UserError: if it has no address over TLS (this machine apart), no client, or a pattern allows everybody.
        MissingExtraError: without the extra ``sso``.
    """
    if not _is_safe(provider.issuer, provider.issuer) or urlsplit(provider.issuer).query:
        hint = "give it as the provider does: https://login.example.org/realms/lab; http:// works on this machine alone"
        raise UserError(f"'{provider.issuer[:200]}' is no address of a provider.", where="--oidc", hint=hint)
    if not provider.client:
        raise UserError("the provider has to know this studio.", where="--oidc-client", hint="give its id")
    open_ = [p for p in provider.allow if "@" not in p or not p.rpartition("@")[2].strip("*?. ")]
    if open_:
        message = f"'{open_[0][:80]}' would let in everybody."
        raise UserError(message, where="--oidc-allow", hint="give a domain: *@example.org")
    _library()
    return provider if provider.name else replace(provider, name=say("your institution's login"))


def _library() -> tuple[Any, ...]:
    """Return what is used of authlib; loaded when a provider is first needed."""
    try:
        import httpx2
        from authlib.integrations.base_client import OAuthError
        from authlib.integrations.starlette_client import StarletteIntegration, StarletteOAuth2App
        from authlib.oauth2.claims import JWTClaims
        from joserfc.errors import JoseError
    except ModuleNotFoundError:
        raise MissingExtraError("authlib", "sso", "sign-in by a provider") from None
    errors = (httpx2.HTTPError, httpx2.InvalidURL, OAuthError, JoseError)
    return StarletteOAuth2App, StarletteIntegration, errors, JWTClaims


def _is_safe(address: str, issuer: str) -> bool:
    """True for an address over TLS, or on this machine if the provider is."""
    try:
        parts, home = urlsplit(address), urlsplit(issuer).hostname or ""
        host, port = parts.hostname or "", parts.port  # raises for what is no port
    except ValueError:
        return False
    plain = host and port != 0 and "@" not in parts.netloc and address.isascii() and address.isprintable()
    local = is_loopback(host) and is_loopback(home)
    return bool(plain) and (parts.scheme == "https" or (parts.scheme == "http" and local))


class _Metadata(msgspec.Struct):
    """What is used of a discovery document (OpenID Connect Discovery 1.0, section 3)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    end_session_endpoint: str | None = None


class OpenId:
    """One provider as a studio asks it; ``origin`` is the studio's, ``key`` the project's, ``clock`` seconds since 1970."""

    def __init__(self, provider: Provider, origin: str, key: bytes, *, clock: Callable[[], float]) -> None:
        self.provider, self.key, self.clock = provider, key, clock
        self._back = origin + DONE
        self._known: tuple[float, Any] = (float("-inf"), None)
        self._logouts: dict[str, float] = {}  # by the ids of tokens: until when they could be sent again

    def going(self, **more: str) -> Going:
        """Return the note for a browser that is about to leave."""
        return Going(secrets.token_urlsafe(32), self.clock() + GOING_SECONDS, **more)

    async def address(self, going: Going) -> str:
        """Return where a browser is sent; ``ProviderError`` if the provider cannot be asked."""
        nonce, verifier = self._told(going)
        with self._refusing():
            app = await self._app()
            told = {"state": going.state, "nonce": nonce, "code_verifier": verifier}
            made = await app.create_authorization_url(self._back, **told)
        return str(made["url"])

    async def claims(self, going: Going, code: str, sender: str | None) -> Claimed:
        """Return who somebody is, by the code that they came back with, and who sent them (RFC 9207) if that is said.

        Raises:
            ProviderError: if the provider cannot be asked, or anything does not fit.
        """
        nonce, verifier = self._told(going)
        issuer = self.provider.issuer
        with self._refusing():
            app = await self._app()
            if sender not in (None, issuer):
                raise ValueError("another site sent the browser back")
            token = await app.fetch_access_token(self._back, code=code, code_verifier=verifier)
            claims = await app.parse_id_token(token, nonce, self._wanted(), leeway=_LEEWAY)
            subject, email = _text(claims, "sub"), _text(claims, "email")
            if not subject or not subject.isprintable():
                raise ValueError("sub is none")
        checked = email if claims.get("email_verified") is True else ""
        name, handle = _text(claims, "name"), _text(claims, "preferred_username") or email
        session = _session(claims)
        return Claimed(
            issuer=issuer, subject=subject, name=name, handle=handle, email=checked, session=session
        )

    async def signed_out(self, logout_token: str) -> Claimed:
        """Return who has signed out there, or in which session, by what the provider sends of itself: its token works once.

        ``subject`` is "" where it names the session alone, ``session`` where the person has signed out of all.

        Raises:
            ProviderError: if the token is not the provider's, not for this studio, or names neither.
        """
        with self._refusing("log-out"):
            app, kind, told = await self._app(), _library()[3], {"id_token": logout_token}
            options = self._wanted("iat", "exp", "jti", "events")
            claims = await app.parse_id_token(told, None, options, claims_cls=kind, leeway=_LEEWAY)
            subject, session = _text(claims, "sub"), _session(claims)
            number, now = _text(claims, "jti"), time.time()
            if "nonce" in claims or not isinstance(claims["events"].get(_LOGOUT), dict):
                raise ValueError("it is not about a log-out")
            self._logouts = {name: until for name, until in self._logouts.items() if until > now}
            named = {"sub": subject, "sid": session}
            if not any(named.values()) or any(name in claims and not value for name, value in named.items()):
                raise ValueError("it names nobody and no session")
            if not number or number in self._logouts:
                raise ValueError("it has no jti, or was sent before")
            self._logouts[number] = float(claims["exp"]) + _LEEWAY
        return Claimed(issuer=self.provider.issuer, subject=subject, session=session)

    def _wanted(self, *names: str) -> dict[str, dict[str, Any]]:
        """Return what has to stand in a token: from the provider, for this studio, and so named; new each time, authlib changes it."""
        values = {"iss": self.provider.issuer, "aud": self.provider.client}
        told = {name: {"essential": True, "value": value} for name, value in values.items()}
        return told | {name: {"essential": True} for name in names}

    async def end(self) -> str:
        """Return where a browser signs out there (OpenID Connect RP-Initiated Logout 1.0), "" if that cannot be done.

        It asks people, for no token is kept that would prove who they were; ``ProviderError`` if it cannot be asked.
        """
        with self._refusing():
            app = await self._app()
            address = app.server_metadata["end_session_endpoint"]
        told = {"client_id": self.provider.client, "post_logout_redirect_uri": self._back}
        return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(told)}" if address else ""

    async def _app(self) -> Any:
        """Return authlib's client with what the provider says of itself, asked at most every hour."""
        if self.clock() - self._known[0] < _KNOWN_SECONDS:
            return self._known[1]
        kind, integration, *_ = _library()
        provider, issuer = self.provider, self.provider.issuer
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        options = {
            "scope": "openid profile email", "code_challenge_method": "S256", "follow_redirects": False, "timeout": _SECONDS,
            "headers": headers, "event_hooks": {"response": [_bounded]},
        }  # fmt: skip
        async with kind.client_cls(**options) as client:
            address = issuer.rstrip("/") + "/.well-known/openid-configuration"
            answer = await client.request("GET", address, withhold_token=True)
        found = msgspec.json.decode(answer.raise_for_status().content, type=_Metadata)
        if found.issuer != issuer:
            raise ValueError(f"it calls itself {found.issuer[:200]}")
        for address in msgspec.structs.astuple(found)[1:]:
            if address is not None and not _is_safe(address, issuer):
                raise ValueError(f"{address[:200]} is not safe")
        more = {**msgspec.structs.asdict(found), "id_token_signing_alg_values_supported": _ALGORITHMS}
        app = kind(
            integration("oidc"), "oidc", client_id=provider.client, client_secret=provider.secret or None,
            client_kwargs=options, **more,
        )  # fmt: skip
        self._known = (self.clock(), app)
        return app

    def _told(self, going: Going) -> tuple[str, str]:
        """Return nonce and verifier of a note."""
        return _mac(self.key, "nonce", going.state), _mac(self.key, "verifier", going.state)

    @contextmanager
    def _refusing(self, what: str = "sign-in") -> Iterator[None]:
        """Note for who runs the studio why something failed: a provider's text is cut and made visible, and no token is in it."""
        of_texts = (msgspec.MsgspecError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
        try:
            yield
        except (*_library()[2], *of_texts) as error:
            detail = ascii(f"{type(error).__name__}: {error}"[:300])
            _LOG.warning("%s by %s failed: %s", what, self.provider.issuer, detail)
            message = say("You could not be signed in by {name}.", name=self.provider.name)
            hint = say("begin again; if it stays so, tell your coordinator, whose server's log says why")
            raise ProviderError(message, hint=hint) from None


def openid_of(request: Request) -> OpenId:
    """Return the provider of a studio; who asks a studio that has none reads that there is nothing."""
    studio = studio_of(request)
    provider, origin, desk = studio.settings.provider, studio.settings.origin, studio.desk
    if provider is None:
        raise GoneError
    if "openid" not in studio.more:
        studio.more["openid"] = OpenId(provider, origin, desk.secret, clock=desk.now)
    found: OpenId = studio.more["openid"]
    return found


def _text(claims: Any, name: str) -> str:
    value = claims.get(name)
    return value if isinstance(value, str) and len(value) <= _LONGEST else ""


def _session(claims: Any) -> str:
    """Return the session that a token is of (``sid``), however long its name is: only a hash is kept."""
    value = claims.get("sid")
    return value if isinstance(value, str) else ""


async def _bounded(response: Any) -> None:
    """Have an answer of a provider read up to some size, as it comes: what is packed can grow without end."""
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self.stream, self.left = stream, _MOST_BYTES

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self.stream:
                self.left -= len(chunk)
                if self.left < 0:
                    raise ValueError("the answer is too long")
                yield chunk

        async def aclose(self) -> None:
            await self.stream.aclose()

    if response.headers.get("content-encoding", "identity") != "identity":
        raise ValueError("the answer is packed")
    response.stream = Bounded(response.stream)
