"""The sections on how an exam was answered: leaderboard, slices, who can be told apart, answers without a mark, what it cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Final

from proctor.exam.corrected import CorrectedScore
from proctor.exam.judge_marks import JudgeSetup, judge_sort
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.table import LetterRow, ScoreRow
from proctor.report import charts
from proctor.report.answers import answers, by_draw, mark_codes
from proctor.report.data import ROLES, SharedCost
from proctor.report.figures.tradeoff import TRADEOFF_GUIDE, Tradeoff, TradeoffPoint, draw_tradeoff, money
from proctor.report.highlights import takers
from proctor.report.naming import common, judge_parts, span, without_address
from proctor.report.numbers import count, counted, guessed, number, show_p, show_value, signed
from proctor.report.parts import Cell, Drawn, Find, Fold, Heat, Listing, Paragraph, Part, Row, Section, Table
from proctor.report.standing import ALPHA, Line, Standing, lacks, slice_label

__all__ = ["results_section", "standing_plot", "view_parts"]

_FEW: Final = 12
"""So many slices of one kind stand in a table with intervals; more of them in shades."""
_MANY: Final = 7
"""With more runs, columns are numbered as rows are."""
_BESIDE: Final = 4
"""Further measures that stand in the leaderboard; more of them have tables of their own, ``_TOGETHER`` in each."""
_TOGETHER: Final = 6
_LISTED: Final = 200
_BESIDE_EACH: Final = 20
"""Questions won and lost that are listed of two runs side by side."""
_NAMED: Final = 3
_TITLES: Final[Mapping[str, str]] = {
    "noise": "Clean and noisy moments",
    "type": "Question types",
    "activity": "Activities",
    "kind": "Kinds of accepted answers",
    "dataset": "Data sets",
    "position": "Place in the clip",
    "modalities": "Sources that are needed",
    "style-modalities": "Style and sources",
}
_COST: Final = ("calls", "tokens_in", "tokens_out", "cost")
_MEASURES: Final[Mapping[str, str]] = {
    "judge": "Score",
    "accuracy": "Accuracy",
    "circular_accuracy": "Right in all rotations",
    "consistency": "Right by the judge",
    "position_accuracy": "Right places",
    "perfect_match_ratio": "Whole order right",
    "longest_common_subsequence": "Lq, steps",
    "longest_common_substring": "Lr, steps",
    "kendall_tau": "Kendall's τ",
    "displacement": "Distance, steps (less is better)",
    "valid_order": "Keeps the graph",
    "violated_share": "Graph violated (less is better)",
    "comparable_tau": "τ on the graph",
}


def run_cell(line: Line, *, flat: bool = False) -> Cell:
    """Return the name of a run as the label of a table's line."""
    role = line.run.role
    tone = "" if role in ("system", "human") else role
    tag = ("rehearsed" if line.run.played else "") if role == "system" else ROLES[role]
    if flat:
        return Cell(line.name.label, tone=tone, title=line.run.name)
    return Cell(line.name.title, line.name.view, tone, tag=tag, title=line.run.name)


def results_section(
    standing: Standing,
    corrected: Mapping[str, CorrectedScore],
    shared: Sequence[SharedCost] = (),
    *,
    calibrated: bool = False,
    level: float = 0.95,
    plot: bool = False,
) -> Section:
    """Return the section of an exam.

    Args:
        standing: of its runs.
        corrected: run to its score as people would have marked.
        shared: costs of several runs.
        calibrated: whether the judges were held against people.
        level: of the intervals.
        plot: whether the scores are drawn here, since they are not on top of the page.
    """
    exam = standing.exam
    listed = answers(standing)
    parts: list[Part] = [Paragraph(text, beware=True) for text in exam.warnings]
    if not standing.lines:
        parts.append(Paragraph("There is no run yet. Scores and comparisons appear here once there is one."))
        return Section(exam.id, f"Results: {exam.title}", tuple(parts))
    parts += filter(None, [standing_plot(standing) if plot else None])
    parts += _board(standing, corrected, listed.counts, calibrated=calibrated, level=level)
    parts += _further(standing)
    parts += _by_slices(standing)
    parts += view_parts(standing)
    parts += _pairs(standing, level)
    parts += _shown(standing)
    parts += _marks(standing, listed)
    parts += _letters(standing, listed)
    parts += _lacking(standing, listed)
    parts += _costs(standing, shared)
    parts.append(listed)
    return Section(exam.id, f"Results: {exam.title}", tuple(parts))


# -- leaderboard ---------------------------------------------------------------------------------------------------


def measure_title(measure: str) -> str:
    """Return a measure as a heading."""
    return _MEASURES.get(measure, measure.replace("_", " "))


