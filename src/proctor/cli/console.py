"""What all commands share: results for people and for machines, progress, errors and exit statuses.

Results go to standard output, everything else to standard error, so that ``--json`` output can be piped.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer
from typer.core import TyperCommand, TyperGroup

from proctor.errors import UserError, install_line, missing_extra
from proctor.terminal import escaped, note, printable

__all__ = [
    "Group",
    "WorkspaceArgument",
    "command_app",
    "counted",
    "emit",
    "extras_note",
    "group_app",
    "run",
    "share_text",
    "table",
    "typed_wrongly",
]

WorkspaceArgument = Annotated[
    Path, typer.Argument(metavar="WORKSPACE", help="Folder of the benchmark in the making.")
]
_EXAMPLE: Final = "Example: "
_NEAR: Final = re.compile(r"\s+(?:Did you mean |\(Possible options: )")
_CHOICES: Final = re.compile(r"'(.*)' is not one of (.*)\.$", re.DOTALL)
_WORDS: Final = tuple(
    (re.compile(pattern, re.DOTALL), text)
    for pattern, text in (
        (r"^No such command '(.*)'\.$", r"there is no command '\1'."),
        (r"^No such option: (\S+)$", r"there is no option \1."),
        (r"^Missing (argument|option) '(.*)'\.$", r"the \1 \2 is missing."),
        (r"^Option '(.*)' requires an argument\.$", r"the option \1 needs a value."),
        (r"^Option '(.*)' does not take a value\.$", r"the option \1 takes no value."),
        (r"^Got unexpected extra arguments?(?:\(s\))? \((.*)\)$", r"unexpected: \1."),
        (r"^Invalid value for '(.*?)'(?: / '(?:.*?)')*: (?:Value error, )?", r"\1: "),
        (r"Input should be a valid integer.*", "a whole number was expected."),
        (r"Input should be a valid number.*", "a number was expected."),
        (r"Input should be greater than or equal to (\S+)$", r"at least \1 was expected."),
        (r"Input should be less than or equal to (\S+)$", r"at most \1 was expected."),
    )
)
"""What the framework says of a command line, and how we say it."""
_IN_WORDS: Final = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"(?<=[\[ ])([-\d.e]+)<=x<=([-\d.e]+)(?=[\];])", r"\1 to \2"),
        (r"(?<=[\[ ])x>=([-\d.e]+)(?=[\];])", r"at least \1"),
        (r"(?<=[\[ ])x<=([-\d.e]+)(?=[\];])", r"at most \1"),
        (r"<([^<>]+\|[^<>]+)>$", r"\1"),
        (r"<str>$", "TEXT"),
        (r"<path>$", "PATH"),
        (r"<int(?: range)?>$", "N"),
        (r"<float(?: range)?>$", "NUMBER"),
    )
)
"""How the framework writes types and limits in help, and how we do."""
_USAGE: Final = (
    (re.compile(r"^\{(.*)\}"), r"\1"),
    (re.compile(r"^(.* .*)\.\.\.$"), r"\1"),  # it says itself which words there are
)
"""How the framework writes arguments in a usage line, and how we do."""
_INTERRUPTED: Final = 130
_TERMINATED: Final = 143
_SURROUNDINGS: Final = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    | {errno.EIO, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EMFILE, errno.ENFILE, errno.ESTALE}
)
"""What the system refuses to everybody: no bug of ours, and the user can change it."""


class _Explained:
    """Help that says in a sentence what a command does, then shows examples as they are typed, then the rest."""

    help: str | None

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the framework's signature
        """Write the first paragraph, the examples, and the other paragraphs."""
        paragraphs = [" ".join(part.split()) for part in (self.help or "").replace("\f", "").split("\n\n")]
        examples = [part.removeprefix(_EXAMPLE) for part in paragraphs if part.startswith(_EXAMPLE)]
        first, *rest = [part for part in paragraphs if part and not part.startswith(_EXAMPLE)] or [""]
        _write_paragraph(formatter, first)
        if examples:
            with formatter.section("Examples"):
                for example in examples:
                    formatter.write(f"{'':{formatter.current_indent}}{example}\n")
        for part in rest:
            _write_paragraph(formatter, part)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write what the command needs, or the group that it belongs to."""
        while ctx is not None:
            if ctx.command.epilog:
                formatter.write_paragraph()
                for line in ctx.command.epilog.splitlines():  # unbroken, to be copied
                    formatter.write(f"  {line}\n")
                return
            ctx = ctx.parent


