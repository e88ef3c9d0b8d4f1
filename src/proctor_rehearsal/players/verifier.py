"""The verifier's role: what the task graph's oracle finds, with slips, in the form that the prompt asks for.

A verifier of quality *q* gets a share of ``1 - q`` of the answers wrong, and for each criterion of the question a quarter of
that. Where the oracle is not sure, its guess counts: models seldom say that they do not know.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from proctor.ask.moment.candidate import Candidate
from proctor.verify.llm_prompt import OF_MOMENTS
from proctor.verify.oracle.annotator import Oracle, judge_question
from proctor_rehearsal.players.files import Now, activity_names
from proctor_rehearsal.players.reading import Asked
from proctor_rehearsal.standin.answer import Answer
from proctor_rehearsal.standin.call import Call

__all__ = ["find_candidate", "play_verifier"]

_VARIED: Final = 0.2
_UNREADABLE: Final = 0.1
"""Shares: of replies in a code fence; of the slips of a bad verifier that cannot be read at all."""


def play_verifier(asked: Asked, now: Now, oracle: Oracle, quality: float, seed: int) -> Answer | None:
    """Review a candidate; None where it is not in the workspace."""
    candidate = find_candidate(asked, now)
    example = now.examples.get(candidate.example_id) if candidate is not None else None
    graph = now.graphs.get(example.activity_id) if example is not None else None
    if candidate is None or example is None or graph is None:
        return None
    call = asked.call
    if not asked.again and call.draw("unreadable", seed) < _UNREADABLE * (1 - quality):
        return Answer(text="The question looks fit for the exam, and I agree with the answers.")
    answers = []
    for number, answer in enumerate(candidate.answers):
        found = oracle.decide(candidate.question, answer.text, example, graph)
        right = found.guess if call.draw("answer", seed, number) < quality else not found.guess
        answers.append({"reason": found.reason, "verdict": "right" if right else "wrong"})
    review = {"question": _question(call, candidate, quality, seed), "answers": answers, "own_answers": []}
    text = msgspec.json.encode(review).decode()
    fenced = call.content.schema is None and call.draw("varied", seed) < _VARIED
    return Answer(text=f"```json\n{text}\n```" if fenced else text)


def find_candidate(asked: Asked, now: Now) -> Candidate | None:
    """Return the candidate that is reviewed; the first one where several say the same at the same moment."""
    found = now.candidates_of.get((asked.blocks["question"], asked.each("answer")), ())
    activity = asked.blocks.get("activity")
    for candidate in found:
        example = now.examples.get(candidate.example_id)
        if example is None or (asked.end and f"{example.end:.2f}" != asked.end):
            continue
        if activity is None or activity in activity_names(example, now.graphs.get(example.activity_id)):
            return candidate
    return None


def _question(call: Call, candidate: Candidate, quality: float, seed: int) -> dict[str, Any]:
    """Return what is said of the question, criterion by criterion."""
    verdict = judge_question(candidate.question)
    said: dict[str, Any] = {"reason": verdict.reason}
    for criterion in OF_MOMENTS.names:
        holds = verdict.value != "wrong"
        slips = call.draw("criterion", seed, criterion) >= 1 - (1 - quality) / 4
        said[criterion] = "yes" if holds != slips else "no"
    return said
