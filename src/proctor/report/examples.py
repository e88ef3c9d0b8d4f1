"""The examples that a reader pages through, as compact plain values for the page's data island.

Keys are short because they repeat for every item; ``static/report.js`` is their only reader and names them once.
"""

from __future__ import annotations

import base64
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from proctor.exam.judge_marks import JudgeSetup
from proctor.exam.kinds.moment_question import moment_candidate, moment_example
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Item, Text
from proctor.examples.example import Example, Performed
from proctor.generate.candidate import Candidate
from proctor.procedure.graph import TaskGraph
from proctor.procedure.phrase import render_step
from proctor.report.data import Frame, ReportData, ReportOptions
from proctor.report.drawing import show_step
from proctor.report.naming import judge_parts, name_judges, name_runs
from proctor.report.plaintext import clip_text
from proctor.report.standings import Standings
from proctor.report.states import STATE_WORDS, StepState, derive_step_states, list_steps
from proctor.verify.verdict import Verdict

__all__ = ["FramePick", "describe_examples", "pick_frames", "show_clock", "show_frames"]

_STATE_CODES: Final = {"done": "d", "current": "c", "next": "n", "missing": "m", "future": "f"}


_MOST_FRAMES: Final = 60
"""Frames of one answer that are listed one by one."""


def show_clock(seconds: float) -> str:
    """Return minutes and seconds, ``12:05``, with hours where there are some; a dash for no time."""
    if seconds != seconds or seconds in (float("inf"), float("-inf")):
        return "–"
    sign, whole = ("−" if seconds < 0 else ""), int(abs(seconds))
    hours, rest = divmod(whole, 3600)
    clock = f"{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"
    return f"{sign}{hours}:{clock}" if hours else f"{sign}{clock}"


def show_frames(prediction: Prediction) -> str:
    """Say which frames an answer was given from: number in the stream and time, the middle of many left out."""
    times, indices = prediction.frame_times, prediction.frame_indices
    count = max(len(times), len(indices))
    parts = []
    for n in range(count):
        number = f"#{indices[n]}" if n < len(indices) else ""
        time = f"{show_clock(times[n])}{_tenths(times[n])}" if n < len(times) else ""
        parts.append(" ".join(filter(None, (number, time))))
    if count > _MOST_FRAMES:
        half = _MOST_FRAMES // 2
        parts = [*parts[:half], f"… {count - 2 * half} more …", *parts[-half:]]
    return ", ".join(parts)


def _tenths(seconds: float) -> str:
    """Tenths of a second as they are printed behind a clock time that is cut to seconds."""
    finite = seconds == seconds and abs(seconds) < float("inf")
    return f".{int(abs(seconds) * 10) % 10}" if finite else ""


def describe_examples(data: ReportData, standings: Standings, options: ReportOptions) -> dict[str, Any]:
    """Return the data island: runs, graphs and one compact record an item, in the items' order.

    What many answers share is written once: names of details, frames and captions of an item, and what is the same for all
    answers of a run.
    """
    writer = _Writer(data, options.max_text)
    names = name_runs([row.run for row in standings.rows])
    items = [_one(writer, item, n, standings) for n, item in enumerate(data.items)]
    return {
        "runs": [
            [writer.text(name.full), row.run.role, writer.text(name.title), writer.text(name.view)]
            for row, name in zip(standings.rows, names.values(), strict=True)
        ],
        "judges": writer.judges,
        "keys": writer.keys,
        "calls": [writer.calls(row.run.name) for row in standings.rows],
        "states": {code: STATE_WORDS[name] for name, code in _STATE_CODES.items()},
        "flags": {"late": STATE_WORDS["out_of_order"], "mistaken": STATE_WORDS["mistaken"]},
        "graphs": [writer.graph(graph) for graph in data.graphs.values()],
        "items": items,
    }


def _one(writer: _Writer, item: Item, number: int, standings: Standings) -> dict[str, Any]:
    shown = _Shown()
    record = {
        **writer.item(item),
        "P": [writer.answer(item, row.run.name, shown) for row in standings.rows],
        "O": [row.outcomes[number] for row in standings.rows],
    }
    if shown.frames:
        record["F"] = list(shown.frames.values())
    if shown.captions:
        record["K"] = [list(c) for c in shown.captions]
    return record


