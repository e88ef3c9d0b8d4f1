import json
import math
import random
import sys

import pytest
from tests.stages.scoring.scored import family

from proctor.errors import MissingExtraError, UserError
from proctor.metrics.figure import Bars, IntervalPlot, Matrix
from proctor.metrics.score import Signature
from proctor.stages.scoring.answer_values import ANSWER_METRICS

score_answer = family("answer", "gt", "pred")

GT = [
    {"id": "q1", "answers": ["Add the salt.", "salt"], "recording": "r1", "type": "next"},
    {"id": "q2", "answer": "No", "recording": "r2", "type": "missing"},
    {"id": "q3", "answer": "No.", "recording": "r3", "type": "missing"},
    {"id": "q4", "answer": "Pour milk", "recording": "r3", "type": "next"},
]
PRED = [
    {"id": "q4", "response": "milk", "judgement": 1},
    {"id": "q1", "response": "Salt!", "judgement": "fine. Score: 2"},
    {"id": "q2", "response": "no", "judgement": "Score: 5"},
    {"id": "q3", "response": None, "judgement": None},
]
CHOICES = [
    {"id": "a", "options": ["salt", "milk", "eggs"], "gold": "B", "recording": "r1"},
    {"id": "b", "options": ["salt and pepper", "milk", "eggs"], "gold": "salt and pepper", "recording": "r2"},
    {"id": "c", "options": ["salt", "milk", "eggs"], "answer": "eggs", "recording": "r3"},
    {"id": "d", "options": ["salt", "milk", "eggs"], "gold": "c", "recording": "r3"},
]
LETTERS = [
    {"id": "a", "response": "The answer is B."},
    {"id": "b", "response": "(B)"},
    {"id": "c", "response": "The eggs"},
    {"id": "d", "response": None},
]


@pytest.fixture
def write(tmp_path):
    def write_(name, rows):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        return path

    return write_


@pytest.fixture
def score(write):
    def score_(gt, pred, **options):
        options.setdefault("resamples", 100)
        return score_answer(write("gt.jsonl", gt), write("pred.jsonl", pred), **options)

    return score_


def values(table, chance=False):
    return {(row.metric, row.slice): row.score for row in table.rows if row.chance == chance}


# -- open questions --------------------------------------------------------------------------------------------


