"""Questions about documents, as tests make and change them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from proctor.exam.kinds.documents_question import document_question, gold_of, modalities_of
from proctor.exam.question import Gold, Item, Question, proposed_texts

__all__ = ["changed", "document", "items_of"]


def document(name: str, **given: Any) -> Question:
    """A question over one text, where nothing else is said; fields as in ``document_question``."""
    usual = {"text": "?", "answer": "", "gold": ("a",), "style": "s", "modalities": (1, 0, 0)}
    return document_question(name, **{**usual, **given})


def changed(question: Question, **new: Any) -> Question:
    """The question with another answer, other sources …"""
    was = {
        "name": question.id, "text": question.text, "answer": next(iter(proposed_texts(question)), ""),
        "gold": gold_of(question), "style": question.facets["style"], "modalities": modalities_of(question),
        "provenance": question.provenance,
    }  # fmt: skip
    return document(**{**was, **new})


def items_of(questions: Iterable[Question]) -> list[Item]:
    """Verified questions: what is proposed counts as right."""
    return [Item(question=q, golds=tuple(Gold(value=p.value) for p in q.proposals)) for q in questions]
