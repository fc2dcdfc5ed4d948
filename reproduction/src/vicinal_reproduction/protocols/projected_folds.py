"""Cross-validation of ML-kNN on projected rows."""

import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from sklearn.base import TransformerMixin
from sklearn.model_selection import KFold

from vicinal.datasets import Dataset
from vicinal.methods import MLkNN
from vicinal.metrics import evaluate
from vicinal.reduction import MLARP
from vicinal.results import Result, provenance
from vicinal_reproduction.protocols.measuring import (
    answers,
    dense,
    fold_of,
    make_fold,
    rounded,
    scaled,
)
from vicinal_reproduction.protocols.peeking_search import PeekingMLARP
from vicinal_reproduction.specification import Job, Method

FEW_FEATURES, FEW, USUAL = 128, 64, 128
"""Limit of the number of features, and the number of columns below it and from it on."""

EVALUATIONS, REACHED = "evaluations", "training loss"


@dataclass(frozen=True)
class ProjectedFolds:
    """Fit each projection in each fold, then ML-kNN on the projected rows.

    Of a projection that was searched for, the number of evaluations and the loss it came to on the
    training rows are kept too.

    Parameters
    ----------
    metrics : tuple of str
    n_neighbors : int
    smoothing : float
    n_folds : int
        Folds are drawn at random with the seed.
    components : mapping of str to int
        Columns out, for data where they are not the usual 64 or 128.
    scale : bool
        Whether features are scaled to [0, 1] by the training rows first.
    on_training_rows : bool
        Whether the figures are those of the training rows, each left out of its own neighbours.
    only : int or None
        Number of folds to run; None for all.
    at_most_seconds : float or None
        Stop a search after so long.
    """

    metrics: tuple[str, ...]
    n_neighbors: int = 5
    smoothing: float = 0.0
    n_folds: int = 10
    components: Mapping[str, int] = field(default_factory=dict)
    scale: bool = False
    on_training_rows: bool = False
    only: int | None = None
    at_most_seconds: float | None = None

    def quick(self) -> "ProjectedFolds":
        """Return the protocol with one fold, searched for a few seconds."""
        return replace(self, only=1, at_most_seconds=5.0)

    def run(self, job: Job) -> Iterator[Result]:
        """Yield the result of each method, one value per fold."""
        splitter = KFold(self.n_folds, shuffle=True, random_state=job.seed)
        folds = list(splitter.split(job.dataset.X))[: self.only]
        for name, method in job.methods.items():
            found = defaultdict[str, list[float]](list)
            began = perf_counter()
            for train, test in folds:
                rows = job.dataset.subset(train), job.dataset.subset(test)
                for metric, value in self._measure(method, *rows, job).items():
                    found[metric].append(value)
            yield Result(
                job.experiment,
                job.data,
                name,
                {metric: rounded(values) for metric, values in found.items()},
                settings={"r": self.width(job), "folds": len(folds)},
                seed=job.seed,
                seconds={"fit and predict": round(perf_counter() - began, 3)},
                provenance=provenance(job.dataset) | searched_on(job, EVALUATIONS in found),
            )

    def width(self, job: Job) -> int:
        """Return the number of columns of the projected rows."""
        usual = FEW if job.dataset.n_features < FEW_FEATURES else USUAL
        return self.components.get(job.data, usual)

    def _measure(self, method: Method, train: Dataset, test: Dataset, job: Job) -> dict[str, float]:
        """Return the metrics of one fold."""
        if self.scale:
            train, test = scaled(train, test)
        model, searched = method.make(job.seed), {}
        if isinstance(model, TransformerMixin):
            if isinstance(model, MLARP):
                self._prepare(model, test, job)
            train, test = projected(model, self.width(job), train, test)
            searched = outcome(model) if isinstance(model, MLARP) else {}
            model = MLkNN(self.n_neighbors, smoothing=self.smoothing)
        fold = make_fold(train, test, self.n_neighbors, "euclidean", scale=False)
        if self.on_training_rows:
            fold = fold_of(train, train, fold.training.graph, fold.training.graph)
        labels, scores = answers(model, fold)
        return evaluate(fold.Y, labels, scores, metrics=self.metrics) | searched

    def _prepare(self, search: MLARP, test: Dataset, job: Job) -> None:
        """Set the device and duration of a search and, if it uses test rows, these rows."""
        search.set_params(backend=job.backend)
        if self.at_most_seconds is not None:
            search.set_params(max_seconds=self.at_most_seconds)
        if isinstance(search, PeekingMLARP):
            search.look_at(test.X, test.Y)


def outcome(search: MLARP) -> dict[str, float]:
    """Return the stored facts about a completed search."""
    return {EVALUATIONS: len(search.history_), REACHED: float(search.history_[-1])}


def projected(
    transformer: Any, n_components: int, train: Dataset, test: Dataset
) -> tuple[Dataset, Dataset]:
    """Return both parts, projected by a reduction that was fitted on the training rows."""
    transformer.set_params(n_components=n_components)
    with warnings.catch_warnings():
        # The paper also had fewer directions than requested: there are as many as labels.
        warnings.simplefilter("ignore", UserWarning)
        transformer.fit(train.X, train.Y)
        seen, new = (dense(transformer.transform(part.X)) for part in (train, test))
    names = tuple(f"direction {at}" for at in range(seen.shape[1]))
    return (
        replace(train, X=seen, feature_names=names),
        replace(test, X=new, feature_names=names),
    )


def searched_on(job: Job, searched: bool) -> dict[str, str]:
    """Return the name of the GPU if one was used."""
    if not searched or job.backend != "torch":
        return {}
    from vicinal.gpu import device_name

    return {"gpu": device_name()}
