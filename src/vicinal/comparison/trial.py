"""Fit and evaluate one method on one fold."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from vicinal.comparison.candidates import Candidate
from vicinal.comparison.tuned import Tuned
from vicinal.estimators.answers import answers, answers_on, fit_on
from vicinal.estimators.fold import Fold
from vicinal.metrics import evaluate, metric_info
from vicinal.metrics.inputs import check_labels
from vicinal.metrics.label_based import LabelCounts, count_labels


@dataclass(frozen=True, eq=False)
class Trial:
    """The results of one fold.

    Parameters
    ----------
    values : dict of metric to float
    counts : LabelCounts
        Correct and wrong predictions of each label.
    seconds : dict of step to float
        ``"search"`` is the time of the search shared by all methods with the same distance.
    has_scores : bool
        Whether the method has scores to rank labels by.
    chosen : dict of parameter to value
        The settings chosen by a method that is tuned in each fold.
    """

    values: dict[str, float]
    counts: LabelCounts
    seconds: dict[str, float]
    has_scores: bool
    chosen: dict[str, object] = field(default_factory=dict)


def run_trial(
    candidate: Candidate,
    fold: Fold,
    metrics: Sequence[str],
    seed: int | None,
    n_jobs: int | None,
) -> Trial:
    """Fit a method on a fold's training rows and evaluate it on the test rows."""
    model = candidate.fresh(seed, n_jobs)
    began = time.perf_counter()
    fit_on(model, fold)
    fitted = time.perf_counter()
    if isinstance(model, Tuned):  # may have chosen another k or distance than the fold's graph
        labels, scores = answers(model.model_, fold.X)
    else:
        labels, scores = answers_on(model, fold)
    predicted = time.perf_counter()
    wanted = [m for m in metrics if scores is not None or metric_info(m).needs == "labels"]
    train_labels = fold.training.Y
    values = evaluate(
        fold.Y, labels, scores, metrics=wanted, train_label_counts=train_labels, n_jobs=n_jobs
    )
    seconds = {"fit": fitted - began, "predict": predicted - fitted}
    if candidate.n_neighbors:
        seconds["search"] = fold.search_seconds
    counts = count_labels(fold.Y, check_labels(labels, fold.Y))
    chosen = model.chosen_ if isinstance(model, Tuned) else {}
    return Trial(values, counts, seconds, scores is not None, chosen)
