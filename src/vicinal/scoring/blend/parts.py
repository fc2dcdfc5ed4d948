"""The parts of a blend: a scoring, and the view of the rows that it scores."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from vicinal._base.arrays import Int
from vicinal._base.bare_csr import take_rows
from vicinal._base.state import FieldState, State, read_count, read_part, read_plain
from vicinal.scoring.blend.plan import FEW_UNKNOWNS, Plan
from vicinal.scoring.choice import best_micro_f1
from vicinal.scoring.features import check_given
from vicinal.scoring.instance_knn import InstanceKNNScoring
from vicinal.scoring.ridge import RidgeScoring, RidgeSettings
from vicinal.scoring.ridge.kernel import usual_gamma
from vicinal.scoring.training import Scoring, Training

NEIGHBORS = (10, 20, 40)
POWERS = (1.0, 2.0, 4.0)
DISTANCE_POWERS = (1.0, 4.0, 16.0)
"""Of 1 / (1 + d), which differs less between neighbours than cosines do."""
ALPHAS = (0.3, 1.0, 3.0, 10.0)
FLOAT64_SIZE = 1000
"""Largest matrix inverted in float64: a mixture of scores needs no more than six digits of them."""
KERNEL_ALPHAS = (0.03, 0.1, 0.3, 1.0)
KERNEL_WIDTHS = (0.5, 1.0, 2.0, 4.0)
"""Times the usual gamma."""


@dataclass(frozen=True, eq=False)
class Part(FieldState):
    """A part.

    Parameters
    ----------
    name : str
        For explanations and reports.
    view : int
        Number of the view that it scores.
    scoring : Scoring
    """

    name: str
    view: int
    scoring: Scoring

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        scoring: Scoring = read_part(state, "scoring", Scoring)
        return cls(read_plain(state, "name", str), read_count(state, "view", low=0), scoring)


def best_votes(training: Training, judged: Int) -> InstanceKNNScoring:
    """Return votes with the k and the power of the best leave-one-out micro-F1 of some rows.

    Each neighbour is added once for each power.
    """
    graph, Y = training.graph.some(judged), take_rows(training.Y, judged)
    powers = POWERS if graph.distance_kind.is_similarity else DISTANCE_POWERS
    widths = sorted({min(k, graph.k) for k in NEIGHBORS})
    best, most = InstanceKNNScoring.fit(training, widths[0]), -1.0
    for power in powers:
        state = InstanceKNNScoring.fit(training, widths[-1], power)
        for k, scores in zip(widths, state.sweep(graph, widths), strict=True):
            value = best_micro_f1(scores, Y)
            if value > most:
                best, most = InstanceKNNScoring.fit(training, k, power), value
    return best


def linear_ridge(training: Training, plan: Plan, max_memory: int, judged: Int) -> RidgeScoring:
    """Return a ridge with the regularisation of the best leave-one-out micro-F1 of some rows.

    Rows are divided by their length, unless they are measurements.
    """
    alphas = ALPHAS if plan.tries_alphas else (1.0,)
    settings = RidgeSettings(alphas, max_memory=max_memory, float64_size=FLOAT64_SIZE, climbs=True)
    return RidgeScoring.fit(
        training,
        settings,
        is_unit=not plan.is_dense,
        max_features=plan.ridge_features,
        judged=judged,
    )


def kernel_ridge(training: Training, max_memory: int, order: Int, judged: Int) -> RidgeScoring:
    """Return a Gaussian ridge, with the best width of the kernel where several are affordable."""
    usual = usual_gamma(check_given(training.X, training.n_rows)[order])
    few = training.n_rows <= FEW_UNKNOWNS
    alphas, widths = (KERNEL_ALPHAS, KERNEL_WIDTHS) if few else ((0.1,), (1.0,))
    fitted = [
        RidgeScoring.fit(
            training,
            RidgeSettings(alphas, "rbf", width * usual, max_memory=max_memory),
            is_unit=False,
            judged=judged,
        )
        for width in widths
    ]
    return max(fitted, key=lambda ridge: ridge.micro_f1)
