r"""Distances as values: the one place that defines what "near" means.

A distance has a name (the ``metric=`` parameter of estimators and indexes) and its definition in
plain NumPy. All other code asks the value instead of comparing names: which end is
near, what pads a list that has no further neighbour, which code the compiled core knows it by.

.. math::

    \mathrm{sim}(q, x) = \frac{\sum_j q_j x_j}{\lVert q\rVert \cdot \lVert x\rVert}, \qquad
    d(q, x)^2 = \sum_j (q_j - x_j)^2

in float64, sums in ascending feature order, one addition at a time. If squares underflow and the
product of the norms is 0, or if they overflow and a sum or quotient is undefined, the similarity
counts as 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._core.checks import check_option
from vicinal.errors import InvalidArgumentError

__all__ = [
    "COSINE",
    "DOT",
    "EUCLIDEAN",
    "Distance",
    "distance_names",
    "get_distance",
    "register_distance",
]

Float = NDArray[np.float64]
UNIT = 2.0**-24
"""The largest relative error of one rounding to float32."""


@dataclass(frozen=True)
class Distance:
    """How two rows are compared.

    Rows are ordered by their *keys*, smaller is nearer; a graph shows *values*: the keys
    themselves, their square roots, or, for a similarity, the keys with the opposite sign.

    Parameters
    ----------
    name : str
        What users write as ``metric=``, and what saved models hold.
    keys : callable
        The definition: ``keys(rows, query)`` returns one key per row, float64.
    is_similarity : bool
        Values are similarities: larger is nearer, and only rows that share a non-zero feature with
        the query are neighbours.
    is_root : bool
        Values are the square roots of the keys. Two keys may have one rounded root, so values alone
        do not settle the order.
    is_normalized : bool
        Rows are compared as if all had length one: ``1 - value`` is a distance.
    native_code : int or None
        The number of this distance in the compiled core (``enum class Metric``); None where only
        the reference index knows it.
    is_given : bool
        Only its values are known, from a graph of the caller's; rows cannot be searched by it.

    Examples
    --------
    >>> COSINE.name, COSINE.is_similarity, COSINE.padding
    ('cosine', True, 0.0)
    >>> EUCLIDEAN.keys(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([0.0, 0.0]))
    array([ 0., 25.])
    >>> EUCLIDEAN.values(np.array([0.0, 25.0]))
    array([0., 5.])
    """

    name: str
    keys: Callable[[Float, Float], Float]
    is_similarity: bool = False
    is_root: bool = False
    is_normalized: bool = False
    native_code: int | None = None
    is_given: bool = False

    @property
    def padding(self) -> float:
        """The value where there is no neighbour: further away than any."""
        return 0.0 if self.is_similarity else np.inf

    def values(self, keys: Float) -> Float:
        """Return what a graph shows for these keys."""
        if self.is_similarity:
            return -keys
        return np.sqrt(keys) if self.is_root else keys

    def rising(self, values: Float) -> Float:
        """Return values of a graph so that smaller is nearer."""
        return -values if self.is_similarity else values

    def as_distances(self, values: Float) -> Float:
        """Return values of a graph as distances in scikit-learn's sense: smaller is nearer.

        The distance itself, 1 − cosine, or the negated dot product.
        """
        return 1.0 - values if self.is_normalized else self.rising(values)

    def native(self) -> int:
        """Return the number the compiled core knows this distance by, or raise."""
        if self.native_code is None:
            raise InvalidArgumentError(
                "metric", "a distance of the compiled core, or algorithm='reference'", self.name
            )
        return self.native_code


def _squared_distances(rows: Float, query: Float) -> Float:
    differences = query - rows
    return _sums(differences * differences)


def _negated_dots(rows: Float, query: Float) -> Float:
    return -_defined(_sums(query * rows))


def _negated_cosines(rows: Float, query: Float) -> Float:
    size = _norms(query[np.newaxis]) * _norms(rows)
    return -_defined(np.where(size == 0, 0.0, _sums(query * rows) / size))


def _defined(similarity: Float) -> Float:
    """Return similarities, 0 where one is undefined."""
    return np.where(np.isnan(similarity), 0.0, similarity)


def _norms(rows: Float) -> Float:
    return np.sqrt(_sums(rows * rows))


def _sums(terms: Float) -> Float:
    """Add the terms of each row from the first to the last: another order would round otherwise."""
    sums = np.zeros(len(terms))
    if terms.shape[1] > len(terms):
        return sums + np.add.accumulate(terms, axis=1)[:, -1]
    for column in terms.T:
        sums += column
    return sums


EUCLIDEAN = Distance("euclidean", _squared_distances, is_root=True, native_code=0)
COSINE = Distance("cosine", _negated_cosines, is_similarity=True, is_normalized=True, native_code=1)
DOT = Distance("dot", _negated_dots, is_similarity=True, native_code=2)

_DISTANCES: dict[str, Distance] = {d.name: d for d in (EUCLIDEAN, COSINE, DOT)}


def distance_names() -> tuple[str, ...]:
    """Return the names that ``metric=`` takes."""
    return tuple(_DISTANCES)


def get_distance(metric: object, name: str = "metric") -> Distance:
    """Return the distance called `metric`; `name` is the argument that an error names.

    Examples
    --------
    >>> get_distance("dot").native_code
    2
    >>> get_distance("manhattan")
    Traceback (most recent call last):
    ...
    vicinal.errors.InvalidArgumentError: metric: expected one of 'euclidean', 'cosine',
    'dot', got 'manhattan'
    """
    given = given_distance(metric)
    return _DISTANCES[check_option(name, metric, _DISTANCES)] if given is None else given


GIVEN = {"distance:": False, "similarity:": True}
"""How names of distances begin that only a given graph has values of, and which end is near."""


def given_distance(metric: object) -> Distance | None:
    """Return the distance of a given graph, such as ``"distance:edit"``, or None."""
    for start, is_similarity in GIVEN.items():
        if isinstance(metric, str) and len(metric) > len(start) and metric.startswith(start):
            return Distance(metric, _unknown_keys, is_similarity=is_similarity, is_given=True)
    return None


def _unknown_keys(rows: Float, query: Float) -> Float:
    """Raise: rows cannot be compared by a distance that only a graph has values of."""
    raise InvalidArgumentError("graph", "the neighbours of these rows", None)


def register_distance(distance: Distance) -> None:
    """Let ``metric=`` take a further distance, by its name.

    Without a native code it is searched by the reference index, which compares every query with
    every row in NumPy.

    Raises
    ------
    InvalidArgumentError
        If another distance has this name.
    """
    known: Any = _DISTANCES.setdefault(distance.name, distance)
    if known != distance:
        raise InvalidArgumentError("distance", "a name that is not taken", repr(distance.name))
