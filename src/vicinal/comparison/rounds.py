"""A round: every method on every fold of one data set, for one seed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from vicinal.comparison.entrants import Entrant
from vicinal.comparison.folds import Folds, count_folds, fold_rows, prepare
from vicinal.comparison.outcome import as_result, experiment_name, is_current
from vicinal.comparison.trial import Trial, run_trial
from vicinal.comparison.unfinished import Unfinished
from vicinal.datasets import Dataset
from vicinal.results import Result, ResultStore
from vicinal.results.record import Key
from vicinal.selection.store import digest_of


@dataclass(frozen=True, eq=False)
class Round:
    """What a round is of, and where its figures come from."""

    data: str
    dataset: Dataset
    seed: int
    provenance: Mapping[str, str]


@dataclass(eq=False)
class Runner:
    """Runs rounds, except for what the store holds already.

    Parameters
    ----------
    entrants : list of Entrant
    metrics : list of str
    folds : int or "split"
    preprocess : str
    n_jobs : int or None
    store : ResultStore or None
    found : dict of (data, method, seed) to Result
        Filled as rounds are run.
    """

    entrants: Sequence[Entrant]
    metrics: Sequence[str]
    folds: Folds
    preprocess: str
    n_jobs: int | None
    store: ResultStore | None
    found: dict[tuple[str, str, int], Result] = field(default_factory=dict)

    def run(self, at: Round) -> Iterator[None]:
        """Run a round, one step a fold; its results are kept when all its folds are in."""
        missing = [entrant for entrant in self.entrants if not self._is_known(at, entrant)]
        if not missing:
            yield from [None] * count_folds(self.folds)
            return
        for number, (train, test) in enumerate(fold_rows(at.dataset, self.folds, at.seed)):
            left = {
                key: entrant
                for entrant in missing
                if (key := self._key(at, entrant, number)) not in self._unfinished
            }
            if left:
                fold = prepare(at.dataset, train, test, self.preprocess)
                fold.search(list(left.values()), self.n_jobs)
            for key, entrant in left.items():
                trial = run_trial(entrant, fold, self.metrics, at.seed, self.n_jobs)
                self._unfinished[key] = trial
            yield
        for entrant in missing:
            keys = [self._key(at, entrant, number) for number in range(count_folds(self.folds))]
            self._keep(at, entrant, [self._unfinished[key] for key in keys])
        self._unfinished.clear()

    @cached_property
    def _unfinished(self) -> Unfinished:
        """The folds of the round in progress, in a file beside the store."""
        if self.store is None:
            return Unfinished(None)
        path = self.store.path
        return Unfinished(path.with_name(f"{path.name}.unfinished"))

    def _key(self, at: Round, entrant: Entrant, fold: int) -> str:
        """Return what tells a trial from every other."""
        origin = (at.provenance["data"], at.provenance["vicinal"])
        asked = (self.folds, at.seed, fold, sorted(self.metrics))
        settings = sorted(self._settings(entrant).items())
        return digest_of(at.data, entrant.name, origin, asked, settings)

    @cached_property
    def _stored(self) -> dict[Key, Result]:
        """What was in the store at the start."""
        return {} if self.store is None else {each.key: each for each in self.store.read()}

    def _is_known(self, at: Round, entrant: Entrant) -> bool:
        """Take a result from the store, where it is there and still true."""
        known = self._stored.get((experiment_name(self.folds), at.data, entrant.name, at.seed))
        settings = self._settings(entrant)
        if known is None or not is_current(known, settings, self.metrics, at.provenance):
            return False
        self.found[at.data, entrant.name, at.seed] = known
        return True

    def _keep(self, at: Round, entrant: Entrant, trials: Sequence[Trial]) -> None:
        """Keep a result, in the store too."""
        result = as_result(
            trials,
            experiment=experiment_name(self.folds),
            data=at.data,
            method=entrant.name,
            seed=at.seed,
            settings=self._settings(entrant),
            provenance=at.provenance,
            label_names=tuple(at.dataset.label_names),
        )
        if self.store is not None:
            self.store.add(result)
        self.found[at.data, entrant.name, at.seed] = result

    def _settings(self, entrant: Entrant) -> dict[str, object]:
        """Return all that a result depends on besides data, folds and seed."""
        return {**entrant.settings(), "preprocess": self.preprocess}
