"""The ``explain`` method of every estimator."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from vicinal._base.arrays import Features
from vicinal._base.threads import using_threads
from vicinal.estimators.explaining import explain_rows
from vicinal.estimators.feature_names import FeatureNames
from vicinal.estimators.row_names import check_row_names
from vicinal.explain import Breakdown, Explanations
from vicinal.graph import NeighborGraph
from vicinal.scoring.explaining import explain_scoring

if TYPE_CHECKING:
    from vicinal.estimators.base import NeighborEstimator


class Explainable:
    """Estimators that can explain their predictions."""

    def explain(
        self,
        X: object,
        labels: Sequence[str | int] | None = None,
        top: int = 5,
        *,
        what_if: bool = False,
        row_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> Explanations:
        """Explain why each row gets its labels: each score is split into an exact sum of parts.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, m)
        labels : sequence of str or int, optional
            Labels to explain, by name or column number; by default the predicted labels and the
            `top` labels with the highest scores.
        top : int
            How many labels with the highest scores to explain besides the predicted ones.
        what_if : bool
            Find the neighbours and features without which a predicted label would no longer be
            predicted, by predicting again without them.
        row_names : sequence of str, optional
            Names of the rows of `X`; row numbers by default.
        feature_names : sequence of str, optional
            Names of the columns of `X`; by default those of the training data frame, or numbers.

        Returns
        -------
        Explanations
            One :class:`vicinal.explain.Explanation` per row. In each label's explanation
            ``base + Σ share = value``.

        Notes
        -----
        Intended for the few rows that a person reads. Memory: about 300 bytes per part; a row has
        one part per neighbour (or feature) and label, and one per feature shared with a neighbour.

        Examples
        --------
        >>> from vicinal import BRkNN
        >>> model = BRkNN(2).fit([[0.0], [1.0], [9.0]], [["low"], ["low", "odd"], ["high"]])
        >>> (why,) = model.explain([[0.4]])
        >>> [(one.label, one.score) for one in why.labels]
        [('low', 1.0), ('odd', 0.5), ('high', 0.0)]
        >>> [(part.name, part.share) for part in why["odd"].parts]
        [('0', 0.0), ('1', 0.5)]
        """
        model = cast("NeighborEstimator", self).snapshot()
        rows = model._read_new_X(X)
        names: Sequence[str] | None = getattr(self, "feature_names_in_", None)
        if feature_names is not None:
            names = check_row_names(feature_names, rows.shape[1], "feature_names")
        return explain_rows(model, rows, labels, top, what_if, row_names, FeatureNames(names))

    def _explain_scores(
        self, graph: NeighborGraph, X: Features, labels: Sequence[int]
    ) -> list[Breakdown]:
        """Return the breakdown of the scores of `labels`, for the single query of `graph`."""
        model = cast("NeighborEstimator", self)
        with using_threads(model.search_.n_jobs):
            return explain_scoring(model.scoring_, graph, labels, X)
