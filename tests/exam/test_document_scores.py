"""The table of question answering: cells by hand, what is left out, and who wrote, answered and marked."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.documents import changed, document, items_of

from proctor.errors import UserError
from proctor.exam import likeness
from proctor.exam.kinds.documents import KIND
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.scores import score_run
from proctor.exam.table import Measure, Resampling, ScoreTable
from proctor.metrics.bert_score import BertEncoder
from proctor.metrics.score import Signature

MODEL = "openai/m-1"


def score_answers(asked, made, judged=None, columns=(), *, resamples=0):
    return score_run(
        KIND,
        items_of(asked),
        made,
        judged,
        columns,
        benchmark="b",
        resampling=Resampling(resamples=resamples),
    )


def rouge_column(asked, made, **options):
    return likeness.rouge_measure(items_of(asked), made, **options)


def bert_column(asked, made, model):
    return likeness.bert_measure(items_of(asked), made, model)


def questions(*styles, **more):
    return [
        document(f"q{n}", style=style, modalities=(1, n % 2, 0), answer="the cat sat", **more)
        for n, style in enumerate(styles)
    ]


def predictions(asked, *texts, model=MODEL):
    return [
        Prediction(
            item_id=q.id,
            predictor="sys",
            answer=text,
            failure=None if text else "refusal: no",
            details={"model": model},
        )
        for q, text in zip(asked, texts, strict=False)
    ]


def judgements(asked, *scores, judge="j", model="other/judge", failure="judge_unparsed: hm"):
    return [
        Judgement(
            item_id=q.id, predictor="sys", judge=judge, score=score, failure=None if score is not None else failure,
            details={"model": model},
        )
        for q, score in zip(asked, scores, strict=False)
    ]  # fmt: skip


@pytest.mark.shared
def test_the_worked_example(shared_expected):
    expected = shared_expected("smmqg-instructionbench")["judge"]
    asked = questions(*["s"] * len(expected["scores"]))
    table = score_answers(
        asked,
        predictions(asked, *["x"] * 5),
        {"judge": judgements(asked, *expected["scores"])},
        resamples=100,
    )
    cell = table.row(measure="judge")
    assert cell.value == expected["score_0_100"]
    assert cell.low <= cell.value <= cell.high
    assert cell.n == 5


def test_cells_by_hand():
    asked = questions("a", "a", "a", "b")
    made = predictions(asked, "the cat", "dog", "the cat sat", "cat")
    table = score_answers(
        asked,
        made,
        {"judge": judgements(asked, 2, 0, 1, 2), "reference judge": judgements(asked, 2, 2, 2, 0, judge="r")},
        [rouge_column(asked, made)],
        resamples=100,
    )
    assert table.row(measure="judge").value == 62.5
    assert table.row("style=a", "judge").value == 50.0
    assert table.row("style=b", "judge").value == 100.0
    assert table.row("mean of styles", "judge").value == 75.0
    assert table.row("modalities=text+table", "judge").value == 50.0
    assert table.row("style=a/modalities=text", "judge").value == 75.0
    assert table.row(measure="reference judge").value == 75.0
    rouge = [100 * 2 * 2 / 5, 0, 100, 100 * 2 * 1 / 4]
    assert table.row(measure="rouge-1").value == pytest.approx(sum(rouge) / 4)
    assert table.marks["judge"] == {"q0": 100.0, "q1": 0.0, "q2": 50.0, "q3": 100.0}
    assert (table.counts["judge: 0"], table.counts["judge: 1"], table.counts["judge: 2"]) == (1, 1, 2)
    assert "judge:j" in table.row(measure="judge").signature
    assert "weighting:style" in table.row("mean of styles", "judge").signature
    assert table.notes == ()
    with pytest.raises(KeyError):
        table.row(measure="bertscore")
    assert msgspec.json.decode(msgspec.json.encode(table), type=ScoreTable) == table


@pytest.mark.shared
def test_rouge_written_down(shared_expected):
    for case in shared_expected("smmqg-instructionbench")["rouge1"]["cases"]:
        asked = [changed(questions("s")[0], answer=case["ref"])]
        made = [Prediction(item_id="q0", predictor="sys", answer=case["pred"])]
        for tokeniser in ("ascii", "unicode"):
            found = rouge_column(asked, made, tokeniser=tokeniser)
            assert found.marks["q0"] == pytest.approx(100 * case["F1"], abs=1e-3)


def test_rouge_of_another_script():
    asked = [changed(questions("s")[0], answer="Käse ist gelb")]
    made = [Prediction(item_id="q0", predictor="sys", answer="Käse ist blau")]
    assert rouge_column(asked, made).marks["q0"] == pytest.approx(200 / 3)
    chinese = [changed(asked[0], answer="湖水")]
    with pytest.raises(UserError, match="q0"):
        rouge_column(chinese, made, tokeniser="ascii")


def test_bert_score_is_a_column_like_the_others():
    table = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    encoder = BertEncoder(
        "toy",
        1,
        frozenset({0}),
        lambda text: ((0, *(ord(c) for c in text if c != " "), 0), False),
        lambda batch: [table[list(ids)] for ids in batch],
    )
    asked = questions("a", "a", "a")
    made = predictions(asked, "the cat sat", "dog", None)
    found = bert_column(asked, made, encoder)
    assert set(found.marks) == {"q0", "q1", "q2"}
    assert found.marks["q2"] is None
    assert found.marks["q0"] == pytest.approx(100.0)
    assert found.marks["q1"] < 100.0
    assert found.signature.parameters["model"] == "toy"
    scored = score_answers(asked, made, {}, [found], resamples=0)
    assert scored.row(measure="bertscore").value == pytest.approx((found.marks["q0"] + found.marks["q1"]) / 2)
    assert scored.row(measure="bertscore").failed == 1


def test_a_model_that_is_not_there_is_told(tmp_path):
    asked = questions("a")
    with pytest.raises(UserError):
        bert_column(asked, predictions(asked, "x"), tmp_path / "gone")


def test_what_failed_is_counted_and_never_zero():
    asked = questions("a", "a", "a", "a", "b")
    made = predictions(asked, "x", None, "y", "z")
    marks = [
        *judgements(asked[:1], 2),
        *judgements(asked[1:2], None, failure="prediction failed: refusal: no"),
        *judgements(asked[2:3], None),
        *judgements(asked[3:4], None, failure="timeout: slow"),
    ]
    table = score_answers(asked, made, {"judge": marks}, [rouge_column(asked, made)], resamples=0)
    cell = table.row(measure="judge")
    assert (cell.value, cell.n, cell.failed, cell.skipped) == (100.0, 1, 3, 1)
    lost = table.row("style=b", "judge")
    assert (lost.value, lost.n, lost.skipped) == (None, 0, 1)
    mean = table.row("mean of styles", "judge")
    assert (mean.value, mean.note) == (100.0, "1 styles have no value and are left out")
    assert table.row(measure="rouge-1").n == 3
    assert table.counts == {
        "questions": 5, "not asked": 1, "failed": 1, "failed: refusal": 1, "judge: 0": 0, "judge: 1": 0, "judge: 2": 1,
        "judge: unmarked": 2, "judge: unmarked: judge_unparsed": 1, "judge: unmarked: timeout": 1,
    }  # fmt: skip
    none = score_answers(asked, made, {"judge": judgements(asked, None, None)}, resamples=0)
    assert none.row("mean of styles", "judge").value is None
    assert none.row(measure="judge").value is None


def test_a_contestant_that_wrote_the_questions_is_flagged():
    asked = questions("a", "b", provenance={"generator": MODEL})
    made = predictions(asked, "x", "y")
    own = score_answers(asked, made, {"judge": judgements(asked, 2, 1)}, resamples=0)
    assert own.notes == (f"{MODEL} wrote 2 of the 2 questions that it answers: report it separately",)
    kin = score_answers(asked, predictions(asked, "x", "y", model="openai/m-2"), {}, resamples=0)
    assert kin.notes == (f"openai/m-2 answers 2 questions that {MODEL}, of the same family, wrote",)
    strange = score_answers(asked, predictions(asked, "x", "y", model="google/g"), {}, resamples=0)
    assert strange.notes == ()
    door = predictions(asked, "x", "y", model="compat/b@http://h/v1")
    assert score_answers(asked, door, {}, resamples=0).notes == ()


def test_a_judge_that_marks_itself_or_its_own_questions_is_flagged():
    asked = questions("a", provenance={"generator": "openai/author"})
    made = predictions(asked, "x")
    own = score_answers(asked, made, {"judge": judgements(asked, 2, model=MODEL)}, resamples=0)
    assert f"j: {MODEL} marks its own answers" in own.notes
    author = score_answers(asked, made, {"judge": judgements(asked, 2, model="openai/author")}, resamples=0)
    assert "j: the judge wrote 1 of the 1 questions and their references" in author.notes


def test_any_column_by_question_has_its_cells():
    asked = questions("a", "b")
    column = Measure(
        name="bertscore", signature=Signature("bert_score", {"value": "f1"}), marks={"q0": 60.0, "q1": 70.0}
    )
    table = score_answers(asked, predictions(asked, "x", "y"), {}, [column], resamples=50)
    assert table.row(measure="bertscore").value == 65.0
    assert table.row("style=b", "bertscore").value == 70.0
    assert "interval:bca-95" in table.row(measure="bertscore").signature
