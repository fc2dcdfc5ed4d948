"""What a user may choose of a blend, checked."""

from dataclasses import dataclass

COMBINATIONS = ("boosting", "network", "mix")


@dataclass(frozen=True)
class BlendSettings:
    """Choices of a fit.

    Parameters
    ----------
    combine : {"boosting", "network", "mix"}
        Gradient boosting, a small network, or weights that sum to one.
    random_state : int
    max_memory : int
        Bytes that the fit may use beside the rows.
    n_jobs : int or None
    """

    combine: str
    random_state: int
    max_memory: int
    n_jobs: int | None
