"""What a fit finds does not depend on the number of threads that matrix products use."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from vicinal.baselines import RankSVM
from vicinal.reduction import MDDM, OPLS, LabelCCA


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 150))
    return X, (X[:, :12] + rng.normal(size=(400, 12)) > 0.8).astype(np.int32)


def bits(make, rows, threads):
    X, Y = rows
    with threadpool_limits(threads, user_api="blas"):
        model = make().fit(X, Y)
        found = model.decision_function(X) if hasattr(model, "decision_function") else None
        return (model.transform(X) if found is None else found).tobytes()


@pytest.mark.parametrize(
    "make",
    [
        MDDM,
        lambda: MDDM(constraint="uncorrelated"),
        OPLS,
        LabelCCA,
        lambda: RankSVM(kernel="rbf", max_iter=20, tol=0.5),
    ],
)
def test_the_same_bits_whatever_the_threads(make, rows):
    assert len({bits(make, rows, threads) for threads in (1, 2, 4)}) == 1
