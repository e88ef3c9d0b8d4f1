"""Does a question hold? One call about style, answer and necessity, which shows the cited sources alone (SMMQG).

The reason comes before the verdict, so that the verdict follows from it; under the published protocol the verdict comes first,
as published. Replies are read in either order.

The published prompts ask about the answer and the style only, although the paper says that every source must be needed; ours
asks for that as a third criterion. ``proctor.ask.documents.solving`` tries it out instead, by leaving sources out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from proctor.ask.documents.prompting import SHOWN, DocumentsPrompt, Miss, PromptKit, read_text, squeeze
from proctor.ask.documents.record import AttemptOutcome
from proctor.ask.documents.style import Style
from proctor.corpus.source import Source
from proctor.llm.message import Parameters
from proctor.llm.outcome import Outcome

__all__ = [
    "CRITERIA",
    "VERIFICATION",
    "Criterion",
    "Verdict",
    "parse_verdict",
    "read_verdict",
    "verdict_form",
    "verification_prompt",
]

VERIFICATION: Final = Parameters(temperature=0.0, max_tokens=512)
"""Parameters of the call [R]."""

Criterion = Literal["style", "answer", "necessity"]
CRITERIA: Final[tuple[Criterion, ...]] = get_args(Criterion)

_VERDICT: Final = (
    "PASS\nor\nFAIL: the criteria that are not met (style, answer, necessity), separated by commas"
)
_OUTCOMES: Final[Mapping[Criterion, AttemptOutcome]] = {
    "style": "style_fail",
    "answer": "answer_fail",
    "necessity": "necessity_fail",
}
_FIRST = re.compile(r"[\W_]*(pass|fail)(?:ed|s)?\b", re.IGNORECASE)
_LAST = re.compile(r"[\W_]*(?:verdict[\W_]+)?(pass|fail)(?:ed|s)?\b(.*)", re.IGNORECASE)
_BARE = re.compile(r"(?:\W|_|and|style|answer|necessity|[123])*", re.IGNORECASE)
_NAMED = re.compile(r"\b(style|answer|necessity)\b|\b([123])\b", re.IGNORECASE)
_NO_FAILURE = re.compile(r"\b(?:no|none|nothing|n/a)\b", re.IGNORECASE)
_LIST = re.compile(
    r"^[^\w\n]{0,8}(?:failed(?: criteria)?|criteria(?: failed)?)[^\w\n]{0,8}:(.*)$",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verifier said.

    Attributes:
        passed: True when all criteria are met.
        failed: those that are not, in the order of ``CRITERIA``.
        said: the reply's beginning, for records.
    """

    passed: bool
    failed: tuple[Criterion, ...] = ()
    said: str = ""

    @property
    def miss(self) -> Miss | None:
        """Return the outcome of the attempt, named after the first criterion that is not met; None when it passed."""
        if self.passed:
            return None
        return Miss(_OUTCOMES[self.failed[0]], f"{', '.join(self.failed)}: {self.said}"[:SHOWN])


def verification_prompt(
    kit: PromptKit, style: Style, question: str, answer: str, gold: Sequence[Source]
) -> DocumentsPrompt:
    """Ask whether a question holds; it goes to the model that can see when ``needs_lmm(gold)``.

    Args:
        kit: templates, fences and pictures.
        style: that it must follow.
        question: as it was written.
        answer: as it was written.
        gold: the cited sources; the candidates that were not cited are not shown.
    """
    return kit.make(
        "styled-verification",
        own={"title": style.title, "description": style.description},
        **kit.sources(gold),
        question=question,
        answer=answer,
        style_questions=list(style.questions) or None,
        style_hash=style.hash,
    )


def verdict_form(kit: PromptKit) -> str:
    """Return the wanted form in words, for a repair round."""
    if kit.published:
        return f"{_VERDICT}\nThen one line with the reason."
    return f"One line with the reason, then on a line of its own:\n{_VERDICT}"


def read_verdict(outcome: Outcome) -> Verdict | Miss:
    """Return the verdict of a call, or the outcome of the attempt where there is none (``verify_unparsed``, ``api_error``)."""
    text = read_text(outcome, unreadable="verify_unparsed")
    if isinstance(text, Miss):
        return Miss("verify_unparsed", text.detail) if text.outcome == "refused" else text
    return parse_verdict(text)


def parse_verdict(text: str) -> Verdict | Miss:
    """Read a verdict; never raises, whatever the text.

    The last line is ``pass`` or ``fail`` with the criteria that failed, in any case, or the first word is, as of old. That one
    names criteria on its line or behind ``Failed:``. A fail that names none, a pass that lists a failure, and two verdicts that
    contradict each other cannot be read: all reject, and say so.
    """
    said = squeeze(text)[:SHOWN]
    first = _FIRST.match(text)
    last = _LAST.fullmatch(text.rstrip().rpartition("\n")[2])
    if last is not None and (first is None or _BARE.fullmatch(last[2])):
        if first is not None and first[1].casefold() != last[1].casefold():
            return Miss("verify_unparsed", f"two verdicts: {said}"[:SHOWN])
        named = _criteria(last[2])
        if bool(named) != (last[1].casefold() == "pass"):
            return Verdict(not named, named, said)
    if first is None:
        return Miss("verify_unparsed", said or "nothing")
    line, _, rest = text[first.end() :].partition("\n")
    listed = _LIST.search(rest)
    failed = _criteria(listed[1] if listed else "")
    if first[1].casefold() == "pass":
        if failed and not _NO_FAILURE.search(listed[1] if listed else ""):
            return Miss("verify_unparsed", f"a pass that lists failures: {said}"[:SHOWN])
        return Verdict(True, (), said)
    failed = failed or _criteria(line) or _criteria(rest.strip().split("\n")[0])
    return (
        Verdict(False, failed, said)
        if failed
        else Miss("verify_unparsed", f"a fail without criteria: {said}"[:SHOWN])
    )


def _criteria(text: str) -> tuple[Criterion, ...]:
    named = {(m[1] or CRITERIA[int(m[2]) - 1]).casefold() for m in _NAMED.finditer(text)}
    return tuple(criterion for criterion in CRITERIA if criterion in named)
