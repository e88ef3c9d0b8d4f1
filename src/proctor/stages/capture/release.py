"""``proctor capture consent``, ``release`` and ``withdraw``. docs/capture.md, *Release*."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

import msgspec

from proctor.capture.plan import PLAN, read_plan, without_participant
from proctor.capture.records import MANIFEST, KeptFile, capture_folder
from proctor.datasets.plain import read_plain, write_plain
from proctor.errors import UserError
from proctor.records import (
    Dropped,
    append_jsonl,
    atomic_folder,
    atomic_write,
    file_sha256,
    is_there,
    read_bytes,
    read_json,
    read_jsonl,
    write_json,
    write_jsonl,
)
from proctor.release.recordings import (
    CONSENTS,
    PARTS,
    WITHDRAWN,
    Consent,
    Part,
    ReleasedRecording,
    ReleaseManifest,
    Withdrawal,
    check_release,
    consents,
    datasheet,
    forget_recording,
    kept_files,
    mentions,
    note_withdrawal,
    pack,
    purge_lines,
    withdrawals,
)  # fmt: skip
from proctor.stages.capture.ingest import DATASET, finished, synced
from proctor.stages.capture.manifests import recordings_of
from proctor.stages.capture.settings import ConsentSettings, ReleaseSettings, WithdrawSettings
from proctor.stages.datasets_splits import split_dataset
from proctor.workspace import Workspace

__all__ = ["Released", "Withdrawn", "consent", "release", "withdraw"]

_SPLITS: Final = (("person",), ("environment",), ("activity",))
_LINES: Final = frozenset({".jsonl"})
_TEXTS: Final = frozenset({".json", ".html", ".md", ".csv", ".svg", ".txt", ".tsv"})
_STORES: Final = frozenset({".sqlite", ".sqlite-wal"})


class Released(msgspec.Struct, frozen=True, kw_only=True):
    """A release that was written: where, how much, and what was left out by recording."""

    folder: str
    recordings: int
    files: int
    bytes: int
    left_out: dict[str, str]


class Withdrawn(msgspec.Struct, frozen=True, kw_only=True):
    """What a withdrawal removed, or would remove.

    Attributes:
        recordings: of the participant.
        changed: files with lines or entries less, and how many.
        removed: derived files that are to be made again.
        left: stores that name a recording, which are not changed here.
        releases: that were written anew.
        done: False where it was only looked.
    """

    recordings: tuple[str, ...]
    changed: dict[str, int]
    removed: tuple[str, ...]
    left: tuple[str, ...]
    releases: tuple[str, ...]
    done: bool


def consent(root: Path, settings: ConsentSettings) -> Consent:
    """Note what a participant agreed to; a later line overrides an earlier one.

    Raises:
        UserError: if the text cannot be read, or the code or day is none.
    """
    Workspace(root).require_folder()
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}", settings.participant):
        hint = "letters, digits, _ and -: a code, never a name"
        raise UserError(f"'{settings.participant[:40]}' is no code of a participant.", hint=hint)
    given = Consent(
        participant=settings.participant, text_sha256=file_sha256(settings.text), day=_day(settings.day),
        release=settings.release,
    )  # fmt: skip
    append_jsonl(capture_folder(root) / CONSENTS, given)
    return given


def _day(text: str) -> str:
    try:
        return (date.fromisoformat(text) if text else datetime.now(UTC).date()).isoformat()
    except ValueError:
        raise UserError(f"'{text[:40]}' is no day.", where="--day", hint="such as 2026-12-01") from None


# -- release -----------------------------------------------------------------------------------------------------


def release(
    root: Path, settings: ReleaseSettings, *, seen: Callable[[str], None] = lambda _: None
) -> Released:
    """Pack what was recorded, synchronised and annotated, with checksums, a datasheet, and who consented to what.

    The same recordings and settings give the same bytes.

    Raises:
        UserError: if nothing was ingested or may be released, a part is unknown, or the folder cannot be written.
    """
    Workspace(root).require_folder()
    parts = _parts(settings.parts)
    if not settings.licence:
        raise UserError("the licence of the data is not said.", where="--licence", hint="such as CC-BY-4.0")
    dataset = capture_folder(root) / DATASET
    if not dataset.is_dir():
        raise UserError("nothing was ingested yet.", where=str(root), hint=f"proctor capture ingest {root}")
    result = read_plain(dataset)
    left_out: dict[str, str] = {}
    chosen, agreed = [], consents(root)
    unreadable: list[Dropped] = []
    known = {manifest.id: (folder, manifest) for folder, manifest in finished(root, (), unreadable)}
    broken = {one.id: one.detail for one in unreadable}
    for recording in result.recordings:
        folder, manifest = known.get(recording.id, (None, None))
        given = agreed.get(manifest.participant) if manifest is not None else None
        if folder is None or manifest is None:
            left_out[recording.id] = broken.get(recording.id, "its recording is not there, or not over")
        elif not (manifest.simulated or settings.without_consent or (given is not None and given.release)):
            left_out[recording.id] = "its participant did not agree to a release"
        else:
            chosen.append((recording, folder, manifest))
    left_out |= {
        m.id: "it was not ingested"
        for m in (m for _, m in known.values())
        if m.id not in {r.id for r in result.recordings}
    }
    if not chosen:
        hint = f"proctor capture consent {root} PARTICIPANT --text FILE --release"
        raise UserError("no recording may be released.", where=str(root), hint=hint)
    with atomic_folder(settings.out) as work:
        rows = []
        for recording, folder, manifest in chosen:
            seen(recording.id)
            poses = tuple(s.name for s in manifest.streams if s.kind == "pose")
            for part in ("raw", "sync", "poses"):
                if part in parts:
                    (work / part).mkdir(exist_ok=True)
                    pack(folder, work / part / f"{recording.id}.tar", part=part, poses=poses)
            if "videos" in parts and recording.video:
                _copy(dataset / recording.video, work / recording.video)
            if "features" in parts and settings.features is not None:
                _features(settings.features, recording.id, work / "features")
            sync = synced(folder)
            rows.append(
                ReleasedRecording(
                    id=recording.id, activity=manifest.activity, participant=manifest.participant,
                    environment=manifest.environment, strategy=manifest.strategy, seconds=round(recording.duration or 0.0, 3),
                    streams=tuple(s.name for s in manifest.streams), simulated=manifest.simulated,
                    verdict=sync[1].verdict if sync is not None else "not synchronised",
                )
            )  # fmt: skip
        graphs = {r.activity_id: result.graphs[r.activity_id] for r, _, _ in chosen}
        write_plain(work / "annotations", [r for r, _, _ in chosen], graphs, about=_about(settings))
        if "splits" in parts:
            _splits(work)
        if "annotations" not in parts:
            shutil.rmtree(work / "annotations")
        texts = {agreed[m.participant].text_sha256 for _, _, m in chosen if m.participant in agreed}
        manifest_ = ReleaseManifest(
            name=settings.name, version=settings.version, licence=_licence(settings.licence, work),
            consent_sha256=tuple(sorted(texts)), recordings=tuple(rows), left_out=dict(sorted(left_out.items())),
            withdrawn=tuple(withdrawals(root)), parts=parts, files=(),
        )  # fmt: skip
        own = read_bytes(settings.datasheet).decode("utf-8", "replace") if settings.datasheet else ""
        with atomic_write(work / "DATASHEET.md") as file:
            file.write(datasheet(manifest_, own).encode())
        for empty in [p for p in work.iterdir() if p.is_dir() and not any(p.iterdir())]:
            empty.rmdir()
        files = kept_files(work)
        write_json(work / MANIFEST, msgspec.structs.replace(manifest_, files=files))
    return Released(
        folder=str(settings.out),
        recordings=len(rows),
        files=len(files),
        bytes=sum(f.bytes for f in files),
        left_out=left_out,
    )


def _parts(given: Sequence[str]) -> tuple[Part, ...]:
    if strange := sorted({*given} - {*PARTS}):
        raise UserError(
            f"'{strange[0][:40]}' is no part of a release.", where="--parts", hint=", ".join(PARTS)
        )
    return tuple(p for p in PARTS if not given or p in given)


def _about(settings: ReleaseSettings) -> dict[str, str]:
    licence = Path(settings.licence)
    return {
        "name": settings.name, "version": settings.version,
        "licence": "see LICENCE.txt" if _is_file(licence) else settings.licence,
    }  # fmt: skip


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _licence(given: str, work: Path) -> str:
    if not _is_file(Path(given)):
        return given
    _copy(Path(given), work / "LICENCE.txt")
    return "see LICENCE.txt"


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(target) as out, source.open("rb") as file:
        shutil.copyfileobj(file, out)


def _features(folder: Path, recording: str, out: Path) -> None:
    """Copy what is named after a recording: ``<id>.npz``, ``<id>_360p.npy``."""
    for path in sorted(folder.iterdir()):
        if path.is_file() and re.fullmatch(re.escape(recording) + r"([._][^/]*)?", path.name):
            _copy(path, out / path.name)


def _splits(work: Path) -> None:
    """Write a split by each attribute that has more than one value; few values leave subsets empty, and ``about`` says so."""
    for by in _SPLITS:
        split_dataset("plain", work / "annotations", by, out=work / "splits")


# -- withdrawal --------------------------------------------------------------------------------------------------


def withdraw(root: Path, settings: WithdrawSettings) -> Withdrawn:
    """Remove everything of one participant: recordings, what was derived of them here, and from releases that are named.

    Without ``yes`` nothing is changed. Recordings are removed first and derived files after them, so a process that is killed
    half-way leaves nothing that can be used; the same command again finishes it.

    Raises:
        UserError: if nothing of the participant is known, or a file cannot be changed.
    """
    known = [m for _, m in recordings_of(root)]
    mine = [m.id for m in known if m.participant == settings.participant]
    before = [r for w in withdrawals(root) for r in w.recordings]
    plan = read_plan(root) if is_there(capture_folder(root) / PLAN) else None
    planned = plan is not None and settings.participant in plan.participants
    if not mine and settings.participant not in consents(root) and not before and not planned:
        raise UserError(f"nothing of '{settings.participant[:40]}' is known here.", where=str(root))
    ids = tuple(sorted({*mine, *before}))
    named = mentions(ids, (m.id for m in known if m.id not in ids))
    releases = [folder.resolve() for folder in settings.release]
    for folder in releases:  # before anything is removed
        if not folder.exists() and (old := _aside(folder)).is_dir():  # killed between two renames
            old.replace(folder)
        if wrong := check_release(folder, read_json(folder / MANIFEST, ReleaseManifest)):
            seen = f"the release is not what its manifest says: {wrong[0]}."
            raise UserError(seen, where=str(folder), hint="get it again")
    new = tuple(name for name in mine if name not in before)
    if settings.yes and new:
        note_withdrawal(root, Withdrawal(day=_day(settings.day), recordings=new))
    if settings.yes:
        if settings.participant in consents(root):
            path = capture_folder(root) / CONSENTS
            given: list[Consent] = read_jsonl(path, Consent)
            write_jsonl(path, [c for c in given if c.participant != settings.participant])
        for recording in mine:
            forget_recording(root, recording)
        _forget_slots(root, settings.participant)
    changed, removed, left = _purge(root, named, really=settings.yes)
    for folder in releases if settings.yes else ():
        _thin(folder, ids, withdrawals(root))
    return Withdrawn(
        recordings=tuple(mine), changed=changed, removed=tuple(removed), left=tuple(left),
        releases=tuple(map(str, settings.release)), done=settings.yes,
    )  # fmt: skip


def _forget_slots(root: Path, participant: str) -> None:
    """Take the recordings that a participant has still to do out of the plan."""
    path = capture_folder(root) / PLAN
    if is_there(path):
        states = {m.id: m.state for _, m in recordings_of(root)}
        write_json(path, without_participant(read_plan(root), states, participant))


def _purge(
    root: Path, named: Callable[[bytes], bool], *, really: bool
) -> tuple[dict[str, int], list[str], list[str]]:
    """Go through a workspace: take lines out, remove whole files that name a recording, list stores that do."""
    changed: dict[str, int] = {}
    removed, left = [], []
    kept = capture_folder(root)
    for path in sorted(p for p in root.rglob("*") if p.is_file() and not p.is_symlink()):
        name = path.relative_to(root).as_posix()
        if path.is_relative_to(kept) and path.name in (WITHDRAWN, PLAN, MANIFEST, CONSENTS):
            continue
        by_name, data = named(path.stem.encode()), b""
        if not by_name and path.suffix in _LINES | _TEXTS | _STORES:
            data = path.read_bytes()
        if not by_name and not named(data):
            continue
        if not by_name and path.suffix in _STORES:
            left.append(name)
        elif not by_name and path.suffix in _LINES:
            changed[name] = purge_lines(path, named) if really else sum(map(named, data.splitlines()))
        else:
            removed.append(name)
            if really:
                path.unlink()
    return changed, removed, left


def _aside(folder: Path) -> Path:
    """Return where a release stands for the moment in which another takes its place."""
    return folder.with_name(f".{folder.name[:200]}.before")


def _thin(folder: Path, ids: Sequence[str], gone: Sequence[Withdrawal]) -> None:
    """Write a release without some recordings in the place of itself; what stays is copied, what names them is made anew."""
    manifest: ReleaseManifest = read_json(folder / MANIFEST, ReleaseManifest)
    rows = tuple(r for r in manifest.recordings if r.id not in ids)
    work, old_place = folder.with_name(f".{folder.name[:40]}.thinned"), _aside(folder)
    for left_behind in (work, old_place):
        shutil.rmtree(left_behind, ignore_errors=True)
    named = mentions(ids, (r.id for r in rows))
    for kept in manifest.files:
        head = kept.path.partition("/")[0]
        if head in ("annotations", "splits") or named(Path(kept.path).name.encode()):
            continue
        _copy(folder / kept.path, work / kept.path)
    old = read_plain(folder / "annotations") if (folder / "annotations").is_dir() else None
    left = [r for r in old.recordings if r.id not in ids] if old is not None else []
    if old is not None and left:  # a plain folder has at least one activity
        about = {"name": manifest.name, "version": manifest.version, "licence": manifest.licence}
        graphs = {r.activity_id: old.graphs[r.activity_id] for r in left}
        write_plain(work / "annotations", left, graphs, about=about)
        if "splits" in manifest.parts:
            _splits(work)
    thinned = msgspec.structs.replace(
        manifest, recordings=rows, withdrawn=tuple(gone),
        left_out={name: why for name, why in manifest.left_out.items() if name not in ids},
    )  # fmt: skip
    sheet = (folder / "DATASHEET.md").read_text("utf-8")
    own = sheet[at:] if (at := sheet.find("\n## ")) >= 0 else ""
    with atomic_write(work / "DATASHEET.md") as file:
        file.write(datasheet(thinned, own).encode())
    files: tuple[KeptFile, ...] = kept_files(work)
    write_json(work / MANIFEST, msgspec.structs.replace(thinned, files=files))
    folder.replace(old_place)
    work.replace(folder)
    shutil.rmtree(old_place)
