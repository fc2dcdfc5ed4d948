"""ML-ARP's search: how it moves, when it stops, what it leaves."""

import itertools

import numpy as np
import pytest

from vicinal.errors import InvalidArgumentError
from vicinal.reduction import MLARP, mlarp

pytestmark = pytest.mark.native

RNG = np.random.default_rng(2)
X = RNG.normal(size=(80, 6))
Y = (X[:, :3] > 0.3).astype(int)


def test_history_never_rises_and_falls_at_all():
    found = MLARP(4, max_iter=60, random_state=0).fit(X, Y)
    assert len(found.history_) == 61
    assert found.n_iter_ == 60
    assert np.all(np.diff(found.history_) <= 0)
    assert found.history_[-1] < found.history_[0]


def test_same_seed_same_projection():
    one, two, other = (MLARP(4, max_iter=15, random_state=seed).fit(X, Y) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.projection_, two.projection_)
    np.testing.assert_array_equal(one.history_, two.history_)
    assert not np.array_equal(one.projection_, other.projection_)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_generator_will_do(make):
    one, two = (MLARP(2, max_iter=5, random_state=make(3)).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.projection_, two.projection_)
    assert one.get_state()["params"]["random_state"] is None, "no file can hold it"


def test_threads_do_not_matter():
    one, two = (MLARP(4, max_iter=10, random_state=1, n_jobs=jobs).fit(X, Y) for jobs in (1, 3))
    np.testing.assert_array_equal(one.projection_, two.projection_)


def test_a_step_that_helps_is_repeated_and_another_is_drawn_after_one_that_does_not():
    tried = []
    verdicts = [5.0, 4.0, 3.0, 3.0, 2.0, 9.0]  # start, better, better, equal, better, worse

    def loss_of(P):
        tried.append(P.copy())
        return verdicts[len(tried) - 1]

    start = np.ones((3, 2))
    walk = mlarp.descent(loss_of, lambda: start, mlarp.Walk(), np.random.default_rng(0))
    seen = list(itertools.islice(walk, len(verdicts)))
    assert [loss for _, loss in seen] == [5.0, 4.0, 3.0, 3.0, 2.0, 2.0]
    steps = [tried[1] - tried[0], tried[2] - tried[1], tried[3] - tried[2]]
    np.testing.assert_allclose(steps[1], steps[0])
    np.testing.assert_allclose(steps[2], steps[0])
    after_failure = tried[4] - tried[2]
    assert not np.allclose(after_failure, steps[0])
    np.testing.assert_allclose(tried[5] - tried[4], after_failure)
    np.testing.assert_array_equal(seen[3][0], tried[2])


def test_the_share_of_moved_entries_is_uniform():
    rng = np.random.default_rng(0)
    steps = [mlarp.draw_step((30, 30), 2.0, rng) for _ in range(400)]
    shares = np.sort([np.mean(step != 0) for step in steps])
    np.testing.assert_allclose(shares, (np.arange(400) + 0.5) / 400, atol=0.09)
    moved = np.concatenate([step[step != 0] for step in steps])
    assert abs(moved.std() - 2.0) < 0.02
    assert abs(moved.mean()) < 0.02


def test_no_time_leaves_the_first_projection():
    found = MLARP(2, max_iter=None, max_seconds=0.0, random_state=0).fit(X, Y)
    assert found.n_iter_ == 0
    expected = np.random.default_rng(0).standard_normal((6, 2))
    np.testing.assert_array_equal(found.projection_, expected)


def test_time_is_a_limit(monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr(mlarp.time, "perf_counter", lambda: float(next(clock)))
    # Looked at once at the start, then once before each step: 1, 2, 3 pass, 4 does not.
    found = MLARP(2, max_seconds=4.0, random_state=0).fit(X, Y)
    assert found.n_iter_ == 3


def test_an_interrupted_search_keeps_its_best(monkeypatch):
    whole = MLARP(4, max_iter=20, random_state=0).fit(X, Y)
    calls = itertools.count()
    evaluate = mlarp.Objective.__call__

    def interrupted(self, P):
        if next(calls) == 21:  # the first evaluation and 20 steps went well
            raise KeyboardInterrupt
        return evaluate(self, P)

    monkeypatch.setattr(mlarp.Objective, "__call__", interrupted)
    with pytest.warns(UserWarning, match="interrupted after 21 evaluations"):
        found = MLARP(4, max_iter=500, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(found.projection_, whole.projection_)
    np.testing.assert_array_equal(found.history_, whole.history_)


def test_an_objective_of_which_more_is_better_rises():
    found = MLARP(4, max_iter=40, random_state=0, objective="micro-f1").fit(X, Y)
    assert np.all(np.diff(found.history_) <= 0)
    assert -1 <= found.history_[-1] < found.history_[0] <= 0


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_history_is_drawn(tmp_path, ending):
    path = tmp_path / f"loss.{ending}"
    MLARP(2, max_iter=5, random_state=0).fit(X, Y).plot_history(path)
    start = {"png": b"\x89PNG", "svg": b"<?xml"}[ending]
    assert path.read_bytes().startswith(start)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_components": 0},
        {"n_neighbors": 0},
        {"smoothing": -1.0},
        {"sigma": np.inf},
        {"max_iter": -1},
        {"max_seconds": -1.0},
        {"backend": "cuda"},
        {"device": "cpu"},
        {"init": "zeros"},
        {"learned_step": 1},
        {"restarts": -1},
        {"patience": 0},
        {"sample": 1},
        {"sample": 1.5},
        {"sample": "half"},
        {"objective": "ranking-loss"},
        {"objective": "cardinality"},
        {"random_state": "seed"},
        {"n_jobs": 0},
        {"max_iter": None, "max_seconds": None},
    ],
    ids=str,
)
def test_parameters_out_of_range(wrong):
    with pytest.raises(InvalidArgumentError):
        MLARP(**wrong).fit(X, Y)


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_fewer_rows_than_neighbors(n_rows):
    found = MLARP(2, max_iter=3, random_state=0).fit(X[:n_rows], Y[:n_rows])
    assert found.transform(X).shape == (80, 2)
