"""Every command that a page shows exists with its options: parsed as it would be typed, and not run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
import typer.main

from proctor.cli.main import app
from proctor.errors import UserError

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")} - {ROOT / "CHANGELOG.md"})
GROUP: Any = typer.main.get_command(app)
Usage: Any = typer.BadParameter.__base__
"""The framework's class of everything that is typed wrongly."""
END: Final = re.compile(r" (?:\||&&|;|>>?|2>|&)(?: |$)")
OTHERS: Final = [["metrics", "timing"]]
"""Commands that a page's own package brings."""


def typed(text: str) -> Iterator[str]:
    """Yield the commands of fenced blocks, continued lines put together, prompts, comments, pipes and redirections taken off."""
    for language, body in re.findall(r"^ *```([^\n]*)\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE):
        if language.partition(" ")[0] not in ("", "console", "sh", "bash"):
            continue
        for line in body.replace("\\\n", " ").splitlines():
            for command in re.sub(r"^\s*(?:\$ )?(?:[A-Z_]+=\S+ +)*", "", line).split(" && "):
                if command.startswith("proctor ") and (line.lstrip().startswith("$ ") or "$ " not in body):
                    yield END.split(command)[0]


def helped(text: str) -> Iterator[str]:
    """Yield the examples of help texts, which docs/commands.md holds."""
    for block in re.findall(r"^Examples:\n((?:  proctor .*\n)+)", text, re.MULTILINE):
        lines = [END.split(line.strip())[0] for line in block.splitlines()]
        yield from (line for line in lines if line.count("'") % 2 == 0)  # else it goes on in the next line


def inside(text: str) -> Iterator[str]:
    """Yield what stands as a command in running text."""
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    yield from (found.replace("\n", " ") for found in re.findall(r"`(proctor [^`]+)`", prose))


def parse(command: Any, words: list[str], above: Any = None) -> Any:
    """Return the innermost command that words name, parsed as if they were typed."""
    context = command.make_context(command.name or "proctor", list(words), parent=above)
    if not hasattr(command, "get_command"):
        return command
    _, inner, left = command.resolve_command(context, [*context._protected_args, *context.args])
    return parse(inner, left, context)


def check(command: str, only: str = "") -> None:
    """Raise where a command is typed wrongly, and the message says ``only``."""
    words = shlex.split(command, comments=True)[1:]
    if {"--help", "--version"} & {*words} or words[:2] in OTHERS:
        return
    if words[0] == "calls" and len(words) > 1 and words[1] not in GROUP.get_command(None, "calls").commands:
        words.insert(1, "list")  # which is meant where the store is there
    try:
        parse(GROUP, words)
    except (Usage, UserError) as error:
        message = error.message if isinstance(error, UserError) else error.format_message()
        assert only not in message, f"{command}: {message}"


def check_options(command: str) -> None:
    """Raise where a command in running text, in which arguments are often left out, names one or an option that is not there."""
    inner, words = GROUP, re.findall(r"\S+", command)[1:]
    while hasattr(inner, "get_command"):
        usual = getattr(inner, "usual", {"studio": "serve", "calls": "list"}.get(inner.name))
        if not words or (words[0] not in inner.list_commands(None) and not usual):
            left_out = not words or words[0].startswith(("…", "-")) or words[0].isupper()
            assert left_out, f"{command}: no such command"
            break
        named = words[0] in inner.list_commands(None)
        inner = inner.get_command(inner.context_class(inner), words[0] if named else usual)
        words = words[named:]
    known = {name for option in inner.params for name in (*option.opts, *option.secondary_opts)}
    for option in re.findall(r"(?<![\w-])--?[a-z][\w-]*", " ".join(words)):
        assert option in {*known, "--help", "--version"}, f"{command}: no such option: {option}"
    if not re.search(r"[…\[]", command):
        with suppress(ValueError):
            check(command, only="unexpected extra")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_can_be_typed(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    wrong, shown = [], [(command, check) for command in (*typed(text), *helped(text))]
    for one, look in [*shown, *((command, check_options) for command in inside(text))]:
        try:
            look(one)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("line", ["proctor prdict bench", "proctor score bench --no", "proctor score a b"])
def test_what_does_not_exist_is_found(line: str) -> None:
    assert sum(len([*typed(text), *inside(text)]) for text in (page.read_text() for page in PAGES)) > 500
    with pytest.raises(AssertionError):
        check(line)
