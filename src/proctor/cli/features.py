"""``proctor features``: features of videos in stores, from published files or extracted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import typer

from proctor.cli.console import counted, emit, group_app, table
from proctor.cli.options import Output, Spread, with_settings
from proctor.stages.learn.settings import (
    CheckStoreSettings,
    ConvertStoreSettings,
    ExtractSettings,
    StoreSettings,
)
from proctor.terminal import progress, warn

if TYPE_CHECKING:
    from proctor.stages.learn.features import Described, Unfit

app = group_app(
    "Convert, check and extract features of videos.\n\n"
    "A store is a folder with one row of numbers for each second (or two) of each recording; proctor learn reads it.\n\n"
    "Example: proctor features info stores/omnivore"
)


@app.command()
@with_settings
def info(settings: StoreSettings, output: Output) -> None:
    """Show what a store of features holds: backbone, width, stride, recordings, rows, what was corrected.

    Example: proctor features info stores/omnivore
    """
    from proctor.stages.learn.features import describe_store

    found = describe_store(settings.store)
    emit(found, _store_text(found), as_json=output.as_json)


def _store_text(found: Described) -> str:
    rows = [
        ("backbone", found.backbone),
        ("modality", found.modality),
        ("numbers a row", found.width),
        ("seconds a row", f"{found.seconds:g}"),
        ("recordings", found.recordings),
        ("rows", found.rows),
        ("hours", f"{found.hours:.2f}"),
        ("size", f"{found.bytes / 1e6:,.1f} MB"),
        ("corrected values", counted(found.mended)),
        ("source", found.source),
        ("hash", found.hash),
    ]
    if found.lengths is not None:
        shortest, median, longest = found.lengths
        rows.insert(7, ("lengths", f"{shortest:,.0f} s to {longest:,.0f} s, median {median:,.0f} s"))
    return table(rows)


@app.command()
@with_settings
def convert(settings: ConvertStoreSettings, spread: Spread, output: Output) -> None:
    """Make a store of published features: .npz and .npy files, one a recording, or one a second.

    One recording is read at a time. What cannot be read is left out and listed in STORE.dropped.jsonl. An interrupted conversion
    leaves STORE.part; the same command goes on from there.

    Example: proctor features convert ~/captaincook4d/features --backbone omnivore --out stores/omnivore

    Example: proctor features convert mine --backbone dino --seconds 0.5 --out stores/dino
    """
    from proctor.compute import place_of
    from proctor.stages.learn.features import convert_features

    with progress("recordings", quiet=output.as_json) as step:
        result = convert_features(settings, place=place_of(spread.workers), seen=step)
    text = _store_text(result.store)
    if result.resumed:
        text += f"\n\n{result.resumed:,} recordings were there already"
    if result.remark:
        text += f"\n\n{result.store.backbone}: {result.remark}"
    if result.unfit:
        text += f"\n\n{_findings_text(result.unfit)}"
    emit(result, text, as_json=output.as_json)
    if result.dropped:
        reasons = counted(Counter(d.reason for d in result.dropped))
        warn(f"left out: {reasons}; listed in {result.dropped_file}")


@app.command()
@with_settings
def check(settings: CheckStoreSettings, output: Output) -> None:
    """Read all rows of a store, and list what is odd and what does not fit the annotations. Nothing is changed.

    Ends with status 2 when rows are damaged, or hold NaN.

    Example: proctor features check stores/omnivore --annotations ~/data/captaincook4d
    """
    from proctor.stages.learn.features import check_store

    with progress("recordings", quiet=output.as_json) as step:
        result = check_store(settings.store, settings.annotations, settings.rule, seen=step)
    if settings.rule is None:
        text = _findings_text(result.findings) if result.findings else "nothing odd"
    else:
        rows = [(f.where, f.seen) for f in result.findings]
        text = table(rows, ("where", "seen")) if rows else f"no finding of rule {settings.rule}"
    emit(result, text, as_json=output.as_json)
    if result.broken:
        raise typer.Exit(2)


_SHOWN: Final = 3


def _findings_text(findings: Sequence[Unfit]) -> str:
    from proctor.stages.learn.features import RULES

    rows = []
    for rule, what in RULES.items():
        found = [f"{f.where} ({f.seen})" for f in findings if f.rule == rule]
        more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
        if found:
            rows.append((rule, len(found), what, "; ".join(found[:_SHOWN]) + more))
    return table(rows, ("rule", "found", "what", "where"))


@app.command()
@with_settings
def extract(settings: ExtractSettings, spread: Spread, output: Output) -> None:
    """Extract features of videos into a store, a row a second; run again after a crash, it continues where it was.

    Videos that cannot be read are listed in STORE.dropped.jsonl. Plain features need no weights; those of models need a
    local folder of them (docs/features.md says which files).

    Example: proctor features extract videos/ --out stores/plain --features plain --workers 2

    Example: proctor features extract videos/ --out stores/vit --features transformers --weights ~/models/vit --device cuda

    Example: proctor features extract narrations/ --out stores/words --features text:st/~/models/minilm
    """
    from proctor.compute import place_of
    from proctor.stages.learn import extract as stage

    show = partial(progress, quiet=output.as_json)
    found = stage.extract(settings, place=place_of(spread.workers), show=show)
    rows = [(s.store, f"{s.window:g} s", s.recordings, s.rows, s.width) for s in found.stores]
    text = table(rows, ("store", "window", "recordings", "rows", "numbers a row"))
    said = [f"{found.hours:.2f} h at {found.rate:,.1f} times real time"] if found.hours else []
    said += [f"{found.resumed} recordings were done before"] if found.resumed else []
    said += [f"{found.silent} recordings without sound"] if found.silent else []
    said += (
        [f"left out: {counted(found.dropped)}, listed in {found.dropped_file}"] if found.dropped_file else []
    )
    emit(found, "\n".join([text, "", *said]), as_json=output.as_json)
