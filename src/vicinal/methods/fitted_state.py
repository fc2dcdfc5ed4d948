"""The fitted state of a model as one immutable value, so that every reader sees one state.

A model that learns or forgets creates another version and publishes it by one assignment. A
prediction reads the version once and uses it to the end: it sees the model before or after a
change, never in between, and does not wait for a lock.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from threading import get_ident
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from vicinal._core.arrays import Csr, Int
from vicinal._core.checks import check_encodable, check_option, check_sequence
from vicinal._core.csr import MOST_ROWS, GrowingArray, trust
from vicinal._core.labels import Kind, Labels
from vicinal._core.state import (
    State,
    damage_if_refused,
    feature_names_of,
    read_array,
    read_names,
    read_part,
    read_plain,
    restore_feature_names,
)
from vicinal._core.threads import using_threads
from vicinal._core.validation import check_features
from vicinal.decision import FittedDecision
from vicinal.distances import get_distance
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.graph import NeighborGraph
from vicinal.index import TrainingRows
from vicinal.index.build import algorithm_name, index_factory
from vicinal.methods._arguments import check_decides
from vicinal.methods.training import Scoring

if TYPE_CHECKING:
    from vicinal.methods.base import NeighborEstimator


@dataclass(frozen=True, eq=False)
class GrowingNames:
    """Names by place, with room behind them, so that adding a name copies no others."""

    room: GrowingArray
    count: int

    @classmethod
    def of(cls, names: tuple[str, ...]) -> "GrowingNames":
        """Return names that can grow."""
        return cls(GrowingArray(np.array(names, dtype=np.object_)), len(names))

    def extended(self, fresh: tuple[str, ...]) -> "GrowingNames":
        """Return these names, followed by others."""
        more = self.room.extended(self.count, np.array(fresh, dtype=np.object_))
        return GrowingNames(more, self.count + len(fresh))

    @cached_property
    def as_tuple(self) -> tuple[str, ...]:
        """All names, as users see them."""
        return tuple(self.room.head(self.count).tolist())

    def __len__(self) -> int:
        """Return the number of names."""
        return self.count

    def __getitem__(self, place: int) -> str:
        """Return the name of the row at a place."""
        return str(self.room.head(self.count)[place])

    def __iter__(self) -> Iterator[str]:
        """Return the names in order."""
        return iter(self.as_tuple)

    def __reduce__(self) -> tuple[object, ...]:
        """Leave the room out of pickles."""
        return GrowingNames.of, (self.as_tuple,)


RowNames: TypeAlias = tuple[str, ...] | GrowingNames
"""Names of rows as a version holds them."""


def index_names(X: object) -> list[str] | None:
    """Return the index of a pandas data frame or series as names; None if it numbers the rows."""
    if isinstance(X, Mapping):  # of views: the first that has names
        found = (index_names(view) for view in X.values())
        return next((names for names in found if names is not None), None)
    index = getattr(X, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return [str(name) for name in index]


def check_row_names(names: object, n_rows: int, argument: str = "row_names") -> tuple[str, ...]:
    """Return one name per row; integers become strings, and names may repeat."""
    given = check_sequence(argument, names)
    if len(given) != n_rows:
        raise InvalidArgumentError(argument, f"{n_rows} names, one per row", len(given))
    for name in given:
        if not isinstance(name, str | int | np.integer):
            raise InvalidArgumentError(argument, "strings or integers", repr(name))
    checked = tuple(str(name) for name in given)
    check_encodable(argument, checked)
    return checked


def extended_row_names(
    known: RowNames | None, fresh: tuple[str, ...] | None, row_ids: Int
) -> GrowingNames | None:
    """Return the names of known and new rows, in this order; a row without a name gets its id."""
    if known is None and fresh is None:
        return None
    n_known = len(row_ids) - len(fresh) if known is None and fresh is not None else len(known or ())
    if known is None:
        known = tuple(map(str, row_ids[:n_known].tolist()))
    if fresh is None:
        fresh = tuple(map(str, row_ids[n_known:].tolist()))
    growing = known if isinstance(known, GrowingNames) else GrowingNames.of(known)
    return growing.extended(fresh)


def row_name(version: "FittedState", place: int) -> str:
    """Return the name of the training row at a place, or its id if rows have no names."""
    names = version.row_names
    return str(version.rows.place_ids[place]) if names is None else names[place]


def packed_names(names: RowNames | None) -> State:
    """Return names as two arrays, which take less space in a file than a list."""
    if names is None:
        return None
    encoded = [name.encode() for name in names]
    lengths = np.array([len(name) for name in encoded], dtype=np.int64)
    return {"utf8": np.frombuffer(b"".join(encoded), dtype=np.uint8), "lengths": lengths}


def unpacked_names(state: Mapping[str, State], n_rows: int) -> tuple[str, ...] | None:
    """Return the names under ``row_names``, checked; None if the model was saved without."""
    if state.get("row_names") is None:
        return None
    packed = read_part(state, "row_names", dict)
    lengths = read_array(packed, "lengths", np.int64, (n_rows,))
    utf8 = read_array(packed, "utf8", np.uint8, (None,))
    ends = np.cumsum(lengths)
    if lengths.min(initial=0) < 0 or lengths.max(initial=0) > len(utf8):
        raise ModelFormatError("row_names: expected lengths from 0 to the number of bytes")
    if (int(ends[-1]) if n_rows else 0) != len(utf8):
        total = int(ends[-1]) if n_rows else 0
        raise ModelFormatError(
            f"row_names: expected lengths that add up to {len(utf8)}, got {total}"
        )
    stored, starts = utf8.tobytes(), ends - lengths
    try:
        return tuple(
            stored[start:end].decode()
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        )
    except UnicodeDecodeError:
        raise ModelFormatError("row_names: expected UTF-8") from None


@dataclass(frozen=True)
class Calibration:
    """How outdated the threshold is."""

    n_rows: int
    learned: int = 0
    forgotten: int = 0

    @property
    def stale_share(self) -> float:
        """Rows learned or forgotten since the threshold was fitted, as a share of `n_rows`."""
        return (self.learned + self.forgotten) / max(self.n_rows, 1)

    @property
    def is_current(self) -> bool:
        """Whether predicted labels equal those of a model fitted from scratch."""
        return self.learned == self.forgotten == 0

    def after(self, learned: int = 0, forgotten: int = 0) -> "Calibration":
        """Return the state after further changes."""
        return replace(self, learned=self.learned + learned, forgotten=self.forgotten + forgotten)


@dataclass(frozen=True, eq=False)
class FittedState:
    """The fitted state of a model."""

    rows: TrainingRows
    scoring: Scoring
    decision: FittedDecision
    label_names: tuple[str, ...]
    label_kind: Kind
    label_dtype: str
    params: Mapping[str, Any]
    calibration: Calibration
    graph: NeighborGraph | None = None
    row_names: RowNames | None = None
    readers: set[int] = field(init=False, repr=False, default_factory=set)

    @property
    def labels(self) -> Labels:
        """The labels of the rows."""
        return Labels(self.scoring.Y, self.label_names, self.label_kind, self.label_dtype)

    @cached_property
    def as_fitted(self) -> "FittedState":
        """The same model as a fit would make it: without empty places or pending computations."""
        if not self.rows.n_empty and getattr(self.scoring, "is_as_fitted", True):
            return self
        if not hasattr(self.scoring, "as_fitted"):
            raise TypeError(f"{type(self.scoring).__name__} does not support empty places")
        rows, Y, names = self.rows.compacted(), self.scoring.Y, self.row_names
        if self.rows.n_empty:
            kept = np.flatnonzero(~self.rows.gone)
            Y = trust(Y[kept])
            names = None if names is None else tuple(names[place] for place in kept.tolist())
        with using_threads(rows.n_jobs):
            scoring = self.scoring.as_fitted(Y, rows.X)
        return replace(self, rows=rows, scoring=scoring, row_names=names)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the cached copy without empty places, and the threads of this process."""
        kept = {name: value for name, value in vars(self).items() if name != "as_fitted"}
        return {**kept, "readers": set()}


