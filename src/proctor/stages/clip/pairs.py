"""The stage ``generate clip``: step annotations of videos to question–answer pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec

from proctor.ask.clip.clips import ClipSet, clips_of, dataset_key
from proctor.ask.clip.pair_run import PairRun, PairSummary, generate_pairs
from proctor.ask.clip.pairs import PairGenerator, PairSettings
from proctor.ask.clip.plan import PairPlan, plan_pairs
from proctor.ask.clip.record import ShownClip
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.datasets.dataset import Dataset, Log, guess_dataset, load_dataset
from proctor.errors import UserError
from proctor.llm.estimate import Estimate
from proctor.procedure.recording import Recording
from proctor.records import Dropped, read_json, read_jsonl, write_json, write_jsonl
from proctor.stages.clip.reading import CLIPS, PAIRS, PAIRS_SUMMARY, load_clips
from proctor.stages.clip.settings import PairOptions
from proctor.stages.models import Asked, Limits, Models, open_models
from proctor.tables import Shown
from proctor.workspace import Workspace, is_there

__all__ = [
    "PairsMade",
    "estimate_pairs",
    "found_clips",
    "generate",
    "read_clips",
]

STAGE: Final = "pairs"
"""Name of the stage in the workspace's records."""

_LEAF: Final = "leaf"


class PairsMade(Shown, Asked, frozen=True, kw_only=True, omit_defaults=True):
    """The numbers of the closing line.

    Attributes:
        clips: that could be asked about.
        videos: of them.
        asked: pairs.
        pairs: that there are.
        short: pairs that are lacking.
        postponed: tasks that models still owe.
        dropped: clips and pairs, by reason.
        summary: pairs by level and category.
    """

    clips: int
    videos: int
    asked: int
    pairs: int
    short: int
    postponed: int
    dropped: dict[str, int]
    summary: PairSummary


# -- clips ---------------------------------------------------------------------------------------------------------


def read_clips(options: PairOptions) -> ClipSet:
    """Cut the videos of data sets into clips.

    Raises:
        UserError: if a folder holds no data set of recordings, or two clips have one id.
    """
    if options.dataset and len(options.dataset) != len(options.data):
        raise UserError(
            f"{len(options.dataset)} readers are named for {len(options.data)} folders.",
            hint="name one for each, or none: folders are recognised by their files",
        )
    clips: list[ShownClip] = []
    dropped: list[Dropped] = []
    counts: dict[str, int] = {}
    for place, folder in enumerate(options.data):
        dataset = load_dataset(options.dataset[place]) if options.dataset else _guessed(folder)
        found = _clips_of(dataset, folder, options)
        clips += found.clips
        dropped += found.dropped
        for name, n in found.counts.items():
            counts[name] = counts.get(name, 0) + n
    ids = [clip.id for clip in clips]
    if len(set(ids)) < len(ids):
        raise UserError("two data sets have clips of one id.", hint="make a workspace for each of them")
    return ClipSet(tuple(clips), tuple(dropped), counts)


def _guessed(folder: Path) -> Dataset:
    try:
        return guess_dataset(folder)
    except UserError as error:
        hint = (error.hint or "").replace(
            "give the name before the folder", "name its reader: --dataset NAME"
        )
        raise UserError(error.message, where=error.where, hint=hint) from None


def _clips_of(dataset: Dataset, folder: Path, options: PairOptions) -> ClipSet:
    if dataset.kind != "recordings":
        raise UserError(f"{dataset.title} holds {dataset.kind}, not recordings.", where=str(folder))
    dataset.require_files(folder)
    log = Log()
    leaves: dict[str, Recording] | None = None
    if options.substeps and _LEAF in dataset.options.get("level", ()):
        leaves = {r.id: r for r in _recordings(dataset, folder, options.max_videos, Log(), level=_LEAF)}
    found = clips_of(_recordings(dataset, folder, options.max_videos, log), dataset.name, leaves=leaves)
    return ClipSet(found.clips, (*log.dropped, *found.dropped), found.counts)


def _recordings(
    dataset: Dataset, folder: Path, most: int | None, log: Log, **options: str
) -> Iterator[Recording]:
    """Yield at most so many recordings of each data set: one folder of ``steps`` may hold several."""
    taken: Counter[str] = Counter()
    for recording in dataset.iter_records(folder, "corrected", log, **options):
        name = dataset_key(recording.attributes.get("dataset") or dataset.name)
        taken[name] += 1
        if most is None or taken[name] <= most:
            yield recording


# -- pairs ---------------------------------------------------------------------------------------------------------


