"""The plan that ``proctor init`` writes: short, commented, ready to run."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from proctor.datasets.dataset import guess_dataset
from proctor.errors import UserError
from proctor.records import atomic_write
from proctor.samples import copy_sample
from proctor.stages.experiment.settings import NOBODY

__all__ = ["Wish", "draft_plan"]

_KINDS: Final = {"recordings": "moment", "documents": "documents", "videos": "clip", "benchmark": "moment"}


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody has and wants.

    Attributes:
        have: what there is.
        data: its folder, or a benchmark's name; ``sample`` for the recordings that are shipped.
        models: that are asked.
    """

    have: Literal["recordings", "documents", "videos", "benchmark"]
    data: str
    models: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Of the questions."""
        return _KINDS[self.have]


def draft_plan(path: Path, wish: Wish) -> None:
    """Write a plan; the sample is copied beside it where that is what is wanted.

    Raises:
        UserError: if there is no such folder or no data set in it, models are lacking, or the file cannot be written.
    """
    if wish.kind != "moment" and not wish.models:
        raise UserError(
            f"questions about {wish.have} are written by models, and none is named.",
            hint="--model openai/gpt-4o; 'rehearse' in the plan plays it on this machine, without a key",
        )
    folder = path.absolute().parent
    data = folder / Path(wish.data).expanduser()
    if wish.have == "recordings" and wish.data == "sample" and not data.exists():
        copy_sample(data)
    elif wish.have != "benchmark" and not data.is_dir():
        raise UserError(
            "there is no such folder.", where=str(data), hint="give the folder that holds the data"
        )
    lines = [
        f"# What would it cost?    proctor run {path.name} --dry-run",
        f"# Do it:                 proctor run {path.name}",
        f"# All settings of every stage: proctor experiment {wish.kind} --help",
        "",
        "[experiment]",
        f'kind = "{wish.kind}"',
        'workspace = "bench"',
        *_rehearse(wish),
        *([] if not wish.models else ["", "[limits]", "max_cost = 5  # US dollars, for all stages together"]),
        *_TABLES[wish.have](wish, data),
    ]
    with atomic_write(path) as stream:
        stream.write("\n".join([*lines, ""]).encode())


def _rehearse(wish: Wish) -> list[str]:
    if not any("/" in model for model in wish.models):
        return []
    return ["# rehearse = 0.7  # play the models on this machine, right 7 times of 10: no key, no cost"]


def _recordings(wish: Wish, data: Path) -> list[str]:
    return [
        "",
        "[source]",
        f"data = {_toml(wish.data)}",
        f"dataset = {_toml(guess_dataset(data).name)}",
        "",
        "[generate]",
        'generator = ["rules"]  # or models: openai/gpt-4o',
        "examples = 500",
        *_exam(wish),
    ]


def _benchmark(wish: Wish, data: Path) -> list[str]:
    del data
    return ["", "[source]", f"release = {_toml(wish.data)}", *_exam(wish)]


def _exam(wish: Wish) -> list[str]:
    return [
        "",
        "[predict]",
        f"predictor = {_toml(list(wish.models or (NOBODY,)))}  # baselines and the upper bound answer as well",
        'show = ["question", "recipe"]  # with videos: frames:50@360p, video:360p',
        "",
        "[judge]",
        "judge = []  # a model such as openai/gpt-4o; rules mark without one",
    ]


def _documents(wish: Wish, data: Path) -> list[str]:
    del data
    return [
        "",
        "[corpus]",
        f"files = {_toml([wish.data])}",
        "",
        "[documents]",
        f"generator = {_toml(wish.models[0])}",
        "per_cell = 5  # questions of every style and mixture of sources",
        "",
        "[retrieve]",
        'retrievers = ["bm25", "lsa", "bm25+lsa"]',
        "",
        "[answer]",
        f"model = {_toml(list(wish.models))}",
        f"judge = {_toml([wish.models[0]])}",
    ]


def _videos(wish: Wish, data: Path) -> list[str]:
    del data
    return [
        "",
        "[pairs]",
        f"data = {_toml(wish.data)}",
        f"generator = {_toml(wish.models[0])}",
        "total = 200  # question-answer pairs",
        "",
        "[filter]",
        f"judge = {_toml(wish.models[0])}",
        f"assistant = {_toml(list(wish.models))}",
        "",
        "[choices]",
        f"assistant = {_toml(list(wish.models))}",
        "",
        "[predict]",
        f"predictor = {_toml(list(wish.models))}",
    ]


_TABLES: Final = {
    "recordings": _recordings,
    "benchmark": _benchmark,
    "documents": _documents,
    "videos": _videos,
}


def _toml(value: object) -> str:
    """Return a text or list as TOML writes it, which is how JSON does."""
    return msgspec.json.encode(value).decode().replace('","', '", "')
