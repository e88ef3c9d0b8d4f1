"""``proctor calls``: what was asked of models, what it cost, and how to take it along."""

from __future__ import annotations

import time
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec

from proctor.cli.console import Group, emit, group_app, table
from proctor.cli.options import Output, with_settings
from proctor.errors import UserError
from proctor.settings import Settings, argument, option
from proctor.terminal import note, printable, progress, warn

if TYPE_CHECKING:
    from proctor.llm.store import CallStore, StoredCall, Total

_HELP = (
    "List, sum up, export, prune and replay the calls of models that a store holds, and show their pace.\n\n"
    "Example: proctor calls bench\n\nExample: proctor calls cost bench\n\n"
    "Without a command it lists: 'proctor calls STORE' is 'proctor calls list STORE', and without a store it is the "
    "workspace in this folder."
)


class _Group(Group):
    """Lists when no command is named; a word that is nearly one may be a command misspelt."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        first = args[0] if args else "."
        if (
            first not in self.commands
            and first not in ("--help", "-h")
            and (first.startswith("-") or "://" in first or not get_close_matches(first, self.commands))
        ):
            args = ["list", *args]
        return super().parse_args(ctx, args)


app = group_app(_HELP, cls=_Group)

_NAME = "calls.sqlite"
_SHOWN = 60


Store: TypeAlias = Annotated[
    str,
    argument("The store's file, a workspace that has one, or a postgresql:// URL (extra postgres).", "STORE"),
]


class Staged(Settings, frozen=True, kw_only=True):
    """Which store is meant, and which of its stages."""

    store: Store
    stage: Annotated[str | None, option("Only of this stage; * stands for anything.")] = None


class Selected(Staged, frozen=True, kw_only=True):
    """Which of its calls are meant."""

    model: Annotated[str | None, option("Only of this model; * stands for anything.", metavar="MODEL")] = None


class OfKind(Selected, frozen=True, kw_only=True):
    """Which of them, by how they came out."""

    kind: Annotated[
        str | None, option("reply, truncated, refusal, failed (all failures), or a kind of failure.")
    ] = None


MediaFolder: TypeAlias = Annotated[
    Path | None, option("Folder of the media that requests name.", metavar="FOLDER")
]
Latest: TypeAlias = Annotated[int, option("How many, the latest first.", ge=1)]


class Paced(Staged, frozen=True, kw_only=True):
    """Which events are shown."""

    limit: Latest = 50


class Listing(OfKind, frozen=True, kw_only=True):
    """What is listed."""

    store: Store = "."
    limit: Latest = 20


class Filed(Settings, frozen=True, kw_only=True):
    """Which file is meant, and where its media are."""

    file: Annotated[Path, argument("Where to; gzipped if it ends in .gz.", "FILE")]
    media: MediaFolder = None


class Replaying(Settings, frozen=True, kw_only=True):
    """What is taken in, and where to."""

    store: Annotated[str, argument("Where the calls go: a file (made if missing) or URL.", "STORE")]
    file: Annotated[Path, argument("From 'proctor calls export'.", "FILE")]
    media: MediaFolder = None


class Pruning(OfKind, frozen=True, kw_only=True):
    """What is removed."""

    older_than: Annotated[float | None, option("Only calls older than this.", metavar="DAYS", ge=0)] = None
    everything: Annotated[bool, option("All calls, if nothing else is said.", "--all")] = False
    dry_run: Annotated[bool, option("Say what would be removed, remove nothing.")] = False
    yes: Annotated[bool, option("Really remove.")] = False


@app.command("list")
@with_settings
def list_(settings: Listing, output: Output) -> None:
    """List the latest calls, newest first.

    Example: proctor calls list bench --stage judge --kind failed
    """
    from proctor.llm.store import Selection

    with _open(settings.store) as opened:
        wanted = Selection(stage=settings.stage, model=settings.model, kind=settings.kind)
        calls = opened.latest(wanted, settings.limit)
        number = opened.count(wanted)
        attempts = {key: len(tries) for key, tries in opened.attempts(call.key for call in calls).items()}
        rows = [_call_row(call, attempts.get(call.key, 0)) for call in calls]
        text = table([_call_cells(row) for row in rows], _CALL_HEADER)
    more = f"\n{number - len(rows):,} more; see --limit" if number > len(rows) else ""
    emit(
        {"calls": rows, "count": number},
        (text if rows else "There is no such call.") + more,
        as_json=output.as_json,
    )


@app.command()
@with_settings
def cost(settings: Selected, output: Output) -> None:
    """Sum up calls, tokens and US dollars by model and stage; failed attempts that were charged are counted.

    Possibly charged are attempts whose reply was lost (no reply in time, a broken connection, Ctrl-C): only the provider
    knows. What they may cost at most is printed beside the sum, and is not in it.

    Example: proctor calls cost bench
    """
    from proctor.llm.store import Selection

    with _open(settings.store) as opened:
        totals = opened.totals(Selection(stage=settings.stage, model=settings.model))
    sums = _sum(totals)
    rows = [_total_row(total) for total in totals]
    emit(
        {"totals": rows, "sum": _total_row(sums)},
        table([_total_cells(total) for total in (*totals, sums)], _TOTAL_HEADER)
        if totals
        else "There are no calls.",
        as_json=output.as_json,
    )
    for total in totals:
        if total.unpriced:
            warn(
                f"{printable(total.model)}: the price of {total.unpriced:,} attempts in stage "
                f"'{printable(total.stage)}' is not known; the sum is without them"
            )


@app.command()
@with_settings
def flow(settings: Paced, output: Output) -> None:
    """Show how the pace of calls changed: when more or fewer were allowed in flight, pauses, and why.

    Example: proctor calls flow bench --stage 'predict/*'
    """
    with _open(settings.store) as opened:
        events = opened.history(settings.stage, settings.limit)
    rows = [{"stage": name, **msgspec.to_builtins(event)} for name, event in events]
    cells = [
        (_date(e.at, seconds=True), name or "–", e.endpoint, e.kind, e.limit, e.detail) for name, e in events
    ]
    text = table(cells, ("at (UTC)", "stage", "endpoint", "what", "in flight", "why"))
    emit({"events": rows}, text if rows else "Nothing changed the pace.", as_json=output.as_json)


@app.command()
@with_settings
def export(settings: Selected, into: Filed, output: Output) -> None:
    """Write calls to a JSON Lines file that can be replayed without a key.

    Images and other media are named by their hash; with --media their bytes are copied, too.

    Example: proctor calls export bench calls.jsonl.gz --stage judge
    """
    from proctor.llm.export import export_calls
    from proctor.llm.store import Selection

    with _open(settings.store) as opened:
        wanted = Selection(stage=settings.stage, model=settings.model)
        with progress("export", opened.count(wanted), quiet=output.as_json) as step:
            calls, count = export_calls(
                opened, into.file, wanted, media=_media(into.media, create=False), seen=step
            )
    text = f"{calls:,} calls" + (f" and {count:,} media" if into.media else "") + f" written to {into.file}"
    emit({"calls": calls, "media": count, "file": str(into.file)}, text, as_json=output.as_json)


@app.command()
@with_settings
def prune(settings: Pruning, output: Output) -> None:
    """Remove calls and their attempts permanently; asking the same again is paid for again.

    Example: proctor calls prune bench --stage judge --older-than 30 --dry-run
    """
    from proctor.llm.budget import dollars
    from proctor.llm.store import EVERYTHING, Selection

    older = settings.older_than
    before = None if older is None else time.time() - older * 86_400
    wanted = Selection(stage=settings.stage, model=settings.model, kind=settings.kind, before=before)
    if wanted == EVERYTHING and not settings.everything:
        raise UserError(
            "nothing says which calls are meant.",
            hint="give --stage, --model, --kind or --older-than, or --all",
        )
    with _open(settings.store) as opened:
        count, worth = opened.count(wanted), _sum(opened.totals(wanted)).cost
        if not settings.yes and not settings.dry_run:
            raise UserError(
                f"{count:,} calls worth {dollars(worth)} would be removed permanently.",
                where=opened.place,
                hint="add --yes to remove them, or --dry-run to look only; 'proctor calls export' keeps a copy",
            )
        removed = 0 if settings.dry_run else opened.prune(wanted)
    text = (
        f"{count:,} calls worth {dollars(worth)} would be removed"
        if settings.dry_run
        else f"{removed:,} calls removed"
    )
    emit(
        {"selected": count, "removed": removed, "cost": worth, "dry_run": settings.dry_run},
        text,
        as_json=output.as_json,
    )


@app.command()
@with_settings
def replay(settings: Replaying, output: Output) -> None:
    """Take exported calls into a store, so that the same commands run again without a key and without paying.

    A run finds every call that the file holds; what it does not hold is asked of the model. To be sure that nothing is
    sent, name the model replay/FILE instead.

    Example: proctor calls replay bench calls.jsonl.gz
    """
    from proctor.llm.export import import_calls

    with _open(settings.store, create=True) as opened, progress("replay", quiet=output.as_json) as step:
        calls, new = import_calls(opened, settings.file, media=_media(settings.media, create=True), seen=step)
        place = opened.place
    text = f"{calls:,} calls in {settings.file}; {new:,} are new in {place}"
    emit({"calls": calls, "new": new, "store": place}, text, as_json=output.as_json)


# -- rows ----------------------------------------------------------------------------------------------------

_CALL_HEADER = ("stored", "stage", "model", "outcome", "attempts", "seconds", "in", "out", "cost", "key")
_TOTAL_HEADER = (
    "model",
    "stage",
    "calls",
    "failed",
    "attempts",
    "in",
    "cached",
    "out",
    "USD",
    "price unknown",
    "lost",
    "possibly USD",
)


def _call_row(call: StoredCall, attempts: int) -> dict[str, Any]:
    return {
        "key": call.key,
        "model": call.model,
        "stage": call.stage,
        "kind": call.kind,
        "final": call.outcome is not None,
        "created": call.created,
        "attempts": attempts,
        "seconds": call.seconds,
        "input": call.input,
        "output": call.output,
        "cached": call.cached,
        "cost": call.cost,
    }


def _call_cells(row: dict[str, Any]) -> list[object]:
    from proctor.llm.budget import dollars

    model = row["model"] if len(row["model"]) <= _SHOWN else row["model"][: _SHOWN - 1] + "…"
    stored = _date(row["created"])
    cells = (row["seconds"], row["input"], row["output"])
    price = "unknown" if row["cost"] is None and row["final"] else dollars(row["cost"] or 0)
    return [
        *(stored, row["stage"] or "–", model, row["kind"], row["attempts"]),
        *("" if value is None else value for value in cells),
        *(price, row["key"][:12]),
    ]


def _date(at: float, *, seconds: bool = False) -> str:
    """Return a time in UTC; a file from elsewhere may say anything."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M", time.gmtime(at))
    except (OverflowError, OSError, ValueError):
        return "?"


