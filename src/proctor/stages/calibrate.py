"""The stage ``calibrate``: judges held against people, and what follows for scores.

It reads every judgement in the workspace (``runs/<run>/judgements*.jsonl`` and ``runs/<run>/judgements/*.jsonl``) and
people's marks from files or from judges called ``human/NAME``, and writes ``calibration.json``. ``proctor score`` and
``proctor report`` take that file up: the corrected scores of a run follow from people's marks in it and the run's
judgements as they are then, and their signatures name the calibration's hash.

Within this stage an answer is named by item and *run*, because two runs may have the same predictor.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import msgspec

from proctor.errors import UserError
from proctor.exam.corrected import CorrectedScore, correct_score
from proctor.exam.estimate import Draws
from proctor.exam.judge_calibration import Calibration, Criterion, calibrate_judges
from proctor.exam.judge_marks import (
    HumanMarks,
    JudgeMarks,
    JudgeSetup,
    is_human,
    sort_marks,
    unite_people,
)
from proctor.exam.kinds.moment_question import moment_candidate, moment_example
from proctor.exam.prediction import Judgement
from proctor.exam.question import Item
from proctor.exam.self_preference import SelfPreference, analyse_self_preference
from proctor.generate.candidate import Candidate
from proctor.records import content_hash, file_sha256, read_json, read_jsonl, write_json
from proctor.stages.inputs import load_items, load_predictions
from proctor.stages.predict import read_run_info
from proctor.stages.scoring.files import Table, read_table
from proctor.workspace import Workspace, is_there

__all__ = [
    "CALIBRATION_FILE",
    "DEFAULTS",
    "CalibrationFile",
    "Evidence",
    "calibrate",
    "corrected_scores",
    "load_calibration",
    "load_evidence",
    "require_marked_items",
]

CALIBRATION_FILE: Final = "calibration.json"

DEFAULTS: dict[str, Any] = {
    "human": [],
    "judge": [],
    "family": [],
    "right": 2,
    "criterion": "correlation",
    "template": "",
    "confidence": 0.95,
    "resamples": 10_000,
    "seed": 0,
}

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
    """Everything that was judged in a workspace, by run.

    Attributes:
        recordings: recording of every item.
        judges: machine judges' marks by setup.
        people: judgements by people.
        models: model behind each run, where its predictions say so.
        current: judge and template of each run's ``judgements.jsonl``, which its scores are made from.
        files: names of the files that were read, relative to the workspace.
    """

    recordings: Mapping[str, str]
    judges: tuple[JudgeMarks, ...]
    people: tuple[Judgement, ...]
    models: Mapping[str, str]
    current: Mapping[str, JudgeSetup]
    files: tuple[str, ...]


class Calibrated(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the stage, for printing.

    Attributes:
        hash: that the signatures of corrected scores name.
        file: what was written.
        corrected: corrected scores of every run, for the judges that are in use or chosen.
    """

    hash: str
    file: CalibrationFile
    corrected: Mapping[str, tuple[CorrectedScore, ...]]


def calibrate(
    root: Path,
    *,
    human: Sequence[Path] | None = None,
    judges: Sequence[str] | None = None,
    families: Sequence[str] | None = None,
    right: int | None = None,
    criterion: Criterion | None = None,
    template: str | None = None,
    confidence: float | None = None,
    resamples: int | None = None,
    seed: int | None = None,
) -> Calibrated:
    """Calibrate the judges of a workspace and write ``calibration.json``.

    Args:
        root: the workspace.
        human: files with people's marks: Judgement records, or tables with the columns item_id, predictor (or run) and
            human; with a column annotator for several people. Judgements by ``human/NAME`` in the runs count, too.
        judges: names or patterns (``openai/*``) of judges or of judge · template; all by default.
        families: ``PATTERN=FAMILY`` for models whose name does not tell their family.
        right: mark from which on people call an answer right.
        criterion: what to choose a judge by.
        template: with which judges are compared for self-preference; the most frequent one by default.
        confidence: of the intervals.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        UserError: if nobody judged anything, people's marks are missing or do not fit the runs, or an option is wrong.
    """
    workspace = Workspace(root)
    items = load_items(workspace, workspace.graphs())
    given = {
        "human": [str(p) for p in human] if human else None,
        "judge": list(judges) if judges else None,
        "family": list(families) if families else None,
        "right": right,
        "criterion": criterion,
        "template": template,
        "confidence": confidence,
        "resamples": resamples,
        "seed": seed,
    }
    settings = workspace.settings("calibrate", given, DEFAULTS)
    draws = _draws(settings)
    evidence = load_evidence(workspace, items)
    files = [Path(p) for p in settings["human"]]
    people = unite_people([*evidence.people, *(j for p in files for j in _read_people(p, workspace))])
    chosen = _chosen(evidence.judges, settings["judge"])
    _require_marks(people, evidence, workspace)
    result = CalibrationFile(
        calibration=calibrate_judges(
            people,
            chosen,
            evidence.recordings,
            right=settings["right"],
            criterion=settings["criterion"],
            draws=draws,
        ),
        self_preference=analyse_self_preference(
            chosen,
            evidence.recordings,
            models=evidence.models,
            generators=_generators(workspace, items),
            moments={i.id: moment_example(i.question).id for i in items},
            families=_families(settings["family"]),
            template=settings["template"] or _common_template(evidence),
            generator_judge=_common_judge(evidence),
            draws=draws,
        ),
    )
    write_json(workspace.file(CALIBRATION_FILE), result)
    workspace.keep("calibrate", settings)
    workspace.record(
        "calibrate",
        settings={**settings, "human_sha256": {str(p): file_sha256(p) for p in files}},
        counts={"marks": len(people.marks), "judges": len(chosen)},
        inputs=("items.jsonl", *evidence.files),
        outputs=(CALIBRATION_FILE,),
    )
    return Calibrated(
        hash=result.hash,
        file=result,
        corrected=corrected_scores(result, replace(evidence, judges=tuple(chosen))),
    )


