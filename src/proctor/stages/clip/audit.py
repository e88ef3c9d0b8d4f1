"""The stage ``filter --audit``: faults are planted by rule into questions, and filters are held against them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from proctor.ask.clip.audit import AuditReport, PlantedKind, plant_audit, score_audit
from proctor.ask.clip.filters import Filters, run_filters
from proctor.errors import UserError
from proctor.llm.estimate import Estimate
from proctor.records import is_there, read_json, write_json, write_jsonl
from proctor.stages.clip.filter import filters_of
from proctor.stages.clip.reading import load_clips
from proctor.stages.clip.settings import FilterOptions
from proctor.stages.models import Closing, Limits, Models, open_models
from proctor.workspace import Workspace

__all__ = ["AUDIT", "AUDIT_PLANTED", "AUDIT_VERDICTS", "Audited", "audit", "estimate_audit", "load_audit"]

AUDIT: Final = "audit.json"
AUDIT_PLANTED: Final = "audit.planted.jsonl"
AUDIT_VERDICTS: Final = "audit.verdicts.jsonl"


class Audited(msgspec.Struct, frozen=True, kw_only=True):
    """What the audit found, how many questions of each kind could not be planted, and the closing line of models."""

    report: AuditReport
    missing: Mapping[PlantedKind, int]
    calls: Closing


def audit(
    root: Path,
    options: FilterOptions,
    *,
    each: int = 100,
    limits: Limits | None = None,
    seen: Callable[[], None] | None = None,
) -> Audited:
    """Plant questions with known faults, filter them, and say how many are caught.

    Every filter is asked about every question, so that each is measured on all of them.

    Args:
        root: the workspace, with clips.
        options: who filters.
        each: questions of each kind, and sound ones.
        limits: what calls may cost.
        seen: called after each question.

    Raises:
        UserError: if there are no clips, or somebody who has to vote was not there.
    """
    workspace = Workspace(root)
    clips = load_clips(workspace)
    planted = plant_audit(clips, seed=options.seed, each=each)
    with open_models(workspace, limits, options) as models:
        models.require_prices(*options.names)
        filters = _filters(models, options, limits)
        run = run_filters(
            planted.questions(clips), filters, models.ask("audit"),
            progress=lambda _result: seen() if seen is not None else None,
        )  # fmt: skip
        calls = models.closing()
    if run.interrupted:
        raise UserError(
            "the audit was not finished.",
            where=str(root),
            hint="the same command continues, and nothing is paid for twice",
        )
    report = score_audit(planted.planted, run.results)
    write_jsonl(workspace.file(AUDIT_PLANTED), planted.planted)
    write_jsonl(workspace.file(AUDIT_VERDICTS), run.verdicts)
    write_json(workspace.file(AUDIT), report)
    workspace.record(
        "audit",
        settings={"models": msgspec.to_builtins(options.models), "each": each, "seed": options.seed},
        counts={
            "planted": dict(report.planted),
            "missing": dict(planted.missing),
            "postponed": len(run.postponed),
        },
        inputs=("clips.jsonl",),
        outputs=(AUDIT,),
    )
    return Audited(report=report, missing=planted.missing, calls=calls)


def estimate_audit(
    root: Path, options: FilterOptions, *, each: int = 100, limits: Limits | None = None
) -> Estimate:
    """Say what an audit would take, from the real prompts; nothing is sent.

    Raises:
        UserError: as ``audit``.
    """
    workspace = Workspace(root)
    clips = load_clips(workspace)
    planted = plant_audit(clips, seed=options.seed, each=each)
    with open_models(workspace, limits, options) as models:
        filters = _filters(models, options, limits)
        return models.estimate([("audit", filters.requests(planted.questions(clips)))])


def _filters(models: Models, options: FilterOptions, limits: Limits | None) -> Filters:
    exhaustive = msgspec.structs.replace(options.filters, exhaustive=True)
    return filters_of(models, options.models, exhaustive, limits)


def load_audit(workspace: Workspace) -> AuditReport | None:
    """Return what the audit found; None where there was none."""
    path = workspace.file(AUDIT)
    if not is_there(path):
        return None
    found: AuditReport = read_json(path, AuditReport)
    return found
