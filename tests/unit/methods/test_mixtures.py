"""The mixtures of the blend against their definitions: network, convex weights, logistic line."""

from itertools import combinations

import numpy as np
import pytest
from scipy import optimize, sparse

from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.graph import no_neighbors
from vicinal.methods.blend import network
from vicinal.methods.blend.mixture import CellMaker, ConvexMix, Trees, row_folds
from vicinal.methods.blend.network import Adam, Network, fit_network, forward
from vicinal.methods.blend.scoring import BlendScoring, HeldOut
from vicinal.methods.training import Training
from vicinal.scores import Scores

pytestmark = pytest.mark.native


def test_the_network_is_two_layers_of_ramps_and_a_sum() -> None:
    rng = np.random.default_rng(2)
    z = rng.normal(size=(5, 3))
    first, second, last = rng.normal(size=(4, 2)), rng.normal(size=(3, 2)), rng.normal(size=3)
    odds = forward(z, (first, second, last))[-1]
    for cell, found in zip(z, odds, strict=True):
        one = [max(0.0, sum(cell[i] * first[i, j] for i in range(3)) + first[3, j]) for j in (0, 1)]
        two = [max(0.0, sum(one[i] * second[i, j] for i in (0, 1)) + second[2, j]) for j in (0, 1)]
        np.testing.assert_allclose(found, two[0] * last[0] + two[1] * last[1] + last[2], rtol=1e-12)


def test_the_line_of_a_convex_mix_has_the_least_shrunk_log_loss() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(0.3, 0.2, size=60)
    true = (rng.uniform(size=60) < 1 / (1 + np.exp(1 - 4 * scores))).astype(float)
    cells = np.zeros((60, 4), dtype=np.float32)  # one part of three columns, and the prior
    cells[:, 0] = scores
    mix = ConvexMix.fit(cells, true)
    x = cells[:, 0].astype(float)
    z = (x - x.mean()) / x.std()

    def loss(line: np.ndarray) -> float:
        odds = line[0] * z + line[1]
        return float(np.logaddexp(0, odds).sum() - true @ odds + 0.5e-3 * (line @ line))

    slope, intercept = optimize.minimize(loss, [0.0, 0.0], tol=1e-12).x
    np.testing.assert_allclose(mix.log_odds(cells), slope * z + intercept, atol=1e-4)
    np.testing.assert_allclose(mix.weights, [1.0])


def cells_of(scores: np.ndarray) -> np.ndarray:
    """Return cells of parts whose scores, that over the best and the best are the same."""
    prior = np.zeros((len(scores), 1))
    return np.hstack([np.repeat(scores, 3, axis=1), prior]).astype(np.float32)


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
        found = ConvexMix.fit(cells_of(scores), true)
        np.testing.assert_allclose(found.weights, best / best.sum(), atol=1e-8)
        assert found.n_columns == 13
    assert n_left_out > 10


def test_parts_that_say_nothing_weigh_the_same() -> None:
    true = np.array([1.0, 0.0, 1.0])
    found = ConvexMix.fit(cells_of(np.zeros((3, 2))), true)
    np.testing.assert_allclose(found.weights, [0.5, 0.5])
    np.testing.assert_allclose(found.log_odds(cells_of(np.zeros((3, 2)))), np.log(2), atol=1e-2)


def test_where_all_cells_are_true_the_intercept_is_finite() -> None:
    """Its penalty keeps it there: n (1 - p) = 0.001 b."""
    cells = cells_of(np.ones((20, 1)))
    (odds,) = {*ConvexMix.fit(cells, np.ones(20)).log_odds(cells).round(9)}
    assert 20 / (1 + np.exp(odds)) == pytest.approx(1e-3 * odds, rel=1e-5)