def _board(
    standing: Standing,
    corrected: Mapping[str, CorrectedScore],
    listed: Mapping[str, int],
    *,
    calibrated: bool,
    level: float,
) -> Iterator[Part]:
    people = any(line.run.name in corrected for line in standing.lines)
    chance = any((row := line.row()) is not None and row.chance is not None for line in standing.lines)
    unread = any((row := line.row()) is not None and row.unparsed for line in standing.lines)
    matched = any((row := line.row()) is not None and row.matched for line in standing.lines)
    others = [m for m in standing.measures[1:] if any(line.row("all", m) for line in standing.lines)]
    others = others if len(others) <= _BESIDE else []
    whole = (("exam", standing.exam.title),)
    main = measure_title(standing.measures[0]) if standing.measures else "Score"
    head = (
        "Run", "Rank", main, "Failures wrong to right", "Coverage", "Judge", *(["If people had judged"] if people else []), *map(measure_title, others),
        *(["Guessing gets"] if chance else []), "Questions", "Clusters", "Failed",
        *(["Matched"] if matched else []), *(["Unread"] if unread else []), "Not asked",
    )  # fmt: skip
    rows: list[Row] = []
    for line in standing.board:
        row, c = line.row(), corrected.get(line.run.name)
        counts: list[str | Cell] = ["–"] * (4 + matched + unread)
        if row is not None:
            codes, id_, label = mark_codes(standing, line), f"answers-{standing.exam.id}", line.name.label
            marked = (
                _marked(standing, line, "marked", row.n, codes)
                if codes["no mark"]
                else find_run(standing, line)
            )
            clusters = row.clusters or _clusters(standing, line)
            tag = f"{label}: without a mark"
            unmarked = (id_, tag) if listed.get(tag) == row.failed else None
            counts = [
                counted(row.n, *marked),
                counted(clusters, among=(f"clusters-{standing.exam.id}", f"with a mark: {label}")),
                _odd(row.failed, *_marked(standing, line, "failed", row.failed, codes), among=unmarked),
                *(
                    _odd(n, among=(id_, f"{label}: {what}"))
                    for what, n, told in (
                        ("matched", row.matched, matched),
                        ("unparsed", row.unparsed, unread),
                    )
                    if told
                ),
                _odd(row.skipped, *_marked(standing, line, "not asked", row.skipped, codes)),
            ]
        rows.append(
            (
                run_cell(line),
                Cell("–" if line.rank.place is None else str(line.rank.place), title=line.rank.why),
                replace(
                    number(
                        row,
                        tone="strong" if not line.rank.why else "",
                        mark="*" if row is not None and row.note else "",
                    ),
                    find=find_run(standing, line),
                ),
                *_bounds(row, line.rank.why, find_run(standing, line), whole),
                judge_cell(row),
                *([_corrected(c, find_run(standing, line))] if people else []),
                *(_other(standing, line, m) for m in others),
                *([replace(_guessing(line, level), find=find_run(standing, line))] if chance else []),
                *counts,
            )
        )
    notes = [
        "From 0 to 100; a judge's marks count 100 for a match, 50 for a partial answer and 0 for a wrong one, shares are per cent.",
        (
            f"Below each number its {100 * level:g} % interval, by a bootstrap over clusters (recordings, videos), because questions "
            "of one share its difficulty. A floor answers without the evidence; an upper bound, with an upright line, is shown "
            "what systems must not see."
        ),
    ]
    if chance:
        notes.append(
            "Guessing gets: what an answer drawn evenly gets on average, and below it, of options, where "
            f"{100 * level:g} % of such sets of guesses land."
        )
    if matched:
        notes.append("Matched: replies of which no rule reads an option; a model said which one they mean.")
    if unread:
        notes.append("Unread: replies that could not be read, which count as wrong.")
    if people:
        notes.append(
            "If people had judged: corrected by people's marks on a part of the answers; a dash where these are too few."
        )
    notes.append(
        "Failures wrong to right: the score with every question as wrong, and as right, that failed, was not marked or never asked; "
        "the score itself leaves them out. Coverage: questions that were answered and marked. Rank: among systems and people with "
        "the same judge."
    )
    yield Table("Leaderboard", head, tuple(rows), " ".join(notes), words=frozenset({5}), sortable=True)
    for line in standing.lines:
        if line.rank.why and line.row() is not None:
            yield Paragraph(f"Not ranked: {line.name.label}: {line.rank.why}.", beware=True)
    yield from _floors_by_rule(standing)
    if not calibrated and any(line.run.judgements for line in standing.lines):
        yield Paragraph(
            "Not calibrated: the judge was not compared with people on these answers, so how far it agrees with them is not known."
        )
    told: dict[str, list[str]] = {}
    for line in standing.lines:
        for text in _said(line):
            told.setdefault(text.rstrip("."), []).append(line.name.label)
    said = [
        f"{'; '.join(names[:_NAMED])}{f' and {len(names) - _NAMED} more' if len(names) > _NAMED else ''}: {text}."
        for text, names in told.items()
    ]
    if said:
        yield Paragraph(f"* {' '.join(said)}")
    if lacking := [line.name.label for line in standing.lines if line.run.table is None]:
        yield Paragraph(f"Without scores yet (proctor score): {', '.join(lacking)}.", beware=True)


