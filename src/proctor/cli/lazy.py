"""Groups of commands whose modules are imported only when one of them is called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, cast

from typer.core import TyperGroup
from typer.main import get_command

__all__ = ["FamilyGroup", "LazyGroup"]


class LazyGroup(TyperGroup):
    """A group that knows names and summaries of its commands and loads a command when it is asked for.

    Attributes:
        members: name to module and summary; a module has ``app``, or ``apps`` by name.
    """

    members: ClassVar[Mapping[str, tuple[str, str]]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Only the names count here: "did you mean" looks among them; the commands come from get_command.
        self.commands = cast("Any", dict.fromkeys(self.members))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the framework's signature
        """Return the commands in the order of the job."""
        return list(self.members)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Load the command's module and return the command."""
        if cmd_name not in self.members:
            return None
        module = import_module(self.members[cmd_name][0])
        apps: Any = getattr(module, "apps", None)
        command = get_command(module.app if apps is None else apps[cmd_name])
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """List names and summaries without loading any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self.members.items()])


class FamilyGroup(LazyGroup):
    """A group of which one command is meant when none is named: ``proctor generate bench`` is ``generate procedural bench``.

    Attributes:
        usual: the member that is meant; a workspace that is called like another one is written ``./NAME``.
    """

    usual: ClassVar[str] = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the usual command where none is named, before ``--help`` too."""
        if args and args[0] not in self.members:
            args = [self.usual, *args]
        return super().parse_args(ctx, args)
