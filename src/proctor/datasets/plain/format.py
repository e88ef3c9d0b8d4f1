"""The files of the plain format, as types; everything known about a key is said here and nowhere else.

The types serve three purposes: they list the keys, they check the shape of what was read, and they make the JSON
Schema. What a shape cannot say (a step that is not in the graph, an end before its start) is checked in ``build``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from proctor.errors import UserError

__all__ = [
    "ID_RULE",
    "MAX_ID_BYTES",
    "MAX_SECONDS",
    "MAX_SHOWN",
    "MAX_TEXT",
    "Place",
    "PlainAction",
    "PlainActivity",
    "PlainDescription",
    "PlainMistake",
    "PlainRecording",
    "PlainSegment",
    "PlainStep",
    "Problems",
    "plain_schema",
]

MAX_SECONDS: Final = 1_000_000.0
"""Longest time that is believed (11.5 days); beyond it the number is a slip, often milliseconds or frames."""

MAX_TEXT: Final = 10_000
"""Longest text in characters."""

MAX_ID_BYTES: Final = 120
"""Longest id in UTF-8 bytes: ids become parts of file names."""

_ID_PATTERN: Final = r"^\w([\w .-]*[\w.-])?$"
ID_RULE: Final = (
    "an id starts with a letter or digit and goes on with letters, digits, '_', '-', '.' or spaces"
)

_TIME_PATTERN: Final = r"^(\d+:[0-5]\d|\d+):[0-5]\d(\.\d+)?$"

Id = Annotated[
    str | int,
    Meta(
        description=f"{ID_RULE}; a whole number counts as its digits",
        extra_json_schema={"pattern": _ID_PATTERN, "maxLength": MAX_ID_BYTES, "minimum": 0},
    ),
]
StepName = Annotated[
    str | int, Meta(description="a step: its id, or its exact text where only one step has that text")
]
Text = Annotated[
    str,
    Meta(description="words", extra_json_schema={"minLength": 1, "maxLength": MAX_TEXT, "pattern": r"\S"}),
]
Time = Annotated[
    float | str,
    Meta(
        description="seconds from the start of the recording, or 'HH:MM:SS' or 'MM:SS' with optional decimals",
        extra_json_schema={"minimum": 0, "maximum": MAX_SECONDS, "pattern": _TIME_PATTERN},
    ),
]
SchemaLink = Annotated[
    str | None, Meta(description="link to this schema, for editors that check and complete while you type")
]
Value = str | int | float | bool


class PlainStep(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, frozen=True):
    """One instruction."""

    id: Id
    text: Text
    after: Annotated[
        tuple[StepName, ...],
        Meta(description="steps that must come before this one; another way to give edges"),
    ] = ()
    optional: Annotated[
        bool,
        Meta(description="true for a step that may be left out: it is never missing and holds nothing up"),
    ] = False
    last: Annotated[
        bool,
        Meta(
            description="true for a step that closes the activity: edges from all that nothing else follows"
        ),
    ] = False


class PlainActivity(
    msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, frozen=True
):
    """A procedure: its steps and what must come before what."""

    schema_link: SchemaLink = msgspec.field(default=None, name="$schema")
    id: Id
    name: Text
    steps: tuple[PlainStep, ...]
    edges: Annotated[
        tuple[tuple[StepName, StepName], ...],
        Meta(description="pairs [before, after]: the first step must be done before the second"),
    ] = ()
    start: Annotated[
        StepName | None, Meta(description="a step that stands for 'nothing done yet' and is never performed")
    ] = None
    end: Annotated[
        StepName | None, Meta(description="a step that stands for 'all done' and is never performed")
    ] = None


class PlainMistake(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, frozen=True):
    """One thing that went wrong."""

    kind: Annotated[
        Text,
        Meta(
            description="missing, order, preparation, measurement, technique, temperature, timing or other; "
            "further kinds count as mistakes but no question is asked about them"
        ),
    ]
    text: Annotated[str, Meta(description="what went wrong, in the annotator's words")] = ""


class PlainSegment(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, frozen=True):
    """One step of a recording: performed from start to end, or skipped."""

    step: StepName
    start: Time | None = None
    end: Annotated[Time | None, Meta(description="exclusive")] = None
    performed: Annotated[
        Text | None, Meta(description="what was really done, where it differs from the instruction")
    ] = None
    mistakes: tuple[PlainMistake, ...] = ()
    skipped: Annotated[bool, Meta(description="true when the step was left out; it then has no times")] = (
        False
    )


class PlainAction(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, frozen=True):
    """A fine-grained action: what hands do, below the steps."""

    start: Time
    end: Annotated[Time, Meta(description="exclusive")]
    verb: Text
    noun: Annotated[str, Meta(description="what it is done to")] = ""
    source: Annotated[str, Meta(description="who says so: manual, narration, the name of a model")] = ""
    step: Annotated[StepName | None, Meta(description="the step that it belongs to")] = None


class PlainRecording(
    msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, frozen=True
):
    """One performance of an activity."""

    schema_link: SchemaLink = msgspec.field(default=None, name="$schema")
    id: Id
    activity: Annotated[str | int, Meta(description="id of the activity")]
    segments: tuple[PlainSegment, ...]
    video: Annotated[
        Text | None, Meta(description="path of the video inside this folder, with '/' between the parts")
    ] = None
    duration: Annotated[Time | None, Meta(description="length of the video")] = None
    attributes: Annotated[
        dict[str, Value], Meta(description="anything else that is known: person, place, camera, split, ...")
    ] = {}
    actions: Annotated[
        tuple[PlainAction, ...], Meta(description="fine-grained actions, in any order; they may overlap")
    ] = ()


class PlainDescription(
    msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, frozen=True
):
    """What the folder says of itself (``dataset.json``)."""

    schema_link: SchemaLink = msgspec.field(default=None, name="$schema")
    name: Text
    version: Text | None = None
    licence: Annotated[Text | None, Meta(description="SPDX identifier where there is one")] = None
    citation: Text | None = None
    homepage: Text | None = None


def plain_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) that every file of a plain folder meets."""
    files = (PlainActivity, PlainRecording, PlainDescription)
    refs, parts = msgspec.json.schema_components(files, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Proctor plain recordings",
        "description": "An activity, a recording or the description of a folder of recordings.",
        "anyOf": list(refs),
        "$defs": dict(parts),
    }


