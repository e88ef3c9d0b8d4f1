"""The measurement: figures by hand, intervals, thresholds, cross-validation without leakage."""

from __future__ import annotations

import random
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.verify.oracle.evaluation import AnswerRow, Confusion, cross_validate, evaluate


def _row(number: int, probability: float, label: bool, **changes: object) -> AnswerRow:
    row = AnswerRow(
        id=f"q{number}#0",
        question_id=f"q{number}",
        type="next",
        intent="next",
        cluster=f"r{number % 5}",
        group=f"g{number % 3}",
        label=label,
        probability=probability,
        humans=(label, label),
        lean=2 * probability - 1,
        rule="names_next" if probability >= 0.5 else "names_done",
    )
    return replace(row, **changes)  # type: ignore[arg-type]


@pytest.fixture
def rows() -> list[AnswerRow]:
    """Ten answers: two of the oracle's guesses are wrong, one of them a confident one."""
    said = (0.95, 0.95, 0.9, 0.85, 0.6, 0.55, 0.4, 0.2, 0.1, 0.05)
    true = (True, True, True, False, True, False, False, False, False, False)
    return [_row(n, p, label) for n, (p, label) in enumerate(zip(said, true, strict=True))]


def test_agreement_over_all_and_over_decided(rows: list[AnswerRow]) -> None:
    figures = evaluate(rows, threshold=0.8)
    assert figures.n == 10
    assert figures.agreement_all.value == pytest.approx(0.8)
    assert figures.decided == 7
    assert figures.coverage == pytest.approx(0.7)
    assert figures.agreement_decided.value == pytest.approx(6 / 7)
    assert figures.always_right_agreement == pytest.approx(0.4)
    assert [d.id for d in figures.disagreements] == ["q3#0", "q5#0"]
    assert [d.decided for d in figures.disagreements] == [True, False]


def test_confusion(rows: list[AnswerRow]) -> None:
    cells = evaluate(rows, threshold=0.8).confusion
    assert cells == Confusion(right_said_right=4, right_said_wrong=0, wrong_said_right=2, wrong_said_wrong=4)


def test_kappa_by_hand(rows: list[AnswerRow]) -> None:
    assert evaluate(rows, threshold=0.8).kappa_all == pytest.approx((0.8 - 0.48) / (1 - 0.48))


def test_accept_precision_by_threshold(rows: list[AnswerRow]) -> None:
    curve = {row.threshold: row for row in evaluate(rows, threshold=0.8).accept_by_threshold}
    assert (curve[0.9].accepted, curve[0.9].precision.value) == (3, 1.0)
    assert (curve[0.8].accepted, curve[0.8].precision.value) == (4, 0.75)
    assert curve[0.8].coverage == pytest.approx(0.4)
    assert [row.accepted for row in curve.values()] == sorted(
        (r.accepted for r in curve.values()), reverse=True
    )


def test_accept_precision_by_coverage_takes_ties_along(rows: list[AnswerRow]) -> None:
    by_coverage = {row.wanted_coverage: row for row in evaluate(rows, threshold=0.8).accept_by_coverage}
    assert by_coverage[0.2].accepted == 2
    assert by_coverage[0.3].border == pytest.approx(0.9)
    assert by_coverage[0.5].precision.value == pytest.approx(0.8)
    # more than half is never accepted when the oracle takes fewer for right
    assert by_coverage[0.8].accepted == 6


def test_intervals_hold_the_value_and_shrink_with_more_clusters() -> None:
    rng = random.Random(3)
    few = [_row(n, 0.9, rng.random() < 0.8, cluster=f"r{n % 8}") for n in range(80)]
    many = [_row(n, 0.9, rng.random() < 0.8, cluster=f"r{n % 200}") for n in range(2_000)]
    widths = []
    for sample in (few, many):
        share = evaluate(sample, threshold=0.8).agreement_all
        assert share.low <= share.value <= share.high
        assert share.wilson[0] <= share.value <= share.wilson[1]
        widths.append(share.high - share.low)
    assert widths[1] < widths[0] / 3