def _odd(n: int, *find: tuple[str, str], among: tuple[str, str] | None = None) -> Cell:
    """Return a number of questions that should be 0."""
    return counted(n, *find, among=among, tone="warn" if n else "soft")


def standing_plot(standing: Standing) -> Drawn | None:
    """Return scores with intervals, best first, the best floor and the upper bound as shaded bands behind; None without scores."""
    shown = [line for line in standing.board if line.value is not None]
    rivals = [line for line in shown if line.run.role in ("system", "human")] or shown
    judge = standing.judge or rivals[0].judge if rivals else ""
    floor, upper = standing.best("floor"), standing.best("upper")
    low, high = (row.value if row is not None and row.judge == judge else None for row in (floor, upper))
    if not rivals or rivals[0].row() is None or rivals[0].rows[("all", rivals[0].main)].raw:
        return None
    rows = [(line.name.label, line.run.role, row) for line in rivals if (row := line.row()) is not None]
    guide = ["The mark is the score, the line its interval."]
    guide += (
        [
            f"Shaded from the left: what the {standing.best_floor} reaches without the evidence ({show_value(low)})."
        ]
        if low
        else []
    )
    if upper is not None:
        by = "" if high is not None else f", by {judge_parts(JudgeSetup(upper.judge))[0].partition('(')[0]}"
        beyond = "; shaded beyond" if high and high < 100 else ""
        guide.append(f"The upright line: the upper bound ({show_value(upper.value)}{by}){beyond}.")
    chart = charts.standing_chart(rows, low, high, upper.value if upper is not None else None)
    cells = tuple(Cell(find=find_run(standing, line)) for line in rivals if line.row() is not None)
    return Drawn(f"Scores: {standing.exam.title}", chart, " ".join(guide), cells)


def _guessing(line: Line, level: float) -> Cell:
    """Return what guessing gets; where sets of guesses land is known of options alone, which are right or wrong."""
    row, table = line.row(), line.run.table
    if row is not None and table is not None and table.letters is None:
        return Cell(show_value(row.chance))
    return guessed(row.chance if row else None, row.n if row else 0, level)


def _further(standing: Standing) -> Iterator[Part]:
    """Yield tables of the measures for which the leaderboard has no room, with what guessing gets."""
    others = [m for m in standing.measures[1:] if any(line.row("all", m) for line in standing.scored)]
    for at in range(0, len(others) if len(others) > _BESIDE else 0, _TOGETHER):
        names = others[at : at + _TOGETHER]
        rows = [(run_cell(line), *(_other(standing, line, m) for m in names)) for line in standing.scored]
        first = [next(r for line in standing.scored if (r := line.row("all", m))) for m in names]
        whole = (("exam", standing.exam.title),)
        chances = (Cell(show_value(row.chance, 2 if row.raw else 1), find=whole) for row in first)
        rows.append((Cell("Guessing gets", tone="floor"), *chances))
        title = "Further measures" + (", continued" if at else "")
        yield Table(title, ("Run", *map(measure_title, names)), tuple(rows))


def _other(standing: Standing, line: Line, measure: str) -> Cell:
    """Return a further measure: 0 to 100, or in its own unit with two digits."""
    row = line.row("all", measure)
    return replace(
        number(row, 2 if row is not None and row.raw else 1),
        find=find_run(standing, line) if row is not None else (),
    )


def _corrected(score: CorrectedScore | None, find: Find) -> Cell:
    if score is None or score.mean.value is None:
        return number(None)
    return replace(number(score.mean), find=find)


def _bounds(row: ScoreRow | None, why: str, find: Find, whole: Find) -> tuple[Cell, Cell]:
    if row is None:
        return Cell("–", tone="soft"), Cell("–", tone="soft")
    tone = "warn" if why else "" if row.coverage < 1 else "soft"
    ends = "–" if row.least is None else f"{show_value(row.least)} to {show_value(row.most)}"
    return Cell(ends, tone=tone, find=whole if row.least is not None else ()), Cell(
        f"{show_value(100 * row.coverage)} %", f"{row.n:,} of {row.asked:,}", tone, find=find
    )


def judge_cell(row: ScoreRow | None) -> Cell:
    """Return who gave the marks of a score, and whether that is a rule, a model or people."""
    if row is None or not row.judge:
        return Cell("–", tone="soft")
    model, rubric = judge_parts(JudgeSetup(row.judge))
    model = model.partition("(")[0] or model  # a rule's settings stand in the appendix
    return Cell(model, rubric, tag=judge_sort(row.judge), title=row.judge)


def _above(row: ScoreRow | None, floor: ScoreRow | None) -> float | None:
    """Return how far a score lies above a floor's; None where two judges marked them, for such numbers are not comparable."""
    if row is None or floor is None or row.value is None or floor.value is None or row.judge != floor.judge:
        return None
    return row.value - floor.value


