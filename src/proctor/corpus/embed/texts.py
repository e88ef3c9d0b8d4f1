"""What all embedders of texts share: texts that can be embedded, and the words that some models want in front of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from proctor.corpus.embed.embedder import TextRole
from proctor.errors import UserError

__all__ = ["E5", "PLAIN", "Prefixes", "check_texts", "guess_prefixes", "prefixes_in"]

_E5: Final = re.compile(r"(?:^|[^a-z0-9])e5(?:[^a-z0-9]|$)", re.IGNORECASE)
_QUERY: Final = ("query", "search_query")
_PASSAGE: Final = ("passage", "document", "corpus", "search_document")
_SHOWN: Final = 5


class Prefixes(msgspec.Struct, frozen=True):
    """Words that go in front of a text, by its role."""

    query: str = ""
    passage: str = ""

    def put(self, texts: Sequence[str], role: TextRole) -> list[str]:
        """Return the texts with their words in front."""
        before = self.query if role == "query" else self.passage
        return [before + text for text in texts]

    @property
    def tag(self) -> str:
        """Part of an embedder's name: other words, other vectors; empty where there are none."""
        return f"#{self.query!r},{self.passage!r}" if self.query or self.passage else ""


PLAIN: Final = Prefixes()
E5: Final = Prefixes("query: ", "passage: ")
"""Of the E5 models (Wang et al. 2022), as their cards ask for."""


def check_texts(texts: Sequence[str]) -> None:
    """Refuse texts without anything in them.

    Raises:
        UserError: saying which.
    """
    empty = [index for index, text in enumerate(texts) if not text.strip()]
    if empty:
        shown = ", ".join(str(index + 1) for index in empty[:_SHOWN]) + (" …" if len(empty) > _SHOWN else "")
        raise UserError(
            f"{len(empty)} of {len(texts)} texts are empty (number {shown}); an empty text has no vector.",
            hint="leave them out",
        )


def guess_prefixes(*names: str) -> Prefixes:
    """Return the words that a model is known to want by its name: those of E5 where one of the names says so."""
    return E5 if any(_E5.search(name) for name in names) else PLAIN


def prefixes_in(prompts: Any) -> Prefixes | None:
    """Return the words that a model's own configuration names (``prompts`` of sentence-transformers); None where it does not."""
    if not isinstance(prompts, Mapping):
        return None
    found = [
        next((prompts[name] for name in names if isinstance(prompts.get(name), str)), None)
        for names in (_QUERY, _PASSAGE)
    ]
    if not any(found):
        return None
    return Prefixes(found[0] or "", found[1] or "")
