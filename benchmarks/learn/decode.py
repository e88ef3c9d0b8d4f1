"""What order-aware decoding gains over a simulated localizer on CaptainCook4D's real sequences, mistaken and not.

Run: python benchmarks/learn/decode.py DIR [--every 4]; about a minute. Habits are fitted on the recordings that are not tested.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec
import numpy as np
from tests.learn.localize.simulated import Faults, simulated_predictions

from proctor.learn.localize.data import localize_data
from proctor.learn.localize.decode import decode
from proctor.learn.localize.order_figures import FIGURES, f1_sums, performed, tagged_out_of_order
from proctor.learn.localize.order_prior import fit_order_prior
from proctor.learn.localize.readings import DecodeWeights
from proctor.learn.samples import read_step_data
from proctor.metrics.localization import localization_scores

ALONE = DecodeWeights(score=1.0, length=0.0, place=0.0, gap=0.0, order=0.0)
LADDER = {
    "activity given": ALONE,
    "place and length": DecodeWeights(gap=0.0, order=0.0),
    "sequence": DecodeWeights(order=0.0),
    "graph (default)": DecodeWeights(),
    "graph, full": msgspec.structs.replace(DecodeWeights(), order=1.0),
}


def main() -> None:
    """Print the table of docs/localize-order.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("annotations", type=Path)
    parser.add_argument("--every", type=int, default=4, help="test every so many recordings")
    options = parser.parse_args()
    steps, _ = read_step_data(options.annotations)
    data = localize_data(steps)
    ids = sorted(i for i, r in data.recordings.items() if r.spans)
    tested = ids[:: options.every]
    prior = fit_order_prior(data, set(ids) - set(tested))
    activities = {i: data.recordings[i].activity_id for i in tested}
    seconds = {i: data.recordings[i].seconds for i in tested}
    predictions, truth = simulated_predictions(data, tested, Faults()), data.truth(tested)
    right, tagged = performed(truth, activities, prior), tagged_out_of_order(steps, tested)
    mistaken = np.array([data.recordings[v].mistaken for v in right])
    print(
        f"{len(tested)} recordings, {int(mistaken.sum())} mistaken; columns: mAP@.1 @.5 mean, then by group",
        FIGURES,
    )
    for name, weights in LADDER.items():
        found = decode(predictions, activities, seconds, prior, weights)
        scores = localization_scores(truth, predictions if weights is ALONE else found.rescored)
        sums = f1_sums(performed(found.chosen, activities, prior), right, tagged)
        groups = []
        for group in (np.ones(len(mistaken), np.bool_), mistaken, ~mistaken):
            part = sums[group].sum(axis=0)
            whole = np.maximum(part[:, 1] + part[:, 2], 1e-9)
            groups.append(" ".join(f"{v:5.1f}" for v in 200 * part[:, 0] / whole))
        ap = " ".join(f"{100 * v:5.1f}" for v in (*scores.mean_ap[[0, 4]], scores.average_map))
        called = sums[:, 1, 1].sum()
        print(
            f"{name:18} {ap} | {' | '.join(groups)} | late called {called:.0f} of {sums[:, 1, 2].sum():.0f}"
        )


if __name__ == "__main__":
    main()
