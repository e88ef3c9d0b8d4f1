"""The plan: who records which script where, balanced, and what is still to do. docs/capture.md, *The plan*.

Slots are drawn one after another: of activities, environments and strategies what is due, in the combination
whose pairs (a person's, too) were used least; then levels of two new slots are swapped wherever that evens
pairs out. Of a plan drawn at once from full banks, counts of activities and of environments differ by one at
most, a strategy is within one of its share, and with equal shares counts of pairs of two factors differ by
two at most.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Final, cast

import msgspec

from proctor.capture.records import Script, Slot, State, Strategy, capture_folder, recording_folder
from proctor.capture.script import short_name
from proctor.errors import UserError
from proctor.records import read_json, read_jsonl

__all__ = [
    "PLAN", "SCRIPTS", "Plan", "make_plan", "read_plan", "read_scripts",
    "without_participant",
]  # fmt: skip

PLAN: Final = "plan.json"
SCRIPTS: Final = "scripts.jsonl"
_CODE: Final = re.compile(r"[A-Za-z]{0,3}[0-9]{1,5}", re.ASCII)
_PLACE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}", re.ASCII)
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_Use = tuple[str, str, str, str]  # participant (empty for anybody), activity, environment, strategy
_Key = tuple[tuple[int, str], ...]  # levels, each after its place in a use
_change = msgspec.structs.replace


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """``capture/plan.json``: participants have codes of three letters at most and a number, so that none is a name.

    ``given`` is the highest number of a code that was made up, so that none is given twice. Strategies have
    shares. Slots are in the order in which they were planned; those without a participant are anybody's.
    """

    format: int = 1
    seed: int = 0
    participants: tuple[str, ...] = ()
    given: int = 0
    environments: tuple[str, ...] = ()
    strategies: dict[Strategy, int] = {}
    slots: tuple[Slot, ...] = ()


def read_plan(workspace: Path) -> Plan:
    """Return the plan of a workspace; raises ``UserError`` if there is none, or something in it cannot be."""
    path = _there(workspace, PLAN)
    return _checked(read_json(path, Plan), str(path))


def read_scripts(workspace: Path) -> dict[str, Script]:
    """Return the scripts of a workspace by id; raises ``UserError`` if there are none, or one is broken or there twice."""
    path = _there(workspace, SCRIPTS)
    scripts: list[Script] = read_jsonl(path, Script)
    _require_once([script.id for script in scripts], str(path))
    return {script.id: script for script in scripts}


def _there(workspace: Path, name: str) -> Path:
    path = capture_folder(workspace) / name
    if not path.exists():
        raise UserError("there is no plan yet.", where=str(path), hint=f"proctor capture plan {workspace}")
    return path


def _require_once(names: Iterable[str], where: str) -> None:
    seen = Counter(recording_folder(Path(), name).name.casefold() for name in names)  # on some disks, A is a
    if twice := [name for name, n in seen.items() if n > 1]:
        raise UserError(f"'{twice[0]}' is there more than once.", where=where, hint="correct the file")


def _checked(plan: Plan, where: str = "") -> Plan:
    for pattern, names, hint in (
        (_CODE, {*plan.participants, *(s.participant for s in plan.slots if s.participant)}, "a code such as p07, no name"),
        (_PLACE, {*plan.environments, *(s.environment for s in plan.slots)}, "a place such as kitchen-1"),
        (_DAY, {s.day for s in plan.slots if s.day}, "a day such as 2026-12-01"),
    ):  # fmt: skip
        if wrong := [name for name in sorted(names) if not pattern.fullmatch(name)]:
            raise UserError(f"'{wrong[0][:40]}' cannot be in a plan.", where=where, hint=hint)
    for ids in ([slot.id for slot in plan.slots], plan.participants, plan.environments):
        _require_once(ids, where)
    if min(plan.strategies.values(), default=0) < 0 or not any(plan.strategies.values()):
        raise UserError("strategies need shares.", where=where, hint="such as normal=2,missing=1")
    return plan


def make_plan(
    scripts: Iterable[Script], plan: Plan, each: int, anybody: int = 0, start: date | None = None, per_day: int = 3
) -> Plan:  # fmt: skip
    """Return a plan in which every participant has ``each`` recordings; slots that are there stay as they are.

    With a first day, days are filled with up to ``per_day`` recordings, of one person after another.
    ``anybody`` are recordings that no participant is chosen for. Raises ``UserError`` if somebody would have
    to get a script twice, or something cannot be.
    """
    balance, slots, last, turns = _Balance(_checked(plan), scripts), [*plan.slots], Counter[str](), []
    had, got = {(s.participant, s.script) for s in slots}, Counter(s.script for s in slots)
    for name, _, number in (slot.id.rpartition("-") for slot in slots):
        last[name] = max(last[name], int(number) if number.isdecimal() else 0)
    planned = Counter(slot.participant for slot in slots)
    wanted = {**{who: each - planned[who] for who in plan.participants}, "": anybody - planned[""]}
    uses = balance.draw([who for who, n in wanted.items() for _ in range(n)])
    for i, who in enumerate(wanted):
        own = sorted((use for use in uses if use[0] == who), key=lambda use: balance.rank.index(use[1]))
        zigzag = (k // 2 if k % 2 == 0 else len(own) - 1 - k // 2 for k in range(len(own)))
        for k, use in enumerate(own[(z + i) % len(own)] for z in zigzag):  # row i of a Williams square
            last[name := short_name(use[1])] += 1
            new = [id_ for id_ in balance.bank[use[1], use[3]] if not who or (who, id_) not in had]
            script = min(new, key=lambda id_: got[id_])  # the one that was given out least
            got[script] += 1
            had.add((who, script))
            turns += [(k // per_day, len(slots))] if who else []
            slots.append(
                Slot(
                    id=f"{name}-{last[name]:03d}", script=script, activity=use[1], participant=who,
                    environment=use[2], strategy=cast("Strategy", use[3]),
                )
            )  # fmt: skip
    busy = Counter(slot.day for slot in slots)
    for _, at in sorted(turns) if start is not None else ():
        while busy[str(start)] >= per_day:
            start = cast("date", start) + timedelta(days=1)
        busy[str(start)] += 1
        slots[at] = _change(slots[at], day=str(start))
    return _change(plan, slots=tuple(slots))


class _Balance:
    """How often levels and pairs of levels are used, what is due next, and which scripts are left for whom."""

    def __init__(self, plan: Plan, scripts: Iterable[Script]) -> None:
        self.shares: dict[str, int] = {strategy: n for strategy, n in plan.strategies.items() if n}
        self.environments, self.bank = plan.environments, dict[tuple[str, str], list[str]]()
        for script in scripts:
            if script.strategy in self.shares:
                self.bank.setdefault((script.activity, script.strategy), []).append(script.id)
        self.rng = random.Random(f"{plan.seed}/plan/{len(plan.slots)}")  # noqa: S311 - not a secret
        self.rank = sorted({activity for activity, _ in self.bank})
        self.rng.shuffle(self.rank)
        self.used = Counter[_Key]()
        for slot in plan.slots:
            self.used.update(_keys((slot.participant, slot.activity, slot.environment, slot.strategy)))

    def cost(self, change: Mapping[_Key, int]) -> float:
        """Return what a change adds to the squares of all counts, those of strategies against their shares (Webster's method)."""
        total = 0.0
        for key, n in change.items():
            f, one = key[-1]
            if n > 0 and f == 3 and len(key) > 1 and key[-2][0] == 1:
                scripts = len(self.bank.get((key[-2][1], one), ()))
                total += math.inf if not scripts or (len(key) == 3 and self.used[key] + n > scripts) else 0
            share = self.shares.get(one, 1) if f == 3 else 1
            total += (1e6, 1.0, 0.0)[len(key) - 1] * n * (2 * self.used[key] + n) / share
        return total

    def draw(self, people: Sequence[str]) -> list[_Use]:
        """Return what slots of these people use, evenly."""
        uses: list[_Use] = []
        for who in people:
            left = [p for p, ids in self.bank.items() if self.used[(0, who), (1, p[0]), (3, p[1])] < len(ids)]
            options: list[_Use] = [(who, a, e, s) for a, s in left for e in self.environments]
            if not options:
                hint = "plan fewer recordings of a person, or more scripts"
                raise UserError(f"{who or 'somebody'} would have to get a script twice.", hint=hint)
            prices = {one: self.cost({(one,): 1}) for one in {*itertools.chain(*map(enumerate, options))}}
            due = [sum(map(prices.__getitem__, enumerate(use))) for use in options]
            least = min(due)
            best = [use for use, price in zip(options, due, strict=True) if price <= least]
            self.rng.shuffle(best)
            uses.append(min(best, key=lambda use: self.cost(dict.fromkeys(_keys(use), 1))))
            self.used.update(_keys(uses[-1]))
        for _ in range(20 * len(uses) if len(uses) > 1 else 0):
            (i, j), f = self.rng.sample(range(len(uses)), 2), self.rng.randrange(1, 4)
            x, y = uses[i], uses[j]
            new = cast("tuple[_Use, _Use]", ((*x[:f], y[f], *x[f + 1 :]), (*y[:f], x[f], *y[f + 1 :])))
            change = Counter((*_keys(new[0]), *_keys(new[1])))
            change.subtract((*_keys(x), *_keys(y)))
            if self.cost(change) < -1e-9:
                self.used.update(change)
                uses[i], uses[j] = new
        return uses


def _keys(use: _Use) -> list[_Key]:
    """Return the levels, the pairs of levels, and person, activity and strategy together; nobody is no person."""
    levels = [(f, one) for f, one in enumerate(use) if f or one]
    keys: list[_Key] = [*((level,) for level in levels if level[0]), *itertools.combinations(levels, 2)]
    return [*keys, (levels[0], levels[1], levels[3])] if use[0] else keys


def without_participant(plan: Plan, states: Mapping[str, State], participant: str) -> Plan:
    """Return the plan of those who stay: what the person has not begun is anybody's, and what is withdrawn has no name."""
    gone = (s.id for s in plan.slots if s.participant == participant)
    own = {id_ for id_ in gone if states.get(id_) in (None, "withdrawn")}
    slots = tuple(_change(s, participant="", day="") if s.id in own else s for s in plan.slots)
    return _change(plan, participants=tuple(p for p in plan.participants if p != participant), slots=slots)
