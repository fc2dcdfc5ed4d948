"""Methods × data sets × folds, from one search per fold; stored results are not run again."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from vicinal._core.checks import check_flag, check_integer, check_sequence
from vicinal.comparison.candidates import (
    Candidate,
    ComparedData,
    Methods,
    compared_data,
    read_candidates,
)
from vicinal.comparison.kept_scores import ScoreStore, kept_fold
from vicinal.datasets import Dataset
from vicinal.errors import InvalidArgumentError, logger
from vicinal.graph import NeighborGraph
from vicinal.metrics import metric_info
from vicinal.metrics._sums import ratio
from vicinal.metrics.catalogue import every_metric
from vicinal.results import (
    Key,
    Result,
    ResultStore,
    digest_of,
    plain,
    provenance,
    run_provenance,
    source_hash,
)
from vicinal.selection.folds import Folds
from vicinal.selection.grid import Grid, Position, Search
from vicinal.selection.measure import Measured, Metrics
from vicinal.selection.runner import FEW_LABELS, FoldStore, Runner
from vicinal.selection.stratification import Split, read_splits

FoldsArgument: TypeAlias = Any
"""A number, ``"split"``, a scikit-learn splitter, or pairs of training and test rows."""
SPLIT = "split"


def fold_splits(dataset: ComparedData, folds: FoldsArgument, seed: int | None) -> list[Split]:
    """Return the training and test rows of each fold."""
    if not isinstance(folds, str):
        return read_splits(folds, np.empty((dataset.Y.shape[0], 0)), dataset.Y, seed)
    if dataset.train is None or dataset.test is None:
        expected = f"a number: {dataset.source or 'the data'} has no published split"
        raise InvalidArgumentError("folds", expected, repr(folds))
    return [Split(dataset.train, dataset.test)]


def is_custom(folds: FoldsArgument) -> bool:
    """Tell whether folds are the caller's own: a splitter, or pairs of rows."""
    return not isinstance(folds, str) and (hasattr(folds, "split") or isinstance(folds, Iterable))


def folds_text(folds: FoldsArgument) -> str:
    """Return a text that identifies a caller's own folds."""
    if isinstance(folds, list):
        rows = [np.asarray(each, dtype=np.int64) for pair in folds for each in pair]
        return digest_of(*rows)[:16]
    return str(plain(folds))


def count_folds(folds: FoldsArgument) -> int:
    """Return the validated number of folds."""
    if folds == SPLIT:
        return 1
    if is_custom(folds):
        return len(folds) if isinstance(folds, list) else int(folds.get_n_splits())
    if isinstance(folds, str):
        raise InvalidArgumentError("folds", "a number of folds, or 'split'", repr(folds))
    return check_integer("folds", folds, low=2)


EXPERIMENT = "compare"
NO_SCORES = "has no scores: ranking metrics are left out"


def experiment_name(folds: FoldsArgument) -> str:
    """Return the name of the experiment in results."""
    if is_custom(folds):
        return f"{EXPERIMENT}/{count_folds(folds)} folds of your own"
    return f"{EXPERIMENT}/{folds}" if folds == SPLIT else f"{EXPERIMENT}/{folds} folds"


SAME = ("data", "vicinal", "source", "graph")
"""The parts of the provenance that must be equal for a stored result to be reused."""


def _per_label(trials: Sequence[Measured]) -> dict[str, tuple[float, ...]]:
    """Return F1 and number of rows of each label, over the test rows of all folds together.

    A rare label occurs in few folds, so its F1 per fold would not be meaningful.
    """
    of_folds = ([getattr(trial.counts, part) for trial in trials] for part in ("tp", "fp", "fn"))
    tp, fp, fn = (np.sum(counts, axis=0) for counts in of_folds)
    f1 = ratio(2 * tp, 2 * tp + fp + fn, np.nan)
    return {"f1": tuple(f1.tolist()), "rows": tuple((tp + fn).astype(float).tolist())}


FAILURES = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, MemoryError, OSError,
    RuntimeError, TypeError, ValueError,
)  # fmt: skip
"""Exceptions of a method that do not end the comparison."""


@dataclass(frozen=True, eq=False)
class Run:
    """A data set and the seed of its folds, with the provenance of the figures."""

    data: str
    dataset: ComparedData
    seed: int
    provenance: Mapping[str, str]
    graph: NeighborGraph | None = None


