"""Neighbour search and ML-ARP's loss on a GPU with PyTorch; on the CPU too, for tests.

Input: dense rows (and labels) as plain arrays. Output: ids and values of the nearest rows in the
order of the definition (:mod:`vicinal.index.reference`), or the loss of a projection. Imports only
NumPy, PyTorch and the standard library, so it runs without the compiled core, scikit-learn and
SciPy. On CUDA, Triton kernels are used if Triton is installed. May be imported by ``index`` and
later layers, if a user selects ``backend="torch"``.
"""

from importlib import import_module

from vicinal.errors import MissingExtraError

try:
    import_module("torch")
except ImportError:
    raise MissingExtraError("torch", "gpu") from None

from vicinal.gpu.mlknn_loss import ProjectionLoss, sparse_rows
from vicinal.gpu.products import cuda_available, device_name, pick_device
from vicinal.gpu.search import DenseSearch

__all__ = [
    "DenseSearch",
    "ProjectionLoss",
    "cuda_available",
    "device_name",
    "pick_device",
    "sparse_rows",
]
