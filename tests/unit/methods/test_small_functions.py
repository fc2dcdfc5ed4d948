"""Examples of functions that other tests reach only on the way."""

import re

import numpy as np
import pytest
from scipy import sparse

from vicinal.decision import Threshold
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph
from vicinal.methods._arguments import (
    check_sample_weight,
    refuse_classes,
    refuse_fit_arguments,
    refuse_one_dimensional,
    resolve_decision,
)
from vicinal.methods._formulas import label_values, with_neighbors
from vicinal.methods.explaining import label_ids
from vicinal.methods.feature_knn import column_cosines
from vicinal.methods.fitted_state import (
    Calibration,
    GrowingNames,
    check_row_names,
    extended_row_names,
    index_names,
    packed_names,
    unpacked_names,
)
from vicinal.methods.iblr import fit_logistic
from vicinal.methods.incremental import check_recalibrate_at
from vicinal.methods.label_ridge.ridge_scoring import unit_rows
from vicinal.methods.label_ridge.solver import check_alphas, coefficient_bytes
from vicinal.methods.local_ridge import label_sums
from vicinal.methods.lpknn import majorities
from vicinal.methods.pipeline import column_names, ordered_by_name, with_feature_names
from vicinal.methods.predicting import labels_as, probabilities_as
from vicinal.methods.registry import method_of, saved_name
from vicinal.methods.training import check_cells
from vicinal.methods.what_if import FeatureNames, PlainRows, shared_features, without_words
from vicinal.preprocess import WordPlace
from vicinal.scores import Scores


def test_resolve_decision():
    assert (
        repr(resolve_decision(0.3, None, own=Threshold(0.5)))
        == "Threshold(value=0.3, inclusive=False)"
    )
    assert (
        repr(resolve_decision("two-pass", True, own=Threshold(0.5)))
        == "NeverEmpty(rule=CardinalityThreshold(method='two-pass'), "
        "when_all_zero='most-frequent', always=True)"
    )


def test_check_sample_weight():
    np.testing.assert_equal(check_sample_weight([1, 0.5], 2), np.array([1.0, 0.5]))
    with pytest.raises(
        InvalidArgumentError,
        match=re.escape(
            "sample_weight: expected finite weights of at least 0, one of them above 0, got -1"
        ),
    ):
        check_sample_weight([1, -1], 2)


def test_refuse_fit_arguments():
    class Nearest: ...

    with pytest.raises(
        InvalidArgumentError,
        match=re.escape(
            "sample_weight: expected None, because Nearest cannot weight rows: it votes, got list "
            "(repeat rows with numpy.repeat, or use LabelRidge)"
        ),
    ):
        refuse_fit_arguments(Nearest(), {"sample_weight": [1, 2]}, "it votes")


def test_refuse_one_dimensional():
    with pytest.raises(
        InvalidArgumentError,
        match=re.escape(
            "Y: expected one column of 0 and 1 per label, got a one-dimensional multiclass "
            "target. Only binary classification is supported, label by label"
        ),
    ):
        refuse_one_dimensional([2, 0, 1])


def test_refuse_classes():
    refuse_classes([0, 1, 1])
    with pytest.raises(
        InvalidArgumentError,
        match=re.escape(
            "Y: expected a list of label names per row, or columns of 0 and 1, got one string "
            "per row (a class per row: [[y] for y in Y]; several labels in a cell: "
            "[y.split(';') for y in Y])"
        ),
    ):
        refuse_classes(["a", "b", float("nan")])
    with pytest.raises(InvalidArgumentError, match="multiclass target"):
        refuse_classes([2, 0, 1])


def test_with_neighbors():
    ids = np.array([[4, 9, 2]], dtype=np.int32)
    graph = NeighborGraph(ids, np.array([[0.5, 0.25, 0.125]]), "cosine", n_rows=10)
    np.testing.assert_equal(
        (with_neighbors(graph, [np.array([0, 2]), np.array([1])], width=2).ids),
        np.array([[4, 2], [9, -1]], dtype=np.int32),
    )


def test_label_values():
    Y = sparse.csr_array(np.array([[1, 0, 1], [0, 1, 1]]))
    np.testing.assert_equal(
        (label_values(Y, np.array([1, 0]), [2, 0])), np.array([[1.0, 0.0], [1.0, 1.0]])
    )


def test_label_ids():
    assert label_ids(["sad", 0], known=("calm", "sad")) == [1, 0]
    with pytest.raises(
        InvalidArgumentError,
        match=re.escape(
            "labels: expected label names of the model, or numbers from 0 to 1, got 'angry'"
        ),
    ):
        label_ids(["angry"], known=("calm", "sad"))


def test_column_cosines():
    from scipy import sparse

    Y = sparse.csr_array(np.array([[1], [1]], dtype=np.int32))
    np.testing.assert_equal(
        (column_cosines(np.array([[3.0, 0.0], [4.0, 1.0]]), Y).toarray().round(4)),
        np.array([[0.9899], [0.7071]]),
    )


def test_growingnames():
    first = GrowingNames.of(("a", "b"))
    second = first.extended(("c",))
    assert (first.as_tuple, second.as_tuple, second[2]) == (("a", "b"), ("a", "b", "c"), "c")


def test_index_names():
    import pandas as pd

    assert (index_names(pd.DataFrame({"a": [1, 2]}, index=["x", "y"])), index_names([[1]])) == (
        ["x", "y"],
        None,
    )


