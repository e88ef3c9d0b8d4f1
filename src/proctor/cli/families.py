"""Commands of which there is one for each published system: the usual one is meant where none is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import typer

from proctor.cli.lazy import FamilyGroup

__all__ = ["apps"]


class _Generate(FamilyGroup):
    usual: ClassVar[str] = "procedural"
    members: ClassVar[Mapping[str, tuple[str, str]]] = {
        "procedural": (
            "proctor.cli.generate",
            "About recordings and their task graphs, as ProMQA (the word may be left out).",
        ),
        "styled": ("proctor.cli.generate_styled", "About texts, tables and images, in styles, as SMMQG."),
    }


class _Experiment(FamilyGroup):
    usual: ClassVar[str] = "promqa"
    members: ClassVar[Mapping[str, tuple[str, str]]] = {
        "promqa": ("proctor.cli.experiment", "ProMQA's experiment (the word may be left out)."),
        "styled": ("proctor.cli.experiment_styled", "SMMQG's experiment, from a corpus to the report."),
    }


def _family(group: type[FamilyGroup], help: str) -> typer.Typer:
    app = typer.Typer(
        cls=group,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        help=help,
    )

    @app.callback(invoke_without_command=True)
    def _root() -> None:
        """Nothing is to be done before the command."""

    return app


apps = {
    "generate": _family(
        _Generate,
        "Generate candidate questions with answers.\n\nproctor generate WORKSPACE asks about recordings and their task graphs; "
        "proctor generate styled WORKSPACE about a corpus of texts, tables and images. A workspace that is called "
        "like one of the commands is written ./NAME.",
    ),
    "experiment": _family(
        _Experiment,
        "Do a whole published experiment with your models.\n\nproctor experiment WORKSPACE does ProMQA's; proctor experiment "
        "styled WORKSPACE does SMMQG's. A workspace that is called like one of the commands is written ./NAME.",
    ),
}
