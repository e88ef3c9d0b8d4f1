import pytest
from tests.exam.known_answers import calibration_cases, separation

from proctor.ask.moment.promqa import read_promqa
from proctor.datasets.captaincook4d import DATASET
from proctor.exam.judge import compare_answer
from proctor.exam.kinds.moment_question import moment_example
from proctor.release.promqa import import_promqa


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
    by_id = {i.id: graphs[moment_example(i.question).activity_id] for i in items}
    values = [
        compare_answer(
            c.answer, c.golds, c.item.question.text, by_id[c.item.id], type_=c.item.question.facets["type"]
        ).value
        for c in cases
    ]
    found = separation(cases, values, 0.4)
    assert found.n["accepted"] == 193
    assert found.auc > 0.72
    assert found.other > 0.85
    assert found.rejected > 0.78
    assert found.balanced > 0.65