def test_scores_that_tell_true_from_false_without_fail_get_a_finite_line() -> None:
    scores, true = np.linspace(0, 1, 30)[:, None], np.repeat([0.0, 1.0], 15)
    odds = ConvexMix.fit(cells_of(scores), true).log_odds(cells_of(scores))
    x = scores[:, 0].astype(np.float32).astype(float)
    z = (x - x.mean()) / x.std()

    def loss(line: np.ndarray) -> float:
        said = line[0] * z + line[1]
        return float(np.logaddexp(0, said).sum() - true @ said + 0.5e-3 * (line @ line))

    slope, intercept = optimize.minimize(loss, [0.0, 0.0], tol=1e-12).x
    np.testing.assert_allclose(odds, slope * z + intercept, rtol=1e-4)


def test_steps_are_those_of_adam() -> None:
    """As in the paper: decay rates 0.9 and 0.999, 1e-8 beside the root."""
    rng = np.random.default_rng(3)
    layer = rng.normal(size=(2, 3)).astype(np.float32)
    steps, found = Adam([layer]), [layer]
    at, mean, square = layer.astype(float), np.zeros((2, 3)), np.zeros((2, 3))
    for time in range(1, 6):
        gradient = (rng.normal(size=(2, 3)) * 10.0 ** rng.integers(-9, 1, (2, 3))).astype(float)
        found = steps.step(found, [gradient.astype(np.float32)], 0.02 / time)
        mean = 0.9 * mean + (1 - 0.9) * gradient
        square = 0.999 * square + (1 - 0.999) * gradient**2
        root = np.sqrt(square / (1 - 0.999**time))
        at = at - 0.02 / time * (mean / (1 - 0.9**time)) / (root + 1e-8)
        np.testing.assert_allclose(found[0], at, rtol=1e-5, atol=1e-6)


