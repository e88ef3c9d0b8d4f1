"""A surface form and how it becomes a question: person, tone and slots.

Templates are written in the first person singular with named slots (``{step}``). The plural is derived from them,
and a lead-in ("Just to be sure, …") adds a tone. The identity of a form is the hash of its template, so that adding
forms never renames the old ones.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

__all__ = [
    "Form",
    "Forms",
    "Rendered",
    "Style",
    "Tone",
    "choice",
    "forms_of",
    "render_question",
    "wh",
    "yes_no",
]

Style = Literal["wh", "yesno", "choice"]
Tone = Literal["plain", "novice", "expert", "careless", "careful"]
Level = Literal["general", "step", "scoped"]
Forms = Mapping[str, tuple[Style, tuple[str, ...]]]
"""The style and the templates of each intent."""

LEAD_INS: Final[Mapping[Tone, tuple[str, ...]]] = {
    "plain": ("",),
    "novice": (
        "I've never done this before. ",
        "I'm new to this, so ",
        "Sorry if this is obvious, but ",
        "I'm a bit lost here. ",
        "This is my first try. ",
    ),
    "expert": ("Quick check: ", "One question: ", "Tell me, ", "For the record, ", "Real quick, "),
    "careless": (
        "I wasn't really paying attention. ",
        "I got distracted for a moment. ",
        "I may have rushed this a little. ",
        "I'm in a bit of a hurry. ",
        "I wasn't looking at the instructions. ",
    ),
    "careful": (
        "Just to be sure, ",
        "Before I do anything else, ",
        "I'd like to get this right. ",
        "To be on the safe side, ",
        "I want to double-check something. ",
    ),
}
"""Lead-ins by tone. Those that end in a comma or colon are followed by a small letter."""

_TONE_WEIGHTS: Final[Mapping[Tone, int]] = {
    "plain": 72,
    "novice": 7,
    "expert": 7,
    "careless": 7,
    "careful": 7,
}

_PLURAL: Final = (
    (r"\bI was\b", "we were"),
    (r"\bwas I\b", "were we"),
    (r"\bWas I\b", "Were we"),
    (r"\bI am\b", "we are"),
    (r"\bam I\b", "are we"),
    (r"\bAm I\b", "Are we"),
    (r"\bI'm\b", "we're"),
    (r"\bmyself\b", "ourselves"),
    (r"\bI wasn't\b", "we weren't"),
    (r"\bI\b", "we"),
    (r"\bme\b", "us"),
    (r"\bmy\b", "our"),
    (r"\bMy\b", "Our"),
)


@dataclass(frozen=True, slots=True)
class Form:
    """One way to ask.

    Attributes:
        id: ``<type>.<intent>:<hash of the template>``.
        template: first person singular, with slots.
        style: wh, yes/no or choice question.
        level: general, about the current step, or scoped to a step or an object.
    """

    id: str
    template: str
    style: Style
    level: Level


@dataclass(frozen=True, slots=True)
class Rendered:
    """A finished question with the choices that led to it."""

    question: str
    form: Form
    person: Literal["I", "we"]
    tone: Tone

    @property
    def form_id(self) -> str:
        """Form, person and tone in one word, for provenance."""
        return f"{self.form.id}/{self.person}/{self.tone}"


def wh(*templates: str) -> tuple[Style, tuple[str, ...]]:
    """Templates that ask what, which, how."""
    return "wh", templates


def yes_no(*templates: str) -> tuple[Style, tuple[str, ...]]:
    """Templates that ask for yes or no."""
    return "yesno", templates


def choice(*templates: str) -> tuple[Style, tuple[str, ...]]:
    """Templates that ask for one of several steps."""
    return "choice", templates


@cache
def forms_of(intent: str, style: Style, templates: tuple[str, ...]) -> tuple[Form, ...]:
    """Make the forms of an intent from its templates."""
    return tuple(
        Form(f"{intent}:{hashlib.sha256(t.encode()).hexdigest()[:8]}", t, style, _level(t)) for t in templates
    )


def _level(template: str) -> Level:
    if "{current_" in template:
        return "step"
    return "scoped" if "{" in template else "general"


def render_question(
    form: Form, slots: Mapping[str, str], rng: random.Random, *, started: bool = False
) -> Rendered:
    """Fill a form; person and tone are drawn. At the very start nobody has been careless yet."""
    person: Literal["I", "we"] = "we" if rng.random() < 0.25 else "I"
    tone = rng.choices(tuple(_TONE_WEIGHTS), weights=tuple(_TONE_WEIGHTS.values()))[0]
    if started and tone == "careless":
        tone = "plain"
    lead = rng.choice(LEAD_INS[tone])
    keeps_capital = not lead or lead.endswith(". ") or re.match(r"I\b", form.template)
    template = lead + (form.template if keeps_capital else form.template[0].lower() + form.template[1:])
    if person == "we":
        template = _plural(template)
    question = template.format_map(slots)
    return Rendered(question[0].upper() + question[1:], form, person, tone)


@cache
def _plural(template: str) -> str:
    for pattern, plural in _PLURAL:
        template = re.sub(pattern, plural, template)
    return re.sub(r"(^|[.?!] )(w)e\b", lambda m: f"{m[1]}We", template)


def missing_slots(form: Form, slots: Mapping[str, str]) -> Sequence[str]:
    """Names of slots that the form needs and the caller does not have."""
    return [name for name in re.findall(r"\{(\w+)\}", form.template) if not slots.get(name)]
