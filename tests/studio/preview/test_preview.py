"""Every template with made-up contexts: inert texts, no inline code, no overflow, nothing for axe to complain about."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import fields, replace
from tests.axe import DEPENDS_ON_LOOK, look_with_axe, run_axe
from tests.studio.chromium import CHROMIUM


def _load(name: str) -> ModuleType:
    full = f"proctor_preview_{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[full] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[full]


pytest.importorskip("starlette", reason="needs the extra `studio`")
app = _load("app")
contexts = app.load_contexts()
PAGES = sorted(contexts.pages())


class Elements(HTMLParser):
    """All start tags with their attributes, and all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def ids(self) -> list[str]:
        return [a["id"] for _, a in self.tags if a.get("id")]  # type: ignore[misc]

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [a for t, a in self.tags if t == tag]


@pytest.mark.parametrize("name", PAGES)
def test_no_page_needs_inline_code(name: str) -> None:
    """The content security policy allows none: no style, no handlers, no inline script, no foreign addresses."""
    page = Elements(app.render_page(name))
    for tag, attributes in page.tags:
        assert "style" not in attributes, (name, tag, attributes)
        assert not [a for a in attributes if a.startswith("on")], (name, tag, attributes)
        assert tag != "script" or attributes.get("src", "").startswith("/static/")  # type: ignore[union-attr]
        assert tag != "style"
        for address in ("src", "href", "action", "formaction"):
            value = attributes.get(address) or ""
            assert not value.lower().startswith(("http:", "https:", "//", "javascript:", "data:")), (
                name,
                value,
            )


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_well_made(name: str) -> None:
    """Ids stand once, labels and descriptions point at something, one first heading, one main, a title."""
    page = Elements(app.render_page(name))
    ids = page.ids()
    assert len(ids) == len(set(ids)), [i for i in ids if ids.count(i) > 1]
    for tag, attributes in page.tags:
        for reference in ("for", "aria-labelledby", "aria-describedby", "form"):
            for target in (attributes.get(reference) or "").split():
                assert target in ids, (name, tag, reference, target)
    assert len(page.named("h1")) == 1
    assert len(page.named("main")) == 1
    assert all(a.get("method") in ("get", "post", "dialog") for a in page.named("form"))


def test_text_of_data_stays_text() -> None:
    page = Elements(app.render_page("work-hostile"))
    assert contexts.HOSTILE in page.text
    assert not [a for a in page.named("img") if a.get("src") == "x"]
    assert "alert(1)" not in " ".join(str(a) for t, a in page.tags if t != "textarea")


def test_work_page_keeps_the_contract_with_its_modules() -> None:
    page = Elements(app.render_page("work"))
    by_id = {a["id"]: (t, a) for t, a in page.tags if a.get("id")}
    for wanted in [
        "save-chip",
        "cant-open",
        "keys-open",
        "graph-panel",
        "clip-panel",
        "clip",
        "clip-time",
        "clip-frame",
        "clip-problem",
        "sheet",
        "question-card",
        "answers",
        "answer-0",
        "answer-1",
        "answer-2",
        "own",
        "own-add",
        "form-error",
        "back",
        "submit",
        "keys-dialog",
        "signin-dialog",
        "cant-dialog",
        "conflict-dialog",
        "toast",
        "readonly-banner",
        "take-over",
    ]:
        assert wanted in by_id, wanted
    body = page.named("body")[0]
    assert (body["data-page"], body["data-person"]) == ("work", "p-7f3a")
    form = by_id["sheet"][1]
    expected = {
        "data-pid": "k3v9x2",
        "data-rev": "0",
        "data-stage": "judge",
        "data-state": "open",
        "data-reasons": "0",
        "data-may-add": "1",
        "data-question": "open",
        "action": "/w/k3v9x2/submit",
        "method": "post",
    }
    assert {k: form.get(k) for k in expected} == expected
    names = {a.get("name") for _, a in page.tags}
    assert {"question", "answer-0", "answer-1", "answer-2", "own", "note", "rev", "key"} <= names
    players = {a["data-player"] for _, a in page.tags if a.get("data-player")}
    assert players >= {
        "play",
        "back5",
        "fwd5",
        "prevframe",
        "nextframe",
        "slower",
        "faster",
        "home",
        "mute",
        "retry",
    }
    steps = [a for _, a in page.tags if a.get("data-step")]
    assert any(a.get("data-start") for a in steps)


def test_yes_no_and_not_yet_judged_are_three_things() -> None:
    def checked(name: str) -> list[tuple[str | None, str | None]]:
        radios = [
            a
            for a in Elements(app.render_page(name)).named("input")
            if a.get("type") == "radio" and a["name"] != "tab"
        ]
        return [(a["name"], a["value"]) for a in radios if "checked" in a]

    assert checked("work-open") == []
    assert checked("work") == [("question", "right"), ("answer-0", "right")]
    assert checked("work-no") == [("question", "wrong")]