def learnable(n_rows: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    cells = (rng.normal(size=(n_rows * width, 3)) * [1, 0.05, 0] + [0, 7, 2]).astype(np.float32)
    true = (cells[:, 0] + rng.normal(size=len(cells)) > 0.5).astype(float)
    return cells, true, np.repeat(np.arange(n_rows), width)


def test_networks_of_folds_are_averaged_and_score_the_rows_they_have_not_seen() -> None:
    cells, true, row_of = learnable(60, 3)
    cells[0, 0] = 1e4  # far outside: clipped at 8 deviations
    fitted = fit_network(cells, true, row_of, 5)
    net, fold_of = fitted.network, row_folds(row_of, 5)
    assert net.n_columns == 3
    assert net.first.shape == (3, 4, 24)
    assert net.second.shape == (3, 25, 24)
    z = (cells - cells.mean(axis=0)) / np.maximum(cells.std(axis=0), 1e-6)
    z = np.minimum(np.maximum(z, -8), 8)
    said = [forward(z, layers)[-1] for layers in zip(net.first, net.second, net.last, strict=True)]
    for fold in range(3):
        out = fold_of == fold
        np.testing.assert_allclose(fitted.held_out[out], said[fold][out], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(net.log_odds(cells), np.mean(said, axis=0), rtol=1e-3, atol=1e-4)


def test_a_network_begins_with_the_share_of_true_cells() -> None:
    layers = network._initial(3, 0.2, np.random.default_rng(0))
    assert [layer.shape for layer in layers] == [(4, 24), (25, 24), (25,)]
    odds = forward(np.zeros((1, 3), dtype=np.float32), layers)[-1]
    np.testing.assert_allclose(1 / (1 + np.exp(-odds)), 0.2, rtol=1e-6)
    wide = network._initial(199, 0.2, np.random.default_rng(0))[0][:-1]
    assert wide.std() == pytest.approx(np.sqrt(2 / 200), rel=0.05)  # He et al., 2015


@pytest.mark.parametrize("patience", [2, 60])
def test_training_keeps_the_epoch_of_the_least_loss(
    monkeypatch: pytest.MonkeyPatch, patience: int
) -> None:
    cells, true, _ = learnable(40, 2)
    cells[:, 1] *= 20
    z, y, z_out, y_out = cells[:50], true[:50], cells[50:], true[50:]
    epochs: list[list[np.ndarray]] = []
    batches: list[int] = []
    rates: list[float] = []
    forward_of, gradients_of, step_of = forward, network._gradients, Adam.step

    def seen_forward(rows, layers):
        if rows is z_out:
            epochs.append(layers)
        return forward_of(rows, layers)

    def seen_gradients(rows, labels, layers):
        batches.append(len(rows))
        return gradients_of(rows, labels, layers)

    def seen_step(self, layers, gradients, rate):
        rates.append(rate)
        return step_of(self, layers, gradients, rate)

    monkeypatch.setattr(network, "forward", seen_forward)
    monkeypatch.setattr(network, "_gradients", seen_gradients)
    monkeypatch.setattr(Adam, "step", seen_step)
    monkeypatch.setattr(network, "BATCH", 20)
    monkeypatch.setattr(network, "PATIENCE", patience)
    found = network._trained(z, y, z_out, y_out, np.random.default_rng(1))

    def loss(layers):
        odds = forward_of(z_out, layers)[-1].astype(float)
        return np.mean(np.logaddexp(0, odds) - y_out * odds)

    losses = [loss(layers) for layers in epochs]
    best = int(np.argmin(losses))
    assert found is epochs[best]
    # Patience is for epochs since the best so far: 3 without a lower loss are too many for 2.
    assert len(epochs) == min(60, best + 1 + patience + 1)
    assert batches == [20, 20, 10] * len(epochs)
    expected = [0.005 * (1 + np.cos(np.pi * epoch / 60)) / 2 for epoch in range(len(epochs))]
    np.testing.assert_allclose(rates, np.repeat(expected, 3))


@pytest.mark.parametrize("scale", [0.0, -1.0])
def test_a_saved_network_with_a_scale_that_is_not_positive_is_refused(scale: float) -> None:
    arrays = [np.zeros(shape, dtype=np.float32) for shape in ((1, 3, 4), (1, 5, 4), (1, 5))]
    ones = np.ones(2, dtype=np.float32)
    state = Network(ones, ones, *arrays).get_state()
    assert Network.from_state(state).n_columns == 2
    with pytest.raises(ModelFormatError, match="scales above 0"):
        Network.from_state(state | {"scale": np.array([1.0, scale], dtype=np.float32)})
    with pytest.raises(ModelFormatError, match="at least one fold"):
        Network.from_state(state | {name: state[name][:0] for name in ("first", "second", "last")})


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


def test_only_rows_that_the_mixture_was_trained_on_have_held_out_scores() -> None:
    Y = sparse.csr_array((5, 2), dtype=np.int32)
    said = Scores.dense(np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]))
    maker, mixture = CellMaker(np.zeros(1), np.ones(1), np.zeros(2), 2), small_trees()
    held_out = HeldOut(np.array([0, 2, 3]), said)
    blend = BlendScoring(1, (), (), None, maker, mixture, Y, held_out)
    training = Training(no_neighbors(5, 5, "cosine"), Y)
    assert blend.training_scores(training, np.array([3, 0])).toarray().tolist() == [
        [0.5, 0.6],
        [0.1, 0.2],
    ]
    assert blend.training_scores(training, slice(2, 4)).toarray().tolist() == [
        [0.3, 0.4],
        [0.5, 0.6],
    ]
    assert blend.training_scores(training, slice(0, 0)).shape == (0, 2)
    for rows in ([1], [4], [0, 1], slice(None)):
        with pytest.raises(InvalidArgumentError, match="rows: expected the 3 rows"):
            blend.training_scores(training, rows if isinstance(rows, slice) else np.array(rows))
    assert [block.shape[0] for block in held_out.blocks(2)] == [2, 1]
    assert list(held_out.blocks(2))[1].toarray().tolist() == [[0.5, 0.6]]
