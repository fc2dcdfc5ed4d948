"""A small data set and a small paper, for the tests of the reproduction."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

# Imported late, because the process that hands out the tests reads this file too.
if TYPE_CHECKING:
    from vicinal.datasets import Dataset
    from vicinal_reproduction.specification import Job, Method


def _small(n_rows: int, seed: int = 0) -> "Dataset":
    import numpy as np

    from vicinal.datasets import Dataset

    rng = np.random.default_rng(seed)
    X = (rng.random((n_rows, 8)) < 0.5).astype(float)
    X[:, 0] = 1.0
    Y = (X[:, 1:5] + 0.4 * rng.random((n_rows, 4)) > 1.0).astype(int)
    return Dataset(
        X=X,
        Y=Y,
        feature_names=tuple(f"f{at}" for at in range(8)),
        label_names=tuple(f"l{at}" for at in range(4)),
        train=np.arange(n_rows * 2 // 3),
        test=np.arange(n_rows * 2 // 3, n_rows),
    )


@pytest.fixture
def small() -> "Dataset":
    return _small(60)


@dataclass(frozen=True)
class JobMaker:
    dataset: "Dataset"

    def __call__(self, methods: "dict[str, Method]", seed: int = 1) -> "Job":
        from vicinal_reproduction.specification import Job

        return Job("test/one", "small", self.dataset, methods, seed)


@pytest.fixture
def make_job(small: "Dataset") -> JobMaker:
    return JobMaker(small)
