"""What the page says of questions about documents alone: corpus, attempts, retrieval, overlap of styles, concurrence, sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import msgspec

from proctor.ask.documents.plan import ImpossibleCell
from proctor.ask.documents.record import OUTCOMES, AttemptRecord
from proctor.ask.documents.style import render_combination
from proctor.ask.documents.summary import UNTRIED, DocumentsSummary
from proctor.ask.documents.summary import Cell as Asked
from proctor.corpus.collection import Corpus
from proctor.corpus.source import Source
from proctor.exam.concur import ConcurrenceTable
from proctor.exam.kinds.documents_question import (
    cited_modalities,
    combination,
    document_facts,
    document_slices,
    gold_of,
)
from proctor.exam.question import Question
from proctor.exam.retrieval_scores import RetrievalTable
from proctor.exam.style_overlap import OverlapRow, OverlapTable
from proctor.exam.table import ScoreRow
from proctor.metrics.figure import IntervalPlot
from proctor.report.charts import counts_table
from proctor.report.data import Exam
from proctor.report.naming import without_address
from proctor.report.numbers import count, counted, dollars, number, show_p, show_value
from proctor.report.parts import (
    Cell,
    Find,
    Fold,
    Heat,
    Led,
    Listing,
    Paragraph,
    Part,
    Row,
    Section,
    SourceView,
    Table,
)
from proctor.report.plaintext import clip_line

__all__ = [
    "Writing",
    "concurrence_section",
    "overlap_section",
    "question_facts",
    "retrieval_section",
    "source_view",
    "writing_sections",
]

_SAID: Final = 160
"""Characters of a question in a listing."""
_ROWS: Final = 20
_CHARACTERS: Final = 1_500
_NEAR: Final = 50


class Writing(msgspec.Struct):
    """What the page takes from the summary of generation (``documents.json``)."""

    summary: DocumentsSummary
    coverage: dict[str, Any] = {}
    seed_statistics: dict[str, Any] = {}
    near_known: list[dict[str, Any]] = []
    short: list[str] = []
    impossible: list[ImpossibleCell] = []
    embedder: str = ""
    weak: str = ""
    interrupted: bool = False


# -- how they were written -----------------------------------------------------------------------------------------


def writing_sections(
    found: Writing,
    questions: Sequence[Question],
    warnings: Sequence[str] = (),
    *,
    attempts: Sequence[AttemptRecord] = (),
    exam: Exam | None = None,
    modalities: Mapping[str, str] | None = None,
) -> Iterator[Section]:
    """Yield what was asked for and made, and what became of attempts.

    Args:
        found: summary of generation.
        questions: as they were made.
        warnings: what changed since.
        attempts: at all questions.
        exam: that asks these questions.
        modalities: of the sources that gave seeds, by id.
    """
    summary = found.summary
    parts: list[Part] = [Paragraph(text, beware=True) for text in filter(None, (*warnings, found.weak))]
    parts += _grids(summary.cells, exam)
    if found.impossible:
        rows = tuple((c.style, c.combination, f"{c.questions:,}", c.reason) for c in found.impossible)
        head = ("style", "texts-tables-images", "questions", "why")
        note = "They were planned, and this corpus cannot fill them; nothing was asked for them."
        parts.append(Table("Left out of the plan", head, rows, note, digits=False))
    if found.short:
        parts.append(Paragraph("Fewer candidates than asked for: " + "; ".join(found.short), beware=True))
    if found.interrupted or summary.open:
        text = f"Not finished: {summary.open:,} targets are open; the same command goes on."
        parts.append(Paragraph(text, beware=True))
    facts: tuple[tuple[str, str | Cell], ...] = (
        ("asked for", counted(summary.asked, among=("attempts", "asked for"))),
        *(
            [("impossible here", f"{sum(c.questions for c in found.impossible):,}")]
            if found.impossible
            else []
        ),
        ("made", counted(summary.achieved, among=("attempts", "outcome: accepted"))),
        ("attempts", counted(summary.attempts, among=("attempts", "attempts"))),
        ("yield", Cell(_percent(summary.yield_), among=("attempts", "attempts"))),
        ("calls", counted(summary.calls, among=("attempts", "attempts"))),
        (
            "cost",
            Cell(
                dollars(None if summary.cost is None else float(summary.cost)), among=("attempts", "attempts")
            ),
        ),
        *([("candidates by", found.embedder)] if found.embedder else []),
    )
    yield Section("questions", "Questions about documents", tuple(parts), facts)
    yield _attempts(found, questions, _each(summary, questions, attempts, modalities or {}))


def _grids(cells: Sequence[Asked], exam: Exam | None) -> Iterator[Part]:
    styles = tuple(dict.fromkeys(c.style for c in cells))
    combos = tuple(dict.fromkeys(c.combination for c in cells))
    at = {(c.style, c.combination): c for c in cells}

    def grid(
        title: str, value: Callable[[Asked], float | None], high: float = 1.0, digits: int = 2, **leads: Any
    ) -> Heat:
        rows = tuple((s, tuple(value(at[s, c]) if (s, c) in at else None for c in combos)) for s in styles)
        return Heat(title, "style", combos, rows, high=high, digits=digits, **leads)

    made = {
        s: [_made([c], exam, style=s, combination=combination(c.modalities)) if c else Cell()
            for c in (at.get((s, name)) for name in combos)]
        for s in styles
    }  # fmt: skip
    finds = tuple(tuple(cell.find for cell in row) for row in made.values())
    yield grid(
        "Share of the questions asked for that were made",
        lambda c: c.achieved / c.asked if c.asked else None,
        finds=finds,
    )
    rows: tuple[Row, ...] = tuple(
        (s, *row, _made([c for c in cells if c.style == s], exam, style=s)) for s, row in made.items()
    )
    yield Table("Asked for and made", ("style", *combos, "all"), rows)
    yield grid("Yield: questions by attempt", lambda c: c.yield_, among="attempts")
    for title, value, digits in (
        ("Dollars a question", _dollars_each, 4),
        ("Calls a question", _calls_each, 1),
    ):
        known = [x for c in cells if (x := value(c)) is not None]
        if any(known):
            yield grid(title, value, high=max(known), digits=digits, finds=finds)


def _made(cells: Sequence[Asked], exam: Exam | None, **facets: str) -> Cell:
    """Return how many questions were made of those asked for; it opens them where the exam asks them all."""
    made = sum(c.achieved for c in cells)
    return Cell(f"{made:,} of {sum(c.asked for c in cells):,}", find=_find(exam, made, facets))


def _find(exam: Exam | None, n: int, facets: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return how questions are found among the examples; not at all where the exam asks more or fewer than ``n`` such ones."""
    if exam is None or not n:
        return ()
    cited = facets.get("cites")  # of several values, never beside another
    asked = sum(cited in cited_modalities(i.question) for i in exam.items) if cited else exam.count(facets)
    return (("exam", exam.title), *facets.items()) if n == asked else ()


