"""Methods × data sets × folds, from one search per fold; stored results are not run again."""

import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from vicinal._core.checks import check_integer, check_sequence
from vicinal._core.progress import progress as with_bar
from vicinal.comparison.candidates import (
    Candidate,
    ComparedData,
    Methods,
    Tuned,
    compared_data,
    read_candidates,
)
from vicinal.datasets import Dataset
from vicinal.errors import InvalidArgumentError, logger
from vicinal.methods.folds import Fold, answers, answers_on, fit_on
from vicinal.metrics import evaluate, metric_info
from vicinal.metrics._sums import check_labels, ratio
from vicinal.metrics.catalogue import every_metric
from vicinal.metrics.label_based import LabelCounts, count_labels
from vicinal.results import Key, Result, ResultStore, ResumableStore, digest_of, plain, provenance
from vicinal.selection.folds import CurrentFold, PreparedFolds, Widths
from vicinal.selection.grid import Search
from vicinal.selection.stratification import Split, read_splits


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


Folds: TypeAlias = Any
"""A number, ``"split"``, a scikit-learn splitter, or pairs of training and test rows."""
SPLIT = "split"


def fold_splits(dataset: ComparedData, folds: Folds, seed: int | None) -> list[Split]:
    """Return the training and test rows of each fold.

    A number of folds gives stratified folds (:class:`vicinal.selection.IterativeStratification`).
    """
    if is_custom(folds):
        rows = np.empty((dataset.Y.shape[0], 0))
        return read_splits(folds, rows, dataset.Y, seed)
    if folds == SPLIT:
        if dataset.train is None or dataset.test is None:
            expected = f"a number: {dataset.source or 'the data'} has no published split"
            raise InvalidArgumentError("folds", expected, repr(SPLIT))
        return [Split(dataset.train, dataset.test)]
    return read_splits(check_integer("folds", folds, low=2), dataset.X, dataset.Y, seed)


def is_custom(folds: Folds) -> bool:
    """Tell whether folds are the caller's own: a splitter, or pairs of rows."""
    return not isinstance(folds, str) and (hasattr(folds, "split") or isinstance(folds, Iterable))


def read_folds(folds: Folds) -> Folds:
    """Return folds that can be iterated more than once."""
    return folds if hasattr(folds, "split") or not is_custom(folds) else list(folds)


def folds_text(folds: Folds) -> str:
    """Return a text that identifies a caller's own folds.

    Examples
    --------
    >>> folds_text(10), folds_text([([0], [1])]) == folds_text([([1], [0])])
    ('10', False)
    """
    if isinstance(folds, list):
        rows = [np.asarray(each, dtype=np.int64) for pair in folds for each in pair]
        return digest_of(*rows)[:16]
    return str(plain(folds))


def count_folds(folds: Folds) -> int:
    """Return the validated number of folds."""
    if folds == SPLIT:
        return 1
    if is_custom(folds):
        return len(folds) if isinstance(folds, list) else int(folds.get_n_splits())
    if isinstance(folds, str):
        raise InvalidArgumentError("folds", "a number of folds, or 'split'", repr(folds))
    return check_integer("folds", folds, low=2)


def prepared_folds(
    dataset: ComparedData,
    splits: Sequence[Split],
    candidates: Sequence[Candidate],
    preprocess: object,
    n_jobs: int | None,
) -> PreparedFolds:
    """Return folds preprocessed on their training rows, with the neighbours all methods need.

    Memory: 12 bytes per row and neighbour.
    """
    widest: dict[Search, int] = {}
    for each in candidates:
        widest[each.search] = max(each.n_neighbors, widest.get(each.search, 0))
    steps = dataset.preprocessing(preprocess)
    return PreparedFolds(dataset.X, dataset.Y, splits, Widths(widest), steps, n_jobs)


EXPERIMENT = "compare"
NO_SCORES = "has no scores: ranking metrics are left out"
MOST_LABELS = 5000
"""With more labels than this, no values per label are stored, as a result is one line of text."""


def experiment_name(folds: Folds) -> str:
    """Return the name of the experiment in results.

    Examples
    --------
    >>> experiment_name(10), experiment_name("split")
    ('compare/10 folds', 'compare/split')
    """
    if is_custom(folds):
        return f"{EXPERIMENT}/{count_folds(folds)} folds of your own"
    return f"{EXPERIMENT}/{folds}" if folds == SPLIT else f"{EXPERIMENT}/{folds} folds"


