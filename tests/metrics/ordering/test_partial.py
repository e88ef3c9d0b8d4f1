import itertools
import math

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.metrics.errors import MetricInputError
from proctor.metrics.ordering import (
    PartialOrder,
    chance_of_partial_order,
    comparable_tau,
    is_valid_order,
    kendall_tau,
    measure_partial_order,
    measure_partial_orders,
    partial_order_from_references,
    precedence_f1,
    violated_constraints,
    violated_share,
)
from proctor.metrics.ordering.partial import UNDEFINED

DIAMOND = PartialOrder([*"abcd"], [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])


@st.composite
def acyclic(draw, most=6):
    n = draw(st.integers(1, most))
    order = draw(st.permutations(range(n)))
    pairs = list(itertools.combinations(order, 2))
    return n, draw(st.lists(st.sampled_from(pairs), max_size=8)) if pairs else []


def test_a_diamond():
    assert DIAMOND.relations == (("a", "b"), ("a", "c"), ("a", "d"), ("b", "d"), ("c", "d"))
    assert DIAMOND.transitive_reduction == DIAMOND.constraints
    assert DIAMOND.linear_extensions() == [tuple("abcd"), tuple("acbd")]
    assert DIAMOND.count_linear_extensions() == 2
    assert "PartialOrder" in repr(DIAMOND)


def test_any_valid_order_is_right():
    for order in ("abcd", "acbd"):
        assert is_valid_order(DIAMOND, [*order])
        assert float(violated_share(DIAMOND, [*order])) == 0
        assert float(comparable_tau(DIAMOND, [*order])) == 1
        assert violated_constraints(DIAMOND, [*order]) == ()
        assert float(precedence_f1(DIAMOND, [*order])) == pytest.approx(2 * 5 / (6 + 5))


def test_violations_are_listed_as_given():
    assert violated_constraints(DIAMOND, [*"bacd"]) == (("a", "b"),)
    assert violated_constraints(DIAMOND, [*"dcba"]) == DIAMOND.constraints
    assert float(violated_share(DIAMOND, [*"bacd"])) == 0.25
    assert not is_valid_order(DIAMOND, [*"bacd"])
    assert float(comparable_tau(DIAMOND, [*"bacd"])) == pytest.approx((4 - 1) / 5)
    assert float(comparable_tau(DIAMOND, [*"dcba"])) == -1
    assert float(precedence_f1(DIAMOND, [*"dcba"])) == 0


def test_a_predicted_partial_order_can_be_perfect():
    assert float(precedence_f1(DIAMOND, PartialOrder([*"dcba"], DIAMOND.transitive_reduction))) == 1
    assert float(precedence_f1(DIAMOND, PartialOrder([*"abcd"], []))) == 0
    assert float(precedence_f1(DIAMOND, PartialOrder([*"abcd"], [("a", "b"), ("d", "c")]))) == pytest.approx(
        2 / 7
    )
    assert (
        precedence_f1(PartialOrder([*"ab"], []), PartialOrder([*"ab"], [])).note == UNDEFINED["precedence_f1"]
    )
    with pytest.raises(MetricInputError, match="lacks 'd'"):
        float(precedence_f1(DIAMOND, PartialOrder([*"abc"], [])))


def test_nothing_is_required():
    loose = PartialOrder([*"abc"], [])
    assert is_valid_order(loose, [*"cba"])
    assert violated_share(loose, [*"cba"]).note == UNDEFINED["violated_share"]
    assert comparable_tau(loose, [*"cba"]).note == UNDEFINED["comparable_tau"]
    assert float(precedence_f1(loose, [*"cba"])) == 0
    assert loose.count_linear_extensions() == 6
    assert precedence_f1(PartialOrder(["a"], []), ["a"]).note == UNDEFINED["precedence_f1"]


@given(acyclic())
@settings(max_examples=80)
def test_closure_reduction_and_extensions_against_networkx_and_brute_force(case):
    n, pairs = case
    order = PartialOrder(range(n), pairs)
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(pairs)
    assert set(order.relations) == set(networkx.transitive_closure_dag(graph).edges)
    assert set(order.transitive_reduction) == set(networkx.transitive_reduction(graph).edges)
    valid = [p for p in itertools.permutations(range(n)) if all(p.index(a) < p.index(b) for a, b in pairs)]
    assert order.linear_extensions() == valid
    assert order.count_linear_extensions() == len(valid)
    assert order.linear_extensions(limit=1) == valid[:1]
    assert order == PartialOrder(range(n), order.transitive_reduction)
    assert hash(order) == hash(PartialOrder(range(n), order.relations))


@given(acyclic(), st.randoms(use_true_random=False))
@settings(max_examples=80)
def test_measures_against_their_definitions(case, random):
    n, pairs = case
    order = PartialOrder(range(n), pairs)
    prediction = list(range(n))
    random.shuffle(prediction)
    claimed = set(itertools.combinations(prediction, 2))
    closure = set(order.relations)
    found = measure_partial_order(order, prediction)
    given_ = set(pairs)
    assert found.violated[0] == len(given_ - claimed)
    assert bool(found.valid[0]) == (given_ <= claimed) == (closure <= claimed)
    kept = len(closure & claimed)
    if closure:
        assert found.recall[0] == kept / len(closure)
        assert float(comparable_tau(order, prediction)) == pytest.approx(
            (kept - (len(closure) - kept)) / len(closure)
        )
        assert found.precision[0] == kept / len(claimed)
    if claimed:
        assert float(precedence_f1(order, prediction)) == pytest.approx(
            2 * kept / (len(claimed) + len(closure))
        )


