"""``proctor verify``: candidates to verdicts."""

from __future__ import annotations

from typing import Annotated

from proctor.cli.console import WorkspaceArgument, command_app, counted, emit, table
from proctor.cli.models import closing_text, emit_estimates, end_with_status, next_step
from proctor.cli.options import DryRun, Output, Spread, with_settings
from proctor.settings import Settings, option
from proctor.stages.exam_settings import VerifySettings
from proctor.stages.limits import Limits
from proctor.terminal import progress

app = command_app()


class Comparing(Settings, frozen=True, kw_only=True):
    """Whether nothing is verified."""

    against: Annotated[
        bool,
        option("Verify nothing: compare every oracle, model and filter with people.", "--list"),
    ] = False


@app.command()
@with_settings
def verify(
    workspace: WorkspaceArgument,
    settings: VerifySettings,
    comparing: Comparing,
    limits: Limits,
    trying: DryRun,
    spread: Spread,
    output: Output,
) -> None:
    """Have every question judged by the task-graph oracle (moments), or by a model (every kind); people's verdicts are in the same store.

    A candidate that has a verdict of this annotator already is not judged again unless it changed. docs/oracle.md says
    how the oracle decides and how far it agrees with people. A model judges by the criteria of human annotators, and
    how many candidates passed each is printed; 'proctor build --accept' chooses whose verdicts count.

    --list shows how far each of them agrees with people, how often people uphold what it keeps, and what it cost.

    Example: proctor verify bench --threshold 0.9

    Example: proctor verify bench --verifier openai/gpt-4o-2024-08-06 --dry-run
    """
    from proctor.compute import place_of
    from proctor.stages import verify as stage
    from proctor.stages.trial import trial

    if comparing.against:
        found = stage.against_people(workspace)
        cells = [
            (row.annotator, row.of, row.judged, row.pairs, _share(row.agreement), _share(row.precision),
             "" if row.cost is None else f"{row.cost:.4f}")
            for row in found
        ]  # fmt: skip
        heads = ("annotator", "of", "judged", "with people", "agreement", "precision of keep", "USD")
        none = f"no oracle, model or filter has judged anything here\nnext: proctor verify {workspace}"
        emit({"annotators": found}, table(cells, heads) if found else none, as_json=output.as_json)
        return
    if trying.dry_run:
        with trial(workspace, limits) as (workspace, limits):
            asked = stage.estimate_verifying(workspace, settings, limits=limits)
        emit_estimates(asked, as_json=output.as_json)
        return
    with progress("verifying", quiet=output.as_json) as seen:
        said = stage.verify_as(workspace, settings, limits=limits, place=place_of(spread.workers), seen=seen)
    values = ("right", "wrong", "unsure")
    rows = [
        (name, what, *(of[what].get(v, 0) for v in values))
        for name, of in said.annotators.items()
        for what in ("questions", "answers")
    ]
    text = table(rows, ("annotator", "of", *values))
    calls = None
    if isinstance(said, stage.Reviewed):
        calls = said.calls
        for kind, funnel in {"": said.funnel, **said.funnels}.items():
            if funnel:
                text += "\n\n" + table(funnel.items(), (f"funnel {kind}".strip(), "candidates"))
        text += f"\n\nwithout a verdict: {counted(said.dropped)}\n{closing_text(calls)}"
    text += f"\n\n{next_step(f'proctor build {workspace}', calls, accepted=limits.accept_failures)}"
    emit(said, text, as_json=output.as_json)
    end_with_status(calls, accepted=limits.accept_failures)


def _share(share: tuple[float, float, float] | None) -> str:
    """Return percent with its interval; empty where nothing was counted."""
    return "" if share is None else f"{100 * share[0]:.1f} [{100 * share[1]:.0f}, {100 * share[2]:.0f}]"
