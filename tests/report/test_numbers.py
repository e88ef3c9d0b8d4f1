"""Numbers on the page, computed again from the records by other means than the package's own."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser

import msgspec
import pytest
from tests.moments import with_example
from tests.report.test_judging import judged

from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.question import Item
from proctor.report.data import ReportData, ReportOptions
from proctor.report.page import render_report
from proctor.report.standings import compute_standings

POINTS = {0: 0.0, 1: 50.0, 2: 100.0}


class Tables(HTMLParser):
    """Reads the tables of a page: title of the region or heading, then lines of cells; small print is set apart by bars."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: dict[str, list[list[str]]] = {}
        self._region = ""
        self._cell: list[str] | None = None
        self._hidden = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {k: v or "" for k, v in attrs}
        if tag == "div" and "scroll" in given.get("class", "").split():
            self._region = given.get("aria-labelledby") or given.get("aria-label", "")
        if tag == "tr":
            self.tables.setdefault(self._region, []).append([])
        if tag in ("td", "th") and self.tables:
            self._cell = []
        if tag == "span" and self._cell is not None and "n" in given.get("class", "").split():
            self._cell.append("|")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            self.tables[self._region][-1].append(" ".join("".join(self._cell).split()))
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)

    def line(self, region: str, start: str) -> list[str]:
        """Return the one line that begins so."""
        found = [r for r in self.tables[region] if r and r[0].startswith(start)]
        assert len(found) == 1, (region, start, found)
        return found[0]


def number(cell: str) -> float:
    """Return the first number of a cell."""
    match = re.search(r"[+−-]?\d[\d,]*\.?\d*", cell)
    assert match is not None, cell
    return float(match[0].replace("−", "-").replace(",", ""))


def numbers(cell: str) -> list[float]:
    return [float(x.replace("−", "-")) for x in re.findall(r"[+−]?\d+\.\d+", cell)]


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def bootstrap(values: Sequence[tuple[float, str]], draws: int = 4000) -> tuple[float, float]:
    """Percentile interval over whole recordings, with Python's own generator."""
    by: dict[str, list[float]] = {}
    for value, cluster in values:
        by.setdefault(cluster, []).append(value)
    groups, rng, found = list(by.values()), random.Random(7), []
    for _ in range(draws):
        some = [v for g in rng.choices(groups, k=len(groups)) for v in g]
        found.append(mean(some))
    found.sort()
    return found[int(0.025 * draws)], found[int(0.975 * draws)]


@pytest.fixture(scope="module")
def items(item_factory: Callable[..., Item]) -> tuple[Item, ...]:
    """Ninety questions about thirty recordings."""
    found = []
    for n in range(90):
        item = item_factory(n, ("next", "missing", "order")[n % 3])
        found.append(with_example(item, recording_id=f"r{n % 30}", noisy=n % 5 == 0))
    return tuple(found)


@pytest.fixture(scope="module")
def whole(small: ReportData, items: tuple[Item, ...]) -> ReportData:
    """Three runs with costs and a calibration; every answer is there."""
    return judged(small, items)


@pytest.fixture(scope="module")
def data(whole: ReportData) -> ReportData:
    """The same with failures, and one of the runs blind."""
    first, second, third = whole.runs
    broken = tuple(
        msgspec.structs.replace(p, answer=None, failure="refusal: no") if n % 11 == 0 else p
        for n, p in enumerate(first.predictions)
    )
    failed = {p.item_id for p in broken if p.answer is None}
    heard = tuple(j for j in first.judgements if j.item_id not in failed)
    return replace(
        whole,
        runs=(replace(first, predictions=broken, judgements=heard), second, replace(third, role="floor")),
    )


@pytest.fixture(scope="module")
def options() -> ReportOptions:
    return ReportOptions(drawing="none", resamples=3000)


@pytest.fixture(scope="module")
def tables(data: ReportData, options: ReportOptions) -> Tables:
    return Tables(render_report(data, options=options))


def marks(data: ReportData, number: int) -> dict[str, float]:
    run = data.runs[number]
    answered = {p.item_id for p in run.predictions if p.answer is not None}
    return {
        j.item_id: POINTS[j.score] for j in run.judgements if j.item_id in answered and j.score is not None
    }


def test_every_score_of_the_papers_table(data: ReportData, tables: Tables) -> None:
    tests: list[Callable[[Item], bool]] = [
        lambda i: True,
        lambda i: not moment_example(i.question).noisy,
        lambda i: moment_example(i.question).noisy,
        lambda i: i.question.facets["type"] == "next",
        lambda i: i.question.facets["type"] == "missing",
        lambda i: i.question.facets["type"] == "order",
    ]
    head = tables.tables["h-types"][0]
    shift = head.index(next(h for h in head if h.startswith("average")))
    blind = marks(data, 2)
    for number_, name in enumerate(("openai/m", "google/m", "anthropic/m")):
        line, points = tables.line("h-types", name), marks(data, number_)
        for column, fits in enumerate(tests, shift):
            inside = [points[i.id] for i in data.items if fits(i) and i.id in points]
            shown, *ends = numbers(line[column])
            assert shown == pytest.approx(mean(inside), abs=0.051)
            if name != "anthropic/m":
                floor = mean([blind[i.id] for i in data.items if fits(i)])
                assert ends[-1] == pytest.approx(mean(inside) - floor, abs=0.051)
        assert [int(x) for x in line[-3:]] == [len(points), 90 - len(points), 0]


