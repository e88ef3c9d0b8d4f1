"""One question and its attempts: every outcome, votes, what is bad input, and what postpones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ask.clip.choice_player import (
    MODELS,
    Port,
    is_repair,
    known,
    maker,
    question,
    read_request,
    right_letter,
    write_six,
    wrong_letter,
)

from proctor.ask.clip.choices import (
    CHOICE_OUTCOMES,
    ChoiceModels,
    ChoiceResult,
    ChoiceSettings,
    choice_calls,
    unfit,
)
from proctor.ask.clip.known import Known
from proctor.ask.clip.record import Vote
from proctor.errors import UserError
from proctor.exam.lines import Line
from proctor.llm.converse import converse
from proctor.llm.message import Image, Request
from proctor.llm.outcome import Failure, Outcome, Refusal, Reply, Truncated

Said = str | Outcome
PICK = '{"best": [1, 2, 3, 4]}'


def told(
    write: Callable[[Any], Said] | Said | None = None,
    pick: Said = PICK,
    with_: Callable[[Any, Request], Said] | None = None,
    without: Callable[[Any, Request], Said] | None = None,
) -> Callable[[Request], Said]:
    """Models that do as they are told; by default the first attempt is accepted."""

    def reply(request: Request) -> Said:
        asked = read_request(request)
        if asked.role == "write":
            said = write_six if write is None else write
            return said(asked) if callable(said) else said
        if asked.role == "pick":
            return pick
        if asked.role == "with":
            return with_(asked, request) if with_ else right_letter(asked)
        return without(asked, request) if without else wrong_letter(asked)

    return reply


def made(
    reply: Callable[[Request], Said], asked: Known | None = None, **more: Any
) -> tuple[ChoiceResult, Port]:
    port = Port(reply)
    ((_, result),) = converse([("q", maker(**more).question(asked or question()))], port)
    return result, port


def roles(port: Port) -> Counter[str]:
    return Counter(read_request(request).role for request in port.sent)


def outcomes(result: ChoiceResult) -> list[str]:
    return [attempt.outcome for attempt in result.attempts]


# -- the way of an attempt ---------------------------------------------------------------------------------------


def test_an_attempt_that_is_accepted():
    result, port = made(told())
    assert result.state == "accepted"
    (attempt,) = result.attempts
    assert attempt.outcome == "ok"
    assert attempt.confirmed is True
    assert len(attempt.wrong) == 4
    assert {d.kind for d in attempt.wrong} == {"model"}
    assert Counter(vote.stage for vote in attempt.votes) == {
        "with_steps": 3,
        "without_steps": 3,
        "confirm": 3,
    }
    assert roles(port) == {"write": 1, "pick": 1, "with": 3, "without": 6}
    assert len(attempt.calls) == 11
    assert [name for name, _ in result.prompts] == ["choices-pick", "choices-vote", "choices-write"]
    assert result.dropped is None


def test_the_order_of_the_calls_and_who_is_asked():
    _, port = made(
        told(), models=ChoiceModels(writer="compat/w@u", picker="compat/p@u", assistants=MODELS.assistants)
    )
    assert [request.model for request in port.sent[:2]] == ["compat/w@u", "compat/p@u"]
    for begin, role in ((2, "with"), (5, "without"), (8, "without")):
        sent = port.sent[begin : begin + 3]
        assert sorted(request.model for request in sent) == sorted(MODELS.assistants)
        assert {read_request(request).role for request in sent} == {role}


def test_pictures_go_to_whoever_is_shown_what_is_known():
    picture = Image(sha256="a" * 64, mime="image/png", width=8, height=8)
    asked = question(lines=(Line("w", "A wall. (an attached picture)", picture),), cites=("w",))
    _, port = made(told(), asked)
    shown = {True: {"write", "pick", "with"}, False: {"without"}}
    sent = [*port.sent, *maker().outline(asked)]
    for attached, expected in shown.items():
        assert {read_request(r).role for r in sent if bool(r.media) is attached} == expected


def test_votes_say_what_was_chosen():
    result, port = made(told())
    shown = {request.model: read_request(request) for request in port.sent[2:5]}
    unshuffled = ["thing 0 right", *(d.text for d in result.attempts[0].wrong)]
    for vote in result.attempts[0].votes[:3]:
        options = shown[vote.assistant].options
        assert options == [unshuffled[position] for position in vote.order]
        assert vote.right
        assert options["ABCDE".index(vote.letter)] == "thing 0 right"
    assert len({vote.order for vote in result.attempts[0].votes}) > 1


def test_the_best_come_in_the_order_of_the_choice():
    six = json.dumps({"wrong": list("abcdef")})
    result, _ = made(told(six, '{"best": [6, 2, 4, 1, 3]}'))
    assert [d.text for d in result.attempts[0].wrong] == ["f", "b", "d", "a"]


def test_wrong_answers_look_like_the_right_one():
    six = json.dumps({"wrong": ["oil", "tea.", "Milk", "wine!", "x", "y"]})
    result, _ = made(told(six, with_=lambda *_: "A"), question(answer="Salt."), attempts=1)
    assert [d.text for d in result.attempts[0].wrong] == ["Oil.", "Tea.", "Milk.", "Wine!"]


# -- every outcome -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "outcome", "detail"),
    [
        (told("no JSON"), "format", "no_json"),
        (told(Refusal(text="never")), "format", "refused: never"),
        (told(Truncated(text="")), "format", "cut off"),
        (told(Failure(kind="content_filter", message="blocked")), "format", "content filter"),
        (told(pick="the first four"), "format", "no_json"),
        (told(pick='{"best": [1, 2, 3, 9]}'), "format", "there is no proposal 9"),
        (told('{"wrong": ["a", "b", "c"]}'), "too_few", "3 wrong answers were written, 4 are needed"),
        (told('{"wrong": ["b", "c", "d", "??", " "]}'), "too_few", "3 wrong answers were written"),
        (told(pick='{"best": [1, 2, 3]}'), "too_few", "3 of 6 wrong answers were chosen"),
        (told(pick='{"best": [1, 2, 3, 3]}'), "too_few", "3 of 6"),
        (told('{"wrong": ["tea", "oil", "The oil!", "b", "c"]}'), "duplicate", "'The oil!' says the same as 'oil'"),
        (told('{"wrong": ["Thing 0 RIGHT.", "b", "c", "d"]}'), "duplicate", "says the same as 'thing 0 right'"),
        (told('{"wrong": ["b", "c", "d", "All of the above"]}'), "says_all_of_the_above", "All of the above"),
        (told(with_=lambda asked, _: wrong_letter(asked)), "with_steps_fail", "3 of 3 were wrong"),
        (told(with_=lambda *_: "hard to say"), "with_steps_fail", "3 of 3 were wrong"),
        (told(without=lambda asked, _: right_letter(asked)), "without_steps_fail", "3 of 3 were right"),
    ],
)  # fmt: skip
def test_every_outcome_and_ten_attempts(reply: Callable[[Request], Said], outcome: str, detail: str):
    result, _ = made(reply)
    assert outcomes(result) == [outcome] * 10
    assert detail in result.attempts[-1].detail
    assert result.state == "open_ended"
    assert result.accepted is None
    assert result.dropped is not None
    assert (result.dropped.id, result.dropped.reason) == ("q0000", outcome)
    assert [attempt.number for attempt in result.attempts] == list(range(10))


def test_the_outcomes_are_all_tested():
    names = {param.values[1] for mark in test_every_outcome_and_ten_attempts.pytestmark for param in map(_as_param, mark.args[1])}  # type: ignore[attr-defined]  # fmt: skip
    assert names | {"ok", "failed", "postponed"} == set(CHOICE_OUTCOMES)


def _as_param(values: Any) -> Any:
    return pytest.param(*values)


def test_an_answer_that_is_right_as_well_is_a_duplicate():
    six = '{"wrong": ["b", "c", "d", "Another right one"]}'
    result, _ = made(told(six), question(also=("another right one",)), attempts=1)
    assert outcomes(result) == ["duplicate"]


def test_fewer_attempts_by_choice():
    result, port = made(told("no JSON"), attempts=3, repair=False)
    assert outcomes(result) == ["format"] * 3
    assert len(port.sent) == 3
    assert [request.draw for request in port.sent] == [0, 1, 2], "the same words are drawn anew"


def test_a_later_attempt_is_told_what_was_tried():
    result, port = made(told(with_=lambda asked, _: wrong_letter(asked)), attempts=3)
    writes = [read_request(r) for r in port.sent if read_request(r).role == "write"]
    assert "tried before" not in writes[0].blocks
    tried = writes[2].blocks["tried before"].strip().split("\n")
    assert tried == [f"- {d.text}" for attempt in result.attempts[:2] for d in attempt.wrong]


def test_a_reply_in_the_wrong_form_is_asked_for_once_more():
    def reply(request: Request) -> Said:
        if read_request(request).role in ("write", "pick") and not is_repair(request):
            return "1. oil 2. tea"
        return told()(request)

    result, port = made(reply)
    assert outcomes(result) == ["ok"]
    assert roles(port) == {"write": 2, "pick": 2, "with": 3, "without": 6}
    assert "in this form" in port.sent[1].messages[-1].text
    refused, port = made(told(Refusal(text="no")), attempts=1)
    assert outcomes(refused) == ["format"]
    assert len(port.sent) == 1, "who declines is not asked again"


# -- votes -------------------------------------------------------------------------------------------------------


def some(right: int, other: str = "") -> Callable[[Any, Request], Said]:
    """The first ``right`` assistants are right; the others are wrong, or say something else."""

    def vote(asked: Any, request: Request) -> Said:
        n = MODELS.assistants.index(request.model)
        return right_letter(asked) if n < right else other or wrong_letter(asked)

    return vote


@pytest.mark.parametrize("other", ["", "I do not know"])
@pytest.mark.parametrize(
    ("right", "outcome"), [(3, "ok"), (2, "ok"), (1, "with_steps_fail"), (0, "with_steps_fail")]
)
def test_two_of_three_decide_with_steps(right: int, outcome: str, other: str):
    assert outcomes(made(told(with_=some(right, other)), attempts=1)[0]) == [outcome]


@pytest.mark.parametrize("other", ["", "I do not know"])
@pytest.mark.parametrize(
    ("right", "outcome"), [(0, "ok"), (1, "ok"), (2, "without_steps_fail"), (3, "without_steps_fail")]
)
def test_two_of_three_decide_without_steps(right: int, outcome: str, other: str):
    assert outcomes(made(told(without=some(right, other)), attempts=1)[0]) == [outcome]


@pytest.mark.shared
def test_the_rules_are_the_expected_ones(shared_expected: Callable[[str], dict[str, Any]]):
    expected = shared_expected("smmqg-instructionbench")["mc_votes"]
    assert expected["stage2"] == "redesign when >=2 of 3 assistants are wrong WITH steps"
    assert expected["stage3"] == "redesign when >=2 of 3 are right WITHOUT steps"
    for wrong in range(4):
        fails = outcomes(made(told(with_=some(3 - wrong)), attempts=1)[0]) == ["with_steps_fail"]
        assert fails == (wrong >= 2)
        fails = outcomes(made(told(without=some(wrong)), attempts=1)[0]) == ["without_steps_fail"]
        assert fails == (wrong >= 2)


@pytest.mark.parametrize("letter", list("ABCDE"))
def test_models_that_always_say_the_same_letter_get_no_question_through(letter: str):
    for n in range(20):
        result, _ = made(told(with_=lambda *_: letter, without=lambda *_: letter), question(n), attempts=4)
        for attempt in result.attempts:
            seeing = [vote for vote in attempt.votes if vote.stage == "with_steps"]
            assert {vote.letter for vote in seeing} == {letter}
            assert (attempt.outcome != "with_steps_fail") == (sum(vote.right for vote in seeing) >= 2)
    many = [
        made(told(with_=lambda *_: letter, without=lambda *_: letter), question(n), attempts=1)[0]
        for n in range(100)
    ]
    failed = sum(outcomes(result) == ["with_steps_fail"] for result in many)
    assert failed >= 75, "chance gets 10.4 % through"


def test_the_fresh_vote_is_reported_or_required():
    def reply(request: Request) -> Said:
        asked = read_request(request)
        if asked.role != "without":
            return told()(request)
        seen[request.model] += 1
        return right_letter(asked) if seen[request.model] > 1 else wrong_letter(asked)

    states = {}
    for confirm in ("report", "require", "off"):
        seen: Counter[str] = Counter()
        result, port = made(reply, confirm=confirm)
        states[confirm] = (result.state, result.attempts[0].confirmed, len(port.sent))
    assert states == {
        "report": ("accepted", False, 11),
        "require": ("unconfirmed", False, 11),
        "off": ("accepted", None, 8),
    }
    seen = Counter()
    result, _ = made(reply, confirm="require")
    assert outcomes(result) == ["ok"], "it is not tried again: that would be luck once more"
    assert result.dropped is not None
    assert result.dropped.reason == "unconfirmed"


def test_other_numbers_of_assistants_and_options():
    five = ChoiceModels(writer="compat/w@u", assistants=tuple(f"compat/a{n}@u" for n in range(5)))

    def reply(request: Request) -> Said:
        asked = read_request(request)
        if asked.role == "with":
            return right_letter(asked) if request.model < "compat/a3" else wrong_letter(asked)
        return PICK.replace(", 3, 4", "") if asked.role == "pick" else told()(request)

    result, port = made(reply, models=five, wrong=2, written=4)
    assert outcomes(result) == ["ok"]
    assert len(port.sent) == 2 + 3 * 5
    assert all(sorted(vote.order) == [0, 1, 2] for vote in result.attempts[0].votes)


def test_an_assistant_that_votes_twice_sees_two_orders():
    same = ChoiceModels(writer="compat/w@u", assistants=("compat/a@u",) * 3)
    result, _ = made(told(), models=same)
    orders = [vote.order for vote in result.attempts[0].votes]
    assert len(set(orders)) > 3


# -- calls that fail ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["write", "pick", "with", "without"])
@pytest.mark.parametrize("kind", ["overload", "budget", "auth", "timeout"])
def test_a_call_that_fails_never_decides(role: str, kind: Any):
    def reply(request: Request) -> Said:
        asked = read_request(request)
        down = request.model == MODELS.assistants[0] or role in ("write", "pick")
        return Failure(kind=kind, message="down") if asked.role == role and down else told()(request)

    result, _ = made(reply)
    ours = kind == "budget"
    assert outcomes(result) == ["postponed" if ours else "failed"], "no further attempt is made"
    assert f"{kind}: down" in result.attempts[0].detail
    assert result.state == ("postponed" if ours else "open_ended")
    assert (result.dropped is None) == ours


def test_two_who_agree_do_not_decide_without_the_third():
    def reply(request: Request) -> Said:
        asked = read_request(request)
        if asked.role == "with" and request.model == MODELS.assistants[2]:
            return Failure(kind="cancelled", message="late")
        return wrong_letter(asked) if asked.role == "with" else told()(request)

    result, _ = made(reply)
    assert outcomes(result) == ["postponed"]
    assert result.attempts[0].votes == ()


def test_costs_are_added_up():
    result, _ = made(told(), price=lambda model, outcome: 1_000_000)
    assert result.attempts[0].cost == "0.011"
    result, _ = made(told(), price=lambda model, outcome: None if "writer" in model else 5)
    assert result.attempts[0].cost is None
    result, _ = made(told(Failure(kind="budget", message="spent")))
    assert result.attempts[0].cost == "0", "nothing was said, nothing is charged"


# -- bad input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"question": " "}, "no_question"),
        ({"answer": ""}, "no_answer"),
        ({"answer": "?!"}, "no_answer"),
        ({"lines": (), "cites": ()}, "no_context"),
        ({"lines": (Line(id="task", text="Make tea"),), "cites": ()}, "no_context"),
        ({"answer": "All of the above"}, "answer_says_all_of_the_above"),
        ({"answer": "salt " * 200}, "answer_longer_than_context"),
    ],
)
def test_what_cannot_get_options_is_not_asked_about(more: dict[str, Any], reason: str):
    result, port = made(told(), question(**more))
    assert result.state == "unfit"
    assert result.dropped is not None
    assert result.dropped.reason == reason
    assert result.attempts == ()
    assert port.sent == []


def test_what_is_fit():
    assert unfit(question()) is None
    short = question(lines=(Line(id="s2", text="add the salt"),), answer="add the salt")
    assert unfit(short) is None, "as long as its context is not too long"


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"attempts": 0}, "attempts is 0"),
        ({"wrong": 0}, "wrong is 0"),
        ({"wrong": 26, "written": 30}, "more letters than there are"),
        ({"written": 3}, "3 wrong answers are written, and 4 of them are wanted"),
        ({"typed": 5}, "typed is 5"),
        ({"typed": -1}, "typed is -1"),
        ({"kinds": ("model",)}, "no rule makes distractors of the kind 'model'"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], problem: str):
    with pytest.raises(UserError, match=problem):
        ChoiceSettings(**settings)


def test_nobody_votes():
    with pytest.raises(UserError, match="no assistants were named"):
        ChoiceModels(writer="w", assistants=())


# -- typed distractors -------------------------------------------------------------------------------------------


def tea() -> Known:
    texts = (
        "boil the water",
        "warm the pot",
        "add the tea",
        "pour the milk",
        "cut the lemon",
        "stir the sugar",
    )
    lines = tuple(
        Line(id=f"s{n}", text=text, start=10.0 * n, end=10.0 * n + 5, is_step=True)
        for n, text in enumerate(texts, 1)
    )
    return known(
        id="tea", question="What does the person do right after warming the pot?", answer="add the tea", lines=lines,
        cites=("s3",),
    )  # fmt: skip


def test_typed_distractors_alone_ask_nobody_to_write():
    def reply(request: Request) -> Said:
        asked = read_request(request)
        right = next("ABCDE"[n] for n, text in enumerate(asked.options) if text == "add the tea")
        return right if asked.role == "with" else "ABCDE".replace(right, "")[0]

    result, port = made(reply, tea(), typed=4)
    assert result.state == "accepted"
    assert set(roles(port)) == {"with", "without"}
    assert all(d.kind in ("order", "object", "other-step") and d.origin for d in result.attempts[0].wrong)


def test_a_model_fills_up_what_rules_do_not_make():
    chosen: list[str] = []

    def reply(request: Request) -> Said:
        asked = read_request(request)
        if asked.role == "pick":
            chosen.append(request.messages[-1].text.strip().splitlines()[-1])
            return '{"best": [1, 2]}'
        if asked.role in ("with", "without"):
            right = next("ABCDE"[n] for n, text in enumerate(asked.options) if text == "add the tea")
            return right if asked.role == "with" else "ABCDE".replace(right, "")[0]
        return write_six(asked)

    result, _ = made(reply, tea(), typed=2)
    assert [d.kind == "model" for d in result.attempts[0].wrong] == [False, False, True, True]
    assert chosen == ["Choose 2."]


def test_attempts_use_other_typed_distractors_while_there_are_some():
    result, _ = made(told(with_=lambda *_: "nothing", pick='{"best": [1, 2]}'), tea(), typed=2, attempts=2)
    first, second = ({d.text for d in attempt.wrong if d.kind != "model"} for attempt in result.attempts)
    assert not first & second


# -- numbers of calls --------------------------------------------------------------------------------------------


@given(n=st.integers(0, 50), voters=st.integers(1, 5), attempts=st.integers(1, 12))
def test_bounds_on_calls(n: int, voters: int, attempts: int):
    models = ChoiceModels(writer="w", assistants=tuple(f"a{k}" for k in range(voters)))
    found = choice_calls(n, models, ChoiceSettings(attempts=attempts))
    assert found.least == n * (2 + 3 * voters)
    assert found.most == n * (attempts * (2 + 2 * voters) + voters)


def test_real_calls_keep_within_the_bounds():
    settings = ChoiceSettings()
    bounds = choice_calls(1, MODELS, settings)
    _, port = made(told())
    assert len(port.sent) == bounds.least
    _, port = made(told(without=lambda asked, _: right_letter(asked)))
    assert len(port.sent) == bounds.most - 3, "the last vote that may be needed confirms what was accepted"


@pytest.mark.parametrize("settings", [{}, {"confirm": "off"}, {"typed": 2}, {"typed": 4}])
def test_an_outline_has_as_many_calls_as_the_least(settings: dict[str, Any]):
    made_by = maker(**settings)
    outline = list(made_by.outline(question()))
    assert len(outline) == choice_calls(1, MODELS, made_by.settings).least
    assert len({request.key for request in outline}) == len(outline), (
        "a store that has one has not the others"
    )
    assert list(made_by.outline(question(answer=""))) == []


def test_an_outline_begins_as_a_run_does():
    _, port = made(told())
    outline = list(maker().outline(question()))
    assert outline[0] == port.sent[0]
    assert [request.model for request in outline[2:5]] == list(MODELS.assistants)
    for planned, sent in zip(outline, port.sent, strict=True):
        assert read_request(planned).role == read_request(sent).role
        lengths = (sum(len(m.text) for m in request.messages) for request in (planned, sent))
        assert abs(next(lengths) - next(lengths)) < 200


def test_records_can_be_written_and_read():
    import msgspec

    from proctor.ask.clip.choices import ChoiceAttempt

    result, _ = made(told())
    attempt = result.attempts[0]
    assert msgspec.json.decode(msgspec.json.encode(attempt), type=ChoiceAttempt) == attempt
    assert isinstance(attempt.votes[0], Vote)
    assert isinstance(Reply(text=""), Reply)
