"""The stage ``generate``: examples to candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.errors import UserError
from proctor.evaluate.view import View
from proctor.examples.example import Example
from proctor.examples.sample import Quota, sample_published, sample_quota
from proctor.generate.candidate import Candidate
from proctor.generate.model_generator import ModelGenerator
from proctor.generate.promqa_prompt import DEFAULT_TEMPLATE, generation_prompts
from proctor.generate.rules import RuleGenerator, generate_candidates
from proctor.llm.estimate import Estimate
from proctor.procedure.graph import TaskGraph
from proctor.records import Dropped, write_jsonl
from proctor.stages.inputs import load_examples, media_root
from proctor.stages.models import Limits, Models, open_models
from proctor.stages.pictures import ExamplePictures
from proctor.workspace import Workspace

__all__ = ["DEFAULTS", "MODEL_DEFAULTS", "estimate_generation", "generate", "model_generator"]

DEFAULTS: dict[str, Any] = {
    "generator": "rules",
    "sample": "quota",
    "examples": 500,
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


def generate(
    root: Path,
    *,
    generator: str | None = None,
    sample: str | None = None,
    examples: int | None = None,
    per_example: int | None = None,
    seed: int | None = None,
    limit: int | None = None,
    template: str | None = None,
    pairs: int | None = None,
    form: str | None = None,
    frames: int | None = None,
    height: int | None = None,
    sampling: str | None = None,
    videos: Path | None = None,
    limits: Limits | None = None,
    seen: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Choose examples and make candidates of them.

    Args:
        root: the workspace.
        generator: ``rules``, or the name of a model (``openai/gpt-4o``).
        sample: ``quota`` (balanced), ``published`` (the release's sampler) or ``all``.
        examples: how many to draw.
        per_example: candidates with different wording for each example.
        seed: of the run.
        limit: stop after so many examples.
        template: how a model is shown procedure and recording (``proctor.generate.promqa_prompt.TEMPLATES``).
        pairs: how many questions a model is asked for; ``per_example`` of them are picked.
        form: of a model's reply, ``text`` or ``json`` (structured output).
        frames: at most so many, for templates that show some.
        height: of the frames, in pixels.
        sampling: of the frames; see ``proctor.evaluate.view.View``.
        videos: folder that the recordings' videos are relative to; the data set's by default.
        limits: what a model's calls may cost, and where they are kept.
        seen: called after each example, or each call of a model.

    Raises:
        UserError: if there are no examples, or a setting is unknown.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    all_examples = load_examples(workspace, graphs)
    given = {
        "generator": generator,
        "sample": sample,
        "examples": examples,
        "per_example": per_example,
        "seed": seed,
        "template": template,
        "pairs": pairs,
        "form": form,
        "frames": frames,
        "height": height,
        "sampling": sampling,
    }
    settings = _settings(workspace, given)
    chosen, cells = _sample(all_examples, settings)
    chosen = chosen[:limit]
    if "/" in settings["generator"]:
        return _generate_with_model(
            workspace, graphs, len(all_examples), chosen, cells, settings, limits, videos, seen
        )
    rules = RuleGenerator(settings["seed"], settings["per_example"])
    dropped: list[Dropped] = []
    by_type: Counter[str] = Counter()

    def candidates() -> Iterator[Candidate]:
        for result in generate_candidates(chosen, graphs, rules, seen=seen):
            if isinstance(result, Candidate):
                by_type[result.type] += 1
                yield result
            else:
                dropped.append(result)

    n = write_jsonl(workspace.file("candidates.jsonl"), candidates())
    counts = {
        "examples": len(all_examples),
        "sampled": len(chosen),
        "candidates": n,
        "by_type": dict(by_type),
        "dropped": workspace.write_dropped("generate", dropped),
        "sampling": cells,
    }
    inputs = ("examples.jsonl", "graphs.json")
    workspace.record(
        "generate", settings=settings, counts=counts, inputs=inputs, outputs=("candidates.jsonl",)
    )
    return counts


def _settings(workspace: Workspace, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what holds for the generator that is asked for: rules know nothing of templates.

    Raises:
        UserError: if there is no such generator.
    """
    settings = workspace.settings("generate", given, {**DEFAULTS, **MODEL_DEFAULTS})
    if "/" in settings["generator"]:
        return settings
    if settings["generator"] != "rules":
        raise UserError(
            f"there is no generator '{settings['generator']}'.",
            hint="known: rules, or a model such as openai/gpt-4o",
        )
    for name in MODEL_DEFAULTS:
        if given.get(name) is not None:
            raise UserError(f"rules have no {name}.", hint="name a model as well: --generator PROVIDER/MODEL")
        del settings[name]
    return settings


