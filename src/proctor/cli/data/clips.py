"""``proctor datasets clips``: long recordings cut into clips."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec

from proctor.cli.console import command_app, emit, table
from proctor.cli.data.common import Choices, PlaceSettings, find_place, read_options
from proctor.cli.options import Output, with_settings
from proctor.errors import UserError
from proctor.settings import option
from proctor.terminal import progress

app = command_app()


class CutSettings(PlaceSettings, frozen=True, kw_only=True):
    """What is cut, by which rules, and where clips go."""

    out: Annotated[Path, option("File to write, one clip a line (JSON Lines).")]
    rules: Annotated[str, option("A variant of trimming, or prefix:VARIANT (see docs/clips.md).")] = "default"
    videos: Annotated[Path | None, option("Folder with the videos: cut them, too, next to the file.")] = None
    choices: Choices = ()


@app.command()
@with_settings
def clips(settings: CutSettings, output: Output) -> None:
    """Cut long recordings into clips of several steps, or into prefixes that end where a question is asked.

    NAME.dropped.jsonl, next to the file, lists every stretch and step that is in no clip, with the reason.

    Example: proctor datasets clips goalstep ~/data/goalstep --out clips.jsonl --option level=leaf

    Example: proctor datasets clips bicycles --out asked.jsonl --rules prefix:promqa --videos bicycles
    """
    from proctor.stages.datasets_clips import cut_clips, derive_clips, iter_clips
    from proctor.stages.videos import Videos

    dataset, folder = find_place(settings.place)
    out, videos = settings.out, settings.videos
    if dataset.kind != "recordings":
        raise UserError(f"{dataset.title} holds {dataset.kind}, not recordings.", where=str(folder))
    if videos is not None and not videos.is_dir():
        raise UserError(
            "there is no such folder.", where=str(videos), hint="give the folder that the videos are in"
        )
    chosen = _rules(settings.rules)
    with progress("clips", quiet=output.as_json) as step:
        recordings = dataset.iter_records(folder, "corrected", None, **read_options(settings.choices))
        result = derive_clips(recordings, out, chosen, seen=step)
    if videos is not None:
        with progress("videos", result.clips, quiet=output.as_json) as step:
            cut = cut_clips(iter_clips(out), Videos(videos), out.with_suffix(""), seen=step)
        result = msgspec.structs.replace(result, videos_cut=cut)
    emit(result, _text(msgspec.to_builtins(result)), as_json=output.as_json)


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
