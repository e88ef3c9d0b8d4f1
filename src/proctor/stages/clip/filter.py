"""The stage ``filter``: unspecific, tricky, hallucinated and blind-solvable questions are dropped, each with a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.ask.clip.filters import FilterModels, Filters, FilterSettings, run_filters
from proctor.ask.clip.known import Known, known_question
from proctor.ask.clip.record import pair_question
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.errors import UserError, did_you_mean
from proctor.exam.question import Item, Question
from proctor.llm.estimate import Estimate
from proctor.records import write_json, write_jsonl
from proctor.release.training_split import split_by_video
from proctor.stages.clip.reading import KEPT, PAIRS, TRAINING_PAIRS, VERDICTS, load_clips, load_pairs
from proctor.stages.clip.settings import FilterOptions
from proctor.stages.documents.reading import WRITTEN
from proctor.stages.exam_library import exam_library
from proctor.stages.models import Asked, Limits, Models, open_models
from proctor.tables import Shown
from proctor.workspace import Workspace, is_there

__all__ = [
    "Filtered",
    "estimate_filters",
    "filter_questions",
    "filters_of",
]

FUNNEL: Final = "filters.json"

_INPUTS: Final = {
    "pairs": ("clips.jsonl", PAIRS),
    "candidates": ("candidates.jsonl", "examples.jsonl", "graphs.json"),
    "styled": (WRITTEN, "corpus/manifest.json"),
}

_KINDS: Final = {"pairs": "clip", "candidates": "moment", "styled": "documents"}
"""What questions of our kinds are called before they are verified."""


class Filtered(Shown, Asked, frozen=True, kw_only=True, omit_defaults=True):
    """The numbers of the closing line.

    Attributes:
        subject: what was filtered: pairs, candidates, styled or another kind, joined by ``+``.
        asked: questions.
        kept: of them.
        postponed: those that models still owe.
        dropped: by reason; also those that nobody decides on, since a call failed.
        lines: the funnel, for people.
        benchmark: of kept pairs, those of the benchmark; None where no pairs were filtered.
        training: the others.
    """

    subject: str
    asked: int
    kept: int
    postponed: int
    dropped: dict[str, int]
    lines: tuple[str, ...]
    benchmark: int | None = None
    training: int | None = None


def filter_questions(
    root: Path,
    options: FilterOptions,
    *,
    limits: Limits | None = None,
    seen: Callable[[], None] | None = None,
) -> Filtered:
    """Filter the questions of a workspace; a drop is final.

    Args:
        root: the workspace.
        options: who filters what.
        limits: what calls may cost.
        seen: called after each question.

    Raises:
        UserError: if there is nothing to filter, or a model is wrong.
    """
    workspace = Workspace(root)
    workspace.require_folder()
    who, how = options.models, options.filters  # before anything is read: what is lacking is said first
    questions = _questions(workspace, options.on)[: options.limit]
    with open_models(workspace, limits, options) as models:
        models.require_prices(*options.names)
        filters = filters_of(models, who, how, limits)
        run = run_filters(
            _known(workspace, questions, models),
            filters,
            models.ask("filter"),
            progress=lambda _result: seen() if seen is not None else None,
        )
        calls = models.closing()
    funnel = run.funnel
    write_jsonl(workspace.file(VERDICTS), run.verdicts)
    outputs = [VERDICTS, FUNNEL]
    names = {kind: name for name, kind in _KINDS.items()}
    subjects = dict.fromkeys(names.get(q.kind, q.kind) for q in questions)
    subject = "+".join(subjects)
    split: dict[str, Any] = {}
    if "pairs" in subjects and is_there(workspace.file(PAIRS)):
        kept = [pair for pair in load_pairs(workspace) if pair.id in run.kept]
        sides = split_by_video(
            kept, options.benchmark_share, options.seed, clips=load_clips(workspace), cap=options.cap
        )
        write_jsonl(workspace.file(KEPT), sides.benchmark)
        write_jsonl(workspace.file(TRAINING_PAIRS), sides.training)
        outputs += [KEPT, TRAINING_PAIRS]
        split = {"benchmark": len(sides.benchmark), "training": len(sides.training)}
    from proctor.stages.verify import store_filters  # it reads what this stage writes

    store_filters(workspace, run.results, questions)
    reasons = workspace.write_dropped("filters", list(run.dropped))
    write_json(workspace.file(FUNNEL), {"funnel": funnel, "subject": subject, "interrupted": run.interrupted})
    result = Filtered(
        subject=subject, asked=funnel.asked, kept=funnel.kept, postponed=funnel.postponed, dropped=reasons,
        complete=not run.interrupted and not funnel.postponed, interrupted=run.interrupted, lines=tuple(funnel.lines),
        **split, unsent=calls.unsent,
    )  # fmt: skip
    workspace.record(
        "filter",
        settings=options.recorded(),
        counts=result.recorded("lines"),
        inputs=[
            name
            for name in (*(n for subject in subjects for n in _INPUTS.get(subject, ())), "imported.jsonl")
            if is_there(workspace.file(name))
        ],
        outputs=outputs,
    )
    return msgspec.structs.replace(result, calls=calls)


def estimate_filters(root: Path, options: FilterOptions, *, limits: Limits | None = None) -> Estimate:
    """Say what filtering would take at most: as if nothing were dropped.

    Raises:
        UserError: as ``filter_questions``.
    """
    workspace = Workspace(root)
    questions = _questions(workspace, options.on)[: options.limit]
    with open_models(workspace, limits, options) as models:
        filters = filters_of(models, options.models, options.filters, limits)
        return models.estimate([("filter", filters.requests(_known(workspace, questions, models)))])


def _questions(workspace: Workspace, on: str) -> list[Question]:
    """Return what is to be filtered: pairs, where there are any, and the questions of every other kind.

    What people wrote for a data set is never filtered.
    """
    from proctor.stages.questions import workspace_questions  # it reads what this stage writes

    kind = _KINDS.get(on, on)
    pairs = is_there(workspace.file(PAIRS))
    found = _pairs(workspace) if pairs and kind in ("", "clip") else []
    others = [] if pairs and kind == "clip" else workspace_questions(workspace, clips=not pairs)
    others = [q for q in others if q.provenance.get("set") != "data"]
    found += [q for q in others if kind in ("", q.kind)]
    if found:
        return found
    there = dict.fromkeys([*(["clip"] if pairs else []), *(q.kind for q in others)])
    raise UserError(
        f"there is nothing to filter{f' of the kind {on[:80]!r}' if on else ''}.",
        where=str(workspace.root),
        hint=did_you_mean(on, there)
        if there
        else "generate questions first: proctor generate, proctor generate documents or proctor generate clip",
    )


def _pairs(workspace: Workspace) -> list[Question]:
    clips = {clip.id: clip for clip in load_clips(workspace)}
    pairs = load_pairs(workspace)
    if lost := [pair.clip_id for pair in pairs if pair.clip_id not in clips]:
        raise UserError(
            f"the clip '{lost[0]}' of a pair is not there.", where=str(workspace.file("clips.jsonl")),
            hint=f"make both again: proctor generate clip {workspace.root}",
        )  # fmt: skip
    return [pair_question(pair, clips) for pair in pairs]


def _known(workspace: Workspace, questions: Sequence[Question], models: Models) -> list[Known]:
    items = [Item(question=question, golds=()) for question in questions]
    library = exam_library(workspace, items, models.media)
    return [known_question(question, library) for question in questions]


def filters_of(models: Models, who: FilterModels, how: FilterSettings, limits: Limits | None) -> Filters:
    """Return filters that ask these models."""
    return Filters(
        models=who,
        prompts=generation_prompts(limits.prompts if limits else None),
        secret=models.secret,
        settings=how,
        price=models.price,
        replying=models.replying,
    )
