"""The sections on the benchmark itself, whatever its questions are about: what it is, composition, funnel, verification."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from proctor.exam.question import (
    Choice,
    Footage,
    Form,
    Item,
    Open,
    Order,
    Procedure,
    Question,
    Source,
    gold_texts,
    type_of,
)
from proctor.exam.question import Part as Evidence
from proctor.metrics.text_statistics import mean_tokens, mean_words
from proctor.report import charts
from proctor.report.data import ROLES, About, Asked, Exam, Stage
from proctor.report.naming import name_runs
from proctor.report.numbers import count, counted, number, show_value
from proctor.report.parts import LEFT, Cell, Fold, Listing, Paragraph, Part, Row, Section, Table
from proctor.report.plaintext import clip_line
from proctor.verify.agreement import AgainstPeople
from proctor.verify.statistics import VerificationStatistics, verification_statistics
from proctor.verify.verdict import Verdict

__all__ = ["benchmark_section", "describe_exam", "funnel_section", "verification_section"]

_VALUES: Final = 30
"""Values of one facet that a table lists; the rest is counted."""
_SAID: Final = 160
"""Characters of a question in a listing."""
_ABOUT: Final[Mapping[type[Evidence], tuple[str, str]]] = {
    Footage: ("recording", "recordings"),
    Procedure: ("activity", "activities"),
    Source: ("source", "sources"),
}


_FORMS: Final[Mapping[type[Form], str]] = {
    Open: "open",
    Choice: "with options",
    Order: "to be put into order",
}


def describe_exam(exam: Exam) -> str:
    """Return a sentence on what is asked: how many questions about how many of what."""
    if not exam.items:
        return f"{exam.title}: the benchmark holds no questions."
    about = []
    for kind, words in _ABOUT.items():
        seen = {
            _name(part) for item in exam.items for part in item.question.evidence if isinstance(part, kind)
        }
        if seen:
            about.append(count(len(seen), *words))
    forms = {_FORMS[type(item.question.form)] for item in exam.items}
    form = f" ({' and '.join(sorted(forms))})"
    return (
        f"{count(len(exam.items), 'question')}{form}" + (f" about {', '.join(about)}" if about else "") + "."
    )


def _name(part: Evidence) -> str:
    return (
        part.recording if isinstance(part, Footage) else getattr(part, "id", "") or getattr(part, "path", "")
    )


def benchmark_section(about: About, exams: Sequence[Exam], shown: Collection[str] | None = None) -> Section:
    """Return what the benchmark is and what it is composed of.

    Args:
        about: it.
        exams: with its questions.
        shown: ids of the questions that the page has as examples; all by default.
    """
    facts: list[tuple[str, str | Cell]] = []
    facts += [("benchmark", f"{about.name} {about.version}".strip())] if about.name else []
    facts += [(f"questions: {e.title}", counted(len(e.items), ("exam", e.title))) for e in exams]
    facts += [("runs", counted(sum(len(e.runs) for e in exams), among=("runs", "runs")))]
    facts += [("licence", about.licence)] if about.licence else []
    parts: list[Part] = [Paragraph(about.made)] if about.made else []
    for exam in exams:
        if exam.items:
            parts += _composition(exam)
    runs: list[tuple[Row, Iterable[str]]] = [
        (
            (Cell(name.label, find=(("exam", e.title), ("run", name.label))), e.title, ROLES[run.role]),
            ["runs"],
        )
        for e in exams
        for run, name in zip(e.runs, name_runs(e.runs).values(), strict=True)
    ]
    parts.append(Listing.of("runs", "Each run", ("Run", "Questions", "Role"), runs))
    left = [
        ((Cell(clip_line(item.question.text, _SAID), item.id), e.title, type_of(item.question)), LEFT[1:])
        for e in exams
        for item in e.items
        if shown is not None and item.id not in shown
    ]
    title = "Each question that is not among the examples"
    parts.append(Listing.of(LEFT[0], title, ("Question", "Set", "Type"), left))
    return Section("benchmark", "Benchmark", tuple(parts), tuple(facts))


def _composition(exam: Exam) -> Iterator[Part]:
    items, whole = exam.items, ("exam", exam.title)
    names = list(dict.fromkeys(name for item in items for name in item.question.facets))
    title = f"Composition: {exam.title}"
    rows: list[Row] = []
    further: list[tuple[Row, Iterable[str]]] = []
    id_ = f"values-{exam.id}"
    for name in names:
        values = Counter(item.question.facets.get(name, "–") for item in items)
        shown = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
        cells = [(value, n, counted(n, whole, (name, value))) for value, n in shown[:_VALUES]]
        if rest := shown[_VALUES:]:
            n = sum(n for _, n in rest)
            cells.append((f"{len(rest):,} more", n, counted(n, among=(id_, f"more of {name}"))))
            further += [
                ((value, name, counted(n, whole, (name, value))), (f"more of {name}",)) for value, n in rest
            ]
        for value, n, led in cells:
            share = replace(led, text=f"{100 * n / len(items):.1f}")
            rows.append((f"{name}: {value}", led, share, Cell(drawn=charts.bar(n, len(items)))))
    if rows:
        yield Table(title, ("", "Questions", "per cent", "share"), tuple(rows))
        yield Listing.of(id_, f"Each further value: {exam.title}", ("Value", "Of", "Questions"), further)
    yield Table(f"Questions and answers: {exam.title}", ("", "value"), tuple(_figures(exam, whole)))
    writers = Counter((g.written_by, g.approved_by) for item in items for g in item.golds)
    lines = tuple(
        (written, approved, counted(n, whole, ("answers by", f"{written}, approved by {approved}")))
        for (written, approved), n in sorted(writers.items())
    )
    table = Table(
        "Who wrote and who approved the accepted answers",
        ("Written by", "Approved by", "Answers"),
        lines,
        words=frozenset({1}),
    )
    yield Fold(f"Accepted answers: {exam.title}", (table, *_answers_histogram(items, whole)))
    yield _clusters(exam, whole)
    yield _texts(exam)


def _clusters(exam: Exam, whole: tuple[str, str]) -> Listing:
    """Return every cluster with its questions, and which runs have a mark for one of them."""
    clusters: dict[str, list[Item]] = {}
    for item in exam.items:
        clusters.setdefault(item.question.cluster or item.id, []).append(item)
    marked = {
        name.label: {id_ for id_, mark in run.table.item_marks.items() if mark is not None}
        for run, name in zip(exam.runs, name_runs(exam.runs).values(), strict=True)
        if run.table is not None
    }
    lines: list[tuple[Row, Iterable[str]]] = []
    for cluster, items in clusters.items():
        one = items[0].id if len(items) == 1 else ""
        led = replace(counted(len(items), whole, ("cluster", cluster)), item=one)
        first = Cell(cluster, item=one)
        own = {item.id for item in items}
        tags = [f"with a mark: {label}" for label, ids in marked.items() if not own.isdisjoint(ids)]
        lines.append(((first, led), ["clusters", *tags]))
    return Listing.of(f"clusters-{exam.id}", f"Each cluster: {exam.title}", ("Cluster", "Questions"), lines)


def _texts(exam: Exam) -> Listing:
    """Return every text of a question with the questions that have it."""
    texts: dict[str, list[Cell]] = {}
    for item in exam.items:
        texts.setdefault(item.question.text, []).append(Cell(item.id, item=item.id))
    lines = [((clip_line(text, _SAID), Cell(parts=tuple(own))), ["texts"]) for text, own in texts.items()]
    return Listing.of(
        f"texts-{exam.id}", f"Each text of a question: {exam.title}", ("Text", "Questions"), lines
    )


def _figures(exam: Exam, whole: tuple[str, str]) -> Iterator[tuple[str, str | Cell]]:
    items = exam.items
    questions = [item.question.text for item in items]
    answers = [text for item in items for text in gold_texts(item)]
    clusters = {item.question.cluster or item.id for item in items}
    yield "questions", counted(len(items), whole)
    yield "different question texts", counted(len(set(questions)), among=(f"texts-{exam.id}", "texts"))
    yield (
        "clusters (recordings, videos, documents)",
        counted(len(clusters), among=(f"clusters-{exam.id}", "clusters")),
    )
    means = {
        "accepted answers per question, mean": show_value(sum(len(i.golds) for i in items) / len(items), 2)
    }
    for what, texts in (("question", questions), ("answer", answers)):
        if texts:
            means[f"words per {what}, punctuation counted"] = show_value(mean_tokens(texts).value)
            means[f"words per {what}, split at white space"] = show_value(mean_words(texts).value)
    yield from ((name, Cell(text, find=(whole,))) for name, text in means.items())


def _answers_histogram(items: Sequence[Item], whole: tuple[str, str]) -> Iterator[Table]:
    found = sorted(Counter(len(item.golds) for item in items).items())
    if len(found) > 1:
        counts = {str(n): times for n, times in found}
        title, label = "Questions by number of accepted answers", "accepted answers"
        yield charts.counts_table(title, label, counts, "Of all questions.", find=(whole,))


# -- how they came about -------------------------------------------------------------------------------------------


def funnel_section(funnel: Sequence[Stage], exams: Sequence[Exam] = ()) -> Section:
    """Return how many came out of each stage, and who or what dropped the others."""
    built = [exam for exam in exams if exam.kind == "moment"] or exams
    whole = (("exam", built[0].title),) if len(built) == 1 else ()
    ids = [item.id for exam in built for item in exam.items]
    if not whole:
        funnel = [
            replace(s, passed=tuple(ids)) if (s.name, s.count) == ("built", len(ids)) else s for s in funnel
        ]
    largest = max((stage.count for stage in funnel), default=0)
    rows = tuple(
        (
            Cell(stage.name, stage.note),
            Cell(f"{stage.count:,}", stage.unit, "strong", find=whole if (stage.name, stage.count) == ("built", len(ids)) else (),
                 among=("funnel", f"{stage.name}: passed on")),
            Cell(drawn=charts.bar(stage.count, largest)),
            counted(sum(stage.dropped.values()), among=("funnel", f"{stage.name}: dropped")) if stage.dropped else "–",
            Cell(parts=tuple(Cell(f"{reason} {n:,}", among=("funnel", f"{stage.name}: {reason}"))
                             for reason, n in sorted(stage.dropped.items()))),
        )
        for stage in funnel
    )  # fmt: skip
    head = ("Stage", "Passed on", "share", "Dropped", "Why")
    table = Table("How the questions came about", head, rows, words=frozenset({4}))
    return Section("funnel", "Funnel", (table, *_each(funnel, exams)))


def _each(funnel: Sequence[Stage], exams: Sequence[Exam]) -> Iterator[Listing]:
    """Yield what became of each thing that the stages counted, what was dropped first."""
    items = _items_of(exams)
    tags: dict[tuple[str, int], dict[str, None]] = {}
    ends: dict[tuple[str, int], tuple[str, str]] = {}
    for stage in funnel:
        times = Counter[str]()
        for one in stage.gone:
            key = (
                one.id,
                times[one.id],
            )  # what one stage dropped twice, such as two lines of a reply, stands in two lines
            times[one.id] += 1
            own = dict.fromkeys((f"{stage.name}: dropped", f"{stage.name}: {one.reason}"))
            tags.setdefault(key, {}).update(own)
            ends[key] = (f"dropped, {stage.name}: {one.reason}", one.detail)
    for stage in funnel:
        for id_ in stage.passed:
            tags.setdefault((id_, 0), {})[f"{stage.name}: passed on"] = None
    lines: list[tuple[Row, Iterable[str]]] = []
    for key, own in tags.items():
        id_ = key[0]
        end = ends.get(key, ("in the benchmark" if id_ in items else "passed on", ""))
        lines.append(((Cell(id_, item=items.get(id_, "")), *end), own))
    if lines:
        yield Listing.of("funnel", "What became of each", ("Id", "Outcome", "Detail"), lines)


def _items_of(exams: Sequence[Exam]) -> dict[str, str]:
    """Return the question of the benchmark that each proposed one became, by its id."""
    items = [item for exam in exams for item in exam.items]
    made = {i.question.provenance.get("candidate", "") or i.question.parent or i.id: i.id for i in items}
    return {item.id: item.id for item in items} | made


def verification_section(
    asked: Mapping[str, Asked], against: Sequence[AgainstPeople], exams: Sequence[Exam] = ()
) -> Section | None:
    """Return who accepted what, how far annotators agree, and machines against people; None where nobody said anything.

    Raises:
        UserError: if a verdict does not fit its question.
    """
    parts: list[Part] = []
    for kind, proposed in asked.items():
        if proposed.verdicts:
            parts += _verified(kind if len(asked) > 1 else "", proposed, _items_of(exams))
    if any(machine.pairs for machine in against):
        parts.append(
            Table(
                "Machines against people",
                (
                    "Annotator",
                    "Of",
                    "Judged",
                    "With people",
                    "Agreement",
                    "Upheld of what it keeps",
                    "US dollars",
                ),
                tuple(_against(machine, asked) for machine in against),
                words=frozenset({1}),
                note="Shares with Wilson's 95 % interval, over judgements of people on the same; dollars where the price of every call is known.",
            )
        )
    return Section("verification", "Verification", tuple(parts)) if parts else None


def _verified(kind: str, asked: Asked, items: Mapping[str, str]) -> Iterator[Part]:
    suffix, id_ = f": {kind}" if kind else "", f"asked-{kind}" if kind else "asked"
    found = verification_statistics(asked.questions, asked.verdicts)
    if found.candidates:
        yield Table(f"People{suffix}", ("", "value"), tuple(_people(found, id_)))
        if found.questions.by_pair:
            rows: tuple[Row, ...] = tuple(
                (f"{p.a} and {p.b}", *(replace(number(x, 2), among=(id_, f"{p.a} and {p.b}")) for x in (p.raw, p.kappa)),
                 counted(p.raw.n, among=(id_, f"{p.a} and {p.b}")))
                for p in found.questions.by_pair
            )  # fmt: skip
            yield Table(
                f"Agreement of every two people on questions{suffix}",
                ("Two people", "Same", "Cohen's κ", "Questions"),
                rows,
            )
        yield Table(f"Answers through verification{suffix}", ("Question type", "Generated", "kept", "Written by people", "kept"),
                    tuple(_answers_by_type(found, id_)))  # fmt: skip
    yield Table(f"Annotators{suffix}", ("Annotator", "Kind", "Questions", "Accepted", "Rejected", "Unsure", "Why rejected"),
                tuple(_annotators(asked.verdicts, id_)), words=frozenset({1, 6}))  # fmt: skip
    dropped = tuple(_dropped(asked, id_))
    if dropped:
        yield Table(
            f"Who dropped what{suffix}",
            ("Question type", "Proposed", "Rejected by people", "Rejected by machines alone"),
            dropped,
        )
    yield from _judged(id_, suffix, asked, found, items)


def _judged(
    id_: str, suffix: str, asked: Asked, found: VerificationStatistics, items: Mapping[str, str]
) -> Iterator[Listing]:
    """Yield what everybody said of each question that was proposed, rejected ones first."""
    said: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in asked.verdicts:
        said[verdict.candidate_id].append(verdict)
    states = {one: state for state, ids in found.ids.items() for one in ids}
    order = sorted(asked.questions, key=lambda q: not any(v.question.value == "wrong" for v in said[q.id]))
    lines: list[tuple[Row, Iterable[str]]] = []
    for q in order:
        end = "in the benchmark" if q.id in items else "not in the benchmark"
        words = clip_line("; ".join(map(_words, said[q.id])), 2 * _SAID)
        question = Cell(clip_line(q.text, _SAID), item=items.get(q.id, ""))
        lines.append(((question, type_of(q), end, words), _tags(q, said[q.id], states.get(q.id, ""))))
    head = ("Question", "Type", "Outcome", "Said")
    yield Listing.of(id_, f"Each question that was proposed{suffix}", head, lines)


def _tags(question: Question, said: Sequence[Verdict], state: str) -> Iterator[str]:
    """Yield the tags of the numbers that count a question; a state is what people's verdicts came to."""
    kind = type_of(question)
    yield from ("proposed", f"{kind}: proposed")
    if state:
        yield from ("judged by people", f"{state} by people", f"{kind}: judged by people")
    for verdict in said:
        who, value = _who(verdict), verdict.question.value
        yield from (f"{who}: judged", f"{who}: {value}")
        if value != "unsure":
            yield f"{who}: right or wrong"
        if value == "wrong" and verdict.question.reason:
            yield f"{who}: wrong, {verdict.question.reason}"
        if verdict.own_answers:
            yield f"with answers by {'adjudicators' if verdict.role == 'adjudicator' else 'annotators'}"
    decided = [v for v in said if v.question.value != "unsure"]
    if any(v.annotator_kind == "human" for v in decided):
        for verdict in decided:
            if verdict.annotator_kind != "human":
                both = f"{_who(verdict)} and people"
                yield from (both, f"{both}: kept")[: 1 + (verdict.question.value == "right")]
    wrong = {v.annotator_kind == "human" for v in said if v.question.value == "wrong"}
    if wrong:
        yield f"{kind}: rejected by {'people' if True in wrong else 'machines alone'}"
    people = {v.annotator: v for v in said if v.annotator_kind == "human" and v.role != "adjudicator"}
    for a, b in combinations(sorted(people), 2):
        values = people[a].question.value, people[b].question.value
        yield from (f"{a} and {b}", "judged by two people")
        if values[0] == values[1]:
            yield "judged alike by two people"
        if values == ("right", "right"):
            yield "kept by two people"


