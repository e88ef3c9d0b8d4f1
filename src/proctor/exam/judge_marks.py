"""Marks by whom, on what: judgements of machines and people sorted for comparison.

A *setup* is a judge with a template: ``openai/gpt-4o`` with ``ternary-step``. It may have marked an answer several
times (repeats); the first repeat is the one that counts everywhere, the others tell how steady the setup is. An answer
is named by its item and its predictor.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

import msgspec

from proctor.errors import UserError
from proctor.exam.prediction import Judgement
from proctor.llm.model import is_asked

__all__ = [
    "Answer",
    "HumanMarks",
    "JudgeMarks",
    "JudgeSetup",
    "Scale",
    "agreed_mark",
    "is_human",
    "judge_sort",
    "sort_marks",
    "unite_people",
]

Scale = Literal["binary", "ternary"]

_HUMAN: Final = "human/"
_LEVELS: Final[Mapping[Scale, tuple[int, ...]]] = {"binary": (0, 1), "ternary": (0, 1, 2)}


class Answer(NamedTuple):
    """Name of what is judged: the answer of a predictor to an item."""

    item_id: str
    predictor: str


class JudgeSetup(msgspec.Struct, frozen=True, order=True):
    """A judge with a template, on a scale: what is calibrated and chosen.

    Attributes:
        judge: who marks, with version.
        template: what it is asked; empty when it is not known.
        scale: ``binary`` (wrong, right) or ``ternary`` (wrong, partial, match).
    """

    judge: str
    template: str = ""
    scale: Scale = "ternary"

    @property
    def name(self) -> str:
        """Name for tables."""
        return f"{self.judge} · {self.template}" if self.template else self.judge

    @property
    def levels(self) -> tuple[int, ...]:
        """The marks in their order."""
        return _LEVELS[self.scale]

    @property
    def points(self) -> float:
        """Points of one step of the scale, so that the best mark has 100."""
        return 100.0 / max(self.levels)

    def level(self, score: int) -> int:
        """Return a judge's mark as a level: on the binary scale everything above 0 is a yes."""
        return int(score > 0) if self.scale == "binary" else score

    def human_level(self, score: int, right: int) -> int:
        """Return a person's mark as a level: on the binary scale a yes from the mark ``right`` on."""
        return int(score >= right) if self.scale == "binary" else score


@dataclass(frozen=True, slots=True)
class JudgeMarks:
    """All marks of one setup.

    Attributes:
        setup: whose.
        repeats: name of a repeat to marks by answer; None where the judge gave none.
        confidences: how sure the judge was of its first mark, 0 to 1.
    """

    setup: JudgeSetup
    repeats: Mapping[str, Mapping[Answer, int | None]]
    confidences: Mapping[Answer, float] = field(default_factory=dict)

    @property
    def marks(self) -> Mapping[Answer, int | None]:
        """The marks that count: of the first repeat."""
        return next(iter(self.repeats.values()), {})


@dataclass(frozen=True, slots=True)
class HumanMarks:
    """What people said, made one mark an answer.

    Attributes:
        marks: 0, 1 or 2 by answer: the mark that most people gave.
        disputed: answers on which no mark had the most votes; they are left out.
        unscored: answers that people saw and did not mark.
        people: marks of every person by answer.
        votes: all marks of every answer that anybody marked, the disputed ones, too.
    """

    marks: Mapping[Answer, int]
    disputed: frozenset[Answer] = frozenset()
    unscored: frozenset[Answer] = frozenset()
    people: Mapping[str, Mapping[Answer, int]] = field(default_factory=dict)
    votes: Mapping[Answer, tuple[int, ...]] = field(default_factory=dict)


def is_human(judge: str) -> bool:
    """True for the judges that are people: ``human/NAME``."""
    return judge.startswith(_HUMAN)


def judge_sort(judge: str) -> Literal["people", "model", "rule", ""]:
    """Return what a judge is, by its name; nothing for marks that no judge gave."""
    if is_human(judge):
        return "people"
    return "model" if is_asked(judge) else "rule" if judge not in ("", "none") else ""


