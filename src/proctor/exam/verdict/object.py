"""Verdicts in JSON objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from proctor.exam.verdict.aspect import aspect_levels, is_provisional
from proctor.exam.verdict.doubt import is_level, without_quotations
from proctor.exam.verdict.label import CORRECTIONS, LABEL, LINE_LIMIT, RANGE, any_case
from proctor.exam.verdict.own import OTHERS, is_introduced
from proctor.exam.verdict.reading import Mark, UnscoredReason, Value, levels_of
from proctor.exam.verdict.value import level_score, read_value
from proctor.llm.structured import find_objects

__all__ = ["from_loose_objects", "from_objects", "strings_of"]

_BEFORE_OBJECT = re.compile(r"[`\[\s]*(?:(?:json|output|result|response)\b\s*:?)?[`\[\s]*", re.IGNORECASE)
_KEYS = re.compile(rf"\s*(?:(?P<mark>{CORRECTIONS})[_ ])?{LABEL}\s*", re.IGNORECASE)
_SCALE_KEYS = any_case(
    r"(?:max(?:imum)?|out[_ ]?of|of|total|scale|range|top)(?:[_ ](?:score|points?|mark|value|rating|verdict))?|(?:score|points?|marks?|scale|rating|verdict)[_ ](?:max(?:imum)?|range|scale|top|out[_ ]?of|limit)"
)
_REFERENCE_KEYS = re.compile(r"(?:reference|ref|gold)(?:[_ ](?:id|index|number|answer|no))?", re.IGNORECASE)
_REFERENCE_VERDICT = any_case(
    rf"(?:{LABEL})[_ ]*(?:for|on|against|vs)?[_ ]*(?:reference|ref|gold)|(?:reference|ref|gold)(?:[_ ]?answer)?[_ ]?\w{{0,3}}[_ ]+{LABEL}"
)
_COUNT_KEYS = any_case(
    r"confiden|certain|initial|first|previous|prelim|draft|original|prob|index|idx|(?:^|[_ ])id|step|reference|ref\b|gold|num|count|time|token|max|min\b|scale|total|out[_ ]?of|length|words|version|seed|page|line|attempt|question|example|weight|answer|prediction|range|temperature|cups|minutes|of\b"
)
"""Keys whose numbers are no marks."""
_LOOSE_KEY = any_case(
    rf"[\"'“‘](?:(?:{CORRECTIONS})[_ ])?{LABEL}[\"'”’]\s*[:=]\s*[\"'“‘]?(?P<rest>[^\s,}}\"']{{1,12}})"
)
"""A key of an object that is no JSON."""


def strings_of(values: list[Any]) -> list[str]:
    """Return the strings of objects, at any depth, but not what they show of the question."""
    found: list[str] = []
    for _ in range(1_000):
        if not values:
            break
        value = values.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            values += [v for k, v in value.items() if k.lower() not in _SHOWN_KEYS]
        elif isinstance(value, list):
            values += value
    return found


def from_objects(text: str, top: int) -> Iterator[Mark]:
    """Yield verdicts of JSON objects that stand on lines of their own; those inside of sentences are quotations."""
    for found in find_objects(text):
        before = text[: found.begin].rpartition("\n")[2].strip()
        after = text[found.end :].partition("\n")[0].strip()
        if not _BEFORE_OBJECT.fullmatch(before) or after.strip("`], \t"):
            continue
        mark = _from_object(found.value, top)
        if mark is not None and not is_introduced(text[max(0, found.begin - 2 * LINE_LIMIT) : found.begin]):
            score, reason, word = mark
            yield Mark(
                found.begin,
                found.end,
                "json",
                score,
                reason,
                next(
                    (v for k, v in found.value.items() if k.lower() in _REASONS and isinstance(v, str)), None
                ),
                word,
                _reference(found.value),
            )


def _from_object(value: Mapping[str, Any], top: int) -> tuple[int | None, UnscoredReason | None, str] | None:
    """Return score, reason and the word that marks a correction; None for an object without a verdict."""
    keys = {key: match for key in value if (match := _KEYS.fullmatch(key))}
    referring = [
        _json_score(v, top) for k, v in value.items() if k not in keys and _REFERENCE_VERDICT.search(k)
    ]
    if not keys:
        return _best_of(referring, top) if referring else None
    scores = {key: _json_score(value[key], top) for key in keys}
    last = list(keys)[-1]
    word = (keys[last]["mark"] or "").lower()
    said = set(scores.values())
    if len(said) > 1 and not (word and all((keys[k]["mark"] or "").lower() != word for k in list(keys)[:-1])):
        return None, "contradictory", ""
    score, reason = scores[last]
    if score is None:
        return None, reason, word
    for key, other in value.items():
        if key in keys:
            continue
        if _SCALE_KEYS.fullmatch(key) and not _is_own_scale(other, top):
            return None, "scale", ""
        if is_provisional(key, other):
            return None, "doubted", ""
        levels = aspect_levels(key, other)
        if levels is not None and not levels & levels_of(score, top):
            return None, "contradictory", ""
        if isinstance(other, str) and key.lower() not in _REASONS:
            level = is_level(other.strip()) if key.lower() not in _SHOWN_KEYS else None
            if level is not None and level_score(level, top)[0] != score:
                return None, "contradictory", ""
    if referring and _best_of(referring, top)[0] != score:
        return None, "contradictory", ""
    if not _agree(
        score,
        [
            v
            for k, v in value.items()
            if k not in keys and not _COUNT_KEYS.search(k) and not _REFERENCE_VERDICT.search(k)
        ],
        top,
    ):
        return None, "contradictory", ""
    if any(nested != score for nested in _nested(value, top)):
        return None, "contradictory", ""
    return score, None, word


def _best_of(scores: Sequence[Value], top: int) -> tuple[int | None, UnscoredReason | None, str]:
    """Return the best of the verdicts on single references of one object."""
    read = [score for score, _ in scores if score is not None]
    if len(read) < len(scores):
        return None, "malformed", ""
    return (None, "ambiguous", "") if len(read) < 2 and max(read) < top else (max(read), None, "")


def _agree(score: int, others: Sequence[Any], top: int) -> bool:
    """True when the other numbers of an object say the same as its verdict, or differ among themselves around a middle one."""
    said = {
        int(v)
        for v in others
        if (isinstance(v, int) and not isinstance(v, bool) and 0 <= v <= top)
        or (isinstance(v, str) and re.fullmatch(r"\s*[0-2]\s*", v))
    }
    return said <= {score} or (0 < score < top and len(said) > 1)


def _nested(value: Mapping[str, Any], top: int) -> list[int | None]:
    """Return what objects inside of an object give as verdicts; of several references the best."""
    inner: list[Any] = [v for v in value.values() if isinstance(v, dict | list)]
    found: list[tuple[str, int | None]] = []
    for _ in range(1_000):
        if not inner:
            break
        held = inner.pop()
        if isinstance(held, dict):
            found += [
                (_reference(held), _json_score(v, top)[0]) for k, v in held.items() if _KEYS.fullmatch(k)
            ]
            inner += [v for v in held.values() if isinstance(v, dict | list)]
        else:
            inner += [v for v in held if isinstance(v, dict | list)]
    referring = [score for reference, score in found if reference and score is not None]
    return [score for reference, score in found if not reference or score is None] + (
        [max(referring)] if referring else []
    )


_REASONS: Final = frozenset(
    {"rationale", "reason", "reasons", "reasoning", "explanation", "comment", "feedback"}
)
_SHOWN_KEYS: Final = frozenset(
    {"question", "answer", "prediction", "reference", "references", "gold", "candidate", "response"}
)


def _reference(value: Mapping[str, Any]) -> str:
    return next(
        (str(v)[:20] for k, v in value.items() if _REFERENCE_KEYS.fullmatch(k) and isinstance(v, int | str)),
        "",
    )


def _is_own_scale(value: Any, top: int) -> bool:
    """True when the value of a key such as ``max`` names the scale that was asked for."""
    if isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        return value == top
    if isinstance(value, str):
        named = RANGE.search(value) or re.fullmatch(r"\s*(?P<top>\d+)\s*", value)
        return named is None or (int(named["top"]) == top and named.groupdict().get("low", "0") == "0")
    if isinstance(value, list):
        return value == list(range(top + 1)) or value == [0, top]
    return True


def from_loose_objects(text: str) -> Iterator[Mark]:
    """Yield verdicts of what looks like an object and is none (single quotes, no end): they only ever contradict."""
    for found in islice(_LOOSE_KEY.finditer(text), 200):
        begin = text.rfind("\n", 0, found.start()) + 1
        end = text.find("\n", found.end())
        end = len(text) if end < 0 else end
        around = without_quotations(text[begin : found.start()])
        if OTHERS.search(around) or re.search(
            r"\b(?:answer|prediction|candidate|response)\b", around, re.IGNORECASE
        ):
            continue
        value = re.match(r"\d", found["rest"])
        yield Mark(begin, end, "json", None, "malformed" if value is None else "contradictory")


def _json_score(value: Any, top: int) -> Value:
    if isinstance(value, bool) or value is None:
        return None, "malformed"
    if isinstance(value, int | float):
        return (int(value), None) if value in range(top + 1) else (None, "scale")
    if isinstance(value, str):
        return read_value(value.strip(), top) or (None, "malformed")
    return None, "malformed"
