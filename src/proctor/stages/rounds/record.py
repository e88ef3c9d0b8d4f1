"""Rounds of recordings: tasks out of the plan, and a folder of each recording out of what tablets sent. docs/rounds.md."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from proctor.capture import records as capture
from proctor.capture.plan import read_plan, read_scripts
from proctor.capture.records import Manifest, Script, recording_folder
from proctor.errors import UserError
from proctor.media.streams import write_length
from proctor.records import Dropped, atomic_write, file_sha256, read_json, write_json, write_jsonl
from proctor.release.recordings import withdrawals
from proctor.said import say_in
from proctor.stages.rounds.opening import Collected, Made, task_of
from proctor.stages.rounds.settings import RecordRoundSettings
from proctor.studio.narrations import forget_sounds
from proctor.studio.slices import INDEX, list_parts
from proctor.verify.rounds.record import RecordOptions, RecordSheet, RecordTask
from proctor.verify.rounds.records import Reading, Round
from proctor.workspace import Workspace

__all__ = ["collect", "make"]

_INSTRUCTIONS = say_in(
    "a shipped round",
    """\
Choose a recording and confirm the list. The tablet counts down, flashes for the cameras, and shows one step at a time: *Done* goes on
(Space or a pedal), *Oops* (`O`) notes that something went wrong, holding *Stop* for a second (Escape) ends it. Then say of each step
whether it was done as planned. Without a network everything stays on the tablet and is sent later; leave it on until nothing waits.
""",
)
_change = msgspec.structs.replace


def make(workspace: Workspace, settings: RecordRoundSettings) -> Made:
    """Return a task for each recording of the plan that is not made yet.

    Raises:
        UserError: if there is no plan, it is broken, or a slot has no script.
    """
    slots, scripts = read_plan(workspace.root).slots, read_scripts(workspace.root)
    graphs = workspace.known_graphs()
    tasks, dropped = [], []
    for slot in slots:
        known = _manifest(recording_folder(workspace.root, slot.id), Manifest(id=slot.id))
        if known.state in ("stopped", "stopped_disk", "withdrawn"):
            dropped.append(Dropped(slot.id, "recorded", f"it is {known.state}"))
            continue
        if slot.script not in scripts:
            raise UserError(f"the plan has no script '{slot.script[:60]}' for '{slot.id}'.", hint="plan it again")  # fmt: skip
        script, graph = scripts[slot.script], graphs.get(slot.activity)
        texts = {s.id: s.text for s in graph.actions} if graph is not None else {}
        body = RecordTask(slot=slot, script=script, left_out={s: texts.get(s, s) for s in script.left_out})
        tasks.append(task_of(slot.id, body, group=slot.id, stratum=slot.activity))
    streams = () if settings.display_only else settings.stream or ("camera", "microphone")
    options = RecordOptions(
        streams=streams, countdown_s=settings.countdown, paragraph=settings.paragraph, minutes=settings.minutes,
    )  # fmt: skip
    return Made(tasks=tasks, options=options, dropped=dropped, instructions=_INSTRUCTIONS)


def collect(workspace: Workspace, round_: Round, readings: Sequence[Reading], out: Path | None) -> Collected:  # noqa: ARG001
    """Write what tablets sent into the folders of their recordings; what a recorder wrote there stays.

    A recording whose slices have not all come is ``incomplete``, and is written anew once they have. Of one that was withdrawn
    (``capture withdraw``) nothing is written, and its slices are removed.

    Raises:
        UserError: if a file cannot be read or written.
    """
    found: dict[Path, Manifest] = {}
    gone = {recording for one in withdrawals(workspace.root) for recording in one.recordings}
    for one in (r for r in readings if r.counts):
        task = msgspec.json.decode(one.body, type=RecordTask)
        folder = recording_folder(workspace.root, task.slot.id)
        if folder.name in gone:
            forget_sounds(workspace.file("studio"), [one.assignment])
            continue
        folder = out / folder.name if out is not None else folder
        found[folder] = _write(workspace.file("studio"), folder, one, task)
        write_json(folder / capture.MANIFEST, found[folder])
    reasons = [f"{manifest.id}: {reason}" for manifest in found.values() for reason in manifest.reasons]
    return Collected(files=tuple(found), lines=(f"{len(found)} recordings are written", *reasons))


def _write(studio: Path, folder: Path, reading: Reading, task: RecordTask) -> Manifest:
    """Write all but the manifest, and return that."""
    sheet = msgspec.json.decode(reading.sheet, type=RecordSheet)
    folder.mkdir(parents=True, exist_ok=True)
    script, reasons, late = task.script, [], False
    steps = tuple(_change(s, modified=sheet.texts.get(s.step, s.modified)) for s in script.steps)
    prepared = _change(script, steps=steps, mistakes=(*script.mistakes, *sheet.planned))
    there = read_json(folder / capture.SCRIPT, Script) if (folder / capture.SCRIPT).is_file() else script
    if there not in (script, prepared):
        reasons.append("the recorder had another script; what was read from the tablet is script.tablet.json")
    path = folder / (capture.SCRIPT if there in (script, prepared) else "script.tablet.json")
    write_json(path, prepared)
    write_jsonl(folder / capture.TABLET_EVENTS, sheet.events)
    review = capture.Review(recording=task.slot.id, by=reading.person, steps=sheet.review)
    write_json(folder / capture.REVIEW, review)
    files, parts = [path, folder / capture.TABLET_EVENTS, folder / capture.REVIEW], list_parts(studio, reading.assignment)  # fmt: skip
    for part in sorted({*parts, *sheet.slices}):
        slices = parts.get(part, [])
        if (missing := sheet.slices.get(part, 0) - len(slices)) > 0:  # only its end can be missing
            late = True
            reasons.append(f"{missing} slices of {part} have not come yet; the tablet sends them when it is online")  # fmt: skip
        raw = folder / "raw" / part
        if slices:
            raw.mkdir(parents=True, exist_ok=True)
            files += _join(slices, raw, part)
        for path in sorted((studio / "slices" / reading.assignment / part).glob("*.conflict-*")):
            files.append(raw / "conflicts" / path.name)
            files[-1].parent.mkdir(exist_ok=True)
            shutil.copyfile(path, files[-1])
            reasons.append(f"a slice of {part} came twice with other contents: conflicts/{path.name}")
    reasons += [f"tablet: {e.text}" for e in sheet.events if e.kind == "warning"]
    slot, start = task.slot, next((e.wall for e in sheet.events if e.kind == "state"), "")
    ours = Manifest(
        id=slot.id, activity=slot.activity, participant=slot.participant or reading.person, environment=slot.environment,
        strategy=slot.strategy, state="incomplete" if late else "stopped", wall_start=start,
    )  # fmt: skip
    known = _manifest(folder, ours)  # a recorder's gets what the tablet adds; one of our own is made anew
    known = ours if known.host_start_ns is None else known
    rows = {p.relative_to(folder).as_posix(): (p.stat().st_size, file_sha256(p)) for p in sorted(files)}
    new = tuple(capture.KeptFile(path=name, bytes=n, sha256=sha256) for name, (n, sha256) in rows.items())
    streams = [s for s in known.streams if not s.name.startswith("tablet-")]
    for part in (name for name in sorted(parts) if parts[name]):
        note = "of a browser; it begins at its event 'began' in tablet.jsonl"
        streams.append(capture.StreamSpec(name=part, kind="video", format="file", clock=part, required=False, note=note))  # fmt: skip
    before = [r for r in known.reasons if "tablet" not in r]
    told = tuple(dict.fromkeys([*before, *reasons]))
    kept = tuple(f for f in known.files if f.path not in rows)
    return _change(known, streams=tuple(streams), files=(*kept, *new), reasons=told)


def _join(slices: Sequence[Path], folder: Path, part: str) -> list[Path]:
    """Write the slices of a part as one file with its length, so that players can seek, and their hashes beside it."""
    target, index = folder / f"{part}{slices[0].suffix}", folder / f"{part}.slices.jsonl"
    told = (slices[0].parent / INDEX).read_bytes()
    if target.is_file() and index.is_file() and index.read_bytes() == told:
        return [target, index]  # raw files are written once
    joined = folder / f".{part}.joined{slices[0].suffix}"
    with joined.open("wb") as file:
        for path in slices:
            with path.open("rb") as one:
                shutil.copyfileobj(one, file, 1 << 20)
    write_length(joined, target)
    with atomic_write(index) as out:
        out.write(told)
    return [target, index]


def _manifest(folder: Path, otherwise: Manifest) -> Manifest:
    path = folder / capture.MANIFEST
    return read_json(path, Manifest) if path.is_file() else otherwise
