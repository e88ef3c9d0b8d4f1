"""The stage ``judge``: predictions to judgements, by rules or by models, of every kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from proctor.ask.moment.promqa_prompt import generation_prompts
from proctor.compute import HERE, Place, batches, map_items
from proctor.errors import UserError, did_you_mean
from proctor.exam.kind import RuleMarker, kind_named
from proctor.exam.kinds.moment_marker import SCALES, Rubric
from proctor.exam.kinds.moment_question import MOMENT
from proctor.exam.library import Library, Prompts
from proctor.exam.marker import Marker, ModelMarker
from proctor.exam.matching import OPTIONS_MARKER, count_readings, matched_marks, unread
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item, Open
from proctor.llm.media import MediaStore
from proctor.llm.model import FUNCTION, is_asked
from proctor.records import iter_jsonl, write_jsonl
from proctor.stages.exam_library import exam_library
from proctor.stages.exam_settings import JudgeSettings
from proctor.stages.inputs import load_all_items, load_predictions
from proctor.stages.models import Closing, Limits, Models, open_models
from proctor.stages.naming import file_name
from proctor.stages.predict import RunInfo, items_hash, items_of_run, read_run_info, run_inputs
from proctor.stages.rehearsing import in_trial
from proctor.stages.spread import Packed, pack_graphs, unpack_graphs
from proctor.tables import Shown
from proctor.workspace import Workspace

if TYPE_CHECKING:
    from proctor.exam.function import Function, Marking
    from proctor.llm.estimate import Estimate
    from proctor.llm.message import Request

__all__ = ["Judged", "chosen_runs", "estimate_judging", "judge", "read_replies"]


class _Given(msgspec.Struct, frozen=True):
    """A line of a file of replies."""

    id: str | int
    reply: str


def read_replies(file: Path, scale: str) -> list[dict[str, Any]]:
    """Return what each reply of a judge model is read as: ``id``, ``score`` or None, ``rule`` and ``reason``.

    Args:
        file: JSON Lines with ``id`` and ``reply``.
        scale: ``ternary`` or ``binary``.

    Raises:
        UserError: for another scale, a line that cannot be read (with its number), or an id that occurs twice.
    """
    from proctor.exam.verdict.reply import read_verdict

    chosen = next((known for known in SCALES if known == scale), None)
    if chosen is None:
        raise UserError(f"--scale is {scale!r:.60}.", hint=f"one of {', '.join(SCALES)}")
    found: dict[str | int, dict[str, Any]] = {}
    replies: Iterator[_Given] = iter_jsonl(file, _Given)
    for given in replies:
        if given.id in found:
            raise UserError(
                f"the id {given.id!r:.100} occurs twice.",
                where=str(file),
                hint="give each reply an id of its own",
            )
        read = read_verdict(given.reply, chosen)
        found[given.id] = {
            "id": given.id,
            "score": read.score,
            "rule": read.form or read.reason,
            "reason": read.detail,
        }
    return list(found.values())


_LETTERS: Final = "letters"
"""The marker of questions with options, whatever their kind (``Kind.markers``)."""
_AT_ONCE: Final = 200
"""Answers that are sent to a worker together."""


class Judged(Shown, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of marking.

    Attributes:
        judge: name on the marks; of several runs by rule those of all kinds.
        runs: how many marks of each sort every run got; where a model matched options also how many replies were read by rule, matched
            by the model and not read.
        by_rule: of a model's judging the floors and bounds that rules marked in its place, with the name on their marks.
        skipped: runs that were not named and are not marked in this way, with the reason.
        calls: of a model; None for rules.
    """

    judge: str
    runs: dict[str, dict[str, int]]
    by_rule: dict[str, str] = {}
    skipped: dict[str, str] = {}
    calls: Closing | None = None


