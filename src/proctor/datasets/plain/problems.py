"""What is wrong with a folder: collected, so that a user corrects everything in one go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from proctor.errors import UserError

__all__ = ["MAX_SHOWN", "Place", "Problems"]

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
