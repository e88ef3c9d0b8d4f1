"""What went wrong in the step just done, said plainly from the annotations: done against asked for, and what to do.

The difference between the instruction and the performed text counts most, then the annotators' remark put into a
sentence, then the instruction itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from proctor.exam.kinds.example import Example
from proctor.exam.reading import FAMILY, read_question
from proctor.procedure.graph import TaskGraph
from proctor.procedure.phrase import Phrase, parse_phrase
from proctor.procedure.quantity import Difference, Dimension, find_difference
from proctor.procedure.remark import describe_performed, read_remark

__all__ = ["Mishap", "as_sentence", "join_words"]


def as_sentence(text: str) -> str:
    """Return the text with a capital letter in front and one full stop behind."""
    plain = text.strip().rstrip(".")
    return f"{plain[:1].upper()}{plain[1:]}."


def join_words(parts: Sequence[str], last: str = "and") -> str:
    """Return ``"a, b and c"``; at least one part is needed."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


_DIMENSIONS: Final[dict[str, tuple[Dimension, ...]]] = {
    "measurement": ("amount", "count", "length"),
    "timing": ("time",),
    "temperature": ("temperature",),
}


@dataclass(frozen=True, slots=True)
class Mishap:
    """A mistake in a step.

    Attributes:
        instruction: the step as it should have been done.
        performed: what was done instead, as "you ..." goes on; empty when only the remark tells.
        remark: the annotators' last remark as a clause; empty when none can be made of it.
        difference: what was done instead of what was asked for, where it can be read off exactly.
        spilled: something was spilled.
    """

    instruction: Phrase | None
    performed: str
    remark: str
    difference: Difference | None
    spilled: bool

    @classmethod
    def of(cls, example: Example, graph: TaskGraph) -> Mishap:
        """Read the mistake that an example is about."""
        current = example.current
        asked = graph[current.step_id].text if current is not None and current.step_id in graph else ""
        asked = asked or (current.instruction if current is not None else "")
        done = current.text if current is not None else ""
        remarks = [read_remark(t) for t in reversed(example.mistake_texts)]
        return cls(
            instruction=parse_phrase(asked) if asked else None,
            performed=describe_performed(done, asked).text if done and asked else "",
            remark=next((r.after("") for r in remarks if r.text), ""),
            difference=_difference(example, asked, done),
            spilled=bool(re.search(r"\b(?:spill|splash)", " ".join((*example.mistake_texts, done)).lower())),
        )

    @property
    def advice(self) -> str:
        """How it should have been done."""
        if self.instruction is None or self.instruction.quoted:
            return self.remark or "you should have followed the instructions"
        return f"you should have {self.instruction.participle}"

    @property
    def contrast(self) -> str:
        """What it was instead of what; empty when that cannot be read off."""
        found = self.difference
        if found is None:
            return ""
        subject = "you used" if found.dimension in ("amount", "count") else "it was"
        return f"{subject} {found.wrong_words} instead of {found.right_words}"

    @property
    def report(self) -> str:
        """What was wrong."""
        if self.difference is not None:
            return f"{self.contrast}. {as_sentence(self.advice)}"
        if self.remark and self._leaves_out:
            return f"{self.remark}. {as_sentence(self.advice)}"
        if self.remark:
            return self.remark
        return f"you {self.performed}" if self.performed else self.advice

    @property
    def _leaves_out(self) -> bool:
        """True when the instruction has content that what was done has not: saying it then tells what was not done."""
        if self.instruction is None or not self.performed:
            return False
        return bool(read_question(self.instruction.imperative) - read_question(self.performed))

    @property
    def remedy(self) -> str:
        """What to do about it: top up, go on for longer, or start over where it cannot be taken back; or empty."""
        if self.spilled:
            return "wipe up what was spilled before you go on"
        found = self.difference
        if found is None or found.direction is None or self.instruction is None:
            return f"do it again and {self.instruction.imperative}" if self.instruction is not None else ""
        if found.dimension == "temperature":
            return f"turn the heat {'down' if found.direction == 'more' else 'up'} to {found.right}"
        if found.direction == "less":
            if found.dimension == "time":
                return (
                    f"keep going for another {found.another}"
                    if found.another
                    else f"keep going until it has been {found.right}"
                )
            more = f"another {found.another}" if found.another else "more"
            return f"add {more} to make up for it, up to {found.right_words}"
        if found.dimension == "time" or self._is_mixed_in:
            return f"that can't be undone, so start over with {found.right_words}"
        return f"set the surplus aside and go on with {found.right_words} only"

    @property
    def _is_mixed_in(self) -> bool:
        if self.instruction is None:
            return False
        front = " ".join(self.instruction.imperative.split()[:_VERBS_WITHIN])
        return any(FAMILY.get(w) in ("~put", "~mix") for w in read_question(front))


_VERBS_WITHIN: Final = 4
"""Words at the front of an instruction among which its verbs are ("measure and add ...")."""


def _difference(example: Example, asked: str, done: str) -> Difference | None:
    dimensions = _DIMENSIONS.get(example.type, ())
    if not dimensions or not asked:
        return None
    for text in (done, *reversed(example.mistake_texts)):
        found = find_difference(asked, text, dimensions) if text else None
        if found is not None:
            return found
    return None
