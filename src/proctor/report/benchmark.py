"""The sections on the benchmark itself, whatever its questions are about: what it is, composition, funnel, verification."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
)
from proctor.exam.question import Part as Evidence
from proctor.metrics.text_statistics import mean_tokens, mean_words
from proctor.report import charts
from proctor.report.data import About, Asked, Exam, Stage
from proctor.report.numbers import count, number, show_value
from proctor.report.parts import Cell, Fold, Paragraph, Part, Row, Section, Table
from proctor.verify.agreement import AgainstPeople
from proctor.verify.statistics import VerificationStatistics, verification_statistics
from proctor.verify.verdict import Verdict

__all__ = ["benchmark_section", "describe_exam", "funnel_section", "verification_section"]

_VALUES: Final = 30
"""Values of one facet that a table lists; the rest is counted."""
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


def benchmark_section(about: About, exams: Sequence[Exam]) -> Section:
    """Return what the benchmark is and what it is composed of."""
    facts = [("benchmark", f"{about.name} {about.version}".strip())] if about.name else []
    facts += [(f"questions: {e.title}", f"{len(e.items):,}") for e in exams]
    facts += [("runs", f"{sum(len(e.runs) for e in exams):,}")]
    facts += [("licence", about.licence)] if about.licence else []
    parts: list[Part] = [Paragraph(about.made)] if about.made else []
    for exam in exams:
        if exam.items:
            parts += _composition(exam)
    return Section("benchmark", "Benchmark", tuple(parts), tuple(facts))


def _composition(exam: Exam) -> Iterator[Part]:
    items = exam.items
    names = list(dict.fromkeys(name for item in items for name in item.question.facets))
    title = f"Composition: {exam.title}"
    rows: list[Row] = []
    for name in names:
        values = Counter(item.question.facets.get(name, "–") for item in items)
        shown = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
        listed = shown[:_VALUES]
        rest = sum(n for _, n in shown[_VALUES:])
        for value, n in [*listed, *([(f"{len(shown) - _VALUES:,} more", rest)] if rest else [])]:
            rows.append(
                (
                    f"{name}: {value}",
                    f"{n:,}",
                    f"{100 * n / len(items):.1f}",
                    Cell(drawn=charts.bar(n, len(items))),
                )
            )
    if rows:
        yield Table(title, ("", "Questions", "per cent", "share"), tuple(rows))
    yield Table(f"Questions and answers: {exam.title}", ("", "value"), tuple(_figures(items)))
    writers = Counter((g.written_by, g.approved_by) for item in items for g in item.golds)
    lines = tuple((written, approved, f"{n:,}") for (written, approved), n in sorted(writers.items()))
    table = Table(
        "Who wrote and who approved the accepted answers",
        ("Written by", "Approved by", "Answers"),
        lines,
        words=frozenset({1}),
    )
    yield Fold(f"Accepted answers: {exam.title}", (table, *_answers_histogram(items)))


def _figures(items: Sequence[Item]) -> Iterator[tuple[str, str]]:
    questions = [item.question.text for item in items]
    answers = [text for item in items for text in gold_texts(item)]
    clusters = {item.question.cluster or item.id for item in items}
    yield "questions", f"{len(items):,}"
    yield "different question texts", f"{len(set(questions)):,}"
    yield "clusters (recordings, videos, documents)", f"{len(clusters):,}"
    yield "accepted answers per question, mean", show_value(sum(len(i.golds) for i in items) / len(items), 2)
    yield "words per question, punctuation counted", show_value(mean_tokens(questions).value)
    yield "words per question, split at white space", show_value(mean_words(questions).value)
    if answers:
        yield "words per answer, punctuation counted", show_value(mean_tokens(answers).value)
        yield "words per answer, split at white space", show_value(mean_words(answers).value)


def _answers_histogram(items: Sequence[Item]) -> Iterator[Table]:
    found = sorted(Counter(len(item.golds) for item in items).items())
    if len(found) > 1:
        counts = {str(n): times for n, times in found}
        yield charts.counts_table(
            "Questions by number of accepted answers", "accepted answers", counts, "Of all questions."
        )


# -- how they came about -------------------------------------------------------------------------------------------


def funnel_section(funnel: Sequence[Stage]) -> Section:
    """Return how many came out of each stage, and who or what dropped the others."""
    largest = max((stage.count for stage in funnel), default=0)
    rows = tuple(
        (
            Cell(stage.name, stage.note), Cell(f"{stage.count:,}", stage.unit, "strong"), Cell(drawn=charts.bar(stage.count, largest)),
            f"{sum(stage.dropped.values()):,}" if stage.dropped else "–",
            ", ".join(f"{reason} {n:,}" for reason, n in sorted(stage.dropped.items())),
        )
        for stage in funnel
    )  # fmt: skip
    head = ("Stage", "Passed on", "share", "Dropped", "Why")
    return Section(
        "funnel", "Funnel", (Table("How the questions came about", head, rows, words=frozenset({4})),)
    )


def verification_section(asked: Mapping[str, Asked], against: Sequence[AgainstPeople]) -> Section | None:
    """Return who accepted what, how far annotators agree, and machines against people; None where nobody said anything.

    Raises:
        UserError: if a verdict does not fit its question.
    """
    parts: list[Part] = []
    for kind, proposed in asked.items():
        if proposed.verdicts:
            parts += _verified(kind if len(asked) > 1 else "", proposed)
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
                tuple(map(_against, against)),
                words=frozenset({1}),
                note="Shares with Wilson's 95 % interval, over judgements of people on the same; dollars where the price of every call is known.",
            )
        )
    return Section("verification", "Verification", tuple(parts)) if parts else None


def _verified(kind: str, asked: Asked) -> Iterator[Part]:
    suffix = f": {kind}" if kind else ""
    found = verification_statistics(asked.questions, asked.verdicts)
    if found.candidates:
        yield Table(f"People{suffix}", ("", "value"), tuple(_people(found)))
        if found.questions.by_pair:
            rows = tuple(
                (f"{p.a} and {p.b}", number(p.raw, 2), number(p.kappa, 2), f"{p.raw.n:,}")
                for p in found.questions.by_pair
            )
            yield Table(
                f"Agreement of every two people on questions{suffix}",
                ("Two people", "Same", "Cohen's κ", "Questions"),
                rows,
            )
        yield Table(f"Answers through verification{suffix}", ("Question type", "Generated", "kept", "Written by people", "kept"),
                    tuple(_answers_by_type(found)))  # fmt: skip
    yield Table(f"Annotators{suffix}", ("Annotator", "Kind", "Questions", "Accepted", "Rejected", "Unsure", "Why rejected"),
                tuple(_annotators(asked.verdicts)), words=frozenset({1, 6}))  # fmt: skip
    dropped = tuple(_dropped(asked.questions, asked.verdicts))
    if dropped:
        yield Table(
            f"Who dropped what{suffix}",
            ("Question type", "Proposed", "Rejected by people", "Rejected by machines alone"),
            dropped,
        )


def _against(machine: AgainstPeople) -> Row:
    agreement, precision = (
        Cell("–") if share is None else Cell(f"{share[0]:.2f}", f"{share[1]:.2f} to {share[2]:.2f}")
        for share in (machine.agreement, machine.precision)
    )
    cost = "–" if machine.cost is None else f"{machine.cost:.2f}"
    return (
        machine.annotator,
        machine.of,
        f"{machine.judged:,}",
        f"{machine.pairs:,}",
        agreement,
        precision,
        cost,
    )


def _people(v: VerificationStatistics) -> Iterator[tuple[str, str | Cell]]:
    yield "candidates judged", f"{v.candidates:,} by {count(len(v.annotators), 'person', 'people')}"
    states = (v.states.get(name, 0) for name in ("accepted", "rejected", "open"))
    yield "accepted, rejected, waiting for an adjudicator", ", ".join(f"{n:,}" for n in states)
    for what, agreement in (("questions", v.questions), ("answers, where both kept the question", v.answers)):
        share = f" ({agreement.agreed / agreement.n:.3f})" if agreement.n else ""
        yield f"judged alike: {what}", f"{agreement.agreed:,} of {agreement.n:,}{share}"
        yield f"Cohen's κ: {what}", number(agreement.kappa, 2)
    yield "generated answers kept", f"{v.machine.kept:,} of {v.machine.proposed:,}"
    yield "answers of annotators kept", f"{v.human.kept:,} of {v.human.proposed:,}"
    yield "answers added by adjudicators", f"{v.added:,}"


def _answers_by_type(v: VerificationStatistics) -> Iterator[tuple[str, ...]]:
    for name in sorted({*v.machine.by_type, *v.human.by_type}):
        pairs = (v.machine.by_type.get(name, (0, 0)), v.human.by_type.get(name, (0, 0)))
        yield (name, *(f"{n:,}" for pair in pairs for n in pair))


def _annotators(verdicts: Sequence[Verdict]) -> Iterator[Row]:
    by_name: dict[tuple[str, str, str], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        by_name[verdict.annotator_kind, verdict.annotator, verdict.role].append(verdict)
    for (kind, name, role), given in sorted(by_name.items()):
        values = Counter(v.question.value for v in given)
        reasons = Counter(
            v.question.reason for v in given if v.question.value == "wrong" and v.question.reason
        )
        why = ", ".join(f"{reason} {n:,}" for reason, n in reasons.most_common(5))
        tag = "adjudicator" if role == "adjudicator" else ""
        yield (
            Cell(name, tag=tag),
            kind,
            f"{len(given):,}",
            *(f"{values[x]:,}" for x in ("right", "wrong", "unsure")),
            why,
        )


def _dropped(questions: Sequence[Question], verdicts: Sequence[Verdict]) -> Iterator[tuple[str, ...]]:
    people = {v.candidate_id for v in verdicts if v.annotator_kind == "human" and v.question.value == "wrong"}
    machines = {
        v.candidate_id for v in verdicts if v.annotator_kind != "human" and v.question.value == "wrong"
    } - people
    by_type: dict[str, list[str]] = defaultdict(list)
    for question in questions:
        by_type[question.facets.get("type", question.kind)].append(question.id)
    for name, ids in sorted(by_type.items()):
        yield (
            name,
            f"{len(ids):,}",
            f"{sum(i in people for i in ids):,}",
            f"{sum(i in machines for i in ids):,}",
        )
