"""The stage ``build``: verified candidates to items, and the release folder."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from proctor.errors import UserError
from proctor.exam.kinds.moment_question import MOMENT
from proctor.exam.question import Item, Question
from proctor.llm.media import MediaStore
from proctor.records import write_jsonl
from proctor.release.build import BuildRules, build_items, parse_rules
from proctor.release.folder import write_release
from proctor.release.manifest import ReleaseInfo, Source
from proctor.stages.clip.pairs import PAIRS, load_pairs
from proctor.stages.exam_library import exam_library
from proctor.stages.inputs import load_all_items
from proctor.stages.questions import ASKED, required_questions
from proctor.stages.verify import has_store, open_store
from proctor.verify.verdict import Verdict
from proctor.workspace import STAGES, Workspace, is_there

__all__ = ["DEFAULTS", "build", "build_rules"]

DEFAULTS: dict[str, Any] = {
    "accept": "oracle",
    "min_confidence": 0.8,
    "name": "benchmark",
    "version": "0.1.0",
    "licence": "",
    "parquet": False,
    "seed": 0,
}


def build(
    root: Path,
    *,
    accept: str | None = None,
    min_confidence: float | None = None,
    name: str | None = None,
    version: str | None = None,
    licence: str | None = None,
    parquet: bool | None = None,
    seed: int | None = None,
) -> dict[str, Any]:
    """Let accepted candidates in, write items.jsonl and the release folder.

    Args:
        root: the workspace.
        accept: named build rules: ``oracle``, ``humans``, ``any``, ``all`` or ``majority``.
        min_confidence: verdicts with a lower stated confidence count as unsure.
        name: of the benchmark.
        version: of the release.
        licence: of the questions and annotations; the data set's own when not given.
        parquet: write the rows as Parquet, too.
        seed: of the run.

    Raises:
        UserError: if an earlier stage's file is missing, the rules are unknown, or nothing was accepted.
    """
    workspace = Workspace(root)
    questions = required_questions(workspace)
    given = {
        "accept": accept,
        "min_confidence": min_confidence,
        "name": name,
        "version": version,
        "licence": licence,
        "parquet": parquet,
        "seed": seed,
    }
    settings = workspace.settings("build", given, DEFAULTS)
    rules = build_rules(settings)
    verdicts: list[Verdict] = []
    unfinished: Mapping[str, str] = {}
    if has_store(workspace) or any(question.kind == MOMENT for question in questions):
        with open_store(workspace, create=False) as store:
            verdicts, unfinished = store.latest_on(questions), store.unfinished()
        gone = _dropped_pairs(workspace, questions)
        verdicts = [verdict for verdict in verdicts if verdict.candidate_id not in gone]
    items, dropped = build_items(questions, verdicts, rules, seed=settings["seed"], unfinished=unfinished)
    items = [*_brought(workspace, {question.kind for question in questions}), *items]
    reasons = workspace.write_dropped("build", dropped)
    if not items:
        seen = ", ".join(f"{n} {reason}" for reason, n in reasons.items()) or "there were no candidates"
        raise UserError(
            f"nothing was accepted: {seen}.",
            where=str(root),
            hint="verify first, or accept by other rules (--accept, --min-confidence)",
        )
    write_jsonl(workspace.file("items.jsonl"), items)
    library = exam_library(workspace, items, MediaStore())
    release = workspace.file("release")
    manifest = write_release(
        release,
        items,
        library.graphs,
        _release(workspace, settings),
        rules,
        candidates=questions,
        verdicts=verdicts,
        dropped=dropped,
        seeds=_seeds(workspace, settings),
        parquet=settings["parquet"],
        library=library,
    )
    counts = {
        "candidates": len(questions),
        "items": len(items),
        "golds": sum(len(item.golds) for item in items),
        "recordings": len({item.question.cluster for item in items}),
        "by_type": _by_type(items),
        "dropped": reasons,
        "rules": msgspec.to_builtins(rules),
        "signature": manifest.signature,
    }
    inputs = [name for name in ASKED if is_there(workspace.file(name))]
    workspace.record("build", settings=settings, counts=counts, inputs=inputs, outputs=("items.jsonl",))
    return {**counts, "release": str(release)}


def _dropped_pairs(workspace: Workspace, questions: Sequence[Question]) -> set[str]:
    """Return the ids of pairs that filters dropped for good; what they said of them is no verdict on an unknown question."""
    pairs = load_pairs(workspace) if is_there(workspace.file(PAIRS)) else []
    return {pair.id for pair in pairs} - {question.id for question in questions}


def _brought(workspace: Workspace, asked: Collection[str]) -> list[Item]:
    """Return the items that came as they are (``proctor import release``): no question here is of their kind."""
    try:
        there = load_all_items(workspace) if is_there(workspace.file("items.jsonl")) else []
    except UserError:  # what cannot be read is written anew
        return []
    return [item for item in there if item.question.kind not in asked]


def build_rules(settings: dict[str, Any]) -> BuildRules:
    """Return the named rules with the confidence that is asked of verdicts."""
    rules = parse_rules(settings["accept"])
    surer = {"min_confidence": settings["min_confidence"]}
    return msgspec.structs.replace(
        rules,
        answers=msgspec.structs.replace(rules.answers, **surer),
    )


def _seeds(workspace: Workspace, settings: dict[str, Any]) -> dict[str, int]:
    """Return the seeds of the stages that made the benchmark; runs on it are another matter."""
    before = workspace.stages()
    seeds: dict[str, int] = {}
    for name in STAGES:
        if name in before and "seed" in before[name].settings:
            seeds[name] = before[name].settings["seed"]
    return {**seeds, "build": settings["seed"]}


def _by_type(items: list[Item]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in items:
        type_ = item.question.facets["type"] if item.question.kind == MOMENT else item.question.kind
        counts[type_] = counts.get(type_, 0) + 1
    return counts


def _release(workspace: Workspace, settings: dict[str, Any]) -> ReleaseInfo:
    """Say what the release is: settings first, then what the data set says of itself."""
    record = workspace.stages().get("read")
    about: dict[str, str] = record.counts.get("about", {}) if record else {}
    known = ("title", "version", "licence", "citation", "homepage")
    source = (
        Source(
            name=record.settings.get("dataset", ""),
            corrections=record.settings.get("corrections", ""),
            **{key: about[key] for key in known if about.get(key)},
        )
        if record
        else None
    )
    return ReleaseInfo(
        name=settings["name"],
        version=settings["version"],
        licence=settings["licence"] or about.get("licence", ""),
        sources=(source,) if source else (),
    )
