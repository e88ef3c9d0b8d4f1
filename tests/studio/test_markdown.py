"""Texts of coordinators to HTML that cannot do anything."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.exam.kinds.moment_question import JUDGING
from proctor.studio.markdown import render_markdown
from proctor.verify.desk.documents import DEFAULT_CONSENT

ALLOWED = {
    *(
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
        "ul",
        "ol",
        "li",
        "strong",
        "em",
        "s",
        "code",
        "pre",
        "blockquote",
        "hr",
        "br",
    ),
    *("a", "table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"href", "title", "rel", "target", "class", "start", "tabindex"}


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def check_inert(html: str) -> Tags:
    tags = Tags(html)
    assert set(tags.tags) <= ALLOWED
    assert {name for name, _ in tags.attributes} <= ATTRIBUTES
    for name, value in tags.attributes:
        if name == "href":
            assert (value or "").lower().startswith(("http://", "https://", "mailto:", "/", "#"))
            assert not (value or "").startswith("//")
    return tags


def test_what_authors_need_is_there() -> None:
    html = render_markdown(
        "# Title\n\nA **bold** [site](https://example.org) and [here](/my).\n\n- one\n- two\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n"
    )
    assert "<h2>Title</h2>" in html
    assert "<strong>bold</strong>" in html
    assert '<a href="https://example.org" rel="noopener noreferrer" target="_blank">site</a>' in html
    assert '<a href="/my">here</a>' in html
    assert '<td class="align-right">2</td>' in html
    assert "style=" not in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "hello <img src=x onerror=alert(1)> there",
        '"><img src=x onerror=alert(1)>',
        "<div style='position:fixed'>x</div>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](java\nscript:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:x)",
        "[x](//evil.example)",
        "[x](/\\evil.example)",
        "[x](file:///etc/passwd)",
        "<javascript:alert(1)>",
        "![x](https://evil.example/track.png)",
        "![x](javascript:alert(1))",
        '[x](https://e.example "onmouseover=alert(1)")',
        '[x](https://e.example/"onmouseover="alert(1))',
        "[x]: javascript:alert(1)\n\n[x]",
        "```<script>\nalert(1)\n```",
        "{{7*7}} {% raw %}",
        "\u202egnp.exe",
        "<!-- --><svg onload=alert(1)>",
    ],
)
def test_attacks_stay_text(text: str) -> None:
    check_inert(render_markdown(text))


def test_pictures_are_not_fetched_and_templates_not_filled() -> None:
    html = render_markdown("![tracker](https://evil.example/t.png) {{7*7}}")
    assert "<img" not in html
    assert "{{7*7}}" in html


@given(st.text(alphabet="<>[]()!\"'&;:/\\`*_#|-=+ \n\tajscriptv0{}", max_size=200))
def test_no_text_makes_a_forbidden_tag(text: str) -> None:
    check_inert(render_markdown(text))


def test_a_long_nest_does_not_hang() -> None:
    check_inert(render_markdown(">" * 5_000 + " x"))
    check_inert(render_markdown("[" * 5_000))


def test_our_own_texts_are_rendered() -> None:
    for text in (JUDGING.guideline, DEFAULT_CONSENT):
        tags = check_inert(render_markdown(text))
        assert tags.tags.count("h2") >= 4  # the page has its own title above
        assert "h3" not in tags.tags
