"""Where the fields of old results are today: the one place that a change of records changes.

A stored file is found today by ``FILES`` and its records by ``KEYS``; ``FIELDS`` says for each old field where it is in today's
record: a name (dots go into records), or a function of today's record that returns the value *as the old code wrote it*. So a
mark that is kept as 0 to 1 is compared as ``lambda r: r["value"] * 100`` with the 0 to 100 of old, and whoever renames a field
has to say so here. An old field that is not named here fails the test: nothing may be lost in silence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Final

__all__ = ["LEFT_OUT", "differences", "today"]

Place = str | Callable[[Mapping[str, Any]], Any]


def _same(names: str) -> dict[str, Place]:
    return {name: name for name in names.split()}


def _details(record: Mapping[str, Any]) -> Any:
    """A question about a moment of which nothing was asked said ``calls: 1``; questions about clips said 0, as all do now."""
    details = record.get("details")
    if details is None:
        return None
    details = {
        name: said for name, said in details.items() if name != "frame_numbers"
    }  # what is counted was not said
    nothing = details.get("calls") == "0" and "resolution" in details
    return {**details, "calls": "1"} if nothing else details


def _first_marks(record: Mapping[str, Any]) -> Any:
    return next(iter(record["marks"].values()))


_CLIP_ROW = (
    "slice",
    "kind",
    "value",
    "measure",
    "low",
    "high",
    "n",
    "failed",
    "skipped",
    "unparsed",
    "chance",
    "signature",
    "note",
)
"""Fields of rows over clips; clusters were called ``videos``."""


def _clip_rows(record: Mapping[str, Any]) -> Any:
    return [
        {name: row[name] for name in _CLIP_ROW if name in row}
        | ({"videos": row["clusters"]} if row.get("clusters") else {})
        for row in record["rows"]
    ]


_BOUNDS = ("least", "most", "full", "judge")
"""What rows did not say: the score with failures as wrong and as right, where all is right, and who marked."""


def _judged_rows(record: Mapping[str, Any]) -> Any:
    """Rows of answers about moments had no measure, for there was but one: the judge's points; nor did they count clusters."""
    return [
        {name: value for name, value in row.items() if name not in ("measure", "clusters", *_BOUNDS)}
        for row in record["rows"]
    ]


def _document_rows(record: Mapping[str, Any]) -> Any:
    """Rows over documents named their system, and counted neither clusters nor marks."""
    return [
        {name: value for name, value in row.items() if name not in ("clusters", "marks", *_BOUNDS)}
        | {"system": record["predictor"]}
        for row in record["rows"]
    ]


def _document_marks(record: Mapping[str, Any]) -> Any:
    """Only judges' marks were kept, not likeness to the reference."""
    return {name: marks for name, marks in record["marks"].items() if name not in ("rouge-1", "bertscore")}


def _document_counts(record: Mapping[str, Any]) -> Any:
    """Counts that were 0 were left out."""
    counts = record["counts"]
    old = {
        "questions": counts["questions"],
        "failed answers": counts["failed"],
        "not asked": counts["not asked"],
    }
    for name in _document_marks(record):
        unread = counts.get(f"{name}: unmarked: judge_unparsed", 0)
        old |= {f"{name}: {score}": counts[f"{name}: {score}"] for score in (0, 1, 2)}
        old |= {
            f"{name}: judge_unparsed": unread,
            f"{name}: unscored otherwise": counts[f"{name}: unmarked"] - unread,
        }
    return {name: n for name, n in old.items() if n}


def _embedders(record: Mapping[str, Any]) -> Any:
    """BM25 was not named, since it did not choose candidates."""
    return [name for name in record.get("embedders", ()) if name != "bm25"]


def _privilege(record: Mapping[str, Any]) -> Any:
    """What an open-ended answer was told beside the clip was not said."""
    return record.get("privilege") if record.get("letters") else None


def _clip_counts(record: Mapping[str, Any]) -> Any:
    """What a consistency judge said had names of its own."""
    names = {"consistency: yes": "consistent", "consistency: no": "inconsistent"}
    return {names.get(name, name.removeprefix("consistency: ")): n for name, n in record["counts"].items()}


def _golds(record: Mapping[str, Any]) -> Any:
    """Golds of moments were texts with everything said of them beside."""
    names = {"written_by": "source", "approved_by": "approved_by"}
    values = {"text": "text", "kind": "kind", "cites": "step_ids"}
    return [
        {old: gold["value"][new] for new, old in values.items() if new in gold["value"]}
        | {old: gold[new] for new, old in names.items() if new in gold}
        for gold in record["golds"]
    ]


def _proposed(name: str) -> Place:
    return lambda record: record["proposals"][0]["value"][name]


def _modalities(record: Mapping[str, Any]) -> Any:
    return [record["facets"]["combination"].split("+").count(name) for name in ("text", "table", "image")]


def _content(record: Mapping[str, Any]) -> Any:
    return {part["id"]: part["hash"] for part in record["evidence"]}


def _prompts(record: Mapping[str, Any]) -> Any:
    made = record["provenance"].items()
    return {name.removeprefix("prompt:"): digest for name, digest in made if name.startswith("prompt:")}


