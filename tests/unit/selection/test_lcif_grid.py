"""The LCIF grid: for every setting what fitting and evaluating the estimator gives, to the bit."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.errors import InvalidArgumentError
from vicinal.index import build_index
from vicinal.methods import LCIF
from vicinal.methods.fold import Fold
from vicinal.methods.training import Training
from vicinal.metrics import METRICS, evaluate
from vicinal.selection import lcif_grid as module
from vicinal.selection.lcif_grid import lcif_grid

pytestmark = [pytest.mark.native, pytest.mark.filterwarnings("ignore:rows have")]
SET_METRICS = [name for name, info in METRICS.items() if info.needs == "labels"]
MIXINGS = [0.0, 0.1, 0.3, 0.5, 0.9, 1.0]


@dataclass(frozen=True)
class Problem:
    """Training rows, and rows held out."""

    X: Any
    Y: np.ndarray
    X_out: Any
    Y_out: np.ndarray
    metric: str = "cosine"

    def fold(self, k: int) -> Fold:
        """Search afresh, as wide as k needs."""
        n, Y, Y_out = len(self.Y), sparse.csr_array(self.Y), sparse.csr_array(self.Y_out)
        index = build_index(self.X, self.metric)
        X = self.X.toarray() if sparse.issparse(self.X) else self.X
        both = build_index(sparse.csr_array(np.hstack([X, self.Y])), "cosine")
        joint = both.query_self(max(1, min(k, n) - 1))
        training = Training(index.query_self(max(1, min(k, n - 1))), Y, self.X, joint)
        return Fold(training, index.query(self.X_out, min(k, n)), self.X_out, Y_out)

    def refitted(self, fold: Fold, k: int, k_feature: int, mixing: float, **options: Any) -> Any:
        """Fit one estimator and evaluate what it predicts."""
        model = LCIF(k, k_feature, mixing, metric=self.metric, **options)
        model.fit(self.X, fold.training.Y, graph=fold.training.graph)
        labels = model.predict(self.X_out, graph=fold.graph)
        return list(evaluate(self.Y_out, labels, metrics=SET_METRICS).values())


def check(problem: Problem, ks: list[int], ks_feature: list[int], **options: Any) -> None:
    """Compare every setting with an estimator fitted for it."""
    fold = problem.fold(max(ks))
    found = lcif_grid(
        fold,
        ks_instance=ks,
        ks_feature=ks_feature,
        mixings=MIXINGS,
        metrics=SET_METRICS,
        n_jobs=1,  # so that each k_feat starts from the thresholds of the one before
        **options,
    )
    assert found.shape == (len(ks), len(ks_feature), len(MIXINGS), len(SET_METRICS))
    for setting in product(*map(enumerate, (ks, ks_feature, MIXINGS))):
        place, values = zip(*setting, strict=True)
        expected = problem.refitted(fold, *values, **options)
        assert found[place].tolist() == expected, values


OPTIONS = st.fixed_dictionaries(
    {
        "second_order": st.booleans(),
        "neighbors_of": st.sampled_from(["feature", "label"]),
        "aggregate": st.sampled_from(["mean", "max", "kept-mean"]),
        "threshold": st.sampled_from(["cardinality", "two-pass"]),
    }
)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Rows without features or labels, ties, duplicates, few rows, one label or very many."""
    n, n_out, m = draw(st.integers(1, 12)), draw(st.integers(1, 5)), draw(st.integers(1, 5))
    n_labels = draw(st.sampled_from([1, 2, 5, 40]))
    often = draw(st.sampled_from([0.0, 0.05, 0.3, 0.8, 1.0]))
    zeros = draw(st.sampled_from([0, 1, 3, 20]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    X = rng.choice([0.25, 0.5, 1.0, *[0.0] * zeros], size=(n + n_out, m))
    Y = (rng.random((n + n_out, n_labels)) < often).astype(np.int32)
    rows: Any = sparse.csr_array(X) if draw(st.booleans()) else X
    metric = draw(st.sampled_from(["cosine", "dot", "euclidean"]))
    return Problem(rows[:n], Y[:n], rows[n:], Y[n:], metric)


@settings(max_examples=40, deadline=None)
@given(problems(), OPTIONS, st.sampled_from([([1, 3], [1, 2]), ([2, 20], [60])]))
def test_every_setting_equals_refitting(
    problem: Problem, options: dict[str, Any], ks: tuple[list[int], list[int]]
) -> None:
    check(problem, *ks, **options)


def random_problem(
    n: int, m: int, n_labels: int, often: float = 0.1, levels: int = 0, seed: int = 3
) -> Problem:
    """Return rows whose features have few levels, so that scores tie, or are all different."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, m)) if levels == 0 else rng.integers(1, levels + 1, (n, m)) / levels
    X = X * (rng.random((n, m)) < 0.4)
    hidden = X @ rng.random((m, n_labels)) + rng.normal(scale=0.1, size=(n, n_labels))
    Y = (hidden > np.quantile(hidden, 1 - often)).astype(np.int32)
    n_out = n // 10
    return Problem(X[n_out:], Y[n_out:], X[:n_out], Y[:n_out])


@pytest.mark.parametrize("threshold", ["cardinality", "two-pass"])
@pytest.mark.parametrize("levels", [0, 1, 2])
def test_enough_cells_for_low_ones_to_be_left_out(threshold: str, levels: int) -> None:
    check(random_problem(330, 12, 25, levels=levels), [1, 4, 9], [1, 2, 3, 7], threshold=threshold)


@pytest.mark.parametrize("neighbors_of", ["feature", "label"])
@pytest.mark.parametrize("aggregate", ["mean", "max", "kept-mean"])
def test_the_switches_on_many_rows(neighbors_of: str, aggregate: str) -> None:
    problem = random_problem(260, 15, 20, levels=3)
    check(problem, [3, 8], [1, 3, 5], neighbors_of=neighbors_of, aggregate=aggregate)


def test_the_second_order_on_many_rows() -> None:
    check(random_problem(260, 15, 20), [1, 2, 8], [2, 5], second_order=True)


@pytest.mark.parametrize("often", [0.0, 1.0])
@pytest.mark.parametrize("n_labels", [1, 6])
def test_rows_that_carry_no_label_or_all(often: float, n_labels: int) -> None:
    problem = random_problem(40, 6, n_labels)
    Y, Y_out = (np.full_like(each, int(often)) for each in (problem.Y, problem.Y_out))
    for threshold in ("cardinality", "two-pass"):
        check(Problem(problem.X, Y, problem.X_out, Y_out), [1, 5], [1, 9], threshold=threshold)


def grid(fold: Fold, **changes: Any) -> Any:
    asked: dict[str, Any] = {
        "ks_instance": [1, 3],
        "ks_feature": [1, 2],
        "mixings": [0.0, 0.5],
        "metrics": ["micro-f1"],
    }
    return lcif_grid(fold, **{**asked, **changes})


@pytest.fixture(scope="module")
def fold() -> Fold:
    return random_problem(60, 8, 7).fold(5)


def test_numbers_of_neighbours_in_any_order(fold: Fold) -> None:
    whole = grid(fold, ks_instance=[1, 3, 5], ks_feature=[1, 2, 4])
    mixed_up = grid(fold, ks_instance=[5, 1, 5], ks_feature=(4, np.int64(1)))
    assert np.array_equal(mixed_up, whole[[2, 0, 2]][:, [2, 0]])


def test_threads_and_portions_change_nothing(fold: Fold, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"ks_feature": [1, 2, 3, 4, 5], "metrics": ["macro-f1", "example-f1"]}
    whole = grid(fold, **asked, n_jobs=3)
    monkeypatch.setattr(module, "COUNTS_AT_ONCE", 1)
    for n_jobs in (1, 2):
        assert np.array_equal(grid(fold, **asked, n_jobs=n_jobs), whole)


def test_nothing_asked_for(fold: Fold) -> None:
    assert grid(fold, mixings=[]).shape == (2, 2, 0, 1)
    assert grid(fold, metrics=[]).shape == (2, 2, 2, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ks_instance": []}, "ks_instance: expected at least one number"),
        ({"ks_instance": [0]}, "ks_instance: expected an integer of at least 1"),
        (
            {"ks_instance": [6]},
            "fold.training.graph: expected at least 6 neighbours per row, got 5",
        ),
        ({"ks_feature": [1.5]}, "ks_feature: expected an integer"),
        ({"mixings": [1.1]}, "mixings: expected a finite number between 0 and 1"),
        ({"metrics": ["coverage"]}, "metrics: expected metrics of predicted label sets"),
        ({"metrics": ["micro-f2"]}, "metrics: expected the name of a metric"),
        ({"threshold": "exact"}, "threshold: expected one of 'cardinality', 'two-pass'"),
        ({"second_order": 1}, "second_order: expected True or False"),
        ({"neighbors_of": "row"}, "neighbors_of: expected one of"),
        ({"aggregate": "sum"}, "aggregate: expected one of"),
    ],
)
def test_bad_arguments(fold: Fold, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        grid(fold, **changes)


def test_graphs_that_will_not_do(fold: Fold) -> None:
    training = fold.training
    narrow = Fold(training, fold.graph.prefix(2), fold.X, fold.Y)
    with pytest.raises(InvalidArgumentError, match=r"fold.graph: expected at least 3"):
        grid(narrow)
    bare = Fold(Training(training.graph, training.Y, training.X), fold.graph, fold.X, fold.Y)
    with pytest.raises(InvalidArgumentError, match="joint: expected"):
        grid(bare, second_order=True)
    with pytest.raises(InvalidArgumentError, match="X: expected"):
        grid(Fold(Training(training.graph, training.Y), fold.graph, fold.X, fold.Y))
