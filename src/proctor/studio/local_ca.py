"""Certificates for a studio in a local network: browsers give camera, microphone and offline work to ``https`` alone.

A certificate authority of the workspace's own signs them; devices that trust its certificate (``/ca.pem``) trust the studio. It can
sign for private addresses and local names only, so its key, which never leaves the folder, is of no use for other sites.
docs/capture.md, *The tablet*.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from proctor.errors import MissingExtraError, UserError

if TYPE_CHECKING:
    from cryptography import x509

__all__ = ["CA_FILE", "Issued", "issue", "own_address"]

CA_FILE: Final = "ca.pem"
_NETWORKS: Final = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "169.254.0.0/16", "fc00::/7", "fe80::/10", "::1/128")  # fmt: skip
_DOMAINS: Final = ("localhost", "local", "lan", "internal", "home.arpa")
_NAME: Final = re.compile(r"[a-z0-9.-]{1,253}", re.ASCII)
_CA_DAYS, _DAYS, _RENEW_DAYS = 3650, 397, 30
"""How long certificates last (devices take no server's that lasts longer), and how long before its end one is renewed."""


class Issued(NamedTuple):
    """Files: the server's certificate and key, and the authority's certificate, which devices have to trust."""

    certificate: Path
    key: Path
    authority: Path


def own_address() -> str:
    """Return this machine's address in the local network; that of the machine itself where there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.255.255.255", 1))  # nothing is sent
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def issue(folder: Path, names: Sequence[str]) -> Issued:
    """Return a certificate for the names and addresses; made when there is none for them that lasts another month.

    Args:
        folder: of authority and certificate; made, for its owner alone.
        names: such as ``192.168.1.20`` and ``localhost``.

    Raises:
        UserError: if a name is of no local network, or the folder cannot be read or written.
        MissingExtraError: without the extra ``studio``.
    """
    try:
        from cryptography import x509
    except ImportError:
        raise MissingExtraError("cryptography", "studio", "Making a certificate") from None
    files = Issued(folder / "server.pem", folder / "server.key", folder / CA_FILE)
    wanted = [_general(x509, name) for name in dict.fromkeys(names)]
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not files.authority.is_file():
            _make(files.authority, folder / "ca.key", wanted=(), signer=None)
        if not _is_good(files.certificate, wanted, files.authority):
            _make(files.certificate, files.key, wanted=wanted, signer=(files.authority, folder / "ca.key"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"the certificates cannot be used: {getattr(error, 'strerror', None) or error}.",
            where=str(folder),
            hint="remove the folder and start again; devices then have to trust the new authority",
        ) from None
    return files


def _general(x509: Any, name: str) -> Any:
    """Return a name as certificates have it."""
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        if _NAME.fullmatch(name) and any(name == d or name.endswith(f".{d}") for d in _DOMAINS):
            return x509.DNSName(name)
    else:
        if any(address in ipaddress.ip_network(n) for n in _NETWORKS):
            return x509.IPAddress(address)
    raise UserError(
        f"'{name[:60]}' is of no local network.",
        where="--tls",
        hint="give a certificate of your own: --tls-cert, --tls-key",
    )


def _read(path: Path) -> x509.Certificate:
    from cryptography import x509

    return x509.load_pem_x509_certificate(path.read_bytes())


def _is_good(path: Path, wanted: Sequence[Any], authority: Path) -> bool:
    from cryptography import x509

    if not path.is_file():
        return False
    certificate = _read(path)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    lasts = certificate.not_valid_after_utc - datetime.now(UTC) > timedelta(days=_RENEW_DAYS)
    return lasts and set(names) == set(wanted) and certificate.issuer == _read(authority).subject


def _make(path: Path, key_file: Path, *, wanted: Sequence[Any], signer: tuple[Path, Path] | None) -> None:
    """Make a key and a certificate of it: for names, signed by an authority, or that of an authority itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC) - timedelta(minutes=5)
    name = "Proctor studio" if signer else f"Proctor studio, {os.urandom(4).hex()}"
    subject = issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    signing: Any = key
    days = _CA_DAYS
    more: list[tuple[Any, bool]] = [(x509.BasicConstraints(ca=signer is None, path_length=None), True)]
    if signer is None:
        permitted = [x509.IPAddress(ipaddress.ip_network(n)) for n in _NETWORKS]
        more.append((x509.NameConstraints([*permitted, *map(x509.DNSName, _DOMAINS)], None), True))
    else:
        days, issuer = _DAYS, _read(signer[0]).subject
        signing = serialization.load_pem_private_key(signer[1].read_bytes(), None)
        more += [(x509.SubjectAlternativeName(wanted), False)]
        more += [(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), False)]
        more += [(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), False)]
    more.append((x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False))
    builder = x509.CertificateBuilder(
        issuer, subject, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=days)
    )
    for extension, critical in more:
        builder = builder.add_extension(extension, critical)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    key_file.unlink(missing_ok=True)
    with os.fdopen(os.open(key_file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(secret)
    path.write_bytes(builder.sign(signing, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
