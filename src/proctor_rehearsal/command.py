"""``proctor standin``: a server on this machine that plays the providers of models."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from proctor.cli.console import command_app, emit
from proctor.errors import UserError
from proctor.terminal import note, warn

if TYPE_CHECKING:
    from proctor_rehearsal.players import Rehearsal
    from proctor_rehearsal.standin.script import Latency, Script

app = command_app()

_NAMES: Final = (("openai", "/v1"), ("anthropic", ""), ("google", ""), ("compat", "/v1"))


@app.command()
def standin(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 takes a free one.")] = 0,
    host: Annotated[str, typer.Option(help="Address to listen on; keep it to this machine.")] = "127.0.0.1",
    script: Annotated[
        Path | None, typer.Option(help="JSON file of rules and faults; docs/rehearsal.md shows its fields.")
    ] = None,
    play: Annotated[
        str | None,
        typer.Option(help="How to reply without a script: echo, fixed, choices, star-list or judge."),
    ] = None,
    workspace: Annotated[
        Path | None,
        typer.Option(
            metavar="BENCH",
            help="Workspace whose models are played (generator, verifier, predictors, captioner, judges); it is a rehearsal's from then on.",
        ),
    ] = None,
    quality: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SHARE",
            help="With --workspace: how often models are right, 0 to 1 (0.7 unless said); "
            "'mini=0.5' for those with mini in their name; may be repeated.",
        ),
    ] = None,
    latency: Annotated[
        str | None, typer.Option(help="Seconds until a reply: 0.2, or between two limits: 0.1..0.5.")
    ] = None,
    check: Annotated[
        str | None,
        typer.Option(help="How closely requests are looked at: full, count (media are not decoded) or none."),
    ] = None,
    keep: Annotated[
        int,
        typer.Option(
            min=0, metavar="MIB", help="MiB of request bodies to keep for GET /standin/log?bodies=1."
        ),
    ] = 64,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Of every draw: faults, latencies, replies.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the URL and the variables as one JSON object for machines.")
    ] = False,
) -> None:
    """Play OpenAI, Anthropic and Google on this machine: no key, no cost, any fault on demand.

    Prints its URL and the environment variables that point the providers' clients to it, then serves until Ctrl-C and
    prints what it saw. GET /standin/log returns the counts while it runs.

    Example: proctor standin --port 8000 --play judge --latency 0.2

    Example: proctor standin --workspace bench --quality 0.8 --quality mini=0.5
    """
    from proctor_rehearsal.standin.server import Standin

    chosen = _script(script, play, latency, check, seed)
    player = _player(workspace, quality, chosen.seed)
    server = Standin(
        chosen, answer=player, host=host, port=port, bodies=keep * 2**20, plays=player is not None
    )
    with _until_told() as told:
        try:
            url = server.start()
            if not _loopback(host):
                warn(f"{host} can be reached from other machines; anybody there can change the script")
            variables = {k: v for k, v in server.environment.items() if not k.endswith("_KEY")}
            keys = [k for k in server.environment if k.endswith("_KEY")]
            lines = [url, "", *(f"export {k}={v}" for k, v in variables.items())]
            value = "…  (the key of the script)" if server.wants_key else "standin"
            lines += [
                *(f"export {k}={value}" for k in keys),
                "",
                "names of models for proctor, with those keys set:",
            ]
            lines += [f"  {provider}/MODEL@{url}{path}" for provider, path in _NAMES]
            emit({"url": url, "environment": variables, "keys": keys}, "\n".join(lines), as_json=as_json)
            note("serving; Ctrl-C stops")
            while not told.wait(1.0):
                pass
        finally:
            server.close()
    for problem in player.problems if player is not None else ():
        warn(f"a file of the workspace could not be used: {problem}")
    seen: dict[str, Any] = server.log.summary()
    note(
        f"{seen['count']:,} requests ({seen['distinct']:,} different), {seen['answered']:,} answered, "
        f"{seen['most_in_flight']:,} in flight at most"
    )


def _script(
    path: Path | None, play: str | None, latency: str | None, check: str | None, seed: int | None
) -> Script:
    """Put file and flags together; flags come first.

    Raises:
        UserError: if one of them makes no sense.
    """
    import msgspec

    from proctor_rehearsal.standin.behaviours import check_rule
    from proctor_rehearsal.standin.script import Rule, Script, load_script

    script = load_script(path) if path is not None else Script()
    changes: dict[str, Any] = {}
    if play is not None:
        changes["otherwise"] = Rule(behaviour=play)
        check_rule(changes["otherwise"])
    if latency is not None:
        changes["latency"] = _latency(latency)
    if check is not None:
        if check not in ("full", "count", "none"):
            raise UserError(f"there is no check {check!r}.", hint="there are full, count and none")
        changes["check"] = check
    if seed is not None:
        changes["seed"] = seed
    return msgspec.structs.replace(script, **changes)


def _player(workspace: Path | None, quality: list[str] | None, seed: int) -> Rehearsal | None:
    """Return who plays the models of a workspace, which becomes a rehearsal's, where one was named.

    Raises:
        UserError: if there is no such folder, a quality makes no sense, or real models were asked there before.
    """
    if workspace is None:
        if quality:
            raise UserError(
                "--quality says how well the models of a workspace are played.",
                hint="name the workspace: --workspace BENCH",
            )
        return None
    import msgspec

    from proctor.stages.models import CALLS
    from proctor.stages.rehearsing import Played, mark_rehearsal
    from proctor.workspace import Workspace
    from proctor_rehearsal.players import Rehearsal, parse_quality

    Workspace(workspace).require_folder()
    qualities = parse_quality(quality or ())
    player = Rehearsal(workspace, quality=qualities, seed=seed)
    everybody = qualities.pop("")
    played = Played(quality=everybody, seed=seed, qualities=qualities or msgspec.UNSET)
    mark_rehearsal(workspace, played, calls=workspace / CALLS)
    return player


def _latency(text: str) -> Latency:
    from proctor_rehearsal.standin.script import Latency

    low, dots, high = text.partition("..")
    try:
        return Latency(low=float(low), high=float(high)) if dots else Latency(seconds=float(text))
    except ValueError:
        raise UserError(
            f"{text!r} is not a latency.", hint="write seconds, such as 0.2, or two limits, such as 0.1..0.5"
        ) from None


def _loopback(host: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def _until_told() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C or a request to end sets; the usual handlers come back afterwards."""
    told = threading.Event()
    usual = {
        number: signal.signal(number, lambda *_: told.set()) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield told
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