def _floors_by_rule(standing: Standing) -> Iterator[Part]:
    """Say which floors and bounds have another judge than systems."""
    judges = {line.judge for line in standing.ranked}
    others = [
        line for line in standing.scored if line.run.role in ("floor", "upper") and line.judge not in judges
    ]
    if judges and others:
        yield Paragraph(
            f"By rule ({', '.join(dict.fromkeys(line.judge for line in others))}): {', '.join(line.name.label for line in others)}. A rule is "
            "not as lenient as a model or people, so systems are not compared with these (proctor judge --judge-floors has a model mark "
            "them, too)."
        )


def _said(line: Line) -> Iterator[str]:
    row = line.row()
    if row is not None and row.note:
        yield row.note
    if line.run.table is not None:
        yield from line.run.table.notes
        if line.run.table.privilege:
            yield f"was shown what systems must not see ({line.run.table.privilege})"


def _clusters(standing: Standing, line: Line) -> int:
    if line.run.table is None:
        return 0
    marked = {id_ for id_, mark in line.run.table.item_marks.items() if mark is not None}
    return len({item.question.cluster or item.id for item in standing.exam.items if item.id in marked})


# -- slices --------------------------------------------------------------------------------------------------------


def _by_slices(standing: Standing) -> Iterator[Part]:
    for kind, sizes in standing.slices().items():
        if kind == "all" or not sizes:
            continue
        title = _TITLES.get(kind, kind.replace("-", " and ").capitalize())
        shades = _shades(standing, f"{title} by run", kind, sizes)
        if len(sizes) > _FEW:
            yield Fold(f"{title}: {len(sizes)} of them", (shades,))
        else:
            yield shades
            yield Fold(f"{title}: with intervals", tuple(_sliced(standing, title, kind, sizes)))


def _sliced(standing: Standing, title: str, kind: str, sizes: Mapping[str, int]) -> Iterator[Part]:
    floors = {name: standing.best("floor", name) for name in ("all", *sizes)}
    head = ("Run", "all", *(f"{slice_label(name)} (n {n:,})" for name, n in sizes.items()))

    def cell(line: Line, name: str) -> Cell:
        row = line.row(name)
        above = _above(row, floors[name]) if line.run.role != "floor" else None
        more = [] if above is None else [f"({signed(above)})"]
        if row is not None and row.coverage < 1 and row.least is not None:
            more.append(f"[{show_value(row.least)} to {show_value(row.most)}]")
        found = number(row, more=" ".join(more), mark="*" if row is not None and row.note else "")
        return replace(
            found, find=find_run(standing, line, **({} if name == "all" else {kind: slice_label(name)}))
        )

    rows = [(run_cell(line), *(cell(line, name) for name in ("all", *sizes))) for line in standing.scored]
    if any(floors.values()):
        best = tuple(_floor_cell(standing, kind, name, f) for name, f in floors.items())
        rows.append((Cell(standing.best_floor.capitalize(), tone="floor"), *best))
    few = any(row.note for line in standing.scored for name in sizes if (row := line.row(name)) is not None)
    notes = (
        ["In brackets: points above the best floor of the column, where the same judge marked it."]
        if any(floors.values())
        else []
    )
    if any(
        row.coverage < 1
        for line in standing.scored
        for name in ("all", *sizes)
        if (row := line.row(name)) is not None
    ):
        notes.append("In square brackets: with what has no mark as wrong, and as right.")
    notes += (
        [
            "* Fewer than ten clusters, or no variation between them: the interval is narrower than what is really known."
        ]
        if few
        else []
    )
    yield Table(title, head, tuple(rows), " ".join(notes))


def _floor_cell(standing: Standing, kind: str, name: str, row: ScoreRow | None) -> Cell:
    line = next((line for line in standing.lines if row is not None and line.row(name) is row), None)
    if row is None or line is None:
        return Cell("–")
    return Cell(
        show_value(row.value),
        find=find_run(standing, line, **({} if name == "all" else {kind: slice_label(name)})),
    )


def _shades(standing: Standing, title: str, kind: str, sizes: Mapping[str, int]) -> Heat:
    """Return the scores of slices by run; each value leads to its questions."""
    runs = [line for line in standing.board if line.value is not None]
    found = [[line.row(name) for line in runs] for name in sizes]
    rows = tuple(
        (f"{slice_label(name)} (n {n:,})", tuple(None if row is None else row.value for row in line))
        for (name, n), line in zip(sizes.items(), found, strict=True)
    )
    columns = tuple(line.name.short for line in runs)
    return Heat(
        title, "", columns, rows, high=100.0, digits=0,
        note="Grey: fewer than 10 questions, too few to say much. A number opens its questions.",
        counts=tuple(tuple(0 if row is None else row.n for row in line) for line in found),
        finds=tuple(tuple(find_run(standing, line, **{kind: slice_label(name)}) for line in runs) for name in sizes),
    )  # fmt: skip


# -- between runs --------------------------------------------------------------------------------------------------


def find_run(standing: Standing, line: Line, **more: str) -> Find:
    """Return which examples a number of a run leads to: those that it answered, of a slice, with a mark, against another run."""
    named = ((name, value) for name, value in more.items() if value)
    return (("exam", standing.exam.title), ("run", line.name.label), *named)


