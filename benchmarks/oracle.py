"""How many oracle verdicts a second one process gives: the median of several runs.

    python benchmarks/oracle.py [ANNOTATIONS EXAMPLES.json] [--runs 5] [--answers 20000]

Without arguments it makes procedures and answers of its own; with the published files it judges their answers.
Every run starts with cold caches (new oracle, cleared parse caches) and meets every text afresh: texts are made
different from one another, so that no cache of parsed texts can help.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from proctor.exam.kinds.example import Example, Performed
from proctor.procedure.graph import Step, TaskGraph
from proctor.procedure.progress import derive_progress
from proctor.verify.oracle import Oracle
from proctor.verify.oracle import answer as answer_module
from proctor.verify.oracle import question as question_module
from proctor.verify.oracle import text as text_module

Case = tuple[str, str, Example, TaskGraph]

VERBS = [
    "attach",
    "align",
    "loosen",
    "measure",
    "pour",
    "mix",
    "cut",
    "place",
    "tighten",
    "rinse",
    "label",
    "heat",
    "cool",
    "remove",
    "seal",
]
THINGS = [
    "bracket",
    "panel",
    "screw",
    "tube",
    "sample",
    "plate",
    "hinge",
    "cable",
    "buffer",
    "cover",
    "frame",
    "filter",
    "sensor",
    "lid",
    "board",
]


def make_cases(count: int, seed: int) -> list[Case]:
    """Return made-up questions and answers about made-up procedures of 15 steps."""
    rng = random.Random(seed)
    cases: list[Case] = []
    while len(cases) < count:
        steps = [
            Step(
                str(i),
                f"{rng.choice(VERBS)} the {rng.choice(THINGS)} {i} with {rng.randint(1, 9)} {rng.choice(THINGS)}s",
            )
            for i in range(15)
        ]
        edges = tuple((str(i), str(i + rng.randint(1, 3))) for i in range(12))
        graph = TaskGraph(str(len(cases)), "made up", tuple(steps), edges)
        for _ in range(50):
            order = list(graph.topological_order)[: rng.randint(1, 14)]
            done = [i for i in order if rng.random() > 0.1] or order[:1]
            cases.append(_case(rng, graph, done, len(cases)))
    return cases[:count]


def _case(rng: random.Random, graph: TaskGraph, done: Sequence[str], number: int) -> Case:
    performed = tuple(Performed(i, graph[i].text) for i in done)
    example = Example(
        id=f"e{number}",
        clip_id="c",
        recording_id=f"r{number}",
        activity_id=graph.id,
        activity_name=graph.name,
        type="next",
        end=float(number),
        state=derive_progress(graph, done).state,
        noisy=False,
        previous=performed[:-1],
        current=performed[-1],
    )
    step = rng.choice(graph.steps).text
    question = rng.choice(["What should I do next?", "Did I forget anything?", f"Should I {step} now?"])
    answer = (
        rng.choice(["Yes, you should", "No, you forgot to", "You need to", "Next,"]) + f" {step} ({number})."
    )
    return question, answer, example, graph


def published_cases(annotations: Path, examples: Path, count: int) -> list[Case]:
    """Return the published machine answers, repeated up to the count, each made different by its number."""
    from proctor.ask.moment.promqa import read_promqa, to_example
    from proctor.datasets.captaincook4d import activity_key, read_graphs

    graphs = read_graphs(annotations)
    once: list[Case] = []
    for published in read_promqa(examples):
        graph = graphs[activity_key(published.activity_name)]
        example = to_example(published, graph)
        once += [(published.question, a, example, graph) for a in published.verification.answers]
    return [(q, f"{a} ({n})", e, g) for n in range(count // len(once) + 1) for q, a, e, g in once][:count]


def forget() -> None:
    """Clear every cache that outlives an oracle."""
    for cached in (
        answer_module.parse_answer,
        question_module.parse_question,
        text_module.words,
        text_module.stem,
        text_module.content,
        text_module.find_quantities,
    ):
        cached.cache_clear()


def verdicts_per_second(cases: Sequence[Case]) -> tuple[float, float]:
    """Judge all cases once, from cold caches; return verdicts a second of wall clock and of processor time."""
    forget()
    oracle = Oracle(clock=lambda: "2000-01-01T00:00:00+00:00")
    begin, busy = time.perf_counter(), time.process_time()
    for question, answer, example, graph in cases:
        oracle.judge_answer(question, answer, example, graph)
    return len(cases) / (time.perf_counter() - begin), len(cases) / (time.process_time() - busy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--answers", type=int, default=4_000)
    arguments = parser.parse_args()
    if arguments.files:
        cases, source = published_cases(*arguments.files, count=arguments.answers), "published answers"
    else:
        cases, source = make_cases(arguments.answers, seed=0), "made-up answers"
    runs = [verdicts_per_second(cases) for _ in range(arguments.runs)]
    wall = sorted(seconds for seconds, _ in runs)
    print(
        f"| oracle, {len(cases):,} {source}, {wall[0]:,.0f} to {wall[-1]:,.0f}/s in {arguments.runs} runs "
        f"| {statistics.median(wall):,.0f} verdicts/s | ≥ 2,000/s |"
    )


if __name__ == "__main__":
    main()
