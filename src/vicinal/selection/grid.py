"""The grid of a method: a Cartesian product of values, where a setting is an index on each axis."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product, starmap
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from vicinal._core.checks import check_sequence
from vicinal.errors import InvalidArgumentError, did_you_mean
from vicinal.methods import METHODS, NeighborEstimator
from vicinal.methods.registry import Method, find_method, make_method, method_of
from vicinal.methods.registry import parameters as parameters_of

Position: TypeAlias = tuple[int, ...]
"""A setting: the index of its value on each axis. Positions sort in grid order."""


@dataclass(frozen=True)
class Search:
    """How neighbours are searched; settings with equal searches share their neighbours."""

    metric: str
    algorithm: object = field(default="auto", hash=False)  # a factory need not be hashable


ANY_SEARCH = Search("euclidean")
"""The search of the folds for an estimator that does not use their neighbours."""


@dataclass(frozen=True, eq=False)
class Grid:
    """The settings of one method to be evaluated."""

    method: str
    axes: Mapping[str, tuple[object, ...]]
    fixed: Mapping[str, object] | None = None
    is_default: bool = False
    template: Any = None
    about: Mapping[str, object] | None = None

    def positions(self) -> list[Position]:
        """Return every setting, in grid order: the last axis varies fastest."""
        return list(product(*(range(len(values)) for values in self.axes.values())))

    def params(self, position: Position) -> dict[str, object]:
        """Return the parameters of a setting that vary."""
        axes = zip(self.axes.items(), position, strict=True)
        return {name: values[place] for (name, values), place in axes}

    def places(self, position: Position, without: Sequence[str]) -> Position:
        """Return the indices of a setting on all axes except those named."""
        axes = zip(self.axes, position, strict=True)
        return tuple(place for name, place in axes if name not in without)

    def grouped(
        self, positions: Iterable[Position], without: Sequence[str]
    ) -> dict[Position, list[Position]]:
        """Return the settings by their indices on all axes except those named."""
        groups: dict[Position, list[Position]] = {}
        for position in positions:
            groups.setdefault(self.places(position, without), []).append(position)
        return groups

    @cached_property
    def kind(self) -> type[Any]:
        """The estimator class of the method."""
        return find_method(self.method) if self.template is None else type(self.template)

    @property
    def declared(self) -> Method:
        """What the estimator class declares about itself."""
        return method_of(self.kind)

    @property
    def decision_axes(self) -> tuple[str, ...]:
        """Parameters that change what is predicted, not what is scored."""
        return ("threshold", "never_empty", *self.declared.decides_by)

    def estimator(self, position: Position) -> Any:
        """Return an unfitted estimator with the parameters of a setting."""
        return self.make({**(self.fixed or {}), **self.params(position)})

    def make(self, params: Mapping[str, object]) -> Any:
        """Return an unfitted estimator of the method."""
        if self.template is None:
            return make_method(self.method, params)
        return clone(self.template).set_params(**params)

    def search(self, position: Position) -> Search:
        """Return the search of a setting; for a method that uses no neighbours, any works."""
        return search_of(self.estimator(position))

    def settings(self, position: Position) -> dict[str, object]:
        """Return all parameters of a setting on which results depend, including fixed ones."""
        fixed = {name: value for name, value in (self.fixed or {}).items() if name != "n_jobs"}
        return {**(self.about or {}), **fixed, **self.params(position)}

    def value(self, position: Position, name: str) -> Any:
        """Return a parameter of a setting, whether it varies, is fixed, or is the default."""
        return getattr(self.estimator(position), name)


def search_of(model: object) -> Search:
    """Return the search of an estimator; for one that is not ours, any works."""
    if not isinstance(model, NeighborEstimator):
        return ANY_SEARCH
    return Search(str(model.metric), model.algorithm)


def make_grids(
    methods: str | Sequence[str],
    grid: Mapping[str, object] | None = None,
    params: Mapping[str, object] | None = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
) -> list[Grid]:
    """Return the grid of each method."""
    names = _method_names(methods)
    shared, own = _by_method(grid or {}, names)
    _check_known("grid", shared, names)
    _check_known("params", params or {}, names)
    return [
        _grid(name, {**shared, **own.get(name, {})}, params or {}, random_state, n_jobs)
        for name in names
    ]


def parameters(method: str) -> list[str]:
    """Return the parameters of a method that can be tuned."""
    return [name for name in parameters_of(find_method(method)) if name != "n_jobs"]


def _grid(
    method: str,
    asked: Mapping[str, object],
    params: Mapping[str, object],
    random_state: int | None,
    n_jobs: int | None,
) -> Grid:
    """Return the grid of one method."""
    known = parameters(method)
    chosen = {name: _values(name, values) for name, values in asked.items() if name in known}
    fixed = {name: value for name, value in params.items() if name in known}
    if "random_state" in known:
        fixed = {"random_state": random_state, **fixed}
    kind = find_method(method)
    axes = chosen or {name: v for name, v in method_of(kind).grid.items() if name not in fixed}
    twice = [name for name in axes if name in params]
    if twice:
        raise InvalidArgumentError("params", "parameters that are not in the grid", twice[0])
    if "n_jobs" in parameters_of(kind):
        fixed["n_jobs"] = n_jobs
    return Grid(method, axes, fixed, is_default=not chosen)


def _method_names(methods: object) -> list[str]:
    """Return method names, each once."""
    if methods == "all":
        return list(METHODS)
    names = [methods] if isinstance(methods, str) else check_sequence("methods", methods)
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgumentError("methods", "names of methods", repr(name))
        find_method(name)
    if not names:
        raise InvalidArgumentError("methods", "at least one method", "none")
    return list(dict.fromkeys(map(str, names)))


def _by_method(
    grid: Mapping[str, object], names: Sequence[str]
) -> tuple[dict[str, object], dict[str, Mapping[str, object]]]:
    """Split a grid into the part for all methods and the parts for single methods."""
    if not isinstance(grid, Mapping):
        raise InvalidArgumentError("grid", "a mapping of parameter names to values", repr(grid))
    shared, own = {}, {}
    for name, values in grid.items():
        if not isinstance(values, Mapping):
            shared[name] = values
        elif name not in names:
            expected = f"one of the selected methods ({', '.join(names)})"
            raise InvalidArgumentError("grid", expected, repr(name))
        else:
            _check_known("grid", values, [name])
            own[name] = values
    return shared, own


def _check_known(argument: str, given: Mapping[str, object], methods: Sequence[str]) -> None:
    """Raise for a parameter that none of the methods has."""
    known = list(dict.fromkeys(name for method in methods for name in parameters(method)))
    for name in given:
        if name not in known:
            expected = f"parameters of {', '.join(methods)} ({', '.join(known)})"
            hint = did_you_mean("n_neighbors" if name == "k" else name, known)
            raise InvalidArgumentError(argument, expected, repr(name), hint)


def _values(name: str, values: object) -> tuple[object, ...]:
    """Return the values of an axis: at least one, no duplicates."""
    given = check_sequence(f"grid[{name!r}]", values)
    listed = tuple(each.item() if isinstance(each, np.generic) else each for each in given)
    if not listed:
        raise InvalidArgumentError(f"grid[{name!r}]", "at least one value", "none")
    if any(starmap(_equal, combinations(listed, 2))):
        raise InvalidArgumentError(f"grid[{name!r}]", "different values", f"{list(listed)}")
    return listed


def _equal(a: object, b: object) -> bool:
    """Tell whether two values are equal; arrays are equal if they are the same object."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return a is b
    return bool(a == b)


