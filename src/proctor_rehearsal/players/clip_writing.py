"""Played writers: pairs about shown steps, wrong answers to a question, and the choice of the best of these.

A writer of quality *q* writes a flawed pair in a share of ``1 - q`` of the pairs (``PAIR_MISTAKES``), and flawed sets of wrong
answers as often (``SET_MISTAKES``). A chooser leaves out what cannot be used, and in a share of ``1 - q`` takes the first ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from proctor.ask.clip.category import LEVEL_CATEGORIES
from proctor.ask.clip.choice_prompt import normalise_option
from proctor.ask.clip.record import Category
from proctor.ask.documents.duplicates import normalise_question
from proctor.procedure.inflect import gerund
from proctor.procedure.phrase import parse_phrase
from proctor_rehearsal.players.clip_reading import ClipAsked
from proctor_rehearsal.players.clip_scene import Act, Fact, Scene, capital, scene_of
from proctor_rehearsal.players.clip_words import content, same
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.behaviours import pick
from proctor_rehearsal.standin.call import Call

__all__ = ["COMMON", "PAIR_MISTAKES", "SET_MISTAKES", "draw_mistake", "play_pairs", "play_pick", "play_write"]

PAIR_MISTAKES: Final = {
    "unspecific": 2.0,
    "false premise": 1.5,
    "hallucinated": 2.0,
    "guessable": 2.0,
    "several answers": 1.0,
    "yes": 0.4,
    "unknown step": 0.6,
    "no step": 0.3,
    "names a step": 0.4,
}
"""Kinds of flaws of a pair and how often they are made, in proportion; the first five take a filter to be found."""

SET_MISTAKES: Final = {
    "the answer": 2.0,
    "twice": 2.0,
    "all of the above": 2.0,
    "too few": 0.5,
    "lettered": 1.0,
    "prose": 0.5,
}
"""Kinds of flaws of a set of wrong answers, in proportion."""

COMMON: Final = (
    "Add the salt", "Stir the mixture", "Wash the hands", "Open the package", "Take out a bowl", "Wipe the table",
    "Turn on the light", "Cut the paper", "Close the lid", "Dry the surface", "Measure the water", "Pick up the knife",
    "Switch off the stove", "Shake the bottle", "Tie the string", "Fold the cloth", "Press the button", "Fill the jar",
)  # fmt: skip
"""What anybody would say of any activity."""

_USUAL: Final[Mapping[Category, Sequence[str]]] = {
    "location": (
        "in the sink", "on the tray", "on the shelf", "in the drawer", "under the tap", "on the floor", "in the bag",
        "beside the window",
    ),
    "manner": (
        "in one go", "very slowly", "with both hands", "in small circles", "into thin rings", "by shaking it",
        "for 20 minutes", "for 45 seconds",
    ),
    "state-attribute": (
        "until it is dry", "until it is cold", "until it has doubled", "until nothing is left", "until it is smooth",
        "until it sticks", "until it shines",
    ),
    "ingredient-quantity": ("half a cup", "3 pieces", "5 spoons", "a handful", "2 litres", "100 grams", "a whole bag"),
    "object-tool": ("a spoon", "a wet cloth", "a pair of scissors", "both hands", "a brush", "a piece of string", "tape"),
}  # fmt: skip
"""What one would say of any activity when asked for one of these."""

_MOST_PAIRS: Final = 200
_FOREIGN: Final = (
    "rubber mallet", "jar of honey", "violin", "umbrella", "saddle", "garden hose", "typewriter", "snow shovel", "lantern",
    "bicycle pump",
)  # fmt: skip
_VAGUE: Final = (
    "Another thing is prepared",
    "Something with the ingredients",
    "Some of the things",
    "In a certain way",
)
_WANT = re.compile(r"^\d+\. ([a-z-]+)(?:, ([a-z]+) \((\S+?)(?: to (\S+?))?\))?$", re.MULTILINE)
_COUNT = re.compile(r"\b(?:[Ww]rite|[Cc]hoose)(?: the)? (\d+)\b")
_REFERS = re.compile(r"\b(?:all|none|both|any) of\b|\babove\b", re.IGNORECASE)
_BROKEN: Final = 0.1
"""Of what is not quality, the share of replies that are no list."""
_DECLINED: Final = 0.03


def draw_mistake(call: Call, weights: Mapping[str, float], *parts: object) -> str:
    """Return a kind of mistake, by its weight."""
    place = call.draw("mistake", *parts) * sum(weights.values())
    for kind, weight in weights.items():
        place -= weight
        if place < 0:
            return kind
    return next(iter(weights))


# -- pairs ---------------------------------------------------------------------------------------------------------


def play_pairs(asked: ClipAsked, quality: float, seed: int) -> Answer:
    """Write the pairs that are wanted, as far as the steps give any."""
    call, scene = asked.call, scene_of(asked.lines)
    slip = call.draw("reply", seed)
    if not asked.again and slip < _DECLINED * (1 - quality):
        return Answer(text="I'm sorry, but I can't help with questions about this video.", outcome="refusal")
    pairs = list(_pairs(asked, scene, quality, seed))
    text = json.dumps(pairs, ensure_ascii=False)
    if not asked.again and slip < (_DECLINED + _BROKEN) * (1 - quality):
        return Answer(text="\n".join(f"{p['question']} {p['answer']}" for p in pairs) or "There is nothing.")
    forms = ("{}", "{}", "{}", "```json\n{}\n```", "Here are the pairs:\n\n{}")
    return Answer(text=pick(call, forms, "form", seed).replace("{}", text), data={"pairs": pairs})


def _pairs(asked: ClipAsked, scene: Scene, quality: float, seed: int) -> Iterator[dict[str, Any]]:
    call = asked.call
    used = {normalise_question(question) for question in asked.entries("questions before")}
    for number, (kind, _, first, last) in enumerate(_WANT.findall(asked.words)):
        fact = _chosen(asked, scene, kind, _places(scene, first, last), used, seed, number)
        if fact is None:
            continue
        if call.draw("right", seed, number) < quality:
            pair = _pair(fact.question, fact.answer, fact.ids)
        else:
            pair = _flawed(asked, scene, fact, seed, number)
        used.add(normalise_question(fact.question))
        used.add(normalise_question(pair["question"]))
        yield pair


def _places(scene: Scene, first: str, last: str) -> frozenset[str]:
    """Return the ids from one to another; all of them where no place is said."""
    ids = [line.id for line in scene.lines]
    if first not in ids or (last or first) not in ids:
        return frozenset(ids)
    begin, end = ids.index(first), ids.index(last or first)
    within = ids[begin : end + 1]
    return frozenset(within) | {id_ for id_ in ids if id_.partition(".")[0] in within}


def _chosen(
    asked: ClipAsked,
    scene: Scene,
    kind: str,
    places: frozenset[str],
    used: set[str],
    seed: int,
    number: int,
) -> Fact | None:
    """Return a fact of a kind that begins at a place; of another kind of its level where there is none."""
    in_part = "Only a part of it is shown" in asked.words
    usable = [
        fact
        for fact in scene.sound
        if fact.ids[0] in places
        and normalise_question(fact.question) not in used
        and not (in_part and fact.whole)
    ]
    of_kind = [fact for fact in usable if fact.category == kind]
    level = next((level for level, kinds in LEVEL_CATEGORIES.items() if kind in kinds), "coarse")
    pool = of_kind or [fact for fact in usable if fact.level == level]
    return min(pool, key=lambda f: asked.call.draw("fact", seed, number, f.question), default=None)


def _pair(question: str, answer: str, ids: Sequence[str]) -> dict[str, Any]:
    return {"question": question, "answer": answer, "step_ids": list(ids)}


def _flawed(asked: ClipAsked, scene: Scene, fact: Fact, seed: int, number: int) -> dict[str, Any]:
    """Make one of the mistakes that writers make."""
    call, kind = asked.call, draw_mistake(asked.call, PAIR_MISTAKES, seed, number)
    question, answer, ids = fact.question, fact.answer, list(fact.ids)
    cited = [act for act in scene.known if act.line.id in ids]
    if kind == "false premise" and len(cited) > 1 and not scene.is_earlier(cited[-1], cited[0]):
        asks = f"Why does the person start {cited[-1].name} before {cited[0].name}?"
        if scene.foul_premise(asks):
            return _pair(asks, "Because it takes longer", ids)
    if kind == "guessable" and (echo := _echo(cited)) is not None:
        return _pair(*echo)
    if kind == "several answers" and len(cited) > 1:
        return _pair(f"What does the person do at some time before {cited[-1].name}?", cited[0].told, ids)
    if kind == "hallucinated":
        return _pair(question, _with_foreign(answer, scene, call, seed, number), ids)
    if kind == "yes":
        return _pair(question, "Yes", ids)
    if kind == "unknown step":
        return _pair(question, answer, [*ids, f"s{len(scene.lines) + 7}"])
    if kind == "no step":
        return _pair(question, answer, ())
    if kind == "names a step":
        return _pair(f"What does the person do in step {ids[0].lstrip('s')}?", answer, ids)
    return _pair(question, pick(call, _VAGUE, "vague", seed, number), ids)


def _echo(cited: Sequence[Act]) -> tuple[str, str, tuple[str, ...]] | None:
    """Ask for what the question itself says."""
    for act in cited:
        thing = act.phrase.object
        if act.phrase.brief_gerund and thing and not re.search(r",| and | or ", thing):
            question = f"While {act.phrase.brief_gerund}, what is the person {gerund(act.phrase.verb)}?"
            return question, f"The {thing}", (act.line.id,)
    return None


def _with_foreign(answer: str, scene: Scene, call: Call, seed: int, number: int) -> str:
    things = [thing for thing in _FOREIGN if not content(thing) & scene.words] or list(_FOREIGN)
    thing = pick(call, things, "foreign", seed, number)
    return f"{answer.rstrip('.')} beside the {thing}" if len(answer.split()) > 2 else f"The {thing}"


# -- wrong answers -------------------------------------------------------------------------------------------------


def play_write(asked: ClipAsked, quality: float, seed: int) -> Answer:
    """Write wrong answers of the form of the right one: other answers of the kind, other steps, things that are usual."""
    call, count = asked.call, _count(asked, 6)
    wrong = _alternatives(asked, seed)[:count]
    text = ""
    if call.draw("right", seed) >= quality and not asked.again:
        kind = draw_mistake(call, SET_MISTAKES, seed)
        place = int(call.draw("place", seed) * len(wrong))
        if kind == "the answer":
            wrong[place] = asked.blocks["right answer"]
        elif kind == "twice":
            wrong[place] = f"{wrong[place - 1].rstrip('.')}."
        elif kind == "all of the above":
            wrong[place] = "All of the above"
        elif kind == "too few":
            wrong = wrong[: count // 2]
        elif kind == "lettered":
            wrong = [f"{letter}. {text}" for letter, text in zip("ABCDEFGHIJ", wrong, strict=False)]
        else:
            text = "\n".join(f"- {answer}" for answer in wrong)
    return Answer(text=text or json.dumps({"wrong": wrong}, ensure_ascii=False), data={"wrong": wrong})


def _count(asked: ClipAsked, otherwise: int) -> int:
    found = _COUNT.findall(asked.words)
    return int(found[-1]) if found else otherwise


def _rights(asked: ClipAsked) -> tuple[str, ...]:
    """Return everything that is right, by the prompt and by the steps."""
    facts = scene_of(asked.lines).solve(asked.question)
    return (asked.blocks["right answer"], *asked.entries("also right"), *(fact.answer for fact in facts))


def _is_wrong(text: str, rights: Sequence[str]) -> bool:
    return not any(same(right, text) or same(text, right) for right in rights)


def _alternatives(asked: ClipAsked, seed: int) -> list[str]:
    """Return wrong answers that differ from each other, the likeliest ones first."""
    call, scene, rights = asked.call, scene_of(asked.lines), _rights(asked)
    facts = scene.solve(asked.question)
    kind = facts[0].category if facts else None
    alike = [
        fact.answer
        for fact in scene.facts
        if fact.category == kind and _form(fact.answer, scene) == _form(rights[0], scene)
    ]
    steps, usual = _by_form(_form(rights[0], scene), kind, scene)

    def shuffled(texts: Sequence[str], what: str) -> list[str]:
        return sorted(dict.fromkeys(texts), key=lambda text: call.draw(what, seed, text))

    order = [
        *_counts_beside(rights[0]),
        *shuffled(alike, "alike"),
        *shuffled(steps, "steps"),
        *shuffled(usual, "usual"),
    ]
    kept: dict[str, str] = {}
    for text in [*order, *shuffled(COMMON, "common")]:
        plain = normalise_option(text)
        if plain not in kept and _is_wrong(text, rights) and not _REFERS.search(text):
            kept[plain] = text
    return list(kept.values())


def _form(answer: str, scene: Scene) -> str:
    """Say how an answer is built: the name of a thing, of something that goes on, of two of these, or something else."""
    if answer.startswith(("The ", "Between ")):
        return answer.partition(" ")[0]
    if answer.casefold() in scene.by_name:
        return "going on"
    return "told" if any(answer == act.told for act in scene.known) else "else"


def _by_form(form: str, kind: Category | None, scene: Scene) -> tuple[list[str], list[str]]:
    """Return what the steps have of a form, and what is usual."""
    names = [act.name for act in scene.known]
    if form == "The":
        return [f"The {act.phrase.object}" for act in scene.known], [
            f"The {text.split()[-1]}" for text in COMMON
        ]
    if form == "Between":
        return [f"Between {a} and {b}" for a in names for b in names if a != b][:_MOST_PAIRS], []
    if form == "going on":
        return [capital(name) for name in names], [capital(parse_phrase(text).gerund) for text in COMMON]
    if form == "else" and kind is not None and kind in _USUAL:
        return [], list(_USUAL[kind])
    return [act.told for act in scene.known], list(COMMON)


def _counts_beside(answer: str) -> list[str]:
    """Return other numbers of the same thing: ``3 times`` for ``4 times``."""
    found = re.fullmatch(r"(\d+)( .+)", answer)
    if found is None:
        return [f"{n} times" for n in range(3, 7)] if answer.casefold() in ("once", "twice") else []
    number = int(found[1])
    return [f"{n}{found[2]}" for n in (number + 1, number - 1, number + 2, number - 2, number + 3) if n > 1]


# -- the best of them ----------------------------------------------------------------------------------------------


def play_pick(asked: ClipAsked, quality: float, seed: int) -> Answer:
    """Choose proposals that are wrong, differ and refer to no other; closest to the answer in length first."""
    call, count = asked.call, _count(asked, 4)
    proposals = asked.each("proposal")
    if call.draw("right", seed) >= quality and not asked.again:
        best = list(range(1, min(count, len(proposals)) + 1))
        if call.draw("number", seed) < _BROKEN:
            best[-1:] = [len(proposals) + 1]
        return _best(best)
    rights, length = _rights(asked), len(asked.blocks["right answer"])
    first: dict[str, int] = {}
    for number, text in enumerate(proposals, 1):
        if _is_wrong(text, rights) and not _REFERS.search(text):
            first.setdefault(normalise_option(text), number)
    by_length: Callable[[int], int] = lambda n: abs(len(proposals[n - 1]) - length)  # noqa: E731
    return _best(sorted(first.values(), key=by_length)[:count])


def _best(numbers: Sequence[int]) -> Answer:
    return Answer(text=json.dumps({"best": list(numbers)}), data={"best": list(numbers)})
