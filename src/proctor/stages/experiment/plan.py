"""What an experiment is: who asks, who checks, who answers seeing what, who marks and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from proctor.errors import UserError
from proctor.exam.judge_prompt import Rubric
from proctor.exam.kinds.moment_question import MOMENT
from proctor.exam.view import View
from proctor.generate.promqa_prompt import DEFAULT_TEMPLATE
from proctor.llm.model import ModelName
from proctor.records import read_json
from proctor.stages.exam_settings import PredictSettings
from proctor.stages.naming import file_name
from proctor.stages.predict import run_name
from proctor.stages.settings import GenerateSettings
from proctor.workspace import Workspace, is_there

__all__ = ["PLAN_FILE", "Plan", "Source", "System", "kept_plan"]

PLAN_FILE: Final = "experiment.json"
"""Where a workspace keeps its plan, so that the experiment is gone on with by the workspace's name alone."""

_VIEWS: Final = ("question", "recipe", "frames:50@360p")
_RUBRICS: Final = ("ternary-step",)


@dataclass(frozen=True, slots=True)
class Source:
    """Where the recordings come from, when the workspace does not have them yet.

    Attributes:
        folder: of the data set.
        dataset: its reader.
        published: file of published questions; then nothing is generated, and the folder holds their annotations.
    """

    folder: Path
    dataset: str = "captaincook4d"
    published: Path | None = None


class System(msgspec.Struct, frozen=True):
    """A model that answers, and one of the ways in which it is shown the items."""

    model: str
    view: View

    @property
    def run(self) -> str:
        """Name of its run."""
        return run_name(self.model, self.view)

    def settings(self, videos: Path | None) -> PredictSettings:
        """Return how it is asked; videos are looked for in the folder."""
        return PredictSettings(
            run=self.run,
            kind=MOMENT,
            show=self.view.spec,
            captioner=self.view.captioner,
            videos=videos,
        )


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An experiment; names of models and short texts only, so that it can be read, kept and changed by hand.

    Attributes:
        protocol: how recordings are read and examples derived: ``corrected``, or ``published`` with its known faults.
        sample: how examples are chosen: ``quota``, ``published`` or ``all``.
        examples: how many.
        generators: who asks; ``rules`` by default, nobody when the workspace came with its items.
        template: how a generator is shown procedure and recording.
        verifiers: models that check the questions beside the task graph's oracle.
        accept: rules by which a question gets in (``proctor build --accept``).
        min_confidence: verdicts with a lower stated confidence count as unsure.
        predictors: who answers: ``MODEL``, or ``MODEL=VIEW,VIEW`` for one that is shown something else than the others.
        views: what they are shown (``View.parse``).
        captioner: model that describes frames for the view ``captions``.
        judges: models that mark; scores are made of the first one's marks by the first rubric. Without one Proctor's
            rules mark.
        rubrics: how they are asked (``Rubric.parse``). Every judge is asked by the first rubric, the first judge by every
            rubric, so that both can be compared with people.
        repeats: times that a judge is asked the same.
        videos: folder of the recordings' videos; the data set's when empty.
        seed: of everything that is drawn.

    Raises:
        UserError: if a name is no model, a view or a rubric is unknown, or nobody answers.
    """

    protocol: str = "corrected"
    sample: str = "quota"
    examples: int = 500
    generators: tuple[str, ...] = ("rules",)
    template: str = DEFAULT_TEMPLATE
    verifiers: tuple[str, ...] = ()
    accept: str = "oracle"
    min_confidence: float = 0.8
    predictors: tuple[str, ...] = ()
    views: tuple[str, ...] = _VIEWS
    captioner: str = ""
    judges: tuple[str, ...] = ()
    rubrics: tuple[str, ...] = _RUBRICS
    repeats: int = 1
    videos: str = ""
    seed: int = 0

    def check(self) -> None:
        """Look at everything that can be wrong before anything is done."""
        if self.protocol not in ("corrected", "published"):
            raise UserError(f"the protocol is {self.protocol!r}.", hint="use 'corrected' or 'published'")
        for name in self.models:
            ModelName.parse(name)
        systems = list(self.systems)
        if not systems:
            raise UserError(
                "nobody answers the questions.", hint="name at least one: --predictor openai/gpt-4o"
            )
        runs = [system.run for system in systems]
        twice = next((run for run in runs if runs.count(run) > 1), None)
        if twice is not None:
            raise UserError(f"two systems would be called '{twice}'.", hint="name every model and view once")
        judges = [file_name(judge) for judge in dict.fromkeys(self.judges)]
        alike = next((judge for judge in judges if judges.count(judge) > 1), None)
        if alike is not None:
            raise UserError(
                f"two judges would be called '{alike}'.",
                hint="an address does not tell judges apart: let their servers give the model two names",
            )
        if not self.rubrics:
            raise UserError("no rubric was named.", hint=f"the published one is {_RUBRICS[0]}")
        list(self.markings)

    @property
    def asking(self) -> GenerateSettings:
        """How questions are asked."""
        return GenerateSettings(
            generator=self.generators, sample=self.sample, examples=self.examples, seed=self.seed, template=self.template,  # type: ignore[arg-type]
        )  # fmt: skip

    @property
    def video_folder(self) -> Path | None:
        """Where the videos are, None for where the data set has them."""
        return Path(self.videos) if self.videos else None

    @property
    def systems(self) -> Iterator[System]:
        """Who answers, in the order of the plan."""
        for text in self.predictors:
            model, own = _split(text)
            for view in own or self.views:
                yield System(model, View.parse(view, captioner=self.captioner))

    @property
    def markings(self) -> list[tuple[str, Rubric]]:
        """Who marks, and how; scores are made of the last one's marks."""
        rubrics = [Rubric.parse(name) for name in self.rubrics]
        pairs = [(judge, rubrics[0]) for judge in self.judges]
        pairs[1:1] = [(judge, rubric) for judge in self.judges[:1] for rubric in rubrics[1:]]
        return list(reversed(list(dict.fromkeys(pairs))))

    @property
    def models(self) -> list[str]:
        """All models that are going to be asked, each once."""
        answering = [_split(text)[0] for text in self.predictors]
        asking = [name for name in self.generators if name != "rules"]
        captioner = [s.view.captioner for s in self.systems if s.view.captioner][:1]
        return list(dict.fromkeys((*asking, *self.verifiers, *answering, *captioner, *self.judges)))


def _split(text: str) -> tuple[str, Sequence[str]]:
    """Tell a model from its own views; an address may hold an equals sign, too."""
    model, equals, views = text.rpartition("=")
    if not equals or "/" in views:
        return text, ()
    return model, [view.strip() for view in views.split(",")]


def kept_plan(workspace: Workspace) -> Plan | None:
    """Return the plan that a workspace keeps, None where there is none.

    Raises:
        UserError: if it cannot be read.
    """
    path = workspace.file(PLAN_FILE)
    if not is_there(path):
        return None
    plan: Plan = read_json(path, Plan)
    return plan