def test_clusters_widen_the_interval() -> None:
    """Answers that are right or wrong by recording carry less information than independent ones."""
    same = [_row(n, 0.9, (n // 10) % 2 == 0, cluster=f"r{n // 10}") for n in range(200)]
    mixed = [replace(r, cluster=f"c{n}") for n, r in enumerate(same)]
    width = [f.high - f.low for f in (evaluate(s, threshold=0.8).agreement_all for s in (same, mixed))]
    assert width[0] > 1.5 * width[1]


def test_people_on_the_same_answers(rows: list[AnswerRow]) -> None:
    changed = [replace(rows[0], humans=(True, False)), replace(rows[1], humans=(None, True)), *rows[2:]]
    human = evaluate(changed, threshold=0.8).human
    assert human.between_annotators.n == 9
    assert human.between_annotators.value == pytest.approx(8 / 9)
    assert human.oracle_where_annotators_differ.n == 1
    assert human.oracle_with_one_annotator.n == 18


def test_breakdowns_add_up(rows: list[AnswerRow]) -> None:
    mixed = [replace(r, type="missing" if n % 2 else "next") for n, r in enumerate(rows)]
    figures = evaluate(mixed, threshold=0.8)
    for groups in (figures.by_type, figures.by_intent, figures.by_rule, figures.by_group):
        assert sum(g.n for g in groups.values()) == 10
        assert sum(g.decided for g in groups.values()) == figures.decided
    assert sum(sum(msgspec.structs.astuple(cells)) for cells in figures.confusion_by_type.values()) == 10


def test_no_rows() -> None:
    figures = evaluate([], threshold=0.8)
    assert figures.n == 0
    assert figures.agreement_all.value is None
    assert figures.accept_by_coverage[0].accepted == 0
    msgspec.json.encode(figures)


@pytest.mark.parametrize("threshold", [0.0, 0.49, 1.01])
def test_threshold_out_of_range(rows: list[AnswerRow], threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        evaluate(rows, threshold=threshold)


def test_repeated_ids(rows: list[AnswerRow]) -> None:
    with pytest.raises(ValueError, match="repeat"):
        evaluate([*rows, rows[0]], threshold=0.8)


def test_same_rows_same_figures_in_any_order(rows: list[AnswerRow]) -> None:
    first, other = (evaluate(order, threshold=0.8) for order in (rows, rows[::-1]))
    assert first.disagreements == other.disagreements[::-1]
    assert first == msgspec.structs.replace(other, disagreements=first.disagreements)


# -- cross-validation ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refit", ["calibration", "rules"])
def test_a_groups_own_labels_do_not_reach_its_probabilities(rows: list[AnswerRow], refit: str) -> None:
    flipped = [replace(r, label=not r.label) if r.group == "g0" else r for r in rows]
    before = {r.id: r.probability for r in cross_validate(rows, refit=refit)}  # type: ignore[arg-type]
    after = {r.id: r.probability for r in cross_validate(flipped, refit=refit)}  # type: ignore[arg-type]
    assert all(before[r.id] == after[r.id] for r in rows if r.group == "g0")
    assert any(before[r.id] != after[r.id] for r in rows if r.group != "g0")


def test_order_and_facts_are_kept(rows: list[AnswerRow]) -> None:
    crossed = cross_validate(rows)
    assert [r.id for r in crossed] == [r.id for r in rows]
    assert [replace(c, probability=0.0) for c in crossed] == [replace(r, probability=0.0) for r in rows]


def test_unreadable_answers_keep_their_probability(rows: list[AnswerRow]) -> None:
    rows = [replace(rows[0], lean=None, probability=0.0), *rows[1:]]
    assert cross_validate(rows)[0].probability == 0.0


def test_a_rule_never_seen_elsewhere_gets_the_overall_share(rows: list[AnswerRow]) -> None:
    odd = replace(rows[0], rule="only_here", group="alone")
    crossed = cross_validate([odd, *rows[1:]], refit="rules")
    share = sum(r.label for r in rows[1:]) / 9
    assert crossed[0].probability == pytest.approx(share)


def test_one_group_cannot_be_cross_validated(rows: list[AnswerRow]) -> None:
    with pytest.raises(ValueError, match="two groups"):
        cross_validate([replace(r, group="g") for r in rows])


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=30))
def test_any_rows_give_figures_within_bounds(values: list[tuple[float, bool]]) -> None:
    figures = evaluate(
        [_row(n, p, label) for n, (p, label) in enumerate(values)], threshold=0.8, resamples=50
    )
    msgspec.json.encode(figures)
    for share in (figures.agreement_all, figures.agreement_decided):
        assert share.value is None or 0.0 <= share.value <= 1.0
    cells = figures.confusion
    assert sum(msgspec.structs.astuple(cells)) == len(values)
