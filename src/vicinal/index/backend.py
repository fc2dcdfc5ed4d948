"""Choose the backend: the compiled core on the CPU, or PyTorch on a device."""

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_option
from vicinal._base.warn import warn_user

BACKENDS = ("numpy", "torch")


def chosen_backend(backend: object, device: str | None) -> str:
    """Return the backend to use: ``"torch"`` without CUDA and without a named device falls back.

    The fallback is ``"numpy"``, the compiled core, which is faster on the CPU; a warning is issued.
    A named device (``"cpu"``, ``"cuda:1"``) is used, or an error is raised.

    Raises
    ------
    MissingExtraError
        If PyTorch is requested but not installed.

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