@dataclass(slots=True)
class _Shown:
    """What the runs were shown of one item; the same frames and captions are kept once.

    Attributes:
        frames: by the words for them, in the order of their first run: those words and the times in seconds.
        captions: in the order of their first run.
    """

    frames: dict[str, list[Any]] = field(default_factory=dict)
    captions: dict[tuple[str, ...], None] = field(default_factory=dict)

    def frame_number(self, prediction: Prediction) -> int:
        """Return the place of a prediction's frames from 1 on, 0 without frames."""
        words = show_frames(prediction)
        if not words:
            return 0
        self.frames.setdefault(
            words, [words, [round(t, 2) for t in prediction.frame_times if math.isfinite(t)]]
        )
        return [*self.frames].index(words) + 1

    def caption_number(self, captions: tuple[str, ...]) -> int:
        """Return the place of captions from 1 on, 0 without any."""
        if not captions:
            return 0
        self.captions.setdefault(captions)
        return [*self.captions].index(captions) + 1


class _Writer:
    """Holds the look-ups that every item needs."""

    def __init__(self, data: ReportData, max_text: int) -> None:
        self._limit = max_text
        self._graphs = data.graphs
        self._graph_number = {key: n for n, key in enumerate(data.graphs)}
        self._candidates = {c.id: c for c in data.candidates}
        self._verdicts: dict[str, list[Verdict]] = defaultdict(list)
        for verdict in data.verdicts:
            self._verdicts[verdict.candidate_id].append(verdict)
        self._predictions = {r.name: {p.item_id: p for p in r.predictions} for r in data.runs}
        self._judgements = {r.name: {j.item_id: j for j in r.judgements} for r in data.runs}
        self._same = {r.name: (_same_details(r.predictions), _same_details(r.judgements)) for r in data.runs}
        self._captions = data.captions
        self._opinions, self.judges = _opinions(data, self.text)
        human = data.judging.calibration.human if data.judging is not None else ()
        self._votes = {(mark.predictor, mark.item_id): list(mark.votes) for mark in human}
        self._key_number: dict[str, int] = {}

    @property
    def keys(self) -> list[str]:
        """Names of the details that answers have of their own, as far as answers were written."""
        return [self.text(key) for key in self._key_number]

    def text(self, text: str) -> str:
        return clip_text(text, self._limit)

    def texts(self, pairs: Mapping[str, str]) -> list[list[str]]:
        return [[self.text(k), self.text(v)] for k, v in sorted(pairs.items())]

    def calls(self, run: str) -> list[list[list[str]]]:
        """Return the details that are the same for all answers of a run, and those of all its judgements."""
        return [self.texts(same) for same in self._same[run]]

    def graph(self, graph: TaskGraph) -> dict[str, Any]:
        steps = list_steps(graph)
        number = {step.id: n for n, step in enumerate(steps)}
        return {
            "name": self.text(graph.name or graph.id),
            "steps": [
                [
                    self.text(step.id),
                    self.text(show_step(step)),
                    graph.index[step.id],
                    [number[i] for i in graph.predecessors(step.id) if i in number],
                ]
                for step in steps
            ],
        }

    def item(self, item: Item) -> dict[str, Any]:
        example, made_of = moment_example(item.question), moment_candidate(item.question)
        graph = self._graphs.get(example.activity_id)
        candidate, verdicts = self._candidates.get(made_of), self._verdicts.get(made_of, [])
        record = {
            "i": self.text(item.id),
            "t": self.text(item.question.facets["type"]),
            "a": self.text(example.activity_name or example.activity_id),
            "r": self.text(item.question.cluster),
            "g": self._graph_number.get(example.activity_id, -1),
            "e": show_clock(example.end),
            "E": example.end if math.isfinite(example.end) else 0,
            "s": example.state,
            "z": int(example.noisy),
            "q": self.text(item.question.text),
            "G": [
                [self.text(g.value.text), g.written_by, g.approved_by, g.value.kind]
                for g in item.golds
                if isinstance(g.value, Text)
            ],
            "D": self._history(example, graph),
            "c": int(example.current is not None),
            "p": self._provenance(item, candidate),
        }
        if graph is not None:
            record |= self._states(derive_step_states(example, graph))
        spans = [_span(p) for p in example.performed]
        if any(spans):
            record["T"] = spans
        if example.mistake_texts:
            record["m"] = [self.text(t) for t in example.mistake_texts]
        if verdicts:
            record["V"] = [self._verdict(v) for v in verdicts]
            record["A"] = [self.text(a.text) for a in candidate.answers] if candidate is not None else []
        return record

    def _states(self, states: Sequence[StepState]) -> dict[str, Any]:
        """One letter a step, and what is special by step number: late, kinds of mistakes, number of mistakes."""
        special = {
            str(n): [int(s.out_of_order), [self.text(kind) for kind in s.mistakes], s.errors]
            for n, s in enumerate(states)
            if s.out_of_order or s.mistakes
        }
        return {"S": "".join(_STATE_CODES[s.name] for s in states), "X": special}

    def _history(self, example: Example, graph: TaskGraph | None) -> list[list[Any]]:
        return [self._performed(p, graph) for p in example.performed]

    def _performed(self, performed: Performed, graph: TaskGraph | None) -> list[Any]:
        """Text, mistakes, time and step id; then the instruction where the performance differs from it."""
        known = graph[performed.step_id].text if graph is not None and performed.step_id in graph else ""
        instruction = performed.instruction or known
        differs = bool(instruction) and instruction.split() != performed.text.split()
        times = [show_clock(t) for t in (performed.start, performed.end) if t is not None]
        return [
            self.text(render_step(performed.text)),
            [[self.text(m.kind), self.text(m.text)] for m in performed.mistakes],
            "–".join(times),
            self.text(performed.step_id),
            *([self.text(render_step(instruction))] if differs else []),
        ]

    def _provenance(self, item: Item, candidate: Candidate | None) -> list[list[str]]:
        example = moment_example(item.question)
        facts = {
            "candidate": moment_candidate(item.question),
            "candidate hash": item.question.provenance.get("version", ""),
            "clip": example.clip_id,
            "video": example.video or "",
            "recording hash": example.recording_hash,
            "question approved by": item.approved_by,
        }
        if candidate is not None:
            made = candidate.provenance
            facts |= {
                "generator": f"{made.generator} {made.version}".strip(),
                "seed": "" if made.seed is None else str(made.seed),
                "form": made.form or "",
                "model": made.model or "",
                "prompt hash": made.prompt_hash or "",
                "example hash": made.example_hash,
                **made.details,
            }
        return [[self.text(k), self.text(v)] for k, v in facts.items() if v]

    def _verdict(self, verdict: Verdict) -> dict[str, Any]:
        return {
            "who": self.text(verdict.annotator),
            "kind": verdict.annotator_kind,
            "role": verdict.role,
            "q": [verdict.question.value, self.text(verdict.question.reason)],
            "a": [
                [a.value, a.confidence, self.text(a.reason), self.texts(a.evidence)] for a in verdict.answers
            ],
            "own": [self.text(t) for t in verdict.own_answers],
            "note": self.text(verdict.note),
        }

    def answer(self, item: Item, run: str, shown: _Shown) -> list[Any] | int:
        """Everything about one answer; 0 when it was not asked for.

        Answer, failure, rationale, judge, deciding gold, judge's failure, number of frames, which frames and captions of
        those of the item (from 1 on), details of the answer and of the judgement as far as they differ within the run,
        what other judges said, people's marks.
        """
        prediction: Prediction | None = self._predictions[run].get(item.id)
        judgement: Judgement | None = self._judgements[run].get(item.id)
        if prediction is None:
            return 0
        fields: list[Any] = [
            None if prediction.answer is None else self.text(prediction.answer),
            self.text(prediction.failure or ""),
            "" if judgement is None else self.text(judgement.rationale),
            "" if judgement is None else self.text(judgement.judge),
            None if judgement is None else judgement.gold,
            "" if judgement is None else self.text(judgement.failure or ""),
            len(prediction.frame_times) or len(prediction.frame_indices),
            shown.frame_number(prediction),
            shown.caption_number(tuple(map(self.text, self._captions.get(run, {}).get(item.id, ())))),
            self._own_details(prediction, self._same[run][0]),
            [] if judgement is None else self._own_details(judgement, self._same[run][1]),
            self._opinions.get((run, item.id), []),
            self._votes.get((run, item.id), []),
        ]
        while fields and fields[-1] in (None, "", 0, []):
            fields.pop()
        return fields

    def _own_details(self, record: Prediction | Judgement, same: Mapping[str, str]) -> list[int | str]:
        """Return number of the name and value in turn; the names stand in ``keys``."""
        found: list[int | str] = []
        for key, value in sorted(record.details.items()):
            if key not in same:
                found += [self._key_number.setdefault(key, len(self._key_number)), self.text(value)]
        return found


