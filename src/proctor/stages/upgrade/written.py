"""Generated questions about documents were a record of their own, in ``styled.jsonl``; the stage that wrote them was called so, too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from proctor.exam.kinds.documents_question import DocumentFacts, document_question
from proctor.exam.question import Question
from proctor.records import (
    atomic_write,
    file_sha256,
    is_there,
    read_bytes,
    read_json,
    read_jsonl,
    write_json,
    write_jsonl,
)
from proctor.stages.upgrade.part import Part
from proctor.stages.upgrade.runs import rename_digest
from proctor.workspace import Workspace

__all__ = ["upgrade_written"]

_QUESTIONS: Final = "styled.jsonl"
_FILES: Final = (_QUESTIONS, "styled.attempts.jsonl", "styled.json", "styled.dropped.jsonl")
_PLANS: Final = {"promqa": "moment", "styled": "documents", "instructional": "clip"}
"""Names of experiments: before, and now."""


class _Written(DocumentFacts, frozen=True, kw_only=True, omit_defaults=True):
    """A line of ``styled.jsonl`` of formats 1 and 2."""

    id: str
    style: str
    modalities: tuple[int, int, int]
    question: str
    answer: str
    gold: tuple[str, ...]
    content: Mapping[str, str] = {}
    style_hash: str = ""
    prompts: Mapping[str, str] = {}
    models: Mapping[str, str] = {}
    seed: int = 0
    corpus_hash: str = ""
    config_hash: str = ""


class _Chosen(msgspec.Struct, frozen=True):
    """``experiment.json`` of format 2; one of format 1 names no plan."""

    plan: str = ""
    settings: dict[str, dict[str, Any]] = {}
    vary: tuple[str, ...] = ()


def upgrade_written(workspace: Workspace) -> Part:
    """Rewrite the generated questions of a workspace and of the cells of its grid, and say ``documents`` where ``styled`` was said.

    The set of questions keeps its name, on which rankings, runs and items hang. An experiment on clips gets its name of today.

    Raises:
        UserError: if a file is broken.
    """
    cells = (path.parent for path in workspace.root.glob("cells/**/workspace.json"))
    return Part(
        changed={"questions about documents": sum(map(_upgrade, (workspace, *map(Workspace, cells))))}
    )


def _upgrade(workspace: Workspace) -> int:
    count = 0
    for name in filter(lambda name: is_there(workspace.file(name)), _FILES):
        old, new = workspace.file(name), workspace.file(name.replace("styled", "documents"))
        digest = file_sha256(old)
        if name == _QUESTIONS:
            written: list[_Written] = read_jsonl(old, _Written)
            write_jsonl(new, map(_question, written))
            old.unlink()
            count = len(written)
        else:
            old.rename(new)
        rename_digest(workspace, new, digest, was=name)
    stages = workspace.stages()
    if "styled" in stages:
        named = {"documents" if name == "styled" else name: record for name, record in stages.items()}
        write_json(workspace.file("stages.json"), named)
    if is_there(path := workspace.file("proctor.toml")):
        text = re.sub(rb"(?m)^(\s*\[\s*)styled(?=\s*\])", rb"\1documents", read_bytes(path))
        with atomic_write(path) as stream:
            stream.write(text)
    if is_there(path := workspace.file("experiment.json")):
        chosen: _Chosen = read_json(path, _Chosen)
        if chosen.plan in _PLANS:
            vary = [re.sub(r"^\s*styled\.", "documents.", text) for text in chosen.vary]
            settings = {"documents" if name == "styled" else name: v for name, v in chosen.settings.items()}
            write_json(path, {"plan": _PLANS[chosen.plan], "settings": settings, "vary": vary})
    return count


def _question(old: _Written) -> Question:
    return document_question(
        old.id,
        old.question,
        old.answer,
        old.gold,
        style=old.style,
        modalities=old.modalities,
        content=old.content,
        facts=DocumentFacts(**{name: getattr(old, name) for name in DocumentFacts.__struct_fields__}),
        provenance={
            **old.models,
            "seed": str(old.seed),
            "style_hash": old.style_hash,
            "corpus_hash": old.corpus_hash,
            "config_hash": old.config_hash,
            **{f"prompt:{name}": digest for name, digest in old.prompts.items()},
        },
    )
