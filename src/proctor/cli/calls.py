"""``proctor calls``: what was asked of models, what it cost, and how to take it along."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from typer.core import TyperGroup

from proctor.cli.console import JsonFlag, emit, note, printable, progress, table, warn
from proctor.errors import UserError

if TYPE_CHECKING:
    from proctor.llm.store import CallStore, StoredCall, Total

_HELP = (
    "List, sum up, export, prune and replay the calls of models that a store holds, and show their pace.\n\n"
    "Without a command it lists: 'proctor calls STORE' is 'proctor calls list STORE', and without a store it is the "
    "workspace in this folder."
)


class _Group(TyperGroup):
    """Lists when no command is named; a word that is no store may be a command misspelt."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        first = args[0] if args else "."
        if first not in self.commands and first != "--help" and (first.startswith("-") or _is_store(first)):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def _is_store(word: str) -> bool:
    return "://" in word or Path(word).exists()


app = typer.Typer(
    cls=_Group, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, help=_HELP
)

StoreArgument = Annotated[
    str,
    typer.Argument(
        metavar="STORE", help="The store's file, a workspace that has one, or a postgresql:// URL."
    ),
]
StageOption = Annotated[
    str | None, typer.Option("--stage", help="Only of this stage; * stands for anything.")
]
ModelOption = Annotated[
    str | None, typer.Option("--model", help="Only of this model; * stands for anything.")
]
MediaOption = Annotated[
    Path | None, typer.Option("--media", metavar="FOLDER", help="Folder of the media that requests name.")
]

_NAME = "calls.sqlite"
_SHOWN = 60


@app.command("list")
def list_(
    store: StoreArgument = ".",
    stage: StageOption = None,
    model: ModelOption = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind", help="reply, truncated, refusal, failed (all failures), or a kind of failure."
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="The latest so many.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """List the latest calls, newest first.

    Example: proctor calls list bench --stage judge --kind failed
    """
    from proctor.llm.store import Selection

    with _open(store) as opened:
        wanted = Selection(stage=stage, model=model, kind=kind)
        calls = opened.latest(wanted, limit)
        number = opened.count(wanted)
        attempts = {key: len(tries) for key, tries in opened.attempts(call.key for call in calls).items()}
        rows = [_call_row(call, attempts.get(call.key, 0)) for call in calls]
        text = table([_call_cells(row) for row in rows], _CALL_HEADER)
    more = f"\n{number - len(rows):,} more; see --limit" if number > len(rows) else ""
    emit(
        {"calls": rows, "count": number}, (text if rows else "There is no such call.") + more, as_json=as_json
    )


@app.command()
def cost(
    store: StoreArgument,
    stage: StageOption = None,
    model: ModelOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Sum up calls, tokens and US dollars by model and stage; failed attempts that were charged are counted.

    Possibly charged are attempts whose reply was lost (no reply in time, a broken connection, Ctrl-C): only the provider
    knows. What they may cost at most is printed beside the sum, and is not in it.

    Example: proctor calls cost bench
    """
    from proctor.llm.store import Selection

    with _open(store) as opened:
        totals = opened.totals(Selection(stage=stage, model=model))
    sums = _sum(totals)
    rows = [_total_row(total) for total in totals]
    emit(
        {"totals": rows, "sum": _total_row(sums)},
        table([_total_cells(total) for total in (*totals, sums)], _TOTAL_HEADER)
        if totals
        else "There are no calls.",
        as_json=as_json,
    )
    for total in totals:
        if total.unpriced:
            warn(
                f"{printable(total.model)}: the price of {total.unpriced:,} attempts in stage "
                f"'{printable(total.stage)}' is not known; the sum is without them"
            )


@app.command()
def flow(
    store: StoreArgument,
    stage: StageOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="The latest so many events.")] = 50,
    as_json: JsonFlag = False,
) -> None:
    """Tell how the pace of calls changed: when more or fewer were allowed in flight, pauses, and why.

    Example: proctor calls flow bench --stage 'predict/*'
    """
    with _open(store) as opened:
        events = opened.history(stage, limit)
    rows = [{"stage": name, **msgspec.to_builtins(event)} for name, event in events]
    cells = [
        (_date(e.at, seconds=True), name or "–", e.endpoint, e.kind, e.limit, e.detail) for name, e in events
    ]
    text = table(cells, ("at (UTC)", "stage", "endpoint", "what", "in flight", "why"))
    emit({"events": rows}, text if rows else "Nothing changed the pace.", as_json=as_json)


