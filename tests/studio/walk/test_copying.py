"""Links and codes that people pass on have a button that copies them, with the clipboard's permission and without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.axe import look_with_axe
from tests.studio.walk.conftest import Site
from tests.study import open_study

REFUSED = "navigator.clipboard.writeText = () => Promise.reject(new DOMException('no', 'NotAllowedError'))"
NO_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', {value: undefined})"
ALSO_NOT_BY_HAND = "document.execCommand = () => false"


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: Any) -> Iterator[Site]:
    folder: Path = tmp_path_factory.mktemp("copying")
    found = Site(open_study(folder, each=1, tests=0, workers=True, batch=1))
    yield found
    found.close()


def copy(page: Any, name: str, says: str) -> str:
    """Press a button, hear what it says, and return what somebody who pastes gets."""
    button = page.get_by_role("button", name=name, exact=True)
    button.click()
    said = button.locator("xpath=following-sibling::*[@role='status']")
    said.get_by_text(says, exact=True).wait_for()
    field = page.evaluate_handle("document.body.appendChild(document.createElement('textarea'))")
    if says == "Copied.":
        field.as_element().focus()
        page.keyboard.press("Control+v")
        pasted: str = field.evaluate("field => field.value")
    else:
        pasted = page.evaluate("String(getSelection())")
    field.evaluate("field => field.remove()")
    return pasted


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ("", "Copied."), (REFUSED, "Copied."), (NO_CLIPBOARD, "Copied."),
        (f"{REFUSED}; {ALSO_NOT_BY_HAND}", "Selected. Copy it now."),
    ],
    ids=["allowed", "refused", "no clipboard", "nothing at all"],
)  # fmt: skip
def test_an_invitation_s_link_is_copied(crowd: Site, visit: Any, before: str, says: str) -> None:
    context = visit.context(crowd, crowd.hire("owner"))
    if before:
        context.add_init_script(before)
    page = visit.open(context, "/people")
    page.get_by_role("button", name="Make a link").click()
    link = page.locator("code.once").inner_text()
    assert link.startswith(f"{crowd.url}/invite/")
    assert copy(page, "Copy the link for a new annotator", says) == link
    assert look_with_axe(page) == []


def test_the_links_of_a_round_and_a_token_are_copied(crowd: Site, visit: Any) -> None:
    (row,) = crowd.rows("rounds")
    context = visit.context(crowd, crowd.hire("coordinator"), viewport={"width": 375, "height": 812})
    page = visit.open(context, f"/rounds/{row.pid}")
    theirs, platform = page.locator("#h-link ~ p code").all_inner_texts()
    assert copy(page, "Copy the link for people with an account", "Copied.") == theirs
    assert copy(page, "Copy the link for a platform", "Copied.") == platform
    assert "PROLIFIC_PID" in platform
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    page.goto("/my")
    page.get_by_label("What it is for").fill("a script")
    page.get_by_role("button", name="Make a token").click()
    assert copy(page, "Copy the token", "Copied.") == page.locator("code.token").inner_text()
