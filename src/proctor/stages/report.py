"""The stage ``report``: everything in a workspace to one HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from proctor.errors import MissingExtraError, UserError
from proctor.exam.kinds.moment_question import moment_example
from proctor.exam.prediction import Judgement
from proctor.exam.question import Item
from proctor.generate.candidate import Candidate
from proctor.records import read_jsonl
from proctor.report.data import About, Frame, Judging, ReportData, ReportOptions, Run, Stage
from proctor.report.page import write_report
from proctor.stages.calibrate import corrected_scores, load_calibration, load_evidence
from proctor.stages.inputs import load_items, load_judgements, load_predictions
from proctor.stages.predict import read_run_info
from proctor.stages.rehearsing import played_in
from proctor.stages.report_calls import described_frames
from proctor.stages.score import DEFAULTS as SCORE_DEFAULTS
from proctor.stages.score import benchmark_name
from proctor.stages.settings import ReportSettings
from proctor.stages.verify import open_store
from proctor.stages.videos import workspace_videos
from proctor.workspace import StageRecord, Workspace, is_there

if TYPE_CHECKING:
    from proctor.verify.verdict import Verdict

__all__ = ["Reported", "report"]

_MAX_ITEMS_WITH_FRAMES: Final = 400
_QUALITY: Final = 60
_JUST_BEFORE: Final = 0.001
"""Seconds before a question's moment at which its last picture is taken: more than the decoder's tolerance."""
"""Of the pictures in the page: enough to see what was shown, and four for each of some hundred questions stay a few MB."""


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """The page that was written.

    Attributes:
        report: its path.
        bytes: its size.
        items: that it shows.
        runs: their names.
        items_with_frames: items with pictures.
        without_frames: items without, by reason.
    """

    report: str
    bytes: int
    items: int
    runs: list[str]
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
    """Write the report of a workspace.

    Args:
        root: the workspace.
        settings: what the page shows; the workspace's own by default.
        output: the file; ``report.html`` in the workspace by default.
        videos: folder that the recordings' videos are relative to; the data set's by default.
        seen: called after each item whose frames were extracted.

    Raises:
        UserError: if there are no items, or the file cannot be written.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    items = load_items(workspace, graphs)
    settings = settings or workspace.resolve(ReportSettings)
    candidates = _candidates(workspace)
    runs = tuple(_run(workspace, name, items) for name in workspace.run_names())
    pictures, skipped = _frames(workspace, items, runs, settings, videos, seen)
    described = described_frames(workspace, runs)
    data = ReportData(
        items=tuple(items),
        title=settings.title,
        about=_about(workspace),
        graphs=graphs,
        runs=runs,
        candidates=tuple(candidates),
        verdicts=tuple(_verdicts(workspace)),
        funnel=tuple(_funnel(workspace.stages())),
        frames=pictures,
        judging=_judging(workspace, items),
        shared=described.costs,
        opinions={run.name: found for run in runs if (found := _opinions(workspace, run, items))},
        captions=described.captions,
        missing_captions=described.missing,
    )
    # the same choices as in 'proctor score', so that the page and scores.json show the same numbers
    options = ReportOptions(**workspace.settings("score", {}, SCORE_DEFAULTS))
    path = write_report(output or workspace.file("report.html"), data, options)
    workspace.keep("report", msgspec.structs.asdict(settings))
    return Reported(
        report=str(path),
        bytes=path.stat().st_size,
        items=len(items),
        runs=[r.name for r in data.runs],
        items_with_frames=len(pictures),
        without_frames=skipped,
    )


def _candidates(workspace: Workspace) -> list[Candidate]:
    """Return the candidates behind the items, if the workspace has them."""
    path = workspace.file("candidates.jsonl")
    return read_jsonl(path, Candidate) if is_there(path) else []


def _verdicts(workspace: Workspace) -> Iterable[Verdict]:
    record = workspace.stages().get("verify")
    if record is None:
        return []
    with open_store(workspace, record.settings, create=False) as store:
        return store.latest()


def _run(workspace: Workspace, name: str, items: Sequence[Item]) -> Run:
    folder = workspace.run_folder(name)
    info = read_run_info(folder)
    judged = folder / "judgements.jsonl"
    return Run(
        name=name,
        predictor=info.predictor,
        role=info.role,
        predictions=tuple(load_predictions(folder, items)),
        judgements=tuple(load_judgements(folder, items) if is_there(judged) else ()),
    )


def _opinions(workspace: Workspace, run: Run, items: Sequence[Item]) -> tuple[Judgement, ...]:
    """Return what further judges said of a run's answers: all that is not what the run's score is made with."""
    known = {item.id for item in items}
    own = {(j.judge, j.details.get("template", ""), j.item_id) for j in run.judgements}
    found: list[Judgement] = []
    for path in sorted(workspace.run_folder(run.name).glob("judgements/*.jsonl")):
        judgements: list[Judgement] = read_jsonl(path, Judgement)
        places = [(j.judge, j.details.get("template", ""), j.item_id) for j in judgements]
        found += [
            j for j, place in zip(judgements, places, strict=True) if j.item_id in known and place not in own
        ]
    return tuple(found)


def _judging(workspace: Workspace, items: Sequence[Item]) -> Judging | None:
    """Return the calibration with the corrected scores that follow from it now, where the workspace has one."""
    found = load_calibration(workspace, items)
    if found is None:
        return None
    evidence = load_evidence(workspace, items)
    return Judging(
        calibration=found.calibration,
        hash=found.hash,
        corrected=corrected_scores(found, evidence),
        self_preference=found.self_preference,
    )