def _write_paragraph(formatter: Any, text: str) -> None:
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(text)


def _said(text: str, words: Iterable[tuple[re.Pattern[str], str]]) -> str:
    for pattern, ours in words:
        text = pattern.sub(ours, text)
    return text


class Group(_Explained, TyperGroup):
    """A group of commands whose help shows examples first, and every summary whole."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands with the first sentence about each."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, command.get_short_help_str(sys.maxsize))
                    for name, command in commands
                    if command is not None and not command.hidden
                ]
            )


class SectionedCommand(_Explained, TyperCommand):
    """A command whose help shows examples first, and its options under their headings."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words that were typed; of an option without its value, too, an error knows the command."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            if getattr(error, "ctx", ctx) is None:
                error.ctx = ctx  # type: ignore[attr-defined]
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line: ``WORKSPACE`` has to be given, ``[TARGET]`` need not, ``RUN...`` may be several."""
        return [_said(piece, _USAGE) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options, section by section."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                argument = parameter.param_type_name == "argument"
                usual = "Arguments" if argument else "Options"
                record = (record[0].partition(" <")[0], record[1]) if argument else record
                record = (_said(record[0], _IN_WORDS), _said(record[1], _IN_WORDS))
                heading = getattr(parameter, "rich_help_panel", None) or usual
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class _App(typer.Typer):
    def command(self, name: str | None = None, **settings: Any) -> Any:
        """Take a function as a command whose help is sectioned."""
        return super().command(name, **{"cls": SectionedCommand, **settings})


def command_app() -> typer.Typer:
    """Return the app of one command; plain text in any terminal."""
    return _App(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def group_app(help: str, cls: type[TyperGroup] = Group) -> typer.Typer:
    """Return the app of a group of commands, which prints its help when none is named."""
    app = _App(
        cls=cls,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help=help,
    )

    @app.callback(invoke_without_command=True)
    def _root() -> None:
        """Nothing is to be done before the command; with this, one command alone is a group, too."""

    return app


def extras_note(command: str, needs: Sequence[str] = (), more: Sequence[str] = ()) -> str:
    """Return which extras a command needs, and with which it does more."""
    lines = [
        f"{command} {what}{',' if 'rehearsal' in extras else ':'} {install_line(*extras)}"
        for what, extras in (("needs", needs), ("does more after", more))
        if extras
    ]
    return "\n".join([*lines, "proctor doctor shows what is there."]) if lines else ""


def typed_wrongly(error: Any) -> UserError:
    """Return what the framework says of a command line as an error of ours; a group without a command prints its help instead.

    Raises:
        SystemExit: after the help.
    """
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        raise SystemExit(error.exit_code)
    message, *near = _NEAR.split(error.format_message().strip())
    near = [near[0].rstrip("?)").replace("'", "")] if near else []
    if choices := _CHOICES.search(message := _said(message, _WORDS)):
        near = get_close_matches(choices[1], choices[2].replace("'", "").split(", "), n=1)
    command = "proctor" if error.ctx is None else error.ctx.command_path
    return UserError(
        message, hint=f"did you mean {near[0]}?" if near else f"{command} --help shows how it is typed"
    )


def emit(result: msgspec.Struct | Mapping[str, Any] | Sequence[Any], text: str, *, as_json: bool) -> None:
    """Print the result of a command: JSON for machines, the text for people.

    Neither can steer a terminal, whatever the data say: what does not print is escaped.

    Raises:
        UserError: if standard output cannot take it, because the disk is full.
    """
    if as_json:
        shown = msgspec.json.format(msgspec.json.encode(result), indent=2).decode()
        shown = "\n".join(escaped(line, _json_escape) for line in shown.split("\n"))
    else:
        shown = "\n".join(printable(line) for line in text.rstrip("\n").split("\n"))
    try:
        sys.stdout.write(shown + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard_output()
        raise UserError(
            f"the result cannot be printed: {error.strerror or error}. The files are written.",
            hint="send standard output somewhere else",
        ) from None


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def share_text(value: float | None, interval: tuple[float, float] | None = None) -> str:
    """Return a share from 0 to 1 as per cent, with the ends of its interval; a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:.1%}" if interval is None else f"{value:.1%} ({interval[0]:.1%} to {interval[1]:.1%})"


