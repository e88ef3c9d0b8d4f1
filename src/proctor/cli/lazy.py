"""Groups of commands whose modules are imported only when one of them is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, Final, NamedTuple, cast

from typer.main import get_command

from proctor.cli.console import Group, extras_note
from proctor.errors import MissingExtraError, UserError
from proctor.terminal import warn

__all__ = [
    "ALIASES",
    "ENTRY_POINTS",
    "FORMER",
    "RESIDUALS",
    "SIMULATE",
    "STANDIN",
    "Brought",
    "FamilyGroup",
    "LazyGroup",
]

ENTRY_POINTS: Final = "proctor.commands"
"""Group of the entry points that bring commands, each the command's Typer application."""


class Brought(NamedTuple):
    """A command that a package of its own brings: the extra that installs it, the package, and what it does."""

    extra: str
    package: str
    summary: str

    @property
    def is_installed(self) -> bool:
        """True when the package is there; entry points, which take longer to read, are asked when the command is called."""
        return find_spec(self.package) is not None


STANDIN: Final = Brought(
    "rehearsal",
    "proctor_rehearsal",
    "Run a server that plays the providers' models, for tests and rehearsals.",
)
SIMULATE: Final = STANDIN._replace(summary="Make recordings of the plan with simulated sensors and people.")
RESIDUALS: Final = STANDIN._replace(
    summary="Measure synchronisation on simulated sensors whose truth is known."
)


class Completed(NamedTuple):
    """What a shell completes, as the framework reads it."""

    value: str
    help: str
    type: str = "plain"


FORMER: Final[Mapping[str, str]] = {
    "answer": "proctor predict WORKSPACE --kind documents -p MODEL --show gold; then proctor judge and proctor score",
    "predict instructional": "proctor predict WORKSPACE --kind clip -p MODEL --show frames:8; then proctor judge and proctor score",
}
"""Commands that are no more, and what is typed now."""

ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "experiment instructional": ("experiment", "clip"),
    "experiment promqa": ("experiment", "moment"),
    "experiment styled": ("experiment", "documents"),
    "generate instructional": ("generate", "clip"),
    "generate procedural": ("generate", "moment"),
    "generate styled": ("generate", "documents"),
    "predict procedural": ("predict", "--kind", "moment"),
}
"""Names of an older version, which are understood for one more, and what they are called now."""


class LazyGroup(Group):
    """A group that knows names and summaries of its commands and loads a command when it is asked for.

    Attributes:
        members: name to module and summary; a module has ``app``, or ``apps`` by name.
        brought: commands of other packages by name; they are listed where these are installed.
        former: commands that are no more, of one word or two, and what is typed now.
        aliases: older names of two words that are not listed, and what is run.
        sections: names of commands under their headings; one for all where there is none.
        needs: extras that a command needs.
        more: extras that a command does more with.
    """

    needs: ClassVar[Mapping[str, Sequence[str]]] = {}
    more: ClassVar[Mapping[str, Sequence[str]]] = {}
    sections: ClassVar[Mapping[str, Sequence[str]]] = {}
    members: ClassVar[Mapping[str, tuple[str, str]]] = {}
    brought: ClassVar[Mapping[str, Brought]] = {}
    former: ClassVar[Mapping[str, str]] = {}
    aliases: ClassVar[Mapping[str, Sequence[str]]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Only the names count here: "did you mean" looks among them; the commands come from get_command.
        self.commands = cast("Any", dict.fromkeys(self._summaries()))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the framework's signature
        """Return the commands that are listed, in the order of the job."""
        summaries = self._summaries()
        return [name for names in self._sections(summaries).values() for name in names if name in summaries]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is typed.

        Raises:
            UserError: if it is one that is no more.
        """
        for typed in (" ".join(args[:1]), " ".join(args[:2])):
            if typed in self.former:
                raise UserError(f"there is no 'proctor {typed}' any more.", hint=f"type {self.former[typed]}")
        if now := self.aliases.get(old := " ".join(args[:2])):
            warn(f"'proctor {old}' is now called 'proctor {' '.join(now)}'")
            args = [*now, *args[2:]]
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete the name of a command without loading any of them."""
        summaries = self._summaries()
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        return [Completed(name, summaries[name]) for name in names] or super().shell_complete(ctx, incomplete)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load the command's module and return the command.

        Raises:
            MissingExtraError: if it is brought by a package that is not installed.
        """
        if cmd_name in self.brought:
            return _command(cmd_name, _load_brought(cmd_name, self.brought[cmd_name]))
        if cmd_name not in self.members:
            return None
        module = import_module(self.members[cmd_name][0])
        apps: Any = getattr(module, "apps", None)
        command = _command(cmd_name, module.app if apps is None else apps[cmd_name])
        needs, more = self.needs.get(cmd_name, ()), self.more.get(cmd_name, ())
        command.epilog = (
            extras_note(f"{ctx.command_path if ctx else 'proctor'} {cmd_name}", needs, more) or command.epilog
        )
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """List names and summaries without loading any command."""
        summaries = self._summaries()
        for heading, names in self._sections(summaries).items():
            with formatter.section(heading):
                formatter.write_dl([(name, summaries[name]) for name in names if name in summaries])

    def _sections(self, summaries: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        return self.sections or {"Commands": tuple(summaries)}

    def _summaries(self) -> dict[str, str]:
        own = {name: summary for name, (_, summary) in self.members.items()}
        return own | {name: other.summary for name, other in self.brought.items() if other.is_installed}


def _load_brought(name: str, brought: Brought) -> Any:
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINTS, name=name):
        return entry.load()
    raise MissingExtraError(brought.package.replace("_", "-"), brought.extra, f"The command '{name}'")


@cache
def _command(name: str, app: Any) -> Any:
    """Return the app's command, the same one each time: to make its options takes longer than many a command's work."""
    command = get_command(app)
    command.name = name
    return command


class FamilyGroup(LazyGroup):
    """A group of which one command is meant when none is named: ``proctor generate bench`` is ``generate moment bench``.

    Attributes:
        usual: the member that is meant; a workspace that is called like another one is written ``./NAME``.
    """

    usual: ClassVar[str] = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the usual command where none is named, before ``--help`` too."""
        if args and args[0] not in self.members:
            args = [self.usual, *args]
        return super().parse_args(ctx, args)
