"""Studies with people, from files: an even sample, forms, ratings and their statistics; manuals that people vote on."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final

import msgspec

from proctor.datasets.dataset import guess_dataset
from proctor.datasets.golden import Sampled, Tally, read_ballots, sample_manuals, tally_ballots
from proctor.datasets.sequence_files import read_sequences, write_sequences
from proctor.datasets.splits import group_records
from proctor.errors import UserError
from proctor.exam.concur import ConcurrenceTable, concur
from proctor.exam.csv_rows import iter_csv_rows
from proctor.exam.human_study import (
    PUBLISHED,
    SMMQG,
    YES_NO,
    HumanStudy,
    Payment,
    Rating,
    Scales,
    analyse_study,
    corrected_ratings,
    group_values,
    payments,
    read_ratings,
    settled_ratings,
)
from proctor.exam.question import Question
from proctor.exam.source_sampling import sample_evenly
from proctor.learn.sequencing.data import undivided_keys
from proctor.procedure.manual import Manual, Sequence
from proctor.records import Dropped, atomic_folder, write_jsonl
from proctor.settings import Settings, argument, option
from proctor.spreadsheet import csv_text
from proctor.stages.documents.concur import mark_sheet
from proctor.stages.documents.reading import load_questions
from proctor.verify.agreement import Estimate
from proctor.verify.rounds.agreement import Figures, people_agreement
from proctor.verify.rounds.rate import read_form, scales_of
from proctor.workspace import Workspace

__all__ = [
    "BallotSettings", "DrawSettings", "Drawn", "Golden", "GoldenSettings", "ManualSettings", "RatingSettings",
    "StudyResult", "choose_golden", "draw_manuals", "draw_study", "evaluate_ratings", "read_key", "tally",
]  # fmt: skip


class DrawSettings(Settings, frozen=True, kw_only=True):
    """Which questions people rate, or systems are ranked by."""

    out: Annotated[Path, argument("Folder to write: questions.jsonl, groups.csv, key.csv.", "FOLDER")]
    concurrence: Annotated[bool, option("To rank systems: 150 of two styles and of the data's kinds.")] = (
        False
    )
    styles: Annotated[tuple[str, ...], option("Generated styles (repeatable; default: the study's).")] = ()
    per_style: Annotated[int | None, option("Generated questions of each style (60, 150).", ge=0)] = None
    reference: Annotated[int | None, option("The data's own of each kind (60, 150).", ge=0)] = None
    tests: Annotated[int, option("Further generated ones; their right ratings go into key.csv.", ge=0)] = 0
    ratings: Annotated[
        Path | None, option("Leave out questions that these ratings call unanswerable or disfluent.")
    ] = None
    seed: Annotated[int, option("Equal seeds draw equal samples.")] = 0


class RatingSettings(Settings, frozen=True, kw_only=True):
    """What people said, and what is compared."""

    ratings: Annotated[
        Path,
        argument(
            "CSV file with worker, sample, fluency (1 to 5), style, relevance, answerability, correctness (yes, no)."
        ),
    ]
    groups: Annotated[Path, argument("CSV file with group, sample, as 'study draw' writes it.")]
    compare: Annotated[
        tuple[str, ...], option("Two groups (repeatable; default: Tables 4 and 15).", metavar="A=B")
    ] = ()
    fields: Annotated[Path | None, option("The rating form, where it is not SMMQG's.", metavar="FORM")] = None
    several: Annotated[bool, option("Where there are several ratings, take the mean or the majority.")] = (
        False
    )
    retrieval: Annotated[str, option("Table 5: rank retrievers by both, as 'concur'.", metavar="A=B")] = ""
    answers: Annotated[str, option("Table 5: likewise, models that answer.", metavar="A=B")] = ""
    key: Annotated[
        Path | None,
        option("CSV file with sample, metric, right (yes, no): the right ratings of the test samples."),
    ] = None
    corrections: Annotated[
        Path | None, option("Ratings from the review by hand, in the form of the ratings.")
    ] = None
    pay: Annotated[float, option("Pay for a form, in any currency.", ge=0)] = 17.0
    bonus: Annotated[float, option("Bonus for getting all test samples right.", ge=0)] = 8.0


class ManualSettings(Settings, frozen=True, kw_only=True):
    """Which manuals people vote on."""

    folder: Annotated[Path, argument("Folder of a data set of manuals, or a file of sequences.")]
    count: Annotated[int, option("How many are drawn.", ge=1)] = 100
    seed: Annotated[int, option("Equal seeds draw equal manuals.")] = 0


class BallotSettings(Settings, frozen=True, kw_only=True):
    """The votes on manuals."""

    ballots: Annotated[
        Path, argument("CSV or JSONL file with id, rater, procedural, complementary (yes, no).")
    ]
    raters: Annotated[int, option("Raters that a manual needs at least.", ge=1)] = 3


class GoldenSettings(BallotSettings, frozen=True, kw_only=True):
    """The votes, and the sequences that they choose from."""

    sequences: Annotated[
        Path, option("File of sequences; what is chosen is written next to it.", metavar="FILE")
    ]


class Golden(msgspec.Struct, frozen=True, kw_only=True):
    """Files and sizes by part, no id in two.

    ``dev`` shares a task or a third-level category with a golden one, directly or through others; ``train`` is the rest. ``unknown`` are ids that were kept and are not in the file, ``dropped`` what the votes do not keep and the file leaves out.
    """

    files: dict[str, str]
    sizes: dict[str, int]
    unknown: tuple[str, ...]
    dropped: tuple[Dropped, ...]


class StudyResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a study says (Tables 4 and 15), the mean of each metric of each group with its interval (Tables 4 and 12), concurrence by
    ``retrieval`` and ``answers`` (Table 5), pay (with a key), and agreement on samples that several rated, tests among them.
    """  # noqa: D205

    study: HumanStudy
    groups: dict[str, dict[str, tuple[float, float, float]]] = {}
    concurrence: dict[str, ConcurrenceTable] = {}
    payment: Payment | None = None
    agreement: Figures = Figures(counts={})


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """What was drawn: where it is, sizes by group, and how many were left out for their ratings."""

    folder: str
    groups: dict[str, int]
    refused: int = 0


