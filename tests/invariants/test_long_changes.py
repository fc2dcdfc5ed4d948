"""Incremental learning for minutes (``make test-incremental``)."""

from itertools import pairwise

import numpy as np
import pytest
from benchmarks.incremental_data import debtags, debtags_like
from benchmarks.incremental_runs import memory_after_pairs, readers_and_writer, stream_from_empty
from scipy import sparse

from vicinal import LCIF, MLkNN
from vicinal.estimators import NeighborEstimator

pytestmark = [pytest.mark.native, pytest.mark.slow]


def figures(text: str) -> list[float]:
    """Return the numbers in a line of the benchmark."""
    cleaned = text.replace(",", "").replace("%", "").replace("(", "").replace(")", "")
    words = (word.strip(":;+") for word in cleaned.split())
    return [float(word) for word in words if word.replace(".", "").replace("-", "").isdigit()]


def test_a_minute_of_readers_beside_a_writer() -> None:
    beside, alone, *_ = figures(readers_and_writer(debtags(), MLkNN(10, metric="cosine"), 60.0))
    assert beside >= 0.5 * alone  # the published figure is of an otherwise idle machine


def test_a_stream_of_100_000_rows() -> None:
    text = stream_from_empty(debtags_like(100_000), MLkNN(10, metric="cosine"))
    assert float(text.split("×")[1].split(";")[0]) < 3, text


def test_memory_after_100_000_pairs() -> None:
    before, after, *_ = figures(
        memory_after_pairs(debtags(), lambda: MLkNN(10, metric="cosine"), 100_000)
    )
    assert after < 1.1 * before


@pytest.mark.parametrize("make", [lambda: MLkNN(10, metric="cosine"), LCIF])
def test_thousands_of_changes_equal_a_refit(make) -> None:
    rng = np.random.default_rng(0)
    stream = debtags()
    X, Y = stream.X[:6_000], stream.Y[:6_000]
    model: NeighborEstimator = make().set_params(recalibrate_at="never").fit(X[:3_000], Y[:3_000])
    alive = list(range(3_000))
    for first, last in pairwise(range(3_000, 6_001, 500)):
        for row in range(first, last):
            model.partial_fit(X[row : row + 1], Y[row : row + 1])
            alive.append(row)
            gone = alive.pop(int(rng.integers(len(alive))))
            model.forget([gone])
        left = np.sort(alive)
        scratch = make().fit(sparse.csr_array(X[left]), Y[left])
        queries = stream.X[6_000:6_200]
        assert np.array_equal(model.scores(queries).toarray(), scratch.scores(queries).toarray())
        assert model.recalibrate().decision_ == scratch.decision_