def test_a_blind_page_depends_on_the_texts_alone() -> None:
    """C11: two statements that swap their places swap their texts in the page, and nothing else changes."""
    from proctor.studio.rendering import environment

    work = contexts.work_views()["work-adjudicate"]
    template = environment().get_template("work.html.j2")
    a, b = (replace(work.answers[0], text=t) for t in ("AAAA", "BBBB"))
    first = template.render(shell=contexts.ANA, view=replace(work, answers=(a, b)))
    second = template.render(shell=contexts.ANA, view=replace(work, answers=(b, a)))
    swapped = second.replace("AAAA", "\0").replace("BBBB", "AAAA").replace("\0", "BBBB")
    assert first == swapped
    sheet = first[first.index('<form id="sheet"') : first.index("</form>")]
    for word in ("machine", "human", "annotator", "source", "oracle", "model", "person"):
        assert not re.search(rf"\b{word}\b", sheet, re.I), word


def test_a_card_cannot_carry_a_source() -> None:
    from proctor.studio.views import AnswerCard

    assert [f.name for f in fields(AnswerCard)] == ["text", "value", "claim"]


def test_objections_of_the_linter_are_shown_beside_the_text() -> None:
    from proctor.studio.rendering import environment
    from proctor.studio.views import AnswerCard

    work = contexts.work_views()["work"]
    bad = AnswerCard("You used the sugar went into a cup instead of the jug.")
    template = environment().get_template("work.html.j2")
    page = template.render(
        shell=contexts.ANA, view=replace(work, answers=(bad,), question="Did I used the the cup?")
    )
    assert "verb as a thing: “used the sugar went”" in page
    assert "doubled word: “the the”" in page
    assert "Language:" not in template.render(
        shell=contexts.ANA, view=replace(work, answers=(AnswerCard("Take a tomato."),))
    )


def test_settled_question_is_not_asked_again_and_frozen_sheets_cannot_be_sent() -> None:
    settled = Elements(app.render_page("work-adjudicate"))
    assert not [a for a in settled.named("input") if a.get("name") == "question"]
    assert "own" not in settled.ids()
    frozen = Elements(app.render_page("work-frozen"))
    assert "submit" not in frozen.ids()
    sheet = [a for a in frozen.named("input") if str(a.get("name")).startswith(("question", "answer-"))]
    assert sheet
    assert all("disabled" in a for a in sheet)


def test_missing_verdict_is_named_at_its_card() -> None:
    """A2 without JavaScript: the message stands in the card, which says that it is invalid."""
    page = Elements(app.render_page("work-errors"))
    card = next(a for a in page.named("fieldset") if a.get("id") == "answer-1")
    assert card["aria-invalid"] == "true"
    assert card["aria-describedby"] in page.ids()


# -- in a browser ----------------------------------------------------------------------------------------------

browser_only = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    pytest.importorskip("av", reason="makes the clip")
    pytest.importorskip("PIL", reason="makes the poster")
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        with _load("shots").serving() as address:
            yield address
    finally:
        sys.path.remove(str(Path(__file__).parent))


WALKED = {
    "consent", "dashboard", "deal", "demo", "disagreements", "error", "events", "exports", "guideline", "guidelines", "home", "item",
    "items", "my", "people", "signin", "training", "work",
}  # fmt: skip
"""Templates that ``walk/test_pages.py`` shows to axe with what the sample has in them."""


def _representatives() -> list[str]:
    """One page for each other template, and the variants that the sample does not have."""
    first: dict[str, str] = {}
    for name, (template, _, _) in contexts.pages().items():
        first.setdefault(template, name)
    assert first.keys() > WALKED
    more = (
        "work-no",
        "work-errors",
        "work-frozen",
        "work-hostile",
        "guideline-changed",
        "home-empty",
        "deal-preview",
    )
    return [*(name for template, name in first.items() if template not in WALKED), *more]


class TestAccessibility:
    """C7: axe finds nothing serious or critical in light, dark, forced colours and on a tablet."""

    pytestmark = browser_only

    def test_axe(self, base: str, browser: Any) -> None:
        page, found = browser.new_page(reduced_motion="reduce"), []
        for name in _representatives():
            page.goto(f"{base}/p/{name}")
            page.set_viewport_size({"width": 1280, "height": 800})
            found += look_with_axe(page, serious=True)
            page.set_viewport_size({"width": 820, "height": 1180})
            found += run_axe(page, DEPENDS_ON_LOOK, serious=True)
        assert not found, "\n".join(found)

    def test_axe_would_say_so(self, base: str, browser: Any) -> None:
        """The rules above do find what they are there for."""
        page = browser.new_page(color_scheme="dark")
        page.goto(f"{base}/p/my", wait_until="domcontentloaded")
        page.evaluate("document.querySelector('h2').style.color = '#444'")
        (found,) = run_axe(page, DEPENDS_ON_LOOK)
        page.close()
        assert ": color-contrast (serious)" in found


