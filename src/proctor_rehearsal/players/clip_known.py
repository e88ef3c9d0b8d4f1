"""What played models know without steps: the right answers that a workspace holds, read again when its files change.

Who is shown frames sees no text of the steps, and the stand-in sees no pixels: what such a model would see is looked up here, by
the question and its options. Blind models know a small share of it.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from proctor.ask.clip.record import ChoiceItem, ClipPair
from proctor.ask.documents.duplicates import normalise_question
from proctor.errors import UserError
from proctor.llm.fence import escape_text
from proctor.metrics.choice.letters import LETTERS
from proctor.records import read_jsonl

__all__ = ["AnswersKnown"]

_FILES: Final[tuple[tuple[str, type[Any]], ...]] = (
    ("pairs.jsonl", ClipPair),
    ("open.jsonl", ClipPair),
    ("choices.jsonl", ChoiceItem),
)
_Key = tuple[str, frozenset[str]]


@dataclass(slots=True)
class _Found:
    """Answers by question, and by question and options."""

    answers: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    chosen: dict[_Key, str] = field(default_factory=dict)


class AnswersKnown:
    """The right answers in a workspace.

    Args:
        root: the workspace; it need not be there, and files that cannot be read hold nothing.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._stamp: tuple[object, ...] = ()
        self._found = _Found()

    def answers(self, question: str, options: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the right answers to a question as prompts show it; of some options those that are right."""
        found, asked = self._now(), normalise_question(question)
        if not options:
            return tuple(found.answers.get(asked, ()))
        exact = found.chosen.get((asked, _plain(options)))
        if exact is not None:
            return (exact,)
        right = _plain(found.answers.get(asked, ()))
        return tuple(option for option in options if normalise_question(option) in right)

    def _now(self) -> _Found:
        with self._lock:
            stamp = tuple(_stamp_of(self._root / name) for name, _ in _FILES)
            if stamp != self._stamp:
                self._stamp, self._found = stamp, _Found()
                for record in self._records():
                    self._add(record)
            return self._found

    def _records(self) -> Iterator[ClipPair | ChoiceItem]:
        for name, kind in _FILES:
            path = self._root / name
            try:
                yield from read_jsonl(path, kind) if path.exists() else ()
            except UserError:  # whoever uses the file is told
                continue

    def _add(self, record: ClipPair | ChoiceItem) -> None:
        asked = normalise_question(escape_text(record.question))
        if isinstance(record, ClipPair):
            self._found.answers[asked][escape_text(record.answer, one_line=True)] = None
            return
        options = [escape_text(option, one_line=True) for option in record.options]
        place = LETTERS.find(record.letter) if record.letter else -1
        if 0 <= place < len(options):
            self._found.answers[asked][options[place]] = None
            self._found.chosen[asked, _plain(options)] = options[place]


def _plain(texts: Sequence[str] | dict[str, None]) -> frozenset[str]:
    return frozenset(map(normalise_question, texts))


def _stamp_of(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
