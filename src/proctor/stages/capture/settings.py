"""Options of ``proctor capture``. docs/capture.md."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias, get_args

from proctor.capture.records import Strategy
from proctor.errors import UserError
from proctor.settings import Settings, argument, option
from proctor.stages.settings import Version

__all__ = [
    "ConsentSettings", "IngestSettings", "PlanSettings", "RecordSettings", "ReleaseSettings",
     "SyncSettings", "WithdrawSettings",
]  # fmt: skip

Recordings: TypeAlias = Annotated[
    tuple[str, ...], option("Id of a recording; may be given again. Default: all that are over.")
]
Participant: TypeAlias = Annotated[str, argument("Code of the participant, as in the plan.", "PARTICIPANT")]
Day: TypeAlias = Annotated[str, option("Day as 2026-12-01 (default: today).")]
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
        option("Task graphs for the workspace: a plain folder, its activities, a file of graphs, or of steps (.txt)."),
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
    normal_scripts: Annotated[
        int | None, option("Normal scripts of each activity (default: those there are, or 25).", ge=0, le=999)
    ] = None
    mistake_scripts: Annotated[
        int | None, option("Scripts with mistakes (default: those there are, or 100).", ge=0, le=3000)
    ] = None
    missing_scripts: Annotated[
        int | None, option("Of these, with steps left out (default: those there are, or 10).", ge=0, le=999)
    ] = None
    seed: Annotated[int | None, option("Of scripts and plan (default 0).")] = None
    from_: Annotated[date | None, option("First day of recording, such as 2026-12-01.", "--from", metavar="DAY", parse=_day)] = None  # fmt: skip
    per_day: Annotated[int, option("Recordings per day, with --from.", ge=1, le=1000)] = 3
    hints: Annotated[str | None, option("Model that proposes mistakes for each step.", metavar="MODEL")] = (
        None
    )

    def script_counts(self, had: Mapping[Strategy, int]) -> dict[Strategy, int]:
        """Return how many scripts of each strategy an activity is to have; of what is not said, as many as it had.

        What leaves no step out is shared among the other kinds of mistakes.

        Raises:
            UserError: if there are more scripts with missing steps than with mistakes.
        """
        known: dict[Strategy, int] = {s: had.get(s, 0) for s in _STRATEGIES}
        usual: dict[Strategy, int] = known if any(known.values()) else {"normal": 25, "missing": 10}
        normal = usual["normal"] if self.normal_scripts is None else self.normal_scripts
        missing = usual["missing"] if self.missing_scripts is None else self.missing_scripts
        if self.mistake_scripts is None and usual is known:
            return known | {"normal": normal, "missing": missing}
        mistakes = 100 if self.mistake_scripts is None else self.mistake_scripts
        others = [s for s in _STRATEGIES if s not in ("normal", "missing")]
        share, rest = divmod(mistakes - missing, len(others))
        if share < 0:
            seen = f"{missing} of {mistakes} scripts with mistakes cannot leave steps out."
            raise UserError(seen, hint="--missing-scripts 0, or more --mistake-scripts")
        return {"normal": normal, "missing": missing, **{s: share + (n < rest) for n, s in enumerate(others)}}

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


# -- record ---


class RecordSettings(Settings, frozen=True, kw_only=True):
    """What is recorded with which sensors, and for how long."""

    recording: Annotated[
        str, argument("Id of the recording, of the plan or a new one with --activity.", "RECORDING")
    ]
    sensors: Annotated[
        Path | None, option("File of the sensors; capture/sensors.toml of the workspace by default.")
    ] = None
    activity: Annotated[str | None, option("Activity of a recording that is not in the plan.")] = None
    participant: Annotated[str, option("Code of the participant of such a recording, never a name.")] = ""
    environment: Annotated[str, option("Where such a recording is made.")] = ""
    seconds: Annotated[float | None, option("Stop after this time; otherwise on Ctrl-C.", ge=0.1)] = None
    serve: Annotated[bool, option("Wait for the studio's commands (arm, start, mark, stop).")] = False
    preflight: Annotated[bool, option("Check sensors, disk and battery, and record nothing.")] = False
    resume: Annotated[bool, option("Go on with an interrupted recording.")] = False
    close: Annotated[bool, option("End an interrupted recording with what is there.")] = False
    redis: Annotated[
        str | None, option("Keep what waits in this Redis server (redis://, unix://).", metavar="URL")
    ] = None

    def __post_init__(self) -> None:
        """Refuse what does not go together."""
        super().__post_init__()
        if sum((self.serve, self.preflight, self.close)) > 1 or (self.close and self.resume):
            raise UserError("--serve, --preflight and --close exclude each other, --close and --resume, too.")


# -- ingest, release, consent --------------------------------------------------------------------------------------


class IngestSettings(Settings, frozen=True, kw_only=True):
    """Which recordings become the data set, and how."""

    recording: Recordings = ()
    stream: Annotated[str, option("Stream that people watch (default: the first required video).")] = ""
    unreviewed: Annotated[
        bool,
        option("Take recordings that nobody reviewed: steps with times, and no mistakes but left-out steps."),
    ] = False


class ReleaseSettings(Settings, frozen=True, kw_only=True):
    """What a release holds."""

    out: Annotated[Path, argument("New folder of the release.", "OUT")]
    name: Annotated[str, option("Name of the release.")] = "recordings"
    version: Version = "1.0"
    licence: Annotated[str, option("Licence of the data, such as CC-BY-4.0; a file's text is put in.")] = ""
    datasheet: Annotated[
        Path | None, option("Markdown of your own for the datasheet: why, how, for what not.")
    ] = None
    features: Annotated[
        Path | None, option("Folder of features, one file for each recording, named by its id.")
    ] = None
    parts: Annotated[
        tuple[str, ...],
        option(
            "Part to pack: raw, sync, poses, videos, annotations, splits, features; may be given again. Default: all."
        ),
    ] = ()
    without_consent: Annotated[
        bool, option("Release recordings of people whose consent is not noted here, but on paper.")
    ] = False


class ConsentSettings(Settings, frozen=True, kw_only=True):
    """What a participant agreed to."""

    participant: Participant
    text: Annotated[Path, option("File with the text that they signed.")]
    release: Annotated[bool, option("Their recordings may be released.")] = False
    day: Day = ""


class WithdrawSettings(Settings, frozen=True, kw_only=True):
    """Who takes consent back."""

    participant: Participant
    release: Annotated[
        tuple[Path, ...], option("Folder of a release to bring up to date as well; may be given again.")
    ] = ()
    day: Day = ""
    yes: Annotated[bool, option("Really remove; without it, only what would be removed is listed.")] = False


# -- sync -----------------------------------------------------------------------------------------------


class SyncSettings(Settings, frozen=True, kw_only=True):
    """Which recordings are synchronised, and how."""

    recording: Recordings = ()
    base: Annotated[
        str, option("Stream to whose timestamps the others are aligned (default: the first required video).")
    ] = ""
    rule: Annotated[
        Literal["nearest", "published"],
        option("How samples are matched; published is the rule of CaptainCook4D's system, to compare with."),
    ] = "nearest"
    tolerance_ms: Annotated[
        float, option("Largest time difference of a match, whatever the stream's period.", ge=0.1, le=60_000)
    ] = 100.0
    allow_repeat: Annotated[bool, option("A sample may match several timestamps of the base.")] = True
