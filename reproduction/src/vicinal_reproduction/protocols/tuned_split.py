"""A published or random split, settings chosen by cross-validation on the training rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from vicinal.datasets import Dataset
from vicinal.methods.fold import Fold
from vicinal.metrics import metric_info
from vicinal.results import Result, provenance
from vicinal_reproduction.protocols.measuring import (
    make_fold,
    measure,
    rounded,
    settings_of,
    widest,
)
from vicinal_reproduction.specification import Job, Method

Values = dict[str, float]


@dataclass(frozen=True)
class TunedSplit:
    """Tune each method by cross-validation, then evaluate it once on the test rows.

    Also yields, as the experiment with ``-best`` appended to its name, what the settings best on
    the test rows give.

    Parameters
    ----------
    metrics : tuple of str
    choose_by : str
        The metric that decides.
    n_folds : int
        Of the cross-validation; 0 where a method has one setting, which needs none.
    scale : bool
    metric : str
        Of the neighbours.
    train_share : float
        Of the rows, drawn with the seed, for data without a published split.
    random_split : tuple of str
        Data whose stored split is not the paper's: drawn at random instead.
    printed_ks : mapping of str to int
        By data set, the number of neighbours that the paper prints: not chosen then.
    printed_for : tuple of str
        The methods that it is printed for.
    conventions : str
        Of the metrics.
    """

    metrics: tuple[str, ...]
    choose_by: str
    n_folds: int = 5
    scale: bool = False
    metric: str = "euclidean"
    train_share: float = 2 / 3
    random_split: tuple[str, ...] = ()
    printed_ks: Mapping[str, int] = field(default_factory=dict)
    printed_for: tuple[str, ...] = ()
    conventions: str = "vicinal"

    def quick(self) -> "TunedSplit":
        """Return the protocol with two folds."""
        return replace(self, n_folds=2)

    def run(self, job: Job) -> Iterator[Result]:
        """Yield each method's result with the settings chosen, then with the best on the test."""
        train, test = self.split(job.data, job.dataset, job.seed)
        methods = {
            name: self._with_printed_k(job.data, name, each) for name, each in job.methods.items()
        }
        k = widest(methods)
        fold = make_fold(train, test, k, self.metric, self.scale)
        several = {name: len(list(settings_of(method))) > 1 for name, method in methods.items()}
        folds = list(self._folds(train, k, job.seed)) if any(several.values()) else []
        source = provenance(job.dataset)
        for name, method in methods.items():
            on_test = list(measure(method, fold, job.seed, self.metrics, self.conventions))
            chosen = self._chosen(method, folds, job.seed) if several[name] else 0
            best = self._best([values[self.choose_by] for _, values in on_test])
            for suffix, place in (("", chosen), ("-best", best)):
                yield _result(job, suffix, name, on_test[place], source)

    def _with_printed_k(self, data: str, name: str, method: Method) -> Method:
        """Return the method with the k that the paper states, if it does."""
        printed = self.printed_ks.get(data)
        if printed is None or name not in self.printed_for:
            return method
        return replace(method, ks=(printed,))

    def split(self, name: str, data: Dataset, seed: int) -> tuple[Dataset, Dataset]:
        """Return the published split, or a random one if there is none."""
        if data.train is not None and name not in self.random_split:
            return data.split()
        rows = np.random.default_rng(seed).permutation(data.n_rows)
        cut = round(self.train_share * data.n_rows)
        return data.subset(np.sort(rows[:cut])), data.subset(np.sort(rows[cut:]))

    def _folds(self, train: Dataset, k: int, seed: int) -> Iterator[Fold]:
        """Yield the folds of the training rows with their neighbours."""
        splitter = KFold(self.n_folds, shuffle=True, random_state=seed)
        for rows, held_out in splitter.split(np.zeros(train.n_rows)):
            yield make_fold(train.subset(rows), train.subset(held_out), k, self.metric, self.scale)

    def _chosen(self, method: Method, folds: list[Fold], seed: int) -> int:
        """Return the position in the grid of the best setting on average over the folds."""
        by, rules = self.choose_by, self.conventions
        values = [
            [found[by] for _, found in measure(method, fold, seed, [by], rules)] for fold in folds
        ]
        return self._best(list(np.mean(values, axis=0)))

    def _best(self, values: list[float]) -> int:
        """Return the position of the best value, the first of several."""
        sign = 1 if metric_info(self.choose_by).better == "high" else -1
        return int(np.argmax(sign * np.asarray(values)))


def _result(
    job: Job,
    suffix: str,
    name: str,
    measured: tuple[Mapping[str, Any], Mapping[str, float]],
    source: Mapping[str, str],
) -> Result:
    """Return the metrics of one setting as a result."""
    settings, values = measured
    return Result(
        job.experiment + suffix,
        job.data,
        name,
        {metric: rounded([value]) for metric, value in values.items() if metric != "seconds"},
        settings=dict(settings),
        seed=job.seed,
        seconds={"fit and predict": round(values["seconds"], 3)},
        provenance=source,
    )