def _who(verdict: Verdict) -> str:
    return f"{verdict.annotator} (adjudicator)" if verdict.role == "adjudicator" else verdict.annotator


def _words(verdict: Verdict) -> str:
    reason = f" ({verdict.question.reason})" if verdict.question.reason else ""
    return f"{_who(verdict)}: {verdict.question.value}{reason}"


def _against(machine: AgainstPeople, asked: Mapping[str, Asked]) -> Row:
    kinds = [
        kind for kind, one in asked.items() if any(v.annotator == machine.annotator for v in one.verdicts)
    ]
    # what it judged of several kinds is in no single list
    id_ = "" if len(kinds) > 1 else f"asked-{kinds[0]}" if kinds and len(asked) > 1 else "asked"
    judged, both = (id_, f"{machine.annotator}: right or wrong"), f"{machine.annotator} and people"
    agreement, precision = (
        Cell("–")
        if share is None
        else Cell(f"{share[0]:.2f}", f"{share[1]:.2f} to {share[2]:.2f}", among=(id_, tag))
        for share, tag in (
            (machine.agreement, both),
            (machine.precision, f"{both}: kept"),
        )
    )
    cost = Cell("–") if machine.cost is None else Cell(f"{machine.cost:.2f}", among=judged)
    return (
        machine.annotator,
        machine.of,
        counted(machine.judged, among=judged),
        counted(machine.pairs, among=(id_, both)),
        agreement,
        precision,
        cost,
    )


