import msgspec
import pytest

from proctor.exam.controls import CONTROL_KINDS, make_controls
from proctor.exam.item import Gold
from proctor.exam.judge import RuleJudge
from proctor.exam.prediction import Prediction


def with_steps(item, *golds):
    return msgspec.structs.replace(item, golds=tuple(Gold(text, step_ids=ids) for text, ids in golds))


@pytest.fixture
def items(make_item):
    clamp = with_steps(
        make_item("a", "next", "What now?", [], next_=["4"]), ("Tighten the clamp for 30 seconds.", ("4",))
    )
    forgot = with_steps(
        make_item("b", "missing", "Did I forget anything?", [], missing=["2"]),
        ("Yes, you forgot to attach the right bracket with 4 screws.", ("2",)),
    )
    long = make_item("c", "timing", "How long should it be?", ["30 seconds."], mistake="Only 90 seconds")
    return [clamp, forgot, long]


def test_one_thing_is_changed(items, graphs):
    made = {(c.item.id, c.kind): c.answer for c in make_controls(items, graphs)}
    assert made["b_0_missing", "flipped"] == "No, you forgot to attach the right bracket with 4 screws."
    assert made["c_0_timing", "amount"] == "90 seconds."
    assert made["a_0_next", "other-item"] == "Yes, you forgot to attach the right bracket with 4 screws."
    assert made["b_0_missing", "other-item"] == "Tighten the clamp for 30 seconds."
    other = made["a_0_next", "other-step"]
    assert other.startswith("You should ")
    assert "clamp" not in other
    assert {kind for _, kind in made} == set(CONTROL_KINDS)


def test_nothing_uncertain_is_made(items, graphs, make_item):
    assert not [c for c in make_controls(items, graphs) if c.item.id == "a_0_next" and c.kind == "flipped"]
    undecided = make_item("d", "missing", "Did I forget anything?", ["Yes, the cloth.", "No, you did not."])
    assert not [c for c in make_controls([undecided], graphs) if c.kind == "flipped"]
    both = make_item(
        "e", "timing", "How long should it be?", ["30 seconds.", "It was 90 instead of 30 seconds."]
    )
    assert [c.answer for c in make_controls([both], graphs)] == ["150 seconds."]
    assert not list(make_controls([make_item("f", "next", "What now?", [])], graphs))
    assert not list(make_controls(items, {}))


def test_seeded(items, graphs):
    assert list(make_controls(items, graphs, seed=1)) == list(make_controls(items[::1], graphs, seed=1))


def test_the_judge_marks_them_wrong(items, graphs, shelf):
    judge = RuleJudge()
    for control in make_controls(items, graphs):
        prediction = Prediction(item_id=control.item.id, predictor="control", answer=control.answer)
        judgement = judge.judge(control.item, shelf, prediction)
        assert judgement.score == 0, (control.kind, control.answer, judgement.rationale)
