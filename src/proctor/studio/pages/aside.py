"""What the pages of one studio have worked out beside the requests."""

from __future__ import annotations

import threading
from typing import Final

from starlette.responses import Response

from proctor.studio.context import Studio
from proctor.verify.desk.beside import Beside

__all__ = ["beside_of", "looking_again"]

_NAME: Final = "beside"
_FIRST: Final = threading.Lock()
_AGAIN_SECONDS: Final = 2


def beside_of(studio: Studio) -> Beside:
    """Return what works beside the requests of a studio; made when it is asked for first."""
    with _FIRST:
        if _NAME not in studio.more:
            studio.more[_NAME] = Beside(studio.desk)
        found: Beside = studio.more[_NAME]
        return found


def looking_again(page: Response, address: str) -> Response:
    """Have the browser look again by itself, without JavaScript; nothing where there is no address of ours."""
    if address:
        page.headers["Refresh"] = f"{_AGAIN_SECONDS}; url={address}"
    return page
