"""axe, which finds what keeps people with disabilities out of a page.

Only few of its rules depend on colours and sizes. All run in the first look of a page, and those few in the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any, Final

import pytest

__all__ = ["DARK", "DEPENDS_ON_LOOK", "FORCED", "LIGHT", "LOOKS", "look_with_axe", "run_axe"]

DEPENDS_ON_LOOK: Final = (
    "color-contrast",
    "link-in-text-block",
    "scrollable-region-focusable",
    "target-size",
)
LIGHT: Final = {"color_scheme": "light", "forced_colors": "none"}
DARK: Final = {"color_scheme": "dark", "forced_colors": "none"}
FORCED: Final = {"color_scheme": "light", "forced_colors": "active"}
LOOKS: Final = (LIGHT, DARK, FORCED)

_RUN = "rules => axe.run(document, {resultTypes: ['violations'], ...(rules.length ? {runOnly: rules} : {})})"


def run_axe(page: Any, rules: Iterable[str] = (), *, serious: bool = False) -> list[str]:
    """Return what axe finds on a page as it looks now.

    Args:
        page: of Playwright's.
        rules: to run; none means all.
        serious: leave out what axe calls minor or moderate.
    """
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
    if not page.evaluate("'axe' in window"):
        page.evaluate((resources.files(axe.__name__) / "axe.min.js").read_text(encoding="utf-8"))
    result = page.evaluate(_RUN, list(rules))
    assert rules or result["passes"], f"axe looked at nothing on {page.url}"
    return [
        f"{page.url}: {one['id']} ({one['impact']}) {node['target']} {node['html'][:120]}"
        for one in result["violations"]
        if not serious or one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def look_with_axe(
    page: Any, looks: Iterable[Mapping[str, str]] = LOOKS, *, serious: bool = False
) -> list[str]:
    """Return what axe finds on a page in each of these looks, and leave the page in the first."""
    first, *others = looks
    page.emulate_media(**first)
    found = run_axe(page, serious=serious)
    for look in others:
        page.emulate_media(**look)
        found += [f"{look} {one}" for one in run_axe(page, DEPENDS_ON_LOOK, serious=serious)]
    page.emulate_media(**first)
    return found
