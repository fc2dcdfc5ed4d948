"""Device selection, chunk sizes, and products in full float32 precision."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from vicinal._base.errors import InvalidArgumentError


def cuda_available() -> bool:
    """Tell whether there is a CUDA device."""
    return torch.cuda.is_available()


def device_name() -> str:
    """Return the name of the first CUDA device, or ``"none"``."""
    return torch.cuda.get_device_name(0) if cuda_available() else "none"


def pick_device(device: str | torch.device | None = None) -> torch.device:
    """Return the requested device; by default CUDA if available, otherwise the CPU.

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
        raise InvalidArgumentError("device", "an available device", device)
    return chosen


def cells_at_once(device: torch.device) -> int:
    """Return the maximum size of a chunk: 2 GiB of float32 on a GPU, 32 MiB on the CPU.

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
