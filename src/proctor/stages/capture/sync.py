"""``proctor capture sync``: the streams of recordings at the moments of one of them, and a page of how good that is. docs/capture.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from proctor.capture.sync.report import SyncConfig, SyncReport, Verdict
from proctor.capture.sync.run import synchronise
from proctor.errors import MissingExtraError, UserError
from proctor.records import Dropped
from proctor.stages.capture.dropped import take_dropped
from proctor.stages.capture.ingest import finished
from proctor.stages.capture.settings import SyncSettings
from proctor.stages.capture.sync_page import write_sync_page

__all__ = ["Synchronised", "sync"]


class Synchronised(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a recording.

    Attributes:
        recording: its id.
        verdict: ``poor`` where it could not be synchronised at all.
        frames: moments of the base stream.
        coverage: share of them that each stream covers.
        reasons: of the recording and of each stream that is not good, for people.
        page: ``report.html``; beside it are ``report.json`` and a table for each stream. None where there is nothing.
    """

    recording: str
    verdict: Verdict
    frames: int
    coverage: dict[str, float]
    reasons: tuple[str, ...]
    page: Path | None


def sync(
    workspace: Path, settings: SyncSettings, *, seen: Callable[[str], None] = lambda _: None
) -> list[Synchronised]:
    """Synchronise the recordings that are over, or those that are named; one that cannot be read does not stop the others.

    Args:
        workspace: its folder.
        settings: which, and how.
        seen: is told the id of each recording that is done.

    Raises:
        UserError: if no recording is over, or a named one is not.
        MissingExtraError: without the extra ``capture``.
    """
    config = SyncConfig(
        base=settings.base,
        rule=settings.rule,
        tolerance_ms=settings.tolerance_ms,
        allow_repeat=settings.allow_repeat,
    )
    unreadable: list[Dropped] = []
    found = finished(workspace, settings.recording, unreadable)
    done = [_failed(one.id, one.detail) for one in unreadable]
    for folder, manifest in found:
        try:
            _, late = take_dropped(folder, manifest)
            report = synchronise(folder, config)
        except MissingExtraError:
            raise
        except UserError as error:
            done.append(_failed(manifest.id, str(error)))
        else:
            page = write_sync_page(folder / "sync" / report.hash / "report.html", report)
            done.append(_done(report, page, late))
        seen(manifest.id)
    return done


def _failed(recording: str, why: str) -> Synchronised:
    return Synchronised(recording=recording, verdict="poor", frames=0, coverage={}, reasons=(why,), page=None)


def _done(report: SyncReport, page: Path, late: tuple[str, ...]) -> Synchronised:
    said = [f"{s.name}: {', '.join(s.reasons)}" for s in report.streams if s.verdict != "good"]
    own = [r for r in report.reasons if not any(r == f"{s.name} is {s.verdict}" for s in report.streams)]
    return Synchronised(
        recording=report.recording, verdict=report.verdict, frames=report.frames,
        coverage={s.name: s.coverage for s in report.streams}, reasons=(*late, *own, *said), page=page,
    )  # fmt: skip
