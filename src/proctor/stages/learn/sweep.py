"""``proctor learn sweep``: many settings of ``learn mistakes``, a grid and draws, here or on a cluster; the best on validation.

A file of settings (TOML) says what is tried::

    figure = "auc"              # of the validation part, what is chosen by: auc, auc_within, average_precision
    draws = 20                  # of what stands in [random]
    seed = 0                    # of these draws

    [fixed]                     # settings of every trial: options of learn mistakes, without dashes
    annotations = "captaincook4d"
    model = "v2"
    features = ["stores/omnivore"]

    [grid]                      # every combination
    seed = [0, 1, 2]            # trials that differ in the seed alone are one row, and their mean is what is chosen by

    [random]                    # drawn evenly from a list, or from a range
    batch = [16, 32, 64]
    lr = { low = 1e-5, high = 1e-3, log = true }

Every trial is a run folder of its own, and a line of ``journal.jsonl`` when it is done: a sweep that was killed goes on with
what is left, and the trial that it was killed in with its last checkpoint.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from proctor.compute import HERE, Place, map_items
from proctor.errors import UserError
from proctor.learn.settings import TrainOptions
from proctor.records import append_jsonl, content_hash, is_there, iter_jsonl, read_bytes
from proctor.settings import fields_of
from proctor.stages.learn.mistakes import Part, learn_mistakes
from proctor.stages.learn.settings import MistakesSettings, SweepSettings

__all__ = ["SweepRow", "Swept", "Trial", "TrialResult", "sweep_mistakes", "trials_of"]

JOURNAL: Final = "journal.jsonl"
FIGURES: Final = ("auc", "auc_within", "average_precision")
_NOT_HERE: Final = frozenset({"out", "page", "overwrite", "resamples", "devices"})
"""Options of learn mistakes that a sweep sets itself."""
_ONE_TEST: Final = ("annotations", "split", "observed")
"""What decides which steps are validated on; figures of different ones cannot be compared."""


class Trial(msgspec.Struct, frozen=True):
    """What is trained once.

    Attributes:
        name: hash of all its settings; its folder is called so.
        varied: the settings in which trials of a sweep differ.
        mistakes: what is trained on what.
        training: how.
    """

    name: str
    varied: dict[str, Any]
    mistakes: MistakesSettings
    training: TrainOptions


class TrialResult(msgspec.Struct, frozen=True):
    """A line of the journal."""

    trial: str
    varied: dict[str, Any]
    val: Part
    test: Part
    chosen: dict[str, Any]


class SweepRow(msgspec.Struct, frozen=True):
    """Trials that differ in the seed alone.

    Attributes:
        varied: their settings.
        seeds: how many trials.
        figure: mean of the validation figure; what is chosen by.
        deviation: over the seeds.
        trials: their names.
    """

    varied: dict[str, Any]
    seeds: int
    figure: float
    deviation: float
    trials: tuple[str, ...]


class Swept(msgspec.Struct, frozen=True):
    """A sweep.

    Attributes:
        figure: of the validation part.
        rows: the best first.
        test: mean over the seeds of the best row, by figure; no other row's test figures are looked at.
        trained: trials that were trained now; the others were in the journal.
        failed: by trial, why it has no result; the same command tries it again.
        journal: where all trials stand.
    """

    figure: str
    rows: tuple[SweepRow, ...]
    test: Mapping[str, float]
    trained: int
    failed: Mapping[str, str]
    journal: str


class _Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    low: float
    high: float
    log: bool = False


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fixed: dict[str, Any]
    grid: dict[str, list[Any]] = {}
    random: dict[str, _Range | list[Any]] = {}
    draws: int = 1
    seed: int = 0
    figure: str = "auc"


def trials_of(path: Path, out: Path) -> tuple[list[Trial], str]:
    """Return the trials of a file of settings, and the figure that is chosen by.

    Args:
        path: of the file (TOML).
        out: folder of the runs.

    Raises:
        UserError: if it is not such a file, or a setting is unknown, out of its bounds, or stands twice.
    """
    try:
        file = msgspec.convert(tomllib.loads(read_bytes(path).decode()), _File)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise UserError(f"this says no sweep: {error}.", where=str(path), hint="see docs/learn.md") from None
    _check(file, path)
    trials: dict[str, Trial] = {}
    for varied in _combinations(file):
        try:
            trial = _trial({**file.fixed, **varied}, varied, out)
        except (UserError, msgspec.ValidationError, TypeError, ValueError) as error:
            raise UserError(f"{error}", where=f"{path}: {varied}") from None
        trials[trial.name] = trial
    return list(trials.values()), file.figure


def _check(file: _File, path: Path) -> None:
    known = {f.name for struct in (MistakesSettings, TrainOptions) for f in fields_of(struct)} - _NOT_HERE
    places = [file.fixed, file.grid, file.random]
    named = [name for place in places for name in place]
    for name in named:
        if name not in known:
            raise UserError(
                f"there is no setting {name!r} to sweep.",
                where=str(path),
                hint=f"known: {', '.join(sorted(known))}",
            )
        if named.count(name) > 1:
            raise UserError(f"{name!r} is there twice.", where=str(path), hint="fix it, or vary it")
    for name, choice in {**file.grid, **file.random}.items():
        if name in _ONE_TEST:
            raise UserError(
                f"{name!r} varies, so trials would be compared on different steps.",
                where=str(path),
                hint=f"put {name} into [fixed], and sweep once for each",
            )
        if isinstance(choice, _Range) and (choice.low >= choice.high or (choice.log and choice.low <= 0)):
            raise UserError(f"the range of {name!r} is empty, or its logarithm is.", where=str(path))
        if isinstance(choice, list) and not choice:
            raise UserError(f"{name!r} has no values.", where=str(path))
    if file.figure not in FIGURES:
        raise UserError(
            f"nothing is chosen by {file.figure!r}.", where=str(path), hint=f"choose by {', '.join(FIGURES)}"
        )
    if file.draws < 1:
        raise UserError(f"{file.draws} draws try nothing.", where=str(path))


def _combinations(file: _File) -> Iterator[dict[str, Any]]:
    """Yield what varies: every combination of the grid with every draw."""
    generator = np.random.default_rng(file.seed)
    draws = [
        {name: _drawn(choice, generator) for name, choice in file.random.items()}
        for _ in range(file.draws if file.random else 1)
    ]
    for draw in draws:
        for values in product(*file.grid.values()):
            yield {**dict(zip(file.grid, values, strict=True)), **draw}


def _drawn(choice: _Range | list[Any], generator: np.random.Generator) -> Any:
    if isinstance(choice, list):
        return choice[int(generator.integers(len(choice)))]
    if choice.log:
        return float(f"{math.exp(generator.uniform(math.log(choice.low), math.log(choice.high))):.4g}")
    return float(f"{generator.uniform(choice.low, choice.high):.4g}")


def _trial(values: Mapping[str, Any], varied: dict[str, Any], out: Path) -> Trial:
    name = content_hash(values)[:12]
    of_mistakes, of_training = (
        {f.name: f.read(values[f.name]) for f in fields_of(struct) if f.name in values}
        for struct in (MistakesSettings, TrainOptions)
    )
    if "annotations" not in of_mistakes:
        raise UserError("[fixed] names no annotations.")
    mistakes = MistakesSettings(**of_mistakes, out=out / name, resamples=0)
    return Trial(name, varied, mistakes, TrainOptions(**of_training))


def sweep_mistakes(
    settings: SweepSettings, place: Place = HERE, seen: Callable[[], None] = lambda: None
) -> Swept:
    """Train every trial that is not in the journal yet, and choose on validation.

    Args:
        settings: the file of settings and the folder.
        place: where trials are trained.
        seen: called after each (for progress bars).

    Raises:
        UserError: if the file or the journal cannot be used, or no trial could be trained.
    """
    trials, figure = trials_of(settings.settings, settings.out)
    journal = settings.out / JOURNAL
    written: Iterable[TrialResult] = iter_jsonl(journal, TrialResult) if is_there(journal) else ()
    before = {result.trial: result for result in written}
    done = {t.name: before[t.name] for t in trials if t.name in before}
    left = [t for t in trials if t.name not in before]
    failed: dict[str, str] = {}
    for outcome in map_items(_tried, left, place, name=lambda t: t.name, seen=seen):
        if outcome.failure is not None:
            failed[outcome.name] = f"{outcome.item.varied}: {outcome.failure.message}"
            continue
        append_jsonl(journal, outcome.value)
        done[outcome.name] = outcome.value
    if not done:
        raise UserError(
            f"no trial could be trained. {next(iter(failed.values()))}", where=str(settings.settings)
        )
    rows = _ranked([done[t.name] for t in trials if t.name in done], figure)
    best = [done[trial].test for trial in rows[0].trials]
    test = {name: float(np.mean([_figure(part, name) for part in best])) for name in FIGURES}
    return Swept(figure, tuple(rows), test, len(left) - len(failed), failed, str(journal))


def _tried(trial: Trial) -> TrialResult:
    found = learn_mistakes(trial.mistakes, trial.training)
    chosen = msgspec.to_builtins(dict(found.chosen), enc_hook=str)
    return TrialResult(trial.name, trial.varied, found.val, found.test, chosen)


def _figure(part: Part, name: str) -> float:
    value = getattr(part, name)
    return math.nan if value is None else float(value)


def _ranked(results: Sequence[TrialResult], figure: str) -> list[SweepRow]:
    groups: dict[str, list[TrialResult]] = {}
    for result in results:
        rest = {name: value for name, value in result.varied.items() if name != "seed"}
        groups.setdefault(content_hash(rest), []).append(result)
    rows = []
    for group in groups.values():
        values = np.array([_figure(r.val, figure) for r in group])
        deviation = float(values.std(ddof=1)) if values.size > 1 else 0.0
        varied = {name: value for name, value in group[0].varied.items() if name != "seed"}
        rows.append(
            SweepRow(varied, len(group), float(values.mean()), deviation, tuple(r.trial for r in group))
        )
    return sorted(rows, key=lambda r: -math.inf if math.isnan(r.figure) else r.figure, reverse=True)
