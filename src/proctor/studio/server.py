"""The server around the application: uvicorn, one process, told when it listens."""

from __future__ import annotations

import errno
import logging
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from proctor.errors import MissingExtraError, UserError

__all__ = ["bind", "is_loopback", "serve"]

_GRACE_SECONDS: Final = 5
_SWITCH_SECONDS: Final = 0.0005
"""The writer's thread gets the interpreter back soon after a flush; the default of 5 ms would be felt at every save."""


def is_loopback(host: str) -> bool:
    """True when only this machine can reach the address."""
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket, so that a taken port is told before anything else is begun.

    Args:
        host: name or address.
        port: 0 for any that is free.

    Raises:
        UserError: if it cannot be listened on.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise UserError(f"'{host}' is no address of this machine: {error.strerror or error}.") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(512)
    except OSError as error:
        listening.close()
        taken = error.errno == errno.EADDRINUSE
        hint = (
            "another studio may be running; give another --port" if taken else "give another --host or --port"
        )
        raise UserError(
            f"port {port} of {host} cannot be listened on: {error.strerror or error}.", hint=hint
        ) from None
    return listening


def serve(
    app: Any,
    listening: socket.socket,
    *,
    certificate: Path | None = None,
    key: Path | None = None,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve until the process is asked to stop; requests under way are answered first.

    Args:
        app: of ASGI.
        listening: from ``bind``.
        certificate: chain of certificates (PEM), for TLS.
        key: its private key.
        ready: called when requests are answered.

    Raises:
        UserError: if the certificate or key cannot be used.
        MissingExtraError: without the extra ``studio``.
    """
    try:
        import uvicorn
    except ModuleNotFoundError:
        raise MissingExtraError("uvicorn", "studio", "the studio") from None
    from proctor.studio.guard import HideTokens

    sys.setswitchinterval(_SWITCH_SECONDS)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        timeout_keep_alive=65,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        h11_max_incomplete_event_size=64 * 1024,
        ssl_certfile=str(certificate) if certificate else None,
        ssl_keyfile=str(key) if key else None,
    )
    for name in ("uvicorn.error", "proctor.studio"):
        logging.getLogger(name).addFilter(HideTokens())

    class Server(uvicorn.Server):
        """Tells when it listens."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            if self.started:
                ready()

    try:
        config.load()
    except OSError as error:
        raise UserError(
            f"the certificate or its key cannot be used: {error.strerror or error}.",
            where=str(certificate),
            hint="give PEM files to --tls-cert and --tls-key",
        ) from None
    Server(config).run(sockets=[listening])
