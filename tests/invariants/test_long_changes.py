"""Incremental learning for minutes (``make test-incremental``); times are the benchmark's."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from benchmarks.incremental_data import debtags
from benchmarks.incremental_runs import memory_after_pairs
from changed_model import REVISING, STEPS, Changed, every_change_is_small
from every_method import repeatable
from scipy import sparse

from vicinal import MLkNN

pytestmark = [pytest.mark.native, pytest.mark.slow]

SECONDS = 60
N_READERS = 4


@pytest.fixture
def small_changes() -> Iterator[None]:
    """Tiny models go the way of large ones."""
    with every_change_is_small():
        yield


def test_a_minute_of_answers_of_two_versions() -> None:
    """A writer learns and forgets one row; every answer is that of a model with or without it."""
    stream = debtags()
    model = MLkNN(10, metric="cosine").fit(stream.X[: stream.n_first], stream.Y[: stream.n_first])
    row = stream.X[:1], sparse.csr_array(np.ones((1, stream.Y.shape[1]), dtype=np.int32))
    queries = [stream.row(number)[0] for number in range(40)]
    answers = [[model.scores(query).toarray() for query in queries]]
    model.partial_fit(*row)
    answers.append([model.scores(query).toarray() for query in queries])
    assert not any(np.array_equal(*pair) for pair in zip(*answers, strict=True))
    end = time.monotonic() + SECONDS

    def read(start: int) -> list[int]:
        """Return how many answers were those without and with the row."""
        seen, count = [0, 0], start
        while time.monotonic() < end:
            number = count % len(queries)
            found = model.scores(queries[number]).toarray()
            which = [np.array_equal(found, each[number]) for each in answers]
            assert any(which), f"an answer of no version, query {number}"
            seen[which.index(True)] += 1
            count += 1
        return seen

    n_changes = 0
    with ThreadPoolExecutor(N_READERS) as pool:
        readers = [pool.submit(read, number) for number in range(N_READERS)]
        while time.monotonic() < end:
            model.forget(model.row_ids_[-1:])
            model.partial_fit(*row)
            n_changes += 2
        counts = np.array([reader.result() for reader in readers])
    assert counts.min() > 0
    print(f"\n{n_changes:,} changes, {counts.sum():,} answers, each of one version")


def test_memory_after_100_000_pairs() -> None:
    found = memory_after_pairs(debtags(), lambda: MLkNN(10, metric="cosine"), 100_000)
    print(f"\n{found}")
    assert found.ratio < 1.1


@pytest.mark.usefixtures("small_changes")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
@pytest.mark.parametrize("method", REVISING)
def test_hundreds_of_random_steps_equal_a_refit(method: str, metric: str, seed: int) -> None:
    dtype = np.float32 if seed == 2 else np.float64
    changed = Changed(method, metric, seed, seed != 1, dtype, counts=seed == 3)
    for number, step in enumerate(np.random.default_rng(seed).choice(STEPS, size=300).tolist()):
        changed.step(step)
        if number % 25 == 24:
            changed.check()


@pytest.mark.parametrize("method", REVISING)
def test_thousands_of_changes_of_real_rows_equal_a_refit(method: str) -> None:
    rng = np.random.default_rng(0)
    stream = debtags()
    X, Y = stream.X[:4_000], stream.Y[:4_000]
    options: dict[str, Any] = {"recalibrate_at": "never", "metric": "cosine"}
    if method == "lamlknn":
        options["centers"] = X[:4].toarray()
    model = repeatable(method, **options).fit(X[:2_000], Y[:2_000])
    alive = list(range(2_000))
    for first, last in pairwise(range(2_000, 4_001, 500)):
        for row in range(first, last):
            model.partial_fit(X[row : row + 1], Y[row : row + 1])
            alive.append(row)
            gone = alive.pop(int(rng.integers(len(alive))))
            model.forget([gone])
        left = np.sort(alive)
        scratch = repeatable(method, **options).fit(sparse.csr_array(X[left]), Y[left])
        queries = stream.X[6_000:6_200]
        assert np.array_equal(model.scores(queries).toarray(), scratch.scores(queries).toarray())
        assert model.recalibrate().decision_ == scratch.decision_