def _dollars_each(cell: Asked) -> float | None:
    return float(cell.cost) / cell.achieved if cell.cost is not None and cell.achieved else None


def _calls_each(cell: Asked) -> float | None:
    return cell.calls / cell.achieved if cell.achieved else None


def _each(
    summary: DocumentsSummary,
    questions: Sequence[Question],
    attempts: Sequence[AttemptRecord],
    modalities: Mapping[str, str],
) -> Listing:
    """Return every attempt with what became of it, refused ones first; a question that was asked for counts where its last one is."""
    by_id = {q.id: q for q in questions}
    planned = {f"{c.style}/{render_combination(c.modalities)}": c for c in summary.cells}
    last = {a.target: a for a in attempts}
    lines: list[tuple[Row, Iterable[str]]] = []
    for a in sorted(attempts, key=lambda a: a.outcome == "accepted"):
        outcome = a.outcome.replace("_", " ")
        tags = [f"outcome: {outcome}"]
        tags += ["asked for"] if a is last[a.target] else []
        tags += ["attempts"] if a.outcome not in UNTRIED else []
        if cell := planned.get(a.target.rpartition("/")[0]):
            tags += [f"{cell.style}, {cell.combination}", f"{cell.style}, {outcome}"]
        if a.seed_id in modalities:
            tags.append(f"seed: {modalities[a.seed_id]}")
        name = Cell(a.target)
        if a.outcome == "accepted" and (q := by_id.get(a.target)):
            name = Cell(q.text, item=q.id)
            tags.append(f"attempts: {document_facts(q).attempts}")
            for what, mark in _answered(q).items():
                tags += [f"answered {what}", f"answered {what}: {mark}"]
        sort = f"{cell.style}, {cell.combination}" if cell else ""
        lines.append(((name, sort, f"{a.number + 1}", outcome, a.detail), tags))
    lines += [(("–", "", "", "not begun", ""), ("asked for",))] * (summary.asked - len(last))
    head = ("Question", "Style and sources", "Attempt", "Outcome", "Detail")
    return Listing.of("attempts", "Each attempt", head, lines)


