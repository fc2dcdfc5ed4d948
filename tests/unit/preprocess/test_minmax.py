import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler

from vicinal.errors import InvalidArgumentError
from vicinal.preprocess import MinMax


def by_the_formula(train, rows, clip=False):
    """(x − min) / (max − min), cell by cell; 0 where the feature has one value."""
    result = []
    for row in rows:
        scaled = []
        for j, value in enumerate(row):
            column = [float(other[j]) for other in train]
            low, high = min(column), max(column)
            new = 0.0 if low == high else (float(value) - low) / (high - low)
            scaled.append(min(max(new, 0.0), 1.0) if clip else new)
        result.append(scaled)
    return np.array(result)


TRAIN = np.array([[0.0, -2.0, 7.0, 0.1], [4.0, 3.0, 7.0, 0.7], [1.0, 0.5, 7.0, 0.3]])
LATER = np.array([[2.0, -3.0, 7.0, 0.1], [-1.0, 8.0, 9.0, 0.9]])


@pytest.mark.parametrize("clip", [False, True])
def test_is_the_formula_to_the_bit(clip):
    scale = MinMax(clip=clip).fit(TRAIN)
    np.testing.assert_array_equal(scale.transform(TRAIN), by_the_formula(TRAIN, TRAIN))
    np.testing.assert_array_equal(scale.transform(LATER), by_the_formula(TRAIN, LATER, clip))


def test_agrees_with_scikit_learn_where_features_vary():
    varying = [0, 1, 3]
    theirs = MinMaxScaler().fit(TRAIN[:, varying]).transform(LATER[:, varying])
    ours = MinMax().fit(TRAIN[:, varying]).transform(LATER[:, varying])
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_a_constant_feature_is_zero_whatever_comes_later():
    assert MinMax().fit([[7.0], [7.0]]).transform([[7.0], [9.0], [-1.0]]).tolist() == [[0]] * 3


def test_one_row_becomes_zeros():
    assert MinMax().fit_transform([[3.0, -2.0]]).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("clip", [False, True])
def test_sparse_equals_dense_where_zero_is_the_smallest(clip):
    train = np.array([[0.0, 3.0, 5.0, 0.0], [2.0, 0.0, 5.0, 0.0], [0.7, 0.0, 5.0, 0.0]])
    later = np.array([[-1.0, 0.1, 0.0, 4.0], [9.0, 0.0, 5.0, 0.0]])
    scale = MinMax(clip=clip).fit(sparse.csr_array(train))
    got = scale.transform(sparse.csr_array(later))
    assert isinstance(got, sparse.csr_array)
    assert got.data.all()
    np.testing.assert_array_equal(got.toarray(), by_the_formula(train, later, clip))
    np.testing.assert_array_equal(got.toarray(), scale.transform(later))


def test_a_full_sparse_column_has_no_zero_as_its_smallest_value():
    train = sparse.csr_array(np.array([[2.0, 0.0], [5.0, 1.0]]))
    with pytest.raises(InvalidArgumentError, match=r"^X: .*toarray\(\).* got smallest value 2 in"):
        MinMax().fit(train)


@pytest.mark.parametrize("column", [[-1.0, 0.0, 2.0], [-1.0, 0.0, 0.0]])
def test_sparse_rows_that_would_fill_up_are_refused(column):
    rows = np.array(column)[:, None]
    with pytest.raises(InvalidArgumentError, match="smallest value -1 in column 0"):
        MinMax().fit(sparse.csr_array(rows))
    with pytest.raises(InvalidArgumentError, match="smallest value -1 in column 0"):
        MinMax().fit(rows).transform(sparse.csr_array(rows))


def test_float32_is_kept_and_rounded_once():
    train, later = TRAIN.astype(np.float32), LATER.astype(np.float32)
    got = MinMax().fit(train).transform(later)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, by_the_formula(train, later).astype(np.float32))


def test_input_is_left_alone():
    rows, stored = TRAIN.copy(), sparse.csr_array(np.array([[0.0, 2.0], [4.0, 0.0]]))
    before = stored.data.copy()
    MinMax().fit_transform(rows)
    MinMax().fit_transform(stored)
    np.testing.assert_array_equal(rows, TRAIN)
    np.testing.assert_array_equal(stored.data, before)


def test_a_range_no_float_holds_is_refused():
    with pytest.raises(InvalidArgumentError, match=r"range.*column 1"):
        MinMax().fit([[0.0, -1.5e308], [1.0, 1.5e308]])


def test_a_later_value_too_large_to_scale_is_refused():
    with pytest.raises(InvalidArgumentError, match="too large"):
        MinMax().fit([[0.0], [1e-300]]).transform([[1e300]])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_nan_and_infinity_are_refused_by_name(kind, bad):
    with pytest.raises(InvalidArgumentError, match=r"^X: expected finite"):
        MinMax().fit(kind(np.array([[0.0], [bad]])))


def test_clip_must_be_a_flag():
    with pytest.raises(InvalidArgumentError, match=r"^clip: "):
        MinMax(clip="no").fit(TRAIN)
