"""What a release says of itself in ``manifest.json``: files with hashes, counts, licence, rules, provenance.

There is no time stamp in it unless the caller gives a date: the same inputs give the same bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from proctor.errors import UserError
from proctor.exam.kinds.example import QUESTION_TYPES
from proctor.exam.kinds.moment_question import MOMENT, moment_candidate, moment_example
from proctor.exam.question import Footage, Item, Question
from proctor.records import Dropped, content_hash
from proctor.release.build import BuildRules
from proctor.verify.verdict import Verdict

if TYPE_CHECKING:  # the statistics bring numpy, which reading a release does not need
    from proctor.verify.statistics import Agreement, VerificationStatistics

__all__ = [
    "FORMAT",
    "FORMAT_VERSION",
    "Counts",
    "FileEntry",
    "KindCounts",
    "LibraryCounts",
    "Manifest",
    "ReleaseInfo",
    "Source",
    "Verification",
    "count_items",
    "describe_generators",
    "describe_verification",
    "sign",
]

FORMAT: Final = "proctor-benchmark"
FORMAT_VERSION: Final = 1

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


class Source(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A data set that the recordings and task graphs come from."""

    name: str
    title: str = ""
    version: str = ""
    licence: str = ""
    citation: str = ""
    homepage: str = ""
    corrections: str = ""


class ReleaseInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What only people can say of a release.

    Attributes:
        name: short, usable as a folder's name; scores carry it.
        version: of the release.
        title: for people.
        licence: SPDX identifier where there is one.
        summary: one or two sentences on what it is.
        languages: ISO 639 codes of questions and answers.
        citation: how to cite it.
        homepage: where it is published.
        date: printed when given.
        sources: where the recordings come from.
        limits: what users should know, one sentence each, beside the limits that are computed.
    """

    name: str
    version: str = "0.1.0"
    title: str = ""
    licence: str = ""
    summary: str = ""
    languages: tuple[str, ...] = ("en",)
    citation: str = ""
    homepage: str = ""
    date: str = ""
    sources: tuple[Source, ...] = ()
    limits: tuple[str, ...] = ()

    def check(self) -> None:
        """Make sure that name and version can stand in paths and signatures.

        Raises:
            UserError: if one cannot.
        """
        for what, value in (("name", self.name), ("version", self.version)):
            if not _NAME.fullmatch(value):
                raise UserError(
                    f"{value[:80]!r} cannot be the {what} of a release.",
                    hint="use letters, digits, '.', '-' and '_', a letter or digit first",
                )


class FileEntry(msgspec.Struct, frozen=True):
    """One file of a release."""

    sha256: str
    bytes: int


class KindCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is of one kind: questions, golds, clusters, and questions by each facet's values."""

    items: int
    golds: int
    clusters: int
    facets: dict[str, dict[str, int]]


class LibraryCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What of a library a release holds.

    Attributes:
        sources: whose content is in it, by licence.
        named: sources that are only named, by licence, because it does not allow to pass them on or is not known.
        pictures: files.
    """

    sources: dict[str, int]
    named: dict[str, int]
    pictures: int


class Counts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much there is; every mapping is sorted by its key, question types in their usual order.

    ``recordings`` are those of footage, ``clean`` to ``by_activity`` are of questions about moments. ``kinds`` is there when there
    are questions of other kinds.
    """

    items: int
    golds: int
    recordings: int
    activities: int
    clean: int
    noisy: int
    by_type: dict[str, int]
    by_activity: dict[str, int]
    golds_by_source: dict[str, int]
    golds_by_approver: dict[str, int]
    dropped: dict[str, int]
    kinds: dict[str, KindCounts] = {}


