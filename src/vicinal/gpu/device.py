"""Which device, how much of it a chunk may take, and products in full float32."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from vicinal._base.errors import InvalidArgumentError


def cuda_available() -> bool:
    """Tell whether there is a CUDA device."""
    return torch.cuda.is_available()


def device_name() -> str:
    """Return what the first CUDA device is called, or ``"none"``."""
    return torch.cuda.get_device_name(0) if cuda_available() else "none"


def pick_device(device: str | torch.device | None = None) -> torch.device:
    """Return the device asked for; without a wish CUDA where there is one, else the CPU.

    Examples
    --------
    >>> pick_device("cpu")
    device(type='cpu')
    """
    if device is None:
        return torch.device("cuda" if cuda_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise InvalidArgumentError("device", "a device such as 'cuda'", device) from None
    if chosen.type not in ("cpu", "cuda"):
        raise InvalidArgumentError("device", "'cpu' or 'cuda'", device)
    if chosen.type == "cuda" and not cuda_available():
        raise InvalidArgumentError("device", "a device that is there", device)
    return chosen


def cells_at_once(device: torch.device) -> int:
    """Return how many numbers a chunk of a search may hold: 2 GiB of float32 on a GPU, or 32 MiB.

    Examples
    --------
    >>> cells_at_once(torch.device("cpu"))
    8388608
    """
    return 2**29 if device.type == "cuda" else 2**23


@contextmanager
def full_float32() -> Iterator[None]:
    """Multiply float32 matrices in float32: no TF32, whatever the user set elsewhere."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
