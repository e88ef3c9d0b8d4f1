"""The stage ``build``: verified candidates to items, and the release folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from proctor.errors import UserError
from proctor.exam.kinds.moment_question import MOMENT
from proctor.exam.library import Library
from proctor.exam.question import Item
from proctor.exam.question import Source as Cited
from proctor.llm.media import MediaStore
from proctor.records import Dropped, write_jsonl
from proctor.release.build import BuildRules, build_items, parse_rules
from proctor.release.folder import write_release
from proctor.release.manifest import ReleaseInfo, Source
from proctor.stages.clip.reading import PAIRS, load_pairs
from proctor.stages.exam_library import LACKING, exam_library
from proctor.stages.inputs import load_all_items
from proctor.stages.questions import ASKED, required_questions
from proctor.stages.settings import BuildSettings
from proctor.stages.verify import has_store, open_store
from proctor.tables import Shown
from proctor.verify.verdict import Verdict
from proctor.workspace import STAGES, Workspace, is_there

__all__ = ["Built", "build", "build_rules"]


class Built(Shown, msgspec.Struct, frozen=True):
    """What was let in.

    Attributes:
        candidates: questions that there were.
        items: of the benchmark.
        golds: accepted answers of all of them.
        recordings: that items are about; of other kinds what their intervals cluster by.
        by_type: items of each type, of other kinds than moments of each kind.
        dropped: what was left out, by reason.
        rules: who let in what.
        signature: of the release.
        release: its folder.
    """

    candidates: int
    items: int
    golds: int
    recordings: int
    by_type: dict[str, int]
    dropped: dict[str, int]
    rules: BuildRules
    signature: str
    release: str


def build(root: Path, settings: BuildSettings | None = None, *, name: str = "") -> Built:
    """Let accepted candidates in, write items.jsonl and the release folder.

    Args:
        root: the workspace.
        settings: by whose word, and what the release is called; as the workspace was built before by default.
        name: what this release is called, whatever the settings say; it is recorded, but ``proctor.toml`` does not keep it.

    Raises:
        UserError: if an earlier stage's file is missing, the rules are unknown, or nothing was accepted.
    """
    workspace = Workspace(root)
    questions = required_questions(workspace)
    settings = settings or workspace.resolve(BuildSettings)
    kept = msgspec.to_builtins(settings)
    settings = msgspec.structs.replace(settings, name=name or settings.name)
    rules = build_rules(settings)
    verdicts: list[Verdict] = []
    unfinished: Mapping[str, str] = {}
    if has_store(workspace) or any(question.kind == MOMENT for question in questions):
        with open_store(workspace, create=False) as store:
            verdicts, unfinished = store.latest_on(questions), store.unfinished()
        # What filters said of the pairs that they dropped is no verdict on an unknown question.
        pairs = load_pairs(workspace) if is_there(workspace.file(PAIRS)) else []
        gone = {pair.id for pair in pairs} - {question.id for question in questions}
        verdicts = [verdict for verdict in verdicts if verdict.candidate_id not in gone]
    items, dropped = build_items(questions, verdicts, rules, seed=settings.seed, unfinished=unfinished)
    items = [*_brought(workspace, {question.kind for question in questions}), *items]
    library = exam_library(workspace, items, MediaStore())
    items, lacking = _with_sources(items, library)
    dropped = [*dropped, *lacking]
    reasons = workspace.write_dropped("build", dropped)
    if not items:
        seen = ", ".join(f"{n} {reason}" for reason, n in reasons.items()) or "there were no candidates"
        raise UserError(
            f"nothing was accepted: {seen}.",
            where=str(root),
            hint="verify first, or accept by other rules (--accept, --min-confidence)",
        )
    write_jsonl(workspace.file("items.jsonl"), items)
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
        parquet=settings.parquet,
        library=library,
    )
    types = (i.question.facets["type"] if i.question.kind == MOMENT else i.question.kind for i in items)
    built = Built(
        candidates=len(questions),
        items=len(items),
        golds=sum(len(item.golds) for item in items),
        recordings=len({item.question.cluster for item in items}),
        by_type=dict(Counter(types)),
        dropped=reasons,
        rules=rules,
        signature=manifest.signature,
        release=str(release),
    )
    counts = msgspec.to_builtins(built)
    del counts["release"]
    inputs = [name for name in ASKED if is_there(workspace.file(name))]
    done = msgspec.to_builtins(settings)
    workspace.record(
        "build", settings=done, counts=counts, inputs=inputs, outputs=("items.jsonl",), kept=kept
    )
    return built


def _with_sources(items: Sequence[Item], library: Library) -> tuple[list[Item], list[Dropped]]:
    """Leave out the items of which the corpus lacks a source: nobody could answer from it, and no retriever find it."""
    if library.corpus is None:
        return list(items), []
    kept: list[Item] = []
    dropped: list[Dropped] = []
    for item in items:
        cited = [part.id for part in item.question.evidence if isinstance(part, Cited)]
        lacking = [id_ for id_ in cited if id_ not in library.corpus]
        if lacking:
            dropped.append(Dropped(item.id, LACKING, ", ".join(lacking)))
        else:
            kept.append(item)
    return kept, dropped


def _brought(workspace: Workspace, asked: Collection[str]) -> list[Item]:
    """Return the items that came as they are (``proctor import release``): no question here is of their kind."""
    try:
        there = load_all_items(workspace) if is_there(workspace.file("items.jsonl")) else []
    except UserError:  # what cannot be read is written anew
        return []
    return [item for item in there if item.question.kind not in asked]


def build_rules(settings: BuildSettings) -> BuildRules:
    """Return the named rules with the confidence that is asked of verdicts."""
    rules = parse_rules(settings.accept)
    answers = msgspec.structs.replace(rules.answers, min_confidence=settings.min_confidence)
    return msgspec.structs.replace(rules, answers=answers)


def _seeds(workspace: Workspace, settings: BuildSettings) -> dict[str, int]:
    """Return the seeds of the stages that made the benchmark; runs on it are another matter."""
    before = {name: record.settings for name, record in workspace.stages().items() if name in STAGES}
    seeds = {name: before[name]["seed"] for name in STAGES if "seed" in before.get(name, {})}
    return {**seeds, "build": settings.seed}


def _release(workspace: Workspace, settings: BuildSettings) -> ReleaseInfo:
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
        name=settings.name,
        version=settings.version,
        licence=settings.licence or about.get("licence", ""),
        sources=(source,) if source else (),
    )
