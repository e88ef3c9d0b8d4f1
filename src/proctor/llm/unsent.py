"""Parameters that are set and not sent: reported once for each stage and model, and kept for the record."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from proctor.errors import UserError
from proctor.llm.converse import Feed
from proctor.llm.message import Parameters, Request
from proctor.llm.registry import unsent_parameters

__all__ = ["Unsent"]


def _warn(message: str) -> None:
    logging.getLogger("proctor.llm").warning(message)


class Unsent:
    """Looks at requests on their way.

    Args:
        warn: called once for each stage and model; logs by default.
    """

    def __init__(self, warn: Callable[[str], None] = _warn) -> None:
        self._warn = warn
        self._seen: dict[tuple[str, str], list[Parameters]] = {}
        self._told: set[tuple[str, str, str]] = set()
        self.names: dict[str, tuple[str, ...]] = {}
        """By model, the parameters that it was not sent; models that were sent everything are not in it."""

    def watch(
        self, stage: str, requests: Iterable[Request], listen: Callable[[str, Request], None] | None = None
    ) -> Iterable[Request]:
        """Return the requests, having looked at each before it is taken.

        A list stays one, and so does a feed: what a feed hands out next may hang on the outcomes of what is there.

        Args:
            stage: whose requests they are.
            requests: to be made.
            listen: told of each with its stage, too.
        """

        def look(request: Request) -> None:
            self.look(stage, request.model, request.parameters)
            if listen is not None:
                listen(stage, request)

        if isinstance(requests, Feed):
            requests.look = look
            return requests
        if not isinstance(requests, list | tuple):
            return _each(requests, look)
        for request in requests:
            look(request)
        return requests

    @property
    def asked(self) -> Iterator[tuple[str, str]]:
        """Stages with the models of their requests."""
        yield from self._seen

    def look(self, stage: str, model: str, parameters: Parameters) -> None:
        """Look at what requests of a stage to a model are made with."""
        seen = self._seen.setdefault((stage, model), [])
        if any(known is parameters for known in seen) or parameters in seen:
            return
        seen.append(parameters)
        names: tuple[str, ...] = ()
        with suppress(UserError):  # a model that cannot be asked is told by whoever asks it
            names = unsent_parameters(model, parameters)
        new = [name for name in names if (stage, model, name) not in self._told]
        if not new:
            return
        self._told |= {(stage, model, name) for name in new}
        self.names[model] = tuple(sorted({*self.names.get(model, ()), *new}))
        self._warn(
            f"{model} has no field for {' and '.join(new)}: not sent in the stage '{stage}', so the provider's own "
            "choice holds."
        )


def _each(requests: Iterable[Request], look: Callable[[Request], None]) -> Iterator[Request]:
    for request in requests:
        look(request)
        yield request
