"""Questions about moments: items were a record of their own, and runs name the hash of all items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from proctor.ask.moment.candidate import AnswerKind, Candidate
from proctor.ask.moment.question import moment_question
from proctor.exam.kinds.example import Example
from proctor.exam.kinds.moment_question import moment_seen, question_about
from proctor.exam.question import Gold, Item, Text
from proctor.records import (
    content_hash,
    file_sha256,
    iter_jsonl,
    read_json,
    read_jsonl,
    write_json,
    write_jsonl,
)
from proctor.stages.predict import RunInfo, items_hash
from proctor.stages.upgrade.part import Part
from proctor.stages.upgrade.runs import rename_digest
from proctor.workspace import Workspace, is_there

__all__ = ["upgrade_moments"]


class _Gold(msgspec.Struct, frozen=True, omit_defaults=True):
    text: str
    source: str = "machine"
    approved_by: str = "annotator"
    kind: AnswerKind = "direct"
    step_ids: tuple[str, ...] = ()


class _Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of ``items.jsonl`` of format 1; its hash needs every field as it was."""

    id: str
    candidate_id: str
    question: str
    golds: tuple[_Gold, ...]
    example: Example
    question_approved_by: str = "annotator"
    candidate_hash: str = ""


def upgrade_moments(workspace: Workspace) -> Part:
    """Rewrite the items of a workspace, so that its runs are gone on with.

    Raises:
        UserError: if a file is broken.
    """
    path = workspace.file("items.jsonl")
    if not is_there(path):
        return Part()
    old: list[_Item] = read_jsonl(path, _Item)
    asked = _asked(workspace, {i.candidate_id: i.candidate_hash for i in old})
    items = [_upgraded(i, asked.get(i.candidate_id, "")) for i in old]
    digest = file_sha256(path)
    write_jsonl(path, items)
    rename_digest(workspace, path, digest)
    before, now = content_hash([content_hash(i) for i in old]), items_hash(items)
    runs = [folder / "run.json" for folder in map(workspace.run_folder, workspace.run_names())]
    changed = 0
    for run in filter(is_there, runs):
        info: RunInfo = read_json(run, RunInfo)
        if info.items == before:
            write_json(run, msgspec.structs.replace(info, items=now))
            changed += 1
    return Part(changed={"items": len(items), "runs about moments": changed})


def _asked(workspace: Workspace, versions: Mapping[str, str]) -> dict[str, str]:
    """Return what people saw of each candidate that is as it was when its item was built."""
    candidates, examples = workspace.file("candidates.jsonl"), workspace.file("examples.jsonl")
    if not is_there(candidates) or not is_there(examples):
        return {}
    known: Iterator[Candidate] = iter_jsonl(candidates, Candidate)
    same = [c for c in known if versions.get(c.id) == content_hash(c)]
    wanted = {c.example_id for c in same}
    every: Iterator[Example] = iter_jsonl(examples, Example)
    moments = {e.id: e for e in every if e.id in wanted}
    return {
        c.id: moment_seen(moment_question(c, moments[c.example_id])) for c in same if c.example_id in moments
    }


def _upgraded(old: _Item, seen: str) -> Item:
    provenance = {"candidate": old.candidate_id, "version": old.candidate_hash}
    return Item(
        question=question_about(old.example, old.id, old.question, provenance=provenance),
        golds=tuple(
            Gold(
                value=Text(text=gold.text, kind=gold.kind, cites=gold.step_ids),
                written_by=gold.source,
                approved_by=gold.approved_by,
            )
            for gold in old.golds
        ),
        approved_by=old.question_approved_by,
        seen=seen,
    )
