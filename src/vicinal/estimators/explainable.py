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
    """Estimators that say why."""

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
        """Say why each row gets its labels: scores as exact sums of parts.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, m)
        labels : sequence of str or int, optional
            Labels to explain, by name or number; by default those predicted and the best ones.
        top : int
            How many of the best labels to explain besides those predicted.
        what_if : bool
            Find what removed would drop a predicted label, by predicting anew.
        row_names : sequence of str, optional
            Names of the rows of `X`; numbers by default.
        feature_names : sequence of str, optional
            Names of the columns of `X`; by default those of the data frame at fit, or numbers.

        Returns
        -------
        Explanations
            One :class:`vicinal.explain.Explanation` per row. In each label's explanation
            ``base + Σ share = value``.

        Notes
        -----
        Meant for rows that a person looks at. Memory: about 300 bytes per part; the parts of a row
        are its neighbours (or features) for each label, and the features shared with each
        neighbour.

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
        """Return what the scores of `labels` are made of, for the one query of `graph`."""
        model = cast("NeighborEstimator", self)
        with using_threads(model.search_.n_jobs):
            return explain_scoring(model.scoring_, graph, labels, X)
