"""The stage ``answer``: models answer questions from sources, judges mark them, and a table says how well."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.exam.kind import ViewOptions
from proctor.exam.kinds.documents import KIND, DocumentsAsking, document_items
from proctor.exam.kinds.documents_marker import SourceMarker
from proctor.exam.library import Library as ExamLibrary
from proctor.exam.library import Prompts
from proctor.exam.likeness import bert_measure, rouge_measure
from proctor.exam.marker import ModelMarker
from proctor.exam.predict_prompt import evaluation_prompts
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.predictor import ModelPredictor
from proctor.exam.retrieval import Ranking
from proctor.exam.scores import score_run
from proctor.exam.source_question import SourceQuestion
from proctor.exam.source_showing import CorpusPictures
from proctor.exam.style_overlap import OverlapTable, StyleClaim, StyleClassifier, score_overlap
from proctor.exam.table import Resampling, ScoreTable
from proctor.generate.styled.style import load_styles
from proctor.llm.estimate import Estimate
from proctor.records import content_hash, is_there, read_json, read_jsonl, write_json, write_jsonl
from proctor.stages.models import Limits, Models, open_models
from proctor.stages.styled.library import Library
from proctor.stages.styled.questions import QUESTION_FILES, load_questions
from proctor.stages.styled.reading import find_run
from proctor.workspace import Workspace

__all__ = [
    "ANSWERS",
    "AnswerOptions",
    "answer",
    "estimate_answers",
    "load_answers",
    "load_overlap",
    "style_overlap",
]

ANSWERS: Final = "answers"
"""Folder of answers in a workspace, one folder for each set of questions and system."""

_OVERLAP: Final = "overlap.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """Who answers from what, and who marks.

    Attributes:
        llm: model for questions without images.
        lmm: model for questions with one; ``llm`` where None.
        sources: ``gold``, or ``RETRIEVER@k`` for what a retriever found.
        judges: models that mark with the sources; the first one's marks are the scores.
        reference_judges: models that mark by the reference alone.
        questions: the set.
        bert_score: folder of a model for BERTScore; None leaves the column out.
        limit: at most so many questions.
        confidence: of the intervals.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """

    llm: str
    lmm: str | None = None
    sources: str = "gold"
    judges: Sequence[str] = ()
    reference_judges: Sequence[str] = ()
    questions: str = "styled"
    bert_score: Path | None = None
    limit: int | None = None
    confidence: float = 0.95
    resamples: int = 10_000
    seed: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """All models that may be asked."""
        return tuple(dict.fromkeys([self.llm, self.lmm or self.llm, *self.judges, *self.reference_judges]))


def answer(
    root: Path,
    options: AnswerOptions,
    *,
    limits: Limits | None = None,
    seen: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Have a set of questions answered and marked.

    Args:
        root: the workspace.
        options: who answers from what, and who marks.
        limits: what calls may cost.
        seen: called after each call.

    Raises:
        UserError: if something is missing or wrong; nothing is asked then.
    """
    workspace = Workspace(root)
    library = Library(workspace)
    questions = load_questions(workspace, options.questions, limit=options.limit)
    view, rankings = _sources(workspace, questions, options)
    items = document_items(questions)
    with open_models(workspace, limits) as models:
        models.require_prices(*options.names)
        who = _answerer(library, models, options, view, rankings)
        folder = workspace.file(ANSWERS) / options.questions / _safe(who.name)
        predictions = who.predict(items, models.ask(f"answer/{options.sources}", seen))
        write_jsonl(folder / "predictions.jsonl", predictions)
        judgements: dict[str, list[Judgement]] = {}
        written: set[str] = set()
        for judge in _judges(who.library, models, options):
            made = judge.mark(items, predictions, models.ask(f"judge/{judge.marker.name}", seen))
            write_jsonl(folder / f"judgements.{_safe(judge.name)}.jsonl", made)
            judgements[_column_name(judge, judgements)] = made
            written.add(f"judgements.{_safe(judge.name)}.jsonl")
        for path in folder.glob("judgements.*.jsonl"):
            if path.name not in written:  # of other judges, about earlier answers
                path.unlink()
        closing = models.closing()
    likeness = [rouge_measure(items, predictions)]
    if options.bert_score is not None:
        likeness.append(bert_measure(items, predictions, options.bert_score))
    table = score_run(
        KIND, items, predictions, judgements, likeness, benchmark=options.questions,
        resampling=Resampling(
            confidence=options.confidence, resamples=options.resamples, seed=options.seed
        ),
    )  # fmt: skip
    write_json(folder / "table.json", table)
    workspace.record(
        f"answer/{options.questions}/{_safe(who.name)}",
        settings=msgspec.to_builtins(
            {
                **{f: getattr(options, f) for f in AnswerOptions.__slots__},
                "bert_score": str(options.bert_score or ""),
            }
        ),
        counts=dict(table.counts),
        inputs=("corpus/manifest.json", QUESTION_FILES[options.questions]),
        outputs=(f"{ANSWERS}/{options.questions}/{_safe(who.name)}/table.json",),
    )
    return {
        "system": who.name,
        "table": msgspec.to_builtins(table),
        "failed": sum(p.failure is not None for p in predictions),
        "calls": closing,
    }


