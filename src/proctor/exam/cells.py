"""The slices of questions about documents: styles, combinations of modalities, and both together."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.exam.source_question import SourceQuestion
from proctor.exam.table import Slices

__all__ = ["document_slices"]


def document_slices(questions: Sequence[SourceQuestion]) -> Slices:
    """Return what the slices are cut by and their questions; sorted by name, so that the order of questions changes nothing."""
    found: dict[str, tuple[str, list[str]]] = {"all": ("all", [question.id for question in questions])}
    for kind in ("style", "modalities", "style-modalities"):
        named: dict[str, list[str]] = {}
        for question in questions:
            named.setdefault(_name(kind, question), []).append(question.id)
        found |= {name: (kind, named[name]) for name in sorted(named)}
    return found


def _name(kind: str, question: SourceQuestion) -> str:
    style, modalities = f"style={question.style}", f"modalities={question.combination}"
    return {"style": style, "modalities": modalities}.get(kind, f"{style}/{modalities}")
