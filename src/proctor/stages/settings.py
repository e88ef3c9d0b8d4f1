"""Options of the first and last stages of a workspace, and those that many stages have."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, Self, TypeAlias

import msgspec

from proctor.errors import UserError, did_you_mean
from proctor.records import Json
from proctor.settings import Settings, option

if TYPE_CHECKING:
    from proctor.llm.replying import Replying

__all__ = [
    "REPLY_NAMES",
    "BuildSettings",
    "Corrections",
    "DeriveSettings",
    "GenerateFiles",
    "GenerateSettings",
    "Height",
    "Limit",
    "PromqaFiles",
    "ReadSettings",
    "ReplyForm",
    "ReplyOptions",
    "ReportFiles",
    "ReportSettings",
    "Sampling",
    "Seed",
    "Version",
    "Videos",
]

_MODELS_ALONE: Final = ("template", "pairs", "form", "frames", "height", "sampling")
"""Settings of generation that rules know nothing of."""


Seed: TypeAlias = Annotated[int, option("Run seed; same inputs and seed give the same bytes.")]
Limit: TypeAlias = Annotated[int | None, option("Stop after this many.", ge=1)]
Videos: TypeAlias = Annotated[
    Path | None,
    option(
        "Folder of the recordings' videos: by the path that the data set gives, else by the recording's id "
        "(1_7.mp4, 1_7_360p.mp4). Default: the data set's folder."
    ),
]
Corrections: TypeAlias = Annotated[
    Literal["corrected", "published"],
    option("'corrected' fixes known mistakes of the annotations; 'published' keeps the release's."),
]
ReplyForm: TypeAlias = Annotated[
    Literal["text", "json"], option("Format of a model's reply: text, or json (structured output).")
]
Height: TypeAlias = Annotated[int, option("Height of the frames, in pixels.", ge=16)]
Sampling: TypeAlias = Annotated[
    Literal["published", "uniform", "fps", "steps"], option("How frames are sampled.")
]
Version: TypeAlias = Annotated[str, option("Version of the release.")]
"""Options that several structs have, declared once."""


_WHO = "[WHO=]"


class ReplyOptions(Settings, frozen=True, kw_only=True):
    """How models reply; what is left out is the protocol's own.

    WHO is a model (``openai/o3=high``) or what models are asked as (``judge=0``); each option may be repeated.

    Raises:
        UserError: if a value is none, or is for nobody.
    """

    reply_tokens: Annotated[
        tuple[str, ...],
        option(
            "Tokens of a reply at most, thinking included (default: 4,096 or the protocol's own where that is more, and "
            "what --reasoning takes); 'published' for the protocol's own. WHO: a model, or judge, predictor, generator, …",
            metavar=f"{_WHO}N",
        ),
    ] = ()
    temperature: Annotated[
        tuple[str, ...],
        option(
            "Sampling temperature of models; 0 is greedy (default: the protocol's own).", metavar=f"{_WHO}X"
        ),
    ] = ()
    reasoning: Annotated[
        tuple[str, ...],
        option(
            "How much models think: none, minimal, low, medium, high, or a number of tokens (default: the provider's).",
            metavar=f"{_WHO}LEVEL|BUDGET",
        ),
    ] = ()
    top_p: Annotated[
        tuple[str, ...],
        option(
            "Nucleus sampling: only the most likely tokens up to this total probability.", metavar=f"{_WHO}X"
        ),
    ] = ()
    model_seed: Annotated[
        tuple[str, ...],
        option(
            "Sampling seed that is sent to the provider, where it takes one (--seed is Proctor's own).",
            metavar=f"{_WHO}N",
        ),
    ] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(getattr(self, name) for name in REPLY_NAMES):
            self.replying()

    def replying(self) -> Replying:
        """Return what was said."""
        from proctor.llm.replying import Replying

        return Replying.parse({name: getattr(self, name) for name in REPLY_NAMES})

    def said(self) -> dict[str, list[str]]:
        """Return the options that were given, for records."""
        return {name: list(value) for name in REPLY_NAMES if (value := getattr(self, name))}


REPLY_NAMES = tuple(field.name for field in msgspec.structs.fields(ReplyOptions))


class PromqaFiles(Settings, frozen=True, kw_only=True):
    """Where the published examples are, and what they are about."""

    annotations: Annotated[Path, option("Folder of the CaptainCook4D annotations (holds task_graphs/).")]
    examples: Annotated[Path, option("Published ProMQA examples, a JSON list.")]


class ReadSettings(Settings, frozen=True, kw_only=True):
    """How a data set is read, and which one was."""

    section: ClassVar[str] = "read"

    dataset: str = ""
    folder: str = ""
    corrections: Corrections = "corrected"


class DeriveSettings(Settings, frozen=True, kw_only=True):
    """How examples are derived; an empty protocol means: as the recordings were read."""

    section: ClassVar[str] = "derive"

    protocol: Annotated[
        str,
        option(
            "'corrected' or 'published'; the default is how the recordings were read. Under 'published' models get "
            "what the published prompts show and say.",
            metavar="corrected|published",
        ),
    ] = ""


class GenerateSettings(ReplyOptions, frozen=True, kw_only=True):
    """Which examples are chosen, and who asks what about them.

    Raises:
        UserError: if there is no such generator, or one is named twice.
    """

    section: ClassVar[str] = "generate"

    generator: Annotated[
        tuple[str, ...],
        option(
            "Who writes the questions: 'rules' (no model), or a model such as openai/gpt-4o-2024-08-06. May be repeated: each writes about every example.",
            "-g",
            metavar="rules|MODEL",
        ),
    ] = ("rules",)
    sample: Annotated[
        Literal["quota", "published", "all"],
        option("'quota' balances types, noise and targets; 'published' is the release's sampler; 'all'."),
    ] = "quota"
    examples: Annotated[int, option("How many examples to draw.", ge=1)] = 500
    protocol: Annotated[
        Literal["corrected", "paper"] | None,
        option(
            "Caps of the quota sampler by name: 'corrected' (none, default), or 'paper' (at most one example of a type from "
            "a recording)."
        ),
    ] = None
    per_recording: Annotated[
        int | None,
        option(
            "Examples of one type from one recording, at most; 0 for any number (default). Recordings take turns.",
            ge=0,
        ),
    ] = None
    max_mistaken: Annotated[
        int, option("Leave out examples with more earlier steps done wrongly; 0 for any number.", ge=0)
    ] = 5
    max_targets: Annotated[
        int, option("Leave out examples with more steps that are right answers; 0 for any number.", ge=0)
    ] = 5
    per_example: Annotated[
        int, option("Candidates with other wording for each example and generator.", ge=1)
    ] = 1
    template: Annotated[
        str,
        option(
            "How a model is shown procedure and recording: excerpt-steps, dot-steps, dot-excerpt-steps, ..."
        ),
    ] = "excerpt-steps"
    pairs: Annotated[int, option("Questions that a model is asked for at once.", ge=1)] = 3
    form: ReplyForm = "text"
    frames: Annotated[int, option("Frames at most, for templates that show some.", ge=1)] = 50
    height: Height = 360
    sampling: Sampling = "published"
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        strange = [name for name in self.generator if name != "rules" and "/" not in name]
        if strange or not self.generator:
            from proctor.llm.prices import meant_name

            raise UserError(
                f"there is no generator '{strange[0]}'." if strange else "no generator was named.",
                hint=(meant_name(strange[0]) if strange else "")
                or did_you_mean("".join(strange[:1]), ("rules", "a model such as openai/gpt-4o")),
            )
        if len(set(self.generator)) < len(self.generator):
            raise UserError(
                f"a generator was named twice: {', '.join(self.generator)}.",
                hint="--per-example gives more candidates",
            )

    def with_given(self, names: Collection[str]) -> Self:
        """Let a protocol that is named win over caps that the workspace remembers.

        Raises:
            UserError: if rules are given what only models have.
        """
        if not self.models and (strange := [name for name in _MODELS_ALONE if name in names]):
            raise UserError(
                f"rules have no {strange[0]}.", hint="name a model as well: --generator PROVIDER/MODEL"
            )
        if "protocol" in names and "per_recording" not in names:
            return msgspec.structs.replace(self, per_recording=None)
        return self

    @property
    def models(self) -> tuple[str, ...]:
        """The generators that are models."""
        return tuple(name for name in self.generator if "/" in name)

    @property
    def most_of_recording(self) -> int:
        """Examples of one type from one recording at most, 0 for any number."""
        if self.per_recording is not None:
            return self.per_recording
        from proctor.ask.moment.sample import PROTOCOLS

        return PROTOCOLS[self.protocol or "corrected"]["per_recording"]

    def recorded(self) -> dict[str, Json]:
        """Return what was set, for the workspace's record: of rules without what only models have."""
        found: dict[str, Json] = {**msgspec.to_builtins(self), "per_recording": self.most_of_recording}
        for name in ("protocol", *REPLY_NAMES):
            del found[name]
        found |= self.said()
        return {n: v for n, v in found.items() if self.models or n not in (*_MODELS_ALONE, *REPLY_NAMES)}


