"""Examples of functions that other tests reach only on the way."""

import numpy as np

from vicinal.metrics._sums import SummedMetric
from vicinal.metrics.auc import _sums_from_the_end
from vicinal.metrics.catalogue import every_metric


def test_summedmetric():
    from vicinal.metrics.example_based import check_rows

    rows = check_rows([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    mean_size = SummedMetric(lambda rows: rows.predicted)
    assert (mean_size.sums(rows), mean_size(rows)) == ((3.0,), 1.5)


def test_sums_from_the_end():
    np.testing.assert_equal(
        (_sums_from_the_end(np.array([1, 2, 4, 8]), np.array([0, 3, 4]))),
        np.array([7.0, 6.0, 4.0, 8.0]),
    )


def test_every_metric():
    assert every_metric([2])[-5:] == ["recall@2", "f1@2", "ndcg@2", "psp@2", "psndcg@2"]
