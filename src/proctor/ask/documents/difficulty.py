"""How hard a question is: without any source, with one of its sources, and by the rank of its sources in a search.

Ours beyond SMMQG. The same examination, with one source left out at a time, is the
ablation: a source whose absence changes nothing was not needed.

Every examination is two calls: an answer, and a mark for it from 0 to 2. What cannot be read is asked for once more and is
then *unknown*, never a guess: an unknown mark refuses no question.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from proctor.ask.documents.prompting import Miss, PromptKit, needs_lmm
from proctor.ask.documents.solving import (
    ANSWERING,
    MARKING,
    answer_prompt,
    mark_prompt,
    read_answer,
    read_mark,
)
from proctor.ask.documents.summary import UNTRIED
from proctor.corpus.source import Source
from proctor.llm.converse import Conversation
from proctor.llm.message import Request
from proctor.llm.outcome import Failure, Outcome, Refusal, Reply
from proctor.llm.structured import Unreadable, ask_until_read

__all__ = [
    "RIGHT",
    "DifficultyRules",
    "Examined",
    "Examiner",
    "NotAnswered",
    "Ranker",
    "Wanted",
    "judge_difficulty",
    "settled",
    "together",
]

RIGHT: Final = 2
"""The mark of an answer that is right in everything."""

Wanted = Literal["off", "measure", "refuse"]
"""Not looked at, written down, or a reason to try again."""

Ranker = Callable[[str, Sequence[str]], Sequence[int | None]]
"""From a question and ids of sources to the rank of each among all sources, from 1; None for one that was not found."""

_UNKNOWN: Final = "unknown"
_MARK_FORM: Final = "Score: N\nwith 0, 1 or 2 in place of N."


class NotAnswered(Exception):  # noqa: N818 - it is a finding, not an accident
    """A call came to nothing that may come to something later: the attempt ends here and is made again in a later run."""

    def __init__(self, miss: Miss) -> None:
        super().__init__(miss.detail)
        self.miss = miss


def settled(outcome: Outcome) -> Outcome:
    """Return an outcome; what a provider's filter stopped is a refusal, because asking again would meet it again."""
    if isinstance(outcome, Failure) and outcome.kind == "content_filter":
        return Refusal(text=f"content filter: {outcome.message}", usage=outcome.usage)
    return outcome


