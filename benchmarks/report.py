"""Write the report of 401 synthetic items and 5 runs, scores and comparisons included.

Run: python benchmarks/report.py (needs nothing but the package). Target: under 5 s.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from pathlib import Path

from proctor.exam.kinds.moment_question import question_about
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Gold, Item, Text, gold_texts
from proctor.examples.example import QUESTION_TYPES, Example, Performed
from proctor.generate.candidate import Answer, Candidate, Provenance
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake
from proctor.report.data import Frame, ReportData, ReportOptions, Run
from proctor.report.page import write_report
from proctor.verify.verdict import AnswerVerdict, Verdict

REPEATS = 5
ITEMS, RECORDINGS, ACTIVITIES, RUNS = 401, 231, 24, 5
WORDS = [
    "take",
    "fold",
    "heat",
    "pour",
    "the",
    "a",
    "small",
    "large",
    "bowl",
    "pan",
    "onion",
    "water",
    "oil",
    "salt",
    "until",
    "golden",
    "with",
    "care",
    "then",
    "stir",
]


def sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words)).capitalize() + "."


def make_graph(number: int, rng: random.Random) -> TaskGraph:
    """Draw a graph of the usual size: 15 steps, every step behind one or two earlier ones."""
    steps = [Step("0", "START"), *(Step(str(n), sentence(rng, 6)) for n in range(1, 16)), Step("99", "END")]
    edges = {("0", "1")}
    for n in range(2, 16):
        edges |= {(str(rng.randint(max(1, n - 4), n - 1)), str(n)) for _ in range(2)}
    last = {str(n) for n in range(1, 16)} - {a for a, _ in edges}
    edges |= {(n, "99") for n in last}
    return TaskGraph(str(number), f"Activity {number}", tuple(steps), tuple(sorted(edges)), "0", "99")


def make_item(number: int, graph: TaskGraph, rng: random.Random) -> Item:
    done = [
        Performed(
            s.id,
            s.text,
            "",
            (Mistake("technique", sentence(rng, 8)),) if rng.random() < 0.2 else (),
            10.0 * n,
            10.0 * n + 9,
        )
        for n, s in enumerate(graph.actions[: rng.randint(1, 12)])
    ]
    recording = f"{graph.id}_{number % RECORDINGS}"
    example = Example(
        id=f"e{number}", clip_id=f"{recording}_{done[-1].step_id}", recording_id=recording, activity_id=graph.id,
        activity_name=graph.name, type=rng.choice(QUESTION_TYPES), end=10.0 * len(done), state="ongoing",
        noisy=rng.random() < 0.5, current=done[-1], previous=tuple(done[:-1]),
    )  # fmt: skip
    golds = tuple(Gold(value=Text(text=sentence(rng, 10))) for _ in range(rng.randint(1, 3)))
    return Item(question=question_about(example, f"i{number}", sentence(rng, 9)), golds=golds)


def make_run(number: int, items: tuple[Item, ...], rng: random.Random) -> Run:
    name = f"predictor {number}"
    return Run(
        name,
        name,
        "floor" if number == 0 else "system",
        tuple(Prediction(item_id=i.id, predictor=name, answer=sentence(rng, 12), frame_times=(1.0, 2.0)) for i in items),
        tuple(
            Judgement(item_id=i.id, predictor=name, judge="rules", score=rng.choice((0, 0, 1, 2)), rationale=sentence(rng, 15))
            for i in items
        ),
    )  # fmt: skip


def make_data() -> ReportData:
    rng = random.Random(0)
    graphs = {g.id: g for g in (make_graph(n, rng) for n in range(ACTIVITIES))}
    items = tuple(make_item(n, graphs[str(n % ACTIVITIES)], rng) for n in range(ITEMS))
    candidates = tuple(
        Candidate(
            id=i.id, example_id=i.question.facts["id"], recording_id=i.question.cluster, type=i.question.facets["type"],
            question=i.question.text, answers=tuple(map(Answer, gold_texts(i))), provenance=Provenance(generator="rules", version="1"),
        )
        for i in items
    )  # fmt: skip
    verdicts = tuple(
        Verdict(
            candidate_id=c.id, annotator=name, annotator_kind="human", at="2026-01-01T00:00:00Z",
            question=AnswerVerdict("right"), answers=tuple(AnswerVerdict(rng.choice(("right", "wrong"))) for _ in c.answers),
        )
        for c in candidates
        for name in ("a", "b")
    )  # fmt: skip
    frames = {i.id: tuple(Frame(float(t), b"\xff\xd8\xff" + bytes(12_000)) for t in range(6)) for i in items}
    return ReportData(
        items=items, graphs=graphs, runs=tuple(make_run(n, items, rng) for n in range(RUNS)), candidates=candidates,
        verdicts=verdicts, frames=frames,
    )  # fmt: skip


def measure(data: ReportData, options: ReportOptions) -> tuple[float, float]:
    """Return the median of the seconds and the megabytes of the page."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        for _ in range(REPEATS):
            begin = time.perf_counter()
            write_report(path, data, options)
            seconds.append(time.perf_counter() - begin)
        return statistics.median(seconds), path.stat().st_size / 1e6


def main() -> None:
    data = make_data()
    for what, options in (
        ("frames up to 24 MB", ReportOptions()),
        ("without frames", ReportOptions(max_frames=0)),
    ):
        seconds, size = measure(data, options)
        print(f"| report, {ITEMS} items, {RUNS} runs, {what} | {seconds:.2f} s, {size:.1f} MB | < 5 s |")


if __name__ == "__main__":
    main()
