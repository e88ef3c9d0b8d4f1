"""``proctor verify``: candidates to verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.console import (
    JsonFlag,
    LimitOption,
    WorkersOption,
    WorkspaceArgument,
    command_app,
    emit,
    progress,
    table,
)
from proctor.cli.models import DryRunFlag, closing_text, emit_estimates, end_with_status
from proctor.cli.options import with_settings
from proctor.stages.limits import Limits

app = command_app()


@app.command()
@with_settings
def verify(
    workspace: WorkspaceArgument,
    store: Annotated[
        str | None,
        typer.Option(help="Where verdicts are kept: a file in the workspace, or a postgresql:// URL."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Confidence from 0.5 to 1 below which the oracle says 'unsure' (default 0.8)."),
    ] = None,
    verifier: Annotated[
        str | None,
        typer.Option(
            help="A model that reviews in place of the oracle, such as openai/gpt-4o; its verdicts lie beside all others."
        ),
    ] = None,
    form: Annotated[
        str, typer.Option(help="Of a model's reply: text, or json (structured output).")
    ] = "text",
    frames: Annotated[
        int, typer.Option(min=0, help="Frames that a model sees beside the steps, at most; none when 0.")
    ] = 0,
    height: Annotated[int, typer.Option(min=16, help="Of the frames, in pixels.")] = 360,
    sampling: Annotated[str, typer.Option(help="Of the frames: published, uniform or fps.")] = "published",
    videos: Annotated[
        Path | None,
        typer.Option(help="Folder that the videos' paths are relative to (default: the data set's)."),
    ] = None,
    against: Annotated[
        bool,
        typer.Option(
            "--list", help="Verify nothing: hold every oracle, model and filter against people, and end."
        ),
    ] = False,
    *,
    limits: Limits,
    dry_run: DryRunFlag = False,
    limit: LimitOption = None,
    workers: WorkersOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Have every candidate judged by the task-graph oracle, or by a model; people's verdicts live in the same store.

    A candidate that has a verdict of this annotator already is not judged again unless it changed. docs/oracle.md says
    how the oracle decides and how far it agrees with people. A model judges by the criteria of human annotators, and
    how many candidates passed each is printed; who is believed is for 'proctor build --accept' to say.

    --list shows how far each of them agrees with people, how often people uphold what it keeps, and what it cost.

    Example: proctor verify bench --threshold 0.9

    Example: proctor verify bench --verifier openai/gpt-4o-2024-08-06 --dry-run
    """
    from proctor.compute import place_of
    from proctor.errors import UserError
    from proctor.exam.view import View
    from proctor.stages import verify as stage

    if against:
        found = stage.against_people(workspace)
        cells = [
            (row.annotator, row.of, row.judged, row.pairs, _share(row.agreement), _share(row.precision),
             "" if row.cost is None else f"{row.cost:.4f}")
            for row in found
        ]  # fmt: skip
        heads = ("annotator", "of", "judged", "with people", "agreement", "precision of keep", "USD")
        emit({"annotators": found}, table(cells, heads), as_json=as_json)
        return
    if form not in ("text", "json"):
        raise UserError(f"--form is {form!r}.", hint="one of text, json")
    view = View(frames=frames, height=height, sampling=sampling) if frames else None  # type: ignore[arg-type]
    place = place_of(workers)
    if verifier is None:
        if dry_run:
            emit_estimates([], as_json=as_json)
            return
        with progress("verifying", quiet=as_json) as seen:
            result = stage.verify(
                workspace, store=store, threshold=threshold, limit=limit, place=place, seen=seen
            )
    elif threshold is not None:
        raise UserError("--threshold is the oracle's, and a model verifies.", hint="leave one of them out")
    else:
        options: stage.ReviewOptions = {
            "store": store,
            "form": form,  # type: ignore[typeddict-item]
            "view": view,
            "videos": videos,
            "limit": limit,
            "limits": limits,
        }
        if dry_run:
            estimate = stage.estimate_verification(workspace, verifier, **options)
            emit_estimates([estimate], as_json=as_json)
            return
        with progress("verifying", quiet=as_json) as seen:
            result = stage.verify_with_model(workspace, verifier, seen=seen, **options)
    values = ("right", "wrong", "unsure")
    rows = [
        (name, what, *(said[what].get(v, 0) for v in values))
        for name, said in result["annotators"].items()
        for what in ("questions", "answers")
    ]
    text = table(rows, ("annotator", "of", *values))
    if "funnel" in result:
        dropped = ", ".join(f"{n} {reason}" for reason, n in result["dropped"].items()) or "none"
        funnels = {"": result["funnel"], **result.get("funnels", {})}
        for kind, funnel in funnels.items():
            if funnel:
                text += "\n\n" + table(funnel.items(), (f"funnel {kind}".strip(), "candidates"))
        text += f"\n\nwithout a verdict: {dropped}\n{closing_text(result['calls'])}"
    emit(result, text + f"\n\nnext: proctor build {workspace}", as_json=as_json)
    end_with_status(result.get("calls"))


def _share(share: tuple[float, float, float] | None) -> str:
    """Return percent with its interval; empty where nothing was counted."""
    return "" if share is None else f"{100 * share[0]:.1f} [{100 * share[1]:.0f}, {100 * share[2]:.0f}]"
