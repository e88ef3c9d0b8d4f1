"""The next items of a queue are on the device: judging goes on while the server is gone, and all of it arrives later."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from tests.patience import wait_until
from tests.studio.chromium import let_it_act

# What the server keeps of this is tested on both databases in verify/desk; here it is the page that acts.
pytestmark = pytest.mark.parametrize("site", ["sqlite"], indirect=True, scope="module")
KEPT = "caches.open('proctor-ahead').then(c => c.keys()).then(keys => keys.map(k => new URL(k.url).pathname))"


def test_six_items_are_judged_without_the_server(site: Any, visit: Any) -> None:
    person = site.hire()
    pids = [pid for (pid,) in site.deal(person, count=6)]
    page = visit.open(visit.context(site, person), f"/w/{pids[0]}")
    wait_until(
        lambda: {f"/w/{pid}" for pid in pids} <= set(page.evaluate(KEPT)), what="six pages on the device"
    )
    wait_until(
        lambda: page.evaluate("navigator.serviceWorker.controller !== null"), what="the service worker"
    )

    # A clip that is kept is played from here, part by part.
    look = """async (url) => {
      const blob = new Blob(["0123456789"], { type: "video/mp4" });
      await (await caches.open("proctor-ahead")).put(url, new Response(blob));
      const ask = async (Range) => { const a = await fetch(url, { headers: { Range } }); return [a.status, await a.text()]; };
      const again = await fetch(url + "?again=1"); // what a player asks for that broke off
      return [await ask("bytes=2-4"), await ask("bytes=8-"), await ask("bytes=10-"), [again.status, await again.text()]];
    }"""
    parts = page.evaluate(look, f"/w/{pids[5]}/clip.mp4")
    assert parts == [[206, "234"], [206, "89"], [416, ""], [200, "0123456789"]]

    site.kill()
    for here, there in pairwise(pids):
        page.wait_for_selector(f"#sheet[data-pid='{here}']")
        let_it_act(page)
        page.click("#question-card label:has(input[value=wrong])")
        page.click("#submit")
        page.wait_for_url(f"**/w/{there}")
    assert not any(site.responses(pid) for pid in pids)
    site.start()
    page.evaluate("dispatchEvent(new Event('online'))")
    wait_until(
        lambda: all(len(site.responses(pid)) == 1 for pid in pids[:-1]), what="what was judged meanwhile"
    )

    # Who comes next on this device finds nothing of theirs.
    page.goto("/")
    page.click("form[action='/signout'] button")
    wait_until(lambda: not page.evaluate("caches.has('proctor-ahead')"), what="an empty device")
    visit.problems.clear()  # the browser names every request that found no server


def test_a_clip_that_is_still_being_cut_is_kept_later(site: Any, visit: Any) -> None:
    person = site.hire()
    pids = [pid for (pid,) in site.deal(person, count=3)]
    context = visit.context(site, person)
    context.add_init_script("""const ask = fetch, asked = {};
        globalThis.fetch = async (url, options) => {
          if (String(url).endsWith("/clip.mp4")) {
            asked[url] = (asked[url] ?? 0) + 1;
            return asked[url] > 1 ? new Response("clip") : new Response("{}", { status: 503, headers: { "Retry-After": "2" } });
          }
          const answer = await ask(url, options);
          if (!/^\\/w\\/[^/]+$/.test(url)) return answer;
          return new Response(await answer.text() + `<video data-src="${url}/clip.mp4"></video>`, { headers: answer.headers });
        };""")
    page = visit.open(context, f"/w/{pids[0]}")
    wait_until(lambda: {f"/w/{pid}/clip.mp4" for pid in pids} <= set(page.evaluate(KEPT)), what="their clips")
