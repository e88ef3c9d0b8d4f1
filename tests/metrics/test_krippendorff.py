import json
import math
from itertools import product

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.metrics.agreement import AnnotationTask
from nltk.metrics.distance import interval_distance

from proctor.metrics import krippendorff as module
from proctor.metrics.agreement import fleiss_kappa
from proctor.metrics.bootstrap import interval_tails
from proctor.metrics.errors import MetricInputError
from proctor.metrics.krippendorff import METRICS, krippendorff_alpha
from proctor.metrics.score import Signature

LEVELS = ("nominal", "ordinal", "interval", "ratio")
NAN = math.nan

RELIABILITY = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T
"""The example of Krippendorff (2011), section C on: 12 units, 4 observers, some ratings missing."""


def alpha(ratings, **options):
    return krippendorff_alpha(ratings, resamples=0, **options).value


def package(ratings, level):
    return float(
        krippendorff.alpha(reliability_data=np.asarray(ratings, float).T, level_of_measurement=level)
    )


def definition(ratings, distance):
    """Alpha from all pairs of ratings, one after the other."""
    units = [
        [x for x in row if x is not None and not (isinstance(x, float) and math.isnan(x))] for row in ratings
    ]
    units = [row for row in units if len(row) > 1]
    everything = [x for row in units for x in row]
    n = len(everything)
    within = sum(
        distance(row[i], row[j]) / (len(row) - 1)
        for row in units
        for i, j in product(range(len(row)), repeat=2)
        if i != j
    )
    across = sum(distance(everything[i], everything[j]) for i, j in product(range(n), repeat=2) if i != j)
    return 1 - (within / n) / (across / (n * (n - 1)))


def random_ratings(rng, units, raters, values, missing):
    data = rng.integers(1, values + 1, (units, raters)).astype(float)
    data[rng.random(data.shape) < missing] = NAN
    return data


# -- perfect -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_perfect(level):
    score = krippendorff_alpha([[1, 1, 1], [2, 2, 2], [5, 5, None]] * 4, level=level)
    assert score.value == 1.0
    assert (score.low, score.high) == (1.0, 1.0)
    assert score.n == 12


def test_systematic_disagreement_is_below_zero():
    assert alpha([["y", "n"], ["n", "y"]] * 10) < -0.9


# -- golden --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "printed"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_golden_example_of_krippendorff(level, printed):
    score = krippendorff_alpha(RELIABILITY, level=level)
    assert score.value == pytest.approx(printed, abs=5e-4)
    assert score.low < score.value < score.high
    assert (score.n, score.skipped) == (11, 1)


def test_golden_two_observers():
    """Krippendorff (2011), A and B: two observers, binary and nominal data: 0.095 and 0.692."""
    binary = ([0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0])
    assert alpha(list(zip(*binary, strict=True))) == pytest.approx(0.095, abs=5e-4)
    nominal = ("aabbdcccedda", "babbbccceddd")
    assert alpha(list(zip(*nominal, strict=True))) == pytest.approx(0.692, abs=5e-4)


def published(right, wrong, conflict):
    return [["yes", "yes"]] * right + [["no", "no"]] * wrong + [["yes", "no"]] * conflict


def test_golden_published_answers():
    """Alpha .643 on 467 pairs of judgements of answers, 95 % interval [.55, .73]."""
    score = krippendorff_alpha(published(324, 82, 61))
    assert score.value == pytest.approx(1 - 933 * 61 / (709 * 225), abs=1e-12)
    assert score.value == pytest.approx(0.643, abs=5e-4)
    assert score.low == pytest.approx(0.55, abs=0.02)
    assert score.high == pytest.approx(0.73, abs=0.02)


def test_golden_published_questions():
    """Raw agreement .948, alpha -.03, because rejected questions are not in the file."""
    score = krippendorff_alpha(published(380, 0, 21))
    assert pytest.approx(0.948, abs=5e-4) == 380 / 401
    assert score.value == pytest.approx(1 - 801 / 781, abs=1e-12)
    assert round(score.value, 2) == -0.03


@pytest.mark.shared
def test_published_counts_are_those_of_the_file(shared_expected):
    given = shared_expected("promqa")["verification"]
    answers = list(given["per_pair"].values())
    assert sum(p["a_agree"] for p in answers) == 324 + 82
    assert sum(p["a_total"] for p in answers) == 324 + 82 + 61
    assert sum(p["q_agree"] for p in answers) == 380
    assert given["question_conflicts"] == 21