def _generate_with_model(
    workspace: Workspace,
    graphs: Mapping[str, TaskGraph],
    examples: int,
    chosen: Sequence[Example],
    sampling: Mapping[str, Any],
    settings: Mapping[str, Any],
    limits: Limits | None,
    videos: Path | None,
    seen: Callable[[], None] | None,
) -> dict[str, Any]:
    with open_models(workspace, limits) as models:
        who = model_generator(models, workspace, graphs, settings, limits=limits, videos=videos)
        made = who.generate(chosen, models.ask("generate", seen))
        calls = models.closing()
    n = write_jsonl(workspace.file("candidates.jsonl"), made.candidates)
    counts = {
        "examples": examples,
        "sampled": len(chosen),
        "candidates": n,
        "by_type": dict(Counter(c.type for c in made.candidates)),
        "dropped": workspace.write_dropped("generate", made.dropped),
        "sampling": dict(sampling),
        "funnel": msgspec.to_builtins(made.funnel),
    }
    inputs = ("examples.jsonl", "graphs.json")
    workspace.record(
        "generate", settings=settings, counts=counts, inputs=inputs, outputs=("candidates.jsonl",)
    )
    return {**counts, "calls": calls}


def estimate_generation(
    root: Path,
    *,
    generator: str | None = None,
    sample: str | None = None,
    examples: int | None = None,
    per_example: int | None = None,
    seed: int | None = None,
    limit: int | None = None,
    template: str | None = None,
    pairs: int | None = None,
    form: str | None = None,
    frames: int | None = None,
    height: int | None = None,
    sampling: str | None = None,
    videos: Path | None = None,
    limits: Limits | None = None,
) -> Estimate | None:
    """Say what a model's generation would take, from the real prompts; nothing is sent. None for rules: they ask nobody.

    The second round, for replies that cannot be read, is not in it.

    Raises:
        UserError: as ``generate``.
    """
    workspace = Workspace(root)
    graphs = workspace.graphs()
    given = {
        "generator": generator,
        "sample": sample,
        "examples": examples,
        "per_example": per_example,
        "seed": seed,
        "template": template,
        "pairs": pairs,
        "form": form,
        "frames": frames,
        "height": height,
        "sampling": sampling,
    }
    settings = _settings(workspace, given)
    if "/" not in settings["generator"]:
        return None
    chosen, _ = _sample(load_examples(workspace, graphs), settings)
    with open_models(workspace, limits) as models:
        who = model_generator(models, workspace, graphs, settings, limits=limits, videos=videos)
        return models.estimate([("generate", who.requests(chosen[:limit]))])


def model_generator(
    models: Models,
    workspace: Workspace,
    graphs: Mapping[str, TaskGraph],
    settings: Mapping[str, Any],
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
        limits: name the folder of the user's own templates.
        videos: folder that the recordings' videos are relative to; the data set's by default.

    Raises:
        UserError: if a setting makes no sense.
    """
    view = View(frames=settings["frames"], height=settings["height"], sampling=settings["sampling"])
    root = videos if videos is not None else media_root(workspace)
    return ModelGenerator(
        model=settings["generator"],
        prompts=generation_prompts(limits.prompts if limits else None),
        secret=models.secret,
        graphs=graphs,
        template=settings["template"],
        seed=settings["seed"],
        pairs=settings["pairs"],
        per_example=settings["per_example"],
        form=settings["form"],
        attach=ExamplePictures(models.media, view, root),
        price=models.price,
    )


def _sample(examples: list[Example], settings: dict[str, Any]) -> tuple[list[Example], dict[str, Any]]:
    """Return the chosen examples, and asked and achieved where there were quotas."""
    match settings["sample"]:
        case "all":
            return examples, {}
        case "published":
            return sample_published(examples, cut=settings["examples"]), {}
        case "quota":
            chosen, report = sample_quota(examples, Quota(total=settings["examples"]), settings["seed"])
            cells = {
                f"{kind}/{'noisy' if noisy else 'clean'}/{'with' if answer else 'without'}": {
                    "asked": asked,
                    "achieved": report.achieved.get((kind, noisy, answer), 0),
                }
                for (kind, noisy, answer), asked in report.asked.items()
            }
            return chosen, {"cells": cells, "excluded": dict(report.excluded)}
        case other:
            raise UserError(f"there is no sampler '{other}'.", hint="known: quota, published, all")
