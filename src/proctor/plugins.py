"""What other packages bring: entry points, loaded when they are named; a broken one is a message, not a traceback."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from proctor.errors import UserError

__all__ = ["load_plugin", "package_of", "told"]


def load_plugin(
    entries: Iterable[EntryPoint], what: str, wanted: str, is_wanted: Callable[[object], bool]
) -> Any:
    """Return what the entry points of one name point to.

    Args:
        entries: at least one; the same value twice (a package installed in two places) is one.
        what: is loaded, for messages: ``the provider 'mine'``.
        wanted: what it has to be, for messages.
        is_wanted: whether an object is that.

    Raises:
        UserError: if several packages bring it, it cannot be loaded, or it is something else.
    """
    found = {entry.value: entry for entry in entries}
    if len(found) > 1:
        packages = ", ".join(sorted(package_of(entry) for entry in found.values()))
        raise UserError(
            f"{what} is brought by more than one package: {packages}.", hint="uninstall all but one"
        )
    (entry,) = found.values()
    try:
        loaded = entry.load()
    except UserError:
        raise
    except Exception as error:  # somebody else's code
        raise UserError(
            f"{what} of {package_of(entry)} cannot be loaded: {type(error).__name__}: {error}",
            where=entry.value,
            hint="update or uninstall that package",
        ) from error
    if not is_wanted(loaded):
        raise UserError(
            f"{what} of {package_of(entry)} is not {wanted}.",
            where=entry.value,
            hint="update or uninstall that package",
        )
    return loaded


def package_of(entry: EntryPoint) -> str:
    """Return the name of the package that brings an entry point."""
    return entry.dist.name if entry.dist is not None else "an unknown package"


def told(error: BaseException) -> str:
    """Return what another package's code raised, with its place, in one line."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    said = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {said} ({Path(last.filename).name}:{last.lineno})"
