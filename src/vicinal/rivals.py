"""Deprecated: the former name of :mod:`vicinal.baselines`."""

import sys
from typing import TYPE_CHECKING

from vicinal import baselines
from vicinal._base.deprecation import RIVALS

if TYPE_CHECKING:
    from vicinal.baselines import (
        ADTBoostMH,
        BinaryRelevanceSVM,
        BoosTexter,
        LabelFrequency,
        RankSVM,
    )

__all__ = ["ADTBoostMH", "BinaryRelevanceSVM", "BoosTexter", "LabelFrequency", "RankSVM"]

RIVALS.warn()

# Models that were pickled under the former name look for its modules.
for _name, _module in list(sys.modules.items()):
    if _name.startswith(f"{baselines.__name__}."):
        sys.modules[_name.replace(baselines.__name__, __name__)] = _module


def __getattr__(name: str) -> object:
    """Return a baseline, with a warning at the line that asks for it."""
    if name not in __all__:
        raise AttributeError(f"module 'vicinal.rivals' has no attribute {name!r}")
    RIVALS.warn()
    found: object = getattr(baselines, name)
    return found