def table(rows: Iterable[Sequence[object]], header: Sequence[str] = ()) -> str:
    """Lay rows out in columns; numbers are set flush right."""
    cells = [[_cell(c) for c in row] for row in rows]
    lines = ([list(header)] if header else []) + cells
    if not lines:
        return ""
    width = [max(len(row[i]) for row in lines if i < len(row)) for i in range(max(map(len, lines)))]
    right = [all(_is_number(row[i]) for row in cells if i < len(row) and row[i]) for i in range(len(width))]
    out = [
        "  ".join(c.rjust(width[i]) if right[i] else c.ljust(width[i]) for i, c in enumerate(row)).rstrip()
        for row in lines
    ]
    if header:
        out.insert(1, "  ".join("─" * w for w in width))
    return "\n".join(out)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else printable(str(value))


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "", 1).replace("-", "", 1).removesuffix("%").strip().isdigit()


def counted(counts: Mapping[str, int]) -> str:
    """Return how many of each, as part of a sentence."""
    return ", ".join(f"{n:,} {name}" for name, n in counts.items()) or "none"


def run(app: Callable[[], Any]) -> int:
    """Run the command line and return its exit status: 0 done, 2 the user can fix it, 130 interrupted, 143 terminated.

    A bug keeps its traceback and ends with status 1.
    """
    with _terminated_as_interrupted() as is_terminated:
        status = _run(app)
        return _TERMINATED if status == _INTERRUPTED and is_terminated() else status


@contextmanager
def _terminated_as_interrupted() -> Iterator[Callable[[], bool]]:
    """Let SIGTERM (of a job scheduler, a container) end a command as Ctrl-C does: what is paid for is kept.

    Yields:
        A function that says whether it came.
    """
    came, me = False, os.getpid()

    def stop(number: int, _frame: object) -> None:
        nonlocal came
        if os.getpid() != me:  # a child that was forked: whoever ends it does not want it to tidy up
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        came = True
        raise KeyboardInterrupt

    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    if ours:
        signal.signal(signal.SIGTERM, stop)
    try:
        yield lambda: came
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _run(app: Callable[[], Any]) -> int:
    _accept_any_text()
    try:
        _require_unicode(sys.argv)
        app()
        sys.stdout.flush()
    except UserError as error:
        note(f"proctor: {error.render()}")
        return 2
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        note(f"proctor: {missing.render()}")
        return 2
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:
        _discard_output()
        return 0
    except SystemExit as end:
        return _status(end.code)
    except OSError as error:
        if error.errno not in _SURROUNDINGS or error.filename is None:
            raise
        note(
            f"proctor: {error.filename}: {error.strerror}\n  → check the path, its permissions and the free space"
        )
        return 2
    except RuntimeError as error:  # what Path.resolve says of a loop of links before Python 3.13
        if not str(error).startswith("Symlink loop from "):
            raise
        note(f"proctor: {error}\n  → name another place, or remove the link")
        return 2
    return 0


def _status(code: object) -> int:
    """Translate how the command-line framework ended: it has a word of its own for a lost reader."""
    if code == _INTERRUPTED:
        return _interrupted()
    if code == 1 and type(sys.stdout).__name__ == "PacifyFlushWrapper":
        _discard_output()
        return 0
    try:
        sys.stdout.flush()
    except OSError:
        _discard_output()
    return code if isinstance(code, int) else int(code is not None)


def _interrupted() -> int:
    note("proctor: interrupted; what was finished is kept, run the same command to continue")
    return _INTERRUPTED


def _discard_output() -> None:
    """Point standard output at nothing, so that the interpreter's last flush is silent."""
    with suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.__stdout__.fileno())  # type: ignore[union-attr]
        os.close(null)


def _accept_any_text() -> None:
    """Escape characters that the terminal's encoding lacks, instead of ending in the middle of a table."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="backslashreplace")


def _require_unicode(arguments: Sequence[str]) -> None:
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UserError(
                f"{argument!a} is not UTF-8.", hint="use names of files and folders that are"
            ) from None
