"""The commands of ``proctor capture``."""

from __future__ import annotations

from collections import Counter

from proctor.cli.console import WorkspaceArgument, command_app, counted, emit, table
from proctor.cli.models import closing_text, emit_estimates, end_with_status
from proctor.cli.options import DryRun, Output, with_settings
from proctor.stages.capture.settings import (
    ConsentSettings,
    IngestSettings,
    PlanSettings,
    RecordSettings,
    ReleaseSettings,
    SyncSettings,
    WithdrawSettings,
)  # fmt: skip
from proctor.stages.limits import Limits
from proctor.terminal import note, progress, warn

__all__ = ["apps"]

_NAMES = (
    "plan",
    "status",
    "record",
    "simulate",
    "sync",
    "residuals",
    "ingest",
    "consent",
    "release",
    "withdraw",
)
apps = {name: command_app() for name in _NAMES}


@apps["plan"].command()
@with_settings
def plan(
    workspace: WorkspaceArgument, settings: PlanSettings, limits: Limits, trying: DryRun, output: Output
) -> None:
    """Draw scripts from task graphs, and plan who records which, where and when.

    Orders are drawn uniformly over all valid ones where they can be counted. People, activities, environments and strategies are
    balanced. What was planned before stays; give more people or recordings, and only new ones are added.

    Example: proctor capture plan kitchen --graphs activities --people 5 --recordings 4 --environments lab,home
    """
    from proctor.stages.capture.plan import estimate_plan
    from proctor.stages.capture.plan import plan as stage
    from proctor.stages.trial import trial

    if trying.dry_run:
        with trial(workspace, limits) as (workspace, limits):
            found = estimate_plan(workspace, settings, limits)
        emit_estimates([found], as_json=output.as_json)
        return
    made = stage(workspace, settings, limits)
    calls = f"{closing_text(made.calls)}\n" if made.calls else ""
    _show(made, f"{calls}next: proctor capture record {workspace} RECORDING", output)
    end_with_status(made.calls, accepted=limits.accept_failures)


@apps["status"].command()
@with_settings
def status(workspace: WorkspaceArgument, output: Output) -> None:
    """Show what is recorded and what is still to do, by participant and by strategy.

    Example: proctor capture status kitchen
    """
    from proctor.stages.capture.plan import show_plan

    _show(show_plan(workspace), "", output)


def _show(planned: object, following: str, output: Output) -> None:
    from proctor.stages.capture.plan import Planned

    assert isinstance(planned, Planned)
    rows = [
        (name or "anybody", one.to_do, one.under_way, one.recorded, one.withdrawn)
        for by in (planned.by_participant, planned.by_strategy)
        for name, one in by.items()
    ]
    for dropped in planned.dropped:
        warn(f"{dropped.id}: {dropped.detail or dropped.reason}")
    text = f"{counted(planned.scripts)} scripts; {planned.slots:,} recordings planned, {planned.new:,} of them now"
    text += "\n\n" + table(rows, ("", "to do", "under way", "recorded", "withdrawn"))
    emit(planned, text + (f"\n\n{following}" if following else ""), as_json=output.as_json)


@apps["record"].command()
@with_settings
def record(workspace: WorkspaceArgument, settings: RecordSettings, output: Output) -> None:
    """Record one session with the sensors of a file; Ctrl-C, or the operator's page, ends it.

    Every sensor runs in a process of its own and is started again when it fails. A session that was killed goes on with
    --resume, or is closed with what is there (--close). --serve waits for the studio's commands.

    Example: proctor capture record kitchen r-001 --sensors sensors.toml --seconds 600
    """
    from proctor.capture.control import Status
    from proctor.stages.capture.record import record as stage

    last: list[str] = []

    def seen(now: Status) -> None:
        """Say what has changed for people who look at a terminal."""
        said = [
            f"{s.name} is {s.state}: {s.message or 'nothing comes'}"
            for s in now.sensors
            if s.state != "green"
        ]
        said += [*now.warnings, *now.asks]
        for line in said:
            if line not in last:
                warn(line)
        last[:] = said

    result = stage(workspace, settings, seen=seen)
    for check in result.checks:
        (note if check.ok else warn)(f"{check.name}: {check.seen}{f' ({check.hint})' if check.hint else ''}")
    rows = [(s.name, s.samples, s.bytes, s.dropped) for s in (result.status.sensors if result.status else ())]
    text = f"{result.manifest.id}: {result.manifest.state}"
    text += "".join(f"\n{reason}" for reason in result.manifest.reasons)
    if rows:
        text += "\n\n" + table(rows, ("stream", "samples", "bytes", "dropped"))
    emit(result, f"{text}\nnext: proctor capture sync {workspace}", as_json=output.as_json)


