"""The projections keep scikit-learn's contract.

Its checks bring targets of one class a row, which are no label indicator: those that fit such a
target are named with the reason, and run on the same projection dressed so that each class becomes
a label.
"""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from vicinal.reduction import MDDM, MLARP, OPLS, LabelCCA

pytestmark = pytest.mark.native

NO_INDICATOR = "its target is a class or a number a row: no label indicator"
INAPPLICABLE = dict.fromkeys(
    [
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_dtype_object",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_estimator_sparse_tag",
        "check_estimators_dtypes",
        "check_estimators_fit_returns_self",
        "check_estimators_overwrite_params",
        "check_f_contiguous_array_estimator",
        "check_fit2d_1feature",
        "check_fit2d_predict1d",
        "check_fit_score_takes_y",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
        "check_readonly_memmap_input",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
    ],
    NO_INDICATOR,
)

NO_PICKLE = "a class made inside a function cannot be pickled; the one it dresses can, above"

PLAIN = [MDDM(), MDDM(constraint="uncorrelated"), OPLS(), LabelCCA()]
SEARCHING = MLARP(n_components=3, max_iter=3, random_state=0)


def dressed(kind):
    """The projection, with a target of classes made an indicator of them."""

    class Dressed(kind):
        def fit(self, X, y):
            if y is None:
                return super().fit(X, y)
            values = np.asarray(y)
            values = values.reshape(len(values), -1)[:, 0]
            return super().fit(X, (values[:, np.newaxis] == np.unique(values)).astype(int))

    Dressed.__name__ = Dressed.__qualname__ = kind.__name__
    return Dressed


def inapplicable(estimator):
    counts_steps = hasattr(estimator, "max_iter")
    return INAPPLICABLE | ({"check_transformer_n_iter": NO_INDICATOR} if counts_steps else {})


@parametrize_with_checks(
    [*PLAIN, SEARCHING], expected_failed_checks=inapplicable, xfail_strict=True
)
def test_checks(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [dressed(type(each))(**each.get_params()) for each in [*PLAIN, SEARCHING]],
    expected_failed_checks=lambda _: {"check_estimators_pickle": NO_PICKLE},
    xfail_strict=True,
)
def test_checks_on_classes(estimator, check):
    check(estimator)
