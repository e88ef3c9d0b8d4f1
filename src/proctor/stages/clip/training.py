"""The training set: pairs of videos that the benchmark does not have, in the formats that people fine-tune on."""

from __future__ import annotations

from pathlib import Path

from proctor.errors import UserError
from proctor.records import write_jsonl
from proctor.release.training import TrainingManifest, write_training
from proctor.stages.clip.reading import load_clips, load_kept, load_training
from proctor.workspace import Workspace

__all__ = ["export_training"]


def export_training(root: Path, out: Path) -> TrainingManifest:
    """Write the training set of a workspace into a folder.

    Args:
        root: the workspace, filtered with a share for training.
        out: the folder.

    Raises:
        UserError: if there are no training pairs, or one shares a video with the benchmark.
    """
    workspace = Workspace(root)
    benchmark, pairs = load_kept(workspace), load_training(workspace)
    if not pairs:
        raise UserError(
            "there are no pairs for training.",
            where=str(root),
            hint=f"filter with a share for them: proctor filter {root} --benchmark-share 0.2",
        )
    manifest, dropped = write_training(
        out,
        pairs,
        load_clips(workspace),
        benchmark,
        name=out.name,
        benchmark_name=workspace.root.resolve().name,
    )
    write_jsonl(out / "dropped.jsonl", dropped)
    return manifest