def sort_marks(judgements: Iterable[Judgement]) -> tuple[JudgeMarks, ...]:
    """Sort judgements by setup and repeat; those of people are passed over. Setups come sorted by name.

    Raises:
        UserError: if a setup marked an answer twice in the same repeat, a mark is none, or one setup states two scales.
    """
    repeats: dict[JudgeSetup, dict[str, dict[Answer, int | None]]] = defaultdict(lambda: defaultdict(dict))
    confidences: dict[JudgeSetup, dict[str, dict[Answer, float]]] = defaultdict(lambda: defaultdict(dict))
    for judgement in judgements:
        if is_human(judgement.judge):
            continue
        setup, answer = _setup(judgement), Answer(judgement.item_id, judgement.predictor)
        repeat = judgement.details.get("repeat", "")
        marks = repeats[setup][repeat]
        if answer in marks:
            raise UserError(
                f"'{setup.name}' marked the answer of '{answer.predictor}' to '{answer.item_id}' twice.",
                hint="give repeats different values of details.repeat",
            )
        marks[answer] = _mark(judgement)
        if (confidence := _confidence(judgement)) is not None:
            confidences[setup][repeat][answer] = confidence
    found = []
    for setup in sorted(repeats):
        names = sorted(
            repeats[setup],
            key=lambda name: (int(name), "") if name.isdecimal() else (10**9 if name else -1, name),
        )
        ordered = {name: repeats[setup][name] for name in names}
        found.append(JudgeMarks(setup, ordered, confidences[setup][names[0]]))
    _require_one_scale([m.setup for m in found])
    return tuple(found)


def _setup(judgement: Judgement) -> JudgeSetup:
    template = judgement.details.get("template", "")
    stated = judgement.details.get("scale", "")
    if stated not in _LEVELS:
        stated = "binary" if "binary" in re.split(r"[^a-z]+", template.lower()) else "ternary"
    return JudgeSetup(judgement.judge, template, "binary" if stated == "binary" else "ternary")


def _require_one_scale(setups: Iterable[JudgeSetup]) -> None:
    twice = [name for name, n in Counter(s.name for s in setups).items() if n > 1]
    if twice:
        raise UserError(
            f"the judgements of '{twice[0]}' state two scales.", hint="judge again with one of them"
        )


def _mark(judgement: Judgement) -> int | None:
    score = judgement.score
    if score is not None and (isinstance(score, bool) or score not in (0, 1, 2)):
        raise UserError(
            f"the mark is {score!r}; 0, 1, 2 or none was expected.",
            where=f"judgement of '{judgement.item_id}' by '{judgement.judge}'",
        )
    return score


def _confidence(judgement: Judgement) -> float | None:
    """Models state anything: what is no share from 0 to 1 is no confidence."""
    try:
        value = float(judgement.details.get("confidence", ""))
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def agreed_mark(votes: Iterable[int]) -> int | None:
    """Return the mark that most people gave; None where no mark had the most votes."""
    ranked = Counter(votes).most_common(2)
    return ranked[0][0] if ranked and (len(ranked) == 1 or ranked[0][1] > ranked[1][1]) else None


def unite_people(judgements: Iterable[Judgement]) -> HumanMarks:
    """Make one mark an answer from the marks of people: the one that most of them gave.

    Raises:
        UserError: if a person marked an answer twice, or a mark is none.
    """
    people: dict[str, dict[Answer, int]] = defaultdict(dict)
    seen: dict[Answer, set[str]] = defaultdict(set)
    for judgement in judgements:
        answer, name = Answer(judgement.item_id, judgement.predictor), judgement.judge.removeprefix(_HUMAN)
        if name in seen[answer]:
            raise UserError(
                f"'{name}' marked the answer of '{answer.predictor}' to '{answer.item_id}' twice."
            )
        seen[answer].add(name)
        if (mark := _mark(judgement)) is not None:
            people[name][answer] = mark
    marks: dict[Answer, int] = {}
    votes: dict[Answer, tuple[int, ...]] = {}
    disputed: set[Answer] = set()
    for answer in sorted(seen):
        given = [people[name][answer] for name in sorted(people) if answer in people[name]]
        if not given:
            continue
        votes[answer] = tuple(given)
        if (most := agreed_mark(given)) is None:
            disputed.add(answer)
        else:
            marks[answer] = most
    return HumanMarks(
        marks,
        frozenset(disputed),
        frozenset(seen.keys() - marks.keys() - disputed),
        {name: dict(sorted(own.items())) for name, own in sorted(people.items())},
        votes,
    )
