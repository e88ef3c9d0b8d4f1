"""Fit the weights by which task graphs are inferred, as the package ships them.

    python benchmarks/learn/order_fit.py ANNOTATIONS [--write]

They are fitted on all activities whose graphs are known, of recordings without a mistake of order (195 of CaptainCook4D, in 24
activities). Without ``--write`` it only says whether the shipped ones are the same. How good they are on activities that
were left out is what ``proctor graph benchmark`` measures.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from proctor.procedure.order_fit import fit_weights
from proctor.stages.graph_recorded import performances_of, read_recorded

WEIGHTS = Path(__file__).parents[2] / "src/proctor/procedure/order_weights.json"


def main() -> None:
    """Fit, compare, and write where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("annotations", type=Path, help="folder of CaptainCook4D's annotations")
    parser.add_argument("--write", action="store_true", help="overwrite the weights in the package")
    given = parser.parse_args()
    activities, *_ = read_recorded(given.annotations)
    text = fit_weights([(performances_of(a.normal), a.graph) for a in activities]).to_json()
    same = WEIGHTS.read_text(encoding="utf-8") == text
    print(f"{len(activities)} activities: the shipped weights are {'the same' if same else 'others'}")
    if given.write and not same:
        WEIGHTS.write_text(text, encoding="utf-8")
        print(f"{WEIGHTS}: written")


if __name__ == "__main__":
    main()
