"""``proctor datasets get``: what a data set lets users fetch, shown first, then fetched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from proctor.datasets.dataset import Dataset
from proctor.errors import UserError
from proctor.fetch.fetch import Seen, fetch_files, refuse_differing
from proctor.fetch.plan import Planned, Wanted, choose, from_mirror, plan_files
from proctor.fetch.transfer import Limits

__all__ = ["GetPlan", "describe_plan", "get_files", "plan_get", "render_plan", "show_bytes"]

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
        raise UserError(
            f"no address is known from which {dataset.title} may be fetched.",
            hint=f"{dataset.access or 'get it yourself.'} See {dataset.homepage}. Needed: {needed}. "
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


def describe_plan(plan: GetPlan) -> dict[str, Any]:
    """Return the plan as plain values; addresses are without credentials."""
    sizes = [f.wanted.size for f in plan.work]
    return {
        "dataset": plan.dataset.name,
        "title": plan.dataset.title,
        "licence": plan.dataset.licence,
        "access": plan.dataset.access,
        "folder": str(plan.folder),
        "files": [
            {
                "path": f.place,
                "from": f.wanted.shown,
                "size": f.wanted.size,
                "sha256": f.wanted.sha256,
                "unpack": f.wanted.unpack,
                "state": f.state,
                "partial": f.partial,
            }
            for f in plan.files
        ],
        "to_fetch": len(plan.work),
        "bytes": sum(s or 0 for s in sizes),
        "sizes_unknown": sum(s is None for s in sizes),
    }


def render_plan(plan: GetPlan) -> str:
    """Return the plan as text: what it is, its licence and terms, and every file with its size and address."""
    said, dataset = describe_plan(plan), plan.dataset
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
    unknown = f" and {said['sizes_unknown']} of unknown size" if said["sizes_unknown"] else ""
    files = "1 file" if len(plan.work) == 1 else f"{len(plan.work)} files"
    lines += ["", f"to fetch: {files}, {show_bytes(said['bytes'])}{unknown}"]
    return "\n".join(lines)


def get_files(
    plan: GetPlan,
    *,
    seen: Seen | None = None,
    told: Callable[[str], None] | None = None,
    limits: Limits | None = None,
) -> dict[str, Any]:
    """Fetch what the plan says and return what was done.

    Returns:
        ``dataset``, ``folder``, ``fetched`` (path, size, sha256, files of an archive, checked) and ``there``.

    Raises:
        UserError: see ``fetch.fetch.fetch_files``.
    """
    fetched = [
        {"path": f.place, "size": f.size, "sha256": f.sha256, "files": f.files, "checked": f.checked}
        for f in fetch_files(
            plan.files, plan.folder, overwrite=plan.overwrite, seen=seen, told=told, limits=limits
        )
    ]
    work = set(plan.work)
    return {
        "dataset": plan.dataset.name,
        "folder": str(plan.folder),
        "fetched": fetched,
        "there": _places([f for f in plan.files if f not in work]),
    }


def _places(files: Sequence[Planned]) -> list[str]:
    return [f.place for f in files]


def show_bytes(count: int) -> str:
    """Return a number of bytes for people (``1.5 MB``, decimal units)."""
    size, unit = float(count), 0
    while size >= 999.95 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{count:,} bytes" if unit == 0 else f"{size:,.1f} {_UNITS[unit]}"
