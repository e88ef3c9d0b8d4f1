"""What was read and answered, in numbers and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from proctor.metrics.choice import ParsedLetter
from proctor.metrics.names import near_miss_note
from proctor.stages.scoring.answer_files import AnswerData
from proctor.stages.scoring.answer_values import AnswerMetric, Missing, given_responses

__all__ = ["answer_counts", "chance_notes", "reading_notes"]

_NO_CHANCE: Final[Mapping[AnswerMetric, str]] = {
    "judge": "no chance level of judgements: only a judge can say what answers without knowledge get; judge such a run too",
    "bertscore": "no chance level of BERTScore: unrelated texts are far above 0, and --baseline takes that out",
}


def chance_notes(metrics: Sequence[AnswerMetric]) -> list[str]:
    """Say which metrics have no row of chance, and why."""
    return [note for metric, note in _NO_CHANCE.items() if metric in metrics]


def answer_counts(data: AnswerData, letters: Sequence[ParsedLetter | None]) -> dict[str, int]:
    """Numbers to print below the table."""
    counts = {"questions": len(data.questions), "clusters": len({q.cluster for q in data.questions})}
    if data.has_responses:
        responses = given_responses(data)
        counts["answered"] = sum(r is not None for r in responses)
        counts["without response"] = sum(r is None for r in responses)
        counts["empty responses"] = sum(r is not None and not r.strip() for r in responses)
    if data.has_judgements:
        counts["judged"] = sum(reply.judgement is not None for reply in data.replies.values())
        counts["judgements unparsed"] = sum(reply.unparsed for reply in data.replies.values())
    if letters:
        counts["letters unparsed"] = sum(p is not None and p.letter is None for p in letters)
    counts["predictions of unknown questions"] = len(data.unknown)
    return counts


def reading_notes(data: AnswerData, missing: Missing) -> list[str]:
    """Say which questions have no prediction, which predictions no question, and what is drawn."""
    notes = []
    without = sum(
        q.id not in data.replies or (data.has_responses and data.replies[q.id].response is None)
        for q in data.questions
    )
    if without:
        fate = "count as wrong" if missing == "wrong" else "are left out of the means and counted as failed"
        notes.append(f"{without:,} of {len(data.questions):,} questions have no prediction: they {fate}")
    if near := near_miss_note([q.id for q in data.questions], data.unknown, "ids"):
        notes.append(near)
    if data.unknown:
        shown = ", ".join(map(repr, data.unknown[:3]))
        notes.append(
            f"{len(data.unknown):,} predictions have the id of no question and are not used ({shown})"
        )
    if data.cluster == "item":
        notes.append(
            "every question is drawn by itself; questions about one recording are not independent: name its column "
            "with --cluster"
        )
    return notes
