"""Chromium for tests of pages, one for all tests of a process.

One that stops answering is ended and started again, and fails nobody's test by that.

What a test found has been found before its pages are closed. A Chromium that does not close a context on a crowded machine
would otherwise fail a test that has passed, and every one after it.
"""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import signal
import subprocess
import sys
import threading
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.patience import PATIENCE, PATIENCE_MS

__all__ = ["CHROMIUM", "FLAGS", "Chromium", "Driver", "let_it_act"]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
    # Only the last such list of a command line counts, so this one says again what Playwright's says. What we add are processes
    # of each new window that no test looks at: the suggestions of the address bar are a page of their own, and one is kept spare.
    "--disable-features="
    + ",".join(
        ("AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose",
         "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying",
         "OptimizationHints", "PaintHolding", "PreconnectToSearch", "ThirdPartyStoragePartitioning",
         "WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess")
    ),
)  # fmt: skip


class Driver:
    """Playwright, kept for all tests of a process: starting one takes as long as a test.

    Its event loop counts as running as long as it lives; here it does so only while a test uses it, since others run loops of
    their own in the same thread.
    """

    def __init__(self, api: Any) -> None:
        self._manager = api.sync_playwright()
        self.playwright = self._manager.__enter__()
        self._loop = asyncio._get_running_loop()
        asyncio._set_running_loop(None)

    @contextmanager
    def in_use(self) -> Iterator[Any]:
        """Let a test use it."""
        asyncio._set_running_loop(self._loop)
        try:
            yield self.playwright
        finally:
            asyncio._set_running_loop(None)

    def close(self) -> None:
        """End it; the pipes that it leaves to the collector of garbage are nobody's fault."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            with self.in_use():
                self._manager.__exit__(None, None, None)
            del self._manager, self.playwright, self._loop
            gc.collect()


class Chromium:
    """A browser of Playwright's that outlives a hang, and waits for its pages as long as tests wait for anything.

    Args:
        playwright: running.
        flags: of the command line, beside those that every test wants.
        patience: seconds that closing may take; it takes some hundredths.
    """

    def __init__(self, playwright: Any, flags: tuple[str, ...] = (), *, patience: float = PATIENCE) -> None:
        self._type = playwright.chromium
        self._flags = (*FLAGS, *flags)
        self.patience = patience
        self._mark = f"--proctor-test={uuid.uuid4().hex}"  # Chromium ignores it; we find our process by it
        self._browser: Any = None
        self.hangs = 0

    def new_context(self, **options: Any) -> Any:
        """Open a context, in a new browser if the last one is gone."""
        context = self._running().new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        return context

    def new_page(self, **options: Any) -> Any:
        """Open a page in a context of its own, which is closed with it."""
        page = self._running().new_page(**options)
        page.set_default_timeout(PATIENCE_MS)
        return page

    def _running(self) -> Any:
        if self._browser is None or not self._browser.is_connected():
            self._browser = self._type.launch(
                executable_path=CHROMIUM, args=[*self._flags, self._mark], timeout=3 * PATIENCE_MS
            )
        return self._browser

    def shut(self, context: Any) -> None:
        """Close a context, or the whole browser if it does not answer.

        Raises:
            playwright.sync_api.Error: if a browser that answers refuses to close it.
        """
        with self._ending("a context"):
            context.close()

    def shut_all(self) -> None:
        """Close what a test has left open."""
        for context in self._browser.contexts if self._browser is not None else ():
            self.shut(context)

    def close(self) -> None:
        """Close the browser."""
        if self._browser is not None:
            with self._ending("the browser"):
                self._browser.close()

    def pids(self) -> list[int]:
        """Return the browser's process; those that it started go with it."""
        listed = subprocess.run(["ps", "-axwwo", "pid=,command="], capture_output=True, text=True, check=True)
        lines = [line.strip().partition(" ") for line in listed.stdout.splitlines()]
        return [int(pid) for pid, _, words in lines if self._mark in words and "--type=" not in words]

    @contextmanager
    def _ending(self, what: str) -> Iterator[None]:
        from playwright.sync_api import Error

        done = threading.Event()

        def watch() -> None:
            if not done.wait(self.patience):
                self.hangs += 1
                print(f"Chromium did not close {what} in {self.patience:g} s; it is ended.", file=sys.stderr)
                for pid in self.pids():
                    os.kill(pid, signal.SIGKILL)

        before = self.hangs
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        except Error:
            if self.hangs == before:
                raise
        finally:
            done.set()
            watcher.join()


def let_it_act(page: Any, milliseconds: int = 100) -> None:
    """Let a page act on what it has just heard: its own clock is waited for, which stands still while it has no turn."""
    page.evaluate("pause => new Promise(done => setTimeout(done, pause))", milliseconds)