def as_result(trials: Sequence[Trial], *, label_names: tuple[str, ...], **fields: Any) -> Result:
    """Return the folds of a method as one result."""
    first = trials[0]
    few = len(label_names) <= MOST_LABELS
    return Result(
        values={name: tuple(trial.values[name] for trial in trials) for name in first.values},
        seconds={
            step: sum(trial.seconds.get(step, 0.0) for trial in trials) for step in first.seconds
        },
        per_label=_per_label(trials) if few else {},
        label_names=label_names if few else (),
        note=_chosen(trials) if first.has_scores else NO_SCORES,
        **fields,
    )


def is_current(
    known: Result,
    settings: Mapping[str, object],
    metrics: Iterable[str],
    provenance: Mapping[str, str],
) -> bool:
    """Tell whether running again would give the stored result.

    It must have the same data, settings and version, and contain all requested metrics.
    """
    scored = known.note != NO_SCORES
    wanted = [name for name in metrics if scored or metric_info(name).needs == "labels"]
    return (
        dict(known.settings) == dict(settings)
        and all(known.provenance.get(name) == provenance[name] for name in ("data", "vicinal"))
        and all(name in known.values for name in wanted)
    )


def _chosen(trials: Sequence[Trial]) -> str:
    """Return the settings that a tuned method chose in each fold; empty for other methods."""
    said = [", ".join(f"{name}={value}" for name, value in t.chosen.items()) for t in trials]
    return "chosen, fold by fold: " + "; ".join(said) if any(said) else ""


def _per_label(trials: Sequence[Trial]) -> dict[str, tuple[float, ...]]:
    """Return F1 and number of rows of each label, over the test rows of all folds together.

    A rare label occurs in few folds, so its F1 per fold would not be meaningful. NaN if no row has
    the label and it is never predicted.
    """
    tp, fp, fn = (
        np.sum([getattr(trial.counts, part) for trial in trials], axis=0)
        for part in ("tp", "fp", "fn")
    )
    f1 = ratio(2 * tp, 2 * tp + fp + fn, np.nan)
    return {"f1": tuple(f1.tolist()), "rows": tuple((tp + fn).astype(float).tolist())}


COUNTS = ("tp", "fp", "fn")


KeptTrials: TypeAlias = ResumableStore[str, Trial]


def kept_trials(path: Path | None) -> KeptTrials:
    """Return the trials that an interrupted run stored for the current data set and seed.

    Memory: 24 bytes per label, method and fold; about the same in the file if there are few enough
    labels to store a value for each.
    """
    return ResumableStore(path, "a fold of a comparison", _read, _parts)


def _parts(key: str, trial: Trial) -> dict[str, Any]:
    """Return a trial as JSON values."""
    values = {name: None if math.isnan(x) else x for name, x in trial.values.items()}
    counts = [getattr(trial.counts, name) for name in COUNTS]
    return {
        "trial": key,
        "values": values,
        "counts": [each.tolist() if len(each) <= MOST_LABELS else [] for each in counts],
        "seconds": trial.seconds,
        "has_scores": trial.has_scores,
        "chosen": plain(trial.chosen),
    }


def _read(parts: Mapping[str, Any]) -> tuple[str, Trial]:
    """Return the key and the trial of a line."""
    try:
        counts = [np.array(each, dtype=np.int64) for each in parts["counts"]]
        trial = Trial(
            values={
                name: math.nan if x is None else float(x) for name, x in parts["values"].items()
            },
            counts=LabelCounts(*counts),
            seconds={name: float(x) for name, x in parts["seconds"].items()},
            has_scores=bool(parts["has_scores"]),
            chosen=dict(parts["chosen"]),
        )
        return str(parts["trial"]), trial
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidArgumentError("line", "a trial", repr(error)) from None