def _marked(standing: Standing, line: Line, code: str, n: int, codes: Mapping[str, int]) -> Find:
    """Return how the questions of a run with a mark are found; not at all where there are more or fewer than ``n``."""
    return find_run(standing, line, mark=code) if n and n == codes.get(code) else ()


def _side_by_side(standing: Standing) -> Iterator[Part]:
    """Yield which questions the first run wins and loses against the second: what the difference is made of."""
    pair = takers(standing)[:2]
    if len(pair) < 2 or pair[0].judge != pair[1].judge:
        return
    a, b = pair
    texts = {item.id: item.question.text for item in standing.exam.items}
    marks = [
        (id_, x, y) for id_ in texts if (x := a.mark(id_)) is not None and (y := b.mark(id_)) is not None
    ]
    won = sorted((m for m in marks if m[1] > m[2]), key=lambda m: m[2] - m[1])
    lost = sorted((m for m in marks if m[1] < m[2]), key=lambda m: m[1] - m[2])
    title = f"{a.name.label} beside {b.name.label}"
    counts = tuple(
        Cell(f"{n:,}", find=find_run(standing, a, other=b.name.label, than=than))
        for than, n in (
            ("better", len(won)),
            ("equal", len(marks) - len(won) - len(lost)),
            ("worse", len(lost)),
        )
    )
    head = ("", "Better", "Equal", "Worse")
    label = Cell(
        f"{a.name.short}, of {len(marks):,} questions",
        find=find_run(standing, a, other=b.name.label, than="compared"),
    )
    yield Table(title, head, ((label, *counts),))
    for what, than, found in (("Won", "better", won), ("Lost", "worse", lost)):
        whole = find_run(standing, a, other=b.name.label, than=than)
        rows = tuple(
            (
                Cell(texts[id_], item=id_),
                *(Cell(show_value(mark, 0), item=id_, find=whole) for mark in (x, y)),
            )
            for id_, x, y in found[:_BESIDE_EACH]
        )
        if rows:
            first = f": the first {len(rows)} of {len(found):,}" if len(found) > len(rows) else ""
            table = Table(f"{what} by {a.name.label}", ("Question", a.name.short, b.name.short), rows)
            yield Fold(f"{what} against {b.name.label}{first}", (table,))


def _pairs(standing: Standing, level: float) -> Iterator[Part]:
    if standing.note:
        yield Paragraph(standing.note, beware=True)
    if not standing.compared:
        return
    lines = standing.scored
    many = len(lines) > _MANY
    pairs = [
        (a, b)
        for n, a in enumerate(lines)
        for b in lines[n + 1 :]
        if (a.run.name, b.run.name) in standing.compared
    ]
    head = ("", *(str(n) if many else line.name.label for n, line in enumerate(lines, 1)))
    rows: list[Row] = []
    for n, line in enumerate(lines, 1):
        label = run_cell(line)
        first = Cell(f"{n} {label.text}" if many else label.text, label.small, label.tone, title=label.title)
        rows.append((first, *(_against(standing, line, other) for other in lines)))
    yield from _side_by_side(standing)
    yield Table(
        "Which runs differ significantly", head, tuple(rows),
        f"The run of the row minus the run of the column, in points, on the questions that both have a mark for. ▲ better, ▼ worse, "
        f"≈ no significant difference (p ≥ {ALPHA} after Holm's correction for {count(len(pairs), 'pair')}; signs of whole clusters flipped at "
        "random)." + (" Columns are numbered as rows are." if many else ""),
    )  # fmt: skip
    span_ = max(
        [
            10.0,
            *(
                abs(x)
                for t in standing.compared.values()
                for x in (t.difference, t.low, t.high)
                if x is not None
            ),
        ]
    )
    listed: list[Row] = []
    for a, b in pairs:
        told = standing.compared[a.run.name, b.run.name]
        c = told.stored
        wins, losses = (c.wins, c.losses) if c.b == a.run.name else (c.losses, c.wins)
        both, beside = b.name.label, find_run(standing, a, other=b.name.label, than="compared")
        listed.append(
            (
                f"{a.name.short} over {b.name.short}",
                Cell(signed(told.difference), f"{signed(told.low)} to {signed(told.high)}" if told.low is not None else "", "strong", find=beside),
                Cell(drawn=charts.difference_chart(told.difference, told.low, told.high, span=span_)),
                *(Cell(show_p(p), find=beside if p is not None else ()) for p in (c.p, told.p)),
                *(counted(n, *find_run(standing, a, other=both, than=than))
                  for than, n in (("compared", c.n), ("better", wins), ("equal", c.ties), ("worse", losses), ("not compared", c.failed))),
                Cell(show_value(told.detectable), find=beside if told.detectable is not None else ()),
            )
        )  # fmt: skip
    head = (
        "Pair",
        "Difference",
        "around zero",
        "p",
        "p, Holm",
        "Common",
        "Better",
        "Equal",
        "Worse",
        "Left out",
        "Would find",
    )
    note = (
        f"Below each difference its {100 * level:g} % interval. Common: questions with a mark in both. Better, equal, worse: questions. Left out: questions without a mark in "
        "one of the two. Would find: the smallest true difference that these answers would have shown with a power of 0.8."
    )
    yield Fold("All pairs with intervals", (Table("All pairs", head, tuple(listed), note, sortable=True),))


