"""One transformer of scikit-learn as a part that can be saved."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from vicinal._core.state import Saveable, State, read_part, read_plain
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.persistence.registry import register
from vicinal.persistence.sklearn_parts import arrays, containers, one_hot, vectorizers
from vicinal.persistence.sklearn_parts.classes import HOMES, sklearn_class
from vicinal.persistence.sklearn_parts.codec import Codec

CODECS: Mapping[str, Codec] = {
    **vectorizers.CODECS,
    **arrays.CODECS,
    **one_hot.CODECS,
    **containers.CODECS,
}
SKLEARN_NAMES = tuple(HOMES)
"""The classes of scikit-learn that can be saved."""


@dataclass(frozen=True, eq=False)
class SklearnPart:
    """A fitted transformer of scikit-learn, to be saved or just read."""

    estimator: Any

    def get_state(self) -> dict[str, State]:
        """Return the class by name and what it learned."""
        kind = type(self.estimator).__name__
        return {"kind": kind, "fitted": CODECS[kind].state(self.estimator, as_part)}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        kind = read_plain(state, "kind", str)
        if kind not in CODECS:
            known = ", ".join(CODECS)
            raise ModelFormatError(f"expected a class of scikit-learn ({known}), got {kind!r}")
        try:
            return cls(CODECS[kind].build(read_part(state, "fitted", dict)))
        except (ValueError, TypeError, LookupError, AttributeError, re.error) as error:
            raise ModelFormatError(f"{kind}: {error}") from None


register("persistence.Sklearn", SklearnPart)


def as_part(name: str, step: Any) -> Saveable:
    """Return a step as a part that can be saved, or say which steps can.

    Parameters
    ----------
    name : str
        What the pipeline calls it, for the error.
    step : object
    """
    if isinstance(step, Saveable):
        return step
    kind = type(step).__name__
    if kind in HOMES and type(step) is sklearn_class(kind):
        check_is_fitted(step)
        return SklearnPart(step)
    raise InvalidArgumentError(
        f"step {name!r}",
        f"a transformer of vicinal.preprocess, or of scikit-learn: {', '.join(HOMES)}",
        repr(step)[:200],
    )


def restored(part: object) -> Any:
    """Return the transformer that a part holds, or the part itself."""
    return part.estimator if isinstance(part, SklearnPart) else part
