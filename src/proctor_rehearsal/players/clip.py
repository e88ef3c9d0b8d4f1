"""The models of questions about clips, played from what their prompts say.

A judge of quality *q* is right in a share of *q* of its verdicts about what the prompt shows (``clip_judging``), a sorter of
kinds and a judge of consistency likewise. How writers and assistants err is said where they are played.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from proctor.ask.clip.filter_prompt import PROBLEMS
from proctor.ask.clip.record import CATEGORIES
from proctor_rehearsal.players.clip_answering import play_blind, play_choose, play_match, play_open, play_vote
from proctor_rehearsal.players.clip_judging import (
    Finding,
    categorise,
    fairness,
    specificity,
    support,
)
from proctor_rehearsal.players.clip_known import AnswersKnown
from proctor_rehearsal.players.clip_reading import ClipAsked, ClipRole
from proctor_rehearsal.players.clip_scene import Scene, scene_of
from proctor_rehearsal.players.clip_words import is_generic, same
from proctor_rehearsal.players.clip_writing import play_pairs, play_pick, play_write
from proctor_rehearsal.players.verifier import play_review
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.behaviours import pick

__all__ = ["play_clip"]

_UNREADABLE: Final = 0.1
"""Of what is not quality, the share of verdicts that cannot be read at first."""
_UNKNOWN_ID: Final = 0.3
"""Of wrong verdicts that something is supported, the share that cites a line that there is not."""

_Judge = Callable[[Scene, str, str], Finding]
_JUDGES: Final[Mapping[str, tuple[_Judge, str]]] = {
    "unspecific": (specificity, "answer for specificity"),
    "tricky": (lambda scene, question, _answer: fairness(scene, question), "answer for fairness"),
    "hallucination": (support, "answer for support"),
}
_PLAIN: Final[Mapping[ClipRole, Callable[[ClipAsked, float, int], Answer]]] = {
    "pairs": play_pairs,
    "write": play_write,
    "pick": play_pick,
    "match": play_match,
}
_ANSWERING: Final[Mapping[ClipRole, Callable[[ClipAsked, float, int, AnswersKnown], Answer]]] = {
    "blind": play_blind,
    "open": play_open,
    "vote": play_vote,
    "choose": play_choose,
    "review": play_review,
}


def play_clip(asked: ClipAsked, quality: float, seed: int, known: AnswersKnown) -> Answer:
    """Reply to a request in its role."""
    if asked.role in _PLAIN:
        return _PLAIN[asked.role](asked, quality, seed)
    if asked.role in _ANSWERING:
        return _ANSWERING[asked.role](asked, quality, seed, known)
    if asked.role == "category":
        return _category(asked, quality, seed)
    return (
        _consistency(asked, quality, seed) if asked.role == "consistency" else _verdict(asked, quality, seed)
    )


def _category(asked: ClipAsked, quality: float, seed: int) -> Answer:
    """Name the kind of a question by its words."""
    call, kind = asked.call, categorise(asked.question)
    if call.draw("right", seed) >= quality:
        kind = pick(call, [name for name in CATEGORIES if name != kind], "kind", seed)
    form = pick(call, ("{}", "{}", "{}", "**{}**", "Category: {}", "{}."), "form", seed)
    return Answer(text=form.replace("{}", kind), data={"category": kind})


def _verdict(asked: ClipAsked, quality: float, seed: int) -> Answer:
    """Judge question and answers: the first answer with a problem decides."""
    call = asked.call
    if not asked.again and call.draw("unreadable", seed) < _UNREADABLE * (1 - quality):
        return Answer(text="It depends on how one looks at it.")
    judge, label = _JUDGES[asked.role]
    scene = scene_of(asked.lines)
    findings = [judge(scene, asked.question, answer) for answer in asked.each(label)]
    found = next(
        (f for f in findings if f.problem != "none"), findings[0] if findings else Finding("none", "")
    )
    if call.draw("right", seed) >= quality:
        found = _opposite(asked, found, seed)
    said: dict[str, Any] = {"reason": found.reason}
    if asked.role == "hallucination":
        said["ids"] = list(found.ids)
    said |= {"problem": found.problem, "verdict": "keep" if found.problem == "none" else "drop"}
    return Answer(text=json.dumps(said, ensure_ascii=False), data=said)


def _opposite(asked: ClipAsked, found: Finding, seed: int) -> Finding:
    """Err: see a problem where there is none, or overlook one."""
    call = asked.call
    if found.problem == "none":
        problems = {"unspecific": "unspecific", "tricky": "tricky"}.get(asked.role, "hallucination")
        problem = pick(call, PROBLEMS[problems], "problem", seed)  # type: ignore[index]
        return Finding(problem, "That does not seem right.", found.ids)
    ids = found.ids
    if asked.role == "hallucination":
        ids = ids or tuple(line.id for line in asked.lines[:1])
        if call.draw("id", seed) < _UNKNOWN_ID:
            ids = (*ids, "s999")
    return Finding("none", "There is nothing wrong with it.", ids)


def _consistency(asked: ClipAsked, quality: float, seed: int) -> Answer:
    """Compare an answer with the accepted ones, word by word."""
    call, said = asked.call, asked.blocks.get("compared answer", "")
    if not asked.again and call.draw("unreadable", seed) < _UNREADABLE * (1 - quality):
        return Answer(text="They are close.")
    agree = not is_generic(said) or any(is_generic(gold) for gold in asked.each("accepted answer"))
    agree = agree and any(same(gold, said) for gold in asked.each("accepted answer"))
    if call.draw("right", seed) >= quality:
        agree = not agree
    reason = "Both say the same." if agree else "It is something else."
    data = {"reason": reason, "consistent": "yes" if agree else "no"}
    return Answer(text=json.dumps(data), data=data)
