"""Fit the oracle's calibration on published examples and write the weights that the package ships.

    python benchmarks/oracle_fit.py ANNOTATIONS EXAMPLES.json [--write]

Without ``--write`` it only prints what it would write. The data themselves never go into the package.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from proctor.ask.moment.promqa import read_promqa
from proctor.datasets.captaincook4d import activity_key, read_graphs
from proctor.records import file_sha256, write_json
from proctor.verify.oracle.annotator import Oracle
from proctor.verify.oracle.confidence import Calibration, fit_calibration
from proctor.verify.oracle.published import answer_rows, graphs_by_key

WEIGHTS = Path(__file__).parents[1] / "src/proctor/verify/oracle/weights.json"


def fit(annotations: Path, examples: Path, ridge: float = 1.0) -> Calibration:
    """Return the calibration fitted on all machine answers of the file."""
    graphs = read_graphs(annotations)
    oracle = Oracle(calibration=Calibration(0.0, 1.0))
    rows, _ = answer_rows(
        read_promqa(examples), graphs_by_key(graphs, activity_key), oracle, where=str(examples)
    )
    readable = [r for r in rows if r.lean is not None]
    fitted = fit_calibration([r.lean or 0.0 for r in readable], [r.label for r in readable], ridge=ridge)
    return msgspec.structs.replace(
        fitted, groups=tuple(sorted({r.group for r in rows})), data_sha256=file_sha256(examples)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("annotations", type=Path)
    parser.add_argument("examples", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    calibration = fit(arguments.annotations, arguments.examples)
    print(msgspec.json.format(msgspec.json.encode(calibration), indent=2).decode())
    if arguments.write:
        write_json(WEIGHTS, calibration)
        print(f"written to {WEIGHTS}")


if __name__ == "__main__":
    main()
