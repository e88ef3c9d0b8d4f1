"""Mistakes that somebody could make in a step: read off its text, or proposed by a model. Nobody has to follow them.

CaptainCook4D (appendix C) gave the same hints for every step, and they were used for one mistake in five;
ours speak of what the step's own text names: its amounts, times, heat and objects.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from proctor.capture.records import Hint
from proctor.procedure.altered import mistakes_in
from proctor.procedure.graph import TaskGraph
from proctor.procedure.phrase import parse_phrase
from proctor.procedure.recording import MISTAKE_KINDS
from proctor.said import say

__all__ = ["INDUCED_KINDS", "Hints", "sayable", "text_hints"]

Hints = dict[str, tuple[Hint, ...]]  # by step
INDUCED_KINDS: Final = tuple(k for k in MISTAKE_KINDS if k not in ("missing", "order"))  # inside a step
_STOP: Final = say("stop {doing} half-way, or do it with another tool", doing="").pattern
_REPLACE: Final = say("use something else in place of the {thing}", thing="").pattern
_FORMS: Final = (
    say("stop doing the step “{step}” half-way, or do it with another tool", step="").pattern,
    _STOP,
    _REPLACE,
    say("{wrong} instead of {right}", wrong="", right="").pattern,
)


def text_hints(graph: TaskGraph) -> Hints:
    """Return for each step of a graph what its text alone lets one propose."""
    hints: Hints = {}
    for step in graph.actions:
        phrase = parse_phrase(step.text)
        doing = phrase.brief_gerund or phrase.gerund
        found = [(kind, text) for kind, text, _ in mistakes_in(step.text)[:1]]
        found += [("technique", _STOP.format(doing=doing))]
        if phrase.object:
            found += [("preparation", _REPLACE.format(thing=phrase.object))]
        hints[step.id] = tuple(Hint(step=step.id, kind=kind, text=text, by="text") for kind, text in found)
    return hints


def sayable(hint: Hint) -> Hint:
    """Return a hint whose text the studio can say in another language (``proctor.said``); a model's words stay as they are."""
    for form in _FORMS if hint.by == "text" else ():
        found = re.fullmatch(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(form)), hint.text, re.DOTALL)
        if found is not None:
            return msgspec.structs.replace(hint, text=say(form, **found.groupdict()))
    return hint
