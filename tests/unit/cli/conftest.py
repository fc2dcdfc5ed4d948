"""Data to run the program on."""

import numpy as np
import pytest
from scipy import sparse

from vicinal.datasets import Dataset, write_file


@pytest.fixture
def dataset():
    """Dense features whose sign tells the label."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) * [1, 10, 100, 1000]
    Y = sparse.csr_array((X[:, :3] > 0).astype(np.int32))
    return Dataset(
        X=X, Y=Y, feature_names=("a", "b", "c", "d"), label_names=("one", "two", "three")
    )


@pytest.fixture
def data_file(dataset, tmp_path):
    path = tmp_path / "signs.arff"
    write_file(dataset, path)
    return path
