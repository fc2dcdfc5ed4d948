"""One method on one fold: learned, asked, measured."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from vicinal.comparison.answers import answers, dense_labels
from vicinal.comparison.entrants import Entrant
from vicinal.comparison.folds import PreparedFold
from vicinal.comparison.tuned import Tuned
from vicinal.estimators import NeighborEstimator
from vicinal.metrics import evaluate, metric_info
from vicinal.metrics.inputs import check_labels
from vicinal.metrics.label_based import LabelCounts, count_labels


@dataclass(frozen=True, eq=False)
class Trial:
    """What one fold brought.

    Parameters
    ----------
    values : dict of metric to float
    counts : LabelCounts
        What each label got right and wrong.
    seconds : dict of step to float
        ``"search"`` is the search that all methods of the same metric shared.
    has_scores : bool
        Whether there were scores to rank labels by.
    chosen : dict of parameter to value
        What a method chose that is tuned on the training rows of each fold.
    """

    values: dict[str, float]
    counts: LabelCounts
    seconds: dict[str, float]
    has_scores: bool
    chosen: dict[str, object] = field(default_factory=dict)


def run_trial(
    entrant: Entrant,
    fold: PreparedFold,
    metrics: Sequence[str],
    seed: int | None,
    n_jobs: int | None,
) -> Trial:
    """Fit a method on a fold's training rows and measure it on the test rows."""
    graphs = fold.graphs[entrant.estimator.metric] if entrant.n_neighbors else None
    model = entrant.fresh(seed, n_jobs)
    began = time.perf_counter()
    if isinstance(model, NeighborEstimator):
        model.fit(fold.X, fold.Y, graph=None if graphs is None else graphs.training)
    else:
        model.fit(fold.X, fold.Y if isinstance(model, Tuned) else dense_labels(fold.Y))
    fitted = time.perf_counter()
    labels, scores = answers(model, fold.X_test, None if graphs is None else graphs.test)
    asked = time.perf_counter()
    wanted = [m for m in metrics if scores is not None or metric_info(m).needs == "labels"]
    values = evaluate(
        fold.Y_test, labels, scores, metrics=wanted, train_label_counts=fold.Y, n_jobs=n_jobs
    )
    seconds = {"fit": fitted - began, "predict": asked - fitted}
    if graphs is not None:
        seconds["search"] = graphs.seconds
    counts = count_labels(fold.Y_test, check_labels(labels, fold.Y_test))
    chosen = model.chosen_ if isinstance(model, Tuned) else {}
    return Trial(values, counts, seconds, scores is not None, chosen)
