"""What commands that ask models print, and how they end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from proctor.cli.console import emit
from proctor.terminal import note, progress, warn

if TYPE_CHECKING:
    from proctor.llm.estimate import Estimate
    from proctor.stages.limits import Limits
    from proctor.stages.models import Asked, Closing

__all__ = [
    "closing_text",
    "emit_estimates",
    "end_unfinished",
    "end_with_status",
    "estimate_text",
    "failed_text",
    "next_step",
    "rehearsed",
]


@contextmanager
def rehearsed(
    limits: Limits, workspace: Path, quality: float | None, *, seed: int, quiet: bool
) -> Iterator[Limits]:
    """Yield the limits of an experiment: as they are, or with all models played where a quality is given.

    Raises:
        UserError: if the workspace is a rehearsal's and no quality is given, or is another's.
    """
    import msgspec

    from proctor.stages.rehearsing import find_rehearser, require_no_rehearsal

    if quality is None:
        require_no_rehearsal(workspace)
        yield limits
        return
    rehearser = find_rehearser("A rehearsal")
    with rehearser.open_rehearsal(
        workspace, quality, seed=seed, show=partial(progress, quiet=quiet)
    ) as playing:
        if not quiet:
            note(f"rehearsal: all models are played at {playing.url}; nothing is sent elsewhere")
        yield msgspec.structs.replace(limits, rehearsal=playing)


def emit_estimates(estimates: Iterable[Estimate | None], *, as_json: bool) -> None:
    """Print the result of a dry run; None stands for what asks no model."""
    import msgspec

    found = [estimate for estimate in estimates if estimate is not None]
    text = "\n\n".join(map(estimate_text, found)) or "No model is asked: it costs nothing."
    emit({"estimates": [msgspec.to_builtins(estimate) for estimate in found]}, text, as_json=as_json)


def estimate_text(estimate: Estimate) -> str:
    """Return an estimate for people."""
    from proctor.llm.estimate import render_estimate

    return render_estimate(estimate)


def closing_text(calls: Closing | None, failed: Mapping[str, int] | None = None) -> str:
    """Return the closing line of a stage that asked models; empty where it asked nobody.

    Args:
        calls: of the stage.
        failed: how many records failed for each reason; the calls by default.
    """
    if calls is None:
        return ""
    from proctor.llm.outcome import FAILURE_KINDS

    kinds = ", ".join(f"{name} {n:,}" for name, n in calls.outcomes.items())
    text = f"calls: {calls.sent:,} sent, {calls.from_store:,} from the store ({kinds or 'none'}); cost {calls.cost}"
    if calls.unpriced:
        text += f", {calls.unpriced:,} calls at unknown prices not counted"
    if calls.lost:
        text += f"; possibly {calls.feared} more, for {calls.lost:,} calls whose reply was lost"
    for cut in calls.cut_off:
        text += f"\n{cut.told}"
    for pace in calls.flow:
        if pace.reasons or pace.pauses or pace.breaks or pace.stopped:  # else it only grew
            text += f"\nconcurrency {pace.story} ({pace.endpoint})"
    text += f"\nstopped: {calls.stopped}" if calls.stopped else ""
    if failed is None:
        failed = {name: n for name, n in calls.outcomes.items() if name in FAILURE_KINDS}
    text += f"\n{failed_text(failed)}" if failed else ""
    return text + "".join(f"\n  {kind}: {why}" for kind, why in calls.why.items() if kind in failed)


def failed_text(kinds: Mapping[str, int]) -> str:
    """Return how many failed, of which kinds, and how they are asked again."""
    from proctor.llm.outcome import OURS, is_settled

    def told(some: Iterable[str]) -> str:
        return ", ".join(f"{name} {kinds[name]:,}" for name in some)

    text = f"failed: {told(kinds)}"
    if again := [name for name in kinds if is_settled(name) and name != "content_filter"]:
        text += f"; --retry-failed asks again: {told(again)}"
    if owed := [name for name in kinds if name in OURS]:
        text += f"; the same command asks again: {told(owed)}"
    return text


def next_step(command: str, *calls: Closing | None, accepted: bool = False) -> str:
    """Return what comes next: a command, or where calls were left or no model said anything, the same one again.

    Args:
        command: where all is there.
        *calls: of each part of the command that ends.
        accepted: failures are accepted.
    """
    left = any(each is not None and (each.mute or each.stopped) for each in calls)
    return f"next: {'run the same command again, for what is left' if left and not accepted else command}"


def end_with_status(*calls: Closing | None, accepted: bool = False) -> None:
    """End a command whose calls came to nothing or were stopped, so that scripts do not go on.

    Args:
        *calls: of each part of the command; None for parts that asked nobody.
        accepted: only say so, for failures are accepted.

    Raises:
        typer.Exit: 1 if models were asked and not one has said anything, 3 if calls were left that were not sent.
    """
    made = [each for each in calls if each is not None]
    status = 0
    if any(each.mute for each in made):
        status = 1
        warn("no model said anything; what was asked is asked again by the same command")
    elif stopped := [each.stopped for each in made if each.stopped]:
        status = 3
        warn(f"stopped early: {stopped[0]}; the same command continues from here")
    if status and not accepted:
        raise typer.Exit(status)


def end_unfinished(result: Asked, left: str, *, accepted: bool = False) -> None:
    """End a command whose stage stopped before its end: as an interrupted one, or with status 3 when the same command goes on.

    Args:
        result: of a stage; it is written already.
        left: what is still to be done, for the warning.
        accepted: only say so, for failures are accepted.

    Raises:
        KeyboardInterrupt: if somebody stopped the stage.
        typer.Exit: 1 if no model said anything, 3 if something is left.
    """
    if result.interrupted:
        raise KeyboardInterrupt  # what is there was written: said and ended as in every command
    if not result.complete:
        warn(f"{left}; the same command continues from here")
        end_with_status(result.calls, accepted=accepted)
        if not accepted:
            raise typer.Exit(3)
