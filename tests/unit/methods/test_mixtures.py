"""The mixtures of the blend against their definitions: trees, convex weights, logistic lines."""

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from scipy import optimize

from vicinal.errors import ModelFormatError
from vicinal.explanation import exact_shapley
from vicinal.methods.blend import mixture
from vicinal.methods.blend.mixture import (
    LINE_L2,
    MOST_LINE_CELLS,
    N_FOLDS,
    ConvexMix,
    Trees,
    along,
    fit_boosting,
    fit_line,
    row_folds,
)

pytestmark = pytest.mark.native


def test_the_line_of_a_convex_mix_has_the_least_shrunk_log_loss() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(0.3, 0.2, size=60)
    true = (rng.uniform(size=60) < 1 / (1 + np.exp(1 - 4 * scores))).astype(float)
    cells = np.zeros((60, 3), dtype=np.float32)  # one part of two columns, and the prior
    cells[:, 0] = scores
    mix = ConvexMix.fit(cells, true, 1)
    x = cells[:, 0].astype(float)
    z = (x - x.mean()) / x.std()

    def loss(line: np.ndarray) -> float:
        odds = line[0] * z + line[1]
        return float(np.logaddexp(0, odds).sum() - true @ odds + 0.5e-3 * (line @ line))

    slope, intercept = optimize.minimize(loss, [0.0, 0.0], tol=1e-12).x
    np.testing.assert_allclose(mix.log_odds(cells), slope * z + intercept, atol=1e-4)
    np.testing.assert_allclose(mix.weights, [1.0])


def cells_of(scores: np.ndarray) -> np.ndarray:
    """Return cells of parts whose scores and those over the best are the same."""
    prior = np.zeros((len(scores), 1))
    return np.hstack([np.repeat(scores, 2, axis=1), prior]).astype(np.float32)


def test_the_weights_of_a_convex_mix_are_those_of_non_negative_least_squares() -> None:
    rng = np.random.default_rng(7)
    n_left_out = 0
    for factor in (1, 8) * 10:
        scores = rng.normal(0.3, 0.4, size=(40, 4)).astype(np.float32).astype(float) * factor
        true = (scores / factor @ [1.0, -0.5, 0.3, 0.0] + rng.normal(0, 0.3, size=40) > 0.2).astype(
            float
        )
        least, best = true @ true, np.ones(4)
        for size in range(1, 5):
            for some in map(list, combinations(range(4), size)):
                weights = np.zeros(4)
                weights[some] = np.linalg.lstsq(scores[:, some], true, rcond=None)[0]
                loss = np.square(scores @ weights - true).sum()
                if weights.min() >= 0 and loss < least:
                    least, best = loss, weights
        n_left_out += np.count_nonzero(best == 0)
        found = ConvexMix.fit(cells_of(scores), true, scores.shape[1])
        np.testing.assert_allclose(found.weights, best / best.sum(), atol=1e-8)
        assert found.n_columns == 9
    assert n_left_out > 10


def test_parts_that_say_nothing_weigh_the_same() -> None:
    true = np.array([1.0, 0.0, 1.0])
    found = ConvexMix.fit(cells_of(np.zeros((3, 2))), true, 2)
    np.testing.assert_allclose(found.weights, [0.5, 0.5])
    np.testing.assert_allclose(found.log_odds(cells_of(np.zeros((3, 2)))), np.log(2), atol=1e-2)


def test_where_all_cells_are_true_the_intercept_is_finite() -> None:
    """Its penalty keeps it there: n (1 - p) = 0.001 b."""
    cells = cells_of(np.ones((20, 1)))
    (odds,) = {*ConvexMix.fit(cells, np.ones(20), 1).log_odds(cells).round(9)}
    assert 20 / (1 + np.exp(odds)) == pytest.approx(1e-3 * odds, rel=1e-5)


