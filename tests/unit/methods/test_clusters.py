"""k-means and nearest centres."""

import numpy as np
import pytest
from scipy import sparse

from vicinal.methods import lamlknn
from vicinal.methods.lamlknn import find_centers, nearest_center

pytestmark = pytest.mark.native


@pytest.fixture
def blobs():
    rng = np.random.default_rng(1)
    middles = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    return np.repeat(middles, 50, axis=0) + rng.normal(scale=0.5, size=(150, 2))


def with_long_indices(rows):
    matrix = sparse.csr_array(rows)
    indices, indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return sparse.csr_array((matrix.data, indices, indptr), shape=matrix.shape)


def read_only(rows):
    matrix = sparse.csr_array(rows)
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, with_long_indices, read_only])
@pytest.mark.parametrize("most", [10**6, 0])  # all rows at a time, and samples
def test_each_group_of_rows_gets_a_centre(blobs, kind, most, monkeypatch):
    monkeypatch.setattr(lamlknn, "MINI_BATCH_ROWS", most)
    rows = kind(blobs)
    centers = find_centers(rows, 3, random_state=0)
    assert centers.shape == (3, 2)
    groups = nearest_center(rows, centers).reshape(3, 50)
    assert len(set(groups[:, 0])) == 3
    assert np.array_equal(groups, np.repeat(groups[:, :1], 50, axis=1))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_nearest_centre_is_that_of_the_definition(kind, dtype):
    rng = np.random.default_rng(2)
    rows = rng.integers(-2, 3, size=(60, 3)).astype(dtype)
    centers = rng.integers(-2, 3, size=(7, 3)).astype(float)
    centers[5] = centers[2]
    distance = ((rows[:, None, :] - centers) ** 2).sum(axis=2)
    assert np.array_equal(nearest_center(kind(rows), centers), distance.argmin(axis=1))


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_centres_that_stand_for_no_row_are_dropped():
    rows = np.array([[1.0], [1.0], [1.0], [4.0]])
    assert sorted(find_centers(rows, 3, random_state=0).ravel()) == [1.0, 4.0]


@pytest.mark.parametrize(("n_rows", "kind"), [(20_000, "KMeans"), (20_001, "MiniBatchKMeans")])
def test_more_than_20_000_rows_are_clustered_by_samples(n_rows, kind, monkeypatch):
    used = []

    def known(name):
        class Known:
            cluster_centers_ = np.zeros((1, 1))

            def __init__(self, n_clusters, random_state):
                used.append((name, n_clusters, random_state))

            def fit(self, rows):
                assert len(rows) == n_rows

        return Known

    for name in ("KMeans", "MiniBatchKMeans"):
        monkeypatch.setattr(lamlknn, name, known(name))
    find_centers(np.zeros((n_rows, 1)), 7, 3)
    assert used == [(kind, 7, 3)]