def _about(workspace: Workspace) -> About:
    stages = workspace.stages()
    name, _, version = benchmark_name(workspace).partition("@")
    build, read = stages.get("build"), stages.get("read")
    made = ""
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
            "Models were played, right with probability "
            f"{played.quality:g}, and so were people's marks; recordings without a video were drawn. Scores, tokens and "
            "costs show what the real experiment's page will look like, and nothing about any model."
        )
    hashes = {k: v for record in stages.values() for k, v in record.outputs.items()}
    licence = str(build.settings.get("licence") or "") if build else ""
    return About(name=name, version=version, licence=licence, made=made, hashes=hashes, rehearsal=rehearsal)


def _funnel(stages: Mapping[str, StageRecord]) -> Iterator[Stage]:
    """Yield the stages of the making with what each dropped."""
    if (derive := stages.get("derive")) is not None:
        yield Stage("derived", derive.counts.get("examples", 0), "examples", _dropped(derive))
    if (generate := stages.get("generate")) is not None:
        excluded = generate.counts.get("sampling", {}).get("left_out", {})
        yield Stage("sampled", generate.counts.get("sampled", 0), "examples", excluded, "chosen by quota")
        yield Stage("generated", generate.counts.get("candidates", 0), "candidates", _dropped(generate))
    if (build := stages.get("build")) is not None:
        yield Stage("built", build.counts.get("items", 0), "items", _dropped(build))


def _dropped(record: StageRecord) -> dict[str, int]:
    """Return how many each reason left out, as the stage wrote it down."""
    reasons = record.counts.get("dropped", {})
    return reasons if isinstance(reasons, dict) else {}


# -- pictures ----------------------------------------------------------------------------------------------------


def _frames(
    workspace: Workspace,
    items: Sequence[Item],
    runs: Sequence[Run],
    settings: ReportSettings,
    folder: Path | None,
    seen: Callable[[], None] | None,
) -> tuple[dict[str, tuple[Frame, ...]], dict[str, int]]:
    """Extract frames of items whose video exists; a video is opened once for all its items.

    Returns:
        Frames by item id, and the number of items that have none for each reason.
    """
    skipped: Counter[str] = Counter()
    if not settings.frames:
        return {}, {}
    videos = workspace_videos(workspace, folder, {item.question.cluster for item in items})
    by_video: dict[Path, list[Item]] = {}
    for item in items[:_MAX_ITEMS_WITH_FRAMES]:
        try:
            path = videos.find(
                item.question.cluster, moment_example(item.question).video, height=settings.height
            )
        except MissingExtraError as error:
            return {}, {_needs(error): len(items)}
        except UserError:
            path = None
        if path is None:
            skipped["no video"] += 1
        else:
            by_video.setdefault(path, []).append(item)
    skipped["beyond the limit"] += max(0, len(items) - _MAX_ITEMS_WITH_FRAMES)
    found: dict[str, tuple[Frame, ...]] = {}
    times = _times(items, runs, settings.frames)
    for path, members in by_video.items():
        try:
            found |= _frames_of(path, members, times, settings)
        except MissingExtraError as error:
            skipped[_needs(error)] += len(members)
        except UserError:
            skipped["video cannot be read"] += len(members)
        for _ in members:
            if seen is not None:
                seen()
    return found, {k: n for k, n in skipped.items() if n}


def _needs(error: MissingExtraError) -> str:
    return f"{error.message} {error.hint}"


def _times(items: Sequence[Item], runs: Sequence[Run], count: int) -> dict[str, list[float]]:
    """Choose the moments to show of each item: what the run that saw most was shown, evenly, and then the moment itself.

    What no run saw says nothing about an answer; only where no run saw anything the moments are spread over the clip. The
    last picture is the one at which the clip ends: the one after it is no part of the question.
    """
    from proctor.media.sampling import uniform

    seen: dict[str, tuple[float, ...]] = {}
    for run in runs:
        for p in run.predictions:
            if len(p.frame_times) > len(seen.get(p.item_id, ())):
                seen[p.item_id] = p.frame_times
    chosen = {}
    for item in items:
        end = moment_example(item.question).end
        before = seen.get(item.id) or (uniform(count - 1, end) if count > 1 else ())
        chosen[item.id] = [*_spread(before, count - 1), *([max(0.0, end - _JUST_BEFORE)] if end > 0 else [])]
    return chosen


def _spread(times: Sequence[float], count: int) -> list[float]:
    """Take some of them, evenly spread, the last one always."""
    kept = min(len(times), count)
    return sorted({times[-1 - (len(times) * k) // kept] for k in range(kept)})


def _frames_of(
    path: Path, items: Sequence[Item], wanted: Mapping[str, Sequence[float]], settings: ReportSettings
) -> dict[str, tuple[Frame, ...]]:
    """Decode all wanted times of one video in one pass and hand them to its items."""
    from proctor.media.frames import extract_frames
    from proctor.media.paint import encode_jpeg

    wanted = {item.id: wanted[item.id] for item in items}
    times = sorted({t for some in wanted.values() for t in some})
    pictures = dict(zip(times, extract_frames(path, times, height=settings.height), strict=True))
    jpeg = {t: encode_jpeg(f.image, quality=_QUALITY) for t, f in pictures.items()}
    frames = {}
    for name, some in wanted.items():
        shown = {
            pictures[t].time: jpeg[t] for t in some
        }  # one picture may be on screen at two of the moments
        frames[name] = tuple(Frame(time, shown[time]) for time in sorted(shown))
    return frames
