"""Gradient-boosted trees as plain arrays, which a compiled loop evaluates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Float, Int32
from vicinal._base.errors import ModelFormatError
from vicinal._base.state import FieldState, State, read_array, read_plain
from vicinal._base.threads import thread_count
from vicinal._native import tree_sums

Cells = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Trees(FieldState):
    """Trees whose leaves add up to log-odds.

    Parameters
    ----------
    feature : ndarray of int32, shape (n_nodes,)
        Column that a node compares; −1 for a leaf.
    threshold : ndarray of float64, shape (n_nodes,)
        Values up to this go left; of a leaf, what it adds.
    left, right : ndarray of int32, shape (n_nodes,)
        Nodes behind this one; 0 for a leaf.
    roots : ndarray of int32, shape (n_trees,)
    base : float
        What the sum begins with.
    n_columns : int

    Examples
    --------
    One tree: 1 where the value is above 0.5, else −1.

    >>> arrays = np.array([0, -1, -1]), np.array([0.5, -1, 1]), np.array([1, 0, 0]), [2, 0, 0], [0]
    >>> ints = [np.array(arrays[place], dtype=np.int32) for place in (0, 2, 3, 4)]
    >>> trees = Trees(ints[0], arrays[1], *ints[1:], base=0.25, n_columns=1)
    >>> trees.log_odds(np.array([[0.5], [0.75]], dtype=np.float32))
    array([-0.75,  1.25])
    """

    feature: Int32
    threshold: Float
    left: Int32
    right: Int32
    roots: Int32
    base: float
    n_columns: int

    def log_odds(self, cells: Cells) -> Float:
        """Return the sum for each row of `cells`, shape (n, n_columns)."""
        nodes = self.feature, self.threshold, self.left, self.right, self.roots
        return self.base + tree_sums(*nodes, np.ascontiguousarray(cells), thread_count())

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked: every walk from a root ends in a leaf."""
        feature = read_array(state, "feature", np.int32, (None,))
        n_nodes, n_columns = len(feature), read_plain(state, "n_columns", int)
        left, right = (read_array(state, side, np.int32, (n_nodes,)) for side in ("left", "right"))
        roots = read_array(state, "roots", np.int32, (None,))
        inner = feature >= 0
        behind = np.arange(n_nodes)[inner]
        if (
            np.any(feature >= n_columns)
            or np.any((left[inner] <= behind) | (left[inner] >= n_nodes))
            or np.any((right[inner] <= behind) | (right[inner] >= n_nodes))
            or np.any((roots < 0) | (roots >= n_nodes))
        ):
            raise ModelFormatError("trees: expected nodes that lead to later nodes of the trees")
        threshold = read_array(state, "threshold", np.float64, (n_nodes,))
        base = read_plain(state, "base", float)
        return cls(feature, threshold, left, right, roots, base, n_columns)
