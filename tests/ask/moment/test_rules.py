"""The rule-based generator, judged by the task graph itself and not by the generator's own reasoning."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.ask.moment.candidate import Candidate
from proctor.ask.moment.facts import UncertainError
from proctor.ask.moment.rules import FORMS, RuleGenerator, flaws, generate_candidates
from proctor.errors import UserError
from proctor.exam.kinds.example import QUESTION_TYPES, STEP_TYPES, Example, Performed, StepRef
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.phrase import parse_phrase
from proctor.procedure.progress import derive_progress
from proctor.procedure.recording import Mistake
from proctor.records import Dropped

# -- three small procedures of different domains -----------------------------------------------------------------


def graph_of(name: str, texts: dict[str, str], edges: str) -> TaskGraph:
    steps = (Step("S", "START"), *(Step(i, t) for i, t in texts.items()), Step("E", "END"))
    pairs = [(a, b) for a, b in (e.split(">") for e in edges.split())]
    inner = {b for _, b in pairs}
    outer = {a for a, _ in pairs}
    pairs = [("S", i) for i in texts if i not in inner] + pairs + [(i, "E") for i in texts if i not in outer]
    return TaskGraph(name, name, steps, tuple(pairs), "S", "E")


TEA = graph_of(
    "tea",
    {
        "boil": "Boil-Boil 2 cups of water",
        "leaf": "add-1 tsp tea leaves to the pot",
        "pour": "Pour-Pour the hot water into the pot",
        "wait": "Wait-Wait for 3 minutes",
        "sugar": "Add-Add 1/2 tsp sugar to a mug",
        "serve": "Serve-Serve the tea in the mug",
    },
    "boil>pour leaf>pour pour>wait wait>serve sugar>serve",
)
CART = graph_of(
    "cart",
    {
        "axle1": "Insert the axle into the chassis",
        "wheel1": "Attach one wheel",
        "wheel2": "Attach one wheel",
        "nut": "Tighten the nut with a wrench",
        "seat": "Screw the seat onto the chassis",
        "sticker": "put-put the sticker on the seat",
    },
    "axle1>wheel1 wheel1>wheel2 wheel2>nut seat>sticker nut>sticker",
)
LAB = graph_of(
    "lab",
    {
        "label": "Label two tubes",
        "lyse": "Pipette 200 µL of lysis buffer into the first tube",
        "heat": "Incubate the tube at 56 degrees for 10 minutes",
        "spin": "Centrifuge at high speed for 5 minutes",
        "discard": "Discard the supernatant, then add 50 µL ethanol",
        "weird": "4 wells / plate",
    },
    "label>lyse lyse>heat heat>spin spin>discard",
)
PAN = graph_of("pan", {"heat": "Heat-Heat the oil on medium heat", "fry": "Fry the onion"}, "heat>fry")
GRAPHS = {g.id: g for g in (TEA, CART, LAB, PAN)}


def example(
    graph: TaskGraph,
    history: Iterable[str],
    kind: str = "next",
    *,
    performed: str | None = None,
    mistakes: Iterable[Mistake] = (),
    number: int = 0,
) -> Example:
    done = [Performed(i, graph[i].text, graph[i].text) for i in history]
    if done and (performed is not None or mistakes):
        last = done[-1]
        done[-1] = Performed(last.step_id, performed or last.text, last.instruction, tuple(mistakes))
    progress = derive_progress(graph, [p.step_id for p in done])
    following = tuple(StepRef(i, graph[i].text) for i in progress.next)
    missing = tuple(StepRef(i, graph[i].text) for i in progress.missing)
    clip = f"{graph.id}_{number}_{done[-1].step_id if done else '-1'}"
    return Example(
        id=f"{clip}_{kind}",
        clip_id=clip,
        recording_id=f"{graph.id}_{number}",
        activity_id=graph.id,
        activity_name=graph.name,
        type=kind,
        end=60.0,
        state=progress.state,
        noisy=False,
        current=done[-1] if done else None,
        previous=tuple(done[:-1]),
        next_steps=following if kind == "next" else None,
        missing_steps=missing if kind == "missing" else None,
        mistake_texts=tuple(m.text for m in mistakes if m.kind == kind),
        blocking=progress.out_of_order,
        all_next=following,
        all_missing=missing,
    )


def candidates(e: Example, graph: TaskGraph, n: int = 60) -> list[Candidate]:
    """Many candidates of one example: the same moment under different run seeds."""
    return [c for seed in range(n) for c in RuleGenerator(seed).generate(e, graph)]


def intent(c: Candidate) -> str:
    assert c.provenance.form is not None
    return c.provenance.form.split(":")[0].split(".")[1]


def of_intent(made: list[Candidate], *names: str) -> list[Candidate]:
    found = [c for c in made if intent(c) in names]
    assert found, f"no candidate of {names}: {sorted({intent(c) for c in made})}"
    return found


def ids(c: Candidate, kind: str = "direct") -> set[str]:
    return {i for a in c.answers if a.kind == kind for i in a.step_ids}


MISTAKES = {
    "preparation": ("Add-Add 1/2 tsp salt to a mug", "salt instead of sugar"),
    "measurement": ("Add-Add 1 tsp sugar to a mug", "Added too much"),
    "timing": ("Add-Add 1/2 tsp sugar to a mug too late", "Added after 10 minutes"),
    "technique": ("Add-Add 1/2 tsp sugar to a mug and spill some", "Spill some sugar"),
    "temperature": ("Add-Add 1/2 tsp sugar to a cold mug", "The mug is cold"),
}


def mistake_example(kind: str, number: int = 0) -> Example:
    performed, text = MISTAKES[kind]
    return example(TEA, ["sugar"], kind, performed=performed, mistakes=[Mistake(kind, text)], number=number)


# -- states of a next question -----------------------------------------------------------------------------------


def test_next_at_the_start() -> None:
    made = candidates(example(TEA, []), TEA)
    for c in of_intent(made, "start"):
        assert ids(c) == {"boil", "leaf", "sugar"}
        assert len(c.answers) == 3
    assert not any("just" in c.question and "Just to be sure" not in c.question for c in made)


def test_next_under_way() -> None:
    made = candidates(example(TEA, ["boil"]), TEA)
    for c in of_intent(made, "what"):
        assert ids(c) == {"leaf", "sugar"}
        assert all(a.kind == "direct" for a in c.answers)
    assert all(a.text.startswith("Yes, ") for c in of_intent(made, "left") for a in c.answers)
    assert all(a.text.startswith(("No, ", "Not yet")) for c in of_intent(made, "done") for a in c.answers)


def test_next_when_finished() -> None:
    made = candidates(example(TEA, ["boil", "leaf", "pour", "wait", "sugar", "serve"]), TEA)
    for c in of_intent(made, "what"):
        assert re.search(r"done|nothing left", c.answers[0].text)
    assert all(c.answers[0].text.startswith("No, ") for c in of_intent(made, "left"))
    assert all(c.answers[0].text.startswith("Yes, ") for c in of_intent(made, "done"))


def test_next_when_blocked_sends_back_and_never_says_done() -> None:
    e = example(TEA, ["boil", "pour", "wait", "sugar", "serve"])
    assert e.state == "blocked"
    made = candidates(e, TEA)
    for c in of_intent(made, "what", "left", "done"):
        assert ids(c, "intervention") == {"leaf"}
        assert all("add 1 tsp tea leaves to the pot" in a.text for a in c.answers)
    for c in made:
        if intent(c) not in ("should", "any_add", "any_object"):
            assert not re.search(
                r"\byou're done\b|all the steps are done|nothing left", " ".join(a.text for a in c.answers)
            )
    assert all(a.text.startswith("No") for c in of_intent(made, "done") for a in c.answers)


def test_a_step_behind_a_missing_one_is_next_only_after_that() -> None:
    made = candidates(example(TEA, ["pour"]), TEA, 100)
    for c in of_intent(made, "what"):
        assert ids(c) == {"sugar"}
        assert {a.step_ids for a in c.answers if a.kind == "suggestion"} == {
            ("boil", "wait"),
            ("leaf", "wait"),
        }
    assert not [
        c
        for c in made
        if intent(c) == "should" and "wait" in c.question and c.answers[0].text.startswith("Yes")
    ]


def test_should_question_is_answered_by_the_graph() -> None:
    for history in ([], ["boil"], ["boil", "leaf"], ["sugar", "boil", "pour"]):
        e = example(TEA, history)
        progress = derive_progress(TEA, history)
        for c in of_intent(candidates(e, TEA, 120), "should"):
            step = next(i for i in GRAPH_IDS[TEA.id] if parse_phrase(TEA[i].text).imperative in c.question)
            yes = c.answers[0].text.startswith("Yes")
            assert yes <= (step in progress.next), (c.question, c.answers)
            if not yes and step not in progress.done:
                assert ids(c) <= set(TEA.ancestors(step)) & {*progress.next, *progress.missing}


def test_choice_question_names_one_right_step() -> None:
    e = example(TEA, ["boil"])
    for c in of_intent(candidates(e, TEA, 150), "choice"):
        assert len(c.answers) == 1
        assert ids(c) <= {"leaf", "sugar"}


def test_steps_with_the_same_text_are_one_answer() -> None:
    twin = graph_of("twin", {"a": "Attach one wheel", "b": "Attach one wheel", "c": "Paint the cart"}, "")
    for c in of_intent(candidates(example(twin, []), twin), "start"):
        assert sorted(len(a.step_ids) for a in c.answers) == [1, 2]


def test_a_step_done_is_not_called_done_while_its_twin_is_open() -> None:
    made = candidates(example(CART, ["axle1", "wheel1", "seat"]), CART, 150)
    assert not [
        c
        for c in made
        if "attach one wheel" in c.question.lower() and c.answers[0].text.startswith("No, you")
    ]


def test_repeated_step() -> None:
    made = candidates(example(TEA, ["boil", "leaf", "boil"]), TEA)
    assert all(ids(c) == {"pour", "sugar"} for c in of_intent(made, "what"))


# -- missing -----------------------------------------------------------------------------------------------------


def test_nothing_missing() -> None:
    made = candidates(example(TEA, ["boil", "leaf", "pour"], "missing"), TEA, 150)
    assert all(c.answers[0].text.startswith("No, ") for c in of_intent(made, "any", "before_current"))
    assert all(c.answers[0].text.startswith("Yes, ") for c in of_intent(made, "complete", "ready_current"))
    assert all(c.answers[0].text.startswith("Nothing") for c in of_intent(made, "what"))
    assert all(a.text.startswith(("None", "Zero")) for c in of_intent(made, "count") for a in c.answers)
    for c in of_intent(made, "did"):
        assert c.answers[0].text.startswith("No, ")


def test_every_missing_step_is_an_answer() -> None:
    made = candidates(example(TEA, ["wait"], "missing"), TEA, 150)
    for c in of_intent(made, "any", "what", "complete"):
        assert ids(c) == {"boil", "leaf", "pour"}
    for c in of_intent(made, "count"):
        assert c.answers[0].text.startswith("Three")


def test_missing_answers_never_name_a_done_step_as_forgotten() -> None:
    for graph, history in (
        (TEA, ["wait"]),
        (TEA, ["sugar", "serve"]),
        (CART, ["nut", "seat"]),
        (LAB, ["spin", "label"]),
    ):
        done = set(history)
        for c in candidates(example(graph, history, "missing"), graph, 80):
            for a in c.answers:
                if re.search(r"forgot to|before you continue", a.text):
                    assert not done & set(a.step_ids), (c.question, a)


def test_what_cannot_be_undone_calls_for_an_intervention() -> None:
    made = candidates(example(LAB, ["label", "heat"], "missing"), LAB)
    assert all(a.kind != "intervention" for c in made for a in c.answers)  # incubating is not on the list
    toast = graph_of("toast", {"butter": "Butter the bread", "toast": "Toast the bread"}, "butter>toast")
    made = of_intent(candidates(example(toast, ["toast"], "missing"), toast), "any")
    assert all("intervention" in {a.kind for a in c.answers} for c in made)


# -- order -------------------------------------------------------------------------------------------------------


def order_example(graph: TaskGraph, history: list[str], text: str) -> Example:
    return example(graph, history, "order", mistakes=[Mistake("order", text)])


def test_too_early_by_the_graph() -> None:
    e = order_example(TEA, ["boil", "pour"], "Step performed before adding leaves")
    assert e.blocking == (("leaf", "pour"),)
    made = candidates(e, TEA, 120)
    for c in of_intent(made, "early", "before", "should"):
        assert ids(c) == {"leaf"}
    assert all(c.answers[0].text.startswith("No, ") for c in of_intent(made, "right"))
    assert all(c.answers[0].text.startswith("Yes, ") for c in of_intent(made, "wrong", "early", "should"))
    assert any(
        "should have come after adding leaves" in a.text for c in of_intent(made, "wrong") for a in c.answers
    )


def test_too_late_by_the_graph() -> None:
    e = order_example(TEA, ["boil", "pour", "leaf"], "Step performed after pouring")
    made = candidates(e, TEA, 120)
    for c in of_intent(made, "late", "after"):
        assert ids(c) == {"pour"}
    assert {intent(c) for c in made}.isdisjoint({"before", "should", "fix"})


def test_without_a_violated_edge_the_annotators_words_decide() -> None:
    e = order_example(TEA, ["boil", "leaf"], "Step performed after boiling the water")
    assert e.blocking == ()
    made = candidates(e, TEA)
    assert {intent(c) for c in made} <= {"wrong", "right", "what"}
    assert all(not a.step_ids for c in made for a in c.answers)
    assert any(a.text == "Yes, this step was done after boiling the water." for c in made for a in c.answers)


def test_without_edges_and_words_nothing_is_asked() -> None:
    with pytest.raises(UncertainError) as caught:
        list(RuleGenerator().generate(order_example(TEA, ["boil"], ""), TEA))
    assert caught.value.reason == "nothing_certain"


# -- mistakes ----------------------------------------------------------------------------------------------------


def test_exact_difference_and_its_remedy() -> None:
    e = example(
        TEA,
        ["sugar"],
        "measurement",
        performed="Add-Add 1/4 tsp sugar to a mug",
        mistakes=[Mistake("measurement", "1/4 tsp instead of 1/2 tsp")],
    )
    made = candidates(e, TEA, 120)
    for c in of_intent(made, "right"):
        texts = [a.text for a in c.answers]
        assert texts[0] == "No, you used 1/4 tsp instead of 1/2 tsp."
        assert [a.text for a in c.answers if a.kind == "suggestion"] == [
            "No, add another 1/4 tsp of the sugar to make up for it."
        ]
    assert all(c.answers[0].text.startswith("Yes") for c in of_intent(made, "less"))
    assert all(c.answers[0].text.startswith("No") for c in of_intent(made, "more"))
    assert all("1/2 tsp" in c.answers[0].text for c in of_intent(made, "should"))


def test_too_much_that_was_mixed_in_is_irreparable() -> None:
    made = candidates(mistake_example("measurement"), TEA, 80)
    assert all(a.kind == "intervention" for c in of_intent(made, "fix") for a in c.answers)


def test_the_annotator_who_swaps_the_amounts_is_not_believed() -> None:
    e = example(
        TEA,
        ["sugar"],
        "measurement",
        performed="Add-Add 1 tsp sugar to a mug",
        mistakes=[Mistake("measurement", "1/2 tsp instead of 1 tsp")],
    )
    for c in candidates(e, TEA):
        assert not any("1/2 tsp instead of 1 tsp" in a.text for a in c.answers)


def test_too_short_and_too_long() -> None:
    short = example(
        TEA, ["wait"], "timing", performed="Wait for 1 minute", mistakes=[Mistake("timing", "1 minute")]
    )
    (fix,) = {
        a.text
        for c in of_intent(candidates(short, TEA, 80), "fix")
        for a in c.answers
        if a.text.startswith("Keep")
    }
    assert fix == "Keep going for another 2 minutes."
    long = example(
        LAB,
        ["spin"],
        "timing",
        performed="Centrifuge at high speed for 9 minutes",
        mistakes=[Mistake("timing", "too long")],
    )
    assert not [c for c in candidates(long, LAB) if intent(c) == "fix"]


def test_one_thing_in_place_of_another() -> None:
    made = candidates(mistake_example("preparation"), TEA)
    for c in of_intent(made, "what"):
        assert c.answers[0].text == "You used salt instead of sugar."
        assert {a.kind for a in c.answers} == {"direct"}  # "What is wrong?" asks for no remedy
    for c in of_intent(made, "wrong"):
        assert c.answers[-1].kind == "intervention"


def test_all_mistakes_of_the_kind_are_answers_and_the_last_comes_first() -> None:
    e = example(
        TEA,
        ["sugar"],
        "technique",
        performed="Add sugar to a mug",
        mistakes=[Mistake("technique", "Drop the spoon"), Mistake("technique", "Spill the sugar")],
    )
    for c in of_intent(candidates(e, TEA), "what"):
        texts = [a.text for a in c.answers]
        assert texts.index("You spilled the sugar.") < texts.index("You dropped the spoon.")


def test_a_question_does_not_claim_what_was_not_done() -> None:
    """The brief name of the step is used only when it is true of what the person did."""
    e = example(
        TEA,
        ["sugar"],
        "technique",
        performed="Throw honey at a mug",
        mistakes=[Mistake("technique", "Throw honey")],
    )
    assert not [c for c in candidates(e, TEA) if "sugar" in c.question]


def test_a_question_is_not_answered_by_a_mistake_of_another_kind() -> None:
    """Heat and time went wrong in one step, and the remark on the heat repeats the time."""
    mug = graph_of("mug", {"heat": "Heat-Heat the mug for 1 minute and serve"}, "")
    time, heat = (
        "Heat-Heat the mug for 2 minute and serve",
        "Heat-Heat the mug for 2 minute and serve. On low heat",
    )
    mistakes = [Mistake("timing", time), Mistake("temperature", heat)]
    e = example(mug, ["heat"], "temperature", performed=time, mistakes=mistakes)
    for c in candidates(e, mug, 20):
        assert [a.text.removeprefix("Yes, ").removeprefix("No, ").lower() for a in c.answers] == [
            "you did it on low heat."
        ]
    only_time = example(mug, ["heat"], "temperature", performed=time, mistakes=[Mistake("temperature", time)])
    with pytest.raises(UncertainError, match="nothing_certain"):
        list(RuleGenerator().generate(only_time, mug))


def test_a_preparation_question_is_not_answered_by_a_measurement() -> None:
    cup = graph_of("cup", {"pour": "Pour-Pour 1 egg into the ramekin cup"}, "")
    mistakes = [Mistake("measurement", "2 instead of 1 egg"), Mistake("preparation", "Bowl instead of cup")]
    e = example(cup, ["pour"], "preparation", performed="Pour-Pour 2 eggs into the bowl", mistakes=mistakes)
    for c in candidates(e, cup, 40):
        assert not any("2" in a.text for a in c.answers)
        assert "just" not in c.question.replace("Just to be sure", "")


def test_numbers_keep_what_they_count() -> None:
    tyre = graph_of("tyre", {"pump": "Pump the tyre to 4 bar"}, "")
    e = example(
        tyre, ["pump"], "measurement", performed="Pump the tyre to 6 bar",
        mistakes=[Mistake("measurement", "6 instead of 4")],
    )  # fmt: skip
    made = candidates(e, tyre, 60)
    assert any("4 bar" in a.text for c in of_intent(made, "should") for a in c.answers)
    assert not any(re.search(r"(?<!instead of )\b[46](?! bar)", a.text) for c in made for a in c.answers)


def test_what_is_counted_ends_before_a_preposition() -> None:
    pan = graph_of("wash", {"rinse": "Rinse 3 mushrooms under cold water"}, "")
    mistakes = [Mistake("measurement", "Took only 2 mushrooms")]
    e = example(
        pan, ["rinse"], "measurement", performed="Rinse 2 mushrooms under cold water", mistakes=mistakes
    )
    made = [a.text for c in candidates(e, pan) for a in c.answers]
    assert any("3 mushrooms" in text for text in made)
    assert not any(re.search(r"mushrooms under cold(?! water)", text) for text in made)


def test_one_unit_more_is_another_unit() -> None:
    tea = graph_of("steep", {"wait": "Wait 2 minutes"}, "")
    e = example(
        tea,
        ["wait"],
        "timing",
        performed="Wait 1 minute",
        mistakes=[Mistake("timing", "1 minute instead of 2")],
    )
    fixes = {a.text for c in of_intent(candidates(e, tea), "fix") for a in c.answers}
    assert fixes <= {"Keep going for another minute.", "You should keep going for another minute."}


@pytest.mark.parametrize("name", ["done", "left"])
def test_what_was_skipped_keeps_an_activity_open(name: str) -> None:
    """Boiled and waited, but no leaf was put in: it is missing, and something else comes next."""
    e = example(TEA, ["boil", "pour"])
    assert [s.step_id for s in e.all_missing] == ["leaf"]
    for c in of_intent(candidates(e, TEA), name):
        assert {s.step_id for s in (*e.all_next, *e.all_missing)} <= ids(c) | ids(c, "suggestion")
        assert any("which you skipped" in a.text for a in c.answers)


def test_a_direction_is_no_thing_that_was_used() -> None:
    lamp = graph_of("lamp", {"base": "Place the base on the table with the felt side down"}, "")
    e = example(
        lamp, ["base"], "preparation", performed="Place the base on the table with the felt side up",
        mistakes=[Mistake("preparation", "The base was laid upside down")],
    )  # fmt: skip
    texts = {a.text for c in candidates(e, lamp) for a in c.answers}
    assert not any("used" in t for t in texts)
    assert any("he base was laid upside down" in t for t in texts)


@pytest.mark.parametrize("kind", STEP_TYPES)
def test_polarity_of_mistake_questions(kind: str) -> None:
    made = candidates(mistake_example(kind), TEA)
    assert all(a.text.startswith("Yes") for c in of_intent(made, "wrong") for a in c.answers)
    assert all(a.text.startswith("No") for c in of_intent(made, "right") for a in c.answers)


@pytest.mark.parametrize("kind", ["measurement", "timing", "temperature"])
def test_mistake_questions_do_not_hold_amounts(kind: str) -> None:
    for c in candidates(mistake_example(kind), TEA):
        assert not re.search(r"\d", c.question)


# -- every type ----------------------------------------------------------------------------------------------------

MINUTES = "9 minutes instead of 3 minutes"
MOMENTS: dict[str, list[Example]] = {
    "next": [example(TEA, h) for h in ([], ["boil"], ["wait"], ["sugar", "serve"])],
    "missing": [example(TEA, h, "missing") for h in (["boil"], ["wait"], ["boil", "leaf", "pour"], ["pour"])],
    "order": [
        order_example(TEA, ["boil", "pour"], "x"),
        order_example(TEA, ["boil", "pour", "leaf"], "Step performed after pouring"),
    ],
    **{
        kind: [
            mistake_example(kind),
            example(
                TEA,
                ["wait"],
                kind,
                performed="Wait for 9 minutes",
                mistakes=[
                    Mistake(kind, MINUTES if kind != "temperature" else "Low heat instead of high heat")
                ],
            ),
            example(
                LAB,
                ["spin"],
                kind,
                performed="Centrifuge at low speed for 5 minutes",
                mistakes=[Mistake(kind, "Use low speed")],
            ),
        ]
        for kind in STEP_TYPES
    },
}
MOMENTS["temperature"].append(
    example(
        PAN,
        ["heat"],
        "temperature",
        performed="Heat the oil on high heat",
        mistakes=[Mistake("temperature", "high")],
    )
)

GRAPH_IDS = {g.id: [s.id for s in g.actions] for g in GRAPHS.values()}


@pytest.mark.parametrize("kind", QUESTION_TYPES)
def test_variety(kind: str) -> None:
    made = [c for e in MOMENTS[kind] for c in candidates(e, GRAPHS[e.activity_id], 150)]
    forms = {str(c.provenance.form).split("/")[0] for c in made}
    assert len(forms) >= 24
    assert {"yesno", "wh"} <= {c.provenance.details["style"] for c in made}
    assert {str(c.provenance.form).split("/")[1] for c in made} == {"I", "we"}
    assert {str(c.provenance.form).split("/")[2] for c in made} >= {"plain", "novice", "expert", "careful"}


@pytest.mark.parametrize("kind", QUESTION_TYPES)
def test_texts_are_clean(kind: str) -> None:
    for e in MOMENTS[kind]:
        for c in candidates(e, GRAPHS[e.activity_id], 60):
            assert_clean(c)


def assert_clean(c: Candidate) -> None:
    assert c.question.endswith("?")
    assert c.question[0].isupper()
    assert c.answers
    assert len({a.text.lower() for a in c.answers}) == len(c.answers)
    for text in (c.question, *(a.text for a in c.answers)):
        assert not re.search(r"[{}]|\bSTART\b|\bEND\b|  |[.?!,;:][.?!,;:]|\s[.,?!]", text), text
    for a in c.answers:
        assert a.text.endswith((".", "!"))
        assert not a.text.endswith("..")
        assert a.text[0].isupper() or not a.text[0].isalpha()


@pytest.mark.parametrize("kind", QUESTION_TYPES)
def test_provenance(kind: str) -> None:
    e = MOMENTS[kind][0]
    (c,) = RuleGenerator(7).generate(e, GRAPHS[e.activity_id])
    assert c.id.startswith(f"{e.id}__rules-")
    assert (c.example_id, c.recording_id, c.type) == (e.id, e.recording_id, kind)
    assert (c.provenance.generator, c.provenance.seed) == ("rules", 7)
    assert str(c.provenance.form).startswith(f"{kind}.")
    assert len(c.provenance.example_hash) == 16


def test_forms_are_told_apart() -> None:
    every = [f for forms in FORMS.values() for f in forms]
    assert len({f.id for f in every}) == len(every)
    for f in every:
        assert f.template.endswith("?")
        assert f.template == f.template.strip()


def test_several_candidates_of_one_example_have_different_forms() -> None:
    made = list(RuleGenerator(3, per_example=5).generate(example(TEA, ["boil"]), TEA))
    assert len(made) == 5
    assert len({str(c.provenance.form).split("/")[0] for c in made}) == 5
    assert len({c.id for c in made}) == 5


def test_zero_candidates_make_no_sense() -> None:
    with pytest.raises(UserError):
        RuleGenerator(per_example=0)


# -- the stage -----------------------------------------------------------------------------------------------------


def test_results_do_not_depend_on_the_order() -> None:
    every = [change(e, id=f"{n}_{e.id}") for n, e in enumerate(e for es in MOMENTS.values() for e in es)]
    forwards = {r.id: r for r in generate_candidates(every, GRAPHS, RuleGenerator(5))}
    backwards = {r.id: r for r in generate_candidates(reversed(every), GRAPHS, RuleGenerator(5))}
    assert forwards == backwards
    other = {r.id: r for r in generate_candidates(every, GRAPHS, RuleGenerator(6))}
    assert forwards.keys() != other.keys()


def change(e: Example, **fields: Any) -> Example:
    return Example(**({f: getattr(e, f) for f in Example.__struct_fields__} | fields))


def test_what_is_not_certain_is_dropped_with_its_reason() -> None:
    good = example(TEA, ["boil"])
    empty = TaskGraph("empty", "empty", (Step("a", ""), Step("b", "Boil water")), (("a", "b"),))
    cases = {
        "no_graph": change(good, activity_id="nowhere"),
        "unknown_type": change(good, type="mood"),
        "unknown_step": change(good, current=Performed("zzz", "Fly")),
        "facts_disagree": change(good, next_steps=(StepRef("serve", "Serve"),)),
        "no_step_text": change(good, activity_id="empty", current=Performed("b", "Boil water")),
        "nothing_certain": change(
            mistake_example("timing"), mistake_texts=("",), current=Performed("sugar", TEA["sugar"].text)
        ),
    }
    calls: list[int] = []
    graphs = GRAPHS | {"empty": empty}
    results = list(
        generate_candidates([*cases.values(), good], graphs, RuleGenerator(), seen=lambda: calls.append(1))
    )
    assert [r.reason for r in results[:-1] if isinstance(r, Dropped)] == list(cases)
    assert isinstance(results[-1], Candidate)
    assert len(calls) == len(cases) + 1


def test_a_wrong_state_is_noticed() -> None:
    with pytest.raises(UncertainError, match="state"):
        list(RuleGenerator().generate(change(example(TEA, ["boil"]), state="finished"), TEA))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What {next}?", "Stir."),
        ("What now", "Stir."),
        ("Is it START?", "No."),
        ("What now?", "Stir the the pot."),
        ("Now??", "Yes."),
    ],
)
def test_flaws(question: str, answer: str) -> None:
    from proctor.ask.moment.candidate import Answer

    assert flaws(question, [Answer(answer)])
    assert not flaws("What now?", [Answer("Stir the pot.")])


def test_hostile_step_texts_give_no_broken_candidates() -> None:
    hostile = graph_of(
        "hostile",
        {
            "a": "Mix {step} and {0}",
            "b": "<script>alert(1)</script>",
            "c": "Stir;; it..  now??",
            "d": "Add “salt” % \\n $x",
        },
        "a>b",
    )
    for history in ([], ["a"], ["b"], ["c", "d"]):
        for seed in range(40):
            for r in generate_candidates(
                [example(hostile, history)], {"hostile": hostile}, RuleGenerator(seed)
            ):
                if isinstance(r, Candidate):
                    assert_clean(r)


# -- random procedures -------------------------------------------------------------------------------------------

VERB_TEXTS = [
    "Chop-Chop 1 onion", "add-1/4 tsp salt to a bowl", "Attach the wheel", "Stir-Stir the pot", "Peel-Peel 2 cloves of garlic",
    "Transfer to a plate", "cook for 2 minutes", "Tighten the bolt", "In a bowl, whisk one egg", "Season with pepper", "noodles",
    "Microwave for 1 minute", "Attach the wheel", "Remove from heat", "Pipette 5 µL of dye into the tube", "Place the lid on the pot",
]  # fmt: skip


@st.composite
def moments(draw: st.DrawFn) -> tuple[TaskGraph, list[str]]:
    n = draw(st.integers(1, 9))
    texts = draw(st.lists(st.sampled_from(VERB_TEXTS), min_size=n, max_size=n))
    pairs = [(f"s{a}", f"s{b}") for a in range(n) for b in range(a + 1, n) if draw(st.integers(0, 3)) == 0]
    steps = tuple(Step(f"s{i}", t) for i, t in enumerate(texts))
    graph = TaskGraph("random", "random", steps, tuple(pairs))
    history = draw(st.lists(st.sampled_from([s.id for s in steps]), max_size=n + 1))
    return graph, history


def test_a_slice_that_is_brushed_was_not_cut() -> None:
    """The word "slices" is the thing here; redoing the step is no cutting that cannot be undone."""
    bread = graph_of("bread", {"brush": "Brush 2 slices of bread with oil"}, "")
    remark = [Mistake("technique", "Pour oil instead of brushing")]
    e = example(bread, ["brush"], "technique", performed="Pour oil over 2 slices of bread", mistakes=remark)
    made = candidates(e, bread)
    assert not any("can't be put together" in a.text for c in made for a in c.answers)


def is_twin(graph: TaskGraph, step: str) -> bool:
    return (
        sum(parse_phrase(s.text).imperative == parse_phrase(graph[step].text).imperative for s in graph.steps)
        > 1
    )


@settings(max_examples=150, deadline=None)
@given(moments(), st.sampled_from(["next", "missing", "order"]), st.integers(0, 10_000))
def test_random_procedures(moment: tuple[TaskGraph, list[str]], kind: str, seed: int) -> None:
    graph, history = moment
    if not history and kind != "next":
        return
    mistakes = [Mistake("order", "Step performed before boiling the water")] if kind == "order" else []
    e = example(graph, history, kind, mistakes=mistakes)
    progress = derive_progress(graph, history)
    done = set(history)
    for c in RuleGenerator(seed, per_example=3).generate(e, graph):
        assert_clean(c)
        name = intent(c)
        named = ids(c)
        if kind == "next" and name in (
            "what",
            "start",
            "left",
            "done",
            "add",
            "cut",
            "attach",
            "object",
            "choice",
        ):
            assert named <= set(progress.next)
            if name in ("what", "start", "left", "done"):
                # Of steps with the same words, one that is missing or done speaks for the other.
                left_out = set(progress.next) - named - ids(c, "suggestion")
                assert all(is_twin(graph, i) for i in left_out)
                assert ids(c, "suggestion") <= {*progress.next, *progress.missing}
            if name in ("what", "start", "choice", "add", "cut", "attach", "object"):
                assert all(
                    not set(graph.ancestors(i)) & set(progress.missing) or is_twin(graph, i) for i in named
                )
                assert bool(ids(c, "intervention")) == (progress.state == "blocked")
            assert (progress.state == "finished") <= (not named)
        if kind == "missing":
            if name in ("any", "what", "complete"):
                assert named == set(progress.missing)
            for a in c.answers:
                if re.search(r"forgot to|you didn't|before you continue", a.text):
                    assert not done & set(a.step_ids)
        if kind == "order" and name in ("before", "early", "should"):
            above = set(graph.ancestors(history[-1])) - set(history[:-1])
            assert named <= above or c.answers[0].text.startswith("No, it was too late")


# -- the real thing ------------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_all_real_examples(shared_data: Path) -> None:
    """Every real moment gives a readable candidate whose golds agree with the graph."""
    from proctor.ask.moment.derive import derive_examples
    from proctor.datasets.dataset import load_dataset

    read = load_dataset("captaincook4d").read(shared_data / "captaincook4d", "corrected")
    every = [e for e in derive_examples(read.recordings, read.graphs) if isinstance(e, Example)]
    known = {e.id: e for e in every}
    results = list(generate_candidates(every, read.graphs, RuleGenerator(1)))
    made = [r for r in results if isinstance(r, Candidate)]
    assert len(made) > 0.9975 * len(every)
    assert len({c.id for c in made}) == len(made)
    for c in made:
        assert_clean(c)
        e = known[c.example_id]
        if intent(c) in ("what", "left", "done", "start") and c.type == "next":
            following = {s.step_id for s in e.all_next}
            assert ids(c) <= following <= ids(c) | ids(c, "suggestion")
        if intent(c) in ("any", "what", "complete") and c.type == "missing":
            assert ids(c) == {s.step_id for s in e.all_missing}
        if c.type in ("measurement", "timing", "temperature"):
            assert not re.search(r"\d", c.question)


def test_generator_satisfies_the_protocol() -> None:
    from proctor.ask.moment.candidate import Generator

    generator: Generator = RuleGenerator()
    assert generator.name == "rules"
    check: Callable[..., object] = generator.generate
    assert callable(check)


# -- optional steps ----------------------------------------------------------------------------------------------

BENCH = TaskGraph(
    "bench",
    "bench",
    (
        Step("saw", "Saw the board"),
        Step("sand", "Sand the board", optional=True),
        Step("oil", "Oil the board"),
        Step("label", "Label the board", optional=True),
    ),
    (("saw", "sand"), ("sand", "oil"), ("oil", "label")),
)


def test_an_optional_step_is_offered_and_never_demanded() -> None:
    made = candidates(example(BENCH, ["saw"]), BENCH)
    for c in made:
        for a in c.answers:
            if "sand" in a.step_ids and "oil" not in a.step_ids:
                assert not re.search(r"\b(?:should|have to|need to|first|skipped)\b", a.text), a.text
    assert any("sand" in ids(c) for c in of_intent(made, "what"))
    for c in of_intent(made, "left", "done"):
        assert ids(c) == {"oil"}


def test_what_may_be_left_out_keeps_nothing_from_being_finished() -> None:
    e = example(BENCH, ["saw", "oil"])
    assert e.state == "finished"
    texts = {a.text for c in of_intent(candidates(e, BENCH), "what", "left", "done") for a in c.answers}
    assert "Yes, you have done all that you have to do." in texts
    assert "No, but you can label the board if you like." in texts
    assert not any("all the steps are done" in t or "sand" in t for t in texts)


def test_an_optional_step_that_was_left_out_is_not_forgotten() -> None:
    for c in candidates(example(BENCH, ["saw", "oil"], "missing"), BENCH):
        assert not {"sand"} & (ids(c) | ids(c, "suggestion")), c.question
        assert not any(a.text.startswith("Yes, you forgot") for a in c.answers)
