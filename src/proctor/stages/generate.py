"""The stage ``generate``: examples to candidates."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, TypedDict, Unpack

import msgspec

from proctor.errors import UserError
from proctor.exam.view import View
from proctor.examples.sample import (
    MAX_MISTAKEN_STEPS,
    MAX_TARGETS,
    PROTOCOLS,
    Pool,
    Quota,
    draw_published,
    draw_quota,
)
from proctor.generate.candidate import Candidate
from proctor.generate.model_generator import Funnel, ModelGenerator
from proctor.generate.promqa_prompt import DEFAULT_TEMPLATE, generation_prompts
from proctor.generate.rules import RuleGenerator, generate_candidates
from proctor.llm.estimate import Estimate
from proctor.procedure.graph import TaskGraph
from proctor.records import Dropped, write_jsonl
from proctor.stages.inputs import PlacedExamples, iter_examples
from proctor.stages.models import Limits, Models, open_models
from proctor.stages.pictures import ExamplePictures
from proctor.stages.videos import workspace_videos
from proctor.workspace import Workspace

__all__ = [
    "DEFAULTS",
    "MODEL_DEFAULTS",
    "GenerateOptions",
    "estimate_generation",
    "generate",
    "model_generator",
]

DEFAULTS: dict[str, Any] = {
    "generator": ["rules"],
    "sample": "quota",
    "examples": 500,
    "per_recording": 0,
    "max_mistaken": MAX_MISTAKEN_STEPS,
    "max_targets": MAX_TARGETS,
    "per_example": 1,
    "seed": 0,
}
MODEL_DEFAULTS: Final[Mapping[str, Any]] = {
    "template": DEFAULT_TEMPLATE,
    "pairs": 3,
    "form": "text",
    "frames": 50,
    "height": 360,
    "sampling": "published",
}
"""What only a model's generation has, beside the others."""


class GenerateOptions(TypedDict, total=False):
    """What can be chosen; None is as good as left out.

    Attributes:
        generator: ``rules``, the name of a model (``openai/gpt-4o``), or several, each of which asks about every example.
        sample: ``quota`` (balanced), ``published`` (the release's sampler) or ``all``.
        protocol: ``corrected`` (no cap on a recording's share) or ``paper`` (at most one example of a type from a
            recording); what is given beside it wins.
        examples: how many to draw.
        per_recording: of ``quota``: at most so many examples of one type from one recording; 0 for any number.
        max_mistaken: of ``quota``: earlier steps that may have been done wrongly; 0 for any number.
        max_targets: of ``quota``: steps that may be right answers; 0 for any number.
        per_example: candidates with different wording for each example and generator.
        seed: of the run.
        template: how a model is shown procedure and recording (``proctor.generate.promqa_prompt.TEMPLATES``).
        pairs: how many questions a model is asked for; ``per_example`` of them are picked.
        form: of a model's reply, ``text`` or ``json`` (structured output).
        frames: at most so many, for templates that show some.
        height: of the frames, in pixels.
        sampling: of the frames; see ``proctor.exam.view.View``.
    """

    generator: str | Sequence[str] | None
    sample: str | None
    protocol: str | None
    examples: int | None
    per_recording: int | None
    max_mistaken: int | None
    max_targets: int | None
    per_example: int | None
    seed: int | None
    template: str | None
    pairs: int | None
    form: str | None
    frames: int | None
    height: int | None
    sampling: str | None


