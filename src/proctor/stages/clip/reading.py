"""What the stages of clips wrote, read again without what makes it: clips, pairs, what filters said, questions with options."""

from __future__ import annotations

from typing import Any, Final

from proctor.ask.clip.record import ChoiceItem, ClipPair, FilterVerdict, ShownClip
from proctor.records import is_there, read_json, read_jsonl
from proctor.workspace import Workspace

__all__ = [
    "CHOICES",
    "CHOICES_ATTEMPTS",
    "CHOICES_SUMMARY",
    "CLIPS",
    "KEPT",
    "PAIRS",
    "PAIRS_SUMMARY",
    "TRAINING_PAIRS",
    "VERDICTS",
    "load_choices",
    "load_clips",
    "load_kept",
    "load_pairs",
    "load_training",
    "load_verdicts",
    "subject_of_choices",
]

CLIPS: Final = "clips.jsonl"
PAIRS: Final = "pairs.jsonl"
PAIRS_SUMMARY: Final = "pairs.json"
VERDICTS: Final = "filters.jsonl"
KEPT: Final = "open.jsonl"
"""Pairs that all filters keep: the open-ended benchmark."""
TRAINING_PAIRS: Final = "training.jsonl"
"""Pairs that all filters keep, of videos that are not in the benchmark."""
CHOICES: Final = "choices.jsonl"
CHOICES_ATTEMPTS: Final = "choices.attempts.jsonl"
CHOICES_SUMMARY: Final = "choices.json"


def load_clips(workspace: Workspace) -> list[ShownClip]:
    """Return the clips of a workspace.

    Raises:
        UserError: naming the command that makes them.
    """
    return read_jsonl(workspace.require(CLIPS), ShownClip)


def load_pairs(workspace: Workspace) -> list[ClipPair]:
    """Return all pairs of a workspace, filtered or not.

    Raises:
        UserError: naming the command that makes them.
    """
    return read_jsonl(workspace.require(PAIRS), ClipPair)


def load_kept(workspace: Workspace) -> list[ClipPair]:
    """Return the pairs that all filters keep.

    Raises:
        UserError: naming the command that filters.
    """
    return read_jsonl(workspace.require(KEPT), ClipPair)


def load_training(workspace: Workspace) -> list[ClipPair]:
    """Return the pairs for training; none where the benchmark took all."""
    path = workspace.file(TRAINING_PAIRS)
    return read_jsonl(path, ClipPair) if is_there(path) else []


def load_verdicts(workspace: Workspace) -> list[FilterVerdict]:
    """Return what filters said; nothing where nobody was asked."""
    path = workspace.file(VERDICTS)
    return read_jsonl(path, FilterVerdict) if is_there(path) else []


def load_choices(workspace: Workspace) -> list[ChoiceItem]:
    """Return the questions with options.

    Raises:
        UserError: naming the command that makes them.
    """
    return read_jsonl(workspace.require(CHOICES), ChoiceItem)


def subject_of_choices(workspace: Workspace) -> str:
    """Return of what the workspace's options were made; empty where that is not known."""
    path = workspace.file(CHOICES_SUMMARY)
    return str(read_json(path, dict[str, Any]).get("subject", "")) if is_there(path) else ""
