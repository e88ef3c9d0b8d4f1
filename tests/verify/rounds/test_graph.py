"""Task graphs from texts: what may be submitted, how a sheet stands, how two authors agree, what is settled."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from proctor.verify.desk.records import InvalidError
from proctor.verify.rounds.graph import (  # fmt: skip
    KIND,
    Authored,
    GraphOptions,
    GraphSheet,
    GraphStep,
    GraphTask,
    ProposedEdge,
    agreement_of,
    authored,
    match_steps,
    settle,
)

TEXT = "Boil the water. Chop the onion and fry it. Pour the water over the rice."
TASK = GraphTask(id="rice", title="Rice", text=TEXT)


def step(id_: str, words: str, text: str = "") -> GraphStep:
    begin = TEXT.find(words)
    return GraphStep(id=id_, text=text or words, spans=((begin, begin + len(words)),) if begin >= 0 else ())


BOIL, CHOP = step("a", "Boil the water"), step("b", "Chop the onion")
FRY, POUR = step("c", "fry it", "Fry the onion"), step("d", "Pour the water over the rice")


def sheet(*edges: str, steps: tuple[GraphStep, ...] = (BOIL, CHOP, FRY, POUR), **more: Any) -> GraphSheet:
    return GraphSheet(steps=steps, edges=tuple((e[0], e[1]) for e in edges), **more)


def wrong(given: GraphSheet, task: GraphTask = TASK) -> dict[str, str]:
    with pytest.raises(InvalidError) as caught:
        KIND.check(given, task, GraphOptions())
    return dict(caught.value.errors)


def look(given: GraphSheet, task: GraphTask = TASK) -> Any:
    return KIND.look(given, task, GraphOptions())


def said(given: GraphSheet, task: GraphTask = TASK) -> list[str]:
    return [finding.text for finding in look(given, task).findings]


def test_a_sheet_is_kept_trimmed_and_each_link_once() -> None:
    spaced = msgspec.structs.replace(BOIL, text="  Boil the water \n", spans=((0, 4), (0, 4)))
    kept = KIND.check(sheet("ad", "ad", "bc", steps=(spaced, CHOP, FRY, POUR)), TASK, GraphOptions())
    assert kept.steps[0] == GraphStep(id="a", text="Boil the water", spans=((0, 4),))
    assert kept.edges == (("a", "d"), ("b", "c"))
    assert KIND.check(sheet(text="not mine"), TASK, GraphOptions()).text == ""  # the task has a text


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        (GraphSheet(), "steps", "no step yet"),
        (sheet("ab", "bc", "ca"), "edges", "Step 1: steps wait for one another (1 → 2 → 3 → 1)."),
        (sheet("aa"), "edges", "its own prerequisite"),
        (sheet("ax"), "edges", "not there"),
        (sheet(steps=(GraphStep(id="a", text=" "),)), "steps.a", "no words"),
        (sheet(steps=(GraphStep(id="a", text="x" * 1001),)), "steps.a", "1,000"),
        (sheet(steps=(GraphStep(id="a", text="x", spans=((3, 999),)),)), "steps.a", "the text does not have"),
        (sheet(steps=(GraphStep(id="a", text="x", spans=((5, 5),)),)), "steps.a", "the text does not have"),
        (sheet(steps=(BOIL, BOIL)), "steps", "an id of its own"),
        (sheet(steps=tuple(GraphStep(id=f"{n}", text="x") for n in range(301))), "steps", "At most 300"),
        (sheet(note="x" * 5000), "note", "4,000"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(given: GraphSheet, field: str, words: str) -> None:
    assert words in wrong(given)[field]


def test_pasted_texts() -> None:
    task = GraphTask(id="p", title="P")
    one = GraphStep(id="a", text="x", spans=((0, 10_000),))
    assert KIND.check(GraphSheet(text="x" * 10_000, steps=(one,)), task, GraphOptions()).text == "x" * 10_000
    assert "30,000" in wrong(GraphSheet(text="x" * 30_001, steps=(one,)), task)["text"]
    assert "control" in wrong(GraphSheet(text="x" * 5_000 + "\0", steps=(one,)), task)["text"]


DRAFT = msgspec.structs.replace(
    TASK, steps=(BOIL, POUR), edges=(ProposedEdge(before="a", after="d", probability=0.4),)
)  # fmt: skip


def test_nothing_of_a_draft_counts_unless_it_is_accepted_and_all_is_decided_on() -> None:
    assert "2 are not decided" in wrong(sheet(steps=(CHOP,)), DRAFT)["proposals"]
    # its edge is asked about where both steps are accepted
    assert "1 are not decided" in wrong(sheet(steps=(BOIL, POUR)), DRAFT)["proposals"]
    kept = KIND.check(
        sheet("ad", steps=(BOIL, POUR), refused=(("d", "a"), ("a", "d"))), DRAFT, GraphOptions()
    )
    assert (kept.edges, kept.refused) == ((("a", "d"),), ())
    kept = KIND.check(sheet(steps=(CHOP,), refused_steps=("a", "d", "zz")), DRAFT, GraphOptions())
    assert kept.refused_steps == ("a", "d")


def test_steps_of_an_inferred_graph_are_not_written_and_decisions_must_go_together() -> None:
    edges = tuple(ProposedEdge(before=p[0], after=p[1]) for p in ("ab", "bd", "ad"))
    task = GraphTask(id="g", title="G", steps=(BOIL, CHOP, POUR), edges=edges, fixed=True)
    kept = KIND.check(sheet("ab", "bd", "ad"), task, GraphOptions())
    assert kept.steps == ()
    refused = sheet("ab", "bd", refused=(("a", "d"),))
    assert "Edge 1 → 3 is refused, but follows" in wrong(refused, task)["edges"]
    assert authored("p", kept, task).graph.comes_before("a", "d")


def test_a_look_names_what_is_odd_by_the_numbers_of_the_page() -> None:
    found = look(sheet("ad", "bc", "cd", "bd"))
    assert [f.text for f in found.findings] == ["Edge 2 → 4: the edge says only what others say already."]
    assert found.count == 3
    assert len(found.orders) == 3
    assert all(order[-1] == "d" for order in found.orders)
    assert found.orders == look(sheet("ad", "bc", "cd", "bd")).orders
    assert "Fry the onion" in found.svg
    assert 'data-step="1"' in found.svg
    twins = msgspec.structs.replace(POUR, text="Boil the water")
    assert any("same text" in text for text in said(sheet("ab", steps=(BOIL, CHOP, twins))))


def test_a_look_at_what_cannot_be_drawn() -> None:
    broken = look(sheet("ab", "ba"))
    assert (broken.svg, broken.orders) == ("", ())
    assert broken.findings[0].broken
    assert look(GraphSheet()).note
    many = tuple(GraphStep(id=f"n{n}", text=f"Do {n}") for n in range(300))
    chain = tuple((f"n{n}", f"n{n + 1}") for n in range(299))
    assert look(GraphSheet(steps=many, edges=chain)).count == 1
    assert look(GraphSheet(steps=many)).count is None  # any order: not counted
    evil = GraphStep(id="x", text='"]; x [URL="javascript:alert(1)"] <script>alert(1)</script>')
    drawn = look(sheet("xa", steps=(evil, BOIL))).svg
    assert "<script" not in drawn
    assert "<a " not in drawn


def an_author(name: str, edges: str, *steps: GraphStep, text: str = TEXT) -> Authored:
    task = msgspec.structs.replace(TASK, text=text)
    return authored(name, sheet(*edges.split(), steps=steps or (BOIL, CHOP, FRY, POUR)), task)


def test_steps_are_matched_by_the_words_marked_else_by_their_wording() -> None:
    other = (step("p", "the water", "Heat water"), step("q", "Chop the onion and fry it"), step("r", "Pour"))
    one, two = an_author("one", ""), an_author("two", "", *other)
    # 9 of 14 characters; of 25 "Chop the onion" has 12; "Pour" has 4 of 23
    assert match_steps(one, two) == {"a": "p", "b": "q"}
    elsewhere = an_author("two", "", step("p", "none", "boil the water!"), text="Another text.")
    assert match_steps(one, elsewhere) == {"a": "p"}
    assert agreement_of(one, elsewhere)[0] == 1


def test_agreement_of_two_authors_by_hand() -> None:
    one, two = an_author("one", "ad bc cd"), an_author("two", "ad bc")
    # one: S→a S→b a→d b→c c→d d→E; two: S→a S→b a→d b→c d→E c→E: 5 in both, of 6 and 6
    assert agreement_of(one, two) == (4, pytest.approx(5 / 6))
    assert agreement_of(one, an_author("two", "", GraphStep(id="z", text="Sing"))) == (0, None)


def test_settled_is_what_all_agree_on_implied_or_not() -> None:
    one = an_author("one", "ab bc")
    graph, disputes = settle([one, an_author("two", "ac bd")])
    assert graph is not None
    assert graph.edges == (("a", "c"),)  # implied by one's a → b → c
    texts = {step.id: step.text for step in (BOIL, CHOP, FRY, POUR)}
    assert disputes == [
        ("edge", a, b, f"{texts[a]} → {texts[b]}", who) for a, b, who in (("a", "b", "one"), ("b", "c", "one"), ("b", "d", "two"))
    ]  # fmt: skip
    graph, disputes = settle([one, an_author("two", "ab", BOIL, CHOP)])
    assert graph is not None
    assert [s.id for s in graph.steps] == ["a", "b"]
    assert disputes == [("step", "c", "", FRY.text, "one"), ("step", "d", "", POUR.text, "one")]
    assert settle([one, an_author("two", "", GraphStep(id="z", text="Sing"))])[0] is None