def _against(standing: Standing, line: Line, other: Line) -> Cell:
    if line is other:
        return Cell("", tone="self")
    told = standing.compared.get((line.run.name, other.run.name))
    if told is None:
        return Cell("–", tone="soft")
    sign, tone = (
        ("≈", "tie") if not told.decided else ("▲", "better") if told.difference > 0 else ("▼", "worse")
    )
    what = f"{line.name.label} minus {other.name.label}: {signed(told.difference)}, p {show_p(told.p)}"
    found = find_run(standing, line, other=other.name.label)
    return Cell(f"{signed(told.difference)} {sign}", f"p {show_p(told.p)}", tone, title=what, find=found)


# -- what was shown, marks, answers without one ----------------------------------------------------------------------


def _shown(standing: Standing) -> Iterator[Part]:
    rows: list[Row] = []
    smaller: list[Row] = []
    for line in standing.lines:
        details = [p.details for p in line.run.predictions]
        counts = [len(p.frame_times or p.frame_indices) for p in line.run.predictions if p.answer is not None]
        asked = span(d.get("frames", "") for d in details)
        if not any(counts) and not asked:
            continue
        shrunk = Counter(d["shrunk"] for d in details if d.get("shrunk"))
        found, id_, label = find_run(standing, line), f"answers-{standing.exam.id}", line.name.label
        mean = sum(counts) / len(counts) if counts else None
        rows.append(
            (
                run_cell(line), Cell(asked or "–", find=found if asked else ()), Cell(show_value(mean), find=found if counts else ()),
                common(d.get("resolution", "") for d in details) or "–",
                common(d.get("sampling", "") for d in details) or "–",
                counted(shrunk.total(), among=(id_, f"{label}: made smaller"), tone="warn" if shrunk else "soft"),
            )
        )  # fmt: skip
        smaller += [
            (
                run_cell(line),
                what,
                Cell(f"{n:,} of {len(details):,}", among=(id_, f"{label}: made smaller: {what}")),
            )
            for what, n in shrunk.most_common()
        ]
    if rows:
        head = ("Run", "Frames asked for", "Shown, mean", "Size", "Sampling", "Made smaller")
        yield Table("What runs were shown", head, tuple(rows), words=frozenset({3, 4}))
    if smaller:
        note = (
            "What is too large for a provider is made smaller by a stated rule, never silently. Such an answer counts as any other; "
            "its run saw less than its name says."
        )
        yield Table(
            "Requests that were made smaller",
            ("Run", "What, and why", "Answers"),
            tuple(smaller),
            note,
            words=frozenset({1}),
        )


_DRAWN: Final = (
    "Floors by rule are left out: their score is what they get on average over all letters that they may draw, and counts "
    "would be those of one draw."
)


def _marks(standing: Standing, listed: Listing) -> Iterator[Part]:
    rows: list[Row] = []
    codes = {line.run.name: mark_codes(standing, line) for line in standing.lines}
    for line in standing.lines:
        row = line.row()
        if row is not None and any(row.marks):
            zero, one, two = row.marks
            none = row.failed + row.skipped
            bar = charts.distribution_bar([("2", two), ("1", one), ("0", zero), ("none", none)])
            rows.append(
                (
                    run_cell(line, flat=True),
                    Cell(drawn=bar),
                    *(
                        counted(n, *_marked(standing, line, code, n, codes[line.run.name]))
                        for n, code in ((two, "match"), (one, "partial"), (zero, "wrong"), (none, "no mark"))
                    ),
                )
            )
    if rows:
        head = ("Run", "shares", "2 match", "1 partial", "0 wrong", "no mark")
        yield Table("Marks given", head, tuple(rows), "Bars in the order of the columns.")
    counts = {key: None for line in standing.lines if line.run.table for key in line.run.table.counts}
    sums: list[Row] = [
        (
            run_cell(line, flat=True),
            *(
                _sum_of(standing, line, key, line.run.table.counts.get(key, 0), codes[line.run.name], listed)
                for key in counts
            ),
        )
        for line in standing.lines
        if line.run.table is not None and line.run.table.counts and not by_draw(line)
    ]
    if counts and sums:
        note = _DRAWN if any(map(by_draw, standing.lines)) else ""
        yield Fold("Counted", (Table("Counted", ("Run", *counts), tuple(sums), note),))


_CODES: Final = {
    "2": "match", "yes": "match", "1": "partial", "0": "wrong", "no": "wrong", "unmarked": "unscored",
}  # fmt: skip
"""Marks as the filter of the examples knows them, by what a table of scores calls their number."""


