"""Rounds begun and collected; what differs between kinds is in the modules beside this one. docs/rounds.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from proctor.errors import UserError
from proctor.records import Dropped, canonical_json
from proctor.stages.naming import file_name
from proctor.stages.rounds.settings import Collect, Given
from proctor.stages.studio import open_desk
from proctor.verify.desk import documents, rounds
from proctor.verify.rounds.kind import task_kind
from proctor.verify.rounds.records import QuizItem, Round, RoundSettings, Task
from proctor.workspace import Workspace, is_there

__all__ = [
    "Collected", "Made", "Opened", "RoundLine", "collect_round", "folder_of", "list_rounds", "open_round",
    "set_round", "task_of",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a kind makes of a workspace.

    Attributes:
        tasks: of the round; tests and attention checks among them.
        options: of the kind (``TaskKind.options``).
        dropped: what could not become a task, and why.
        instructions: Markdown, where none are given.
        consent: Markdown, where none is given.
        quiz: on the instructions.
        tests: test tasks in each batch.
        attention: attention checks in each batch.
        title: of the work.
    """

    tasks: Sequence[Task]
    options: msgspec.Struct
    dropped: Sequence[Dropped] = ()
    instructions: str = ""
    consent: str = ""
    quiz: tuple[QuizItem, ...] = ()
    tests: int = 0
    attention: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What a kind made of what people said: files that were written, lines for people, figures for programs."""

    files: tuple[Path, ...] = ()
    lines: tuple[str, ...] = ()
    figures: msgspec.Struct | None = None


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A round that was begun: its name, the end of its address, tasks by role, what was left out by reason.

    ``new``: its workspace was made for it.
    """

    round: str
    address: str
    tasks: dict[str, int]
    dropped: dict[str, int] = {}
    new: bool = False


class RoundLine(msgspec.Struct, frozen=True, kw_only=True):
    """How far a round is."""

    round: str
    kind: str
    state: str
    tasks: int
    wanted: int
    done: int
    held: int
    people: int


def open_round(root: Path, kind: str, settings: Given) -> Opened:
    """Begin a round of a kind in a workspace.

    Raises:
        UserError: if the workspace has nothing to make tasks of, a file of the settings cannot be read, or the name is taken.
    """
    workspace = Workspace(root)
    new = not is_there(root)
    if kind != "own":  # the one kind that needs nothing of a workspace
        workspace.require_folder()
    made: Made = _stage(kind).make(workspace, settings)
    name = settings.name or kind
    dropped = workspace.write_dropped(f"round-{kind}", made.dropped)
    given = RoundSettings(
        title=made.title,
        wanted=settings.people,
        batch=settings.batch,
        tests=made.tests,
        attention=made.attention,
        batches=settings.batches,
        lease_minutes=settings.lease_minutes,
        rest_days=settings.rest_days,
        workers=settings.workers,
        not_rounds=settings.not_round,
        seed=settings.seed,
        instructions=_text(settings.instructions) or str(made.instructions),
        consent=_text(settings.consent) or made.consent,
        quiz=made.quiz,
        code=settings.code,
        redirect=_address(settings.redirect),
    )
    with open_desk(root, settings.database, seed=settings.seed) as desk:

        def job(connection: Any) -> Round:
            documents.ensure_defaults(desk, connection, ())
            for other in settings.not_round:
                rounds.round_named(connection, other)
            return rounds.add_round(
                desk, connection, name=name, kind=kind, tasks=made.tasks, settings=given,
                options=made.options, actor="command-line",
            )  # fmt: skip

        added = desk.write(job).result()
    roles: dict[str, int] = {}
    for task in made.tasks:
        roles[task.role] = roles.get(task.role, 0) + 1
    return Opened(round=added.name, address=f"/r/{added.pid}", tasks=roles, dropped=dropped, new=new)


def collect_round(root: Path, settings: Collect) -> tuple[Round, Collected]:
    """Bring what people said in a round to where the rest of Proctor reads it.

    Raises:
        UserError: if there is no such round, nobody has submitted anything, or a file cannot be written.
    """
    with open_desk(root, settings.database, create=False) as desk, desk.reading() as connection:
        round_ = rounds.round_named(connection, settings.round)
        readings = list(rounds.read_readings(connection, round_))
    if not readings:
        hint = f"proctor studio {root}, and send people to /r/{round_.pid}"
        raise UserError(f"there are no submissions yet in the round '{round_.name}'.", hint=hint)
    collected: Collected = _stage(round_.kind).collect(Workspace(root), round_, readings, settings.out)
    return round_, collected


def list_rounds(root: Path, database: str | None = None) -> list[RoundLine]:
    """Return how far the rounds of a workspace are."""
    with open_desk(root, database, create=False) as desk, desk.reading() as connection:
        lines = []
        for round_ in rounds.list_rounds(connection):
            far = rounds.progress(connection, round_)
            lines.append(
                RoundLine(
                    round=round_.name, kind=round_.kind, state=round_.state, tasks=far.tasks, wanted=far.wanted,
                    done=far.done, held=len(far.held), people=far.people,
                )
            )  # fmt: skip
        return lines


def set_round(root: Path, name: str, state: str, database: str | None = None) -> None:
    """Close a round or open it again."""
    with open_desk(root, database, create=False) as desk:
        desk.write(
            lambda c: rounds.set_state(desk, c, rounds.round_named(c, name), state, actor="command-line")
        ).result()


def folder_of(workspace: Workspace, round_: Round, under: str = "rounds") -> Path:
    """Return where what people said in a round goes; its name is text, and no path."""
    return workspace.file(under) / (file_name(round_.name) or round_.pid)


def task_of(name: str, body: msgspec.Struct, **more: Any) -> Task:
    """Return a task whose body is kept as canonical JSON."""
    return Task(name=name, body=msgspec.Raw(canonical_json(body)), **more)


def _stage(kind: str) -> Any:
    """Return the module of a kind: ``make(workspace, settings)`` and ``collect(workspace, round, readings, out)``."""
    return import_module(f"proctor.stages.rounds.{task_kind(kind).name}")


def _text(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise UserError(f"it cannot be read: {reason}.", where=str(path)) from None


def _address(text: str) -> str:
    if text and not text.startswith("https://"):
        raise UserError(f"--redirect is {text[:80]!r}; an https:// address was expected.")
    return text
