"""A question about a moment of a recording (ProMQA), and how people judge it.

It stands apart from the kind (``proctor.exam.kinds.moment``), which says how such questions are asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from proctor.exam.card import Criterion, Judging
from proctor.exam.kinds.example import Example, shown_example
from proctor.exam.library import Library
from proctor.exam.question import Footage, Open, Procedure, Proposed, Question, seen_hash
from proctor.said import say

__all__ = [
    "FLOOR_NAMES",
    "JUDGING",
    "MOMENT",
    "moment_candidate",
    "moment_example",
    "moment_seen",
    "question_about",
    "shown_moment",
]

MOMENT: Final = "moment"
"""Name of the kind."""

FLOOR_NAMES: Final = ("constant", "recipe-text", "random-step", "annotations")
"""Systems that ask no model (``proctor.exam.floors``), the bound last."""


def moment_seen(question: Question) -> str:
    """Return the hash of what people see of a question: also the steps performed so far, listed and marked in the task graph."""
    example = moment_example(question)
    return seen_hash(question, example.previous, example.current)


def question_about(
    example: Example,
    name: str,
    text: str,
    *,
    proposals: tuple[Proposed, ...] = (),
    provenance: Mapping[str, str] | None = None,
) -> Question:
    """Return a question about an example's moment.

    Args:
        example: the moment, with the facts that decide the answer.
        name: the question's id.
        text: as asked.
        proposals: answers that are to be verified.
        provenance: who made it; of a verified question ``candidate`` (its id) and ``version`` (the candidate's exact hash).
    """
    return Question(
        id=name,
        kind=MOMENT,
        text=text,
        form=Open(),
        evidence=(
            Footage(recording=example.recording_id, end=example.end, video=example.video or ""),
            Procedure(id=example.activity_id, title=example.activity_name),
        ),
        proposals=proposals,
        facts=msgspec.json.decode(msgspec.json.encode(example)),  # as it will be read
        facets={"type": example.type},
        cluster=example.recording_id,
        place=example.end,
        provenance=provenance or {},
    )


def moment_example(question: Question) -> Example:
    """Return the facts of a question, typed.

    Raises:
        msgspec.ValidationError: if they are none of an example.
    """
    return msgspec.convert(question.facts, Example)


def shown_moment(question: Question, library: Library) -> Example:
    """Return the facts of a question in the words that models are shown.

    Raises:
        msgspec.ValidationError: if they are none of an example.
    """
    example = moment_example(question)
    return example if library.published else shown_example(example)


def moment_candidate(question: Question) -> str:
    """Return the id of the candidate that a verified question was made of."""
    return question.provenance.get("candidate", question.id)


_GUIDELINE: Final = """\
You see a person carrying out a procedure, for example cooking from a recipe. The recording stops at one moment. At
that moment the person asks a question. You decide whether the question is a good one, and which answers to it are
right.

# One item, step by step

1. **Watch the clip to its end.** It stops at the moment of the question. Nothing after that moment counts.
2. **Read the steps.** The graph shows which steps were done, which one is going on, which are still to come, and
   where something went wrong. A step may be done only after all steps that lead to it.
3. **Judge the question.**
4. If the question is right, **judge each answer** on its own.
5. **Add answers** that are right and missing.
6. Submit. You can change what you submitted until the coordinator closes this part of the work.

# A question is right when all of these hold

- **It needs both sources.** Neither the clip alone nor the instructions alone are enough to answer it.
- **It is about the procedure:** steps, their order, amounts, tools, time, mistakes.
- **It needs nothing from outside.** A person who knows only the clip and the instructions can answer it.
- **It is natural, clear and grammatical.** A person who is busy with this work could ask it like this.

If one of them fails, the question is wrong. You then need not judge its answers.

# An answer is right when

- it is true at this moment, by the clip and the instructions, and
- it answers the question that was asked, and
- a helpful person could say it as it stands.

An answer need not be complete if it is useful: when three steps could come next, each of the three is a right answer.
An answer that names something true and something false is wrong. Style does not matter as long as you understand it.

When the person made a mistake, go by what really happened. A step that was done wrongly has been done; whether it must
be repaired depends on the mistake.

# Your own answers

Write one answer to a line, as a full sentence, as you would say it to the person. Write only answers that are missing.
Two wordings of the same answer are one answer.

# When you cannot judge

Use *Can't judge* when the clip does not play, a text is broken, or you do not want to see it. The item goes back to
the coordinator and does not count against you. If you are only unsure, decide for what is more likely.

Work alone. Do not look for the recording or its annotations elsewhere, and do not ask a chat assistant: we need your
judgement.
"""
JUDGING: Final = Judging(
    criteria=(
        Criterion(
            say("It needs both the recording and the instructions"),
            say(
                "“Which step should I do next?” does: you must see what was done and know what the recipe asks for. "
                "“What colour is the bowl?” needs only the recording."
            ),
        ),
        Criterion(
            say("It is about the procedure"),
            say("Steps, their order, amounts, tools, timing or mistakes. “Does this look tasty?” is not."),
        ),
        Criterion(
            say("It needs no knowledge from outside"),
            say(
                "“Is olive oil healthier than butter?” cannot be answered from the recording and the instructions."
            ),
        ),
        Criterion(
            say("It is natural, clear and grammatical"),
            say(
                "Someone in the middle of the work would say it like this, and you know at once what they mean."
            ),
        ),
    ),
    reasons={
        "one-source": say("It can be answered without the recording, or without the instructions"),
        "not-procedural": say("It is not about carrying out the procedure"),
        "outside-knowledge": say("It needs knowledge from elsewhere"),
        "unclear": say("It is unclear or can be read in two ways"),
        "language": say("The language is wrong or not natural"),
        "mismatch": say("It does not fit this moment of the recording"),
    },
    guideline=_GUIDELINE,
    ask=say("Are these right answers, at this moment?"),
)
"""The published criteria (ProMQA), in our own words."""
