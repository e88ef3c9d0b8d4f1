"""The player: right with the chosen probability, wrong as models are wrong, the same every time."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor_rehearsal.standin import Answer, Call, Known, Player, Standin
from proctor_rehearsal.standin.behaviours import (
    STAR_FORMS,
    VERDICT_FORMS,
    choices,
    echo,
    fixed,
    judge,
    make_behaviour,
    star_list,
    star_text,
    verdict_text,
)
from proctor_rehearsal.standin.player import flip_yes_no
from proctor_rehearsal.standin.protocols.openai import CHAT


def make_call(text: str, model: str = "m") -> Call:
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": text}]}).encode()
    return Call(CHAT, "/v1/chat/completions", body)


def play(player: Player, count: int = 2_000, model: str = "m") -> list[Answer]:
    answers = [player(make_call(f"question {n}", model)) for n in range(count)]
    assert all(answers)
    return [a for a in answers if a is not None]


def yes(prompt: str, call: Call) -> tuple[str, tuple[str, ...]]:
    return "Yes, stir it.", ("Pour it.", "Heat it.")


@pytest.mark.parametrize("quality", [0.0, 0.25, 0.7, 1.0])
def test_it_is_right_as_often_as_asked_for(quality: float) -> None:
    answers = play(Player(yes, quality, habits={}))
    right = sum(a.text == "Yes, stir it." for a in answers) / len(answers)
    assert right == pytest.approx(quality, abs=0.03)
    if quality in (0.0, 1.0):
        assert right == quality


def test_a_better_player_is_right_wherever_a_worse_one_is() -> None:
    worse, better = (play(Player(yes, q, habits={}), 500) for q in (0.4, 0.6))
    assert all(
        b.text == "Yes, stir it." for w, b in zip(worse, better, strict=True) if w.text == "Yes, stir it."
    )


def test_the_same_request_gets_the_same_reply_and_another_seed_another() -> None:
    one, two, three = (play(Player(yes, 0.5, seed=s), 300) for s in (1, 1, 2))
    assert one == two
    assert one != three


def test_the_same_request_again_may_be_drawn_anew() -> None:
    def texts(player: Player) -> list[str]:
        calls = [Call(CHAT, "/v1/chat/completions", make_call("q").body, nth=n) for n in range(1, 200)]
        return [answer.text for call in calls if (answer := player(call))]

    assert len(set(texts(Player(yes, 0.5)))) == 1
    drawn = texts(Player(yes, 0.5, habits={}, repeat=True))
    assert drawn.count("Yes, stir it.") / len(drawn) == pytest.approx(0.5, abs=0.12)
    assert drawn == texts(Player(yes, 0.5, habits={}, repeat=True))


def test_quality_by_model() -> None:
    player = Player(yes, {"^good": 1.0, "": 0.0}, habits={})
    assert {a.text for a in play(player, 50, "good-1")} == {"Yes, stir it."}
    assert "Yes, stir it." not in {a.text for a in play(player, 50, "other")}
    assert "Yes, stir it." not in {a.text for a in play(Player(yes, {"^good": 1.0}, habits={}), 50, "other")}


def test_mistakes_are_of_every_kind_in_proportion() -> None:
    answers = play(Player(yes, 0.0, habits={}), 4_000)

    def kind(answer: Answer) -> str:
        if answer.outcome == "refusal":
            return "refusal"
        if answer.text == "No, stir it.":
            return "flip"
        if answer.text in ("Pour it.", "Heat it."):
            return "other"
        return "list" if answer.text.startswith("* ") else "vague"

    counts = Counter(map(kind, answers))
    shares = {k: n / len(answers) for k, n in counts.items()}
    assert shares == pytest.approx(
        {"other": 0.5, "flip": 0.3, "vague": 0.1, "list": 0.05, "refusal": 0.05}, abs=0.03
    )
    only = play(Player(yes, 0.0, mistakes={"refusal": 1}), 20)
    assert {a.outcome for a in only} == {"refusal"}


def test_mistakes_that_a_question_does_not_allow_are_not_made() -> None:
    answers = play(Player(lambda p, c: ("Stir it.", ()), 0.0, habits={}), 500)
    assert all(a.outcome == "refusal" or "Stir" not in a.text for a in answers)
    assert {a.outcome for a in answers} == {"reply", "refusal"}
    assert not any(a.text.startswith("* ") for a in answers)


def test_habits_dress_right_answers_too() -> None:
    answers = play(Player(yes, 1.0), 2_000)
    assert all("Yes, stir it." in a.text for a in answers)
    dressed = [a.text for a in answers if a.text != "Yes, stir it."]
    assert 0.15 < len(dressed) / len(answers) < 0.28
    assert any(t.startswith("**") for t in dressed)
    assert any(t.endswith("else!") for t in dressed)
    always = play(Player(yes, 1.0, habits={"markdown": 1.0}), 5)
    assert {a.text for a in always} == {"**Yes, stir it.**"}


def test_a_hook_that_does_not_know_leaves_the_request_to_others(standin: Standin) -> None:
    def hook(prompt: str, call: Call) -> Known | None:
        return Known(("a", "b"), ("c",), {"sure": True}) if "known" in prompt else None

    player = Player(hook, 1.0, habits={})
    assert player(make_call("strange")) is None
    answer = player(make_call("known"))
    assert answer is not None
    assert answer.text in ("a", "b")
    assert answer.data == {"answer": answer.text, "sure": True}
    assert {a.text for n in range(30) if (a := player(make_call(f"known {n}")))} == {"a", "b"}


def test_a_judge_of_chosen_quality() -> None:
    def say(score: str, call: Call) -> str:
        return verdict_text(int(score), "Because of step 3.")

    player = Player(lambda p, c: Known("2", ("0", "1")), 0.8, say=say, habits={})
    answers = play(player, 1_000)
    replies = [a for a in answers if a.outcome == "reply"]
    scores = Counter(a.text.rpartition(" ")[2] for a in replies)
    assert set(scores) == {"0", "1", "2"}
    assert scores["2"] / 1_000 == pytest.approx(0.8, abs=0.04)
    assert {a.data["answer"] for a in replies} == {"0", "1", "2"}
    whole = Player(lambda p, c: Known("2"), 1.0, say=lambda s, c: Answer(text=s, thinking="hm"))
    assert play(whole, 3)[0].thinking == "hm"
    stuck = Player(lambda p, c: Known("2"), 0.0, say=say)
    assert {a.outcome for a in play(stuck, 30)} == {"refusal"}


@pytest.mark.parametrize(
    "make",
    [
        lambda: Player(yes, 1.5),
        lambda: Player(yes, {"a": -1}),
        lambda: Player(yes, mistakes={"genius": 1}),
        lambda: Player(yes, mistakes={"flip": -1}),
        lambda: Player(yes, habits={"smiling": 1}),
        lambda: Player(yes, habits={"quotes": float("nan")}),
    ],
)
def test_bad_players(make: Callable[[], Player]) -> None:
    with pytest.raises(UserError):
        make()


@pytest.mark.parametrize(
    ("text", "flipped"),
    [
        ("Yes.", "No."),
        ("no, you did", "yes, you did"),
        ("  YES", "  NO"),
        ("Not yet", None),
        ("Yesterday", None),
        ("Nothing", None),
        ("", None),
        ("I say yes", None),
    ],
)
def test_flips(text: str, flipped: str | None) -> None:
    assert flip_yes_no(text) == flipped


@given(st.text())
def test_a_flip_twice_is_none(text: str) -> None:
    flipped = flip_yes_no(text)
    if flipped is not None:
        again = flip_yes_no(flipped)
        assert again is not None
        assert again.lower() == text.lower()


# -- behaviours ----------------------------------------------------------------------------------------------------


def test_echo_and_fixed() -> None:
    assert echo(limit=5)(make_call("hello world")).text == "hello"
    assert fixed("x")(make_call("y")).text == "x"


def test_choices() -> None:
    prompt = "Which?\nA) stir\n(B) pour\nC. heat\nD] wait\nno option"
    bare = Counter(choices()(make_call(f"{prompt}\n{n}")).text for n in range(400))
    assert set(bare) == set("ABCD")
    assert min(bare.values()) > 60
    assert choices(position=1)(make_call(prompt)).text == "B"
    assert choices(position=9)(make_call(prompt)).text == "D"
    varied = {choices(variety=1.0, position=0)(make_call(f"{prompt}{n}")).text for n in range(60)}
    assert len(varied) == 5
    assert all("A" in text for text in varied)
    assert "no options" in choices()(make_call("What?")).text


def parse_star(text: str) -> list[tuple[str, list[str]]]:
    """The plain line parser: no indent is a question, an indent an answer."""
    pairs: list[tuple[str, list[str]]] = []
    for line in text.replace("**", "").splitlines():
        if found := re.match(r"^( *)\* (.*)$", line):
            if found[1]:
                pairs[-1][1].append(found[2].strip())
            else:
                pairs.append((found[2].strip(), []))
    return pairs


def test_star_lists_are_what_the_prompt_asks_for() -> None:
    prompt = "Steps so far:\n- Chop the onion.\n- Fry the onion.\n- Add salt.\n"
    made = [star_list()(make_call(f"{prompt}{n}")) for n in range(50)]
    for answer in made:
        pairs = parse_star(answer.text)
        assert len(pairs) == 3
        assert len({question for question, _ in pairs}) == 3
        assert all(question.endswith("?") and answers for question, answers in pairs)
        assert [{"question": q, "answers": a, "answer": a[0]} for q, a in pairs] == answer.data["pairs"]
    assert len({answer.text for answer in made}) > 20
    assert any("chop the onion" in answer.text for answer in made)
    assert parse_star(star_list(pairs=5)(make_call("no steps")).text)


def test_star_forms_differ_and_say_the_same() -> None:
    pairs = [("What next?", ("Stir.", "Pour.")), ("Did I forget salt?", ("No.",))]
    texts = [star_text(pairs, form) for form in STAR_FORMS]
    assert len(set(texts)) == len(STAR_FORMS)
    for text in texts:
        for word in ("What next?", "Stir.", "Pour.", "Did I forget salt?", "No."):
            assert word in text
    assert parse_star(texts[0]) == [(q, list(a)) for q, a in pairs]
    varied = {star_list(variety=1.0)(make_call(str(n))).text[:6] for n in range(80)}
    assert len(varied) > 5


def test_verdicts() -> None:
    plain = [judge()(make_call(str(n))) for n in range(300)]
    scores = Counter(a.text.rpartition("\nJudge: ")[2] for a in plain)
    assert set(scores) == {"0", "1", "2"}
    assert min(scores.values()) > 60
    assert all(str(a.data["judge"]) == a.text[-1] for a in plain)
    assert any(re.search(r"\d", a.text.rpartition("\n")[0]) for a in plain)
    assert {judge(score=2)(make_call(str(n))).data["judge"] for n in range(9)} == {2}
    forms = {verdict_text(1, "Why.", form) for form in VERDICT_FORMS}
    assert len(forms) == len(VERDICT_FORMS)
    assert all("Why." in text and "1" in text for text in forms)
    assert json.loads(verdict_text(1, 'a "b"\n', "json")) == {"rationale": 'a "b"\n', "judge": 1}
    assert len({judge(variety=1.0, score=1)(make_call(str(n))).text for n in range(200)}) > 15


def test_behaviours_by_name() -> None:
    for name in ("echo", "fixed", "choices", "star-list", "judge"):
        behaviour: Any = make_behaviour(name, {})
        assert isinstance(behaviour(make_call("A) x\nB) y")).text, str)
    assert make_behaviour("judge", {"seed": 1}) is make_behaviour("judge", {"seed": 1})
    with pytest.raises(UserError, match="there are"):
        make_behaviour("genius", {})


@given(st.text(max_size=200))
def test_behaviours_take_any_prompt(text: str) -> None:
    for name in ("echo", "choices", "star-list", "judge"):
        first = make_behaviour(name, {})(make_call(text))
        assert first == make_behaviour(name, {})(make_call(text))


def test_a_player_behind_the_server(standin: Standin) -> None:
    from urllib.request import Request, urlopen

    standin.script(answer=Player(yes, 0.5, habits={}))
    url = f"{standin.url}/v1/chat/completions"
    replies = []
    for number in list(range(30)) * 2:
        body = json.dumps(
            {"model": "m", "messages": [{"role": "user", "content": f"question {number}"}]}
        ).encode()
        with urlopen(Request(url, body, {"content-type": "application/json"})) as reply:
            message = json.load(reply)["choices"][0]["message"]
            replies.append(message["content"] or message["refusal"])
    assert replies[:30] == replies[30:]
    assert 5 < replies[:30].count("Yes, stir it.") < 25
