"""Self-preference: a planted one is found, a strict judge is none, and what cannot be told is said."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import msgspec
import pytest

from proctor.exam.estimate import Draws
from proctor.exam.judge_marks import Answer, JudgeMarks, JudgeSetup
from proctor.exam.self_preference import SelfPreference, analyse_self_preference, model_family

QUICK = Draws(resamples=300)
ITEMS = [f"i{n:03}" for n in range(160)]
RECORDINGS = {name: f"r{n // 4}" for n, name in enumerate(ITEMS)}
PREDICTORS = ("openai/m", "google/m", "anthropic/m")


def world(
    mark: Callable[[random.Random, str, str, int], int], seed: int = 0, template: str = "t"
) -> list[JudgeMarks]:
    """Two judges who mark three predictors: ``mark(rng, judge, predictor, truth)``."""
    rng = random.Random(seed)
    truth = {(i, p): rng.choice([0, 1, 2]) for i in ITEMS for p in PREDICTORS}
    return [
        JudgeMarks(
            JudgeSetup(judge, template),
            {"": {Answer(i, p): mark(rng, judge, p, t) for (i, p), t in truth.items()}},
        )
        for judge in ("google/j", "openai/j")
    ]


def fair(rng: random.Random, judge: str, predictor: str, truth: int) -> int:
    return truth if rng.random() < 0.85 else rng.choice([0, 1, 2])


def selfish(rng: random.Random, judge: str, predictor: str, truth: int) -> int:
    kin = judge.split("/")[0] == predictor.split("/")[0]
    found = fair(rng, judge, predictor, truth)
    return min(2, found + 1) if kin and rng.random() < 0.4 else found


def strict(rng: random.Random, judge: str, predictor: str, truth: int) -> int:
    found = fair(rng, judge, predictor, truth)
    return max(0, found - 1) if judge.startswith("openai") and rng.random() < 0.5 else found


def test_a_judge_that_favours_its_family_is_found() -> None:
    found = analyse_self_preference(world(selfish), RECORDINGS, draws=QUICK)
    assert [p.family for p in found.judges] == ["google", "openai"]
    for preference in found.judges:
        # 0.4 of the two marks in three that can still rise, by 50 points each
        assert preference.adjusted.value == pytest.approx(40 / 3, abs=6)
        assert preference.adjusted.note == ""
        assert preference.adjusted.p_holm is not None
        assert preference.adjusted.p_holm < 0.05
        assert preference.adjusted.low is not None
        assert preference.adjusted.low > 0


def test_a_judge_that_is_strict_with_everybody_does_not_favour_anybody() -> None:
    found = analyse_self_preference(world(strict), RECORDINGS, draws=QUICK)
    openai = next(p for p in found.judges if p.family == "openai")
    assert openai.plain.value is not None
    assert openai.plain.value < -8
    assert openai.plain.p_holm is not None
    assert openai.plain.p_holm < 0.01
    assert openai.adjusted.p_holm is not None
    assert openai.adjusted.p_holm > 0.05
    assert openai.adjusted.value == pytest.approx(0, abs=7)


def test_fair_judges_are_rarely_accused() -> None:
    accused = 0
    for seed in range(60):
        found = analyse_self_preference(world(fair, seed), RECORDINGS, draws=Draws(resamples=200))
        accused += any((p.adjusted.p_holm or 1) < 0.05 for p in found.judges)
    assert accused <= 9, "at most one in twenty expected, for both families together"


def test_the_table_holds_every_predictor_at_every_judge_on_the_same_answers() -> None:
    judges = world(fair)
    short = {a: m for a, m in judges[0].marks.items() if a.item_id != "i000" or a.predictor != "openai/m"}
    judges[0] = JudgeMarks(judges[0].setup, {"": short})
    found = analyse_self_preference(judges, RECORDINGS, draws=QUICK)
    cells = {(c.predictor, c.column): c for c in found.judge_cells}
    assert len(cells) == 6
    assert {k: c.score.n for k, c in cells.items() if k[0] == "openai/m"} == {
        ("openai/m", "google/j · t"): 159,
        ("openai/m", "openai/j · t"): 159,
    }
    assert {k for k, c in cells.items() if c.own} == {
        ("openai/m", "openai/j · t"),
        ("google/m", "google/j · t"),
    }
    assert found.families == {
        "anthropic/m": "anthropic",
        "google/j · t": "google",
        "google/m": "google",
        "openai/j · t": "openai",
        "openai/m": "openai",
    }


def test_without_a_predictor_of_another_family_nothing_is_adjusted() -> None:
    judges = [
        JudgeMarks(j.setup, {"": {a: m for a, m in j.marks.items() if a.predictor == "openai/m"}})
        for j in world(selfish)
    ]
    (found,) = analyse_self_preference(judges, RECORDINGS, draws=QUICK).judges
    assert found.plain.value is not None
    assert found.adjusted.value is None
    assert "no predictor of another family" in found.adjusted.note


def test_two_families_that_judge_each_other_cannot_be_told_apart() -> None:
    """The paper's table 11: both preferences add up, and the note says so."""
    judges = [
        JudgeMarks(j.setup, {"": {a: m for a, m in j.marks.items() if a.predictor != "anthropic/m"}})
        for j in world(selfish)
    ]
    one, two = analyse_self_preference(judges, RECORDINGS, draws=QUICK).judges
    assert one.adjusted.value == pytest.approx(two.adjusted.value)
    assert "no neutral family" in one.adjusted.note


