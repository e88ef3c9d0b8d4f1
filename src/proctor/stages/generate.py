"""The stage ``generate``: examples to candidates."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from proctor.ask.moment.candidate import Candidate
from proctor.ask.moment.model_generator import Funnel, ModelGenerator
from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.ask.moment.rules import RuleGenerator, generate_candidates
from proctor.ask.moment.sample import CellReport, Pool, Quota, draw_published, draw_quota
from proctor.errors import UserError
from proctor.exam.view import View
from proctor.llm.estimate import Estimate
from proctor.llm.outcome import is_settled
from proctor.procedure.graph import TaskGraph
from proctor.records import Dropped, write_jsonl
from proctor.stages.inputs import PlacedExamples, iter_examples
from proctor.stages.models import Closing, Limits, Models, open_models
from proctor.stages.pictures import ExamplePictures
from proctor.stages.settings import GenerateSettings
from proctor.stages.videos import workspace_videos
from proctor.tables import Shown
from proctor.workspace import Workspace

__all__ = ["Generated", "Sampling", "estimate_generation", "generate", "model_generator"]


class Sampling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of each cell of the quota, and how many examples were left out for which reason; empty without quotas."""

    cells: dict[str, CellReport] = {}
    left_out: dict[str, int] = {}


class Generated(Shown, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The numbers of the closing line.

    Attributes:
        examples: that there are.
        sampled: of them, those that were chosen.
        candidates: made of these.
        by_type: of them.
        dropped: chosen examples without a candidate, by reason.
        sampling: cells of the quota.
        unsent: parameters that a model has no field for, by model.
        funnel: how far examples came with all models together; None where none was asked.
        funnels: the same by model, where there are several.
        calls: of models; None where none was asked.
    """

    examples: int
    sampled: int
    candidates: int
    by_type: dict[str, int]
    dropped: dict[str, int]
    sampling: Sampling
    unsent: dict[str, list[str]] = {}
    funnel: Funnel | None = None
    funnels: dict[str, Funnel] = {}
    calls: Closing | None = None


def generate(
    root: Path,
    settings: GenerateSettings | None = None,
    *,
    limit: int | None = None,
    videos: Path | None = None,
    limits: Limits | None = None,
    seen: Callable[[], None] | None = None,
) -> Generated:
    """Choose examples and make candidates of them.

    Args:
        root: the workspace.
        settings: who asks about which examples; the workspace's own by default.
        limit: stop after so many examples.
        videos: folder that the recordings' videos are relative to; the data set's by default.
        limits: what a model's calls may cost, and where they are kept.
        seen: called after each example, or each call of a model.

    Raises:
        UserError: if there are no examples, or a model's setting is unknown.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    settings = settings or workspace.resolve(GenerateSettings)
    chosen, there, sampling = sample_examples(workspace, graphs, settings, limit)
    by_type: Counter[str] = Counter()
    dropped: list[Dropped] = []
    funnels: dict[str, Funnel] = {}
    calls: Closing | None = None
    remarks: dict[str, Any] = {}
    reasons: dict[str, int] = {}

    def made() -> Iterator[Candidate | Dropped]:
        nonlocal calls, remarks
        if "rules" in settings.generator:
            rules = RuleGenerator(settings.seed, settings.per_example)
            yield from generate_candidates(chosen, graphs, rules, seen=seen)
        if settings.models:
            asked = list(chosen)
            with open_models(workspace, limits, settings) as models:
                for name in settings.models:
                    who = model_generator(
                        models, workspace, graphs, settings, name, limits=limits, videos=videos
                    )
                    replies = who.generate(asked, models.ask("generate", seen))
                    yield from replies.candidates
                    yield from replies.dropped
                    funnels[name] = replies.funnel
                calls, remarks = models.closing(), models.remarks()

    def candidates() -> Iterator[Candidate]:
        for result in made():
            if isinstance(result, Dropped):
                dropped.append(result)
            else:
                by_type[result.type] += 1
                yield result
        reasons.update(workspace.write_dropped("generate", dropped))
        _require_replies(by_type.total(), dropped, funnels.values())

    write_jsonl(workspace.file("candidates.jsonl"), candidates())
    sums = {step: sum(getattr(f, step) for f in funnels.values()) for step in Funnel.__struct_fields__}
    result = Generated(
        examples=there,
        sampled=len(chosen),
        candidates=by_type.total(),
        by_type=dict(by_type),
        dropped=reasons,
        sampling=sampling,
        **remarks,
        funnel=Funnel(**sums) if funnels else None,
        funnels=funnels if len(funnels) > 1 else {},
    )
    workspace.record(
        "generate",
        settings=settings.recorded(),
        kept={n: v for n, v in settings.recorded().items() if getattr(settings, n) is not None},
        counts=msgspec.to_builtins(result),
        inputs=("examples.jsonl", "graphs.json"),
        outputs=("candidates.jsonl",),
    )
    return result if calls is None else msgspec.structs.replace(result, calls=calls)


def _require_replies(candidates: int, dropped: Sequence[Dropped], funnels: Collection[Funnel]) -> None:
    """Keep what is there when models were asked and none of them said anything.

    Raises:
        UserError: with the commonest reason.
    """
    if candidates or not any(funnel.asked for funnel in funnels) or any(funnel.replied for funnel in funnels):
        return
    reasons = Counter(d.reason for d in dropped)
    # What was not sent says only that something else went wrong before.
    reason, number = max(reasons.items(), key=lambda found: (is_settled(found[0]), found[1]))
    detail = next(d.detail for d in dropped if d.reason == reason)
    raise UserError(
        f"no model replied; {number:,} of {len(dropped):,} times: {reason}: {detail[:200]}",
        hint="all reasons are in generate.dropped.jsonl, candidates.jsonl is as it was; the same command asks again",
    )


def estimate_generation(
    root: Path,
    settings: GenerateSettings | None = None,
    *,
    limit: int | None = None,
    videos: Path | None = None,
    limits: Limits | None = None,
) -> Estimate | None:
    """Say what generation by models would take, from the real prompts; nothing is sent. None for rules: they ask nobody.

    The second round, for replies that cannot be read, is not in it.

    Raises:
        UserError: as ``generate``.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    settings = settings or workspace.resolve(GenerateSettings)
    if not settings.models:
        return None
    chosen = list(sample_examples(workspace, graphs, settings, limit)[0])
    with open_models(workspace, limits, settings) as models:
        who = [
            model_generator(models, workspace, graphs, settings, name, limits=limits, videos=videos)
            for name in settings.models
        ]
        return models.estimate([("generate", one.requests(chosen)) for one in who])


def model_generator(
    models: Models,
    workspace: Workspace,
    graphs: Mapping[str, TaskGraph],
    settings: GenerateSettings,
    name: str,
    *,
    limits: Limits | None = None,
    videos: Path | None = None,
) -> ModelGenerator:
    """Return a model as generator of this workspace.

    Args:
        models: the workspace's door to models.
        workspace: with the examples.
        graphs: task graphs by activity.
        settings: of the stage.
        name: of the model.
        limits: name the folder of the user's own templates.
        videos: folder that the recordings' videos are relative to; the data set's by default.

    Raises:
        UserError: if a setting makes no sense.
    """
    view = View(frames=settings.frames, height=settings.height, sampling=settings.sampling)
    return ModelGenerator(
        model=name,
        prompts=generation_prompts(limits.prompts if limits else None, published=workspace.published),
        secret=models.secret,
        graphs=graphs,
        template=settings.template,
        seed=settings.seed,
        pairs=settings.pairs,
        per_example=settings.per_example,
        form=settings.form,
        attach=ExamplePictures(models.media, view, workspace_videos(workspace, videos), models.left_out),
        price=models.price,
        published=workspace.published,
        replying=models.replying,
    )


def sample_examples(
    workspace: Workspace, graphs: Mapping[str, TaskGraph], settings: GenerateSettings, limit: int | None
) -> tuple[PlacedExamples, int, Sampling]:
    """Return the chosen examples, the number of all, and what became of each cell where there were quotas."""
    caps = {"max_mistaken": settings.max_mistaken, "max_targets": settings.max_targets}
    pool = Pool(seed=settings.seed, **({} if settings.sample == "published" else caps))
    places = array("Q")
    for place, example in iter_examples(workspace, graphs):
        places.append(place)
        if settings.sample != "all":
            pool.add(example)
    positions: Sequence[int] = range(len(places))
    sampling = Sampling()
    if settings.sample == "published":
        positions = draw_published(pool, cut=settings.examples)
    elif settings.sample == "quota":
        quota = Quota(
            total=settings.examples,
            per_recording=settings.most_of_recording,
            max_mistaken=settings.max_mistaken,
            max_targets=settings.max_targets,
        )
        positions, report = draw_quota(pool, quota)
        cells = {str(cell): found for cell, found in report.cells.items()}
        sampling = Sampling(cells=cells, left_out=dict(report.left_out))
    chosen = array("Q", (places[position] for position in positions[:limit]))
    return PlacedExamples(workspace.file("examples.jsonl"), chosen), len(places), sampling
