"""What a blend is made of, at the limits that the documentation states and one step past them."""

import numpy as np
import pytest
from scipy import sparse

from vicinal.methods.blend import plan
from vicinal.methods.blend.plan import candidates_per_row, make_plan, most_unknowns
from vicinal.methods.label_ridge.solver import coefficient_bytes, dense_bytes

pytestmark = pytest.mark.native

GIB = 2**30


def words(n_rows, n_features, per_row=0):
    """Rows with the value 1 in their first columns."""
    n_stored = n_rows * per_row
    columns = np.tile(np.arange(per_row), n_rows)
    indptr = np.arange(0, n_stored + 1, per_row) if per_row else np.zeros(n_rows + 1, dtype=int)
    return sparse.csr_array((np.ones(n_stored), columns, indptr), shape=(n_rows, n_features))


def labels(n_rows, n_labels, per_row=0):
    return words(n_rows, n_labels, per_row).astype(np.int32)


def test_more_than_30_percent_of_values_that_are_not_zero_are_measurements():
    for per_row, is_dense in ((3, False), (4, True)):
        found = make_plan(words(4, 10, per_row), labels(4, 2), 0, GIB)
        assert found.is_dense == found.has_kernel == is_dense
        assert found.has_weights == found.has_similarity == (not is_dense)
        assert not found.left_out
    stored_zeros = words(4, 10, 4)
    stored_zeros.data[::4] = 0
    found = make_plan(stored_zeros, labels(4, 2), 0, GIB)
    assert (found.is_dense, found.has_weights) == (False, True)


def test_more_than_20_000_labels_leave_votes_only():
    assert make_plan(words(3, 40), labels(3, 20_000), 0, GIB).ridge_features == 40
    found = make_plan(words(3, 40, 1), labels(3, 20_001), 0, GIB)
    assert (found.ridge_features, found.has_similarity, found.has_co_occurrence) == (
        0,
        False,
        False,
    )
    assert found.has_weights
    assert "(limit 20000)" in found.left_out[0]
    assert not make_plan(np.ones((3, 2)), labels(3, 20_001), 0, GIB).has_kernel


@pytest.mark.parametrize(("n_rows", "has_kernel"), [(6_000, True), (6_001, False)])
def test_more_than_6_000_rows_of_measurements_have_no_kernel(n_rows, has_kernel):
    found = make_plan(np.ones((n_rows, 1)), labels(n_rows, 1), 0, GIB)
    assert found.has_kernel == has_kernel
    assert len(found.left_out) == (0 if has_kernel else 1)
    assert found.ridge_features == 1


@pytest.mark.parametrize(("n_rows", "kept"), [(6_000, 7_000), (6_001, 6_000)])
def test_more_than_6_000_rows_and_features_have_a_smaller_ridge(n_rows, kept):
    assert make_plan(words(n_rows, 7_000), labels(n_rows, 1), 0, GIB).ridge_features == kept
    assert make_plan(words(n_rows, 6_000), labels(n_rows, 1), 0, GIB).ridge_features == 6_000


def test_so_many_labels_that_one_model_each_would_cost_more_have_a_larger_ridge():
    """Up to 16,000 unknowns; in between, the cube root of 40 × values × labels."""
    assert [most_unknowns(10**6, n_labels) for n_labels in (1, 10**5, 10**6)] == [
        6_000,
        15_874,
        16_000,
    ]


@pytest.mark.parametrize(("size", "tries"), [(2_500, True), (2_501, False)])
def test_several_regularisations_up_to_2_500_unknowns(size, tries):
    for shape in ((size, 2_600), (2_600, size)):
        found = make_plan(words(*shape), labels(shape[0], 1), 0, GIB)
        assert found.tries_alphas == tries
        assert not found.left_out


