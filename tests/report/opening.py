"""Which numbers of a written page open nothing, and which counts open another number of lines than they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

__all__ = ["NO_QUESTIONS", "closed", "miscounted"]

NO_QUESTIONS: Final = {
    r"Leaderboard: Rank": "a place among systems",
    r"Each activity: Steps|Steps of .*: (Step|After)": "steps of a task graph and their numbers",
    r"How uneven seeds are: .*": "how sources are drawn, before there is a question",
    r"Option tells: without a tell|Retry leak: expected .*|What chance lets pass: .*": "what chance gives",
    r".*: published": "printed in the paper",
    r"Each attempt.*: Attempt|Each vote: Attempt": "which attempt the line is",
    r"Each (clip|video).*: (Seconds|Task)": "where in its video the line is, and what is done there",
    r"Rank of each cited source: Rank": "the rank of the line",
    r"What became of each: Detail|Each (?!task).*: (Detail|Why|Said|What|Chose)": "words of the line",
    r"Each question: Cited sources|Answers: .*: (Answer|What)": "words of the line",
    r"Each attempt: Style and sources|Left out of the plan: why": "words of the line",
}
"""Columns whose numbers count or average no questions, answers, pairs or attempts, and why; ``table: column``."""
_NO_COUNT: Final = re.compile(
    r".*: (calls|min|median|mean|max|ours|With people)|Answers through .*|People.*: value"
    r"|Option tells: value|Difficulty: ranks .*: (best|median|last) .*|(Won|Lost) by .*|.* by run.*|What (it cost|runs were|more frames) .*"
)
"""Columns of whole numbers that are no counts of the lines which they open: means, ranks, calls and answers of these."""
_NUMBER: Final = re.compile(r"[≥<+−]?\s?\$?(?=[\d.,]*[1-9])\d[\d,.]*(?![\w#/-])")
_LAST: Final = re.compile(r"(?:^|.*(?<! of) )(?P<n>(?=[\d,]*[1-9])\d[\d,]*)(?: pairs? kept)?$")
_VOID: Final = frozenset(
    {"br", "img", "meta", "input", "wbr", "line", "rect", "circle", "path", "use", "image", "link"}
)


@dataclass
class _Cell:
    table: str
    column: str
    line: str = ""
    texts: list[tuple[str, tuple[str, str] | None]] = field(default_factory=list)
    """Its texts, each with the list and tag that it opens, or the filters or the question with an empty tag."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.cells: list[_Cell] = []
        self.counts: dict[tuple[str, str], int] = {}
        self._stack: list[tuple[str, dict[str, str]]] = []
        self._title = self._list = ""
        self._head: list[str] = []
        self._text: list[str] | None = None
        self._cell: _Cell | None = None
        self._row: list[_Cell] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        given = {name: value or "" for name, value in attrs}
        self._stack.append((tag, given))
        if tag in ("h2", "h3", "h4", "summary", "dt") or (tag == "th" and self._in("thead")):
            self._text = []
        elif tag == "details" and "listing" in given.get("class", ""):
            self._list = given["id"]
        elif tag == "option" and "data-tag" in given:
            self.counts[f"#{self._list}", given["data-tag"]] = int(given["data-n"])
        elif tag == "tr":
            self._row = []
            if self._in("thead"):
                self._head = []
        elif tag == "td" and self._in("thead"):
            self._head.append("")
        elif tag in ("td", "th", "dd"):
            column = self._head[len(self._row)] if tag != "dd" and len(self._row) < len(self._head) else ""
            self._cell = _Cell(self._title, column)
            self._row.append(self._cell)

    def handle_endtag(self, tag: str) -> None:
        if not any(name == tag for name, _ in self._stack):
            return  # of what has no content
        while self._stack.pop()[0] != tag:
            pass
        text = " ".join("".join(self._text or []).split())
        if tag in ("h2", "h3", "h4", "summary"):
            self._title, self._text = text, None
        elif tag == "th" and self._in("thead"):
            self._head.append(text)
            self._text = None
        elif tag == "dt":
            self._label, self._text = text, None
        elif tag == "dd" and self._cell is not None:
            if self._in("dl", "facts"):
                self._cell.table, self._cell.column = "facts", self._label
                self.cells.append(self._cell)
            self._cell = None
        elif tag in ("td", "th"):
            self._cell = None
        elif tag == "tr" and self._row and not self._in("section", id_="examples"):
            label = "".join(text for text, _ in self._row[0].texts)
            for cell in self._row[1:]:
                cell.line = label
                self.cells.append(cell)

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)
        elif self._cell is not None and not self._in("span", "n") and not self._in("svg"):
            to = next((given for tag, given in reversed(self._stack) if tag == "a"), None)
            self._cell.texts.append((data, (to["href"], to.get("data-tag", "")) if to is not None else None))

    def _in(self, tag: str, class_: str = "", id_: str = "") -> bool:
        return any(
            name == tag
            and (not class_ or class_ in given.get("class", "").split())
            and (not id_ or given.get("id") == id_)
            for name, given in self._stack
        )


def _read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    return reader


def closed(page: str) -> dict[str, str]:
    """Return one number of each column of a written page that opens nothing though nobody says why (``NO_QUESTIONS``)."""
    found: dict[str, str] = {}
    for cell in _read(page).cells:
        where = f"{cell.table}: {cell.column}"
        free = "".join(text for text, to in cell.texts if to is None).strip()
        if (_NUMBER.match(free) or _LAST.match(free)) and not any(
            re.fullmatch(p, where) for p in NO_QUESTIONS
        ):
            found.setdefault(where, f"{cell.line}: {free}")
    return found


def miscounted(page: str) -> Iterator[str]:
    """Yield counts of a written page that open another number of lines of a list."""
    reader = _read(page)
    for cell in reader.cells:
        where = f"{cell.table}: {cell.column}"
        for text, to in cell.texts:
            if (
                to is None
                or not to[1]
                or (match := _LAST.match(text.strip())) is None
                or _NO_COUNT.fullmatch(where)
            ):
                continue
            if int(match["n"].replace(",", "")) != reader.counts[to]:
                yield f"{where}: {cell.line}: {text} opens {reader.counts[to]}"
