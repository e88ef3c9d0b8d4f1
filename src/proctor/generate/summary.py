"""What a generator produced, in numbers: types, forms, styles, answer kinds and variety."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from proctor.generate.candidate import Candidate
from proctor.records import Dropped

__all__ = ["GenerationSummary", "distinct_n", "summarise_candidates"]


class GenerationSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Counts over candidates.

    Attributes:
        candidates: how many.
        dropped: examples that gave none, by reason.
        types: candidates by question type.
        forms: surface forms used, by type (person and tone do not count).
        form_counts: candidates by surface form.
        styles: candidates by wh, yesno, choice; empty for generators that do not say.
        tones: candidates by tone.
        answer_kinds: answers by direct, suggestion, intervention.
        answers_per_question: mean number of answers.
        leads: answers by first word (yes, no, other).
        distinct_questions: share of questions with words of their own.
        distinct_1: different words per word, over all questions.
        distinct_2: different word pairs per word pair.
    """

    candidates: int
    dropped: Mapping[str, int]
    types: Mapping[str, int]
    forms: Mapping[str, int]
    form_counts: Mapping[str, int]
    styles: Mapping[str, int]
    tones: Mapping[str, int]
    answer_kinds: Mapping[str, int]
    answers_per_question: float
    leads: Mapping[str, int]
    distinct_questions: float
    distinct_1: float
    distinct_2: float


def summarise_candidates(results: Iterable[Candidate | Dropped]) -> GenerationSummary:
    """Count what ``generate_candidates`` yields; works for candidates of any generator."""
    everything = list(results)
    made = [r for r in everything if isinstance(r, Candidate)]
    questions = [c.question for c in made]
    answers = [a for c in made for a in c.answers]
    forms = [(c.type, (c.provenance.form or "").split("/")[0]) for c in made]
    by_type = Counter(kind for kind, form in dict.fromkeys(forms) if form)
    return GenerationSummary(
        candidates=len(made),
        dropped=_sorted(Counter(r.reason for r in everything if isinstance(r, Dropped))),
        types=_sorted(Counter(c.type for c in made)),
        forms=_sorted(by_type),
        form_counts=_sorted(Counter(form for _, form in forms if form)),
        styles=_sorted(
            Counter(c.provenance.details["style"] for c in made if "style" in c.provenance.details)
        ),
        tones=_sorted(
            Counter(
                (c.provenance.form or "").split("/")[-1] for c in made if "/" in (c.provenance.form or "")
            )
        ),
        answer_kinds=_sorted(Counter(a.kind for a in answers)),
        answers_per_question=len(answers) / len(made) if made else 0.0,
        leads=_sorted(Counter(_lead(a.text) for a in answers)),
        distinct_questions=len(set(questions)) / len(questions) if questions else 0.0,
        distinct_1=distinct_n(questions, 1),
        distinct_2=distinct_n(questions, 2),
    )


def distinct_n(texts: Sequence[str], n: int) -> float:
    """Different n-grams divided by all n-grams (Li et al. 2016), over lower-case words; 0 for no n-grams."""
    seen: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        words = re.findall(r"\w+(?:'\w+)?", text.lower())
        seen.update(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
    total = seen.total()
    return len(seen) / total if total else 0.0


def _lead(text: str) -> str:
    first = re.match(r"\w+", text.lower())
    return first[0] if first and first[0] in ("yes", "no") else "other"


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda kv: (-kv[1], kv[0])))