def test_defaults_golden(score):
    table = score(GT, PRED)
    found = values(table)
    assert {m for m, _ in found} == {"EM", "F1", "ROUGE-1", "score"}
    exact = found["EM", "all"]
    assert (exact.value, exact.n, exact.failed) == (2 / 3, 3, 1)
    assert found["F1", "all"].value == pytest.approx((1 + 1 + 2 / 3) / 3)
    assert found["ROUGE-1", "all"].value == pytest.approx((1 + 1 + 2 / 3) / 3)
    judged = found["score", "all"]
    assert (judged.value, judged.n, judged.failed) == (75.0, 2, 2)
    assert table.headline["exact_match"] == 2 / 3
    assert table.headline["rouge_1_recall"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert table.headline["judgements"] == {"0": 0, "1": 1, "2": 1}
    assert table.counts["without response"] == 1
    assert table.counts["judgements unparsed"] == 1
    assert any("never 0" in note for note in table.notes)


def test_best_constant_answer_is_the_chance_row(score):
    chance = values(score(GT, PRED, metrics=["exact"]), chance=True)
    assert chance["EM", "always 'no'"].value == 0.5


def test_answers_of_other_questions_are_the_chance_row(score):
    gt = [{"id": f"q{i}", "answer": f"word{i} the pan"} for i in range(6)]
    pred = [{"id": q["id"], "response": q["answer"]} for q in gt[:5]]
    table = score(gt, pred, metrics=["exact", "f1", "rouge1"])
    chance = values(table, chance=True)
    other = "answers of other questions"
    assert chance["EM", other].value == 0.0
    assert chance["F1", other].value == pytest.approx(0.5)  # "pan" of two words: the article goes
    assert chance["ROUGE-1", other].value == pytest.approx(2 / 3)
    assert chance["F1", other].n == 5
    assert values(score(gt, pred, missing="wrong"), chance=True)["F1", other].n == 6
    assert ("F1", other) not in values(score(gt, pred[:1]), chance=True)


def test_judgements_have_no_chance_level_and_say_so(score):
    assert any(note.startswith("no chance level of judgements") for note in score(GT, PRED).notes)


def test_perfect_and_all_wrong(score):
    right = [{"id": q["id"], "response": q.get("answer") or q["answers"][0]} for q in GT]
    found = values(score(GT, right, metrics=["exact", "f1", "rouge1", "rougel"]))
    assert {s.value for s in found.values()} == {1.0}
    wrong = [{"id": q["id"], "response": "xyz"} for q in GT]
    assert {s.value for s in values(score(GT, wrong)).values()} == {0.0}


def test_missing_predictions_are_counted_never_dropped(score):
    table = score(GT, PRED[:2])
    assert values(table)["EM", "all"].failed == 2
    assert table.counts["without response"] == 2
    assert any("2 of 4 questions have no prediction" in note for note in table.notes)
    harsh = score(GT, PRED[:2], missing="wrong")
    assert values(harsh)["EM", "all"].value == 0.25
    assert values(harsh)["EM", "all"].n == 4
    assert values(harsh)["score", "all"].n == 2
    assert values(harsh)["EM", "all"].signature.parameters["missing"] == "wrong"
    assert values(harsh)["score", "all"].signature.parameters["missing"] == "failed"


def test_all_missing_is_undefined_and_says_why(score):
    found = values(score(GT, [{"id": "q1", "response": None}]))
    assert all(math.isnan(s.value) and s.note == "every answer failed" for s in found.values())


def test_an_empty_response_is_an_answer(score):
    table = score(GT, [{"id": q["id"], "response": ""} for q in GT])
    assert values(table)["ROUGE-1", "all"].value == 0.0
    assert table.counts["empty responses"] == 4


def test_slices_and_pictures(score):
    table = score(GT, PRED, slices=["type"], metrics=["exact"])
    found = values(table)
    assert found["EM", "type=missing"].value == 1.0
    assert found["EM", "type=next"].value == 0.5
    assert found["EM", "type=next"].signature.parameters["slice"] == "type=next"
    (plot,) = [f for f in table.figures if isinstance(f, IntervalPlot)]
    assert plot.labels == ("all", "type=missing", "type=next")


def test_slices_are_means_of_the_same_values(score):
    found = values(score(GT, PRED, slices=["type"]))
    for metric in ("EM", "F1", "ROUGE-1"):
        parts = [found[metric, f"type={t}"] for t in ("next", "missing")]
        whole = found[metric, "all"]
        assert sum(p.value * p.n for p in parts) / whole.n == pytest.approx(whole.value)


def test_order_of_lines_never_matters(score):
    rng = random.Random(0)
    first = score(GT, PRED, slices=["type"])
    gt, pred = list(GT), list(PRED)
    rng.shuffle(gt)
    rng.shuffle(pred)
    assert score(gt, pred, slices=["type"]) == first


def test_signatures_can_be_read_back_and_hold_every_choice(score):
    table = score(GT, PRED, normalisation="unicode", tokeniser="unicode", slices=["type"], seed=3)
    for row in table.rows:
        assert Signature.parse(str(row.score.signature)) == row.score.signature
    words = values(table)["ROUGE-1", "all"].signature.parameters
    assert words["tokeniser"] == "unicode"
    assert words["cluster"] == "recording"
    assert words["seed"] == "3"
    assert values(score(GT, PRED, resamples=0))["EM", "all"].signature.parameters["interval"] == "none"


def test_clusters(score):
    plain = [{k: v for k, v in q.items() if k != "recording"} for q in GT]
    table = score(plain, PRED)
    assert table.counts["clusters"] == 4
    assert any("--cluster" in note for note in table.notes)
    assert values(table)["EM", "all"].signature.parameters["cluster"] == "item"
    assert score(GT, PRED, cluster="type").counts["clusters"] == 2
    assert score(GT, PRED).counts["clusters"] == 3


def test_other_languages_are_warned_about(score):
    gt = [{"id": "1", "answer": "Käse süß essen"}, {"id": "2", "answer": "ja"}]
    pred = [{"id": "1", "response": "Käse süß essen"}, {"id": "2", "response": "nein"}]
    assert any("2 of 4 words" in n and "--tokeniser unicode" in n for n in score(gt, pred).notes)
    assert not any("tokeniser" in n for n in score(gt, pred, tokeniser="unicode").notes)
    with pytest.raises(UserError, match=r"finds no word in the reference '盐'(?s:.*)unicode"):
        score([{"id": "1", "answer": "盐"}], [{"id": "1", "response": "盐"}], metrics=["rouge1"])


def test_letters_as_texts_are_warned_about(score):
    table = score([{"id": "1", "answer": "A"}], [{"id": "1", "response": "the"}], metrics=["exact"])
    assert any("--metric choice" in note for note in table.notes)


def test_unknown_predictions_are_named(score):
    table = score(GT, [*PRED, {"id": "zz", "response": "x"}])
    assert table.counts["predictions of unknown questions"] == 1
    assert any("'zz'" in note for note in table.notes)


# -- letters ---------------------------------------------------------------------------------------------------


def test_letters_golden(score):
    table = score(CHOICES, LETTERS)
    found = values(table)
    accuracy = found["Accuracy", "all"]
    assert (accuracy.value, accuracy.n, accuracy.failed) == (1 / 3, 3, 1)
    head = table.headline
    assert (head["right"], head["wrong"], head["unparsed"]) == (1, 1, 1)
    assert head["accuracy_of_parsed"] == 0.5
    assert head["gold_letters"]["counts"] == {"A": 1, "B": 1, "C": 2}
    assert head["predicted_letters"]["counts"] == {"A": 0, "B": 2, "C": 0}
    assert head["recall_by_letter"] == {"A": 0.0, "B": 1.0, "C": 0.0}
    assert head["rules"] == {"answer": 1, "none": 1, "sole": 1}
    assert table.counts["letters unparsed"] == 1
    chance = values(table, chance=True)
    assert chance["Accuracy", "guessing"].value == pytest.approx(1 / 3)
    assert chance["Accuracy", "always C"].value == 0.5
    assert "longest option" in {s for _, s in chance}


def test_longest_option_golden(score):
    """salt, milk and eggs are equally long: a third each; 'salt and pepper' is longest and right."""
    assert score(CHOICES, LETTERS).headline["option_tells"]["longest_right"] == pytest.approx(
        (3 * (1 / 3) + 1) / 4
    )


def test_confusion_and_recall_pictures(score):
    figures = score(CHOICES, LETTERS).figures
    (matrix,) = [f for f in figures if isinstance(f, Matrix)]
    assert matrix.columns == ("A", "B", "C", "unparsed")
    assert matrix.cells == ((0.0, 1.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    (bars,) = [f for f in figures if isinstance(f, Bars)]
    assert bars.values == (0.0, 1.0, 0.0)


def test_missing_letters_as_wrong(score):
    assert values(score(CHOICES, LETTERS, missing="wrong"))["Accuracy", "all"].value == 0.25


def test_letters_without_texts(score):
    gt = [{"id": "a", "gold": "B"}, {"id": "b", "gold": "A"}]
    table = score(gt, [{"id": "a", "response": "B"}, {"id": "b", "response": "E"}], option_count=4)
    assert table.headline["unparsed"] == 1
    assert values(table, chance=True)["Accuracy", "guessing"].value == 0.25
    assert "option_tells" not in table.headline


def test_opened_bracket(score):
    pred = [{"id": "a", "response": "B) it says the answer is A"}]
    assert score(CHOICES[:1], pred, opened_bracket=True).headline["right"] == 1
    assert score(CHOICES[:1], pred).headline["right"] == 0


def test_different_numbers_of_options(score):
    gt = [
        {"id": "a", "options": ["x", "y"], "gold": "A"},
        {"id": "b", "options": ["x", "y", "z"], "gold": "C"},
    ]
    table = score(gt, [{"id": "a", "response": "C"}, {"id": "b", "response": "C"}])
    assert (table.headline["right"], table.headline["unparsed"]) == (1, 1)
    assert values(table, chance=True)["Accuracy", "guessing"].value == pytest.approx(5 / 12)


def test_uneven_letters_are_noted(score):
    gt = [{"id": str(i), "options": ["x", "y", "z"], "gold": "A"} for i in range(30)]
    table = score(gt, [{"id": str(i), "response": "B"} for i in range(30)])
    assert any(note.startswith("gold letters are not equally") for note in table.notes)
    assert any(note.startswith("predicted letters are not equally") for note in table.notes)


def test_all_letters_unparsed(score):
    table = score(CHOICES, [{"id": q["id"], "response": "hm"} for q in CHOICES])
    assert values(table)["Accuracy", "all"].value == 0.0
    assert math.isnan(table.headline["accuracy_of_parsed"])
    assert math.isnan(table.headline["predicted_letters"]["p"])


def test_no_letters_at_all(score):
    table = score(CHOICES, [{"id": "a", "response": None}])
    assert math.isnan(values(table)["Accuracy", "all"].value)
    assert not [f for f in table.figures if isinstance(f, Matrix)]


def test_options_can_be_compared_as_texts(score):
    pred = [{"id": "a", "response": "milk"}]
    assert values(score(CHOICES[:1], pred, metrics=["exact", "choice"]))["EM", "all"].value == 1.0
    lettered = [{"id": "a", "options": ["salt", "milk"], "answer": "B"}]
    found = values(score(lettered, pred, metrics=["exact", "choice"]))
    assert found["EM", "all"].value == found["Accuracy", "all"].value == 1.0


def test_csv_with_lists(tmp_path):
    (tmp_path / "gt.csv").write_text('id,options,gold\na,salt|milk,B\nb,"[""x|y"", ""z""]",A\n')
    (tmp_path / "pred.csv").write_text("id,response\na,B\nb,x|y\n")
    table = score_answer(tmp_path / "gt.csv", tmp_path / "pred.csv", resamples=0)
    assert table.headline["right"] == 2


# -- judgements ------------------------------------------------------------------------------------------------


def test_judgements_alone(score):
    gt = [{"id": str(i), "answer": "x"} for i in range(5)]
    table = score(gt, [{"id": str(i), "judgement": j} for i, j in enumerate((2, 2, 1, 0, 2))])
    assert values(table)["score", "all"].value == 70.0
    assert len(table.rows) == 1


def test_judgements_of_consistency(score):
    gt = [{"id": str(i), "answer": "x"} for i in range(4)]
    said = [{"id": str(i), "judgement": j} for i, j in enumerate(("yes", "No", True, False))]
    found = values(score(gt, said))["score", "all"]
    assert (found.value, found.n) == (50.0, 4)


def test_null_responses_are_noted(score):
    gt = [{"id": i, "answer": "x"} for i in ("q1", "q2")]
    table = score(gt, [{"id": "q1", "response": "x"}, {"id": "q2", "response": None}], metrics=["exact"])
    assert values(table)["EM", "all"].failed == 1
    assert any("1 of 2 questions have no prediction: they are left out" in note for note in table.notes)
    near = score(gt, [{"id": "q1", "response": "x"}, {"id": "Q2", "response": "x"}], metrics=["exact"])
    assert any("'Q2' (reference: 'q2')" in note for note in near.notes)


def test_blank_references_are_no_references(score):
    table = score([{"id": "1", "answers": ["", "salt"]}], [{"id": "1", "response": ""}])
    assert values(table)["EM", "all"].value == 0.0


@pytest.mark.parametrize("marks", [(1, 1), ("1", "0"), ("fine. Score: 1", "yes")])
def test_the_scale_of_marks_is_asked_for_where_it_cannot_be_known(score, marks):
    gt = [{"id": str(i), "answer": "x"} for i in range(2)]
    pred = [{"id": str(i), "judgement": mark} for i, mark in enumerate(marks)]
    with pytest.raises(UserError, match="1 may be the best mark, or the middle one") as caught:
        score(gt, pred)
    assert "--scale binary" in caught.value.render()
    ternary, binary = (
        values(score(gt, pred, scale=scale))["score", "all"] for scale in ("ternary", "binary")
    )
    ones = sum("1" in str(mark) for mark in marks)
    assert binary.value - ternary.value == pytest.approx(25.0 * ones)
    assert (ternary.signature.parameters["scale"], binary.signature.parameters["scale"]) == (
        "0-50-100",
        "0-100",
    )


def test_words_and_a_2_say_what_the_scale_is(score):
    gt = [{"id": str(i), "answer": "x"} for i in range(2)]
    for marks in ((2, 1), ("yes", "no"), (0, 0)):
        score(gt, [{"id": str(i), "judgement": mark} for i, mark in enumerate(marks)])
    with pytest.raises(UserError, match="line 2, column 'judgement': a binary judgement is 0 or 1, got 2"):
        score(gt, [{"id": "0", "judgement": 1}, {"id": "1", "judgement": 2}], scale="binary")


def test_judge_scales(score):
    gt = [{"id": "1", "answer": "x"}]
    pred = [{"id": "1", "judgement": "Judge: first 0, then 1"}]
    assert values(score(gt, pred, judge_scale="promqa", scale="ternary"))["score", "all"].value == 50.0
    assert math.isnan(values(score(gt, pred))["score", "all"].value)


# -- BERTScore -------------------------------------------------------------------------------------------------


def test_bertscore_needs_a_model(score, tmp_path):
    with pytest.raises(UserError, match="--model"):
        score(GT, PRED, metrics=["bertscore"])
    with pytest.raises(UserError, match=r"BERTScore: there is no folder(?s:.*)nothing is downloaded"):
        score(GT, PRED, metrics=["bertscore"], model=tmp_path / "none")


def test_bertscore_without_the_extra(score, tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match="bertscore"):
        score(GT, PRED, metrics=["bertscore"], model=tmp_path)


def test_bertscore_with_an_encoder(score, monkeypatch, tmp_path):
    """The stage with a model made by hand: each letter is a token."""
    import numpy as np

    from proctor.metrics import bert_score

    table = np.random.default_rng(0).normal(size=(200, 4))
    encoder = bert_score.BertEncoder(
        "toy",
        1,
        frozenset(),
        lambda t: (tuple(map(ord, t)), t == "no"),
        lambda b: [table[list(i)] for i in b],
        "toy!",
    )
    monkeypatch.setattr(bert_score, "load_bert_encoder", lambda model, **options: encoder)
    found = score(GT, PRED, metrics=["bertscore"], model=tmp_path)
    bert = values(found)["BERTScore", "all"]
    assert (bert.n, bert.failed) == (3, 1)
    assert 0 < bert.value <= 1
    assert bert.signature.parameters["model"] == "toy"
    assert "toy!" in found.notes
    assert any("were cut" in note for note in found.notes)


# -- bad input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gt", "pred", "options", "message"),
    [
        (
            [*GT, GT[0]],
            PRED,
            {},
            r"gt\.jsonl, line 5, column 'id': the id 'q1' occurs twice, first at line 1",
        ),
        (GT, [*PRED, PRED[0]], {}, r"pred\.jsonl, line 5, column 'id': the id 'q4' occurs twice"),
        (GT, [{"id": "x", "response": "y"}], {}, "none of the 1 predictions"),
        ([{"id": "1"}], PRED, {}, "no column 'answers'"),
        ([{"answer": "1"}], PRED, {}, "no column 'id'"),
        (GT, [{"id": "q1"}], {}, "no column 'response'"),
        ([{"id": "q1", "answer": ""}], PRED, {}, "has no answer"),
        ([{"id": "q1", "answers": []}], PRED, {}, "has no answer"),
        ([{"id": "q1", "answers": [{}]}], PRED, {}, "text was expected"),
        ([{"id": "q1", "answer": ["x"]}], PRED, {}, "text was expected"),
        (GT, [{"id": "q1", "response": ["x"]}], {}, "text was expected"),
        (GT, [{"id": "q1", "judgement": 3}], {}, "0, 1 or 2, got 3"),
        (GT, [{"id": "q1", "judgement": "-1"}], {}, "0, 1 or 2, got -1"),
        (GT, [{"id": "q1", "judgement": [1]}], {}, "text was expected"),
        (GT, PRED, {"metrics": ["choice"]}, "options with a gold letter"),
        (GT, [{"id": "q1", "response": "x"}], {"metrics": ["judge"]}, "no judgements"),
        (GT, [{"id": "q1", "judgement": 2}], {"metrics": ["exact"]}, "needs the responses"),
        (
            [{"id": "q1", "gold": "A"}],
            PRED,
            {"metrics": ["exact"], "option_count": 2},
            "needs a reference answer",
        ),
        (GT, PRED, {"metrics": ["bleu"]}, "no metric 'bleu'"),
        (GT, PRED, {"slices": ["colour"]}, "no column 'colour'"),
        (GT, PRED, {"cluster": "colour"}, "no column 'colour'"),
        (GT, PRED, {"confidence": 1.0}, "between 0 and 1"),
        ([{"id": "a", "options": ["x"], "gold": "A"}], LETTERS, {}, "2 to 26 options, got 1"),
        (
            [{"id": "a", "options": ["x", "y"], "gold": "C"}],
            LETTERS,
            {},
            "'C' is neither a letter from A to B",
        ),
        ([{"id": "a", "options": ["x", "x"], "gold": "x"}], LETTERS, {}, "exactly one option"),
        ([{"id": "a", "options": ["x", "y"]}], LETTERS, {}, "no column 'answers'"),
        ([{"id": "a", "options": ["x", "y"], "gold": None}], LETTERS, {}, "'' is neither"),
        ([{"id": "a", "options": ["x", "y"], "gold": 1}], LETTERS, {}, "'1' is neither"),
    ],
)
def test_bad_input_is_named(score, gt, pred, options, message):
    with pytest.raises(UserError, match=message):
        score(gt, pred, **options)


def test_every_metric_has_a_name():
    assert set(ANSWER_METRICS) == {"exact", "f1", "rouge1", "rougel", "bertscore", "choice", "judge"}


def test_the_references_are_not_scored_against_themselves(tmp_path):
    both = tmp_path / "gt.jsonl"
    both.write_text('{"id": "a", "answer": "salt"}\n')
    with pytest.raises(UserError, match="against themselves"):
        score_answer(both, both, resamples=0)
    both.write_text('{"id": "a", "answer": "salt", "response": "salt"}\n')
    assert score_answer(both, both, resamples=0).rows[0].score.value == 1.0
