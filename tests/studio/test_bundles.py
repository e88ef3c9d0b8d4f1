"""Scripts and style sheets as one file each, compressed, kept by browsers for good."""

from __future__ import annotations

import re
from typing import Any

from proctor.studio.bundles import bundle
from proctor.studio.rendering import STATIC, static_url, static_version


def test_a_page_is_a_handful_of_small_requests(office: Any) -> None:
    ana = office.hire("ana")
    page = office.get(ana, "/my")
    files = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)
    assert [name.rpartition("/")[2] for name in files] == ["icon.svg", "theme.js", "all.css", "site.js"]
    answers = [office.get(ana, name) for name in (*files, static_url("bundle/work.js"))]
    assert {a.headers["cache-control"] for a in answers} == {"public, max-age=31536000, immutable"}
    assert {(a.status_code, a.headers["content-encoding"]) for a in (page, *answers)} == {(200, "gzip")}
    assert sum(int(a.headers["content-length"]) for a in (page, *answers)) < 80_000
    for path, packed in (("/my", page), (files[3], answers[3])):
        plain = office.client(ana).get(path, headers={"accept-encoding": "gzip;q=0, br"})
        assert "content-encoding" not in plain.headers
        assert plain.text == packed.text
    for name in ("bundle/nothing.js", "bundle/../app.js", "bundle/all.js", "../app.py"):
        assert office.get(ana, f"/static/{static_version()}/{name}").status_code == 404


def test_a_bundle_holds_each_module_once_behind_what_it_needs() -> None:
    line = re.compile(r"^const (?:(m_\w+) = \(\(\) => \{|\{ .+ \} = (m_\w+);)$", re.MULTILINE)
    for path in sorted((STATIC / "js").glob("*.js")):
        text = bundle(STATIC, path.name).decode()
        seen: list[str] = []
        for made, used in line.findall(text):
            assert used in ("", *seen), (path.name, used)
            seen += [made] if made else []
        assert len(seen) == len(set(seen)) > 5
        assert not re.search(r"^(?:import|export)\b", text, re.MULTILINE)
