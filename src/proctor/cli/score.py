"""``proctor score``: the runs of a workspace, or any family of metrics from files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from proctor.cli.console import group_app
from proctor.cli.lazy import LazyGroup
from proctor.errors import UserError
from proctor.stages.scoring import all_families

__all__ = ["app"]

_WORKSPACE: Final = "workspace"
_FAMILIES: Final = all_families()


class _Families(LazyGroup):
    members: ClassVar[Mapping[str, tuple[str, str]]] = {
        **{name: ("proctor.cli.scoring.families", summary) for name, summary in _FAMILIES.items()},
        _WORKSPACE: ("proctor.cli.scoring.workspace", "The runs of a workspace (the word may be left out)."),
    }

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read ``proctor score bench`` as ``proctor score workspace bench``."""
        if args and args[0] not in self.members and args[0] != "--help":
            _refuse_misspelling(args[0])
            args = [_WORKSPACE, *args]
        return super().parse_args(ctx, args)


def _refuse_misspelling(word: str) -> None:
    """A word that is nearly a family, and no file or folder, is not taken for a workspace that is missing."""
    from difflib import get_close_matches
    from pathlib import Path

    if (near := get_close_matches(word, _FAMILIES, n=1)) and not Path(word).exists():
        raise UserError(
            f"there is neither a family nor a workspace {word!r}.",
            hint=f"did you mean proctor score {near[0]}? The families are {', '.join(_FAMILIES)}",
        )


app = group_app(
    "Compute scores with intervals.\n\n"
    "proctor score WORKSPACE scores and compares the runs of a workspace. proctor score FAMILY scores files: "
    "a reference and a prediction, as CSV, JSON or JSON Lines; it prints a table, or with --json everything, "
    "with --latex a table for a paper, with --report a page with pictures. A workspace that is called like a "
    "family is written ./NAME.\n\n"
    "Example: proctor score localization --gt gt.csv --pred predictions.csv --protocol corrected",
    cls=_Families,
)