def test_check_row_names():
    assert check_row_names(["a", 7], n_rows=2) == ("a", "7")
    with pytest.raises(
        InvalidArgumentError, match=re.escape("row_names: expected 2 names, one per row, got 1")
    ):
        check_row_names(["a"], n_rows=2)


def test_extended_row_names():
    assert extended_row_names(None, ("c",), np.array([0, 4, 5])).as_tuple == ("0", "4", "c")


def test_packed_names():
    assert unpacked_names({"row_names": packed_names(("é", "", "b"))}, n_rows=3) == ("é", "", "b")


def test_calibration():
    assert Calibration(n_rows=200).after(learned=3).stale_share == 0.015


def test_fit_logistic():
    from scipy import sparse

    features = sparse.csr_array(np.array([[0.0], [0], [1], [1], [1], [1]]))
    Y = sparse.csr_array(np.array([[0], [1], [0], [1], [1], [1]]))
    weights, intercepts = fit_logistic(features, Y, C=np.inf)
    np.testing.assert_equal(
        ((1 / (1 + np.exp(-intercepts - [0, weights[0, 0]]))).round(4)), np.array([0.5, 0.75])
    )


def test_check_recalibrate_at():
    with pytest.raises(
        InvalidArgumentError,
        match=re.escape("such as 0.1, or 'always' or 'never', got 'often'"),
    ):
        check_recalibrate_at("often")


def test_unit_rows():
    np.testing.assert_equal(
        (unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))), np.array([[0.6, 0.8], [0.0, 0.0]])
    )


def test_check_alphas():
    assert (check_alphas(1), check_alphas([0.3, 3])) == ((1.0,), (0.3, 3.0))


def test_coefficient_bytes():
    assert coefficient_bytes(1_000, 100, 10, has_kernel=False) == 32000


def test_majorities():
    assert [
        places.tolist() for places in majorities(np.array([[4, 7, 7], [5, -1, -1]]), [2, 3])
    ] == [[0, 0], [1, 0]]


def test_column_names():
    from vicinal import BRkNN

    model = BRkNN(1).fit([[0.0, 1.0]], [[1]])
    assert (column_names(model), column_names(with_feature_names(model, ["size", "age"]))) == (
        None,
        ("size", "age"),
    )


def test_with_feature_names():
    from vicinal import BRkNN

    model = BRkNN(1).fit([[0.0, 1.0]], [[1]])
    named = with_feature_names(model, ["size", "age"])  # as if fitted on a data frame
    np.testing.assert_equal(
        (with_feature_names(named, None).predict([[0.0, 1.0]])), np.array([[1]])
    )


def test_ordered_by_name():
    from vicinal import BRkNN

    model = with_feature_names(BRkNN(1).fit([[0.0, 1.0]], [[1]]), ["size", "age"])
    assert ordered_by_name(model).columns_ == ("size", "age")


def test_labels_as():
    decided = sparse.csr_array(np.array([[1], [0]], dtype=np.int32))
    np.testing.assert_equal(labels_as(decided, "flat", "bool"), np.array([True, False]))


def test_probabilities_as():
    np.testing.assert_equal(
        (probabilities_as(Scores.dense(np.array([[0.25], [1.0]])), "flat")),
        np.array([[0.75, 0.25], [0.0, 1.0]]),
    )


def test_saved_name():
    from vicinal.methods.mlknn import MLkNNScoring

    assert saved_name(MLkNNScoring) == "methods.MLkNNScoring"


def test_method_of():
    from sklearn.tree import DecisionTreeClassifier

    assert method_of(DecisionTreeClassifier).name == "sklearn.tree._classes:DecisionTreeClassifier"


def test_check_cells():
    with pytest.raises(
        InvalidArgumentError,
        match=re.escape(
            "scores: expected at most 268435456 cells at once (this method scores every label; "
            "use rank(X, top), or a rule that needs no training scores), got 1000000 rows × "
            "100000 labels"
        ),
    ):
        check_cells(10**6, 10**5)


def test_plainrows():
    np.testing.assert_equal(
        (PlainRows(np.array([[1.0, 2.0]])).without(0, [[0], [0, 1]])),
        np.array([[0.0, 2.0], [0.0, 0.0]]),
    )


def test_without_words():
    assert (
        without_words("row a boat", [WordPlace(0, 3, (7,)), WordPlace(6, 10, (2,))], {7})
        == " a boat"
    )


def test_featurenames():
    assert (FeatureNames(["size", "age"])[1], FeatureNames(None)[1]) == ("age", "feature1")


def test_shared_features():
    x, rows = np.array([[1.0, 1.0, 0.0]]), np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 2.0]])
    first, second = shared_features(x, rows, "cosine")
    assert (first[0].tolist(), first[1].round(4).tolist(), second[0].tolist()) == ([0], [0.5], [])


def test_label_sums():
    graph = NeighborGraph(np.array([[1, 0]], dtype=np.int32), np.ones((1, 2)), "cosine", 2)
    Y = sparse.csr_array(np.array([[1, 1, 0], [0, 1, 0]]))
    sums = label_sums(graph, np.array([[0.75, -0.25]]), Y)
    np.testing.assert_equal(sums.toarray(), np.array([[-0.25, 0.5, 0.0]]))
