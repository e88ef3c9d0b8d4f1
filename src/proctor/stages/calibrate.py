"""The stage ``calibrate``: judges held against people, and what follows for scores.

It reads every judgement in the workspace (``runs/<run>/judgements*.jsonl`` and ``runs/<run>/judgements/*.jsonl``) and
people's marks from files or from judges called ``human/NAME``, and writes ``calibration.json`` for moments,
``calibration.<kind>.json`` for other kinds of questions. ``proctor score`` and
``proctor report`` take that file up: the corrected scores of a run follow from people's marks in it and the run's
judgements as they are then, and their signatures name the calibration's hash.

Within this stage an answer is named by item and *run*, because two runs may have the same predictor.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import msgspec

from proctor.ask.moment.candidate import Candidate
from proctor.errors import UserError, did_you_mean
from proctor.exam.corrected import CorrectedScore, correct_score
from proctor.exam.estimate import Draws
from proctor.exam.judge_calibration import Calibration, calibrate_judges
from proctor.exam.judge_marks import (
    HumanMarks,
    JudgeMarks,
    JudgeSetup,
    is_human,
    judge_sort,
    sort_marks,
    unite_people,
)
from proctor.exam.kind import kind_named
from proctor.exam.kinds.moment_question import MOMENT, moment_candidate, moment_example
from proctor.exam.prediction import Judgement
from proctor.exam.question import Item
from proctor.exam.self_preference import SelfPreference, analyse_self_preference
from proctor.records import content_hash, file_sha256, read_json, read_jsonl, write_json
from proctor.stages.exam_settings import CalibrateSettings
from proctor.stages.inputs import load_all_items, load_predictions
from proctor.stages.predict import items_of_run, read_run_info
from proctor.stages.scoring.files import Table, read_table
from proctor.workspace import Workspace, is_there

__all__ = [
    "CALIBRATION_FILE",
    "CalibrationFile",
    "Evidence",
    "calibrate",
    "calibrated_people",
    "calibration_file",
    "corrected_scores",
    "load_calibration",
    "load_evidence",
    "question_writers",
    "require_marked_items",
]

CALIBRATION_FILE: Final = "calibration.json"

_ITEM: Final = ("item_id", "item", "id")
_RUN: Final = ("run", "predictor", "system")
_MARK: Final = ("human", "score", "mark")
_PERSON: Final = ("annotator", "person")


class CalibrationFile(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What ``calibration.json`` holds; its predictors are runs of the workspace.

    Attributes:
        calibration: judges against people.
        self_preference: of model families, from the same judgements.
    """

    calibration: Calibration
    self_preference: SelfPreference = SelfPreference()

    @property
    def hash(self) -> str:
        """First 12 digits of the hash of the calibration, for signatures."""
        return content_hash(self.calibration)[:12]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that was judged of one kind of questions, by run.

    Attributes:
        items: of the kind.
        clusters: of every item: what intervals draw whole.
        judges: machine judges' marks by setup.
        people: judgements by people.
        models: model behind each run, where its predictions say so.
        current: judge and template of each run's ``judgements.jsonl``, which its scores are made from.
        files: names of the files that were read, relative to the workspace.
    """

    items: tuple[Item, ...]
    clusters: Mapping[str, str]
    judges: tuple[JudgeMarks, ...]
    people: tuple[Judgement, ...]
    models: Mapping[str, str]
    current: Mapping[str, JudgeSetup]
    files: tuple[str, ...]


class Calibrated(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the stage, for printing.

    Attributes:
        kind: of the questions.
        hash: that the signatures of corrected scores name.
        file: what was written.
        corrected: corrected scores of every run, for the judges that are in use or chosen.
    """

    kind: str
    hash: str
    file: CalibrationFile
    corrected: Mapping[str, tuple[CorrectedScore, ...]]


