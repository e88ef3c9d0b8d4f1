"""Does a model family favour itself? As a judge of its own answers, and as a predictor on its own questions.

Two tables (ProMQA, table 11): mean mark of predictor by judge, and of predictor by generator of the question. Beside them,
for every family, a difference own minus other in points:

- *plain*, judges: the marks that the family's judges give to the family's answers, minus those that other judges give to
  the same answers. A judge that is strict with everybody is strict here too, so this alone proves nothing.
- *adjusted*, judges: the plain difference minus the same difference on the answers of other families, item by item. This is
  self-preference proper: it is 0 for a judge that is merely strict or mild. Compared is with families that do not judge
  themselves, where there are any: a rival that favours its own answers would look like self-preference of the first.
- *plain* and *adjusted*, generators: the same with questions in place of judges; how much better a family's predictors do on
  its own questions, and how much better than the other families' predictors do on these.

Predictors without a family (floors, people) stand in the tables, but not in the differences.

Two models are of one family when the provider before the first slash of their names is the same (after ``anyllm/``, the
second part); names can be assigned to families by hand. Intervals and p-values draw or flip whole recordings; p-values are
corrected over the families of a table (Holm).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

import msgspec
import numpy as np

from proctor.exam.estimate import Draws, Estimate, cluster_t_test, difference_of_means
from proctor.exam.judge_marks import JudgeMarks
from proctor.metrics.bootstrap import bootstrap_interval, cluster_sums
from proctor.metrics.hypothesis_tests import holm, sign_flip_intervals, sign_flip_test
from proctor.metrics.score import Signature

__all__ = [
    "Preference",
    "PreferenceCell",
    "SelfPreference",
    "analyse_self_preference",
    "model_family",
    "strangers",
]

_NO_FAMILY: Final = frozenset({"replay", "human", ""})
_PAIRED_FROM: Final = 0.9
"""Share of the questions that must have a sister question by the other side for a paired comparison."""


class PreferenceCell(msgspec.Struct, frozen=True, kw_only=True):
    """Mean mark of one predictor at one judge, or on the questions of one generator.

    Attributes:
        predictor: who answered.
        column: name of the judge or the generator.
        own: both are of one family.
        score: mean in points of 0 to 100.
    """

    predictor: str
    column: str
    own: bool
    score: Estimate


class Preference(msgspec.Struct, frozen=True, kw_only=True):
    """Own minus other of one family.

    Attributes:
        family: whose.
        predictors: its predictors.
        own: its judges, or generators.
        others: the judges or generators of other families.
        plain: the difference on the family's own answers, in points.
        adjusted: the plain one minus that of other families' answers, in points.
        paired: the same answers (or questions about the same moments) stand on both sides.
    """

    family: str
    predictors: tuple[str, ...]
    own: tuple[str, ...]
    others: tuple[str, ...]
    plain: Estimate
    adjusted: Estimate
    paired: bool = True


class SelfPreference(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Both tables with their differences.

    Attributes:
        families: family of every model; names without a family are left out.
        judge_cells: predictor by judge, each predictor on the items that all its judges marked.
        judges: own minus other of each family as a judge.
        generator_cells: predictor by generator.
        generators: own minus other of each family as a generator.
        generator_judge: whose marks stand in the table of generators.
        notes: what was left out.
    """

    families: Mapping[str, str] = {}
    judge_cells: tuple[PreferenceCell, ...] = ()
    judges: tuple[Preference, ...] = ()
    generator_cells: tuple[PreferenceCell, ...] = ()
    generators: tuple[Preference, ...] = ()
    generator_judge: str = ""
    notes: tuple[str, ...] = ()


def model_family(name: str, families: Mapping[str, str] | None = None) -> str:
    """Return the family of a model by its name; empty when it has none.

    Args:
        name: ``provider/model``.
        families: pattern (``*`` and ``?``) of names to family; the first that fits decides.
    """
    for pattern, family in (families or {}).items():
        if name == pattern or fnmatchcase(name, pattern):
            return family
    parts = name.split("/")
    if len(parts) < 2 or parts[0] in _NO_FAMILY:
        return ""
    if parts[0] == "anyllm" and len(parts) > 2:
        return parts[1]
    if parts[0] in ("compat", "transformers"):
        # These are doors to any model: the served name is all that tells what stands behind.
        return "/".join(parts[:2]).partition("@")[0] if parts[0] == "compat" else name
    return parts[0]


