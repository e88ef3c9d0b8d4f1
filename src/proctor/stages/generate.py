"""The stage ``generate``: examples to candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from proctor.errors import UserError
from proctor.examples.example import Example
from proctor.examples.sample import Quota, sample_published, sample_quota
from proctor.generate.candidate import Candidate
from proctor.generate.rules import RuleGenerator, generate_candidates
from proctor.records import Dropped, write_jsonl
from proctor.stages.inputs import load_examples
from proctor.workspace import Workspace

__all__ = ["DEFAULTS", "generate"]

DEFAULTS: dict[str, Any] = {
    "generator": "rules",
    "sample": "quota",
    "examples": 500,
    "per_example": 1,
    "seed": 0,
}


def generate(
    root: Path,
    *,
    generator: str | None = None,
    sample: str | None = None,
    examples: int | None = None,
    per_example: int | None = None,
    seed: int | None = None,
    limit: int | None = None,
    seen: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Choose examples and make candidates of them.

    Args:
        root: the workspace.
        generator: ``rules``.
        sample: ``quota`` (balanced), ``published`` (the release's sampler) or ``all``.
        examples: how many to draw.
        per_example: candidates with different wording for each example.
        seed: of the run.
        limit: stop after so many examples.
        seen: called after each example.

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
    }
    settings = workspace.settings("generate", given, DEFAULTS)
    if settings["generator"] != "rules":
        raise UserError(f"there is no generator '{settings['generator']}'.", hint="known: rules")
    chosen, sampling = _sample(all_examples, settings)
    chosen = chosen[:limit]
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
        "sampling": sampling,
    }
    inputs = ("examples.jsonl", "graphs.json")
    workspace.record(
        "generate", settings=settings, counts=counts, inputs=inputs, outputs=("candidates.jsonl",)
    )
    return counts


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