def _span(performed: Performed) -> list[float | int] | int:
    """Return start and end of a performed step in seconds and whether it went wrong; 0 where times are not known."""
    start, end = performed.start, performed.end
    if start is None or end is None or not (math.isfinite(start) and math.isfinite(end)):
        return 0
    return [round(start, 1), round(end, 1), int(bool(performed.mistakes))]


def _setup(judgement: Judgement) -> JudgeSetup:
    return JudgeSetup(
        judgement.judge,
        judgement.details.get("template", ""),
        "binary" if judgement.details.get("scale") == "binary" else "ternary",
    )


def _opinions(
    data: ReportData, text: Callable[[str], str]
) -> tuple[dict[tuple[str, str], list[list[Any]]], list[list[str]]]:
    """Return what further judges say of each answer: number of the judge, mark, reason; and the judges' names.

    Reasons are kept of those judges only that have the rubric which the run's score is made with: what a judge says with five
    other rubrics would be most of the page.
    """
    found: dict[tuple[str, str], list[list[Any]]] = {}
    setups = sorted({_setup(j) for run in data.runs for j in data.opinions.get(run.name, ())})
    number = {setup: n for n, setup in enumerate(setups)}
    for run in data.runs:
        rubrics = {judge_parts(_setup(j))[1] for j in run.judgements}
        for judgement in data.opinions.get(run.name, ()):
            setup = _setup(judgement)
            said = found.setdefault((run.name, judgement.item_id), [])
            if any(n == number[setup] for n, *_ in said):
                continue  # of several repeats the first one counts, as everywhere
            told = judge_parts(setup)[1] in rubrics
            reason = text(judgement.rationale or judgement.failure or "") if told else ""
            said.append([number[setup], judgement.score, *([reason] if reason else [])])
    for said in found.values():
        said.sort(key=lambda entry: entry[0])
    names = name_judges(setups)
    return found, [
        [text(s.name), text(names[s.name].title), text(names[s.name].view), s.scale] for s in setups
    ]