def calibrate(root: Path, settings: CalibrateSettings | None = None) -> Calibrated:
    """Calibrate the judges of a kind of questions and write ``calibration.json`` (``calibration.<kind>.json`` but for moments).

    Args:
        root: the workspace.
        settings: whose marks, which judges, and how one is chosen; those of the workspace by default.

    Raises:
        UserError: if nobody judged anything, people's marks are missing, of several kinds or do not fit the runs, or there is no
            such judge or kind.
    """
    workspace = Workspace(root)
    settings = settings or workspace.resolve(CalibrateSettings)
    items = load_all_items(workspace)
    files = [Path(p) for p in settings.human]
    said = [j for p in files for j in _read_people(p, workspace, items)]
    kind = settings.kind or _marked_kind(workspace, items, said)
    evidence = load_evidence(workspace, items, kind)
    if settings.kind and not evidence.items:
        there = dict.fromkeys(item.question.kind for item in items)
        raise UserError(
            f"there are no items of the kind {kind!r:.80}.",
            where=str(workspace.file("items.jsonl")),
            hint=did_you_mean(kind, there),
        )
    people = unite_people([*evidence.people, *(j for j in said if j.item_id in evidence.clusters)])
    chosen = _chosen(evidence.judges, settings.judge)
    _require_marks(people, evidence, workspace)
    draws = Draws(**settings.resampling, cluster=kind_named(kind).measured.cluster)
    result = CalibrationFile(
        calibration=calibrate_judges(
            people,
            chosen,
            evidence.clusters,
            right=settings.right,
            criterion=settings.criterion,
            draws=draws,
        ),
        self_preference=analyse_self_preference(
            chosen,
            evidence.clusters,
            models=evidence.models,
            generators=question_writers(workspace, evidence.items),
            moments=_moments(evidence.items),
            families=_families(settings.family),
            template=settings.template or _only(setup.template for setup in evidence.current.values()),
            generator_judge=_only(setup.name for setup in evidence.current.values()) or "",
            draws=draws,
        ),
    )
    name = calibration_file(kind)
    write_json(workspace.file(name), result)
    kept = {name: value for name, value in msgspec.to_builtins(settings).items() if name != "kind"}
    workspace.keep("calibrate", kept)
    workspace.record(
        "calibrate" if kind == MOMENT else f"calibrate/{kind}",
        settings={**kept, "human_sha256": {str(p): file_sha256(p) for p in files}},
        counts={"marks": len(people.marks), "judges": len(chosen)},
        inputs=("items.jsonl", *evidence.files),
        outputs=(name,),
    )
    return Calibrated(
        kind=kind,
        hash=result.hash,
        file=result,
        corrected=corrected_scores(result, replace(evidence, judges=tuple(chosen))),
    )


def calibration_file(kind: str = MOMENT) -> str:
    """Return the name of the file with the calibration of a kind of questions."""
    return CALIBRATION_FILE if kind == MOMENT else f"calibration.{kind}.json"


def _marked_kind(workspace: Workspace, items: Sequence[Item], said: Sequence[Judgement]) -> str:
    """Return the kind of the questions whose answers people marked, in files or in the runs; the runs' own where nobody did.

    Raises:
        UserError: if there are several.
    """
    of = {item.id: item.question.kind for item in items}
    infos = {name: read_run_info(workspace.run_folder(name)) for name in workspace.run_names()}
    known = list(dict.fromkeys(info.kind for info in infos.values()))
    if len(known) > 1:
        marked = {of[j.item_id] for j in said}
        marked |= {kind for kind in known if load_evidence(workspace, items, kind).people}
        known = [kind for kind in known if kind in marked] or known
    if len(known) > 1:
        raise UserError(
            f"there are answers to questions of {len(known)} kinds: {', '.join(known)}.",
            hint=f"say whose judges are calibrated: --kind {known[0]}",
        )
    return known[0] if known else MOMENT


def _moments(items: Iterable[Item]) -> dict[str, str]:
    """Return what each question is about, by item: questions by several models about one thing are compared."""
    return {
        i.id: moment_example(i.question).id if i.question.kind == MOMENT else i.question.parent or i.id
        for i in items
    }


