"""What only those who change a model read: the lock, the live graph, the label counts."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from vicinal._base.arrays import Csr, Int
from vicinal._base.fork_lock import ForkLock
from vicinal.decision import Decision
from vicinal.estimators.live_graph import LiveGraph
from vicinal.estimators.version import Version


class Writer:
    """Serialises changes of a model, and keeps what they need in step with its newest version.

    What is kept is changed in place, so it is dropped wherever a change did not come to its end:
    it failed, was interrupted, or belongs to a process that this one was forked from.
    """

    def __init__(self) -> None:
        self.lock = ForkLock()
        self.graph: LiveGraph | None = None
        self._counts: Int | None = None
        self._of: Version | None = None
        self._is_changing = False
        self.rule: Decision | None = None
        self.fits_threshold = False

    def __reduce__(self) -> tuple[object, ...]:
        """Start anew in a copy or another process."""
        return Writer, ()

    @contextmanager
    def changing(self, version: Version) -> Iterator[None]:
        """Keep nothing within that is not of this version, nor afterwards if it fails."""
        if self._is_changing or self._of is not version:
            self.drop()
        self._is_changing = True
        try:
            yield
        except BaseException:
            self.drop()
            raise
        finally:
            self._is_changing = False

    def drop(self) -> None:
        """Keep nothing."""
        self.graph = self._counts = self._of = self.rule = None

    def follows(self, version: Version) -> bool:
        """Tell whether what is kept is of a version."""
        return self._of is version and not self._is_changing

    def keep_for(self, version: Version) -> None:
        """Say that what is kept is of a version, the newest from now on."""
        self._of = version

    def known_counts(self) -> Int | None:
        """Return how many rows carry each label, where that is kept."""
        return self._counts

    def keep_counts(self, counts: Int) -> Int:
        """Keep how many rows carry each label."""
        self._counts = counts
        return counts

    def count(self, Y: Csr, by: int) -> None:
        """Count labels of rows that came (`by` 1) or went (−1), where counts are kept."""
        if self._counts is None:
            return
        more = int(Y.shape[1]) - len(self._counts)
        if more:
            self._counts = np.append(self._counts, np.zeros(more, dtype=np.int64))
        np.add.at(self._counts, Y.indices, by)
