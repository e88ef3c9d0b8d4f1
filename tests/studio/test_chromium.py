"""A Chromium that hangs when a test is over costs some seconds, and nothing else."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.studio.chromium import CHROMIUM, Chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]


@pytest.fixture
def browser(playwright: Any) -> Iterator[Chromium]:
    """One of its own: it is made to hang."""
    found = Chromium(playwright)
    yield found
    found.close()


def title(browser: Chromium) -> Any:
    context = browser.new_context()
    page = context.new_page()
    page.set_content("<title>here</title>")
    found = page.title()
    browser.shut(context)
    return found


def hang(browser: Chromium) -> None:
    """From now on it does not answer, and not much patience is had with it."""
    os.kill(browser.pids()[0], signal.SIGSTOP)
    browser.patience = 1.0


def test_one_that_hangs_is_ended_and_the_next_test_has_another(browser: Chromium) -> None:
    assert title(browser) == "here"
    first = browser.pids()
    assert len(first) == 1
    assert title(browser) == "here"
    assert browser.pids() == first  # one that answers is kept
    context = browser.new_context()
    context.new_page()
    hang(browser)
    browser.shut(context)
    assert browser.hangs == 1
    browser.patience = PATIENCE
    assert title(browser) == "here"
    assert browser.pids() != first


def test_one_that_hangs_at_the_very_end(browser: Chromium) -> None:
    assert title(browser) == "here"
    hang(browser)
    browser.close()
    assert browser.hangs == 1


def test_two_contexts_of_one_that_hangs(browser: Chromium) -> None:
    both = [browser.new_context() for _ in range(2)]
    for context in both:
        context.new_page()
    hang(browser)
    for context in both:
        browser.shut(context)
    assert browser.hangs == 1
    browser.patience = PATIENCE
    assert title(browser) == "here"


def test_closing_twice_is_nothing(browser: Chromium) -> None:
    context = browser.new_context()
    browser.shut(context)
    browser.shut(context)
    assert browser.hangs == 0