FAILURES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Exceptions of a method that do not end the comparison."""


@dataclass(frozen=True, eq=False)
class Run:
    """A data set and the seed of its folds, with the provenance of the figures."""

    data: str
    dataset: ComparedData
    seed: int
    provenance: Mapping[str, str]


@dataclass(eq=False)
class Runner:
    """Evaluates methods, reusing stored results.

    Parameters
    ----------
    candidates : list of Candidate
    metrics : list of str
    folds : int, "split", splitter or pairs of rows
    preprocess : str, transformer or several
    n_jobs : int or None
    store : ResultStore or None
    found : dict of (data, method, seed) to Result
        Filled as methods are evaluated.
    failed : dict of (data, method, seed) to str
        Why a method could not be evaluated; the others continue.
    """

    candidates: Sequence[Candidate]
    metrics: Sequence[str]
    folds: Folds
    preprocess: object
    n_jobs: int | None
    store: ResultStore | None
    found: dict[tuple[str, str, int], Result] = field(default_factory=dict)
    failed: dict[tuple[str, str, int], str] = field(default_factory=dict)

    def run(self, at: Run) -> Iterator[None]:
        """Evaluate the methods, one step per fold; results are stored when all folds are done."""
        missing = [each for each in self.candidates if not self._is_known(at, each)]
        if not missing:
            yield from [None] * count_folds(self.folds)
            return
        splits = fold_splits(at.dataset, self.folds, at.seed)
        prepared = prepared_folds(at.dataset, splits, missing, self.preprocess, self.n_jobs)
        current = CurrentFold(prepared)
        for number in range(len(splits)):
            for candidate in missing:
                key = self._key(at, candidate, number)
                if key not in self._trials and not self._has_failed(at, candidate):
                    fold = current.fold(number, candidate.search)
                    try:
                        trial = run_trial(candidate, fold, self.metrics, at.seed, self.n_jobs)
                    except FAILURES as error:
                        self._fail(at, candidate, number, error)
                    else:
                        self._trials[key] = trial
            yield
        for candidate in missing:
            if self._has_failed(at, candidate):
                continue
            keys = [self._key(at, candidate, number) for number in range(len(splits))]
            self._keep(at, candidate, [self._trials[key] for key in keys])
        self._trials.clear()

    @cached_property
    def _trials(self) -> KeptTrials:
        """The completed folds of the current run, in a file next to the store."""
        path = None if self.store is None else self.store.path
        return kept_trials(path if path is None else path.with_name(f"{path.name}.unfinished"))

    def _has_failed(self, at: Run, candidate: Candidate) -> bool:
        """Tell whether a method failed on a fold of this run."""
        return (at.data, candidate.name, at.seed) in self.failed

    def _fail(self, at: Run, candidate: Candidate, fold: int, error: BaseException) -> None:
        """Report a method that failed; if it is the only method, the comparison ends."""
        if len(self.candidates) == 1:
            raise error
        why = f"{type(error).__name__}: {error}"
        self.failed[at.data, candidate.name, at.seed] = why
        logger.warning(
            "%s failed on %s, fold %d, and is left out there: %s",
            candidate.name,
            at.data,
            fold + 1,
            why,
        )

    def _key(self, at: Run, candidate: Candidate, fold: int) -> str:
        """Return a key that identifies a trial."""
        origin = (at.provenance["data"], at.provenance["vicinal"])
        asked = (folds_text(self.folds), at.seed, fold, sorted(self.metrics))
        settings = sorted(self._settings(candidate).items())
        return digest_of(at.data, candidate.name, origin, asked, settings)

    @cached_property
    def _stored(self) -> dict[Key, Result]:
        """The results in the store at the start."""
        return {} if self.store is None else {each.key: each for each in self.store.read()}

    def _is_known(self, at: Run, candidate: Candidate) -> bool:
        """Reuse a result from the store if it exists and is current."""
        known = self._stored.get((experiment_name(self.folds), at.data, candidate.name, at.seed))
        settings = self._settings(candidate)
        if known is None or not is_current(known, settings, self.metrics, at.provenance):
            return False
        self.found[at.data, candidate.name, at.seed] = known
        return True

    def _keep(self, at: Run, candidate: Candidate, trials: Sequence[Trial]) -> None:
        """Keep a result, and add it to the store."""
        result = as_result(
            trials,
            experiment=experiment_name(self.folds),
            data=at.data,
            method=candidate.name,
            seed=at.seed,
            settings=self._settings(candidate),
            provenance=at.provenance,
            label_names=tuple(at.dataset.label_names),
        )
        if self.store is not None:
            self.store.add(result)
        self.found[at.data, candidate.name, at.seed] = result

    def _settings(self, candidate: Candidate) -> dict[str, object]:
        """Return everything a result depends on other than data, folds and seed."""
        own = {"folds": folds_text(self.folds)} if is_custom(self.folds) else {}
        return {**candidate.settings(), "preprocess": plain(self.preprocess), **own}


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
        Names of ``vicinal.methods.METHODS`` or of baselines (``boostexter``, ``adtboost``,
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
    >>> from vicinal.methods import BRkNN, LPkNN
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