def judge(
    root: Path,
    settings: JudgeSettings | None = None,
    *,
    function: Marking | None = None,
    limits: Limits | None = None,
    place: Place = HERE,
    seen: Callable[[], None] | None = None,
    later: list[Callable[[], None]] | None = None,
) -> Judged:
    """Mark the answers of runs and write ``runs/<run>/judgements.jsonl``.

    A model's marks are also kept under ``runs/<run>/judgements/<judge>.jsonl``, one file a judge, rubric and repetition,
    so that judges can be compared; ``judgements.jsonl`` holds the marks that scores are made of: those of the last judge.

    Args:
        root: the workspace.
        settings: who marks which runs, and how.
        function: that marks in the place of a model, whatever judge the settings name (``proctor.exam.function``).
        limits: what a model's calls may cost, and where they are kept.
        place: where the rules run; their marks are the same everywhere.
        seen: called after each answer, or each call of a model.
        later: for several models that mark side by side: what makes a model's marks those that scores are made of is put here
            and not done, to be called in the order of the judges.

    Raises:
        UserError: if there are no runs, no such judge, a run answered other items, or it cannot be marked in this way.
    """
    workspace, settings = Workspace(root), settings or JudgeSettings()
    own = _own_judge(workspace, settings, function)
    settings = settings if own is None else msgspec.structs.replace(settings, judge=own.name)
    runs, skipped = _marked_runs(workspace, settings)
    if settings.match_options:
        return _match_options(workspace, runs, skipped, settings, limits, place, seen)
    result: dict[str, dict[str, int]] = {}
    asked = [run for run in runs if run.by_model]
    judges, calls = (
        _judge_with_model(workspace, asked, settings, own, limits, seen, later) if asked else ({}, None)
    )
    ruled: dict[str, str] = {}
    for run in runs:
        if run.by_model:
            result[run.name] = judges[run.name][1]
            continue
        ruled[run.name] = kind_named(run.info.kind).marker(run.marker).name
        marks = _by_rule(workspace, run, place, seen)
        result[run.name] = _count(marks)
        _now_or_later(partial(_write, workspace, run, marks, {"judge": ruled[run.name]}), later)
    named = dict.fromkeys([judge for judge, _ in judges.values()] or ruled.values())
    return Judged(
        judge=", ".join(named),
        runs=result,
        by_rule=ruled if is_asked(settings.judge) else {},
        skipped=skipped,
        calls=calls,
    )


def _match_options(
    workspace: Workspace,
    runs: Sequence[_Run],
    skipped: dict[str, str],
    settings: JudgeSettings,
    limits: Limits | None,
    place: Place,
    seen: Callable[[], None] | None,
) -> Judged:
    """Mark by rule, and have a model say which option those replies mean that no rule reads."""
    result: dict[str, dict[str, int]] = {}
    names: dict[str, None] = {}
    with open_models(workspace, limits, settings) as models:
        for run in runs:
            who = _matcher(models, workspace, run, settings)
            replies = unread(run.items, run.predictions)
            said = who.mark(run.items, replies, models.ask(f"judge/{run.name}", seen))
            by_rule = _by_rule(workspace, run, place, None)
            marks = matched_marks(run.items, by_rule, zip(replies, said, strict=True), who.name)
            names |= dict.fromkeys(mark.judge for mark in marks)
            settled = {"judge": marks[0].judge, "match_options": settings.match_options, **settings.said()}
            readings = count_readings(marks)
            result[run.name] = {**_count(marks), **readings}
            _write(workspace, run, marks, settled, {**readings, **models.remarks()})
        return Judged(judge=", ".join(names), runs=result, skipped=skipped, calls=models.closing())


def _now_or_later(write: Callable[[], None], later: list[Callable[[], None]] | None) -> None:
    if later is None:
        write()
    else:
        later.append(write)


_Answers = tuple[tuple[Item, Prediction], ...]


def _by_rule(
    workspace: Workspace, run: _Run, place: Place, seen: Callable[[], None] | None
) -> list[Judgement]:
    library = exam_library(workspace, run.items, MediaStore())
    mark = partial(_marked, run.info.kind, run.marker, pack_graphs(library.graphs))
    by_id = {item.id: item for item in run.items}
    marks: list[Judgement] = []
    answers = batches(((by_id[p.item_id], p) for p in run.predictions), _AT_ONCE)
    for outcome in map_items(mark, (Packed(batch, _Answers) for batch in answers), place):
        marks += outcome.value.value
        if seen is not None:
            for _ in outcome.item.value:
                seen()
    return marks


def _marked(kind: str, marker: str, graphs: bytes, answers: Packed[_Answers]) -> Packed[list[Judgement]]:
    by_rule = cast("RuleMarker", kind_named(kind).marker(marker))
    library = Library(media=MediaStore(), graphs=unpack_graphs(graphs))
    return Packed([by_rule.mark(item, p, library) for item, p in answers.value], list[Judgement])


def _judge_with_model(
    workspace: Workspace,
    runs: Sequence[_Run],
    settings: JudgeSettings,
    own: Function | None,
    limits: Limits | None,
    seen: Callable[[], None] | None,
    later: list[Callable[[], None]] | None,
) -> tuple[dict[str, tuple[str, dict[str, int]]], Closing]:
    """Have a model mark runs; return by run its name on the marks and how many there are of each sort, and what its calls came to."""
    found: dict[str, tuple[str, dict[str, int]]] = {}
    with open_models(workspace, limits, settings) as models:
        for run in runs:
            judges = _model_judges(models, workspace, run, settings, own, limits)
            for who in reversed(judges):  # the first one is the one that scores are made of
                marks = who.mark(run.items, run.predictions, models.ask(f"judge/{run.name}", seen))
                write_jsonl(run.folder / "judgements" / f"{file_name(who.name)}.jsonl", marks)
            settled = {"judge": judges[0].name, "repeats": settings.repeats, **settings.said()}
            found[run.name] = judges[0].name, _count(marks)
            _now_or_later(partial(_write, workspace, run, marks, settled, models.remarks()), later)
        return found, models.closing()