def generate(
    root: Path,
    *,
    limit: int | None = None,
    videos: Path | None = None,
    limits: Limits | None = None,
    seen: Callable[[], None] | None = None,
    **options: Unpack[GenerateOptions],
) -> dict[str, Any]:
    """Choose examples and make candidates of them.

    Args:
        root: the workspace.
        limit: stop after so many examples.
        videos: folder that the recordings' videos are relative to; the data set's by default.
        limits: what a model's calls may cost, and where they are kept.
        seen: called after each example, or each call of a model.
        **options: see ``GenerateOptions``.

    Raises:
        UserError: if there are no examples, or a setting is unknown.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    settings = _settings(workspace, options)
    chosen, there, sampling = _sample(workspace, graphs, settings, limit)
    by_type: Counter[str] = Counter()
    dropped: list[Dropped] = []
    funnels: dict[str, dict[str, int]] = {}
    calls: dict[str, Any] | None = None
    remarks: dict[str, Any] = {}
    reasons: dict[str, int] = {}

    def made() -> Iterator[Candidate | Dropped]:
        nonlocal calls, remarks
        if "rules" in settings["generator"]:
            rules = RuleGenerator(settings["seed"], settings["per_example"])
            yield from generate_candidates(chosen, graphs, rules, seen=seen)
        if names := _models(settings):
            asked = list(chosen)
            with open_models(workspace, limits) as models:
                for name in names:
                    who = model_generator(
                        models, workspace, graphs, settings, name, limits=limits, videos=videos
                    )
                    replies = who.generate(asked, models.ask("generate", seen))
                    yield from replies.candidates
                    yield from replies.dropped
                    funnels[name] = msgspec.to_builtins(replies.funnel)
                calls, remarks = models.closing(), models.remarks()

    def candidates() -> Iterator[Candidate]:
        for result in made():
            if isinstance(result, Dropped):
                dropped.append(result)
            else:
                by_type[result.type] += 1
                yield result
        reasons.update(workspace.write_dropped("generate", dropped))
        _require_replies(by_type.total(), dropped, funnels)

    write_jsonl(workspace.file("candidates.jsonl"), candidates())
    counts = {
        "examples": there,
        "sampled": len(chosen),
        "candidates": by_type.total(),
        "by_type": dict(by_type),
        "dropped": reasons,
        "sampling": sampling,
        **remarks,
    }
    if funnels:
        counts["funnel"] = {step: sum(f[step] for f in funnels.values()) for step in Funnel.__struct_fields__}
    if len(funnels) > 1:
        counts["funnels"] = funnels
    workspace.record(
        "generate",
        settings=settings,
        counts=counts,
        inputs=("examples.jsonl", "graphs.json"),
        outputs=("candidates.jsonl",),
    )
    return counts if calls is None else {**counts, "calls": calls}


def _settings(workspace: Workspace, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what holds for the generator that is asked for: rules know nothing of templates.

    Raises:
        UserError: if there is no such generator.
    """
    one = given.get("generator")
    names = {
        **_caps(given.get("protocol")),
        **{name: value for name, value in given.items() if name != "protocol" and value is not None},
        "generator": [one] if isinstance(one, str) else one and list(one),
    }
    settings = workspace.settings("generate", names, {**DEFAULTS, **MODEL_DEFAULTS})
    generators = settings["generator"]
    strange = [n for n in generators if n != "rules" and "/" not in n]
    if strange or not generators:
        raise UserError(
            f"there is no generator '{strange[0]}'." if strange else "no generator was named.",
            hint="known: rules, or a model such as openai/gpt-4o",
        )
    numbers = ("examples", "per_recording", "max_mistaken", "max_targets")
    if negative := [n for n in numbers if settings[n] < 0]:
        raise UserError(f"{negative[0]} is {settings[negative[0]]}.", hint="give 0 or more")
    if len(set(generators)) < len(generators):
        raise UserError(
            f"a generator was named twice: {', '.join(generators)}.",
            hint="--per-example gives more candidates",
        )
    if _models(settings):
        return settings
    for name in MODEL_DEFAULTS:
        if given.get(name) is not None:
            raise UserError(f"rules have no {name}.", hint="name a model as well: --generator PROVIDER/MODEL")
        del settings[name]
    return settings


def _caps(protocol: str | None) -> Mapping[str, int]:
    if protocol is None:
        return {}
    if protocol not in PROTOCOLS:
        raise UserError(f"there is no protocol '{protocol}'.", hint=f"known: {', '.join(PROTOCOLS)}")
    return PROTOCOLS[protocol]