STRIDE = 3
"""A coarse pass tries every third value of an axis and the last one."""


def coarse_places(values: Sequence[object], start: int = 0) -> list[int]:
    """Return the indices on an axis that a coarse pass tries, starting at `start`."""
    last = len(values) - 1
    if last - start < STRIDE or not all(map(_is_number, values)):
        return list(range(start, last + 1))
    return sorted({*range(start, last + 1, STRIDE), last})


def coarse(grid: Grid) -> list[Position]:
    """Return the settings of a coarse pass, in grid order."""
    return list(product(*(coarse_places(values) for values in grid.axes.values())))


def around(grid: Grid, best: Position, tried: Sequence[Position]) -> list[Position]:
    """Return the settings between the best and those tried next to it, on every axis."""
    windows = []
    for axis, values in enumerate(grid.axes.values()):
        if not all(map(_is_number, values)):
            windows.append(range(best[axis], best[axis] + 1))
            continue
        places = sorted({position[axis] for position in tried})
        lower = [place for place in places if place < best[axis]]
        higher = [place for place in places if place > best[axis]]
        start = min(lower[-1] + 1, best[axis] - 1) if lower else 0
        stop = max(higher[0] - 1, best[axis] + 1) if higher else len(values) - 1
        windows.append(range(start, stop + 1))
    return list(product(*windows))


def beyond_edge(grid: Grid, best: Sequence[Position]) -> Grid | None:
    """Return a default grid extended along each axis on which a best setting has the last value."""
    further = grid.declared.beyond_edge if grid.is_default else {}
    longer = {
        name: (*values, *further[name])
        for axis, (name, values) in enumerate(grid.axes.items())
        if name in further
        and values == grid.declared.grid[name]
        and any(each[axis] == len(values) - 1 for each in best)
    }
    if not longer:
        return None
    for name, values in longer.items():
        grid = replace(grid, axes={**grid.axes, name: values})
    return grid


def farthest(grid: Grid) -> Grid:
    """Return the grid with the largest extension the edge rule allows."""
    ends: Position = tuple(len(values) - 1 for values in grid.axes.values())
    return beyond_edge(grid, [ends]) or grid


def beyond(before: Grid, after: Grid, best: Position, fast: bool) -> list[Position]:
    """Return the settings to try on extended axes."""
    if not fast:
        return after.positions()
    lines = []
    for axis, (old, new) in enumerate(zip(before.axes.values(), after.axes.values(), strict=True)):
        grown = len(new) > len(old)
        lines.append([best[axis], *coarse_places(new, len(old))] if grown else [best[axis]])
    return list(product(*lines))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
