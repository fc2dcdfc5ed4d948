"""scikit-learn's own checks, over every method.

Some cannot be applied to an estimator of label indicators; each is named with the reason. Most of
those are run a second time, on the same estimator dressed as a binary classifier.
"""

from typing import Any

import numpy as np
import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from vicinal.methods import METHODS, FeatureKNN, LabelRidge, NeighborEstimator

pytestmark = pytest.mark.native

NOT_01 = "its target holds 1 and 2: no label indicator"
ONE_A_ROW = "its target is one class a row: no label indicator"
TWO_COLUMNS = "it expects a column of predict_proba for each of the two classes of its one target"

TWO_CLASSES_EACH = "it looks labels up in classes_, which holds the two classes of each label"

CANNOT_APPLY = {
    "check_classifier_data_not_an_array": NOT_01,
    "check_estimators_dtypes": NOT_01,
    "check_fit2d_1feature": NOT_01,
    "check_classifiers_classes": ONE_A_ROW,
    "check_classifiers_train": ONE_A_ROW,
    "check_estimator_sparse_array": TWO_COLUMNS,
    "check_estimator_sparse_matrix": TWO_COLUMNS,
}
"""For every method."""

OF_WEIGHTS = {
    "check_sample_weights_pandas_series": NOT_01,
    "check_sample_weights_not_an_array": NOT_01,
    "check_sample_weights_shape": NOT_01,
    "check_sample_weights_not_overwritten": NOT_01,
    "check_sample_weight_equivalence_on_dense_data": ONE_A_ROW,
    "check_sample_weight_equivalence_on_sparse_data": ONE_A_ROW,
}
"""For the methods that take weights: scikit-learn runs them on no others."""

NO_PROBABILITY = "its scores may be exactly 0 or 1, or those of a regression beyond them"

DEPENDS = {
    "check_classifier_multioutput": (
        TWO_CLASSES_EACH,
        {kind.__name__ for kind in METHODS.values()},
    ),
    **{check: (why, {"LabelRidge"}) for check, why in OF_WEIGHTS.items()},
    "check_classifiers_multilabel_output_format_predict_proba": (
        NO_PROBABILITY,
        {"BRkNN", "LPkNN", "FeatureKNN", "LocalRidge"},
    ),
}
"""For these methods only."""


def expected_failures(estimator: NeighborEstimator) -> dict[str, str]:
    name = type(estimator).__name__
    return CANNOT_APPLY | {check: why for check, (why, who) in DEPENDS.items() if name in who}


def fresh(kind: type[NeighborEstimator], **params: Any) -> NeighborEstimator:
    """An estimator as it comes, but with the same random numbers each time."""
    model = kind(**params)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


@parametrize_with_checks(
    [fresh(kind) for kind in METHODS.values()],
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
def test_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def with_label_numbers(kind: type[NeighborEstimator], **params: Any) -> NeighborEstimator:
    """The method with labels as the classes, as ``check_classifier_multioutput`` takes them."""

    class Numbered(kind):
        @property
        def classes_(self) -> Any:
            return np.arange(len(self.label_names_))

    return fresh(Numbered, **params)


@pytest.mark.parametrize("name", ["mlknn", "dmlknn", "iblr"])
def test_own_decisions_are_scikit_learns_where_they_are_made_at_a_half(name: str) -> None:
    kind = METHODS[name]
    estimator_checks.check_classifier_multioutput(kind.__name__, with_label_numbers(kind))


@pytest.mark.parametrize("name", METHODS)
def test_decisions_at_a_half_are_scikit_learns(name: str) -> None:
    model = with_label_numbers(METHODS[name], threshold=0.5, never_empty=False)
    estimator_checks.check_classifier_multioutput(METHODS[name].__name__, model)


def as_binary(kind: type[NeighborEstimator]) -> NeighborEstimator:
    """The method as a classifier of two classes: its target becomes one label."""

    class Binary(kind):
        def fit(self, X: Any, y: Any, **kwargs: Any) -> Any:
            target = np.asarray(y)
            self.pair = np.unique(target)
            indicator = (target == self.pair[-1]).astype(int)
            return super().fit(X, indicator.reshape(len(target), -1), **kwargs)

        @property
        def classes_(self) -> Any:
            return self.pair

        def predict(self, X: Any, *, graph: Any = None) -> Any:
            return self.pair[super().predict(X, graph=graph)[:, 0]]

        def predict_proba(self, X: Any, *, graph: Any = None) -> Any:
            positive = super().predict_proba(X, graph=graph)
            return np.hstack([1 - positive, positive])

        def decision_function(self, X: Any, *, graph: Any = None) -> Any:
            return super().decision_function(X, graph=graph)[:, 0]

        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            tags.target_tags.single_output = True
            return tags

    Binary.__name__ = Binary.__qualname__ = kind.__name__
    # Of two classes, the mean over the features that keep the label is nearly always above 0.5.
    reading = {"aggregate": "mean"} if issubclass(kind, FeatureKNN) else {}
    return fresh(Binary, threshold=0.5, never_empty=False, **reading)


@pytest.mark.parametrize("check", sorted(CANNOT_APPLY))
@pytest.mark.parametrize("name", METHODS)
def test_inapplicable_checks_pass_on_two_classes(name: str, check: str) -> None:
    getattr(estimator_checks, check)(METHODS[name].__name__, as_binary(METHODS[name]))


@pytest.mark.parametrize("check", sorted(OF_WEIGHTS))
def test_checks_of_weights_pass_on_two_classes(check: str) -> None:
    getattr(estimator_checks, check)("LabelRidge", as_binary(LabelRidge))