def _sum_of(
    standing: Standing, line: Line, key: str, n: int, codes: Mapping[str, int], listed: Listing
) -> Cell:
    """Return a number of a table of scores; it opens questions or answers where there are as many."""
    if key == "questions":
        return counted(n, ("exam", standing.exam.title))
    key = key.removeprefix(f"{line.main}: ")
    tag = f"{line.name.label}: {key.replace('unmarked: ', 'unscored: ')}"
    among = (listed.id, tag) if listed.counts.get(tag) == n else None
    return counted(n, *_marked(standing, line, _CODES.get(key, key), n, codes), among=among)


def _letters(standing: Standing, listed: Listing) -> Iterator[Part]:
    """Yield what systems' letters say of them, where questions have options."""
    known = [
        (line, found)
        for line in standing.lines
        if line.run.table is not None
        and (found := line.run.table.letters) is not None
        and found.rows
        and not by_draw(line)
    ]
    if not known:
        return
    letters = max(([row.letter for row in found.rows] for _, found in known), key=len)
    named: list[Row] = []
    right: list[Row] = []
    for line, found in known:
        by_letter = {row.letter: row for row in found.rows}
        of = line.name.label
        spread = None if found.recall_spread is None else 100 * found.recall_spread
        rows = [
            by_letter.get(letter, LetterRow(letter=letter, gold=0, right=0, said=0)) for letter in letters
        ]
        named.append(
            (
                run_cell(line, flat=True),
                "yes" if found.circular else "no",
                *(counted(r.said, among=(listed.id, f"{of}: named {r.letter}")) for r in rows),
                *(
                    Cell(text, find=find_run(standing, line))
                    for text in (show_value(spread), show_p(found.balance_p))
                ),
            )
        )
        right.append(
            (
                run_cell(line, flat=True),
                *(
                    Cell(f"{r.right:,} of {r.gold:,}", among=(listed.id, f"{of}: right option at {r.letter}"))
                    for r in rows
                ),
            )
        )
    note = (
        "How often each letter was named. Spread: standard deviation of accuracy by letter of the right option, in points: liking for "
        "letters. p: of letters at least as uneven, were all equally likely."
    )
    head = ("Run", "All rotations", *letters, "Spread", "p, evenly named")
    yield Fold(
        "Letters",
        (
            Table("Letters that were named", head, tuple(named), note, words=frozenset({1})),
            Table("Answered right, by letter of the right option", ("Run", *letters), tuple(right)),
        ),
    )


def _lacking(standing: Standing, listed: Listing) -> Iterator[Part]:
    found = lacks(standing)
    if not found:
        return
    names, questions = standing.names, {item.id: item.question.text for item in standing.exam.items}
    times = Counter((lack.kind, lack.code) for lack in found)
    runs = Counter((kind, code) for kind, code, _ in {(f.kind, f.code, f.run) for f in found})
    counts = tuple(
        (
            code,
            kind,
            counted(times[kind, code], among=(listed.id, f"{kind}: {code}")),
            counted(runs[kind, code], among=(listed.id, f"{kind}: {code}, by run")),
        )
        for kind, code in sorted(times, key=lambda key: (-times[key], key))
    )
    note = "A refusal, a blocked or cut-off reply or an error is no answer: it is counted here, never judged, and never a score of 0."
    yield Table(
        "Answers without a mark", ("Code", "What", "Answers", "Runs"), counts, note, words=frozenset({1})
    )
    each = tuple(
        (
            names[f.run].label,
            Cell(questions.get(f.item_id, f.item_id), item=f.item_id),
            f.code,
            f.message or "–",
        )
        for f in found[:_LISTED]
    )
    more = f"{len(found) - _LISTED:,} more are not listed." if len(found) > _LISTED else ""
    table = Table("Each of them", ("Run", "Question", "Code", "Message"), each, more, digits=False)
    yield Fold("All of them" if not more else f"The first {_LISTED}", (table,), shown=len(found) <= _FEW)


# -- what it cost --------------------------------------------------------------------------------------------------


def _sum(records: Sequence[Prediction] | Sequence[Judgement], key: str) -> str:
    """Sum up what records say; a lower bound where some do not say it, a dash where none does: unknown is never 0."""
    values = [v for record in records if (v := _figure(record.details.get(key, ""))) is not None]
    if not values:
        return "–"
    value = sum(values, Decimal(0))
    whole = value == value.to_integral_value()
    text = format(value, ",.0f" if whole else ",.2f" if value >= 1 else ",.4f")
    return ("≥ " if len(values) < len(records) else "") + text


def _figure(text: str) -> Decimal | None:
    """Read a figure from a record; what is no plain, sensible number is unknown."""
    try:
        value = Decimal(text.strip().removeprefix("$")) if len(text) < 40 else None
    except InvalidOperation:
        return None
    return value if value is not None and value.is_finite() and 0 <= value < Decimal(10) ** 15 else None