def load_calibration(
    workspace: Workspace, items: Sequence[Item], kind: str = MOMENT
) -> CalibrationFile | None:
    """Return the calibration of a kind of questions, or None when there is none.

    Raises:
        UserError: if the file is broken, or speaks of items that are gone.
    """
    path = workspace.file(calibration_file(kind))
    if not is_there(path):
        return None
    found: CalibrationFile = read_json(path, CalibrationFile)
    hint = f"run again: proctor calibrate {workspace.root}, or remove the file"
    known = {i.id for i in items}
    gone = [m.item_id for m in found.calibration.human if m.item_id not in known]
    if gone:
        raise UserError(
            f"{len(gone)} human marks are about items that the benchmark does not have, such as '{gone[0][:80]}'.",
            where=str(path),
            hint=hint,
        )
    votes = [v for m in found.calibration.human for v in m.votes]
    if (
        not all(m.votes for m in found.calibration.human)
        or any(v not in (0, 1, 2) for v in votes)
        or found.calibration.right
        not in (
            1,
            2,
        )
    ):
        raise UserError(
            "it holds an answer without a mark, or a mark that is not 0, 1 or 2.", where=str(path), hint=hint
        )
    return found


def corrected_scores(
    found: CalibrationFile, evidence: Evidence, runs: Iterable[str] | None = None
) -> dict[str, tuple[CorrectedScore, ...]]:
    """Return the corrected scores of every run, one for each judge that marked it and is in use or chosen."""
    calibration = found.calibration
    draws = Draws(
        calibration.confidence, calibration.resamples, calibration.seed, cluster=calibration.cluster
    )
    names = sorted({a.predictor for j in evidence.judges for a in j.marks})
    votes = calibration.votes
    shown = {calibration.choice.judge, *(s.name for s in evidence.current.values())}
    result = {}
    for run in names if runs is None else runs:
        of_run = [
            j for j in evidence.judges if j.setup.name in shown and any(a.predictor == run for a in j.marks)
        ]
        result[run] = tuple(
            correct_score(
                judge,
                run,
                votes,
                evidence.clusters,
                calibration=found.hash,
                right=calibration.right,
                draws=draws,
            )
            for judge in of_run
        )
    return result


# -- what was judged ---------------------------------------------------------------------------------------------------


def load_evidence(workspace: Workspace, items: Sequence[Item], kind: str = MOMENT) -> Evidence:
    """Read all judgements of all runs over one kind of questions.

    Where models judge all systems, what rules said of floors and bounds is left out: no judge is chosen by it.

    Raises:
        UserError: if a file is broken, a judgement is about an unknown item, or two contradict each other.
    """
    of_kind = tuple(item for item in items if item.question.kind == kind)
    clusters = {i.id: i.question.cluster or i.id for i in of_kind}
    unique: dict[tuple[str, ...], Judgement] = {}
    current: dict[str, JudgeSetup] = {}
    by_rule: dict[tuple[str, ...], Judgement] = {}  # and about floors and bounds
    setups_by_rule: dict[str, JudgeSetup] = {}
    files, models = [], {}
    for run in workspace.run_names():
        folder = workspace.run_folder(run)
        info = read_run_info(folder)
        if info.kind != kind or info.form == "choice":
            continue
        for path in sorted({*folder.glob("judgements*.jsonl"), *folder.glob("judgements/*.jsonl")}):
            files.append(str(path.relative_to(workspace.root)))
            found = [msgspec.structs.replace(j, predictor=run) for j in _read_judgements(path, clusters)]
            for j in found:
                aside = info.asks_no_model and judge_sort(j.judge) == "rule"
                (by_rule if aside else unique).setdefault(_key(j), j)
            if path.name == "judgements.jsonl" and (setups := [m.setup for m in sort_marks(found)]):
                aside = info.asks_no_model and judge_sort(setups[0].judge) == "rule"
                (setups_by_rule if aside else current)[run] = setups[0]
        predictions = load_predictions(folder, items_of_run(items, info))
        named_models = {p.details["model"] for p in predictions if p.details.get("model")}
        models[run] = named_models.pop() if len(named_models) == 1 else info.predictor
    sorts = {judge_sort(j.judge) for j in unique.values()}
    if "rule" in sorts or "model" not in sorts:
        unique, current = unique | by_rule, current | setups_by_rule
    all_ = list(unique.values())
    return Evidence(
        items=of_kind,
        clusters=clusters,
        judges=sort_marks(all_),
        people=tuple(j for j in all_ if is_human(j.judge)),
        models=models,
        current=current,
        files=tuple(files),
    )


