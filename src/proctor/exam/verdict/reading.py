"""What is read of a judge's reply: marks, their values, levels and claims that leave some of them open, and why a reply stays unscored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from proctor.exam.verdict.label import any_case
from proctor.llm.structured import Unreadable

__all__ = [
    "BOTTOM",
    "MIDDLE",
    "RATIONALE_LABEL",
    "RATIONALE_LIMIT",
    "TOP",
    "WHY",
    "Claim",
    "Level",
    "Mark",
    "Scale",
    "Unscored",
    "UnscoredReason",
    "Value",
    "VerdictReading",
    "levels_of",
    "maximum",
]


Level = Literal["top", "middle", "bottom"]
TOP: Final[frozenset[Level]] = frozenset(("top",))
MIDDLE: Final[frozenset[Level]] = frozenset(("middle",))
BOTTOM: Final[frozenset[Level]] = frozenset(("bottom",))


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement on the answer.

    Attributes:
        allows: the levels that it leaves open.
        said: the clause, for people.
    """

    allows: frozenset[Level]
    said: str


def levels_of(score: int, top: int) -> frozenset[Level]:
    """Return the levels that a score stands for; a binary 0 stands for a partial match too."""
    if score == top:
        return TOP
    if score == 0:
        return BOTTOM | MIDDLE if top == 1 else BOTTOM
    return MIDDLE


RATIONALE_LABEL = any_case(r"^[#*_\s]*(?:rationale|reason(?:s|ing)?|explanation)[*_\s]*:[*_\s]*")
RATIONALE_LIMIT: Final = 20_000

Scale = Literal["binary", "ternary"]
UnscoredReason = Literal[
    "empty",  # nothing, or blanks
    "too_long",  # more than anybody was asked for
    "not_a_reply",  # an error page
    "unfinished_thinking",  # the model was still thinking
    "refusal",  # it declines to judge
    "truncated",  # cut off by a limit on tokens; a verdict in it may not be the last one
    "no_verdict",  # nothing that could be one
    "malformed",  # a verdict line without a number that can be read
    "scale",  # a number of another scale
    "contradictory",  # two verdicts at once, or a word against the number
    "retracted",  # what stands behind the verdict takes it back
    "doubted",  # the verdict depends on something, or asks
    "quoted",  # it is somebody else's verdict, or an example of the form
    "unvetted",  # text behind the verdict that cannot be read, so that it may take the verdict back
    "ambiguous",  # it may be the number of a list, or a verdict on one of several references
]


@dataclass(frozen=True, slots=True)
class VerdictReading:
    """What was read: a score with the reasons given for it, or why there is none.

    Attributes:
        score: on the scale that was asked for; None when unscored.
        rationale: what the judge wrote before its verdict, trimmed; all of it when unscored.
        reason: why it is unscored; None when scored.
        form: how the verdict stood there (``line``, ``next_line``, ``json``, ``tag``, ``bare``, ``references``); empty when unscored.
        detail: for people, what the score was read from or what spoke against one.
    """

    score: int | None
    rationale: str = ""
    reason: UnscoredReason | None = None
    form: str = ""
    detail: str = ""

    @property
    def problem(self) -> Unreadable | None:
        """Why there is no score, for the repair round."""
        return None if self.reason is None else Unreadable(self.reason)


Value = tuple[int | None, UnscoredReason | None]
"""A score, or why what stands there is none."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that claims to be a verdict: where, how, and its score or why it has none.

    Attributes:
        at: where it begins.
        end: where it ends, so that the rest is behind it.
        form: as in a reading.
        score: on the scale, or None.
        reason: why it has none.
        rationale: of an object.
        word: that marks it as a correction, such as "revised".
        reference: the one reference that it is about.
    """

    at: int
    end: int
    form: str
    score: int | None
    reason: UnscoredReason | None = None
    rationale: str | None = None
    word: str = ""
    reference: str = ""


class Unscored(Exception):  # noqa: N818 - not an error: the reply has no score
    """Why a reply has no score: ends the reading from anywhere below."""

    def __init__(self, reason: UnscoredReason, detail: str = "") -> None:
        super().__init__(detail)
        self.reason: UnscoredReason = reason
        self.detail = detail


def maximum(scale: Scale) -> int:
    """Return the score of a full match."""
    return 1 if scale == "binary" else 2


WHY: Final[dict[UnscoredReason, str]] = {
    "empty": "the reply is empty",
    "too_long": "the reply is far longer than anything that was asked for",
    "not_a_reply": "the reply is an error page",
    "unfinished_thinking": "the thinking has no end",
    "refusal": "it declines to judge",
    "truncated": "it is cut off, so that a verdict in it may not be the last one",
    "no_verdict": "nothing in it has the form of a verdict",
    "malformed": "what stands behind the label is no number alone",
    "scale": "the number is not on the scale that was asked for",
    "contradictory": "it says two things at once",
    "retracted": "what stands behind the verdict takes it back",
    "doubted": "the verdict depends on something, or asks",
    "quoted": "the verdict is quoted, or an example of the form",
    "unvetted": "what stands behind the verdict cannot be read as English, so that it may take the verdict back",
    "ambiguous": "the number may be another one than the verdict",
}
