"""Every role of the stages of questions about clips, played from its real prompt, with the errors that are asked for."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from tests.exam.clip_set import ClipQuestion, clip_items
from tests.rehearsal.players.clip_material import (
    NOWHERE,
    PROMPTS,
    SALAD,
    SECRET,
    SHELF,
    answer_to,
    choosable,
    filterable,
    pair,
    scene,
)

from proctor.ask.clip.asking import ConsistencyJudge
from proctor.ask.clip.category import category_prompt, read_category
from proctor.ask.clip.choice_prompt import ChoicePrompts, read_best, read_vote, read_wrong
from proctor.ask.clip.filter_prompt import FilterSaid, blind_prompt, filter_prompt, read_filter
from proctor.ask.clip.pair_reply import RawPair, check_pair, read_pair_list
from proctor.ask.clip.plan import plan_pairs, position_of
from proctor.ask.clip.prompting import ClipLimits, pair_prompt, show_part
from proctor.ask.clip.record import Level, ShownClip
from proctor.exam.kinds.clip_marker import read_consistency
from proctor.exam.kinds.clip_prompt import STYLES, choice_prompt, open_prompt, text_prompt
from proctor.exam.library import Library, Prompts
from proctor.exam.marker import MarkPrompt
from proctor.exam.matching import OPTIONS_MARKER
from proctor.exam.predict_prompt import evaluation_prompts
from proctor.exam.prediction import Prediction
from proctor.llm.fence import FenceSecret
from proctor.llm.media import MediaStore
from proctor.llm.outcome import Reply
from proctor.llm.prompt import Rendered
from proctor.llm.structured import Unreadable
from proctor.metrics.choice.reading import parse_letter
from proctor.records import write_jsonl
from proctor_rehearsal.players.clip_answering import KNOWN
from proctor_rehearsal.players.clip_judging import fairness, guess, specificity, support
from proctor_rehearsal.players.clip_writing import PAIR_MISTAKES, SET_MISTAKES

AFTER = "What does the person do right after cutting the tomato?"
RIGHT = "Add 2 cups of vinegar to the bowl"
ONE = pair(AFTER, RIGHT)
SEEDS = range(200)
CHOICES = ChoicePrompts(PROMPTS, SECRET)
QUESTION = choosable(ONE, SALAD)
OPTIONS = ("Grate the cheese", RIGHT, "Serve the salad on a plate", "Wash the hands", "Open the package")
ASKED = ClipQuestion(id="p", question=AFTER, answer=RIGHT, options=OPTIONS, letter="B", clip=SALAD)
ITEM = clip_items([ASKED])[0].question
EVALUATION = evaluation_prompts()
ASKING = Prompts(EVALUATION, SECRET)


def pairs_prompt(
    level: Level = "coarse",
    shown: ShownClip = SALAD,
    secret: FenceSecret = SECRET,
    steps: int = 120,
    before: tuple[str, ...] = (),
) -> Rendered:
    """The prompt of the first task of a clip."""
    task = plan_pairs([shown], per_clip=6, levels=(level,), per_call=6).tasks[0]
    part = show_part(shown, ClipLimits(steps=steps), random.Random(0), ("early",))
    return pair_prompt(shown, part, task, PROMPTS, secret, before=before)


def share(hits: list[bool]) -> float:
    return sum(hits) / len(hits)


# -- pairs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["coarse", "fine"])
@pytest.mark.parametrize("shown", [SALAD, SHELF])
def test_a_good_writer_writes_sound_pairs_where_they_are_wanted(level: Level, shown: ShownClip):
    task = plan_pairs([shown], per_clip=6, levels=(level,), per_call=6).tasks[0]
    found = read_pair_list(answer_to(pairs_prompt(level, shown)))
    assert isinstance(found, list)
    assert len(found) >= 3
    wanted = {position for _, position in task.wants}
    for raw in found:
        assert isinstance(raw, RawPair)
        assert check_pair(raw, shown.steps, shown.task) is None
        assert position_of(shown, raw.step_ids) in wanted
        for judge in (specificity, support):
            assert judge(scene(shown), raw.question, raw.answer).problem == "none"
        assert fairness(scene(shown), raw.question).problem == "none"
    assert len({raw.question for raw in found if isinstance(raw, RawPair)}) == len(found)


def test_a_writer_asks_nothing_twice():
    first = [raw.question for raw in read_pair_list(answer_to(pairs_prompt())) if isinstance(raw, RawPair)]  # type: ignore[union-attr]
    again = read_pair_list(answer_to(pairs_prompt(before=tuple(first))))
    assert isinstance(again, list)
    assert not {raw.question for raw in again if isinstance(raw, RawPair)} & set(first)


def test_of_a_part_only_that_is_asked_which_the_rest_cannot_change():
    for seed in range(20):
        found = read_pair_list(answer_to(pairs_prompt(steps=5), seed=seed))
        assert isinstance(found, list)
        assert not [raw for raw in found if isinstance(raw, RawPair) and raw.question.startswith("How many")]


def test_bad_writers_make_every_mistake():
    seen: Counter[str] = Counter()
    for seed in range(150):
        for level in ("coarse", "fine"):
            text = answer_to(pairs_prompt(level), quality=0.0, seed=seed)  # type: ignore[arg-type]
            found = read_pair_list(text) if text != "REFUSED" else Unreadable("empty")
            if isinstance(found, Unreadable):
                seen["refused" if text == "REFUSED" else "unreadable"] += 1
                continue
            for raw in found:
                assert isinstance(raw, RawPair)
                seen[flaw_of(raw)] += 1
    assert seen["sound"] == 0
    assert set(seen) == {
        "refused", "unreadable", "generic", "false-premise", "unsupported", "guessable", "several-answers",
        "yes_no", "unknown_step", "no_steps", "mentions_step_number",
    }, seen  # fmt: skip
    assert len(PAIR_MISTAKES) == 9


def flaw_of(raw: RawPair) -> str:
    """What is wrong with a pair about the salad, by our own checks and a judge that sees all."""
    bad = check_pair(raw, SALAD.steps, SALAD.task)
    if bad is not None:
        return bad.reason
    if guess(raw.question) is not None:
        return "guessable"
    found = (
        specificity(scene(), raw.question, raw.answer),
        fairness(scene(), raw.question),
        support(scene(), raw.question, raw.answer),
    )
    return next((f.problem for f in found if f.problem != "none"), "sound")


def test_quality_is_the_share_of_sound_pairs():
    sound = []
    for seed in range(60):
        for level in ("coarse", "fine"):
            found = read_pair_list(answer_to(pairs_prompt(level), quality=0.7, seed=seed))  # type: ignore[arg-type]
            if isinstance(found, Unreadable):  # a broken reply, or a refusal
                continue
            sound += [flaw_of(raw) == "sound" for raw in found if isinstance(raw, RawPair)]
    assert 0.62 < share(sound) < 0.78


def test_a_broken_reply_is_mended_when_asked_again():
    from tests.ask.documents.rehearsed import as_call

    from proctor.llm.message import Request
    from proctor.llm.structured import repair_messages
    from proctor_rehearsal.players.player import Rehearsal

    for seed in range(100):
        prompt = pairs_prompt()
        text = answer_to(prompt, quality=0.0, seed=seed)
        problem = read_pair_list(text)
        if text == "REFUSED" or not isinstance(problem, Unreadable):
            continue
        messages = repair_messages(prompt.messages, text, problem, "JSON")
        mended = Rehearsal(NOWHERE, quality=0.0, seed=seed)(
            as_call(Request(model="compat/m", messages=messages))
        )
        assert mended is not None
        assert isinstance(read_pair_list(mended.text), list)
        return
    pytest.fail("no reply was broken")


def test_kinds_are_named():
    prompt = category_prompt("Where is the pan put?", "on the stove", "fine", PROMPTS, SECRET)
    named = [read_category(Reply(text=answer_to(prompt, seed=seed))) for seed in range(30)]
    assert {found.category for found in named} == {"location"}
    assert not any(found.unparsed for found in named)
    bad = [
        read_category(Reply(text=answer_to(prompt, quality=0.0, seed=seed))).category for seed in range(60)
    ]
    assert "location" not in bad
    assert len(set(bad)) > 6


# -- filters -------------------------------------------------------------------------------------------------------

_FLAWED = {
    "unspecific": (AFTER, "Another thing is prepared", "generic"),
    "tricky": (
        "Why does the person start serving the salad before cutting the tomato?",
        "It is late",
        "false-premise",
    ),
    "hallucination": (AFTER, "Play the violin", "unsupported"),
}


def said_of(name: str, question: str, answer: str, quality: float, seed: int) -> FilterSaid | Unreadable:
    shown = filterable(pair(question, answer))
    text = answer_to(filter_prompt(name, shown, PROMPTS, SECRET), quality=quality, seed=seed)  # type: ignore[arg-type]
    return read_filter(name, text, [line.id for line in shown.lines])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", list(_FLAWED))
def test_judges_are_right_as_often_as_is_said(name: str):
    question, answer, problem = _FLAWED[name]
    good, bad = said_of(name, AFTER, RIGHT, 1.0, 0), said_of(name, question, answer, 1.0, 0)
    assert isinstance(good, FilterSaid)
    assert good.keep
    assert isinstance(bad, FilterSaid)
    assert (bad.keep, bad.problem) == (False, problem)
    for quality in (0.9, 0.6):
        kept = [said_of(name, AFTER, RIGHT, quality, seed) for seed in SEEDS]
        dropped = [said_of(name, question, answer, quality, seed) for seed in SEEDS]
        read = [said.keep for said in kept if isinstance(said, FilterSaid)]
        assert abs(share(read) - quality) < 0.1
        # Of support, a part of the wrong verdicts cites what there is not, which drops the question after all.
        over = 0.15 if name == "hallucination" else 0.1
        read = [not said.keep for said in dropped if isinstance(said, FilterSaid)]
        assert -0.1 < share(read) - quality < over
        assert any(isinstance(said, Unreadable) for said in kept)


def test_a_judge_of_support_cites_what_proves_it():
    said = said_of("hallucination", AFTER, RIGHT, 1.0, 0)
    assert isinstance(said, FilterSaid)
    assert said.ids == ("s2", "s3")
    wrong = [said_of("hallucination", *_FLAWED["hallucination"][:2], 0.0, seed) for seed in range(60)]
    assert {"none", "unknown-id"} == {said.problem for said in wrong if isinstance(said, FilterSaid)}


def test_assistants_without_steps_know_what_is_obvious_and_little_else(tmp_path: Path):
    def blind(question: str, root: Path = NOWHERE, quality: float = 1.0) -> list[str]:
        prompt = blind_prompt(filterable(pair(question)), PROMPTS, SECRET)
        return [answer_to(prompt, seed=seed, root=root, quality=quality) for seed in SEEDS]

    assert set(blind("While grating the cheese, what is the person grating?")) == {"The cheese"}
    assert 0.45 < share([t == "The cheese" for t in blind("While grating the cheese, what is the person grating?", quality=0.6)]) < 0.75  # fmt: skip
    assert RIGHT not in blind(AFTER), "nobody knows it where there is no workspace"
    write_jsonl(tmp_path / "pairs.jsonl", [ONE])
    assert KNOWN - 0.08 < share([text == RIGHT for text in blind(AFTER, tmp_path)]) < KNOWN + 0.08
    two = Counter(blind("Which takes the person longer: boiling the eggs or grating the cheese?"))
    assert set(two) == {"boiling the eggs", "grating the cheese"}
    assert min(two.values()) > 60
    assert "Unknown" in blind(AFTER)


def test_a_judge_of_consistency_compares():
    judge = ConsistencyJudge("m", PROMPTS, SECRET)

    def agree(gold: str, said: str, quality: float = 1.0, seed: int = 0) -> bool | None:
        found = read_consistency(answer_to(judge.prompt("q?", [gold], said), quality=quality, seed=seed))
        return None if isinstance(found, Unreadable) else found.consistent

    assert agree("The cheese", "It is cheese.")
    assert not agree("The cheese", "The bread")
    assert not agree("Cut the bread", "Something is cut")
    right = [agree("The cheese", "It is cheese.", 0.7, seed) for seed in SEEDS]
    assert None in right
    assert 0.6 < share([bool(x) for x in right if x is not None]) < 0.8


# -- options -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (AFTER, RIGHT),
        ("How many things does the person do, one after the other, before adding the vinegar?", "2 things"),
        ("Where does the person wash the lettuce?", "in the sink"),
        ("Up to which state does the person boil the eggs?", "until they are hard"),
        (
            "Between which two actions does the person mix the lettuce?",
            "Between adding the vinegar and grating the cheese",
        ),
        ("Which takes the person longer: cutting the tomato or adding the vinegar?", "Adding the vinegar"),
        ("What does the person cut right after washing the lettuce?", "The tomato"),
        ("Who invented the salad?", "Nobody knows"),
    ],
)
def test_a_writer_writes_wrong_answers_and_a_chooser_takes_the_best(question: str, answer: str):
    asked = choosable(pair(question, answer), SALAD)
    wrong = read_wrong(Reply(text=answer_to(CHOICES.write(asked, 6))))
    assert isinstance(wrong, tuple)
    assert len({text.casefold() for text in wrong}) == 6
    assert answer not in wrong
    mixed = [wrong[0], answer, wrong[1], f"{wrong[1]}.", "All of the above", *wrong[2:]]
    best = read_best(Reply(text=answer_to(CHOICES.pick(asked, mixed, 4))), len(mixed))
    assert isinstance(best, tuple)
    assert len(best) == 4
    assert not {1, 4} & set(best)
    assert not {2, 3} <= set(best)


def test_bad_sets_of_wrong_answers():
    seen = Counter()
    for seed in range(100):
        text = answer_to(CHOICES.write(QUESTION, 6), quality=0.0, seed=seed)
        wrong = read_wrong(Reply(text=text))
        if not isinstance(wrong, tuple):
            seen["prose"] += 1
        elif RIGHT in wrong:
            seen["the answer"] += 1
        elif "All of the above" in wrong:
            seen["all of the above"] += 1
        elif len(wrong) < 6:
            seen["too few"] += 1
        elif text.count('"A. '):
            seen["lettered"] += 1
        else:
            assert len({t.rstrip(".").casefold() for t in wrong}) < 6
            seen["twice"] += 1
    assert set(seen) == set(SET_MISTAKES)
    assert read_best(Reply(text=answer_to(CHOICES.pick(QUESTION, ["All of the above", RIGHT, "c", "d", "e"], 4), quality=0.0)), 5) is not None  # fmt: skip


def test_votes_with_and_without_what_is_known():
    def right(quality: float, *, with_context: bool) -> float:
        hits = []
        for seed in SEEDS:
            options = random.Random(seed).sample(OPTIONS, len(OPTIONS))
            prompt = CHOICES.vote(QUESTION, options, with_context=with_context)
            letter = read_vote(Reply(text=answer_to(prompt, quality=quality, seed=seed)), options)
            hits.append(bool(letter) and options["ABCDE".index(letter)] == RIGHT)
        return share(hits)

    assert right(1.0, with_context=True) == 1.0
    assert 0.6 < right(0.7, with_context=True) < 0.8
    assert right(0.0, with_context=True) == 0.0
    assert 0.1 < right(1.0, with_context=False) < 0.45


# -- systems under test --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", STYLES)
def test_systems_are_right_as_often_as_is_said_in_every_style(style, tmp_path: Path):
    write_jsonl(tmp_path / "pairs.jsonl", [ONE])
    hits, forms = [], set()
    for seed in SEEDS:
        prompt = choice_prompt(ITEM, (3, 1, 4, 0, 2), style, ASKING, frames=8)
        text = seeing(prompt.rendered, seed, tmp_path, 0.7)
        shown = [OPTIONS[n] for n in (3, 1, 4, 0, 2)]
        found = parse_letter(text, shown, opened_bracket=prompt.opened_bracket)
        hits.append(found.letter == "B")
        forms.add(found.rule)
    assert 0.6 < share(hits) < 0.8
    assert forms >= ({"bracket", "none"} if style == "b" else {"start", "sole", "answer", "none"}), forms
    assert ("bracket" in forms) is (style == "b")


def seeing(prompt: Rendered, seed: int, root: Path, quality: float) -> str:
    """What a model says that gets a picture with the prompt."""
    from tests.ask.documents.rehearsed import as_call

    from proctor.llm.message import Image, Request
    from proctor_rehearsal.players.player import Rehearsal

    request = Request(model="compat/m", messages=prompt.with_media([Image("a" * 64, "image/png", 8, 8)]))
    found = Rehearsal(root, quality=quality, seed=seed)(as_call(request))
    assert found is not None
    return found.text


def test_what_a_system_knows_does_not_depend_on_the_order_of_options(tmp_path: Path):
    write_jsonl(tmp_path / "pairs.jsonl", [ONE])
    for seed in range(20):
        hits = set()
        for turn in range(5):
            order = tuple((turn + n) % 5 for n in range(5))
            text = seeing(choice_prompt(ITEM, order, "d", ASKING, frames=8).rendered, seed, tmp_path, 0.6)
            letter = parse_letter(text, [OPTIONS[n] for n in order]).letter
            hits.add(letter is not None and order["ABCDE".index(letter)] == 1)
        assert len(hits) == 1


def test_systems_that_are_told_the_steps_need_no_workspace():
    def letters(*, steps: bool) -> list[bool]:
        prompt = text_prompt(ITEM, (3, 1, 4, 0, 2), ASKING, steps=steps).rendered
        shown = [OPTIONS[n] for n in (3, 1, 4, 0, 2)]
        return [parse_letter(answer_to(prompt, seed=seed), shown).letter == "B" for seed in SEEDS]

    assert share(letters(steps=True)) == 1.0
    assert 0.05 < share(letters(steps=False)) < 0.45, "a floor is right by chance"


@pytest.mark.parametrize(
    ("reply", "letter"),
    [("I would add some vinegar, 2 cups of it, to the bowl.", "B"), ("They cook something.", "")],
)
def test_a_matcher_says_which_option_a_reply_means(reply: str, letter: str):
    (item,) = clip_items([ASKED])
    said = Prediction(item_id="p", predictor="m", answer=reply)
    prompt = OPTIONS_MARKER.prompt(item, said, Library(media=MediaStore()), ASKING)
    assert isinstance(prompt, MarkPrompt)
    for quality in (1.0, 0.0):
        read = OPTIONS_MARKER.read(answer_to(prompt.rendered, quality=quality))
        assert (read.rationale == letter) == (quality == 1.0)


def test_open_questions(tmp_path: Path):
    write_jsonl(tmp_path / "pairs.jsonl", [ONE])
    told = open_prompt(ITEM, ASKING, steps=True).rendered
    assert all(RIGHT in answer_to(told, seed=seed) for seed in range(20))
    assert not any(RIGHT in answer_to(told, seed=seed, quality=0.0) for seed in range(20))
    shown = open_prompt(ITEM, ASKING, frames=8).rendered
    assert 0.6 < share([RIGHT in seeing(shown, seed, tmp_path, 0.7) for seed in SEEDS]) < 0.8
    blind = open_prompt(ITEM, ASKING).rendered
    assert share([RIGHT in answer_to(blind, seed=seed, root=tmp_path) for seed in SEEDS]) < 0.3


# -- all -----------------------------------------------------------------------------------------------------------


def test_the_secret_of_a_workspace_changes_no_reply():
    other = FenceSecret(b"t" * 32)
    for quality in (1.0, 0.3):
        for seed in range(5):
            replies = {
                answer_to(pairs_prompt(secret=secret), quality=quality, seed=seed)
                for secret in (SECRET, other)
            }
            assert len(replies) == 1
            replies = {
                answer_to(
                    filter_prompt("tricky", filterable(ONE), PROMPTS, secret), quality=quality, seed=seed
                )
                for secret in (SECRET, other)
            }
            assert len(replies) == 1
            replies = {
                answer_to(
                    ChoicePrompts(PROMPTS, secret).vote(QUESTION, OPTIONS, with_context=False),
                    quality=quality,
                    seed=seed,
                )
                for secret in (SECRET, other)
            }
            assert len(replies) == 1


def test_models_differ():
    prompt = CHOICES.vote(QUESTION, OPTIONS, with_context=False)
    assert len({answer_to(prompt, model=f"m{n}") for n in range(20)}) > 2


def test_structured_replies_have_their_values():
    from tests.ask.documents.rehearsed import as_call

    from proctor.llm.message import Request
    from proctor_rehearsal.players.player import Rehearsal

    for prompt, keys in (
        (
            filter_prompt("hallucination", filterable(ONE), PROMPTS, SECRET),
            {"reason", "ids", "problem", "verdict"},
        ),
        (ConsistencyJudge("m", PROMPTS, SECRET).prompt("q?", ["a"], "b"), {"reason", "consistent"}),
        (pairs_prompt(), {"pairs"}),
    ):
        found = Rehearsal(NOWHERE, quality=1.0)(as_call(Request(model="compat/m", messages=prompt.messages)))
        assert found is not None
        assert set(found.data) == keys
        json.dumps(found.data)
