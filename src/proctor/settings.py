"""Settings of commands and stages: each option is one field of a struct, with its type, default, bounds and help.

The command line, ``proctor.toml``, a dry run, the docs and the Python signature are made from these structs. Modules
that hold them import msgspec only, so that ``--help`` waits for nothing.

Example::

    class Cut(Settings, frozen=True, kw_only=True):
        \"\"\"Cut recordings into clips.\"\"\"

        folder: Annotated[Path, argument("Folder with the recordings.")]
        longest: Annotated[int, option("Seconds of a clip.", ge=1)] = 60
        only: Annotated[tuple[str, ...], option("Recordings to cut (repeatable).", "-o")] = ()
"""

from __future__ import annotations

import dataclasses
import os
import types
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, Self, Union, get_args, get_origin, get_type_hints

import msgspec

from proctor.errors import UserError

__all__ = ["Field", "Given", "Outline", "Settings", "argument", "fields_of", "option"]

_UNIONS: Final = (Union, types.UnionType)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Options that belong together; a command may take several such structs.

    Attributes:
        section: the table of ``proctor.toml`` that holds them, empty where nothing is kept.
        heading: what they stand under in ``--help``; empty for the command's own.

    Raises:
        UserError: if a value is out of its bounds, or none of its choices.
    """

    section: ClassVar[str] = ""
    heading: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for field in fields_of(type(self)):
            value = getattr(self, field.name)
            for one in value if field.several else (value,):
                if wrong := field.wrong(one):
                    raise UserError(f"{field.flag} is {one!r}; {wrong}.")

    def with_given(self, names: Collection[str]) -> Self:
        """Return the settings, knowing which of them were given and not only remembered or left as they are.

        Raises:
            UserError: if what was given does not go together.
        """
        del names
        return self


def option(
    help: str,
    *flags: str,
    metavar: str | None = None,
    ge: float | None = None,
    le: float | None = None,
    negatable: bool = False,
    hidden: bool = False,
    parse: Callable[[str], Any] | None = None,
) -> msgspec.Meta:
    """Declare a field as an option.

    Args:
        help: for people; the default and the bounds are added to it.
        *flags: its names on the command line, where ``--field-name`` will not do; ``-k`` alone is added to that.
        metavar: the name of its value in ``--help``.
        ge: the smallest value; of each value of a tuple.
        le: the largest value.
        negatable: also ``--no-field-name``, for flags that ``proctor.toml`` may turn on; those that are on by default
            have it by themselves.
        hidden: left out of ``--help``.
        parse: from the typed text to the value, for types of its own.
    """
    extra = {
        "flags": flags, "metavar": metavar, "negatable": negatable, "hidden": hidden, "ge": ge, "le": le, "parse": parse,
    }  # fmt: skip
    return msgspec.Meta(description=help, extra=extra)


def argument(help: str, metavar: str | None = None) -> msgspec.Meta:
    """Declare a field as an argument: a word without a flag, in the order of the fields."""
    return msgspec.Meta(description=help, extra={"metavar": metavar, "argument": True})


@dataclass(frozen=True, slots=True)
class Field:
    """One declared option.

    Attributes:
        name: of the field.
        kind: the type of one value, without None and without the tuple.
        several: it is a tuple: the option may be repeated.
        required: it has no default.
        default: of the field; None where there is none.
        help: for people.
        argument: it is a word without a flag.
        flags: names on the command line, empty for ``--name`` alone.
        metavar: name of the value.
        ge: the smallest value.
        le: the largest value.
        negatable: a flag that can be turned off.
        hidden: left out of ``--help``.
        parse: from text to value; None for the usual types.
        heading: what it stands under.
    """

    name: str
    kind: Any
    several: bool
    required: bool
    default: Any
    help: str
    argument: bool
    flags: tuple[str, ...]
    metavar: str | None
    ge: float | None
    le: float | None
    negatable: bool
    hidden: bool
    parse: Callable[[str], Any] | None
    heading: str

    @property
    def flag(self) -> str:
        """Its long name on the command line."""
        long = (flag for flag in self.flags if flag.startswith("--"))
        return next(long, f"--{self.name.replace('_', '-')}")

    def wrong(self, value: Any) -> str:
        """Say what a value should have been; empty if it is right, or nothing."""
        if value is None:
            return ""
        if get_origin(self.kind) is Literal:
            known = get_args(self.kind)
            return "" if value in known else f"one of {', '.join(map(str, known))} was expected"
        if self.ge is not None and value < self.ge:
            return f"at least {self.ge:g} was expected"
        if self.le is not None and value > self.le:
            return f"at most {self.le:g} was expected"
        return ""

    def read(self, value: Any) -> Any:
        """Return a value from a file as the type of the field."""
        if value is None:
            return None
        convert = self.kind if self.kind in (float, Path) else lambda one: one
        return tuple(map(convert, value)) if self.several else convert(value)

    def convert(self, value: object, *, folder: Path | None = None) -> Any:
        """Return a value that was written in Python or in a plan as the type of the field; one value for several is a tuple.

        Args:
            value: as it was written.
            folder: that paths are relative to; the current one by default.

        Raises:
            UserError: if it is none of that type.
        """
        if value is None:
            return None
        if self.several:
            many = value if isinstance(value, list | tuple) else (value,)
            return tuple(self._one(one, folder) for one in many)
        return self._one(value, folder)

    def _one(self, value: object, folder: Path | None) -> Any:
        if self.parse is not None:
            return self.parse(str(value))
        if self.kind is Path and isinstance(value, str | os.PathLike):
            path = Path(value).expanduser()
            return path if folder is None else folder / path
        try:
            return msgspec.convert(value, self.kind)
        except msgspec.ValidationError as error:
            raise UserError(f"{self.name} is {value!r:.80}: {error}.", hint=self.help) from None


@cache
def fields_of(settings: type[Settings]) -> tuple[Field, ...]:
    """Return the options of a struct: its own first, then those that it inherits; other fields are Python's alone.

    Raises:
        TypeError: if a field that has to be given is declared by neither ``option`` nor ``argument``.
    """
    hints = get_type_hints(settings, include_extras=True)
    known = {field.name: field for field in msgspec.structs.fields(settings)}
    order = dict.fromkeys(
        name for owner in settings.__mro__ for name in vars(owner).get("__annotations__", ())
    )
    return tuple(_fields(settings, {name: (hints[name], known[name]) for name in order if name in known}))


def _fields(settings: type[Settings], declared: dict[str, tuple[Any, Any]]) -> Iterator[Field]:
    owners: dict[str, type[Settings]] = {}
    for base in reversed(settings.__mro__):
        if issubclass(base, Settings):
            owners |= dict.fromkeys(vars(base).get("__annotations__", ()), base)
    for name, (hint, field) in declared.items():
        if get_origin(hint) is not Annotated or not isinstance(meta := get_args(hint)[1], msgspec.Meta):
            if field.required:
                raise TypeError(f"{settings.__name__}.{name} is declared by neither option() nor argument()")
            continue  # Python's alone
        kind, extra = get_args(hint)[0], meta.extra or {}
        if get_origin(kind) in _UNIONS:
            kind = next(part for part in get_args(kind) if part is not type(None))
        several = get_origin(kind) is tuple
        yield Field(
            name=name,
            kind=get_args(kind)[0] if several else kind,
            several=several,
            required=field.required,
            default=None if field.default is msgspec.NODEFAULT else field.default,
            help=meta.description or "",
            argument=extra.get("argument", False),
            flags=extra.get("flags", ()),
            metavar=extra.get("metavar"),
            ge=extra.get("ge"),
            le=extra.get("le"),
            negatable=extra.get("negatable", False) or field.default is True,
            hidden=extra.get("hidden", False),
            parse=extra.get("parse"),
            heading=owners[name].heading,
        )


# -- of several stages on one command line -------------------------------------------------------------------------

Given = Mapping[str, Mapping[str, Any]]
"""Values that were given, by stage and setting."""


@dataclass(frozen=True)
class Outline:
    """The stages of an experiment with their settings, in order.

    Attributes:
        name: of the experiment, as it is typed.
        settings: of each stage.
        flags: names on the command line, by ``stage.setting``; other settings that several stages have are called
            ``--stage-setting``.
        shared: settings that mean the same in every stage that has them: one option is for all.
    """

    name: str
    settings: Mapping[str, type[Settings]]
    flags: Mapping[str, str] = dataclasses.field(default_factory=dict)
    shared: tuple[str, ...] = ("seed",)

    def options(self) -> list[tuple[Field, list[tuple[str, str]]]]:
        """Return every option of the command line with the settings that it is for.

        Nothing has a default there: what is not typed is what the workspace keeps, or the stage's own.
        """
        declared = [(stage, f) for stage, settings in self.settings.items() for f in fields_of(settings)]
        flags = Counter(f.flag for stage, f in declared if f"{stage}.{f.name}" not in self.flags)
        taken = {flag for _, f in declared for flag in f.flags if not flag.startswith("--")}
        found: dict[str, tuple[Field, list[tuple[str, str]]]] = {}
        for stage, f in declared:
            own = self.flags.get(f"{stage}.{f.name}")
            if f.name in self.shared:
                key, flag = f.name, f.flag
            elif own is None and (flags[f.flag] > 1 or f.flag in self.flags.values()):
                key, flag = f"{stage}_{f.name}", f"--{stage}-{f.flag[2:]}"
            else:
                key, flag = f"{stage}_{f.name}", own or f.flag
            short = [name for name in f.flags if name in taken and (flag == f.flag or own is not None)]
            taken -= set(short)
            if key not in found:
                found[key] = (self._optional(f, key, (flag, *short), stage), [])
            found[key][1].append((stage, f.name))
        return list(found.values())

    def _optional(self, declared: Field, name: str, flags: tuple[str, ...], stage: str) -> Field:
        default = declared.default
        shown = ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)
        usual = "" if default in (None, (), "", False) else f" (default: {shown})"
        return replace(
            declared, name=name, flags=flags, required=False, default=None, help=declared.help + usual,
            heading=f"Of the stage '{stage}'",
        )  # fmt: skip