class TestBrowser:
    """Pages that fit, and that the browser has nothing to say about."""

    pytestmark = browser_only

    def test_320_pixels_are_enough(self, base: str, browser: Any) -> None:
        """C10: no horizontal scroll, except inside regions that scroll by themselves."""
        page, wide = browser.new_page(viewport={"width": 320, "height": 640}), []
        for name in PAGES:
            page.goto(f"{base}/p/{name}", wait_until="domcontentloaded")
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > 320:
                wide.append((name, width))
        page.close()
        assert not wide

    def test_nothing_is_refused_or_missing(self, base: str, browser: Any) -> None:
        page, problems = browser.new_page(), []
        page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: problems.append(str(e)))
        for name in PAGES:
            page.goto(f"{base}/p/{name}", wait_until="domcontentloaded")
        page.close()
        assert not problems

    def test_targets_are_large_enough(self, base: str, browser: Any) -> None:
        """24 px everywhere, 44 px at a tablet for what stands in bars, players, tabs and sheets."""
        page = browser.new_page(viewport={"width": 820, "height": 1180})
        page.goto(f"{base}/p/work")
        small = page.evaluate(
            """() => [...document.querySelectorAll('main button, .bar button, .foot a, .foot button, label.choice, .tabs label, summary')]
                .filter(e => e.checkVisibility())
                .map(e => [e.textContent.trim().slice(0, 30), Math.round(e.getBoundingClientRect().height)])
                .filter(([text, height]) => height < (text.includes('Note') ? 24 : 44))"""
        )
        page.close()
        assert not small

    def test_answers_wait_for_yes_without_any_module(self, base: str, browser: Any) -> None:
        """A1 at first paint: the style sheet alone hides the answers while the question has no Yes."""
        context = browser.new_context()
        context.route("**/*.js", lambda route: route.abort())
        page = context.new_page()
        page.goto(f"{base}/p/work-open")
        assert not page.is_visible("#answers")
        page.check("input[name=question][value=right]")
        assert page.is_visible("#answers")
        assert page.is_visible("#own")
        page.check("input[name=question][value=wrong]")
        assert not page.is_visible("#answers")
        context.close()

    def test_everything_is_there_without_javascript(self, base: str, browser: Any) -> None:
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(f"{base}/p/work-open")
        for wanted in ("#answers", "#own", "#submit", "#cant-dialog form", "#graph-panel", "#steps-panel"):
            assert page.is_visible(wanted), wanted
        for useless in ("#cant-open", "#keys-open", ".player", "#own-add"):
            assert not page.is_visible(useless), useless
        assert page.locator("textarea[name=own]").count() == 4
        context.close()

    @pytest.mark.parametrize(
        "size",
        [(1280, 800), (1180, 820), (820, 1180), (320, 640)],
        ids=["desk", "landscape", "tablet", "phone"],
    )
    def test_focus_is_never_under_the_bars(self, base: str, browser: Any, size: tuple[int, int]) -> None:
        """2.4.11: what has the focus is not covered by the bar above, the clip that stays, or the bar below."""
        page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        page.goto(f"{base}/p/work-many")
        page.focus("#question-card input:checked")
        covered = []
        for _ in range(16):
            page.keyboard.press("Tab")
            box = page.evaluate(
                """() => { const e = document.activeElement, r = e.getBoundingClientRect();
                   const clip = document.querySelector('#clip-panel'), over = innerWidth < 960 ? clip : document.querySelector('.bar');
                   const bar = over.getBoundingClientRect().bottom;
                   const foot = document.querySelector('.foot').getBoundingClientRect().top;
                   return [e.name || e.id || e.className, r.top < bar - 1 && !e.closest('.bar, #clip-panel'), r.bottom > foot + 1 && !e.closest('.foot')]; }"""
            )
            if box[1] or box[2]:
                covered.append(box)
        page.close()
        assert not covered

    def test_tabs_of_the_tablet(self, base: str, browser: Any) -> None:
        page = browser.new_page(viewport={"width": 820, "height": 1180})
        page.goto(f"{base}/p/work")
        assert [page.is_visible(s) for s in ("#question-card", "#graph-panel", "#steps-panel")] == [
            True,
            False,
            False,
        ]
        page.check("#tab-graph", force=True)
        assert [page.is_visible(s) for s in ("#question-card", "#graph-panel", "#steps-panel")] == [
            False,
            True,
            False,
        ]
        page.check("#tab-steps", force=True)
        assert [page.is_visible(s) for s in ("#question-card", "#graph-panel", "#steps-panel")] == [
            False,
            False,
            True,
        ]
        page.set_viewport_size({"width": 1280, "height": 600})
        page.reload()  # on a desk the list has a window of its own, and begins at the current step
        assert page.evaluate("document.querySelector('.steps-scroll').scrollTop") > 0
        assert page.is_visible("[data-player=play]")  # and the player has one set of controls
        assert not page.evaluate("document.getElementById('clip').controls")
        assert page.is_visible("#submit")
        page.close()
