"""Overlap of styles: replies read, questions asked, and the table."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.documents import document

from proctor.errors import UserError
from proctor.exam.predict_prompt import evaluation_prompts
from proctor.exam.style_overlap import (
    OverlapTable,
    StyleClaim,
    StyleClassifier,
    read_yes_no,
    score_overlap,
)
from proctor.llm.fence import FenceSecret
from proctor.llm.outcome import Failure, Refusal, Reply

SECRET = FenceSecret(b"the secret of the overlap tests..")
MODEL = "compat/toy@http://127.0.0.1:1/v1"
STYLES = {
    "IE": "One fact of one source.",
    "NUM": "A calculation.",
    "CMP": "Two questions.",
    "MH": "A hidden step.",
}


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("Yes", True),
        ("no.", False),
        ("**No**, it asks for one fact.", False),
        ("Answer: Yes", True),
        ('"Yes"', True),
        ("<think>no</think>Yes.\nIt does.", True),
        ("Yes. No calculation is needed.", True),
        ("", None),
        ("Maybe.", None),
        ("Yes or no?", None),
        ("Yes/No", None),
        ("yes, no", None),
        ("Yes, no calculation is needed.", None),
        ("Nothing of the kind", None),
        ("It is: yes", None),
    ],
)
def test_yes_and_no(reply, said):
    assert read_yes_no(reply) is said


def claims(positives, styles=STYLES):
    return [
        StyleClaim(qid=f"q{n}", style=style, said=style in found)
        for n, found in enumerate(positives)
        for style in styles
    ]


def questions(true):
    return [document(f"q{n}", style=style, answer="!") for n, style in enumerate(true)]


@pytest.mark.shared
def test_the_worked_example(shared_expected):
    expected = shared_expected("smmqg-instructionbench")["style_overlap"]
    table = score_overlap(questions(["IE", "MH", "NUM", "CMP"]), claims(expected["positives"]))
    assert table.rows[-1].overlap == expected["overlap_percent"]


def test_the_table_by_hand():
    asked = questions(["IE", "IE", "MH", "MH"])
    found = score_overlap(asked, claims([["IE"], ["IE", "NUM"], [], ["NUM"]]))
    rows = {row.style: row for row in found.rows}
    assert list(rows) == ["IE", "MH", "all"]
    assert (rows["IE"].overlap, rows["IE"].none, rows["IE"].own) == (50.0, 0.0, 100.0)
    assert (rows["MH"].overlap, rows["MH"].none, rows["MH"].own) == (0.0, 50.0, 0.0)
    assert rows["IE"].claimed == {"IE": 100.0, "NUM": 50.0, "CMP": 0.0, "MH": 0.0}
    assert rows["all"].overlap == 25.0
    assert rows["all"].n == 4
    assert found.styles == tuple(STYLES)
    assert msgspec.json.decode(msgspec.json.encode(found), type=OverlapTable) == found


def test_a_question_with_an_unread_reply_is_counted_and_in_no_number():
    made = claims([["IE", "MH"], ["IE"]])
    made[1] = msgspec.structs.replace(made[1], said=None, failure="unparsed: hm")
    found = score_overlap(questions(["IE", "IE"]), made)
    assert (found.rows[0].n, found.rows[0].unread, found.rows[0].overlap) == (1, 1, 0.0)
    assert found.failures == {"unparsed": 1}
    none = score_overlap(questions(["IE"]), [msgspec.structs.replace(c, said=None) for c in claims([[]])])
    assert (none.rows[0].overlap, none.rows[0].n, none.rows[0].claimed) == (None, 0, {})


def test_claims_that_do_not_fit_are_refused():
    asked = questions(["IE"])
    with pytest.raises(UserError, match="no question 'q1'"):
        score_overlap(asked, claims([[], []]))
    with pytest.raises(UserError, match="two claims of the style 'IE'"):
        score_overlap(asked, [*claims([[]]), claims([[]])[0]])
    with pytest.raises(UserError, match="no model was asked about the style 'MH'"):
        score_overlap(questions(["IE", "IE"]), claims([[], []])[:-1])


@given(st.lists(st.sets(st.sampled_from(sorted(STYLES))), min_size=1, max_size=6))
def test_shares_add_up(positives):
    row = score_overlap(questions(["IE"] * len(positives)), claims(positives)).rows[-1]
    alone = 100 * sum(len(p) == 1 for p in positives) / len(positives)
    assert row.overlap + row.none + alone == pytest.approx(100)
    assert sum(row.claimed.values()) == pytest.approx(100 * sum(map(len, positives)) / len(positives))


# -- asking ----------------------------------------------------------------------------------------------------


class Port:
    """Answers by a function of the request; keeps the requests."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def __call__(self, requests):
        for request in requests:
            self.asked.append(request)
            yield request, self.answer(request)


def classifier(**more):
    return StyleClassifier(MODEL, STYLES, evaluation_prompts(), SECRET, **more)


def test_every_question_is_asked_about_every_style():
    port = Port(lambda r: Reply(text="Yes" if "A calculation." in r.messages[-1].text else "No"))
    made = classifier(price=lambda model, outcome: 5).classify(questions(["IE", "MH"]), port)
    assert [(c.qid, c.style) for c in made] == [(f"q{n}", s) for n in range(2) for s in STYLES]
    assert [c.style for c in made if c.said] == ["NUM", "NUM"]
    assert {c.cost for c in made} == {5}
    text = port.asked[0].messages[-1].text
    assert "<<<BEGIN style " in text
    assert "<<<BEGIN description of the style" in text
    assert len(list(classifier().requests(questions(["IE", "MH"])))) == 8


def test_an_unread_reply_is_repaired_once_and_then_told():
    def answer(request):
        return Reply(text="No" if len(request.messages) > 2 else "Perhaps")

    made = classifier().classify(questions(["IE"]), Port(answer))
    assert {(c.said, c.calls) for c in made} == {(False, 2)}
    never = classifier().classify(questions(["IE"]), Port(lambda r: Reply(text="Perhaps")))
    assert {(c.said, c.failure) for c in never} == {(None, "unparsed: Perhaps")}


@pytest.mark.parametrize(
    ("outcome", "code"), [(Refusal(), "refusal"), (Failure(kind="budget", message="spent"), "budget")]
)
def test_a_call_that_failed_is_no_claim(outcome, code):
    made = classifier().classify(questions(["IE"]), Port(lambda r: outcome))
    assert {c.said for c in made} == {None}
    assert all(c.failure.startswith(code) and c.calls == 1 for c in made)
    silent = classifier().classify(questions(["IE"]), lambda requests: iter(()))
    assert all(c.failure.startswith("cancelled") for c in silent)


def test_there_is_something_to_ask_about():
    with pytest.raises(UserError, match="no styles"):
        StyleClassifier(MODEL, {}, evaluation_prompts(), SECRET)
    with pytest.raises(UserError, match="'x' has no description"):
        StyleClassifier(MODEL, {"x": " "}, evaluation_prompts(), SECRET)
    with pytest.raises(UserError, match="have this id"):
        classifier().classify(questions(["IE"]) * 2, Port(None))
