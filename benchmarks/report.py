"""Write the report of synthetic items and 4 runs: comparisons, task graphs, examples.

Run: python benchmarks/report.py (needs nothing but the package). Target: 423 items in at most 3 s of processor, programs that draw
included; 10,000 items under 10 MB.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
from pathlib import Path

from proctor.exam.kinds.example import QUESTION_TYPES, Example, Performed
from proctor.exam.kinds.moment import KIND
from proctor.exam.kinds.moment_question import question_about
from proctor.exam.prediction import Judgement, Prediction
from proctor.exam.question import Gold, Item, Text
from proctor.exam.scores import score_run
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.recording import Mistake
from proctor.report.compose import write_report
from proctor.report.data import Exam, ReportData, Run
from proctor.report.examples import example_cards, take
from proctor.report.moment import moment_evidence, moment_sections
from proctor.report.standing import stand

REPEATS = 3
RECORDINGS, ACTIVITIES, RUNS = 231, 24, 4
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
    predictions = tuple(
        Prediction(item_id=i.id, predictor=name, answer=sentence(rng, 12), frame_times=(1.0, 2.0))
        for i in items
    )
    judgements = tuple(
        Judgement(item_id=i.id, predictor=name, judge="rules", score=rng.choice((0, 0, 1, 2)), rationale=sentence(rng, 15))
        for i in items
    )  # fmt: skip
    table = score_run(KIND, items, predictions, {KIND.measured.judge: judgements}, benchmark="b")
    return Run(name, name, "floor" if number == 0 else "system", predictions, judgements, table)


def write(path: Path, exam: Exam, graphs: dict[str, TaskGraph]) -> None:
    """Write the page of an exam as the stage does."""
    cards = example_cards(stand(exam, compare=False), moment_evidence(graphs, lambda _: ()), {}, {})
    taken = take(cards)
    making = tuple(moment_sections(exam.items, graphs, None))
    write_report(path, ReportData(exams=(exam,), making=making, examples=taken))


def main() -> None:
    for count in (423, 10_000):
        rng = random.Random(0)
        graphs = {g.id: g for g in (make_graph(n, rng) for n in range(ACTIVITIES))}
        items = tuple(make_item(n, graphs[str(n % ACTIVITIES)], rng) for n in range(count))
        exam = Exam("moment", "moments", items, tuple(make_run(n, items, rng) for n in range(RUNS)))
        seconds = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.html"
            for _ in range(REPEATS):
                begin = sum(os.times()[:4])
                write(path, exam, graphs)
                seconds.append(sum(os.times()[:4]) - begin)
            size = path.stat().st_size / 1e6
        print(
            f"| report, {count:,} items, {RUNS} runs | {statistics.median(seconds):.2f} s of processor, {size:.1f} MB | ≤ 3 s (423), < 10 MB |"
        )


if __name__ == "__main__":
    main()
