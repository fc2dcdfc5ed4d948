"""One result: a method on a data set, every metric, every fold."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.tabular import Cells, Tabular

Key: TypeAlias = tuple[str, str, str, int | None]


@dataclass(frozen=True)
class Result(Tabular):
    """The result of a method on a data set.

    Parameters
    ----------
    experiment : str
        Name of the experiment, e.g. ``"compare"`` or ``"zhang2007/2"``.
    data, method : str
        Names, as tables show them.
    values : mapping of str to tuple of float
        By metric, one value per fold, in the order of the folds; one value for a single split. NaN
        if a metric is undefined.
    settings : mapping of str to plain values
        Parameters of the method.
    seed : int or None
        Random seed for the folds and for stochastic methods.
    seconds : mapping of str to float
        By step, e.g. ``"fit"``, ``"predict"``.
    per_label : mapping of str to tuple of float
        By metric, one value per label; empty if none was stored.
    note : str
        Remark for the reader of the figure.
    provenance : mapping of str to str
        See :func:`vicinal.results.provenance`.
    label_names : tuple of str
        Names of the labels in `per_label`, in their order.

    Examples
    --------
    >>> result = Result("compare", "yeast", "mlknn", {"hamming-loss": (0.19, 0.21)}, seed=1)
    >>> result.mean("hamming-loss")
    0.2
    >>> Result.from_json(result.to_json()) == result
    True
    """

    experiment: str
    data: str
    method: str
    values: Mapping[str, tuple[float, ...]]
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    per_label: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    note: str = ""
    provenance: Mapping[str, str] = field(default_factory=dict)
    label_names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Summarise the result in one line, as there may be hundreds of values."""
        folds = max(map(len, self.values.values()), default=0)
        said = f"{self.experiment!r}, {self.data!r}, {self.method!r}"
        return f"Result({said}, {len(self.values)} metrics × {folds} values)"

    def cells(self) -> Cells:
        """Return mean, deviation and the value of each fold, one row per metric."""
        folds = max(map(len, self.values.values()), default=0)
        rows: list[list[object]] = [
            [name, self.mean(name), self.deviation(name), *values, *[None] * (folds - len(values))]
            for name, values in self.values.items()
        ]
        return Cells(["metric", "mean", "std", *(f"fold {n + 1}" for n in range(folds))], rows)

    @property
    def key(self) -> Key:
        """Identifies the result; a later result with the same key replaces an earlier one."""
        return self.experiment, self.data, self.method, self.seed

    def mean(self, metric: str) -> float:
        """Return the mean of a metric over folds."""
        values = self._of(metric)
        return math.fsum(values) / len(values)

    def deviation(self, metric: str) -> float:
        """Return the standard deviation (n − 1) over folds; 0 for a single value."""
        values = self._of(metric)
        if len(values) < 2:
            return 0.0
        mean = self.mean(metric)
        return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))

    def _of(self, metric: str) -> tuple[float, ...]:
        """Return the values of a metric, which must exist."""
        values = self.values.get(metric, ())
        if not values:
            raise InvalidArgumentError("metric", f"one of {', '.join(self.values)}", repr(metric))
        return values

    def to_json(self) -> dict[str, Any]:
        """Return plain values for JSON; NaN becomes null, empty parts are left out."""
        parts = {
            "experiment": self.experiment,
            "data": self.data,
            "method": self.method,
            "seed": self.seed,
            "settings": dict(self.settings),
            "values": _nullable(self.values),
            "seconds": dict(self.seconds),
            "per_label": _nullable(self.per_label),
            "label_names": list(self.label_names),
            "note": self.note,
            "provenance": dict(self.provenance),
        }
        return {name: part for name, part in parts.items() if part not in (None, "", {}, [])}

    @classmethod
    def from_json(cls, parts: Mapping[str, Any]) -> Self:
        """Build from the result of :meth:`to_json`, which is validated."""
        for name, kind in (("experiment", str), ("data", str), ("method", str), ("values", dict)):
            if not isinstance(parts.get(name), kind):
                raise InvalidArgumentError(name, f"a {kind.__name__}", repr(parts.get(name)))
        for name, wanted in _OPTIONAL.items():
            if name in parts and type(parts[name]) is not wanted:
                raise InvalidArgumentError(name, f"a {wanted.__name__}", repr(parts[name]))
        return cls(
            experiment=parts["experiment"],
            data=parts["data"],
            method=parts["method"],
            values=_floats("values", parts["values"]),
            settings=parts.get("settings", {}),
            seed=parts.get("seed"),
            seconds=parts.get("seconds", {}),
            per_label=_floats("per_label", parts.get("per_label", {})),
            note=parts.get("note", ""),
            provenance=parts.get("provenance", {}),
            label_names=tuple(map(str, parts.get("label_names", ()))),
        )


_OPTIONAL: Mapping[str, type] = {
    "seed": int,
    "settings": dict,
    "seconds": dict,
    "per_label": dict,
    "label_names": list,
    "note": str,
    "provenance": dict,
}
"""Optional parts of a result, and their types."""


def _nullable(values: Mapping[str, tuple[float, ...]]) -> dict[str, list[float | None]]:
    """Return values as JSON has them: NaN is null."""
    return {
        name: [None if math.isnan(value) else value for value in each]
        for name, each in values.items()
    }


def _floats(name: str, values: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
    """Return values as they were before :func:`_nullable`."""
    try:
        return {
            metric: tuple(math.nan if value is None else float(value) for value in each)
            for metric, each in values.items()
        }
    except (TypeError, ValueError, AttributeError, OverflowError):
        raise InvalidArgumentError(name, "numbers by metric", repr(values)) from None