@dataclass(eq=False)
class Experiment:
    """Evaluates methods on one data set after the other, reusing stored results."""

    candidates: Sequence[Candidate]
    metrics: Sequence[str]
    folds: FoldsArgument
    preprocess: object
    n_jobs: int | None
    store: ResultStore | None
    rerun: bool = False
    progress: bool = False
    kept_scores: ScoreStore | None = None
    found: dict[tuple[str, str, int], Result] = field(default_factory=dict)
    failed: dict[tuple[str, str, int], str] = field(default_factory=dict)

    def run(self, at: Run) -> None:
        """Evaluate the methods; a result is stored when all its folds are done."""
        missing = [each for each in self.candidates if not self._is_known(at, each)]
        if not missing:
            return
        runner = self._runner(at, missing)
        work: dict[str, tuple[Grid, Sequence[Position]]] = {}
        for each in missing:
            model = each.fresh(at.seed, self.n_jobs)
            grid = Grid(each.name, {}, template=model, about=self._settings(at, each))
            work[each.name] = grid, [()]  # its only setting
        runner.run(work, f"Comparing on {at.data}")
        if not runner.complete:
            raise KeyboardInterrupt
        for candidate in missing:
            why = runner.failed.get(candidate.name)
            if why is not None:
                self.failed[at.data, candidate.name, at.seed] = why
                said = "%s failed on %s and is left out there: %s"
                logger.warning(said, candidate.name, at.data, why)
            else:
                of_folds = runner.measured(candidate.name)
                self._keep(at, candidate, [of_folds[n] for n in sorted(of_folds)], runner.folds)
        self._unfinished.clear()

    def _runner(self, at: Run, candidates: Sequence[Candidate]) -> Runner:
        """Return the runner of one data set and seed."""
        data, splits = at.dataset, fold_splits(at.dataset, self.folds, at.seed)
        widths: dict[Search, int] = {}
        for each in candidates:
            widths[each.search] = max(each.n_neighbors, widths.get(each.search, 0))
        steps = data.preprocessing(self.preprocess)
        origin = tuple(at.provenance.get(name, "") for name in ("data", "vicinal", "graph"))
        return Runner(
            Folds(data.X, data.Y, splits, widths, self.n_jobs, steps, graph=at.graph),
            Metrics(tuple(self.metrics)),
            self._unfinished,
            self.n_jobs,
            self.progress,
            detailed=True,
            failures=FAILURES,
            common=(at.data, *origin, folds_text(self.folds), at.seed, self._own_metrics),
            kept=None if self.kept_scores is None else partial(self._keep_scores, at, splits),
            was_kept=None if self.kept_scores is None else partial(self._has_scores, at),
        )

    def _key(self, at: Run, method: str) -> Key:
        """Return the key of a method's result."""
        return experiment_name(self.folds), at.data, method, at.seed

    def _keep_scores(
        self, at: Run, splits: Sequence[Split], grid: Grid, fold: int, found: Measured
    ) -> None:
        """Write the scores and labels of a fold's held-out rows."""
        if self.kept_scores is not None and found.labels is not None:
            Y, split = at.dataset.Y, splits[fold]
            kept = kept_fold(Y[split.test], found.labels, found.scores, Y[split.train])
            self.kept_scores.add(self._key(at, grid.method), fold, kept)

    def _has_scores(self, at: Run, grid: Grid, fold: int) -> bool:
        """Tell whether the scores of a fold were kept."""
        key = self._key(at, grid.method)
        return self.kept_scores is not None and self.kept_scores.path(key, fold).is_file()

    @cached_property
    def _own_metrics(self) -> str:
        """A hash of the source of metrics from outside the library."""
        infos = map(metric_info, self.metrics)
        return source_hash(*(each.function for each in infos if each.function is not None))

    @cached_property
    def _unfinished(self) -> FoldStore:
        """The completed folds of the current data set and seed, in a file next to the store."""
        path = None if self.store is None else self.store.path
        beside = path if path is None else path.with_name(f"{path.name}.unfinished")
        if self.rerun and beside is not None:
            beside.unlink(missing_ok=True)
        return FoldStore(beside, what="a fold of a comparison")

    @cached_property
    def _stored(self) -> dict[Key, Result]:
        """The results in the store at the start."""
        return {} if self.store is None else {each.key: each for each in self.store.read()}

    def _is_known(self, at: Run, candidate: Candidate) -> bool:
        """Reuse a result from the store if it exists and is current."""
        if self.rerun:
            return False
        key = self._key(at, candidate.name)
        known = self._stored.get(key)
        if known is None or dict(known.settings) != self._settings(at, candidate):
            return False
        origin = self._origin(at, candidate)
        if any(known.provenance.get(name) != origin.get(name) for name in SAME):
            return False
        infos = [metric_info(name) for name in self.metrics]
        wanted = [each for each in infos if known.note != NO_SCORES or each.needs == "labels"]
        if any(each.name not in known.values for each in wanted):
            return False
        n_folds = max(map(len, known.values.values()), default=0)
        if self.kept_scores is not None and not self.kept_scores.has(key, n_folds):
            return False
        self.found[at.data, candidate.name, at.seed] = known
        return True

    def _origin(self, at: Run, candidate: Candidate) -> dict[str, str]:
        """Return the provenance of a method's results; its source if it is not the library's."""
        source = candidate.source(at.dataset.preprocessing(self.preprocess)) + self._own_metrics
        return {**at.provenance, **({"source": source} if source else {})}

    def _keep(self, at: Run, candidate: Candidate, folds: Sequence[Measured], made: Folds) -> None:
        """Keep the folds of a method as one result, and add it to the store."""
        first, names = folds[0], tuple(at.dataset.label_names)
        few = len(names) <= FEW_LABELS
        seconds = {s: tuple(each.seconds.get(s, 0.0) for each in folds) for s in first.seconds}
        chosen = [", ".join(f"{name}={v}" for name, v in each.chosen.items()) for each in folds]
        note = "chosen, fold by fold: " + "; ".join(chosen) if any(chosen) else ""
        measured = [name for name in self.metrics if name in first.values]
        result = Result(
            *self._key(at, candidate.name)[:3],
            {name: tuple(each.values[name] for each in folds) for name in measured},
            self._settings(at, candidate),
            at.seed,
            seconds={step: sum(each) for step, each in seconds.items()},
            fold_seconds=seconds,
            per_label=_per_label(folds) if few else {},
            label_names=names if few else (),
            note=note if first.has_scores else NO_SCORES,
            provenance={**self._origin(at, candidate), "folds": made.digest},
        )
        if self.store is not None:
            self.store.add(result)
        self.found[at.data, candidate.name, at.seed] = result

    def _settings(self, at: Run, candidate: Candidate) -> dict[str, object]:
        """Return everything a result depends on other than data, folds and seed."""
        own = {"folds": folds_text(self.folds)} if is_custom(self.folds) else {}
        steps = [plain(step) for _, step in at.dataset.preprocessing(self.preprocess)]
        asked = {"preprocess": plain(self.preprocess), "steps": steps}
        return {**candidate.settings(), **asked, **own}


