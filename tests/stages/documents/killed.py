"""The whole styled experiment, as typed, as a work that can be killed (``tests.lives``)."""

from __future__ import annotations

import importlib
import os
import sys

from proctor.cli.main import main

__all__ = ["live"]

for name in (
    *("proctor.cli.experiment", "proctor.stages.experiment.documents", "proctor.stages.experiment.foresee"),
    *("PIL.Image", "bm25s", "faiss", "genai_prices", "jinja2.sandbox"),
):
    importlib.import_module(name)  # before it is forked: each life is spared seconds


def live(workspace: str, documents: str, model: str, key: str, connections: str) -> None:
    """Do ``proctor experiment documents`` with one model in all roles."""
    os.environ["COMPAT_API_KEY"] = key
    sys.argv = ["proctor", "experiment", "documents", workspace, "--from", documents, "-g", model, "-m", model,
                "-j", model, "--classifier", model, "--total", "10", "--max-connections", connections]  # fmt: skip
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
