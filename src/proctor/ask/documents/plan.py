"""Which questions are wanted: so many of each style and modality combination, in an order that stays balanced.

A plan is made and checked before anything is asked (SMMQG): a combination that a style is not for is an error then, and cells
that the corpus cannot fill are left out with a reason, not after a thousand paid calls. The others keep their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from proctor.ask.documents.record import Target
from proctor.ask.documents.style import Combination, Style, parse_combination, render_combination
from proctor.corpus.source import MODALITIES, Modality
from proctor.errors import UserError

__all__ = ["ImpossibleCell", "PossibleTargets", "cells_of", "plan_targets", "possible_targets"]

MOST_TARGETS: Final = 1_000_000

Cell = tuple[str, Combination]
"""Style and combination."""


def cells_of(
    styles: Sequence[Style], combinations: Sequence[str | Sequence[int]] | None = None
) -> tuple[Cell, ...]:
    """Return the cells of a plan: every style with every combination that it is for.

    Args:
        styles: of the plan, names unique.
        combinations: only these; those of each style's file when None.

    Raises:
        UserError: if a combination makes no sense, or none of the styles is for it, or a style is left with none.
    """
    if not styles:
        raise UserError("a plan needs at least one style.")
    wanted = None if combinations is None else tuple(dict.fromkeys(map(parse_combination, combinations)))
    if wanted is not None:
        for combination in wanted:
            if not any(style.allows(combination) for style in styles):
                raise UserError(
                    f"no style of the plan is for {render_combination(combination)} (texts-tables-images).",
                    hint="; ".join(f"{s.name}: {_listed(s.combinations)}" for s in styles),
                )
    cells: list[Cell] = []
    for style in styles:
        own = style.combinations if wanted is None else tuple(c for c in wanted if style.allows(c))
        if not own:
            raise UserError(
                f"the style '{style.name}' is for none of the combinations that are asked for.",
                hint=f"it is for {_listed(style.combinations)}; leave the style out or ask for one of these",
            )
        cells += [(style.name, combination) for combination in own]
    return tuple(cells)


def _listed(combinations: Sequence[Combination]) -> str:
    return ", ".join(map(render_combination, combinations))


def plan_targets(
    styles: Sequence[Style],
    *,
    total: int | None = None,
    per_cell: int | None = None,
    quotas: Mapping[str, int] | None = None,
    combinations: Sequence[str | Sequence[int]] | None = None,
) -> tuple[Target, ...]:
    """Return the questions that are wanted; exactly one of ``total``, ``per_cell`` and ``quotas`` says how many.

    Cells take turns in the order, so that a run that ends early is balanced as well; and a target keeps its id when more are
    asked for.

    Args:
        styles: of the plan, names unique.
        total: questions in all, spread evenly over the cells; cells differ by at most one.
        per_cell: questions of every cell.
        quotas: questions of each style by name, spread evenly over its combinations (``PUBLISHED_COUNTS``).
        combinations: only these.

    Raises:
        UserError: if the numbers make no sense, or as ``cells_of``.
    """
    if sum(value is not None for value in (total, per_cell, quotas)) != 1:
        raise UserError("say how many questions are wanted in one way: in all, per cell, or per style.")
    cells = cells_of(styles, combinations)
    if quotas is not None:
        counts = _by_style(cells, quotas)
    elif per_cell is not None:
        counts = dict.fromkeys(cells, _whole(per_cell, "per cell"))
    else:
        counts = _spread(_across_styles(cells), _whole(total, "in all"))
    if sum(counts.values()) > MOST_TARGETS:
        raise UserError(
            f"{sum(counts.values()):,} questions are too many; at most {MOST_TARGETS:,} can be planned."
        )
    return tuple(
        Target(
            id=f"{style}/{render_combination(combination)}/{number:04d}", style=style, modalities=combination
        )
        for number in range(1, max(counts.values()) + 1)
        for style, combination in cells
        if number <= counts[style, combination]
    )


def _whole(number: object, what: str) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise UserError(f"{number!r} questions {what} cannot be asked for.", hint="ask for at least 1")
    return number


def _spread(cells: Sequence[Cell], total: int) -> dict[Cell, int]:
    """Give every cell the same, and one more to the first ones."""
    share, over = divmod(total, len(cells))
    return {cell: share + (n < over) for n, cell in enumerate(cells)}


def _across_styles(cells: Sequence[Cell]) -> list[Cell]:
    """Order cells so that styles take turns: what is left over goes to different ones."""
    place: dict[str, int] = {}
    ranked = []
    for n, cell in enumerate(cells):
        place[cell[0]] = place.get(cell[0], -1) + 1
        ranked.append((place[cell[0]], n, cell))
    return [cell for _, _, cell in sorted(ranked)]


def _by_style(cells: Sequence[Cell], quotas: Mapping[str, int]) -> dict[Cell, int]:
    names = {style for style, _ in cells}
    if names != set(quotas):
        odd = ", ".join(sorted(names ^ set(quotas)))
        raise UserError(
            f"the numbers per style and the styles do not agree: {odd[:200]}.",
            hint="give one number for each style",
        )
    counts: dict[Cell, int] = {}
    for style, quota in quotas.items():
        counts |= _spread([c for c in cells if c[0] == style], _whole(quota, f"of {style}"))
    return counts


class ImpossibleCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of the plan that the corpus cannot fill.

    Attributes:
        style: its name.
        combination: such as ``0-2-0``.
        questions: that were planned for it.
        reason: for people.
    """

    style: str
    combination: str
    questions: int
    reason: str

    @property
    def told(self) -> str:
        """In one line."""
        return f"{self.style} {self.combination} ({self.questions:,}): {self.reason}"


