"""Every baseline is a scikit-learn estimator, whatever its rows and labels come as."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

from vicinal import baselines
from vicinal.baselines import ADTBoostMH, BinaryRelevanceSVM, BoosTexter, LabelFrequency, RankSVM
from vicinal.preprocess import MinMax

pytestmark = pytest.mark.native

BASELINES = {
    "BoosTexter": BoosTexter(n_rounds=15),
    "ADTBoostMH": ADTBoostMH(n_rounds=6),
    "RankSVM": RankSVM(degree=2, tol=1e-2),
    "BinaryRelevanceSVM": BinaryRelevanceSVM(),
    "LabelFrequency": LabelFrequency(),
}
SIZES = {"BoosTexter": "n_rounds", "ADTBoostMH": "n_rounds", "RankSVM": "C"}

every_baseline = pytest.mark.parametrize("name", BASELINES)


def fresh(name: str) -> Any:
    return clone(BASELINES[name])


def test_all_are_listed():
    assert sorted(baselines.__all__) == sorted(BASELINES)


@every_baseline
def test_sparse_rows_give_what_dense_rows_give(name, sample):
    dense = fresh(name).fit(sample.X, sample.Y)
    thin = fresh(name).fit(sparse.csr_matrix(sample.X), sample.Y)
    for rows in (sample.X_test, sparse.csc_array(sample.X_test)):
        np.testing.assert_allclose(
            thin.decision_function(rows), dense.decision_function(sample.X_test), atol=2e-3
        )
    np.testing.assert_allclose(
        dense.decision_function(sparse.csr_array(sample.X_test)),
        dense.decision_function(sample.X_test),
        atol=1e-12,
    )


@every_baseline
def test_wide_ids_unsorted_rows_and_stored_zeros_are_read(name, sample):
    wide = sparse.csr_array(sample.X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    odd = sparse.csr_array(([0.0, 0.4, 0.2], [5, 3, 0], [0, 3]), shape=(1, 6))
    model = fresh(name).fit(wide, sample.Y)
    np.testing.assert_allclose(
        model.decision_function(odd), model.decision_function([[0.2, 0, 0, 0.4, 0, 0]]), atol=1e-12
    )


@every_baseline
def test_predictions_have_the_array_type_of_the_labels(name, sample):
    dense = fresh(name).fit(sample.X, sample.Y)
    thin = fresh(name).fit(sample.X, sparse.csr_array(sample.Y))
    flags = fresh(name).fit(sample.X, sample.Y.astype(bool))
    expected = dense.predict(sample.X_test)
    assert expected.dtype == sample.Y.dtype
    assert expected.any() or name == "LabelFrequency"
    assert sparse.issparse(thin.predict(sample.X_test))
    np.testing.assert_array_equal(thin.predict(sample.X_test).toarray(), expected)
    assert flags.predict(sample.X_test).dtype == np.bool_
    np.testing.assert_array_equal(flags.predict(sample.X_test), expected)


@every_baseline
def test_label_names_are_read(name):
    model = fresh(name).fit([[0.0], [1.0], [5.0]], [["a"], ["a", "b"], ["b"]])
    assert model.label_names_ == ("a", "b")


@every_baseline
def test_fits_are_repeatable_and_predictions_pure(name, sample):
    model = fresh(name).fit(sample.X, sample.Y)
    first = model.decision_function(sample.X_test)
    np.testing.assert_array_equal(model.decision_function(sample.X_test), first)
    again = fresh(name).fit(sample.X, sample.Y).decision_function(sample.X_test)
    np.testing.assert_array_equal(again, first)


@every_baseline
def test_scores_are_the_decision_function_and_may_be_none(name, sample):
    model = fresh(name).fit(sample.X, sample.Y)
    np.testing.assert_array_equal(
        model.scores(sample.X_test).toarray(), model.decision_function(sample.X_test)
    )
    assert model.decision_function(sample.X_test[:1]).shape == (1, 5)


@every_baseline
@pytest.mark.parametrize("kind", ["no label", "all labels", "one label", "more labels than rows"])
def test_degenerate_labels(name, kind, sample):
    shapes = {
        "no label": np.zeros((50, 3), dtype=int),
        "all labels": np.ones((50, 3), dtype=int),
        "one label": sample.Y[:, :1],
        "more labels than rows": np.tile(sample.Y, 12),
    }
    Y = shapes[kind]
    predicted = fresh(name).fit(sample.X, Y).predict(sample.X_test)
    assert predicted.shape == (20, Y.shape[1])
    if kind in ("no label", "all labels"):
        np.testing.assert_array_equal(predicted, np.tile(Y[0], (20, 1)))


@every_baseline
def test_rows_of_nothing_but_zeros(name):
    model = fresh(name).fit(sparse.csr_array((6, 4)), [[1, 0]] * 4 + [[0, 0]] * 2)
    np.testing.assert_array_equal(model.predict(np.zeros((1, 4))), [[1, 0]])


@every_baseline
def test_pipelines_and_searches(name, sample):
    steps = make_pipeline(MinMax(), fresh(name)).fit(sample.X, sample.Y)
    assert steps.predict(sample.X_test).shape == (20, 5)
    if name in SIZES:
        search = GridSearchCV(fresh(name), {SIZES[name]: [1, 3]}, cv=2, scoring="f1_micro")
        assert search.fit(sample.X, sample.Y).best_params_[SIZES[name]] in (1, 3)


@every_baseline
def test_a_failed_fit_leaves_the_model_as_it_was(name, sample):
    model = fresh(name).fit(sample.X, sample.Y)
    before = model.decision_function(sample.X_test)
    with pytest.raises(ValueError, match="Y: expected"):
        model.fit(sample.X, sample.Y[:-1])
    with pytest.raises(ValueError, match="one column of 0 and 1 per label"):
        model.fit(sample.X, sample.Y[:, 0])
    np.testing.assert_array_equal(model.decision_function(sample.X_test), before)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(sample.X_test[:, :3])


@pytest.mark.parametrize("name", ["BoosTexter", "ADTBoostMH", "LabelFrequency"])
def test_probabilities_agree_with_predictions(name, sample):
    model = fresh(name).fit(sample.X, sample.Y)
    chances = model.predict_proba(sample.X_test)
    assert ((chances >= 0) & (chances <= 1)).all()
    np.testing.assert_array_equal(chances > 0.5, model.predict(sample.X_test))


@pytest.mark.parametrize("name", sorted(set(BASELINES) - {"LabelFrequency"}))
def test_labels_are_predicted_where_the_decision_function_is_positive(name, sample):
    model = fresh(name).fit(sample.X, sample.Y)
    positive = model.decision_function(sample.X_test) > 0
    np.testing.assert_array_equal(model.predict(sample.X_test), positive)


NO_INDICATOR = "its target is one class a row, or holds 1 and 2: no label indicator"
CANNOT_APPLY = {
    "check_classifier_data_not_an_array": NO_INDICATOR,
    "check_estimators_dtypes": NO_INDICATOR,
    "check_fit2d_1feature": NO_INDICATOR,
    "check_classifiers_classes": NO_INDICATOR,
    "check_classifiers_train": NO_INDICATOR,
    "check_classifier_multioutput": "it expects classes_ to be those of one label only",
}
TWO_COLUMNS = "it expects a column of predict_proba for each of the two classes of its one target"
OF_PROBABILITIES = {
    "check_estimator_sparse_array": TWO_COLUMNS,
    "check_estimator_sparse_matrix": TWO_COLUMNS,
    "check_decision_proba_consistency": NO_INDICATOR,
}
OF_WEIGHTS = {
    "check_sample_weights_pandas_series": NO_INDICATOR,
    "check_sample_weights_not_an_array": NO_INDICATOR,
    "check_sample_weights_shape": NO_INDICATOR,
    "check_sample_weights_not_overwritten": NO_INDICATOR,
    "check_sample_weight_equivalence_on_dense_data": NO_INDICATOR,
    "check_sample_weight_equivalence_on_sparse_data": NO_INDICATOR,
    "check_classifiers_one_label_sample_weights": NO_INDICATOR,
}
"""What they check is in ``tests/property/test_sample_weights.py``, on label indicators."""


def expected_failures(estimator: Any) -> dict[str, str]:
    has_probabilities = hasattr(estimator, "predict_proba")
    has_weights = has_fit_parameter(estimator, "sample_weight")
    return (
        CANNOT_APPLY
        | (OF_PROBABILITIES if has_probabilities else {})
        | (OF_WEIGHTS if has_weights else {})
    )


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")  # rows of any scale
@parametrize_with_checks(
    [fresh(name) for name in BASELINES], expected_failed_checks=expected_failures, xfail_strict=True
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)
