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
from proctor.exam.style_overlap import OverlapRow, OverlapTable, StyleClaim
from proctor.exam.table import ScoreRow
from proctor.metrics.figure import IntervalPlot
from proctor.report.charts import counts_table
from proctor.report.data import Exam
from proctor.report.naming import without_address
from proctor.report.numbers import counted, dollars, number, show_p, show_value
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
_LEFT_OUT: Final = "left out of the plan"
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
        rows = tuple(
            (
                c.style,
                c.combination,
                counted(c.questions, among=("attempts", f"{_LEFT_OUT}: {c.style}, {c.combination}")),
                c.reason,
            )
            for c in found.impossible
        )
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
            [
                (
                    "impossible here",
                    counted(sum(c.questions for c in found.impossible), among=("attempts", _LEFT_OUT)),
                )
            ]
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
    yield _attempts(found, questions, _each(found, questions, attempts, modalities or {}))


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
        s: [_made([c], exam, f"{s}, {name}", style=s, combination=combination(c.modalities)) if c else Cell()
            for name in combos for c in [at.get((s, name))]]
        for s in styles
    }  # fmt: skip
    finds = tuple(tuple(cell.find for cell in row) for row in made.values())
    yield grid(
        "Share of the questions asked for that were made",
        lambda c: c.achieved / c.asked if c.asked else None,
        finds=finds,
        among="attempts",
    )
    rows: tuple[Row, ...] = tuple(
        (s, *row, _made([c for c in cells if c.style == s], exam, s, style=s)) for s, row in made.items()
    )
    yield Table("Asked for and made", ("style", *combos, "all"), rows)
    yield grid("Yield: questions by attempt", lambda c: c.yield_, among="attempts")
    for title, value, digits in (
        ("Dollars a question", _dollars_each, 4),
        ("Calls a question", _calls_each, 1),
    ):
        known = [x for c in cells if (x := value(c)) is not None]
        if any(known):
            yield grid(title, value, high=max(known), digits=digits, finds=finds, among="attempts")


def _made(cells: Sequence[Asked], exam: Exam | None, name: str, **facets: str) -> Cell:
    """Return how many questions were made of those asked for; it opens them."""
    made = sum(c.achieved for c in cells)
    led = counted(made, *_find(exam, made, facets), among=("attempts", f"{name}: made"))
    return replace(led, text=f"{made:,} of {sum(c.asked for c in cells):,}")


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
    found: Writing,
    questions: Sequence[Question],
    attempts: Sequence[AttemptRecord],
    modalities: Mapping[str, str],
) -> Listing:
    """Return every attempt with what became of it, refused ones first; a question that was asked for counts where its last one is.

    Behind them stand questions that were not begun, and those that the plan left out.
    """
    summary = found.summary
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
            tags += [f"{cell.style}, {cell.combination}: made", f"{cell.style}: made"] if cell else []
            tags.append(f"attempts: {document_facts(q).attempts}")
            for what, mark in _answered(q).items():
                tags += [f"answered {what}", f"answered {what}: {mark}"]
        sort = f"{cell.style}, {cell.combination}" if cell else ""
        lines.append(((name, sort, f"{a.number + 1}", outcome, a.detail), tags))
    lines += [(("–", "", "", "not begun", ""), ("asked for",))] * (summary.asked - len(last))
    lines += [
        (
            (f"{name}/{n:04d}", name.replace("/", ", "), "", _LEFT_OUT, c.reason),
            (_LEFT_OUT, f"{_LEFT_OUT}: {c.style}, {c.combination}"),
        )
        for c in found.impossible
        for name in (f"{c.style}/{c.combination}",)
        for n in range(1, c.questions + 1)
    ]
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
            (
                Cell(m["id"], item=m["id"]),
                m["list"],
                m["by"],
                Cell(f"{m['value']:.2f}", item=m["id"]),
                m["other"][:200],
            )
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


