"""The whole experiment in one go: what it is (``plan``), doing it (``conduct``), and what it would take (``foresee``)."""

from proctor.stages.experiment.conduct import FORMER_RUNS, Done, conduct
from proctor.stages.experiment.foresee import foresee
from proctor.stages.experiment.plan import PLAN_FILE, Plan, Source, System, kept_plan

__all__ = [
    "FORMER_RUNS",
    "PLAN_FILE",
    "Done",
    "Plan",
    "Source",
    "System",
    "conduct",
    "foresee",
    "kept_plan",
]