def test_one_judge_or_none_or_nothing_marked() -> None:
    judges = world(fair)
    assert analyse_self_preference(judges[:1], RECORDINGS, draws=QUICK).judges == ()
    assert analyse_self_preference([], {}, draws=QUICK) == SelfPreference()
    failed = [JudgeMarks(j.setup, {"": dict.fromkeys(j.marks)}) for j in judges]
    assert analyse_self_preference(failed, RECORDINGS, draws=QUICK).judge_cells == ()


def test_one_recording_gives_a_difference_without_an_interval() -> None:
    found = analyse_self_preference(world(selfish), dict.fromkeys(ITEMS, "r"), draws=QUICK)
    assert found.judges[0].adjusted.value is not None
    assert found.judges[0].adjusted.low is None


def test_judges_are_compared_with_one_template() -> None:
    judges = [*world(fair), *world(fair, 1, "other"), *world(fair, 2, "t")[:0]]
    judges.append(JudgeMarks(JudgeSetup("anthropic/j", "other"), judges[0].repeats))
    found = analyse_self_preference(judges, RECORDINGS, draws=QUICK)
    assert {c.column for c in found.judge_cells} == {
        "anthropic/j · other",
        "google/j · other",
        "openai/j · other",
    }
    assert "'other' only" in found.notes[0]
    named = analyse_self_preference(judges, RECORDINGS, template="t", draws=QUICK)
    assert {c.column for c in named.judge_cells} == {"google/j · t", "openai/j · t"}
    assert analyse_self_preference(judges, RECORDINGS, template="none", draws=QUICK).judge_cells == ()


# -- questions -------------------------------------------------------------------------------------------------


def asked(
    bonus: float, seed: int = 0, *, pairs: bool = True
) -> tuple[list[JudgeMarks], dict[str, str], dict[str, str]]:
    """Questions by two models; ``openai/m`` does better on those of its family."""
    rng = random.Random(seed)
    generators = {i: ("openai/g" if n % 2 else "google/g") for n, i in enumerate(ITEMS)}
    moments = {i: f"e{n // 2}" for n, i in enumerate(ITEMS)} if pairs else {}
    marks: dict[Answer, int | None] = {}
    for i in ITEMS:
        ease = rng.random()
        for p in PREDICTORS:
            kin = p.startswith("openai") and generators[i].startswith("openai")
            chance = min(1.0, ease + (bonus if kin else 0))
            marks[Answer(i, p)] = 2 if rng.random() < chance else 0
    return [JudgeMarks(JudgeSetup("human-like/j"), {"": marks})], generators, moments


