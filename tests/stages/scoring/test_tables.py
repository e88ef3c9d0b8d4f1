import math

from proctor.metrics.score import Score, Signature
from proctor.stages.scoring.tables import defined, interval_plot

SIGNATURE = Signature("accuracy", {})


def test_what_is_undefined_is_left_empty():
    assert defined(math.nan) is None
    assert defined(0.0) == 0.0


def test_scores_become_lines():
    found = interval_plot(
        "Two systems",
        iter(
            [("a", Score(0.5, SIGNATURE, 4, 0.2, 0.8)), ("b", Score(math.nan, SIGNATURE, 0, note="nothing"))]
        ),
        chance=[0.25, None],
    )
    assert (found.title, found.labels) == ("Two systems", ("a", "b"))
    assert (found.values, found.low, found.high) == ((0.5, None), (0.2, None), (0.8, None))
    assert (found.chance, found.scale) == ((0.25, None), (0.0, 1.0))


def test_nothing_is_an_empty_picture():
    found = interval_plot("Nothing", [], scale=(0.0, 100.0))
    assert (found.labels, found.values, found.chance, found.scale) == ((), (), (), (0.0, 100.0))