def estimate_answers(root: Path, options: AnswerOptions, *, limits: Limits | None = None) -> Estimate:
    """Say what answering would take, from the real prompts; marking is asked about answers of the references' length.

    Raises:
        UserError: as ``answer``.
    """
    workspace = Workspace(root)
    library = Library(workspace)
    questions = load_questions(workspace, options.questions, limit=options.limit)
    view, rankings = _sources(workspace, questions, options)
    items = document_items(questions)
    with open_models(workspace, limits) as models:
        who = _answerer(library, models, options, view, rankings)
        foreseen = [
            Prediction(item_id=q.id, predictor=who.name, answer=q.answer or q.question) for q in questions
        ]
        stages = [(f"answer/{options.sources}", who.requests(items))]
        stages += [
            (f"judge/{judge.marker.name}", judge.requests(items, foreseen))
            for judge in _judges(who.library, models, options)
        ]
        return models.estimate(stages)


def _sources(
    workspace: Workspace, questions: Sequence[SourceQuestion], options: AnswerOptions
) -> tuple[DocumentsAsking, Mapping[str, Ranking]]:
    view = KIND.view(options.sources, ViewOptions())
    if not view.retriever:
        return view, {}
    run = find_run(workspace, questions, options.questions, view.retriever)
    return view, {ranking.qid: ranking for ranking in run.rankings}


def _answerer(
    library: Library,
    models: Models,
    options: AnswerOptions,
    view: DocumentsAsking,
    rankings: Mapping[str, Ranking],
) -> ModelPredictor[DocumentsAsking]:
    return ModelPredictor(
        kind=KIND,
        view=view,
        models={"answer": options.llm, "lmm": options.lmm or options.llm},
        library=ExamLibrary(
            media=models.media,
            corpus=library.corpus,
            rankings=lambda _retriever: rankings,
            picture=CorpusPictures(library.corpus, models.media),
        ),
        prompts=Prompts(models.prompts, models.secret),
        price=models.price,
    )


def _judges(library: ExamLibrary, models: Models, options: AnswerOptions) -> list[ModelMarker]:
    markers = [(SourceMarker("source"), name) for name in options.judges]
    markers += [(SourceMarker("reference"), name) for name in options.reference_judges]
    prompts = Prompts(models.prompts, models.secret)
    return [
        ModelMarker(model=name, marker=marker, library=library, prompts=prompts, price=models.price)
        for marker, name in markers
    ]


def _column_name(judge: ModelMarker, there: dict[str, list[Judgement]]) -> str:
    """The first judge of a kind gives its name to the column; further ones stand under their own."""
    usual = "judge" if judge.marker.name == "source" else f"{judge.marker.name} judge"
    return usual if usual not in there else f"{usual} {judge.model}"


def load_answers(
    workspace: Workspace, questions: str = "styled"
) -> dict[str, tuple[ScoreTable, list[Prediction]]]:
    """Return the tables and answers of all systems over a set of questions, by system."""
    folder = workspace.file(ANSWERS) / questions
    found: dict[str, tuple[ScoreTable, list[Prediction]]] = {}
    for path in sorted(folder.glob("*/table.json")) if is_there(folder) else ():
        table: ScoreTable = read_json(path, ScoreTable)
        found[table.predictor] = (table, read_jsonl(path.with_name("predictions.jsonl"), Prediction))
    return found


# -- style overlap -------------------------------------------------------------------------------------------------


def style_overlap(
    root: Path,
    model: str,
    *,
    styles: Sequence[str] | None = None,
    limits: Limits | None = None,
    seen: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Ask a model of which styles each generated question is, and write the table of overlaps.

    Args:
        root: the workspace.
        model: that says yes or no.
        styles: names or files; by default those of the questions, as they were generated.
        limits: what calls may cost.
        seen: called after each call.

    Raises:
        UserError: if there are no questions, or a style cannot be read.
    """
    workspace = Workspace(root)
    questions = load_questions(workspace, "styled")
    record = workspace.stages().get("styled")
    named = styles or (
        record.settings["styles"] if record is not None else sorted({q.style for q in questions})
    )
    with open_models(workspace, limits) as models:
        models.require_prices(model)
        who = StyleClassifier(
            model=model,
            styles={style.name: style.description for style in load_styles(tuple(named))},
            prompts=evaluation_prompts(limits.prompts if limits else None),
            secret=models.secret,
            price=models.price,
        )
        claims: list[StyleClaim] = who.classify(questions, models.ask("overlap", seen))
        closing = models.closing()
    table = score_overlap(questions, claims)
    write_jsonl(workspace.file("overlap.jsonl"), claims)
    write_json(workspace.file(_OVERLAP), table)
    workspace.record("overlap", settings={"model": model, "styles": list(named)}, counts={"questions": len(questions)},
                     inputs=("styled.jsonl",), outputs=(_OVERLAP,))  # fmt: skip
    return {"table": msgspec.to_builtins(table), "calls": closing}


def load_overlap(workspace: Workspace) -> OverlapTable | None:
    """Return the table of overlaps; None where nobody was asked."""
    path = workspace.file(_OVERLAP)
    if not is_there(path):
        return None
    table: OverlapTable = read_json(path, OverlapTable)
    return table


def _safe(name: str) -> str:
    safe = re.sub(r"[^A-Za-z0-9._+@-]+", "-", re.sub(r"@https?://[^ ()]*", "", name)).strip("-.")
    return f"{safe[:60]}-{content_hash(name)[:8]}"
