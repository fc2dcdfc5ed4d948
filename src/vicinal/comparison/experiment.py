"""Methods × data sets × folds, from one search per fold; stored results are not run again."""

import os
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.progress import progress as with_bar
from vicinal._base.validation import check_integer, check_sequence
from vicinal.comparison.candidates import Methods, read_candidates
from vicinal.comparison.compared_data import ComparedData, compared_data
from vicinal.comparison.folds import Folds, count_folds, read_folds
from vicinal.comparison.runner import Run, Runner
from vicinal.datasets import Dataset
from vicinal.metrics import metric_info
from vicinal.metrics.catalogue import every_metric
from vicinal.results import Result, ResultStore, provenance

One: TypeAlias = Any
"""A data set, what :func:`vicinal.datasets.load` takes, or a pair (X, Y)."""
Data: TypeAlias = Sequence[One] | Mapping[str, One] | tuple[Any, Any]


def run_comparison(
    datasets: Data,
    methods: Methods,
    *,
    metrics: Sequence[str] | None = None,
    folds: Folds = 10,
    seeds: Sequence[int] = (0,),
    preprocess: object = "auto",
    store: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> list[Result]:
    """Evaluate methods on data sets with every metric on every fold.

    Parameters
    ----------
    datasets : sequence of str or Dataset, mapping of name to these, or (X, Y)
        As :func:`vicinal.datasets.load` takes them. A value of the mapping may be a pair (X, Y):
        features or texts, and an indicator or label names. Words of texts are counted in each fold
        as ``vicinal train`` counts them.
    methods : sequence of str, or mapping of name to method or estimator
        Names of ``vicinal.estimators.METHODS`` or of baselines (``boostexter``, ``adtboost``,
        ``rank-svm``, ``br-svm``, ``frequency``), or ``module:Class``; or a mapping from display
        names to such a name, an estimator of vicinal, a :class:`Tuned` method (its settings are
        chosen on the training rows of each fold), or any scikit-learn estimator that takes a label
        indicator.
    metrics : sequence of str or None
        As in :data:`vicinal.metrics.METRICS`; None for all of them, with k = 1, 3 and 5. For an
        estimator without scores, only metrics that need no scores are computed.
    folds : int, "split", splitter, or iterable of (train, test)
        Folds of shuffled iterative stratification, the published split, or your own folds: a
        scikit-learn splitter, or row ids.
    seeds : sequence of int
        One set of folds per seed; the seed is also used for methods whose random_state is None.
    preprocess : str, transformer, or list of transformers
        Steps fitted on the training rows (:func:`vicinal.preprocess.make_steps`): ``"auto"`` scales
        dense features to [0, 1] and does not change sparse ones. Unfitted transformers receive the
        rows as they were passed.
    store : path or None
        Results file. Existing results for the same data, settings and version are reused. The
        completed folds of the current data set and seed are stored in a second file next to it, so
        that an interrupted run resumes with the next fold.
    n_jobs : int or None
    progress : bool
        Whether to show a progress bar on a terminal.

    Returns
    -------
    list of Result
        Sorted by data set, method and seed. A method that fails is skipped on that data set, with a
        warning from the logger ``vicinal``; the other methods continue. ``per_label`` contains the
        F1 and the number of rows of each label over all test rows of a result.

    Notes
    -----
    In each fold the neighbours are searched once per distance and index (``algorithm`` of the
    estimators), with the largest k of any method, and all methods share the two graphs. Each
    method's result equals that of fitting it alone.

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.array([[0.0], [1], [2], [10], [11], [12]]), [[1, 0]] * 3 + [[0, 1]] * 3
    >>> data = Dataset(X, Y, feature_names=("f",), label_names=("near", "far"))
    >>> from vicinal.estimators import BRkNN, LPkNN
    >>> pair = {"BR": BRkNN(1), "LP": LPkNN(1)}
    >>> for result in run_comparison({"line": data}, pair, folds=3, metrics=["hamming-loss"]):
    ...     print(result.data, result.method, result.values)
    line BR {'hamming-loss': (0.0, 0.0, 0.0)}
    line LP {'hamming-loss': (0.0, 0.0, 0.0)}
    """
    runner = Runner(
        candidates=read_candidates(methods),
        metrics=_metric_names(metrics),
        folds=read_folds(folds),
        preprocess=preprocess,
        n_jobs=n_jobs,
        store=None if store is None else ResultStore(store),
    )
    named = _named(datasets)
    seeds = [check_integer("seeds", seed, low=0) for seed in check_sequence("seeds", seeds)]
    if not named or not seeds:
        raise InvalidArgumentError("datasets, seeds", "at least one of each", "none")
    n_steps = len(named) * len(seeds) * count_folds(runner.folds)
    steps = _steps(runner, named, seeds)
    for _ in with_bar(steps, "Comparing", n_steps) if progress else steps:
        pass
    keys = [(data, method.name, s) for data in named for method in runner.candidates for s in seeds]
    if not runner.found:
        raise InvalidArgumentError("methods", "a method that works", "; ".join(_reasons(runner)))
    return [runner.found[key] for key in keys if key in runner.found]


def _reasons(runner: Runner) -> list[str]:
    """Return why each method failed."""
    return [f"{method} on {data}: {why}" for (data, method, _), why in runner.failed.items()]


def _steps(runner: Runner, named: Mapping[str, One], seeds: Sequence[int]) -> Iterator[None]:
    """Evaluate one data set after the other, one step per fold; only one data set is in memory."""
    for name, given in named.items():
        dataset = compared_data(given, name)
        origin = {**provenance(), "data": dataset.digest}
        for seed in seeds:
            yield from runner.run(Run(name, dataset, seed, origin))


def _named(datasets: Data) -> dict[str, One]:
    """Return the data sets by name."""
    if isinstance(datasets, str | Dataset | ComparedData):
        datasets = [datasets]
    if isinstance(datasets, tuple) and len(datasets) == 2 and not _are_data(datasets):
        return {"data": datasets}
    if isinstance(datasets, Mapping):
        return {str(name): each for name, each in datasets.items()}
    named: dict[str, One] = {}
    for each in check_sequence("datasets", datasets):
        name = _name(each)
        if name in named:
            raise InvalidArgumentError("datasets", "different names", f"{name!r} twice")
        named[name] = each
    return named


def _are_data(given: Sequence[Any]) -> bool:
    """Tell whether each part is a data set or names one, as the parts of (X, Y) do not."""
    return all(isinstance(each, str | PathLike | Dataset | ComparedData) for each in given)


def _name(given: One) -> str:
    """Return a name for a data set that was passed without one."""
    if isinstance(given, Dataset | ComparedData):
        return given.source or "data"
    if not isinstance(given, str | PathLike):
        expected = "names, files and data sets; put pairs (X, Y) into a mapping by name"
        raise InvalidArgumentError("datasets", expected, type(given).__name__)
    return Path(given).name


def _metric_names(metrics: Sequence[str] | None) -> list[str]:
    """Return the validated metrics to compute; all by default."""
    if metrics is None:
        return every_metric()
    names = [metrics] if isinstance(metrics, str) else metrics
    return list(dict.fromkeys(metric_info(name).name for name in names))
