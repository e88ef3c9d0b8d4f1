"""Settings of ``proctor capture``."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Final, get_args

from proctor.capture.records import Strategy
from proctor.errors import UserError
from proctor.settings import Settings, option

__all__ = ["PlanSettings"]

_STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)


# -- capture plan --------------------------------------------------------------------------------------------------


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        day = date.min
    if not 2000 <= day.year < 3000:
        raise UserError(f"'{text[:40]}' is no day.", hint="--from 2026-12-01")
    return day


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in text.split(","))))


class PlanSettings(Settings, frozen=True, kw_only=True):
    """Which scripts are drawn, and who records them where and when; of a plan that is there, what is not said stays."""

    graphs: Annotated[
        Path | None,
        option("Task graphs for the workspace: a plain folder, its activities, a file of graphs, or a .txt with one step a line."),
    ] = None  # fmt: skip
    people: Annotated[
        str, option("Participants: how many in all (p01, p02 …), or further codes: p01,p07.")
    ] = ""
    environments: Annotated[str, option("Where recordings are made, such as kitchen-1,kitchen-2 (default room-1).")] = ""  # fmt: skip
    strategies: Annotated[
        str, option("Shares of strategies (default normal=4,impromptu=1,disordered=1,missing=1,induced=1).")
    ] = ""
    recordings: Annotated[int | None, option("Recordings of each participant (default: one of each activity).", ge=0, le=10_000)] = None  # fmt: skip
    anybody: Annotated[int, option("Recordings that no participant is chosen for.", ge=0, le=10_000)] = 0
    normal_scripts: Annotated[int, option("Normal scripts of each activity.", ge=0, le=999)] = 25
    mistake_scripts: Annotated[int, option("Scripts with mistakes of each activity.", ge=0, le=3000)] = 100
    missing_scripts: Annotated[int, option("Of these, scripts with steps left out.", ge=0, le=999)] = 10
    seed: Annotated[int | None, option("Of scripts and plan (default 0).")] = None
    from_: Annotated[date | None, option("First day of recording, such as 2026-12-01.", "--from", metavar="DAY", parse=_day)] = None  # fmt: skip
    per_day: Annotated[int, option("Recordings of a day, with --from.", ge=1, le=1000)] = 3
    hints: Annotated[str | None, option("Model that proposes mistakes for each step.", metavar="MODEL")] = (
        None
    )

    def script_counts(self) -> dict[Strategy, int]:
        """Return scripts of each strategy: what leaves no step out is shared among the other kinds of mistakes.

        Raises:
            UserError: if there are more scripts with missing steps than with mistakes.
        """
        others = [s for s in _STRATEGIES if s not in ("normal", "missing")]
        share, rest = divmod(self.mistake_scripts - self.missing_scripts, len(others))
        if share < 0:
            seen = f"{self.missing_scripts} of {self.mistake_scripts} scripts with mistakes cannot leave steps out."
            raise UserError(seen, hint="--missing-scripts 0, or more --mistake-scripts")
        counts = {s: share + (n < rest) for n, s in enumerate(others)}
        return {"normal": self.normal_scripts, "missing": self.missing_scripts, **counts}

    def shares(self) -> dict[Strategy, int]:
        """Return the shares of strategies; none where nothing was said.

        Raises:
            UserError: if one is unknown, there twice, or its share is no number up to a thousand.
        """
        found: dict[Strategy, int] = {}
        for part in _names(self.strategies):
            name, _, number = part.partition("=")
            strategy = next((s for s in _STRATEGIES if s == name.strip()), None)
            share = number.strip() if "=" in part else "1"
            if (
                strategy is None
                or strategy in found
                or not (share.isascii() and share.isdecimal())
                or int(share) > 1000
            ):
                raise UserError(
                    f"--strategies has '{part[:40]}'.", hint=f"name=share, of {', '.join(_STRATEGIES)}"
                )
            found[strategy] = int(share)
        return found

    def places(self) -> tuple[str, ...]:
        """Return the environments; none where nothing was said."""
        return _names(self.environments)

    def codes(self, known: tuple[str, ...], given: int) -> tuple[tuple[str, ...], int]:
        """Return the codes of all participants, those that are known first, and the highest number that was made up.

        Args:
            known: codes so far.
            given: the highest number that was made up so far.
        """
        if not self.people.strip().isdecimal():
            return tuple(dict.fromkeys((*known, *_names(self.people)))) or ("p01",), given or int(not known)
        made = list(known)
        while len(made) < min(int(self.people), 9999):
            given += 1
            made += [code] if (code := f"p{given:02d}") not in known else []
        return tuple(made), given
