"""Options of commands that ask models: what they may spend, how fast they ask, and where calls are kept.

A command takes them all by a parameter ``limits`` and the decorator ``with_limits``.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from proctor.cli.console import emit, warn
from proctor.errors import UserError

if TYPE_CHECKING:
    from proctor.llm.estimate import Estimate
    from proctor.stages.models import Limits

__all__ = [
    "DryRunFlag",
    "closing_text",
    "emit_estimates",
    "end_unfinished",
    "end_with_status",
    "estimate_text",
    "limits_of",
    "with_limits",
]

DryRunFlag = Annotated[
    bool, typer.Option("--dry-run", help="Say what it would take, from the real prompts; send nothing.")
]


_OPTIONS: Final[dict[str, Any]] = {
    "max_cost": Annotated[
        str | None, typer.Option("--max-cost", metavar="USD", help="Stop before spending more than this.")
    ],
    "max_calls": Annotated[int | None, typer.Option("--max-calls", min=0, help="Stop after so many calls.")],
    "max_tokens": Annotated[
        int | None,
        typer.Option("--max-tokens", min=0, help="Stop before using more tokens, in and out together."),
    ],
    "max_connections": Annotated[
        int | None,
        typer.Option(
            "--max-connections",
            min=1,
            help="Calls in flight at most, for each model (default 128; what it bears is found out below that).",
        ),
    ],
    "rpm": Annotated[
        float | None, typer.Option("--rpm", metavar="N", help="Requests a minute at most, for each model.")
    ],
    "tpm": Annotated[
        float | None,
        typer.Option("--tpm", metavar="N", help="Tokens a minute at most, in and out, for each model."),
    ],
    "timeout": Annotated[
        float | None,
        typer.Option("--timeout", metavar="SECONDS", help="Of one attempt at a call (default 300)."),
    ],
    "deadline": Annotated[
        float | None,
        typer.Option("--deadline", metavar="SECONDS", help="Of a call with all its attempts (default 900)."),
    ],
    "calls": Annotated[
        str | None,
        typer.Option(
            "--calls", metavar="FILE|URL", help="Call store (default: calls.sqlite in the workspace)."
        ),
    ],
    "prompts": Annotated[
        Path | None, typer.Option("--prompts", metavar="FOLDER", help="Own templates in place of Proctor's.")
    ],
    "prices": Annotated[
        Path | None,
        typer.Option("--prices", metavar="FILE", help="Own prices, TOML or JSON (see 'proctor calls')."),
    ],
}
"""What ``with_limits`` puts in place of the parameter ``limits``, in this order; the names are those of ``limits_of``."""


def with_limits(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options of this module; its parameter ``limits`` gets what they ask for.

    The options stand in the help where ``limits`` stands among the command's parameters::

        @app.command()
        @with_limits
        def judge(workspace: WorkspaceArgument, limits: Limits, as_json: JsonFlag = False) -> None: ...

    ``Limits`` may be imported for type checking only, so that ``--help`` does not wait for it.
    """
    # Names that are imported for type checking only cannot be looked up, and need not be.
    signature = inspect.signature(command, eval_str=True, locals={"Limits": object})
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _OPTIONS.items()
    ]
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if name == "limits":
            parameters += shared
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def wrapped(**values: Any) -> None:
        limits = limits_of(**{name: values.pop(name) for name in _OPTIONS})
        command(**values, limits=limits)

    # Typer reads the signature, and its hints beside it.
    wrapped.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def limits_of(
    max_cost: str | None = None,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    calls: str | None = None,
    prompts: Path | None = None,
    prices: Path | None = None,
    max_connections: int | None = None,
    rpm: float | None = None,
    tpm: float | None = None,
    timeout: float | None = None,
    deadline: float | None = None,
) -> Limits:
    """Return the limits that the options ask for.

    Raises:
        UserError: if the cost is no amount of money, or a pace or a time is not above 0.
    """
    from proctor.stages.models import Limits

    for option, value in (("--rpm", rpm), ("--tpm", tpm), ("--timeout", timeout), ("--deadline", deadline)):
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise UserError(
                f"{option} is {value:g}, but has to be above 0.", hint="leave it out for no limit"
            )
    return Limits(
        max_cost=None if max_cost is None else _dollars(max_cost),
        max_calls=max_calls,
        max_tokens=max_tokens,
        max_connections=max_connections,
        requests_per_minute=rpm,
        tokens_per_minute=tpm,
        timeout=timeout,
        deadline=deadline,
        calls=calls,
        prompts=prompts,
        prices=prices,
    )


def _dollars(text: str) -> Decimal:
    try:
        cost = Decimal(text.strip().removeprefix("$"))
    except InvalidOperation:
        cost = Decimal("nan")
    if not cost.is_finite() or cost < 0:
        raise UserError(f"{text!r} is not an amount of US dollars.", hint="--max-cost 2.50")
    return cost


def emit_estimates(estimates: Iterable[Estimate | None], *, as_json: bool) -> None:
    """Print the result of a dry run; None stands for what asks no model."""
    import msgspec

    found = [estimate for estimate in estimates if estimate is not None]
    text = "\n\n".join(map(estimate_text, found)) or "No model is asked: it costs nothing."
    emit({"estimates": [msgspec.to_builtins(estimate) for estimate in found]}, text, as_json=as_json)


def estimate_text(estimate: Estimate) -> str:
    """Return an estimate for people."""
    from proctor.llm.estimate import render_estimate

    return render_estimate(estimate)


def closing_text(calls: dict[str, Any]) -> str:
    """Return the closing line of a stage that asked models."""
    kinds = ", ".join(f"{name} {n:,}" for name, n in calls["outcomes"].items())
    text = f"calls: {calls['sent']:,} sent, {calls['from_store']:,} from the store ({kinds or 'none'}); cost {calls['cost']}"
    if calls["unpriced"]:
        text += f", {calls['unpriced']:,} calls at unknown prices not counted"
    if calls["lost"]:
        text += f"; possibly {calls['feared']} more, for {calls['lost']:,} calls whose reply was lost"
    for pace in calls["flow"]:
        if any(pace[name] for name in ("reasons", "pauses", "breaks", "stopped")):  # else it only grew
            text += f"\nconcurrency {pace['story']} ({pace['endpoint']})"
    return text + (f"\nstopped: {calls['stopped']}" if calls["stopped"] else "")


def end_with_status(*calls: Mapping[str, Any] | None) -> None:
    """End a command with status 1 when models were asked and not one has said anything, so that scripts do not go on.

    Args:
        *calls: of each part of the command; None for parts that asked nobody.
    """
    if any(made is not None and made["mute"] for made in calls):
        warn("no model said anything; what was asked is asked again by the same command")
        raise typer.Exit(1)


def end_unfinished(result: Mapping[str, Any], left: str) -> None:
    """End a command whose stage stopped before its end: as an interrupted one, or with status 3 when the same command goes on.

    Args:
        result: of a stage, with ``interrupted``, ``complete`` and ``calls``; it is written already.
        left: what is still to be done, for the warning.

    Raises:
        KeyboardInterrupt: if somebody stopped the stage.
        typer.Exit: 1 if no model said anything, 3 if something is left.
    """
    if result["interrupted"]:
        raise KeyboardInterrupt  # what is there was written: said and ended as in every command
    if not result["complete"]:
        warn(f"{left}; the same command goes on from here")
        end_with_status(result["calls"])
        raise typer.Exit(3)
