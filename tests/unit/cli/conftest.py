"""The program, run as a person would, and data to run it on."""

import sys

import numpy as np
import pytest
from scipy import sparse

from vicinal.cli import main
from vicinal.datasets import Dataset, write_file


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the program with these words; return exit code, output and errors."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["vicinal", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return stop.value.code or 0, captured.out, captured.err

    return call


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