def _require_replies(
    candidates: int, dropped: Sequence[Dropped], funnels: Mapping[str, Mapping[str, int]]
) -> None:
    """Keep what is there when models were asked and none of them said anything.

    Raises:
        UserError: with the commonest reason.
    """
    if (
        candidates
        or not any(f["asked"] for f in funnels.values())
        or any(f["replied"] for f in funnels.values())
    ):
        return
    reason, number = Counter(d.reason for d in dropped).most_common(1)[0]
    detail = next(d.detail for d in dropped if d.reason == reason)
    raise UserError(
        f"no model replied; {number:,} of {len(dropped):,} times: {reason}: {detail[:200]}",
        hint="all reasons are in generate.dropped.jsonl, candidates.jsonl is as it was; the same command asks again",
    )


def _models(settings: Mapping[str, Any]) -> list[str]:
    return [name for name in settings["generator"] if "/" in name]


def estimate_generation(
    root: Path,
    *,
    limit: int | None = None,
    videos: Path | None = None,
    limits: Limits | None = None,
    **options: Unpack[GenerateOptions],
) -> Estimate | None:
    """Say what generation by models would take, from the real prompts; nothing is sent. None for rules: they ask nobody.

    The second round, for replies that cannot be read, is not in it.

    Raises:
        UserError: as ``generate``.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    settings = _settings(workspace, options)
    if not (names := _models(settings)):
        return None
    chosen = list(_sample(workspace, graphs, settings, limit)[0])
    with open_models(workspace, limits) as models:
        who = [
            model_generator(models, workspace, graphs, settings, name, limits=limits, videos=videos)
            for name in names
        ]
        return models.estimate([("generate", one.requests(chosen)) for one in who])


def model_generator(
    models: Models,
    workspace: Workspace,
    graphs: Mapping[str, TaskGraph],
    settings: Mapping[str, Any],
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
    view = View(frames=settings["frames"], height=settings["height"], sampling=settings["sampling"])
    return ModelGenerator(
        model=name,
        prompts=generation_prompts(limits.prompts if limits else None),
        secret=models.secret,
        graphs=graphs,
        template=settings["template"],
        seed=settings["seed"],
        pairs=settings["pairs"],
        per_example=settings["per_example"],
        form=settings["form"],
        attach=ExamplePictures(models.media, view, workspace_videos(workspace, videos)),
        price=models.price,
    )


def _sample(
    workspace: Workspace, graphs: Mapping[str, TaskGraph], settings: Mapping[str, Any], limit: int | None
) -> tuple[PlacedExamples, int, dict[str, Any]]:
    """Return the chosen examples, the number of all, and what became of each cell where there were quotas."""
    sampler = settings["sample"]
    if sampler not in ("quota", "published", "all"):
        raise UserError(f"there is no sampler '{sampler}'.", hint="known: quota, published, all")
    caps = (
        {} if sampler == "published" else {name: settings[name] for name in ("max_mistaken", "max_targets")}
    )
    pool = Pool(seed=settings["seed"], **caps)
    places = array("Q")
    for place, example in iter_examples(workspace, graphs):
        places.append(place)
        if sampler != "all":
            pool.add(example)
    positions: Sequence[int] = range(len(places))
    sampling: dict[str, Any] = {}
    if sampler == "published":
        positions = draw_published(pool, cut=settings["examples"])
    elif sampler == "quota":
        quota = Quota(total=settings["examples"], per_recording=settings["per_recording"], **caps)
        positions, report = draw_quota(pool, quota)
        cells = {str(cell): asdict(found) for cell, found in report.cells.items()}
        sampling = {"cells": cells, "left_out": dict(report.left_out)}
    chosen = array("Q", (places[position] for position in positions[:limit]))
    return PlacedExamples(workspace.file("examples.jsonl"), chosen), len(places), sampling
