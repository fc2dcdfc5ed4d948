"""The graph over features and labels together, for the second-order methods."""

import inspect
import warnings
from dataclasses import replace
from typing import cast

from scipy import sparse

from vicinal._base.arrays import Csr
from vicinal._base.errors import InvalidArgumentError
from vicinal.estimators.search import Search
from vicinal.scoring import Training

FAR_BELOW = 5
"""Labels are few where rows have this many times more features than labels."""


def with_joint_graph(training: Training, k: int, n_jobs: int | None) -> Training:
    """Return `training` with the graph that second-order methods need for `k`.

    A row is its own first neighbour there, so k − 1 others are searched, by the cosine of [X, Y],
    whatever the metric of the first order. Warns where rows have far fewer labels than features:
    then the labels hardly change who is near.

    Notes
    -----
    Memory while fitting: 12 bytes an entry of X and Y, and as much for the index.
    """
    if training.X is None:
        raise InvalidArgumentError("X", "the features of the training rows", None)
    X = sparse.csr_array(training.X)
    if training.Y.nnz * FAR_BELOW < X.nnz:
        n_rows = max(training.n_rows, 1)
        warnings.warn(
            f"rows have {training.Y.nnz / n_rows:.3g} labels and {X.nnz / n_rows:.3g} features on "
            "average: second_order=True is meant for data where these are comparable",
            UserWarning,
            stacklevel=_levels_to_caller(),
        )
    both = cast("Csr", sparse.hstack([X, training.Y.astype(X.dtype)], format="csr"))
    return replace(training, joint=Search(both, "cosine", n_jobs).query_self(k - 1))


def _levels_to_caller() -> int:
    """Count the frames up to the first outside this package: where ``fit`` was called."""
    frame, levels = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("vicinal."):
        frame, levels = frame.f_back, levels + 1
    return levels