def test_scores_that_tell_true_from_false_without_fail_get_a_finite_line() -> None:
    scores, true = np.linspace(0, 1, 30)[:, None], np.repeat([0.0, 1.0], 15)
    odds = ConvexMix.fit(cells_of(scores), true, scores.shape[1]).log_odds(cells_of(scores))
    x = scores[:, 0].astype(np.float32).astype(float)
    z = (x - x.mean()) / x.std()

    def loss(line: np.ndarray) -> float:
        said = line[0] * z + line[1]
        return float(np.logaddexp(0, said).sum() - true @ said + 0.5e-3 * (line @ line))

    slope, intercept = optimize.minimize(loss, [0.0, 0.0], tol=1e-12).x
    np.testing.assert_allclose(odds, slope * z + intercept, rtol=1e-4)


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_the_line_beside_trees_has_the_least_shrunk_log_loss(scale: float) -> None:
    rng = np.random.default_rng(8)
    cells = rng.normal(0.2, 0.4, size=(300, 3)).astype(np.float32)
    cells[:, 2] = 0.5  # a column that says nothing
    true = (rng.logistic(size=300) < 3 * scale * cells[:, 0]).astype(float)
    columns = np.hstack([cells, np.sign(cells) * np.sqrt(np.abs(cells))]).astype(float)
    z = np.delete(columns, [2, 5], axis=1)
    z = (z - z.mean(axis=0)) / z.std(axis=0)

    def loss(line: np.ndarray) -> float:
        odds = z @ line[:-1] + line[-1]
        shrinking = LINE_L2 * (line[:-1] @ line[:-1]) / 2
        return float(np.logaddexp(0, odds).sum() - true @ odds + shrinking)

    best = optimize.minimize(loss, np.zeros(5), tol=1e-12).x
    found = along(fit_line(cells, true), cells)
    np.testing.assert_allclose(found, z @ best[:-1] + best[-1], atol=2e-3 * np.abs(found).max())


