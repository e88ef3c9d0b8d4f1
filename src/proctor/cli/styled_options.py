"""Options of commands that generate questions in styles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from proctor.stages.styled.generate import StyledOptions

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
    published: bool = False,
    combinations: Sequence[str] | None = None,
    embedder: str = "lsa",
    scale: str = "multiply",
    necessity: str = "prompt",
    attempts: int = 8,
    seed: int | None = None,
    closed_book: str = "off",
    one_source: str = "off",
    gold_rank: bool = False,
    max_rank: int | None = None,
    min_rank: int | None = None,
    document_quota: int | None = None,
    seed_modalities: str = "any",
) -> StyledOptions:
    """Return what the options ask for.

    Raises:
        UserError: if a value is none of those that are known.
    """
    from proctor.errors import UserError
    from proctor.generate.styled.difficulty import DifficultyRules
    from proctor.generate.styled.pipeline import StyledModels, StyledSettings
    from proctor.stages.styled.generate import StyledOptions

    known: tuple[tuple[str, str, tuple[str, ...]], ...] = (
        ("--scale", scale, ("multiply", "divide")),
        ("--necessity", necessity, ("prompt", "ablate")),
        ("--closed-book", closed_book, ("off", "measure", "refuse")),
        ("--one-source", one_source, ("off", "measure", "refuse")),
        ("--seed-modalities", seed_modalities, ("any", "required")),
    )
    for option, value, values in known:
        if value not in values:
            raise UserError(f"{option} is {value!r}.", hint=f"one of {', '.join(values)}")
    if min_rank is not None and max_rank is not None and min_rank > max_rank:
        raise UserError(
            f"no question has a worst rank of {min_rank} or more and {max_rank} or less.",
            hint="--min-rank is at most --max-rank",
        )
    difficulty: dict[str, Any] = {"closed_book": closed_book, "one_source": one_source}
    rules = DifficultyRules(**difficulty, gold_rank=gold_rank, min_rank=min_rank, max_rank=max_rank)
    checked: dict[str, Any] = {"scale": scale, "seed_modalities": seed_modalities}
    how: dict[str, Any] = {"necessity": necessity}
    return StyledOptions(
        models=StyledModels(
            entity=entity_model or generator,
            generator=generator,
            verifier=verifier or generator,
            generator_lmm=image_generator or "",
        ),
        styles=tuple(styles or _fitting(combinations)),
        per_cell=per_cell,
        total=total,
        published=published,
        combinations=tuple(combinations) if combinations else None,
        embedder=embedder,
        seed=seed or 0,
        **checked,
        document_quota=document_quota,
        settings=StyledSettings(attempts=attempts, difficulty=rules, **how),
    )


def _fitting(combinations: Sequence[str] | None) -> tuple[str, ...]:
    """Return our styles that are for one of the combinations that are asked for; all where this leaves none, to be told so."""
    from proctor.generate.styled.style import BUILTIN_STYLES, load_style

    if not combinations:
        return BUILTIN_STYLES
    wanted = set(combinations)
    fitting = tuple(
        name
        for name in BUILTIN_STYLES
        if wanted & {"-".join(map(str, combo)) for combo in load_style(name).combinations}
    )
    return fitting or BUILTIN_STYLES