def _costs(standing: Standing, shared: Sequence[SharedCost]) -> Iterator[Part]:
    rows: list[Row] = []
    for line in standing.lines:
        failed = {p.item_id for p in line.run.predictions if p.answer is None}
        # An answer that failed was never sent to the judge, so nothing is unknown about it.
        judged = [j for j in line.run.judgements if j.item_id not in failed]
        sums = [_sum(records, key) for records in (line.run.predictions, judged) for key in _COST]
        if any(text != "–" for text in sums):
            found = find_run(standing, line)
            rows.append((run_cell(line), *(Cell(text, find=found if text != "–" else ()) for text in sums)))
    if not rows:
        return
    rows += [
        (Cell(s.name, tone="floor"), f"{s.calls:,}", f"{s.tokens_in:,}", f"{s.tokens_out:,}",
         ("≥ " if s.unpriced else "") + f"{s.cost:,.4f}", "", "", "", "")
        for s in shared
    ]  # fmt: skip
    columns = ("calls", "tokens in", "tokens out", "US dollars")
    head = ("Run", *(f"{what}: {column}" for what in ("answering", "judging") for column in columns))
    note = (
        "≥: known for some of the records only (the others failed, or have no known price), so the sum is a lower bound. Judging: by "
        "the judge whose marks make the score."
    )
    yield Table("What it cost", head, tuple(rows), note)


_QUESTIONS: Final = 1000
"""Costs are told for so many, in figures that people can hold."""


def view_parts(standing: Standing) -> Iterator[Part]:
    """Yield table and picture; nothing unless a model was shown some of the recordings."""
    by_model: dict[str, list[Line]] = {}
    for line in standing.scored:
        if model := common(p.details.get("model", "") for p in line.run.predictions):
            by_model.setdefault(model, []).append(line)
    if not any(_sees(line) for lines in by_model.values() for line in lines):
        return
    floor = standing.best("floor")
    rows: list[Row] = []
    points = []
    for model, lines in by_model.items():
        # Against the run that knows most without looking: what is left is what the pictures bring.
        base = max(
            (r for r in lines if not _sees(r)), key=lambda r: _mean(r, "tokens_in") or 0.0, default=None
        )
        for line in sorted(lines, key=lambda r: (_sees(r), _cost(r) if _cost(r) is not None else math.inf)):
            cost, tokens, row = _cost(line), _mean(line, "tokens_in"), line.row()
            lift, found = _above(row, floor), find_run(standing, line)
            rows.append(
                (
                    Cell(without_address(model), line.name.view or line.name.title, "" if _sees(line) else "floor", title=line.run.name),
                    replace(number(row, tone="strong"), find=found), Cell(signed(lift), find=found if lift is not None else ()),
                    _gain(standing, line, base),
                    Cell("–") if tokens is None else Cell(f"{tokens:,.0f}", find=found),
                    Cell("–") if cost is None else Cell(money(_QUESTIONS * cost), find=found),
                )
            )  # fmt: skip
            if cost and row is not None and row.value is not None:
                label, blind = line.name.tag or line.name.title, not _sees(line)
                points.append(
                    TradeoffPoint(
                        label, without_address(model), _QUESTIONS * cost, row.value, row.low, row.high, blind
                    )
                )
    if points:
        uppers = [(name, row.value) for name, role in (("best floor", "floor"), ("upper bound", "upper"), ("people", "human"))
                  if (row := standing.best(role)) is not None and row.value is not None and row.judge == standing.judge]  # fmt: skip
        unit = f"US dollars for {_QUESTIONS:,} questions"
        yield Drawn(
            "Score against cost",
            draw_tradeoff(Tradeoff("Score against cost", tuple(points), tuple(uppers), unit)),
            TRADEOFF_GUIDE,
        )
    head = (
        "Model and view",
        "Score",
        f"Above the {standing.best_floor}",
        "By seeing",
        "Tokens in, a question",
        f"US dollars, {_QUESTIONS:,} questions",
    )
    note = (
        "By seeing: the paired difference to the same model's run without the recording, on the same questions; * it is "
        "significantly different from 0 after Holm's correction over all pairs of runs. Costs are those of answering, without what describing frames "
        "for several runs cost."
    )
    yield Table("What more frames and pixels bring", head, tuple(rows), note)


def _sees(line: Line) -> bool:
    return line.run.role != "floor" and any(
        p.frame_times or p.frame_indices or p.details.get("frames") or p.details.get("resolution")
        for p in line.run.predictions
    )


def _mean(line: Line, key: str) -> float | None:
    """Return the mean over those answers that say it."""
    texts: Sequence[str] = [p.details[key] for p in line.run.predictions if key in p.details]
    values = [float(t) for t in texts if t.replace(".", "", 1).isdecimal() and len(t) < 20]
    return sum(values) / len(values) if values else None


def _cost(line: Line) -> float | None:
    return _mean(line, "cost")


def _gain(standing: Standing, line: Line, base: Line | None) -> Cell:
    told = standing.compared.get((line.run.name, base.run.name)) if base is not None and _sees(line) else None
    if base is None or told is None:
        return Cell("–", tone="soft")
    ends = f"{signed(told.low)} to {signed(told.high)}, " if told.low is not None else ""
    return Cell(
        signed(told.difference) + ("*" if told.decided else ""),
        f"{ends}over {show_value(base.value)}",
        find=find_run(standing, line, other=base.name.label, than="compared"),
    )
