"""``proctor features``: features of videos in stores, from published files or extracted."""

from __future__ import annotations

from proctor.cli.console import counted, emit, group_app, table
from proctor.cli.options import Output, with_settings
from proctor.stages.learn.settings import StoreSettings

app = group_app(
    "Convert, check and extract features of videos.\n\n"
    "A store is a folder with one row of numbers for each second (or two) of each recording; proctor learn reads it.\n\n"
    "Example: proctor features info stores/omnivore"
)


@app.command()
@with_settings
def info(settings: StoreSettings, output: Output) -> None:
    """Say what a store of features holds: backbone, width, stride, recordings, rows, what was mended.

    Example: proctor features info stores/omnivore
    """
    from proctor.stages.learn.features import describe_store

    found = describe_store(settings.store)
    rows = [
        ("backbone", found.backbone),
        ("modality", found.modality),
        ("numbers a row", found.width),
        ("seconds a row", f"{found.seconds:g}"),
        ("recordings", found.recordings),
        ("rows", found.rows),
        ("hours", f"{found.hours:.2f}"),
        ("size", f"{found.bytes / 1e6:,.1f} MB"),
        ("mended values", counted(found.mended)),
        ("source", found.source),
        ("hash", found.hash),
    ]
    if found.lengths is not None:
        shortest, median, longest = found.lengths
        rows.insert(7, ("lengths", f"{shortest:,.0f} s to {longest:,.0f} s, median {median:,.0f} s"))
    emit(found, table(rows), as_json=output.as_json)
