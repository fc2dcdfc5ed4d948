"""The settings of a blend."""

from dataclasses import dataclass

COMBINATIONS = ("boosting", "network", "mix")


@dataclass(frozen=True)
class BlendSettings:
    """Settings of a fit.

    Parameters
    ----------
    combine : {"boosting", "network", "mix"}
        Gradient boosting, a small network, or weights that sum to one.
    random_state : int
    max_memory : int
        Bytes that the fit may use besides the rows.
    """

    combine: str
    random_state: int
    max_memory: int
