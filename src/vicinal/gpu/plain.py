"""Candidates found with plain PyTorch: blocks of float32 products and the best of each query."""

from typing import NamedTuple

import torch
from torch import Tensor

from vicinal.gpu.device import cells_at_once, full_float32
from vicinal.gpu.prepared import Prepared, Queries


class Candidates(NamedTuple):
    """Rows that may be among the nearest.

    Parameters
    ----------
    ids : Tensor of int64, shape (n_queries, width)
        −1 for none.
    low : Tensor of float64, shape (n_queries, width)
        A lower bound on the score of each candidate.
    outside : Tensor of float64, shape (n_queries,)
        An upper bound on the score of every row that is not in `ids`.
    """

    ids: Tensor
    low: Tensor
    outside: Tensor

    def certain(self, real: Tensor, k: int) -> Tensor:
        """Return for which queries the k nearest are certain; `real` marks actual candidates.

        They are certain if k candidates are above all other rows, or if there are no other rows.
        """
        above = real & (self.low > self.outside[:, None])
        return (above.sum(dim=1) >= k) | self.outside.isneginf()


def plain_candidates(
    prepared: Prepared, queries: Queries, own: Tensor | None, width: int
) -> Candidates:
    """Return the `width` rows with the highest upper bounds on their scores.

    `own` contains the row id of each query, which is excluded, or is None. Memory: 4 bytes per cell
    of a block of products, at most :func:`~vicinal.gpu.device.cells_at_once`.
    """
    n_rows = len(prepared.rows)
    width = min(width, n_rows)
    errors, constants = queries.float32_errors()
    step = max(1, cells_at_once(prepared.rows.device) // n_rows)
    parts = [
        _best(prepared, queries.rows[part], errors[part], None if own is None else own[part], width)
        for part in (slice(start, start + step) for start in range(0, len(queries.rows), step))
    ]
    if not parts:
        return _nobody(width, prepared.rows.device)
    high, ids = (torch.cat(list(values)) for values in zip(*parts, strict=True))
    ids = ids.masked_fill(high == -torch.inf, -1)
    slack = errors.double()[:, None] * prepared.sizes.double()[ids] + constants.double()[:, None]
    outside = (
        high[:, -1].double() + constants
        if width < n_rows
        else torch.full_like(constants, -torch.inf, dtype=torch.float64)
    )
    return Candidates(ids, high.double() - 2 * slack, outside)


def _best(
    prepared: Prepared, rows: Tensor, errors: Tensor, own: Tensor | None, width: int
) -> tuple[Tensor, Tensor]:
    """Return the highest upper bounds of a block of queries, descending, and their rows."""
    with full_float32():
        high = torch.addmm(-prepared.biases, rows, prepared.rows.T)
    high.addr_(errors, prepared.sizes)
    if own is not None:
        high.scatter_(1, own[:, None], -torch.inf)
    values, ids = high.topk(width, dim=1)
    return values, ids


def _nobody(width: int, device: torch.device) -> Candidates:
    """Return the candidates of no queries."""
    ids = torch.zeros((0, width), dtype=torch.int64, device=device)
    return Candidates(ids, ids.double(), ids[:, 0].double())
