"""A provider of OpenID Connect on this machine, which can lie in every way that a studio has to notice."""

from __future__ import annotations

import base64
import hashlib
import hmac
import html
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jws, jwt
from joserfc.jwk import ECKey, RSAKey

CLIENT, SECRET = "proctor", "a-secret-of-tests-that-is-nowhere-else"


class FakeProvider:
    """Discovery, keys, authorization with a page of its own, tokens, log-out.

    Attributes:
        who: claims of whoever signs in next.
        lies: claims that the token gets instead, whatever was asked.
        metadata: of the discovery document, instead of what is true.
        sign: key and algorithm of tokens.
        published: keys that are published.
        clock: of its tokens, seconds since 1970.
        asks: authorization shows a page with a button instead of sending the browser back at once.
    """

    def __init__(self, port: int) -> None:
        self.issuer = f"http://127.0.0.1:{port}/realms/lab"
        self.clock = time.time
        self.key: Any = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
        self.published: list[Any] = [self.key]
        self.sign: tuple[Any, str] = (self.key, "RS256")
        self.who: dict[str, Any] = {"sub": "u-1", "name": "Ana Ruiz", "preferred_username": "ana.ruiz"}
        self.lies: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.asks = False
        self.codes: dict[str, dict[str, str]] = {}
        self.seen: list[tuple[str, dict[str, str]]] = []

    def rotate(self, kid: str = "two") -> None:
        """Publish another key and sign with it, with the other kind of signature."""
        self.key = ECKey.generate_key("P-256", {"kid": kid, "use": "sig"})
        self.published, self.sign = [self.key], (self.key, "ES256")

    def authorize(self, asked: dict[str, str]) -> str:
        """Return where the browser is sent back to."""
        code = secrets.token_urlsafe(16)
        self.codes[code] = {**asked, "who": json.dumps(self.who)}
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state'], 'iss': self.issuer})}"

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        asked = self.codes.pop(form.get("code", ""), None)
        challenge = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        told = base64.urlsafe_b64encode(challenge).rstrip(b"=").decode()
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if authorization != f"Basic {basic}":
            return 401, {"error": "invalid_client"}
        if asked is None or asked["code_challenge"] != told or asked["redirect_uri"] != form["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        now = int(self.clock())
        claims = {
            "iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"], **json.loads(asked["who"]),
            **{n: now + v if n in ("exp", "nbf", "iat") and v is not None else v for n, v in self.lies.items()},
        }  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not None}
        return 200, {"access_token": "at", "token_type": "Bearer", "id_token": self.signed(claims)}

    def signed(self, claims: dict[str, Any]) -> str:
        key, algorithm = self.sign
        header = {"alg": algorithm, "kid": self.key.kid}
        if algorithm in ("none", "HS256"):  # by hand: the library refuses both
            parts = (json.dumps(part).encode() for part in (header, claims))
            text = ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
            mac = hmac.digest(key, text.encode(), "sha256") if algorithm == "HS256" else b""
            return f"{text}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"
        return jwt.encode(header, claims, key, registry=jws.JWSRegistry(algorithms=[algorithm]))

    def public_as_secret(self) -> bytes:
        """The published key as bytes, with which anybody can sign by HS256."""
        return bytes(self.key.as_pem(private=False))

    def answer(self, path: str, query: dict[str, str], form: dict[str, str], authorization: str) -> Any:
        """Return status and JSON, or an address, or a page."""
        self.seen.append((path, {**query, **form}))
        base = urlsplit(self.issuer).path
        if path == f"{base}/.well-known/openid-configuration":
            known = {"issuer": self.issuer, **{
                f"{name}_endpoint": f"{self.issuer}/{name}" for name in ("authorization", "token", "end_session")
            }, "jwks_uri": f"{self.issuer}/keys"}  # fmt: skip
            return 200, {**known, **self.metadata}
        if path == f"{base}/keys":
            return 200, {"keys": [key.as_dict(private=False) for key in self.published]}
        if path == f"{base}/token":
            return self.token(form, authorization)
        if path == f"{base}/authorization":
            address = self.authorize(query)
            return (
                f'<h1>Lab login</h1><a href="{html.escape(address)}">Sign in as Ana</a>'
                if self.asks
                else address
            )
        if path == f"{base}/end_session" and query["client_id"] == CLIENT:
            address = query["post_logout_redirect_uri"]
            return f'<a href="{html.escape(address)}">Sign out there, too</a>' if self.asks else address
        return 404, {}


@contextmanager
def serving() -> Iterator[FakeProvider]:
    """Serve a provider while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            form = dict(_flat(self.rfile.read(length).decode()))
            given = self.headers.get("Authorization", "")
            found = provider.answer(parts.path, dict(_flat(parts.query)), form, given)
            if isinstance(found, str):
                page = found.startswith("<")
                self.send_response(200 if page else 302)
                self.send_header(*(("Content-Type", "text/html") if page else ("Location", found)))
                self.end_headers()
                self.wfile.write(found.encode() if page else b"")
                return
            self.send_response(found[0])
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(found[1]).encode())

        do_GET = do_POST = _do

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = FakeProvider(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _flat(text: str) -> Iterator[tuple[str, str]]:
    return ((name, values[-1]) for name, values in parse_qs(text, keep_blank_values=True).items())