def _attempts(found: Writing, questions: Sequence[Question], each: Listing) -> Section:
    summary = found.summary
    names = tuple(name for name in OUTCOMES if name in summary.outcomes)
    spoken = tuple(name.replace("_", " ") for name in names)

    def share(counts: Mapping[str, int], name: str) -> float | None:
        whole = sum(counts.values())
        return counts.get(name, 0) / whole if whole else None

    by_style = tuple((s, tuple(share(counts, n) for n in names)) for s, counts in summary.by_style.items())
    needed = {str(n): summary.attempts_needed[str(n)] for n in sorted(map(int, summary.attempts_needed))}
    note = "Of all attempts at all questions; an attempt ends at the first step that refuses it."
    parts: list[Part] = [
        counts_table(
            "What became of attempts",
            "outcome",
            {n: summary.outcomes[k] for n, k in zip(spoken, names, strict=True)},
            note,
            among="attempts",
        ),
        Heat("Outcomes by style, share of its attempts", "style", spoken, by_style, among="attempts"),
        counts_table(
            "Attempts that a question took",
            "attempts",
            needed,
            "Of the questions that were made.",
            among="attempts",
        ),
        *_difficulty(questions),
        *_seeds(found),
    ]
    if found.near_known:
        rows = tuple(
            (Cell(m["id"], item=m["id"]), m["list"], m["by"], f"{m['value']:.2f}", m["other"][:200])
            for m in found.near_known[:_NEAR]
        )
        head = ("question", "list", "by", "value", "text")
        left = len(found.near_known) - len(rows)
        note = f"The first {_NEAR}; {left:,} more are not listed." if left > 0 else ""
        title = "Near questions that models may have learnt from"
        parts.append(Table(title, head, rows, note, digits=False))
    parts.append(each)
    return Section("attempts", "Attempts", tuple(parts))


_MARKS: Final = {"2": "right", "1": "partly right", "0": "wrong"}
_UNKNOWN: Final = "not known"
_ANSWERED: Final = {
    "closed_book": "from no source",
    "one_source": "from a single one of its sources, the best",
}


def _answered(question: Question) -> dict[str, str]:
    """Return the best mark of answers without the sources, or with less of them, by what was left."""
    measured = document_facts(question).difficulty
    return {what: _best_mark(measured[name]) for name, what in _ANSWERED.items() if name in measured}


def _difficulty(questions: Sequence[Question]) -> Iterator[Table]:
    measured = [document_facts(q).difficulty for q in questions]
    columns = (*_MARKS.values(), _UNKNOWN)
    best = [_answered(q) for q in questions]
    answered: tuple[Row, ...] = tuple(
        (what, *(counted(marks[column], among=("attempts", f"answered {what}: {column}")) for column in columns),
         counted(marks.total(), among=("attempts", f"answered {what}")))
        for what in _ANSWERED.values()
        if (marks := Counter(own[what] for own in best if what in own))
    )  # fmt: skip
    if answered:
        note = "Numbers of questions: a model answered them without what they cite, or with less of it, and its answer was marked."
        head = ("answered", *columns, "questions")
        yield Table("Difficulty: answers without the sources", head, answered, note)
    worst = [m["gold_rank"] for m in measured if "gold_rank" in m]
    each = [rank for m in measured for rank in m.get("gold_ranks", "").split()]
    ranked = tuple(
        _ranks(what, ranks)
        for what, ranks in (("the worst one of a question", worst), ("every one", each))
        if ranks
    )
    if ranked:
        note = (
            "Ranks in a search for the question by words (BM25), counted from 1 over all sources. A source that shares no word with the "
            "question is not found: it counts as beyond every rank in the median, and in nothing else."
        )
        head = ("cited sources", "found", "best rank", "median of all", "last rank found")
        yield Table("Difficulty: ranks of the cited sources", head, ranked, note)


def _best_mark(marks: str) -> str:
    """Return the best of some marks in words; where one is not known, it might be the best."""
    each = marks.split()
    if "2" in each or all(mark in _MARKS for mark in each):
        return _MARKS[max(mark for mark in each if mark in _MARKS)]
    return _UNKNOWN