def _difficulty(questions: Sequence[Question]) -> Iterator[Part]:
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
    ranks, each = _cited_ranks(questions)
    ranked = tuple(_ranks(what, own) for what, own in ranks.items() if own)
    if ranked:
        note = (
            "Ranks in a search for the question by words (BM25), counted from 1 over all sources. A source that shares no word with the "
            "question is not found: it counts as beyond every rank in the median, and in nothing else."
        )
        head = ("cited sources", "found", "best rank", "median of all", "last rank found")
        yield Table("Difficulty: ranks of the cited sources", head, ranked, note)
        yield each


_WORST: Final = "the worst one of a question"
_EVERY: Final = "every one"


def _cited_ranks(questions: Sequence[Question]) -> tuple[dict[str, list[str]], Listing]:
    """Return the ranks of cited sources, and each of them."""
    ranks: dict[str, list[str]] = {_WORST: [], _EVERY: []}
    lines: list[tuple[Row, Iterable[str]]] = []
    for q in questions:
        measured, sources = document_facts(q).difficulty, gold_of(q)
        worst, every = measured.get("gold_rank", ""), measured.get("gold_ranks", "").split()
        own = every or [worst] * bool(worst)
        place = own.index(worst) if worst in own else -1
        for n, rank in enumerate(own):
            tags = [_EVERY] * bool(every) + [_WORST] * (n == place)
            for what in tags:
                ranks[what].append(rank)
            tags += [f"{what}: found" for what in tags if rank.isdigit()]
            source = sources[n] if len(sources) == len(own) else ""
            question = Cell(clip_line(q.text, _SAID), item=q.id)
            lines.append(((source, question, f"{int(rank):,}" if rank.isdigit() else "not found"), tags))
    return ranks, Listing.of("ranks", "Rank of each cited source", ("Source", "Question", "Rank"), lines)


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
    led = Cell(among=("ranks", f"{what}: found"))
    first, last = (replace(led, text=text) for text in ends)
    of = replace(led, text=f"{len(found):,} of {len(ranks):,}")
    return (what, of, first, Cell(median, among=("ranks", what)), last)


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
    repeated: Sequence[tuple[str, str, str]] = (),
) -> Section:
    """Return how far retrievers found the cited sources of a set of questions.

    Args:
        which: name of the set.
        table: the numbers.
        warnings: what changed since.
        exam: that asks the questions, where there is one.
        questions: of the set.
        corpus: that was searched.
        repeated: sources that a ranking has once more: retriever, question and source.
    """
    parts = [Paragraph(table.told, beware=bool(table.lacking))]
    parts += [Paragraph(text, beware=True) for text in (*warnings, *table.notes)]
    return Section(
        f"retrieval-{which}",
        f"Retrieval ({which})",
        (*parts, *_retrieval(which, table, exam, questions, corpus, repeated)),
    )


def _retrieval(
    which: str,
    table: RetrievalTable,
    exam: Exam | None,
    questions: Sequence[Question],
    corpus: Corpus | None,
    repeated: Sequence[tuple[str, str, str]],
) -> Iterator[Part]:
    gold, again = _cited(which, questions, corpus), _again(which, questions, repeated)
    slices = {(c.n, f"cites={part}" if (part := c.measure.partition(" ")[2]) else c.slice)
              for c in table.cells if c.slice == "all" or " " not in c.measure}  # fmt: skip
    known = all(_find(exam, n, _facets(name)) for n, name in slices)
    asked = _searched(which, () if known else questions, table)
    led = partial(_retrieved, exam=exam, asked=asked.id, counts=asked.counts)
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
        of_kind = tuple(dict.fromkeys(c.slice for c in table.cells if c.kind == kind))
        yield _recalls(title, table, overall, ("all", *of_kind), led)
    parts = tuple(
        msgspec.structs.replace(c, measure=measure, slice=f"cites={modality}")
        for c in table.cells
        if c.slice == "all"
        for measure, _, modality in [c.measure.partition(" ")]
        if modality
    )
    if parts:
        of_parts = msgspec.structs.replace(table, cells=parts)
        cited = tuple(sorted({c.slice for c in parts}))
        yield _recalls("Share of the cited sources of one modality", of_parts, overall, cited, led)
    crossed = tuple(
        heat
        for measure in overall
        if measure.startswith("recall@")
        for heat in _crossed(measure, table, led, asked.id)
    )
    if crossed:
        yield Fold("Style and sources", crossed)
    if table.counts:
        listed = {k: one for one in (gold, again) for k, n in one.counts.items() if n == table.counts.get(k)}
        counts = tuple(
            (k, counted(n, among=(listed[k].id, k) if k in listed else None)) for k, n in table.counts.items()
        )
        yield Table("Counted in retrieval", ("what", "how many"), counts)
    yield from (gold, again, asked)


