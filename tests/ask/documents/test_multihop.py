"""Multi-hop questions: splitting candidates, the two halves, joining them, and the checks on each."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.ask.documents.multihop import (
    COMBINATION,
    Part,
    Split,
    check_combined,
    check_first,
    check_second,
    combination_prompt,
    first_prompt,
    read_combination,
    second_prompt,
    split_candidates,
)
from proctor.ask.documents.prompting import Miss, PromptKit
from proctor.ask.documents.style import load_style
from proctor.ask.documents.triple import Triple
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.corpus.question import count_modalities
from proctor.corpus.source import MODALITIES, Source, image_source, table_source, text_source
from proctor.exam.kinds.documents_question import Hop
from proctor.llm.fence import FenceSecret
from proctor.llm.outcome import Reply, Truncated

KIT = PromptKit(generation_prompts(), FenceSecret(b"s" * 32))


def candidates(texts: int, tables: int, images: int) -> list[Source]:
    kinds = [m for m, n in zip(MODALITIES, (texts, tables, images), strict=True) for _ in range(n)]
    return [Source(id=f"{m}{n}", modality=m, title="x") for n, m in enumerate(kinds)]


def split(counts: tuple[int, int, int], m: tuple[int, int, int], seed: int = 0) -> Split:
    found = split_candidates(candidates(*counts), m, random.Random(seed))
    assert isinstance(found, Split), found
    return found


def kinds(part: Part) -> tuple[int, int, int]:
    return count_modalities(tuple(s.modality for s in part.sources))


@pytest.mark.parametrize("seed", range(5))
def test_images_come_first(seed: int) -> None:
    for m, counts in (((1, 0, 1), (2, 0, 2)), ((0, 1, 1), (0, 2, 2))):
        made = split(counts, m, seed)
        assert made.first.modalities == (0, 0, 1)
        assert kinds(made.first) == (0, 0, 2)
        assert kinds(made.second) == (*counts[:2], 0)
        assert not made.swappable


def test_text_and_table_come_in_a_drawn_order_that_can_be_swapped_once() -> None:
    firsts = set()
    for seed in range(20):
        made = split((2, 2, 0), (1, 1, 0), seed)
        assert made == split((2, 2, 0), (1, 1, 0), seed)
        assert made.swappable
        assert (made.swapped.first, made.swapped.second) == (made.second, made.first)
        assert not made.swapped.swappable
        firsts.add(made.first.modalities)
    assert firsts == {(1, 0, 0), (0, 1, 0)}


def test_one_modality_is_split_at_random_and_the_odd_one_goes_first() -> None:
    firsts = set()
    for seed in range(20):
        made = split((4, 0, 0), (2, 0, 0), seed)
        assert (made.first.modalities, made.second.modalities) == ((1, 0, 0), (1, 0, 0))
        assert kinds(made.first) == kinds(made.second) == (2, 0, 0)
        assert not made.swappable
        firsts.add(tuple(s.id for s in made.first.sources))
    assert len(firsts) > 3
    odd = split((0, 3, 0), (0, 2, 0))
    assert (kinds(odd.first), kinds(odd.second)) == ((0, 2, 0), (0, 1, 0))


@pytest.mark.parametrize(
    ("m", "firsts"),
    [
        ((1, 1, 1), {(0, 0, 1)}),
        ((1, 0, 2), {(0, 0, 2)}),
        ((2, 1, 0), {(2, 0, 0), (1, 1, 0)}),
        ((3, 0, 0), {(2, 0, 0)}),
        ((2, 2, 0), {(2, 0, 0), (0, 2, 0)}),
        ((0, 0, 2), {(0, 0, 1)}),
    ],
)
def test_larger_requirements(m: tuple[int, int, int], firsts: set[tuple[int, int, int]]) -> None:
    counts = (2 * m[0], 2 * m[1], 2 * m[2])
    assert {split(counts, m, seed).first.modalities for seed in range(30)} == firsts


def test_too_few_candidates() -> None:
    for counts, m in (
        ((1, 0, 0), (2, 0, 0)),
        ((4, 0, 0), (1, 0, 0)),
        ((0, 2, 0), (1, 1, 0)),
        ((2, 0, 0), (3, 0, 0)),
    ):
        found = split_candidates(candidates(*counts), m, random.Random(0))  # type: ignore[arg-type]
        assert isinstance(found, Miss)
        assert found.outcome == "too_few_candidates"


SMALL = st.tuples(*[st.integers(0, 3)] * 3)


@given(SMALL.filter(lambda m: sum(m) >= 2), SMALL, st.integers(0, 99))
def test_halves_share_out_everything(m: tuple[int, int, int], more: tuple[int, int, int], seed: int) -> None:
    sources = candidates(*(a + b for a, b in zip(m, more, strict=True)))
    made = split_candidates(sources, m, random.Random(seed))
    assert isinstance(made, Split)
    assert tuple(a + b for a, b in zip(made.first.modalities, made.second.modalities, strict=True)) == m
    ids = [s.id for part in (made.first, made.second) for s in part.sources]
    if not any(b and not a for a, b in zip(m, more, strict=True)):
        assert sorted(ids) == sorted(s.id for s in sources)
    for part in (made.first, made.second):
        assert sum(part.modalities) >= 1
        assert all(have >= need for have, need in zip(kinds(part), part.modalities, strict=True))
        assert [s for s in sources if s in part.sources] == list(part.sources)


TEXT = text_source("t", "Grebe", "The hull of the Grebe was drawn by Edda Roth.")
TABLE = table_source("b", "Ferries", ["Vessel", "Cars"], [["Grebe", "40"]])
IMAGE = image_source("i", "Grebe (ferry)", "i.png")
FIRST, SECOND = Part((TEXT,), (1, 0, 0)), Part((TABLE,), (0, 1, 0))


def test_prompts_of_the_halves_show_their_part_and_the_entity() -> None:
    one, two = first_prompt(KIT, "Grebe", FIRST), second_prompt(KIT, "Grebe", SECOND)
    assert "A fact about the entity" in one.messages[0].text
    assert "A question whose answer is the entity" in two.messages[0].text
    assert "Edda Roth." in one.messages[-1].text
    assert "Edda Roth" not in two.messages[-1].text
    for prompt in (one, two):
        assert prompt.messages[-1].text.count("<<<BEGIN entity ") == 1


@pytest.mark.parametrize(
    ("question", "gold", "outcome"),
    [
        ("Who drew the hull of the Grebe?", [TEXT], None),
        ("Who drew the hull of the GREBE?", [TEXT], None),
        ("Who drew the hull of the Grebes?", [TEXT], "hop_mismatch"),
        ("Who drew the hull?", [TEXT], "hop_mismatch"),
        ("Who drew the hull of the Grebe in the text?", [TEXT], "mentions_sources"),
        ("Who drew the hull of the Grebe?", [TABLE], "modality_mismatch"),
    ],
)
def test_the_first_half_mentions_the_entity(question: str, gold: list[Source], outcome: str | None) -> None:
    miss = check_first("Grebe", Triple(question, "Edda Roth.", (1,)), gold, FIRST)
    assert (miss and miss.outcome) == outcome


def test_the_first_half_names_the_captions_of_its_images() -> None:
    part = Part((IMAGE,), (0, 0, 1))
    miss = check_first("Ost", Triple("What colour is the ferry of Ost?", "White.", (1,)), [IMAGE], part)
    assert miss is not None
    assert miss.outcome == "caption_missing"


@pytest.mark.parametrize(
    ("question", "answer", "outcome"),
    [
        ("Which ferry carries 40 cars?", "The Grebe.", None),
        ("Which ferry carries 40 cars?", "It is the Grebe.", "hop_mismatch"),
        ("Which ferry carries 40 cars?", "Coot", "hop_mismatch"),
        ("Which ferry called Grebe carries 40 cars?", "Grebe", "hop_leak"),
        ("Which ferry in the table carries 40 cars?", "Grebe", "mentions_sources"),
    ],
)
def test_the_second_half_has_the_entity_as_its_answer(
    question: str, answer: str, outcome: str | None
) -> None:
    miss = check_second("Grebe", Triple(question, answer, (1,)), [TABLE], SECOND)
    assert (miss and miss.outcome) == outcome


def test_the_joining_prompt_says_which_source_is_whose() -> None:
    first, second = (
        Triple("Who drew the hull of the Grebe?", "Edda Roth.", (1,)),
        Triple("Which ferry carries 40 cars?", "Grebe", (1,)),
    )
    prompt = combination_prompt(KIT, load_style("multi-hop"), "Grebe", first, [TEXT], second, [TABLE])
    shown = prompt.messages[1].text
    assert "Source 1 (text), used by question 1:" in shown
    assert "Source 2 (table), used by question 2:" in shown
    for text in (first.question, first.answer, second.question, second.answer):
        assert text in shown
    words = prompt.messages[0].text
    for rule in (
        "does not mention the entity",
        "also answer question 2",
        "also answer question 1",
        "without finding out",
        "is awkward",
    ):
        assert rule in words
    assert "is the entity as well" not in words
    seen = combination_prompt(KIT, load_style("multi-hop"), "Grebe", first, [IMAGE], second, [TABLE])
    assert "is the entity as well" in seen.messages[0].text
    assert words.count("Question 1: ") == 3
    assert COMBINATION.temperature == 0.0


def test_joined_questions_are_read_and_hide_the_entity() -> None:
    hops = (Hop(question="Who drew the hull of it?", answer="Edda Roth.", sources=("t",)), Hop(question="Which ferry carries 40 cars?", answer="Grebe", sources=("b",)))  # fmt: skip
    found = read_combination(
        Reply(text="Who drew the hull of the ferry for 40 cars? | It is the Grebe | Edda Roth.")
    )
    assert found == Triple("Who drew the hull of the ferry for 40 cars?", "It is the Grebe | Edda Roth.")
    assert check_combined("Grebe", "Who drew the hull of the ferry for 40 cars?", hops) is None
    for leaked in ("Who drew the grebe's hull?", "who drew the hull of it", "Which ferry carries 40 cars ?"):
        miss = check_combined("Grebe", leaked, hops)
        assert miss is not None
        assert miss.outcome == "hop_leak"
    for outcome, code in ((Reply(text="None."), "refused"), (Reply(text="Who?"), "format_error"), (Truncated(text="Who? | A"), "format_error")):  # fmt: skip
        miss = read_combination(outcome)
        assert isinstance(miss, Miss)
        assert miss.outcome == code
