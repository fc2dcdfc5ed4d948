"""Every method on every fold of one data set, for one seed; completed folds are reused."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from vicinal._base.log import logger
from vicinal.comparison.candidates import Candidate
from vicinal.comparison.compared_data import ComparedData
from vicinal.comparison.folds import (
    Folds,
    count_folds,
    fold_splits,
    folds_text,
    is_custom,
    prepared_folds,
)
from vicinal.comparison.kept_trials import KeptTrials, kept_trials
from vicinal.comparison.outcome import as_result, experiment_name, is_current
from vicinal.comparison.trial import Trial, run_trial
from vicinal.results import Result, ResultStore
from vicinal.results.digest import digest_of, plain
from vicinal.results.record import Key
from vicinal.selection.fold_source import CurrentFold

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
