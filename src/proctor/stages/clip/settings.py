"""Options of the stages of clips: who writes pairs about which videos, who filters them, who gives them options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec

from proctor.errors import UserError
from proctor.records import Json
from proctor.settings import option
from proctor.stages.settings import Limit, ReplyOptions, Seed

if TYPE_CHECKING:
    from proctor.ask.clip.choices import ChoiceModels, ChoiceSettings
    from proctor.ask.clip.filters import FilterModels, FilterSettings
    from proctor.ask.clip.pairs import PairModels

__all__ = ["ChoiceOptions", "FilterOptions", "PairOptions"]


class PairOptions(ReplyOptions, frozen=True, kw_only=True):
    """Who writes pairs, how many, and about which videos.

    Attributes:
        came_from: for the record, where clips came from that the workspace has already.
        substeps: whether steps are shown with their substeps, where a data set has such.
    """

    section: ClassVar[str] = "pairs"

    generator: Annotated[str, option("Model that writes pairs.", "-g", metavar="MODEL")] = ""
    data: Annotated[
        tuple[Path, ...], option("Folder of annotated videos; may be repeated (the first time only).")
    ] = ()
    dataset: Annotated[
        tuple[str, ...],
        option("Reader of each folder; recognised by its files by default.", metavar="DATASET"),
    ] = ()
    categoriser: Annotated[
        str, option("Model that names the category of a pair (default: the generator).", metavar="MODEL")
    ] = ""
    level: Annotated[
        tuple[Literal["coarse", "fine"], ...], option("coarse (events), fine (objects); default both.")
    ] = ("coarse", "fine")
    total: Annotated[int | None, option("Pairs in all (default 100).", ge=1)] = None
    per_clip: Annotated[int | None, option("Pairs of every clip and level.", ge=1)] = None
    max_videos: Annotated[int | None, option("Recordings of each data set at most.", ge=1)] = None
    came_from: tuple[str, ...] = ()
    substeps: bool = True
    seed: Seed = 0

    @property
    def models(self) -> PairModels:
        """Who writes, and who names categories.

        Raises:
            UserError: if nobody writes.
        """
        from proctor.ask.clip.pairs import PairModels

        if not self.generator:
            raise UserError("no model was named that writes pairs.", hint="name a model: -g openai/gpt-4o")
        return PairModels(generator=self.generator, categoriser=self.categoriser)

    def recorded(self) -> dict[str, Json]:
        """Return what was set, for the workspace's record."""
        from proctor.ask.clip.pairs import PairSettings

        found: dict[str, Json] = msgspec.to_builtins(
            {
                "models": self.models, "data": [str(path) for path in self.data] or list(self.came_from),
                "readers": list(self.dataset), "levels": list(self.level), "total": self.total, "per_clip": self.per_clip,
                "videos": self.max_videos, "substeps": self.substeps, "seed": self.seed, "generator_settings": PairSettings(), **self.said(),
            }
        )  # fmt: skip
        return found


class Assisted(ReplyOptions, frozen=True, kw_only=True):
    """Who votes, and where to stop."""

    assistant: Annotated[
        tuple[str, ...], option("Model that votes; three different ones in the paper.", "-a", metavar="MODEL")
    ] = ()
    seed: Seed = 0
    limit: Limit = None


