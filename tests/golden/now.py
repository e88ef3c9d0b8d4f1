"""Where the fields of old results are today: the one place that a change of records changes.

A stored file is found today by ``FILES`` and its records by ``KEYS``; ``FIELDS`` says for each old field where it is in today's
record: a name (dots go into records), or a function of today's record that returns the value *as the old code wrote it*. So a
mark that is kept as 0 to 1 is compared as ``lambda r: r["value"] * 100`` with the 0 to 100 of old, and whoever renames a field
has to say so here. An old field that is not named here fails the test: nothing may be lost in silence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
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
    nothing = details.get("calls") == "0" and "resolution" in details
    return {**details, "calls": "1"} if nothing else details


LEFT_OUT: Final[Mapping[str, str]] = {
    "verdicts.jsonl at": "when a verdict was given",
    "run.json proctor": "the version of Proctor",
    "predictions.jsonl details.cost": "what the table of prices makes of the tokens, which are compared",
    "judgements.jsonl details.cost": "the same",
    "candidates.jsonl provenance.details.cost": "the same",
}
"""Fields that are not compared, and what they say."""

FILES: Final[tuple[tuple[str, str], ...]] = ()
"""Where an old file is today, as pairs of path prefixes; a file that is in none is where it was."""

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "predictions.jsonl": ("item_id",),
    "judgements.jsonl": ("item_id",),
    "verdicts.jsonl": ("candidate_id", "annotator", "role"),
    "candidates.jsonl": ("id",),
    "items.jsonl": ("id",),
    "comparisons.json": ("a", "b"),
}
"""Fields that name a record, by file; records of other files are compared in their order."""

FIELDS: Final[Mapping[str, Mapping[str, Place]]] = {
    "predictions.jsonl": _same("item_id predictor answer failure frame_indices frame_times")
    | {"details": _details},
    "judgements.jsonl": _same("item_id predictor judge score rationale gold failure details"),  # score: 0, 1, 2; None: unscored
    "run.json": _same("predictor role privilege seed items view"),
    "scores.json": _same("benchmark judge predictor privilege recordings rows item_marks"),  # marks: 0, 50, 100
    "comparisons.json": _same(
        "a b n clusters difference low high p p_holm effect detectable wins ties losses failed mean_a mean_b method note"
    ),
    "calibration.json": _same("calibration self_preference"),
    "candidates.jsonl": _same("id example_id recording_id type question answers provenance"),
    "items.jsonl": _same("id candidate_id candidate_hash example question golds question_approved_by"),
    "verdicts.jsonl": _same("candidate_id candidate_hash annotator annotator_kind role question answers own_answers note case_hash"),
    "dropped.jsonl": _same("id reason detail"),
}  # fmt: skip

WHOLE: Final = ("export.rows.jsonl", "export.published.json", "test.jsonl", "graphs.json")
"""Files that other people read: their records are compared whole, for their shape must not change."""


def today(path: str) -> str:
    """Return where a file of the old code is today."""
    for old, new in FILES:
        if path.startswith(old):
            return new + path.removeprefix(old)
    return path


def differences(path: str, old: str, new: str) -> list[str]:
    """Compare what an old file says with what today's says, field by field; return what differs, in words."""
    name = PurePosixPath(path).name
    kind = "dropped.jsonl" if name.endswith(".dropped.jsonl") else name
    before, now = _records(path, old), _records(path, new)
    places = FIELDS.get(kind, {})
    found = []
    assert places or kind in WHOLE, f"tests/golden/now.py does not know {kind}"
    if [_key(kind, r) for r in before] != [_key(kind, r) for r in now]:
        found.append(f"{path}: {len(before)} records were {[_key(kind, r) for r in before]}, now {len(now)}")
    by_key = {_key(kind, r): r for r in now} if kind in KEYS else {}
    for number, record in enumerate(before):
        other = by_key.get(_key(kind, record)) if kind in KEYS else (now[number : number + 1] or [None])[0]
        if other is None:
            continue
        if not places and not alike(record, other):
            found.append(f"{path} {number + 1}: was {json.dumps(record)[:400]}, is {json.dumps(other)[:400]}")
        for field in sorted({*record, *places} if places else ()):
            if f"{kind} {field}" in LEFT_OUT:
                continue
            if field not in places:
                found.append(f"{path}: tests/golden/now.py does not say where {field!r} is today")
                continue
            was, now_is = (
                _compared(f"{kind} {field}", v) for v in (record.get(field), _value(other, places[field]))
            )
            if not alike(was, now_is):
                said = f"was {json.dumps(was)[:400]}, is {json.dumps(now_is)[:400]}"
                found.append(f"{path} {_key(kind, record)} {field}: {said}")
    return found


def _compared(place: str, value: Any) -> Any:
    """Return a value without what is left out of it."""
    if not isinstance(value, dict):
        return value
    return {k: _compared(f"{place}.{k}", v) for k, v in value.items() if f"{place}.{k}" not in LEFT_OUT}


def _records(path: str, text: str) -> list[Mapping[str, Any]]:
    if path.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    found = json.loads(text)
    return found if isinstance(found, list) else [found]


def _key(kind: str, record: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(_value(record, FIELDS[kind][name]) for name in KEYS.get(kind, ()))


def _value(record: Mapping[str, Any], place: Place) -> Any:
    if callable(place):
        return place(record)
    found: Any = record
    for name in place.split("."):
        found = found.get(name) if found is not None else None
    return found


def alike(old: Any, new: Any) -> bool:
    """Tell whether two values say the same; numbers may differ by what another order of additions does."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(alike(value, new[name]) for name, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(alike, old, new))
    if isinstance(old, float) or isinstance(new, float):
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (old, new))
        return numbers and (old == new or abs(old - new) <= 1e-9 * max(1.0, abs(old)))
    return type(old) is type(new) and old == new
