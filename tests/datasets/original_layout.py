"""The rows of steps put back into the layouts that the releases have, at full size.

The project keeps the real annotations of YouCook2, HiREST and Goal-Step as rows (``../shared/data/steps``), and a few
records of each as they were. What the rows do not have is filled in as the samples have it: the address of a video, the
flags of a pair.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

__all__ = ["goalstep", "hirest", "read_rows", "write_goalstep", "write_hirest", "write_youcook2", "youcook2"]

Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    data = path.read_bytes()
    lines = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in lines.splitlines()]


def youcook2(rows: list[Row]) -> Row:
    return {"database": {row["video_id"]: _youcook2(row) for row in rows}}


def _youcook2(row: Row) -> Row:
    return {
        "duration": row["duration"],
        "subset": row["split"],
        "recipe_type": row["task_id"],
        "annotations": [
            {"segment": [s["start"], s["end"]], "id": s["i"], "sentence": s["text"]} for s in row["steps"]
        ],
        "video_url": f"https://www.youtube.com/watch?v={row['video_id']}",
    }


def hirest(rows: list[Row]) -> Row:
    document: Row = {}
    for row in rows:
        document.setdefault(row["task"], {})[f"{row['video_id']}.mp4"] = {
            "relevant": True,
            "clip": True,
            "v_duration": row["duration"],
            "bounds": row["moment"],
            "steps": [
                {"index": s["i"], "heading": s["text"], "absolute_bounds": [s["start"], s["end"]]}
                for s in row["steps"]
            ],
        }
    return document


def goalstep(rows: list[Row]) -> Row:
    videos = [
        {
            "video_uid": row["video_id"],
            "start_time": row["start"],
            "end_time": row["end"],
            "goal_category": row["goal_category"],
            "goal_description": row["goal"],
            "goal_wikihow_url": "",
            "summary": [],
            "is_procedural": True,
            "segments": [_goalstep(step) for step in row["steps"]],
        }
        for row in rows
    ]
    return {
        "version": "1.0",
        "date": "231129",
        "description": "Goal-Step",
        "split": rows[0]["split"],
        "videos": videos,
    }


def _goalstep(step: Row) -> Row:
    flags = ("is_continued", "is_procedural", "is_relevant")
    return {
        "start_time": step["start"],
        "end_time": step["end"],
        "step_category": step["category"],
        "step_description": step["text"],
        **{flag: step[flag] for flag in flags if step[flag] is not None},
        "summary": [],
        "segments": [_goalstep(substep) for substep in step.get("substeps", [])],
    }


def write_youcook2(shared_data: Path, folder: Path) -> Path:
    return _write(
        folder / "youcookii_annotations_trainval.json",
        youcook2(read_rows(shared_data / "steps" / "youcook2.jsonl.gz")),
    )


def write_hirest(shared_data: Path, folder: Path) -> Path:
    rows = read_rows(shared_data / "steps" / "hirest.jsonl")
    for split in ("train", "val"):
        _write(folder / f"all_data_{split}.json", hirest([r for r in rows if r["split"] == split]))
    return folder


def write_goalstep(shared_data: Path, folder: Path) -> Path:
    rows = read_rows(shared_data / "steps" / "goalstep_val.jsonl.gz")
    return _write(folder / "goalstep_valid.json", goalstep(rows))


def _write(path: Path, document: Row) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path.parent
