"""Search and ML-ARP's loss on a device, by PyTorch; on the CPU too, for tests.

Input: dense rows (and labels) as plain arrays. Output: ids and values of the nearest rows in
the order of the definition (:mod:`vicinal.index.reference`), or the loss of a projection. Imports
NumPy, PyTorch and the standard library alone, so that it runs where neither the compiled core nor
scikit-learn nor SciPy is installed; a Triton kernel takes over on CUDA where Triton is there. May
be imported by ``index`` and everything after it, when a user asks for ``backend="torch"``.
"""

from importlib import import_module

from vicinal._base.errors import MissingExtraError

try:
    import_module("torch")
except ImportError:
    raise MissingExtraError("torch", "gpu") from None

from vicinal.gpu.dense import DenseSearch, dense_graph
from vicinal.gpu.device import cuda_available, device_name, pick_device
from vicinal.gpu.loss import ProjectionLoss, sparse_rows

__all__ = [
    "DenseSearch",
    "ProjectionLoss",
    "cuda_available",
    "dense_graph",
    "device_name",
    "pick_device",
    "sparse_rows",
]
