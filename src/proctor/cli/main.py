"""The command ``proctor``: one module per stage, loaded only when it is asked for."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, NoReturn

import typer

from proctor.cli.console import run, typed_wrongly
from proctor.cli.lazy import ALIASES, FORMER, STANDIN, Brought, LazyGroup
from proctor.version import __version__

__all__ = ["app", "main"]

_COMMANDS: Final = {
    "Start": {
        "demo": ("demo", "Run the whole job on the shipped sample, from recordings to a report."),
        "init": ("plan", "Write a plan of an experiment, after three questions."),
        "run": ("plan", "Run the experiment that a plan describes, from the data to the report."),
        "doctor": ("doctor", "Show what is installed, and what is wrong with a workspace."),
    },
    "Make a benchmark": {
        "read": ("read", "Read a data set's recordings and task graphs into a workspace."),
        "derive": ("derive", "Derive the moments that may be asked about."),
        "corpus": ("corpus", "Build a corpus of documents (texts, tables, images), and inspect it."),
        "generate": ("families", "Generate questions about moments, clips or documents."),
        "filter": (
            "filter",
            "Drop questions that are vague, tricky, made up, or answered without seeing anything.",
        ),
        "choices": ("choices", "Make multiple choice of open-ended questions."),
        "verify": ("verify", "Have questions verified by the task graph or a model, and list the verdicts."),
        "build": ("build", "Build the benchmark from what was accepted, and its release folder."),
    },
    "Evaluate": {
        "predict": ("predict", "Have models, functions and baselines answer the benchmark."),
        "retrieve": ("retrieve", "Let retrievers search for the sources of questions."),
        "judge": ("families", "Mark the answers, by rules or by a model."),
        "score": ("score", "Compute the scores of runs, with intervals and comparisons."),
        "calibrate": ("calibrate", "Compare judges with people, and correct scores by what they get wrong."),
        "report": ("report", "Write the report: one HTML page that works offline."),
        "experiment": ("families", "Run all of these in one command, about moments, documents or clips."),
        "concur": ("concur", "Compare how two benchmarks rank the same systems."),
    },
    "People": {
        "studio": ("studio", "Serve the web pages on which people verify and adjudicate."),
        "round": ("round", "Give tasks to people: answer, mark, rate, write, order, annotate."),
        "study": ("study", "Draw samples for people, deal forms, and evaluate the answers."),
    },
    "Data": {
        "datasets": ("datasets", "List, get, check, measure, split, cut and convert data sets."),
        "capture": ("capture", "Make recordings: plan, record, synchronise, annotate, release."),
        "graph": ("graph", "Check, convert, draw and induce task graphs."),
        "sequences": (
            "sequences",
            "Make a file of sequences of steps from manuals, recordings or task graphs.",
        ),
        "features": ("features", "Convert, check and extract features of videos."),
        "import": ("exchange", "Bring a published benchmark into a workspace."),
        "export": ("exchange", "Write a workspace as a published format."),
    },
    "Metrics and models": {
        "metrics": ("metrics", "Compute any metric of the field from files, with intervals."),
        "learn": ("learn", "Train and test models: mistakes, steps in time, order of steps."),
    },
    "Advanced": {
        "reproduce": ("reproduce", "Recompute published results from the annotations."),
        "oracle": ("oracle", "Measure how well the task graph agrees with people."),
        "calls": ("calls", "List, sum up, export, prune and replay calls of models."),
        "upgrade": ("upgrade", "Bring a copy of a workspace of an older version up to date."),
    },
}


_NEEDS: Final = {
    "capture": ("capture",),
    "corpus": ("corpus",),
    "features": ("video", "transformers"),
    "learn": ("learn",),
    "retrieve": ("corpus",),
    "studio": ("studio",),
}
"""Extras of commands that do nothing, or little, without them."""

_MODELS: Final = ("onnx", "sentence-transformers")
_MORE: Final = {
    "build": ("parquet",),
    "corpus": _MODELS,
    "demo": ("video", "rehearsal"),
    "doctor": ("video",),
    "experiment": ("corpus", "video", "rehearsal"),
    "predict": ("video", "transformers", "anyllm"),
    "report": ("video",),
    "retrieve": (*_MODELS, "qdrant", "pgvector"),
    "run": ("corpus", "video", "rehearsal"),
    "score": ("bertscore",),
    "studio": ("postgres", "sso"),
    "verify": ("video",),
}
"""Extras of commands that show, read, search or rehearse more with them."""


# The framework's class of everything that is typed wrongly; it has no public name.
_UsageError: Final[Any] = typer.BadParameter.__base__


class _Commands(LazyGroup):
    members: ClassVar[Mapping[str, tuple[str, str]]] = {
        name: (f"proctor.cli.{module}", summary)
        for commands in _COMMANDS.values()
        for name, (module, summary) in commands.items()
    }
    sections: ClassVar[Mapping[str, Sequence[str]]] = {
        heading: (*commands, *(("standin",) if heading == "Advanced" else ()))
        for heading, commands in _COMMANDS.items()
    }
    brought: ClassVar[Mapping[str, Brought]] = {"standin": STANDIN}
    needs: ClassVar[Mapping[str, Sequence[str]]] = _NEEDS
    more: ClassVar[Mapping[str, Sequence[str]]] = _MORE
    former: ClassVar[Mapping[str, str]] = FORMER
    aliases: ClassVar[Mapping[str, Sequence[str]]] = ALIASES

    def main(self, *args: Any, **more: Any) -> NoReturn:
        """Run the command that is typed, and end the process.

        Raises:
            UserError: if something is typed wrongly: it reads like every other message.
        """
        try:
            code = super().main(*args, **{"prog_name": "proctor", **more, "standalone_mode": False})
        except _UsageError as error:
            raise typed_wrongly(error) from None
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Make benchmarks that can be trusted, of recordings of people following instructions and of manuals.\n\n"
        "Example: proctor demo\n\nExample: proctor init bench.toml\n\nExample: proctor run bench.toml\n\n"
        "The stages in order: read, derive, generate, verify, build, predict, judge, "
        "score, report; each works on a workspace folder and may be run again at any time. All in one command: run, or experiment."
    ),
)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    if version:
        sys.stdout.write(f"proctor {__version__}\n")
        raise typer.Exit


def main() -> None:
    """Entry point of the console script."""
    # Records are trees: looking for cycles among them as often as Python does by default finds none and takes a twentieth of the
    # nine stages' time.
    gc.set_threshold(50_000, 20, 50)
    # The process gives all of it back: looking for cycles among everything that was imported, only to end, takes 0.2 s.
    atexit.register(gc.freeze)
    sys.exit(run(app))
