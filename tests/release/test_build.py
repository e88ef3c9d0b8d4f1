"""Items come from candidates by declared rules, and everything else is told with its reason."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from proctor.ask.moment.candidate import Answer, Candidate, Provenance
from proctor.ask.moment.question import moment_question
from proctor.errors import UserError
from proctor.exam.kinds.example import Example
from proctor.exam.kinds.moment_question import moment_example, moment_seen
from proctor.exam.question import Choice, Gold, Pick, Proposed, Question, Text, gold_texts
from proctor.records import Dropped, content_hash
from proctor.release.build import RULES, BuildRules, build_items, parse_rules
from proctor.release.promqa import PromqaRecords
from proctor.verify.adjudicate import Acceptance, open_case
from proctor.verify.verdict import AnswerVerdict, Verdict

SIGNS: dict[str, Any] = {"+": "right", "-": "wrong", "?": "unsure"}


def moment(name: str = "e1", **more: Any) -> Example:
    return Example(
        id=name,
        clip_id="r1_4",
        recording_id="r1",
        activity_id="7",
        activity_name="Tea",
        type="missing",
        end=200.0,
        state="ongoing",
        noisy=False,
        **more,
    )


def candidate(name: str = "c1", *answers: str, example: Example | None = None) -> Candidate:
    about = example or moment()
    return Candidate(
        id=name,
        example_id=about.id,
        recording_id="r1",
        type="missing",
        question="Did I forget anything?",
        answers=tuple(Answer(text, "suggestion", ("3",)) for text in answers or ("Yes.", "No.")),
        provenance=Provenance(generator="hand", version="1", example_hash=content_hash(about)),
    )


def says(
    about: Candidate, who: str, judged: str, *own: str, confidence: float | None = None, **more: Any
) -> Verdict:
    question, _, answers = judged.partition(" ")
    return Verdict(
        candidate_id=about.id,
        annotator=who,
        annotator_kind=more.pop("kind", "human"),
        at=more.pop("at", "2026-01-01T00:00:00Z"),
        question=AnswerVerdict(SIGNS[question], confidence),
        answers=tuple(AnswerVerdict(SIGNS[a], confidence) for a in answers),
        own_answers=own,
        candidate_hash=content_hash(about),
        **more,
    )


def asked(candidates: list[Candidate], example: Example | None = None) -> list[Question]:
    return [moment_question(c, example or moment()) for c in candidates]


def build(
    about: Candidate, *verdicts: Verdict, rules: BuildRules | str = "humans", **more: Any
) -> tuple[list[str], list[str]]:
    """Return the gold texts of the one item, and the reasons of what was dropped."""
    items, dropped = build_items(
        asked([about], more.pop("example", moment())),
        verdicts,
        parse_rules(rules) if isinstance(rules, str) else rules,
    )
    return [text for item in items for text in gold_texts(item)], [d.reason for d in dropped]


# -- people --------------------------------------------------------------------------------------------------


def test_an_item_holds_what_was_accepted_and_where_it_came_from() -> None:
    about = candidate()
    items, dropped = build_items(
        asked([about]), [says(about, "ana", "+ +-"), says(about, "ben", "+ +-")], RULES["humans"]
    )
    assert dropped == []
    (item,) = items
    assert (item.id, item.seen) == ("c1", moment_seen(moment_question(about, moment())))
    assert item.question.provenance == {"candidate": "c1", "version": content_hash(about)}
    assert moment_example(item.question) == moment()
    assert item.golds == (
        Gold(
            value=Text(text="Yes.", kind="suggestion", cites=("3",)),
            written_by="machine",
            approved_by="annotator",
        ),
    )


def test_an_option_that_is_rightly_called_wrong_is_no_gold() -> None:
    options = tuple(Proposed(value=Pick(option=n), claim="right" if n == 1 else "wrong") for n in range(3))
    question = Question(
        id="q", kind="clip", text="What is poured?", form=Choice(options=("Milk", "Tea", "Soup")),
        proposals=options,
    )  # fmt: skip
    right = AnswerVerdict("right")
    upheld = [
        Verdict(
            candidate_id="q", annotator=who, annotator_kind="human", at="2026-01-01T00:00:00Z", question=right,
            answers=(right,) * 3,
        )
        for who in "ab"
    ]  # fmt: skip
    (item,), dropped = build_items([question], upheld)
    assert ([gold.value for gold in item.golds], dropped) == ([Pick(option=1)], [])


def test_what_people_are_still_at_waits() -> None:
    about = candidate()
    given = [says(about, "ana", "+ ++"), says(about, "ben", "+ ++")]
    items, dropped = build_items(asked([about]), given, unfinished={"c1": "case"})
    assert (items, dropped) == ([], [Dropped("c1", "not-finished", "case")])
    items, dropped = build_items(
        asked([about]), given, BuildRules(conflict="drop"), unfinished={"c1": "case"}
    )
    assert ([item.id for item in items], dropped) == (["c1"], [])


def test_conflicts_wait_for_an_adjudicator() -> None:
    about = candidate()
    both = [says(about, "ana", "+ ++"), says(about, "ben", "+ -+", "Maybe.")]
    assert build(about, *both) == ([], ["needs-adjudication"])
    settled = says(
        about, "zoe", "+ +++", role="adjudicator", case_hash=open_case(moment_question(about), both).hash
    )
    golds, dropped = build(about, *both, settled)
    assert sorted(golds) == ["Maybe.", "No.", "Yes."]
    assert dropped == []


def test_an_adjudication_of_an_earlier_state_does_not_count() -> None:
    about = candidate()
    before = [says(about, "ana", "+ ++"), says(about, "ben", "+ -+")]
    settled = says(
        about, "zoe", "+ ++", role="adjudicator", case_hash=open_case(moment_question(about), before).hash
    )
    after = [before[0], says(about, "ben", "+ --")]
    assert build(about, *after, settled) == ([], ["adjudication-outdated"])
    assert build(about, *after, settled, rules=BuildRules(conflict="drop")) == ([], ["no-answer-accepted"])


def test_the_last_adjudication_counts() -> None:
    about = candidate()
    both = [says(about, "ana", "+ ++"), says(about, "ben", "-")]
    no = says(about, "zoe", "-", role="adjudicator", at="2026-01-02T00:00:00Z")
    yes = says(about, "amy", "+ +-", role="adjudicator", at="2026-01-03T00:00:00Z")
    assert build(about, *both, yes, no) == (["Yes."], [])
    assert build(about, *both, no) == ([], ["question-rejected"])


@pytest.mark.parametrize(
    ("judged", "reason"),
    [
        ((), "not-verified"),
        (("-", "-"), "question-rejected"),
        (("+ --", "+ --"), "no-answer-accepted"),
        (("+ ++", "-"), "needs-adjudication"),
        (("+ ?+", "+ ?+"), "needs-adjudication"),
    ],
)
def test_reasons(judged: tuple[str, ...], reason: str) -> None:
    about = candidate()
    assert build(about, *(says(about, f"a{n}", j) for n, j in enumerate(judged))) == ([], [reason])


@pytest.mark.parametrize(
    ("own", "golds"),
    [("accept", ["Mine.", "No.", "Yes."]), ("ignore", ["No.", "Yes."]), ("adjudicate", [])],
)
def test_what_becomes_of_answers_that_annotators_wrote(own: Any, golds: list[str]) -> None:
    about = candidate()
    texts, _ = build(about, says(about, "ana", "+ ++", "Mine."), rules=BuildRules(own_answers=own))
    assert sorted(texts) == golds


def test_an_adjudication_still_fits_when_own_answers_are_accepted() -> None:
    about = candidate()
    both = [says(about, "ana", "+ ++", "Mine."), says(about, "ben", "+ -+")]
    settled = says(
        about, "zoe", "+ ++-", role="adjudicator", case_hash=open_case(moment_question(about), both).hash
    )
    accept = BuildRules(own_answers="accept")
    assert sorted(build(about, *both, settled, rules=accept)[0]) == ["Mine.", "No.", "Yes."]
    assert sorted(build(about, *both, settled, rules=BuildRules(own_answers="ignore"))[0]) == ["No.", "Yes."]


def test_own_answers_under_a_question_in_conflict_are_not_let_in_unseen() -> None:
    about = candidate()
    both = [says(about, "ana", "+ ++", "Mine."), says(about, "ben", "-")]
    assert build(about, *both, rules=BuildRules(own_answers="accept"))[1] == ["needs-adjudication"]


# -- machines ------------------------------------------------------------------------------------------------


def test_the_oracle_is_taken_where_it_is_sure() -> None:
    about = candidate()
    sure = says(about, "oracle", "+ +-", confidence=0.9, kind="oracle")
    doubtful = says(about, "oracle", "+ +-", confidence=0.5, kind="oracle")
    lenient = parse_rules({"name": "oracle", "every_answer": False})
    items, _ = build_items(asked([about]), [sure], lenient)
    assert items[0].golds[0].approved_by == "oracle"
    assert gold_texts(items[0]) == ("Yes.",)
    assert items[0].approved_by == "oracle"
    assert build(about, sure, rules="oracle") == ([], ["answer-not-accepted"])
    assert build(about, doubtful, rules=lenient) == ([], ["no-answer-accepted"])
    assert build(about, says(about, "ana", "+ ++"), rules="oracle") == ([], ["not-verified"])
    assert build(about, says(about, "oracle", "? ++", kind="oracle"), rules="oracle")[1] == [
        "question-in-conflict"
    ]
    assert build(about, says(about, "oracle", "-", kind="oracle"), rules="oracle")[1] == ["question-rejected"]


def test_everybodys_word() -> None:
    about = candidate("c1", "a", "b", "c")
    votes = [
        says(about, "ana", "+ ++-"),
        says(about, "vlm", "+ +--", kind="model"),
        says(about, "oracle", "+ ++?", kind="oracle"),
    ]
    assert sorted(build(about, *votes, rules="any")[0]) == ["a", "b"]
    assert build(about, *votes, rules="all")[0] == ["a"]
    assert sorted(build(about, *votes, rules="majority")[0]) == ["a", "b"]


def test_models_alone_may_decide() -> None:
    about = candidate("c1", "a", "b", "c")
    people = [says(about, "ana", "+ +++"), says(about, "oracle", "+ +++", kind="oracle")]
    votes = [says(about, f"vlm{n}", said, kind="model") for n, said in enumerate(("+ ++-", "+ +--", "+ ++-"))]
    assert sorted(build(about, *people, *votes, rules="models")[0]) == ["a", "b"]
    assert build(about, *people, rules="models") == ([], ["not-verified"])
    assert build(about, *people, says(about, "vlm", "-", kind="model"), rules="models")[1] == [
        "question-rejected"
    ]


def test_every_answer_must_stand() -> None:
    about = candidate()
    verdict = says(about, "oracle", "+ +-", kind="oracle")
    rules = parse_rules({"name": "any", "every_answer": True})
    assert build(about, verdict, rules=rules) == ([], ["answer-not-accepted"])
    assert build(about, says(about, "oracle", "+ ++", kind="oracle"), rules=rules)[1] == []


# -- answers -------------------------------------------------------------------------------------------------


def test_duplicates_go_only_when_asked() -> None:
    about = candidate("c1", "Yes, the tea.", " yes,  the TEA ", "No")
    verdict = says(about, "ana", "+ +++")
    assert len(build(about, verdict)[0]) == 3
    assert len(build(about, verdict, rules=BuildRules(deduplicate=True))[0]) == 2


def test_a_minimum_of_golds() -> None:
    about = candidate()
    assert build(about, says(about, "ana", "+ +-"), rules=BuildRules(minimum_golds=2)) == (
        [],
        ["too-few-answers"],
    )
    assert build(about, says(about, "ana", "+ --"), rules=BuildRules(minimum_golds=0)) == (
        [],
        ["no-answer-accepted"],
    )


def test_at_most_so_many_of_one_example() -> None:
    made = [candidate(f"c{n}") for n in range(3)]
    verdicts = [says(c, "ana", "+ ++") for c in made]
    items, dropped = build_items(asked(made), verdicts, BuildRules(per_example=2))
    assert [i.id for i in items] == ["c0", "c1"]
    assert [(d.id, d.reason) for d in dropped] == [("c2", "example-has-enough")]


# -- what does not fit ---------------------------------------------------------------------------------------


def test_an_example_that_changed() -> None:
    about = candidate()
    verdict = says(about, "ana", "+ ++")
    assert build(about, verdict, example=moment(video="other.mp4")) == ([], ["example-changed"])


def test_a_candidate_that_was_edited_after_the_verdict() -> None:
    about = candidate()
    edited = msgspec.structs.replace(about, question="Anything else?")
    assert build(edited, says(about, "ana", "+ ++")) == ([], ["candidate-changed", "not-verified"])


def test_a_verdict_on_nothing_is_told() -> None:
    about = candidate()
    items, dropped = build_items([], [says(about, "ana", "+ ++")])
    assert (items, [d.reason for d in dropped]) == ([], ["candidate-unknown"])


def test_ids_must_be_unique() -> None:
    with pytest.raises(UserError, match="candidates: the id 'c1' occurs more than once"):
        build_items(asked([candidate(), candidate()]), [])


def test_a_verdict_of_another_length_is_refused() -> None:
    about = candidate()
    with pytest.raises(UserError, match="judges 1 answers, the candidate has 2"):
        build(about, says(about, "ana", "+ +"))


def test_the_order_of_verdicts_changes_nothing() -> None:
    made = [candidate(f"c{n}", "a", "b", "c") for n in range(20)]
    verdicts = [says(c, who, "+ ++-", f"{who}'s") for c in made for who in ("ana", "ben")]
    rules = BuildRules(own_answers="accept")
    expected = build_items(asked(made), verdicts, rules, seed=5)
    random.Random(1).shuffle(verdicts)
    assert build_items(asked(made), verdicts, rules, seed=5) == expected
    assert [i.id for i in expected[0]] == [c.id for c in made]
    assert build_items(asked(made), verdicts, rules, seed=6) != expected


# -- rules ---------------------------------------------------------------------------------------------------


def test_rules_are_found_by_name_and_can_be_refined() -> None:
    assert parse_rules("oracle") is RULES["oracle"]
    refined = parse_rules({"name": "oracle", "answers": {"min_confidence": 0.95}})
    assert refined.answers == Acceptance(by=("oracle",), min_confidence=0.95)
    assert refined.conflict == "drop"
    assert parse_rules({"conflict": "drop"}) == BuildRules(conflict="drop")
    assert all(parse_rules(msgspec.to_builtins(rules)) == rules for rules in RULES.values())


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("everyone", "known here: humans, published, oracle"),
        ({"quorum": "all"}, "unknown field"),
        ({"conflict": "fight"}, "fight"),
        ({"answers": {"min_confidence": "high"}}, "min_confidence"),
        ({"answers": {"min_confidence": 1.5}}, "0 to 1"),
        ({"answers": {"min_confidence": float("nan")}}, "0 to 1"),
        ({"per_example": -1}, "negative"),
        ({"name": ["oracle"]}, "name"),
        ({"answers": 5}, "answers"),
    ],
)
def test_rules_that_are_none_are_refused(value: Any, seen: str) -> None:
    with pytest.raises(UserError, match=seen):
        parse_rules(value)


def test_acceptance_is_part_of_the_rules() -> None:
    two = BuildRules(question=Acceptance(at_least=2), answers=Acceptance(at_least=2))
    about = candidate()
    assert build(about, says(about, "ana", "+ ++"), rules=two) == ([], ["needs-adjudication"])


# -- the real file -------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_the_published_items_follow_from_the_verdicts(dev_records: PromqaRecords) -> None:
    rules = RULES["published"]
    items, dropped = build_items(dev_records.questions, dev_records.verdicts, rules)
    assert items == list(dev_records.items)
    assert dropped == []
    blind, _ = build_items(dev_records.questions, dev_records.verdicts)
    assert [sorted(i.golds, key=str) for i in blind] == [sorted(i.golds, key=str) for i in items]
    assert [i.golds for i in blind] != [i.golds for i in items]


# -- the gate of the language ----------------------------------------------------------------------------------


GOOD, BAD = "You used a bowl instead of a cup.", "You used the sugar went into a cup instead of the jug."


def written_by(generator: str, *answers: str, question: str = "Did I forget anything?") -> Candidate:
    about = candidate("c1", *answers)
    provenance = msgspec.structs.replace(about.provenance, generator=generator)
    return msgspec.structs.replace(about, provenance=provenance, question=question)


def test_what_is_not_english_is_dropped_with_its_reason() -> None:
    for about in (written_by("rules", BAD), written_by("rules", GOOD, question="Did I used the the bowl?")):
        items, dropped = build_items(asked([about]), [says(about, "a", "+ +"), says(about, "b", "+ +")])
        assert not items
        assert dropped[0].reason == "language"
        assert "“" in dropped[0].detail


def test_one_faulty_gold_is_left_out_unless_the_golds_must_be_complete() -> None:
    about = written_by("rules", GOOD, BAD)
    both = [says(about, "a", "+ ++"), says(about, "b", "+ ++")]
    assert build(about, *both) == ([GOOD], [])
    sure = says(about, "o", "+ ++", kind="oracle", confidence=0.9)
    assert build(about, sure, rules="oracle") == ([], ["language"])


def test_a_person_who_was_shown_the_objection_may_keep_what_a_model_wrote() -> None:
    about = written_by("model", BAD)
    assert build(about, says(about, "a", "+ +"), says(about, "b", "+ +")) == ([BAD], [])
    machine = says(about, "m", "+ +", kind="model")
    assert build(about, machine, rules="any") == ([], ["language"])


def test_published_rules_leave_the_language_as_it_was_published() -> None:
    about = written_by("rules", BAD)
    assert build(about, says(about, "a", "+ +"), says(about, "b", "+ +"), rules="published") == ([BAD], [])