@apps["sync"].command()
@with_settings
def sync(workspace: WorkspaceArgument, settings: SyncSettings, output: Output) -> None:
    """Synchronise all streams of recordings, and measure how well.

    Each recording gets a table for each stream, and a page with plots: drift, gaps, distances, and a verdict with reasons.

    Example: proctor capture sync kitchen
    """
    from proctor.stages.capture.sync import sync as stage

    with progress("synchronising", quiet=output.as_json) as step:
        done = stage(workspace, settings, seen=lambda _: step())
    rows = [
        (
            one.recording,
            one.verdict,
            one.frames,
            f"{min(one.coverage.values(), default=0):.1%}",
            one.page or "–",
        )
        for one in done
    ]
    text = table(rows, ("recording", "verdict", "frames", "least coverage", "page"))
    said = Counter(reason for one in done for reason in one.reasons)
    text += "".join(
        f"\n{reason}{f' ({count} recordings)' if count > 1 else ''}" for reason, count in said.items()
    )
    emit(done, f"{text}\nnext: proctor capture ingest {workspace}", as_json=output.as_json)


@apps["ingest"].command()
@with_settings
def ingest(workspace: WorkspaceArgument, settings: IngestSettings, output: Output) -> None:
    """Check recordings that are over, make their videos, annotate them from what was noted and reviewed.

    Writes capture/dataset, a plain folder with videos. A raw file that is not what was recorded, or a recording that nobody
    reviewed, is left out with the reason.

    Example: proctor capture ingest kitchen
    """
    from proctor.stages.capture.ingest import ingest as stage

    with progress("ingesting", quiet=output.as_json) as step:
        done = stage(workspace, settings, seen=lambda _: step())
    for name, said in done.notes.items():
        for line in said:
            warn(f"{name}: {line}")
    left_out = f"; left out: {counted(done.dropped)}, listed in capture.dropped.jsonl" if done.dropped else ""
    text = f"{done.recordings:,} recordings in {done.folder}{left_out}"
    emit(done, f"{text}\nnext: proctor read plain {done.folder} {workspace}", as_json=output.as_json)


@apps["consent"].command()
@with_settings
def consent(workspace: WorkspaceArgument, settings: ConsentSettings, output: Output) -> None:
    """Note what a participant agreed to: which text, and whether their recordings may be released.

    Example: proctor capture consent kitchen p01 --text consent.txt --release
    """
    from proctor.stages.capture.release import consent as stage

    given = stage(workspace, settings)
    may = "may be released" if given.release else "may not be released"
    emit(given, f"{given.participant}: recordings {may} ({given.day})", as_json=output.as_json)


@apps["release"].command()
@with_settings
def release(workspace: WorkspaceArgument, settings: ReleaseSettings, output: Output) -> None:
    """Pack recordings, synchronised streams, poses, videos, annotations, splits and features with checksums.

    Only recordings of people who agreed to a release are in it. The same recordings give the same bytes.

    Example: proctor capture release kitchen kitchen-1.0 --name kitchen --licence CC-BY-4.0
    """
    from proctor.stages.capture.release import release as stage

    with progress("packing", quiet=output.as_json) as step:
        done = stage(workspace, settings, seen=lambda _: step())
    for name, why in done.left_out.items():
        warn(f"{name} is left out: {why}")
    text = f"{done.recordings:,} recordings, {done.files:,} files, {done.bytes / 1e6:,.1f} MB: {done.folder}"
    emit(done, text, as_json=output.as_json)


@apps["withdraw"].command()
@with_settings
def withdraw(workspace: WorkspaceArgument, settings: WithdrawSettings, output: Output) -> None:
    """Remove everything of a participant who takes consent back: recordings, what was derived of them, releases.

    Without --yes it only says what would go. Manifests of releases that are named say how many recordings were withdrawn.

    Example: proctor capture withdraw kitchen p01 --release kitchen-1.0 --yes
    """
    from proctor.stages.capture.release import withdraw as stage

    done = stage(workspace, settings)
    if done.left:
        warn(f"not changed, and naming these recordings: {', '.join(done.left)} (see docs/capture.md)")
    lines = [f"{len(done.recordings)} recordings: {', '.join(done.recordings) or '–'}"]
    lines += [f"{name}: {count} lines" for name, count in done.changed.items()]
    lines += [f"{name}: removed whole; make it again" for name in done.removed]
    lines += [f"{name}: rewritten without them" for name in done.releases]
    lines += [] if done.done else ["", "nothing was changed; --yes removes all of this"]
    emit(done, "\n".join(lines), as_json=output.as_json)