@pytest.mark.shared
def test_published_judgements_of_the_development_part(shared_data):
    """195 of the 401: questions with raw agreement near .948 have an alpha below 0, answers one near .643."""
    examples = json.loads((shared_data / "promqa" / "examples_dev.json").read_text())
    judges = [(e["recording_id"], e["verification"]["judges"]) for e in examples]
    questions = krippendorff_alpha(
        [[j["question"] for j in two] for _, two in judges], clusters=[recording for recording, _ in judges]
    )
    assert -0.1 < questions.value < 0
    both = [(r, two) for r, two in judges if all(j["question"] for j in two)]
    rows = [(r, pair) for r, two in both for pair in zip(*(j["answers"] for j in two), strict=True)]
    answers = krippendorff_alpha([list(pair) for _, pair in rows], clusters=[r for r, _ in rows])
    assert answers.low < 0.643 < answers.high
    assert answers.value == pytest.approx(package([pair for _, pair in rows], "nominal"), abs=1e-12)
    alone = krippendorff_alpha([list(pair) for _, pair in rows])
    assert (alone.low, alone.high) == pytest.approx((answers.low, answers.high), abs=0.03)


# -- against other packages ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_equals_the_krippendorff_package(level):
    rng = np.random.default_rng(LEVELS.index(level))
    for units, raters, values, missing in product((5, 30), (2, 5), (2, 5, 9), (0.0, 0.3)):
        data = random_ratings(rng, units, raters, values, missing)
        try:
            theirs = package(data, level)
        except (ValueError, RuntimeWarning):
            theirs = NAN  # one value only, or only one in units with two ratings
        assert alpha(data, level=level) == pytest.approx(theirs, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(("level", "distance"), [("nominal", None), ("interval", interval_distance)])
def test_equals_nltk(level, distance):
    rng = np.random.default_rng(7)
    for missing in (0.0, 0.25):
        data = random_ratings(rng, 25, 4, 5, missing)
        triples = [
            (f"c{r}", f"i{u}", data[u, r]) for u, r in np.ndindex(*data.shape) if not math.isnan(data[u, r])
        ]
        task = AnnotationTask(triples, **({"distance": distance} if distance else {}))
        assert alpha(data, level=level) == pytest.approx(task.alpha(), abs=1e-12)


def test_many_values_take_the_short_way_to_the_same_number():
    """Beyond 200 different values interval data are summed by moments."""
    rng = np.random.default_rng(0)
    truth = rng.normal(50, 10, 150)[:, None]
    data = truth + rng.normal(0, 3, (150, 3))
    data[rng.random(data.shape) < 0.2] = NAN
    score = krippendorff_alpha(data, level="interval", resamples=500)
    assert score.value == pytest.approx(package(data, "interval"), abs=1e-12)
    coarse = krippendorff_alpha(np.round(data / 0.5) * 0.5, level="interval", resamples=500)  # a few values
    assert (score.low, score.high) == pytest.approx((coarse.low, coarse.high), abs=0.01)


def test_ordinal_with_many_values():
    rng = np.random.default_rng(0)
    data = rng.integers(0, 60, 60)[:, None] + rng.integers(-5, 6, (60, 3))
    assert alpha(data.astype(float), level="ordinal") == pytest.approx(package(data, "ordinal"), abs=1e-12)


@pytest.mark.parametrize("clusters", [None, [f"r{k % 9}" for k in range(40)]])
def test_both_ways_of_ordinal_are_one(monkeypatch, clusters):
    """Summed coincidences, and ranks within the draws: the same value and the same interval."""
    data = random_ratings(np.random.default_rng(8), 40, 4, 5, 0.2)
    ways = []
    for limit in (0, 50):
        monkeypatch.setattr(module, "_MANY_COINCIDENCES", limit)
        monkeypatch.setattr(module, "_BLOCK", 1_000)  # a few draws at a time
        ways.append(krippendorff_alpha(data, level="ordinal", clusters=clusters, resamples=300))
    assert ways[0].value == pytest.approx(ways[1].value, abs=1e-12)
    if clusters is not None:  # without clusters each way sorts the units by what it sums
        assert (ways[0].low, ways[0].high) == pytest.approx((ways[1].low, ways[1].high), abs=1e-12)


def test_many_values_and_units_fit_into_memory():
    """4,000 values: eight million pairs of them, twenty million numbers of units and values."""
    rng = np.random.default_rng(0)
    data = rng.normal(size=(2_000, 1)) + rng.normal(size=(2_000, 2)) / 4
    for level in ("ordinal", "interval"):
        score = krippendorff_alpha(data, level=level, resamples=20)
        assert 0.9 < score.low < score.value < score.high < 1.0


# -- definition ----------------------------------------------------------------------------------------------------

SMALL = st.lists(st.lists(st.integers(0, 3), min_size=0, max_size=4), min_size=1, max_size=6)


def defined(rows):
    return len({x for row in rows if len(row) > 1 for x in row}) > 1


@settings(max_examples=60, deadline=None)
@given(SMALL)
def test_is_the_definition(rows):
    distances = {
        "nominal": lambda x, y: float(x != y),
        "interval": lambda x, y: (x - y) ** 2,
        "ratio": lambda x, y: ((x - y) / (x + y)) ** 2 if x + y else 0.0,
    }
    for level, distance in distances.items():
        score = krippendorff_alpha(rows, level=level, resamples=0)
        if defined(rows):
            assert score.value == pytest.approx(definition(rows, distance), abs=1e-12)
        else:
            assert math.isnan(score.value)
        assert score.n + score.skipped == len(rows)


@settings(max_examples=40, deadline=None)
@given(SMALL, st.randoms(use_true_random=False))
def test_raters_have_no_names_and_units_no_order(rows, random):
    shuffled = [random.sample(row, len(row)) for row in rows]
    random.shuffle(shuffled)
    padded = [row + [None] * (4 - len(row)) for row in shuffled]
    for level in LEVELS:
        one = krippendorff_alpha(rows, level=level, resamples=40)
        assert str(krippendorff_alpha(padded, level=level, resamples=40)) == str(one)


@settings(max_examples=40, deadline=None)
@given(SMALL)
def test_invariances_of_the_levels(rows):
    """Nominal ignores names, ordinal any growing change, interval a change of unit and origin, ratio of unit."""
    changes = {
        "nominal": lambda x: "dacb"[x],
        "ordinal": lambda x: [-7.0, 0.5, 0.6, 100.0][x],
        "interval": lambda x: 3.5 * x - 20,
        "ratio": lambda x: 0.25 * x,
    }
    for level, change in changes.items():
        changed = [[change(x) for x in row] for row in rows]
        one, two = alpha(rows, level=level), alpha(changed, level=level)
        assert one == pytest.approx(two, abs=1e-11, nan_ok=True)
        assert math.isnan(one) or one <= 1.0


@settings(max_examples=30, deadline=None)
@given(SMALL)
def test_two_values_make_all_levels_alike(rows):
    binary = [[float(x > 1) for x in row] for row in rows]
    values = [alpha(binary, level=level) for level in LEVELS]
    assert values == pytest.approx([values[0]] * 4, abs=1e-12, nan_ok=True)


@settings(max_examples=30, deadline=None)
@given(SMALL)
def test_units_with_one_rating_say_nothing(rows):
    kept = [row for row in rows if len(row) > 1]
    assert alpha(rows) == pytest.approx(alpha(kept), abs=1e-12, nan_ok=True)


def test_a_new_unit_that_agrees_on_a_rare_value_raises_alpha():
    rows = [["y", "y"]] * 8 + [["y", "n"], ["n", "n"]]
    assert alpha([*rows, ["n", "n"]]) > alpha(rows)


def test_near_fleiss_for_many_units():
    """They differ by the correction for the size of the sample only."""
    rng = np.random.default_rng(1)
    data = np.where(
        rng.random((4_000, 3)) < 0.7, rng.integers(0, 3, (4_000, 1)), rng.integers(0, 3, (4_000, 3))
    )
    assert alpha(data) == pytest.approx(fleiss_kappa(data, resamples=0).value, abs=2e-4)


# -- undefined -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("ratings", "note"),
    [
        ([], "no unit has two ratings"),
        ([[], []], "no unit has two ratings"),
        ([[1], [2], [3, None]], "no unit has two ratings"),
        ([[None, NAN]], "no unit has two ratings"),
        ([[4, 4], [4, 4, 4]], "every rating is 4"),
        ([[4, 4], [7], [9, None]], "every rating is 4"),
        ([[0, 0], [0, 0]], "every rating is 0"),
    ],
)
def test_undefined_is_said_not_one(level, ratings, note):
    score = krippendorff_alpha(ratings, level=level)
    assert math.isnan(score.value)
    assert note in score.note
    assert (score.low, score.high) == (None, None)


