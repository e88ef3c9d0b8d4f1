"""``proctor datasets``: the data sets of the field, and one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from proctor.cli.console import group_app
from proctor.cli.lazy import LazyGroup

__all__ = ["app"]

_COMMANDS: Final = {
    "list": ("info", "List the data sets that can be read."),
    "info": ("info", "Show what a data set is, its licence, and where to get it."),
    "get": ("get", "Fetch a data set's files, after showing size and licence."),
    "check": ("check", "List what is odd in a data set's files, by rule."),
    "stats": ("stats", "Recompute the tables of the papers; distributions, mistakes, graphs."),
    "split": ("split", "Make a split, make a released one again, or look for leakage."),
    "clips": ("clips", "Cut long recordings into clips."),
    "convert": ("convert", "Bring recordings and task graphs from one tool's files to another's."),
    "export": ("export", "Write a data set as Parquet or JSON Lines, in shards, however large."),
    "synthetic": ("synthetic", "Generate synthetic manuals with pictures whose right order is known."),
}


class _Members(LazyGroup):
    needs: ClassVar[Mapping[str, Sequence[str]]] = {"export": ("parquet",)}
    more: ClassVar[Mapping[str, Sequence[str]]] = {"clips": ("video",), "convert": ("parquet",)}
    members: ClassVar[Mapping[str, tuple[str, str]]] = {
        name: (f"proctor.cli.data.{module}", summary) for name, (module, summary) in _COMMANDS.items()
    }


app = group_app(
    "List, get, check, measure, split, cut and convert data sets.\n\n"
    "A data set is named by its folder; the files show which one it is. Nothing is changed in the folder, and only 'get' downloads anything, after you agree. To bring recordings into a benchmark: proctor read.\n\n"
    "Example: proctor datasets check ~/data/captaincook4d",
    cls=_Members,
)
