"""The options of commands that ask models: the same everywhere, told by --help, and kept."""

from __future__ import annotations

import itertools
import logging
import shutil
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from proctor.cli.console import WorkspaceArgument
from proctor.cli.options import Output, with_settings
from proctor.errors import UserError
from proctor.llm.gate import Limits as EndpointLimits
from proctor.stages.limits import Limits
from proctor.stages.models import flow_settings, open_models
from proctor.workspace import Workspace
from proctor_rehearsal.standin import Standin

Command = Callable[..., Any]

OPTIONS = {
    "--max-cost": "2.50",
    "--max-calls": "7",
    "--max-tokens": "900",
    "--max-connections": "3",
    "--rpm": "90",
    "--tpm": "1e5",
    "--timeout": "12.5",
    "--deadline": "99",
    "--calls": "elsewhere.sqlite",
    "--prompts": "own",
    "--prices": "prices.toml",
}
COMMANDS = ("generate", "verify", "predict", "judge", "experiment")


@pytest.fixture
def standin() -> Iterator[Standin]:
    with Standin({"rules": [{"reply": "They differ.\nVerdict: 1"}]}) as server:
        yield server


@pytest.fixture
def bench(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished / "bench", tmp_path / "bench"))


# -- the decorator ------------------------------------------------------------------------------------------------


def taken() -> tuple[typer.Typer, list[Any]]:
    """Return an app with one command that keeps what it got."""
    app, got = typer.Typer(rich_markup_mode=None), []

    @app.command()
    @with_settings
    def ask(
        workspace: WorkspaceArgument,
        times: Annotated[int, typer.Option(help="How often.")] = 1,
        *,
        limits: Limits,
        output: Output,
    ) -> None:
        """Ask."""
        got.append((workspace, times, limits, output.as_json))

    return app, got