def test_the_package_raises_where_we_say_undefined():
    with pytest.raises(ValueError, match="more than one value"):
        package([[4, 4], [4, 4]], "nominal")


def test_share_of_undefined_resamples():
    """One unit of ten has the other value: (9/10)^10 of the resamples lack it."""
    score = krippendorff_alpha([["y", "y"]] * 9 + [["n", "n"]], resamples=5_000)
    assert score.value == 1.0
    share = float(score.note.split(" %")[0]) / 100
    assert share == pytest.approx(0.9**10, abs=0.03)
    assert "left out" in score.note


@pytest.mark.parametrize("level", LEVELS)
def test_resamples_with_one_value_are_undefined_at_every_level(level):
    score = krippendorff_alpha([[3, 3]] * 9 + [[1, 1]], level=level, resamples=1_000)
    assert "% of the resamples were undefined" in score.note
    many = [[float(k)] * 2 for k in range(250)]  # summed by moments
    clusters = ["a"] * 125 + ["b"] * 125
    assert krippendorff_alpha(many, level=level, clusters=clusters, resamples=50).value == 1.0


# -- bootstrap -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_interval_is_that_of_resampling_the_definition(level):
    """Every draw of clusters, scored from scratch, gives the quantiles of the interval."""
    rng = np.random.default_rng(4)
    data = random_ratings(rng, 40, 3, 4, 0.2)
    clusters = np.array([f"r{k % 12:02d}" for k in range(40)])
    score = krippendorff_alpha(data, level=level, clusters=clusters.tolist(), resamples=200, seed=3)
    names = np.unique(clusters)
    drawn = np.random.default_rng(3).integers(0, 12, size=(200, 12), dtype=np.int64)
    values = [package(np.concatenate([data[clusters == names[k]] for k in row]), level) for row in drawn]
    ends = np.quantile(values, interval_tails(0.95, 12))
    assert (score.low, score.high) == pytest.approx(tuple(ends), abs=1e-10)


