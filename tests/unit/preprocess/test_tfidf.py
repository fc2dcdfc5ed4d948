import itertools
import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from vicinal.errors import InvalidArgumentError
from vicinal.preprocess import TfIdf

TRAIN = np.array([[1, 0, 3, 0], [2, 1, 0, 0], [0, 0, 1, 0], [1, 5, 0, 0], [0, 0, 0, 0]])
LATER = np.array([[2, 2, 0, 0], [0, 0, 0, 0], [1, 0, 7, 0]])
SETTINGS = list(itertools.product([False, True], [False, True], [None, "l2"]))


def by_the_formula(train, rows, smooth, sublinear, norm):
    """tf × idf, cell by cell."""
    n, extra = len(train), 1 if smooth else 0
    result = []
    for row in rows:
        weights = []
        for j, count in enumerate(row):
            having = sum(1 for other in train if other[j] != 0)
            idf = 1 + math.log((n + extra) / max(having + extra, 1))
            tf = count if count == 0 or not sublinear else 1 + math.log(count)
            weights.append(tf * idf)
        length = math.sqrt(sum(w * w for w in weights)) if norm else 1.0
        result.append([w / (length or 1.0) for w in weights])
    return np.array(result)


@pytest.mark.parametrize(("smooth", "sublinear", "norm"), SETTINGS)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_is_the_formula(kind, smooth, sublinear, norm):
    weigh = TfIdf(smooth=smooth, sublinear=sublinear, norm=norm).fit(kind(TRAIN))
    got = weigh.transform(kind(LATER))
    dense = got.toarray() if sparse.issparse(got) else got
    expected = by_the_formula(TRAIN, LATER, smooth, sublinear, norm)
    np.testing.assert_allclose(dense, expected, rtol=1e-14)


@pytest.mark.parametrize(("smooth", "sublinear", "norm"), SETTINGS)
def test_is_scikit_learns(smooth, sublinear, norm):
    train, later = TRAIN[:, :3], LATER[:, :3]  # unsmoothed, theirs is infinite for the last column
    theirs = TfidfTransformer(smooth_idf=smooth, sublinear_tf=sublinear, norm=norm).fit(train)
    ours = TfIdf(smooth=smooth, sublinear=sublinear, norm=norm).fit(train)
    np.testing.assert_array_equal(ours.idf_, theirs.idf_)
    np.testing.assert_allclose(
        ours.transform(later), theirs.transform(later).toarray(), rtol=1e-15, atol=0
    )


def test_a_feature_of_no_row_counts_as_if_one_had_it():
    assert TfIdf(smooth=False).fit(TRAIN).idf_[3] == pytest.approx(1 + math.log(5))


def test_stored_zeros_are_no_occurrences():
    stored = sparse.csr_array((np.array([0.0, 1.0]), [0, 1], [0, 1, 2]), shape=(2, 2))
    np.testing.assert_array_equal(TfIdf().fit(stored).idf_, TfIdf().fit(stored.toarray()).idf_)


def test_signed_values_pass_unless_their_logarithm_is_wanted():
    rows = np.array([[1.0, -2.0], [0.0, 3.0]])
    theirs = TfidfTransformer().fit_transform(rows).toarray()
    np.testing.assert_allclose(TfIdf().fit_transform(rows), theirs, rtol=1e-15)
    with pytest.raises(InvalidArgumentError, match=r"^X: .*Negative"):
        TfIdf(sublinear=True).fit(rows)
    with pytest.raises(InvalidArgumentError, match=r"^X: .*Negative"):
        TfIdf(sublinear=True).fit(np.abs(rows)).transform(rows)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_float32_is_kept(kind):
    got = TfIdf().fit_transform(kind(TRAIN.astype(np.float32)))
    dense = got.toarray() if sparse.issparse(got) else got
    assert dense.dtype == np.float32
    np.testing.assert_allclose(dense, by_the_formula(TRAIN, TRAIN, True, False, "l2"), rtol=1e-6)


def test_a_row_is_weighed_alone():
    weigh = TfIdf().fit(TRAIN)
    whole = weigh.transform(LATER)
    rows = np.vstack([weigh.transform(LATER[[i]]) for i in range(len(LATER))])
    np.testing.assert_array_equal(whole, rows)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_row_whose_logarithms_cancel_is_a_row_of_zeros(kind):
    got = TfIdf(sublinear=True).fit_transform(kind(np.array([[math.exp(-1), 0.0]])))
    assert (got @ np.eye(2)).tolist() == [[0.0, 0.0]]
    assert kind is np.asarray or got.nnz == 0


@pytest.mark.parametrize("setting", [{"smooth": 1}, {"sublinear": "yes"}, {"norm": "l1"}])
def test_parameters_are_checked(setting):
    (name,) = setting
    with pytest.raises(InvalidArgumentError, match=f"^{name}: "):
        TfIdf(**setting).fit(TRAIN)
