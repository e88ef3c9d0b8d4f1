"""Small annotated videos, and InstructionBench's experiment about them with all models played."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.llm.fence import FENCE_FILE
from proctor.stages.clip.settings import ChoiceOptions, FilterOptions, PairOptions
from proctor.stages.experiment.clip import PLAN as CLIPS
from proctor.stages.experiment.conduct import conduct
from proctor.stages.experiment.settings import ClipAnswerSettings
from proctor.stages.experiment.stage import Chosen, Done
from proctor.stages.models import Limits
from proctor.stages.settings import BuildSettings
from proctor.stages.show import Show
from proctor_rehearsal.rehearsal import open_rehearsal
from proctor_rehearsal.standin import Standin

WRITER, JUDGE = "openai/gpt-4o", "anthropic/claude-sonnet-4-5"
ASSISTANTS: Final = ("openai/gpt-4o", "google/gemini-2.0-flash", "anthropic/claude-sonnet-4-5")
PREDICTORS: Final = ("openai/gpt-4o-mini", "google/gemini-2.0-flash")
QUALITY: Final = 0.9
MADE: Final = (
    "clips.jsonl",
    "clips.dropped.jsonl",
    "pairs.jsonl",
    "pairs.dropped.jsonl",
    "filters.jsonl",
    "filters.dropped.jsonl",
    "open.jsonl",
    "training.jsonl",
    "choices.jsonl",
    "choices.attempts.jsonl",
    "choices.dropped.jsonl",
    "report.html",
)
"""Files that do not depend on how often the experiment was begun."""

_VERBS = ("chop", "stir", "pour", "rinse", "fold", "toast", "grate", "whisk")
_THINGS = (
    "the carrots",
    "two eggs",
    "the rice",
    "some butter",
    "three onions",
    "the bread",
    "a lemon",
    "the peppers",
)
_PLACES = (
    "in a large pan",
    "with a knife",
    "in a glass bowl",
    "on the board",
    "with a wooden spoon",
    "under water",
)


def row(number: int, *, steps: int = 6, name: str = "", dataset: str = "HiREST") -> dict[str, Any]:
    """Return one annotated video as a row of ``steps``."""
    parts = [
        {
            "i": i,
            "start": 10 * i + 2,
            "end": 10 * i + 9,
            "text": f"{_VERBS[(number + 3 * i) % 8]} {_THINGS[(5 * number + i) % 8]} {_PLACES[(number + i) % 6]}",
        }
        for i in range(steps)
    ]
    return {
        "dataset": dataset,
        "video_id": name or f"vid{number:02}",
        "task": f"Cook dish number {number}",
        "split": "train",
        "duration": 10.0 * steps + 5,
        "moment": [0, 10 * steps + 4],
        "steps": parts,
    }


def write_rows(folder: Path, rows: Sequence[dict[str, Any]], name: str = "hirest.jsonl") -> Path:
    """Write a folder for the reader ``steps``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return folder


@dataclass(frozen=True, kw_only=True)
class How:
    """What an experiment is to do."""

    pairs: PairOptions
    filters: FilterOptions
    choices: ChoiceOptions
    systems: Sequence[str] = PREDICTORS[:1]
    views: Sequence[str] = ("question", "steps")
    style: str = "d"
    judge: str | None = WRITER
    matcher: str | None = JUDGE
    videos: Path | None = None

    @property
    def chosen(self) -> Chosen:
        """The same by stage."""
        answering = ClipAnswerSettings(
            predictor=tuple(self.systems), show=tuple(self.views), style=self.style, judge=self.judge,  # type: ignore[arg-type]
            videos=self.videos, seed=3, match_options=self.matcher,
        )  # fmt: skip
        return {
            "pairs": self.pairs, "filter": self.filters, "choices": self.choices, "build": BuildSettings(), "predict": answering,
        }  # fmt: skip


def plan(folder: Path | None, **more: Any) -> How:
    """Return a small plan: three assistants, one predictor, options and open answers."""
    data = (folder,) if folder is not None else ()
    made = How(
        pairs=PairOptions(generator=WRITER, data=data, dataset=("steps",) if data else (), total=16, seed=3),
        filters=FilterOptions(judge=(JUDGE,), assistant=ASSISTANTS, benchmark_share=0.7, seed=3),
        choices=ChoiceOptions(writer=WRITER, assistant=ASSISTANTS, seed=3),
    )
    return replace(made, **more)


def do(root: Path, how: How, *, limits: Limits | None = None, show: Show) -> Done:
    """Do an experiment."""
    return conduct(root, CLIPS, how.chosen, limits=limits, show=show)


@contextmanager
def quietly(_title: str, _total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show no progress."""
    yield lambda: None


def rehearsed(
    root: Path, how: How, *, limits: Limits | None = None, quality: float = QUALITY
) -> tuple[Done, Standin]:
    """Do an experiment with all models played; return what came of it and the server."""
    with open_rehearsal(root, quality, seed=3, show=quietly) as models:
        limits = msgspec.structs.replace(limits or Limits(), rehearsal=models)
        done = do(root, how, limits=limits, show=quietly)
        return done, models.server


def same_secret(root: Path, other: Path) -> Path:
    """Make a new workspace whose prompts are those of another one, and return it."""
    other.mkdir(parents=True)
    shutil.copy(root / FENCE_FILE, other / FENCE_FILE)
    return other


def fingerprints(root: Path, names: Sequence[str] = MADE) -> dict[str, str]:
    """Return a hash of each of the files that are there, of runs' files, too."""
    found = [root / name for name in names if (root / name).exists()]
    found += sorted((root / "runs").rglob("*.json*"))
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in found}
