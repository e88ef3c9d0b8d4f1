"""``proctor datasets get``: what a data set lets users fetch, shown first, then fetched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from proctor.datasets.dataset import Dataset
from proctor.errors import UserError
from proctor.fetch.fetch import Seen, fetch_files, refuse_differing
from proctor.fetch.plan import Planned, Wanted, choose, from_mirror, plan_files
from proctor.fetch.transfer import Limits

__all__ = ["GetPlan", "get_files", "plan_get", "render_plan", "show_bytes"]

_SAYS: Final = {
    "fetch": "to fetch",
    "there": "there already",
    "unchecked": "there already (no checksum is declared)",
    "differs": "there, but not the release's",
}
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")


@dataclass(frozen=True, slots=True)
class GetPlan:
    """What is going to be done; making it asks nobody and writes nothing."""

    dataset: Dataset
    folder: Path
    files: tuple[Planned, ...]
    overwrite: bool

    @property
    def work(self) -> tuple[Planned, ...]:
        """The files that are to be fetched."""
        states = ("fetch", "differs", "unchecked") if self.overwrite else ("fetch",)
        return tuple(f for f in self.files if f.state in states)


def plan_get(
    dataset: Dataset,
    folder: Path,
    *,
    only: str | None = None,
    source: str | None = None,
    overwrite: bool = False,
) -> GetPlan:
    """Return what fetching a data set would do.

    A data set that declares no downloads can be taken from a copy: the files that its reader opens.

    Args:
        dataset: with the declared downloads, or files.
        folder: where the files go.
        only: shell pattern of the files' paths.
        source: address of a mirror, or a local folder, with the same paths.
        overwrite: replace what is there and is not the release's.

    Raises:
        UserError: if the data set declares no downloads and no copy is given, no file fits, a declaration may not be
            used, or files are in the way.
    """
    wanted = choose(_wanted(dataset, source), only)
    if source is not None:
        wanted = from_mirror(wanted, source)
    plan = GetPlan(dataset, folder, plan_files(wanted, folder), overwrite)
    if not overwrite:
        refuse_differing(plan.files, folder)
    return plan


def _wanted(dataset: Dataset, source: str | None) -> tuple[Wanted, ...]:
    if dataset.downloads:
        return tuple(Wanted(d.url, d.path, d.size, d.sha256, d.unpack) for d in dataset.downloads)
    if source is None:
        needed = ", ".join(f.path for f in dataset.files if f.required) or "see its page"
        access = (dataset.access or "get it yourself").rstrip(".")
        raise UserError(
            f"no address is known from which {dataset.title} may be fetched.",
            hint=f"{access[:1].upper()}{access[1:]}. See {dataset.homepage}. Needed: {needed}. "
            "Files that you have, or a mirror has, are checked and copied with --from FOLDER-OR-ADDRESS",
        )
    if "://" in source:
        return _of_mirror(dataset)
    folder = Path(source)
    found = [(f, path) for f in dataset.files for path in _matching(folder, f.path)]
    wanted = {place: Wanted("", place, sha256=f.sha256) for f, place in reversed(found)}
    lacking = [f.path for f in dataset.files if f.required and not _matching(folder, f.path)]
    if (lacking or not found) and folder.is_dir():
        raise UserError(
            f"{dataset.title} needs {', '.join(lacking or [f.path for f in dataset.files])}.",
            where=source,
            hint=f"is it the right folder? See {dataset.homepage}",
        )
    return tuple(wanted[place] for place in sorted(wanted))


def _matching(folder: Path, pattern: str) -> list[str]:
    """Return the files of a folder that a declared path or pattern means, as paths within it."""
    return [p.relative_to(folder).as_posix() for p in folder.glob(pattern) if p.is_file()]


def _of_mirror(dataset: Dataset) -> tuple[Wanted, ...]:
    """Return the files that have one name each: an address cannot be asked what else it has."""
    listed = [f for f in dataset.files if any(c in f.path for c in "*?[")]
    if any(f.required for f in listed):
        names = ", ".join(f.path for f in listed if f.required)
        raise UserError(
            f"{dataset.title} has files whose names are not known beforehand: {names}.",
            hint="copy the mirror to a folder, then give that: --from FOLDER",
        )
    return tuple(Wanted("", f.path, sha256=f.sha256) for f in dataset.files if f.required)


def render_plan(plan: GetPlan) -> str:
    """Return the plan as text: what it is, its licence and terms, and every file with its size and address."""
    dataset, sizes = plan.dataset, [f.wanted.size for f in plan.work]
    lines = [
        dataset.title,
        f"licence: {dataset.licence}",
        *([f"access:  {dataset.access}"] if dataset.access else []),
        f"more:    {dataset.homepage}",
        f"into:    {plan.folder}",
        "",
    ]
    work = set(plan.work)
    for f in plan.files:
        size = "size unknown" if f.wanted.size is None else show_bytes(f.wanted.size)
        lines.append(f"{f.place}  ({size}{', is unpacked' if f.wanted.unpack else ''})")
        lines.append(f"  {f.wanted.shown}")
        if f not in work:
            lines.append(f"  {_SAYS[f.state]}")
        elif f.state != "fetch":
            lines.append("  is there and will be REPLACED")
        elif f.partial:
            lines.append(f"  {show_bytes(f.partial)} are there from before")
        if f.wanted.sha256 is None and f in work:
            lines.append("  no checksum is declared: what comes cannot be checked")
    unknown = f" and {sizes.count(None)} of unknown size" if None in sizes else ""
    files = "1 file" if len(plan.work) == 1 else f"{len(plan.work)} files"
    lines += ["", f"to fetch: {files}, {show_bytes(sum(size or 0 for size in sizes))}{unknown}"]
    return "\n".join(lines)


class Fetched(msgspec.Struct, frozen=True):
    """A file that came; ``files`` are those of an archive."""

    path: str
    size: int
    sha256: str
    files: int
    checked: bool


class Got(msgspec.Struct, frozen=True):
    """What was fetched into a folder, and what was there already."""

    dataset: str
    folder: str
    fetched: list[Fetched]
    there: list[str]


def get_files(
    plan: GetPlan,
    *,
    seen: Seen | None = None,
    told: Callable[[str], None] | None = None,
    limits: Limits | None = None,
) -> Got:
    """Fetch what the plan says and return what was done.

    Raises:
        UserError: see ``fetch.fetch.fetch_files``.
    """
    fetched = [
        Fetched(f.place, f.size, f.sha256, f.files, f.checked)
        for f in fetch_files(
            plan.files, plan.folder, overwrite=plan.overwrite, seen=seen, told=told, limits=limits
        )
    ]
    work = set(plan.work)
    there = [f.place for f in plan.files if f not in work]
    return Got(plan.dataset.name, str(plan.folder), fetched, there)


def show_bytes(count: int) -> str:
    """Return a number of bytes for people (``1.5 MB``, decimal units)."""
    size, unit = float(count), 0
    while size >= 999.95 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{count:,} bytes" if unit == 0 else f"{size:,.1f} {_UNITS[unit]}"
