"""The command with a provider beside it: an invitation in a browser, and the page about programs as typed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.axe import run_axe
from tests.docs.outsider import RUN, types
from tests.studio.oidc_provider import CLIENT, SECRET, FakeProvider, serving
from tests.studio.walk.conftest import Site
from tests.typed import proctor_process

from proctor.stages.studio import open_desk
from proctor.studio.auth import hash_token, new_token
from proctor.verify.desk import identities, people
from proctor.verify.desk.identities import Claimed

PAGE = Path(__file__).resolve().parents[3] / "docs" / "studio-api.md"
PROCTOR = [sys.executable, "-m", "proctor"]


class Lab(Site):
    """A studio that was started by its command."""

    def __init__(self, root: Path, provider: FakeProvider) -> None:
        self.provider = provider
        super().__init__(root)

    def start(self) -> None:
        options = ["--port", str(self.port), "--oidc", self.provider.issuer, "--oidc-client", CLIENT, "--oidc-name", "Lab login"]  # fmt: skip
        env = {**os.environ, "PROCTOR_OIDC_SECRET": SECRET}
        command = [*PROCTOR, "studio", str(self.root), *options]
        self.process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.said = ""
        for line in self.process.stderr:
            self.said += line
            if "stop with" in line:
                break
        assert self.url in self.said, self.said

    def close(self) -> None:
        self.stack.close()
        self.process.terminate()
        _, rest = self.process.communicate()
        assert SECRET not in self.said + rest


@pytest.fixture(scope="module")
def lab(demo_workspace: Path, tmp_path_factory: Any) -> Iterator[Lab]:
    root = tmp_path_factory.mktemp("lab") / "bench"
    shutil.copytree(demo_workspace / "bench", root)
    with serving() as provider:
        provider.asks = True
        found = Lab(root, provider)
        yield found
        found.close()


def test_an_invitation_leads_over_the_provider_to_the_consent_page(lab: Lab, browser: Any) -> None:
    assert "/signin/provider/done" in lab.said
    token = new_token()
    with open_desk(lab.root) as desk:
        more = {"role": "annotator", "actor": people.COMMAND_LINE}
        desk.write(lambda c: people.create_invite(desk, c, hash_token(token), **more)).result()
    context = browser.new_context(base_url=lab.url, viewport={"width": 390, "height": 844})
    page = context.new_page()
    problems: list[str] = []

    def look() -> None:
        problems.extend(run_axe(page))
        assert page.evaluate("document.documentElement.scrollWidth") <= 390

    page.goto(f"/invite/{token}")
    look()
    page.click("text=Go on with Lab login")
    page.click("text=Sign in as Ana")
    page.wait_for_url("**/consent")
    assert page.inner_text(".who").startswith("Ana Ruiz")
    page.goto("/my")
    look()
    page.click(".who button")
    page.click("text=Sign out there, too")
    page.wait_for_url("**/signin?said=signed-out")
    look()
    page.click("text=Go on with Lab login")
    page.click("text=Sign in as Ana")
    page.wait_for_url("**/consent")
    browser.shut(context)
    assert problems == []


def test_an_ended_session_is_mended_at_the_provider_and_nothing_is_lost(lab: Lab, visit: Any) -> None:
    person = lab.hire()
    lab.provider.who = {"sub": "u-7"}
    claimed = Claimed(issuer=lab.provider.issuer, subject="u-7")
    lab.do(identities.connect, person, claimed)
    pid = lab.deal(person)[0][0]
    context = visit.context(lab, person)
    page = visit.open(context, f"/w/{pid}")
    for name in ("question", "answer-0", "answer-1"):
        page.check(f"input[name={name}][value=right]")
    page.locator("textarea[name=own]").first.fill("kept")
    page.wait_for_selector("#save-chip[data-ring=server]:not(:empty)")
    context.clear_cookies()
    page.click("#submit")
    with context.expect_page() as opened:
        page.click("#signin-dialog >> text=Go on with Lab login")
    there = opened.value
    there.click("text=Sign in as Ana")
    there.wait_for_selector("text=You can close this one")
    page.wait_for_url(f"{lab.url}/")  # by itself
    assert "kept" in lab.responses(pid)[0].sheet


@types("studio-api.md")
def test_the_page_about_programs_works_as_typed(lab: Lab, tmp_path: Path) -> None:
    with open_desk(lab.root) as desk:
        more = {"handle": "gita", "name": "Gita", "role": "coordinator", "actor": "cli"}
        desk.write(lambda c: people.add(desk, c, **more)).result()
    text = PAGE.read_text(encoding="utf-8")
    (typed,) = re.findall(r"^proctor (.*)$", text, re.MULTILINE)
    made = proctor_process(*typed.split(), cwd=lab.root.parent)
    assert made.out.startswith("proctor_"), made.err
    env = {**os.environ, "STUDIO": lab.url, "TOKEN": made.out.strip(), "no_proxy": "127.0.0.1"}
    shown = []
    for language, block in re.findall(r"^```(bash|python)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        command = ["bash", "-ec", block] if language == "bash" else [sys.executable, "-c", block]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, (block, done.stdout, done.stderr)
        shown.append(done.stdout)
        RUN.append(block)
    assert '"link":' in shown[0]
    assert (tmp_path / "rows.jsonl").stat().st_size > 10_000
    assert re.fullmatch(r"\d+ items wait for an adjudicator\n", shown[1])
    assert "'new': 1" in shown[2]
    refused = subprocess.run(
        [*PROCTOR, "studio", "token", str(lab.root), "ana"], capture_output=True, text=True
    )
    assert (refused.returncode, "only coordinators and owners" in refused.stderr) == (2, True)