@pytest.mark.parametrize("pairs", [True, False])
def test_a_model_that_does_better_on_its_own_questions_is_found(pairs: bool) -> None:
    judges, generators, moments = asked(0.45, pairs=pairs)
    found = analyse_self_preference(judges, RECORDINGS, generators=generators, moments=moments, draws=QUICK)
    openai = next(p for p in found.generators if p.family == "openai")
    assert openai.paired is pairs
    assert openai.adjusted.value == pytest.approx(30, abs=16)
    assert openai.adjusted.p_holm is not None
    assert openai.adjusted.p_holm < 0.05
    assert len(found.generator_cells) == 6
    assert sum(c.own for c in found.generator_cells) == 2
    assert found.generator_judge == "human-like/j"


@pytest.mark.parametrize("pairs", [True, False])
def test_models_without_a_preference_are_rarely_accused(pairs: bool) -> None:
    accused = 0
    for seed in range(60):
        judges, generators, moments = asked(0, seed, pairs=pairs)
        found = analyse_self_preference(
            judges, RECORDINGS, generators=generators, moments=moments, draws=Draws(resamples=200)
        )
        accused += any((p.adjusted.p_holm or 1) < 0.05 for p in found.generators)
    assert accused <= 9


def test_questions_of_one_model_only_tell_nothing() -> None:
    judges, generators, _ = asked(0)
    found = analyse_self_preference(
        judges, RECORDINGS, generators=dict.fromkeys(generators, "openai/g"), draws=QUICK
    )
    assert found.generators == ()
    assert len(found.generator_cells) == 3


# -- families --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "families", "expected"),
    [
        ("openai/gpt-4o", {}, "openai"),
        ("anyllm/mistral/large", {}, "mistral"),
        ("compat/qwen@http://127.0.0.1:8000/v1", {}, "compat/qwen"),
        ("transformers/models/llava", {}, "transformers/models/llava"),
        ("replay/run.jsonl", {}, ""),
        ("human/ana", {}, ""),
        ("constant", {}, ""),
        ("", {}, ""),
        ("compat/qwen@http://127.0.0.1:8000/v1", {"compat/qwen*": "alibaba"}, "alibaba"),
        ("constant", {"constant": "floors"}, "floors"),
        ("openai/gpt-4o", {"openai/*": "a", "*": "b"}, "a"),
    ],
)
def test_family_of_a_model(name: str, families: Mapping[str, str], expected: str) -> None:
    assert model_family(name, families) == expected


def test_families_and_models_can_be_given_by_hand() -> None:
    judges = world(selfish)
    renamed = [
        JudgeMarks(
            j.setup, {"": {Answer(a.item_id, a.predictor.split("/")[0]): m for a, m in j.marks.items()}}
        )
        for j in judges
    ]
    assert analyse_self_preference(renamed, RECORDINGS, draws=QUICK).judges == ()
    models = {"openai": "openai/m", "google": "google/m", "anthropic": "anthropic/m"}
    assert len(analyse_self_preference(renamed, RECORDINGS, models=models, draws=QUICK).judges) == 2
    by_hand = analyse_self_preference(renamed, RECORDINGS, families={"goo*": "G", "*": "rest"}, draws=QUICK)
    assert [p.family for p in by_hand.judges] == ["G", "rest"]


def test_it_is_stored_and_read_back() -> None:
    judges, generators, moments = asked(0.3)
    found = analyse_self_preference(judges, RECORDINGS, generators=generators, moments=moments, draws=QUICK)
    assert msgspec.json.decode(msgspec.json.encode(found), type=SelfPreference) == found
