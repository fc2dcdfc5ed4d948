"""
Twelve methods on one plane
===========================

Two overlapping labels on generated points of a plane. For each method: the score of the first label
everywhere, and the line at which the method starts to predict it. Filled points have the label.
"""

import matplotlib.pyplot as plt
import numpy as np

import vicinal

rng = np.random.default_rng(3)
points = rng.uniform(size=(260, 2))
ring = np.abs(np.hypot(*(points - 0.5).T) - 0.28) < 0.11
right = points[:, 0] + rng.normal(scale=0.12, size=260) > 0.55
Y = np.stack([ring ^ (rng.uniform(size=260) < 0.06), right], axis=1).astype(int)
side = np.linspace(0, 1, 60)
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


def binned(rows):
    """Return presence features: in which tenth of each axis, and of the plane, a point lies."""
    cells = np.minimum((rows * 10).astype(int), 9)
    place = cells[:, 0] // 2 + 5 * (cells[:, 1] // 2)
    return np.hstack([np.eye(10)[cells[:, 0]], np.eye(10)[cells[:, 1]], np.eye(25)[place]])


def draw(axes, model, view=lambda rows: rows):
    """Fit a method, and draw its score of the first label and its decision."""
    model.fit(view(points), Y)
    scores = model.scores(view(plane)).toarray()[:, 0].reshape(60, 60)
    predicted = model.predict(view(plane))[:, 0].reshape(60, 60)
    axes.pcolormesh(side, side, scores, cmap="viridis", vmin=0)
    if 0 < predicted.mean() < 1:
        axes.contour(side, side, predicted, levels=[0.5], colors="white", linewidths=2)
    axes.scatter(*points.T, s=9, c=np.where(Y[:, 0], "white", "none"), edgecolors="white", lw=0.5)
    axes.set(xticks=[], yticks=[])
    axes.set_title(type(model).__name__, fontsize=15)


# %%
# ``FeatureKNN`` and ``LCIF`` compare features with labels, so they get presence features: in which
# tenth of each axis and in which of 25 cells a point lies.

methods = {
    vicinal.BRkNN(10): {},
    vicinal.LPkNN(10): {},
    vicinal.MLkNN(10): {},
    vicinal.DMLkNN(10): {},
    vicinal.LAMLkNN(10, n_clusters=4, random_state=0): {},
    vicinal.IBLR(10): {},
    vicinal.InstanceKNN(10, metric="euclidean"): {},
    vicinal.FeatureKNN(10): {"view": binned},
    vicinal.LCIF(10, 10, mixing=0.5): {"view": binned},
    vicinal.LabelRidge(kernel="rbf"): {},
    vicinal.LocalRidge(40, alpha=0.3, metric="euclidean"): {},
    vicinal.Blend(): {},
}
figure, panels = plt.subplots(3, 4, figsize=(12, 9.4), layout="constrained")
for axes, (model, options) in zip(panels.ravel(), methods.items(), strict=True):
    draw(axes, model, **options)
plt.show()
