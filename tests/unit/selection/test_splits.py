"""Folds, however a caller says them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold, ShuffleSplit

from vicinal.selection import IterativeStratification
from vicinal.selection.stratification import read_splits, train_share

Y = sparse.csr_array((np.random.default_rng(0).random((30, 3)) < 0.4).astype(np.int32))


def test_a_number_is_that_of_shuffled_stratified_folds() -> None:
    expected = IterativeStratification(5, shuffle=True, random_state=3).split(Y, Y)
    for split, (train, test) in zip(read_splits(5, Y, Y, 3), expected, strict=True):
        assert np.array_equal(split.train, train)
        assert np.array_equal(split.test, test)


def test_without_a_seed_folds_depend_on_the_labels_alone() -> None:
    expected = next(IterativeStratification(2).split(Y, Y))
    assert np.array_equal(read_splits(2, Y, Y, None)[0].test, expected[1])


def test_a_splitter_of_scikit_learn_is_taken_as_it_is() -> None:
    splits = read_splits(KFold(3), np.zeros((30, 1)), Y)
    assert [split.test[0] for split in splits] == [0, 10, 20]
    assert train_share(read_splits(ShuffleSplit(2, train_size=0.5), Y, Y), 30) == 0.5


def test_pairs_are_sorted() -> None:
    (split,) = read_splits([([5, 2], np.array([9, 1]))], Y, Y)
    assert split.train.tolist() == [2, 5]
    assert split.test.tolist() == [1, 9]


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "cv: expected an integer of at least 2"),
        ("ten", "cv: expected an integer"),
        ([], "at least one split"),
        ([([0], [0])], "each row at most once"),
        ([([0, 0], [1])], "each row at most once"),
        ([([0], [30])], "row ids from 0 to 29"),
        ([([], [1])], "rows to train on"),
        ([(np.array([0]),)], "pairs of training and test rows"),
    ],
)
def test_bad_folds_are_refused(cv: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_splits(cv, Y, Y)
