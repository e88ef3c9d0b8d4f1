"""The stage ``choices``: open-ended questions get options, by attempts and votes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from proctor.ask.clip.choice_prompt import ChoicePrompts
from proctor.ask.clip.choice_run import ChoiceSummary, make_choices
from proctor.ask.clip.choices import ChoiceMaker, choice_calls
from proctor.ask.clip.known import Known, known_clip, known_item, siblings_of
from proctor.ask.clip.record import pair_question
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.errors import UserError
from proctor.exam.question import Gold, Item, Open
from proctor.llm.estimate import Estimate
from proctor.llm.media import MediaStore
from proctor.records import write_json, write_jsonl
from proctor.stages.clip.reading import (
    CHOICES,
    CHOICES_ATTEMPTS,
    CHOICES_SUMMARY,
    KEPT,
    load_clips,
    load_kept,
)
from proctor.stages.clip.settings import ChoiceOptions
from proctor.stages.documents.reading import WRITTEN, load_questions
from proctor.stages.exam_library import exam_library
from proctor.stages.inputs import load_all_items
from proctor.stages.models import MEDIA, Asked, Limits, Models, open_models
from proctor.tables import Shown
from proctor.workspace import Workspace, is_there

__all__ = [
    "ChoicesMade",
    "PlannedCalls",
    "estimate_choices",
    "make",
    "planned_calls",
]

ChoiceSubject = Literal["pairs", "items", "styled"]


class ChoicesMade(Shown, Asked, frozen=True, kw_only=True, omit_defaults=True):
    """The numbers of the closing line.

    Attributes:
        subject: what got options.
        asked: questions.
        achieved: of them, those that got options.
        open_ended: those that stay without.
        postponed: those that models still owe.
        dropped: by reason.
        summary: of attempts, letters and votes.
    """

    subject: ChoiceSubject
    asked: int
    achieved: int
    open_ended: int
    postponed: int
    dropped: dict[str, int]
    summary: ChoiceSummary


class PlannedCalls(msgspec.Struct, frozen=True):
    """How many calls options take for so many questions: where every first attempt is accepted, and where all fail late."""

    questions: int
    least: int
    most: int


def make(
    root: Path,
    options: ChoiceOptions,
    *,
    limits: Limits | None = None,
    seen: Callable[[], None] | None = None,
) -> ChoicesMade:
    """Make multiple choice of a workspace's questions.

    Args:
        root: the workspace.
        options: who makes options for what.
        limits: what calls may cost.
        seen: called after each question.

    Raises:
        UserError: if there are no questions, or a model is wrong.
    """
    workspace = Workspace(root)
    workspace.require_folder()
    names = options.models.all
    subject = _subject(workspace, options.on)
    questions = _questions(workspace, subject, options.seed)[: options.limit]
    with open_models(workspace, limits, options) as models:
        models.require_prices(*names)
        run = make_choices(
            questions, _maker(models, options, limits), models.ask("choices"),
            progress=lambda _result: seen() if seen is not None else None,
        )  # fmt: skip
        calls = models.closing()
    write_jsonl(workspace.file(CHOICES), run.items)
    write_jsonl(workspace.file(CHOICES_ATTEMPTS), run.attempts)
    reasons = workspace.write_dropped("choices", list(run.dropped))
    write_json(workspace.file(CHOICES_SUMMARY), {"summary": run.summary, "subject": subject})
    result = ChoicesMade(
        subject=subject, asked=run.summary.asked, achieved=run.summary.achieved, open_ended=run.summary.open_ended,
        postponed=run.summary.postponed, dropped=reasons, complete=run.is_complete, interrupted=run.interrupted,
        summary=run.summary, unsent=calls.unsent,
    )  # fmt: skip
    workspace.record(
        "choices",
        settings=options.recorded(),
        counts=result.recorded("summary"),
        inputs={"pairs": ("clips.jsonl", KEPT), "items": ("items.jsonl",), "styled": (WRITTEN,)}[subject],
        outputs=(CHOICES, CHOICES_ATTEMPTS, CHOICES_SUMMARY),
    )
    return msgspec.structs.replace(result, calls=calls)


def planned_calls(root: Path, options: ChoiceOptions) -> PlannedCalls:
    """Say how many calls options take: at least (every question at the first attempt) and at most.

    Raises:
        UserError: if there are no questions.
    """
    workspace = Workspace(root)
    questions = _questions(workspace, _subject(workspace, options.on), options.seed)[: options.limit]
    found = choice_calls(len(questions), options.models, options.making)
    return PlannedCalls(len(questions), found.least, found.most)


def estimate_choices(root: Path, options: ChoiceOptions, *, limits: Limits | None = None) -> Estimate:
    """Say what one accepted attempt at every question would take, from the real prompts; nothing is sent.

    Of wrong answers that nobody has written yet the right one takes the place.

    Raises:
        UserError: if there are no questions.
    """
    workspace = Workspace(root)
    questions = _questions(workspace, _subject(workspace, options.on), options.seed)[: options.limit]
    with open_models(workspace, limits, options) as models:
        maker = _maker(models, options, limits)
        return models.estimate([("choices", (r for q in questions for r in maker.outline(q)))])


def _subject(workspace: Workspace, asked: ChoiceSubject | None) -> ChoiceSubject:
    if asked is not None:
        return asked
    files: tuple[tuple[ChoiceSubject, tuple[str, ...]], ...] = (
        ("pairs", (KEPT,)),
        ("items", ("items.jsonl", "graphs.json")),
        ("styled", (WRITTEN,)),
        ("items", ("items.jsonl",)),
    )
    for subject, names in files:
        if all(is_there(workspace.file(name)) for name in names):
            return subject
    raise UserError(
        "there are no questions to give options to.",
        where=str(workspace.root),
        hint="filter pairs (proctor filter), build a benchmark (proctor build), or proctor generate documents first",
    )


def _questions(workspace: Workspace, subject: ChoiceSubject, seed: int) -> list[Known]:
    if subject == "pairs":
        clips = {clip.id: clip for clip in load_clips(workspace)}
        siblings = siblings_of(list(clips.values()), seed=seed)
        pairs = load_kept(workspace)
        if lost := [pair.clip_id for pair in pairs if pair.clip_id not in clips]:
            raise UserError(
                f"the clip '{lost[0][:80]}' of a pair is not there.", where=str(workspace.file("clips.jsonl")),
                hint=f"filter the pairs again: proctor filter {workspace.root}",
            )  # fmt: skip
        return [
            known_clip(pair_question(p, clips), clips[p.clip_id], p.step_ids, siblings.get(p.clip_id, ()))
            for p in pairs
        ]
    items = _open_items(workspace, subject)
    library = exam_library(workspace, items, MediaStore(workspace.file(MEDIA)))
    return [known_item(item, library) for item in items]


def _open_items(workspace: Workspace, subject: ChoiceSubject) -> list[Item]:
    """Return the open-ended ones of what was built, or the generated questions about documents with what is proposed."""
    if subject == "styled":
        return [
            Item(question=q, golds=tuple(Gold(value=p.value) for p in q.proposals if p.claim == "right"))
            for q in load_questions(workspace, subject)
        ]
    items = [item for item in load_all_items(workspace) if isinstance(item.question.form, Open)]
    if not items:
        raise UserError(
            "every item has options already.",
            where=str(workspace.file("items.jsonl")),
            hint="say what gets options: --on pairs or --on styled",
        )
    return items


def _maker(models: Models, options: ChoiceOptions, limits: Limits | None) -> ChoiceMaker:
    prompts = ChoicePrompts(generation_prompts(limits.prompts if limits else None), models.secret)
    return ChoiceMaker(
        prompts=prompts,
        models=options.models,
        seed=options.seed,
        settings=options.making,
        price=models.price,
        replying=models.replying,
    )
