"""Probabilities of a blend as sums: exact Shapley values of its parts, divided among their terms.

For a part that is left out of a sum, its score of the label and its best score of the row are 0.
The base is the log-odds of the label if all parts are left out: it depends on the label's share of
the training rows alone. A part's share is divided among the neighbours or features whose terms add
up to its own score, in proportion to them; co-occurrence, and parts whose terms nearly cancel, keep
their share.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from vicinal._base.arrays import Float
from vicinal.explain.breakdown import Breakdown, Terms
from vicinal.explain.mixture import mixture_breakdown
from vicinal.scoring.blend.cells import COLUMNS_PER_PART
from vicinal.scoring.blend.trees import Cells


def cell_breakdown(
    log_odds: Callable[[Cells], Float],
    names: Sequence[str],
    cell: Cells,
    breakdowns: Sequence[Breakdown | None],
) -> Breakdown:
    """Return the breakdown of one cell's log-odds.

    Parameters
    ----------
    log_odds : callable
        The mixture.
    names : sequence of str
        Of the parts.
    cell : ndarray of float32, shape (n_columns,)
    breakdowns : sequence of Breakdown or None
        What each part's score of the label consists of.
    """

    def mixed(speaks: Float) -> Float:
        keeps = np.repeat(speaks > 0, COLUMNS_PER_PART, axis=1)
        points = np.tile(cell, (len(speaks), 1))
        points[:, :-1] *= keeps
        return log_odds(points)

    n_parts = len(names)
    found = mixture_breakdown(mixed, names, np.ones(n_parts), np.zeros(n_parts), breakdowns)
    return replace(found, terms=_united(found.terms))


def _united(terms: Sequence[Terms]) -> tuple[Terms, ...]:
    """Return terms in which every neighbour, feature and input stands once.

    Examples
    --------
    >>> near, far = (Terms("neighbor", ids, np.ones(2)) for ids in ([4, 9], [9, 2]))
    >>> (one,) = _united([near, far])
    >>> one.ids.tolist(), one.shares.tolist()
    ([2, 4, 9], [1.0, 1.0, 2.0])
    """
    united = [each for each in terms if each.kind == "input"]
    for kind in ("feature", "neighbor"):
        same = [each for each in terms if each.kind == kind]
        if same:
            ids, place = np.unique(np.concatenate([each.ids for each in same]), return_inverse=True)
            shares = np.zeros(len(ids))
            np.add.at(shares, place, np.concatenate([each.shares for each in same]))
            united.append(Terms(kind, ids, shares))
    return tuple(united)