def _people(v: VerificationStatistics, id_: str) -> Iterator[tuple[str, str | Cell]]:
    judged = f"{v.candidates:,} by {count(len(v.annotators), 'person', 'people')}"
    yield "candidates judged", Cell(judged, among=(id_, "judged by people"))
    names = ("accepted", "rejected", "open")
    states = tuple(counted(v.states.get(x, 0), among=(id_, f"{x} by people")) for x in names)
    yield "accepted, rejected, waiting for an adjudicator", Cell(parts=states)
    for what, agreement in (("questions", v.questions), ("answers, where both kept the question", v.answers)):
        share = f" ({agreement.agreed / agreement.n:.3f})" if agreement.n else ""
        alike, over = (
            ("judged alike by two people", "judged by two people")
            if what == "questions"
            else ("kept by two people",) * 2
        )
        yield (
            f"judged alike: {what}",
            Cell(f"{agreement.agreed:,} of {agreement.n:,}{share}", among=(id_, alike)),
        )
        yield f"Cohen's κ: {what}", replace(number(agreement.kappa, 2), among=(id_, over))
    for whose, counts, tag in (
        ("generated answers", v.machine, "judged by people"),
        ("answers of annotators", v.human, "with answers by annotators"),
    ):
        yield f"{whose} kept", Cell(f"{counts.kept:,} of {counts.proposed:,}", among=(id_, tag))
    yield "answers added by adjudicators", counted(v.added, among=(id_, "with answers by adjudicators"))