def test_a_cell_has_the_same_bits_alone_as_among_others() -> None:
    rng = np.random.default_rng(2)
    for n_columns in (1, 3, 12, 23, 31, 70):
        cells = rng.normal(size=(200, n_columns)).astype(np.float32)
        mix = ConvexMix(rng.random((n_columns + 1) // 2), 1.5, -0.5, n_columns)
        for log_odds in (partial(along, rng.normal(size=2 * n_columns + 1)), mix.log_odds):
            alone = [float(log_odds(cells[[row]])[0]) for row in range(200)]
            together = log_odds(cells).tolist()
            assert alone == together == log_odds(np.asfortranarray(cells)).tolist()


@pytest.mark.parametrize("true", [np.ones(300), np.repeat([0.0, 1.0], 150)])
def test_a_line_is_finite_where_cells_are_all_true_or_told_apart(true: np.ndarray) -> None:
    cells = np.linspace(-1, 1, 300, dtype=np.float32)[:, None]
    odds = along(fit_line(cells, true), cells)
    assert np.abs(odds).max() < 20
    assert np.array_equal(odds > 0, true > 0)


def test_half_of_the_log_odds_are_those_of_lines_that_saw_no_cell_of_the_fold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    cells, row_of = rng.uniform(size=(900, 4)).astype(np.float32), np.repeat(np.arange(90), 10)
    true = (rng.uniform(size=900) < cells[:, 0] ** 2).astype(float)
    fold_of = row_folds(row_of, 0)
    lines = [fit_line(cells[fold_of != fold], true[fold_of != fold]) for fold in range(N_FOLDS)]
    of_lines = np.choose(fold_of, [along(line, cells) for line in lines])
    found = fit_boosting(cells, true, row_of, 0)
    monkeypatch.setattr(mixture, "MOST_LINE_CELLS", 0)
    alone = fit_boosting(cells, true, row_of, 0)
    np.testing.assert_allclose(found.held_out, (alone.held_out + of_lines) / 2)
    of_all = alone.trees.log_odds(cells) + along(np.mean(lines, axis=0), cells)
    np.testing.assert_allclose(found.trees.log_odds(cells), of_all / 2)
    assert not len(alone.trees.line)


def test_where_cells_are_many_there_is_no_line() -> None:
    cells = np.linspace(0, 1, MOST_LINE_CELLS + 1, dtype=np.float32)[:, None]
    true = (cells[:, 0] > 0.5).astype(float)
    assert not len(fit_boosting(cells, true, np.arange(len(cells)), 0).trees.line)


def small_trees() -> Trees:
    """Return one tree of two splits on three columns."""
    feature = np.array([0, 2, -1, -1, -1], dtype=np.int32)
    left, right = (np.array(nodes, dtype=np.int32) for nodes in ([1, 2, 0, 0, 0], [4, 3, 0, 0, 0]))
    threshold = np.array([0.5, 0.25, 1.0, 2.0, 3.0])
    return Trees(feature, threshold, left, right, np.array([0], dtype=np.int32), 0.0, 3)


@pytest.mark.parametrize(
    ("key", "nodes"),
    [
        ("feature", [3, 2, -1, -1, -1]),  # a column that there is not
        ("left", [5, 2, 0, 0, 0]),  # a node that there is not
        ("left", [1, 1, 0, 0, 0]),  # a node that leads to itself
        ("left", [1, 0, 0, 0, 0]),  # or back
        ("left", [-1, 2, 0, 0, 0]),
        ("right", [5, 3, 0, 0, 0]),
        ("right", [4, 1, 0, 0, 0]),
        ("right", [4, 0, 0, 0, 0]),
        ("right", [-1, 3, 0, 0, 0]),
        ("roots", [5]),
        ("roots", [-1]),
    ],
)
def test_saved_trees_that_lead_outside_are_refused(key: str, nodes: list[int]) -> None:
    state = small_trees().get_state()
    again = Trees.from_state(state)
    cells = np.array([[0.5, 9, 0.25], [0.5, 9, 0.5], [0.75, 9, 0]], dtype=np.float32)
    assert again.log_odds(cells).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ModelFormatError, match="trees: expected nodes"):
        Trees.from_state(state | {key: np.array(nodes, dtype=np.int32)})


@pytest.mark.parametrize("seed", range(20))
def test_shares_of_parts_are_the_shapley_values_of_the_definition(seed) -> None:
    """All subsets of the parts speak, whose columns are 0 if they do not."""
    rng = np.random.default_rng(seed)
    n_parts, n_columns = int(rng.integers(1, 6)), int(rng.integers(4, 9))
    owner = rng.integers(0, n_parts + 1, n_columns)  # the last one is no part
    cell = rng.choice([-1.0, 0.0, 0.5, 2.0], n_columns).astype(np.float32)
    trees = random_trees(rng, n_columns)
    if seed % 2:
        trees = replace(trees, line=rng.normal(size=2 * n_columns + 1))

    def log_odds(speaking: np.ndarray) -> np.ndarray:
        said = np.hstack([speaking, np.ones((len(speaking), 1))])[:, owner] * cell
        return trees.log_odds(said.astype(np.float32))

    expected_base, expected = exact_shapley(log_odds, np.ones(n_parts), np.zeros(n_parts))
    base, shares = trees.shapley(cell, owner, n_parts)
    assert base == pytest.approx(expected_base, abs=1e-12)
    np.testing.assert_allclose(shares, expected, atol=1e-12)


def random_trees(rng: np.random.Generator, n_columns: int) -> Trees:
    """Return full trees of depth 4, whose nodes often ask for the same column again."""
    n_inner, n_trees = 15, 6
    inner = np.arange(n_inner)
    starts = (2 * n_inner + 1) * np.arange(n_trees)[:, None]
    leaves = np.full((n_trees, n_inner + 1), -1)
    feature = np.hstack([rng.integers(0, n_columns, (n_trees, n_inner)), leaves])
    threshold = rng.choice([-0.5, 0.0, 0.25, 1.0], feature.shape)
    threshold[feature < 0] = rng.normal(size=leaves.size)
    nothing = np.zeros((n_trees, n_inner + 1))
    left, right = (np.hstack([starts + 2 * inner + side, nothing]) for side in (1, 2))
    return Trees(
        feature.ravel().astype(np.int32),
        threshold.ravel(),
        left.ravel().astype(np.int32),
        right.ravel().astype(np.int32),
        starts.ravel().astype(np.int32),
        0.75,
        n_columns,
    )


def test_a_saved_line_of_another_number_of_columns_is_refused() -> None:
    state = small_trees().get_state()
    again = Trees.from_state(state | {"line": np.arange(7.0)})
    np.testing.assert_array_equal(Trees.from_state(again.get_state()).line, np.arange(7.0))
    assert not len(Trees.from_state({key: state[key] for key in state if key != "line"}).line)
    with pytest.raises(ModelFormatError, match="line"):
        Trees.from_state(state | {"line": np.arange(6.0)})
