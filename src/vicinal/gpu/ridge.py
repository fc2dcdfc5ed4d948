"""Inverses of symmetric positive definite matrices on a device."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vicinal._base.errors import InvalidArgumentError
from vicinal.gpu.device import full_float32, pick_device


def spd_inverse(
    S: NDArray[np.floating[Any]], alpha: float, device: str | None = None
) -> NDArray[np.floating[Any]]:
    """Return (S + alpha I)⁻¹ in the number type of `S`.

    Device memory: two matrices of that size.

    Examples
    --------
    >>> spd_inverse(np.array([[3.0]]), 1.0, "cpu")
    array([[0.25]])
    """
    M = torch.as_tensor(S).to(pick_device(device), copy=True)
    M.diagonal().add_(alpha)
    with full_float32():
        factor, failed = torch.linalg.cholesky_ex(M)
        del M
        if int(failed):
            raise InvalidArgumentError(
                "alpha", "a value that makes the rows' matrix invertible", alpha
            )
        inverted: NDArray[np.floating[Any]] = torch.cholesky_inverse(factor).cpu().numpy()
    return inverted