def _same_details(records: Sequence[Prediction] | Sequence[Judgement]) -> dict[str, str]:
    """Return the details that all records share: they are written once a run."""
    if not records:
        return {}
    first = records[0].details
    return {k: v for k, v in first.items() if all(r.details.get(k) == v for r in records)}


# -- frames ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FramePick:
    """Pictures that go into the page.

    Attributes:
        pictures: each once, as base64 of a JPEG; several items, and several moments of one, may show it.
        islands: item number to clock time, number of the picture and seconds of each frame.
        items: how many items had pictures.
        bytes: of the pictures.
        left_out: items whose pictures did not fit into the limit.
        unreadable: pictures that were not JPEG.
    """

    pictures: tuple[str, ...]
    islands: Mapping[int, list[tuple[str, int, float]]]
    items: int
    bytes: int
    left_out: int
    unreadable: int


def pick_frames(data: ReportData, options: ReportOptions) -> FramePick:
    """Choose the pictures: few an item, items in order until the limit of the page is reached."""
    numbers: dict[bytes, int] = {}
    islands: dict[int, list[tuple[str, int, float]]] = {}
    total = left_out = unreadable = offered = 0
    for n, item in enumerate(data.items):
        frames = data.frames.get(item.id, ())
        readable = [f for f in frames if f.jpeg.startswith(b"\xff\xd8\xff")]
        unreadable += len(frames) - len(readable)
        if not readable:
            continue
        offered += 1
        chosen = list(_spread_frames(readable, options.max_frames))
        size = sum(len(jpeg) for jpeg in {f.jpeg for f in chosen} - numbers.keys())
        if not chosen or total + size > options.max_frame_bytes:
            left_out += 1
            continue
        total += size
        islands[n] = [
            (show_clock(f.time), numbers.setdefault(f.jpeg, len(numbers)), round(f.time, 2)) for f in chosen
        ]
    pictures = tuple(base64.b64encode(jpeg).decode("ascii") for jpeg in numbers)
    return FramePick(pictures, islands, offered, total, left_out, unreadable)


def _spread_frames(frames: Sequence[Frame], limit: int) -> Iterable[Frame]:
    """Take frames evenly spread in their order; the last one is the moment that is asked about."""
    count = min(len(frames), limit)
    return [frames[-1 - (len(frames) * k) // count] for k in range(count)][::-1] if count > 0 else []
