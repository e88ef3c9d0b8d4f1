import dataclasses

import msgspec
import pytest

from proctor.errors import UserError
from proctor.exam.floors import moment_floor
from proctor.exam.predict import PrivilegedPredictor, Task, item_rng, make_task, predict_items
from proctor.exam.prediction import Prediction


class Dice:
    """Answers with a random number; fails where told to."""

    name = "dice"

    def __init__(self, fail=(), error=None):
        self.fail, self.error = fail, error or ValueError("no\nluck")

    def predict(self, task, rng):
        if task.item_id in self.fail:
            raise self.error
        return Prediction(item_id=task.item_id, predictor=self.name, answer=str(rng.random()))


def test_a_task_shows_neither_type_nor_facts_nor_golds(release, shelf):
    assert {f.name for f in dataclasses.fields(Task)} == {
        "item_id",
        "question",
        "activity_name",
        "graph",
        "end",
    }
    task = make_task(release[0], shelf)
    assert task.end == 60.0
    assert not isinstance(Dice(), PrivilegedPredictor)


def test_order_of_items_and_resuming_never_change_an_answer(release, graphs):
    forward = {p.item_id: p for p in predict_items(release, moment_floor(Dice(), graphs), seed=7)}
    backward = {p.item_id: p for p in predict_items(release[::-1], moment_floor(Dice(), graphs), seed=7)}
    assert forward == backward
    ticks = []
    rest = list(
        predict_items(release[20:], moment_floor(Dice(), graphs), seed=7, progress=lambda: ticks.append(1))
    )
    assert rest == [forward[i.id] for i in release[20:]]
    assert len(ticks) == len(rest)
    assert forward != {p.item_id: p for p in predict_items(release, moment_floor(Dice(), graphs), seed=8)}


def test_random_numbers_depend_on_seed_and_item_only():
    assert item_rng(1, "a").random() == item_rng(1, "a").random()
    assert len({item_rng(s, i).random() for s in (1, 2) for i in ("a", "b", "12")}) == 6


def test_a_question_in_another_form_is_guessed_alike(release, graphs):
    parent, other = release[0], release[1]
    again = msgspec.structs.replace(
        parent, question=msgspec.structs.replace(parent.question, id="other form", parent=parent.id)
    )
    made = list(predict_items([parent, again, other], moment_floor(Dice(), graphs)))
    assert made[0].answer == made[1].answer != made[2].answer


def test_exceptions_become_failures_and_the_run_goes_on(release, graphs):
    bad = release[3].id
    predictions = list(predict_items(release, moment_floor(Dice(fail={bad}), graphs), seed=0))
    failed = [p for p in predictions if p.failure]
    assert [p.item_id for p in failed] == [bad]
    assert failed[0].failure == "ValueError: no\nluck"
    assert failed[0].answer is None
    assert len(predictions) == len(release)


def test_long_exceptions_are_cut(release, graphs):
    predictor = Dice(fail={release[0].id}, error=RuntimeError("x" * 10_000))
    assert len(next(predict_items(release, moment_floor(predictor, graphs))).failure) <= 500


@pytest.mark.parametrize("error", [UserError("no key"), KeyboardInterrupt()])
def test_what_would_fail_everywhere_stops_the_run(release, graphs, error):
    with pytest.raises(type(error)):
        list(predict_items(release, moment_floor(Dice(fail={release[0].id}, error=error), graphs)))


def test_answers_for_others_and_double_ones_are_failures(release, graphs):
    class Liar(Dice):
        def predict(self, task, rng):
            return Prediction(item_id="other", predictor=self.name, answer="x")

    class Both(Dice):
        def predict(self, task, rng):
            return Prediction(item_id=task.item_id, predictor=self.name, answer="x", failure="y")

    class Nothing(Dice):
        def predict(self, task, rng):
            return Prediction(item_id=task.item_id, predictor=self.name)

    for predictor, text in ((Liar(), "for 'other'"), (Both(), "or both"), (Nothing(), "neither")):
        first = next(predict_items(release, moment_floor(predictor, graphs)))
        assert first.answer is None
        assert text in first.failure


def test_missing_graph_is_the_users_to_fix(release):
    with pytest.raises(UserError, match="no task graph for activity 'shelf'"):
        list(predict_items(release, moment_floor(Dice(), {})))
