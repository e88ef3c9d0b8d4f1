"""Experiments: what was chosen was one flat record of ProMQA's, and stands now by stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from proctor.records import is_there, read_json, write_json
from proctor.stages.upgrade.part import Part
from proctor.workspace import Workspace

__all__ = ["upgrade_experiment"]

_FILE: Final = "experiment.json"
_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "protocol": ("source.protocol",),
    "sample": ("generate.sample",),
    "examples": ("generate.examples",),
    "generators": ("generate.generator",),
    "template": ("generate.template",),
    "verifiers": ("verify.verifier",),
    "accept": ("build.accept",),
    "min_confidence": ("build.min_confidence",),
    "predictors": ("predict.predictor",),
    "views": ("predict.show",),
    "captioner": ("predict.captioner",),
    "videos": ("predict.videos",),
    "judges": ("judge.judge",),
    "rubrics": ("judge.rubric",),
    "repeats": ("judge.repeats",),
    "seed": ("generate.seed", "build.seed", "predict.seed", "calibrate.seed", "score.seed"),
}
"""Where each of the old fields is now."""


def upgrade_experiment(workspace: Workspace) -> Part:
    """Rewrite what a workspace's experiment chose, so that it is gone on with.

    Raises:
        UserError: if the file is broken.
    """
    path = workspace.file(_FILE)
    if not is_there(path):
        return Part()
    old: dict[str, Any] = read_json(path, dict[str, Any])
    if "plan" in old:
        return Part()
    settings: dict[str, dict[str, Any]] = {}
    for name, value in old.items():
        if name == "template" and not any("/" in who for who in old.get("generators", ())):
            continue  # rules have none
        for place in _PLACES.get(name, ()) if value != "" else ():
            stage, _, field = place.partition(".")
            settings.setdefault(stage, {})[field] = value
    write_json(path, {"plan": "moment", "settings": settings, "vary": []})
    return Part(changed={"experiments": 1})
