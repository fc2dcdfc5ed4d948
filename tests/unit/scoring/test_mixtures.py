"""The mixtures of the blend against their definitions: network, logistic line."""

import numpy as np
from scipy import optimize

from vicinal.scoring.blend.mix import ConvexMix
from vicinal.scoring.blend.network import forward


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
