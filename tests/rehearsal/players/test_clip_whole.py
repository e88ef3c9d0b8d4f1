"""From steps to options against the rehearsal: pairs, filters, options; the same in any order, and better with better models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.ask.documents.rehearsed import Port
from tests.rehearsal.players.clip_material import (
    PROMPTS,
    SALAD,
    SECRET,
    SHELF,
    choosable,
    clip,
    filterable,
)

from proctor.ask.clip.choice_prompt import ChoicePrompts
from proctor.ask.clip.choice_run import ChoiceRun, make_choices
from proctor.ask.clip.choices import ChoiceMaker, ChoiceModels
from proctor.ask.clip.filters import FilterModels, FilterRun, Filters, run_filters
from proctor.ask.clip.known import known_question, siblings_of
from proctor.ask.clip.pair_run import PairRun, generate_pairs
from proctor.ask.clip.pairs import PairGenerator, PairModels
from proctor.ask.clip.plan import plan_pairs
from proctor.ask.clip.record import pair_question
from proctor.exam.library import Library
from proctor.llm.media import MediaStore
from proctor.metrics.choice.letters import letter_counts
from proctor.records import canonical_json, write_jsonl
from proctor_rehearsal.players.clip_judging import fairness, guess, specificity, support
from proctor_rehearsal.players.clip_reading import read_line
from proctor_rehearsal.players.clip_scene import scene_of

WRITER, JUDGE, *ASSISTANTS = (f"compat/{name}@http://127.0.0.1:1/v1" for name in "wjabc")
CLIPS = [
    SALAD,
    SHELF,
    clip(
        "tea",
        "make tea",
        "boil the water in a kettle; warm the pot; add 3 spoons of tea to the pot; pour the water over the leaves; cover the pot with "
        "a towel; strain the tea into a cup; stir the honey into the tea",
        "goalstep",
    ),
    clip(
        "bike",
        "mend a tyre",
        "turn the bicycle on its saddle; remove the wheel; lever the tyre over the rim; pull the tube out; patch the hole with rubber; "
        "push the tube under the tyre; pump the tyre until it is hard; fix the wheel in the frame",
        "egoexo4d",
    ),
]


@dataclass(frozen=True)
class Done:
    """What became of it."""

    pairs: PairRun
    filters: FilterRun
    choices: ChoiceRun

    @property
    def bytes(self) -> bytes:
        return canonical_json([self.pairs.pairs, self.filters.verdicts, self.choices.items])


def do(root: Path, *, quality: float, order: int = 0, ahead: int = 1_000) -> Done:
    """Do all of it."""
    port = Port(root, quality=quality, order=order, ahead=ahead)
    plan = plan_pairs(CLIPS, per_clip=6, seed=1)
    pairs = generate_pairs(CLIPS, plan, PairGenerator(PairModels(generator=WRITER), PROMPTS, SECRET, 1), port)
    write_jsonl(root / "pairs.jsonl", pairs.pairs)
    by_id = {shown.id: shown for shown in CLIPS}
    models = FilterModels(judges=(JUDGE,), assistants=tuple(ASSISTANTS), consistency=JUDGE)
    found = [known_question(pair_question(pair, by_id), Library(media=MediaStore())) for pair in pairs.pairs]
    filters = run_filters(found, Filters(models, PROMPTS, SECRET), port)
    siblings = siblings_of(CLIPS, seed=1)
    questions = [
        choosable(pair, by_id[pair.clip_id], siblings[pair.clip_id])
        for pair in pairs.pairs
        if pair.id in filters.kept
    ]
    maker = ChoiceMaker(
        ChoicePrompts(PROMPTS, SECRET), ChoiceModels(writer=WRITER, assistants=tuple(ASSISTANTS)), 1
    )
    return Done(pairs, filters, make_choices(questions, maker, port))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[float, Done]:
    return {q: do(tmp_path_factory.mktemp("bench"), quality=q) for q in (1.0, 0.9, 0.6)}


def test_perfect_models_lose_only_what_can_be_guessed(done: dict[float, Done]):
    perfect = done[1.0]
    assert perfect.pairs.is_complete
    assert len(perfect.pairs.pairs) >= 36
    assert {dropped.reason for dropped in perfect.filters.dropped} <= {"blind:blind-solved"}
    assert len(perfect.filters.kept) > 0.7 * len(perfect.pairs.pairs)
    assert {attempt.outcome for attempt in perfect.choices.attempts} <= {"ok", "without_steps_fail"}
    assert len(perfect.choices.items) == len(perfect.filters.kept)


def test_options_are_those_of_the_right_pair(done: dict[float, Done]):
    by_id = {pair.id: pair for pair in done[0.9].pairs.pairs}
    items = done[0.9].choices.items
    assert len(items) > 10
    for item in items:
        assert item.options["ABCDE".index(item.letter)] == by_id[item.id].answer
        assert len(item.options) == len({option.casefold() for option in item.options}) == 5
    counts = letter_counts([item.letter for item in items], 5)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_filters_of_good_models_drop_the_flawed_pairs(done: dict[float, Done]):
    run = done[0.9]
    by_id = {shown.id: shown for shown in CLIPS}
    flawed, kept = set(), run.filters.kept
    for pair in run.pairs.pairs:
        shown = filterable(pair, by_id[pair.clip_id]).lines
        held = scene_of(tuple(read_line(f"{line.id}: {line.text}") for line in shown))
        found = [judge(held, pair.question, pair.answer).problem for judge in (specificity, support)]
        if {*found, fairness(held, pair.question).problem} != {"none"} or guess(pair.question):
            flawed.add(pair.id)
    assert flawed, "a writer of this quality writes some"
    sound = {pair.id for pair in run.pairs.pairs} - flawed
    assert len(flawed & kept) / len(flawed) < len(sound & kept) / len(sound)


def test_better_models_keep_more(done: dict[float, Done]):
    kept = [len(done[quality].choices.items) / len(done[quality].pairs.pairs) for quality in (1.0, 0.9, 0.6)]
    assert kept[0] > kept[1] > kept[2] > 0


def test_order_and_concurrency_change_nothing(done: dict[float, Done], tmp_path: Path):
    assert do(tmp_path, quality=0.9, order=5, ahead=3).bytes == done[0.9].bytes