class Verification(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How the candidates were verified; agreement from 0 to 1, absent where nobody judged the same thing.

    Attributes:
        candidates: how many had a verdict.
        annotators: how many people, models and oracles.
        answer_agreement: raw agreement of people on generated answers: value, low, high, n.
        question_agreement: the same on questions.
        kappa: Cohen's, on answers.
        accepted: how many candidates people's verdicts let in.
        rejected: how many they did not.
        open: how many wait.
        oracle_confidence: of the verdicts behind accepted answers that the oracle approved: lowest, median, n.
    """

    candidates: int = 0
    annotators: dict[str, int] = {}
    answer_agreement: tuple[float, float, float, int] | None = None
    question_agreement: tuple[float, float, float, int] | None = None
    kappa: float | None = None
    accepted: int = 0
    rejected: int = 0
    open: int = 0
    oracle_confidence: tuple[float, float, int] | None = None


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The whole of ``manifest.json``."""

    format: str
    format_version: int
    proctor: str
    info: ReleaseInfo
    signature: str
    counts: Counts
    rules: BuildRules
    seeds: dict[str, int]
    generators: list[dict[str, str]]
    verification: Verification
    files: dict[str, FileEntry]
    library: LibraryCounts | None = None


def sign(info: ReleaseInfo, files: Mapping[str, FileEntry]) -> str:
    """Return ``name@version#hash``: equal for two releases only if their data are. The card does not count."""
    data = {name: entry.sha256 for name, entry in files.items() if name != "README.md"}
    return f"{info.name}@{info.version}#{content_hash(data)}"


# -- counting ------------------------------------------------------------------------------------------------


def count_items(items: Sequence[Item], dropped: Iterable[Dropped] = ()) -> Counts:
    """Count what a release holds and what was dropped on the way, by reason."""
    about_moments = [item.question for item in items if item.question.kind == MOMENT]
    types = Counter(question.facets["type"] for question in about_moments)
    known = [t for t in QUESTION_TYPES if t in types]
    golds = [gold for item in items for gold in item.golds]
    moments = [moment_example(question) for question in about_moments]
    footage = {part.recording for i in items for part in i.question.evidence if isinstance(part, Footage)}
    return Counts(
        items=len(items),
        golds=len(golds),
        recordings=len(footage),
        activities=len({moment.activity_id for moment in moments}),
        clean=sum(not moment.noisy for moment in moments),
        noisy=sum(moment.noisy for moment in moments),
        by_type={t: types[t] for t in [*known, *sorted(types.keys() - set(known))]},
        by_activity=_counted(moment.activity_name for moment in moments),
        golds_by_source=_counted(gold.written_by for gold in golds),
        golds_by_approver=_counted(gold.approved_by for gold in golds),
        dropped=_counted(d.reason for d in dropped),
        kinds=_by_kind(items) if len(about_moments) < len(items) else {},
    )


def _by_kind(items: Sequence[Item]) -> dict[str, KindCounts]:
    found: dict[str, list[Item]] = {}
    for item in items:
        found.setdefault(item.question.kind, []).append(item)
    return {kind: _of_kind(found[kind]) for kind in sorted(found)}


def _of_kind(items: Sequence[Item]) -> KindCounts:
    names = sorted({name for item in items for name in item.question.facets})
    return KindCounts(
        items=len(items),
        golds=sum(len(item.golds) for item in items),
        clusters=len({item.question.cluster or item.id for item in items}),
        facets={
            n: _counted(item.question.facets[n] for item in items if n in item.question.facets) for n in names
        },
    )


def _counted(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def describe_generators(items: Iterable[Item], candidates: Iterable[Question]) -> list[dict[str, str]]:
    """Say which generators, versions and models made the candidates behind these items, and how many each."""
    used = {moment_candidate(item.question) for item in items}
    made: Counter[tuple[str, str, str]] = Counter(
        (c.provenance.get("generator", ""), c.provenance.get("version", ""), c.provenance.get("model", ""))
        for c in candidates
        if c.id in used
    )
    return [
        {"generator": generator, "version": version, "model": model, "items": str(n)}
        for (generator, version, model), n in sorted(made.items())
    ]


def describe_verification(
    items: Sequence[Item], verdicts: Sequence[Verdict], people: VerificationStatistics
) -> Verification:
    """Condense what is known of the verification.

    Args:
        items: what was let in.
        verdicts: the latest of each annotator and role.
        people: statistics of the human verdicts.
    """
    kinds = {v.annotator: v.annotator_kind for v in verdicts if v.role == "annotator"}
    return Verification(
        candidates=len({v.candidate_id for v in verdicts}),
        annotators=_counted(kinds.values()),
        answer_agreement=_interval(people.answers),
        question_agreement=_interval(people.questions),
        kappa=None if people.answers.kappa.note else round(people.answers.kappa.value, 4),
        accepted=people.states.get("accepted", 0),
        rejected=people.states.get("rejected", 0),
        open=people.states.get("open", 0),
        oracle_confidence=_oracle_confidence(items, verdicts),
    )


def _interval(agreement: Agreement) -> tuple[float, float, float, int] | None:
    score = agreement.raw
    if not agreement.n or score.low is None or score.high is None:
        return None
    return round(score.value, 4), round(score.low, 4), round(score.high, 4), agreement.n


def _oracle_confidence(items: Iterable[Item], verdicts: Iterable[Verdict]) -> tuple[float, float, int] | None:
    used = {moment_candidate(i.question) for i in items if any(g.approved_by == "oracle" for g in i.golds)}
    values = sorted(
        answer.confidence
        for v in verdicts
        if v.annotator_kind == "oracle" and v.candidate_id in used
        for answer in v.answers
        if answer.value == "right" and answer.confidence is not None
    )
    if not values:
        return None
    middle = len(values) // 2
    median = values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
    return round(values[0], 4), round(median, 4), len(values)
