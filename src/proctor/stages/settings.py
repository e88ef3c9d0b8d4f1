"""Options of the first and last stages of a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from proctor.settings import Settings, option

__all__ = ["DeriveSettings", "ReadSettings", "ReportFiles", "ReportSettings"]


class ReadSettings(Settings, frozen=True, kw_only=True):
    """How a data set is read, and which one was."""

    section: ClassVar[str] = "read"

    dataset: str = ""
    folder: str = ""
    corrections: Annotated[
        Literal["corrected", "published"],
        option("'corrected' fixes known mistakes of the annotations; 'published' keeps the release's."),
    ] = "corrected"


class DeriveSettings(Settings, frozen=True, kw_only=True):
    """How examples are derived; an empty protocol means: as the recordings were read."""

    section: ClassVar[str] = "derive"

    protocol: Annotated[
        str, option("'corrected' or 'published'; the default is how the recordings were read.")
    ] = ""


class ReportSettings(Settings, frozen=True, kw_only=True):
    """What the page shows."""

    section: ClassVar[str] = "report"

    frames: Annotated[int, option("Pictures for each item where its video exists.", ge=0)] = 4
    height: Annotated[int, option("Of the pictures, in pixels.", ge=16)] = 180
    title: Annotated[str, option("Title of the page.")] = ""


class ReportFiles(Settings, frozen=True, kw_only=True):
    """Where the page goes and what it is made from."""

    output: Annotated[Path | None, option("The file (default: report.html in the workspace).", "-o")] = None
    videos: Annotated[Path | None, option("Folder of the recordings' videos (default: the data set's).")] = (
        None
    )