class FilterOptions(Assisted, frozen=True, kw_only=True):
    """Who filters what, and which of the kept pairs train."""

    section: ClassVar[str] = "filter"

    judge: Annotated[
        tuple[str, ...],
        option("Model that filters with the annotated steps given; may be repeated.", "-j", metavar="MODEL"),
    ] = ()
    consistency: Annotated[
        str,
        option(
            "Model that says whether two answers mean the same (default: the first judge).", metavar="MODEL"
        ),
    ] = ""
    on: Annotated[
        str,
        option(
            "Only these: pairs, candidates (about moments), styled (about documents), or a kind by its name.",
            metavar="pairs|candidates|styled|KIND",
        ),
    ] = ""
    only: Annotated[
        tuple[Literal["unspecific", "tricky", "hallucination", "blind"], ...],
        option(
            "unspecific, tricky, hallucination, blind; may be repeated (default: all for which a model was named)."
        ),
    ] = ()
    votes: Annotated[
        int, option("Votes of judges on each filter except blind; odd, a majority drops the question.", ge=1)
    ] = 1
    benchmark_share: Annotated[
        float,
        option(
            "Share of the kept pairs, by whole videos, for the benchmark; the rest is for training.",
            ge=0,
            le=1,
        ),
    ] = 1.0
    cap: Annotated[int | None, option("Pairs of the benchmark at most (published: 5,000).", ge=1)] = None

    @property
    def models(self) -> FilterModels:
        """Judges and assistants.

        Raises:
            UserError: if nobody was named.
        """
        from proctor.ask.clip.filters import FilterModels

        if not self.judge and not self.assistant:
            raise UserError("no model was named that filters.", hint="name a judge (-j) and assistants (-a)")
        return FilterModels(judges=self.judge, assistants=self.assistant, consistency=self.consistency)

    @property
    def names(self) -> tuple[str, ...]:
        """All models that may be asked."""
        return tuple(dict.fromkeys(n for n in (*self.judge, *self.assistant, self.consistency) if n))

    @property
    def filters(self) -> FilterSettings:
        """Which filters are asked, and how often."""
        from proctor.ask.clip.filters import FilterSettings
        from proctor.ask.clip.record import FILTERS

        chosen = self.only or (FILTERS if self.assistant else FILTERS[:-1])
        return FilterSettings(
            filters=chosen,
            votes={name: self.votes for name in chosen if name != "blind"} if self.votes > 1 else {},
            solved_by=min(2, len(self.assistant) or 2),
        )

    def recorded(self) -> dict[str, Json]:
        """Return what was set, for the workspace's record."""
        found: dict[str, Json] = msgspec.to_builtins(
            {
                "models": self.models, "filter_settings": self.filters, "limit": self.limit,
                "benchmark_share": self.benchmark_share, "cap": self.cap, "seed": self.seed, **self.said(),
            }
        )  # fmt: skip
        return found


class ChoiceOptions(Assisted, frozen=True, kw_only=True):
    """Who makes options for what."""

    section: ClassVar[str] = "choices"

    writer: Annotated[str, option("Model that writes wrong answers.", "-w", metavar="MODEL")] = ""
    on: Annotated[
        Literal["pairs", "items", "styled"] | None,
        option(
            "pairs (those that filters keep), items (built ones of every kind) or styled; recognised by the files by default."
        ),
    ] = None
    typed: Annotated[
        int, option("How many of the four wrong answers are made by rule from annotations.", ge=0, le=4)
    ] = 0
    attempts: Annotated[int, option("Attempts at a question; then it stays open-ended.", ge=1)] = 10
    confirm: Annotated[
        Literal["off", "report", "require"],
        option("A fresh vote after acceptance: off, report, or require."),
    ] = "report"

    @property
    def models(self) -> ChoiceModels:
        """Writer and assistants.

        Raises:
            UserError: if nobody writes, or nobody votes.
        """
        from proctor.ask.clip.choices import ChoiceModels

        if not self.writer:
            raise UserError(
                "no model was named that writes wrong answers.", hint="name a model: -w openai/gpt-4o"
            )
        return ChoiceModels(writer=self.writer, assistants=self.assistant)

    @property
    def making(self) -> ChoiceSettings:
        """How options are made."""
        from proctor.ask.clip.choices import ChoiceSettings

        return ChoiceSettings(attempts=self.attempts, typed=self.typed, confirm=self.confirm)

    def recorded(self) -> dict[str, Json]:
        """Return what was set, for the workspace's record."""
        found: dict[str, Json] = msgspec.to_builtins(
            {
                "models": self.models,
                "choice_settings": self.making,
                "seed": self.seed,
                "limit": self.limit,
                **self.said(),
            }
        )
        return found
