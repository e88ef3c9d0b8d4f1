"""``proctor datasets clips``: long recordings cut into clips."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from proctor.cli.console import JsonFlag, command_app, emit, progress, table
from proctor.cli.data.common import OptionsFlag, PlaceArgument, find_place, read_options
from proctor.errors import UserError

app = command_app()


@app.command()
def clips(
    place: PlaceArgument,
    out: Annotated[Path, typer.Option("--out", help="File to write, one clip a line (JSON Lines).")],
    rules: Annotated[
        str, typer.Option(help="A variant of trimming, or prefix:VARIANT (see docs/clips.md).")
    ] = "default",
    videos: Annotated[
        Path | None, typer.Option(help="Folder with the videos: cut them, too, beside the file.")
    ] = None,
    option: OptionsFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Cut long recordings into clips of several steps, or into prefixes that end where a question is asked.

    Beside the file, NAME.dropped.jsonl lists every stretch and step that is in no clip, with the reason.

    Example: proctor datasets clips goalstep ~/data/goalstep --out clips.jsonl --option level=leaf

    Example: proctor datasets clips bicycles --out asked.jsonl --rules prefix:promqa --videos bicycles
    """
    from proctor.stages.datasets_clips import cut_clips, derive_clips, iter_clips
    from proctor.stages.videos import Videos

    dataset, folder = find_place(place)
    if dataset.kind != "recordings":
        raise UserError(f"{dataset.title} holds {dataset.kind}, not recordings.", where=str(folder))
    if videos is not None and not videos.is_dir():
        raise UserError(
            "there is no such folder.", where=str(videos), hint="give the folder that the videos are in"
        )
    chosen = _rules(rules)
    with progress("clips", quiet=as_json) as step:
        recordings = dataset.iter_records(folder, "corrected", None, **read_options(option))
        result = derive_clips(recordings, out, chosen, seen=step)
    if videos is not None:
        with progress("videos", result.clips, quiet=as_json) as step:
            cut = cut_clips(iter_clips(out), Videos(videos), out.with_suffix(""), seen=step)
        result = msgspec.structs.replace(result, videos_cut=cut)
    emit(result, _text(msgspec.to_builtins(result)), as_json=as_json)


def _rules(text: str) -> Any:
    from proctor.procedure.trim_rules import variant_rules
    from proctor.stages.datasets_clips import prefix_rules

    kind, _, variant = text.partition(":")
    return prefix_rules(variant or "default") if kind == "prefix" else variant_rules(text)


def _text(result: dict[str, Any]) -> str:
    rows = []
    for name, value in result.items():
        if name == "lengths" and value:
            rows.append((name, ", ".join(f"from {start:g} s: {n}" for start, n in value)))
            continue
        if value in (None, "", {}, []):
            continue
        shown = (
            ", ".join(f"{k} {_short(v)}" for k, v in value.items())
            if isinstance(value, dict)
            else _short(value)
        )
        rows.append((name.replace("_", " "), shown))
    return table(rows)


def _short(value: object) -> str:
    return f"{value:,.1f}" if isinstance(value, float) else str(value)
