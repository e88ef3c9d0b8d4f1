"""Settings that rounds of every kind have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, TypeAlias

from proctor.settings import Settings, argument, option

__all__ = ["Collect", "Database", "Given", "Stored", "Which"]


Database: TypeAlias = Annotated[
    str | None, option("Where verdicts and work are kept: a file in the workspace, or a postgresql:// URL.")
]


class Stored(Settings, frozen=True, kw_only=True):
    """Where work is kept."""

    database: Database = None


class Given(Settings, frozen=True, kw_only=True):
    """How a round is called, and how its tasks are given out."""

    heading: ClassVar[str] = "Giving out"

    name: Annotated[str, option("Name of the round; the kind's by default.")] = ""
    people: Annotated[int, option("People that do each task.", ge=1, le=1000)] = 2
    batch: Annotated[int, option("Tasks that a person takes on together; 0 for all.", ge=0)] = 0
    batches: Annotated[int, option("Batches that a person may do; 0 for any number.", ge=0)] = 0
    lease_minutes: Annotated[
        float, option("Minutes for a batch, after which what is open goes to others; 0 for any time.", ge=0)
    ] = 0
    rest_days: Annotated[float, option("Days before somebody gets the same thing in another form.", ge=0)] = 7
    not_round: Annotated[
        tuple[str, ...], option("Who did something in this round does not get it here (repeatable).")
    ] = ()
    workers: Annotated[bool, option("Open to people without an account, by the link of a platform.")] = False
    code: Annotated[str, option("Completion code that all get; one of their own by default.")] = ""
    redirect: Annotated[str, option("Address to go back to at the end; {code} stands for the code.")] = ""
    instructions: Annotated[Path | None, option("Instructions (Markdown); the kind's by default.")] = None
    consent: Annotated[Path | None, option("Consent of people without an account (Markdown).")] = None
    seed: Annotated[int, option("Of everything that is drawn.")] = 0
    database: Database = None


class Which(Stored, frozen=True, kw_only=True):
    """Which round."""

    round: Annotated[str, argument("Name of the round.", "ROUND")]


class Collect(Which, frozen=True, kw_only=True):
    """Of which round what people said is collected, and where it goes."""

    out: Annotated[Path | None, option("Where it goes; a place in the workspace by default.")] = None
