"""``proctor generate``: candidate questions about moments, documents or clips."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from proctor.cli.console import WorkspaceArgument, command_app, counted, emit, table
from proctor.cli.models import (
    closing_text,
    emit_estimates,
    end_unfinished,
    end_with_status,
    estimate_text,
    next_step,
)
from proctor.cli.options import DryRun, Output, with_settings
from proctor.stages.clip.settings import PairOptions
from proctor.stages.documents.settings import DocumentsOptions
from proctor.stages.limits import Limits
from proctor.stages.settings import GenerateFiles, GenerateSettings
from proctor.terminal import progress, warn

if TYPE_CHECKING:
    from proctor.ask.moment.model_generator import Funnel
    from proctor.stages.clip.pairs import PairsMade
    from proctor.stages.documents.generate import DocumentsMade
    from proctor.stages.generate import Sampling

apps = {name: command_app() for name in ("moment", "documents", "clip")}


@apps["moment"].command()
@with_settings
def moment(
    workspace: WorkspaceArgument,
    settings: GenerateSettings,
    files: GenerateFiles,
    limits: Limits,
    trying: DryRun,
    output: Output,
) -> None:
    """Choose examples and generate candidate questions with all their answers.

    Writes candidates.jsonl, and generate.dropped.jsonl with the reason for everything that is not in it. A model is
    asked for several questions about each example, of which one is picked by the seed. Its calls are kept in the
    workspace's call store: running the command again pays for nothing twice.

    Example: proctor generate bench --examples 200 --seed 7

    Example: proctor generate bench --generator openai/gpt-4o-2024-08-06 --template excerpt-steps --dry-run
    """
    from proctor.stages import generate as stage
    from proctor.stages.trial import trial

    if trying.dry_run:
        with trial(workspace, limits) as (workspace, limits):
            found = stage.estimate_generation(
                workspace, settings, limit=files.limit, videos=files.videos, limits=limits
            )
        emit_estimates([found], as_json=output.as_json)
        return
    total = None if settings.sample == "all" else settings.examples * len(settings.generator)
    with progress("generating", total, quiet=output.as_json) as seen:
        result = stage.generate(
            workspace, settings, limit=files.limit, videos=files.videos, limits=limits, seen=seen
        )
    text = (
        sampling_text(result.sampling)
        + table([*result.by_type.items(), ("all", result.candidates)], ("type", "candidates"))
        + f"\n\nfrom {result.sampled:,} of {result.examples:,} examples; without a candidate: {counted(result.dropped)}"
    )
    if result.funnel is not None:
        funnels = result.funnels or {"": result.funnel}
        text += "".join(f"\n\n{name and name + chr(10)}{funnel_text(funnels[name])}" for name in funnels)
    if result.calls is not None:
        text += f"\n\n{closing_text(result.calls)}"
    text += f"\n{next_step(f'proctor verify {workspace}', result.calls, accepted=limits.accept_failures)}"
    emit(result, text, as_json=output.as_json)
    end_with_status(result.calls, accepted=limits.accept_failures)


def sampling_text(sampling: Sampling) -> str:
    """Return cell by cell what was wanted, there and drawn, and why fewer; empty where there were no quotas."""
    if not sampling.cells:
        return ""
    rows = [(name, c.wanted, c.there, c.drawn, c.why) for name, c in sampling.cells.items()]
    sums = [sum(row[column] for row in rows) for column in (1, 2, 3)]  # type: ignore[misc]
    left_out = "".join(f"\nleft out: {n:,}: {reason}" for reason, n in sampling.left_out.items())
    header = ("type / earlier mistakes / target", "wanted", "there", "drawn", "why fewer")
    return table([*rows, ("all", *sums, "")], header) + left_out + "\n\n"


def funnel_text(funnel: Funnel) -> str:
    """Return how many examples came how far, and how many of those before."""
    reached = {name: getattr(funnel, name) for name in ("examples", "asked", "replied", "parsed", "picked")}
    before = [funnel.examples, *reached.values()]
    rows = [
        (step, n, f"{n / earlier:.0%}" if earlier else "")
        for (step, n), earlier in zip(reached.items(), before, strict=False)
    ]
    text = table(rows, ("funnel", "examples", "of those before"))
    return f"{text}\nread in a second round: {funnel.repaired}; with fewer questions than asked for: {funnel.fewer}"


@apps["documents"].command()
@with_settings
def documents(
    workspace: WorkspaceArgument, options: DocumentsOptions, limits: Limits, trying: DryRun, output: Output
) -> None:
    """Generate questions of given styles that need given numbers of texts, tables and images.

    For each question a seed source gives an entity, the entity finds candidates of each modality, a model writes a question on
    some of them or refuses, and a verifier checks style, answer and whether every source is needed. Up to eight attempts;
    every outcome is counted. A style of your own is one file: see docs/corpus.md.

    Writes documents.jsonl, documents.attempts.jsonl and documents.json. Calls are kept: run the same command again to continue where it stopped.

    Example: proctor generate documents bench -g openai/gpt-4o --verifier anthropic/claude-sonnet-4-5 --per-cell 5 --dry-run

    Example: proctor generate documents bench -g openai/gpt-4o --style my-style.md --combination 1-1-0 --total 50 --max-cost 10
    """
    if trying.dry_run:
        from proctor.stages.documents.foresee import estimate_documents
        from proctor.stages.trial import trial

        with trial(workspace, limits) as (workspace, limits):
            foreseen = estimate_documents(workspace, options, limits=limits)
        played, planned = foreseen.played, foreseen.planned
        for line in foreseen.warnings:
            warn(line)
        text = (
            estimate_text(foreseen.estimate)
            + f"\n\nfor {played:,} of {planned:,} questions, as models that are right 4 times of 5 would go on"
        )
        if played < planned:
            text += f"; all of them: about {planned / played:.1f} times that"
        found = {
            "estimates": [foreseen.estimate], "played": played, "planned": planned, "impossible": foreseen.impossible,
        }  # fmt: skip
        emit(msgspec.to_builtins(found), text, as_json=output.as_json)
        return
    from proctor.stages.documents.generate import generate as stage

    with progress("generating", quiet=output.as_json) as seen:
        result = stage(workspace, options, limits=limits, seen=seen)
    for line in result.warnings:
        warn(line)
    text = f"{documents_text(result)}\n\n{closing_text(result.calls)}\nnext: proctor retrieve {workspace}"
    emit(result, text, as_json=output.as_json)
    end_unfinished(result, f"{result.open:,} questions are still open", accepted=limits.accept_failures)


def documents_text(result: DocumentsMade) -> str:
    """Return what was asked for and made, and what became of the attempts."""
    rows = [
        (
            c.style,
            c.combination,
            c.asked,
            c.achieved,
            c.attempts,
            "" if c.yield_ is None else f"{c.yield_:.0%}",
            c.cost or "not known",
        )
        for c in result.cells
    ]
    text = table(rows, ("style", "sources", "asked", "made", "attempts", "yield", "cost"))
    text += f"\n\n{result.achieved:,} of {result.asked:,} questions in {result.attempts:,} attempts"
    text += "\n" + ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in result.outcomes.items())
    if result.near_known:
        text += f"\n{result.near_known:,} are near questions that models may have learnt from (documents.json lists them)"
    return text


@apps["clip"].command()
@with_settings
def clip(
    workspace: WorkspaceArgument, options: PairOptions, limits: Limits, trying: DryRun, output: Output
) -> None:
    """Write question–answer pairs about clips of annotated videos: coarse (events) and fine (objects).

    Long videos are cut into clips first. A model reads the steps, never the pictures; every pair cites its steps. Pairs are
    spread over categories, levels and places in the clip; rounds go on until the quota is met. Writes clips.jsonl,
    pairs.jsonl and pairs.json.

    Example: proctor generate clip bench --data youcook2 -g openai/gpt-4o --total 200 --dry-run
    """
    from proctor.stages.clip.pairs import estimate_pairs
    from proctor.stages.clip.pairs import generate as stage
    from proctor.stages.trial import trial

    if trying.dry_run:
        with trial(workspace, limits) as (workspace, limits):
            estimate = estimate_pairs(workspace, options, limits=limits)
        emit_estimates([estimate], as_json=output.as_json)
        return
    with progress("writing pairs", quiet=output.as_json) as seen:
        result = stage(workspace, options, limits=limits, seen=seen)
    text = f"{pairs_text(result)}\n\n{closing_text(result.calls)}\nnext: proctor filter {workspace}"
    emit(result, text, as_json=output.as_json)
    end_unfinished(result, f"{result.postponed:,} tasks are postponed", accepted=limits.accept_failures)


def pairs_text(result: PairsMade) -> str:
    """Return how many pairs of which kind there are, and what was left out."""
    summary = result.summary
    rows = [*summary.by_level.items(), *summary.by_category.items(), ("all", result.pairs)]
    text = table(rows, ("level, category", "pairs"))
    text += f"\n\nabout {result.clips:,} clips of {result.videos:,} videos; {result.asked:,} were asked for"
    if result.dropped:
        text += "\nleft out: " + counted(result.dropped)
    return text