def calibrated_people(workspace: Workspace, evidence: Evidence) -> HumanMarks:
    """Return people's marks that the calibration was made from, as far as they can still be read."""
    record = workspace.stages().get("calibrate")
    files = {} if record is None else record.settings.get("human_sha256", {})
    said = [*evidence.people]
    for path, digest in files.items():
        # Files may have changed since and runs may be gone: the calibration stays what it was.
        with contextlib.suppress(UserError):
            if is_there(Path(path)) and file_sha256(Path(path)) == digest:
                said += _read_people(Path(path), workspace, evidence.items)
    try:
        return unite_people(said)
    except UserError:
        return HumanMarks({})


def _read_judgements(path: Path, known: Container[str]) -> list[Judgement]:
    found: list[Judgement] = read_jsonl(path, Judgement)
    for number, judgement in enumerate(found, 1):
        where = f"{path}: record {number} ('{judgement.item_id[:80]}')"
        if judgement.item_id not in known:
            raise UserError("there is no such item in items.jsonl.", where=where, hint="judge again")
        if judgement.score not in (None, 0, 1, 2):
            raise UserError(f"its score is {judgement.score}; 0, 1, 2 or null was expected.", where=where)
    return found


def _key(judgement: Judgement) -> tuple[str, ...]:
    """Two files may hold the same judgement: the run's chosen ones and those of its judge."""
    details = judgement.details
    place = (
        judgement.judge,
        details.get("template", ""),
        details.get("scale", ""),
        details.get("repeat", ""),
    )
    return (*place, judgement.item_id, judgement.predictor, str(judgement.score))


def _chosen(judges: Sequence[JudgeMarks], patterns: Sequence[str]) -> list[JudgeMarks]:
    if not patterns:
        return list(judges)
    unused = [p for p in patterns if not any(_fits(j, p) for j in judges)]
    if unused:
        known = (j.setup.name for j in judges)
        raise UserError(f"there is no judge '{unused[0]}'.", hint=did_you_mean(unused[0], known))
    return [j for j in judges if any(_fits(j, p) for p in patterns)]


def _fits(judge: JudgeMarks, pattern: str) -> bool:
    names = (judge.setup.judge, judge.setup.template, judge.setup.name)
    return any(n == pattern or fnmatchcase(n, pattern) for n in names if n)


def _require_marks(people: HumanMarks, evidence: Evidence, workspace: Workspace) -> None:
    if not evidence.judges and not evidence.people:
        raise UserError(
            "no run is judged yet.",
            where=str(workspace.root),
            hint=f"run first: proctor judge {workspace.root}",
        )
    if not people.marks:
        raise UserError(
            "there are no marks by people.",
            where=str(workspace.root),
            hint="give a file with --human: item_id, predictor, human (0, 1 or 2)",
        )


def question_writers(workspace: Workspace, items: Sequence[Item]) -> dict[str, str]:
    """Return the model that wrote each item's question, where a model did and it is known."""
    found = {i.id: g for i in items if (g := i.question.provenance.get("generator"))}
    path = workspace.file("candidates.jsonl")
    if not is_there(path):
        return found
    candidates: list[Candidate] = read_jsonl(path, Candidate)
    models = {c.id: c.provenance.model for c in candidates}
    return found | {
        i.id: model
        for i in items
        if i.question.kind == MOMENT and (model := models.get(moment_candidate(i.question)))
    }


