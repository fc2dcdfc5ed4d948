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


def draw(model, view=lambda rows: rows, note=""):
    """Fit a method, and draw its score of the first label and its decision."""
    model.fit(view(points), Y)
    scores = model.scores(view(plane)).toarray()[:, 0].reshape(60, 60)
    predicted = model.predict(view(plane))[:, 0].reshape(60, 60)
    figure, axes = plt.subplots(figsize=(5.4, 4.4), layout="constrained")
    drawn = axes.pcolormesh(side, side, scores, cmap="viridis", vmin=0)
    if 0 < predicted.mean() < 1:
        axes.contour(side, side, predicted, levels=[0.5], colors="white", linewidths=2)
    axes.scatter(*points.T, s=16, c=np.where(Y[:, 0], "white", "none"), edgecolors="white", lw=0.7)
    axes.set(title=f"{type(model).__name__}{note}", xticks=[], yticks=[])
    figure.colorbar(drawn, label="score of the label")
    plt.show()


# %%
# BRkNN
# -----
# The share of the ten nearest points that have the label: ten steps.

draw(vicinal.BRkNN(10))

# %%
# LPkNN
# -----
# The scores of BRkNN, but the most frequent label set is predicted.

draw(vicinal.LPkNN(10))

# %%
# ML-kNN
# ------
# A probability for each number of votes, learned from the training points.

draw(vicinal.MLkNN(10))

# %%
# DML-kNN
# -------
# The votes for the other label count too.

draw(vicinal.DMLkNN(10))

# %%
# LAML-kNN
# --------
# ML-kNN with separate statistics for four clusters of the plane.

draw(vicinal.LAMLkNN(10, n_clusters=4, random_state=0))

# %%
# IBLR
# ----
# A logistic regression on the votes for both labels.

draw(vicinal.IBLR(10))

# %%
# Instance kNN
# ------------
# Near points weigh more, so scores change smoothly.

draw(vicinal.InstanceKNN(10, metric="euclidean"))

# %%
# Feature kNN
# -----------
# No neighbours among the points: features are compared with labels. The features say in which tenth
# of each axis and in which of 25 cells a point lies.

draw(vicinal.FeatureKNN(10), binned, " on presence features")

# %%
# LCIF
# ----
# Half instance kNN, half feature kNN, on the same presence features.

draw(vicinal.LCIF(10, 10, mixing=0.5), binned, " on presence features")

# %%
# Label ridge
# -----------
# A ridge regression with a Gaussian kernel: near points pull the score up or down.

draw(vicinal.LabelRidge(kernel="rbf"))

# %%
# Blend
# -----
# Votes, ridge and the other label, combined by a model of their leave-one-out scores. Here Blend
# predicts a label for every point. This causes the boundary on the left.

draw(vicinal.Blend())

# %%
# Local ridge
# -----------
# A ridge regression on the 40 nearest points of each point, with a Gaussian kernel of their width.

draw(vicinal.LocalRidge(40, alpha=0.3, metric="euclidean"))
