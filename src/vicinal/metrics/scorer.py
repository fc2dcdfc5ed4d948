"""Metrics as scorers for scikit-learn's model selection."""

from dataclasses import dataclass
from typing import Any

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.outside_scores import outside_scores
from vicinal.metrics.catalogue import metric_info
from vicinal.metrics.evaluate import evaluate


@dataclass(frozen=True)
class MetricScorer:
    """A metric as a callable ``(estimator, X, y)``; see :func:`scorer`."""

    metric: str
    conventions: str = "vicinal"

    def __call__(self, estimator: Any, X: object, y: object, **ignored: object) -> float:
        """Return the metric of a fitted estimator; losses are negated."""
        info = metric_info(self.metric)
        last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
        rows = estimator[:-1].transform(X) if hasattr(estimator, "steps") else X
        labels = last.predict(rows) if info.needs == "labels" else None
        scores = None if info.needs == "labels" else _scores(last, rows)
        names = getattr(last, "label_names_", None)
        found = evaluate(
            y,
            labels,
            scores,
            label_names=names,
            metrics=info.name,
            conventions=self.conventions,
        )[info.name]
        return -found if info.better == "low" else found


def scorer(metric: str, conventions: str = "vicinal") -> MetricScorer:
    """Return a metric for ``scoring=`` of scikit-learn's ``GridSearchCV`` and ``cross_val_score``.

    True labels may be names or an indicator; names are aligned with those of the model. Losses are
    negated, because scikit-learn maximises scores.

    Parameters
    ----------
    metric : str
        A name in :data:`METRICS`.
    conventions : str
        As for :func:`evaluate`.

    Examples
    --------
    >>> from vicinal import BRkNN
    >>> model = BRkNN(1).fit([[0.0], [1.0]], [["a"], ["b"]])
    >>> scorer("micro-f1")(model, [[0.1], [0.2]], [["a"], ["b"]])
    0.5
    >>> scorer("hamming-loss")(model, [[0.1], [0.2]], [["a"], ["b"]])
    -0.5
    """
    return MetricScorer(metric_info(metric).name, conventions)


def _scores(estimator: Any, X: object) -> object:
    """Return the scores of rows: those of the library, or of another library's estimator."""
    if hasattr(estimator, "scores"):
        return estimator.scores(X)
    found = outside_scores(estimator, X)
    if found is None:
        expected = "one with predict_proba or decision_function, as the metric needs scores"
        raise InvalidArgumentError("estimator", expected, type(estimator).__name__)
    return found
