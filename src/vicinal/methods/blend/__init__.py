r"""The blend, as a scikit-learn estimator.

Input: the training rows, their graph and labels. Output: a :class:`BlendScoring`, which turns rows
into calibrated probabilities of their most likely labels:

.. math:: p(x, l) = \sigma\Bigl(\frac{1}{F} \sum_{f=1}^{F} T_f(c(x, l))\Bigr)

where the cell :math:`c(x, l)` holds the scores of label :math:`l` for row :math:`x` by every part,
the trees :math:`T_f` were fitted on the cells of all training rows but those of fold :math:`f`, and
:math:`\sigma` is the logistic function. How data flows::

    rows ─▶ views: as given, weighted by labels, scaled
         ─▶ parts: votes, ridge, … of each view
         ─▶ cells: candidate labels, and their scores by each part
         ─▶ mixture ─▶ probabilities

``plan`` decides which parts a data set can afford; everything is learned on leave-one-out scores.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, cast

from vicinal._core.checks import check_integer, check_option
from vicinal._core.state import State, read_part
from vicinal._core.threads import library_threads
from vicinal.decision import Decision, FittedDecision, MetricThreshold, NeverEmpty
from vicinal.decision.rule import fit_blocks, is_fitted, needs_of
from vicinal.errors import InvalidArgumentError, ModelFormatError, warn_user
from vicinal.graph import narrowed
from vicinal.index import TrainingRows
from vicinal.methods.base import NeighborEstimator
from vicinal.methods.blend.mixture import ConvexMix, Trees
from vicinal.methods.blend.network import Network
from vicinal.methods.blend.parts import (
    NEIGHBORS,
    CoOccurrence,
    FeatureSimilarityScoring,
    Part,
    View,
    unchanged_view,
)
from vicinal.methods.blend.plan import COMBINATIONS, BlendSettings, content_order
from vicinal.methods.blend.scoring import BlendScoring, fit_blend, fit_mixture
from vicinal.methods.fitted_state import plain_parameters
from vicinal.methods.incremental import IncrementalEstimator
from vicinal.methods.label_ridge.scoring import RidgeScoring
from vicinal.methods.label_ridge.solver import check_memory
from vicinal.methods.registry import Method
from vicinal.methods.training import Scoring, Training, block_rows, check_given


def unfitted_state(model: NeighborEstimator) -> State:
    """Return the class and the parameters of an estimator.

    Examples
    --------
    >>> from vicinal import BRkNN
    >>> unfitted_state(BRkNN(3))["type"]
    'BRkNN'
    """
    return {"type": type(model).__name__, "params": plain_parameters(model)}


def unfitted_from(state: State) -> NeighborEstimator:
    """Build an estimator from :func:`unfitted_state`, checked."""
    if not isinstance(state, dict) or not isinstance(state.get("params"), dict):
        raise ModelFormatError("parts: expected a type and parameters for each part")
    every: type[Any] = NeighborEstimator
    kinds = {kind.__name__: kind for kind in _kinds(every)}
    kind, params = kinds.get(str(state.get("type"))), state["params"]
    if kind is None or not isinstance(params, dict):
        raise ModelFormatError(f"parts: unknown estimator {state.get('type')!r}")
    try:
        return kind(**params)
    except TypeError as error:
        raise ModelFormatError(f"parts: {error}") from None


def _kinds(kind: type[Any]) -> Iterator[type[NeighborEstimator]]:
    """Yield the concrete subclasses of a class, direct and indirect."""
    for subclass in kind.__subclasses__():
        if not getattr(subclass, "__abstractmethods__", None):
            yield subclass
        yield from _kinds(subclass)


class Blend(IncrementalEstimator):
    """Neighbours and linear models, combined by a model trained on their leave-one-out scores.

    Needs no tuning: for counts, 0/1 values, tf-idf or measurements it chooses the feature weights,
    the number and weights of neighbours, the regularisation of the linear models, their combination
    and the threshold by itself, from the training rows alone. Its scores are calibrated
    probabilities.

    Parameters
    ----------
    parts : "auto" or list of estimators
        The models to combine. ``"auto"``: neighbour votes and ridge regression, each on the rows as
        given and on rows whose features are weighted by how well they predict labels (dense rows:
        scaled to [0, 1], with a Gaussian kernel), the similarity of features and labels, and the
        co-occurrence of labels. Or unfitted estimators of vicinal that share `metric`; those whose
        training scores include the row itself (feature kNN, LCIF, IBLR) get too much weight.
    combine : {"boosting", "network", "mix"}
        How the parts' scores of a row's candidate labels are combined. ``"boosting"``: gradient
        boosting; ``"network"``: a small neural network, slightly worse and slower to train;
        ``"mix"``: a convex combination in closed form, the fastest, with about half of the gain.
    random_state : int
        Random seed for the folds, and for the sample of rows that a large mixture is trained on.
    max_memory : int or None
        Bytes that ``fit`` may use besides the rows; None for 4 GiB. Parts that would need more are
        made smaller or left out, with a warning.
    metric : {"cosine", "dot", "euclidean"}
        For the neighbours among the rows as given.
    threshold : None, {"cardinality", "two-pass"}, float or decision object
        How probabilities become labels; None for the one threshold with the best micro-F1 on
        held-out training rows.
    never_empty : bool or None
        Whether every row gets at least one label; None for the method's own rule: it gets the most
        likely one.
    n_jobs : int or None
        Number of threads; None for all cores.
    algorithm : str or callable
        The index for the neighbours among the rows as given: ``"auto"`` (exact: inverted if X is
        sparse, else dense), another name, or a factory (:func:`vicinal.index.build_index`).

    Attributes
    ----------
    part_names_ : tuple of str
        The parts in use.

    Notes
    -----
    :mod:`vicinal.methods.blend` explains how it works. Only the 15 to 100 most promising labels of
    a row get a probability; the others score 0. ``partial_fit`` and ``forget`` update the graph of
    the rows as given and refit everything else, so that the model equals a fresh fit.

    Examples
    --------
    >>> from vicinal import datasets
    >>> tags = datasets.load("debtags")
    >>> train, test = tags.subset(range(0, 200)), tags.subset(range(200, 240))
    >>> model = Blend().fit(train.X, train.Y, label_names=tags.label_names)
    >>> model.part_names_
    ('votes, as given', 'votes, weighted', 'ridge, as given', 'ridge, weighted',
     'feature similarity', 'co-occurrence')
    >>> len(model.predict_names(test.X))
    40
    """

    method = Method(
        name="blend",
        grid={"combine": ("boosting", "mix")},
        cost="slow",
        neighbors=None,
        rule=NeverEmpty(MetricThreshold("micro-f1")),
        scoring=(
            BlendScoring,
            Part,
            View,
            CoOccurrence,
            FeatureSimilarityScoring,
            Trees,
            Network,
            ConvexMix,
        ),
    )

    def __init__(
        self,
        parts: str | Sequence[NeighborEstimator] = "auto",
        combine: str = "boosting",
        *,
        random_state: int = 0,
        max_memory: int | None = None,
        metric: str = "cosine",
        threshold: object = None,
        never_empty: bool | None = None,
        n_jobs: int | None = None,
        algorithm: object = "auto",
    ) -> None:
        self.parts = parts
        self.combine = combine
        self.random_state = random_state
        self.max_memory = max_memory
        self.metric = metric
        self.threshold = threshold
        self.never_empty = never_empty
        self.n_jobs = n_jobs
        self.algorithm = algorithm

    def _neighbors(self) -> int:
        """Return the largest number of neighbours that any part uses."""
        given = self._given_parts()
        if given is None:
            return max(NEIGHBORS)
        return max(part._neighbors() for part in given)

    def _given_parts(self) -> list[NeighborEstimator] | None:
        """Return the estimators to combine, or None if `parts` is ``"auto"``."""
        if isinstance(self.parts, str):
            check_option("parts", self.parts, ("auto",))
            return None
        parts = list(self.parts)
        if not parts or not all(isinstance(part, NeighborEstimator) for part in parts):
            raise InvalidArgumentError("parts", "'auto' or a list of vicinal estimators", parts)
        return parts

    def _settings(self) -> BlendSettings:
        """Return the parameters, checked."""
        return BlendSettings(
            check_option("combine", self.combine, COMBINATIONS),
            check_integer("random_state", self.random_state, low=0),
            check_memory(self.max_memory),
        )

    def _fit_scoring(self, training: Training) -> BlendScoring:
        """Fit the parts and the model that combines them."""
        settings, given, k = self._settings(), self._given_parts(), self._neighbors()
        with library_threads():
            if given is None:
                return fit_blend(training, k, settings)
            X = check_given(training.X, training.n_rows)
            order = content_order(X, training.Y)
            parts = [
                Part(f"{type(part).__name__} {number}", 0, _fitted(part, training))
                for number, part in enumerate(given, start=1)
            ]
            return fit_mixture([unchanged_view()], parts, None, [training], k, settings, order)

    def _finish_fit(self, scoring: Scoring, training: Training) -> None:
        """Warn once of the ridges in use in which rows decide their own fit."""
        parts = scoring.parts if isinstance(scoring, BlendScoring) else ()
        found = [
            f"{part.name!r} ({part.scoring.n_alone} of {training.n_rows} rows)"
            for part in parts
            if isinstance(part.scoring, RidgeScoring) and part.scoring.n_alone
        ]
        if not found:
            return
        remedy = "raise their alpha, or scale the rows"
        if self._given_parts() is None:
            remedy = "drop features that depend on others, or pass parts=[…, LabelRidge(alpha=…)]"
        warn_user(
            f"Blend: some rows decide their own fit in {', '.join(found)}; their leave-one-out "
            f"scores there are the means of the labels ({remedy})"
        )

    @property
    def part_names_(self) -> tuple[str, ...]:
        """The parts in use."""
        return cast("BlendScoring", self._state("part_names_").scoring).names

    def _fitted_decision(
        self, decision: Decision, scoring: Scoring, training: Training, search: TrainingRows
    ) -> FittedDecision:
        """Fit a rule on the held-out scores of the rows that the combination was trained on."""
        held_out = scoring.held_out if isinstance(scoring, BlendScoring) else None
        if held_out is None or is_fitted(decision):
            return super()._fitted_decision(decision, scoring, training, search)
        needs = needs_of(decision)
        if not needs.needs_scores or needs.n_folds is not None:
            return super()._fitted_decision(decision, scoring, training, search)
        known = training.Y[held_out.rows]
        return fit_blocks(decision, held_out.blocks(block_rows(scoring)), known)

    def get_state(self) -> dict[str, State]:
        """Return the fitted model as plain values, arrays and parts."""
        state, given = super().get_state(), self._given_parts()
        if given is None:
            return state
        params = read_part(state, "params", dict)
        parts = [unfitted_state(part) for part in given]
        return {**state, "params": {**params, "parts": parts}}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        params = read_part(state, "params", dict)
        parts = params.get("parts")
        if isinstance(parts, list):
            params = {**params, "parts": [unfitted_from(part) for part in parts]}
        read_part(state, "scoring", BlendScoring)
        return super().from_state({**state, "params": params})


def _fitted(part: NeighborEstimator, training: Training) -> Scoring:
    """Return the scoring that one of the given estimators fits on the shared rows and graph."""
    graph = narrowed(training.graph, part._neighbors())
    return part._fit_scoring(replace(training, graph=graph))


__all__ = ["BlendScoring", "BlendSettings"]
