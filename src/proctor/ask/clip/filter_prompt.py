"""What the filters ask, and how their replies are read (InstructionBench's supplement; the decision rules are ours).

Three judges look at question, answers and context, each at one thing alone, and name a problem of a closed list or ``none``.
For the fourth filter assistants answer from the question alone. A reply that says two things at once cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

import msgspec

from proctor.ask.clip.known import Known
from proctor.ask.clip.record import FilterName
from proctor.llm.fence import FenceSecret
from proctor.llm.message import Message, Parameters
from proctor.llm.prompt import PromptSet, Rendered
from proctor.llm.structured import Unreadable, read_object, spoken_text

__all__ = [
    "BLIND_FORM",
    "CLOSED_BOOK",
    "JUDGING",
    "PROBLEMS",
    "FilterSaid",
    "JudgedFilter",
    "blind_prompt",
    "filter_form",
    "filter_messages",
    "filter_prompt",
    "filter_schema",
    "is_unknown",
    "read_blind_answer",
    "read_filter",
    "template_of",
]

JudgedFilter = Literal["unspecific", "tricky", "hallucination"]
"""The filters in which a judge reads the context."""
JUDGED: Final[tuple[JudgedFilter, ...]] = get_args(JudgedFilter)

JUDGING: Final = Parameters(temperature=0.0, max_tokens=512)
"""Parameters of a judge that is asked once [R]."""
CLOSED_BOOK: Final = Parameters(temperature=0.0, max_tokens=256)
"""Parameters of an assistant that answers from the question alone [R]."""

PROBLEMS: Final[Mapping[FilterName, tuple[str, ...]]] = {
    "unspecific": ("generic", "partial", "shorter-list", "not-an-answer"),
    "tricky": ("false-premise", "several-answers", "wordplay", "artefact"),
    "hallucination": ("unsupported", "contradicted"),
    "blind": ("blind-solved",),
}
"""Problems that a filter names. Our own code adds ``unparsed``, ``no-answer``, ``no-context``, ``longer-than-context``,
``no-evidence`` and ``unknown-id``, and ``other`` where a judge drops for a reason that is in no list."""

BLIND_FORM: Final = "The answer itself in at most 30 words, or the single word Unknown."

_LIMITS: Final = {"question": 4_000, "answers": 4_000, "lines": 20_000, "topic": 300}
_REASON: Final = 500
_IDS: Final = 200
_NONE: Final = frozenset({"", "none", "no", "n/a", "null", "no-problem"})
_UNKNOWN: Final = frozenset({"", "unknown", "i don't know", "i do not know", "no idea"})
_ABOUT_ID = " \t\r\n\"'`*[](){}<>.,;:"


class FilterSaid(msgspec.Struct, frozen=True):
    """What a judge says of a question.

    Attributes:
        keep: nothing is wrong with it, in what this judge looks at.
        problem: of ``PROBLEMS``, or one that our code found; ``none`` when kept.
        reason: one sentence.
        ids: context lines that it cites, those that there are.
        unknown: cited ids that there are not.
    """

    keep: bool
    problem: str
    reason: str = ""
    ids: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class _Reply(msgspec.Struct, frozen=True):
    verdict: str
    problem: str | None = None
    reason: str | None = None
    ids: list[str | int | float] | str | int | None = None


# -- asking ------------------------------------------------------------------------------------------------------


def template_of(name: FilterName) -> str:
    """Return the name of a filter's template."""
    return f"filter-{name}"


def filter_prompt(name: JudgedFilter, question: Known, prompts: PromptSet, secret: FenceSecret) -> Rendered:
    """Build the prompt of a judge.

    Args:
        name: of the filter.
        question: with its context; one without any gets an empty list.
        prompts: templates of the room ``generate`` (``proctor.ask.moment.promqa_prompt.generation_prompts``).
        secret: of the workspace.
    """
    lines = [f"{line.id}: {line.text}" for line in question.lines]
    return prompts[template_of(name)].render(
        secret,
        limits=_LIMITS,
        topic=question.topic or None,
        lines=lines,
        question=question.text,
        answers=list(question.answers),
        matter=question.matter,
        blocks=any("\n" in line for line in lines),
        pictures=len(question.pictures) or None,
    )


def filter_messages(rendered: Rendered, question: Known) -> tuple[Message, ...]:
    """Return the messages of a judge's prompt, pictures of the context attached."""
    return rendered.with_media(question.pictures) if question.pictures else rendered.messages


