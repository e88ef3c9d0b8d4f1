"""Judge, bound and floors on questions that the rules made of the shipped sample: the figures of docs/evaluate.md."""

from collections import defaultdict

import pytest
from tests.exam.controls import CONTROL_KINDS, make_controls

from proctor.exam.floors import EchoGold, make_floor, moment_floor
from proctor.exam.judge import RuleJudge
from proctor.exam.kinds.moment_marker import RulesMarker
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.library import Library
from proctor.exam.predict import predict_items
from proctor.exam.prediction import Prediction
from proctor.exam.question import gold_texts
from proctor.llm.media import MediaStore
from proctor.samples import copy_sample
from proctor.stages.build import build
from proctor.stages.derive import derive
from proctor.stages.generate import generate
from proctor.stages.inputs import load_items
from proctor.stages.read import read
from proctor.stages.settings import BuildSettings, GenerateSettings
from proctor.stages.verify import verify
from proctor.workspace import Workspace


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Items and graphs of a benchmark made of a part of the sample."""
    root = tmp_path_factory.mktemp("generated")
    copy_sample(root / "sample")
    bench = root / "bench"
    read("plain", root / "sample", bench)
    derive(bench)
    generate(bench, GenerateSettings(sample="quota", examples=120, seed=3))
    verify(bench)
    build(bench, BuildSettings(name="part", seed=3))
    workspace = Workspace(bench)
    graphs = workspace.graphs()
    return load_items(workspace, graphs), graphs


def mean_score(predictor, made):
    items, graphs = made
    predictions = list(predict_items(items, moment_floor(predictor, graphs)))
    library = Library(media=MediaStore(), graphs=graphs)
    scores = [RulesMarker().mark(*one, library).score for one in zip(items, predictions, strict=True)]
    return 50 * sum(scores) / len(scores)


def test_the_bound_is_near_the_top_and_the_floors_are_far_below(made):
    items, _ = made
    assert mean_score(EchoGold(), made) == 100
    assert mean_score(make_floor("annotations", items), made) >= 90
    for name in ("constant", "recipe-text", "random-step"):
        assert mean_score(make_floor(name, items), made) < 55, name


def test_every_gold_matches_itself(made):
    items, graphs = made
    for item in items:
        for gold in gold_texts(item):
            prediction = Prediction(item_id=item.id, predictor="gold", answer=gold)
            judgement = RuleJudge().judge(item, graphs[moment_example(item.question).activity_id], prediction)
            assert judgement.score == 2, (item.question.text, gold, judgement.rationale)


def test_wrong_answers_made_by_rule_are_wrong(made):
    items, graphs = made
    marks = defaultdict(list)
    for control in make_controls(items, graphs):
        prediction = Prediction(item_id=control.item.id, predictor="control", answer=control.answer)
        judgement = RuleJudge().judge(
            control.item, graphs[moment_example(control.item.question).activity_id], prediction
        )
        marks[control.kind].append(judgement.score == 0)
    assert len(marks["flipped"]) > 20
    for kind in CONTROL_KINDS:
        assert sum(marks[kind]) >= 0.9 * len(marks[kind]), kind
