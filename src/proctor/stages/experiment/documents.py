"""SMMQG's experiment: corpus, questions in styles, retrieval, answers, style overlap and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.errors import UserError
from proctor.exam.kind import ViewOptions
from proctor.exam.kinds.documents import KIND
from proctor.llm.model import PERSON, ModelName
from proctor.records import is_there
from proctor.stages.build import build as build_exam
from proctor.stages.documents.corpus import build
from proctor.stages.documents.generate import generate, plan_of
from proctor.stages.documents.library import parse_retriever
from proctor.stages.documents.overlap import style_overlap
from proctor.stages.documents.reading import CORPUS, corpus_of, questions_of
from proctor.stages.documents.retrieve import retrieve_all
from proctor.stages.documents.settings import CorpusOptions, DocumentsOptions, RetrievalOptions
from proctor.stages.exam_settings import JudgeSettings, PredictSettings, ScoreSettings
from proctor.stages.experiment.settings import OUTLINES, CorpusAnswerSettings, OverlapSettings
from proctor.stages.experiment.stage import Doing, Plan, Stage, Task, Unit, rows_of_tables, units_of_table
from proctor.stages.experiment.tasks import answers_of, marks_of, runs_of
from proctor.stages.report import report
from proctor.stages.score import score, scored_tables
from proctor.stages.settings import BuildSettings
from proctor.workspace import Workspace

__all__ = ["PLAN"]


def _is_asked_for(options: CorpusOptions) -> bool:
    return bool(options.files or options.data or options.recordings)


def _sources(settings: Mapping[str, Any]) -> Mapping[str, object]:
    """Return what a corpus is built from, by whole paths, as experiments keep them; without what a rehearsal adds."""
    paths = {
        name: [str(Path(p).resolve()) for p in settings.get(name, ())]
        for name in ("files", "data", "recordings")
    }
    return {**settings, **paths, "draw_missing": True}


def _can_build(doing: Doing, options: CorpusOptions) -> None:
    """See that there is a corpus, or what one is built from.

    Raises:
        UserError: if there is neither, or one that was built from something else.
    """
    workspace = doing.workspace
    there = is_there(workspace.file(CORPUS) / "manifest.json")
    record = workspace.stages().get("corpus")
    if not there and not _is_asked_for(options):
        raise UserError(
            "the workspace has no corpus yet.",
            where=str(workspace.root),
            hint="say where sources are: --from FOLDER or --data FOLDER",
        )
    before = None if record is None or not there or not _is_asked_for(options) else record.settings
    if before is not None and _sources(options.recorded()) != _sources(before):
        raise UserError(
            "the workspace's corpus was built from other sources, or otherwise, than is asked for now.",
            where=str(workspace.root),
            hint="build it again (proctor corpus build), leave these options out, or begin in another folder",
        )


def _build(doing: Doing, options: CorpusOptions) -> None:
    if is_there(doing.workspace.file(CORPUS) / "manifest.json"):
        return
    if doing.limits.rehearsal is not None:
        options = msgspec.structs.replace(options, draw_missing=True)
    with doing.showing("reading sources") as seen:
        doing.add("corpus", build(doing.root, options, limits=doing.limits, seen=seen))


def _generate(doing: Doing, options: DocumentsOptions) -> None:
    targets = len(plan_of(corpus_of(doing.workspace), options).targets)
    with doing.showing("generating questions", targets) as seen:
        made = generate(doing.root, options, limits=doing.limits, seen=seen)
    doing.done.notes += [line for line in made.warnings if line not in doing.done.notes]
    doing.add("generate", made)
    if made.interrupted:
        raise KeyboardInterrupt
    doing.done.lines.append(f"{made.achieved:,} of {made.asked:,} questions were made")
    if made.open:
        doing.done.notes.append(
            f"{made.open:,} questions are still open, since models failed; the same command tries them again"
        )


def _searching(options: RetrievalOptions) -> Iterator[str]:
    for spec in options.retrievers:
        yield parse_retriever(spec).model or ""


def _retrieve(doing: Doing, options: RetrievalOptions) -> None:
    sets = [options.questions]
    if options.questions == "styled" and any(
        q.gold_complete and q.gold for q in questions_of(doing.workspace)
    ):
        sets.append("data")
    for which in sets:
        with doing.showing(f"searching ({which})", len(options.retrievers)) as seen:
            found = retrieve_all(
                doing.root, msgspec.structs.replace(options, questions=which), limits=doing.limits, seen=seen
            )
        doing.add(f"retrieve/{which}", found)
        doing.done.lines.append(f"{which}: {found.table.told}")
        name = f"{doing.cell}: {which}" if doing.cell else which
        doing.done.searched[name] = tuple(
            c for c in found.table.cells if c.slice == "all" and " " not in c.measure
        )


def _answering(settings: CorpusAnswerSettings) -> Iterator[str]:
    for system in settings.model:
        yield from system.split(",")
    yield from (*settings.judge, *settings.reference_judge)


def _can_answer(doing: Doing, settings: CorpusAnswerSettings) -> None:
    """See that systems and sources can be understood, and that what they answer from will be searched for.

    Raises:
        UserError: naming what cannot.
    """
    if wrong := [system for system in settings.model if system.count(",") > 1]:
        raise UserError(f"{wrong[0]!r} is more than two models.", hint="write LLM or LLM,LMM")
    for name in _answering(settings):
        ModelName.parse(name)
    retrievers = doing.settings(RetrievalOptions).retrievers
    for sources in settings.sources:
        spec = KIND.view(sources, ViewOptions()).retriever
        if spec and spec not in retrievers:
            raise UserError(
                f"models are to answer from {sources!r}, and {spec!r} is not among the retrievers.",
                hint=f"add -r {spec}",
            )


def _build_exam(doing: Doing, settings: BuildSettings) -> None:
    if doing.settings(CorpusAnswerSettings).model:
        doing.add("build", build_exam(doing.root, settings))


def _answer(doing: Doing, settings: CorpusAnswerSettings) -> None:
    if not settings.model:
        return
    # Scores are made of the last marks: those of the first judge that sees the sources.
    judges = [("reference", name) for name in reversed(settings.reference_judge)]
    judges += [("source", name) for name in reversed(settings.judge)]
    tasks: list[Task] = []
    for system in dict.fromkeys(settings.model):
        llm, _, lmm = system.partition(",")
        for sources in dict.fromkeys(settings.sources[:1] if llm.startswith(PERSON) else settings.sources):
            asked = PredictSettings(
                kind=KIND.name, questions=settings.questions, show=sources, image_model=lmm or None,
                limit=settings.limit, seed=settings.seed,
            )  # fmt: skip
            title, name = f"{system} from {sources}", f"{system} ({sources})"
            run = answers_of(doing, f"answering: {title}", f"answer/{name}", llm, asked, others=(lmm,))
            tasks.append(run)
            for rubric, model in dict.fromkeys(judges):
                who, how = f"{model} ({rubric})", JudgeSettings(judge=model, rubric=rubric)
                tasks.append(marks_of(doing, f"marking: {title}, {who}", f"judge/{name}: {who}", how, of=run))
    doing.together(tasks)
    scoring = ScoreSettings(
        runs=runs_of(tasks), resamples=settings.resamples, min_coverage=settings.min_coverage, seed=settings.seed,
        bert_score=str(settings.bert_score or ""),
    )  # fmt: skip
    scored = score(doing.root, scoring)
    doing.done.lines += filter(None, [scored.lacking])
    rows = rows_of_tables(scored.tables)
    doing.done.scores |= {f"{doing.cell}: {run}" if doing.cell else run: found for run, found in rows.items()}


def _overlap(doing: Doing, settings: OverlapSettings) -> None:
    if settings.classifier is not None:
        with doing.showing("classifying styles") as seen:
            doing.add(
                "overlap", style_overlap(doing.root, settings.classifier, limits=doing.limits, seen=seen)
            )
    with doing.showing("writing the report") as seen:
        written = report(doing.root, seen=seen)
    doing.add("report", written)
    doing.done.report = written.report


def _measure(root: Path) -> Iterator[Unit]:
    """Yield what systems got for each question, by every judge and every other measure."""
    for info, table in scored_tables(Workspace(root), KIND.name):
        yield from units_of_table(table, table.predictor, "data: " if info.questions == "data" else "")


PLAN: Final = Plan(
    outline=OUTLINES["documents"],
    stages=(
        Stage(
            "corpus", _build, check=_can_build, models=lambda o: [o.verbaliser or ""],
            writes=("corpus/", "questions.jsonl", "vectors/", "index/"),
        ),
        Stage(
            "documents", _generate, models=lambda o: o.names,
            writes=("documents.jsonl", "documents.attempts.jsonl", "documents.json", "documents.dropped.jsonl"),
        ),
        Stage("retrieve", _retrieve, models=_searching, writes=("retrieval/**/*",)),
        Stage("build", _build_exam, writes=("items.jsonl", "build.dropped.jsonl", "release/**/*")),
        Stage("answer", _answer, models=_answering, check=_can_answer, writes=("runs/**/*",)),
        Stage("overlap", _overlap, models=lambda s: [s.classifier or ""], writes=("overlap.json*",)),
    ),
    measure=_measure,
    costs=("documents.attempts.jsonl", "runs/*/predictions.jsonl", "runs/*/judgements/*.jsonl"),
)  # fmt: skip
