"""Certificates of a studio's own: a browser that trusts the authority trusts the studio, and nothing else that it could sign."""

from __future__ import annotations

import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the extra 'studio' is not installed")

from cryptography import x509

from proctor.errors import UserError
from proctor.studio import local_ca
from proctor.studio.local_ca import Issued, issue

NAMES = ("127.0.0.1", "localhost", "kitchen.local")


def greet(files: Issued, name: str, authority: Path) -> str:
    """Shake hands with a server that has the certificate, as a client that trusts an authority; returns what went wrong."""
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(files.certificate, files.key)
    client = ssl.create_default_context(cafile=str(authority))
    ours, theirs = socket.socketpair()

    def answer() -> None:
        try:
            with server.wrap_socket(theirs, server_side=True) as wrapped:
                wrapped.recv(1)
        except (OSError, ssl.SSLError):
            theirs.close()

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        with client.wrap_socket(ours, server_hostname=name) as wrapped:
            wrapped.send(b"x")
        return ""
    except ssl.SSLCertVerificationError as error:
        return error.verify_message
    finally:
        ours.close()
        thread.join()


def test_who_trusts_the_authority_trusts_the_studio_under_its_names(tmp_path: Path) -> None:
    files = issue(tmp_path / "tls", NAMES)
    assert [greet(files, name, files.authority) for name in NAMES] == ["", "", ""]
    assert "mismatch" in greet(files, "192.168.1.9", files.authority)
    other = issue(tmp_path / "other", NAMES)
    assert "issuer certificate" in greet(files, "localhost", other.authority)


def test_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    issue(tmp_path / "tls", NAMES)
    assert (tmp_path / "tls").stat().st_mode & 0o777 == 0o700
    modes = {p.name: p.stat().st_mode & 0o777 for p in (tmp_path / "tls").glob("*.key")}
    assert modes == {"ca.key": 0o600, "server.key": 0o600}


def test_the_authority_stays_and_the_certificate_is_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = issue(tmp_path / "tls", NAMES)
    authority, first = files.authority.read_bytes(), files.certificate.read_bytes()
    assert issue(tmp_path / "tls", NAMES).certificate.read_bytes() == first
    issue(tmp_path / "tls", (*NAMES, "192.168.1.9"))
    second = files.certificate.read_bytes()
    assert second != first
    assert files.authority.read_bytes() == authority

    class Later(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:
            return datetime.now(UTC) + timedelta(days=380)

    monkeypatch.setattr(local_ca, "datetime", Later)
    issue(tmp_path / "tls", (*NAMES, "192.168.1.9"))
    assert files.certificate.read_bytes() != second
    assert files.authority.read_bytes() == authority


def test_the_authority_can_sign_for_no_other_site(tmp_path: Path) -> None:
    """Even whoever steals its key has nothing: clients refuse what it signs for the world."""
    files = issue(tmp_path / "tls", NAMES)
    local_ca._make(
        files.certificate, files.key, wanted=[x509.DNSName("example.org")], signer=(files.authority, tmp_path / "tls" / "ca.key")
    )  # fmt: skip
    assert "permitted subtree" in greet(files, "example.org", files.authority)


@pytest.mark.parametrize(
    "name", ["example.org", "8.8.8.8", "evil-local", "localhost.example.org", "küche.local", "", "a\nb.local"]
)
def test_names_of_no_local_network(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="of no local network"):
        issue(tmp_path / "tls", (name,))
    assert not (tmp_path / "tls").exists()


@pytest.mark.parametrize("damage", ["ca.pem", "server.pem", "ca.key"])
def test_what_is_broken_is_said(tmp_path: Path, damage: str) -> None:
    issue(tmp_path / "tls", NAMES)
    (tmp_path / "tls" / damage).write_bytes(b"-----BEGIN NONSENSE-----")
    with pytest.raises(UserError, match="cannot be used") as error:
        issue(tmp_path / "tls", ("10.1.2.3",))
    assert "remove the folder" in (error.value.hint or "")