def _again(which: str, questions: Sequence[Question], repeated: Sequence[tuple[str, str, str]]) -> Listing:
    """Return each source that a ranking has once more."""
    texts = {q.id: clip_line(q.text, _SAID) for q in questions}
    lines = [
        ((source, Cell(texts.get(id_, id_), item=id_), retriever), ["repeated in rankings"])
        for retriever, id_, source in repeated
    ]
    head = ("Source", "Question", "Ranking")
    return Listing.of(f"repeated-{which}", "Each source that a ranking repeats", head, lines)


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
    """Return questions that are no examples, with the slices that they are in; of rankings that failed for some, by retriever, too."""
    lacking = set(table.lacking)
    asked = [q for q in questions if q.id not in lacking]
    tags: dict[str, list[str]] = {q.id: [f"cites={m}" for m in cited_modalities(q)] for q in asked}
    for name, (kind, ids) in document_slices(asked).items():
        called = ", ".join(part.partition("=")[2] for part in name.split("/"))
        for id_ in ids:
            tags[id_].append(called if kind == "style-modalities" else name)
    for retriever, by_cut in table.recalls.items():
        ranked = next(iter(by_cut.values()), {})
        if len(ranked) < len(asked):
            for id_ in ranked.keys() & tags.keys():
                tags[id_] += [f"{retriever}: {tag}" for tag in tags[id_] if ": " not in tag]
    lines = [((Cell(clip_line(q.text, _SAID), item=q.id), ", ".join(gold_of(q))), tags[q.id]) for q in asked]
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


def _retrieved(row: ScoreRow | None, exam: Exam | None, asked: str, counts: Mapping[str, int]) -> Cell:
    if row is None:
        return number(None)
    tags = (row.slice, f"{row.system}: {row.slice}")
    among = next(((asked, tag) for tag in tags if counts.get(tag) == row.n), None)
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


def overlap_section(
    table: OverlapTable,
    warnings: Sequence[str] = (),
    exam: Exam | None = None,
    questions: Sequence[Question] = (),
    claims: Sequence[StyleClaim] = (),
) -> Section:
    """Return how far styles overlap: two or more are claimed for a question.

    Args:
        table: the numbers.
        warnings: what changed since.
        exam: that asks the questions, where there is one.
        questions: that were generated.
        claims: what the model said of each of them.
    """
    each = _claimed(table, questions, claims)

    def led(row: OverlapRow, share: float | None, what: str) -> Cell:
        if each.tags:
            return Cell(show_value(share), among=(each.id, f"{row.style}: {what}"))
        return Cell(show_value(share), find=_of_style(row, exam) if share is not None else ())

    rows: tuple[Row, ...] = tuple(
        (
            row.style,
            counted(row.n, *(() if each.tags else _of_style(row, exam)), among=(each.id, row.style)),
            *(led(row, x, what) for x, what in ((row.overlap, "overlap"), (row.none, "no style"), (row.own, "own style"))),
            counted(row.unread, among=(each.id, f"{row.style}: unread")),
        )
        for row in table.rows
    )  # fmt: skip
    matrix = Heat(
        "Styles that are claimed, by the style that was meant, in percent", "meant", table.styles,
        tuple((row.style, tuple(row.claimed.get(s) for s in table.styles)) for row in table.rows), high=100.0, digits=1,
        finds=() if each.tags else tuple((_of_style(row, exam),) * len(table.styles) for row in table.rows), among=each.id,
    )  # fmt: skip
    head = ("style", "questions", "overlap %", "no style %", "own style %", "unread")
    note = "Overlap: two or more styles are claimed for a question."
    beware = [Paragraph(text, beware=True) for text in warnings]
    return Section("overlap", "Style overlap", (*beware, Table("Overlap", head, rows, note), matrix, each))


