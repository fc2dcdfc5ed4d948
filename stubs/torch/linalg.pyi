from typing import NamedTuple

from torch import Tensor

class _Factor(NamedTuple):
    L: Tensor
    info: Tensor

def cholesky_ex(A: Tensor) -> _Factor: ...
def vector_norm(x: Tensor, *, dim: int | None = None) -> Tensor: ...
