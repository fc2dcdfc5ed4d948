"""Shapley values, by the definition over all orders."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vicinal._base.errors import InvalidArgumentError
from vicinal.explain import exact_shapley, shapley_of_maximum

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
    with pytest.raises(InvalidArgumentError, match=f"^{argument}: "):
        exact_shapley(function, inputs, baseline)


@given(st.lists(st.sampled_from([0.0, 0.25, 0.25, 0.5, 1.0]), max_size=6))
def test_shares_of_a_maximum(values):
    array = np.array(values)
    _, expected = exact_shapley(
        lambda points: points.max(axis=1, initial=0.0), array, np.zeros(len(array))
    )
    np.testing.assert_allclose(shapley_of_maximum(array), expected, atol=1e-12)
