"""Groups of commands of which the usual one is meant where none is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from proctor.cli.console import group_app
from proctor.cli.lazy import FamilyGroup

__all__ = ["apps"]


class _Generate(FamilyGroup):
    usual: ClassVar[str] = "moment"
    needs: ClassVar[Mapping[str, Sequence[str]]] = {"documents": ("corpus",)}
    more: ClassVar[Mapping[str, Sequence[str]]] = {
        "documents": ("onnx", "sentence-transformers"),
        "moment": ("video",),
    }
    members: ClassVar[Mapping[str, tuple[str, str]]] = {
        "moment": (
            "proctor.cli.generate",
            "About moments of recordings, as ProMQA (the word may be left out).",
        ),
        "documents": (
            "proctor.cli.generate",
            "About documents (texts, tables, images), in styles, as SMMQG.",
        ),
        "clip": (
            "proctor.cli.generate",
            "About clips of annotated videos, as InstructionBench.",
        ),
    }


class _Experiment(FamilyGroup):
    usual: ClassVar[str] = "moment"
    members: ClassVar[Mapping[str, tuple[str, str]]] = {
        "moment": ("proctor.cli.experiment", "Moments: ProMQA's experiment (the word may be left out)."),
        "documents": (
            "proctor.cli.experiment",
            "Documents: SMMQG's experiment, from a corpus to the report.",
        ),
        "clip": (
            "proctor.cli.experiment",
            "Clips: InstructionBench's experiment, from annotated videos to the report.",
        ),
    }


class _Judge(FamilyGroup):
    usual: ClassVar[str] = "answers"
    members: ClassVar[Mapping[str, tuple[str, str]]] = {
        "answers": (
            "proctor.cli.judge",
            "Mark the answers of a workspace's runs (the word may be left out).",
        ),
        "read": ("proctor.cli.judge_read", "Show how a judge model's replies are read, and why."),
    }


apps = {
    "generate": group_app(
        "Generate candidate questions with answers.\n\nExample: proctor generate bench --examples 500\n\n"
        "Example: proctor generate documents bench -g openai/gpt-4o --per-cell 5 --dry-run\n\nproctor generate WORKSPACE asks about moments of recordings; "
        "proctor generate documents WORKSPACE about documents (texts, tables, images); proctor generate clip WORKSPACE about clips of annotated videos. A workspace that is called "
        "like one of the commands is written ./NAME.",
        cls=_Generate,
    ),
    "judge": group_app(
        "Mark the answers.\n\nExample: proctor judge bench -j openai/gpt-4o --max-cost 5\n\nproctor judge WORKSPACE marks the answers of its runs; proctor judge read FILE shows how replies of a judge model are read. A workspace that is called like one of the commands is written ./NAME.",
        cls=_Judge,
    ),
    "experiment": group_app(
        "Run a whole published experiment with your models.\n\n"
        "Example: proctor experiment bench --data ~/captaincook4d -p openai/gpt-4o -j openai/gpt-4o --dry-run\n\nproctor experiment WORKSPACE does ProMQA's (moments); proctor experiment "
        "documents WORKSPACE does SMMQG's (documents), proctor experiment clip WORKSPACE InstructionBench's (clips). A workspace that is called like one of the commands is written ./NAME.",
        cls=_Experiment,
    ),
}
