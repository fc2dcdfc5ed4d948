"""The saved state of fitted parts: plain values and arrays, no code.

A part that can be saved has ``get_state()``, which returns a dictionary of such values and further
parts, and a class method ``from_state(state)``, which checks every value first, because the folder
may come from an untrusted source. The readers below check values and raise clear errors.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Protocol, Self, TypeAlias, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from vicinal._core.arrays import Csr
from vicinal._core.validation import canonical_csr
from vicinal.errors import InvalidArgumentError, ModelFormatError

Leaf: TypeAlias = "bool | int | float | str | NDArray[Any] | Csr | Saveable"
State: TypeAlias = "Leaf | list[State] | dict[str, State] | None"
Plain = TypeVar("Plain", bool, int, float, str)


@runtime_checkable
class Saveable(Protocol):
    """A part of a model that ``persistence`` can write and read."""

    def get_state(self) -> dict[str, State]:
        """Return the part as plain values and arrays."""

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Restore the part; raises ``ModelFormatError`` if the state is not valid."""


class FieldState:
    """The state of a dataclass: its fields."""

    def get_state(self) -> dict[str, State]:
        """Return the fields."""
        return {field.name: getattr(self, field.name) for field in fields(cast("Any", self))}


class SaveableRecord(FieldState):
    """Saving for a frozen dataclass whose ``__post_init__`` checks its own fields."""

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Restore from the result of :meth:`get_state`, which is validated."""
        try:
            return cls(**state)
        except (TypeError, ValueError) as error:
            raise ModelFormatError(f"{cls.__name__}: {error}") from None


def read_plain(state: Mapping[str, State], key: str, kind: type[Plain]) -> Plain:
    """Return ``state[key]``, which must be of type `kind` (an int is accepted for a float)."""
    value = read_value(state, key)
    if kind is float and type(value) is int:
        return kind(value)
    if type(value) is not kind:
        raise ModelFormatError(f"{key}: expected {kind.__name__}, got {type(value).__name__}")
    if isinstance(value, float) and not np.isfinite(value):
        raise ModelFormatError(f"{key}: expected a finite number, got {value}")
    return value


def read_count(state: Mapping[str, State], key: str, low: int = 1) -> int:
    """Return ``state[key]``, which must be an integer of at least `low`."""
    value = read_plain(state, key, int)
    if value < low:
        raise ModelFormatError(f"{key}: expected at least {low}, got {value}")
    return value


def read_names(state: Mapping[str, State], key: str) -> tuple[str, ...]:
    """Return ``state[key]``, which must be a list of strings."""
    value = read_value(state, key)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ModelFormatError(f"{key}: expected a list of strings, got {type(value).__name__}")
    return tuple(str(item) for item in value)


def feature_names_of(estimator: object) -> list[State] | None:
    """Return the column names that an estimator saw in ``fit``, or None."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def restore_feature_names(estimator: Any, state: Mapping[str, State], n_features: int) -> None:
    """Set the saved ``feature_names`` on an estimator as scikit-learn does, if there are any."""
    if state.get("feature_names", ()) is None:
        return
    names = read_names(state, "feature_names")
    if len(names) != n_features:
        raise ModelFormatError(f"feature_names: expected {n_features}, got {len(names)}")
    estimator.feature_names_in_ = np.array(names, dtype=object)


def read_array(
    state: Mapping[str, State], key: str, dtype: DTypeLike, shape: tuple[int | None, ...]
) -> NDArray[Any]:
    """Return ``state[key]``, an array of that dtype and shape (None: any length), finite."""
    value = read_value(state, key)
    if not isinstance(value, np.ndarray) or value.dtype != np.dtype(dtype):
        got = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
        raise ModelFormatError(f"{key}: expected an array of {np.dtype(dtype)}, got {got}")
    fits = value.ndim == len(shape) and all(
        wanted is None or size == wanted for size, wanted in zip(value.shape, shape, strict=True)
    )
    if not fits:
        raise ModelFormatError(f"{key}: expected shape {shape}, got {value.shape}")
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        raise ModelFormatError(f"{key}: expected finite numbers")
    return np.ascontiguousarray(value)


def read_csr(state: Mapping[str, State], key: str, shape: tuple[int | None, int | None]) -> Csr:
    """Return ``state[key]``, a canonical CSR of that shape (None: any), finite."""
    value = read_value(state, key)
    if not isinstance(value, sparse.csr_array):
        raise ModelFormatError(f"{key}: expected a sparse matrix, got {type(value).__name__}")
    if any(wanted not in (None, size) for size, wanted in zip(value.shape, shape, strict=True)):
        raise ModelFormatError(f"{key}: expected shape {shape}, got {value.shape}")
    with damage_if_refused():
        matrix = canonical_csr(value, key)
    if not np.isfinite(matrix.data).all():
        raise ModelFormatError(f"{key}: expected finite numbers")
    return matrix


def read_part(state: Mapping[str, State], key: str, kind: type[Any]) -> Any:
    """Return ``state[key]``, which must be a part of type `kind`."""
    value = read_value(state, key)
    if not isinstance(value, kind):
        raise ModelFormatError(f"{key}: expected a {kind.__name__}, got {type(value).__name__}")
    return value


def read_value(state: Mapping[str, State], key: str) -> State:
    """Return ``state[key]``, of any type, or raise if it is missing."""
    if key not in state:
        raise ModelFormatError(f"{key}: missing")
    return state[key]


@contextmanager
def damage_if_refused() -> Iterator[None]:
    """Report invalid arguments inside the block as a damaged model."""
    try:
        yield
    except InvalidArgumentError as error:
        raise ModelFormatError(str(error)) from None