def _answers_by_type(v: VerificationStatistics, id_: str) -> Iterator[Row]:
    for name in sorted({*v.machine.by_type, *v.human.by_type}):
        pairs = (v.machine.by_type.get(name, (0, 0)), v.human.by_type.get(name, (0, 0)))
        among = (id_, f"{name}: judged by people")
        yield (name, *(counted(n, among=among) for pair in pairs for n in pair))


def _annotators(verdicts: Sequence[Verdict], id_: str) -> Iterator[Row]:
    by_name: dict[tuple[str, str, str], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        by_name[verdict.annotator_kind, verdict.annotator, verdict.role].append(verdict)
    for (kind, name, role), given in sorted(by_name.items()):
        values = Counter(v.question.value for v in given)
        reasons = Counter(
            v.question.reason for v in given if v.question.value == "wrong" and v.question.reason
        )
        who = _who(given[0])
        most = reasons.most_common(5)
        why = tuple(Cell(f"{r} {n:,}", among=(id_, f"{who}: wrong, {r}")) for r, n in most)
        tag = "adjudicator" if role == "adjudicator" else ""
        yield (
            Cell(name, tag=tag),
            kind,
            counted(len(given), among=(id_, f"{who}: judged")),
            *(counted(values[x], among=(id_, f"{who}: {x}")) for x in ("right", "wrong", "unsure")),
            Cell(parts=why),
        )


def _dropped(asked: Asked, id_: str) -> Iterator[Row]:
    wrong = [v for v in asked.verdicts if v.question.value == "wrong"]
    people = {v.candidate_id for v in wrong if v.annotator_kind == "human"}
    machines = {v.candidate_id for v in wrong} - people
    by_type: dict[str, list[str]] = defaultdict(list)
    for question in asked.questions:
        by_type[type_of(question)].append(question.id)
    for name, ids in sorted(by_type.items()):
        counts = {"proposed": len(ids), "rejected by people": sum(i in people for i in ids)}
        counts["rejected by machines alone"] = sum(i in machines for i in ids)
        yield (name, *(counted(n, among=(id_, f"{name}: {what}")) for what, n in counts.items()))