class Results(list[Result]):
    """The results of a comparison.

    Parameters
    ----------
    results : iterable of Result
        The results to combine.
    failed : mapping of (data, method, seed) to str
        The methods that failed on a data set, and why.
    """

    def __init__(
        self, results: Iterable[Result], failed: Mapping[tuple[str, str, int], str] | None = None
    ) -> None:
        super().__init__(results)
        self.failed = dict(failed or {})


One: TypeAlias = Any
"""A data set, what :func:`vicinal.datasets.load` takes, or a pair (X, Y)."""
Data: TypeAlias = Sequence[One] | Mapping[str, One] | tuple[Any, Any]


def compare(
    datasets: Data,
    methods: Methods,
    *,
    metrics: Sequence[str] | None = None,
    folds: FoldsArgument = 10,
    seeds: Sequence[int] = (0,),
    preprocess: object = "auto",
    store: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    graphs: Mapping[str, NeighborGraph] | NeighborGraph | None = None,
    rerun: bool = False,
    keep_scores: bool = False,
) -> Results:
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
        Number of threads; None uses all available ones.
    progress : bool
        Whether to show a progress bar on a terminal.
    graphs : mapping of data set to NeighborGraph, NeighborGraph, or None
        Leave-one-out graphs of all rows that replace the neighbour search on these data sets, for
        example of a custom similarity. Each list needs enough neighbours that the largest k of
        them are training rows in every fold.
    rerun : bool
        Whether to compute stored results again.
    keep_scores : bool
        Whether to keep the scores and predictions of the held-out rows in the folder
        ``STORE.scores``, from which ``vicinal measure`` computes further metrics. Where there are
        more than 1,000 labels, the 100 best scores of each row are kept.

    Returns
    -------
    Results
        A list of :class:`vicinal.results.Result`, sorted by data set, method and seed. A method
        that fails is left out on that data set, with a warning from the logger ``vicinal``, and
        listed with its error in the attribute ``failed``; the other methods continue. ``per_label``
        contains the F1 and the number of rows of each label over all test rows of a result.

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
    >>> for result in compare({"line": data}, pair, folds=3, metrics=["hamming-loss"]):
    ...     print(result.data, result.method, result.values)
    line BR {'hamming-loss': (0.0, 0.0, 0.0)}
    line LP {'hamming-loss': (0.0, 0.0, 0.0)}
    """
    if check_flag("keep_scores", keep_scores) and store is None:
        raise InvalidArgumentError("store", "a results file, which keep_scores needs", None)
    experiment = Experiment(
        candidates=read_candidates(methods),
        metrics=_metric_names(metrics),
        folds=list(folds) if is_custom(folds) and not hasattr(folds, "split") else folds,
        preprocess=preprocess,
        n_jobs=n_jobs,
        store=None if store is None else ResultStore(store),
        rerun=check_flag("rerun", rerun),
        progress=progress,
        kept_scores=ScoreStore(store) if store is not None and keep_scores else None,
    )
    named = _named(datasets)
    seeds = [check_integer("seeds", seed, low=0) for seed in check_sequence("seeds", seeds)]
    if not named or not seeds:
        raise InvalidArgumentError("datasets, seeds", "at least one of each", "none")
    count_folds(experiment.folds)
    own = read_graphs(graphs, named)
    about = run_provenance()
    for name, given in named.items():  # only one data set is in memory
        dataset, graph = compared_data(given, name), own.get(name)
        origin = {**provenance(), **about, "data": dataset.digest}
        if graph is not None:
            origin["graph"] = digest_of(graph.ids, graph.values, graph.metric)[:16]
        for seed in seeds:
            experiment.run(Run(name, dataset, seed, origin, graph))
    names = [each.name for each in experiment.candidates]
    if not experiment.found:
        failed = experiment.failed.items()
        reasons = "; ".join(f"{method} on {data}, {why}" for (data, method, _), why in failed)
        raise InvalidArgumentError("methods", "a method that works", reasons)
    order = product(named, names, seeds)
    kept = [experiment.found[key] for key in order if key in experiment.found]
    return Results(kept, experiment.failed)


def read_graphs(graphs: object, named: Mapping[str, One]) -> dict[str, NeighborGraph]:
    """Return the caller's graphs by data set."""
    if graphs is None:
        return {}
    if isinstance(graphs, NeighborGraph):
        if len(named) > 1:
            raise InvalidArgumentError("graphs", "a mapping of data set to graph", "one graph")
        return dict.fromkeys(named, graphs)
    if not isinstance(graphs, Mapping):
        raise InvalidArgumentError("graphs", "a mapping of data set to graph", type(graphs))
    for name, graph in graphs.items():
        if name not in named:
            raise InvalidArgumentError("graphs", f"names of data sets ({', '.join(named)})", name)
        if not isinstance(graph, NeighborGraph):
            raise InvalidArgumentError("graphs", "values of NeighborGraph", type(graph))
    return dict(graphs)


def _named(datasets: Data) -> dict[str, One]:
    """Return the data sets by name."""
    if isinstance(datasets, str | Dataset | ComparedData):
        datasets = [datasets]
    if isinstance(datasets, tuple) and len(datasets) == 2:
        kinds = (str, PathLike, Dataset, ComparedData)
        if not all(isinstance(each, kinds) for each in datasets):
            return {"data": datasets}  # a pair (X, Y)
    if isinstance(datasets, Mapping):
        return {str(name): each for name, each in datasets.items()}
    named: dict[str, One] = {}
    for each in check_sequence("datasets", datasets):
        name = _name(each)
        if name in named:
            raise InvalidArgumentError("datasets", "different names", f"{name!r} twice")
        named[name] = each
    return named


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