def test_intervals_are_those_of_a_bootstrap_over_recordings(data: ReportData, tables: Tables) -> None:
    recording = {i.id: i.question.cluster for i in data.items}
    for number_, name in enumerate(("openai/m", "google/m", "anthropic/m")):
        head = tables.tables["h-types"][0]
        cell = tables.line("h-types", name)[head.index(next(h for h in head if h.startswith("average")))]
        _, low, high, *_ = map(float, re.findall(r"\d+\.\d+", cell))
        expected = bootstrap([(v, recording[k]) for k, v in marks(data, number_).items()])
        assert (low, high) == pytest.approx(expected, abs=1.6)


def test_costs_are_exact_sums(data: ReportData, tables: Tables) -> None:
    for run in data.runs:
        line = tables.line("h-cost", run.name)
        total = sum(Decimal(p.details["cost"]) for p in run.predictions)
        assert number(line[4]) == pytest.approx(float(total), abs=0.00006)


def people_of(data: ReportData) -> dict[tuple[str, str], int]:
    """The mark that most people gave; without one the answer is left out."""
    assert data.judging is not None
    found = {}
    for m in data.judging.calibration.human:
        best = Counter(m.votes).most_common(2)
        if len(best) == 1 or best[0][1] > best[1][1]:
            found[m.item_id, m.predictor] = best[0][0]
    return found


def test_rubrics_and_judges_against_people(whole: ReportData, tables: Tables) -> None:
    """Pearson, accuracy and kappa of the judge that made the scores; its marks are on the page's own records."""
    people = people_of(whole)
    said = {(j.item_id, run.name): j.score or 0 for run in whole.runs for j in run.judgements}
    pairs = [(people[key], said[key]) for key in people]
    n = len(pairs)
    a, b = [float(x) for x, _ in pairs], [float(y) for _, y in pairs]
    top = math.fsum((x - mean(a)) * (y - mean(b)) for x, y in zip(a, b, strict=True))
    pearson = top / math.sqrt(
        math.fsum((x - mean(a)) ** 2 for x in a) * math.fsum((y - mean(b)) ** 2 for y in b)
    )
    same = sum(x == y for x, y in pairs) / n
    chance = sum((a.count(k) / n) * (b.count(k) / n) for k in (0.0, 1.0, 2.0))
    kappa = (same - chance) / (1 - chance)

    line = next(r for r in tables.tables["h-which-1"] if r[0].startswith("openai/j"))
    assert [number(c) for c in line[1:4]] == pytest.approx([pearson, same, kappa], abs=0.0051)
    assert number(line[4]) == n
    # the other judge was tried with two rubrics: on one line each, one scale each
    lines = [r for t, rows in tables.tables.items() if t.startswith("h-rubrics") for r in rows if len(r) == 7]
    cells = [c for line in lines for c in line[1:] if c != "–"]
    assert len(cells) == 6
    assert all(numbers(c)[1] <= numbers(c)[0] <= numbers(c)[2] <= 1 for c in cells)


def test_corrected_scores_are_the_judged_mean_moved_by_the_judges_error(
    whole: ReportData, tables: Tables
) -> None:
    """Marks on a part of the answers: all answers as judged, plus how far people were from the judge on that part."""
    assert whole.judging is not None
    for run in whole.runs:
        votes = {
            m.item_id: mean([POINTS[v] for v in m.votes])
            for m in whole.judging.calibration.human
            if m.predictor == run.name
        }
        judged_ = {j.item_id: POINTS[j.score or 0] for j in run.judgements}
        line = next(
            r for r in tables.tables["h-corrected"] if r[0].startswith(run.name) and "openai/j" in r[0]
        )
        assert number(line[1]) == pytest.approx(mean(list(judged_.values())), abs=0.051)
        moved = mean(list(judged_.values())) + mean([v - judged_[k] for k, v in votes.items()])
        low, high = numbers(line[2])[1:3]
        assert low <= number(line[2]) <= high
        assert number(line[2]) == pytest.approx(moved, abs=4.0), (
            "within what weighting and clusters may change"
        )
        assert number(line[3]) == pytest.approx(mean(list(votes.values())), abs=0.051)


def test_pairs_are_paired(data: ReportData, options: ReportOptions, tables: Tables) -> None:
    names = [row.run.name for row in compute_standings(data, options).rows]
    place = {run.name: n for n, run in enumerate(data.runs)}
    head, *lines = tables.tables["h-pairs"]
    assert len(lines) == len(head) - 1 == 3
    for row, line in zip(names, lines, strict=True):
        for column, cell in zip(names, line[1:], strict=True):
            if row == column:
                continue
            a, b = marks(data, place[row]), marks(data, place[column])
            both = [k for k in a if k in b]
            assert number(cell) == pytest.approx(mean([a[k] - b[k] for k in both]), abs=0.051)
            p = float(re.findall(r"p (?:<)?([\d.]+)", cell)[0])
            assert ("≈" in cell) is (p >= 0.05)


def test_a_run_that_is_better_everywhere_by_one_mark_has_the_smallest_p_that_there_is(
    small: ReportData, items: tuple[Item, ...], run_factory: Callable[..., object]
) -> None:
    runs = (run_factory("high", items, "2"), run_factory("low", items, "1"))
    page = render_report(
        replace(small, items=items, runs=runs, candidates=(), verdicts=(), funnel=()),  # type: ignore[arg-type]
        options=ReportOptions(drawing="none", resamples=500),
    )
    found = Tables(page)
    assert "+50.0" in found.line("h-pairs", "high")[2]
    assert "<0.001" in found.line("h-pairs", "high")[2] or "0.00" in found.line("h-pairs", "high")[2]
    (pair,) = [r for r in found.tables["All pairs with intervals"] if r[0].startswith("high")]
    assert [int(pair[n]) for n in (6, 7, 8, 9)] == [90, 0, 0, 0]
