"""Played assistants and systems: answers from nothing, from the steps, or from frames, in words or as a letter.

With steps the answer is worked out of them. With frames it is looked up in the workspace: the stand-in sees no pixels. Blind, what
the question gives away is said, a small share is known all the same (``KNOWN``), and the rest is guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from proctor.ask.documents.duplicates import normalise_question
from proctor_rehearsal.players.clip_judging import guess, guesses
from proctor_rehearsal.players.clip_known import AnswersKnown
from proctor_rehearsal.players.clip_reading import ClipAsked
from proctor_rehearsal.players.clip_scene import scene_of
from proctor_rehearsal.players.clip_words import content, same
from proctor_rehearsal.players.clip_writing import COMMON
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.behaviours import pick
from proctor_rehearsal.standin.call import draw

__all__ = ["KNOWN", "play_blind", "play_choose", "play_match", "play_open", "play_vote", "right_options"]

KNOWN: Final = 0.15
"""Of quality, the share of questions that a model answers without having seen anything."""

_UNREADABLE: Final = 0.1
"""Of wrong choices, the share that names no option."""
_BY_LENGTH: Final = 0.2
"""Of blind guesses, the share that goes by the longest option."""
_NO_CHOICE: Final = "The pictures do not show that clearly enough."
_FORMS: Final = (
    "{letter}", "{letter}", "{letter}", "{letter}", "({letter})", "{letter}.", "{letter}) {text}", "**{letter}**",
    "The answer is {letter}.", "Answer: ({letter})", "The best option is ({letter}) {text}",
)  # fmt: skip
_COMPLETIONS: Final = ("{letter})", "{letter}) {text}", "{letter}", "{letter}) is the best option.")


# -- in words ------------------------------------------------------------------------------------------------------


def play_blind(asked: ClipAsked, quality: float, seed: int, known: AnswersKnown) -> Answer:
    """Answer from the question alone."""
    call, question = asked.call, asked.question
    obvious = guess(question)
    if obvious is not None and call.draw("right", seed) < quality:
        return Answer(text=obvious)
    answers = known.answers(question)
    if answers and call.draw("known", seed) < KNOWN * quality:
        return Answer(text=str(pick(call, answers, "answer", seed)))
    either = guesses(question) if obvious is None else ()
    if either:
        return Answer(text=str(pick(call, either, "either", seed)))
    return Answer(
        text="Unknown" if call.draw("unknown", seed) < 0.3 else str(pick(call, COMMON, "common", seed))
    )


def play_open(asked: ClipAsked, quality: float, seed: int, known: AnswersKnown) -> Answer:
    """Answer an open-ended question from steps, frames or nothing."""
    call, question = asked.call, asked.question
    if not asked.lines and not _sees(asked):
        return play_blind(asked, quality, seed, known)
    scene = scene_of(asked.lines)
    rights = tuple(fact.answer for fact in scene.solve(question)) or known.answers(question)
    if rights and call.draw("right", seed) < quality:
        form = pick(call, ("{}", "{}", "{}", "{}.", "Answer: {}"), "form", seed)
        return Answer(text=form.replace("{}", str(pick(call, rights, "answer", seed))))
    others = [act.told for act in scene.known] or list(COMMON)
    wrong = [text for text in others if not any(same(right, text) for right in rights)]
    return Answer(text=str(pick(call, wrong or COMMON, "wrong", seed)))


def _sees(asked: ClipAsked) -> bool:
    """True when pictures or a video are attached."""
    return bool(asked.call.content.attached)


# -- as a letter ---------------------------------------------------------------------------------------------------


def play_vote(asked: ClipAsked, quality: float, seed: int, known: AnswersKnown) -> Answer:
    """Vote on options; each vote is drawn anew, so the order of the options matters."""
    call = asked.call
    if asked.lines:
        return _with_context(asked, quality, seed, known, call.draw("right", seed))
    return _without(asked, quality, seed, known, (call.draw("right", seed), call.draw("known", seed)))


def play_choose(asked: ClipAsked, quality: float, seed: int, known: AnswersKnown) -> Answer:
    """Choose as a system under test; what it knows of a question does not depend on the order of the options."""
    texts = sorted(text for _, text in asked.options)
    steady = (asked.call.model, asked.question, *texts, seed)
    if asked.lines or _sees(asked):
        return _with_context(asked, quality, seed, known, draw("right", *steady))
    return _without(asked, quality, seed, known, (draw("blind", *steady), draw("known", *steady)))


def _with_context(asked: ClipAsked, quality: float, seed: int, known: AnswersKnown, luck: float) -> Answer:
    call, options = asked.call, asked.options
    rights = right_options(asked, asked.options, known)
    if rights and luck < quality:
        return _say(asked, str(pick(call, rights, "which", seed)), seed)
    wrong = [letter for letter, _ in options if letter not in rights] or [letter for letter, _ in options]
    if not wrong or call.draw("unreadable", seed) < _UNREADABLE:
        return Answer(text=_NO_CHOICE)
    return _say(asked, str(pick(call, wrong, "wrong", seed)), seed)


def play_match(asked: ClipAsked, quality: float, seed: int) -> Answer:
    """Say which option a reply means: the one of which it has every word, or none."""
    call, said = asked.call, content(asked.blocks.get("matched reply", ""))
    meant = [letter for letter, text in asked.options if content(text) and content(text) <= said]
    found = meant[0] if len(meant) == 1 else "none"
    if call.draw("right", seed) >= quality:
        found = pick(
            call, [x for x in ("none", *(letter for letter, _ in asked.options)) if x != found], "wrong", seed
        )
    return Answer(text=found)


def right_options(asked: ClipAsked, options: Sequence[tuple[str, str]], known: AnswersKnown) -> list[str]:
    """Return the letters of the options that are right: by the steps, by the workspace, or by the words of the lines."""
    texts = [text for _, text in options]
    scene = scene_of(asked.lines)
    answers = [fact.answer for fact in scene.solve(asked.question)]
    exact = {normalise_question(answer) for answer in answers}
    found = [letter for letter, text in options if normalise_question(text) in exact]
    found = found or [letter for letter, text in options if any(same(a, text) for a in answers)]
    if not found:
        looked_up = known.answers(asked.question, texts)
        found = [letter for letter, text in options if text in looked_up]
    return found or _by_words(asked, options)


def _by_words(asked: ClipAsked, options: Sequence[tuple[str, str]]) -> list[str]:
    """Return the option whose words stand in a line that speaks of the question as well."""
    question = content(asked.question)

    def score(text: str) -> float:
        words = content(text)
        shares = ((len(words & line) / len(words)) * (1 + len(question & line)) for line in lines if words)
        return max(shares, default=0.0)

    lines = [content(f"{line.text} {line.said}") for line in asked.lines]
    scores = {letter: score(text) for letter, text in options}
    best = max(scores.values(), default=0.0)
    return [letter for letter, value in scores.items() if value == best][:1] if best else []


def _without(
    asked: ClipAsked, quality: float, seed: int, known: AnswersKnown, luck: tuple[float, float]
) -> Answer:
    call, options = asked.call, asked.options
    obvious = guess(asked.question)
    given = [letter for letter, text in options if obvious is not None and same(text, obvious)]
    if given and luck[0] < quality:
        return _say(asked, given[0], seed)
    looked_up = known.answers(asked.question, [text for _, text in options])
    rights = [letter for letter, text in options if text in looked_up]
    if rights and luck[1] < KNOWN * quality:
        return _say(asked, rights[0], seed)
    if not options:
        return Answer(text="I see no options to choose from.")
    either = [letter for letter, text in options if any(same(text, one) for one in guesses(asked.question))]
    if len(either) > 1:
        return _say(asked, str(pick(call, either, "either", seed)), seed)
    if call.draw("by length", seed) < _BY_LENGTH:
        return _say(asked, max(options, key=lambda option: len(option[1]))[0], seed)
    return _say(asked, str(pick(call, [letter for letter, _ in options], "blind", seed)), seed)


def _say(asked: ClipAsked, letter: str, seed: int) -> Answer:
    """Reply with a letter as models do: alone, or with words around it."""
    forms: Sequence[str] = _COMPLETIONS if asked.completes else _FORMS
    form = pick(asked.call, forms, "form", seed)
    text = dict(asked.options)[letter]
    said = form.replace("{letter}", letter).replace("{text}", text)
    return Answer(text=said, data={"answer": letter, "letter": letter})