def _ranks(what: str, ranks: Sequence[str]) -> Row:
    """Return how many were found, and best, median and last rank; the median is over all, those that were not found last."""
    found = sorted(int(rank) for rank in ranks if rank.isdigit())
    middle = (len(ranks) - 1) // 2
    median = f"{found[middle]:,}" if middle < len(found) else "not found"
    ends = (f"{found[0]:,}", f"{found[-1]:,}") if found else ("–", "–")
    return (what, f"{len(found):,} of {len(ranks):,}", ends[0], median, ends[1])


def _seeds(found: Writing) -> Iterator[Table]:
    coverage, numbers = found.coverage, found.seed_statistics
    if coverage.get("modalities"):
        rows = tuple(
            (name, *_with_share(m["sources"], m["share"], ("corpus", f"modality: {name}")),
             *_with_share(m["seeds"], m["seed_share"], ("attempts", f"seed: {name}")))
            for name, m in coverage["modalities"].items()
        )  # fmt: skip
        note = (
            f"{coverage['seeds']:,} seeds from {coverage['distinct']:,} sources in {coverage['documents_used']:,} of "
            f"{coverage['documents']:,} documents; the most from one document: {_percent(coverage['largest_share'])}."
        )
        yield Table("Seeds", ("modality", "sources", "share", "seeds", "share of seeds"), rows, note)
    if numbers:
        uneven = (
            ("highest probability over lowest", f"{numbers['ratio']:.4g}"),
            ("total variation from uniform", f"{numbers['total_variation']:.4f}"),
            (
                "mass of the tenth of sources farthest from their neighbours",
                _percent(numbers["outlier_mass"]),
            ),
            ("acceptance of proposals", _percent(numbers["acceptance"])),
        )
        note = (
            f"From {numbers['measured']:,} of {numbers['sources']:,} sources. Multiplying by beta, as printed, leaves seeds all but "
            "uniform; dividing by it gives the effect that the paper describes."
        )
        yield Table("How uneven seeds are", ("", "value"), uneven, note)


def _with_share(n: int, share: float | None, among: tuple[str, str]) -> tuple[Cell, Cell]:
    led = counted(n, among=among)
    return led, replace(led, text=_percent(share))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


# -- retrieval, overlap, concurrence -------------------------------------------------------------------------------


def retrieval_section(
    which: str,
    table: RetrievalTable,
    warnings: Sequence[str] = (),
    exam: Exam | None = None,
    questions: Sequence[Question] = (),
    corpus: Corpus | None = None,
) -> Section:
    """Return how far retrievers found the cited sources of a set of questions.

    Args:
        which: name of the set.
        table: the numbers.
        warnings: what changed since.
        exam: that asks the questions, where there is one.
        questions: of the set.
        corpus: that was searched.
    """
    parts = [Paragraph(table.told, beware=bool(table.lacking))]
    parts += [Paragraph(text, beware=True) for text in (*warnings, *table.notes)]
    return Section(
        f"retrieval-{which}",
        f"Retrieval ({which})",
        (*parts, *_retrieval(which, table, exam, questions, corpus)),
    )


def _retrieval(
    which: str,
    table: RetrievalTable,
    exam: Exam | None,
    questions: Sequence[Question],
    corpus: Corpus | None,
) -> Iterator[Part]:
    gold, asked = _cited(which, questions, corpus), _searched(which, questions if exam is None else (), table)
    led = partial(_retrieved, exam=exam, asked=asked)
    measures = tuple(dict.fromkeys(c.measure for c in table.cells))
    overall = [m for m in measures if " " not in m]
    for measure in (m for m in overall if m.startswith("recall@")):
        found = [c for c in table.cells if c.measure == measure and c.slice == "all"]
        plot = IntervalPlot(
            f"{measure}, all questions", tuple(c.system for c in found), tuple(c.value for c in found),
            tuple(c.low for c in found), tuple(c.high for c in found), scale=(0.0, 100.0),
        )  # fmt: skip
        yield Led(plot, tuple(map(led, found)))
    for kind, title in (("style", "Retrieval by style"), ("modalities", "Retrieval by sources")):
        slices = tuple(dict.fromkeys(c.slice for c in table.cells if c.kind == kind))
        yield _recalls(title, table, overall, ("all", *slices), led)
    parts = tuple(
        msgspec.structs.replace(c, measure=measure, slice=f"cites={modality}")
        for c in table.cells
        if c.slice == "all"
        for measure, _, modality in [c.measure.partition(" ")]
        if modality
    )
    if parts:
        of_parts = msgspec.structs.replace(table, cells=parts)
        slices = tuple(sorted({c.slice for c in parts}))
        yield _recalls("Share of the cited sources of one modality", of_parts, overall, slices, led)
    crossed = tuple(
        heat
        for measure in overall
        if measure.startswith("recall@")
        for heat in _crossed(measure, table, led, asked.id)
    )
    if crossed:
        yield Fold("Style and sources", crossed)
    if table.counts:
        counts = tuple((k, counted(n, among=(gold.id, k))) for k, n in table.counts.items())
        yield Table("Counted in retrieval", ("what", "how many"), counts)
    yield from (gold, asked)


