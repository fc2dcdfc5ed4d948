"""Ridge regression of every label, as a scikit-learn estimator.

Comes in: rows and labels. Goes out: a :class:`RidgeScoring`, which scores rows by one product.
``system`` decides what is solved (primal, dual, Gaussian kernel, iterative), ``solve`` solves it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Self, cast

from vicinal._core.checks import check_flag, check_integer, unchanged_on_failure
from vicinal.decision import CardinalityThreshold, NeverEmpty
from vicinal.distances import COSINE
from vicinal.errors import InvalidArgumentError, warn_user
from vicinal.graph import NeighborGraph
from vicinal.index._common import chosen_backend
from vicinal.methods._arguments import refuse_fit_arguments
from vicinal.methods.incremental import IncrementalEstimator, SmallChange
from vicinal.methods.label_ridge.ridge_scoring import RidgeScoring
from vicinal.methods.label_ridge.solver import RidgeSettings, check_settings
from vicinal.methods.registry import Method
from vicinal.methods.training import Scoring, Training, check_cells, leave_one_out
from vicinal.scores import Scores


@dataclass(eq=False, repr=False)
class LabelRidge(IncrementalEstimator):
    """Ridge regression of every label on the features, solved for all labels together.

    A linear model that complements neighbours: one weight per feature and label, and leave-one-out
    scores of the training rows in closed form.

    Parameters
    ----------
    alpha : float or list of float
        Regularisation strength. From a list, the value with the best leave-one-out micro-F1 is
        chosen. 1 is a good default for rows scaled to length one.
    kernel : {None, "rbf"}
        None for a linear model; ``"rbf"`` for a Gaussian kernel, which needs dense rows: scale
        features to [0, 1] first (:class:`vicinal.preprocess.MinMax`).
    gamma : float or None
        Width of the Gaussian kernel :math:`e^{-γ d²}`; None for 1 / the median squared distance.
    max_features : int or None
        Use only this many columns: those with the largest sums of squares. None for all.
    keep_loo : bool
        Keep the leave-one-out scores of the training rows as ``loo_scores_``.
    max_memory : int or None
        Bytes that the solver may use; None for 4 GiB. If a dense solution would need more, the fit
        uses conjugate gradients, and 3-fold instead of leave-one-out scores.
    backend : {"numpy", "torch"}
        ``"torch"`` solves on a GPU.
    device : str or None
        The device for ``backend="torch"``; None for the first GPU.
    metric : {"cosine", "dot", "euclidean"}
        ``"cosine"`` scales rows to length one before a linear fit; the others leave them unchanged.
        Also the metric of ``kneighbors``.
    algorithm : str or callable
        The index for ``kneighbors``, as for other methods.

    Attributes
    ----------
    alpha_ : float
        The regularisation strength used.
    loo_scores_ : Scores
        Leave-one-out scores of the training rows; only if ``keep_loo=True``.

    Notes
    -----
    The formulas are in :mod:`vicinal.methods.label_ridge.solver`. With n rows, m features and L
    labels, the fit inverts a matrix of min(n, m)² numbers once per alpha: in float64 up to a size
    of 3,000, in float32 above. The coefficients of a float32 solution are refined in float64 to a
    relative residual of at most 1e-5; leverages keep the error of float32, about 1e-4. Beyond 500
    unknowns the last digits depend on the number of threads, because BLAS splits its sums among
    them.
    ``partial_fit`` and ``forget`` refit on the current rows, so the model equals a fresh fit;
    a model fitted with ``sample_weight`` rejects both.

    Examples
    --------
    >>> X = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
    >>> Y = [["round"], ["round"], ["square"], ["square"]]
    >>> model = LabelRidge(alpha=1.0).fit(X, Y)
    >>> model.predict_names([[3.0, 0.0], [0.0, 1.0]])
    [['round'], ['square']]
    >>> model.predict_proba([[3.0, 0.0]]).round(4)
    array([[0.8333, 0.1667]])
    """

    method = Method(
        name="label-ridge",
        grid={"alpha": (0.1, 0.3, 1.0, 3.0, 10.0)},
        cost="slow",
        neighbors=None,
        rule=NeverEmpty(CardinalityThreshold()),
        scoring=(RidgeScoring,),
    )

    alpha: float | list[float] = 1.0
    kernel: str | None = None
    _: KW_ONLY
    gamma: float | None = None
    max_features: int | None = None
    keep_loo: bool = False
    max_memory: int | None = None
    backend: str = "numpy"
    device: str | None = None
    metric: str = "cosine"

    def fit(
        self,
        X: object,
        Y: object,
        sample_weight: object = None,
        *,
        graph: NeighborGraph | None = None,
        label_names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
        **unsupported: object,
    ) -> Self:
        """Learn from rows and their labels, which may have weights.

        Parameters
        ----------
        X, Y, graph, label_names, row_names
            As for every method (:meth:`vicinal.methods.base.NeighborEstimator.fit`).
        sample_weight : array-like of shape (n,), optional
            A row of weight w counts as w equal rows: in the regression, in the leave-one-out scores
            (which leave one of the w out) and in the threshold. Rows of weight 0 are left out.

        Returns
        -------
        self

        Examples
        --------
        >>> X, Y = [[1.0, 0.0], [0.0, 1.0]], [[1], [0]]
        >>> weighted = LabelRidge().fit(X, Y, sample_weight=[2, 1])
        >>> repeated = LabelRidge().fit([X[0], *X], [Y[0], *Y])
        >>> weighted.predict_proba(X).round(6) == repeated.predict_proba(X).round(6)
        array([[ True],
               [ True]])
        """
        refuse_fit_arguments(self, unsupported, "")
        with unchanged_on_failure(self):
            self._learn(X, Y, graph, label_names, row_names, sample_weight)
        return self

    @contextmanager
    def _changing(self) -> Iterator[SmallChange]:
        """Change the model, unless its rows have weights, which further rows would lack."""
        with super()._changing() as change:
            if getattr(change.version.scoring, "weights", None) is not None:
                expected = "a model fitted without sample_weight (fit again on all rows)"
                raise InvalidArgumentError("partial_fit, forget", expected, "weighted rows")
            yield change

    def _neighbors(self) -> int:
        """Return 0: no rows are searched."""
        return 0

    def _fit_scoring(self, training: Training) -> RidgeScoring:
        """Solve for the coefficients."""
        backend = chosen_backend(self.backend, self.device)
        settings = check_settings(
            self.alpha, self.kernel, self.gamma, self.max_memory, backend, self.device
        )
        if self.max_features is not None:
            check_integer("max_features", self.max_features, low=1)
        is_unit = training.graph.metric == COSINE.name and self.kernel is None
        return RidgeScoring.fit(training, settings, is_unit=is_unit, max_features=self.max_features)

    def _finish_fit(self, scoring: Scoring, training: Training) -> None:
        """Warn of rows that decide their own fit, and keep the leave-one-out scores if asked to."""
        if isinstance(scoring, RidgeScoring) and scoring.n_alone:
            warn_user(
                f"LabelRidge: {scoring.n_alone} of {training.n_rows} rows decide their own fit, "
                f"because alpha={scoring.alpha:g} is small beside their values; their "
                "leave-one-out scores are the means of the labels (scale the rows, or raise alpha)"
            )
        if check_flag("keep_loo", self.keep_loo):
            check_cells(*training.Y.shape)
            self.loo_scores_: Scores = leave_one_out(scoring, training)

    @property
    def alpha_(self) -> float:
        """The regularisation strength used."""
        return cast("RidgeScoring", self._state("alpha_").scoring).alpha


__all__ = ["RidgeScoring", "RidgeSettings"]
