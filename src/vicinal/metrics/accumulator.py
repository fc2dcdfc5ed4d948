"""All metrics of predictions that come in blocks of rows."""

from collections.abc import Iterable, Sequence
from typing import Self

from vicinal._core.checks import check_integer, check_sequence
from vicinal._core.labels import as_column
from vicinal.errors import InvalidArgumentError
from vicinal.metrics._sums import Size, Sums, check_labels, check_ranking, check_truth
from vicinal.metrics.at_k import inverse_propensities
from vicinal.metrics.auc import AREAS, MOST_SCORES, ScoreTally
from vicinal.metrics.catalogue import DEPTHS, Conventions, MetricInfo, check_conventions
from vicinal.metrics.evaluate import Evidence, align_labels, chosen_metrics, summed_metric
from vicinal.metrics.label_based import LABEL_BASED, LabelCounts


class MetricAccumulator:
    """Every metric of :func:`evaluate`, from predictions that come in blocks of rows.

    Parameters
    ----------
    conventions, k, train_label_counts, n_train_rows, metrics, n_jobs
        As for :func:`evaluate`.
    label_names : sequence of str or None
        Names of all labels, in the order of the columns, where true or predicted labels come as
        names. A name that is not among them is an error: how many labels there are must be known
        from the start.
    most_scores : int
        Limits the memory of areas under curves; see the notes.

    Notes
    -----
    Metrics that count cells or rows (Hamming loss, subset accuracy, micro and macro averages,
    one-error, coverage, precision@k, cardinality, …) are identical to those of :func:`evaluate`,
    as are areas under curves. The others are means of fractions and may differ in the last digits,
    because floating-point sums depend on their order: by less than 1e-12.

    Memory: about 100 bytes per label, and for macro-auc and micro-auc 32 bytes per distinct score
    of a label. Methods of votes have few of these; a method with a separate score for each row has
    as many as cells. With more than `most_scores` in total, scores are compared by fewer binary
    digits (``ScoreTally``); this is logged, and ``exact_areas`` is then False.

    Examples
    --------
    >>> found = MetricAccumulator(metrics=["hamming-loss", "macro-auc"])
    >>> for truth, predicted, scores in (
    ...     ([[1, 0]], [[1, 0]], [[0.9, 0.2]]),
    ...     ([[0, 1]], [[1, 1]], [[0.6, 0.8]]),
    ... ):
    ...     _ = found.add(truth, predicted, scores)
    >>> found.result()
    {'hamming-loss': 0.25, 'macro-auc': 1.0}
    """

    def __init__(
        self,
        *,
        conventions: str | Conventions = "vicinal",
        k: int | Iterable[int] = DEPTHS,
        train_label_counts: object = None,
        n_train_rows: int | None = None,
        metrics: str | Iterable[str] | None = None,
        label_names: Sequence[str] | None = None,
        n_jobs: int | None = None,
        most_scores: int = MOST_SCORES,
    ) -> None:
        self._rules = check_conventions(conventions)
        self._k = k if isinstance(k, int) else tuple(k)
        self._counts = train_label_counts, n_train_rows
        plain = metrics is None or isinstance(metrics, str)
        self._metrics = metrics if plain else check_sequence("metrics", metrics)
        self._names = None if label_names is None else tuple(map(str, label_names))
        self._n_jobs = n_jobs
        self._most = check_integer("most_scores", most_scores, low=1)
        self._state: _Running | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows added."""
        return 0 if self._state is None else self._state.n_rows

    @property
    def exact_areas(self) -> bool:
        """Whether scores were compared by all their digits."""
        tally = None if self._state is None else self._state.tally
        return tally is None or tally.digits == ScoreTally(1).digits

    def add(self, Y_true: object, labels: object = None, scores: object = None) -> Self:
        """Add some rows.

        Parameters
        ----------
        Y_true, labels, scores
            As for :func:`evaluate`; every block has the same labels, and what the first one has.
        """
        Y_true, labels, scores = (as_column(given) for given in (Y_true, labels, scores))
        if self._names is not None:
            Y_true = align_labels(Y_true, self._names, names=self._names, unknown="error")[0]
            if labels is not None:
                labels = align_labels(labels, self._names, names=self._names, unknown="error")[0]
        truth = check_truth(Y_true)
        state = self._state
        if state is not None and truth.shape[1] != state.n_labels:
            expected = f"{state.n_labels} labels, as the rows before"
            raise InvalidArgumentError("Y_true", expected, int(truth.shape[1]))
        counts, n_rows = self._counts
        weights = None if state is None else state.weights
        if state is None and counts is not None:
            weights = inverse_propensities(counts, n_rows, int(truth.shape[1]))
        evidence = Evidence(
            truth,
            None if labels is None else check_labels(labels, truth),
            None if scores is None else check_ranking(scores, truth),
            weights,
            self._rules,
            self._n_jobs,
        )
        if state is None:
            chosen = chosen_metrics(evidence, self._k, self._metrics)
            state = _Running(chosen, evidence, self._most)
        state.add(evidence)
        self._state = state
        return self

    def result(self) -> dict[str, float]:
        """Return the metrics of all rows so far, as :func:`evaluate` does."""
        if self._state is None:
            raise InvalidArgumentError("Y_true", "at least one row (call add first)", "none")
        return self._state.result(self._rules)


class _Running:
    """Sums and counts of the rows so far."""

    def __init__(self, chosen: list[MetricInfo], first: Evidence, most_scores: int) -> None:
        self._chosen = chosen
        self.n_labels = int(first.truth.shape[1])
        self.n_rows = 0
        self.weights = first.inverse_propensity
        self._sums: dict[str, Sums] = {}
        self._labels: LabelCounts | None = None
        wants_areas = any(info.name in AREAS for info in chosen)
        self.tally = ScoreTally(self.n_labels, most_scores) if wants_areas else None

    def add(self, evidence: Evidence) -> None:
        """Add the rows of a block, all or none."""
        for info in self._chosen:
            lacking = evidence.lacks(info)
            if lacking is not None:
                raise InvalidArgumentError(lacking, "a value, as with the rows before", None)
        counted = any(info.name in LABEL_BASED for info in self._chosen)
        sums = {
            info.name: evidence.sums(info)
            for info in self._chosen
            if info.name not in LABEL_BASED and info.name not in AREAS
        }
        counts = evidence.label_counts if counted else None
        if self.tally is not None and evidence.scores is not None:
            self.tally.add(evidence.truth, evidence.scores)
        for name, more in sums.items():
            known = self._sums.get(name, (0.0,) * len(more))
            self._sums[name] = tuple(a + b for a, b in zip(known, more, strict=True))
        if counts is not None:
            self._labels = counts if self._labels is None else self._labels + counts
        self.n_rows += int(evidence.truth.shape[0])

    def result(self, rules: Conventions) -> dict[str, float]:
        """Return the metrics of the rows so far."""
        return {info.name: self._value(info, rules) for info in self._chosen}

    def _value(self, info: MetricInfo, rules: Conventions) -> float:
        """Return one metric."""
        if info.name in LABEL_BASED and self._labels is not None:
            return LABEL_BASED[info.name](self._labels, rules)
        if info.name in AREAS and self.tally is not None:
            return AREAS[info.name](self.tally, rules)
        size = Size(self.n_rows, self.n_labels)
        return summed_metric(info).value(self._sums[info.name], size)