def generate(
    root: Path,
    options: PairOptions,
    *,
    limits: Limits | None = None,
    seen: Callable[[], None] | None = None,
) -> PairsMade:
    """Write pairs about the videos of data sets.

    Args:
        root: the workspace; made where it is not there.
        options: what is wanted.
        limits: what calls may cost.
        seen: called after each task that is done.

    Raises:
        UserError: if there is no video with steps, or something about the plan or a model is wrong.
    """
    workspace = Workspace(root)
    options = _as_before(workspace, options)
    found = found_clips(workspace, options)
    plan = _plan(found, options)
    workspace.create()
    with open_models(workspace, limits, options) as models:
        models.require_prices(options.models.generator, options.models.sorts)
        run = generate_pairs(
            found.clips,
            plan,
            _generator(models, options, limits),
            models.ask("generate"),
            progress=lambda _result, _round: seen() if seen is not None else None,
        )
        calls = models.closing()
    _require_replies(run, workspace, mute=calls.mute)
    write_jsonl(workspace.file(CLIPS), found.clips)
    write_jsonl(workspace.file(PAIRS), run.pairs)
    reasons = workspace.write_dropped("clips", found.dropped) | workspace.write_dropped("pairs", run.dropped)
    tasks = {result.task.id: result.outcome for result in run.results}
    summary = {
        "summary": run.summary,
        "clips": dict(found.counts),
        "tasks": tasks,
        "interrupted": run.interrupted,
    }
    write_json(workspace.file(PAIRS_SUMMARY), summary)
    made = PairsMade(
        clips=len(found.clips),
        videos=len({clip.video_id for clip in found.clips}),
        asked=run.summary.asked,
        pairs=len(run.pairs),
        short=run.summary.short,
        postponed=run.summary.postponed,
        dropped=reasons,
        complete=run.is_complete,
        interrupted=run.interrupted,
        summary=run.summary,
        unsent=calls.unsent,
    )
    workspace.record(
        STAGE,
        settings=options.recorded(),
        counts=made.recorded("summary"),
        outputs=(CLIPS, PAIRS, PAIRS_SUMMARY),
    )
    return msgspec.structs.replace(made, calls=calls)


def estimate_pairs(root: Path, options: PairOptions, *, limits: Limits | None = None) -> Estimate:
    """Say what the first round would take, from the real prompts; each pair takes one more short call for its category.

    Raises:
        UserError: as ``generate``.
    """
    if not is_there(root):  # what is only asked leaves nothing behind
        with TemporaryDirectory() as place:
            return _estimate(Workspace(Path(place)), options, limits)
    return _estimate(Workspace(root), options, limits)


def _estimate(workspace: Workspace, options: PairOptions, limits: Limits | None) -> Estimate:
    found = found_clips(workspace, options)
    plan = _plan(found, options)
    with open_models(workspace, limits, options) as models:
        generator = _generator(models, options, limits)
        sorting = (
            generator.category_request(
                f"What is done with {task.clip_id} in question {n} of usual length?", "An answer.", task.level
            )
            for task in plan.tasks
            for n, _ in enumerate(task.wants)
        )
        return models.estimate(
            [("generate", generator.requests(found.clips, plan.tasks)), ("category", sorting)]
        )


def found_clips(workspace: Workspace, options: PairOptions) -> ClipSet:
    """Return the clips of the named data sets, else those that the workspace has, with what was said of them then.

    Raises:
        UserError: if there are none.
    """
    if options.data:
        found = read_clips(options)
    elif is_there(workspace.file(CLIPS)):
        found = _former_clips(workspace)
    else:
        raise UserError(
            "there are no videos to ask about.",
            where=str(workspace.root),
            hint=workspace.meant() or "name a folder of annotated videos: --data FOLDER",
        )
    if not found.clips:
        reasons = ", ".join(sorted({d.reason for d in found.dropped})) or "none was found"
        raise UserError(f"not one video gives a clip: {reasons}.", where=str(workspace.root))
    return found


def _former_clips(workspace: Workspace) -> ClipSet:
    dropped, summary = workspace.file("clips.dropped.jsonl"), workspace.file(PAIRS_SUMMARY)
    said: dict[str, Any] = read_json(summary, dict[str, Any]) if is_there(summary) else {}
    counts = said.get("clips")
    return ClipSet(
        tuple(load_clips(workspace)),
        tuple(read_jsonl(dropped, Dropped)) if is_there(dropped) else (),
        counts if isinstance(counts, dict) else {},
    )


def _as_before(workspace: Workspace, options: PairOptions) -> PairOptions:
    """Where clips come from stays on record when the data are not named again."""
    record = workspace.stages().get(STAGE)
    if options.data or record is None:
        return options
    data, readers, videos = (record.settings.get(name) for name in ("data", "readers", "videos"))
    if not isinstance(data, list) or not isinstance(readers, list):
        return options
    return msgspec.structs.replace(
        options,
        came_from=tuple(map(str, data)),
        dataset=tuple(map(str, readers)),
        max_videos=videos if isinstance(videos, int) else None,
    )


def _plan(found: ClipSet, options: PairOptions) -> PairPlan:
    total = options.total
    if total is None and options.per_clip is None:
        total = min(100, 10 * len(found.clips))
    return plan_pairs(
        found.clips, total=total, per_clip=options.per_clip, levels=options.level, seed=options.seed
    )


def _generator(models: Models, options: PairOptions, limits: Limits | None) -> PairGenerator:
    return PairGenerator(
        models=options.models,
        prompts=generation_prompts(limits.prompts if limits else None),
        secret=models.secret,
        seed=options.seed,
        settings=PairSettings(),
        price=models.price,
        replying=models.replying,
    )


def _require_replies(run: PairRun, workspace: Workspace, *, mute: bool) -> None:
    heard = not mute and any(r.outcome != "postponed" for r in run.results)
    if run.pairs or run.interrupted or not run.results or heard:
        return
    raise UserError(
        f"no model replied in {len(run.results):,} tasks, the first of which says: {run.results[0].detail[:200]}",
        where=str(workspace.root),
        hint=f"{PAIRS} is as it was; the same command asks again",
    )