_FLUENT: Final = 3
_KINDS: Final = {"single": "information-extraction", "compose": "multi-hop"}
"""Kinds of a data set's questions, and the style that their raters are told; the published study compares them so."""


def draw_study(root: Path, settings: DrawSettings) -> Drawn:
    """Draw questions about documents, even over modalities, into a folder that ``round rate`` and ``study tables`` read.

    The questions do not say where they come from: that is in ``groups.csv`` alone. ``single`` are questions of the data set with
    one source (TextQ, TableQ, ImageQ), ``compose`` those with several (Compose(…)); others of its types are not drawn.

    Raises:
        UserError: if there are no questions of a style, or too few, or something is in the folder.
    """
    workspace, rng = Workspace(root), random.Random(settings.seed)  # noqa: S311
    rated = settled_ratings(read_ratings(settings.ratings))[0] if settings.ratings else []
    refused = {r.sample for r in rated if not r.values["answerability"] or r.values["fluency"] < _FLUENT}
    usual, styles = (150, tuple(_KINDS.values())) if settings.concurrence else (60, ())
    wanted = settings.styles or styles
    groups: dict[str, list[Question]] = {}
    left: list[Question] = []
    for name, size in (("generated", settings.per_style), ("data", settings.reference)):
        if not (count := usual if size is None else size):
            continue
        found = load_questions(workspace, "styled" if name == "generated" else name)
        if name == "data":
            found, wanted = [_called(q, kind) for q in found if (kind := _kind_of(q))], tuple(_KINDS)
        kept = [q for q in found if q.id not in refused and (not wanted or q.facets["style"] in wanted)]
        there = Counter(q.facets["style"] for q in kept)
        if missing := [style for style in wanted if not there[style]]:
            raise UserError(f"there are no questions '{missing[0][:60]}' to draw.", where=f"{root}: {name}")
        drawn = sample_evenly(kept, min(count, *there.values()) if refused else count, rng)
        groups[name] = list(drawn)
        for q in drawn:
            groups.setdefault(f"{name}/{q.facets['style']}", []).append(q)
        if name == "generated":
            left = sorted((q for q in kept if q not in drawn), key=lambda q: q.id)
    if len(left) < settings.tests:
        raise UserError(f"{len(left)} questions are left for {settings.tests} tests.", hint="draw fewer")
    tests = rng.sample(left, settings.tests)
    groups = ({"tests": tests} if tests else {}) | groups
    own = {q.id: q for questions in groups.values() for q in questions}
    if len(own) < sum(len(groups.get(name, ())) for name in ("tests", "generated", "data")):
        raise UserError("a generated question and one of the data set have one id.", where=str(root))
    shown = [
        msgspec.structs.replace(_called(q, _KINDS.get(q.facets["style"], q.facets["style"])), provenance={})
        for _, q in sorted(own.items())
    ]
    rows = [(name, q.id) for name, questions in groups.items() for q in questions]
    key = [(q.id, metric, "") for q in tests for metric in YES_NO]
    with atomic_folder(settings.out) as folder:
        write_jsonl(folder / "questions.jsonl", shown)
        (folder / "groups.csv").write_text(csv_text(("group", "sample"), rows))
        (folder / "key.csv").write_text(csv_text(("sample", "metric", "right"), key))
    return Drawn(folder=str(settings.out), groups=dict(Counter(n for n, _ in rows)), refused=len(refused))


