"""Verified questions about moments, as tests make and change them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from proctor.exam.kinds.example import Example
from proctor.exam.kinds.moment_question import moment_example, question_about
from proctor.exam.question import Gold, Item, Text

__all__ = ["gold", "moment_item", "with_example", "without_seen"]


def gold(text: str, kind: str = "direct", cites: tuple[str, ...] = (), **who: str) -> Gold:
    """An accepted answer; ``written_by`` and ``approved_by`` as in ``Gold``."""
    return Gold(value=Text(text=text, kind=kind, cites=cites), **who)


def moment_item(
    example: Example,
    text: str,
    golds: Iterable[Gold | str] = (),
    name: str = "",
    candidate: str = "",
    version: str = "",
    **more: str,
) -> Item:
    """A question about a moment; its id is that of the example where no ``name`` is given."""
    name = name or example.id
    provenance = {"candidate": candidate or name, "version": version}
    return Item(
        question=question_about(example, name, text, provenance=provenance),
        golds=tuple(g if isinstance(g, Gold) else gold(g) for g in golds),
        **more,
    )


def without_seen(items: Iterable[Item]) -> tuple[Item, ...]:
    """The items as a release has them, which does not say what was seen."""
    return tuple(msgspec.structs.replace(item, seen="") for item in items)


def with_example(item: Item, text: str | None = None, **changes: Any) -> Item:
    """The item with another question, or other facts."""
    question = item.question
    example = msgspec.structs.replace(moment_example(question), **changes)
    about = question_about(
        example, question.id, question.text if text is None else text, provenance=question.provenance
    )
    return msgspec.structs.replace(item, question=about)
