"""Where a search or a loss is computed: here, or by PyTorch on a device."""

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_option
from vicinal._base.warn import warn_user

BACKENDS = ("numpy", "torch")


def chosen_backend(backend: object, device: str | None) -> str:
    """Return the backend to use: PyTorch without a device named and without CUDA is not.

    ``"numpy"`` is the compiled core on the CPU, which is the faster of the two there; a warning
    says so. A device that is named (``"cpu"``, ``"cuda:1"``) is used, or refused.

    Raises
    ------
    MissingExtraError
        Where PyTorch is asked for and not installed.

    Examples
    --------
    >>> chosen_backend("numpy", None)
    'numpy'
    >>> chosen_backend("torch", "cpu")
    'torch'
    """
    name = check_option("backend", backend, BACKENDS)
    if name == "numpy":
        if device is not None:
            raise InvalidArgumentError("device", "None unless the backend is 'torch'", repr(device))
        return name
    from vicinal.gpu import cuda_available, pick_device

    if device is None and not cuda_available():
        warn_user("backend 'torch': there is no CUDA device, so the CPU is used (backend 'numpy')")
        return "numpy"
    pick_device(device)
    return name