def _write(
    workspace: Workspace,
    run: _Run,
    marks: Sequence[Judgement],
    settings: Mapping[str, Any],
    remarks: Mapping[str, Any] | None = None,
) -> None:
    write_jsonl(run.folder / "judgements.jsonl", marks)
    workspace.record(
        f"judge/{run.name}",
        settings=settings,
        counts={**_count(marks), **(remarks or {})},
        inputs=(*run_inputs(workspace), f"runs/{run.name}/predictions.jsonl"),
        outputs=(f"runs/{run.name}/judgements.jsonl",),
    )


def estimate_judging(
    root: Path, settings: JudgeSettings | None = None, *, limits: Limits | None = None
) -> Estimate | None:
    """Say what a model's marks would take, from the real prompts; nothing is sent. None for rules alone: they ask nobody.

    The second round, for replies without a verdict, is not in it.

    Raises:
        UserError: as ``judge``.
    """
    workspace, settings = Workspace(root), settings or JudgeSettings()
    own = _own_judge(workspace, settings)
    marked, _ = _marked_runs(workspace, settings)
    runs = [run for run in marked if run.by_model or settings.match_options]
    if not runs:
        return None
    with open_models(workspace, limits, settings) as models:

        def stages() -> Iterator[tuple[str, Iterable[Request]]]:
            for run in runs:
                if settings.match_options:
                    who = _matcher(models, workspace, run, settings)
                    yield f"judge/{run.name}", who.requests(run.items, unread(run.items, run.predictions))
                    continue
                for who in _model_judges(models, workspace, run, settings, own, limits):
                    yield f"judge/{run.name}", who.requests(run.items, run.predictions)

        return models.estimate(stages())


# -- which runs are marked how -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Run:
    """A run with what marks it: the name of a marker of its kind."""

    name: str
    folder: Path
    info: RunInfo
    items: list[Item]
    predictions: list[Prediction]
    marker: str

    @property
    def by_model(self) -> bool:
        """Whether a model marks it."""
        return hasattr(kind_named(self.info.kind).marker(self.marker), "prompt")


def _marked_runs(workspace: Workspace, settings: JudgeSettings) -> tuple[list[_Run], dict[str, str]]:
    """Return the runs that the settings mark, and why others that were not named are left alone.

    Raises:
        UserError: if there is no such judge, or a run that was named, or all of them, cannot be marked so.
    """
    if not is_asked(settings.judge) and settings.judge != "rules":
        from proctor.llm.prices import meant_name

        raise UserError(
            f"there is no judge '{settings.judge}'.",
            hint=meant_name(settings.judge)
            or did_you_mean(settings.judge, ("rules", "a model such as openai/gpt-4o")),
        )
    if settings.match_options and settings.judge != "rules":
        raise UserError(
            "options are matched where rules mark, and here a model does.",
            where="--match-options",
            hint="leave out --judge, or judge and match one after the other",
        )
    every = load_all_items(workspace)
    found: list[_Run] = []
    skipped: dict[str, UserError] = {}
    for name in chosen_runs(workspace, settings.runs):
        folder = workspace.run_folder(name)
        info = read_run_info(folder)
        items = items_of_run(every, info)
        try:
            marker = _marker_of(info, items, settings)
        except UserError as error:
            if name in settings.runs:
                raise
            skipped[name] = error
            continue
        _require_same_items(folder, info, items)
        found.append(_Run(name, folder, info, items, load_predictions(folder, items), marker))
    if not found:
        reasons = {error.message: error.hint for error in skipped.values()}
        raise UserError(
            f"no run can be marked in this way: {' '.join(reasons)}",
            hint="; ".join(dict.fromkeys(filter(None, reasons.values()))),
        )
    return found, {name: error.message for name, error in skipped.items()}