class DifficultyRules(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured, and what refuses a question.

    Attributes:
        closed_book: answered without any source; ``refuse`` turns a question away that is answered right (``too_easy``).
        one_source: answered from a single one of several sources; ``refuse`` as before.
        gold_rank: rank of the worst gold source among all sources for the question.
        min_rank: a worst rank below it is ``too_easy``.
        max_rank: a worst rank above it, or none at all, is ``too_hard``.
    """

    closed_book: Wanted = "off"
    one_source: Wanted = "off"
    gold_rank: bool = False
    min_rank: int | None = None
    max_rank: int | None = None

    @property
    def ranks(self) -> bool:
        """True when ranks have to be known."""
        return self.gold_rank or self.min_rank is not None or self.max_rank is not None


class Examined(msgspec.Struct, frozen=True):
    """An answer and its mark.

    Attributes:
        answer: as it was given; empty when the model declined.
        mark: 0 to 2; None when it is not known.
    """

    answer: str
    mark: int | None

    @property
    def text(self) -> str:
        """The mark as it stands in records."""
        return _UNKNOWN if self.mark is None else str(self.mark)


@dataclass(frozen=True, slots=True)
class Examiner:
    """Two models: one answers, the other one marks.

    Attributes:
        kit: templates, fences and pictures.
        answerer: full name of the model that answers.
        marker: full name of the model that marks.
        seeing: full name of the model that answers where a source is an image; ``answerer`` when empty.
    """

    kit: PromptKit
    answerer: str
    marker: str
    seeing: str = ""

    def examine(
        self, question: str, reference: str, sources: Sequence[Source]
    ) -> Generator[Request, Outcome, Examined]:
        """Have a question answered from some sources, or from none, and marked.

        Raises:
            NotAnswered: when a call failed in a way that may go away.
        """
        model = self.seeing if self.seeing and needs_lmm(sources) else self.answerer
        outcome = yield answer_prompt(self.kit, question, sources).request(model, ANSWERING, "assistant")
        answer = read_answer(settled(outcome))
        if isinstance(answer, Miss):
            _require_outcome(answer)
            return Examined("", 0)
        if answer.strip(" .!*").casefold() in ("", _UNKNOWN):
            return Examined("", 0)
        request = mark_prompt(self.kit, question, reference, answer).request(self.marker, MARKING, "judge")
        calls = yield from ask_until_read(
            request,
            lambda text: Unreadable("no_verdict") if isinstance(read_mark(Reply(text=text)), Miss) else None,
            _MARK_FORM,
        )
        mark = read_mark(settled(calls[-1][1]))
        if isinstance(mark, Miss):
            _require_outcome(mark)
            return Examined(answer, None)
        return Examined(answer, mark)


def _require_outcome(miss: Miss) -> None:
    if miss.outcome in UNTRIED:
        raise NotAnswered(miss)


# -- measured and refused ----------------------------------------------------------------------------------------


def judge_difficulty(
    question: str,
    reference: str,
    gold: Sequence[Source],
    rules: DifficultyRules,
    examiner: Examiner | None,
    rank: Ranker | None,
) -> Generator[Any, Any, tuple[dict[str, str], Literal["too_easy", "too_hard"] | None]]:
    """Measure a question; return the measures as texts, and what speaks against it, if anything does.

    What costs nothing is looked at first, and nothing more is asked once a question is refused.

    Raises:
        NotAnswered: when a call failed in a way that may go away.
    """
    found: dict[str, str] = {}
    if rank is not None and rules.ranks:
        ranks = rank(question, [s.id for s in gold])
        worst = None if None in ranks else max(r for r in ranks if r is not None)
        found["gold_rank"] = "none" if worst is None else str(worst)
        found["gold_ranks"] = " ".join("none" if r is None else str(r) for r in ranks)
        if rules.max_rank is not None and (worst is None or worst > rules.max_rank):
            return found, "too_hard"
        if rules.min_rank is not None and worst is not None and worst < rules.min_rank:
            return found, "too_easy"
    if examiner is None:
        return found, None
    if rules.closed_book != "off":
        examined = yield from examiner.examine(question, reference, ())
        found["closed_book"] = examined.text
        if rules.closed_book == "refuse" and examined.mark == RIGHT:
            return found, "too_easy"
    if rules.one_source != "off" and len(gold) > 1:
        each = yield from together([examiner.examine(question, reference, (s,)) for s in gold])
        found["one_source"] = " ".join(e.text for e in each)
        if rules.one_source == "refuse" and any(e.mark == RIGHT for e in each):
            return found, "too_easy"
    return found, None


def together(talks: Sequence[Conversation[Any]]) -> Generator[tuple[Request, ...], Any, list[Any]]:
    """Hold several conversations at once, a round at a time; return their results in order.

    Each of them yields single requests. Where one raises, the others are closed and the exception goes on.
    """
    results: list[Any] = [None] * len(talks)
    waiting: list[tuple[int, Request]] = []

    def advance(place: int, sent: Any) -> None:
        try:
            request = talks[place].send(sent)
        except StopIteration as end:
            results[place] = end.value
        else:
            assert isinstance(request, Request)
            waiting.append((place, request))

    try:
        for place in range(len(talks)):
            advance(place, None)
        while waiting:
            asked, waiting = waiting, []
            outcomes = yield tuple(request for _, request in asked)
            for (place, _), outcome in zip(asked, outcomes, strict=True):
                advance(place, outcome)
    finally:
        for talk in talks:
            talk.close()
    return results
