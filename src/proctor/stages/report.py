"""The stage ``report``: everything in a workspace, whatever its questions are about, to one HTML page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.question import Question
from proctor.records import Dropped, is_there, read_jsonl
from proctor.report.compose import write_report
from proctor.report.data import About, Asked, Exam, Judging, ReportData, ReportOptions, Stage
from proctor.report.examples import example_cards, take
from proctor.report.moment import moment_sections
from proctor.report.parts import ExampleView, Section
from proctor.report.standing import Standing, stand
from proctor.stages.calibrate import (
    calibrated_people,
    corrected_scores,
    load_calibration,
    load_evidence,
    question_writers,
)
from proctor.stages.clip.reading import PAIRS
from proctor.stages.documents.reading import CORPUS
from proctor.stages.exam_settings import ScoreSettings
from proctor.stages.inputs import load_items
from proctor.stages.questions import workspace_questions
from proctor.stages.rehearsing import played_in
from proctor.stages.report_evidence import EvidenceFinder
from proctor.stages.report_exams import described_frames, load_exams
from proctor.stages.score import benchmark_name, lacking_text
from proctor.stages.settings import ReportSettings
from proctor.stages.verify import costs_of, standing_verdicts
from proctor.tables import Shown
from proctor.verify.agreement import machines_against_people
from proctor.verify.verdict import Verdict
from proctor.workspace import StageRecord, Workspace

__all__ = ["Reported", "report"]

_SETTINGS: Final = ("pairs", "filter", "choices")
"""Stages of clips whose settings the page shows."""


class Reported(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """The page that was written.

    Attributes:
        report: its path.
        bytes: its size.
        items: questions, by exam.
        runs: names of all runs.
        examples: questions that it shows with their evidence.
        items_with_frames: examples with pictures of their recording.
        without_frames: examples without, by reason.
    """

    report: str
    bytes: int
    items: dict[str, int]
    runs: list[str]
    examples: int
    items_with_frames: int
    without_frames: dict[str, int]


def report(
    root: Path,
    settings: ReportSettings | None = None,
    *,
    output: Path | None = None,
    videos: Path | None = None,
    seen: Callable[[], None] | None = None,
) -> Reported:
    """Write the page of a workspace.

    Args:
        root: the workspace.
        settings: what the page shows; the workspace's own by default.
        output: the file; ``report.html`` in the workspace by default.
        videos: folder that the recordings' videos are relative to; the data set's by default.
        seen: called after each example.

    Raises:
        UserError: if there is nothing to report on, or the file cannot be written.
    """
    workspace = Workspace(root)
    workspace.require_folder()
    settings = settings or workspace.resolve(ReportSettings)
    questions = workspace_questions(workspace)
    exams = load_exams(workspace, questions)
    # the same choices as in 'proctor score', so that the page and scores.json show the same numbers
    how = workspace.resolve(ScoreSettings)
    options = ReportOptions(**how.resampling, min_coverage=how.min_coverage)
    described = described_frames(workspace, [run for exam in exams for run in exam.runs])
    played = played_in(workspace.root) is not None
    exams = tuple(_with_captions(exam, described.captions, played=played) for exam in exams)
    making, results, method = _beside(workspace, exams)
    if not exams and not making:
        raise UserError(
            "there is nothing to report on: no items, no pairs, no questions.",
            where=str(root),
            hint="run first: proctor build, proctor generate clip or proctor generate documents",
        )
    verdicts = standing_verdicts(workspace, questions)
    asked = _asked(questions, verdicts)
    standings = [stand(exam, options, compare=False) for exam in exams]
    finder = EvidenceFinder(workspace, standings, settings, videos)
    judging = _judging(workspace) if any(exam.kind == "moment" and exam.runs for exam in exams) else None
    examples = _examples(standings, finder, asked, judging, seen)
    data = ReportData(
        exams=exams,
        title=settings.title,
        about=_about(workspace),
        funnel=tuple(_funnel(workspace)),
        asked=asked,
        against=machines_against_people(questions, verdicts, costs_of(workspace)) if verdicts else (),
        judging=judging,
        shared=described.costs,
        making=(*_moments(workspace, exams, asked), *making),
        results=results,
        examples=examples,
        missing_captions=described.missing,
        method=method,
    )
    path = write_report(output or workspace.file("report.html"), data, options)
    workspace.keep("report", msgspec.structs.asdict(settings))
    return Reported(
        report=str(path),
        bytes=path.stat().st_size,
        items={exam.title: len(exam.items) for exam in exams},
        runs=[run.name for exam in exams for run in exam.runs],
        examples=len(examples),
        items_with_frames=finder.with_frames,
        without_frames=dict(finder.without_frames),
    )


def _examples(
    standings: Sequence[Standing],
    finder: EvidenceFinder,
    asked: Mapping[str, Asked],
    judging: Judging | None,
    seen: Callable[[], None] | None,
) -> tuple[ExampleView, ...]:
    """Choose examples of all exams in turn, as many as a page holds."""
    verdicts: dict[str, list[Verdict]] = defaultdict(list)
    for proposed in asked.values():
        for verdict in proposed.verdicts:
            verdicts[verdict.candidate_id].append(verdict)
    human = judging.calibration.human if judging is not None else ()
    votes = {(mark.predictor, mark.item_id): mark.votes for mark in human}
    cards = [example_cards(standing, finder.of, verdicts, votes) for standing in standings]

    def in_turn() -> Iterator[ExampleView]:
        waiting = list(cards)
        while waiting:
            for one in list(waiting):
                card = next(one, None)
                if card is None:
                    waiting.remove(one)
                    continue
                if seen is not None:
                    seen()
                yield card

    return take(in_turn())


def _with_captions(
    exam: Exam, captions: Mapping[str, Mapping[str, tuple[str, ...]]], *, played: bool
) -> Exam:
    runs = (
        replace(
            run,
            captions=captions.get(run.name, {}),
            played=played and any(p.details.get("model") for p in run.predictions[:1]),
        )
        for run in exam.runs
    )
    return replace(exam, runs=tuple(runs))


def _moments(workspace: Workspace, exams: Sequence[Exam], asked: Mapping[str, Asked]) -> Iterator[Section]:
    items = [item for exam in exams if exam.kind == "moment" for item in exam.items]
    titles = [exam.title for exam in exams if exam.kind == "moment"]
    if items:
        title = titles[0] if len(titles) == 1 else ""
        yield from moment_sections(items, workspace.graphs(), asked.get("moment"), title)


def _asked(questions: Sequence[Question], verdicts: Sequence[Verdict]) -> dict[str, Asked]:
    """Return what was proposed, by kind, with the latest verdicts of everybody on it."""
    found = {}
    for kind in dict.fromkeys(q.kind for q in questions):
        own = tuple(q for q in questions if q.kind == kind)
        ids = {q.id for q in own}
        found[kind] = Asked(own, tuple(v for v in verdicts if v.candidate_id in ids))
    return found


def _beside(
    workspace: Workspace, exams: Sequence[Exam]
) -> tuple[tuple[Section, ...], tuple[Section, ...], tuple[tuple[str, str], ...]]:
    """Return of clips and documents how questions came about, what was measured beside answers, and what they were made with.

    Their code is loaded only where there are some: it takes longer than a page of moments.
    """
    making: list[Section] = []
    results: list[Section] = []
    method = [
        (f"settings: {name}", msgspec.json.encode(record.settings).decode()[:1_800])
        for name, record in sorted(workspace.stages().items())
        if name in _SETTINGS or name.startswith("clips/")
    ]
    if is_there(workspace.file(PAIRS)):
        from proctor.stages.report_clips import clip_making

        making += clip_making(workspace, exams)
    if is_there(workspace.file(CORPUS)) or any(exam.kind == "documents" for exam in exams):
        from proctor.stages.report_documents import document_results, document_writing, documents_made_as

        making += document_writing(workspace, exams)
        results += document_results(workspace, exams)
        method += documents_made_as(workspace)
    return tuple(making), tuple(results), tuple(method)


def _judging(workspace: Workspace) -> Judging | None:
    """Return the calibration with the corrected scores that follow from it now, where the workspace has one."""
    items = load_items(workspace, workspace.graphs())
    found = load_calibration(workspace, items)
    if found is None:
        return None
    evidence = load_evidence(workspace, items)
    return Judging(
        calibration=found.calibration,
        hash=found.hash,
        corrected=corrected_scores(found, evidence),
        self_preference=found.self_preference,
        judges=evidence.judges,
        people=calibrated_people(workspace, evidence).people,
        writers=question_writers(workspace, evidence.items),
    )


def _about(workspace: Workspace) -> About:
    stages = workspace.stages()
    build, read = stages.get("build"), stages.get("read")
    made, licence = "", ""
    name, _, version = (
        benchmark_name(workspace).partition("@")
        if build is not None
        else (workspace.root.resolve().name, "", "")
    )
    if build is not None:
        licence = str(build.settings.get("licence") or "")
    if read is not None and build is not None:
        generated = stages.get("generate")
        by = generated.settings.get("generator", "") if generated else "import"
        made = (
            f"Read from '{read.settings.get('dataset', '')}' with {read.settings.get('corrections', '')} annotations; "
            f"questions by '{by if isinstance(by, str) else ', '.join(by)}'; "
            f"let in by the rules '{build.settings.get('accept', '')}'."
        )
    rehearsal = ""
    if (played := played_in(workspace.root)) is not None:
        rehearsal = (
            "This is a rehearsal: models were played, right with probability "
            f"{played.quality:g}, and so were people's marks; recordings without a video were drawn. Scores, tokens and "
            "costs show what the real experiment's page will look like, and nothing about any model."
        )
    hashes = {k: v for record in stages.values() for k, v in record.outputs.items()}
    return About(
        name=name, version=version, licence=licence, made=made, hashes=hashes, rehearsal=rehearsal,
        lacking=lacking_text(workspace),
    )  # fmt: skip


def _funnel(workspace: Workspace) -> Iterator[Stage]:
    """Yield the stages of the making with what each dropped."""
    stages = workspace.stages()
    examples = dict.fromkeys(one.id for one in _named(workspace.file("examples.jsonl")))
    candidates = _named(workspace.file("candidates.jsonl"))
    sampled = dict.fromkeys(one.example_id for one in candidates)
    if (derive := stages.get("derive")) is not None:
        n, gone = derive.counts.get("examples", 0), _gone(workspace, "derive")
        yield Stage("derived", n, "examples", _dropped(derive), passed=tuple(examples), gone=gone)
    if (generate := stages.get("generate")) is not None:
        excluded = generate.counts.get("sampling", {}).get("left_out", {})
        n, gone = generate.counts.get("sampled", 0), _gone(workspace, "generate")
        sampled |= dict.fromkeys(one.id for one in gone if one.id in examples)
        told = len(sampled) == n and len(examples) - n == sum(excluded.values())  # else some left no trace
        reason = next(iter(excluded)) if len(excluded) == 1 else "left out"
        left = [Dropped(id_, reason) for id_ in examples if id_ not in sampled] if told else []
        yield Stage(
            "sampled", n, "examples", excluded, "chosen by quota",
            passed=tuple(sampled) if told else (), gone=tuple(left),
        )  # fmt: skip
        n = generate.counts.get("candidates", 0)
        yield Stage(
            "generated",
            n,
            "candidates",
            _dropped(generate),
            passed=tuple(c.id for c in candidates),
            gone=gone,
        )
    if (build := stages.get("build")) is not None:
        n, gone = build.counts.get("items", 0), _gone(workspace, "build")
        yield Stage("built", n, "items", _dropped(build), gone=gone)


def _named(path: Path) -> list[_Named]:
    return read_jsonl(path, _Named) if is_there(path) else []


def _gone(workspace: Workspace, stage: str) -> tuple[Dropped, ...]:
    path = workspace.file(f"{stage}.dropped.jsonl")
    return tuple(read_jsonl(path, Dropped)) if is_there(path) else ()


class _Named(msgspec.Struct):
    id: str
    example_id: str = ""


def _dropped(record: StageRecord) -> dict[str, int]:
    """Return how many each reason left out, as the stage wrote it down."""
    reasons = record.counts.get("dropped", {})
    return reasons if isinstance(reasons, dict) else {}
