r"""The mixture by a small network: two hidden layers, the same for every label.

.. math:: \mathrm{logit}\, P(l \mid x) = w^T \rho(B \, \rho(A z + a) + b) + c, \qquad
          \rho(t) = \max(t, 0)

with *z* the standardised cell. Cross-entropy on leave-one-out cells, Adam, early stopping on the
fold that the network is not trained on; as with boosting, the mean of the folds' networks is the
mixture, and each training row is scored by the network that has not seen it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vicinal._core.arrays import Float, Int
from vicinal._core.state import FieldState, State, read_array
from vicinal.errors import ModelFormatError
from vicinal.methods.blend.mixture import N_FOLDS, Cells, row_folds

HIDDEN = 24
BATCH = 2048
RATE = 5e-3
EPOCHS = 60
PATIENCE = 6
LARGEST = 8.0
"""Standardised values are clipped at this."""

Weights = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Network(FieldState):
    """The networks of all folds, whose log-odds are averaged.

    Parameters
    ----------
    center, scale : ndarray of float32, shape (n_columns,)
    first : ndarray of float32, shape (folds, n_columns + 1, hidden)
        The last row of each layer is its constant.
    second : ndarray of float32, shape (folds, hidden + 1, hidden)
    last : ndarray of float32, shape (folds, hidden + 1)
    """

    center: Weights
    scale: Weights
    first: Weights
    second: Weights
    last: Weights

    @property
    def n_columns(self) -> int:
        """Numbers per cell."""
        return len(self.center)

    def log_odds(self, cells: Cells) -> Float:
        """Return the log-odds of each cell."""
        z = standardised(cells, self.center, self.scale)
        layers = zip(self.first, self.second, self.last, strict=True)
        total = sum(forward(z, each)[-1] for each in layers)
        return np.asarray(total, dtype=np.float64) / len(self.first)

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        center = read_array(state, "center", np.float32, (None,))
        scale = read_array(state, "scale", np.float32, (len(center),))
        last = read_array(state, "last", np.float32, (None, None))
        folds, hidden = len(last), last.shape[1] - 1
        first = read_array(state, "first", np.float32, (folds, len(center) + 1, hidden))
        second = read_array(state, "second", np.float32, (folds, hidden + 1, hidden))
        if folds == 0 or np.any(scale <= 0):
            raise ModelFormatError("network: expected at least one fold and scales above 0")
        return cls(center, scale, first, second, last)


@dataclass(frozen=True, eq=False)
class CrossFittedNetwork:
    """The networks, and the log-odds of the training cells by networks not trained on them."""

    network: Network
    held_out: Float


def fit_network(cells: Cells, true: Float, row_of: Int, random_state: int) -> CrossFittedNetwork:
    """Fit the mixture on leave-one-out cells; see :func:`fit_boosting` for the parameters."""
    center = cells.mean(axis=0, dtype=np.float64).astype(np.float32)
    scale = np.maximum(cells.std(axis=0, dtype=np.float64), 1e-6).astype(np.float32)
    z, y = standardised(cells, center, scale), true.astype(np.float32)
    fold_of = row_folds(row_of, random_state)
    fitted, held_out = [], np.empty(len(cells))
    for fold in range(N_FOLDS):
        out = fold_of == fold
        rng = np.random.default_rng([random_state, fold])
        layers = _trained(z[~out], y[~out], z[out], y[out], rng)
        fitted.append(layers)
        held_out[out] = forward(z[out], layers)[-1]
    first, second, last = (np.stack(each) for each in zip(*fitted, strict=True))
    return CrossFittedNetwork(Network(center, scale, first, second, last), held_out)


def standardised(cells: Cells, center: Weights, scale: Weights) -> Cells:
    """Return cells of mean 0 and deviation 1, clipped."""
    z: Cells = np.clip((cells - center) / scale, -LARGEST, LARGEST)
    return z


def forward(z: Cells, layers: Sequence[Weights]) -> tuple[Weights, Weights, Weights]:
    """Return the two hidden layers and the log-odds of cells."""
    first, second, last = layers
    one = np.maximum(z @ first[:-1] + first[-1], 0)
    two = np.maximum(one @ second[:-1] + second[-1], 0)
    return one, two, two @ last[:-1] + last[-1]


def _trained(
    z: Cells, y: Weights, z_out: Cells, y_out: Weights, rng: np.random.Generator
) -> list[Weights]:
    """Return the layers at the epoch of the least cross-entropy on the cells held out."""
    layers = _initial(z.shape[1], float(y.mean()), rng)
    steps = Adam(layers)
    best, least, bad = layers, np.inf, 0
    for epoch in range(EPOCHS):
        rate = RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
        order = rng.permutation(len(z))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            layers = steps.step(layers, _gradients(z[batch], y[batch], layers), rate)
        odds = forward(z_out, layers)[-1]
        loss = float(np.mean(np.logaddexp(0, odds) - y_out * odds))
        if loss < least:
            best, least, bad = layers, loss, 0
        else:
            bad += 1
            if bad > PATIENCE:
                break
    return best


def _initial(n_columns: int, share: float, rng: np.random.Generator) -> list[Weights]:
    """Return random layers that say `share` for every cell, more or less."""
    shapes = (n_columns + 1, HIDDEN), (HIDDEN + 1, HIDDEN), (HIDDEN + 1,)
    layers = [
        (rng.standard_normal(shape) * np.sqrt(2 / shape[0])).astype(np.float32) for shape in shapes
    ]
    for layer in layers:
        layer[-1] = 0
    layers[2][-1] = np.log(share / (1 - share))
    return layers


def _gradients(z: Cells, y: Weights, layers: Sequence[Weights]) -> list[Weights]:
    """Return the gradients of the mean cross-entropy."""
    one, two, odds = forward(z, layers)
    error = ((1 / (1 + np.exp(-odds)) - y) / len(y)).astype(np.float32)
    back_two = np.outer(error, layers[2][:-1]) * (two > 0)
    back_one = (back_two @ layers[1][:-1].T) * (one > 0)
    return [
        np.vstack([z.T @ back_one, back_one.sum(axis=0)]),
        np.vstack([one.T @ back_two, back_two.sum(axis=0)]),
        np.append(two.T @ error, error.sum()).astype(np.float32),
    ]


class Adam:
    """Running means of gradients and their squares (Kingma and Ba, 2015)."""

    def __init__(self, layers: Sequence[Weights]) -> None:
        self._means = [np.zeros_like(layer) for layer in layers]
        self._squares = [np.zeros_like(layer) for layer in layers]
        self._count = 0

    def step(
        self, layers: Sequence[Weights], gradients: Sequence[Weights], rate: float
    ) -> list[Weights]:
        """Return the layers after a step against the gradients."""
        self._count += 1
        moved = []
        for place, (layer, gradient) in enumerate(zip(layers, gradients, strict=True)):
            self._means[place] = 0.9 * self._means[place] + 0.1 * gradient
            self._squares[place] = 0.999 * self._squares[place] + 0.001 * gradient * gradient
            mean = self._means[place] / (1 - 0.9**self._count)
            square = self._squares[place] / (1 - 0.999**self._count)
            moved.append((layer - rate * mean / (np.sqrt(square) + 1e-8)).astype(np.float32))
        return moved
