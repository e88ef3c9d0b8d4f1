"""The category of a question: a call of its own with a closed list (InstructionBench's supplement; the list is ours).

The list is ours, the paper's is not published. What cannot be read counts as ``other``, and is counted apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from proctor.ask.clip.record import CATEGORIES, Category, Level
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Parameters
from proctor.llm.outcome import Outcome, Reply
from proctor.llm.prompt import PromptSet, Rendered
from proctor.llm.structured import Unreadable, find_objects, spoken_text

__all__ = [
    "CATEGORISATION",
    "LEVEL_CATEGORIES",
    "MEANINGS",
    "TEMPLATE",
    "ReadCategory",
    "category_prompt",
    "read_category",
]

TEMPLATE: Final = "instructional-category"

CATEGORISATION: Final = Parameters(temperature=0.0, max_tokens=60)
"""Parameters of the call [R]: one label, always the same."""

MEANINGS: Final[Mapping[Category, str]] = {
    "ordering": "what comes before or after something, first or last, or what has to be done beforehand",
    "localisation": "at which point of the activity something happens, told by what else happens then",
    "counting": "how often something is done, or how many things there are",
    "purpose-cause": "why or what for something is done, or what leads to what",
    "object-tool": "which object or tool is used or handled",
    "ingredient-quantity": "which ingredient or material, or how much of it",
    "manner": "how something is done: the way, the motion, how long or how strongly",
    "state-attribute": "what something is like or becomes: colour, shape, size, texture, state",
    "location": "where something is, is put, or is done",
    "comparison": "how two things or actions differ or agree, which is longer, more, earlier",
    "missing-step": "what is left out, not done or not used although it could be expected",
    "other": "none of these",
}
"""What a prompt says of each category; plain words without punctuation that could build structure."""

LEVEL_CATEGORIES: Final[Mapping[Level, tuple[Category, ...]]] = {
    "coarse": ("ordering", "localisation", "counting", "purpose-cause", "comparison", "missing-step"),
    "fine": ("object-tool", "ingredient-quantity", "manner", "state-attribute", "location"),
}
"""What is asked for at each level [R]; any category may come back."""

_SEPARATORS: Final = re.compile(r"[^a-z]+(?:(?:and|or)[^a-z]+)?")

_ALIASES: Final[Mapping[str, Category]] = {
    "order": "ordering",
    "sequence": "ordering",
    "temporal-order": "ordering",
    "localization": "localisation",
    "temporal-localisation": "localisation",
    "temporal-localization": "localisation",
    "count": "counting",
    "repetition": "counting",
    "purpose": "purpose-cause",
    "cause": "purpose-cause",
    "object": "object-tool",
    "tool": "object-tool",
    "ingredient": "ingredient-quantity",
    "quantity": "ingredient-quantity",
    "state": "state-attribute",
    "attribute": "state-attribute",
    "place": "location",
    "missing": "missing-step",
}
"""What models write in place of a name of the list."""


@dataclass(frozen=True, slots=True)
class ReadCategory:
    """A category, and whether it was read; one that was not is ``other``. ``detail`` says what was seen instead."""

    category: Category
    unparsed: bool = False
    detail: str = ""


def category_prompt(
    question: str, answer: str, level: Level, prompts: PromptSet, secret: FenceSecret
) -> Rendered:
    """Build the prompt of the categorisation.

    Raises:
        UserError: if a template of the user's cannot be filled.
    """
    template = prompts[TEMPLATE]
    values: dict[str, Any] = {
        "question": question,
        "answer": answer,
        "level": level,
        "names": list(CATEGORIES),
        "meanings": [MEANINGS[name] for name in CATEGORIES],
    }
    taken = template.data | template.plain | template.accepted
    return template.render(secret, **{name: value for name, value in values.items() if name in taken})


def read_category(outcome: Outcome) -> ReadCategory:
    """Read a category; a reply that names none or several, a refusal and a cut-off reply are ``other``, unparsed."""
    if not isinstance(outcome, Reply):
        return ReadCategory("other", True, type(outcome).__name__.casefold())
    text = spoken_text(outcome.text)
    if isinstance(text, Unreadable):
        return ReadCategory("other", True, f"{text.reason} {text.detail}".strip())
    for found in reversed(find_objects(text)):
        value = found.value.get("category")
        if isinstance(value, str) and (named := _named(value)) is not None:
            return ReadCategory(named)
    lines = [line for line in text.splitlines() if line.strip()]
    for line in (text, lines[-1], lines[0]):
        label, _, behind = line.partition(":")
        labelled = label.strip("*#> -").casefold() in ("category", "label", "answer", "the category")
        if (named := _named(behind if labelled else line)) is not None:
            return ReadCategory(named)
    mentioned = _mentioned(text)
    if len(mentioned) == 1:
        return ReadCategory(mentioned[0])
    return ReadCategory("other", True, text.strip()[:100])


def _named(text: str) -> Category | None:
    """Return the category that a short text is the name of."""
    if len(text) > 60:
        return None
    plain = _SEPARATORS.sub("-", text.casefold()).strip("-")
    return next((name for name in CATEGORIES if name == plain), _ALIASES.get(plain))


def _mentioned(text: str) -> list[Category]:
    """Return the categories that a text names as they are written in the list; ``other`` is too common a word."""
    folded = text.casefold()
    return [
        name for name in CATEGORIES if name != "other" and re.search(rf"(?<![\w-]){name}(?![\w-])", folded)
    ]
