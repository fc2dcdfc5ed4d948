"""On any rows: sparse as dense, one row as many, the caller's arrays untouched."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.preprocess import BM25, Binary, MinMax, TfIdf, UnitRows

COUNT = [0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 7.0, 0.5]
SIGNED = [0.0, 0.0, 1.0, -1.0, 3.0, -0.25, 1e-9, 1e9]


FILLS = st.sampled_from([0.0, 0.3, 1.0])
SEEDS = st.integers(0, 2**32 - 1)
TYPES = st.sampled_from([np.float64, np.float32])


def tables(seed, values, fill, dtype):
    """Two tables of one width, among them empty rows, constant and all-zero columns, one row."""
    rng = np.random.default_rng(seed)
    n_columns = rng.integers(1, 6)
    constant = rng.random(n_columns) < 0.2
    one = rng.choice(values, size=n_columns)
    sizes = [(n_rows, n_columns) for n_rows in rng.integers(1, 7, size=2)]
    return [
        np.where(constant, one, rng.choice(values, size=size) * (rng.random(size) < fill)).astype(
            dtype
        )
        for size in sizes
    ]


def scrambled(rng, dense):
    """The same rows, sparse: unsorted, with stored zeros, 32- or 64-bit ids, matrix or array."""
    orders = [rng.permutation(dense.shape[1]) for _ in dense]
    stored = (dense != 0) | (rng.random(dense.shape) < rng.choice([0.0, 0.5, 1.0]))
    kept = [order[stored[i, order]] for i, order in enumerate(orders)]
    kind = [sparse.csr_array, sparse.csr_matrix][rng.integers(2)]
    ids = [np.int32, np.int64][rng.integers(2)]
    indices, indptr = np.concatenate(kept), np.cumsum([0, *map(len, kept)])
    data = np.concatenate([row[columns] for row, columns in zip(dense, kept, strict=True)])
    return kind((data, indices.astype(ids), indptr.astype(ids)), shape=dense.shape)


TRANSFORMERS = [
    (MinMax(), COUNT),
    (MinMax(clip=True), COUNT),
    (Binary(), SIGNED),
    (Binary(threshold=None), SIGNED),
    (Binary(threshold=1.0), SIGNED),
    (UnitRows(), SIGNED),
    (TfIdf(), SIGNED),
    (TfIdf(smooth=False, sublinear=True, norm=None), COUNT),
    (TfIdf(sublinear=True), COUNT),
    (BM25(), COUNT),
    (BM25(k1=0.0, side="both"), COUNT),
    (BM25(b=1.0, side="pipeline"), COUNT),
]


def short(value):
    return repr(value)[:40]


@pytest.mark.parametrize(("transformer", "values"), TRANSFORMERS, ids=short)
@settings(deadline=None)
@given(SEEDS, FILLS, TYPES)
def test_sparse_is_dense_to_the_bit(transformer, values, seed, fill, dtype):
    train, rows = tables(seed, values, fill, dtype)
    rng = np.random.default_rng([seed, 1])
    if isinstance(transformer, MinMax):
        train = np.vstack([train, np.zeros_like(train[:1])])  # so that 0 is the smallest
    stored_train, stored_rows = scrambled(rng, train), scrambled(rng, rows)
    before = stored_rows.data.copy(), stored_rows.indices.copy(), stored_rows.indptr.copy()
    expected_train, got_train = (transformer.fit_transform(x) for x in (train, stored_train))
    expected, got = transformer.fit(train).transform(rows), transformer.transform(stored_rows)
    for dense, stored in [(expected_train, got_train), (expected, got)]:
        assert isinstance(stored, sparse.csr_array)
        assert stored.dtype == dense.dtype == train.dtype
        assert stored.data.all()
        rebuilt = sparse.csr_array((stored.data, stored.indices, stored.indptr), stored.shape)
        assert rebuilt.has_canonical_format
        np.testing.assert_array_equal(stored.toarray(), dense)
    for now, then in zip(
        (stored_rows.data, stored_rows.indices, stored_rows.indptr), before, strict=True
    ):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize(("transformer", "values"), TRANSFORMERS, ids=short)
@settings(deadline=None)
@given(SEEDS, FILLS, TYPES)
def test_a_row_does_not_depend_on_the_rows_beside_it(transformer, values, seed, fill, dtype):
    train, rows = tables(seed, values, fill, dtype)
    fitted = transformer.fit(train)
    whole = fitted.transform(rows)
    for i in range(len(rows)):
        np.testing.assert_array_equal(fitted.transform(rows[[i]])[0], whole[i])


@settings(deadline=None)
@given(SEEDS, FILLS, TYPES)
def test_minmax_is_the_formula(seed, fill, dtype):
    train, rows = tables(seed, SIGNED, fill, dtype)
    got = MinMax().fit(train).transform(rows)
    for (i, j), value in np.ndenumerate(rows):
        low, high = (float(f(train[k, j] for k in range(len(train)))) for f in (min, max))
        wanted = 0.0 if low == high else (float(value) - low) / (high - low)
        assert got[i, j] == train.dtype.type(wanted)


@settings(deadline=None)
@given(SEEDS, FILLS, TYPES)
def test_rows_of_the_fit_span_zero_to_one(seed, fill, dtype):
    train, _ = tables(seed, SIGNED, fill, dtype)
    scaled = MinMax().fit_transform(train)
    varies = (train != train[0]).any(axis=0)
    np.testing.assert_array_equal(scaled.min(axis=0), 0.0)
    np.testing.assert_array_equal(scaled.max(axis=0), varies.astype(float))


@settings(deadline=None)
@given(SEEDS, FILLS, TYPES)
def test_unit_rows_have_length_one(seed, fill, dtype):
    rows, _ = tables(seed, SIGNED, fill, dtype)
    for before, after in zip(rows, UnitRows().transform(rows), strict=True):
        length = math.hypot(*map(float, after))
        assert length == pytest.approx(1.0 if before.any() else 0.0, rel=1e-6)
