"""How far people agree who did the same tasks of a round, and what came of it in numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import combinations
from typing import Literal

import msgspec
import numpy as np

from proctor.metrics.agreement import Label, bootstrap_signature, mean_pair_agreement, ratio_score
from proctor.metrics.krippendorff import krippendorff_alpha
from proctor.metrics.score import Score
from proctor.verify.agreement import Estimate
from proctor.verify.rounds.form import Field, FormSheet, as_text
from proctor.verify.rounds.spans import Span, kept_spans

__all__ = ["Figures", "as_estimate", "form_agreement", "people_agreement"]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a round: how many of what there are, and numbers with their intervals, such as agreement."""

    counts: dict[str, int]
    numbers: dict[str, Estimate] = {}

    def lines(self) -> Iterator[str]:
        """Yield them for people."""
        yield ", ".join(f"{n:,} {what}" for what, n in self.counts.items() if n) or "nothing"
        for what, found in self.numbers.items():
            ends = "" if found.low is None else f" ({found.low:.3g} to {found.high:.3g})"
            value = f"undefined ({found.note})" if found.value is None else f"{found.value:.3g}{ends}"
            yield f"{what}: {value}, n {found.n:,}"


def people_agreement(
    of: str,
    labels: Mapping[str, Mapping[str, str | int]],
    clusters: Mapping[str, str],
    level: Literal["nominal", "ordinal"] = "nominal",
) -> dict[str, Estimate]:
    """Return raw agreement and Cohen's kappa (means over pairs of people) and Krippendorff's alpha; nothing where no two did the same.

    Kappa of an ordinal level has quadratic weights.

    Args:
        of: what they agree on, for the names of the numbers.
        labels: what they said, by person and task; numbers where the level of alpha is ordinal.
        clusters: of the tasks: what intervals draw whole.
        level: of alpha.
    """
    units = {
        task: [own[task] for own in labels.values() if task in own] for own in labels.values() for task in own
    }
    units = {task: given for task, given in units.items() if len(given) > 1}
    if not units:
        return {}
    weights: Literal["none", "quadratic"] = "quadratic" if level == "ordinal" else "none"
    raw = mean_pair_agreement(labels, clusters=clusters)
    kappa = mean_pair_agreement(labels, "kappa", weights=weights, clusters=clusters)
    alpha = krippendorff_alpha([*units.values()], level=level, clusters=[clusters[task] for task in units])
    names = {"raw agreement": raw, "mean kappa": kappa, "alpha": alpha}
    return {f"{of}, {name}": as_estimate(score) for name, score in names.items()}


def form_agreement(
    fields: Iterable[Field], said: Mapping[str, Mapping[str, FormSheet]]
) -> dict[str, Estimate]:
    """Return how far people agree in each field of a form that two filled in for one task, from sheets by person and task.

    Who left an optional span empty marked nothing. docs/rounds.md, *Own tasks*.
    """
    found: dict[str, Estimate] = {}
    for field in fields:
        own: dict[str, dict[str, str]] = {}
        rows: dict[str, list[str | list[str]]] = {}
        for person, by in said.items():
            for task, sheet in by.items():
                value = sheet.values.get(
                    field.name, [] if field.type == "span" and not field.required else ""
                )
                if value != "":
                    own.setdefault(person, {})[task] = as_text(value)
                    rows.setdefault(task, []).append(value)
        clusters = {task: task for task in rows}
        pairs = [(task, a, b) for task, row in rows.items() for a, b in combinations(row, 2)]
        if field.type == "span":
            found |= _span_agreement(field, pairs)
        elif field.type == "scale":
            numbers = {person: {task: int(v) for task, v in by.items()} for person, by in own.items()}
            found |= people_agreement(field.name, numbers, clusters, "ordinal")
        elif field.type in ("yesno", "choice"):
            found |= people_agreement(field.name, own, clusters)
        elif pairs:
            same = [(task, float(a == b), 1.0) for task, a, b in pairs]
            found[f"{field.name}, raw agreement"] = _share("raw_agreement", same)
        if field.type in ("choices", "number") and pairs:
            units = [[*map(as_text, row)] for row in rows.values()]
            if field.type == "choices":
                name, score = "Jaccard", krippendorff_alpha(units, distance=jaccard)
            else:
                name, score = (
                    "interval",
                    krippendorff_alpha([[*map(float, u)] for u in units], level="interval"),
                )
            found[f"{field.name}, alpha ({name})"] = as_estimate(score)
    return found


def _share(name: str, pairs: Sequence[tuple[str, float, float]], **more: str) -> Estimate:
    """Return the sum of the second over that of the third, of pairs of people for a task; the interval draws tasks."""
    tasks, *columns = zip(*pairs, strict=True)
    signature = bootstrap_signature(name, tasks, 0.95, 2_000, 0, **more)
    sums, why = np.array(columns), "nobody marked anything"
    return as_estimate(ratio_score(sums, tasks, signature, len(pairs), why, 0.95, 2_000, 0))


def _span_agreement(
    field: Field, pairs: Sequence[tuple[str, str | list[str], str | list[str]]]
) -> dict[str, Estimate]:
    """Return F1 over pairs of people of equal spans and of characters with the same label, for all labels and each."""
    found: dict[str, Estimate] = {}
    marked = [(task, kept_spans(a), kept_spans(b)) for task, a, b in pairs]
    for label in ("", *(field.choices if len(field.choices) > 1 else ())) if pairs else ():
        of = f"{field.name}, {label}" if label else field.name
        for unit in ("spans", "characters"):
            sets = [(t, _parts_of(a, label, unit), _parts_of(b, label, unit)) for t, a, b in marked]
            shared = [(task, 2.0 * len(a & b), float(len(a) + len(b))) for task, a, b in sets]
            found[f"{of}, F1 of {unit}"] = _share("span_f1", shared, of=unit)
    return found


def _parts_of(spans: Iterable[Span], label: str, unit: str) -> Set[object]:
    own = [span for span in spans if label in ("", span.label)]
    return {*own} if unit == "spans" else {(s.label, n) for s in own for n in range(s.start, s.end)}


def jaccard(a: Label, b: Label) -> float:
    """Return the Jaccard distance of two sets, each written with semicolons between its members: 0 for equal ones, 1 for disjoint ones."""
    one, two = set(str(a).split("; ")), set(str(b).split("; "))
    return 1 - len(one & two) / len(one | two)


def as_estimate(score: Score) -> Estimate:
    """Return a score as JSON has it."""
    value = None if math.isnan(score.value) else score.value
    return Estimate(value, score.low, score.high, score.n, note=score.note)
