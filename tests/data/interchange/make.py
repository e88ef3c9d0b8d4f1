"""Make the golden files that Python packages write; run by hand: ``python tests/data/interchange/make.py``.

The files of Label Studio came from its server and are not made here; see README.md beside this file.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

HERE = Path(__file__).resolve().parent

CUES = [
    (0.5, 12.04, "Fill the kettle"),
    (12.04, 95.5, "Boil the water & wait"),
    (95.5, 3_661.25, "Stir\nslowly"),
]


def make_elan() -> None:
    """Two media files with offsets, a step without a child, mistakes, a second tier and an unaligned slot."""
    import pympi

    eaf = pympi.Eaf(author="Ana")
    eaf.add_linked_file(
        "file:///videos/tea.mp4", relpath="./tea.mp4", mimetype="video/mp4", time_origin=2_000
    )
    eaf.add_linked_file("file:///videos/side.mp4", relpath="./side.mp4", mimetype="video/mp4")
    eaf.add_linguistic_type("steps")
    eaf.add_linguistic_type("errors", constraints="Symbolic_Subdivision", timealignable=False)
    eaf.add_linguistic_type("included", constraints="Included_In")
    eaf.add_tier("steps", "steps")
    eaf.add_tier("errors", "errors", parent="steps")
    eaf.add_tier("words", "steps")
    eaf.remove_tier("default")
    eaf.add_annotation("steps", 0, 1_500, "Fill the kettle")
    eaf.add_annotation("steps", 1_500, 93_250, "Boil & <pour>")
    eaf.add_annotation("words", 10, 900, "hello")
    eaf.add_ref_annotation("errors", "steps", 2_000, "timing: too short: 1 min")
    eaf.add_ref_annotation("errors", "steps", 100, "order")
    path = HERE / "elan_pympi.eaf"
    path.unlink(missing_ok=True)
    eaf.to_file(str(path), pretty=True)


def make_subtitles() -> None:
    """The same three cues from three libraries."""
    from datetime import timedelta

    import pysubs2
    import srt
    import webvtt

    vtt = webvtt.WebVTT()
    for start, end, text in CUES:
        times = [f"{int(t // 3600):02}:{int(t // 60 % 60):02}:{t % 60:06.3f}" for t in (start, end)]
        vtt.captions.append(webvtt.Caption(*times, text))
    vtt.save(str(HERE / "webvtt_py.vtt"))
    subs = pysubs2.SSAFile()
    for start, end, text in CUES:
        event = pysubs2.SSAEvent(round(start * 1000), round(end * 1000))
        event.plaintext = text
        subs.append(event)
    for name in ("pysubs2.vtt", "pysubs2.srt"):
        subs.save(str(HERE / name))
    cues = [
        srt.Subtitle(n, timedelta(seconds=a), timedelta(seconds=b), text)
        for n, (a, b, text) in enumerate(CUES, start=1)
    ]
    (HERE / "srt.srt").write_text(srt.compose(cues), encoding="utf-8")


ROW = {
    "recording_id": "tea_1",
    "activity_id": "tea",
    "activity_name": "Tea for two",
    "duration": 120.0,
    "video": None,
    "attributes": [{"name": "split", "value": "val"}],
    "segments": [
        {
            "step_id": "001",
            "text": "Fill the kettle",
            "start": 0.5,
            "end": 12.04,
            "performed": None,
            "mistakes": [{"kind": "order", "text": "too early"}],
        },
    ],
}


def make_hugging_face() -> None:
    """One split, written by ``datasets``."""
    import datasets

    path = HERE / "hugging_face" / "data" / "recordings" / "validation-00000-of-00001.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    datasets.Dataset.from_list([ROW]).to_parquet(str(path))


def make_croissant() -> None:
    """Tables written by pandas, metadata by ``mlcroissant``."""
    import mlcroissant as mlc
    import pandas as pd

    from proctor.datasets.interchange.croissant import render_metadata

    folder = HERE / "croissant" / "data"
    folder.mkdir(parents=True, exist_ok=True)
    tables = {
        "recordings": [
            {k: ROW[k] for k in ("recording_id", "activity_id", "activity_name", "duration", "video")}
        ],
        "segments": [
            {"recording_id": "tea_1", "position": 1, "step_id": "001", "text": "Fill the kettle"}
            | {"start": 0.5, "end": 12.04, "performed": None}
        ],
        "mistakes": [
            {"recording_id": "tea_1", "segment": 1, "position": 1, "kind": "order", "text": "too early"}
        ],
        "attributes": [{"recording_id": "tea_1", "name": "split", "value": "val"}],
    }
    hashes = {}
    for name, rows in tables.items():
        file = folder / f"{name}.parquet"
        pd.DataFrame(rows).to_parquet(file)
        hashes[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    about = {
        "name": "tea",
        "description": "Tea being made.",
        "license": "CC-BY-4.0",
        "url": "https://example.org/tea",
        "version": "1.0.0",
        "datePublished": "2026-11-20",
        "citeAs": "Tea, 2026",
        "creator": "Example",
        "rai:annotationsPerItem": "2",
    }
    metadata = mlc.Metadata.from_json(mlc.Context(), render_metadata(about, hashes))
    text = json.dumps(metadata.to_json(), indent=2, default=str)
    (folder.parent / "croissant.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    make_elan()
    make_subtitles()
    make_hugging_face()
    make_croissant()
