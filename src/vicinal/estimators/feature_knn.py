"""Feature kNN, as a scikit-learn estimator."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Self, TypeVar

from vicinal._base.errors import ModelFormatError
from vicinal._base.state import State
from vicinal._base.validation import check_integer
from vicinal.decision import CardinalityThreshold, NeverEmpty
from vicinal.estimators.base import NeighborEstimator
from vicinal.estimators.incremental import IncrementalEstimator
from vicinal.estimators.method import ODD_K, ODD_K_BEYOND, Method
from vicinal.estimators.revising import Revision
from vicinal.scoring import FeatureKNNScoring, LCIFScoring, Scoring, Training
from vicinal.scoring.changed_feature_knn import ChangedFeatureKNNScoring, revised_feature_part


class FeatureKNN(IncrementalEstimator):
    """Feature kNN: predict the labels that are most similar to the features of a row.

    The fastest method at prediction: it searches no rows. Features and labels are compared when the
    model is fitted.

    Parameters
    ----------
    n_neighbors : int
        How many of the most similar labels each feature keeps (or features each label).
    neighbors_of : {"feature", "label"}
        ``"feature"``: each feature keeps its most similar labels. ``"label"``: each label keeps its
        most similar features.
    aggregate : {"mean", "max", "kept-mean"}
        How a label's score is computed from its similarities to the features of a row: their mean,
        weighted by the feature values, or the largest. ``"mean"`` counts a feature that does not
        keep the label as 0, ``"kept-mean"`` leaves it out.
    metric : {"cosine", "dot", "euclidean"}
        For ``kneighbors`` only. Features and labels are always compared by the cosine.
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
    Features should lie in [0, 1] (:class:`vicinal.preprocess.MinMax`); negative values of a row are
    ignored in its scores.

    References
    ----------
    L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for
    efficient multi-label classification", DSAA 2017. The formulas are in
    :mod:`vicinal.scoring.feature_knn`.

    Examples
    --------
    Rows with the first feature are round, rows with the second one are square:

    >>> X = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    >>> Y = [["round"], ["round"], ["square"], ["round"]]
    >>> model = FeatureKNN(n_neighbors=1).fit(X, Y)
    >>> model.predict_names([[1.0, 0.0], [1.0, 3.0]])
    [['round'], ['round', 'square']]
    >>> model.predict_proba([[1.0, 3.0]]).toarray()
    array([[0.25, 0.75]])
    """

    method = Method(
        name="feature-knn",
        grid={"n_neighbors": ODD_K},
        beyond_edge={"n_neighbors": ODD_K_BEYOND},
        rule=NeverEmpty(CardinalityThreshold()),
        scoring=(FeatureKNNScoring,),
    )

    def __init__(
        self,
        n_neighbors: int = 15,
        neighbors_of: str = "feature",
        aggregate: str = "mean",
        *,
        metric: str = "cosine",
        threshold: object = None,
        never_empty: bool | None = None,
        n_jobs: int | None = None,
        algorithm: object = "auto",
        recalibrate_at: float | str = 0.01,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.neighbors_of = neighbors_of
        self.aggregate = aggregate
        self.metric = metric
        self.threshold = threshold
        self.never_empty = never_empty
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        self.recalibrate_at = recalibrate_at

    def _neighbors(self) -> int:
        """Check ``n_neighbors`` and return 0: no rows are searched."""
        check_integer("n_neighbors", self.n_neighbors, low=1)
        return 0

    def _fit_scoring(self, training: Training) -> FeatureKNNScoring:
        """Compare features and labels."""
        return FeatureKNNScoring.fit(
            training, self.n_neighbors, self.neighbors_of, self.aggregate, self.n_jobs
        )

    def _can_revise(self) -> bool:
        """Tell whether a small change can be revised: not if labels keep features."""
        return self.neighbors_of == "feature"

    def _revise(self, scoring: Scoring, revision: Revision) -> Scoring:
        """Compute the similarities that changed only when they are needed."""
        return revised_features(scoring, revision, self.n_neighbors, self.aggregate)

    def _sweep(self, training: Training, ks: Sequence[int]) -> Iterator[FeatureKNNScoring]:
        """Compare features and labels once for all k."""
        return FeatureKNNScoring.fit_sweep(
            training, ks, self.neighbors_of, self.aggregate, self.n_jobs
        )

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        return with_matching_features(super().from_state(state))


def revised_features(
    scoring: Scoring, revision: Revision, k: int, aggregate: str
) -> ChangedFeatureKNNScoring:
    """Return the scoring of feature kNN after a small change."""
    rows = revision.rows
    counts = revision.label_counts().copy()
    return revised_feature_part(scoring, rows.X, rows.gone, revision.Y, counts, k, aggregate)


Model = TypeVar("Model", bound=NeighborEstimator)


def with_matching_features(model: Model) -> Model:
    """Return a restored model, after checking the number of features of its similarities."""
    scoring = model.scoring_
    if not isinstance(scoring, FeatureKNNScoring | LCIFScoring):
        raise ModelFormatError(
            f"scoring: expected feature kNN or LCIF, got {type(scoring).__name__}"
        )
    if scoring.n_features != model.n_features_in_:
        raise ModelFormatError(
            f"similarity: expected {model.n_features_in_} features, got {scoring.n_features}"
        )
    return model
