"""Options of commands that generate questions in styles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from proctor.stages.styled.settings import StyledOptions

__all__ = ["styled_options"]

GeneratorOption = Annotated[str, typer.Option("--generator", "-g", help="Model that writes questions.")]
ImageGeneratorOption = Annotated[
    str | None, typer.Option(help="Model that writes when a candidate is an image (default: the generator).")
]
EntityModelOption = Annotated[
    str | None, typer.Option(help="Model that names the entity of a seed (default: the generator).")
]
VerifierOption = Annotated[
    str | None,
    typer.Option(
        help="Model that says whether a question holds (default: the generator, as published; another is better)."
    ),
]
StyleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--style",
        help="information-extraction, compare-contrast, numerical, compound, multi-hop, or a file of your own; may be repeated "
        "(default: all five, or those that are for the combinations).",
    ),
]
PerCellOption = Annotated[
    int | None,
    typer.Option(min=1, help="Questions of every style with every combination of modalities (default 1)."),
]
TotalOption = Annotated[int | None, typer.Option(min=1, help="Questions in all, spread evenly.")]
CombinationOption = Annotated[
    list[str] | None,
    typer.Option(
        "--combination", help="Only this many texts, tables and images, such as 1-1-0; may be repeated."
    ),
]
EmbedderOption = Annotated[
    str, typer.Option(help="Finds candidates and weighs seeds: lsa, onnx/PATH, st/PATH, compat/NAME@URL.")
]
ScaleOption = Annotated[
    str,
    typer.Option(
        help="Of the seeds' weights: multiply (as printed: all but uniform) or divide (keeps outliers away)."
    ),
]
NecessityOption = Annotated[
    str,
    typer.Option(
        help="Is every source needed? prompt: the verifier says; ablate: it is also tried without each."
    ),
]
AttemptsOption = Annotated[int, typer.Option(min=1, help="At one question, at most.")]


def styled_options(
    generator: str,
    *,
    image_generator: str | None = None,
    entity_model: str | None = None,
    verifier: str | None = None,
    styles: Sequence[str] | None = None,
    per_cell: int | None = None,
    total: int | None = None,
    combinations: Sequence[str] | None = None,
    embedder: str = "lsa",
    scale: str = "multiply",
    necessity: str = "prompt",
    attempts: int = 8,
    seed: int | None = None,
    closed_book: str = "off",
    gold_rank: bool = False,
    known: Sequence[Path] | None = None,
) -> StyledOptions:
    """Return what the options ask for.

    Raises:
        UserError: if a value is none of those that are known.
    """
    from proctor.stages.styled.settings import StyledOptions

    checked: dict[str, Any] = {"scale": scale, "necessity": necessity, "closed_book": closed_book}
    return StyledOptions(
        generator=generator, image_generator=image_generator or "", entity_model=entity_model or "",
        verifier=verifier or "", style=tuple(styles or ()), per_cell=per_cell, total=total,
        combination=tuple(combinations or ()), embedder=embedder, attempts=attempts, gold_rank=gold_rank,
        known=tuple(known or ()), seed=seed or 0, **checked,
    )  # fmt: skip
