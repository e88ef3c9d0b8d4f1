"""``proctor datasets check``: every oddity of a data set's raw files, counted by rule."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

from proctor.datasets.dataset import Dataset
from proctor.datasets.lint import ACTIVITY_RULES, RULES
from proctor.datasets.plain.check import PLAIN_RULES
from proctor.errors import UserError

__all__ = ["check_dataset"]

_SHOWN: Final = 3
"""Places that a rule's row names."""


class Rule(msgspec.Struct, frozen=True):
    """A rule that found something: how often, what it says, and the first places."""

    rule: str
    found: int
    what: str
    where: str


class Odd(msgspec.Struct, frozen=True):
    """One finding."""

    rule: str
    where: str
    seen: str


class Checked(msgspec.Struct, frozen=True):
    """What is odd in a data set.

    Attributes:
        dataset: its name.
        changed: files whose checksum is not the release's.
        counts: findings by rule.
        rules: those that found something.
        findings: all, or those of one rule.
    """

    dataset: str
    changed: list[str]
    counts: dict[str, int]
    rules: list[Rule]
    findings: list[Odd]


def check_dataset(dataset: Dataset, folder: Path, rule: str | None = None) -> Checked:
    """Return the findings of a data set.

    Args:
        dataset: whose files they are.
        folder: with the files.
        rule: only its findings.

    Raises:
        UserError: if files are missing or broken, or nobody knows the rule.
    """
    known = {**RULES, **ACTIVITY_RULES, **PLAIN_RULES, **dataset.rules}
    findings = dataset.check(folder)
    if rule is not None and rule not in known and rule not in {f.rule for f in findings}:
        raise UserError(f"there is no rule {rule!r}.", hint=f"known here: {', '.join(known)}")
    counts = Counter(f.rule for f in findings)
    rows = []
    for name, n in sorted(counts.items(), key=lambda pair: (len(pair[0]), pair[0])):
        where = [f.where for f in findings if f.rule == name]
        more = f" and {n - _SHOWN} more" if n > _SHOWN else ""
        what = known.get(name, name.replace("_", " ").replace("-", " "))
        rows.append(Rule(name, n, what, "; ".join(where[:_SHOWN]) + more))
    told = [Odd(f.rule, f.where, f.seen) for f in findings if rule is None or f.rule == rule]
    return Checked(dataset.name, list(dataset.changed_files(folder)), dict(counts), rows, told)
