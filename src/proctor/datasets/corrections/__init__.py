"""Known mistakes of published annotations, as data.

A patch names the recording, the step (the data set's own id, and which occurrence of it in file order), the
field, the value that is expected there and the value that should be there, with the reason. A patch whose
expected value is not found is not applied and is reported: the release may have been corrected upstream.

Fields: ``text`` (which step it is), ``performed`` (what was done), ``mistakes`` (all of them, as
``[tag, text]`` pairs), ``times`` (``[start, end]``, -1 for skipped), ``entry`` (new value null: remove it).
"""

from __future__ import annotations

from importlib.resources import files

import msgspec

__all__ = ["Field", "Patch", "PatchFile", "load_patches"]

from typing import Literal

Field = Literal["text", "performed", "mistakes", "times", "entry"]
Value = str | list[float] | list[tuple[str, str]] | None


class Patch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One correction of one field of one step."""

    recording: str
    step: int
    occurrence: int
    field: Field
    old: str | list[float | tuple[str, str]] | None
    new: str | list[float | tuple[str, str]] | None
    reason: str
    modes: tuple[Literal["published", "corrected"], ...]

    @property
    def place(self) -> str:
        """Where it applies, for people."""
        return f"{self.recording}, step {self.step}" + (
            f" ({self.occurrence}.)" if self.occurrence > 1 else ""
        )


class PatchFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All patches of one data set, and the order mistakes that rule R5 must leave alone."""

    dataset: str
    patches: tuple[Patch, ...]
    genuine_order_mistakes: frozenset[tuple[str, str]] = frozenset()


def load_patches(dataset: str) -> PatchFile:
    """Return the packaged patches of a data set."""
    data = (files(__name__) / f"{dataset}.json").read_bytes()
    return msgspec.json.decode(data, type=PatchFile)
