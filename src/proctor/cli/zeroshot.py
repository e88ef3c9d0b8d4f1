"""``proctor learn zeroshot``: a vision-language model is asked about steps."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from proctor.cli.console import emit, table
from proctor.cli.models import closing_text, emit_estimates, end_with_status
from proctor.cli.options import DryRun, Output, with_settings
from proctor.stages.learn.zeroshot_settings import ZeroshotSettings
from proctor.stages.limits import Limits
from proctor.terminal import progress

if TYPE_CHECKING:
    from proctor.exam.estimate import Estimate
    from proctor.stages.learn.zeroshot import Zeroshot

__all__ = ["zeroshot"]


@with_settings
def zeroshot(settings: ZeroshotSettings, limits: Limits, dry_run: DryRun, output: Output) -> None:
    """Ask a vision-language model whether each step was carried out as it should be.

    Run the same command again to continue a run that was stopped; nothing is paid for twice. Keys come from the environment.

    Example: proctor learn zeroshot --annotations ~/data/captaincook4d --model google/gemini-2.5-pro --videos gopro -o v1 --dry-run

    Example: proctor learn zeroshot --annotations ~/data/captaincook4d -m compat/eyes@http://host:8000/v1 --variant v2 -o v2
    """
    from proctor.stages.learn.zeroshot import estimate_zeroshot
    from proctor.stages.learn.zeroshot import zeroshot as ask

    if dry_run.dry_run:
        emit_estimates(estimate_zeroshot(settings, limits), as_json=output.as_json)
        return
    result = ask(settings, limits=limits, show=partial(progress, quiet=output.as_json))
    text = f"{_zeroshot_text(result)}\n\npage: {settings.out / 'page.html'}"
    emit(result, text, as_json=output.as_json)
    end_with_status(*result.calls, accepted=limits.accept_failures)


def _zeroshot_text(result: Zeroshot) -> str:
    figures = result.figures
    rows = [
        (
            row.name,
            row.source,
            *(_share(e, row.source) for e in (row.accuracy, row.precision, row.recall, row.f1)),
        )
        for row in figures.rows
    ]
    clips = ", ".join(f"{n:,} {name}" for name, n in result.clips.items())
    parts = [
        f"{result.model}, {result.variant}, {figures.n:,} steps ({figures.mistakes:,} mistakes; clips: {clips})",
        table(rows, ("who", "", "accuracy", "precision", "recall", "F1")),
        figures.verdict,
        table(
            [(category, *said.values()) for category, said in figures.said.items()],
            ("replies", *next(iter(figures.said.values()))),
        ),
    ]
    if figures.categories:
        measured = [
            (
                c.category,
                c.asked,
                c.mistakes,
                c.unasked,
                *(_share(row.f1, row.source) for row in (c.rows[0], c.rows[1], *c.rows[4:])),
            )
            for c in figures.categories
        ]
        header = (
            "category",
            "asked",
            "mistakes",
            "of them not asked",
            "F1",
            "always",
            "guessing as often",
            "Video-LLaVA",
            "TimeChat",
        )
        parts.append(table(measured, header))
    if result.worded or result.writing is not None:
        many = ", ".join(
            f"{category} {n:,} of {result.questions[category]:,}" for category, n in result.worded.items()
        )
        parts.append(f"written for their step: {many or 'none'}; {closing_text(result.writing)}")
    parts += [f"{run.run}: {closing_text(run.calls, run.failures)}" for run in result.runs]
    return "\n\n".join(parts)


def _share(figure: Estimate, source: str) -> str:
    """Return a share per cent with its interval; a published one as it is printed."""
    if figure.value is None:
        return "–"
    interval = (
        ""
        if figure.low is None or figure.high is None
        else f" [{100 * figure.low:.1f}, {100 * figure.high:.1f}]"
    )
    return (
        f"{100 * figure.value:.1f}{interval}"
        if source != "published"
        else f"{round(100 * figure.value, 2):g}"
    )