def _called(question: Question, style: str) -> Question:
    return msgspec.structs.replace(question, facets={**question.facets, "style": style})


def _kind_of(question: Question) -> str:
    style, sources = question.facets["style"], len(question.evidence)
    if style == "untyped":
        return "single" if sources == 1 else "compose"
    return "single" if style in ("TextQ", "TableQ", "ImageQ") else "compose" * style.startswith("Compose(")


def evaluate_ratings(settings: RatingSettings) -> StudyResult:
    """Compare groups of samples by their ratings, mark the workers' test samples, and rank systems over the groups' questions.

    Raises:
        UserError: if a file is wrong, a group is unknown, or a sample that is no test was rated twice.
    """
    groups: dict[str, list[str]] = {}
    for _, row in iter_csv_rows(settings.groups, ("group", "sample")):
        groups.setdefault(row["group"], []).append(row["sample"])
    scales = SMMQG if settings.fields is None else scales_of(read_form(settings.fields).fields)
    key = None if settings.key is None else read_key(settings.key)
    ratings = read_ratings(settings.ratings, scales)
    corrections = read_ratings(settings.corrections, scales, or_none=True) if settings.corrections else []
    pairs = [_pair(text) for text in settings.compare] or _all_pairs(groups)
    study = analyse_study(
        ratings, groups, pairs, key=key, corrections=corrections, scales=scales, several=settings.several
    )
    settled = settled_ratings(corrected_ratings(ratings, corrections), scales)[0]
    means = {
        name: group_values([r for r in settled if r.sample in own and r.sample not in (key or ())], scales)
        for name, own in ((name, frozenset(samples)) for name, samples in groups.items())
    }
    drawn = frozenset(sample for samples in groups.values() for sample in samples)
    ranked = {"retrieval": settings.retrieval, "answers": settings.answers}
    return StudyResult(
        study=study,
        groups={name: values for name, values in means.items() if values},
        concurrence={by: _concurrence(text, by, drawn) for by, text in ranked.items() if text},
        payment=payments(study.workers, pay=settings.pay, bonus=settings.bonus) if key is not None else None,
        agreement=_agreement(ratings, scales),
    )


def _agreement(ratings: Collection[Rating], scales: Scales) -> Figures:
    labels: dict[str, dict[str, dict[str, int]]] = {metric: {} for metric in scales}
    times = Counter(r.sample for r in ratings)
    for r in ratings:
        for metric, value in r.values.items():
            labels[metric].setdefault(r.worker, {})[r.sample] = int(value)
    numbers: dict[str, Estimate] = {}
    for metric, ends in scales.items():
        alone = {sample: sample for sample in times}
        numbers |= people_agreement(metric, labels[metric], alone, "ordinal" if ends else "nominal")
    return Figures(counts={"samples that several rated": sum(n > 1 for n in times.values())}, numbers=numbers)


def _concurrence(text: str, by: str, drawn: Collection[str]) -> ConcurrenceTable:
    """Rank systems on both benchmarks by the questions that were drawn; printed scores have no questions."""
    sheets = [mark_sheet(name, by) for name in _pair(text)]
    kept = [
        {name: {q: m for q, m in own.items() if len(own) == 1 or q in drawn} for name, own in s.marks.items()}
        for s in sheets
    ]
    return concur(*(msgspec.structs.replace(s, marks=m) for s, m in zip(sheets, kept, strict=True)))


