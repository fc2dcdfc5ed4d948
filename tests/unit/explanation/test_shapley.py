"""Shapley values, by the definition over all orders."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from vicinal.errors import InvalidArgumentError
from vicinal.explanation import (
    Breakdown,
    Terms,
    exact_shapley,
    linear_breakdown,
    mixture_breakdown,
    shapley_of_maximum,
)

numbers = st.floats(-3, 3, allow_nan=False)


def by_all_orders(function, inputs, baseline):
    """What each input adds, averaged over every order of taking its value."""
    d = len(inputs)
    shares = np.zeros(d)
    orders = list(permutations(range(d)))
    for order in orders:
        at = np.array(baseline, dtype=float)
        before = function(at[None, :])[0]
        for i in order:
            at[i] = inputs[i]
            after = function(at[None, :])[0]
            shares[i] += after - before
            before = after
    return shares / len(orders)


@given(
    inputs=st.lists(st.tuples(numbers, numbers), min_size=1, max_size=5),
    seed=st.integers(0, 99),
)
def test_shares_are_means_over_all_orders(inputs, seed):
    x, baseline = np.array(inputs).T
    rng = np.random.default_rng(seed)
    hidden, out = rng.normal(size=(len(x), 4)), rng.normal(size=4)

    def network(points):
        return np.tanh(points @ hidden) @ out

    base, shares = exact_shapley(network, x, baseline)
    np.testing.assert_allclose(shares, by_all_orders(network, x, baseline), atol=1e-12)
    assert base == pytest.approx(network(baseline[None, :])[0], abs=1e-12)
    assert base + shares.sum() == pytest.approx(network(x[None, :])[0], abs=1e-12)


def test_no_inputs_have_no_shares():
    base, shares = exact_shapley(lambda points: np.full(len(points), 0.5), np.empty(0), np.empty(0))
    assert (base, shares.shape) == (0.5, (0,))


@pytest.mark.parametrize(
    ("function", "inputs", "baseline", "argument"),
    [
        (lambda points: points[:, 0], np.zeros(17), np.zeros(17), "inputs"),
        (lambda points: points[:, 0], np.zeros(2), np.zeros(3), "baseline"),
        (lambda points: points[:1, 0], np.zeros(2), np.zeros(2), "function"),
        (lambda points: points[:, 0] / 0.0, np.ones(1), np.ones(1), "function"),
    ],
    ids=["too many", "other length", "one value", "not finite"],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_cannot_be_shared_is_refused(function, inputs, baseline, argument):
    with pytest.raises(InvalidArgumentError, match=rf"^{argument}: "):
        exact_shapley(function, inputs, baseline)


@given(st.lists(st.sampled_from([0.0, 0.25, 0.25, 0.5, 1.0]), max_size=6))
def test_shares_of_a_maximum(values):
    array = np.array(values)
    _, expected = exact_shapley(
        lambda points: points.max(axis=1, initial=0.0), array, np.zeros(len(array))
    )
    np.testing.assert_allclose(shapley_of_maximum(array), expected, atol=1e-12)


shares_of_parts = st.lists(st.sampled_from([-0.5, -0.1, 0.0, 0.1, 0.1, 0.4, 0.7]), max_size=6)


@given(
    parts=st.lists(shares_of_parts, min_size=1, max_size=5),
    split=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_mixture_adds_up_whether_or_not_its_inputs_are_split(parts, split, seed):
    rng = np.random.default_rng(seed)
    d = len(parts)
    hidden, out = rng.normal(size=(d, 4)), rng.normal(size=4)
    own = [
        Breakdown(0.25, (Terms("neighbor", np.arange(len(each)), np.array(each)),))
        for each in parts
    ]
    inputs, baseline = np.array([one.total for one in own]), np.full(d, 0.25)

    def network(points):
        return np.maximum(points @ hidden, 0) @ out

    names = [f"input {i}" for i in range(d)]
    one = mixture_breakdown(network, names, inputs, baseline, own if split else None)
    assert one.scale == "log-odds"
    assert one.total == pytest.approx(network(inputs[None, :])[0], abs=1e-12)
    assert sum(one.facts.values()) + one.base == pytest.approx(one.total, abs=1e-12)
    if not split:
        assert [terms.names for terms in one.terms] == [(name,) for name in names]


def test_parts_that_nearly_cancel_are_not_blown_up():
    one = Breakdown(0.0, (Terms("feature", np.arange(2), np.array([1.0, -0.999])),))
    assert one.splitting(0.5) == ()


def test_a_linear_model_has_a_part_per_feature_of_the_row():
    x = sparse.csr_array(np.array([[0.5, 0.0, -2.0, 1.0]]))
    weights = np.array([2.0, 9.0, 0.25, 0.0])
    one = linear_breakdown(0.125, x, weights)
    (terms,) = one.terms
    assert terms.ids.tolist() == [0, 2, 3]
    assert terms.shares.tolist() == [1.0, -0.5, 0.0]
    assert one.total == 0.125 + (x @ weights)[0]


def test_mixtures_need_a_name_per_input():
    with pytest.raises(InvalidArgumentError, match=r"^names: "):
        mixture_breakdown(lambda points: points[:, 0], ["a"], np.zeros(2), np.zeros(2))