def test_a_command_gets_one_value_of_all_options() -> None:
    app, got = taken()
    arguments = ["bench", "--times", "2", *itertools.chain(*OPTIONS.items()), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    ((workspace, times, limits, as_json),) = got
    assert (workspace, times, as_json) == (Path("bench"), 2, True)
    assert (limits.max_cost, limits.max_calls, limits.max_tokens) == (Decimal("2.50"), 7, 900)
    assert (limits.max_connections, limits.requests_per_minute, limits.tokens_per_minute) == (3, 90.0, 1e5)
    assert (limits.timeout, limits.deadline) == (12.5, 99.0)
    assert (limits.calls, limits.prompts, limits.prices) == (
        "elsewhere.sqlite",
        Path("own"),
        Path("prices.toml"),
    )


def test_what_is_left_out_is_no_limit() -> None:
    app, got = taken()
    assert CliRunner().invoke(app, ["bench"]).exit_code == 0
    ((_, times, limits, as_json),) = got
    assert limits == Limits()
    assert (times, as_json) == (1, False)


def test_the_options_stand_where_the_limits_stand() -> None:
    app, _ = taken()
    text = CliRunner().invoke(app, ["--help"]).output
    places = [text.index(f" {option} ") for option in ("--times", *OPTIONS, "--json")]
    assert places == sorted(places)
    assert "limits" not in text.lower().replace("no limit", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_asks_has_every_option(proctor: Command, command: str) -> None:
    text = proctor(command, "--help").out
    for option in OPTIONS:
        assert f" {option} " in text, option
    assert "--dry-run" in text


# -- values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--rpm", "--tpm", "--timeout", "--deadline"])
@pytest.mark.parametrize("value", ["0.0", "-1.0", "nan", "inf"])
def test_a_pace_that_is_none_is_refused(option: str, value: str) -> None:
    with pytest.raises(UserError, match=f"{option} is"):
        CliRunner().invoke(taken()[0], ["bench", option, value], catch_exceptions=False)


@pytest.mark.parametrize("text", ["much", "-1", "nan", "inf", ""])
def test_an_amount_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="US dollars"):
        CliRunner().invoke(taken()[0], ["bench", "--max-cost", text], catch_exceptions=False)


def test_limits_become_settings_of_the_flow() -> None:
    settings = flow_settings(
        Limits(max_connections=4, requests_per_minute=60, tokens_per_minute=1_000, timeout=5, deadline=50)
    )
    assert settings.limits == EndpointLimits(
        concurrency=4, max_concurrency=4, requests_per_minute=60, tokens_per_minute=1_000
    )
    assert (settings.attempt_timeout, settings.deadline) == (5, 50)
    usual = flow_settings(Limits())
    assert usual.limits == EndpointLimits()
    many = flow_settings(Limits(max_connections=1_000))
    assert (many.limits.concurrency, many.limits.max_concurrency) == (EndpointLimits().concurrency, 1_000)


# -- kept, against a server ---------------------------------------------------------------------------------------


def judge(proctor: Command, bench: Path, standin: Standin, *options: object) -> Any:
    return proctor("judge", bench, "--judge-floors", "--judge", f"compat/marker@{standin.url}/v1", *options)


def test_no_more_connections_than_allowed(bench: Path, standin: Standin, proctor: Command) -> None:
    standin.script(
        {"rules": [{"reply": "Verdict: 1"}]}, faults=[{"crowd": 3, "status": 429}], latency={"seconds": 0.01}
    )
    done = judge(proctor, bench, standin, "--max-connections", 3, "--json")
    assert done.status == 0, done.err
    assert standin.count == done.json["calls"]["sent"] > 20
    assert set(done.json["calls"]["outcomes"]) == {"reply"}


def test_requests_a_minute_are_kept(bench: Path, standin: Standin, proctor: Command) -> None:
    before = time.monotonic()
    done = judge(proctor, bench, standin, "--rpm", 1200, "--max-calls", 50, "--json")
    seconds = time.monotonic() - before
    assert done.status == 3, done.err  # calls are left
    assert standin.count == 50
    assert seconds > (50 - 20) / 20  # a second's worth at once, then twenty a second


def test_a_timeout_is_kept_and_told(bench: Path, standin: Standin, proctor: Command) -> None:
    standin.script({"rules": [{"reply": "Verdict: 1"}]}, faults=[{"kind": "stall", "seconds": 30}])
    options = ("--timeout", 0.1, "--deadline", 0.2, "--max-calls", 1, "--json")
    done = judge(proctor, bench, standin, *options)
    assert done.status == 1, done.err  # nobody said anything
    assert done.json["calls"]["outcomes"]["timeout"] == 1


def test_a_reply_that_was_lost_is_told_as_possibly_charged(
    bench: Path, standin: Standin, proctor: Command, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('[prices."compat/*"]\ninput = 1.0\noutput = 2.0\n')
    rules = {"rules": [{"reply": "Verdict: 1"}]}
    standin.script(rules, faults=[{"kind": "cut_body", "first": 2}])
    done = judge(proctor, bench, standin, "--prices", prices, "--run", "constant", "--max-connections", 2)
    assert done.status == 0, done.err
    assert "more, for 2 calls whose reply was lost" in done.out
    again = judge(proctor, bench, standin, "--prices", prices, "--run", "constant")
    assert "whose reply was lost" not in again.out
    sums = proctor("calls", "cost", bench, "--json").json["sum"]
    assert (sums["lost"], sums["unpriced"]) == (2, 0)
    assert sums["feared"] > 0


def test_how_the_pace_changed_is_told_and_kept(bench: Path, standin: Standin, proctor: Command) -> None:
    rules = {"rules": [{"reply": "Verdict: 1"}]}
    standin.script(rules, faults=[{"crowd": 4, "status": 429}], latency={"seconds": 0.02})
    done = judge(proctor, bench, standin)
    assert done.status == 0, done.err
    (told,) = (line for line in done.out.splitlines() if line.startswith("concurrency 16 → "))
    assert "(rate_limit ×" in told
    assert told.endswith(f"({standin.url}/v1#marker)")
    shown = proctor("calls", "flow", bench, "--stage", "judge/*")
    assert shown.status == 0, shown.err
    assert "shrink" in shown.out
    assert "rate_limit" in shown.out
    events = proctor("calls", "flow", bench, "--json").json["events"]
    assert {event["endpoint"] for event in events} == {f"{standin.url}/v1#marker"}
    assert {"shrink"} <= {event["kind"] for event in events}
    assert min(event["limit"] for event in events) <= 4
    again = judge(proctor, bench, standin)
    assert "concurrency" not in again.out  # nothing was sent
    assert len(proctor("calls", "flow", bench, "--json").json["events"]) == len(events)
    assert proctor("calls", "flow", bench, "--stage", "x").out.strip() == "Nothing changed the pace."


def test_a_model_that_was_given_up_is_told_with_the_reason(
    bench: Path, standin: Standin, proctor: Command
) -> None:
    standin.script(faults=[{"status": 401}])
    done = judge(proctor, bench, standin, "--run", "constant")
    assert "given up: " in done.out
    assert done.out.count("given up") == 1


# -- said before anything is paid ---------------------------------------------------------------------------------


def test_parameters_that_a_model_is_not_sent_are_told_once_and_kept(
    bench: Path,
    standin: Standin,
    proctor: Command,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef")
    name = f"anthropic/claude-sonnet-5@{standin.url}"
    done = proctor("judge", bench, "--judge", name, "--judge-floors", "--run", "constant", "--json")
    assert done.status == 0, done.err
    assert "constant" in done.json["runs"]
    (told,) = (r.message for r in caplog.records if "has no field" in r.message)
    assert told.startswith(f"{name} has no field for temperature: not sent in the stage 'judge/constant'")
    assert done.json["calls"]["unsent"] == {name: ["temperature"]}
    record = (bench / "stages.json").read_bytes()
    assert Workspace(bench).stages()["judge/constant"].counts["unsent"] == {name: ["temperature"]}
    monkeypatch.delenv("ANTHROPIC_API_KEY")  # all is stored: no key is needed, and the record stays as it is
    assert proctor("judge", bench, "--judge", name, "--judge-floors", "--run", "constant").status == 0
    assert (bench / "stages.json").read_bytes() == record


def test_nothing_is_told_of_a_model_that_is_sent_everything(
    bench: Path, standin: Standin, proctor: Command, caplog: pytest.LogCaptureFixture
) -> None:
    done = judge(proctor, bench, standin, "--run", "constant", "--json")
    assert "unsent" not in done.json["calls"]
    assert "unsent" not in Workspace(bench).stages()["judge/constant"].counts
    assert "has no field" not in caplog.text


@pytest.mark.parametrize("command", ["judge", "verify"])
def test_an_unknown_price_is_said_loudly_before_the_first_request(
    bench: Path, standin: Standin, proctor: Command, command: str, caplog: pytest.LogCaptureFixture
) -> None:
    sent_before: list[int] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "is not known" in record.getMessage():
                sent_before.append(standin.count)

    listener = Listener()
    logging.getLogger("proctor.llm").addHandler(listener)
    try:
        option = ("--judge-floors", "--judge") if command == "judge" else ("--verifier",)
        done = proctor(command, bench, *option, f"compat/marker@{standin.url}/v1", "--max-calls", 3)
    finally:
        logging.getLogger("proctor.llm").removeHandler(listener)
    assert done.status == 3, done.err  # calls are left
    assert sent_before == [0]  # once, and first
    assert standin.count == 3


@pytest.mark.parametrize("command", ["judge", "verify"])
def test_an_unknown_price_is_refused_with_a_limit_on_money(
    bench: Path, standin: Standin, proctor: Command, command: str
) -> None:
    option = ("--judge-floors", "--judge") if command == "judge" else ("--verifier",)
    before = {path: path.read_bytes() for path in bench.rglob("*.json*")}
    name = f"compat/marker@{standin.url}/v1"
    done = proctor(command, bench, *option, name, "--max-cost", "5")
    assert done.status == 2
    assert f"the price of {name} is not known, so --max-cost cannot be kept" in done.err
    assert "PROCTOR_PRICES" in done.err
    assert standin.count == 0
    assert {path: path.read_bytes() for path in bench.rglob("*.json*")} == before


def test_prices_of_all_models_of_a_stage_are_checked_before_the_first_is_asked(tmp_path: Path) -> None:
    known = "openai/gpt-4o-2024-08-06"
    with open_models(Workspace(tmp_path), Limits(max_cost=Decimal(1))) as models:
        models.require_prices(known)
        with pytest.raises(UserError, match="price of compat/x@http://h is not known"):
            models.require_prices(known, "compat/x@http://h")
    with open_models(Workspace(tmp_path), Limits()) as models:
        models.require_prices(known, "compat/x@http://h")


@pytest.mark.parametrize(
    ("command", "record", "options"),
    [
        ("predict", "predict/own", ("--show", "question", "--run", "own", "-p")),
        ("verify", "verify/anthropic-claude-sonnet-5", ("--limit", 3, "--verifier")),
        ("generate", "generate", ("--examples", 4, "--generator")),
    ],
)
def test_every_stage_keeps_what_a_model_was_not_sent_also_when_it_is_run_again(
    command: str,
    record: str,
    options: tuple[object, ...],
    bench: Path,
    standin: Standin,
    proctor: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef")
    name = f"anthropic/claude-sonnet-5@{standin.url}"
    done = proctor(command, bench, *options, name)
    assert done.status == 0, done.err
    kept = Workspace(bench).stages()[record]
    assert {**kept.counts, **kept.settings}["unsent"] == {name: ["temperature"]}
    sent = standin.count
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert proctor(command, bench, *options, name).status == 0
    assert standin.count == sent
    assert Workspace(bench).stages()[record] == kept


def test_neither_of_two_models_is_asked_when_the_price_of_one_is_not_known(
    bench: Path, standin: Standin, proctor: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    captioner = f"openai/gpt-4o-2024-08-06@{standin.url}/v1"
    name = f"compat/own@{standin.url}/v1"
    options = ("--show", "captions", "--captioner", captioner, "--max-cost", 5)
    done = proctor("predict", bench, "-p", name, *options)
    assert done.status == 2
    assert f"the price of {name} is not known" in done.err
    assert standin.count == 0
