"""Played models of questions about steps: right by their quality where times are told, guesses where nothing is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.rehearsal.players.clip_material import answer_to

from proctor.ask.step.entry import Entry
from proctor.ask.step.questions import STEP, Asker
from proctor.ask.step.writing import problem_with
from proctor.exam.kinds.step import read_said
from proctor.exam.predict_prompt import evaluation_prompts
from proctor.exam.question import Choice, Footage, Item, gold_texts, part_of
from proctor.llm.fence import FenceSecret
from proctor.llm.prompt import Rendered
from proctor.records import write_jsonl
from proctor_rehearsal.players.step import HEDGED, YES

ENTRY = Entry("1_7", 0, "1", "Whisk 1 egg with a fork", "Omelette", "1", 2.0, 4.0)
ENTRIES = [
    replace(ENTRY, number=n, start=float(n), end=n + 5.0, kinds=("preparation",) if n % 2 else ())
    for n in range(300)
]
PROMPTS, SECRET = evaluation_prompts(), FenceSecret(b"s" * 32)


def prompt(item: Item, *, timed: bool) -> Rendered:
    form, clip = item.question.form, part_of(item.question, Footage)
    options = form.options if isinstance(form, Choice) else ()
    return PROMPTS["step-ask"].render(
        SECRET,
        question=item.question.text,
        style="short",
        options=[f"({'ABCD'[n]}) {text}" for n, text in enumerate(options)] or None,
        letters=list("ABCD"[: len(options)]) or None,
        start=f"{clip.start:.2f}" if timed and clip else None,
        end=f"{clip.end:.2f}" if timed and clip else None,
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    asker = Asker({"1": ("fork", "bowl", "plate", "mug")})
    items = [asker.item(e, c) for e in ENTRIES for c in (STEP, "preparation")]
    write_jsonl(tmp_path / "items.jsonl", items)
    return tmp_path


def items_of(root: Path, category: str) -> list[Item]:
    asker = Asker({"1": ("fork", "bowl", "plate", "mug")})
    return [asker.item(e, category) for e in ENTRIES]


def test_who_is_told_the_times_is_right_as_often_as_is_said(root: Path) -> None:
    items = items_of(root, STEP)
    said = [read_said(answer_to(prompt(i, timed=True), quality=0.6, root=root)) for i in items]
    right = sum(text == gold_texts(i)[0] for i, text in zip(items, said, strict=True))
    assert right / len(items) == pytest.approx(0.6, abs=0.08)
    assert Counter(said)["hedged"] / len(items) == pytest.approx(HEDGED * 0.4, abs=0.03)
    assert Counter(said)["unreadable"] == 0


def test_options_are_chosen_among_all_that_are_right(root: Path) -> None:
    items = items_of(root, "preparation")
    letters = [answer_to(prompt(i, timed=True), quality=1.0, root=root) for i in items]
    fork = "ABCD"[items[0].question.facts["right"]]
    assert {letter for letter, e in zip(letters, ENTRIES, strict=True) if not e.kinds} == {fork}
    assert {letter for letter, e in zip(letters, ENTRIES, strict=True) if e.kinds} == set("ABCD") - {fork}


def test_who_is_blind_says_yes_mostly_and_the_same_to_equal_questions(root: Path) -> None:
    asker = Asker({})
    texts = [replace(ENTRY, text=f"Whisk {n} eggs") for n in range(300)]
    said = [answer_to(prompt(asker.item(e, STEP), timed=False), quality=1.0, root=root) for e in texts]
    assert Counter(said)["Yes"] / 300 == pytest.approx(YES, abs=0.08)
    assert len({answer_to(prompt(i, timed=False), root=root) for i in items_of(root, STEP)}) == 1


def test_who_writes_questions_is_refused_as_often_as_is_said() -> None:
    def written(n: int, quality: float) -> str:
        rendered = PROMPTS["step-write"].render(
            SECRET, recipe="Omelette", step=f"Whisk {n} eggs well", model="Was it done?", category="technique"
        )
        return problem_with(answer_to(rendered, quality=quality), f"Whisk {n} eggs well")

    assert {written(n, 1.0) for n in range(30)} == {""}
    found = Counter(written(n, 0.5) for n in range(200))
    assert found[""] / 200 == pytest.approx(0.5, abs=0.1)
    assert found.keys() == {"", "turned round", "does not name the step"}
