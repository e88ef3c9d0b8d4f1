"""SMMQG's whole experiment: corpus, questions, retrieval, answers, style overlap and the page, in one go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from proctor.errors import UserError
from proctor.exam.kind import ViewOptions
from proctor.exam.kinds.documents import KIND
from proctor.llm.model import ModelName
from proctor.stages.models import Limits, open_models
from proctor.stages.report import report
from proctor.stages.show import Show
from proctor.stages.styled.answer import AnswerOptions, answer, style_overlap
from proctor.stages.styled.corpus import build
from proctor.stages.styled.generate import generate, plan_of
from proctor.stages.styled.reading import CORPUS, corpus_of, questions_of
from proctor.stages.styled.retrieve import parse_retriever, retrieve_all
from proctor.stages.styled.settings import DEFAULT_RETRIEVERS, CorpusOptions, RetrievalOptions, StyledOptions
from proctor.workspace import Workspace, is_there

__all__ = ["Done", "Part", "StyledPlan", "conduct"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StyledPlan:
    """What to do.

    Attributes:
        questions: what is generated and by whom.
        corpus: where sources come from; not needed when the workspace has a corpus.
        retrievers: as they are typed for ``proctor retrieve``.
        systems: models that answer, each as ``LLM`` or ``LLM,LMM``.
        sources: what they answer from: ``gold``, ``bm25@5``; each system answers from each.
        judges: that mark with the sources.
        reference_judges: that mark by the reference alone.
        classifier: model that says of which styles questions are; None leaves style overlap out.
        data_questions: also search for the questions that came with the data, for concurrence.
        seed: of the bootstrap.
    """

    questions: StyledOptions
    corpus: CorpusOptions | None = None
    retrievers: Sequence[str] = DEFAULT_RETRIEVERS
    systems: Sequence[str] = ()
    sources: Sequence[str] = ("gold",)
    judges: Sequence[str] = ()
    reference_judges: Sequence[str] = ()
    classifier: str | None = None
    data_questions: bool = True
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """One stage: its name and what it said."""

    name: str
    counts: dict[str, Any]

    @property
    def calls(self) -> dict[str, Any] | None:
        """What it asked of models; None when it asked nobody."""
        found: dict[str, Any] | None = self.counts.get("calls")
        return found


@dataclass(slots=True)
class Done:
    """What came of it: the stages in order, why it stopped early (empty when it did not), what to beware of, and the page."""

    parts: list[Part] = field(default_factory=list)
    stopped: str = ""
    report: str = ""
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, counts: dict[str, Any]) -> bool:
        """Write down a stage; return whether the next one may begin."""
        part = Part(name, counts)
        self.parts.append(part)
        if part.calls is not None:
            mute = f"{name}: no model said anything" if part.calls.get("mute") else ""
            self.stopped = self.stopped or str(part.calls.get("stopped") or mute)
        return not self.stopped


def conduct(root: Path, plan: StyledPlan, *, limits: Limits | None = None, show: Show) -> Done:
    """Do the experiment; a second call goes on where the first one ended, and nothing is paid for twice.

    Args:
        root: the workspace.
        plan: what to do.
        limits: for all stages together.
        show: shows progress.

    Raises:
        UserError: if something about the plan, the data or the workspace is wrong.
    """
    names = _require_sound(plan)
    limits = (limits or Limits()).shared()
    workspace = Workspace(root)
    done = Done()
    if not _corpus(workspace, plan, limits, show, done):
        return done
    with open_models(workspace, limits) as models:
        models.require_prices(*names)
    with show("generating questions", _planned(workspace, plan)) as seen:
        made = generate(root, plan.questions, limits=limits, seen=seen)
    if not done.add("generate", msgspec.to_builtins(made)):
        return done
    if made.interrupted:
        raise KeyboardInterrupt
    if made.open:
        done.notes.append(
            f"{made.open:,} questions are still open, since models failed; the same command tries them again"
        )
    sets = ["styled"]
    if plan.data_questions and any(q.gold_complete and q.gold for q in questions_of(workspace)):
        sets.append("data")
    for which in sets:
        with show(f"searching ({which})", len(plan.retrievers)) as seen:
            options = RetrievalOptions(retrievers=tuple(plan.retrievers), questions=which, seed=plan.seed)
            if not done.add(
                f"retrieve/{which}",
                msgspec.to_builtins(retrieve_all(root, options, limits=limits, seen=seen)),
            ):
                return done
    for system in dict.fromkeys(plan.systems):
        for sources in dict.fromkeys(plan.sources):
            if not _answers(root, plan, system, sources, limits, show, done):
                return done
    if plan.classifier is not None:
        with show("classifying styles") as seen:
            if not done.add("overlap", style_overlap(root, plan.classifier, limits=limits, seen=seen)):
                return done
    with show("writing the report") as seen:
        written = report(root, seen=seen)
    done.add("report", msgspec.to_builtins(written))
    done.report = written.report
    return done


def _require_sound(plan: StyledPlan) -> list[str]:
    """See that later stages can be done, before earlier ones are paid for; return the names of all models.

    Raises:
        UserError: naming what cannot.
    """
    names = [*plan.questions.names, *plan.judges, *plan.reference_judges]
    names += [plan.classifier] if plan.classifier is not None else []
    for spec in plan.retrievers:
        names += [model] if (model := parse_retriever(spec).model) else []
    for system in plan.systems:
        names += system.split(",")
    for name in names:
        ModelName.parse(name)
    if wrong := [system for system in plan.systems if system.count(",") > 1]:
        raise UserError(f"{wrong[0]!r} is more than two models.", hint="write LLM or LLM,LMM")
    for sources in plan.sources:
        spec = KIND.view(sources, ViewOptions()).retriever
        if spec and spec not in plan.retrievers:
            raise UserError(
                f"models are to answer from {sources!r}, and {spec!r} is not among the retrievers.",
                hint=f"add -r {spec}",
            )
    return list(dict.fromkeys(names))


def _corpus(workspace: Workspace, plan: StyledPlan, limits: Limits, show: Show, done: Done) -> bool:
    """Build the corpus where there is none."""
    there = is_there(workspace.file(CORPUS) / "manifest.json")
    record = workspace.stages().get("corpus")
    if there and plan.corpus is None:
        return True
    if there and plan.corpus is not None and record is not None:
        if record.settings != plan.corpus.recorded():
            raise UserError(
                "the workspace's corpus was built from other sources, or otherwise, than is asked for now.",
                where=str(workspace.root),
                hint="build it again (proctor corpus build), leave these options out, or begin in another folder",
            )
        return True
    if plan.corpus is None:
        raise UserError(
            "the workspace has no corpus yet.",
            where=str(workspace.root),
            hint="say where sources are: --from FOLDER or --data FOLDER",
        )
    with show("reading sources") as seen:
        return done.add(
            "corpus", msgspec.to_builtins(build(workspace.root, plan.corpus, limits=limits, seen=seen))
        )


def _planned(workspace: Workspace, plan: StyledPlan) -> int:
    return len(plan_of(corpus_of(workspace), plan.questions).targets)


def _answers(
    root: Path, plan: StyledPlan, system: str, sources: str, limits: Limits, show: Show, done: Done
) -> bool:
    llm, _, lmm = system.partition(",")
    options = AnswerOptions(
        llm=llm, lmm=lmm or None, sources=sources, judges=tuple(plan.judges),
        reference_judges=tuple(plan.reference_judges), seed=plan.seed,
    )  # fmt: skip
    with show(f"answering: {system} from {sources}") as seen:
        return done.add(f"answer/{system} ({sources})", answer(root, options, limits=limits, seen=seen))
