"""The plan that ``proctor init`` writes: short, commented, ready to run."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

import msgspec

from proctor.datasets.dataset import guess_dataset
from proctor.errors import UserError
from proctor.records import atomic_write
from proctor.samples import Sample, copy_sample
from proctor.stages.experiment.settings import NOBODY

__all__ = ["Wish", "draft_plan"]

_SAMPLES: Final[dict[tuple[str, str], Sample]] = {
    ("recordings", "sample"): "everyday",
    ("documents", "manuals"): "manuals",
}
"""What is shipped and copied when it is named: what somebody has, and the name."""
_KINDS: Final = {"recordings": "moment", "documents": "documents", "videos": "clip", "benchmark": "moment"}


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody has and wants.

    Attributes:
        have: what there is.
        data: its folder, or a benchmark's name; ``sample`` and ``manuals`` for the recordings and documents that are shipped.
        models: that are asked.
    """

    have: Literal["recordings", "documents", "videos", "benchmark"]
    data: str
    models: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Of the questions."""
        return _KINDS[self.have]


def draft_plan(path: Path, wish: Wish) -> list[Path]:
    """Write a plan, and beside it what it needs and is shipped: a sample, an example of a function that answers.

    Returns:
        What was written, the plan last.

    Raises:
        UserError: if there is no such folder, no data set in it or no such benchmark, models are lacking, or the file cannot be written.
    """
    if wish.kind != "moment" and not wish.models:
        raise UserError(
            f"questions about {wish.have} are written by models, and none is named.",
            hint="--model openai/gpt-4o; 'rehearse' in the plan plays it on this machine, without a key",
        )
    folder = path.parent
    data = folder / Path(wish.data).expanduser()
    written: list[Path] = []
    if (sample := _SAMPLES.get((wish.have, wish.data))) and not data.exists():
        written.append(copy_sample(data, sample))
    elif wish.have != "benchmark" and not data.is_dir():
        shipped = [name for have, name in _SAMPLES if have == wish.have]
        near = get_close_matches(wish.data, shipped, n=1)
        raise UserError(
            "there is no such folder.",
            where=str(data),
            hint=f"did you mean {near[0]}, which is shipped?"
            if near
            else "give the folder that holds the data",
        )
    workspace = f"{path.stem}-bench" if path.stem == wish.data else path.stem
    # the name of a benchmark stands in paths and signatures
    called = re.sub(r"[^A-Za-z0-9._-]+", "-", workspace).strip(".-_")[:60] or "benchmark"
    lines = [
        f"# What would it cost?    proctor run {path.name} --dry-run",
        f"# Do it:                 proctor run {path.name}",
        f"# All settings of every stage: proctor experiment {wish.kind} --help",
        "",
        "[experiment]",
        f'kind = "{wish.kind}"',
        f"workspace = {_toml(workspace)}",
        *_rehearse(wish),
        *([] if not wish.models else ["", "[limits]", "max_cost = 5  # US dollars, for all stages together"]),
        *_TABLES[wish.have](wish, data),
        *([] if wish.have == "benchmark" else ["", "[build]", f"name = {_toml(called)}  # of the benchmark"]),
    ]
    with atomic_write(path) as stream:
        stream.write("\n".join([*lines, ""]).encode())
    return [*written, *_functions(wish, folder), path]


def _functions(wish: Wish, folder: Path) -> list[Path]:
    """Write an example for each function that is named and that nobody has written yet."""
    written = []
    for model in wish.models:
        if (named := _FUNCTION.fullmatch(model)) and not (named[1] in sys.modules or find_spec(named[1])):
            module = folder / f"{named[1]}.py"
            if not module.exists():
                with atomic_write(module) as stream:
                    stream.write(_EXAMPLE.format(function=named[2]).encode())
                written.append(module)
    return written


_FUNCTION: Final = re.compile(r"python:([A-Za-z_]\w*):([A-Za-z_]\w*)")
_EXAMPLE: Final = '''"""A function that answers: replace its body with your model. docs/evaluate.md says what it is given."""


def {function}(shown):
    """Return the answer to one question as text, or None where there is none.

    shown.question is the question, shown.options are the options of a multiple choice, shown.prompt is the whole text
    that a model would get, and shown.parts are what is shown of the evidence: part.text, part.time, part.mime, part.path.
    """
    if shown.options:
        return "A"
    return "Nothing, you are on track."
'''


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
    from proctor.release.folder import load_benchmark

    load_benchmark(data if data.is_dir() else wish.data)  # there is one, and it is whole
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
        "per_cell = 2  # questions of every style and mixture of sources; more for a real benchmark",
        "",
        "[retrieve]",
        'retrievers = ["bm25", "lsa", "bm25+lsa"]',
        "",
        "[answer]",
        f"model = {_toml(list(wish.models))}",
        'sources = ["gold", "bm25@5"]  # what they answer from: the right sources, or those that are found',
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