class BuildSettings(Settings, frozen=True, kw_only=True):
    """By whose word questions get in, and what the release is called."""

    section: ClassVar[str] = "build"

    accept: Annotated[
        str,
        option(
            "Who must accept: 'oracle', 'humans' (as published), 'models', 'any', 'all' or 'majority'.",
            metavar="oracle|humans|models|any|all|majority",
        ),
    ] = "oracle"
    min_confidence: Annotated[
        float, option("Verdicts that state a lower confidence count as unsure.", ge=0, le=1)
    ] = 0.8
    name: Annotated[str, option("Name of the benchmark.")] = "benchmark"
    version: Version = "0.1.0"
    licence: Annotated[
        str, option("Licence of questions and annotations (SPDX; default: the data set's own).")
    ] = ""
    parquet: Annotated[bool, option("Write Parquet, too.", negatable=True)] = False
    seed: Seed = 0


class GenerateFiles(Settings, frozen=True, kw_only=True):
    """Where videos are, and where to stop."""

    videos: Videos = None
    limit: Limit = None


class ReportSettings(Settings, frozen=True, kw_only=True):
    """What the page shows."""

    section: ClassVar[str] = "report"

    frames: Annotated[int, option("Pictures for each item where its video exists.", ge=0)] = 4
    height: Annotated[
        int, option("Height in pixels of the first examples' pictures; others are half as high.", ge=16)
    ] = 360
    title: Annotated[str, option("Title of the page.")] = ""


class ReportFiles(Settings, frozen=True, kw_only=True):
    """Where the page goes and what it is made from."""

    output: Annotated[Path | None, option("The file (default: report.html in the workspace).", "-o")] = None
    videos: Videos = None
