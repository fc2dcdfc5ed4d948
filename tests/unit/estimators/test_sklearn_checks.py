"""scikit-learn's own checks, over every method.

Some cannot be applied to an estimator of label indicators; each is named with the reason. Most of
those are run a second time, on the same estimator dressed as a binary classifier.
"""

from typing import Any

import numpy as np
import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from vicinal.estimators import METHODS, NeighborEstimator

pytestmark = pytest.mark.native

NOT_01 = "its target holds 1 and 2: no label indicator"
ONE_A_ROW = "its target is one class a row: no label indicator"
TWO_COLUMNS = "it expects a column of predict_proba for each of the two classes of its one target"

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

DEPENDS = {
    "check_classifier_multioutput": "it decides at a half, rounded to even; the method's own rule "
    "is another (with threshold=0.5 the check passes)",
    "check_classifiers_multilabel_output_format_predict_proba": "it takes a share of exactly 0 or "
    "1 for no probability",
}
"""For some methods only."""

AT_HALF = [kind(threshold=0.5, never_empty=False) for kind in METHODS.values()]


def expected_failures(estimator: NeighborEstimator) -> dict[str, str]:
    at_half = estimator.threshold == 0.5
    skipped = {"check_classifier_multioutput"} if at_half else set()
    depends = {check: why for check, why in DEPENDS.items() if check not in skipped}
    return {**CANNOT_APPLY, **depends}


@parametrize_with_checks(
    [kind() for kind in METHODS.values()] + AT_HALF, expected_failed_checks=expected_failures
)
def test_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_every_check_named_as_inapplicable_fails(name: str) -> None:
    results = check_estimator(METHODS[name](), on_skip=None, on_fail=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert set(CANNOT_APPLY) <= failed
    assert failed <= set(CANNOT_APPLY) | set(DEPENDS)


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

        def predict(self, X: Any, graph: Any = None) -> Any:
            return self.pair[super().predict(X, graph)[:, 0]]

        def predict_proba(self, X: Any, graph: Any = None) -> Any:
            positive = super().predict_proba(X, graph)
            return np.hstack([1 - positive, positive])

        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            tags.target_tags.single_output = True
            return tags

    Binary.__name__ = Binary.__qualname__ = kind.__name__
    return Binary(threshold=0.5, never_empty=False)


@pytest.mark.parametrize("check", sorted(CANNOT_APPLY))
@pytest.mark.parametrize("name", METHODS)
def test_inapplicable_checks_pass_on_two_classes(name: str, check: str) -> None:
    getattr(estimator_checks, check)(METHODS[name].__name__, as_binary(METHODS[name]))