@app.command()
def export(
    store: StoreArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; gzipped if it ends in .gz.")],
    stage: StageOption = None,
    model: ModelOption = None,
    media: MediaOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Write calls to a JSON Lines file that anybody can replay without a key.

    Images and other media are named by their hash; with --media their bytes go along.

    Example: proctor calls export bench calls.jsonl.gz --stage judge
    """
    from proctor.llm.export import export_calls
    from proctor.llm.store import Selection

    with _open(store) as opened:
        wanted = Selection(stage=stage, model=model)
        with progress("export", opened.count(wanted), quiet=as_json) as step:
            calls, count = export_calls(opened, file, wanted, media=_media(media, create=False), seen=step)
    text = f"{calls:,} calls" + (f" and {count:,} media" if media else "") + f" written to {file}"
    emit({"calls": calls, "media": count, "file": str(file)}, text, as_json=as_json)


@app.command()
def prune(
    store: StoreArgument,
    stage: StageOption = None,
    model: ModelOption = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="Only reply, refusal, failed (all failures), ...")
    ] = None,
    older_than: Annotated[
        float | None, typer.Option("--older-than", metavar="DAYS", min=0, help="Only calls older than this.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All calls, if nothing else is said.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be removed, remove nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Really remove.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Remove calls and their attempts for good; asking the same again is paid for again.

    Example: proctor calls prune bench --stage judge --older-than 30 --dry-run
    """
    from proctor.llm.budget import dollars
    from proctor.llm.store import EVERYTHING, Selection

    before = None if older_than is None else time.time() - older_than * 86_400
    wanted = Selection(stage=stage, model=model, kind=kind, before=before)
    if wanted == EVERYTHING and not everything:
        raise UserError(
            "nothing says which calls are meant.",
            hint="give --stage, --model, --kind or --older-than, or --all",
        )
    with _open(store) as opened:
        count, worth = opened.count(wanted), _sum(opened.totals(wanted)).cost
        if not yes and not dry_run:
            raise UserError(
                f"{count:,} calls worth {dollars(worth)} would be removed for good.",
                where=opened.place,
                hint="add --yes to remove them, or --dry-run to look only; 'proctor calls export' keeps a copy",
            )
        removed = 0 if dry_run else opened.prune(wanted)
    text = (
        f"{count:,} calls worth {dollars(worth)} would be removed"
        if dry_run
        else f"{removed:,} calls removed"
    )
    emit({"selected": count, "removed": removed, "cost": worth, "dry_run": dry_run}, text, as_json=as_json)


@app.command()
def replay(
    store: Annotated[
        str, typer.Argument(metavar="STORE", help="Where the calls go: a file (made if missing) or URL.")
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="From 'proctor calls export'.")],
    media: MediaOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Take exported calls into a store, so that the same commands run again without a key and without paying.

    A run finds every call that the file holds; what it does not hold is asked of the model. To be sure that nothing is
    sent, name the model replay/FILE instead.

    Example: proctor calls replay bench calls.jsonl.gz
    """
    from proctor.llm.export import import_calls

    with _open(store, create=True) as opened, progress("replay", quiet=as_json) as step:
        calls, new = import_calls(opened, file, media=_media(media, create=True), seen=step)
        place = opened.place
    text = f"{calls:,} calls in {file}; {new:,} are new in {place}"
    emit({"calls": calls, "new": new, "store": place}, text, as_json=as_json)


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

    if "://" in store:
        return CallStore.open(store, create=create)
    path = Path(store)
    inside = path / _NAME
    if path.is_dir() and (create or inside.is_file()):
        path = inside
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
