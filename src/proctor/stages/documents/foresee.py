"""What generating questions would take: the run is played on this machine, and its real requests are added up."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from proctor.ask.documents.plan import ImpossibleCell
from proctor.ask.documents.run import generate_documents
from proctor.llm.estimate import Estimate
from proctor.llm.message import Request
from proctor.llm.outcome import Outcome
from proctor.stages.documents.generate import (
    documents_generator,
    plan_of,
    sampler_of,
    weak_search,
    with_embedder,
)
from proctor.stages.documents.library import Library
from proctor.stages.documents.settings import DocumentsOptions
from proctor.stages.models import CALLS, Limits, open_models
from proctor.stages.rehearsing import Played, find_rehearser, mark_rehearsal
from proctor.workspace import Workspace

__all__ = ["MOST_PLAYED", "Foreseen", "estimate_documents"]

MOST_PLAYED: Final = 60
"""Targets that are played; of a larger plan the first ones, which are spread over all cells."""
_QUALITY: Final = 0.8
"""How often played models do what they are asked: it decides how many attempts are foreseen."""


class Foreseen(NamedTuple):
    """What generation would take.

    Attributes:
        estimate: of the targets that were played.
        played: how many these are.
        planned: how many the plan has.
        impossible: cells that the corpus cannot fill.
        warnings: what to beware of, one line each.
    """

    estimate: Estimate
    played: int
    planned: int
    impossible: tuple[ImpossibleCell, ...]
    warnings: tuple[str, ...]


def estimate_documents(root: Path, options: DocumentsOptions, *, limits: Limits | None = None) -> Foreseen:
    """Say what generation would take, from the real prompts; nothing leaves this machine.

    The models are played by the rehearsal's server, which refuses and errs now and then: how many attempts real models need is
    not known before they are asked.

    Args:
        root: the workspace.
        options: of the run.
        limits: name the call store, whose calls cost nothing.

    Returns:
        What is foreseen.

    Raises:
        UserError: as generation.
        MissingExtraError: without the extra ``rehearsal``.
    """
    limits = limits or Limits()
    workspace = Workspace(root)
    options = with_embedder(workspace, options)
    library = Library(workspace)
    plan = plan_of(library.corpus, options)
    played = plan.targets[:MOST_PLAYED]
    sampler = sampler_of(library, options)
    weak = weak_search(library, options.embedder)
    requests: list[Request] = []
    with (
        tempfile.TemporaryDirectory(prefix="proctor-estimate-") as folder,
        find_rehearser("Foreseeing what models will be asked").play(
            root, _QUALITY, seed=options.seed
        ) as rehearsal,
    ):
        played_calls = Path(folder, CALLS)
        mark_rehearsal(Path(folder), Played(quality=_QUALITY, seed=options.seed), calls=played_calls)
        playing = msgspec.structs.replace(
            limits, calls=str(played_calls), rehearsal=rehearsal, budget=None, max_cost=None,
            max_calls=None, max_tokens=None, requests_per_minute=None, tokens_per_minute=None,
        )  # fmt: skip
        with open_models(workspace, playing, options) as models:
            generator = documents_generator(models, library, plan, options, sampler, limits)
            ask = models.ask("generate")

            def listening(asked: Iterable[Request]) -> Iterator[tuple[Request, Outcome]]:
                for request, outcome in ask(asked):
                    requests.append(request)
                    yield request, outcome

            generate_documents(played, generator, listening)
    with open_models(workspace, limits) as models:
        estimate = models.estimate([("generate", requests)])
    warnings = (*plan.warnings, *filter(None, [weak]))
    return Foreseen(estimate, len(played), len(plan.targets), plan.impossible, warnings)