_NAMES: dict[type, tuple[str, ...]] = {}
"""Names of the parameters of each class."""


class FittedAttributes(BaseEstimator):
    """An estimator whose fitted state is one value (:class:`FittedState`).

    Every attribute below is read from the newest version. While another thread changes the model,
    two attributes read one after the other may come from different versions; read them from a
    :meth:`snapshot` instead.
    """

    def snapshot(self) -> Self:
        """Return a copy of the model that later changes of the original do not affect.

        Takes microseconds: the two share all data until one of them changes.
        """
        twin = copy.copy(self)
        vars(twin).pop("_writes", None)
        return twin

    def _fitted(self) -> FittedState:
        """Return the current version; call it once per prediction."""
        version = vars(self).get("_version")
        if version is None:
            check_is_fitted(self)
        known = cast("FittedState", version)
        known.readers.add(get_ident())
        return known

    def _publish(self, version: FittedState) -> None:
        """Make a version the current one, by one assignment."""
        self._version = version

    def as_fitted(self) -> Self:
        """Return a copy of the model in the form that a fit on its rows would give.

        After small changes a model has empty places of forgotten rows and computes some of what it
        learned only when it is needed. This computes all of it. Predictions are the same.
        """
        twin = self.snapshot()
        twin._publish(self._fitted().as_fitted)
        return twin

    def _state(self, attribute: str) -> FittedState:
        """Return the current version, from which attributes are read; none of them computes."""
        version: FittedState | None = vars(self).get("_version")
        if version is None:
            name = type(self).__name__
            raise AttributeError(f"{name!r} object has no attribute {attribute!r} before fit")
        return version

    @property
    def scoring_(self) -> Scoring:
        """What the method learned; after small changes, parts of it may not be computed yet."""
        return self._state("scoring_").scoring

    @property
    def decision_(self) -> FittedDecision:
        """The fitted rule that turns scores into labels."""
        return self._state("decision_").decision

    @property
    def search_(self) -> TrainingRows:
        """The training rows; after small changes, places of forgotten rows may be empty."""
        return self._state("search_").rows

    @property
    def metric_(self) -> str:
        """The metric of the neighbour graph that the model was fitted on."""
        return self._state("metric_").rows.metric

    @property
    def label_names_(self) -> tuple[str, ...]:
        """Names of the labels."""
        return self._state("label_names_").label_names

    @property
    def label_kind_(self) -> Kind:
        """Whether ``predict`` returns dense, sparse or one-dimensional (flat) arrays."""
        return self._state("label_kind_").label_kind

    @property
    def label_dtype_(self) -> str:
        """The dtype of the arrays that ``predict`` returns."""
        return self._state("label_dtype_").label_dtype

    @property
    def row_names_(self) -> tuple[str, ...] | None:
        """Names of the training rows, or None if none were given."""
        version = self._state("row_names_")
        names = version.row_names
        if names is None:
            return None
        if version.rows.n_empty:
            return tuple(names[place] for place in np.flatnonzero(~version.rows.gone).tolist())
        return names.as_tuple if isinstance(names, GrowingNames) else names

    @row_names_.setter
    def row_names_(self, names: Sequence[str] | None) -> None:
        """Replace the names of the training rows."""
        version = self._state("row_names_").as_fitted
        checked = None if names is None else check_row_names(names, version.rows.n_rows)
        self._publish(replace(version, row_names=checked))

    @property
    def row_ids_(self) -> Int:
        """The increasing ids of the training rows; forgetting rows does not renumber the others."""
        return self._fitted().rows.row_ids

    @property
    def calibration_(self) -> Calibration:
        """How many rows were learned and forgotten since the threshold was fitted."""
        return self._fitted().calibration

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether ``fit`` has run."""
        return "_version" in vars(self)

    def _params(self) -> dict[str, Any]:
        """Return the current parameters."""
        kind = type(self)
        names = _NAMES.get(kind)
        if names is None:  # scikit-learn reads the signature each time
            names = _NAMES[kind] = tuple(cast("Any", kind)._get_param_names())
        return {name: getattr(self, name) for name in names}


LABEL_DTYPES = frozenset(
    ["bool", *(f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64))]
    + [f"float{bits}" for bits in (16, 32, 64)]
)
"""The number types that a label indicator can have."""

Fitted = TypeVar("Fitted", bound="NeighborEstimator")


def estimator_state(model: "NeighborEstimator") -> dict[str, State]:
    """Return the state that :func:`restore_estimator` needs, without the index."""
    version = model._fitted().as_fitted
    return {
        "params": {
            key: algorithm_name(value) if key == "algorithm" else _saved(value)
            for key, value in model.get_params(deep=False).items()
        },
        "scoring": version.scoring,
        "decision": version.decision,
        "X": version.rows.X,
        "metric": version.rows.metric,
        "row_ids": version.rows.row_ids,
        "n_ids": version.rows.n_ids,
        "label_names": list(version.label_names),
        "label_kind": version.label_kind,
        "label_dtype": version.label_dtype,
        "calibration": list(astuple(version.calibration)),
        "feature_names": feature_names_of(model),
        "row_names": packed_names(version.row_names),
    }


def _saved(value: Any) -> State:
    """Return a parameter as a value that can be saved: array-likes become arrays."""
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return None
    if sparse.issparse(value):
        return np.asarray(cast("Csr", value).toarray())
    if isinstance(value, list | tuple):
        return [_saved(each) for each in value]
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        return np.asarray(value)
    return cast("State", value)


def restore_estimator(kind: type[Fitted], state: Mapping[str, State]) -> Fitted:
    """Return a fitted estimator, after checking that its parts are consistent."""
    params = read_part(state, "params", dict)
    with damage_if_refused():
        X = check_features(state.get("X"))
    scoring: Scoring = read_part(state, "scoring", Scoring)
    label_names = read_names(state, "label_names")
    if scoring.Y.shape != (X.shape[0], len(label_names)):
        raise ModelFormatError(
            f"expected labels of shape {X.shape[0], len(label_names)}, got {scoring.Y.shape}"
        )
    decision: FittedDecision = read_part(state, "decision", FittedDecision)
    try:
        model = kind(**params)
        metric = get_distance(state.get("metric")).name
        index_factory(model.algorithm)
        check_decides(decision, scoring, X, metric)
        label_kind = check_option(
            "label_kind", state.get("label_kind"), ("dense", "sparse", "flat")
        )
    except (TypeError, InvalidArgumentError) as error:
        raise ModelFormatError(str(error)) from None
    ids = _row_ids(state, X.shape[0])
    name = read_plain(state, "label_dtype", str)
    if name not in LABEL_DTYPES:
        raise ModelFormatError(f"label_dtype: expected a number type, got {name!r}")
    version = FittedState(
        TrainingRows(X, metric, model.n_jobs, *ids, algorithm=model.algorithm),
        scoring,
        decision,
        label_names,
        cast("Kind", label_kind),
        name,
        model._params(),
        _calibration(state, X.shape[0]),
        row_names=unpacked_names(state, X.shape[0]),
    )
    model._publish(version)
    model.n_features_in_ = X.shape[1]
    restore_feature_names(model, state, X.shape[1])
    return model


def _row_ids(state: Mapping[str, State], n_rows: int) -> tuple[Int, int]:
    """Return the increasing ids of the rows, and how many ids were ever assigned."""
    ids, n_ids = read_array(state, "row_ids", np.int64, (n_rows,)), read_plain(state, "n_ids", int)
    if not n_rows <= n_ids <= MOST_ROWS:
        raise ModelFormatError(
            f"n_ids: expected a number from {n_rows} to {MOST_ROWS}, got {n_ids}"
        )
    if n_rows and (ids[0] < 0 or ids[-1] >= n_ids or np.any(ids[1:] <= ids[:-1])):
        raise ModelFormatError(f"row_ids: expected increasing ids from 0 to {n_ids - 1}")
    return ids, n_ids


def _calibration(state: Mapping[str, State], n_rows: int) -> Calibration:
    """Return how outdated the threshold was; older models do not store it, and count as current."""
    if "calibration" not in state:
        return Calibration(n_rows)
    counts = read_part(state, "calibration", list)
    if len(counts) != 3 or not all(type(count) is int and count >= 0 for count in counts):
        raise ModelFormatError(
            f"calibration: expected three integers of at least 0, got {counts!r}"
        )
    return Calibration(*counts)
