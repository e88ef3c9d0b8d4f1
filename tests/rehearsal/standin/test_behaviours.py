"""Behaviours: replies by rule, the same for the same request."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import UserError
from proctor_rehearsal.standin import Call
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
from proctor_rehearsal.standin.protocols.openai import CHAT


def make_call(text: str, model: str = "m") -> Call:
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": text}]}).encode()
    return Call(CHAT, "/v1/chat/completions", body)


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
