"""The command ``proctor``: one module per stage, loaded only when it is asked for."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, Final, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command

from proctor.cli.console import run
from proctor.version import __version__

__all__ = ["app", "main"]

_COMMANDS: Final = {
    "demo": ("demo", "Run the whole job on the shipped sample, from recordings to a report."),
    "read": ("read", "Read a data set's recordings and task graphs into a workspace."),
    "derive": ("derive", "Derive the moments that may be asked about."),
    "generate": ("generate", "Generate candidate questions with answers."),
    "verify": ("verify", "Have candidates verified by the task graph (and see who said what)."),
    "build": ("build", "Build the benchmark from what was accepted, and its release folder."),
    "predict": ("predict", "Sit a predictor down to answer the benchmark."),
    "judge": ("judge", "Mark the answers."),
    "score": ("score", "Compute scores with intervals and compare runs."),
    "report": ("report", "Write the report: one HTML page that works offline."),
    "check": ("check", "List what is odd in a data set, by rule."),
    "import": ("exchange", "Bring a published benchmark into a workspace."),
    "export": ("exchange", "Write a workspace as a published format."),
    "reproduce": ("reproduce", "Recompute published results from the annotations."),
    "oracle": ("oracle", "Measure the task-graph oracle against people."),
    "doctor": ("doctor", "Say what is installed, and what is wrong with a workspace."),
}


class _LazyGroup(TyperGroup):
    """A group whose commands live in modules that are imported only when one of them is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Only the names count here: "did you mean" looks among them; the commands come from get_command.
        self.commands = cast("Any", dict.fromkeys(_COMMANDS))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the framework's signature
        """Return the commands in the order of the job."""
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Load the command's module and return the command."""
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"proctor.cli.{_COMMANDS[cmd_name][0]}")
        apps: Any = getattr(module, "apps", None)
        command = get_command(apps[cmd_name] if apps else module.app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """List names and summaries without loading any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in _COMMANDS.items()])


app = typer.Typer(
    cls=_LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help=(
        "Turn recordings of people following instructions into question-answering benchmarks that can be trusted.\n\n"
        "Start with: proctor demo. The stages in order: read, derive, generate, verify, build, predict, judge, "
        "score, report; each works on a workspace folder and may be run again at any time."
    ),
)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    if version:
        sys.stdout.write(f"proctor {__version__}\n")
        raise typer.Exit


def main() -> None:
    """Entry point of the console script."""
    sys.exit(run(app))