@given(st.integers(2, 7).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.permutations(range(n)))))
@settings(max_examples=40)
def test_a_total_order_gives_the_plain_measures(orders):
    reference, prediction = orders
    order = PartialOrder(reference, list(itertools.pairwise(reference)))
    assert float(comparable_tau(order, prediction)) == pytest.approx(
        float(kendall_tau(reference, prediction))
    )
    assert is_valid_order(order, prediction) == (reference == prediction)
    share = (1 + float(kendall_tau(reference, prediction))) / 2
    assert float(precedence_f1(order, prediction)) == pytest.approx(share)


@given(acyclic(5))
@settings(max_examples=40)
def test_chance_is_the_mean_over_all_orders(case):
    n, pairs = case
    order = PartialOrder(range(n), pairs)
    every = list(itertools.permutations(range(n)))
    found = measure_partial_orders([order] * len(every), every)
    chance = chance_of_partial_order(order)
    assert chance["valid_order"] == pytest.approx(found.valid.mean())
    assert chance["violated_constraints"] == pytest.approx(found.violated.mean())
    for name in ("violated_share", "precedence_f1", "comparable_tau"):
        values = getattr(found, name)
        if chance[name] is None:
            assert np.isnan(values).all()
        else:
            assert chance[name] == pytest.approx(values.mean())


def test_from_references():
    order = partial_order_from_references([[1, 2, 3, 4], [2, 1, 4, 3]])
    assert order.transitive_reduction == ((1, 3), (1, 4), (2, 3), (2, 4))
    assert order.count_linear_extensions() == 4
    assert partial_order_from_references([["x"]]).relations == ()
    with pytest.raises(MetricInputError, match="there is no reference"):
        partial_order_from_references([])
    with pytest.raises(MetricInputError, match="item 3: the other reference lacks 2"):
        partial_order_from_references([[1, 2], [1, 3]], where="item 3")


@given(st.integers(1, 5).flatmap(lambda n: st.lists(st.permutations(range(n)), min_size=1, max_size=4)))
@settings(max_examples=40)
def test_every_reference_is_valid_in_their_intersection(references):
    order = partial_order_from_references(references)
    assert all(is_valid_order(order, reference) for reference in references)


@pytest.mark.parametrize(
    ("steps", "constraints", "message"),
    [
        ([], [], "no steps"),
        ([1, 1], [], "repeats 1"),
        ([1, 2], [(1, 3)], "1 before 3 has the unknown 3; the steps are 1, 2"),
        ([1, 2], [(1, [2])], "unknown"),
        ([1, 2], [(1,)], "not a pair"),
        (["a", "b"], ["ab"], "not a pair"),
        ([1, 2], [(1, 1)], "1 cannot come before itself"),
        ([1, 2], [(1, 2), (2, 1)], "cycle: 1 → 2 → 1|cycle: 2 → 1 → 2"),
        ("ab", [], "is a text"),
    ],
)
def test_invalid(steps, constraints, message):
    with pytest.raises(MetricInputError, match=message):
        PartialOrder(steps, constraints)


def test_a_cycle_is_named_without_the_steps_around_it():
    pairs = [("s", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "z")]
    with pytest.raises(MetricInputError) as caught:
        PartialOrder([*"sabcz"], pairs, where="item 'q'")
    assert caught.value.message.startswith("item 'q': the constraints hold a cycle: ")
    named = caught.value.message.split(": ")[2].split(" → ")
    assert named[0] == named[-1]
    assert sorted(named[1:]) == ["'a'", "'b'", "'c'"]
    edges = {(repr(a), repr(b)) for a, b in pairs}
    assert all(edge in edges for edge in itertools.pairwise(named))


def test_predictions_must_be_whole():
    for metric in (is_valid_order, violated_constraints, violated_share, precedence_f1, comparable_tau):
        with pytest.raises(MetricInputError, match="lacks 'd'"):
            metric(DIAMOND, [*"abc"])
    with pytest.raises(MetricInputError, match="item 1: "):
        measure_partial_orders([DIAMOND] * 2, [[*"abcd"], [*"abca"]])
    with pytest.raises(MetricInputError, match="1 partial orders and 0 predictions"):
        measure_partial_orders([DIAMOND], [])
    assert len(measure_partial_orders([], [])) == 0


def test_counting_large_orders():
    # Parts that have nothing to do with each other are counted apart, so thirty free steps are no work.
    assert PartialOrder(range(30), []).count_linear_extensions() == math.factorial(30)
    two = PartialOrder(range(40), [(i, i + 1) for i in range(39) if i != 19])
    assert two.count_linear_extensions() == math.comb(40, 20)
    chain = PartialOrder(range(1500), list(itertools.pairwise(range(1500))))
    assert chain.linear_extensions() == [tuple(range(1500))]
    assert chain.count_linear_extensions() == 1


def test_too_many_orders_to_count_is_said():
    star = PartialOrder(range(40), [(0, i) for i in range(1, 40)])
    with pytest.raises(MetricInputError, match="too many orders"):
        star.count_linear_extensions()
    assert len(star.linear_extensions(limit=7)) == 7
    assert chance_of_partial_order(star)["valid_order"] is None
    with pytest.raises(MetricInputError, match="limit=0"):
        star.linear_extensions(limit=0)


def test_repeated_constraints_count_once():
    order = PartialOrder([1, 2], [(1, 2), (1, 2)])
    assert float(violated_share(order, [2, 1])) == 1
    assert measure_partial_order(order, [2, 1]).violated.tolist() == [1]


def test_equality():
    assert PartialOrder([1, 2], []) != PartialOrder([1, 2], [(1, 2)])
    assert PartialOrder([1, 2], []) != PartialOrder([1, 3], [])
    assert PartialOrder([2, 1], [(1, 2)]) == PartialOrder([1, 2], [(1, 2)])
    assert PartialOrder([1], []) != "x"
