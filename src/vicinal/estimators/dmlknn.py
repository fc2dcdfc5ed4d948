"""DML-kNN, as a scikit-learn estimator."""

from collections.abc import Iterator, Sequence

from vicinal._base.validation import check_integer, check_real
from vicinal.decision import Threshold
from vicinal.estimators.base import NeighborEstimator
from vicinal.estimators.method import FEW_K, Method
from vicinal.scoring import DMLkNNScoring, Training


class DMLkNN(NeighborEstimator):
    """DML-kNN: the posterior of each label, given the neighbours' votes for all labels together.

    Parameters
    ----------
    n_neighbors : int
    smoothing : float
        Added to every count; 1 is Laplace smoothing, 0 is none.
    tolerance : int
        By how many votes for another label two rows may differ and still count as alike.
    metric : {"euclidean", "cosine", "dot"}
    threshold : None, {"cardinality", "two-pass"}, float or decision object
        How scores become labels; None predicts a label whose posterior is at least 0.5.
    never_empty : bool or None
        Whether every row gets at least one label; None for the method's own rule: it may get none.
    n_jobs : int or None
        Number of threads; None for all cores.
    algorithm : str or callable
        The index for the neighbour search: ``"auto"`` (exact: inverted if X is sparse, else dense),
        another name, or a factory (:func:`vicinal.index.build_index`).

    References
    ----------
    Z. Younes, F. Abdallah, T. Denœux, "Multi-label classification algorithm derived from k-nearest
    neighbor rule with label dependencies", EUSIPCO 2008. The formulas are in
    :mod:`vicinal.scoring.dmlknn`, with the cost, which grows with queries × training rows.

    Examples
    --------
    Rows 0 and 1 have the label and are each other's neighbour; rows 2 and 3 are each other's
    neighbour and do not have it.

    >>> import numpy as np
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> Y = np.array([[1], [1], [0], [0]])
    >>> model = DMLkNN(n_neighbors=1).fit(X, Y)
    >>> model.predict_proba([[0.4], [10.2]])
    array([[0.75],
           [0.25]])
    """

    method = Method(
        name="dmlknn",
        grid={"tolerance": (0, 1, 2, 4, 6), "n_neighbors": FEW_K},
        cost="slow",
        rule=Threshold(0.5, inclusive=True),
        scoring=(DMLkNNScoring,),
    )

    def __init__(
        self,
        n_neighbors: int = 10,
        smoothing: float = 1.0,
        tolerance: int = 2,
        *,
        metric: str = "euclidean",
        threshold: object = None,
        never_empty: bool | None = None,
        n_jobs: int | None = None,
        algorithm: object = "auto",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.tolerance = tolerance
        self.metric = metric
        self.threshold = threshold
        self.never_empty = never_empty
        self.n_jobs = n_jobs
        self.algorithm = algorithm

    def _fit_scoring(self, training: Training) -> DMLkNNScoring:
        """Count the neighbours' votes."""
        return DMLkNNScoring.fit(training, self.n_neighbors, *self._settings())

    def _sweep(self, training: Training, ks: Sequence[int]) -> Iterator[DMLkNNScoring]:
        """Count the votes once for all k."""
        return DMLkNNScoring.fit_sweep(training, ks, *self._settings())

    def _settings(self) -> tuple[float, int]:
        """Return ``smoothing`` and ``tolerance``, checked."""
        smoothing = check_real("smoothing", self.smoothing, low=0)
        return smoothing, check_integer("tolerance", self.tolerance, low=0)
