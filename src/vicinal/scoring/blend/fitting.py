"""Fitting a blend: views, parts, cells of leave-one-out scores, and the mixture of them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vicinal._base.arrays import Csr, Float, Int
from vicinal._base.bare_csr import take_rows
from vicinal._base.progress import blocks
from vicinal._base.threads import in_threads
from vicinal.scoring.blend.boosting import fit_boosting
from vicinal.scoring.blend.cells import Candidates, CellMaker, score_spread
from vicinal.scoring.blend.co_occurrence import CoOccurrence
from vicinal.scoring.blend.folds import can_learn
from vicinal.scoring.blend.mix import ConvexMix
from vicinal.scoring.blend.network import fit_network
from vicinal.scoring.blend.parts import Part, best_votes, kernel_ridge, linear_ridge
from vicinal.scoring.blend.plan import MOST_CELLS, Plan, candidates_per_row, make_plan
from vicinal.scoring.blend.row_order import content_order
from vicinal.scoring.blend.scoring import (
    BlendScoring,
    HeldOut,
    Mixture,
    left_out_scores,
    probability,
    rows_at_once,
)
from vicinal.scoring.blend.settings import BlendSettings
from vicinal.scoring.blend.similarity import FeatureSimilarityScoring
from vicinal.scoring.blend.views import View, given_view, scaled_view, weighted_view
from vicinal.scoring.features import check_given
from vicinal.scoring.training import Training

JUDGED_ROWS, JUDGED_LABELS = 4000, 25_000
"""Rows, and labels that they have, by which k, powers and regularisations are chosen."""
SPREAD_ROWS = 500
"""Rows whose scores set the scale of each part."""


def fit_blend(training: Training, k: int, settings: BlendSettings) -> BlendScoring:
    """Choose views and parts by what the rows are and cost, and learn their mixture."""
    X = check_given(training.X, training.n_rows)
    co_occurrence = CoOccurrence.fit(training.Y)
    plan = make_plan(X, training.Y, co_occurrence.pairs.nnz, settings.max_memory)
    plan.warn()
    views, trainings = _views(training, plan, k)
    order = content_order(X, training.Y)
    parts = _parts(trainings, plan, settings, order)
    used = co_occurrence if plan.has_co_occurrence else None
    return fit_mixture(views, parts, used, trainings, k, settings, order)


def fit_mixture(
    views: Sequence[View],
    parts: Sequence[Part],
    co_occurrence: CoOccurrence | None,
    trainings: Sequence[Training],
    k: int,
    settings: BlendSettings,
    order: Int,
) -> BlendScoring:
    """Learn the mixture of fitted parts from their leave-one-out scores.

    Cells come in the `order` that the contents of the rows decide, and so do folds and sums.
    """
    Y = trainings[0].Y
    n_rows, n_labels = Y.shape
    width = candidates_per_row(Y)
    rows = order[_mixed_rows(n_rows, MOST_CELLS // width, settings.random_state)]
    few = rows[:: max(1, len(rows) // SPREAD_ROWS)]
    spread = score_spread(left_out_scores(parts, trainings, co_occurrence, few))
    share = (np.bincount(Y.indices, minlength=n_labels) + 0.5) / (n_rows + 1.0)
    maker = CellMaker(*spread, np.log(share), width)

    def some(bounds: tuple[int, int]) -> Candidates:
        return maker.make(left_out_scores(parts, trainings, co_occurrence, rows[slice(*bounds)]))

    step = rows_at_once(parts, n_labels)
    made = in_threads(some, blocks(len(rows), step, "Leaving rows out"))
    candidates = Candidates(
        np.concatenate([block.labels for block in made]),
        np.concatenate([block.cells for block in made]),
    )
    del made
    row_of = np.repeat(np.arange(len(rows)), width)
    true = np.asarray(
        take_rows(Y, rows).astype(np.float64)[row_of, candidates.labels.ravel()]
    ).ravel()
    mixture, log_odds = _mixture(candidates, true, row_of, settings)
    rising = np.argsort(rows)
    held_out = candidates.scores(probability(log_odds), n_labels).take(rising)
    return BlendScoring(
        k,
        tuple(views),
        tuple(parts),
        co_occurrence,
        maker,
        mixture,
        Y,
        HeldOut(rows[rising], held_out),
    )


def _mixture(
    candidates: Candidates, true: Float, row_of: Int, settings: BlendSettings
) -> tuple[Mixture, Float]:
    """Return the mixture, and the log-odds of its training cells."""
    if settings.combine == "mix" or not can_learn(true, row_of, settings.random_state):
        mix = ConvexMix.fit(candidates.cells, true)
        return mix, mix.log_odds(candidates.cells)
    if settings.combine == "network":
        network = fit_network(candidates.cells, true, row_of, settings.random_state)
        return network.network, network.held_out
    boosted = fit_boosting(candidates.cells, true, row_of, settings.random_state)
    return boosted.trees, boosted.held_out


def _views(training: Training, plan: Plan, k: int) -> tuple[list[View], list[Training]]:
    """Return the views of the rows, and the training rows and graph in each."""
    X = check_given(training.X, training.n_rows)
    first = given_view(X)
    views, trainings = [first], [replace(training, X=first.of(X))]
    second = None
    if plan.is_dense:
        second = scaled_view(X)
    elif plan.has_weights:
        second = weighted_view(X, training.Y)
    if second is not None:
        views.append(second)
        trainings.append(Training(second.nearest_others(k), training.Y, second.rows))
    return views, trainings


def _parts(
    trainings: Sequence[Training], plan: Plan, settings: BlendSettings, order: Int
) -> list[Part]:
    """Return the fitted parts of every view."""
    judged = order[: judged_rows(trainings[0].Y)]
    names = ("as given", "scaled" if plan.is_dense else "weighted")
    votes = in_threads(lambda training: best_votes(training, judged), trainings)
    parts = [Part(f"votes, {names[view]}", view, each) for view, each in enumerate(votes)]
    if plan.ridge_features:
        # Measurements as given differ in scale, which no ridge should depend on.
        first = 1 if plan.is_dense else 0

        def fit_ridge(view: int) -> Part:
            ridge = linear_ridge(trainings[view], plan, settings.max_memory, judged)
            return Part(f"ridge, {names[view]}", view, ridge)

        seen = range(first, len(trainings))
        parts += in_threads(fit_ridge, seen) if plan.solves_together else map(fit_ridge, seen)
    if plan.has_kernel:
        kernel = kernel_ridge(trainings[1], settings.max_memory, order, judged)
        parts.append(Part("ridge, kernel", 1, kernel))
    if plan.has_similarity and plan.has_weights:
        last = len(trainings) - 1
        similarity = FeatureSimilarityScoring.fit(trainings[last])
        parts.append(Part("feature similarity", last, similarity))
    return parts


def judged_rows(Y: Csr) -> int:
    """Return how many rows settings are chosen on: fewer where rows have many labels.

    Examples
    --------
    >>> from scipy import sparse
    >>> judged_rows(sparse.csr_array(np.ones((5_000, 2)))), judged_rows(sparse.csr_array((9, 2)))
    (4000, 4000)
    >>> judged_rows(sparse.csr_array(np.ones((5_000, 25))))
    1000
    """
    return min(JUDGED_ROWS, JUDGED_LABELS * Y.shape[0] // max(1, Y.nnz))


def _mixed_rows(n_rows: int, most: int, random_state: int) -> Int:
    """Return the places of the rows that the mixture is trained on: all, or some at random."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(random_state).permutation(n_rows)[:most])
