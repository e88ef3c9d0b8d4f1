"""Answers that people and judges marked, and which of them each number of the judges' section is made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from proctor.exam.judge_calibration import JudgeReport, compared_answers
from proctor.exam.judge_marks import Answer, JudgeMarks, JudgeSetup, agreed_mark
from proctor.exam.self_preference import Preference, strangers
from proctor.metrics.calibration import bin_of
from proctor.report.data import Judging
from proctor.report.naming import RunName
from proctor.report.parts import Cell, Listing, Row
from proctor.report.plaintext import clip_line

__all__ = ["LEVEL_NAMES", "Marks"]

LEVEL_NAMES: Final = {"binary": ("wrong", "right"), "ternary": ("0 wrong", "1 partial", "2 match")}
"""What the marks of each scale are called."""
_ID: Final = "marked"
_SAID: Final = 160
"""Characters of a question in the list."""

Names = Mapping[str, RunName]
Among = tuple[str, str] | None


class Marks:
    """Everything that was marked, and the lines that numbers open.

    The numbers are those of a stored calibration. Where judgements changed behind it, a set of answers has another size than
    the number that counts it, and the number opens nothing.

    Args:
        judging: the numbers, and the marks they were made of.
        judges: how the page calls each judge.
        runs: how it calls each run.
        questions: text of each question, by item.
    """

    def __init__(self, judging: Judging, judges: Names, runs: Names, questions: Mapping[str, str]) -> None:
        self._judging, self._names, self._runs, self._questions = judging, judges, runs, questions
        calibration = judging.calibration
        self._votes = calibration.votes
        self._agreed = {
            a: mark for a, votes in self._votes.items() if (mark := agreed_mark(votes)) is not None
        }
        stored = {r.name for r in calibration.judges}
        self._judges = {j.setup.name: j for j in judging.judges if j.setup.name in stored}
        self._compared = compared_answers(self._agreed, [*self._judges.values()])[1]
        self._tags: dict[Answer, list[str]] = defaultdict(list, {a: [] for a in sorted(self._votes)})
        self._sizes: dict[str, int] = {}

    def listing(self) -> Listing:
        """Return every answer that people marked or a number counts; to be called when all numbers were asked for."""
        lines: list[tuple[Row, Iterable[str]]] = []
        for answer in sorted(self._tags):
            marks = (self._said(judge, answer) for judge in self._judges.values())
            votes = ", ".join(LEVEL_NAMES["ternary"][v] for v in self._votes.get(answer, ())) or "–"
            text = clip_line(self._questions.get(answer.item_id, answer.item_id), _SAID)
            question = Cell(text, item=answer.item_id)
            lines.append(((self._run(answer.predictor), question, votes, *marks), self._tags[answer]))
        head = ("Run", "Question", "People", *(self._judge(name) for name in self._judges))
        return Listing.of(_ID, "Each answer that people or judges marked", head, lines)

    def _said(self, judge: JudgeMarks, answer: Answer) -> str:
        if answer not in judge.marks:
            return "–"
        mark = judge.marks[answer]
        return "no mark" if mark is None else LEVEL_NAMES[judge.setup.scale][judge.setup.level(mark)]

    def _run(self, name: str) -> str:
        return self._runs[name].label if name in self._runs else name

    def _judge(self, name: str) -> str:
        return self._names[name].label if name in self._names else name

    def _open(self, tag: str, answers: Iterable[Answer], n: int | None = None) -> Among:
        """Return what opens these answers; None where there are none, or not ``n``."""
        if tag not in self._sizes:
            found = {*answers}
            if not found or n not in (None, len(found)):
                return None
            self._sizes[tag] = len(found)
            for answer in found:
                self._tags[answer].append(tag)
        return (_ID, tag) if n in (None, self._sizes[tag]) else None

    # -- people ----------------------------------------------------------------------------------------------------

    def by_people(self, n: int) -> Among:
        """Return what opens all answers that people marked."""
        return self._open("marked by people", self._votes, n)

    def divided(self, n: int) -> Among:
        """Return what opens the answers on which no mark had the most votes."""
        return self._open("people are divided", self._votes.keys() - self._agreed.keys(), n)

    def by_person(self, name: str, n: int) -> Among:
        """Return what opens the answers that a person marked."""
        known = self._judging.people.get(name, {}).keys() & self._votes.keys()
        if n == len(self._votes):
            return self.by_people(n)
        return self._open(f"marked by {name}", known, n)

    def by_two(self, a: str, b: str, n: int) -> Among:
        """Return what opens the answers that two people marked; where their marks are not at hand, those with two marks."""
        one, two = (self._judging.people.get(name, {}).keys() & self._votes.keys() for name in (a, b))
        if one & two:
            return self._open(f"marked by {a} and {b}", one & two, n)
        return self._open(
            "marked by two people", (x for x, votes in self._votes.items() if len(votes) > 1), n
        )

    # -- judges against people -------------------------------------------------------------------------------------

    def compared(self, report: JudgeReport) -> Among:
        """Return what opens the answers that a judge is compared on."""
        return self._open("judges compared", self._compared if report.n else (), report.n)

    def called(self, report: JudgeReport, *, right: bool) -> Among:
        """Return what opens those of them that people call right, or do not."""
        least = self._judging.calibration.right
        found = (a for a in self._compared if (self._agreed[a] >= least) is right) if report.n else ()
        n = (report.sensitivity if right else report.specificity).n
        return self._open(f"judges compared: {'right' if right else 'not right'} by people", found, n)

    def not_shown(self, report: JudgeReport) -> Among:
        """Return what opens the answers with a human mark that a judge was never shown."""
        found = self._of(report)
        missing = (a for a in self._agreed if found is not None and a not in found.marks)
        return self._open(f"{self._judge(report.name)}: not shown", missing, report.absent)

    def unscored(self, report: JudgeReport) -> Among:
        """Return what opens the answers with a human mark that a judge was shown and gave none."""
        found = self._of(report)
        missing = (a for a in self._agreed if found is not None and found.marks.get(a, 0) is None)
        return self._open(f"{self._judge(report.name)}: no mark", missing, report.unscored)

    def _of(self, report: JudgeReport) -> JudgeMarks | None:
        return self._judges.get(report.name)

    def confusion(self, report: JudgeReport) -> tuple[Cell, ...]:
        """Return where the cells of a confusion matrix lead to, row by row, and behind them the sums of the rows."""
        setup, names = report.judge, LEVEL_NAMES[report.judge.scale]
        found: dict[tuple[int, int], list[Answer]] = defaultdict(list)
        if (judge := self._of(report)) is not None and report.n:
            for a in self._compared:
                people = setup.human_level(self._agreed[a], self._judging.calibration.right)
                found[people, setup.level(judge.marks[a] or 0)].append(a)
        who, levels = self._judge(report.name), range(len(names))
        cells = [
            Cell(
                among=self._open(
                    f"{who}: people {names[t]}, judge {names[s]}", found[t, s], report.confusion[t][s]
                )
            )
            for t in levels
            for s in levels
        ]
        sums = [
            Cell(
                among=self._open(
                    f"{who}: people {names[t]}",
                    [a for s in levels for a in found[t, s]],
                    sum(report.confusion[t]),
                )
            )
            for t in levels
        ]
        return (*cells, *sums)

    def again(self, report: JudgeReport) -> Among:
        """Return what opens the answers that a judge marked several times."""
        judge = self._of(report)
        if judge is None or report.consistency is None:
            return None
        times: dict[Answer, int] = defaultdict(int)
        for marks in judge.repeats.values():
            for answer, mark in marks.items():
                times[answer] += mark is not None
        several = (a for a, n in times.items() if n > 1)
        return self._open(f"{self._judge(report.name)}: marked again", several, report.consistency.same.n)

    def confident(self, report: JudgeReport) -> tuple[Cell, ...]:
        """Return where the bins of a reliability diagram lead to."""
        judge = self._of(report)
        if judge is None or report.reliability is None:
            return ()
        sure = [a for a in judge.confidences if a in self._agreed and judge.marks.get(a) is not None]
        edges = report.reliability.edges
        bins = bin_of(np.array([judge.confidences[a] for a in sure]), np.array(edges)).tolist()
        return tuple(
            Cell(
                among=self._open(
                    f"{self._judge(report.name)}: confidence {low:g} to {high:g}",
                    [a for a, k in zip(sure, bins, strict=True) if k == number],
                    report.reliability.counts[number],
                )
            )
            for number, (low, high) in enumerate(pairwise(edges))
        )

    # -- judges among themselves -----------------------------------------------------------------------------------

    def by_both(self, a: str, b: str, n: int) -> Among:
        """Return what opens the answers that two judges marked."""
        if a not in self._judges or b not in self._judges:
            return None
        one, two, every = (self._by([*names]) for names in ([a], [b], self._judges))
        if one & two == every:
            return self._open("marked by every judge", every, n)
        return self._open(f"marked by {self._judge(a)} and {self._judge(b)}", one & two, n)

    def _by(self, names: Sequence[str]) -> set[Answer]:
        """Return the answers that all these judges marked."""
        each = [{a for a, m in self._judges[name].marks.items() if m is not None} for name in names]
        return set.intersection(*each) if each else set()

    # -- runs ------------------------------------------------------------------------------------------------------

    def of_run(self, run: str, judge: JudgeSetup, n: int) -> Among:
        """Return what opens the answers of a run that people marked, among those that its judge marked."""
        marks = self._judges[judge.name].marks if judge.name in self._judges else {}
        found = [a for a in self._votes if a.predictor == run and marks.get(a) is not None]
        if not found:
            found = [a for a in self._votes if a.predictor == run]
        return self._open(f"{self._run(run)}: marked by people", found, n)

    def judged_by(self, run: str, columns: Sequence[str], n: int) -> Among:
        """Return what opens the answers of a run that all judges of a table which marked it marked."""
        seen = [
            name
            for name in columns
            if name in self._judges and any(a.predictor == run for a in self._by([name]))
        ]
        found = (a for a in self._by(seen) if a.predictor == run)
        return self._open(f"{self._run(run)}: by its judges", found, n)

    def written_by(self, run: str, writer: str, judge: str, n: int) -> Among:
        """Return what opens the answers of a run, marked by a judge, to the questions that a model wrote."""
        found = (
            a
            for a in self._marked(judge)
            if a.predictor == run and self._judging.writers.get(a.item_id) == writer
        )
        return self._open(f"{self._run(run)}: questions by {writer}", found, n)

    def _marked(self, judge: str) -> set[Answer]:
        return self._by([judge]) if judge in self._judges else set()

    def preferring(self, found: Preference, runs: Iterable[str], *, adjusted: bool) -> Among:
        """Return what opens the answers that a family's judges and others marked: its own, and those of the others in question."""
        by_all = self._by([name for name in (*found.own, *found.others) if name in self._judges])
        return self._of_family(found, runs, by_all, f"{found.family}: judged by it and others", adjusted)

    def asking(self, found: Preference, runs: Iterable[str], judge: str, *, adjusted: bool) -> Among:
        """Return what opens a family's answers to its own and others' questions, and those of the others in question."""
        written = {a for a in self._marked(judge) if a.item_id in self._judging.writers}
        return self._of_family(
            found, runs, written, f"{found.family}: answers to questions of models", adjusted
        )

    def _of_family(
        self, found: Preference, runs: Iterable[str], answers: set[Answer], tag: str, adjusted: bool
    ) -> Among:
        families = self._judging.self_preference.families
        own = {a for a in answers if a.predictor in found.predictors}
        if not adjusted:
            return self._open(tag, own)
        kin = {run: families.get(run, "") for run in runs}
        others, _ = strangers(
            found.family, kin, {name: families.get(name, "") for name in (*found.own, *found.others)}
        )
        shared = {a.item_id for a in own}
        beside = {a for a in answers if a.predictor in others and a.item_id in shared}
        kept = {a.item_id for a in beside}
        return self._open(f"{tag}, with other families", {a for a in own if a.item_id in kept} | beside)