# -- what is wrong with a folder: collected, so that a user corrects everything in one go --------------------------

MAX_SHOWN: Final = 20
"""How many problems are shown; the others are counted."""

Hint = str | Callable[[], str]


@dataclass(frozen=True, slots=True)
class Place:
    """A file of the folder, and where in it: ``activities/tea.json: steps[2].text``."""

    file: str
    path: str = ""

    def __truediv__(self, part: str | int) -> Place:
        """Go down one key or position."""
        if isinstance(part, int):
            return Place(self.file, f"{self.path}[{part}]")
        return Place(self.file, f"{self.path}.{part}" if self.path else part)

    def __str__(self) -> str:
        return f"{self.file}: {self.path}" if self.path else self.file


@dataclass(slots=True)
class Problems:
    """The problems of one folder. Only the first ``MAX_SHOWN`` are kept, the others are counted."""

    root: str
    count: int = 0
    _kept: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, place: Place | str, seen: str, hint: Hint = "") -> None:
        """Note a problem; a hint that is expensive to make is given as a function."""
        self.count += 1
        if len(self._kept) < MAX_SHOWN:
            self._kept.append((str(place), seen, hint() if callable(hint) else hint))

    def add_error(self, place: Place | str, error: UserError) -> None:
        """Note what another reader complained about."""
        self.add(place, error.message, error.hint or "")

    def extend(self, others: Problems) -> None:
        """Note what was found elsewhere in the same folder."""
        self.count += others.count
        self._kept += others._kept[: MAX_SHOWN - len(self._kept)]

    def raise_if_any(self) -> None:
        """End with everything that was found.

        Raises:
            UserError: if there was any problem.
        """
        if self.count == 1:
            place, seen, hint = self._kept[0]
            raise UserError(seen, where=f"{self.root}/{place}" if place else self.root, hint=hint or None)
        if self.count:
            lines = [f"{self.count} problems."]
            for place, seen, hint in self._kept:
                lines.append(f"  {place}: {seen}" if place else f"  {seen}")
                lines += [f"      → {hint}"] if hint else []
            if self.count > len(self._kept):
                lines.append(f"  … and {self.count - len(self._kept)} more.")
            raise UserError(
                "\n".join(lines), where=self.root, hint="correct these and run the same command again"
            )