def _draws(settings: Mapping[str, Any]) -> Draws:
    if not 0 < settings["confidence"] < 1:
        raise UserError(
            f"the confidence is {settings['confidence']}.", hint="give a level between 0 and 1, such as 0.95"
        )
    if settings["resamples"] < 100:
        raise UserError(f"{settings['resamples']} resamples are too few.", hint="give 100 or more")
    return Draws(settings["confidence"], settings["resamples"], settings["seed"])


def load_calibration(workspace: Workspace, items: Sequence[Item]) -> CalibrationFile | None:
    """Return the calibration of a workspace, or None when there is none.

    Raises:
        UserError: if the file is broken, or speaks of items that are gone.
    """
    path = workspace.file(CALIBRATION_FILE)
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
    draws = Draws(calibration.confidence, calibration.resamples, calibration.seed)
    names = sorted({a.predictor for j in evidence.judges for a in j.marks})
    votes, shown = calibration.votes, _shown_judges(found, evidence)
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
                evidence.recordings,
                calibration=found.hash,
                right=calibration.right,
                draws=draws,
            )
            for judge in of_run
        )
    return result


def _shown_judges(found: CalibrationFile, evidence: Evidence) -> frozenset[str]:
    """Return the names of the judges whose corrected scores are worth showing: in use, and chosen."""
    return frozenset({found.calibration.choice.judge, *(s.name for s in evidence.current.values())})


# -- what was judged ---------------------------------------------------------------------------------------------------


def load_evidence(workspace: Workspace, items: Sequence[Item]) -> Evidence:
    """Read all judgements of all runs.

    Raises:
        UserError: if a file is broken, a judgement is about an unknown item, or two contradict each other.
    """
    recordings = {i.id: i.question.cluster for i in items}
    unique: dict[tuple[str, ...], Judgement] = {}
    files, models, current = [], {}, {}
    for run in workspace.run_names():
        folder = workspace.run_folder(run)
        for path in _judgement_files(folder):
            files.append(str(path.relative_to(workspace.root)))
            found = [msgspec.structs.replace(j, predictor=run) for j in _read_judgements(path, recordings)]
            unique.update({key: j for j in found if (key := _key(j)) not in unique})
            if path.name == "judgements.jsonl" and (setups := [m.setup for m in sort_marks(found)]):
                current[run] = setups[0]
        named_models = {p.details["model"] for p in load_predictions(folder, items) if p.details.get("model")}
        if len(named_models) == 1:
            models[run] = named_models.pop()
        else:
            models[run] = read_run_info(folder).predictor
    all_ = list(unique.values())
    return Evidence(
        recordings=recordings,
        judges=sort_marks(all_),
        people=tuple(j for j in all_ if is_human(j.judge)),
        models=models,
        current=current,
        files=tuple(files),
    )


def _judgement_files(folder: Path) -> list[Path]:
    return sorted({*folder.glob("judgements*.jsonl"), *folder.glob("judgements/*.jsonl")})


def _read_judgements(path: Path, recordings: Mapping[str, str]) -> list[Judgement]:
    found: list[Judgement] = read_jsonl(path, Judgement)
    for number, judgement in enumerate(found, 1):
        where = f"{path}: record {number} ('{judgement.item_id[:80]}')"
        if judgement.item_id not in recordings:
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
        known = ", ".join(j.setup.name for j in judges) or "none"
        raise UserError(f"there is no judge '{unused[0]}'.", hint=f"known: {known}")
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


def _generators(workspace: Workspace, items: Sequence[Item]) -> dict[str, str]:
    """Return the model that wrote each item's question, where the candidates are there and a model did."""
    path = workspace.file("candidates.jsonl")
    if not is_there(path):
        return {}
    candidates: list[Candidate] = read_jsonl(path, Candidate)
    models = {c.id: c.provenance.model or "" for c in candidates}
    return {i.id: model for i in items if (model := models.get(moment_candidate(i.question)))}


def _common_template(evidence: Evidence) -> str | None:
    """Return the template that all scores are made with, None where they are made with several."""
    templates = {setup.template for setup in evidence.current.values()}
    return templates.pop() if len(templates) == 1 else None


def _common_judge(evidence: Evidence) -> str:
    """Return the name of the judge that all scores are made with, empty where there are several."""
    names = {setup.name for setup in evidence.current.values()}
    return names.pop() if len(names) == 1 else ""


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


def _read_people(path: Path, workspace: Workspace) -> list[Judgement]:
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
    _require_known(table, workspace)
    return found


def require_marked_items(files: Iterable[Path], workspace: Workspace) -> None:
    """See that people marked answers to questions that the benchmark has.

    Raises:
        UserError: for the first mark of another question, or a file that cannot be read.
    """
    for path in files:
        _require_known(read_table(path), workspace)


def _require_known(table: Table, workspace: Workspace) -> None:
    known = {i.id for i in load_items(workspace, workspace.graphs())}
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
