"""Examples of functions that other tests reach only on the way."""

import numpy as np

from vicinal.comparison.candidates import compared_data, read_candidates
from vicinal.comparison.diagram import figure_paths
from vicinal.comparison.experiment import experiment_name, folds_text
from vicinal.comparison.friedman import _p_of_agreement
from vicinal.comparison.score_tables import paired_differences


def test_read_candidates():
    assert [each.n_neighbors for each in read_candidates(["mlknn", "feature-knn"])] == [10, 0]


def test_compared_data():
    found = compared_data((["red apple", "green pear"], [["apple"], ["pear"]]), "fruit")
    assert (found.label_names, [step for step, _ in found.preprocessing("auto")]) == (
        ("apple", "pear"),
        ["words"],
    )


def test_figure_paths():
    assert [file.name for file in figure_paths("ranks.v2")] == ["ranks.v2.svg", "ranks.v2.png"]


def test_folds_text():
    assert (folds_text(10), folds_text([([0], [1])]) == folds_text([([1], [0])])) == ("10", False)


def test_experiment_name():
    assert (experiment_name(10), experiment_name("split")) == ("compare/10 folds", "compare/split")


def test_p_of_agreement():
    assert round(_p_of_agreement(np.array([[1.0, 2.0, 3.0]] * 2)), 4) == 0.1667


def test_paired_differences():
    np.testing.assert_equal(
        (paired_differences(np.array([0.1 + 0.2, 1.0]), np.array([0.3, 0.5]))), np.array([0.0, 0.5])
    )