def _cited(which: str, questions: Sequence[Question], corpus: Corpus | None) -> Listing:
    """Return each cited source of each question, with what is odd about it."""
    lines: list[tuple[Row, Iterable[str]]] = []
    for question in questions if corpus is not None else ():
        seen: set[str] = set()
        lacking = False
        for id_ in gold_of(question):
            kept = corpus.aliases.get(id_, id_) if corpus is not None else id_
            tags = ["gold sources named twice" if kept in seen else "gold sources"]
            tags += ["gold sources named by an alias"] if kept != id_ else []
            if corpus is not None and kept not in corpus and kept not in seen:
                tags += [
                    "gold sources not in the corpus",
                    *([] if lacking else ["questions with gold not in the corpus"]),
                ]
                lacking = True
            seen.add(kept)
            lines.append(
                ((kept, Cell(clip_line(question.text, _SAID), item=question.id), "; ".join(tags[1:])), tags)
            )
    return Listing.of(f"gold-{which}", "Each cited source", ("Source", "Question", "What"), lines)


def _searched(which: str, questions: Sequence[Question], table: RetrievalTable) -> Listing:
    """Return questions that no exam asks, with the slices that they are in."""
    asked = [q for q in questions if q.id not in set(table.lacking)]
    tags: dict[str, list[str]] = {q.id: [f"cites={m}" for m in cited_modalities(q)] for q in asked}
    for name, (kind, ids) in document_slices(asked).items():
        called = ", ".join(part.partition("=")[2] for part in name.split("/"))
        for id_ in ids:
            tags[id_].append(called if kind == "style-modalities" else name)
    lines = [((clip_line(q.text, _SAID), ", ".join(gold_of(q))), tags[q.id]) for q in asked]
    return Listing.of(f"searched-{which}", "Each question", ("Question", "Cited sources"), lines)


def _recalls(
    title: str,
    table: RetrievalTable,
    measures: Sequence[str],
    slices: Sequence[str],
    led: Callable[[ScoreRow | None], Cell],
) -> Table:
    by: dict[tuple[str, str, str], ScoreRow] = {(c.system, c.measure, c.slice): c for c in table.cells}
    rows = tuple(
        (Cell(system, measure), *(led(by.get((system, measure, s))) for s in slices))
        for system in table.runs
        for measure in measures
        if any((system, measure, s) in by for s in slices)
    )
    sizes = {s: max((c.n for c in table.cells if c.slice == s), default=0) for s in slices}
    head = ("", *(f"{s.partition('=')[2] or s} (n {sizes[s]:,})" for s in slices))
    note = (
        "Per cent; below each number its interval at 95 %. recall@k is the share of the cited sources, as published; all-gold@k the "
        "share of questions of which all were found."
    )
    return Table(title, head, rows, note)


def _retrieved(row: ScoreRow | None, exam: Exam | None, asked: Listing) -> Cell:
    if row is None:
        return number(None)
    among = (asked.id, row.slice) if asked.counts.get(row.slice) == row.n else None
    return replace(number(row), find=_find(exam, row.n, _facets(row.slice)), among=among)


def _facets(slice_: str) -> dict[str, str]:
    """Return what questions of a slice such as ``style=numerical/modalities=text`` have in common."""
    parts = (part.partition("=") for part in slice_.split("/") if slice_ != "all")
    return {"combination" if kind == "modalities" else kind: value for kind, _, value in parts}


def _crossed(
    measure: str, table: RetrievalTable, led: Callable[[ScoreRow | None], Cell], among: str
) -> Iterator[Heat]:
    for system in table.runs:
        own = [
            c
            for c in table.cells
            if c.kind == "style-modalities" and c.measure == measure and c.system == system
        ]
        places = {tuple(part.partition("=")[2] for part in c.slice.split("/")): c for c in own}
        combos = tuple(dict.fromkeys(m for _, m in places))
        rows = tuple(
            (s, tuple(c.value if (c := places.get((s, m))) else None for m in combos))
            for s in dict.fromkeys(s for s, _ in places)
        )
        finds = tuple(tuple(led(places.get((s, m))).find for m in combos) for s, _ in rows)
        if rows:
            title = f"{measure} of {system}"
            yield Heat(title, "style", combos, rows, high=100.0, digits=1, finds=finds, among=among)


