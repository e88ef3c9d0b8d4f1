"""Settings of rounds: those that every kind has, and what questions, manuals, texts and recordings are asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal, TypeAlias

from proctor.settings import Settings, argument, option

__all__ = [
    "AlternativesSettings", "AnswerSettings", "Collect", "Database", "Given", "GraphRoundSettings", "MarkSettings", "OrderSettings", "OwnSettings",
    "RateSettings", "RecordRoundSettings", "SampleSettings", "Stored", "TimelineSettings", "Transcribe", "Which", "WriteSettings",
]  # fmt: skip


Database: TypeAlias = Annotated[
    str | None,
    option(
        "Where verdicts and work are kept: a file in the workspace, or a postgresql:// URL (extra postgres)."
    ),
]

_People: TypeAlias = Annotated[int, option("People that do each task.", ge=1, le=1000)]
_Batch: TypeAlias = Annotated[int, option("Tasks that a person takes on together; 0 for all.", ge=0)]
_Batches: TypeAlias = Annotated[int, option("Batches that a person may do; 0 for any number.", ge=0)]


class Stored(Settings, frozen=True, kw_only=True):
    """Where work is kept."""

    database: Database = None


class Given(Settings, frozen=True, kw_only=True):
    """How a round is called, and how its tasks are given out."""

    heading: ClassVar[str] = "Giving out"

    name: Annotated[str, option("Name of the round; the kind's by default.")] = ""
    people: _People = 2
    batch: _Batch = 0
    batches: _Batches = 0
    lease_minutes: Annotated[
        float, option("Minutes for a batch, after which unfinished tasks go to others; 0 for any time.", ge=0)
    ] = 0
    rest_days: Annotated[float, option("Days before a person gets the same thing in another form.", ge=0)] = 7
    not_round: Annotated[
        tuple[str, ...], option("Do not give people what they did in this round (repeatable).")
    ] = ()
    workers: Annotated[bool, option("Open to people without an account, by the link of a platform.")] = False
    code: Annotated[str, option("Completion code for everyone (default: one for each person).")] = ""
    redirect: Annotated[str, option("Address to go back to at the end; {code} stands for the code.")] = ""
    instructions: Annotated[Path | None, option("Instructions (Markdown); the kind's by default.")] = None
    consent: Annotated[Path | None, option("Consent of people without an account (Markdown).")] = None
    seed: Annotated[int, option("Of everything that is drawn.")] = 0
    database: Database = None


class Which(Stored, frozen=True, kw_only=True):
    """Which round."""

    round: Annotated[str, argument("Name of the round.", "ROUND")]


class Collect(Which, frozen=True, kw_only=True):
    """Of which round what people said is collected, and where it goes."""

    out: Annotated[Path | None, option("Where it goes; a place in the workspace by default.")] = None


class AnswerSettings(Given, frozen=True, kw_only=True):
    """Which questions people answer."""

    people: Annotated[int, option("People who answer each question.", ge=1)] = 1
    batch: Annotated[int, option("Questions of each person.", "--questions", ge=1)] = 20
    batches: Annotated[int, option("How often one person may take so many; 0 for any number.", ge=0)] = 1
    sample: Annotated[int, option("Questions in all, evenly over strata; 0 for every item.", ge=0)] = 0
    kind: Annotated[str, option("Questions of this kind alone.", metavar="KIND")] = ""


class MarkSettings(Given, frozen=True, kw_only=True):
    """Which answers people mark."""

    batch: Annotated[int, option("Answers that a person takes on together; 0 for all.", ge=0)] = 25
    run: Annotated[
        tuple[str, ...], option("Run whose answers are marked (repeatable; default: all).", "-r")
    ] = ()
    per_system: Annotated[
        int, option("Answers of each run, evenly over types of questions; 0 for all.", ge=0)
    ] = 50
    scale: Annotated[
        Literal["binary", "ternary"], option("Right or wrong, or with something in between.")
    ] = "ternary"
    evidence: Annotated[bool, option("Show clip and procedure beside the question.")] = False


class WriteSettings(Given, frozen=True, kw_only=True):
    """Which moments people write questions about."""

    batch: Annotated[int, option("Moments that a person takes on together; 0 for all.", ge=0)] = 10
    people: Annotated[int, option("People who write about each moment.", ge=1)] = 1
    questions: Annotated[int, option("Moments in all, drawn as generation draws them by quota.", ge=1)] = 50
    wage: Annotated[float, option("What an hour of a person costs, in dollars.", ge=0)] = 20.0
    draw: Annotated[int, option("Questions of each draw that variety is compared by.", ge=1)] = 50


class RateSettings(Given, frozen=True, kw_only=True):
    """Which questions are rated, and by which form."""

    questions: Annotated[Path, argument("Folder of 'study draw', or a file of questions.", "QUESTIONS")]
    form: Annotated[Path | None, option("Rating form (TOML, JSON); SMMQG's by default.")] = None
    key: Annotated[Path | None, option("Right ratings of test samples; the folder's key.csv.")] = None
    people: Annotated[int, option("People that rate each question.", ge=1, le=1000)] = 1
    batch: Annotated[int, option("Questions of a batch, beside its tests and checks; 0 for all.", ge=0)] = 17
    batches: _Batches = 1
    lease_minutes: Annotated[float, option("Minutes for a batch; 0 for any time.", ge=0)] = 90


class OwnSettings(Given, frozen=True, kw_only=True):
    """Which rows are tasks, and what of them is shown and asked."""

    tasks: Annotated[Path, argument("Table of the tasks, a row each: .csv, .tsv, .json or .jsonl.", "TASKS")]
    form: Annotated[Path, option("What is shown and asked (TOML, JSON).")]
    tests: Annotated[int | None, option("Rows with known answers in each batch; default: all.", ge=0, le=100)] = None  # fmt: skip
    media: Annotated[Path | None, option("Folder of pictures and videos; that of the tasks by default.")] = (
        None
    )


class TimelineSettings(Given, frozen=True, kw_only=True):
    """Which recordings are annotated."""

    videos: Annotated[Path | None, option("Folder of the videos; that of the data set by default.")] = None
    steps: Annotated[
        str,
        option(
            "All videos of the folder follow these steps, recordings or not: a task graph of the workspace, a file of one, "
            "or a .txt with one step a line."
        ),
    ] = ""
    recording: Annotated[tuple[str, ...], option("Only this recording (repeatable).")] = ()
    prelabels: Annotated[
        Path | None, option("Segments to begin with: predictions of a localizer, as 'score' reads them.")
    ] = None
    incomplete: Annotated[bool, option("Steps may be left unmarked without being missing.")] = False
    least_iou: Annotated[float, option("Overlap from which two segments agree.", ge=0.01, le=1)] = 0.5


class RecordRoundSettings(Given, frozen=True, kw_only=True):
    """How recordings of the plan are made."""

    people: Annotated[int, option("People that make each recording.", ge=1, le=1)] = 1
    batch: Annotated[int, option("Recordings of a batch where people do not choose one.", ge=1)] = 1
    stream: Annotated[tuple[Literal["camera", "microphone"], ...], option("What the tablet itself records (repeatable; default: both).")] = ()  # fmt: skip
    display_only: Annotated[bool, option("The tablet only shows the steps; cameras are separate.")] = False
    countdown: Annotated[int, option("Seconds before the flash with which a recording begins.", ge=0, le=60)] = 5  # fmt: skip
    paragraph: Annotated[bool, option("Show the whole text instead of one step, which a camera could read.")] = False  # fmt: skip
    minutes: Annotated[int, option("Longest recording in minutes, to check the free space on the tablet.", ge=1, le=600)] = 60  # fmt: skip


class Transcribe(Which, frozen=True, kw_only=True):
    """Which round, and what writes down what was said in it."""

    model: Annotated[Path, option("Folder of the transcriber's model; nothing is fetched.")]
    backend: Annotated[str, option("Transcriber; other packages may bring some.")] = "faster-whisper"
    language: Annotated[str, option("Code of the language, such as en; found out by default.")] = ""


class SampleSettings(Given, frozen=True, kw_only=True):
    """Which manuals are given to people, and what of them."""

    people: _People = 3
    batch: _Batch = 5
    shows: Annotated[
        tuple[Literal["both", "text", "image"], ...],
        option("Only this modality (repeatable; all by default)."),
    ] = ()
    item: Annotated[tuple[str, ...], option("Only this item (repeatable), such as one to be done again.")] = ()  # fmt: skip


class OrderSettings(SampleSettings, frozen=True, kw_only=True):
    """Which manuals people put in order."""

    label_studio: Annotated[Path | None, option("Write tasks for Label Studio to this file; no round.")] = (
        None
    )
    phase: Annotated[Literal["main", "qualification"], option("qualification: orders that do not count.")] = "main"  # fmt: skip


class AlternativesSettings(SampleSettings, frozen=True, kw_only=True):
    """Of which manuals people name other orders."""

    votes: Annotated[bool, option("Also ask whether a manual suits a golden set (proctor study golden).")] = False  # fmt: skip


_TEXTS = option("A .txt file, a folder of them, or .jsonl with id, title and text (empty: people paste one).")
_EDGES = option("Edges to review instead: the table of 'graph induce --review'.", metavar="FILE")
_DRAFT = option("Model that drafts steps and links, for people to accept or refuse.", metavar="MODEL")


class GraphRoundSettings(Given, frozen=True, kw_only=True):
    """Of what graphs are written, and where what is settled goes."""

    texts: Annotated[Path | None, _TEXTS] = None
    edges: Annotated[Path | None, _EDGES] = None
    draft: Annotated[str | None, _DRAFT] = None
    write: Annotated[bool, option("Put what is settled into the workspace's task graphs.")] = False
