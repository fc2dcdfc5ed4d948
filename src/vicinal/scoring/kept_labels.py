"""Base of lazy methods, whose ``fit`` only stores the training labels."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from vicinal._base.arrays import Csr, Features
from vicinal._base.state import FieldState, State, read_count
from vicinal.scoring.reading import read_indicator
from vicinal.scoring.training import Training


@dataclass(frozen=True, eq=False)
class KeptLabels(FieldState):
    """The number of neighbours and the training labels.

    Parameters
    ----------
    k : int
    Y : csr_array of int32, shape (n, L)
    """

    k: int
    Y: Csr

    @classmethod
    def fit(cls, training: Training, k: int) -> Self:
        """Store the labels."""
        return cls(k, training.Y)

    def settled(self, Y: Csr, X: Features) -> Self:
        """Return the state for the same rows at other places, whose labels are `Y`."""
        return replace(self, Y=Y)

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        return cls(read_count(state, "k"), read_indicator(state, "Y"))
