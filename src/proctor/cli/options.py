"""Options of commands, made from structs of settings: what is declared there is not written again."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from proctor.cli.console import command_app
from proctor.settings import Field, Given, Outline, Settings, fields_of, option

__all__ = ["DryRun", "Output", "Spread", "command_of", "with_settings"]


class Output(Settings, frozen=True, kw_only=True):
    """How a result is printed."""

    as_json: Annotated[bool, option("Print one JSON object for machines instead of text.", "--json")] = False


class Spread(Settings, frozen=True, kw_only=True):
    """Where a stage computes."""

    workers: Annotated[
        str | None,
        option(
            "Processes on this machine, or a Ray cluster (extra ray); the files are byte-identical either way.",
            metavar="N|ray://HOST:PORT",
        ),
    ] = None


class DryRun(Settings, frozen=True, kw_only=True):
    """Whether a stage only says what it would take."""

    dry_run: Annotated[
        bool,
        option("Show how many calls, tokens and dollars it would take, by the real prompts; send nothing."),
    ] = False


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of every struct of settings among its parameters, where that stands.

    A parameter that is annotated with an ``Outline`` gets what was typed for each stage of an experiment.

    A struct with a ``section`` is read from the ``proctor.toml`` of the command's ``workspace``, or of the folder that
    a command without one is run in: what is typed comes first, then what is written there, then the defaults of the
    struct::

        @app.command()
        @with_settings
        def derive(workspace: WorkspaceArgument, settings: DeriveSettings, output: Output) -> None: ...
    """
    signature = inspect.signature(command, eval_str=True)
    outlines = {
        name: outline
        for name, parameter in signature.parameters.items()
        for outline in getattr(parameter.annotation, "__metadata__", ())
        if isinstance(outline, Outline)
    }
    structs = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if isinstance(parameter.annotation, type) and issubclass(parameter.annotation, Settings)
    }
    parameters = [
        inspect.Parameter("typed_in", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    ]
    for name, parameter in signature.parameters.items():
        if name in structs:
            parameters += map(_parameter, fields_of(structs[name]))
        elif name in outlines:
            parameters += (_parameter(declared) for declared, _ in outlines[name].options())
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def wrapped(typed_in: typer.Context, **values: Any) -> None:
        root: Any = values.get("workspace", Path())
        for name, outline in outlines.items():
            values[name] = _given(typed_in, outline, values)
        for name, struct in structs.items():
            typed = {field.name: _value(field, values.pop(field.name)) for field in fields_of(struct)}
            if struct.section:
                from proctor.workspace import Workspace

                given = {key: value for key, value in typed.items() if _is_given(typed_in, key)}
                values[name] = Workspace(root).resolve(struct, **given)
            else:
                values[name] = struct(**typed)
        command(**values)

    # Typer reads the signature, and its hints beside it.
    wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def command_of(name: str, help: str, run: Callable[..., None]) -> typer.Typer:
    """Return the app of one command whose options and help come from a struct of settings."""
    app = command_app()
    app.command(name, help=inspect.cleandoc(help))(with_settings(run))
    return app


def _parameter(field: Field) -> inspect.Parameter:
    shown = field.metavar or (field.name.upper() if field.argument else _word(field))
    limits: dict[str, Any] = {
        "help": field.help,
        "metavar": shown,
        "min": field.ge,
        "max": field.le,
        "parser": field.parse,
        "autocompletion": _completion(field, shown) if shown else None,
    }
    declared = (
        typer.Argument(**limits)
        if field.argument
        else typer.Option(*_flags(field), rich_help_panel=field.heading or None, **limits)
    )
    default = field.default
    kind: Any = field.kind
    if field.hidden and not field.argument:
        declared = typer.Option(*_flags(field), hidden=True, **limits)
    if field.several:
        default = list(field.default or ()) or None
        if get_origin(kind) is Literal:  # the struct looks at choices
            kind = str
        kind = list[kind]
    if default is None and not field.required:
        kind = kind | None
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if field.required else default,
        annotation=Annotated[kind, declared],
    )


def _word(field: Field) -> str | None:
    """Return what is typed there, in a word; None for flags and for choices, which are listed."""
    if get_origin(field.kind) is Literal:
        return "|".join(map(str, get_args(field.kind))) if field.several else None
    return (
        {str: "TEXT", int: "N", float: "NUMBER", Path: "PATH"}.get(field.kind) if not field.argument else None
    )


def _completion(field: Field, shown: str) -> Callable[[typer.Context, str], list[str]] | None:
    """Return what completes a value on the command line; None where the word names nothing, or the option's type does it."""
    choices = field.several and get_origin(field.kind) is Literal
    if not choices and (field.kind is not str or shown == "TEXT" or "=" in shown):
        return None

    def completed(context: typer.Context, incomplete: str) -> list[str]:
        from proctor.cli.complete import words

        return words(
            shown, context.args, incomplete
        )  # the option that has no value yet leaves all words there

    return completed


def _given(context: typer.Context, outline: Outline, values: dict[str, Any]) -> Given:
    """Return what was typed for each stage, and take it out of the values."""
    given: dict[str, dict[str, Any]] = {}
    for declared, stages in outline.options():
        value = _value(declared, values.pop(declared.name))
        if _is_given(context, declared.name):
            for stage, name in stages:
                given.setdefault(stage, {})[name] = value
    return given


def _flags(field: Field) -> tuple[str, ...]:
    negation = f"/--no-{field.flag[2:]}" if field.kind is bool and field.negatable else ""
    return (*(flag for flag in field.flags if flag != field.flag), f"{field.flag}{negation}")


def _value(field: Field, typed: Any) -> Any:
    return tuple(typed or ()) if field.several else typed


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
