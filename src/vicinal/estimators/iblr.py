"""IBLR-ML and IBLR-ML+, as a scikit-learn estimator."""

from collections.abc import Iterator, Sequence

import numpy as np

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_flag, check_real
from vicinal.decision import Threshold
from vicinal.estimators.incremental import IncrementalEstimator
from vicinal.estimators.method import FEW_K, Method
from vicinal.scoring import IBLRScoring, Training


class IBLR(IncrementalEstimator):
    """IBLR-ML: one logistic regression per label on the labels of the neighbours.

    Parameters
    ----------
    n_neighbors : int
    C : float
        Inverse strength of the L2 penalty, as in scikit-learn's ``LogisticRegression``;
        ``numpy.inf`` for no penalty.
    augment : bool
        Add the row's own features to the regression (IBLR-ML+). They should be on one scale.
    metric : {"euclidean", "cosine", "dot"}
    threshold : None, {"cardinality", "two-pass"}, float or decision object
        How scores become labels; None predicts a label whose probability is at least 0.5.
    never_empty : bool or None
        Whether every row gets at least one label; None for the method's own rule: it may get none.
    n_jobs : int or None
        Number of threads; None for all cores.
    algorithm : str or callable
        The index for the neighbour search: ``"auto"`` (exact: inverted if X is sparse, else dense),
        another name, or a factory (:func:`vicinal.index.build_index`).
    recalibrate_at : float or {"always", "never"}
        ``partial_fit`` and ``forget`` refit a threshold that depends on the training rows once this
        share of the rows has changed (see :meth:`recalibrate`). Scores are always exact.

    Notes
    -----
    ``partial_fit`` and ``forget`` update the graph and fit the regressions again from the start, so
    that the model equals one fitted from scratch, to the bit. That takes as long as ``fit`` without
    its search: one row changes a share of a neighbour's label, and with it every weight a little.

    References
    ----------
    W. Cheng, E. Hüllermeier, "Combining instance-based learning and logistic regression for
    multilabel classification", Machine Learning 76 (2009). The formulas are in
    :mod:`vicinal.scoring.iblr`.

    Examples
    --------
    >>> import numpy as np
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> Y = np.array([[1, 1], [1, 1], [0, 1], [0, 1]])
    >>> model = IBLR(n_neighbors=1).fit(X, Y)
    >>> model.predict([[0.4], [10.2]])
    array([[1, 1],
           [0, 1]])
    """

    method = Method(
        name="iblr",
        grid={"C": (0.1, 1.0, 10.0), "n_neighbors": FEW_K},
        cost="slow",
        rule=Threshold(0.5, inclusive=True),
        scoring=(IBLRScoring,),
    )

    def __init__(
        self,
        n_neighbors: int = 10,
        C: float = 1.0,
        augment: bool = False,
        *,
        metric: str = "euclidean",
        threshold: object = None,
        never_empty: bool | None = None,
        n_jobs: int | None = None,
        algorithm: object = "auto",
        recalibrate_at: float | str = 0.01,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.C = C
        self.augment = augment
        self.metric = metric
        self.threshold = threshold
        self.never_empty = never_empty
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        self.recalibrate_at = recalibrate_at

    def _fit_scoring(self, training: Training) -> IBLRScoring:
        """Fit the regressions."""
        return IBLRScoring.fit(training, self.n_neighbors, *self._settings(), self.n_jobs)

    def _sweep(self, training: Training, ks: Sequence[int]) -> Iterator[IBLRScoring]:
        """Count the votes once for all k."""
        return IBLRScoring.fit_sweep(training, ks, *self._settings(), self.n_jobs)

    def _settings(self) -> tuple[float, bool]:
        """Return ``C`` and ``augment``, checked."""
        augment = check_flag("augment", self.augment)
        if isinstance(self.C, float) and np.inf == self.C:
            return self.C, augment
        C = check_real("C", self.C)
        if C <= 0:
            raise InvalidArgumentError("C", "a number above 0, or infinity", C)
        return C, augment
