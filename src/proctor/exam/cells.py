"""The slices of questions about documents: styles, combinations of modalities, and both together."""

from __future__ import annotations

from collections.abc import Iterable

from proctor.exam.measured import Slices

__all__ = ["document_slices"]


def document_slices(questions: Iterable[tuple[str, str, str]]) -> Slices:
    """Return what the slices are cut by and their questions; sorted by name, so that the order of questions changes nothing.

    Args:
        questions: id, style and combination of modalities of each.
    """
    asked = list(questions)
    found: dict[str, tuple[str, list[str]]] = {"all": ("all", [id_ for id_, _, _ in asked])}
    for kind in ("style", "modalities", "style-modalities"):
        named: dict[str, list[str]] = {}
        for id_, style, combination in asked:
            named.setdefault(_name(kind, f"style={style}", f"modalities={combination}"), []).append(id_)
        found |= {name: (kind, named[name]) for name in sorted(named)}
    return found


def _name(kind: str, style: str, modalities: str) -> str:
    return {"style": style, "modalities": modalities}.get(kind, f"{style}/{modalities}")
