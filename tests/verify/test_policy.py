"""What reaches people under each policy, and what it would have cost and changed."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.ask.moment.question import moment_question
from proctor.errors import UserError
from proctor.exam.question import Question
from proctor.verify.adjudicate import Acceptance, find_adjudication, merge, open_case
from proctor.verify.policy import (
    POLICIES,
    Minutes,
    Policy,
    PolicyComparison,
    audit_lot,
    compare_policies,
    median_minutes,
    plan,
)
from proctor.verify.verdict import AnswerVerdict, Verdict

MakeQuestion = Callable[..., Question]
MakeVerdict = Callable[..., Verdict]
EVERYTHING, DOUBTED, AUDIT = POLICIES


def oracle(
    make: MakeVerdict, candidate: str, judged: str, *, confidence: float = 0.95, **more: Any
) -> Verdict:
    return make(
        candidate, more.pop("name", "graph"), judged, confidence=confidence, annotator_kind="oracle", **more
    )


# -- the plan ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ([], "not-judged"),
        (["+ ++"], "settled"),
        (["+ +-"], "settled"),
        (["+ --"], "no-answer"),
        (["-"], "settled"),
        (["?"], "doubted"),
        (["+ +?"], "doubted"),
        (["+ ++", "+ ++"], "settled"),
        (["+ ++", "+ +-"], "doubted"),
        (["+ ++", "-"], "doubted"),
        (["-", "-"], "settled"),
    ],
)
def test_what_machines_settle(
    make_question: MakeQuestion, make_verdict: MakeVerdict, said: list[str], reason: str
) -> None:
    verdicts = [oracle(make_verdict, "c", judged, name=f"m{n}") for n, judged in enumerate(said)]
    planned = plan(DOUBTED, [make_question("c", "a", "b")], verdicts)["c"]
    assert (planned.reason, planned.people) == (reason, 0 if reason == "settled" else 2)
    assert plan(EVERYTHING, [make_question("c", "a", "b")], verdicts)["c"].people == 2


def test_a_model_without_confidence_is_taken_at_its_word_an_oracle_below_the_bar_is_doubted(
    make_question: MakeQuestion, make_verdict: MakeVerdict
) -> None:
    c = make_question("c", "a")
    model = make_verdict("c", "m", "+ +", annotator_kind="model")
    assert plan(DOUBTED, [c], [model])["c"].reason == "settled"
    assert plan(DOUBTED, [c], [oracle(make_verdict, "c", "+ +", confidence=0.79)])["c"].reason == "doubted"
    assert plan(DOUBTED, [c], [oracle(make_verdict, "c", "+ +", confidence=0.8)])["c"].reason == "settled"
    strict = Policy(name="doubted", question=Acceptance(by=("oracle",)), answers=Acceptance(by=("oracle",)))
    assert plan(strict, [c], [model])["c"].reason == "not-judged"
    many = Policy(
        name="doubted",
        question=Acceptance(by=("oracle", "model"), at_least=2),
        answers=Acceptance(by=("oracle", "model"), at_least=2),
    )
    assert plan(many, [c], [model])["c"].reason == "doubted"


def test_people_and_adjudicators_settle_nothing_for_machines(
    make_question: MakeQuestion, make_verdict: MakeVerdict
) -> None:
    said = [
        make_verdict("c", "ana", "+ -"),
        make_verdict("c", "zoe", "-", role="adjudicator"),
        oracle(make_verdict, "c", "+ +"),
    ]
    assert plan(DOUBTED, [make_question("c", "a")], said)["c"].reason == "settled"


def test_what_a_machine_writes_itself_does_not_reopen_the_item(
    make_question: MakeQuestion, make_verdict: MakeVerdict
) -> None:
    said = [make_verdict("c", "m", "+ +", "an answer of the model's own", annotator_kind="model")]
    assert plan(DOUBTED, [make_question("c", "a")], said)["c"].reason == "settled"


def test_what_a_machine_writes_itself_is_no_part_of_peoples_result(
    make_question: MakeQuestion, make_verdict: MakeVerdict
) -> None:
    said = [make_verdict("c", who, "+ +") for who in ("ana", "ben")]
    said.append(make_verdict("c", "m", "+ +", "an answer of the model's own", annotator_kind="model"))
    seen = compare_policies([make_question("c", "a")], said)
    assert seen.items == 1
    assert [(o.adjudications, o.answers) for o in seen.outcomes] == [(0, 1)] * 3


def _settled(make_question: MakeQuestion, make_verdict: MakeVerdict, n: int) -> Any:
    candidates = [make_question(f"c{i}", "a") for i in range(n)]
    return candidates, [oracle(make_verdict, c.id, "+ +") for c in candidates]


def test_the_audit_draws_each_item_by_itself(make_question: MakeQuestion, make_verdict: MakeVerdict) -> None:
    candidates, verdicts = _settled(make_question, make_verdict, 2_000)
    drawn = {name for name, p in plan(AUDIT, candidates, verdicts, seed=3).items() if p.people}
    low, high = proportion_confint(len(drawn), 2_000, alpha=0.001, method="wilson")
    assert low < 0.1 < high
    # Which items there are beside it, and what becomes of them, does not move an item's lot.
    half = {name for name, p in plan(AUDIT, candidates[::2], verdicts, seed=3).items() if p.people}
    assert half == drawn & {c.id for c in candidates[::2]}
    more = Policy(name="audit", audit_share=0.3)
    assert drawn < {name for name, p in plan(more, candidates, verdicts, seed=3).items() if p.people}
    assert drawn != {name for name, p in plan(AUDIT, candidates, verdicts, seed=4).items() if p.people}
    for share, people in ((0.0, 0), (1.0, 4_000)):
        planned = plan(Policy(name="audit", audit_share=share), candidates, verdicts)
        assert sum(p.people for p in planned.values()) == people


@given(st.integers(0, 2**32), st.text(max_size=20))
def test_lots_lie_in_the_unit_interval_and_stay(seed: int, name: str) -> None:
    assert 0.0 <= audit_lot(seed, name) < 1.0
    assert audit_lot(seed, name) == audit_lot(seed, name)
    assert audit_lot(seed, name) != audit_lot(seed + 1, name)


def test_lots_are_spread_evenly() -> None:
    tenths = Counter(int(10 * audit_lot(0, f"item-{n}")) for n in range(10_000))
    assert sorted(tenths) == list(range(10))
    assert max(tenths.values()) - min(tenths.values()) < 200


def test_the_plan_keeps_the_order_of_the_candidates(
    make_question: MakeQuestion, make_verdict: MakeVerdict
) -> None:
    candidates, verdicts = _settled(make_question, make_verdict, 9)
    assert list(plan(AUDIT, candidates[::-1], verdicts)) == [c.id for c in candidates[::-1]]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Policy(people=0), "0 people"),
        (Policy(audit_share=1.1), "audit_share"),
        (Policy(audit_share=float("nan")), "audit_share"),
        (Policy(answers=Acceptance(by=("oracle",), min_confidence=2.0)), "min_confidence"),
        (Policy(question=Acceptance(by=("human", "oracle"))), "people are named"),
    ],
)
def test_policies_that_make_no_sense_are_refused(policy: Policy, message: str) -> None:
    with pytest.raises(UserError, match=message):
        plan(policy, [], [])
    with pytest.raises(UserError, match=message):
        compare_policies([], [], policies=[policy])


def test_other_input_that_is_refused(make_question: MakeQuestion, make_verdict: MakeVerdict) -> None:
    with pytest.raises(UserError, match="more than once"):
        plan(EVERYTHING, [make_question("c"), make_question("c")], [])
    with pytest.raises(UserError, match="different numbers of people"):
        compare_policies([], [], policies=[Policy(people=2), Policy(people=3)])
    with pytest.raises(UserError, match="judges 2 answers"):
        plan(DOUBTED, [make_question("c", "a")], [oracle(make_verdict, "c", "+ ++")])


# -- the comparison ------------------------------------------------------------------------------------------


@pytest.fixture
def study(make_question: MakeQuestion, make_verdict: MakeVerdict) -> tuple[list[Question], list[Verdict]]:
    """Nine items, one for each thing that can happen; c8 waits for its adjudicator, c9 for its second person."""

    def both(name: str, one: str, two: str, *own: str) -> list[Verdict]:
        return [make_verdict(name, "ana", one, *own), make_verdict(name, "ben", two)]

    candidates = [make_question(f"c{n}", "a", "b") for n in range(10)]
    verdicts = [
        *both("c0", "+ +-", "+ +-"), oracle(make_verdict, "c0", "+ +-"),  # all the same
        *both("c1", "+ +-", "+ +-"), oracle(make_verdict, "c1", "+ -+"),  # machines wrong on both answers
        *both("c2", "-", "-"), oracle(make_verdict, "c2", "+ ++"),  # accepted against people
        *both("c3", "+ ++", "+ ++", "own one"), oracle(make_verdict, "c3", "-"),  # rejected against people
        make_verdict("c3", "zoe", "+ +++", role="adjudicator"),
        *both("c4", "+ ++", "+ ++", "own two"), oracle(make_verdict, "c4", "+ ++"),  # only an own answer is lost
        make_verdict("c4", "zoe", "+ +++", role="adjudicator"),
        *both("c5", "+ ++", "-"), oracle(make_verdict, "c5", "+ ?+"),  # doubted, adjudicated, one added
        make_verdict("c5", "zoe", "+ +-", "added", role="adjudicator"),
        *both("c6", "+ ++", "+ ++"),  # no machine
        *both("c7", "-", "-"), oracle(make_verdict, "c7", "-"),
        *both("c8", "+ ++", "-"), oracle(make_verdict, "c8", "+ ++"),
        make_verdict("c9", "ana", "+ ++"), oracle(make_verdict, "c9", "+ ++"),
    ]  # fmt: skip
    return candidates, verdicts


MINUTES = Minutes(2.0, 3.0, 17, 3)


def test_a_comparison_by_hand(study: tuple[list[Question], list[Verdict]]) -> None:
    seen = compare_policies(*study, MINUTES)
    assert (seen.items, seen.unfinished, seen.minutes) == (8, 2, MINUTES)
    assert seen.population == "8 items that people finished, accepted or not"
    everything, doubted, _ = seen.outcomes

    assert (everything.judgements, everything.adjudications, everything.minutes) == (16, 3, 41.0)
    assert (everything.saved_minutes, everything.saved_share) == (0.0, 0.0)
    assert everything.changed.low is None
    assert everything.changed.note.startswith("by definition")
    assert (everything.changes, everything.changed.errors, everything.changed.n) == ((), 0, 8)
    assert (everything.accepted, everything.answers) == (6, 1 + 1 + 3 + 3 + 2 + 2)
    assert everything.machine.items.n == 0

    assert doubted.reasons == {"doubted": 1, "not-judged": 1, "settled": 6}
    assert (doubted.to_people, doubted.judgements, doubted.adjudications) == (2, 4, 1)
    assert (doubted.minutes, doubted.saved_minutes) == (11.0, 30.0)
    assert doubted.saved_share == pytest.approx(30 / 41)
    assert (doubted.accepted, doubted.answers) == (6, 1 + 1 + 2 + 2 + 2 + 2)
    changes = {change.candidate_id: change for change in doubted.changes}
    assert list(changes) == ["c1", "c2", "c3", "c4"]
    assert (changes["c1"].question, changes["c1"].added, changes["c1"].lost) == ("same", ("b",), ("a",))
    assert (changes["c2"].question, changes["c2"].added) == ("accepted", ("a", "b"))
    assert (changes["c3"].question, changes["c3"].lost, changes["c3"].lost_own) == (
        "rejected",
        ("a", "b"),
        ("own one",),
    )
    assert (changes["c4"].question, changes["c4"].added, changes["c4"].lost) == ("same", (), ())
    assert changes["c4"].lost_own == ("own two",)
    assert (doubted.questions_accepted, doubted.questions_rejected) == (1, 1)
    assert (doubted.answers_added, doubted.answers_lost, doubted.own_answers_lost) == (3, 3, 2)
    assert (doubted.changed.errors, doubted.changed.n) == (4, 8)
    error = doubted.machine
    assert (error.items.errors, error.items.n) == (3, 6), "a missing own answer is no machine's error"
    assert (error.questions.errors, error.questions.n) == (2, 6)
    assert (error.answers.errors, error.answers.n) == (2, 6)
    assert (error.items.low, error.items.high) == pytest.approx(proportion_confint(3, 6, method="wilson"))
    assert doubted.audit is None


def test_an_audit_of_all_changes_nothing_and_knows_the_error(
    study: tuple[list[Question], list[Verdict]],
) -> None:
    policies = [
        EVERYTHING,
        DOUBTED,
        Policy(name="audit", audit_share=1.0),
        Policy(name="audit", audit_share=0.0),
    ]
    everything, doubted, full, none = compare_policies(*study, MINUTES, policies).outcomes
    assert full.reasons == {"audit": 6, "doubted": 1, "not-judged": 1}
    assert (full.minutes, full.changes, full.answers) == (everything.minutes, (), everything.answers)
    assert full.audit == full.machine == doubted.machine
    assert (none.reasons, none.changes, none.minutes) == (doubted.reasons, doubted.changes, doubted.minutes)
    assert none.audit is not None
    assert (none.audit.items.n, none.audit.items.rate, bool(none.audit.items.note)) == (0, None, True)


def test_the_audit_estimates_the_error_of_what_machines_settle(
    make_question: MakeQuestion, make_verdict: MakeVerdict
) -> None:
    """Machines err on a fifth of 3,000 items; the interval of the audited tenth holds that."""
    rng = random.Random(8)
    candidates = [make_question(f"c{n}", "a") for n in range(3_000)]
    verdicts = []
    for c in candidates:
        sign = "+" if rng.random() < 0.2 else "-"
        verdicts += [make_verdict(c.id, who, "+ +") for who in ("ana", "ben")]
        verdicts.append(oracle(make_verdict, c.id, "- " if sign == "+" else "+ +"))
    _, doubted, audit = compare_policies(candidates, verdicts, MINUTES).outcomes
    truth = doubted.machine.items.rate
    assert truth is not None
    assert audit.machine == doubted.machine
    assert audit.audit is not None
    found = audit.audit.items
    assert found.n == audit.reasons["audit"] == audit.to_people
    assert found.low is not None
    assert found.high is not None
    assert found.low < truth < found.high
    assert audit.changed.errors == doubted.changed.errors - found.errors, "people mend what is audited"
    assert audit.judgements == 2 * found.n


def test_a_population_without_rejected_items_is_warned_of(
    make_question: MakeQuestion, make_verdict: MakeVerdict, study: tuple[list[Question], list[Verdict]]
) -> None:
    assert compare_policies(*study).warnings == ()
    told = compare_policies(*study, population="accepted")
    assert "rejected ones are missing" in told.warnings[0]
    assert told.population == "8 items that people finished, accepted ones only"
    candidates = [make_question(f"c{n}", "a") for n in range(50)]
    verdicts = [make_verdict(c.id, who, "+ +") for c in candidates for who in ("ana", "ben")]
    assert "cannot be seen here" in compare_policies(candidates, verdicts).warnings[0]
    verdicts[0:2] = [make_verdict("c0", who, "-") for who in ("ana", "ben")]
    assert compare_policies(candidates, verdicts).warnings == ()


def test_minutes_are_told_only_where_they_are_known(study: tuple[list[Question], list[Verdict]]) -> None:
    for minutes in (None, Minutes(None, 3.0, 0, 3), Minutes(2.0, None, 17, 0)):
        for outcome in compare_policies(*study, minutes).outcomes:
            assert (outcome.minutes, outcome.saved_minutes, outcome.saved_share) == (None, None, None)
            assert outcome.note
    no_need = [v for v in study[1] if v.candidate_id in ("c0", "c7")]
    known = compare_policies(study[0], no_need, Minutes(2.0, None, 4, 0)).outcomes
    assert [o.minutes for o in known][:2] == [8.0, 0.0], "no adjudication is needed, so its time is not"


def test_medians_leave_out_what_was_not_timed() -> None:
    assert median_minutes([60_000, 0, 120_000, 240_000, -5, float("nan"), float("inf")], []) == Minutes(
        2.0, None, 3, 0
    )
    assert median_minutes([], [90_000]) == Minutes(None, 1.5, 0, 1)


def test_an_adjudication_of_a_former_case_leaves_the_item_unfinished(
    make_question: MakeQuestion, make_verdict: MakeVerdict
) -> None:
    said = [
        make_verdict("c", "ana", "+ +"),
        make_verdict("c", "ben", "+ -"),
        make_verdict("c", "zoe", "+ +", role="adjudicator", case_hash="another"),
    ]
    seen = compare_policies([make_question("c", "a")], said)
    assert (seen.items, seen.unfinished) == (0, 1)
    assert seen.outcomes[0].changed.rate is None
    assert seen.outcomes[0].saved_share is None


def test_json_is_whole_and_free_of_nan(study: tuple[list[Question], list[Verdict]]) -> None:
    def refuse(constant: str) -> Any:
        raise AssertionError(constant)

    for given_, minutes in ((study, MINUTES), (([], []), None)):
        seen = compare_policies(*given_, minutes)
        data = msgspec.json.encode(seen)
        json.loads(data, parse_constant=refuse)
        assert msgspec.json.decode(data, type=PolicyComparison) == seen


# -- properties ----------------------------------------------------------------------------------------------


def _said(draw: st.DrawFn, candidate: Question, who: str, kind: Any, rows: int, **more: Any) -> Verdict:
    words: dict[str, Any] = {"+": "right", "-": "wrong", "?": "unsure"}
    signs = "++-" if kind == "human" else "++-?"
    question = words[draw(st.sampled_from(signs))]
    judged = [AnswerVerdict(words[draw(st.sampled_from(signs))]) for _ in range(rows)]
    own = draw(st.lists(st.sampled_from(["a", "own"]), max_size=2)) if kind == "human" else []
    return Verdict(
        candidate_id=candidate.id,
        annotator=who,
        annotator_kind=kind,
        at="",
        question=AnswerVerdict(question),
        answers=() if question == "wrong" else tuple(judged),
        own_answers=tuple(own),
        **more,
    )


@st.composite
def studies(draw: st.DrawFn) -> tuple[list[Question], list[Verdict]]:
    candidates, verdicts = [], []
    for n in range(draw(st.integers(0, 5))):
        answers = tuple(Answer(text) for text in draw(st.lists(st.sampled_from(["a", "b", "b"]), max_size=3)))
        candidate = moment_question(Candidate(
            id=f"c{n}", example_id="e", recording_id="r", type="next", question="q", answers=answers,
            provenance=Provenance(generator="hand", version="1"),
        ))  # fmt: skip
        candidates.append(candidate)
        people = [
            _said(draw, candidate, who, "human", len(answers))
            for who in draw(st.sampled_from([[], ["ana"], ["ana", "ben"]]))
        ]
        verdicts += people
        for who in draw(st.sets(st.sampled_from(["m1", "m2"]))):
            verdicts.append(_said(draw, candidate, who, "model", len(answers)))
        if people and draw(st.booleans()):
            case = open_case(candidate, people)
            verdicts.append(
                _said(
                    draw, candidate, "zoe", "human", len(case.rows), role="adjudicator", case_hash=case.hash
                )
            )
    return candidates, verdicts


@settings(max_examples=80)
@given(studies(), st.randoms(use_true_random=False), st.integers(0, 5))
def test_the_books_balance_and_order_changes_nothing(
    study: tuple[list[Question], list[Verdict]], rng: random.Random, seed: int
) -> None:
    candidates, verdicts = study
    policies = [*POLICIES, Policy(name="audit", audit_share=0.5)]
    seen = compare_policies(candidates, verdicts, MINUTES, policies, seed=seed)
    shuffled = list(verdicts)
    rng.shuffle(shuffled)
    assert compare_policies(candidates, shuffled, MINUTES, policies, seed=seed) == seen
    assert seen.items + seen.unfinished == len(candidates)
    everything = seen.outcomes[0]
    for outcome in seen.outcomes:
        assert sum(outcome.reasons.values()) == seen.items
        assert outcome.judgements == 2 * outcome.to_people
        assert outcome.adjudications <= min(everything.adjudications, outcome.to_people)
        assert (
            outcome.accepted == everything.accepted + outcome.questions_accepted - outcome.questions_rejected
        )
        assert outcome.answers == (
            everything.answers + outcome.answers_added - outcome.answers_lost - outcome.own_answers_lost
        )
        assert (outcome.saved_minutes or 0.0) >= 0.0
        assert outcome.machine.items.errors <= outcome.machine.items.n
        planned = plan(outcome.policy, candidates, verdicts, seed=seed)
        assert sum(bool(p.people) for p in planned.values()) >= outcome.to_people


@settings(max_examples=60)
@given(studies())
def test_everything_is_what_people_made_of_it(study: tuple[list[Question], list[Verdict]]) -> None:
    candidates, verdicts = study
    outcome = compare_policies(candidates, verdicts, policies=[EVERYTHING]).outcomes[0]
    results, needed = [], 0
    for c in candidates:
        people = [v for v in verdicts if v.candidate_id == c.id and v.annotator_kind == "human"]
        if sum(v.role == "annotator" for v in people) == 2:
            case = open_case(c, people)
            result = merge(case, find_adjudication(case, people)[0])
            if result.state != "open":
                results.append(result)
                needed += case.needs_adjudication
    assert outcome.items == len(results)
    assert outcome.adjudications == needed
    assert outcome.accepted == sum(r.state == "accepted" for r in results)
    assert outcome.answers == sum(len(r.answers) for r in results)
    assert outcome.changes == ()
