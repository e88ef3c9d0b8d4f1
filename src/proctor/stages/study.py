"""Studies with people, from files: an even sample, forms, ratings and their statistics; manuals that people vote on."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from proctor.datasets.dataset import guess_dataset
from proctor.datasets.golden import Sampled, Tally, read_ballots, sample_manuals, tally_ballots
from proctor.datasets.sequence_files import read_sequences, write_sequences
from proctor.datasets.splits import group_records
from proctor.errors import UserError
from proctor.exam.csv_rows import iter_csv_rows
from proctor.exam.human_study import (
    FormPlan,
    HumanStudy,
    Payment,
    analyse_study,
    payments,
    plan_forms,
    read_ratings,
)
from proctor.exam.question import Question
from proctor.exam.source_sampling import sample_evenly
from proctor.learn.sequencing.data import undivided_keys
from proctor.procedure.manual import Manual, Sequence
from proctor.records import Dropped
from proctor.settings import Settings, argument, option
from proctor.stages.documents.reading import load_questions
from proctor.workspace import Workspace

__all__ = [
    "BallotSettings",
    "FormSettings",
    "Golden",
    "GoldenSettings",
    "ManualSettings",
    "RatingSettings",
    "SampleSettings",
    "StudyResult",
    "choose_golden",
    "deal_forms",
    "draw_manuals",
    "draw_sample",
    "evaluate_ratings",
    "tally",
]


class SampleSettings(Settings, frozen=True, kw_only=True):
    """How many questions of each style are drawn."""

    questions: Annotated[
        Literal["styled", "data"], option("Generated questions (styled), or the data's own (data).")
    ] = "styled"
    per_style: Annotated[int, option("Questions of each style.", ge=1)] = 60
    seed: Annotated[int, option("Equal seeds draw equal samples.")] = 0


class FormSettings(Settings, frozen=True, kw_only=True):
    """What each worker of a study is given."""

    pool: Annotated[Path, argument("CSV file with a column sample: what is rated once each.")]
    test: Annotated[
        tuple[str, ...],
        option("Id of a test sample, whose right ratings are known; on every form. May be repeated."),
    ] = ()
    attention: Annotated[
        tuple[str, ...], option("Id of an attention check; on every form. May be repeated.")
    ] = ()
    per_form: Annotated[int, option("Rated samples on a full form, the tests among them.", ge=1)] = 20
    workers: Annotated[int | None, option("How many there are (default: as many as are needed).", ge=1)] = (
        None
    )
    seed: Annotated[int, option("Equal seeds deal equal forms.")] = 0


class RatingSettings(Settings, frozen=True, kw_only=True):
    """What people said, and what is compared."""

    ratings: Annotated[
        Path,
        argument(
            "CSV file with worker, sample, fluency (1 to 5), style, relevance, answerability, correctness (yes, no)."
        ),
    ]
    groups: Annotated[Path, argument("CSV file with group, sample; groups may overlap.")]
    compare: Annotated[
        tuple[str, ...],
        option("A=B: two groups, the reference first. May be repeated.", metavar="A=B"),
    ] = ()
    key: Annotated[
        Path | None,
        option("CSV file with sample, metric, right (yes, no): the right ratings of the test samples."),
    ] = None
    corrections: Annotated[
        Path | None, option("Ratings from the review by hand, in the form of the ratings.")
    ] = None
    pay: Annotated[float, option("For a form, in any currency.", ge=0)] = 17.0
    bonus: Annotated[float, option("For all test samples right.", ge=0)] = 8.0


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
    raters: Annotated[int, option("That a manual needs at least.", ge=1)] = 3


class GoldenSettings(BallotSettings, frozen=True, kw_only=True):
    """The votes, and the sequences that they choose from."""

    sequences: Annotated[Path, option("Of sequences; what is chosen is written beside it.", metavar="FILE")]


class Golden(msgspec.Struct, frozen=True, kw_only=True):
    """Files and sizes by part, no id in two.

    ``dev`` shares a task or a third-level category with a golden one, directly or through others; ``train`` is the rest. ``unknown`` are ids that were kept and are not in the file, ``dropped`` what the votes do not keep and the file leaves out.
    """

    files: dict[str, str]
    sizes: dict[str, int]
    unknown: tuple[str, ...]
    dropped: tuple[Dropped, ...]


class StudyResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a study says, and what its workers are paid.

    Attributes:
        study: comparisons, workers, counts and notes.
        payment: pay and bonuses; None without a key.
    """

    study: HumanStudy
    payment: Payment | None = None


def draw_sample(root: Path, settings: SampleSettings) -> tuple[Question, ...]:
    """Draw the same number of questions about documents of every style, even over modalities.

    Raises:
        UserError: if there are no questions, or a style has too few.
    """
    questions = load_questions(Workspace(root), settings.questions)
    return sample_evenly(questions, settings.per_style, random.Random(settings.seed))  # noqa: S311


def deal_forms(settings: FormSettings) -> FormPlan:
    """Deal samples to forms.

    Raises:
        UserError: if the file is none, ids repeat, or workers and samples do not fit.
    """
    pool = [row["sample"] for _, row in iter_csv_rows(settings.pool, ("sample",))]
    return plan_forms(
        pool, settings.test, random.Random(settings.seed), attention=settings.attention,  # noqa: S311
        per_form=settings.per_form, workers=settings.workers,
    )  # fmt: skip


def evaluate_ratings(settings: RatingSettings) -> StudyResult:
    """Compare groups of samples by their ratings, and mark the workers' test samples.

    Raises:
        UserError: if a file is wrong, a group is unknown, or a sample that is no test was rated twice.
    """
    groups: dict[str, list[str]] = {}
    for _, row in iter_csv_rows(settings.groups, ("group", "sample")):
        groups.setdefault(row["group"], []).append(row["sample"])
    key = None if settings.key is None else _key(settings.key)
    study = analyse_study(
        read_ratings(settings.ratings), groups, [_pair(text) for text in settings.compare] or _all_pairs(groups),
        key=key, corrections=read_ratings(settings.corrections) if settings.corrections else (),
    )  # fmt: skip
    paid = payments(study.workers, pay=settings.pay, bonus=settings.bonus) if key is not None else None
    return StudyResult(study=study, payment=paid)


def _all_pairs(groups: Iterable[str]) -> list[tuple[str, str]]:
    """The two groups, where there are two."""
    names = list(groups)
    return [(names[0], names[1])] if len(names) == 2 else []


def _pair(text: str) -> tuple[str, str]:
    a, sign, b = text.partition("=")
    if not (a and sign and b):
        raise UserError(f"--compare is {text[:60]!r}.", hint="write A=B, the reference first")
    return a, b


def _key(path: Path) -> Mapping[str, Mapping[str, bool]]:
    found: dict[str, dict[str, bool]] = {}
    for line, row in iter_csv_rows(path, ("sample", "metric", "right")):
        if (word := row["right"].casefold()) not in ("yes", "no"):
            raise UserError(f"right is yes or no, not {row['right'][:40]!r}.", where=f"{path}:{line}")
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
        raise UserError(
            f"the votes keep {len(kept)} ids, and none is a sequence or a manual of the file.",
            where=str(settings.sequences),
            hint="the ids of the ballots are those that 'proctor study manuals' prints",
        )
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
