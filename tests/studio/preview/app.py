"""A tiny application that shows every template with made-up contexts, under the studio's own content security policy.

``python tests/studio/preview/app.py [PORT]`` serves it by hand.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from proctor.studio.bundles import Bundles
from proctor.studio.rendering import STATIC, environment

CSP = (
    "default-src 'self'; script-src 'self'; style-src 'self'; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)


def load_contexts() -> ModuleType:
    """Load the contexts beside this file: the folders of the tests are no packages."""
    name = "proctor_preview_contexts"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("contexts.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


def render_page(name: str) -> str:
    """Return the HTML of a page by its name in ``contexts.pages``."""
    template, shell, view = load_contexts().pages()[name]
    return environment().get_template(f"{template}.html.j2").render(shell=shell, view=view)


async def _page(request: Request) -> Response:
    try:
        text = render_page(request.path_params["name"])
    except KeyError:
        return PlainTextResponse("no such page", 404)
    return HTMLResponse(text, headers={"Content-Security-Policy": CSP})


async def _picture(_request: Request) -> Response:
    import io

    from PIL import Image, ImageDraw

    image = Image.new("RGB", (640, 360), (86, 72, 58))
    draw = ImageDraw.Draw(image)
    draw.ellipse((210, 90, 430, 310), fill=(214, 206, 190))
    draw.ellipse((235, 115, 405, 285), fill=(240, 236, 226))
    draw.polygon([(60, 300), (180, 210), (200, 240), (80, 330)], fill=(150, 170, 90))
    stream = io.BytesIO()
    image.save(stream, "JPEG")
    return Response(stream.getvalue(), media_type="image/jpeg")


async def _state(request: Request) -> Response:
    """Answer as the server does for an assignment that nobody has touched."""
    state = "frozen" if request.query_params.get("frozen") else "open"
    return JSONResponse({"rev": 0, "state": state, "draft": None, "submitted": None, "person": "p-7f3a"})


async def _draft(_request: Request) -> Response:
    return JSONResponse({"version": 1, "saved_at": 1.7e9})


@cache
def _clip_bytes() -> bytes:
    """Make eight seconds of a moving square, so that the player has something to play."""
    import io

    import av
    import numpy as np

    stream = io.BytesIO()
    with av.open(stream, "w", format="mp4") as container:
        video = container.add_stream("libx264", rate=30)
        video.width, video.height, video.pix_fmt = 640, 360, "yuv420p"
        for n in range(240):
            pixels = np.full((360, 640, 3), (86, 72, 58), dtype=np.uint8)
            pixels[150:220, 2 * n : 2 * n + 70] = (214, 206, 190)
            for packet in video.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")):
                container.mux(packet)
        for packet in video.encode():
            container.mux(packet)
    return stream.getvalue()


async def _clip(_request: Request) -> Response:
    return Response(_clip_bytes(), media_type="video/mp4")


async def _index(_request: Request) -> Response:
    links = "".join(f'<li><a href="/p/{n}">{n}</a></li>' for n in load_contexts().pages())
    return HTMLResponse(f"<!doctype html><title>Preview</title><ul>{links}</ul>")


async def _static(request: Request) -> Response:
    app = Bundles(directory=STATIC)
    return await app.get_response(request.path_params["path"], request.scope)


def build_preview() -> Starlette:
    """Return the application."""
    return Starlette(
        routes=[
            Route("/", _index),
            Route("/p/{name}", _page),
            Route("/poster.jpg", _picture),
            Route("/clip.mp4", _clip),
            Route("/w/{pid}/state", _state),
            Route("/w/{pid}/ahead", lambda _request: JSONResponse({"pids": []})),
            Route("/w/{pid}/draft", _draft, methods=["PUT"]),
            Route("/static/{version}/{path:path}", _static),
            Mount("/plain", StaticFiles(directory=STATIC)),
        ]
    )


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(build_preview(), port=int(sys.argv[1]) if len(sys.argv) > 1 else 8765, log_level="warning")
