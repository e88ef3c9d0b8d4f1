"""``proctor predict``: predictors answer the benchmark."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

from proctor.cli.console import WorkspaceArgument, command_app, emit, table
from proctor.cli.models import closing_text, emit_estimates, end_with_status, failed_text, next_step
from proctor.cli.options import DryRun, Output, with_settings
from proctor.settings import Settings, option
from proctor.stages.exam_settings import PredictSettings
from proctor.stages.limits import Limits
from proctor.terminal import progress

if TYPE_CHECKING:
    from proctor.stages.predict import Predicted

app = command_app()


class Predictors(Settings, frozen=True, kw_only=True):
    """Who answers."""

    predictor: Annotated[
        tuple[str, ...],
        option(
            "A model: openai/gpt-4o, compat/NAME@http://host:8000/v1, ...; of moments also 'constant' (most frequent answer of "
            "each type), 'recipe-text' (question and recipe only), 'random-step' (any valid step), 'annotations' (upper bound); "
            "of questions with options 'chance', 'longest-option', 'most-frequent-letter'; of orders of steps 'chance', 'presented', "
            "'cue-words', 'shortest-first', 'longest-first', and a trained model: model:RUN (proctor learn sequence). Your own function: "
            "python:module:function. A person's answers from a file: human:FILE. May be repeated (default: all of Proctor's own).",
            "-p",
            metavar="PREDICTOR",
        ),
    ] = ()


@app.command()
@with_settings
def predict(
    workspace: WorkspaceArgument,
    who: Predictors,
    settings: PredictSettings,
    limits: Limits,
    dry_run: DryRun,
    output: Output,
) -> None:
    """Answer the benchmark and write runs/<run>/predictions.jsonl, one run for each kind and form of questions.

    The baselines show what a score is worth: a model that does not beat them did not use what it was shown. Items that a run has
    answered are not asked again. Calls of models are kept in the workspace's call store: running the command again
    pays for nothing twice. Keys come from the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_API_KEY).

    Example: proctor predict bench -p recipe-text -p annotations

    Example: proctor predict bench -p openai/gpt-4o --show frames --frames 50 --height 765 --dry-run

    Example: proctor predict bench -p google/gemini-2.5-pro --show video:360p --videos gopro --max-cost 20

    Example: proctor predict bench --kind order -p model:runs/tiny-both

    Example: proctor predict bench -p openai/gpt-4o --kind documents --show bm25@5
    """
    from proctor.errors import UserError
    from proctor.exam.kind import kind_named
    from proctor.llm.model import is_asked
    from proctor.stages import predict as stage

    chosen = who.predictor or stage.floor_names(workspace, settings)
    if settings.run is not None and len(chosen) > 1:
        raise UserError("--run names one run, but there are several predictors.", hint="give one --predictor")
    if not chosen:
        raise UserError(
            "these questions have no baselines, so they need a model.", hint="name one: --predictor MODEL"
        )
    if dry_run.dry_run:
        from proctor.stages.trial import trial

        with trial(workspace, limits) as (workspace, limits):
            found = {
                name: stage.estimate_prediction(workspace, name, settings, limits=limits) for name in chosen
            }
        emit_estimates((found[name] for name in found if is_asked(name)), as_json=output.as_json)
        return
    show = partial(progress, quiet=output.as_json)
    results = stage.predict_with_several(workspace, chosen, settings, limits=limits, show=show)
    rows = [(r.run, r.items, r.answered, r.asked_now, r.failed) for r in results]
    text = table(rows, ("run", "items", "answered", "asked now", "failed"))
    text += "".join(f"\n\n{r.run}: {told}" for r in results if (told := _told(r)))
    computed = all(kind_named(r.kind).measured.computed for r in results)
    calls = [r.calls for r in results]
    if any(r.answered for r in results):
        step = f"proctor {'score' if computed else 'judge'} {workspace}"
        text += f"\n\n{next_step(step, *calls, accepted=limits.accept_failures)}"
    else:
        text += "\n\nnext: correct what failed, then run the same command again"
    emit({"runs": results}, text, as_json=output.as_json)
    end_with_status(*calls, accepted=limits.accept_failures)


def _told(result: Predicted) -> str:
    """Return what is to be said of a run beside its row."""
    lines = [result.note] if result.note else []
    if result.calls is not None:
        lines.append(closing_text(result.calls, result.failures))
    elif result.failures:
        lines.append(failed_text(result.failures))
    lines += [f"  {kind}: {why}" for kind, why in result.why.items()]
    if "not_shown" in result.why:
        lines.append("  → --videos FOLDER says where videos are; --show recipe or question needs none")
    if result.shrunk:
        ways = "; ".join(f"{n:,} × {way}" for way, n in list(result.shrunk.items())[:3])
        more = len(result.shrunk) - 3
        total = sum(result.shrunk.values())
        lines.append(f"shrunk for {total:,} questions: {ways}" + (f"; {more} other ways" if more > 0 else ""))
    return "\n".join(lines)
