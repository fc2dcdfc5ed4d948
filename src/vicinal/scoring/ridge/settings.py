"""The settings of a label ridge, validated."""

from dataclasses import dataclass

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.scalars import check_integer, check_option, check_positive, check_sequence

KERNELS = ("rbf",)
BACKENDS = ("numpy", "torch")
DEFAULT_MEMORY = 4 * 2**30
"""Bytes that a fit may use by default."""


@dataclass(frozen=True)
class RidgeSettings:
    """Settings of a fit.

    Parameters
    ----------
    alphas : tuple of float
        Regularisation strengths, above 0; of several, leave-one-out micro-F1 chooses.
    kernel : None or "rbf"
        Linear, or Gaussian.
    gamma : float or None
        Of the Gaussian kernel :math:`e^{-γ d²}`; None for 1 over the median squared distance of
        training rows.
    max_memory : int
        Bytes that the fit may use.
    backend : {"numpy", "torch"}
    device : str or None
    float64_size : int or None
        Largest matrix inverted in float64; None for 3,000.
    climbs : bool
        Whether rising alphas are tried from the second one upwards, or else downwards, as long as
        each is better than the last; otherwise all are.
    """

    alphas: tuple[float, ...] = (1.0,)
    kernel: str | None = None
    gamma: float | None = None
    max_memory: int = DEFAULT_MEMORY
    backend: str = "numpy"
    device: str | None = None
    float64_size: int | None = None
    climbs: bool = False


def check_alphas(alpha: object) -> tuple[float, ...]:
    """Return the strengths to try: one number, or several.

    Examples
    --------
    >>> check_alphas(1), check_alphas([0.3, 3])
    ((1.0,), (0.3, 3.0))
    """
    if isinstance(alpha, bool | str | bytes) or not hasattr(alpha, "__iter__"):
        return (check_positive("alpha", alpha),)
    values = tuple(check_positive("alpha", value) for value in check_sequence("alpha", alpha))
    if not values:
        raise InvalidArgumentError("alpha", "at least one value", "none")
    return values


def check_settings(
    alpha: object,
    kernel: object,
    gamma: object,
    max_memory: object,
    backend: object,
    device: str | None,
) -> RidgeSettings:
    """Return the parameters of an estimator as settings."""
    if kernel is not None:
        kernel = check_option("kernel", kernel, KERNELS)
    return RidgeSettings(
        check_alphas(alpha),
        kernel,
        None if gamma is None else check_positive("gamma", gamma),
        check_memory(max_memory),
        check_option("backend", backend, BACKENDS),
        device,
    )


def check_memory(max_memory: object) -> int:
    """Return a limit in bytes; None is the default."""
    return DEFAULT_MEMORY if max_memory is None else check_integer("max_memory", max_memory, low=1)