class PossibleTargets(NamedTuple):
    """The part of a plan that a corpus can fill.

    Attributes:
        targets: in the order of the plan.
        impossible: cells that were left out.
        short: one line for every modality of which there are enough to cite, and fewer than candidates are asked for: those
            attempts say ``short_candidates``.
    """

    targets: tuple[Target, ...]
    impossible: tuple[ImpossibleCell, ...]
    short: tuple[str, ...]


def possible_targets(
    targets: Sequence[Target],
    styles: Sequence[Style],
    counts: Mapping[Modality, int],
    *,
    k_modality: int = 2,
) -> PossibleTargets:
    """Leave out the cells that a corpus cannot fill; the others keep their numbers.

    Args:
        targets: of the plan.
        styles: of the targets.
        counts: sources of the corpus by modality, duplicates left out.
        k_modality: candidates for each source that is needed.

    Raises:
        UserError: if nothing of a plan is left, saying what the corpus has.
    """
    hops = {style.name for style in styles if style.hops}
    cells: dict[Cell, list[Target]] = {}
    for target in targets:
        cells.setdefault((target.style, target.modalities), []).append(target)
    impossible = tuple(
        ImpossibleCell(
            style=style, combination=render_combination(wanted), questions=len(members), reason=reason
        )
        for (style, wanted), members in cells.items()
        if (reason := _why_impossible(wanted, counts, hops=style in hops))
    )
    out = {(cell.style, cell.combination) for cell in impossible}
    kept = tuple(t for t in targets if (t.style, render_combination(t.modalities)) not in out)
    if targets and not kept:
        have = ", ".join(f"{counts.get(m, 0):,} {m}" for m in MODALITIES)
        raise UserError(
            f"the corpus cannot fill any of the {len(targets):,} planned questions; it has {have} sources. "
            + "; ".join(cell.told for cell in impossible[:6])
            + ("; …" if len(impossible) > 6 else "."),
            where="corpus",
            hint="ask for other combinations (--combination 1-0-0), or add such sources; nothing was asked yet",
        )
    most = [max((t.modalities[place] for t in kept), default=0) for place in range(len(MODALITIES))]
    short = tuple(
        f"{m}: up to {wanted * k_modality} candidates are asked for, and the corpus has {counts.get(m, 0)}"
        for m, wanted in zip(MODALITIES, most, strict=True)
        if wanted * k_modality > counts.get(m, 0)
    )
    return PossibleTargets(kept, impossible, short)


def _why_impossible(wanted: Combination, counts: Mapping[Modality, int], *, hops: bool) -> str:
    """Return why no question of a cell can be made; empty where one can."""
    lacking = [
        f"{n} {m} source{'s' * (n != 1)}, and the corpus has {counts.get(m, 0)}"
        for m, n in zip(MODALITIES, wanted, strict=True)
        if n > counts.get(m, 0)
    ]
    if lacking:
        return f"needs {'; '.join(lacking)}"
    return "a question of two hops needs two sources" if hops and sum(wanted) < 2 else ""
