"""Unfitted estimators as plain values: the name of the class and its parameters."""

from collections.abc import Iterator
from typing import Any

from vicinal._base.errors import ModelFormatError
from vicinal._base.state import State
from vicinal.estimators.base import NeighborEstimator
from vicinal.estimators.saving import plain_parameters


def unfitted_state(model: NeighborEstimator) -> State:
    """Return the class and the parameters of an estimator.

    Examples
    --------
    >>> from vicinal import BRkNN
    >>> unfitted_state(BRkNN(3))["type"]
    'BRkNN'
    """
    return {"type": type(model).__name__, "params": plain_parameters(model)}


def unfitted_from(state: State) -> NeighborEstimator:
    """Build an estimator from :func:`unfitted_state`, checked."""
    if not isinstance(state, dict) or not isinstance(state.get("params"), dict):
        raise ModelFormatError("parts: expected a type and parameters for each part")
    every: type[Any] = NeighborEstimator
    kinds = {kind.__name__: kind for kind in _kinds(every)}
    kind, params = kinds.get(str(state.get("type"))), state["params"]
    if kind is None or not isinstance(params, dict):
        raise ModelFormatError(f"parts: unknown estimator {state.get('type')!r}")
    try:
        return kind(**params)
    except TypeError as error:
        raise ModelFormatError(f"parts: {error}") from None


def _kinds(kind: type[Any]) -> Iterator[type[NeighborEstimator]]:
    """Yield the concrete subclasses of a class, direct and indirect."""
    for subclass in kind.__subclasses__():
        if not getattr(subclass, "__abstractmethods__", None):
            yield subclass
        yield from _kinds(subclass)