def _models(record: Mapping[str, Any]) -> Any:
    roles = ("entity", "generator", "verifier", "retriever")
    return {role: record["provenance"][role] for role in roles if record["provenance"].get(role)}


_PAIR: Final = "id clip_id video_id dataset level category position question answer step_ids details"


LEFT_OUT: Final[Mapping[str, str]] = {
    "predictions.jsonl frame_indices": "they were presentation time stamps (the family of calls 'frame numbers'); the times are compared",
    "verdicts.jsonl at": "when a verdict was given",
    "run.json proctor": "the version of Proctor",
    "run.json items": "the hash of the items as records; that a run is gone on with shows that it is of these",
    "table.json benchmark": "the folder and a hash of the questions; today the benchmark's name and version, in signatures, too",
    "clip-runs/judgements.jsonl details": "the old judge wrote the keys of all its calls and the sum of their tokens; the engine "
    "that marks every kind writes its template and the tokens of the last call alone (since 119d0a0)",
}
"""Fields that are not compared, and what they say. Costs are not, either, wherever they stand: tokens are, prices change."""

FILES: Final[tuple[tuple[str, str], ...]] = (("styled.", "documents."),)
"""Where an old file is today, as pairs of path prefixes; a file that is in none is where it was."""

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "predictions.jsonl": ("item_id", "details.rotation"),
    "judgements.jsonl": ("item_id",),
    "clip-runs/judgements.jsonl": ("item_id",),
    "verdicts.jsonl": ("candidate_id", "annotator", "role"),
    "candidates.jsonl": ("id",),
    "items.jsonl": ("id",),
    "comparisons.json": ("a", "b"),
    "styled.jsonl": ("id",),
    "retrieval/ranking.jsonl": ("qid",),
}
"""Fields that name a record, by file; records of other files are compared in their order."""

FIELDS: Final[Mapping[str, Mapping[str, Place]]] = {
    "predictions.jsonl": _same("item_id predictor answer failure frame_times")
    | {"details": _details},
    "judgements.jsonl": _same("item_id predictor judge score rationale gold failure details"),  # score: 0, 1, 2; None: unscored
    "clip-runs/judgements.jsonl": _same("item_id predictor judge score rationale gold failure"),
    "run.json": _same("predictor role privilege seed items view"),
    "scores.json": _same("benchmark judge predictor privilege")
    | {"rows": _judged_rows, "recordings": "clusters", "item_marks": "marks.judge"},  # marks: 0, 50, 100
    "comparisons.json": _same(
        "a b n clusters difference low high p p_holm effect detectable wins ties losses failed mean_a mean_b method note"
    ),
    "calibration.json": _same("calibration self_preference"),
    "candidates.jsonl": _same("id example_id recording_id type question answers provenance"),
    "items.jsonl": {
        "id": "question.id",
        "candidate_id": "question.provenance.candidate",
        "candidate_hash": "question.provenance.version",
        "example": "question.facts",
        "question": "question.text",
        "golds": _golds,
        "question_approved_by": "approved_by",
    },
    "table.json": _same(  # of one system over clips; marks 0 to 1; None where a rotation has no answer
        "predictor judge clusters"
    )
    | {"counts": _clip_counts, "privilege": _privilege}
    | {name: f"letters.{name}" for name in ("circular", "answers", "balance_p", "recall_spread")}
    | {"letters": "letters.rows", "item_marks": _first_marks, "rows": _clip_rows},
    "answers/table.json": _same("predictor notes")
    | {"counts": _document_counts, "marks": _document_marks, "cells": _document_rows},  # marks: 0 to 100; a question's golds must all be given
    "retrieval/table.json": _same("runs cells counts recalls questions notes"),
    "retrieval/run.json": _same("spec retriever questions signature details") | {"embedders": _embedders},
    "retrieval/ranking.jsonl": _same("qid retriever ids scores failure"),
    "concur.json": _same("benchmarks systems scores pairs tau p low high tied questions incomplete left_out notes signature"),
    "questions.jsonl": _same("qid question answers gold gold_complete modalities type context split meta"),
    "styled.jsonl": {"id": "id", "style": "facets.style", "question": "text", "modalities": _modalities}
    | {"answer": _proposed("text"), "gold": _proposed("cites"), "content": _content, "prompts": _prompts}
    | {"seed": lambda r: int(r["provenance"]["seed"]) or None, "models": _models}  # a seed of 0 was left out
    | {name: f"provenance.{name}" for name in ("style_hash", "config_hash", "corpus_hash")}
    | {
        name: f"facts.{name}"
        for name in (
            *("entity", "seed_id", "hops", "distractors", "typed_distractors", "difficulty", "ranks"),
            *("checks", "calls", "attempts"),
        )
    },
    "overlap.json": _same("styles rows failures"),
    "overlap.jsonl": _same("qid style said failure model calls"),
    "styled.attempts.jsonl": _same("target number outcome detail seed_id entity candidates calls"),
    "styled.json": _same("summary short coverage seed_statistics near_known waves interrupted"),
    "clips.jsonl": _same("id video_id dataset task split start end steps"),
    "pairs.jsonl": _same(_PAIR),
    "open.jsonl": _same(_PAIR),
    "training.jsonl": _same(_PAIR),
    "pairs.json": _same("clips summary interrupted"),
    "filters.jsonl": _same("item_id filter judge keep reason evidence details"),
    "filters.json": _same("subject funnel interrupted"),
    "audit.json": _same("planted by_rule confusion precision recall f1 confidence rows"),
    "audit.planted.jsonl": _same("kind pair problem rule"),
    "audit.verdicts.jsonl": _same("item_id filter judge keep reason evidence details"),
    "choices.jsonl": _same("id question options letter distractors votes confirmed attempts details"),
    "choices.json": _same("subject summary"),
    "choices.attempts.jsonl": _same("item number outcome wrong votes confirmed detail calls"),
    "verdicts.jsonl": _same("candidate_id candidate_hash annotator annotator_kind role question answers own_answers note case_hash"),
    "dropped.jsonl": _same("id reason detail"),
}  # fmt: skip

