"""What the page says of questions about documents: the corpus, how they came about, and what was measured beside answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from proctor.ask.documents.record import AttemptRecord
from proctor.corpus.collection import Corpus
from proctor.errors import UserError
from proctor.exam.concur import ConcurrenceTable, MarkSheet, concur
from proctor.exam.kinds.documents_question import ROLES
from proctor.exam.question import Question
from proctor.exam.retrieval_scores import RetrievalTable
from proctor.exam.style_overlap import StyleClaim
from proctor.records import Dropped, is_there, read_json, read_jsonl
from proctor.report.data import Exam
from proctor.report.documents import (
    Writing,
    concurrence_section,
    overlap_section,
    retrieval_section,
    writing_sections,
)
from proctor.report.numbers import counted
from proctor.report.parts import Cell, Listing, Paragraph, Part, Row, Section, Table
from proctor.stages.documents.concur import sheets_of
from proctor.stages.documents.corpus import describe
from proctor.stages.documents.generate import ATTEMPTS_FILE, SUMMARY
from proctor.stages.documents.overlap import load_overlap
from proctor.stages.documents.reading import (
    CORPUS,
    QUESTION_SETS,
    WRITTEN,
    QuestionSet,
    corpus_of,
    find_run,
    fits,
    load_written,
    questions_in,
    run_names,
)
from proctor.stages.documents.retrieve import load_table
from proctor.workspace import Workspace

__all__ = ["document_results", "document_writing", "documents_made_as"]

_COMMANDS: Final = {"documents": "generate documents", "overlap": "experiment documents"}


def document_writing(workspace: Workspace, exams: Sequence[Exam]) -> Iterator[Section]:
    """Yield the corpus, and how questions about it came about."""
    if not is_there(workspace.file(CORPUS)):
        return
    corpus = corpus_of(workspace)
    yield _corpus(workspace, corpus)
    if is_there(workspace.file(WRITTEN)):
        path = workspace.file(SUMMARY)
        if not is_there(path):
            raise UserError(
                f"{SUMMARY} is not there.",
                where=str(workspace.root),
                hint=f"run again: proctor generate documents {workspace.root}",
            )
        questions, attempts = load_written(workspace), workspace.file(ATTEMPTS_FILE)
        ids = {q.id for q in questions}
        yield from writing_sections(
            read_json(path, Writing),
            questions,
            _outdated(workspace, "documents"),
            attempts=read_jsonl(attempts, AttemptRecord) if is_there(attempts) else (),
            exam=next((e for e in exams if any(item.id in ids for item in e.items)), None),
            modalities={source.id: source.modality for source in corpus},
        )


def document_results(workspace: Workspace, exams: Sequence[Exam]) -> Iterator[Section]:
    """Yield retrieval, overlap of styles and concurrence, each where it was measured."""
    asked = {i.question.provenance.get("set", ""): exam for exam in exams for i in exam.items}
    for which in QUESTION_SETS:
        if (table := load_table(workspace, which)) is not None:
            yield retrieval_section(
                which,
                table,
                _outdated(workspace, f"retrieve/{which}"),
                asked.get(which),
                questions_in(workspace, which),
                corpus_of(workspace),
                tuple(_repeated(workspace, which, table)),
            )
    if (overlap := load_overlap(workspace)) is not None:
        path = workspace.file("overlap.jsonl")
        yield overlap_section(
            overlap,
            _outdated(workspace, "overlap"),
            asked.get("styled"),
            questions_in(workspace, "styled"),
            read_jsonl(path, StyleClaim) if is_there(path) else (),
        )
    ours, theirs = sheets_of(workspace, "styled"), sheets_of(workspace, "data")
    found: dict[str, ConcurrenceTable | str] = {}
    for by in sorted(ours.keys() & theirs.keys()):
        if ours[by].marks == theirs[by].marks:
            continue  # runs over all questions belong to neither set alone
        try:
            found[by] = concur(theirs[by], ours[by])
        except UserError as error:
            found[by] = error.message
    compared = {
        by: (_marked(workspace, "data", theirs[by], table), _marked(workspace, "styled", ours[by], table))
        for by, table in found.items()
        if not isinstance(table, str)
    }
    if (section := concurrence_section(found, compared)) is not None:
        yield section


def _marked(
    workspace: Workspace, which: QuestionSet, sheet: MarkSheet, table: ConcurrenceTable
) -> list[Question]:
    """Return the questions of a set that every system which is compared has a mark for."""
    marks = [sheet.marks[system] for system in table.systems]
    return [q for q in questions_in(workspace, which) if all(own.get(q.id) is not None for own in marks)]


def _repeated(
    workspace: Workspace, which: QuestionSet, table: RetrievalTable
) -> Iterator[tuple[str, str, str]]:
    """Yield each source that a ranking has once more, with retriever and question."""
    if not table.counts.get("repeated in rankings"):
        return
    corpus, lacking = corpus_of(workspace), set(table.lacking)
    asked = questions_in(workspace, which)[: table.questions + len(lacking)]
    for spec in run_names(workspace, which):
        if not fits(workspace, asked, which, spec):
            continue
        for ranking in find_run(workspace, asked, which, spec).rankings:
            seen: set[str] = set()
            for id_ in ranking.ids if ranking.qid not in lacking else ():
                kept = corpus.aliases.get(id_, id_)
                if kept in seen:
                    yield ranking.retriever, ranking.qid, kept
                seen.add(kept)


def _outdated(workspace: Workspace, stage: str) -> list[str]:
    """Say that numbers were made from something else than what is there now."""
    changed = workspace.changed(stage)
    command = _COMMANDS.get(stage, stage.partition("/")[0])
    return (
        [f"Out of date ({stage}): {' and '.join(changed)} changed since; run proctor {command} again."]
        if changed
        else []
    )


def _corpus(workspace: Workspace, corpus: Corpus) -> Section:
    found = describe(workspace.root)
    facts: tuple[tuple[str, str | Cell], ...] = (
        *(
            (f"{name}s", counted(n, among=("corpus", f"modality: {name}")))
            for name, n in found.modalities.items()
        ),
        ("documents", counted(found.documents, among=("documents", "documents"))),
        ("duplicates", counted(found.aliases, among=("corpus", "duplicates"))),
    )
    spreads: tuple[Row, ...] = tuple(
        (name, counted(found.modalities[name], among=("corpus", f"modality: {name}")),
         *(Cell(f"{spread[key]:,.0f}", among=("corpus", f"modality: {name}")) for key in ("min", "median", "mean", "max")))
        for name, spread in found.characters.items()
    )  # fmt: skip
    parts: list[Part] = []
    if found.images.drawn:
        text = f"{found.images.drawn:,} pictures are drawn cards in place of pixels that were not at hand."
        parts.append(Paragraph(text, beware=True))
    columns = ("modality", "sources", "min", "median", "mean", "max")
    parts.append(Table("Sources, and how many characters they have", columns, spreads))
    for title, counts, head, tag in (
        ("Licences of sources", found.licences, ("licence", "sources"), "licence"),
        ("Left out of the corpus", found.dropped, ("reason", "entries"), "left out"),
    ):
        if counts:
            rows = tuple((k, counted(n, among=("corpus", f"{tag}: {k}"))) for k, n in counts.items())
            parts.append(Table(title, head, rows))
    held: dict[str, dict[str, None]] = {}
    for source in corpus:
        held.setdefault(source.doc_id or source.id, {})[source.modality] = None
    lines = [((name, ", ".join(own)), ("documents",)) for name, own in held.items()]
    parts += (
        _each(workspace, corpus),
        Listing.of("documents", "Each document", ("Document", "Modalities of its sources"), lines),
    )
    return Section("corpus", "Corpus", tuple(parts), facts)


def _each(workspace: Workspace, corpus: Corpus) -> Listing:
    """Return what was left out of the corpus, duplicates among it, and every source."""
    path = workspace.file(CORPUS) / "dropped.jsonl"
    gone: list[Dropped] = read_jsonl(path, Dropped) if is_there(path) else []
    lines: list[tuple[Row, Iterable[str]]] = [
        *(((one.id, "", f"left out: {one.reason}", one.detail), (f"left out: {one.reason}",)) for one in gone),
        *(((one, "", "duplicate", f"of {kept}"), ("duplicates",)) for one, kept in corpus.aliases.items()),
        *(((Cell(s.title or s.id, s.id), s.modality, s.licence or "unknown", s.doc_id),
           (f"modality: {s.modality}", f"licence: {s.licence or 'unknown'}")) for s in corpus),
    ]  # fmt: skip
    head = ("Source", "Modality", "Licence, or why it was left out", "Document, or detail")
    return Listing.of("corpus", "Each source, and what was left out", head, lines)


def documents_made_as(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Yield what has to be known to make them again: models, prompts, styles, rankings."""
    if is_there(workspace.file(CORPUS)):
        yield "corpus", corpus_of(workspace).fingerprint
    if is_there(workspace.file(WRITTEN)) and (questions := load_written(workspace)):
        first = questions[0].provenance
        yield "seed of the run", first.get("seed", "")
        yield from ((f"model: {role}", first[role]) for role in ROLES if first.get(role))
        for name, digest in sorted({pair for q in questions for pair in q.provenance.items()}):
            if name.startswith("prompt:"):
                yield name.replace(":", ": "), digest
        for style, digest in sorted(
            {(q.facets["style"], q.provenance.get("style_hash", "")) for q in questions}
        ):
            yield f"style: {style}", digest
    for which in QUESTION_SETS:
        table = load_table(workspace, which)
        for name, signature in (table.runs if table is not None else {}).items():
            yield f"ranking ({which}): {name}", signature
