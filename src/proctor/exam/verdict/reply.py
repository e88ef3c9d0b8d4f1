"""From what a judge model wrote to a verdict, or to *unscored* with the reason. Never a guess.

What counts, in this order:

1. Labelled lines: ``Verdict: 1`` in its varieties (bold, headings, ``Score``, ``2/2``, ``Judgement (0-2): 1``, the number
   on the next line, ``<verdict>1</verdict>``), and JSON objects with such a key. All of them have to agree, unless the
   last one is marked as the correction (``Revised verdict: 1``). Verdicts on single references ("Verdict (reference 1): 2")
   count as the best of them. A line that offers the whole scale is the form, not a verdict.
2. Without any of these, a reply that is nothing but the number, ends in a line that is nothing but the number, or is one
   line that begins with it (``0 (confidence 0.91)``).

Numbers inside of sentences are never a verdict, nor are quotations, examples, struck-out text, or what stands in fences of
the prompt. A number that is not on the scale that was asked for (``8/10``, ``0 out of 1`` on a scale to 2, ``1.5``,
``80%``), a second verdict, a doubt, a change of mind behind the verdict and words that contradict the number leave the
answer unscored: a person can look at it, a mis-score nobody finds. Text behind a verdict that cannot be read as English
cannot be checked for any of this, so that it leaves the answer unscored too.
"""

from __future__ import annotations

import re
from typing import Final

from proctor.exam.verdict.decision import decide
from proctor.exam.verdict.reading import (
    RATIONALE_LABEL,
    RATIONALE_LIMIT,
    WHY,
    Scale,
    Unscored,
    UnscoredReason,
    VerdictReading,
    maximum,
)
from proctor.llm.structured import Unreadable, spoken_text

__all__ = ["read_verdict"]

_FORMAT = re.compile("[\xad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe0f\ufeff]")
_WIDE: Final = str.maketrans("０１２３４５６７８９：＊／（）．，＝", "0123456789:*/().,=")
_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_GAP = re.compile(r"\s{40,}")
"""Looking for what takes a verdict back would take the square of its length: 10 s for 4,000 blank lines."""


def read_verdict(reply: str, scale: Scale) -> VerdictReading:
    """Read a judge's reply; never raises, whatever the text.

    Args:
        reply: what the model answered.
        scale: what it was asked for.
    """
    text = spoken_text(reply)
    if isinstance(text, Unreadable):
        reason = _AS_IT_IS.get(text.reason, "no_verdict")
        return VerdictReading(None, "", reason, detail=text.detail or WHY[reason])
    text = _LINE_ENDS.sub("\n", _FORMAT.sub("", text).translate(_WIDE))
    text = _GAP.sub(lambda gap: "\n\n" if "\n" in gap[0] else " ", text)
    if not text.strip():
        return VerdictReading(None, "", "empty", detail=WHY["empty"])
    try:
        mark = decide(text, maximum(scale))
    except Unscored as why:
        return VerdictReading(None, _tidy(text), why.reason, detail=why.detail or WHY[why.reason])
    rationale = mark.rationale if mark.rationale is not None else text[: mark.at]
    if not rationale.strip() and mark.rationale is None:
        rationale = text
    said = " ".join(text[mark.at : mark.end].split())[:120]
    return VerdictReading(mark.score, _tidy(rationale), None, mark.form, f"read from: {said}")


_AS_IT_IS: Final[dict[str, UnscoredReason]] = {
    "empty": "empty",
    "too_long": "too_long",
    "not_a_reply": "not_a_reply",
    "unfinished_thinking": "unfinished_thinking",
}


def _tidy(text: str) -> str:
    return RATIONALE_LABEL.sub("", text.strip())[:RATIONALE_LIMIT].strip()
