"""The splitter: a partition, in proportion, repeatable, at home in scikit-learn."""

import copy
import time
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from vicinal import BRkNN, MLkNN
from vicinal.selection import IterativeStratification
from vicinal.selection.stratification import label_pairs

SPLITTERS = [
    IterativeStratification(5),
    IterativeStratification(5, order=2),
    IterativeStratification(5, shuffle=True, random_state=3),
    IterativeStratification(5, order=2, shuffle=True, random_state=3),
]


def skewed(n_rows: int, n_labels: int, seed: int = 0) -> Any:
    """Return labels of very different frequency, a third of the rows with none or one."""
    rng = np.random.default_rng(seed)
    share = 0.4 / np.arange(1, n_labels + 1)
    return sparse.csr_array((rng.random((n_rows, n_labels)) < share).astype(np.int32))


def checked_folds(splitter: IterativeStratification, Y: Any) -> np.ndarray:
    """Return the fold of each row, having checked that the folds are a partition."""
    fold_of = np.full(Y.shape[0], -1)
    for fold, (train, test) in enumerate(splitter.split(np.zeros((Y.shape[0], 1)), Y)):
        assert (fold_of[test] == -1).all()
        fold_of[test] = fold
        assert sorted([*train, *test]) == list(range(Y.shape[0]))
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()
    assert (fold_of >= 0).all()
    return fold_of


def distance(fold_of: np.ndarray, evidence: Any) -> float:
    """Return how far the shares of labels in the folds are from those in all rows, on average."""
    shares = [evidence[fold_of == fold].mean(axis=0) for fold in np.unique(fold_of)]
    return float(np.mean(np.abs(np.array(shares) - evidence.mean(axis=0))))


@pytest.mark.parametrize("splitter", SPLITTERS, ids=str)
def test_folds_are_closer_to_the_whole_than_random_ones(splitter: Any) -> None:
    Y = skewed(400, 12)
    fold_of = checked_folds(splitter, Y)
    sizes = np.bincount(fold_of, minlength=5)
    assert sizes.max() - sizes.min() <= 4
    random = []
    for seed in range(20):
        folds = np.empty(400, dtype=int)
        for fold, (_, test) in enumerate(KFold(5, shuffle=True, random_state=seed).split(folds)):
            folds[test] = fold
        random.append(folds)
    assert distance(fold_of, Y) < 0.5 * min(distance(folds, Y) for folds in random)
    pairs = label_pairs(Y)
    assert distance(fold_of, pairs) < min(distance(folds, pairs) for folds in random)


def test_second_order_spreads_pairs_better() -> None:
    better = 0
    for seed in range(5):
        Y = skewed(300, 10, seed)
        first, second = (IterativeStratification(5, order=o).folds(Y) for o in (1, 2))
        better += distance(second, label_pairs(Y)) < distance(first, label_pairs(Y))
    assert better == 5


def test_seeds() -> None:
    Y = skewed(120, 6)
    same = [IterativeStratification(4, shuffle=True, random_state=7).folds(Y) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    other = IterativeStratification(4, shuffle=True, random_state=8).folds(Y)
    assert (same[0] != other).any()
    plain = IterativeStratification(4).folds(Y)
    np.testing.assert_array_equal(plain, IterativeStratification(4).folds(Y))
    assert (plain != same[0]).any()


def test_labels_in_any_form_give_the_same_folds() -> None:
    Y = skewed(60, 4)
    dense = Y.toarray()
    names = [[f"label {j}" for j in np.flatnonzero(row)] for row in dense]
    splitter = IterativeStratification(3)
    wanted = [test.tolist() for _, test in splitter.split(np.zeros(60), Y)]
    for form in (dense, dense.astype(bool), sparse.csc_matrix(Y), names):
        assert [test.tolist() for _, test in splitter.split(range(60), form)] == wanted


@pytest.mark.native
def test_in_cross_validate(sample: Any) -> None:
    splitter = IterativeStratification(3)
    answer = cross_validate(BRkNN(3), sample.X, sample.Y, cv=splitter, error_score="raise")
    by_hand = [
        BRkNN(3).fit(sample.X[train], sample.Y[train]).score(sample.X[test], sample.Y[test])
        for train, test in splitter.split(sample.X, sample.Y)
    ]
    np.testing.assert_allclose(answer["test_score"], by_hand)


@pytest.mark.native
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_in_a_grid_search(sample: Any, kind: Any) -> None:
    splitter = IterativeStratification(4, order=2)
    search = GridSearchCV(MLkNN(), {"n_neighbors": [2, 5]}, cv=splitter, error_score="raise")
    search = clone(search).fit(sample.X, kind(sample.Y))
    assert search.n_splits_ == 4
    for fold, (train, test) in enumerate(splitter.split(sample.X, sample.Y)):
        model = MLkNN(5).fit(sample.X[train], sample.Y[train])
        wanted = model.score(sample.X[test], sample.Y[test])
        assert search.cv_results_[f"split{fold}_test_score"][1] == pytest.approx(wanted)


def test_bookmarks_size_in_seconds() -> None:
    Y = skewed(88_000, 208)
    started = time.process_time()
    folds = IterativeStratification(10).folds(Y)
    assert time.process_time() - started < 10
    assert np.ptp(np.bincount(folds)) <= 1  # rows without labels make the folds even


def test_it_is_a_plain_value() -> None:
    splitter = IterativeStratification(5, order=2)
    assert copy.deepcopy(splitter) == splitter
    assert splitter.get_n_splits() == splitter.get_n_splits([[1]], [[1]], None) == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"n_splits": 1}, "n_splits"),
        ({"n_splits": 2.5}, "n_splits"),
        ({"order": 3}, "order: expected 1 or 2, got 3"),
        ({"shuffle": "yes"}, "shuffle"),
        ({"random_state": 1}, "random_state: expected None without shuffle"),
        ({"shuffle": True, "random_state": -1}, "random_state"),
    ],
)
def test_bad_parameters(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        IterativeStratification(**arguments)


def test_bad_labels() -> None:
    splitter = IterativeStratification(3)
    for X, y, said in (
        (np.zeros((2, 1)), [[1], [0]], "n_splits: expected at most 2, the number of rows, got 3"),
        (np.zeros((4, 1)), [[1], [0], [1]], "4 rows, as in X"),
        (np.zeros((3, 1)), [[2], [0], [1]], "values 0 and 1 only"),
        (np.zeros((3, 1)), None, "labels"),
    ):
        with pytest.raises(ValueError, match=said):
            next(splitter.split(X, y))
