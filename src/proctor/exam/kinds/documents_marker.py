"""How answers from documents are marked by a model (SMMQG): one sees the cited sources, one the reference alone.

An explanation first, then the mark behind a last ``Score:``, 0 wrong, 1 partly right, 2 right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from proctor.errors import UserError
from proctor.exam.kinds.documents import KIND, DocumentsAsking
from proctor.exam.library import Library, Prompts
from proctor.exam.marker import MarkPrompt, Reading
from proctor.exam.prediction import Prediction
from proctor.exam.question import Item, gold_texts
from proctor.exam.source_showing import SOURCE_LIMIT
from proctor.llm.message import Parameters
from proctor.llm.structured import Unreadable, spoken_text
from proctor.metrics.answer import parse_judge_score

__all__ = ["JUDGE_KINDS", "UNPARSED", "JudgeKind", "SourceMarker", "read_score"]

JudgeKind = Literal["source", "reference"]
JUDGE_KINDS: Final[tuple[JudgeKind, ...]] = get_args(JudgeKind)
UNPARSED: Final = "judge_unparsed"
"""Code of a judgement without a mark that could be read."""

_SHOWN: Final = 200
_CLOSING: Final = "0, 1 or 2, and nothing after it."
"""How our prompts end; what a reply says comes behind it."""
_FORM: Final = (
    "Explain the mark in one to four sentences. Then a last line of its own: the word Score, a colon and one number, "
    + _CLOSING
)


def read_score(reply: str) -> int | None:
    """Return the mark behind the last ``Score:`` of a reply, its thinking left out; None where there is none from 0 to 2.

    Example:
        >>> read_score("The score: 1 was considered... Score: **2**")
        2
    """
    text = spoken_text(reply)
    if isinstance(text, Unreadable):
        return None
    # A model that only repeats its prompt has not judged, though the prompt has examples with marks.
    return parse_judge_score(text.rpartition(_CLOSING)[2], scale="smmqg")


@dataclass(frozen=True, slots=True)
class SourceMarker:
    """Marks with the cited sources (``source``) or by the reference alone (``reference``).

    Raises:
        UserError: for a kind that is neither.
    """

    kind: JudgeKind = "source"
    empty: str = UNPARSED
    scale: str = "ternary"
    form: str = _FORM
    parameters: Parameters = Parameters(temperature=0.0, max_tokens=512)  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        """Refuse an unknown kind."""
        if self.kind not in JUDGE_KINDS:
            raise UserError(
                f"there is no judge of the kind {self.kind!r}.", hint=f"there are {', '.join(JUDGE_KINDS)}"
            )

    @property
    def name(self) -> str:
        """The kind."""
        return self.kind

    @property
    def template(self) -> str:
        """Name of its template."""
        return "source-judge" if self.kind == "source" else "source-judge-reference"

    def prompt(
        self, item: Item, prediction: Prediction, library: Library, prompts: Prompts
    ) -> MarkPrompt | str:
        """Return what is asked, with the cited sources; why nothing is, where there is no reference or no source."""
        reference = next(iter(gold_texts(item)), "")
        if not reference.strip():
            return "no_reference: the question has no reference answer"
        values: dict[str, Any] = {
            "question": item.question.text,
            "reference": reference,
            "prediction": prediction.answer,
        }
        if self.kind == "reference":
            return MarkPrompt(prompts.render(self.template, **values))
        shown = next(KIND.exhibits(item, DocumentsAsking(), library))
        if shown.failure is not None:
            return shown.failure
        rendered = prompts.render(
            self.template,
            {"sources": SOURCE_LIMIT},
            **values,
            sources=[piece.text for piece in shown.pieces],
            kinds=[piece.kind for piece in shown.pieces],
            pictures=len(shown.media),
        )
        details: Mapping[str, str] = {k: text for k, text in shown.details.items() if k != "route"}
        return MarkPrompt(rendered, shown.media, details)

    def read(self, reply: str) -> Reading:
        """Read the mark."""
        score = read_score(reply)
        problem = Unreadable(UNPARSED) if score is None else None
        return Reading(score, reply.strip(), problem, f"{UNPARSED}: {reply.strip()[:_SHOWN]}")
