"""Typed distractors: what each rule makes, and that none is right by the steps, on made-up and on real annotations."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ask.clip.choice_player import known

from proctor.ask.clip.choice_prompt import normalise_option, says_all_of_the_above
from proctor.ask.clip.distractors import TYPED, choose_typed, typed_distractors
from proctor.ask.clip.known import Known, Sibling
from proctor.ask.clip.record import Distractor, DistractorKind
from proctor.exam.lines import Line
from proctor.procedure.phrase import parse_phrase
from proctor.procedure.quantity import find_quantities

SOUP = (
    "boil the water in a pot",
    "chop the onions with a knife",
    "add 2 tsp of salt to the pot",
    "stir the soup for 5 minutes",
    "pour the cream into the pot",
    "serve the soup in a bowl",
)


def lines(texts: Sequence[str], **more: object) -> tuple[Line, ...]:
    return tuple(
        Line(id=f"s{n}", text=text, start=10.0 * n, end=10.0 * n + 8, is_step=True)
        for n, text in enumerate(texts, 1)
    )


def asked(
    question: str,
    answer: str,
    *cites: str,
    texts: Sequence[str] = SOUP,
    siblings: Sequence[Sibling] = (),
    also: tuple[str, ...] = (),
) -> Known:
    return known(
        id="q", question=question, answer=answer, also=also, lines=lines(texts), cites=cites, siblings=tuple(siblings)
    )  # fmt: skip


def made(question: Known, kind: DistractorKind) -> dict[str, str]:
    """Texts of a kind with their origins."""
    pool = typed_distractors(question, random.Random(0), kinds=(kind,))
    assert all(d.kind == kind for row in pool.values() for d in row)
    return {d.text: d.origin for d in pool.get(kind, ())}


NEXT = "What does the person do right after chopping the onions?"

# -- order and other steps ---------------------------------------------------------------------------------------


def test_neighbours_and_other_steps():
    question = asked(NEXT, "Add 2 tsp of salt to the pot.", "s3")
    assert made(question, "order") == {"Stir the soup for 5 minutes.": "s4"}, "s2 is named by the question"
    assert made(question, "other-step") == {
        "Boil the water in a pot.": "s1",
        "Pour the cream into the pot.": "s5",
        "Serve the soup in a bowl.": "s6",
    }


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("stirring the soup", "pouring the cream into the pot"),
        ("stirred the soup", "poured the cream into the pot"),
        ("The person stirs the soup", "The person pours the cream into the pot"),
        ("They stir the soup.", "They pour the cream into the pot."),
        ("He stirred the soup", "He poured the cream into the pot"),
        ("The cook stirs the soup", "The cook pours the cream into the pot"),
    ],
)
def test_steps_are_told_as_the_answer_tells_them(answer: str, expected: str):
    assert expected in made(asked("What comes after the salt, directly?", answer, "s4"), "order")


def test_joined_verbs_follow():
    texts = ("wash and dry the lettuce", "carry the bowl away", "add the oil")
    found = made(asked("What is done first?", "She adds the oil", "s3", texts=texts), "other-step")
    assert "She washes and dries the lettuce" in found


def test_an_answer_that_is_no_step_gets_no_steps():
    for answer in ("the salt", "about five", "golden brown", "salt"):
        question = asked("What is added?", answer, "s3")
        assert made(question, "order") == {}
        assert made(question, "other-step") == {}


def test_what_comes_after_is_true_of_later_steps():
    question = asked("What does the person do after chopping the onions?", "stir the soup", "s4")
    assert made(question, "order") == {}, "s3 and s5 come after it as well"
    assert made(question, "other-step") == {"boil the water in a pot": "s1"}
    before = asked("What happens before stirring the soup?", "chop the onions", "s2")
    assert set(made(before, "other-step")) == {"pour the cream into the pot", "serve the soup in a bowl"}


def test_without_the_moment_that_is_meant_nothing_is_wrong_for_sure():
    question = asked("What happens after the phone rings?", "stir the soup", "s4")
    assert made(question, "order") == made(question, "other-step") == {}


def test_a_step_that_occurs_twice_is_not_wrong():
    texts = ("stir the soup", "add the salt", "stir the soup", "add the cream", "serve the bread")
    question = asked("What is done right after adding the salt?", "stir the soup", "s3", texts=texts)
    found = {**made(question, "order"), **made(question, "other-step")}
    assert set(found.values()) == {"s4", "s5"}


def test_what_follows_the_same_step_elsewhere_is_not_wrong():
    texts = (
        "add the salt",
        "stir the soup",
        "add the salt",
        "cut the bread",
        "serve the wine",
        "wash the pan",
    )
    question = asked("What is done right after adding the salt?", "stir the soup", "s2", texts=texts)
    assert set({**made(question, "order"), **made(question, "other-step")}.values()) == {"s5", "s6"}
    before = asked("What is done right before adding the salt?", "stir the soup", "s2", texts=texts)
    assert set({**made(before, "order"), **made(before, "other-step")}.values()) == {"s4", "s5", "s6"}


def test_substeps_of_the_answer_are_part_of_it():
    context = (
        *lines(SOUP[:3]),
        Line(id="s3.1", text="measure the white powder", start=30.0, end=33.0, is_step=True),
        Line(id="s4", text="stir the soup for 5 minutes", start=40.0, end=48.0, is_step=True),
    )
    question = known(id="q", question=NEXT, answer="add the salt to the pot", lines=context, cites=("s3",))
    assert "s3.1" not in {**made(question, "order"), **made(question, "other-step")}.values()


def test_a_step_that_fits_the_question_as_well_is_not_wrong():
    texts = ("peel the onions", "fry the onions in oil", "boil the rice", "cut the bread")
    question = asked("What does the person do with the onions?", "fry the onions in oil", "s2", texts=texts)
    assert set({**made(question, "order"), **made(question, "other-step")}.values()) <= {"s3", "s4"}


def test_two_steps_the_other_way_round():
    question = asked("In which order?", "Chop the onions before stirring the soup.", "s2", "s4")
    assert made(question, "order") == {"Stir the soup before chopping the onions.": "s2 s4"}
    then = asked("In which order?", "First chop the onions, then stir the soup", "s2", "s4")
    assert made(then, "order") == {"First stir the soup then chop the onions": "s2 s4"}
    after = asked("In which order?", "pouring the cream after chopping the onions", "s2", "s5")
    assert made(after, "order") == {"chopping the onions after pouring the cream": "s2 s5"}


def test_two_steps_that_also_came_the_other_way_round_are_not_swapped():
    texts = ("stir the soup", "chop the onions", "stir the soup", "serve the bread")
    question = asked("In which order?", "chop the onions before stirring the soup", "s2", "s3", texts=texts)
    assert made(question, "order") == {}


# -- objects -----------------------------------------------------------------------------------------------------


def test_objects_of_other_steps():
    found = made(asked("What does the person pour into the pot?", "The cream", "s5"), "object")
    assert found["The onions"] == "s2"
    assert "The cream" not in found
    assert not any("soup" in text for text in found if found[text] == "s5")


def test_an_object_that_fits_as_well_is_not_wrong():
    texts = ("add the salt to the pot", "add the pepper to the pot", "cut the bread", "peel the carrots")
    found = made(asked("What is added to the pot?", "The salt", "s1", texts=texts), "object")
    assert set(found.values()) == {"s3", "s4"}, "pepper is added to the pot, too"


def test_an_object_within_a_sentence():
    question = asked("What does the person do second?", "They chop the onions with a knife.", "s2")
    found = made(question, "object")
    assert "They chop the cream with a knife." in found
    assert all(text.startswith("They chop the ") and text.endswith(" with a knife.") for text in found)


def test_a_and_an():
    texts = ("peel an apple", "take a plate", "grate the orange")
    found = made(asked("What is peeled?", "An apple", "s1", texts=texts), "object")
    assert {"A plate", "An orange"} <= set(found)


def test_what_may_be_anything_is_no_object():
    texts = ("chop the onions", "mix the ingredients", "pour the mixture", "grate the carrot")
    found = made(asked("What is chopped?", "The onions", "s1", texts=texts), "object")
    assert set(found) == {"The carrot"}


@pytest.mark.parametrize(
    "question", ["How is it cut?", "What does the person do?", "What colour is it?", "Why?"]
)
def test_objects_answer_only_what_asks_for_one(question: str):
    assert made(asked(question, "a knife", "s2"), "object") == {}


# -- numbers -----------------------------------------------------------------------------------------------------


def test_quantities_and_times():
    salt = asked("How much salt is added?", "2 tsp", "s3")
    assert {"3 tsp", "1 tsp", "4 tsp"} <= set(made(salt, "quantity"))
    assert set(made(salt, "quantity").values()) == {"s3"}
    assert made(salt, "time") == {}
    stirred = asked("How long is it stirred?", "For 5 minutes.", "s4")
    assert {"For 10 minutes.", "For 4 minutes."} <= set(made(stirred, "time"))
    assert set(made(stirred, "time").values()) == {"s4"}
    assert made(stirred, "quantity") == {}


def test_a_quantity_that_the_steps_have_is_not_made():
    texts = ("add 2 tsp of salt", "add 1 tsp of pepper", "add 3-4 tsp of oil")
    found = made(asked("How much salt?", "2 tsp", "s1", texts=texts), "quantity")
    assert not {"1 tsp", "3 tsp", "4 tsp"} & set(found)
    assert "6 tsp" in found


def test_quantities_without_citations_have_no_origin():
    assert set(made(asked("How much?", "2 tsp"), "quantity").values()) == {""}


# -- other videos ------------------------------------------------------------------------------------------------

CAKE = Sibling(
    id="cake", steps=lines(("whisk the eggs", "chop the onions", "melt the butter", "stir the batter"))
)


def test_steps_of_other_videos():
    found = made(asked(NEXT, "add 2 tsp of salt to the pot", "s3", siblings=[CAKE]), "other-video")
    assert found == {
        "whisk the eggs": "cake/s1",
        "melt the butter": "cake/s3",
        "stir the batter": "cake/s4",
    }


def test_objects_of_other_videos():
    found = made(asked("What is poured into the pot?", "The cream.", "s5", siblings=[CAKE]), "other-video")
    assert found == {"The eggs.": "cake/s1", "The butter.": "cake/s3", "The batter.": "cake/s4"}


# -- the pool ----------------------------------------------------------------------------------------------------


def test_kinds_that_have_none_are_left_out():
    assert typed_distractors(asked("Why?", "Because it is hot", "s1"), random.Random(0)) == {}
    assert typed_distractors(asked(NEXT, "add the salt", "s3"), random.Random(0), kinds=()) == {}


def test_without_steps_only_numbers_can_be_changed():
    question = known(
        id="q", question="How many towers?", answer="3 towers", lines=(Line(id="source-1", text="It has 3 towers."),),
        cites=("source-1",),
    )  # fmt: skip
    pool = typed_distractors(question, random.Random(0))
    assert set(pool) == {"quantity"}
    assert "4 towers" in {d.text for d in pool["quantity"]}


def test_what_is_right_as_well_is_left_out():
    question = asked(NEXT, "add the salt to the pot", "s3", also=("Stir the soup for 5 minutes.",))
    assert "s4" not in made(question, "order").values()


def test_chance_is_the_given_one():
    question = asked(NEXT, "add 2 tsp of salt to the pot", "s3", siblings=[CAKE])
    once = typed_distractors(question, random.Random(1))
    assert typed_distractors(question, random.Random(1)) == once
    orders = {tuple(typed_distractors(question, random.Random(n))["other-video"]) for n in range(30)}
    assert len(orders) > 1


def pool(**rows: int) -> dict[DistractorKind, tuple[Distractor, ...]]:
    return {
        kind.replace("_", "-"): tuple(Distractor(text=f"{kind}{n}", kind="order") for n in range(count))  # type: ignore[misc]
        for kind, count in rows.items()
    }


def test_as_many_kinds_as_possible_are_chosen():
    found = choose_typed(pool(order=5, object=1, time=3), 4)
    assert [d.text for d in found] == ["order0", "object0", "time0", "order1"]
    assert len(choose_typed(pool(order=2), 4)) == 2
    assert choose_typed({}, 4) == ()


def test_what_was_used_comes_last():
    rows = pool(order=3, time=1)
    used = [d.text for d in choose_typed(rows, 2)]
    again = choose_typed(rows, 2, used=used)
    assert not {d.text for d in again} & set(used)
    third = choose_typed(rows, 4, used=[*used, *(d.text for d in again), "order0"])
    assert third[-1].text == "order0"


# -- properties --------------------------------------------------------------------------------------------------

_VERBS = st.sampled_from(["add", "stir", "cut", "boil", "pour", "mix", "wash", "serve"])
_THINGS = st.sampled_from(
    ["salt", "onions", "milk", "two eggs", "2 cups of rice", "bread", "pan", "mixture", "an apple"]
)
_STEPS = st.lists(st.builds("{} the {}".format, _VERBS, _THINGS), min_size=1, max_size=8)


@given(texts=_STEPS, data=st.data())
def test_none_is_an_answer_or_said_twice(texts: list[str], data: st.DataObject):
    n = data.draw(st.integers(1, len(texts)))
    answer = data.draw(
        st.sampled_from([texts[n - 1], parse_phrase(texts[n - 1]).past, texts[n - 1].split(" ", 1)[1]])
    )
    question = asked(
        data.draw(st.sampled_from([NEXT, "What is used?", "What comes first?", "How much is added?"])), answer, f"s{n}",
        texts=texts, siblings=[CAKE],
    )  # fmt: skip
    found = typed_distractors(question, random.Random(0))
    assert_sound(question, [d for row in found.values() for d in row])


@given(st.text(max_size=40), st.text(max_size=40), st.lists(st.text(max_size=40), max_size=4))
def test_no_text_breaks_it(question: str, answer: str, texts: list[str]):
    cites = ["s1"] if texts else []
    typed_distractors(asked(question, answer, *cites, texts=texts, siblings=[CAKE]), random.Random(0))


@pytest.mark.parametrize(
    "text", ["add " + "9" * 5_000 + " tsp of salt", "add " * 20_000, "x before " * 5_000, "a" * 100_000]
)
def test_texts_of_no_sane_length(text: str):
    question = asked("What is done right after stirring?", text, "s1", texts=(text, "stir the soup"))
    assert_sound(question, [d for row in typed_distractors(question, random.Random(0)).values() for d in row])


def assert_sound(question: Known, found: Sequence[Distractor]) -> None:
    plain = [normalise_option(d.text) for d in found]
    assert len(set(plain)) == len(plain)
    assert "" not in plain
    assert not set(plain) & {normalise_option(answer) for answer in question.answers}
    steps = {line.id: line for line in question.lines}
    others = {f"{sibling.id}/{step.id}" for sibling in question.siblings for step in sibling.steps}
    cited = {normalise_option(steps[id].text) for id in question.cites}
    for distractor in found:
        assert distractor.kind in TYPED
        assert not says_all_of_the_above(distractor.text)
        assert all(id in steps or id in others for id in distractor.origin.split()), distractor
        if distractor.kind in ("order", "other-step") and " " not in distractor.origin:
            assert distractor.origin not in question.cites
            assert normalise_option(steps[distractor.origin].text) not in cited
        if distractor.kind == "other-video":
            assert distractor.origin in others


# -- real annotations --------------------------------------------------------------------------------------------


def recordings(folder: Path, most: int) -> Iterator[tuple[str, tuple[Line, ...]]]:
    with gzip.open(folder / "steps" / "youcook2.jsonl.gz", "rt", encoding="utf-8") as file:
        for line, _ in zip(file, range(most), strict=False):
            found = json.loads(line)
            yield found["video_id"], tuple(
                Line(
                    id=f"s{s['i'] + 1}", text=s["text"], start=float(s["start"]), end=float(s["end"]), is_step=True
                )
                for s in found["steps"]
            )  # fmt: skip


def questions_by_rule(folder: Path, most: int) -> Iterator[Known]:
    """Questions about real steps whose answer is known: the next step, an object, an order, a quantity."""
    videos = list(recordings(folder, most))
    for at, (video, steps) in enumerate(videos):
        near = videos[at - 2 : at] if at >= 2 else ()
        siblings = tuple(Sibling(id=id, steps=other) for id, other in near)
        for a, b in itertools.pairwise(steps):
            one, other = parse_phrase(a.text), parse_phrase(b.text)
            texts = []
            if one.brief_gerund and other.verb:
                texts.append((f"What is done right after {one.brief_gerund}?", other.imperative, (b.id,)))
                texts.append(("Which comes first?", f"{one.gerund} before {other.gerund}", (a.id, b.id)))
            if other.object:
                texts.append((f"What is used right after {one.gerund}?", f"The {other.object}", (b.id,)))
            texts += [("How much, or how long?", q.text, (b.id,)) for q in find_quantities(b.text) if q.unit]
            for n, (question, answer, cites) in enumerate(texts):
                yield known(
                    id=f"{video}-{b.id}-{n}", question=question, answer=answer, lines=steps, cites=cites, siblings=siblings
                )  # fmt: skip


@pytest.mark.shared
def test_real_annotations(shared_data: Path):
    kinds: Counter[str] = Counter()
    enough: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for question in questions_by_rule(shared_data, 60):
        pool = typed_distractors(question, random.Random(0))
        found = [d for row in pool.values() for d in row]
        assert_sound(question, found)
        kinds.update(d.kind for d in found)
        form = question.text.split(" right after ")[0]
        total[form] += 1
        enough[form] += len(found) >= 4
        spoken = {(q.kind, q.low) for line in question.lines for q in find_quantities(line.text) if q.unit}
        own = {(q.kind, q.low) for q in find_quantities(question.answer)}
        for distractor in (*pool.get("quantity", ()), *pool.get("time", ())):
            new = {(q.kind, q.low) for q in find_quantities(distractor.text) if q.unit} - own
            assert not new & spoken, (question, distractor)
    assert set(kinds) == set(TYPED)
    assert total.total() > 500
    assert enough["What is done"] / total["What is done"] > 0.9, "steps have enough others"