def overlap_section(table: OverlapTable, warnings: Sequence[str] = (), exam: Exam | None = None) -> Section:
    """Return how far styles overlap: two or more are claimed for a question."""
    rows: tuple[Row, ...] = tuple(
        (
            row.style,
            Cell(f"{row.n}", find=led),
            *(
                Cell(show_value(x), find=led if x is not None else ())
                for x in (row.overlap, row.none, row.own)
            ),
            counted(row.unread, *led),
        )
        for row in table.rows
        for led in [_of_style(row, exam)]
    )
    matrix = Heat(
        "Styles that are claimed, by the style that was meant, in percent", "meant", table.styles,
        tuple((row.style, tuple(row.claimed.get(s) for s in table.styles)) for row in table.rows), high=100.0, digits=1,
        finds=tuple((_of_style(row, exam),) * len(table.styles) for row in table.rows),
    )  # fmt: skip
    head = ("style", "questions", "overlap %", "no style %", "own style %", "unread")
    note = "Overlap: two or more styles are claimed for a question."
    beware = [Paragraph(text, beware=True) for text in warnings]
    return Section("overlap", "Style overlap", (*beware, Table("Overlap", head, rows, note), matrix))


def _of_style(row: OverlapRow, exam: Exam | None) -> Find:
    return _find(exam, row.n, {"style": row.style} if row.style != "all" else {})


def concurrence_section(tables: Mapping[str, ConcurrenceTable | str]) -> Section | None:
    """Return whether questions that were generated rank systems as those of a data set do.

    Args:
        tables: by what systems are ranked by; why there is none, in words.
    """
    parts: list[Part] = []
    for by, table in tables.items():
        if isinstance(table, str):
            parts.append(Paragraph(f"{by}: {table}", beware=True))
            continue
        rows = tuple((without_address(s), f"{a:.2f}", f"{b:.2f}") for s, (a, b) in table.scores.items())
        ends = (
            f" [{table.low:.2f}, {table.high:.2f}]"
            if table.low is not None and table.high is not None
            else ""
        )
        tau = f"Kendall's tau-b {table.tau:.3f}{ends}" if table.tau is not None else "tau is not defined"
        p = f", p {show_p(table.p)}" if table.p is not None else ""
        notes = (
            f"{tau}{p}",
            f"{table.discordant} of {count(table.pairs, 'pair')} in opposite order",
            *table.notes,
        )
        note = "; ".join(text.rstrip(".") for text in notes) + "."
        parts.append(Table(f"Concurrence by {by}", ("system", *table.benchmarks), rows, note))
    return Section("concurrence", "Concurrence", tuple(parts)) if parts else None


# -- evidence of a question ----------------------------------------------------------------------------------------


def question_facts(q: Question, ranks: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield how a question was made, and at which ranks its sources were found, by retriever."""
    facts = document_facts(q)
    yield "entity", facts.entity
    yield "seed", facts.seed_id
    for n, hop in enumerate(facts.hops, 1):
        yield f"hop {n}", f"{hop.question} — {hop.answer}"
    said = (("checks", facts.checks), ("difficulty", facts.difficulty), ("ranks of the cited", ranks))
    for name, values in said:
        yield name, "; ".join(f"{key.replace('_', ' ')}: {text}" for key, text in values.items())
    yield "attempts", str(facts.attempts)


def source_view(source: Source, role: str, picture: str) -> SourceView:
    """Return a source as it is shown; what is left out of it is counted.

    Args:
        source: of the corpus.
        role: ``cited`` or ``not cited``.
        picture: its pixels as a data address; empty where there are none.
    """
    text = source.body or source.verbalisation or ""
    more = [f"{len(source.rows) - _ROWS:,} more rows"] if len(source.rows) > _ROWS else []
    more += [f"{len(text) - _CHARACTERS:,} more characters"] if len(text) > _CHARACTERS else []
    return SourceView(
        id=source.id,
        modality=source.modality,
        role=role,
        title=source.title,
        text=text[:_CHARACTERS],
        header=source.header,
        rows=tuple(tuple(cell[:200] for cell in row) for row in source.rows[:_ROWS]),
        more=", ".join(more),
        picture=picture,
        origin=", ".join(filter(None, (source.doc_id, source.locator, source.url, source.licence))),
    )
