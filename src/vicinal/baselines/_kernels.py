"""Kernel matrices of rows with each other, or of new rows with the training rows."""

from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features, Float
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_integer, check_option, check_real

KERNEL_LIMIT = 2**28
"""Maximum number of cells of a kernel matrix: 2 GiB of float64, 16,384 rows."""


@dataclass(frozen=True)
class Kernel:
    """(γ x·x' + coef0)^degree, or exp(−γ ‖x − x'‖²).

    Parameters
    ----------
    kind : {"poly", "linear", "rbf"}
        ``"linear"`` is the polynomial of degree 1.
    degree : int
    gamma : float
    coef0 : float

    Examples
    --------
    >>> poly = Kernel("poly", degree=2, gamma=0.5, coef0=1.0)
    >>> poly(np.array([[1.0, 1.0], [2.0, 0.0]]), np.array([[2.0, 0.0]]))
    array([[4.],
           [9.]])
    """

    kind: str
    degree: int
    gamma: float
    coef0: float

    def __call__(self, left: Features, right: Features) -> Float:
        """Return the kernel of each row of `left` with each of `right`."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._values(left, right)
        if not np.isfinite(values).all():
            expected = f"features whose {self.kind} kernel is finite (scale them, or lower gamma)"
            raise InvalidArgumentError("X", expected, "numbers too large")
        return values

    def _values(self, left: Features, right: Features) -> Float:
        """Return the kernel, infinite if numbers are too large."""
        products = _products(left, right)
        if self.kind == "rbf":
            squares = _squares(left)[:, None] + _squares(right)[None, :] - 2 * products
            rbf: Float = np.exp(-self.gamma * np.maximum(squares, 0.0))
            return rbf
        poly: Float = (self.gamma * products + self.coef0) ** self.degree
        return poly


def resolve_kernel(
    kind: object, degree: object, gamma: object, coef0: object, X: Features
) -> Kernel:
    """Return the kernel for validated parameters; γ ``"scale"`` makes γ‖x‖² 1 on average.

    Examples
    --------
    >>> resolve_kernel("linear", 8, "scale", 1.0, np.array([[2.0, 0.0], [0.0, 2.0]])).gamma
    0.25
    """
    kind = check_option("kernel", kind, ("poly", "linear", "rbf"))
    power = check_integer("degree", degree, low=1) if kind == "poly" else 1
    constant = check_real("coef0", coef0, low=0.0)
    if isinstance(gamma, str):
        check_option("gamma", gamma, ("scale",))
        mean = float(_squares(X).mean())
        return Kernel(kind, power, 1.0 / mean if mean > 0 else 1.0, constant)
    return Kernel(kind, power, check_real("gamma", gamma, low=0.0), constant)


def check_kernel_rows(n_rows: int) -> None:
    """Raise if the kernel matrix of `n_rows` rows would take more than 2 GiB."""
    if n_rows * n_rows > KERNEL_LIMIT:
        most = int(np.sqrt(KERNEL_LIMIT))
        raise InvalidArgumentError(
            "X", f"at most {most} rows (the method needs a rows × rows kernel matrix)", n_rows
        )


def _products(left: Features, right: Features) -> Float:
    """Return x·x' for all pairs of rows."""
    products = left @ right.T
    if sparse.issparse(products):
        return cast("Float", cast("Csr", products).toarray())
    return cast("Float", np.asarray(products))


def _squares(X: Features) -> Float:
    """Return ‖x‖² of each row."""
    squared = X.multiply(X) if isinstance(X, sparse.csr_array) else X * X
    return cast("Float", np.asarray(squared.sum(axis=1)).ravel())