def _only(names: Iterable[str]) -> str | None:
    """Return what all scores are made with, None where they are made with several."""
    found = set(names)
    return found.pop() if len(found) == 1 else None


def _families(pairs: Sequence[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        pattern, equals, family = pair.partition("=")
        if not equals or not pattern.strip() or not family.strip():
            raise UserError(
                f"'{pair}' assigns no family.", hint="write PATTERN=FAMILY, such as 'compat/qwen*=qwen'"
            )
        found[pattern.strip()] = family.strip()
    return found


# -- people's files ----------------------------------------------------------------------------------------------------


def _read_people(path: Path, workspace: Workspace, items: Sequence[Item]) -> list[Judgement]:
    table = read_table(path)
    runs = _RunNames(workspace)
    ids = table.texts(*_ITEM)
    mark = table.require(*_MARK)
    systems = table.texts(*_RUN) if table.find(*_RUN) else None
    people = _people(table)
    found = []
    for row, item_id in enumerate(ids):
        name = runs.find(systems[row]) if systems is not None else runs.only()
        if name is None:
            raise table.wrong(
                row,
                table.require(*_RUN),
                f"there is no run '{systems[row][:80] if systems else ''}', or it is the predictor of several.",
                f"known: {', '.join(runs.names)}",
            )
        score = _score(table, row, mark)
        found.append(Judgement(item_id=item_id, predictor=name, judge=people[row], score=score))
    _require_known(table, items)
    return found


def require_marked_items(files: Iterable[Path], workspace: Workspace) -> None:
    """See that people marked answers to questions that the benchmark has.

    Raises:
        UserError: for the first mark of another question, or a file that cannot be read.
    """
    items = load_all_items(workspace)
    for path in files:
        _require_known(read_table(path), items)


def _require_known(table: Table, items: Iterable[Item]) -> None:
    known = {item.id for item in items}
    for row, item_id in enumerate(table.texts(*_ITEM)):
        if item_id not in known:
            raise table.wrong(
                row,
                table.require(*_ITEM),
                f"there is no item '{item_id[:80]}'.",
                "was it marked on another release?",
            )


class _RunNames:
    """Runs by their own name, and by their predictor where that names one run only."""

    def __init__(self, workspace: Workspace) -> None:
        self.names = workspace.run_names()
        self._by_predictor: dict[str, list[str]] = {}
        for name in self.names:
            predictor = read_run_info(workspace.run_folder(name)).predictor
            self._by_predictor.setdefault(predictor, []).append(name)

    def find(self, name: str) -> str | None:
        """Return the run that is meant, None where that is not clear."""
        if name in self.names:
            return name
        runs = self._by_predictor.get(name, [])
        return runs[0] if len(runs) == 1 else None

    def only(self) -> str:
        """Return the only run.

        Raises:
            UserError: if there are several.
        """
        if len(self.names) != 1:
            raise UserError(
                f"there are {len(self.names)} runs, and the file does not say which answers were marked.",
                hint="add a column 'predictor' (or 'run')",
            )
        return self.names[0]


def _people(table: Table) -> list[str]:
    """Return who marked, as ``human/NAME``."""
    if table.find("judge"):
        names = table.texts("judge")
        strange = next((row for row, n in enumerate(names) if not is_human(n)), None)
        if strange is not None:
            raise table.wrong(
                strange,
                "judge",
                f"'{names[strange][:80]}' is no person.",
                "people are called human/NAME; a column 'annotator' takes any name",
            )
        return names
    if table.find(*_PERSON):
        return [n if is_human(n) else f"human/{n}" for n in table.texts(*_PERSON)]
    return ["human/people"] * len(table)


def _score(table: Table, row: int, column: str) -> int | None:
    value = table.columns[column][row]
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or number not in (0, 1, 2):
        raise table.wrong(row, column, f"the mark is {str(value)[:40]!r}; 0, 1 or 2 was expected.")
    return int(number)
