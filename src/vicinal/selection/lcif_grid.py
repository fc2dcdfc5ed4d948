"""The full grid of LCIF on one fold: every k_ins, k_feat and λ, each with its own threshold.

The scores of both parts are computed once per k. The compiled core mixes them, fits the thresholds
and counts correct predictions without storing them. Results are bit-identical to fitting and
evaluating :class:`vicinal.estimators.LCIF` for every setting.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from vicinal._base.arrays import Float, Int
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.progress import part
from vicinal._base.threads import thread_count, using_threads
from vicinal._base.validation import check_flag, check_integer, check_option, check_real, csr_parts
from vicinal._native import LcifGrid
from vicinal.estimators.fold import Fold
from vicinal.metrics.conventions import Conventions
from vicinal.metrics.inputs import check_truth
from vicinal.selection.count_metrics import TrueCounts, check_set_metrics
from vicinal.selection.lcif_parts import PartScores, feature_parts, instance_parts

COUNTS_AT_ONCE = 2**23
"""Counts returned by the core at a time (64 MiB), or more if one k_feat per thread needs more."""


def lcif_grid(
    fold: Fold,
    *,
    ks_instance: Sequence[int],
    ks_feature: Sequence[int],
    mixings: Sequence[float],
    second_order: bool = False,
    neighbors_of: str = "feature",
    aggregate: str = "mean",
    threshold: str = "cardinality",
    metrics: Sequence[str],
    conventions: str | Conventions = "vicinal",
    n_jobs: int | None = None,
) -> Float:
    """Evaluate every setting of LCIF on the held-out rows of a fold.

    Parameters
    ----------
    fold : Fold
        Its graphs must have the largest k of `ks_instance`, or all training rows, and include the
        joint graph if `second_order` is True.
    ks_instance, ks_feature : sequence of int
        Numbers of neighbours of the two parts, in any order.
    mixings : sequence of float
        Shares of the instance part, from 0 to 1.
    second_order : bool
    neighbors_of : {"feature", "label"}
    aggregate : {"mean", "max", "kept-mean"}
        As in :class:`vicinal.estimators.LCIF`.
    threshold : {"cardinality", "two-pass"}
        Fitted for every setting on the leave-one-out scores of the training rows; every row gets at
        least one label.
    metrics : sequence of str
        Names from :data:`vicinal.metrics.METRICS` that only need predicted label sets.
    conventions : str or Conventions
        Conventions for edge cases, as for :func:`vicinal.metrics.evaluate`.
    n_jobs : int or None
        Number of threads; None for all cores. The result does not depend on it.

    Returns
    -------
    ndarray of float64, shape (len(ks_instance), len(ks_feature), len(mixings), len(metrics))

    Notes
    -----
    Memory: 12 bytes per score of a training or held-out row, for the feature part at every k and
    the instance part at one k; per thread 16 to 40 bytes per training score and 9 per label; and
    the counts (:data:`COUNTS_AT_ONCE`).

    Examples
    --------
    Rows 0 and 1 and the held-out row have the first feature and the first label.

    >>> from scipy import sparse
    >>> from vicinal.index import build_index
    >>> from vicinal.scoring import Training
    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1], [1, 0]], dtype=np.int32))
    >>> index = build_index(X[:3], "cosine")
    >>> training = Training(index.query_self(2), Y[:3], X[:3])
    >>> fold = Fold(training, index.query(X[3:], 2), X[3:], Y[3:])
    >>> values = lcif_grid(
    ...     fold, ks_instance=[1, 2], ks_feature=[1], mixings=[0, 1], metrics=["example-f1"]
    ... )
    >>> values.shape
    (2, 1, 2, 1)
    >>> values.min()
    np.float64(1.0)
    """
    names = check_set_metrics(metrics)
    shares = np.array([check_real("mixings", each, 0, 1) for each in mixings], dtype=np.float64)
    first_ks, second_ks = (
        _ascending("ks_instance", ks_instance),
        _ascending("ks_feature", ks_feature),
    )
    truth = TrueCounts.of(check_truth(fold.Y))
    with using_threads(n_jobs):
        n_threads = thread_count()
        features = list(feature_parts(fold, second_ks, neighbors_of, aggregate, n_threads))
        core = _core(fold, features, shares, threshold, n_threads)
        parts = instance_parts(fold, first_ks, check_flag("second_order", second_order))
        found: list[Float] = []
        with part("Label sets of LCIF", len(first_ks)) as advance:
            for each in parts:
                cells = _counts(core, each, len(features), len(shares), fold, n_threads)
                found.extend(truth.values(*counts, names, conventions) for counts in cells)
                advance(1)
    values = np.array(found).reshape(len(first_ks), len(second_ks), len(shares), len(names))
    in_order = np.searchsorted(first_ks, ks_instance), np.searchsorted(second_ks, ks_feature)
    return values[np.ix_(*in_order)]


def _ascending(name: str, ks: Sequence[int]) -> list[int]:
    """Return the distinct numbers of neighbours, ascending."""
    distinct = sorted({check_integer(name, k, low=1) for k in ks})
    if not distinct:
        raise InvalidArgumentError(name, "at least one number of neighbours", "none")
    return distinct


def _core(
    fold: Fold, features: Sequence[PartScores], shares: Float, threshold: object, n_threads: int
) -> LcifGrid:
    """Pass the feature parts and the task to the compiled core."""
    rule = check_option("threshold", threshold, ("cardinality", "two-pass"))
    Y = fold.training.Y
    most_frequent = int(np.argmax(np.bincount(Y.indices, minlength=Y.shape[1])))
    return LcifGrid(
        [part.training for part in features],
        [part.held_out for part in features],
        *csr_parts(fold.Y),
        shares,
        rule == "two-pass",
        int(Y.nnz),
        most_frequent,
        n_threads,
    )


def _counts(
    core: LcifGrid,
    instance: PartScores,
    n_features: int,
    n_mixings: int,
    fold: Fold,
    n_threads: int,
) -> Iterator[tuple[Int, Int, Int, Int]]:
    """Yield the counts of every k_feat and λ for one instance part, several k_feat at a time."""
    numbers_each = 2 * n_mixings * (fold.Y.shape[0] + fold.Y.shape[1])
    step = max(n_threads, COUNTS_AT_ONCE // max(numbers_each, 1))
    for first in range(0, n_features, step):
        last = min(first + step, n_features)
        yield from zip(
            *core.counts(instance.training, instance.held_out, first, last, n_threads), strict=True
        )
