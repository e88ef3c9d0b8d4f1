"""The signatures of a table's scores, each measure once: a table of forty scores would else print forty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proctor.metrics.score import Signature
from proctor.metrics.table import ScoreRow

__all__ = ["SignatureGroup", "group_signatures"]


@dataclass(frozen=True, slots=True)
class SignatureGroup:
    """Signatures of one measure that fix the same choices, perhaps differently.

    Attributes:
        metrics: the columns that were measured so.
        chance: only scores that know nothing were.
        joined: one line for all; where they differ in a choice, its values stand together in braces.
        each: every distinct signature with the first score that has it (metric, slice).
    """

    metrics: tuple[str, ...]
    chance: bool
    joined: str
    each: tuple[tuple[ScoreRow, str], ...]


def group_signatures(rows: Sequence[ScoreRow]) -> list[SignatureGroup]:
    """Return the groups in the order of their first score."""
    alike: dict[tuple[str, tuple[str, ...]], list[ScoreRow]] = {}
    for row in rows:
        signature = row.score.full_signature
        alike.setdefault((signature.name, tuple(sorted(signature.parameters))), []).append(row)
    return [_group(group) for group in alike.values()]


def _group(rows: Sequence[ScoreRow]) -> SignatureGroup:
    first: dict[str, ScoreRow] = {}
    for row in rows:
        first.setdefault(str(row.score.full_signature), row)
    metrics = tuple(dict.fromkeys(row.metric for row in rows))
    each = tuple((row, text) for text, row in first.items())
    joined = _joined([row.score.full_signature for row in first.values()])
    return SignatureGroup(metrics, all(row.chance for row in rows), joined, each)


def _joined(signatures: Sequence[Signature]) -> str:
    parts = [signatures[0].name]
    for key in sorted(signatures[0].parameters):
        values = list(dict.fromkeys(s.parameters[key] for s in signatures))
        parts.append(f"{key}:{values[0]}" if len(values) == 1 else f"{key}:{{{' '.join(values)}}}")
    return "|".join(parts)
