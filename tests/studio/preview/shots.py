"""Take pictures of every page: ``python tests/studio/preview/shots.py FOLDER [NAME ...]``, to be looked at by a person."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 800}},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "forced": {"viewport": {"width": 1280, "height": 800}, "forced_colors": "active"},
    "wide": {"viewport": {"width": 1920, "height": 1080}},
    "tablet": {"viewport": {"width": 820, "height": 1180}},
    "side": {"viewport": {"width": 1100, "height": 700}},
    "phone": {"viewport": {"width": 320, "height": 640}},
    "handy": {"viewport": {"width": 390, "height": 844}},
    "print": {"viewport": {"width": 760, "height": 1075}},
}


@contextmanager
def serving() -> Iterator[str]:
    """Serve the preview on a free port."""
    import uvicorn
    from app import build_preview  # type: ignore[import-not-found]

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(build_preview(), port=port, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def main(folder: Path, names: list[str], looks: list[str]) -> None:
    """Write ``<name>.<look>.png`` for every page."""
    from app import load_contexts
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    with serving() as base, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(FLAGS))
        for look in looks:
            context = browser.new_context(**LOOKS[look])
            page = context.new_page()
            for name in names or load_contexts().pages():
                page.goto(f"{base}/p/{name}", wait_until="load")
                if look == "print":
                    page.emulate_media(media="print")
                work = name.startswith("work") and look != "print"
                page.screenshot(path=folder / f"{name}.{look}.png", full_page=not work)
            context.close()
        browser.close()


if __name__ == "__main__":
    arguments = sys.argv[1:]
    chosen = [a.removeprefix("--") for a in arguments if a.startswith("--")]
    rest = [a for a in arguments if not a.startswith("--")]
    main(Path(rest[0]), rest[1:], chosen or list(LOOKS))
