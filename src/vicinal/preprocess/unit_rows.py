"""Scale rows to length 1."""

from collections.abc import Mapping
from typing import Self

import numpy as np

from vicinal._base.arrays import Features
from vicinal._base.fitting import all_or_nothing
from vicinal._base.state import State
from vicinal.preprocess._transformer import RowLocalTransformer
from vicinal.preprocess._weights import reweigh, unit_length


class UnitRows(RowLocalTransformer):
    r"""Divide each row by its Euclidean length; rows of zeros are unchanged.

    .. math:: x' = x / \lVert x \rVert_2

    Not needed for the cosine metric, which divides by the lengths itself. With
    ``metric="euclidean"`` or ``metric="dot"``, neighbours then have the same order as by cosine.

    Examples
    --------
    >>> UnitRows().fit_transform([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    @all_or_nothing
    def fit(self, X: object, y: object = None) -> Self:
        """Store the number and the names of the columns."""
        self._read(X, reset=True)
        return self

    def transform(self, X: object) -> Features:
        """Return the rows scaled to length 1; sparse if `X` is sparse."""
        rows = self._read(X, reset=False)
        return reweigh(rows, lambda stored: unit_length(stored, stored.data.astype(np.float64)))

    def get_state(self) -> dict[str, State]:
        """Return the columns."""
        return self._columns_state()

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        self = cls()
        self._restore_columns(state)
        return self
