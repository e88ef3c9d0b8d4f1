"""A seeded sample of golds about mistakes, to be judged by hand, and the table that the judgements make.

    python benchmarks/golds.py sample FOLDER OUT.jsonl [--dataset captaincook4d] [--size 300] [--seed 13]
    python benchmarks/golds.py table VERDICTS.jsonl ...

``sample`` draws examples about mistakes, has the rule-based generator ask about each, draws one gold of every question,
and writes it with what the annotations say: instruction, performed text, remarks. The same seed draws the same
examples whatever the generator does with them, so that two versions can be compared. Verdicts are lines
``{"id", "right", "grammatical"}``; the rubric is in docs/generate.md.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from proctor.ask.moment.candidate import Candidate
from proctor.ask.moment.derive import derive_examples
from proctor.ask.moment.rules import RuleGenerator, generate_candidates
from proctor.datasets.dataset import load_dataset
from proctor.exam.kinds.example import STEP_TYPES, Example


def draw(dataset: str, folder: Path, size: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield one gold of each drawn example, or the reason for which nothing is asked about it."""
    read = load_dataset(dataset).read(folder, "corrected")
    derived = derive_examples(read.recordings, read.graphs)
    every = sorted(
        (e for e in derived if isinstance(e, Example) and e.type in STEP_TYPES), key=lambda e: e.id
    )
    known = {e.id: e for e in random.Random(seed).sample(every, min(size, len(every)))}
    for made in generate_candidates(known.values(), read.graphs, RuleGenerator(seed)):
        if not isinstance(made, Candidate):
            yield {"id": made.id, "dropped": made.reason, "detail": made.detail}
            continue
        example = known[made.example_id]
        gold = random.Random(f"{seed}\n{example.id}").choice(made.answers)
        step = example.current
        yield {
            "id": example.id,
            "question": made.question,
            "gold": gold.text,
            "instruction": step.instruction if step else "",
            "performed": step.text if step else "",
            "remarks": list(example.mistake_texts),
        }


def table(files: Sequence[Path]) -> Iterator[str]:
    """Yield the rows of the table: how many golds of a file are right, and how many are grammatical."""
    yield "| sample | golds | right | grammatical |"
    yield "|---|---|---|---|"
    for file in files:
        said = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        shares = (sum(v[what] for v in said) for what in ("right", "grammatical"))
        cells = " | ".join(f"{n} ({n / len(said):.1%})" for n in shares)
        yield f"| {file.stem} | {len(said)} | {cells} |"


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    sample = commands.add_parser("sample")
    sample.add_argument("folder", type=Path)
    sample.add_argument("out", type=Path)
    sample.add_argument("--dataset", default="captaincook4d")
    sample.add_argument("--size", type=int, default=300)
    sample.add_argument("--seed", type=int, default=13)
    verdicts = commands.add_parser("table")
    verdicts.add_argument("files", nargs="+", type=Path)
    given = parser.parse_args()
    if given.command == "table":
        print("\n".join(table(given.files)))
        return
    rows = list(draw(given.dataset, given.folder, given.size, given.seed))
    given.out.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    print(f"{sum('gold' in r for r in rows)} golds of {len(rows)} examples in {given.out}")


if __name__ == "__main__":
    main()
