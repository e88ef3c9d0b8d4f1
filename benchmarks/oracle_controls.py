"""Positive and negative controls of the oracle on every procedure of a data set, without any human judgement.

    python benchmarks/oracle_controls.py DATASET FOLDER [--each 300] [--seed 0]

Positive: the rule-based generator's own answers are right by construction; how many does the oracle take for
right? Negative: an answer of another moment of the same procedure, that names no step which is next or missing
now, is wrong by construction (with a little noise: it may be right for another reason).
"""

from __future__ import annotations

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from proctor.ask.moment.candidate import Answer, Candidate
from proctor.ask.moment.derive import derive_examples
from proctor.ask.moment.rules import RuleGenerator
from proctor.datasets.dataset import load_dataset
from proctor.exam.kinds.example import QUESTION_TYPES, Example
from proctor.procedure.graph import TaskGraph
from proctor.verify.oracle import Oracle

Asked = tuple[Candidate, Example, TaskGraph]


def ask(dataset: str, folder: Path, each: int, seed: int) -> dict[str, list[Asked]]:
    """Return generated candidates by question type, at most ``each`` examples of a type."""
    read = load_dataset(dataset).read(folder, "corrected")
    by_type: dict[str, list[Example]] = defaultdict(list)
    for derived in derive_examples(read.recordings, read.graphs):
        if isinstance(derived, Example):
            by_type[derived.type].append(derived)
    rng, generator = random.Random(seed), RuleGenerator(seed=seed)
    asked: dict[str, list[Asked]] = {}
    for type_ in QUESTION_TYPES:
        chosen = rng.sample(by_type[type_], min(each, len(by_type[type_])))
        asked[type_] = [
            (candidate, example, read.graphs[example.activity_id])
            for example in chosen
            for candidate in _generate(generator, example, read.graphs[example.activity_id])
        ]
    return asked


def _generate(generator: RuleGenerator, example: Example, graph: TaskGraph) -> Sequence[Candidate]:
    try:
        return list(generator.generate(example, graph))
    except ValueError:
        return []


def positive(oracle: Oracle, asked: Sequence[Asked]) -> Counter[str]:
    """Count the verdicts on the generator's own answers."""
    return Counter(
        oracle.judge_answer(candidate.question, answer.text, example, graph).value
        for candidate, example, graph in asked
        for answer in candidate.answers
    )


def negative(oracle: Oracle, asked: Sequence[Asked], rng: random.Random) -> Counter[str]:
    """Count the verdicts on answers of other moments."""
    verdicts: Counter[str] = Counter()
    pool: dict[str, list[Answer]] = defaultdict(list)
    for candidate, example, _ in asked:
        pool[example.activity_id] += [a for a in candidate.answers if a.step_ids]
    for candidate, example, graph in asked:
        due = {s.step_id for s in (*example.all_next, *example.all_missing)}
        due |= {i for a in candidate.answers for i in a.step_ids}
        others = [a for a in pool[example.activity_id] if not due & set(a.step_ids)]
        if others:
            answer = rng.choice(others).text
            verdicts[oracle.judge_answer(candidate.question, answer, example, graph).value] += 1
    return verdicts


def _line(name: str, verdicts: Counter[str]) -> str:
    n = max(1, verdicts.total())
    shares = "  ".join(f"{v} {100 * verdicts[v] / n:5.1f}%" for v in ("right", "unsure", "wrong"))
    return f"{name:12}  n {verdicts.total():5}  {shares}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--each", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    asked, oracle = ask(arguments.dataset, arguments.folder, arguments.each, arguments.seed), Oracle()
    print("the generator's own answers (right by construction)")
    for type_, members in asked.items():
        print(_line(type_, positive(oracle, members)))
    print("\nanswers of other moments (wrong by construction)")
    for type_ in ("next", "missing", "order"):
        print(_line(type_, negative(oracle, asked[type_], random.Random(arguments.seed))))


if __name__ == "__main__":
    main()
