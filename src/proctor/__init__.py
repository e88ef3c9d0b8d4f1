"""Proctor: benchmarks that can be trusted, from recordings of people following instructions and from documents.

``Workspace`` does what the commands do, ``load_benchmark`` brings a release, ``metrics`` holds every number of the field::

    import proctor

    ws = proctor.Workspace("bench").read("plain", "recordings/").derive().generate().verify().build()
    ws.predict(my_function, name="mine").judge().score()
    ws.leaderboard()

Each name is loaded when it is first used, so that importing the package costs milliseconds.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from proctor.version import __version__

_HOME: Final = {
    "Benchmark": "proctor.release.folder",
    "Candidate": "proctor.ask.moment.candidate",
    "Dataset": "proctor.datasets.dataset",
    "Example": "proctor.exam.kinds.example",
    "Item": "proctor.exam.question",
    "Judgement": "proctor.exam.prediction",
    "Mistake": "proctor.procedure.recording",
    "Prediction": "proctor.exam.prediction",
    "Progress": "proctor.procedure.progress",
    "Question": "proctor.exam.question",
    "Recording": "proctor.procedure.recording",
    "Score": "proctor.metrics.score",
    "Segment": "proctor.procedure.recording",
    "Step": "proctor.procedure.graph",
    "TaskGraph": "proctor.procedure.graph",
    "UserError": "proctor.errors",
    "Verdict": "proctor.verify.verdict",
    "Workspace": "proctor.api",
    "derive_examples": "proctor.ask.moment.derive",
    "derive_progress": "proctor.procedure.progress",
    "load_benchmark": "proctor.release.folder",
    "load_dataset": "proctor.datasets.dataset",
}

_ROOMS: Final = ("metrics",)

__all__ = ["__version__", *_ROOMS, *sorted(_HOME)]  # noqa: PLE0604 - the names are strings

if TYPE_CHECKING:
    from proctor import metrics as metrics
    from proctor.api import Workspace as Workspace
    from proctor.ask.moment.candidate import Candidate as Candidate
    from proctor.ask.moment.derive import derive_examples as derive_examples
    from proctor.datasets.dataset import Dataset as Dataset
    from proctor.datasets.dataset import load_dataset as load_dataset
    from proctor.errors import UserError as UserError
    from proctor.exam.kinds.example import Example as Example
    from proctor.exam.prediction import Judgement as Judgement
    from proctor.exam.prediction import Prediction as Prediction
    from proctor.exam.question import Item as Item
    from proctor.exam.question import Question as Question
    from proctor.metrics.score import Score as Score
    from proctor.procedure.graph import Step as Step
    from proctor.procedure.graph import TaskGraph as TaskGraph
    from proctor.procedure.progress import Progress as Progress
    from proctor.procedure.progress import derive_progress as derive_progress
    from proctor.procedure.recording import Mistake as Mistake
    from proctor.procedure.recording import Recording as Recording
    from proctor.procedure.recording import Segment as Segment
    from proctor.release.folder import Benchmark as Benchmark
    from proctor.release.folder import load_benchmark as load_benchmark
    from proctor.verify.verdict import Verdict as Verdict


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"proctor.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'proctor' has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return list(__all__)
