"""``proctor init`` and ``proctor run``: an experiment in a file."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from proctor.cli.console import command_app, emit
from proctor.cli.experiment import Trying, conduct_plan
from proctor.cli.options import Output, with_settings
from proctor.errors import UserError
from proctor.settings import Settings, argument, option

__all__ = ["apps"]

apps = {name: command_app() for name in ("init", "run")}

Have = Literal["recordings", "documents", "videos", "benchmark"]
_HAVE: Final[dict[Have, str]] = {
    "recordings": "recordings with annotated steps: questions about moments (ProMQA)",
    "documents": "documents (PDF, HTML, Markdown, tables, pictures): questions over several sources (SMMQG)",
    "videos": "annotated videos: multiple choice about clips (InstructionBench)",
    "benchmark": "a benchmark that is released: evaluate models on it",
}
_SHIPPED: Final[dict[Have, str]] = {"recordings": "sample", "documents": "manuals", "benchmark": "everyday"}


class InitSettings(Settings, frozen=True, kw_only=True):
    """What the plan is about; what is not given is asked."""

    plan: Annotated[Path, argument("The file.", "PLAN")] = Path("bench.toml")
    have: Annotated[Have | None, option("What you have.")] = None
    data: Annotated[
        str | None,
        option(
            "Its folder; of a benchmark its folder or name. What is shipped: sample (recordings), manuals (documents), everyday (benchmark).",
            metavar="FOLDER|sample|manuals|everyday",
        ),
    ] = None
    model: Annotated[
        tuple[str, ...],
        option(
            "A model that is asked, such as openai/gpt-4o; may be repeated; 'none' for none.",
            "-m",
            metavar="MODEL",
        ),
    ] = ()


class PlanArgument(Settings, frozen=True, kw_only=True):
    """The plan."""

    plan: Annotated[Path, argument("File that 'proctor init' wrote.", "PLAN")] = Path("bench.toml")


class Drafted(msgspec.Struct, frozen=True, kw_only=True):
    """What was written: the file and what it needs, and what it says."""

    plan: str
    written: tuple[str, ...]
    kind: str
    data: str
    models: tuple[str, ...]


@apps["init"].command()
@with_settings
def init(settings: InitSettings, output: Output) -> None:
    """Write a plan of an experiment, after three questions: what you have, where it is, and which models are asked.

    The plan is a short file that you can edit and share; 'proctor run' does what it says. Options answer the questions beforehand.

    Example: proctor init

    Example: proctor init lamp.toml --have recordings --data sample --model none
    """
    from proctor.stages.experiment.draft import Wish, draft_plan

    if settings.plan.exists():
        raise UserError(
            "the file is there already.", where=str(settings.plan), hint="edit it, or name another file"
        )
    have = settings.have or _choose()
    data = settings.data or _ask(_WHERE[have], _SHIPPED.get(have, ""))
    models = settings.model or tuple(
        name.strip() for name in _ask(_WHO[have], "none").split(",") if name.strip()
    )
    wish = Wish(have=have, data=data, models=tuple(name for name in models if name != "none"))
    written = tuple(map(str, draft_plan(settings.plan, wish)))
    said = Drafted(plan=str(settings.plan), written=written, kind=wish.kind, data=data, models=wish.models)
    file = shlex.quote(str(settings.plan))
    text = "\n".join(f"{one} is written" for one in written)
    text += f"\n\nwhat would it cost?  proctor run {file} --dry-run\nnext: proctor run {file}"
    emit(said, text, as_json=output.as_json)


@apps["run"].command()
@with_settings
def run(plan: PlanArgument, trying: Trying, output: Output) -> None:
    """Run the experiment that a plan describes, from the data to the report.

    Run the same command again to continue where it stopped; nothing is paid for twice. Every table of the plan is a stage, with the settings that
    'proctor experiment moment --help' lists (or documents, clip); paths are relative to the file.

    Example: proctor run bench.toml --dry-run
    """
    from proctor.stages.experiment.plan_file import read_plan

    wanted = read_plan(plan.plan)
    trying = msgspec.structs.replace(
        trying,
        vary=trying.vary or wanted.vary,
        rehearse=wanted.rehearse if trying.rehearse is None else trying.rehearse,
    )
    conduct_plan(wanted.kind, wanted.workspace, wanted.given, wanted.limits, trying, output)


_WHERE: Final[dict[Have, str]] = {
    "recordings": "Which folder are they in? ('sample' copies the recordings that are shipped)",
    "documents": "Which folder are they in? ('manuals' copies the documents that are shipped)",
    "videos": "Which folder are their annotations in?",
    "benchmark": "Which one? (its folder, or a name; 'everyday' is shipped)",
}
_WHO: Final[dict[Have, str]] = {
    "recordings": "Which models answer? (such as openai/gpt-4o, python:mine:answer; 'none': baselines alone)",
    "documents": "Which model writes questions and answers them? (such as openai/gpt-4o)",
    "videos": "Which models write, check and answer? (three or more, such as openai/gpt-4o)",
    "benchmark": "Which models answer? (such as openai/gpt-4o, python:mine:answer; 'none': baselines alone)",
}


def _choose() -> Have:
    _require_terminal("--have")
    for number, text in enumerate(_HAVE.values(), 1):
        sys.stderr.write(f"  {number}  {text}\n")
    said = _ask("What do you have?", "1")
    names = list(_HAVE)
    found = names[int(said) - 1] if said.isdecimal() and 1 <= int(said) <= len(names) else said
    if found not in _HAVE:
        raise UserError(f"{said!r:.80} is none of them.", hint=f"1 to {len(names)}, or {', '.join(names)}")
    return found


def _ask(question: str, usual: str) -> str:
    _require_terminal("--have, --data and --model")
    import typer

    said: str = typer.prompt(question, default=usual or None, err=True)
    return said.strip()


def _require_terminal(options: str) -> None:
    if not sys.stdin.isatty():
        raise UserError(
            "questions cannot be asked here: standard input is no terminal.", hint=f"give {options}"
        )
