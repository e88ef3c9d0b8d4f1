"""Cases are opened and merged by the published rules, and by their statement for any number of annotators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.ask.moment.question import moment_question
from proctor.errors import UserError
from proctor.exam.question import Choice, Pick, Proposed, Question
from proctor.verify.adjudicate import (
    Acceptance,
    Case,
    check_adjudication,
    merge,
    open_case,
    settle,
    shown_order,
)
from proctor.verify.verdict import AnswerVerdict, Verdict

MakeQuestion = Callable[..., Question]
MakeVerdict = Callable[..., Verdict]


def _texts(case: Case, verdict: Verdict | None = None) -> list[tuple[str, str, str]]:
    return [(a.text, a.source, a.approved_by) for a in merge(case, verdict).answers]


# -- votes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("votes", "all_", "any_", "majority"),
    [
        ("", None, None, None),
        ("+", "right", "right", "right"),
        ("-", "wrong", "wrong", "wrong"),
        ("?", None, None, None),
        ("++", "right", "right", "right"),
        ("--", "wrong", "wrong", "wrong"),
        ("+-", None, "right", None),
        ("+?", None, "right", "right"),
        ("-?", None, None, "wrong"),
        ("??", None, None, None),
        ("++-", None, "right", "right"),
        ("+--", None, "right", "wrong"),
        ("+-?", None, "right", None),
    ],
)
def test_what_votes_settle(votes: str, all_: str | None, any_: str | None, majority: str | None) -> None:
    signs: dict[str, Any] = {"+": "right", "-": "wrong", "?": "unsure"}
    given_ = [signs[v] for v in votes]
    assert (settle(given_, "all"), settle(given_, "any"), settle(given_, "majority")) == (
        all_,
        any_,
        majority,
    )


def test_a_low_confidence_counts_as_unsure() -> None:
    rule = Acceptance(by=("oracle",), min_confidence=0.8)
    assert rule.vote(AnswerVerdict("right", 0.79)) == "unsure"
    assert rule.vote(AnswerVerdict("right", 0.8)) == "right"
    assert rule.vote(AnswerVerdict("right", float("nan"))) == "unsure"
    assert rule.vote(AnswerVerdict("right")) == "right"


def test_too_few_votes_settle_nothing() -> None:
    assert Acceptance(at_least=2).settle(["right"]) is None
    assert Acceptance(at_least=2).settle(["right", "right"]) == "right"
    assert Acceptance(at_least=0).settle([]) is None


# -- the shown order -----------------------------------------------------------------------------------------


def test_the_published_order_is_a_fixed_permutation() -> None:
    orders = {n: shown_order(n, "whatever", order="published", seed=n) for n in range(5)}
    assert orders == {0: (), 1: (0,), 2: (1, 0), 3: (1, 0, 2), 4: (2, 1, 3, 0)}


@given(st.integers(0, 40), st.text(max_size=20), st.integers())
def test_the_blind_order_is_a_stable_permutation(n: int, name: str, seed: int) -> None:
    order = shown_order(n, name, seed=seed)
    assert sorted(order) == list(range(n))
    assert order == shown_order(n, name, seed=seed)


def test_the_blind_order_does_not_tell_who_wrote_an_answer() -> None:
    """With one machine and one human answer the published order always shows the human one first."""
    first = [shown_order(2, f"c{n}")[0] for n in range(400)]
    assert 150 < sum(first) < 250
    assert {shown_order(2, f"c{n}", order="published")[0] for n in range(400)} == {1}
    assert [shown_order(4, f"c{n}") for n in range(50)] != [
        shown_order(4, f"c{n}", seed=1) for n in range(50)
    ]


# -- the five cases of ProMQA -------------------------------------------------------------------------


def test_case_1_everybody_agrees(make_question: MakeQuestion, make_verdict: MakeVerdict) -> None:
    case = open_case(
        make_question("c", "a", "b"),
        [make_verdict("c", "ana", "+ +-"), make_verdict("c", "ben", "+ +-")],
        order="published",
    )
    assert [(r.text, r.init) for r in case.shown_rows] == [("b", "wrong"), ("a", "right")]
    assert not case.needs_adjudication
    assert _texts(case) == [("a", "machine", "annotator")]


def test_case_2_both_reject(make_question: MakeQuestion, make_verdict: MakeVerdict) -> None:
    case = open_case(make_question("c", "a"), [make_verdict("c", "ana", "-"), make_verdict("c", "ben", "-")])
    assert case.rejected
    assert not case.needs_adjudication
    assert merge(case).state == "rejected"


def test_case_3_a_machine_answer_in_conflict(make_question: MakeQuestion, make_verdict: MakeVerdict) -> None:
    case = open_case(
        make_question("c", "a", "b"),
        [make_verdict("c", "ana", "+ ++"), make_verdict("c", "ben", "+ -+")],
        order="published",
    )
    assert case.needs_adjudication
    assert not case.may_add
    assert merge(case).state == "open"
    assert merge(case).open_rows == 1
    yes = make_verdict("c", "zoe", "+ +-", role="adjudicator")
    assert _texts(case, yes) == [("b", "machine", "annotator"), ("a", "machine", "adjudicator")]
    no = make_verdict("c", "zoe", "+ -+", role="adjudicator")
    assert _texts(case, no) == [("b", "machine", "annotator")]


def test_case_4_own_answers_are_always_open(make_question: MakeQuestion, make_verdict: MakeVerdict) -> None:
    case = open_case(
        make_question("c", "a"),
        [make_verdict("c", "ben", "+ +", "b1"), make_verdict("c", "ana", "+ +", "a1", "a2")],
        order="published",
    )
    assert [(r.text, r.source, r.init) for r in case.rows] == [
        ("a", "machine", "right"),
        ("a1", "human", None),
        ("a2", "human", None),
        ("b1", "human", None),
    ]
    assert [r.text for r in case.shown_rows] == ["a2", "a1", "b1", "a"]
    judged = make_verdict("c", "zoe", "+ ?+?+", role="adjudicator")
    assert _texts(case, judged) == [
        ("a1", "annotator", "adjudicator"),
        ("b1", "annotator", "adjudicator"),
        ("a", "machine", "annotator"),
    ]


def test_case_5_the_question_in_conflict(make_question: MakeQuestion, make_verdict: MakeVerdict) -> None:
    case = open_case(
        make_question("c", "a", "b"),
        [make_verdict("c", "ana", "+ ++"), make_verdict("c", "ben", "-")],
        order="published",
    )
    assert case.question_init is None
    assert case.may_add
    assert [r.init for r in case.rows] == [None, None]
    yes = make_verdict("c", "zoe", "+ +-", "own", role="adjudicator")
    assert merge(case, yes).question_approved_by == "adjudicator"
    assert _texts(case, yes) == [("a", "machine", "adjudicator"), ("own", "adjudicator", "adjudicator")]
    assert merge(case, make_verdict("c", "zoe", "-", role="adjudicator")).state == "rejected"
    assert merge(case, make_verdict("c", "zoe", "?", role="adjudicator")).state == "open"


def test_an_adjudicator_cannot_overturn_what_is_settled(
    make_question: MakeQuestion, make_verdict: MakeVerdict
) -> None:
    case = open_case(
        make_question("c", "a", "b"), [make_verdict("c", "ana", "+ ++"), make_verdict("c", "ben", "+ +-")]
    )
    against = make_verdict("c", "zoe", "-", role="adjudicator")
    assert merge(case, against).state == "accepted"
    assert _texts(case, against) == [("a", "machine", "annotator")]


def test_nothing_is_deduplicated(make_question: MakeQuestion, make_verdict: MakeVerdict) -> None:
    case = open_case(
        make_question("c", "a"), [make_verdict("c", "ana", "+ +", "a"), make_verdict("c", "ben", "+ +", "a")]
    )
    assert len(_texts(case, make_verdict("c", "zoe", "+ +++", role="adjudicator"))) == 3


# -- other numbers and kinds of annotators -------------------------------------------------------------------


def test_one_annotator_is_enough(make_question: MakeQuestion, make_verdict: MakeVerdict) -> None:
    case = open_case(make_question("c", "a", "b"), [make_verdict("c", "ana", "+ -+")])
    assert _texts(case) == [("b", "machine", "annotator")]
    unsure = open_case(make_question("c", "a"), [make_verdict("c", "ana", "+ ?")])
    assert unsure.needs_adjudication


def test_no_annotator_settles_nothing(make_question: MakeQuestion) -> None:
    case = open_case(make_question("c", "a"), [])
    assert case.question_init is None
    assert case.annotators == 0
    assert merge(case).state == "open"


def test_three_annotators_and_a_majority(make_question: MakeQuestion, make_verdict: MakeVerdict) -> None:
    verdicts = [
        make_verdict("c", "ana", "+ +-"),
        make_verdict("c", "ben", "+ ++"),
        make_verdict("c", "cem", "-"),
    ]
    majority = Acceptance(quorum="majority")
    case = open_case(make_question("c", "a", "b"), verdicts, question=majority, answers=majority)
    assert [r.init for r in case.rows] == ["right", None]
    assert open_case(make_question("c", "a", "b"), verdicts).question_init is None


def test_the_oracle_alone(make_question: MakeQuestion, make_verdict: MakeVerdict) -> None:
    oracle = Acceptance(by=("oracle",), min_confidence=0.5)
    verdict = make_verdict("c", "oracle", "+ +-?", confidence=0.9, annotator_kind="oracle")
    case = open_case(make_question("c", "a", "b", "d"), [verdict], question=oracle, answers=oracle)
    assert [r.init for r in case.rows] == ["right", "wrong", None]
    assert merge(case).question_approved_by == "oracle"
    assert _texts(case) == [("a", "machine", "oracle")]
    doubtful = make_verdict("c", "oracle", "+ +-?", confidence=0.4, annotator_kind="oracle")
    assert open_case(make_question("c", "a", "b", "d"), [doubtful], question=oracle).question_init is None


def test_people_for_the_question_and_the_oracle_for_answers(
    make_question: MakeQuestion, make_verdict: MakeVerdict
) -> None:
    verdicts = [
        make_verdict("c", "ana", "+ -"),
        make_verdict("c", "oracle", "? +", annotator_kind="oracle"),
    ]
    case = open_case(make_question("c", "a"), verdicts, answers=Acceptance(by=("oracle",)))
    assert merge(case).question_approved_by == "annotator"
    assert _texts(case) == [("a", "machine", "oracle")]
    together = Acceptance(by=("human", "oracle"), quorum="any")
    case = open_case(make_question("c", "a"), verdicts, question=together, answers=together)
    assert _texts(case) == [("a", "machine", "oracle")]


def test_an_unsure_question_needs_no_answers(make_question: MakeQuestion, make_verdict: MakeVerdict) -> None:
    case = open_case(
        make_question("c", "a"), [make_verdict("c", "ana", "?"), make_verdict("c", "ben", "+ +")]
    )
    assert case.needs_adjudication


def test_saving_order_changes_nothing(make_question: MakeQuestion, make_verdict: MakeVerdict) -> None:
    ana, ben = make_verdict("c", "ana", "+ +", "x"), make_verdict("c", "ben", "+ -", "y")
    assert open_case(make_question("c", "a"), [ana, ben]) == open_case(make_question("c", "a"), [ben, ana])


# -- what does not fit ---------------------------------------------------------------------------------------


def test_verdicts_that_do_not_fit_are_refused(make_question: MakeQuestion, make_verdict: MakeVerdict) -> None:
    with pytest.raises(UserError, match="judges 1 answers, the candidate has 2"):
        open_case(make_question("c", "a", "b"), [make_verdict("c", "ana", "+ +")])
    with pytest.raises(UserError, match="used for candidate 'c'"):
        open_case(make_question("c", "a"), [make_verdict("d", "ana", "+ +")])


def test_an_adjudication_of_another_state_is_refused(
    make_question: MakeQuestion, make_verdict: MakeVerdict
) -> None:
    candidate = make_question("c", "a")
    before = open_case(candidate, [make_verdict("c", "ana", "+ +"), make_verdict("c", "ben", "+ -")])
    verdict = make_verdict("c", "zoe", "+ +", role="adjudicator", case_hash=before.hash)
    check_adjudication(before, verdict)
    after = open_case(candidate, [make_verdict("c", "ana", "+ +", "new"), make_verdict("c", "ben", "+ -")])
    with pytest.raises(UserError, match="changed a verdict since"):
        merge(after, verdict)
    unhashed = make_verdict("c", "zoe", "+ +", role="adjudicator")
    with pytest.raises(UserError, match="judges 1 answers, the case has 2"):
        merge(after, unhashed)
    with pytest.raises(UserError, match="not an adjudication"):
        merge(before, make_verdict("c", "zoe", "+ +"))
    with pytest.raises(UserError, match="not an adjudication"):
        merge(before, make_verdict("d", "zoe", "+ +", role="adjudicator"))


def test_the_case_hash_forgets_only_the_shown_order(
    make_question: MakeQuestion, make_verdict: MakeVerdict
) -> None:
    candidate, verdicts = make_question("c", "a", "b"), [make_verdict("c", "ana", "+ +-", "x")]
    assert open_case(candidate, verdicts).hash == open_case(candidate, verdicts, order="published").hash
    assert open_case(candidate, verdicts).hash != open_case(candidate, verdicts[:0]).hash


# -- properties ----------------------------------------------------------------------------------------------

_judgment = st.sampled_from(["right", "wrong", "unsure"])


@st.composite
def _cases(draw: st.DrawFn) -> tuple[Question, list[Verdict]]:
    answers = draw(st.integers(0, 4))
    candidate = moment_question(
        Candidate(
            id="c",
            example_id="e",
            recording_id="r",
            type="next",
            question="q",
            answers=tuple(Answer(f"machine {n}") for n in range(answers)),
            provenance=Provenance(generator="g", version="1"),
        )
    )
    verdicts = []
    for n in range(draw(st.integers(0, 4))):
        question = draw(_judgment)
        judged = [AnswerVerdict(draw(_judgment)) for _ in range(answers)] if question != "wrong" else []
        own = [f"own {n} {k}" for k in range(draw(st.integers(0, 2)))]
        verdicts.append(
            Verdict(
                candidate_id="c",
                annotator=f"a{n}",
                annotator_kind="human",
                at="",
                question=AnswerVerdict(question),
                answers=tuple(judged),
                own_answers=tuple(own),
            )
        )
    return candidate, verdicts


@given(
    _cases(), st.sampled_from(["all", "any", "majority"]), st.sampled_from(["blind", "published"]), st.data()
)
def test_the_merge_keeps_exactly_what_is_right(
    made: tuple[Question, list[Verdict]], quorum: Any, order: Any, data: st.DataObject
) -> None:
    candidate, verdicts = made
    rule = Acceptance(quorum=quorum)
    case = open_case(candidate, verdicts, question=rule, answers=rule, order=order)
    judged = [data.draw(_judgment) for _ in case.rows]
    adjudication = Verdict(
        candidate_id="c",
        annotator="z",
        annotator_kind="human",
        role="adjudicator",
        at="",
        question=AnswerVerdict("right"),
        answers=tuple(AnswerVerdict(j) for j in judged),
    )
    result = merge(case, adjudication)
    if case.rejected:
        assert result.state == "rejected"
        return
    assert result.state == "accepted"
    wanted = {r.text for r, j in zip(case.rows, judged, strict=True) if (r.init or j) == "right"}
    assert {a.text for a in result.answers} == wanted
    shown = [r.text for r in case.shown_rows if r.text in wanted]
    assert [a.text for a in result.answers] == shown
    if not case.needs_adjudication:
        assert merge(case) == result


def test_options_of_a_choice_are_judged_one_by_one(make_verdict: MakeVerdict) -> None:
    """A wrong option is proposed as wrong: who says so upholds it, and it is no gold."""
    claims: list[Literal["right", "wrong"]] = ["wrong", "right", "wrong"]
    asked = Question(
        id="q", kind="clip", text="What is done?", form=Choice(options=("Boil", "Whisk", "Peel")),
        proposals=tuple(Proposed(value=Pick(option=n), claim=claim) for n, claim in enumerate(claims)),
    )  # fmt: skip
    case = open_case(asked, [make_verdict("q", "ana", "+ -+-"), make_verdict("q", "ben", "+ -++")])
    assert [(row.text, row.init) for row in case.rows] == [
        ("Boil", "wrong"),
        ("Whisk", "right"),
        ("Peel", None),
    ]
    with pytest.raises(UserError, match="judges 2 answers, the candidate has 3"):
        open_case(asked, [make_verdict("q", "ana", "+ -+")])
