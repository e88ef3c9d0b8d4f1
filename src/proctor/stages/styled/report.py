"""The page of a styled workspace: corpus, questions asked for and made, retrieval, answers, examples with their sources."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.corpus.collection import Corpus
from proctor.corpus.picture import PictureError, read_picture
from proctor.corpus.source import Source
from proctor.errors import MissingExtraError, UserError
from proctor.exam.concur import ConcurrenceTable, concur
from proctor.exam.prediction import Prediction
from proctor.exam.retrieval_scores import RetrievalTable
from proctor.exam.style_overlap import OverlapTable
from proctor.exam.table import ScoreRow as Number
from proctor.exam.table import ScoreTable
from proctor.generate.styled.record import AttemptRecord, StyledQuestion
from proctor.generate.styled.summary import Cell, StyledSummary, combination
from proctor.metrics.figure import Bars, IntervalPlot
from proctor.records import is_there, read_json, read_jsonl
from proctor.report.section_page import write_page
from proctor.report.sections import AnswerView, ExampleView, Heat, Page, Paragraph, Section, SourceView, Table
from proctor.stages.rehearsing import played_in
from proctor.stages.styled.answer import ANSWERS, load_answers, load_overlap
from proctor.stages.styled.concur import sheets_of
from proctor.stages.styled.corpus import corpus_of, describe
from proctor.stages.styled.generate import ATTEMPTS_FILE, SUMMARY, load_styled
from proctor.stages.styled.questions import QUESTION_SETS, load_questions
from proctor.stages.styled.retrieve import find_run, fits, load_table, run_names
from proctor.workspace import Workspace

__all__ = ["REPORT", "report"]

REPORT: Final = "report.html"
_EXAMPLES: Final = 24
_ROWS: Final = 20
_CHARACTERS: Final = 1_500
_PICTURE_SIDE: Final = 480


class _Summary(msgspec.Struct):
    """What the report takes from the summary of generation."""

    summary: StyledSummary
    coverage: dict[str, Any] = {}
    seed_statistics: dict[str, Any] = {}
    near_known: list[dict[str, Any]] = []
    short: list[str] = []
    interrupted: bool = False


def report(
    root: Path, *, out: Path | None = None, examples: int = _EXAMPLES, seen: Callable[[], None] | None = None
) -> dict[str, Any]:
    """Write the page of a styled workspace.

    Args:
        root: the workspace.
        out: the file; ``report.html`` in the workspace by default.
        examples: questions that are shown with their sources.
        seen: called after each of them.

    Raises:
        UserError: if there is no corpus or there are no questions.
    """
    workspace = Workspace(root)
    corpus = corpus_of(workspace)
    questions = load_styled(workspace)
    summary = _summary(workspace)
    sections = [_corpus_section(root), *_generation_sections(workspace, summary, questions)]
    sections += _retrieval_sections(workspace)
    sections += _answer_sections(workspace)
    if (overlap := load_overlap(workspace)) is not None:
        sections.append(_overlap_section(overlap, tuple(_outdated(workspace, "overlap"))))
    sections += _concurrence_sections(workspace)
    chosen = _spread(questions, examples)
    page = Page(
        title=workspace.root.resolve().name,
        lead=_lead(questions, corpus, summary.summary),
        warning=_warning(workspace, root),
        sections=tuple(sections),
        examples=tuple(_watched(_examples(workspace, corpus, chosen), seen)),
        method=tuple(_method(workspace, questions, corpus)),
    )
    path = write_page(out or workspace.file(REPORT), page)
    return {
        "report": str(path),
        "questions": len(questions),
        "examples": len(chosen),
        "bytes": path.stat().st_size,
    }


def _summary(workspace: Workspace) -> _Summary:
    path = workspace.file(SUMMARY)
    if not is_there(path):
        raise UserError(
            f"{SUMMARY} is not there.",
            where=str(workspace.root),
            hint=f"run again: proctor generate styled {workspace.root}",
        )
    found: _Summary = read_json(path, _Summary)
    return found


def _lead(questions: Sequence[StyledQuestion], corpus: Corpus, summary: StyledSummary) -> str:
    styles = len({q.style for q in questions})
    cost = f" for {_dollars(summary.cost)}" if summary.cost is not None else ""
    return (
        f"{len(questions):,} questions in {styles} styles about {len(corpus):,} sources; {summary.asked:,} were asked for, in "
        f"{summary.attempts:,} attempts and {summary.calls:,} calls{cost}."
    )


def _warning(workspace: Workspace, root: Path) -> str:
    told = []
    if played_in(root) is not None:
        told.append(
            "This is a rehearsal: all models were played on one machine, and no number says anything about a real one."
        )
    if drawn := describe(workspace.root).images.drawn:
        told.append(f"{drawn:,} pictures are drawn cards in place of pixels that were not at hand.")
    return " ".join(told)


def _watched(entries: Iterator[ExampleView], seen: Callable[[], None] | None) -> Iterator[ExampleView]:
    for entry in entries:
        if seen is not None:
            seen()
        yield entry


# -- the corpus ----------------------------------------------------------------------------------------------------


def _corpus_section(root: Path) -> Section:
    found = describe(root)
    facts = (
        *((f"{name}s", f"{n:,}") for name, n in found.modalities.items()),
        ("documents", f"{found.documents:,}"),
        ("duplicates", f"{found.aliases:,}"),
    )
    rows = tuple(
        (name, *(f"{spread[key]:,.0f}" for key in ("min", "median", "mean", "max")))
        for name, spread in found.characters.items()
    )
    parts: list[Paragraph | Table] = [
        Table("Characters of sources", ("modality", "min", "median", "mean", "max"), rows)
    ]
    if found.licences:
        parts.append(
            Table("Licences", ("licence", "sources"), tuple((k, f"{n:,}") for k, n in found.licences.items()))
        )
    if found.dropped:
        parts.append(
            Table("Left out", ("reason", "entries"), tuple((k, f"{n:,}") for k, n in found.dropped.items()))
        )
    return Section("corpus", "Corpus", tuple(parts), facts)


# -- generation ----------------------------------------------------------------------------------------------------


def _generation_sections(
    workspace: Workspace, found: _Summary, questions: Sequence[StyledQuestion]
) -> Iterator[Section]:
    summary = found.summary
    cells = summary.cells
    styles = tuple(dict.fromkeys(c.style for c in cells))
    combos = tuple(dict.fromkeys(c.combination for c in cells))
    by_place = {(c.style, c.combination): c for c in cells}

    def grid(title: str, value: Callable[[Cell], float | None], high: float = 1.0, digits: int = 2) -> Heat:
        rows = tuple(
            (s, tuple(value(by_place[s, c]) if (s, c) in by_place else None for c in combos)) for s in styles
        )
        return Heat(title, "style", combos, rows, high=high, digits=digits)

    parts: list[Any] = [
        *_outdated(workspace, "styled"),
        grid(
            "Share of the questions asked for that were made",
            lambda c: c.achieved / c.asked if c.asked else None,
        ),
        Table(
            "Asked for and made",
            ("style", *combos, "all"),
            tuple(
                (
                    style,
                    *(
                        f"{by_place[style, c].achieved} of {by_place[style, c].asked}"
                        if (style, c) in by_place
                        else ""
                        for c in combos
                    ),
                    f"{sum(c.achieved for c in cells if c.style == style)} of {sum(c.asked for c in cells if c.style == style)}",
                )
                for style in styles
            ),
        ),
        grid("Yield: questions by attempt", lambda c: c.yield_),
    ]
    costs = [float(c.cost) / c.achieved for c in cells if c.cost is not None and c.achieved]
    if any(costs):
        parts.append(
            grid(
                "Dollars a question",
                lambda c: float(c.cost) / c.achieved if c.cost is not None and c.achieved else None,
                high=max(costs),
                digits=4,
            )
        )
    calls = [c.calls / c.achieved for c in cells if c.achieved]
    if calls:
        parts.append(
            grid(
                "Calls a question",
                lambda c: c.calls / c.achieved if c.achieved else None,
                high=max(calls),
                digits=1,
            )
        )
    if found.short:
        parts.append(Paragraph("Fewer candidates than asked for: " + "; ".join(found.short), beware=True))
    if found.interrupted or summary.open:
        parts.append(
            Paragraph(
                f"Not finished: {summary.open:,} targets are open; the same command goes on.", beware=True
            )
        )
    facts = (
        ("asked for", f"{summary.asked:,}"),
        ("made", f"{summary.achieved:,}"),
        ("attempts", f"{summary.attempts:,}"),
        ("yield", _percent(summary.yield_)),
        ("calls", f"{summary.calls:,}"),
        ("cost", _dollars(summary.cost) if summary.cost is not None else "not known"),
    )
    yield Section("questions", "Questions", tuple(parts), facts)
    yield _funnel_section(found, questions)


def _funnel_section(found: _Summary, questions: Sequence[StyledQuestion]) -> Section:
    summary = found.summary
    outcomes = [(name.replace("_", " "), n) for name, n in summary.outcomes.items()]
    styles = tuple(summary.by_style)
    names = tuple(summary.outcomes)
    parts: list[Any] = [
        Bars(
            "What became of attempts",
            tuple(name for name, _ in outcomes),
            tuple(float(n) for _, n in outcomes),
            high=float(max((n for _, n in outcomes), default=1)),
        ),
        Heat(
            "Outcomes by style, share of its attempts", "style", tuple(n.replace("_", " ") for n in names),
            tuple((s, tuple(_part(summary.by_style[s], n) for n in names)) for s in styles),
        ),
        Table(
            "Attempts that a question took", ("attempts", "questions"),
            tuple((n, f"{count:,}") for n, count in summary.attempts_needed.items()),
        ),
    ]  # fmt: skip
    parts += _difficulty_parts(questions)
    parts += _seed_parts(found)
    if found.near_known:
        rows = tuple(
            (m["id"], m["list"], m["by"], f"{m['value']:.2f}", m["other"][:200])
            for m in found.near_known[:50]
        )
        parts.append(
            Table(
                "Near questions that models may have learnt from",
                ("question", "list", "by", "value", "text"),
                rows,
                digits=False,
            )
        )
    return Section("attempts", "Attempts", tuple(parts))


def _difficulty_parts(questions: Sequence[StyledQuestion]) -> Iterator[Table]:
    measured: dict[str, dict[str, int]] = {}
    for question in questions:
        for name, value in question.difficulty.items():
            measured.setdefault(name, {})
            measured[name][value] = measured[name].get(value, 0) + 1
    for name, values in measured.items():
        if len(values) <= 12:
            rows = tuple((value, f"{n:,}") for value, n in sorted(values.items()))
            yield Table(f"Difficulty: {name.replace('_', ' ')}", ("value", "questions"), rows)
        else:
            ordered = sorted(float(v) for v, n in values.items() for _ in range(n) if _is_number(v))
            if ordered:
                cells = (
                    f"{ordered[0]:g}",
                    f"{ordered[len(ordered) // 2]:g}",
                    f"{ordered[-1]:g}",
                    f"{len(ordered):,}",
                )
                yield Table(
                    f"Difficulty: {name.replace('_', ' ')}",
                    ("", "min", "median", "max", "questions"),
                    (("", *cells),),
                )


def _seed_parts(found: _Summary) -> Iterator[Table]:
    coverage, numbers = found.coverage, found.seed_statistics
    if coverage.get("modalities"):
        rows = tuple(
            (name, f"{m['sources']:,}", _percent(m["share"]), f"{m['seeds']:,}", _percent(m["seed_share"]))
            for name, m in coverage["modalities"].items()
        )
        note = (
            f"{coverage['seeds']:,} seeds from {coverage['distinct']:,} sources in {coverage['documents_used']:,} of "
            f"{coverage['documents']:,} documents; the most from one document: {_percent(coverage['largest_share'])}."
        )
        yield Table("Seeds", ("modality", "sources", "share", "seeds", "share of seeds"), rows, note)
    if numbers:
        yield Table(
            "How uneven seeds are",
            ("", "value"),
            (
                ("highest probability over lowest", f"{numbers['ratio']:.4g}"),
                ("total variation from uniform", f"{numbers['total_variation']:.4f}"),
                (
                    "mass of the tenth of sources farthest from their neighbours",
                    _percent(numbers["outlier_mass"]),
                ),
                ("acceptance of proposals", _percent(numbers["acceptance"])),
            ),
            note=f"From {numbers['measured']:,} of {numbers['sources']:,} sources. Multiplying by beta, as printed, leaves seeds all but "
            "uniform; dividing by it gives the effect that the paper describes.",
        )


# -- retrieval -----------------------------------------------------------------------------------------------------


def _retrieval_sections(workspace: Workspace) -> Iterator[Section]:
    for which in QUESTION_SETS:
        table = load_table(workspace, which)
        if table is not None:
            parts = (*_outdated(workspace, f"retrieve/{which}"), *_retrieval_parts(table))
            yield Section(f"retrieval-{which}", f"Retrieval ({which})", parts)


def _outdated(workspace: Workspace, *stages: str) -> Iterator[Paragraph]:
    """Say that numbers were made from something else than what is there now."""
    for stage in stages:
        if changed := workspace.changed(stage):
            command = {"styled": "generate styled", "overlap": "experiment styled"}.get(
                stage, stage.partition("/")[0]
            )
            yield Paragraph(
                f"Out of date ({stage}): {' and '.join(changed)} changed since; run proctor {command} again.",
                beware=True,
            )


def _answer_stages(workspace: Workspace, which: str) -> list[str]:
    return [name for name in sorted(workspace.stages()) if name.startswith(f"answer/{which}/")]


def _retrieval_parts(table: RetrievalTable) -> Iterator[Any]:
    systems = tuple(table.runs)
    measures = tuple(dict.fromkeys(c.measure for c in table.cells))
    overall = [m for m in measures if " " not in m]
    for text in table.notes:
        yield Paragraph(text, beware=True)
    for measure in overall:
        if measure.startswith("recall@"):
            yield _plot(
                f"{measure}, all questions",
                [c for c in table.cells if c.measure == measure and c.slice == "all"],
            )
    for kind, title in (("style", "By style"), ("modalities", "By sources")):
        slices = tuple(dict.fromkeys(c.slice for c in table.cells if c.kind == kind))
        yield _numbers_table(f"{title}", table.cells, systems, overall, ("all", *slices))
    parts = [m for m in measures if " " in m]
    if parts:
        yield _numbers_table(
            "Share of the cited sources of one modality", table.cells, systems, parts, ("all",)
        )
    for measure in (m for m in overall if m.startswith("recall@")):
        yield from _heat(measure, table.cells, systems)
    if table.counts:
        yield Table("Counted", ("what", "how many"), tuple((k, f"{n:,}") for k, n in table.counts.items()))


def _numbers_table(
    title: str,
    cells: Sequence[Number],
    systems: Sequence[str],
    measures: Sequence[str],
    slices: Sequence[str],
) -> Table:
    by = {(c.system, c.measure, c.slice): c for c in cells}
    rows = tuple(
        (f"{system} · {measure}", *(_number(by.get((system, measure, s))) for s in slices))
        for system in systems
        for measure in measures
        if any((system, measure, s) in by for s in slices)
    )
    sizes = {s: max((c.n for c in cells if c.slice == s), default=0) for s in slices}
    head = ("", *(f"{s.partition('=')[2] or s} (n {sizes[s]})" for s in slices))
    return Table(title, head, rows, note="In brackets: the interval at 95 %. recall@k is the share of the cited sources, as published; "
                 "all-gold@k the share of questions of which all were found.")  # fmt: skip


def _heat(measure: str, cells: Sequence[Number], systems: Sequence[str]) -> Iterator[Heat]:
    crossed = [c for c in cells if c.kind == "style-modalities" and c.measure == measure]
    for system in systems:
        own = [c for c in crossed if c.system == system]
        if not own:
            continue
        places = {tuple(part.partition("=")[2] for part in c.slice.split("/")): c.value for c in own}
        styles = tuple(dict.fromkeys(s for s, _ in places))
        combos = tuple(dict.fromkeys(m for _, m in places))
        rows = tuple((s, tuple(places.get((s, m)) for m in combos)) for s in styles)
        yield Heat(f"{measure} of {system}", "style", combos, rows, high=100.0, digits=1)


def _plot(title: str, cells: Sequence[Number]) -> IntervalPlot:
    return IntervalPlot(
        title,
        tuple(c.system for c in cells),
        tuple(c.value for c in cells),
        tuple(c.low for c in cells),
        tuple(c.high for c in cells),
        scale=(0.0, 100.0),
    )


# -- answers -------------------------------------------------------------------------------------------------------


def _answer_sections(workspace: Workspace) -> Iterator[Section]:
    for which in QUESTION_SETS:
        found = load_answers(workspace, which)
        if found:
            tables = [table for table, _ in found.values()]
            parts = (*_outdated(workspace, *_answer_stages(workspace, which)), *_answer_parts(tables))
            yield Section(f"answers-{which}", f"Answers ({which})", parts)


def _answer_parts(tables: Sequence[ScoreTable]) -> Iterator[Any]:
    cells = [msgspec.structs.replace(row, system=t.predictor) for t in tables for row in t.rows]
    systems = tuple(table.predictor for table in tables)
    measures = tuple(dict.fromkeys(c.measure for c in cells))
    for note in dict.fromkeys(note for table in tables for note in table.notes):
        yield Paragraph(note, beware=True)
    for measure in measures:
        yield _plot(
            f"{measure}, all questions", [c for c in cells if c.measure == measure and c.slice == "all"]
        )
    for kind, title in (("style", "By style"), ("modalities", "By sources")):
        slices = tuple(dict.fromkeys(c.slice for c in cells if c.kind == kind))
        by = {(c.system, c.measure, c.slice): c for c in cells}
        rows = tuple(
            (f"{s} · {m}", *(_number(by.get((s, m, x))) for x in ("all", *slices)))
            for s in systems
            for m in measures
        )
        head = ("", "all", *(x.partition("=")[2] for x in slices))
        yield Table(
            title,
            head,
            rows,
            note="Marks of judges: 50 times the mean of 0, 1 and 2. In brackets: the interval at 95 %.",
        )
    counts = {key: None for table in tables for key in table.counts}
    if counts:
        rows = tuple((table.predictor, *(f"{table.counts.get(k, 0):,}" for k in counts)) for table in tables)
        yield Table(
            "Counted", ("system", *counts), rows, note="What failed or could not be read is in no mean."
        )


def _overlap_section(table: OverlapTable, beware: tuple[Paragraph, ...] = ()) -> Section:
    rows = tuple(
        (row.style, f"{row.n}", _share(row.overlap), _share(row.none), _share(row.own), f"{row.unread}")
        for row in table.rows
    )
    matrix = Heat(
        "Styles that are claimed, by the style that was meant, in percent", "meant", table.styles,
        tuple((row.style, tuple(row.claimed.get(s) for s in table.styles)) for row in table.rows), high=100.0, digits=1,
    )  # fmt: skip
    head = ("style", "questions", "overlap %", "no style %", "own style %", "unread")
    note = "Overlap: two or more styles are claimed for a question."
    return Section("overlap", "Style overlap", (*beware, Table("Overlap", head, rows, note), matrix))


def _concurrence_sections(workspace: Workspace) -> Iterator[Section]:
    ours, theirs = sheets_of(workspace, "styled"), sheets_of(workspace, "data")
    parts: list[Any] = []
    for by in ours.keys() & theirs.keys():
        try:
            parts += _concurrence_parts(by, concur(theirs[by], ours[by]))
        except UserError as error:
            parts.append(Paragraph(f"{by}: {error.message}", beware=True))
    if parts:
        yield Section("concurrence", "Concurrence", tuple(parts))


def _concurrence_parts(by: str, table: ConcurrenceTable) -> Iterator[Any]:
    rows = tuple((s, f"{a:.2f}", f"{b:.2f}") for s, (a, b) in table.scores.items())
    interval = (
        f" [{table.low:.2f}, {table.high:.2f}]" if table.low is not None and table.high is not None else ""
    )
    tau = f"Kendall's tau-b {table.tau:.3f}{interval}" if table.tau is not None else "tau is not defined"
    p = f", p {table.p:.4f}" if table.p is not None else ""
    note = f"{tau}{p}; {table.discordant} of {table.pairs} pairs in opposite order. " + " ".join(table.notes)
    yield Table(f"Concurrence by {by}", ("system", *table.benchmarks), rows, note)


# -- examples ------------------------------------------------------------------------------------------------------


def _spread(questions: Sequence[StyledQuestion], most: int) -> list[StyledQuestion]:
    """Choose questions of all styles and combinations in turn."""
    cells: dict[tuple[str, tuple[int, int, int]], list[StyledQuestion]] = {}
    for question in questions:
        cells.setdefault((question.style, question.modalities), []).append(question)
    chosen: list[StyledQuestion] = []
    for turn in range(max(map(len, cells.values()), default=0)):
        chosen += [cell[turn] for cell in cells.values() if turn < len(cell)]
    return chosen[:most]


def _examples(
    workspace: Workspace, corpus: Corpus, questions: Sequence[StyledQuestion]
) -> Iterator[ExampleView]:
    ranks = _ranks(workspace)
    said = _said(workspace)
    for q in questions:
        sources = [_source_view(corpus, id_, "cited") for id_ in q.gold]
        sources += [_source_view(corpus, id_, "not cited") for id_ in q.distractors[:4]]
        yield ExampleView(
            id=q.id,
            kind=f"{q.style}, {combination(q.modalities)}",
            question=q.question,
            answer=q.answer,
            facts=tuple(_facts(q, ranks)),
            sources=tuple(source for source in sources if source is not None),
            answers=tuple(said.get(q.id, ())),
        )


def _facts(q: StyledQuestion, ranks: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    yield "entity", q.entity
    yield "seed", q.seed_id
    for number, hop in enumerate(q.hops, 1):
        yield f"hop {number}", f"{hop.question} — {hop.answer}"
    if q.checks:
        yield "checks", "; ".join(f"{name}: {text}" for name, text in q.checks.items())
    if q.difficulty:
        yield (
            "difficulty",
            "; ".join(f"{name.replace('_', ' ')}: {text}" for name, text in q.difficulty.items()),
        )
    yield "attempts", str(q.attempts)
    if q.id in ranks:
        yield "ranks of the cited", "; ".join(f"{name}: {text}" for name, text in ranks[q.id].items())


def _ranks(workspace: Workspace) -> dict[str, dict[str, str]]:
    """For each question the ranks of its cited sources, by retriever."""
    found: dict[str, dict[str, str]] = {}
    questions = load_questions(workspace, "styled")
    gold = {q.id: q.gold for q in questions}
    for spec in run_names(workspace, "styled"):
        if not fits(workspace, questions, "styled", spec):  # of earlier questions
            continue
        run = find_run(workspace, questions, "styled", spec)
        for ranking in run.rankings:
            places = {id_: n for n, id_ in enumerate(ranking.ids, 1)}
            text = ", ".join(str(places.get(id_, "–")) for id_ in gold.get(ranking.qid, ()))
            found.setdefault(ranking.qid, {})[run.retriever] = text
    return found


def _said(workspace: Workspace) -> dict[str, list[AnswerView]]:
    """For each question what systems answered, with the mark of the first judge; answers to earlier questions are left out."""
    found: dict[str, list[AnswerView]] = {}
    folder = workspace.file(ANSWERS) / "styled"
    for path in sorted(folder.glob("*/table.json")) if is_there(folder) else ():
        if workspace.changed(f"answer/styled/{path.parent.name}"):
            continue
        table: ScoreTable = read_json(path, ScoreTable)
        column = next((name for name in ("judge", "reference judge") if name in table.marks), None)
        marks = table.marks[column] if column is not None else {}
        predictions: list[Prediction] = read_jsonl(path.with_name("predictions.jsonl"), Prediction)
        for p in predictions:
            text = p.answer if p.answer is not None else f"(no answer: {p.failure})"
            mark = marks.get(p.item_id)
            told = (
                "" if column is None else "not marked" if mark is None else f"{mark / 50:g} of 2 ({column})"
            )
            found.setdefault(p.item_id, []).append(AnswerView(p.predictor, text[:_CHARACTERS], told))
    return found


def _source_view(corpus: Corpus, id_: str, role: str) -> SourceView | None:
    source = corpus.get(id_)
    if source is None:
        return None
    more = []
    if len(source.rows) > _ROWS:
        more.append(f"{len(source.rows) - _ROWS:,} more rows")
    text = source.body or source.verbalisation or ""
    if len(text) > _CHARACTERS:
        more.append(f"{len(text) - _CHARACTERS:,} more characters")
    return SourceView(
        id=source.id,
        modality=source.modality,
        role=role,
        title=source.title,
        text=text[:_CHARACTERS],
        header=source.header,
        rows=tuple(tuple(cell[:200] for cell in row) for row in source.rows[:_ROWS]),
        more=", ".join(more),
        picture=_picture(corpus, source),
        origin=", ".join(
            part for part in (source.doc_id, source.locator, source.url, source.licence) if part
        ),
    )


def _picture(corpus: Corpus, source: Source) -> str:
    """Return a small picture as a data address; nothing where there are no pixels."""
    path = corpus.pixels(source) if source.modality == "image" else None
    if path is None:
        return ""
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtraError("Pillow", "corpus", "pictures on the page") from None
    try:
        picture = read_picture(path)
    except PictureError:
        return ""
    with Image.open(io.BytesIO(picture.data)) as image:
        image.thumbnail((_PICTURE_SIDE, _PICTURE_SIDE))
        stream = io.BytesIO()
        image.convert("RGB").save(stream, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


# -- how -----------------------------------------------------------------------------------------------------------


def _method(
    workspace: Workspace, questions: Sequence[StyledQuestion], corpus: Corpus
) -> Iterator[tuple[str, str]]:
    yield "corpus", corpus.fingerprint
    if questions:
        first = questions[0]
        yield "seed of the run", str(first.seed)
        for role, name in first.models.items():
            yield f"model: {role}", name
        for name, digest in sorted({pair for q in questions for pair in q.prompts.items()}):
            yield f"prompt: {name}", digest
        for style, digest in sorted({(q.style, q.style_hash) for q in questions}):
            yield f"style: {style}", digest
    for which in QUESTION_SETS:
        table = load_table(workspace, which)
        for name, signature in (table.runs if table is not None else {}).items():
            yield f"ranking ({which}): {name}", signature
    attempts: Iterator[AttemptRecord] = iter(read_jsonl(workspace.file(ATTEMPTS_FILE), AttemptRecord))
    yield "attempts on file", str(sum(1 for _ in islice(attempts, 10_000_000)))


def _number(cell: Number | None) -> str:
    if cell is None or cell.value is None:
        return "–"
    ends = f" [{cell.low:.1f}, {cell.high:.1f}]" if cell.low is not None and cell.high is not None else ""
    return f"{cell.value:.1f}{ends}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _dollars(text: str | None) -> str:
    return "not known" if text is None else f"${float(text):,.4f}"


def _part(counts: Mapping[str, int], name: str) -> float | None:
    whole = sum(counts.values())
    return counts.get(name, 0) / whole if whole else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
