"""Rounds of rating: questions with their tests and attention checks, and the files that ``proctor study tables`` reads."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from proctor.ask.documents.style import BUILTIN_STYLES, load_style
from proctor.errors import UserError
from proctor.exam.csv_rows import iter_csv_rows
from proctor.exam.question import Question, check_questions, right_texts, type_of
from proctor.records import Dropped, atomic_write, is_there, read_jsonl
from proctor.spreadsheet import csv_text
from proctor.stages.rounds.opening import Collected, Made, folder_of, task_of
from proctor.stages.rounds.settings import RateSettings
from proctor.stages.study import read_key
from proctor.verify.rounds import rate
from proctor.verify.rounds.checked import CheckedOptions, Done, batch_checks, checked_options
from proctor.verify.rounds.form import FormSheet, as_text
from proctor.verify.rounds.records import Reading, Round
from proctor.workspace import Workspace

__all__ = ["cells", "checks_text", "collect", "make", "write_texts"]


def make(workspace: Workspace, settings: RateSettings) -> Made:  # noqa: ARG001 - as every kind
    """Make a task of each question; what a question is of (its stratum) keeps batches even and is shown to nobody.

    Raises:
        UserError: if a file is wrong, or the key names a sample or a field that is not there.
    """
    folder = settings.questions if settings.questions.is_dir() else None
    file = folder / "questions.jsonl" if folder else settings.questions
    questions: list[Question] = read_jsonl(file, Question)
    check_questions(questions)
    form = rate.read_form(settings.form)
    path = settings.key or (folder / "key.csv" if folder else None)
    key = {} if path is None or not is_there(path) else read_key(path)
    stray = sorted(key.keys() - {q.id for q in questions})
    stray += sorted({name for right in key.values() for name in right} - {f.name for f in form.fields})
    if stray:
        raise UserError(f"no question and no field is called '{stray[0][:60]}'.", where=str(path))
    groups = folder / "groups.csv" if folder and is_there(folder / "groups.csv") else None
    rows = iter_csv_rows(groups, ("group", "sample")) if groups else ()
    strata = {row["sample"]: row["group"] for _, row in rows}  # the narrowest group of each is the last
    styles = {name: rate.StyleText(title=s.title, description=s.description.partition("\n\n")[0])
              for name in BUILTIN_STYLES for s in (load_style(name),)} | form.styles  # fmt: skip
    rights = {q: {name: "yes" if v else "no" for name, v in right.items()} for q, right in key.items()}
    tasks, dropped = [], []
    for q in questions:
        stratum = strata.get(q.id, type_of(q))
        if stratum == "tests" and q.id not in rights:
            dropped.append(Dropped(q.id, "test-without-key", "write its right ratings into key.csv"))
            continue
        style = q.facets.get("style", "")
        if style and style not in styles and "style" in {f.name for f in form.fields}:
            hint = f"describe it in a form: [styles.'{style[:60]}'] with title and description"
            raise UserError(
                f"the form explains nothing about the style '{style[:60]}'.", where=q.id, hint=hint
            )
        shown = style if style in styles else ""
        body = rate.RateTask(question=q, answer="; ".join(right_texts(q)), style=shown)
        tasks.append(task_of(q.id, body, stratum=stratum, role="test" if q.id in rights else "real"))
    rng, real = random.Random(settings.seed), [task for task in tasks if task.role == "real"]  # noqa: S311
    for check in form.attention if real else ():  # with the sources of a question it looks like the others
        body = msgspec.json.decode(rng.choice(real).body, type=rate.RateTask)
        question = msgspec.structs.replace(body.question, id=check.name, text=check.text)
        body = msgspec.structs.replace(body, question=question)
        tasks.append(task_of(check.name, body, role="attention"))
    rights |= {check.name: check.right for check in form.attention}
    return Made(
        tasks=tasks,
        options=rate.RateOptions(fields=form.fields, styles=styles, rights=rights),
        dropped=dropped,
        instructions=form.guide,
        quiz=form.quiz,
        tests=len(key),
        attention=len(form.attention),
    )


def collect(workspace: Workspace, round_: Round, readings: Sequence[Reading], out: Path | None) -> Collected:
    """Write ratings.csv as submitted, corrections.csv of the review, and checks.csv with a line for each batch.

    What a reviewer set aside is left out of the ratings; attention checks are no ratings.
    """
    folder, options = out or folder_of(workspace, round_, "studies"), checked_options(round_)
    names = tuple(field.name for field in options.fields)
    ratings: list[tuple[object, ...]] = []
    corrections: list[tuple[object, ...]] = []
    for r in readings:
        sheet = msgspec.json.decode(r.sheet, type=FormSheet)
        if r.counts and r.role != "attention":
            ratings.append((r.person, r.task, *cells(sheet, names), round(r.seconds, 1), sheet.note))
            if r.corrected is not None:
                fixed = msgspec.json.decode(r.corrected, type=FormSheet)
                corrections.append((r.person, r.task, *cells(fixed, names)))
    head = ("worker", "sample", *names)
    files = {
        folder / "ratings.csv": csv_text((*head, "seconds", "note"), ratings),
        folder / "corrections.csv": csv_text(head, corrections),
        folder / "checks.csv": checks_text(readings, options),
    }
    write_texts(files)
    given = f" --corrections {folder / 'corrections.csv'}" if corrections else ""
    said = (
        f"{len(ratings):,} ratings by {len({r[0] for r in ratings}):,} people, {len(corrections):,} corrected"
    )
    return Collected(
        files=tuple(files), lines=(said, f"next: proctor study tables {folder / 'ratings.csv'} GROUPS{given}")
    )


def cells(sheet: FormSheet, names: Sequence[str]) -> list[str]:
    """Return what a sheet holds as cells of a table."""
    return [as_text(sheet.values.get(name, "")) for name in names]


def checks_text(readings: Iterable[Reading], options: CheckedOptions) -> str:
    """Return ``checks.csv``: how every batch did on its attention checks and test tasks."""
    batches: dict[tuple[str, str, bool], list[Done]] = {}
    for r in readings:
        sheet = msgspec.json.decode(r.sheet, type=FormSheet)
        batches.setdefault((r.batch, r.person, r.counts), []).append((r.task, r.role, sheet))
    head = ("batch", "worker", "state", "done", "attention", "failed", "tests", "right", "bonus")
    rows = [
        (batch, person, "counts" if counts else "set aside", len(done), *c, "yes" if c.has_bonus else "no")
        for (batch, person, counts), done in batches.items()
        for c in (batch_checks(done, options.rights),)
    ]
    return csv_text(head, rows)


def write_texts(files: Mapping[Path, str]) -> None:
    """Write files, each whole or not at all."""
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(text.encode())