def analyse_self_preference(
    judges: Sequence[JudgeMarks],
    recordings: Mapping[str, str],
    *,
    models: Mapping[str, str] | None = None,
    generators: Mapping[str, str] | None = None,
    moments: Mapping[str, str] | None = None,
    families: Mapping[str, str] | None = None,
    template: str | None = None,
    generator_judge: str = "",
    draws: Draws | None = None,
) -> SelfPreference:
    """Make both tables from all marks.

    Args:
        judges: marks of every setup on the answers of every predictor.
        recordings: recording of every item.
        models: model behind a predictor, where its name does not tell.
        generators: model that wrote each item's question.
        moments: example that each item asks about: questions about the same moment are paired.
        families: see ``model_family``.
        template: compare judges with this template; by default the one that most judges have.
        generator_judge: name of the setup whose marks the table of generators shows; the first one by default.
        draws: of intervals and tests.
    """
    draws, models, generators = draws or Draws(), models or {}, generators or {}
    notes: list[str] = []
    chosen = _one_template(judges, template, notes)
    points = {j.setup.name: _points(j, recordings) for j in chosen}
    predictors = sorted({p for by in points.values() for p in by})
    kin = {p: model_family(models.get(p, p), families) for p in predictors}
    kin_judges = {j.setup.name: model_family(j.setup.judge, families) for j in chosen}
    work = _Tables(recordings, draws, moments or {})
    shown = points.get(generator_judge) or next(iter(points.values()), {})
    name = generator_judge if generator_judge in points else next(iter(points), "")
    wrote = {i: g for i, g in generators.items() if g and i in recordings}
    kin_generators = {g: model_family(g, families) for g in sorted(set(wrote.values()))}
    judged = len(points) > 1
    return SelfPreference(
        families={n: f for n, f in sorted({**kin, **kin_judges, **kin_generators}.items()) if f},
        judge_cells=work.judge_cells(points, kin, kin_judges) if judged else (),
        judges=_corrected(work.judge_preferences(points, kin, kin_judges)) if judged else (),
        generator_cells=work.generator_cells(shown, wrote, kin, kin_generators) if wrote else (),
        generators=_corrected(work.generator_preferences(shown, wrote, kin, kin_generators)) if wrote else (),
        generator_judge=name if wrote else "",
        notes=tuple(notes),
    )


def _one_template(judges: Sequence[JudgeMarks], template: str | None, notes: list[str]) -> list[JudgeMarks]:
    """Judges with one template: marks on two scales, or by two questions, are no comparison of judges."""
    if template is None:
        counts = Counter((j.setup.template, j.setup.scale) for j in judges)
        best = min(counts, key=lambda key: (-counts[key], key), default=("", "ternary"))
        kept = [j for j in judges if (j.setup.template, j.setup.scale) == best]
        template = best[0]
    else:
        kept = [j for j in judges if j.setup.template == template]
    if others := [j.setup.name for j in judges if j not in kept]:
        notes.append(f"compared with the template '{template}' only; left out: {', '.join(others)}")
    return kept


Points = Mapping[str, Mapping[str, float]]
"""Predictor to item to points."""