def _marker_of(info: RunInfo, items: Sequence[Item], settings: JudgeSettings) -> str:
    """Return the name of the marker of a run's kind that the settings mean.

    Raises:
        UserError: if it has none.
    """
    kind = kind_named(info.kind)
    if kind.measured.computed:
        raise UserError(
            f"answers to questions of the kind '{info.kind}' need no judge.",
            hint="they are measured as they are: run proctor score",
        )
    form = items[0].question.form if items else Open()
    by_model = is_asked(settings.judge)
    sorts = {name: hasattr(kind.marker(name), "prompt") for name in kind.markers(form)}
    known = [name for name, asks in sorts.items() if asks == by_model]
    wanted = settings.rubric
    if by_model and wanted is None and info.kind == MOMENT:
        wanted = Rubric(settings.scale, settings.context, settings.mistakes, settings.form).name
        if wanted not in known:
            wanted = None
    if not known:
        raise UserError(
            f"answers to {'these' if by_model else 'open-ended'} questions of the kind '{info.kind}' are marked by "
            + ("rules alone." if by_model else "models alone."),
            hint="mark them by rule: --judge rules" if by_model else "name a model: --judge MODEL",
        )
    if settings.match_options and known[0] != _LETTERS:
        raise UserError(
            "its questions have no options that a reply could be matched with.",
            hint="leave out --match-options, or name runs of questions with options: --run",
        )
    if wanted is not None and wanted not in known:
        raise UserError(
            f"there is no rubric {wanted!r:.80} for questions of the kind '{info.kind}'.",
            hint=f"rubrics for the kind '{info.kind}': {', '.join(known)}",
        )
    if by_model and info.asks_no_model and not settings.judge_floors and not all(sorts.values()):
        return next(name for name, asks in sorts.items() if not asks)
    return wanted or known[0]


def _own_judge(
    workspace: Workspace, settings: JudgeSettings, function: Marking | None = None
) -> Function | None:
    """Return the function that marks in the place of a model; in a dry run none is called, and one that finds all right stands in."""
    if function is None and not settings.judge.startswith(FUNCTION):
        return None
    from proctor.exam.function import marking

    own = marking(settings.judge if function is None else function)
    return replace(own, answer=lambda _: 2) if in_trial(workspace.root) else own


def _model_judges(
    models: Models,
    workspace: Workspace,
    run: _Run,
    settings: JudgeSettings,
    own: Function | None,
    limits: Limits | None,
) -> list[ModelMarker]:
    """Return a model, or a function in its place, as judge of a run, once for each repetition."""
    if own is not None:
        models.functions[own.name] = own
    marker = cast("Marker", kind_named(run.info.kind).marker(run.marker))
    library = exam_library(workspace, run.items, models.media)
    templates = models.prompts
    if marker.template not in templates.names:
        templates = generation_prompts(limits.prompts if limits else None)
    return [
        ModelMarker(
            model=settings.judge,
            marker=marker,
            library=library,
            prompts=Prompts(templates, models.secret),
            repeat=k,
            price=models.price,
            replying=models.replying,
            function=own,
        )
        for k in range(settings.repeats)
    ]


def _matcher(models: Models, workspace: Workspace, run: _Run, settings: JudgeSettings) -> ModelMarker:
    """Return the model that matches the replies of a run with options."""
    return ModelMarker(
        model=settings.match_options or "",
        marker=OPTIONS_MARKER,
        library=exam_library(workspace, run.items, models.media),
        prompts=Prompts(models.prompts, models.secret),
        price=models.price,
        replying=models.replying,
    )


def chosen_runs(workspace: Workspace, names: Sequence[str]) -> list[str]:
    """Return the runs that were named, or all; a name under which several came in (``RunInfo.named``) means each of them.

    Raises:
        UserError: if there is none, or one that was named has no predictions.
    """
    known = workspace.run_names()
    if not known:
        raise UserError(
            "there are no runs yet.",
            where=str(workspace.root),
            hint=f"run first: proctor predict {workspace.root}",
        )
    meant = {name: [run for run in known if run == name or _named(workspace, run) == name] for name in names}
    unknown = [name for name, runs in meant.items() if not runs]
    if unknown:
        raise UserError(
            f"there is no run '{unknown[0]}'.",
            where=str(workspace.runs),
            hint=did_you_mean(unknown[0], known),
        )
    return list(dict.fromkeys(run for runs in meant.values() for run in runs)) or known


def _named(workspace: Workspace, run: str) -> object:
    with suppress(UserError):  # of a run that nobody has named
        return read_run_info(workspace.run_folder(run)).named
    return None


def _require_same_items(folder: Path, info: RunInfo, items: Sequence[Item]) -> None:
    if info.items != items_hash(items):
        raise UserError(
            f"the run '{folder.name}' answered other items than items.jsonl holds now.",
            where=str(folder),
            hint="run 'proctor predict' again for this benchmark",
        )


def _count(marks: Sequence[Judgement]) -> dict[str, int]:
    names = {0: "wrong", 1: "partial", 2: "match", None: "unscored"}
    return dict(Counter(names[m.score] for m in marks))
