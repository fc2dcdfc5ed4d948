"""The state that only changes of a model use: the lock, the live graph, the label counts."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from vicinal._base.arrays import Csr, Int
from vicinal._base.fork_lock import ForkLock
from vicinal.decision import Decision
from vicinal.estimators.live_graph import LiveGraph
from vicinal.estimators.version import Version


class Writer:
    """Serialises changes of a model, and keeps the data they need up to date with its version.

    This data is changed in place, so it is dropped whenever a change is incomplete: it failed, was
    interrupted, or was under way in another process when this one was forked from it.
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
        """Start with an empty writer in a copy or another process."""
        return Writer, ()

    @contextmanager
    def changing(self, version: Version) -> Iterator[None]:
        """Drop data that does not belong to this version, and all data if the change fails."""
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
        """Drop all data."""
        self.graph = self._counts = self._of = self.rule = None

    def follows(self, version: Version) -> bool:
        """Tell whether the data belongs to a version."""
        return self._of is version and not self._is_changing

    def keep_for(self, version: Version) -> None:
        """Record that the data now belongs to this version."""
        self._of = version

    def known_counts(self) -> Int | None:
        """Return how many rows have each label, or None if that is not known."""
        return self._counts

    def keep_counts(self, counts: Int) -> Int:
        """Store how many rows have each label."""
        self._counts = counts
        return counts

    def count(self, Y: Csr, by: int) -> None:
        """Update the label counts for rows that were added (`by` 1) or removed (−1), if known."""
        if self._counts is None:
            return
        more = int(Y.shape[1]) - len(self._counts)
        if more:
            self._counts = np.append(self._counts, np.zeros(more, dtype=np.int64))
        np.add.at(self._counts, Y.indices, by)