def _points(judge: JudgeMarks, recordings: Mapping[str, str]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for answer, mark in judge.marks.items():
        if mark is not None and answer.item_id in recordings:
            found[answer.predictor][answer.item_id] = judge.setup.points * judge.setup.level(mark)
    return found


def _corrected(found: Sequence[Preference]) -> tuple[Preference, ...]:
    """Correct the p-values of each kind of difference over the families."""
    plain = holm([f.plain.p for f in found])
    adjusted = holm([f.adjusted.p for f in found])
    replace = msgspec.structs.replace
    return tuple(
        replace(f, plain=replace(f.plain, p_holm=p), adjusted=replace(f.adjusted, p_holm=q))
        for f, p, q in zip(found, plain, adjusted, strict=True)
    )


def strangers(family: str, kin: Mapping[str, str], columns: Mapping[str, str]) -> tuple[list[str], str]:
    """Return the predictors that those of a family are compared with, and what to beware of.

    Predictors of families that neither judge nor ask are neutral; those of others have a preference of their own, which
    would be added to the one that is measured.
    """
    others = [p for p, f in kin.items() if f not in (family, "")]
    neutral = [p for p in others if kin[p] not in columns.values()]
    if neutral:
        return neutral, ""
    if others:
        return others, "no neutral family to compare with: what the others do for their own adds to it"
    return [], "there is no predictor of another family to compare with"


def _noted(estimate: Estimate, note: str) -> Estimate:
    return msgspec.structs.replace(estimate, note="; ".join(filter(None, (estimate.note, note))))


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return math.fsum(numbers) / len(numbers)


class _Tables:
    def __init__(self, recordings: Mapping[str, str], draws: Draws, moments: Mapping[str, str]) -> None:
        self.recordings, self.draws, self.moments = recordings, draws, moments

    # -- cells -----------------------------------------------------------------------------------------------------

    def _cell(self, values: Mapping[str, float]) -> Estimate:
        signature = self.draws.sign(Signature("mean_mark", {"cluster": self.draws.cluster}))
        if not values:
            return Estimate(signature=str(signature), note="there are no such answers")
        items = sorted(values)
        sums = cluster_sums(
            [[values[i] for i in items], [1.0] * len(items)], [self.recordings[i] for i in items]
        )
        interval = bootstrap_interval(
            sums, confidence=self.draws.confidence, resamples=self.draws.resamples, seed=self.draws.seed
        )
        return Estimate.with_interval(_mean(values.values()), interval, len(items), signature)

    def judge_cells(
        self, points: Mapping[str, Points], kin: Mapping[str, str], kin_judges: Mapping[str, str]
    ) -> tuple[PreferenceCell, ...]:
        cells = []
        for predictor, family in kin.items():
            seen = {name: by[predictor] for name, by in points.items() if predictor in by}
            common = set.intersection(*(set(marks) for marks in seen.values()))
            cells += [
                PreferenceCell(
                    predictor=predictor,
                    column=name,
                    own=bool(family) and kin_judges[name] == family,
                    score=self._cell({i: marks[i] for i in common}),
                )
                for name, marks in seen.items()
            ]
        return tuple(cells)

    def generator_cells(
        self,
        marks: Points,
        wrote: Mapping[str, str],
        kin: Mapping[str, str],
        kin_generators: Mapping[str, str],
    ) -> tuple[PreferenceCell, ...]:
        return tuple(
            PreferenceCell(
                predictor=predictor,
                column=generator,
                own=bool(kin[predictor]) and kin[predictor] == family,
                score=self._cell({i: v for i, v in marks[predictor].items() if wrote.get(i) == generator}),
            )
            for predictor in kin
            if predictor in marks
            for generator, family in kin_generators.items()
        )

    # -- judges ----------------------------------------------------------------------------------------------------

    def judge_preferences(
        self, points: Mapping[str, Points], kin: Mapping[str, str], kin_judges: Mapping[str, str]
    ) -> list[Preference]:
        """Families that both answer and judge, where somebody else judges too."""
        found = []
        for family in sorted(set(kin.values()) & set(kin_judges.values()) - {""}):
            own = [j for j, f in kin_judges.items() if f == family]
            others = [j for j, f in kin_judges.items() if f != family]
            if not others:
                continue
            predictors = [p for p, f in kin.items() if f == family]
            others_of, note = strangers(family, kin, kin_judges)
            plain = self._shift(points, predictors, own, others)
            rest = self._shift(points, others_of, own, others)
            adjusted = {i: plain[i] - rest[i] for i in plain.keys() & rest.keys()}
            found.append(
                Preference(
                    family=family,
                    predictors=tuple(predictors),
                    own=tuple(own),
                    others=tuple(others),
                    plain=self._paired(plain, "self_preference_plain"),
                    adjusted=_noted(
                        self._paired(adjusted, "self_preference") if others_of else Estimate(), note
                    ),
                )
            )
        return found

    def _shift(
        self,
        points: Mapping[str, Points],
        predictors: Sequence[str],
        own: Sequence[str],
        others: Sequence[str],
    ) -> dict[str, float]:
        """Own judges minus other judges, by item, on the answers of these predictors that all judges marked."""
        by_item: dict[str, list[float]] = defaultdict(list)
        for predictor in predictors:
            marks = {j: points[j].get(predictor, {}) for j in (*own, *others)}
            for item in set.intersection(*(set(m) for m in marks.values())):
                by_item[item].append(
                    _mean(marks[j][item] for j in own) - _mean(marks[j][item] for j in others)
                )
        return {item: _mean(values) for item, values in by_item.items()}

    def _paired(
        self, differences: Mapping[str, float], name: str, clusters: Mapping[str, str] | None = None
    ) -> Estimate:
        signature = self.draws.sign(Signature(name, {"cluster": self.draws.cluster, "test": "sign-flip"}))
        if not differences:
            return Estimate(signature=str(signature), note="no answer was marked by both sides")
        keys = sorted(differences)
        groups = [(clusters or self.recordings)[k] for k in keys]
        values = [differences[k] for k in keys]
        test = sign_flip_test(values, groups, resamples=self.draws.resamples, seed=self.draws.seed)
        sums = cluster_sums([values, [1.0] * len(values)], groups)
        (interval,) = sign_flip_intervals(
            sums[:, :1],
            sums[:, 1:],
            [test.p],
            confidence=self.draws.confidence,
            resamples=self.draws.resamples,
            seed=self.draws.seed,
        )
        estimate = Estimate.with_interval(_mean(values), interval, len(values), signature)
        notes = "; ".join(dict.fromkeys(filter(None, (estimate.note, test.note))))
        return msgspec.structs.replace(estimate, p=test.p, note=notes)

    # -- generators ------------------------------------------------------------------------------------------------

    def generator_preferences(
        self,
        marks: Points,
        wrote: Mapping[str, str],
        kin: Mapping[str, str],
        kin_generators: Mapping[str, str],
    ) -> list[Preference]:
        """Families that both ask and answer, where somebody else asks too."""
        found = []
        for family in sorted(set(kin.values()) & set(kin_generators.values()) - {""}):
            own = [g for g, f in kin_generators.items() if f == family]
            others = [g for g, f in kin_generators.items() if f != family]
            predictors = [p for p, f in kin.items() if f == family and p in marks]
            if not others or not predictors:
                continue
            others_of, note = strangers(family, {p: f for p, f in kin.items() if p in marks}, kin_generators)
            plain = self._by_item(marks, predictors, wrote)
            rest = self._by_item(marks, others_of, wrote)
            lead = {i: plain[i] - rest[i] for i in plain.keys() & rest.keys()}
            mine = {i for i, g in wrote.items() if g in own}
            inside = sum(len(a) + len(b) for a, b in self._sisters(plain, mine).values())
            paired = bool(plain) and inside >= _PAIRED_FROM * len(plain)
            contrast = self._between_sisters if paired else self._between_questions
            found.append(
                Preference(
                    family=family,
                    predictors=tuple(predictors),
                    own=tuple(own),
                    others=tuple(others),
                    plain=contrast(plain, mine, "question_preference_plain"),
                    adjusted=_noted(
                        contrast(lead, mine, "question_preference") if others_of else Estimate(), note
                    ),
                    paired=paired,
                )
            )
        return found

    def _by_item(
        self, marks: Points, predictors: Sequence[str], wrote: Mapping[str, str]
    ) -> dict[str, float]:
        """Mean mark of these predictors on every question that all of them have a mark for."""
        if not predictors:
            return {}
        common = set.intersection(*(set(marks[p]) for p in predictors)) & set(wrote)
        return {i: _mean(marks[p][i] for p in predictors) for i in common}

    def _sisters(self, values: Iterable[str], mine: set[str]) -> dict[str, tuple[list[str], list[str]]]:
        """Moments that questions of both sides ask about, with these questions."""
        found: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
        for item in sorted(values):
            if item in self.moments:
                found[self.moments[item]][item not in mine].append(item)
        return {moment: both for moment, both in found.items() if all(both)}

    def _between_sisters(self, values: Mapping[str, float], mine: set[str], name: str) -> Estimate:
        sisters = self._sisters(values, mine)
        differences = {
            moment: _mean(values[i] for i in own) - _mean(values[i] for i in others)
            for moment, (own, others) in sisters.items()
        }
        return self._paired(
            differences, name, {m: self.recordings[own[0]] for m, (own, _) in sisters.items()}
        )

    def _between_questions(self, values: Mapping[str, float], mine: set[str], name: str) -> Estimate:
        """Difference of means over different questions; the test is Student's on sums over recordings."""
        signature = self.draws.sign(Signature(name, {"cluster": self.draws.cluster, "test": "cluster-t"}))
        items = sorted(values)
        own = np.array([i in mine for i in items], dtype=np.float64)
        if not own.any() or own.all():
            return Estimate(
                n=len(items), signature=str(signature), note="only one side's questions have marks"
            )
        marks = np.array([values[i] for i in items])
        clusters = [self.recordings[i] for i in items]
        sums = cluster_sums([marks * own, own, marks * (1 - own), 1 - own], clusters)
        interval = bootstrap_interval(
            sums,
            difference_of_means,
            confidence=self.draws.confidence,
            resamples=self.draws.resamples,
            seed=self.draws.seed,
        )
        value = float(difference_of_means(sums.sum(axis=0, keepdims=True))[0])
        estimate = Estimate.with_interval(value, interval, len(items), signature)
        return msgspec.structs.replace(estimate, p=cluster_t_test(marks, own, clusters, value))