def blind_prompt(question: Known, prompts: PromptSet, secret: FenceSecret) -> Rendered:
    """Build the prompt of an assistant that sees the question and nothing else."""
    return prompts[template_of("blind")].render(
        secret, limits=_LIMITS, question=question.text, matter=question.matter
    )


def filter_schema(name: JudgedFilter) -> Mapping[str, Any]:
    """Return the JSON Schema of a judge's reply, for providers with structured output; the reason comes first."""
    properties: dict[str, Any] = {"reason": {"type": "string"}}
    if name == "hallucination":
        properties["ids"] = {"type": "array", "items": {"type": "string"}}
    properties["problem"] = {"type": "string", "enum": ["none", *PROBLEMS[name]]}
    properties["verdict"] = {"type": "string", "enum": ["keep", "drop"]}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def filter_form(name: JudgedFilter) -> str:
    """Return the wanted form in words, for the repair round."""
    ids = '"ids" (a list of ids of lines), ' if name == "hallucination" else ""
    problems = ", ".join(f'"{problem}"' for problem in ("none", *PROBLEMS[name]))
    return (
        f'One JSON object with the keys "reason" (one sentence), {ids}"problem" (one of {problems}) and "verdict" '
        '("keep" when the problem is "none", else "drop").'
    )


# -- reading -----------------------------------------------------------------------------------------------------


def read_filter(name: JudgedFilter, reply: str, known: Sequence[str]) -> FilterSaid | Unreadable:
    """Read a judge's reply; never raises, whatever the text.

    A judge of support that keeps a question must cite lines that there are: without any the question is dropped as
    ``no-evidence``, with one that there is not as ``unknown-id``.

    Args:
        name: of the filter.
        reply: what the judge wrote.
        known: ids of the context lines.
    """
    said = read_object(reply, _Reply, required=("verdict",))
    if isinstance(said, Unreadable):
        return said
    verdict = said.verdict.strip(" .!*").casefold()
    if verdict not in ("keep", "drop"):
        return Unreadable("wrong_shape", f"the verdict is {said.verdict[:60]!r}")
    problem = re.sub(r"[\s_]+", "-", (said.problem or "").strip(" .!*").casefold())
    is_none = problem in _NONE
    if said.problem is not None and is_none != (verdict == "keep"):
        return Unreadable("contradictory", f"{verdict} with the problem {problem[:60]!r}")
    reason = " ".join((said.reason or "").split())[:_REASON]
    ids, unknown = _cited(said.ids, known)
    if verdict == "drop":
        named = problem if problem in PROBLEMS[name] else "other"
        return FilterSaid(False, named, reason, ids, unknown)
    if name == "hallucination" and unknown:
        return FilterSaid(False, "unknown-id", f"it cites '{unknown[0]}', which there is not", ids, unknown)
    if name == "hallucination" and not ids:
        return FilterSaid(False, "no-evidence", f"it cites no line: {reason}"[:_REASON])
    return FilterSaid(True, "none", reason, ids, unknown)


def _cited(given: object, known: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids that there are and those that there are not, each once, in the order of the reply."""
    if given is None:
        return (), ()
    if isinstance(given, str) and given.strip(_ABOUT_ID) not in known:
        given = re.split(r"[,;\s]+", given)
    entries = given if isinstance(given, list) else [given]
    exact = {id: id for id in known}
    loose = {id.strip(_ABOUT_ID).casefold(): id for id in reversed(known)}
    found: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for entry in entries[:_IDS]:
        text = str(entry)
        bare = text.strip(_ABOUT_ID)
        if not bare:
            continue
        id = exact.get(text) or exact.get(bare) or loose.get(bare.casefold())
        if id is None:
            unknown[bare[:80]] = None
        else:
            found[id] = None
    return tuple(found), tuple(unknown)


def read_blind_answer(reply: str) -> str | Unreadable:
    """Return an assistant's answer on one line, its thinking left out, or why there is none."""
    text = spoken_text(reply)
    return text if isinstance(text, Unreadable) else " ".join(text.split())


def is_unknown(answer: str) -> bool:
    """True for an answer that says that it is none.

    Example:
        >>> is_unknown("Unknown.")
        True
    """
    return answer.strip(" .!*\"'").casefold() in _UNKNOWN
