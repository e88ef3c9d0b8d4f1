"""The four filters as conversations: order, votes, what cannot be read, who is not there, and that order changes nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ask.clip.filtered import (
    MODELS,
    Played,
    fences,
    filters,
    judge_says,
    kind_of_call,
    question,
    replied,
)
from tests.ask.documents.rehearsed import Scripted

from proctor.ask.clip.filters import FilterModels, FilterRun, FilterSettings, run_filters
from proctor.ask.clip.known import Known
from proctor.ask.clip.record import FILTERS, FilterName
from proctor.errors import UserError
from proctor.exam.lines import Line
from proctor.llm.message import Image, Request
from proctor.llm.outcome import Failure, Outcome, Refusal, Truncated

DOWN = Failure(kind="budget", message="spent")
DROP = {"reason": "no", "problem": "generic", "verdict": "drop"}
KEEP = {"reason": "fine", "problem": "none", "verdict": "keep"}
YES, NO = {"consistent": "yes"}, {"consistent": "no"}


def run(
    reply: Callable[[Request], Outcome],
    questions: Sequence[Known] | None = None,
    chosen: FilterSettings | None = None,
    models: FilterModels | None = None,
    **more: Any,
) -> tuple[FilterRun, Scripted]:
    port = Scripted(reply, order=more.pop("order", 0))
    made = filters(chosen, models, **more)
    return run_filters(questions if questions is not None else [question()], made, port), port


def only(run_: FilterRun, name: FilterName) -> Any:
    found = [verdict for verdict in run_.verdicts if verdict.filter == name]
    assert len(found) == 1
    return found[0]


# -- order and drops -----------------------------------------------------------------------------------------------


def test_a_question_that_everybody_keeps_is_asked_about_in_order() -> None:
    found, port = run(judge_says())
    assert [v.filter for v in found.verdicts] == list(FILTERS)
    assert [v.keep for v in found.verdicts] == [True] * 4
    assert found.kept == {"q1"}
    asked = Counter(kind_of_call(request) for request in port.sent)
    assert asked == {
        "unspecific": 1,
        "tricky": 1,
        "hallucination": 1,
        "blind": 3,
        "consistency": 1,
    }  # alike: one call
    assert not found.interrupted


@pytest.mark.parametrize("name", FILTERS[:3])
def test_a_drop_is_final_and_nobody_else_is_asked(name: FilterName) -> None:
    found, port = run(judge_says(**{name: {**DROP, "reason": "it lacks something"}}))
    place = FILTERS.index(name)
    assert [v.keep for v in found.verdicts] == [True] * place + [False]
    assert len(port.sent) == place + 1
    assert found.kept == found.postponed == frozenset()
    dropped = list(found.dropped)
    assert [(d.id, d.detail) for d in dropped] == [("q1", "it lacks something")]
    assert dropped[0].reason == f"{name}:{'generic' if name == 'unspecific' else 'other'}"


def test_exhaustive_filters_go_on_and_the_first_drop_counts() -> None:
    found, _ = run(judge_says(unspecific=DROP, tricky=DROP), chosen=FilterSettings(exhaustive=True))
    assert [v.keep for v in found.verdicts] == [False, False, True, True]
    assert [d.reason for d in found.dropped] == ["unspecific:generic"]
    assert found.funnel.rows[1].dropped == 1
    assert found.funnel.dropped == 1


def test_some_filters_can_be_asked_alone_and_keep_their_order() -> None:
    chosen = FilterSettings(filters=("blind", "unspecific"))
    assert chosen.filters == ("unspecific", "blind")
    found, _ = run(judge_says(), chosen=chosen)
    assert [v.filter for v in found.verdicts] == ["unspecific", "blind"]
    assert [row.filter for row in found.funnel.rows] == ["unspecific", "blind"]


# -- what is decided by rule -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "problem", "by"),
    [
        ({"answers": ()}, "no-answer", "unspecific"),
        ({"answers": ("peel", " ")}, "no-answer", "unspecific"),
        ({"text": " \n"}, "no-answer", "unspecific"),
        ({"lines": ()}, "no-context", "hallucination"),
        ({"answers": ("peel it " * 50,)}, "longer-than-context", "hallucination"),
    ],
)  # fmt: skip
def test_what_needs_no_model_is_not_asked(changes: dict[str, Any], problem: str, by: str) -> None:
    found, port = run(judge_says(), [question(**changes)])
    assert port.sent == []
    assert [d.reason for d in found.dropped] == [f"{by}:{problem}"]
    assert found.verdicts[0].judge == "rule"
    assert list(filters().requests([question(**changes)])) == []


def test_a_long_answer_about_long_or_pictured_context_is_asked_about() -> None:
    long = ("peel it " * 50,)
    picture = Image(sha256="a" * 64, mime="image/png", width=8, height=8)
    lines = (Line("s1", "rinse " * 100),)
    for context in (lines, (Line("s1", "a"), Line("s2", "A picture", picture))):
        _, port = run(judge_says(), [question(answers=long, lines=context)])
        assert port.sent


# -- votes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "keep", "votes"),
    [
        ([KEEP, KEEP, DROP], True, "drop keep keep"),
        ([DROP, KEEP, DROP], False, "drop drop keep"),
        (["?", "?", KEEP], False, "drop drop keep"),
    ],
)
def test_a_majority_of_three_votes_decides(said: list[Any], keep: bool, votes: str) -> None:
    three = FilterSettings(filters=("unspecific",), votes={"unspecific": 3}, repair=False)
    found, port = run(judge_says(unspecific=said), chosen=three)
    verdict = only(found, "unspecific")
    assert verdict.keep is keep
    assert " ".join(sorted(verdict.evidence["votes"].split())) == votes
    assert sorted(request.draw for request in port.sent) == [0, 1, 2]
    assert {request.parameters.temperature for request in port.sent} == {0.7}


def test_several_judges_take_turns_and_one_vote_each_is_greedy() -> None:
    models = msgspec.structs.replace(MODELS, judges=("made/j1", "made/j2", "made/j3"))
    chosen = FilterSettings(filters=("tricky",), votes={"tricky": 3})
    found, port = run(judge_says(), chosen=chosen, models=models)
    assert sorted(r.model for r in port.sent) == ["made/j1", "made/j2", "made/j3"]
    assert {(r.draw, r.parameters.temperature) for r in port.sent} == {(0, 0.0)}
    assert only(found, "tricky").judge == "made/j1 + made/j2 + made/j3"


def test_pictures_go_to_judges_that_see() -> None:
    picture = Image(sha256="a" * 64, mime="image/png", width=8, height=8)
    models = msgspec.structs.replace(MODELS, seeing=("made/eye",))
    lines = (Line("s1", "a", picture), Line("s2", "b"))
    _, port = run(judge_says(), [question(lines=lines), question("q2")], models=models)
    by = {(kind_of_call(r), bool(r.media)): r.model for r in port.sent if kind_of_call(r) in FILTERS[:3]}
    assert {model for (_, pictured), model in by.items() if pictured} == {"made/eye"}
    assert {model for (_, pictured), model in by.items() if not pictured} == {"made/judge"}


# -- unread, refused, not there --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said", ["nothing of use", "", Refusal(text="no"), Truncated(text="{"), Failure(kind="content_filter", message="x")]
)  # fmt: skip
@pytest.mark.parametrize("name", FILTERS[:3])
def test_filters_fail_closed(name: FilterName, said: Any) -> None:
    found, _ = run(judge_says(**{name: said}))
    verdict = only(found, name)
    assert verdict.keep is False
    assert verdict.evidence["problem"] == "unparsed"
    assert verdict.reason
    assert found.funnel.rows[FILTERS.index(name)].unparsed == 1


def test_one_repair_saves_a_question() -> None:
    found, port = run(judge_says(tricky=["hm", KEEP]))
    assert found.kept == {"q1"}
    assert only(found, "tricky").details["calls"] == "2"
    assert sum(kind_of_call(r) == "tricky" for r in port.sent) == 2


@pytest.mark.parametrize("name", [*FILTERS, "consistency"])
def test_who_is_not_there_postpones_and_a_later_run_decides(name: str) -> None:
    found, _port = run(judge_says(**{name: DOWN}))
    assert found.postponed == {"q1"}
    assert list(found.dropped) == []
    last = found.verdicts[-1]
    assert (last.filter, last.keep) == ("blind" if name == "consistency" else name, None)
    assert last.evidence["problem"] == "postponed"
    assert last.reason == "budget: spent"
    assert found.funnel.postponed == 1
    again, _ = run(judge_says())
    assert again.kept == {"q1"}


@pytest.mark.parametrize("name", [*FILTERS, "consistency"])
def test_a_call_that_failed_for_good_decides_nothing_and_is_no_verdict(name: str) -> None:
    found, _port = run(judge_says(**{name: Failure(kind="bad_request", message="no")}))
    last = found.verdicts[-1]
    assert (last.keep, last.evidence["problem"], last.reason) == (None, "failed", "bad_request: no")
    assert (found.kept, found.funnel.postponed, found.funnel.failed) == (set(), 0, 1)
    assert [d.reason for d in found.dropped] == [f"{last.filter}:failed"]
    assert found.funnel.lines[-1] == "0 kept, 0 dropped, 1 failed"


def test_an_absent_vote_changes_no_quorum() -> None:
    """Two of three have dropped it: without the third vote it stays open all the same."""
    models = msgspec.structs.replace(MODELS, judges=("made/j1", "made/j2", "made/j3"))
    chosen = FilterSettings(filters=("tricky",), votes={"tricky": 3})

    def reply(request: Request) -> Outcome:
        return DOWN if request.model == "made/j3" else replied(DROP)

    found, _ = run(reply, chosen=chosen, models=models)
    assert only(found, "tricky").keep is None

    def blind(request: Request) -> Outcome:
        return DOWN if request.model == "made/c" else replied("Peel the carrot")

    found, _ = run(blind, chosen=FilterSettings(filters=("blind",)))
    assert only(found, "blind").keep is None
    assert only(found, "blind").evidence["votes"] == "yes yes postponed"


# -- blind -------------------------------------------------------------------------------------------------------------


def blind_only(reply: Callable[[Request], Outcome], **changes: Any) -> tuple[Any, Scripted]:
    found, port = run(reply, [question(**changes)], FilterSettings(filters=("blind",)))
    return only(found, "blind"), port


def assistants(a: Any, b: Any, c: Any, judged: Callable[[str], Any]) -> Callable[[Request], Outcome]:
    """Assistants say these things; the comparer judges each answer by a function of it."""
    says = {"made/a": a, "made/b": b, "made/c": c}

    def reply(request: Request) -> Outcome:
        value = says.get(request.model)
        if kind_of_call(request) == "consistency":
            value = judged(fences(request)["compared answer"])
        return replied(value) if isinstance(value, str | dict) else value

    return reply


def says_peel(answer: str) -> dict[str, str]:
    return YES if "peel" in answer else NO


@pytest.mark.parametrize(
    ("answers", "keep", "votes"),
    [
        (("it is peeled", "they peel it", "now they peel it"), False, "yes yes yes"),
        (("it is peeled", "they cut it", "now they peel it"), False, "yes no yes"),
        (("it is peeled", "they cut it", "they cook it"), True, "yes no no"),
        (("Unknown", "Unknown.", "now they peel it"), True, "unknown unknown yes"),
        ((Refusal(), "they cut it", "now they peel it"), True, "declined no yes"),
        ((Truncated(text="First they peel it and"), "peel it", "cut"), False, "yes yes no"),
        (("", "", "they cut it"), False, "unparsed unparsed no"),
        (("", "they cut it", "they cook it"), True, "unparsed no no"),
        (("", "they peel it", "they cook it"), False, "unparsed yes no"),
        ((Failure(kind="content_filter", message="x"), "cut", "cook"), True, "declined no no"),
    ],
)
def test_two_of_three_who_solve_it_unseen_drop_it(
    answers: tuple[Any, Any, Any], keep: bool, votes: str
) -> None:
    verdict, _ = blind_only(assistants(*answers, says_peel))
    assert verdict.keep is keep
    assert verdict.evidence["votes"] == votes
    solved = votes.split().count("yes") >= 2
    assert verdict.evidence["problem"] == ("none" if keep else "blind-solved" if solved else "unparsed")
    assert verdict.judge == "made/a + made/b + made/c + made/comparer"


def test_a_comparison_that_cannot_be_read_counts_against_the_question() -> None:
    verdict, _ = blind_only(assistants("one", "two", "three", lambda said: NO if said == "three" else "hm"))
    assert verdict.keep is False
    assert verdict.evidence["votes"] == "unparsed unparsed no"
    assert "2 could not be read" in verdict.reason


def test_the_same_words_need_no_comparison() -> None:
    verdict, port = blind_only(
        assistants("PEEL the carrot.", "peel the carrot", "peel  the carrot!", lambda _said: NO)
    )
    assert verdict.keep is False
    assert [kind_of_call(r) for r in port.sent] == ["blind"] * 3


def test_any_accepted_answer_counts() -> None:
    verdict, _ = blind_only(
        assistants("scrape it", "scrape it", "cut", lambda _said: NO),
        answers=("Peel the carrot", "Scrape it"),
    )
    assert verdict.keep is False


def test_what_assistants_said_is_evidence() -> None:
    verdict, _ = blind_only(assistants("it is peeled", "cut", "cook", says_peel))
    assert verdict.evidence["answer_1"] == "it is peeled"
    assert verdict.evidence["consistent_1"] == "yes"
    assert verdict.evidence["consistent_2"] == "no"
    assert verdict.reason == "1 of 3 assistants answer it without seeing anything"


def test_the_number_that_drops_is_a_setting() -> None:
    reply = assistants("it is peeled", "cut", "cook", says_peel)
    found, _ = run(reply, chosen=FilterSettings(filters=("blind",), solved_by=1))
    assert only(found, "blind").keep is False


# -- evidence ------------------------------------------------------------------------------------------------------------


def test_support_is_cited_in_the_evidence() -> None:
    found, _ = run(judge_says())
    assert json.loads(only(found, "hallucination").evidence["ids"]) == ["s1", "s2"]
    found, _ = run(judge_says(hallucination={**KEEP, "ids": ["s1", "s77"]}))
    verdict = only(found, "hallucination")
    assert verdict.keep is False
    assert verdict.evidence["problem"] == "unknown-id"
    assert json.loads(verdict.evidence["unknown_ids"]) == ["s77"]


def test_verdicts_name_templates_calls_and_price() -> None:
    found, _ = run(judge_says(), price=lambda _model, _outcome: 2_000_000)
    details = only(found, "unspecific").details
    assert details["template"].startswith("filter-unspecific@")
    assert details["calls"] == "1"
    assert details["cost"] == "0.002"
    assert found.funnel.rows[3].calls == 4
    assert found.funnel.rows[3].cost == "0.008"


def test_what_a_judge_did_not_get_to_read_is_told() -> None:
    found, _ = run(judge_says(), [question(text="why " * 2_000)])
    assert "left out of the middle" in only(found, "tricky").details["shortened"]
    found, _ = run(judge_says())
    assert all("shortened" not in v.details for v in found.verdicts)


# -- whole sets ------------------------------------------------------------------------------------------------------------


def audience(seed: int = 0) -> tuple[list[Known], Played]:
    kinds = ("vague", "tricky", "hallucinated", "blind-solvable", "sound")
    questions = [question(f"q{n}") for n in range(60)]
    by_text = {q.text: kinds[n % 5] for n, q in enumerate(questions)}
    return questions, Played(by_text, {q.text: q.answers[0] for q in questions}, seed=seed)


@pytest.mark.parametrize("exhaustive", [False, True])
def test_order_of_replies_and_questions_changes_nothing(exhaustive: bool) -> None:
    questions, played = audience()
    chosen = FilterSettings(exhaustive=exhaustive, votes={"tricky": 3})
    found = [run(played, questions, chosen, order=order)[0] for order in range(3)]
    alone = [
        result
        for q in questions
        for result in run_filters([q], filters(chosen), Scripted(played), in_flight=1).results
    ]
    reverse = run(played, questions[::-1], chosen)[0].results[::-1]
    encoded = {msgspec.json.encode(x) for x in (*(f.results for f in found), alone, reverse)}
    assert len(encoded) == 1


@settings(max_examples=12)
@given(st.integers(0, 2**32), st.booleans())
def test_every_question_ends_once_and_the_funnel_adds_up(seed: int, exhaustive: bool) -> None:
    questions, played = audience(seed)
    found, port = run(played, questions, FilterSettings(exhaustive=exhaustive))
    assert [r.item_id for r in found.results] == [q.id for q in questions]
    funnel = found.funnel
    assert funnel.asked == funnel.kept + funnel.dropped + funnel.postponed == 60
    assert funnel.kept == len(found.kept)
    assert funnel.dropped == len(list(found.dropped))
    assert max(port.counts.values()) == 1
    seen = 60
    for row in funnel.rows:
        assert row.seen == (60 if exhaustive else seen)
        assert row.seen == row.kept + row.dropped + row.postponed
        seen = row.kept


def test_estimate_is_what_a_run_without_drops_asks() -> None:
    questions = [question(f"q{n}") for n in range(5)]
    chosen = FilterSettings(votes={"unspecific": 3})
    made = filters(chosen)
    ahead = list(made.requests(questions))
    assert len(ahead) == 5 * (3 + 1 + 1 + 3 + 3)
    port = Scripted(judge_says(blind=lambda request: f"a guess of {request.model}"))
    assert len(run_filters(questions, made, port).kept) == 5
    assert len(port.sent) == len(ahead)
    without = {r.key for r in ahead if kind_of_call(r) != "consistency"}
    assert without == {r.key for r in port.sent if kind_of_call(r) != "consistency"}


def test_a_run_that_is_cut_off_postpones_the_rest() -> None:
    questions, played = audience()
    port = Scripted(played)

    def ask(requests: Iterable[Request]) -> Iterator[tuple[Request, Outcome]]:
        for number, pair in enumerate(port(requests)):
            if number == 40:
                raise KeyboardInterrupt
            yield pair

    found = run_filters(questions, filters(), ask)
    assert found.interrupted
    assert len(found.results) == 60
    assert found.postponed
    whole = {r.item_id: r for r in run(played, questions)[0].results}
    decided = [r for r in found.results if r.verdicts]
    assert decided
    assert all(whole[r.item_id] == r for r in decided)


def test_progress_is_told_of_every_question() -> None:
    questions, played = audience()
    told: list[str] = []
    run_filters(questions, filters(), Scripted(played), progress=lambda result: told.append(result.item_id))
    assert sorted(told) == sorted(q.id for q in questions)


def test_nothing_to_filter_is_no_error() -> None:
    found, _ = run(judge_says(), [])
    assert found.results == ()
    assert found.funnel.asked == 0


# -- what is refused ---------------------------------------------------------------------------------------------------------


def test_two_questions_of_one_id_are_refused() -> None:
    with pytest.raises(UserError, match="same id: 'q1'"):
        run(judge_says(), [question(), question()])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"filters": ("hard",)}, "no filter 'hard'"),
        ({"filters": ()}, "none is named"),
        ({"filters": ("blind", "blind")}, "named twice"),
        ({"votes": {"tricky": 2}}, "2 votes for 'tricky'"),
        ({"votes": {"tricky": 0}}, "0 votes for 'tricky'"),
        ({"votes": {"blind": 3}}, "one vote of each assistant"),
        ({"votes": {"other": 3}}, "no filter 'other'"),
    ],
)
def test_settings_that_cannot_decide_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        FilterSettings(**settings)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (FilterModels(judges=(), assistants=("a", "b", "c"), consistency="d"), "no judge"),
        (FilterModels(judges=("j",), assistants=("a", "b", "a")), "named twice"),
        (FilterModels(judges=("j",), assistants=("a",)), "drops what 2 assistants solve, and has 1"),
        (FilterModels(judges=("j",)), "and has 0"),
    ],
)
def test_filters_without_anybody_to_ask_are_refused(models: FilterModels, message: str) -> None:
    with pytest.raises(UserError, match=message):
        filters(models=models)
    judged = FilterSettings(filters=("unspecific",))
    if models.judges:
        filters(judged, models)


def test_the_first_judge_compares_where_nobody_else_is_named() -> None:
    made = filters(models=msgspec.structs.replace(MODELS, consistency=""))
    assert made.consistency.model == "made/judge"
