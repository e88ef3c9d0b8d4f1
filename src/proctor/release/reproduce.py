"""Recompute published ProMQA examples from the annotations, field by field.

Every mechanical field of the release can be derived; so can the pairs parsed from the
model's response (5.3), the adjudication case (6.2) and the merged answers (6.4). ``compare_fields`` derives them
again and says which examples differ, and where a difference is intended, why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from proctor.ask.moment.parse import parse_pairs
from proctor.ask.moment.promqa import START_ID, PromqaExample, PromqaStep, kind_to_tag, render_clock
from proctor.exam.kinds.example import Example, Performed, StepRef
from proctor.release.promqa import merge_published

__all__ = [
    "MECHANICAL_FIELDS",
    "FieldCount",
    "Reproduction",
    "compare_adjudication",
    "compare_fields",
    "compare_parsing",
    "differences",
    "published_fields",
]

MECHANICAL_FIELDS: Final = (
    "previous_steps",
    "current_step",
    "next_steps",
    "missing_steps",
    "error_description",
    "is_noisy",
    "end_time",
)

START_TEXT: Final = "Start-Start cooking."


class FieldCount(msgspec.Struct, frozen=True):
    """How many examples have the field, in how many it came out equal, and the ids of the others."""

    n: int
    equal: int
    different: tuple[str, ...] = ()


class Reproduction(msgspec.Struct, frozen=True):
    """The outcome over all examples; ``absent`` lists published ids that derivation does not produce."""

    examples: int
    fields: dict[str, FieldCount]
    all_fields: FieldCount
    absent: tuple[str, ...]


def compare_fields(published: Sequence[PromqaExample], derived: Mapping[str, Example]) -> Reproduction:
    """Compare the mechanical fields of published examples with derived ones of the same id, list order included."""
    pairs = [(p, published_fields(derived[p.question_id])) for p in published if p.question_id in derived]
    absent = tuple(p.question_id for p in published if p.question_id not in derived)
    fields = {}
    wrong: set[str] = set(absent)
    for name in MECHANICAL_FIELDS:
        having = [(p, d) for p, d in pairs if getattr(p, name) is not None]
        lacking = [
            p.question_id for p in published if p.question_id in absent and getattr(p, name) is not None
        ]
        different = [p.question_id for p, d in having if _plain(getattr(p, name)) != d.get(name)]
        wrong.update(different)
        fields[name] = FieldCount(
            len(having) + len(lacking), len(having) - len(different), tuple(sorted(different + lacking))
        )
    all_fields = FieldCount(len(published), len(published) - len(wrong), tuple(sorted(wrong)))
    return Reproduction(len(published), fields, all_fields, absent)


def published_fields(example: Example) -> dict[str, Any]:
    """Return the mechanical fields of an example as the release writes them."""
    fields: dict[str, Any] = {
        "previous_steps": [_performed(p) for p in example.previous],
        "current_step": _performed(example.current)
        if example.current
        else {"step_id": START_ID, "description": START_TEXT},
        "is_noisy": example.noisy,
        "end_time": render_clock(example.end),
    }
    if example.next_steps is not None:
        fields["next_steps"] = _refs(example.next_steps)
    if example.missing_steps is not None:
        fields["missing_steps"] = _refs(example.missing_steps)
    if example.mistake_texts:
        fields["error_description"] = example.mistake_texts[-1]
    return fields


def _performed(step: Performed) -> dict[str, Any]:
    plain: dict[str, Any] = {"step_id": int(step.step_id), "description": step.text}
    if step.mistakes:
        plain["errors"] = [{"tag": kind_to_tag(m.kind), "description": m.text} for m in step.mistakes]
    return plain


def _refs(steps: Iterable[StepRef]) -> list[dict[str, Any]]:
    return [{"step_id": int(s.step_id), "description": s.text} for s in steps]


def _plain(value: object) -> object:
    """Return a published value as plain JSON, without ``errors`` where there are none."""
    if isinstance(value, PromqaStep):
        plain: dict[str, Any] = {"step_id": value.step_id, "description": value.description}
        if value.errors:
            plain["errors"] = [{"tag": m.tag, "description": m.description} for m in value.errors]
        return plain
    return [_plain(v) for v in value] if isinstance(value, tuple) else value


def compare_parsing(published: Sequence[PromqaExample]) -> FieldCount:
    """Parse every stored response again and compare the multiset of pairs, trimmed."""
    different = []
    for p in published:
        parsed = Counter((pair.question, pair.answers) for pair in parse_pairs(p.generation.response).pairs)
        stored = Counter((q.question.strip(), tuple(a.strip() for a in q.answers)) for q in p.generation.qas)
        if parsed != stored:
            different.append(p.question_id)
    return FieldCount(len(published), len(published) - len(different), tuple(different))


def differences(published: PromqaExample, example: Example) -> Iterator[str]:
    """Yield the names of the mechanical fields that differ."""
    fields = published_fields(example)
    for name in MECHANICAL_FIELDS:
        value = getattr(published, name)
        if value is not None and _plain(value) != fields.get(name):
            yield name


_MERGED: Final = ("question", "question_approved_by", "answers", "answer_tags", "answer_approved_by")


def compare_adjudication(published: Sequence[PromqaExample]) -> tuple[FieldCount, FieldCount]:
    """Rebuild the adjudication case, and the merged answers, from the raw judgements alone.

    Returns:
        The counts for the case (shuffled answers, their origin, initial values, whether an adjudicator was
        needed) and for the merge (question, answers, who wrote and who approved them).
    """
    wrong_case, wrong_merge = [], []
    for one in published:
        rebuilt = merge_published(one)
        if rebuilt["adjudication"] != one.origin["adjudication"] or rebuilt["needs_adjudication"] != (
            one.adjudication.judge is not None
        ):
            wrong_case.append(one.question_id)
        if any(rebuilt[name] != one.origin[name] for name in _MERGED):
            wrong_merge.append(one.question_id)
    n = len(published)
    return (
        FieldCount(n, n - len(wrong_case), tuple(wrong_case)),
        FieldCount(n, n - len(wrong_merge), tuple(wrong_merge)),
    )
