"""Rounds of recordings: tasks out of the plan, and a folder of each recording out of what tablets sent. docs/rounds.md."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from proctor.capture.records import (
    MANIFEST,
    REVIEW,
    SCRIPT,
    TABLET_EVENTS,
    KeptFile,
    Manifest,
    Review,
    Script,
    StreamSpec,
    recording_folder,
)
from proctor.errors import UserError
from proctor.records import Dropped, atomic_write, file_sha256, is_there, read_json, write_json, write_jsonl
from proctor.stages.rounds.opening import Collected, Made, task_of
from proctor.stages.rounds.settings import RecordRoundSettings
from proctor.studio.slices import INDEX, list_parts, missing_in
from proctor.verify.rounds.record import RecordOptions, RecordSheet, RecordTask
from proctor.verify.rounds.records import Reading, Round
from proctor.workspace import Workspace

__all__ = ["collect", "make"]

_DONE = ("stopped", "stopped_disk", "withdrawn")
_TABLET = "tablet"
_INSTRUCTIONS = """\
Choose a recording, read its steps, and confirm the list. Then the tablet counts down, flashes white for the cameras, and shows one
step at a time: *Done* goes on (Space or a pedal), *Oops* (`O`) notes that something went wrong, and holding *Stop* for a second
(Escape) ends it. Afterwards say of each step whether it was done as planned. Without a network everything stays on the tablet and
is sent later; leave it switched on until nothing waits.
"""


def make(workspace: Workspace, settings: RecordRoundSettings) -> Made:
    """Return a task for each recording of the plan that is not made yet.

    Raises:
        UserError: if there is no plan, it is broken, or a slot has no script.
    """
    from proctor.capture.plan import read_plan, read_scripts

    slots, scripts = read_plan(workspace.root).slots, read_scripts(workspace.root)
    graphs = workspace.graphs() if is_there(workspace.file("graphs.json")) else {}
    tasks, dropped = [], []
    for slot in slots:
        if slot.script not in scripts:
            raise UserError(
                f"the plan has no script '{slot.script[:60]}' for '{slot.id[:60]}'.", hint="plan it again"
            )
        known = _manifest(recording_folder(workspace.root, slot.id))
        if known is not None and known.state in _DONE:
            dropped.append(Dropped(slot.id, "recorded", f"it is {known.state}"))
            continue
        script, graph = scripts[slot.script], graphs.get(slot.activity)
        texts = {s.id: s.text for s in graph.actions} if graph is not None else {}
        body = RecordTask(
            slot=slot, script=script, left_out={s: texts.get(s, s) for s in script.left_out}
        )  # fmt: skip
        tasks.append(task_of(slot.id, body, group=slot.id, stratum=slot.activity))
    options = RecordOptions(
        streams=() if settings.display_only else settings.stream or ("camera", "microphone"),
        countdown_s=settings.countdown, paragraph=settings.paragraph, minutes=settings.minutes,
    )  # fmt: skip
    return Made(tasks=tasks, options=options, dropped=dropped, instructions=_INSTRUCTIONS)


def collect(workspace: Workspace, round_: Round, readings: Sequence[Reading], out: Path | None) -> Collected:  # noqa: ARG001
    """Write what tablets sent into the folders of their recordings; what a recorder wrote there stays.

    A recording whose slices have not all come is ``incomplete``, and is written anew once they have.

    Raises:
        UserError: if a file cannot be read or written.
    """
    folders, open_ = [], []
    for one in (r for r in readings if r.counts):
        task = msgspec.json.decode(one.body, type=RecordTask)
        folder = recording_folder(workspace.root, task.slot.id)
        folder = out / folder.name if out is not None else folder
        manifest = _write(workspace.file("studio"), folder, one, task)
        folders.append(folder)
        open_ += [f"{manifest.id}: {reason}" for reason in manifest.reasons]
    whole = f"{len(folders)} recordings are written, {len(open_)} things to look at"
    return Collected(files=tuple(folders), lines=(whole, *open_))


def _write(studio: Path, folder: Path, reading: Reading, task: RecordTask) -> Manifest:
    sheet = msgspec.json.decode(reading.sheet, type=RecordSheet)
    folder.mkdir(parents=True, exist_ok=True)
    reasons = [] if _keep_script(folder, task.script, _prepared(task.script, sheet)) else [
        "the recorder's script is another one; that of the tablet is in script.tablet.json"
    ]  # fmt: skip
    write_jsonl(folder / TABLET_EVENTS, sheet.events)
    write_json(folder / REVIEW, Review(recording=task.slot.id, by=reading.person, steps=sheet.review))
    files = [folder / TABLET_EVENTS, folder / REVIEW]
    parts = list_parts(studio, reading.assignment)
    for part in sorted({*parts, *sheet.slices}):
        missing = missing_in(parts.get(part, []), sheet.slices.get(part, 0))
        if missing:
            reasons.append(
                f"{len(missing)} slices of {part} have not come yet; the tablet sends them when it is online"
            )
        if parts.get(part):
            files += _join(parts[part], folder / "raw" / _TABLET, part)
        conflicts = sorted((studio / "slices" / reading.assignment / part).glob("*.conflict-*"))
        for path in conflicts:
            target = folder / "raw" / _TABLET / "conflicts" / f"{part}-{path.name}"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            files.append(target)
        if conflicts:
            reasons.append(
                f"{len(conflicts)} slices of {part} came twice with other contents: raw/tablet/conflicts"
            )
    manifest = _completed(folder, task, reading, sheet, files, reasons)
    write_json(folder / MANIFEST, manifest)
    return manifest


def _prepared(script: Script, sheet: RecordSheet) -> Script:
    """Return a script with what the participant prepared."""
    steps = tuple(
        msgspec.structs.replace(s, modified=sheet.texts.get(s.step, s.modified)) for s in script.steps
    )
    return msgspec.structs.replace(script, steps=steps, mistakes=(*script.mistakes, *sheet.planned))


def _keep_script(folder: Path, planned: Script, prepared: Script) -> bool:
    path = folder / SCRIPT
    there = read_json(path, Script) if path.is_file() else planned
    ours = there in (planned, prepared)
    write_json(path if ours else folder / "script.tablet.json", prepared)
    return ours


def _join(slices: Sequence[Path], folder: Path, part: str) -> list[Path]:
    """Write the slices of a part as one file with its length and an index, so that players can seek; and their hashes beside it."""
    target, index = folder / f"{part}{slices[0].suffix}", folder / f"{part}.slices.jsonl"
    source = slices[0].parent / INDEX
    told = source.read_bytes() if source.is_file() else b""
    if target.is_file() and index.is_file() and index.read_bytes() == told:
        return [target, index]  # raw files are written once
    folder.mkdir(parents=True, exist_ok=True)
    joined = folder / f".{part}.joined{slices[0].suffix}"
    try:
        with joined.open("wb") as file:
            for path in slices:
                with path.open("rb") as one:
                    shutil.copyfileobj(one, file, 1 << 20)
        _remux(joined, target)
    finally:
        joined.unlink(missing_ok=True)
    with atomic_write(index) as out:
        out.write(told)
    return [target, index]


def _remux(source: Path, target: Path) -> None:
    """Copy the packets of a file into one with a length; as it is where there is no PyAV, or its end is broken."""
    try:
        import av
    except ImportError:
        shutil.copyfile(source, target)
        return
    part = target.with_name(f".{target.name}.part")
    try:
        with av.open(str(source)) as read, av.open(str(part), "w", format=target.suffix[1:]) as out:
            streams = [s for s in read.streams if s.type in ("video", "audio")]
            targets = {s.index: out.add_stream_from_template(s) for s in streams}  # type: ignore[type-var]
            for packet in read.demux(streams):
                if packet.dts is not None:
                    packet.stream = targets[packet.stream_index]
                    out.mux(packet)
        part.replace(target)
    except (av.FFmpegError, ValueError):
        shutil.copyfile(source, target)
    finally:
        part.unlink(missing_ok=True)


def _completed(
    folder: Path, task: RecordTask, reading: Reading, sheet: RecordSheet, files: Sequence[Path], reasons: list[str]
) -> Manifest:  # fmt: skip
    """Return the manifest: a recorder's with what the tablet adds, or one of our own."""
    slot, known = task.slot, _manifest(folder)
    spec = StreamSpec(
        name=_TABLET, kind="video", format="file", clock=_TABLET, required=False,
        note="parts of a browser; each page load has a clock of its own, see tablet.jsonl",
    )  # fmt: skip
    kept = {path.relative_to(folder).as_posix(): path for path in files}
    rows = [
        KeptFile(path=name, bytes=p.stat().st_size, sha256=file_sha256(p)) for name, p in sorted(kept.items())
    ]
    warnings = [e.text for e in sheet.events if e.kind == "warning"]
    told = tuple(dict.fromkeys([*reasons, *(f"tablet: {text}" for text in warnings)]))
    streams = (spec,) if sheet.slices else ()
    if known is not None and known.host_start_ns is not None:
        others = tuple(s for s in known.streams if s.name != _TABLET)
        theirs = tuple(f for f in known.files if f.path not in kept)
        before = tuple(r for r in known.reasons if r not in told and not r.startswith("tablet: "))
        return msgspec.structs.replace(
            known, streams=(*others, *streams), files=(*theirs, *rows), reasons=(*before, *told)
        )
    start = next((e for e in sheet.events if e.kind == "state"), None)
    late = any("have not come yet" in reason for reason in reasons)
    return Manifest(
        id=slot.id, activity=slot.activity, participant=slot.participant or reading.person, environment=slot.environment,
        strategy=slot.strategy, state="incomplete" if late else "stopped", streams=streams, files=tuple(rows),
        wall_start=start.wall if start is not None else "", reasons=told,
    )  # fmt: skip


def _manifest(folder: Path) -> Manifest | None:
    path = folder / MANIFEST
    return read_json(path, Manifest) if path.is_file() else None