def _total_row(total: Total) -> dict[str, Any]:
    return total._asdict()


def _total_cells(total: Total) -> list[object]:
    from proctor.llm.budget import dollars

    return [
        *(total.model, total.stage or "–", total.calls, total.failed, total.attempts),
        *(total.input, total.cached, total.output, dollars(total.cost), total.unpriced or ""),
        *((total.lost, dollars(total.feared)) if total.lost else ("", "")),
    ]


def _sum(totals: Sequence[Total]) -> Total:
    from proctor.llm.store import Total

    columns = list(zip(*totals, strict=True))[2:] or [()] * (len(Total._fields) - 2)
    return Total("all", "", *(sum(column) for column in columns))


# -- opening -------------------------------------------------------------------------------------------------


def _open(store: str, *, create: bool = False) -> CallStore:
    from proctor.llm.store import CallStore
    from proctor.workspace import Workspace

    if "://" in store:
        return CallStore.open(store, create=create)
    path = Path(store)
    inside = path / _NAME
    if path.is_dir() and (create or inside.is_file()):
        path = inside
    elif path.is_dir():
        beside = sorted(file.parent.name for file in path.glob(f"*/{_NAME}"))
        raise UserError(
            f"there are no calls in this folder: it has no {_NAME}.",
            where=store,
            hint="name a workspace that has asked models: proctor calls "
            + (str(path / beside[0]) if beside else "WORKSPACE"),
        )
    elif not create and not path.exists() and (meant := Workspace(path).meant()):
        raise UserError("there is no such workspace and no such file.", where=store, hint=meant)
    return CallStore.open(path, create=create)


def _media(folder: Path | None, *, create: bool) -> Any:
    from proctor.llm.media import MediaStore

    if folder is None:
        return None
    if not folder.is_dir():
        if not create or folder.exists():
            raise UserError("there is no such folder.", where=str(folder))
        note(f"making the folder {folder}")
    return MediaStore(folder)