WHOLE: Final = (
    "sources.jsonl",
    "aliases.jsonl",
    "export.rows.jsonl",
    "export.published.json",
    "test.jsonl",
    "graphs.json",
)
"""Files that other people read: their records are compared whole, for their shape must not change."""


def today(path: str) -> str:
    """Return where a file of the old code is today."""
    for old, new in FILES:
        if path.startswith(old):
            return new + path.removeprefix(old)
    return path


def differences(path: str, old: str, new: str) -> list[str]:
    """Compare what an old file says with what today's says, field by field; return what differs, in words."""
    kind = _kind(path)
    if kind == "table.json":
        old, new = (re.sub(r"\|benchmark:[^|]*", "", text) for text in (old, new))
    before, now = _records(path, old), _records(path, new)
    places = FIELDS.get(kind, {})
    found = []
    assert places or kind in WHOLE, f"tests/golden/now.py does not know {kind}"
    if [_key(kind, r) for r in before] != [_key(kind, r, places) for r in now]:
        found.append(f"{path}: {len(before)} records were {[_key(kind, r) for r in before]}, now {len(now)}")
    by_key = {_key(kind, r, places): r for r in now} if kind in KEYS else {}
    for number, record in enumerate(before):
        other = by_key.get(_key(kind, record)) if kind in KEYS else (now[number : number + 1] or [None])[0]
        if other is None:
            continue
        if not places and not alike(record, other):
            found.append(f"{path} {number + 1}: was {json.dumps(record)[:400]}, is {json.dumps(other)[:400]}")
        for field in sorted({*record, *places} if places else ()):
            if field == "cost" or f"{kind} {field}" in LEFT_OUT:
                continue
            if field not in places:
                found.append(f"{path}: tests/golden/now.py does not say where {field!r} is today")
                continue
            was, now_is = (_compared(v) for v in (record.get(field), _value(other, places[field])))
            if not alike(was, now_is):
                said = f"was {json.dumps(was)[:400]}, is {json.dumps(now_is)[:400]}"
                found.append(f"{path} {_key(kind, record)} {field}: {said}")
    return found


def _kind(path: str) -> str:
    """Return which records a file holds."""
    folder, name = path.partition("/")[0], PurePosixPath(path).name
    if name.endswith("dropped.jsonl"):
        return "dropped.jsonl"
    if folder == "retrieval" and name != "table.json":
        return "retrieval/run.json" if name.endswith(".run.json") else "retrieval/ranking.jsonl"
    if name == "table.json" and folder in ("retrieval", "answers"):
        return f"{folder}/{name}"
    if name == "judgements.jsonl" and folder == "clip-runs":
        return f"{folder}/{name}"
    return "judgements.jsonl" if name.startswith("judgements.") else name


def _compared(value: Any) -> Any:
    """Return a value without its costs."""
    if isinstance(value, dict):
        return {name: _compared(v) for name, v in value.items() if name != "cost"}
    return [_compared(v) for v in value] if isinstance(value, list) else value


def _records(path: str, text: str) -> list[Mapping[str, Any]]:
    if path.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    found = json.loads(text)
    return found if isinstance(found, list) else [found]


def _key(
    kind: str, record: Mapping[str, Any], places: Mapping[str, Place] = MappingProxyType({})
) -> tuple[Any, ...]:
    """Return what names a record: an old one, or today's by its ``places``."""
    return tuple(_value(record, places.get(name, name)) for name in KEYS.get(kind, ()))


def _value(record: Mapping[str, Any], place: Place) -> Any:
    if callable(place):
        return place(record)
    found: Any = record
    for name in place.split("."):
        found = found.get(name) if found is not None else None
    return found


def alike(old: Any, new: Any) -> bool:
    """Tell whether two values say the same; numbers may differ by what another CPU makes of a sum (rankings hold 32-bit scores)."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(alike(value, new[name]) for name, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(alike, old, new))
    if isinstance(old, float) or isinstance(new, float):
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (old, new))
        return numbers and (old == new or abs(old - new) <= 1e-6 * max(1.0, abs(old)))
    return type(old) is type(new) and old == new
