"""Readers never wait and never see half a change: every answer is of one version."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import vicinal
from vicinal.methods import incremental

pytestmark = pytest.mark.native

METHODS = ("BRkNN", "LPkNN", "MLkNN", "InstanceKNN", "FeatureKNN", "LCIF")
SECONDS = 0.6


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Small models change as large ones do, and threads are switched as often as possible."""
    monkeypatch.setattr(incremental, "FEWEST_ROWS", 0)
    monkeypatch.setattr(incremental, "LARGEST_SHARE", 1.0)
    monkeypatch.setattr(incremental, "FEWEST_EMPTY", 4)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def marked_rows(n_rows: int, version: int) -> tuple[Any, list[list[str]]]:
    """Rows that are all alike, with labels that tell in which version they were learned."""
    X = sparse.csr_array(np.tile([1.0, 0.5, 0.0, 0.25], (n_rows, 1)))
    return X, [[f"version {version}", "any"]] * n_rows


def run_together(*jobs: Any) -> list[BaseException]:
    """Run jobs in threads of their own; return what went wrong."""
    with ThreadPoolExecutor(len(jobs)) as pool:
        futures = [pool.submit(job) for job in jobs]
    errors = [future.exception() for future in futures]
    return [error for error in errors if error is not None]


@pytest.mark.parametrize("kind", METHODS)
def test_every_answer_is_of_one_version(kind: str) -> None:
    """The writer replaces all rows, k at a time, so that a mix of versions would show."""
    k = 5
    options = {"n_neighbors_instance": k} if kind == "LCIF" else {"n_neighbors": k}
    X, labels = marked_rows(k + 4, 0)
    model = getattr(vicinal, kind)(metric="cosine", **options).fit(X, labels)
    rng = np.random.default_rng(0)
    far = sparse.csr_array(rng.random((k + 4, 4)))
    model.partial_fit(far, [["far"]] * (k + 4))
    done = threading.Event()
    counts = {"answers": 0, "changes": 0}

    def change() -> None:
        end, version = time.monotonic() + SECONDS, 1
        try:
            while time.monotonic() < end:
                old = model.row_ids_[:1]
                model.partial_fit(*marked_rows(1, version))
                model.forget(old)
                counts["changes"] += 1
                version += 1
        finally:
            done.set()

    def read() -> None:
        query = X[:1]
        while not done.is_set():
            near = model.neighbor_graph(query, k)
            assert np.count_nonzero(near.ids >= 0) == k
            names = model.predict_names(query)
            ids, scores = model.rank(query, 3)
            assert ids.shape == scores.shape == (1, 3)
            assert len(names) == 1
            values = model.scores(query)
            assert values.shape[0] == 1
            twin = model.snapshot()
            same = twin.scores(query).toarray()
            assert np.array_equal(same, twin.scores(query).toarray())
            assert twin.as_fitted().scoring_.Y.shape == (
                twin.search_.n_rows,
                len(twin.label_names_),
            )
            counts["answers"] += 1

    wrong = run_together(change, read, read, read)
    assert not wrong, wrong
    assert counts["changes"] > 2
    assert counts["answers"] > 2


@pytest.mark.parametrize("kind", ["BRkNN", "MLkNN"])
def test_answers_are_those_of_the_versions_there_were(kind: str) -> None:
    """The writer alternates between two states; a reader sees one of their two answers."""
    rng = np.random.default_rng(1)
    X = sparse.csr_array(rng.choice([0.0, 0.0, 0.5, 1.0], size=(30, 6)))
    Y = (rng.random((30, 5)) < 0.4).astype(int)
    model = getattr(vicinal, kind)(3, metric="cosine").fit(X[:-1], Y[:-1])
    queries = X[-4:]
    without = model.scores(queries).toarray()
    model.partial_fit(X[-1:], Y[-1:])
    wanted = [without, model.scores(queries).toarray()]
    assert not np.array_equal(*wanted)
    done, seen = threading.Event(), [0, 0]

    def change() -> None:
        end = time.monotonic() + SECONDS
        try:
            while time.monotonic() < end:
                model.forget(model.row_ids_[-1:])
                model.partial_fit(X[-1:], Y[-1:])
        finally:
            done.set()

    def read() -> None:
        while not done.is_set():
            found = model.scores(queries).toarray()
            which = [np.array_equal(found, each) for each in wanted]
            assert any(which), found
            seen[which.index(True)] += 1

    wrong = run_together(change, read, read)
    assert not wrong, wrong
    assert all(seen)


def test_writers_are_serialised() -> None:
    X, labels = marked_rows(12, 0)
    model = vicinal.MLkNN(2, metric="cosine").fit(X, labels)

    def learn() -> None:
        for _ in range(10):
            model.partial_fit(X[:1], [["any"]])
            model.forget([int(model.row_ids_[0])])

    def recount() -> None:
        for _ in range(10):
            model.partial_fit(X[:1], [["any"]])
            model.compact()

    wrong = run_together(learn, recount, recount)
    assert not wrong, wrong
    assert len(model.row_ids_) == 12 + 20
    assert model.row_ids_[-1] == 12 + 30 - 1
    scratch = vicinal.MLkNN(2, metric="cosine").fit(
        model.as_fitted().search_.X, model.as_fitted().scoring_.Y
    )
    assert np.array_equal(scratch.scores(X).toarray(), model.scores(X).toarray())


def test_saving_while_changing(tmp_path: Any) -> None:
    X, labels = marked_rows(12, 0)
    model = vicinal.MLkNN(2, metric="cosine").fit(X, labels)
    done = threading.Event()

    def change() -> None:
        try:
            for _ in range(30):
                model.partial_fit(X[:1], [["any"]])
                model.forget([int(model.row_ids_[0])])
        finally:
            done.set()

    def save() -> None:
        number = 0
        while number == 0 or not done.is_set():
            model.save(tmp_path / f"{number}")
            back = vicinal.load(tmp_path / f"{number}")
            assert back.search_.n_rows in (12, 13)
            number += 1

    wrong = run_together(change, save)
    assert not wrong, wrong
