"""The clusters of Weka's k-means, which Java's random numbers initialise from a fixed seed."""

from dataclasses import dataclass

import numpy as np

from vicinal._core.arrays import Float, Int
from vicinal.methods.lamlknn import nearest_center

SEED = 10
"""Weka's default."""

ROUNDS = 500
"""Maximum number of iterations of k-means."""

MULTIPLIER, INCREMENT, BITS = 0x5DEECE66D, 0xB, 48


@dataclass
class JavaRandom:
    """The integers of ``java.util.Random``: a linear congruential generator of 48 bits.

    Examples
    --------
    >>> random = JavaRandom(42)
    >>> [random.below(10) for _ in range(5)]
    [0, 3, 8, 4, 0]
    """

    seed: int

    def __post_init__(self) -> None:
        """Scramble the seed, as Java does."""
        self._state: int = (self.seed ^ MULTIPLIER) % 2**BITS

    def below(self, bound: int) -> int:
        """Return a uniformly distributed number from 0 to `bound` − 1."""
        if bound & (bound - 1) == 0:
            return (bound * self._bits31()) >> 31
        while True:
            bits = self._bits31()
            # The last, incomplete interval of `bound` numbers would favour low numbers.
            if bits - bits % bound + bound <= 2**31:
                return bits % bound

    def _bits31(self) -> int:
        self._state = (self._state * MULTIPLIER + INCREMENT) % 2**BITS
        return self._state >> (BITS - 31)


def weka_centers(rows: Float, n_clusters: int, seed: int = SEED) -> Float:
    """Return the centres of k-means from Weka's initial rows, without those of empty clusters.

    Parameters
    ----------
    rows : ndarray of float64, shape (n, m)
        In the order of the file, scaled as the distance sees them.
    n_clusters : int
    seed : int

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> sorted(weka_centers(rows, 2).ravel().tolist())
    [0.5, 10.5]
    """
    centers = rows[first_centers(rows, n_clusters, seed)]
    before = np.full(len(rows), -1, dtype=np.int32)
    for _ in range(ROUNDS):
        cluster = nearest_center(rows, centers)
        if np.array_equal(cluster, before):
            break
        before = cluster
        centers = np.stack([rows[cluster == at].mean(axis=0) for at in np.unique(cluster)])
    return centers


def first_centers(rows: Float, n_clusters: int, seed: int) -> Int:
    """Return the initial rows of k-means, drawn without replacement and without duplicates."""
    random = JavaRandom(seed)
    order = list(range(len(rows)))
    chosen: dict[bytes, int] = {}
    for last in range(len(rows) - 1, -1, -1):
        at = random.below(last + 1)
        chosen.setdefault(rows[order[at]].tobytes(), order[at])
        order[last], order[at] = order[at], order[last]
        if len(chosen) == n_clusters:
            break
    return np.array(list(chosen.values()), dtype=np.int64)