def _claimed(table: OverlapTable, questions: Sequence[Question], claims: Sequence[StyleClaim]) -> Listing:
    """Return each question with the styles that are claimed for it; nothing where these are other questions than the table's."""
    said: dict[str, list[StyleClaim]] = {}
    for claim in claims:
        said.setdefault(claim.qid, []).append(claim)
    lines: list[tuple[Row, Iterable[str]]] = []
    for q in questions:
        own, meant = said.get(q.id, []), q.facets.get("style", "")
        styles = [claim.style for claim in own if claim.said]
        if len(own) < len(table.styles) or any(claim.said is None for claim in own):
            tags = [f"{whose}: unread" for whose in (meant, "all")]
        else:
            whats = (
                ("overlap",) * (len(styles) > 1)
                + ("no style",) * (not styles)
                + ("own style",) * (meant in styles)
            )
            tags = [
                tag for whose in (meant, "all") for tag in (whose, *(f"{whose}: {what}" for what in whats))
            ]
            tags += [f"{whose}, {style}" for whose in (meant, "all") for style in styles]
        line = (Cell(clip_line(q.text, _SAID), item=q.id), meant, ", ".join(styles))
        lines.append((line, tags))
    found = Listing.of("overlap", "Each question and its styles", ("Question", "Meant", "Claimed"), lines)
    counts = found.counts
    fits = all(
        (counts.get(r.style, 0), counts.get(f"{r.style}: unread", 0)) == (r.n, r.unread) for r in table.rows
    )
    return found if claims and fits else Listing("overlap", replace(found.table, rows=()), ())


def _of_style(row: OverlapRow, exam: Exam | None) -> Find:
    return _find(exam, row.n, {"style": row.style} if row.style != "all" else {})


def concurrence_section(
    tables: Mapping[str, ConcurrenceTable | str],
    compared: Mapping[str, tuple[Sequence[Question], Sequence[Question]]] | None = None,
) -> Section | None:
    """Return whether questions that were generated rank systems as those of a data set do.

    Args:
        tables: by what systems are ranked by; why there is none, in words.
        compared: by the same, the questions of both benchmarks that every system has a mark for.
    """
    parts: list[Part] = []
    for by, table in tables.items():
        if isinstance(table, str):
            parts.append(Paragraph(f"{by}: {table}", beware=True))
        else:
            parts += _concurring(by, table, (compared or {}).get(by, ((), ())))
    return Section("concurrence", "Concurrence", tuple(parts)) if parts else None


def _concurring(by: str, table: ConcurrenceTable, compared: Sequence[Sequence[Question]]) -> Iterator[Part]:
    id_, both = f"concurrence-{by}", "both"
    lines = [
        ((Cell(clip_line(q.text, _SAID), item=q.id), name), (name, both))
        for name, questions in zip(table.benchmarks, compared, strict=True)
        for q in questions
    ]
    fits = tuple(map(len, compared)) == table.questions
    rows: tuple[Row, ...] = tuple(
        (without_address(system), *(Cell(f"{x:.2f}", among=(id_, name)) for x, name in zip(scores, table.benchmarks, strict=True)))
        for system, scores in table.scores.items()
    )  # fmt: skip
    note = "Mean over the questions that every system has a mark for."
    yield Table(f"Concurrence by {by}", ("system", *table.benchmarks), rows, note)
    ends = "" if table.low is None else f"{show_value(table.low, 2)} to {show_value(table.high, 2)}"
    facts = [
        ("Kendall's tau-b", "not defined" if table.tau is None else show_value(table.tau, 3), ends),
        *([("p", show_p(table.p), "")] if table.p is not None else []),
        ("pairs in opposite order", f"{table.discordant:,} of {table.pairs:,}", ""),
    ]
    led = tuple((name, Cell(text, small, among=(id_, both))) for name, text, small in facts)
    told = " ".join(f"{text.rstrip('.')}." for text in table.notes)
    yield Table(f"How alike both rank systems by {by}", ("", "value"), led, told)
    yield Listing.of(id_, f"Each question that ranks by {by}", ("Question", "Set"), lines if fits else ())


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
