"""Which settings the stages of an experiment have, and how they are called on one command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from proctor.settings import Field, Settings, fields_of

__all__ = ["Given", "Outline"]

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
    flags: Mapping[str, str] = field(default_factory=dict)
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
        usual = "" if default in (None, (), "", False) else f" (default: {_shown(default)})"
        return replace(
            declared, name=name, flags=flags, required=False, default=None, help=declared.help + usual,
            heading=f"Of the stage '{stage}'",
        )  # fmt: skip


def _shown(default: Any) -> str:
    return ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)