def _all_pairs(groups: Iterable[str]) -> list[tuple[str, str]]:
    """Those of the published tables that are there; else the two groups, where there are two."""
    names = list(groups)
    if pairs := [pair for pair in PUBLISHED if set(pair) <= set(names)]:
        return pairs
    return [(names[0], names[1])] if len(names) == 2 else []


def _pair(text: str) -> tuple[str, str]:
    a, sign, b = text.partition("=")
    if not (a and sign and b):
        raise UserError(f"--compare is {text[:60]!r}.", hint="write A=B, the reference first")
    return a, b


def read_key(path: Path) -> Mapping[str, Mapping[str, bool]]:
    """Read the right ratings of test samples: a CSV file with sample, metric, right (yes, no).

    Raises:
        UserError: if one is missing, unknown, or stands twice.
    """
    found: dict[str, dict[str, bool]] = {}
    for line, row in iter_csv_rows(path, ("sample", "metric", "right")):
        if (word := row["right"].casefold()) not in ("yes", "no"):
            seen, hint = row["right"][:40], "take out the rows of metrics that are open to taste"
            raise UserError(f"right is yes or no, not {seen!r}.", where=f"{path}:{line}", hint=hint)
        if row["metric"] in found.setdefault(row["sample"], {}):
            raise UserError(f"'{row['sample']}' has {row['metric']} twice.", where=f"{path}:{line}")
        found[row["sample"]][row["metric"]] = word == "yes"
    return found


def draw_manuals(settings: ManualSettings) -> Sampled:
    """Draw manuals for people to vote on, from the categories that are likely to have a real order.

    Raises:
        UserError: if it is neither a data set of manuals nor a file of sequences.
    """
    if settings.folder.is_file():
        found = read_sequences(settings.folder).sequences
        manuals: Iterable[Manual] = (
            Manual(s.id, "sequences", s.goal, (), category_paths=s.category_paths) for s in found
        )
    else:
        dataset = guess_dataset(settings.folder)
        if dataset.kind != "manuals":
            raise UserError(f"{dataset.title} holds {dataset.kind}, no manuals.", where=str(settings.folder))
        manuals = dataset.iter_records(settings.folder)
    return sample_manuals(manuals, settings.count, random.Random(settings.seed))  # noqa: S311


def tally(settings: BallotSettings) -> Tally:
    """Count the votes on manuals.

    Raises:
        UserError: if the file is wrong, or somebody votes twice.
    """
    return tally_ballots(read_ballots(settings.ballots), raters=settings.raters)


def choose_golden(settings: GoldenSettings) -> Golden:
    """Divide a file of sequences by the votes on them, or on their manuals: golden, dev (what is near them), train.

    Raises:
        UserError: if a file is wrong, or the votes keep none of the sequences.
    """
    votes, found = tally(settings), read_sequences(settings.sequences)
    kept = set(votes.kept)
    golden = {s.id for s in found.sequences if not kept.isdisjoint((s.id, s.task))}
    if not golden:
        seen = f"the votes keep {len(kept)} ids, and none is a sequence or a manual of the file."
        hint = "the ids of the ballots are those that 'proctor study manuals' prints"
        raise UserError(seen, where=str(settings.sequences), hint=hint)
    groups = group_records({s.id: undivided_keys(s) for s in found.sequences})
    near = {id_ for group in groups if not golden.isdisjoint(group) for id_ in group}
    parts: dict[str, list[Sequence]] = {"golden": [], "dev": [], "train": []}
    for s in found.sequences:
        parts["golden" if s.id in golden else "dev" if s.id in near else "train"].append(s)
    files = {name: settings.sequences.with_suffix(f".{name}.jsonl") for name in parts}
    return Golden(
        files={name: str(file) for name, file in files.items()},
        sizes={name: write_sequences(files[name], part) for name, part in parts.items()},
        unknown=tuple(sorted(kept.difference(*((s.id, s.task) for s in found.sequences)))),
        dropped=(*votes.dropped, *found.dropped),
    )
