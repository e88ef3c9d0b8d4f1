"""Scripts and style sheets as one file each, compressed, kept by browsers for good."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pytest

from proctor.studio.bundles import SHEETS, bundle
from proctor.studio.rendering import STATIC, static_url
from proctor.verify.desk import roster
from proctor.verify.policy import POLICIES


def _linked(page: str) -> list[str]:
    return re.findall(r'(?:href|src)="(/static/[^"]+)"', page)


def test_a_page_is_a_handful_of_small_requests(office: Any) -> None:
    office.sync(4)
    ana, ben = office.hire("ana"), office.hire("ben")

    def deal(_desk: Any, c: Any) -> None:
        roster.apply_deal(
            office.desk, c, roster.plan_deal(office.desk, c, [ana, ben], POLICIES[0]), actor="cli"
        )

    office.do(deal)
    page = office.get(ana, f"/w/{office.open_work(ana)[0].pid}")
    assert page.headers["content-encoding"] == "gzip"
    files = _linked(page.text)
    assert [name.rpartition("/")[2] for name in files] == ["icon.svg", "theme.js", "all.css", "work.js"]
    answers = [office.get(ana, name) for name in files]
    sent = sum(int(answer.headers["content-length"]) for answer in [page, *answers])
    assert sent < 60_000, sent
    for answer in answers:
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["vary"] == "Accept-Encoding"


def test_who_reads_no_gzip_gets_the_same_text(office: Any) -> None:
    ana = office.hire("ana")
    for path in ("/my", static_url("bundle/site.js")):
        packed = office.client(ana).get(path, headers={"accept": "text/html"})
        plain = office.client(ana).get(
            path, headers={"accept": "text/html", "accept-encoding": "gzip;q=0, br"}
        )
        assert "content-encoding" not in plain.headers
        assert packed.headers["content-encoding"] == "gzip"
        assert plain.text == packed.text


@pytest.mark.parametrize(
    "name", ["bundle/nothing.js", "bundle/../app.js", "bundle/all.js", "js/..%2f..%2fapp.py", "../app.py"]
)
def test_what_is_no_file_is_not_found(office: Any, name: str) -> None:
    ana = office.hire("ana")
    assert office.get(ana, static_url("bundle/") + name).status_code == 404


def test_a_bundle_holds_each_module_once_behind_what_it_needs() -> None:
    for path in sorted((STATIC / "js").glob("*.js")):
        text = bundle(STATIC, path.name).decode()
        scopes = re.findall(r"^const (m_\w+) = \(\(\) => \{$", text, re.MULTILINE)
        assert len(scopes) == len(set(scopes))
        seen: set[str] = set()
        for line in text.splitlines():
            if made := re.fullmatch(r"const (m_\w+) = \(\(\) => \{", line):
                seen.add(made[1])
            elif used := re.fullmatch(r"const \{ .+ \} = (m_\w+);", line):
                assert used[1] in seen, (path.name, used[1])
        assert not re.search(r"^(?:import|export)\b", text, re.MULTILINE)
    css = bundle(STATIC, "all.css").decode()
    assert all((STATIC / name).read_text("utf-8").rstrip().splitlines()[-1] in css for name in SHEETS)
    assert len(gzip.compress(css.encode())) < 20_000
