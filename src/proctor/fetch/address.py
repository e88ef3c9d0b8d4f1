"""Which addresses may be asked, and how an address is shown: never with its credentials."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit

from proctor.errors import UserError

__all__ = [
    "below",
    "is_public",
    "next_hop",
    "proxy_for",
    "require_allowed",
    "same_origin",
    "shown_address",
    "split_credentials",
]

_SCHEMES: Final = ("http", "https")
_PORTS: Final = {"http": 80, "https": 443}
_NUMBER: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)", re.ASCII)
_MAX_ADDRESS: Final = 8_000


def shown_address(url: str) -> str:
    """Return an address fit for people and logs: no user, no password, no query (it may hold a token)."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(an address that cannot be read)"
    place = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{place}{parts.path}" + ("?…" if parts.query else "")


def split_credentials(url: str) -> tuple[str, tuple[str, str] | None]:
    """Return the address without its user and password, and these."""
    parts = urlsplit(url)
    before, sign, place = parts.netloc.rpartition("@")
    bare = parts._replace(netloc=place, fragment="").geturl()
    if not sign:
        return bare, None
    user, _, password = before.partition(":")
    return bare, (unquote(user), unquote(password))


def below(base: str, place: str) -> str:
    """Return the address of a place below a base address; a query of the base stays."""
    parts = urlsplit(base)
    return parts._replace(path=f"{parts.path.rstrip('/')}/{quote(place)}", fragment="").geturl()


def require_allowed(url: str, *, given: bool) -> SplitResult:
    """Make sure that an address may be asked.

    Args:
        url: the address.
        given: the user gave the first address himself: then http and this machine's own network are his choice.

    Raises:
        UserError: if it is no http or https address, or one that only the user may give.
    """
    try:
        if len(url) > _MAX_ADDRESS or not url.isprintable() or " " in url or "\\" in url:
            raise ValueError
        parts = urlsplit(url)
        host = parts.hostname or ""
        host.encode("idna")
        port = parts.port
    except (ValueError, UnicodeError):
        raise UserError("this is no address.", where=shown_address(url)) from None
    if parts.scheme not in _SCHEMES:
        raise UserError(
            f"'{parts.scheme[:40]}' addresses are not fetched.",
            where=shown_address(url),
            hint="https and http are; a folder of files is given as it is: --from FOLDER",
        )
    if not host or port == 0:
        raise UserError("this address names no host.", where=shown_address(url))
    if given:
        return parts
    if parts.scheme != "https":
        raise UserError(
            "a declared address has to be https.",
            where=shown_address(url),
            hint="give a mirror yourself with --from, or fetch the file by hand",
        )
    if not _may_be_public(host):
        raise UserError(
            "this address is in a private network.",
            where=shown_address(url),
            hint="only an address that you give yourself with --from may be",
        )
    return parts


def next_hop(url: str, location: str, *, given: bool) -> str:
    """Return where a redirect leads.

    Raises:
        UserError: if it may not be followed.
    """
    try:
        target = urljoin(url, location.strip())
        target, _ = split_credentials(target)
        secure = urlsplit(url).scheme == "https"
        parts = urlsplit(target)
    except ValueError:
        raise UserError("the server redirects to what is no address.", where=shown_address(url)) from None
    if secure and parts.scheme == "http":
        raise UserError(
            f"the server redirects from https to {shown_address(target)}, which is not secure.",
            where=shown_address(url),
        )
    try:
        require_allowed(target, given=given)
    except UserError as error:
        raise UserError(
            f"the server redirects to {shown_address(target)}: {error.message}", where=shown_address(url)
        ) from None
    return target


def same_origin(one: str, other: str) -> bool:
    """True where both addresses are of one scheme, host and port."""
    return _origin(one) == _origin(other)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


def is_public(address: str) -> bool:
    """True for an IP address of the open internet, whichever way it is wrapped in IPv6."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            ip = inner
    return ip.is_global and not ip.is_multicast


_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")


def _may_be_public(host: str) -> bool:
    """False for a name or number that is surely not; a name's addresses are judged when it is looked up."""
    host = host.rstrip(".").lower()
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        last = host.rpartition(".")[2]
        return bool(last) and last not in ("localhost", "local", "internal") and not _NUMBER.fullmatch(last)
    return is_public(host)


def proxy_for(url: str) -> str | None:
    """Return the proxy that the environment names for an address; none for this machine itself."""
    from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

    parts = urlsplit(url)
    if _is_loopback(parts.hostname or "") or proxy_bypass_environment(parts.netloc):
        return None
    found = getproxies_environment()
    proxy: str | None = found.get(parts.scheme) or found.get("all")
    return proxy if proxy and proxy.startswith("http") else None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
