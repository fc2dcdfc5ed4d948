"""A split with all settings given, evaluated as Weka and Mulan would."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from time import perf_counter

from vicinal._core.arrays import Csr
from vicinal.datasets import Dataset
from vicinal.methods import BRkNN
from vicinal.methods.fold import Fold
from vicinal.metrics import evaluate
from vicinal.results import Result, provenance
from vicinal.scores import Scores
from vicinal_reproduction.protocols.measuring import answers, fold_of, rounded, scaled
from vicinal_reproduction.protocols.tuned_split import TunedSplit
from vicinal_reproduction.protocols.weka_search import heap_graph, tied_graph
from vicinal_reproduction.specification import Job


@dataclass(frozen=True)
class Setting:
    """The presumed settings of a paper's run on a data set.

    Parameters
    ----------
    ks : mapping of str to int
        Number of neighbours, by method.
    scale : bool
        Whether features are scaled to [0, 1] by the training rows.
    first_share : float or None
        The first rows of the file, this share of them, are for training; None for the published
        split, or a random one.
    """

    ks: Mapping[str, int]
    scale: bool = True
    first_share: float | None = None


@dataclass(frozen=True)
class SettledSplit:
    """Fit each method with given settings and evaluate it on the test rows.

    Parameters
    ----------
    metrics : tuple of str
    settings : mapping of str to Setting
        By data set.
    splits : TunedSplit
        How rows are split where the setting does not say it.
    conventions : str
        Of the metrics.
    at_most : int or None
        Maximum number of rows of either part; None for all.
    """

    metrics: tuple[str, ...]
    settings: Mapping[str, Setting]
    splits: TunedSplit
    conventions: str = "mulan"
    at_most: int | None = None

    def quick(self) -> "SettledSplit":
        """Return the protocol with a thousand rows of either part."""
        return replace(self, at_most=1000)

    def run(self, job: Job) -> Iterator[Result]:
        """Yield the result of each method."""
        train, test = self.rows(job)
        fold_at = cache(partial(weka_fold, train, test))  # some methods share their k
        for name, method in job.methods.items():
            k = self.settings[job.data].ks[name]
            estimator = method.make(job.seed)
            began = perf_counter()
            if isinstance(estimator, BRkNN):
                labels, scores = tied_answers(estimator, train, test, k)
            else:
                labels, scores = answers(estimator.set_params(n_neighbors=k), fold_at(k))
            seconds = perf_counter() - began
            yield Result(
                job.experiment,
                job.data,
                name,
                {
                    key: rounded([each])
                    for key, each in self.measured(test.Y, labels, scores).items()
                },
                settings={"n_neighbors": k},
                seed=job.seed,
                seconds={"search, fit and predict": round(seconds, 3)},
                provenance=provenance(job.dataset),
            )

    def rows(self, job: Job) -> tuple[Dataset, Dataset]:
        """Return training and test rows, scaled if the settings say so."""
        setting = self.settings[job.data]
        if setting.first_share is None:
            train, test = self.splits.split(job.data, job.dataset, job.seed)
        else:
            train, test = first_rows(job.dataset, setting.first_share)
        if self.at_most is not None:
            few = slice(self.at_most)
            train, test = (each.subset(range(each.n_rows)[few]) for each in (train, test))
        return scaled(train, test) if setting.scale else (train, test)

    def measured(self, Y: Csr, labels: Csr, scores: Scores) -> dict[str, float]:
        """Return the metrics of predictions."""
        return evaluate(Y, labels, scores, conventions=self.conventions, metrics=self.metrics)


def first_rows(data: Dataset, share: float) -> tuple[Dataset, Dataset]:
    """Return the first rows of a data set, `share` of them, and the rest."""
    cut = round(share * data.n_rows)
    rows = range(data.n_rows)
    return data.subset(rows[:cut]), data.subset(rows[cut:])


def weka_fold(train: Dataset, test: Dataset, k: int) -> Fold:
    """Return both parts with the neighbours that Weka's search finds."""
    return fold_of(train, test, heap_graph(train.X, k), heap_graph(train.X, k, test.X))


def tied_answers(estimator: BRkNN, train: Dataset, test: Dataset, k: int) -> tuple[Csr, Scores]:
    """Fit BRkNN and return its label sets and scores from all rows as near as the k-th."""
    near = tied_graph(train.X, k, test.X)
    estimator.set_params(n_neighbors=near.k).fit(train.X, train.Y)
    scores = estimator.scores(test.X, graph=near)
    return estimator.decide(scores), scores
