"""Local ridge, as a scikit-learn estimator."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Self

from vicinal._base.errors import ModelFormatError
from vicinal._base.state import State
from vicinal.decision import CardinalityThreshold, NeverEmpty
from vicinal.estimators.incremental import IncrementalEstimator
from vicinal.estimators.method import Method
from vicinal.estimators.revising import Revision
from vicinal.scoring import Scoring, Training
from vicinal.scoring.local_ridge import LocalRidgeScoring


class LocalRidge(IncrementalEstimator):
    r"""Local ridge: kernel ridge regression on the k nearest rows of each query.

    Predicts better than votes where neighbours resemble each other: equal rows share their weight
    instead of counting twice. Nothing is trained, so learning a row only adds it to the index.

    Parameters
    ----------
    n_neighbors : int
    alpha : float
        Regularisation strength α, above 0. Large values turn the weights into similarities divided
        by α, small ones let few neighbours decide.
    center : bool or None
        Whether the regression is around the mean label vector μ of the neighbours; if not, μ is 0.
        None: only if `X` is dense.
    metric : {"cosine", "dot", "euclidean"}
        The kernel: the similarity itself, or for Euclidean distances a Gaussian whose width is the
        median distance of the neighbours.
    threshold : None, {"cardinality", "two-pass"}, float or decision object
        How scores become labels; None means ``"cardinality"``: one threshold, at which as many
        labels are predicted on the training rows as they have.
    never_empty : bool or None
        Whether every row gets at least one label; None for the method's own rule: it gets the best
        one, or the most frequent one if all score 0.
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
    With *N* the neighbours of a row *x*, κ the kernel, and :math:`y_j(l) = 1` if row *j* has label
    *l*, else 0,

    .. math:: w = (κ(N, N) + αI)^{-1} κ(N, x), \qquad
              f(x, l) = μ_l + \sum_{j \in N} w_j \, (y_j(l) - μ_l)

    with :math:`μ = 0` if `X` is sparse, and the mean label vector of the neighbours if it is dense
    (see `center`). Labels that no neighbour has score 0. Other scores may be below 0 or above 1. A
    prediction costs the products of the neighbours' rows with each other and k³ / 6
    multiplications, whatever the number of labels.

    References
    ----------
    L. Bottou, V. Vapnik, "Local learning algorithms", Neural Computation 4, 1992. The formulas are
    in :mod:`vicinal.scoring.local_ridge`.

    Examples
    --------
    The query is equally near to all rows. Two of them are equal and share their weight:

    >>> import numpy as np
    >>> from scipy import sparse
    >>> X = sparse.csr_array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 1]])
    >>> model = LocalRidge(n_neighbors=3, alpha=0.1).fit(X, Y)
    >>> model.predict_proba(sparse.csr_array([[1.0, 1.0]])).round(4)
    array([[0.6734, 0.6428]])
    """

    method = Method(
        name="local-ridge",
        grid={"n_neighbors": (20, 50, 100), "alpha": (0.1, 0.3, 1.0, 3.0)},
        beyond_edge={"n_neighbors": (150, 200), "alpha": (10.0,)},
        rule=NeverEmpty(CardinalityThreshold()),
        scoring=(LocalRidgeScoring,),
    )

    def __init__(
        self,
        n_neighbors: int = 50,
        alpha: float = 1.0,
        *,
        center: bool | None = None,
        metric: str = "cosine",
        threshold: object = None,
        never_empty: bool | None = None,
        n_jobs: int | None = None,
        algorithm: object = "auto",
        recalibrate_at: float | str = 0.01,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.center = center
        self.metric = metric
        self.threshold = threshold
        self.never_empty = never_empty
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        self.recalibrate_at = recalibrate_at

    def _fit_scoring(self, training: Training) -> LocalRidgeScoring:
        """Keep the rows and the labels."""
        return LocalRidgeScoring.fit(training, self.n_neighbors, self.alpha, self.center)

    def _revise(self, scoring: Scoring, revision: Revision) -> Scoring:
        """Keep the current rows and labels."""
        return _checked(scoring).settled(revision.Y, revision.rows.X)

    def get_state(self) -> dict[str, State]:
        """Return the fitted model as plain values, arrays and parts; the rows are in it once."""
        state = super().get_state()
        return {**state, "scoring": replace(_checked(state["scoring"]), X=None)}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        model = super().from_state(state)
        version = model._fitted()
        if not isinstance(version.scoring, LocalRidgeScoring):
            got = type(version.scoring).__name__
            raise ModelFormatError(f"scoring: expected local ridge, got {got}")
        scoring = replace(version.scoring, X=version.rows.X)
        model._publish(replace(version, scoring=scoring))
        return model


def _checked(scoring: object) -> LocalRidgeScoring:
    """Return what local ridge learned, or raise."""
    if not isinstance(scoring, LocalRidgeScoring):
        raise TypeError(f"expected LocalRidgeScoring, got {type(scoring).__name__}")
    return scoring