def test_clusters_widen():
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.integers(0, 2, (40, 2)), 5, axis=0)
    alone = krippendorff_alpha(rows)
    together = krippendorff_alpha(rows, clusters=[str(i // 5) for i in range(200)])
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert together.value == alone.value
    assert together.signature.parameters["cluster"] == "given"


def test_one_cluster_has_no_interval_and_the_seed_matters():
    rows = [["y", "n"], ["y", "y"], ["n", "n"]] * 5
    one = krippendorff_alpha(rows, clusters=["r"] * 15)
    assert one.low is None
    assert "one cluster" in one.note
    assert krippendorff_alpha(rows, seed=1) == krippendorff_alpha(rows, seed=1)
    spread = np.random.default_rng(0).normal(size=(30, 2))
    one, two = (krippendorff_alpha(spread, level="interval", seed=seed) for seed in (1, 2))
    assert one.value == two.value
    assert one.low != two.low


# -- invalid ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratings", "options", "message"),
    [
        ([["y", "n"]], {"level": "cardinal"}, "nominal, ordinal, interval, ratio, got 'cardinal'"),
        ([["y", "n"]], {"level": "interval"}, "'n' is a text; give numbers"),
        ([["y", "n"]], {"level": "ordinal"}, "'n' is a text; give the values in their order"),
        ([["y", "n"]], {"level": "ordinal", "values": ["y"]}, "'n' is not in the order given"),
        ([[1, -2]], {"level": "ratio"}, "no negative values, got -2"),
        ([[1, math.inf]], {}, "finite"),
        ([[1, [2]]], {}, "got a list or an object"),
        ([[1, 2]], {"clusters": ["a", "b"]}, "2 cluster names for 1 units"),
        ([[1, 2]], {"confidence": 0.0}, "confidence"),
        ([[1, 2]], {"resamples": -5}, "resamples"),
        (["yes"], {}, "must be a list"),
        (np.zeros(3), {}, "one row a unit"),
    ],
)
def test_bad_input_is_named(ratings, options, message):
    with pytest.raises(MetricInputError, match=message):
        krippendorff_alpha(ratings, **options)


def test_ordinal_words():
    words = ["very low", "low", "mid", "high", "very high"]
    rows = [[None if math.isnan(x) else words[int(x) - 1] for x in row] for row in RELIABILITY]
    assert alpha(rows, level="ordinal", values=words) == pytest.approx(
        alpha(RELIABILITY, level="ordinal"), abs=1e-15
    )


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
@pytest.mark.parametrize("level", ["ordinal", "interval", "ratio"])
def test_huge_and_tiny_numbers(scale, level):
    assert alpha(RELIABILITY * scale, level=level) == pytest.approx(alpha(RELIABILITY, level=level), abs=1e-9)


# -- coincidences ----------------------------------------------------------------------------------------------------


def test_catalogue_entry():
    (entry,) = METRICS
    score = krippendorff_alpha([["y", "n"], ["y", "y"]] * 3, clusters=list("abcdef"))
    assert str(score.signature) == entry.signature == str(Signature.parse(entry.signature))
