import pytest

from proctor.benchmark.promqa import import_promqa
from proctor.datasets.captaincook4d import DATASET
from proctor.exam.calibrate import calibration_cases, cross_validate, separation
from proctor.exam.judge import compare_answer
from proctor.examples.promqa import read_promqa


@pytest.fixture
def small(make_item):
    return [
        make_item(
            "a", "next", "What now?", ["Tighten the clamp.", "You should tighten the clamp."], next_=["4"]
        ),
        make_item(
            "b", "next", "What now?", ["Wipe the shelf.", "Attach the left bracket."], next_=["5", "1"]
        ),
        make_item("c", "missing", "Did I forget anything?", ["No, you are on track."]),
    ]


def test_cases(small):
    cases = list(calibration_cases(small, {"a_0_next": ["Wipe it.", "tighten the clamp"]}))
    accepted = [c for c in cases if c.kind == "accepted"]
    assert {(c.answer, c.golds) for c in accepted} == {
        ("Tighten the clamp.", ("You should tighten the clamp.",)),
        ("You should tighten the clamp.", ("Tighten the clamp.",)),
    }
    assert [c.answer for c in cases if c.kind == "rejected"] == ["Wipe it."]
    others = [c for c in cases if c.kind == "other"]
    assert len(others) == 9
    assert all(c.answer not in c.golds and not c.good for c in others)
    assert cases == list(calibration_cases(small, {"a_0_next": ["Wipe it.", "tighten the clamp"]}))


def test_separation_perfect_useless_and_empty(small):
    cases = list(calibration_cases(small, {}))
    perfect = separation(cases, [1.0 if c.good else 0.0 for c in cases], 0.5)
    assert (perfect.auc, perfect.balanced, perfect.accepted, perfect.other) == (1.0, 1.0, 1.0, 1.0)
    useless = separation(cases, [0.7] * len(cases), 0.5)
    assert (useless.auc, useless.balanced) == (0.5, 0.5)
    empty = separation([], [], 0.5)
    assert (empty.auc, empty.balanced, empty.low) == (None, None, None)
    with pytest.raises(ValueError, match="1 similarities"):
        separation(cases, [1.0], 0.5)


def test_cross_validation_never_sees_its_own_activity(small):
    cases = list(calibration_cases(small, {}))
    with pytest.raises(ValueError, match="no thresholds"):
        cross_validate(cases, lambda c: 1.0, thresholds=())
    # One activity only: the threshold is chosen on nothing, so it is the first one.
    found = cross_validate(cases, lambda c: 0.3 if c.good else 0.2, thresholds=(0.1, 0.25))
    assert found.balanced == 0.5


@pytest.mark.shared
def test_rule_judge_separates_the_published_answers(shared_data):
    """A floor under the measured figures (docs/evaluate.md), so that a change that ruins the judge is seen."""
    graphs = DATASET.read(shared_data / "captaincook4d", "corrected").graphs
    published = read_promqa(shared_data / "promqa" / "examples_dev.json")
    items = import_promqa(published, graphs).items
    rejected = {
        i.id: [a for a in p.adjudication.answers if a not in p.answers]
        for p, i in zip(published, items, strict=True)
    }
    cases = list(calibration_cases(items, rejected))
    by_id = {i.id: graphs[i.example.activity_id] for i in items}
    values = [
        compare_answer(c.answer, c.golds, c.item.question, by_id[c.item.id], type_=c.item.type).value
        for c in cases
    ]
    found = separation(cases, values, 0.4)
    assert found.n["accepted"] == 193
    assert found.auc > 0.72
    assert found.other > 0.85
    assert found.rejected > 0.78
    assert found.balanced > 0.65
