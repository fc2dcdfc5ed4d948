"""Predictions in the array type of the training labels, and scikit-learn's ``score``."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._base.arrays import Csr, Float
from vicinal._base.checked_csr import owned_csr, with_values
from vicinal._base.labels import Kind
from vicinal.estimators.sample_weights import check_sample_weight
from vicinal.metrics.alignment import together
from vicinal.metrics.inputs import check_labels, check_truth
from vicinal.scores import Scores


def labels_as(decided: Csr, kind: Kind, dtype: str) -> NDArray[Any] | Csr:
    """Return label sets in the array type of the training labels.

    `kind` is ``"dense"``, ``"sparse"``, or ``"flat"`` for one value per row.

    Examples
    --------
    >>> decided = sparse.csr_array(np.array([[1], [0]], dtype=np.int32))
    >>> labels_as(decided, "flat", "bool")
    array([ True, False])
    """
    typed = with_values(decided, decided.data.astype(dtype))
    if kind == "sparse":
        return owned_csr(typed)
    array: NDArray[Any] = typed.toarray()
    return array.ravel() if kind == "flat" else array


def probabilities_as(scores: Scores, kind: Kind) -> Float | Csr:
    """Return scores in the array type of the training labels.

    For ``"flat"``, two columns: the probabilities of not having and of having the label.

    Examples
    --------
    >>> probabilities_as(Scores.dense(np.array([[0.25], [1.0]])), "flat")
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    if isinstance(scores.values, sparse.csr_array) and kind == "sparse":
        return scores.toarray() if scores.base.any() else owned_csr(scores.values)
    array = scores.toarray()
    return np.column_stack([1.0 - array, array]) if kind == "flat" else array


class SubsetAccuracy:
    """scikit-learn's ``score``, for labels given as an indicator or by name."""

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Return the share of rows whose label set is predicted exactly.

        Parameters
        ----------
        X : rows
        y : label indicator, or list of label-name collections
            Names are aligned with those of the model; a row with a name that the model does not
            know counts as wrong.
        sample_weight : array-like of shape (n,), optional
            The weight of each row.
        """
        model = cast("Any", self)
        predicted = model.predict(X)
        Y_true, labels, _ = together(y, predicted, None, model.label_names_)
        truth = check_truth(Y_true)
        right = _wrong_labels(truth, check_labels(labels, truth)) == 0
        weights = check_sample_weight(sample_weight, len(right))
        return float(np.average(right, weights=weights))


def _wrong_labels(truth: Csr, labels: Csr) -> NDArray[Any]:
    """Return how many labels of each row differ."""
    differing: Csr = cast("Any", truth != labels).tocsr()
    differing.eliminate_zeros()
    return np.diff(differing.indptr)
