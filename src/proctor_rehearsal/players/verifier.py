"""The verifier's roles: what the task graph's oracle finds or what the lines of a prompt say, with slips, in the form that it asks for.

A question about a moment is looked up with its task graph. One of any other kind is held against what the prompt shows: the steps
of a clip by the rules of the played filters (``clip_judging``), anything else by quoted values and by words. Where nothing is shown
in words, answers are looked up in the workspace: the stand-in sees no pixels.

A verifier of quality *q* gets a share of ``1 - q`` of the answers wrong, and for each criterion of the question a quarter of
that. Where the oracle is not sure, its guess counts: models seldom say that they do not know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from proctor.ask.moment.candidate import Candidate
from proctor.verify.llm_prompt import IN_GENERAL, OF_MOMENTS
from proctor.verify.oracle.annotator import Oracle, judge_question
from proctor_rehearsal.players.clip_answering import right_options
from proctor_rehearsal.players.clip_judging import Finding, fairness, guess, specificity, support
from proctor_rehearsal.players.clip_known import AnswersKnown
from proctor_rehearsal.players.clip_reading import ClipAsked
from proctor_rehearsal.players.clip_scene import scene_of
from proctor_rehearsal.players.clip_words import content, same
from proctor_rehearsal.players.documents_facts import plain, quoted, says
from proctor_rehearsal.players.files import Now, activity_names
from proctor_rehearsal.players.prompt import Prompt
from proctor_rehearsal.players.reading import Asked
from proctor_rehearsal.standin.answer import Answer

__all__ = ["find_candidate", "play_review", "play_verifier"]

_VARIED: Final = 0.2
_UNREADABLE: Final = 0.1
"""Shares: of replies in a code fence; of the slips of a bad verifier that cannot be read at all."""
_CLAIMED = re.compile(r"claimed to be (right|wrong): (.*)", re.DOTALL)
_SPOILS: Final[Mapping[str, str]] = {
    "artefact": "well_formed",
    "wordplay": "needed",
    "false-premise": "well_formed",
    "several-answers": "one_meaning",
}
"""The general criterion that a problem of a question is about."""


def play_verifier(asked: Asked, now: Now, oracle: Oracle, quality: float, seed: int) -> Answer | None:
    """Review a candidate; None where it is not in the workspace."""
    candidate = find_candidate(asked, now)
    example = now.examples.get(candidate.example_id) if candidate is not None else None
    graph = now.graphs.get(example.activity_id) if example is not None else None
    if candidate is None or example is None or graph is None:
        return None
    found = []
    for answer in candidate.answers:
        decided = oracle.decide(candidate.question, answer.text, example, graph)
        found.append((decided.guess, decided.reason))
    verdict = judge_question(candidate.question)
    holds = dict.fromkeys(OF_MOMENTS.names, verdict.value != "wrong")
    return _reply(asked, holds, verdict.reason, found, quality, seed)


def play_review(asked: ClipAsked, quality: float, seed: int, known: AnswersKnown) -> Answer:
    """Review a question of any kind by what the prompt shows of it."""
    holds = dict.fromkeys(IN_GENERAL.names, True)
    reason = "Nothing is wrong with it."
    question, timed = asked.question, any(line.start is not None for line in asked.lines)
    if timed:
        finding = fairness(scene_of(asked.lines), question)
        if finding.problem != "none":
            holds[_SPOILS[finding.problem]], reason = False, finding.reason
        elif guess(question) is not None:
            holds["needed"], reason = False, "The question gives its answer away."
    elif asked.lines and not content(question) & _words(asked):
        holds["needed"], reason = False, "Nothing that is shown is about it."
    claims = [match for text in asked.each("option") if (match := _CLAIMED.fullmatch(text))]
    if claims:
        options = [(str(n), match[2]) for n, match in enumerate(claims)]
        right = right_options(asked, options, known)
        found = [
            (
                (match[1] == "right") == (str(n) in right),
                "It answers the question." if str(n) in right else "It does not.",
            )
            for n, match in enumerate(claims)
        ]
    else:
        judge = _by_steps if timed else _by_words
        said = [judge(asked, answer, known) for answer in asked.each("answer")]
        found = [(finding.problem == "none", finding.reason) for finding in said]
    return _reply(asked, holds, reason, found, quality, seed)


def _by_steps(asked: ClipAsked, answer: str, _known: AnswersKnown) -> Finding:
    scene = scene_of(asked.lines)
    finding = specificity(scene, asked.question, answer)
    return finding if finding.problem != "none" else support(scene, asked.question, answer)


def _by_words(asked: ClipAsked, answer: str, known: AnswersKnown) -> Finding:
    """Hold an answer against lines without times: its quoted values, else its words; without lines, against the workspace."""
    if not asked.lines:
        rights = known.answers(asked.question)
        holds = not rights or any(same(right, answer) for right in rights)
        return Finding(
            "none" if holds else "unsupported", "It is as I know it." if holds else "It is another."
        )
    texts = [plain(line.text) for line in asked.lines]
    lacking = [value for value in quoted(answer) if not any(says(text, value) for text in texts)]
    if not quoted(answer):
        lacking = sorted(content(answer) - content(asked.question) - _words(asked))
    return (
        Finding("unsupported", f"Nothing is said of {lacking[0]}.")
        if lacking
        else Finding("none", "The lines say so.")
    )


def _words(asked: ClipAsked) -> frozenset[str]:
    return frozenset(word for line in asked.lines for word in content(f"{line.text} {line.said}"))


def _reply(
    asked: Prompt,
    holds: Mapping[str, bool],
    reason: str,
    found: Sequence[tuple[bool, str]],
    quality: float,
    seed: int,
) -> Answer:
    """Say, with slips, which criteria hold and which of the proposed are right."""
    call = asked.call
    if not asked.again and call.draw("unreadable", seed) < _UNREADABLE * (1 - quality):
        return Answer(text="The question looks fit for the exam, and I agree with the answers.")
    question: dict[str, Any] = {"reason": reason}
    for criterion, is_so in holds.items():
        slips = call.draw("criterion", seed, criterion) >= 1 - (1 - quality) / 4
        question[criterion] = "yes" if is_so != slips else "no"
    answers = []
    for number, (is_right, why) in enumerate(found):
        slips = call.draw("answer", seed, number) >= quality
        answers.append({"reason": why, "verdict": "right" if is_right != slips else "wrong"})
    text = msgspec.json.encode({"question": question, "answers": answers, "own_answers": []}).decode()
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
