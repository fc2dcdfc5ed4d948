"""The fitted attributes of an estimator, read from its current version."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from threading import get_ident
from typing import Any, Self, cast

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from vicinal._base.arrays import Int
from vicinal._base.labels import Kind
from vicinal.decision import FittedDecision
from vicinal.estimators.row_names import GrowingNames, check_row_names
from vicinal.estimators.version import Calibration, Version
from vicinal.index import TrainingRows
from vicinal.scoring import Scoring

_NAMES: dict[type, tuple[str, ...]] = {}
"""Names of the parameters of each class."""


class Versioned(BaseEstimator):
    """An estimator whose fitted state is one value (:class:`~vicinal.estimators.version.Version`).

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

    def _fitted(self) -> Version:
        """Return the current version; call it once per prediction."""
        version = vars(self).get("_version")
        if version is None:
            check_is_fitted(self)
        known = cast("Version", version)
        known.readers.add(get_ident())
        return known

    def _publish(self, version: Version) -> None:
        """Make a version the current one, by one assignment."""
        self._version = version

    def _whole(self, attribute: str) -> Version:
        """Return the current version without empty places, as the attributes show it."""
        version: Version | None = vars(self).get("_version")
        if version is None:
            name = type(self).__name__
            raise AttributeError(f"{name!r} object has no attribute {attribute!r} before fit")
        return version.whole

    @property
    def scoring_(self) -> Scoring:
        """What the method learned, as plain arrays."""
        return self._whole("scoring_").scoring

    @property
    def decision_(self) -> FittedDecision:
        """The fitted rule that turns scores into labels."""
        return self._whole("decision_").decision

    @property
    def search_(self) -> TrainingRows:
        """The training rows."""
        return self._whole("search_").rows

    @property
    def metric_(self) -> str:
        """The metric of the neighbour graph that the model was fitted on."""
        return self._whole("metric_").rows.metric

    @property
    def label_names_(self) -> tuple[str, ...]:
        """Names of the labels."""
        return self._whole("label_names_").label_names

    @property
    def label_kind_(self) -> Kind:
        """Whether ``predict`` returns dense, sparse or one-dimensional (flat) arrays."""
        return self._whole("label_kind_").label_kind

    @property
    def label_dtype_(self) -> str:
        """The dtype of the arrays that ``predict`` returns."""
        return self._whole("label_dtype_").label_dtype

    @property
    def row_names_(self) -> tuple[str, ...] | None:
        """Names of the training rows, or None if none were given."""
        names = self._whole("row_names_").row_names
        return names.as_tuple if isinstance(names, GrowingNames) else names

    @row_names_.setter
    def row_names_(self, names: Sequence[str] | None) -> None:
        """Replace the names of the training rows."""
        version = self._whole("row_names_")
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