def test_ridges_stay_within_the_memory(monkeypatch):
    monkeypatch.setattr(plan, "MOST_UNKNOWNS", 60)
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(400):
        n_rows, n_features, n_labels = (int(rng.integers(1, most)) for most in (150, 150, 9))

        def need(columns, n_rows=n_rows, n_labels=n_labels):
            coefficients = coefficient_bytes(n_rows, columns, n_labels, has_kernel=False)
            return dense_bytes(min(columns, n_rows)), coefficients

        matrix, coefficients = need(n_features)
        exact = (2 * matrix, coefficients, 4 * (matrix + coefficients))
        memory = int(rng.choice([*exact, int(2.0 ** rng.uniform(8, 19))]))
        found = make_plan(words(n_rows, n_features), labels(n_rows, n_labels), 0, memory)
        by_coefficients = memory // 6 // (8 * n_labels)

        def fits(columns, memory=memory, need=need):
            matrix, coefficients = need(columns)
            return matrix <= memory // 2 and coefficients <= memory

        most = n_features if min(n_rows, n_features) <= 60 else 60
        if by_coefficients < n_features:
            most = min(60, by_coefficients)
        halved = (most // 2**times for times in range(12))
        expected = next(columns for columns in halved if columns == 0 or fits(columns))
        kept = found.ridge_features
        assert kept == (expected if expected >= min(16, n_features) else 0)
        assert found.solves_together == (sum(need(expected)) <= memory // 4)
        assert found.has_co_occurrence == (n_labels > 1 and kept > 0)
        assert bool(found.left_out) == (kept < n_features)
        seen.add((kept == 0, kept == n_features, found.solves_together))
    assert len(seen) == 6


def test_a_kernel_stays_within_the_memory():
    for n_rows, n_labels, least in ((10, 1, 2 * dense_bytes(10)), (10, 500, 8 * 500 * 4 * 10)):
        for memory, has_kernel in ((least, True), (least - 1, False)):
            found = make_plan(np.ones((n_rows, 2)), labels(n_rows, n_labels), 0, memory)
            assert found.has_kernel == has_kernel


def test_parts_that_take_too_many_multiplications_are_left_out(monkeypatch):
    X, Y = words(10, 40, 3), labels(10, 5)
    for products, has_similarity in ((150, True), (149, False)):  # rows × values × labels
        monkeypatch.setattr(plan, "MOST_PRODUCTS", products)
        assert make_plan(X, Y, 0, GIB).has_similarity == has_similarity
    for products, has_co_occurrence in ((70, True), (69, False)):  # rows × pairs
        monkeypatch.setattr(plan, "MOST_PRODUCTS", products)
        assert make_plan(X, Y, 7, GIB).has_co_occurrence == has_co_occurrence
    monkeypatch.setattr(plan, "MOST_CELLS", 20)  # 4 rows of 5 candidates are mixed
    monkeypatch.setattr(plan, "MOST_PRODUCTS", 60)
    found = make_plan(X, Y, 15, GIB)
    assert found.has_similarity
    assert found.has_co_occurrence


def test_one_label_has_no_co_occurrence():
    assert not make_plan(words(4, 40), labels(4, 1), 0, GIB).has_co_occurrence
    assert make_plan(words(4, 40), labels(4, 2), 0, GIB).has_co_occurrence


@pytest.mark.parametrize(
    ("n_rows", "per_row", "width"),
    [
        (10_000, 1, 15),
        (10_000, 3, 17),
        (10_000, 3.25, 18),
        (10_000, 7, 30),
        (4_000, 3, 25),
        (1_000, 3, 100),
        (500, 3, 100),
    ],
)
def test_15_to_30_candidates_and_up_to_100_where_rows_are_few(n_rows, per_row, width):
    indptr = np.round(np.arange(n_rows + 1) * per_row).astype(int)
    indices = np.arange(indptr[-1]) - np.repeat(indptr[:-1], np.diff(indptr))
    Y = sparse.csr_array((np.ones(indptr[-1], dtype=np.int32), indices, indptr), (n_rows, 200))
    assert candidates_per_row(Y) == width
    assert candidates_per_row(Y[:, :12]) == 12
