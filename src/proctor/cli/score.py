"""``proctor score``: the runs of a workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from proctor.cli.console import group_app
from proctor.cli.lazy import FamilyGroup
from proctor.cli.metrics import FAMILIES
from proctor.errors import UserError

__all__ = ["app"]


class _Score(FamilyGroup):
    usual: ClassVar[str] = "workspace"
    members: ClassVar[Mapping[str, tuple[str, str]]] = {
        "workspace": ("proctor.cli.scoring.workspace", "The runs of a workspace (the word may be left out)."),
        **FAMILIES,  # their name until version 0.1; 'proctor metrics' since
    }
    sections: ClassVar[Mapping[str, Sequence[str]]] = {"Commands": ("workspace",)}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read ``proctor score bench`` as ``proctor score workspace bench``."""
        if args and args[0] not in self.members and args[0] not in ("--help", "-h"):
            _refuse_misspelling(args[0])
        return super().parse_args(ctx, args)


def _refuse_misspelling(word: str) -> None:
    """A word that is nearly a family, and no file or folder, is not taken for a workspace that is missing."""
    from difflib import get_close_matches
    from pathlib import Path

    if (near := get_close_matches(word, FAMILIES, n=1)) and not Path(word).exists():
        raise UserError(
            f"there is neither a family nor a workspace {word!r}.",
            hint=f"did you mean proctor metrics {near[0]}? The families are {', '.join(FAMILIES)}",
        )


app = group_app(
    "Compute the scores of the runs of a workspace, with intervals, and compare them.\n\n"
    "proctor score WORKSPACE is enough. Metrics from files, without a workspace: proctor metrics. A workspace that is called like a "
    "family of metrics is written ./NAME.\n\n"
    "Example: proctor score bench",
    cls=_Score,
)
