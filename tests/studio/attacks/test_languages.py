"""Nothing that the studio itself says on a page is left out of the catalogs: every sentence is wrapped, and what is not shows."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any, Final

import pytest

from proctor.studio import language, rendering
from proctor.verify.desk.people import list_people

_OTHERS: Final = (
    "bdi",
    "code",
    "kbd",
    "pre",
    "script",
    "style",
    "time",
    "title",
    "tspan",
    "output",
    "textarea",
)
_VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta", "source", "track", "wbr", "col"})
_SAID: Final = ("aria-label", "title", "placeholder", "alt", "aria-valuetext")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_DAY: Final = re.compile(r"\d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d")


class _Page(HTMLParser):
    """Texts and attributes that no catalog knows, outside of what people and data wrote."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, bool]] = []
        self.depth = 0
        self.found: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        document = tag == "article" and "prose" in (named.get("class") or "").split()
        others = tag in _OTHERS or "dir" in named or document or named.get("aria-labelledby") == "h-consent"
        others = others or (bool(self.open) and self.open[-1][1])
        if tag not in _VOID:
            self.open.append((tag, others))
        if tag == "a" and (named.get("href") or "").startswith("/"):
            self.links.append(named["href"] or "")
        if named.get("role") == "listitem":  # a step of a drawing: its own words come first
            named["aria-label"] = re.sub(r"^[^⟦]* \(", "", named.get("aria-label") or "")
        if not others:
            self.found += [
                f"{name}={text}" for name in _SAID if (text := named.get(name)) and self._bare(text)
            ]

    def handle_endtag(self, tag: str) -> None:
        while self.open and tag in [name for name, _ in self.open]:
            if self.open.pop()[0] == tag:
                break

    def handle_data(self, data: str) -> None:
        bare = ""
        for sign in data:
            self.depth += (sign == "⟦") - (sign == "⟧")
            bare += sign if not self.depth and sign != "⟧" else " "
        if _WORD.search(bare) and not (self.open and self.open[-1][1]):
            self.found.append(" ".join(bare.split()))

    @staticmethod
    def _bare(text: str) -> bool:
        while text != (text := re.sub(r"⟦[^⟦⟧]*⟧", " ", text)):
            pass
        return bool(_WORD.search(text))


def _pages(visitor: Any) -> Iterator[tuple[str, _Page]]:
    """Every page that somebody finds by links, two of each kind."""
    waiting, seen, kinds = (
        deque(["/", "/my", "/guideline", "/consent", "/nowhere", "/r"]),
        set[str](),
        Counter[str](),
    )
    while waiting:
        path = waiting.popleft()
        kind = re.sub(r"[0-9A-Za-z_-]{16,}", "*", path.partition("?")[0])
        if path in seen or kinds[kind] >= 2 or path.startswith(("/static", "/exports/")):
            continue
        seen.add(path)
        answer = visitor.get(path)
        if answer.status_code in (302, 303):
            waiting.append(answer.headers["location"])
        elif answer.headers["content-type"].startswith("text/html"):
            kinds[kind] += 1
            page = _Page()
            page.feed(answer.text)
            waiting.extend(link.partition("#")[0] for link in page.links)
            yield path, page


@pytest.mark.parametrize("role", ["nobody", "annotator", "adjudicator", "coordinator", "owner", "worker"])
def test_every_sentence_of_every_page_can_be_translated(
    crew: Any, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    def marked(pattern: str, many: str = "", n: int = 1, about: str = "") -> str:
        return f"⟦{many if many and n != 1 else pattern}⟧"

    for module in (language, rendering):
        monkeypatch.setattr(module, "look_up", marked)
    house = crew[role].house
    people = house.desk.read(lambda c: list_people(house.desk, c))
    known = "|".join([*language.LANGUAGES.values(), *(person.name for person in people)])
    left: dict[str, list[str]] = {}
    for path, page in _pages(crew[role]):
        bare = (re.sub(f"{known}|{_DAY.pattern}", "", text.partition("=")[2] or text) for text in page.found)
        if found := sorted({text for text in bare if _WORD.search(text)}):
            left[path] = found
    assert left == {}
