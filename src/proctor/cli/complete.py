"""What a shell completes: names that fit the word that help shows for a value, such as ``MODEL`` or ``rules|MODEL``.

Nothing of Proctor is imported here but what every command has loaded: a person waits for the Tab key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["COMPLETED", "words"]

_KINDS: Final = ("moment", "clip", "documents", "order", "step")
_BASELINES: Final = (
    "constant", "recipe-text", "random-step", "annotations", "chance", "longest-option", "most-frequent-letter",
    "presented", "cue-words", "shortest-first", "longest-first",
)  # fmt: skip
_VIEWS: Final = (
    "question", "recipe", "captions", "frames", "video", "steps", "times", "gold", "bm25@5", "both", "text", "image",
)  # fmt: skip
_SEARCHES: Final = ("bm25", "lsa", "bm25+lsa")
_CHOICE: Final = re.compile(r"[a-z][a-z-]*")


class _Priced(msgspec.Struct):
    provider: str
    names: tuple[str, ...]


class _Prices(msgspec.Struct):
    models: tuple[_Priced, ...]


def words(shown: str, typed: Sequence[str], incomplete: str) -> list[str]:
    """Return what may stand where help shows a word.

    Args:
        shown: the word: a name of ``COMPLETED``, a choice in small letters, or several with ``|`` between them.
        typed: the words before it; names of runs are looked for in the workspaces among them.
        incomplete: the value so far. A shell offers files only where no name fits: a value that may be a folder is left to it
            until something is typed.
    """
    found: list[str] = []
    parts = shown.split("|")
    if "FOLDER" in parts and not incomplete:
        return []
    for part in parts:
        if part in COMPLETED:
            found += COMPLETED[part](typed)
        elif _CHOICE.fullmatch(part):
            found.append(part)
    return found


def _entries(group: str) -> list[str]:
    from importlib.metadata import entry_points

    return sorted({entry.name for entry in entry_points(group=group)})


def _models(_typed: Sequence[str]) -> Iterable[str]:
    text = (files("proctor.llm") / "data" / "prices.json").read_bytes()
    priced = msgspec.json.decode(text, type=_Prices).models
    return (f"{model.provider}/{name}" for model in priced for name in model.names)


def _runs(typed: Sequence[str]) -> list[str]:
    return sorted({run.name for word in typed for run in Path(word, "runs").glob("*/")})


COMPLETED: Final[Mapping[str, Callable[[Sequence[str]], Iterable[str]]]] = {
    "BENCHMARK": lambda _: _entries("proctor.benchmarks"),
    "DATASET": lambda _: _entries("proctor.datasets"),
    "EMBEDDER": lambda _: ("lsa",),
    "KIND": lambda _: (*_KINDS, *_entries("proctor.kinds")),
    "MODEL": _models,
    "PREDICTOR": lambda typed: (*_BASELINES, *_models(typed)),
    "RETRIEVER": lambda _: _SEARCHES,
    "RUN": _runs,
    "VIEW": lambda _: _VIEWS,
}
"""Names that fit a word of the help; files are the shell's own business."""
