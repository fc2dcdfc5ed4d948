"""
LCIF: mix instance and feature kNN
==================================

LCIF adds two scores: that of the rows most like the query, weighted by λ, and that of the labels
most like the query's features, weighted by 1 − λ. The surface shows a metric over λ and k.
"""

import matplotlib.pyplot as plt
import numpy as np

import vicinal
from vicinal.selection import tune

train, _ = vicinal.datasets.load("debtags").split()
rows = np.random.default_rng(0).permutation(train.n_rows)[:1200]
mixing = np.round(np.arange(0, 1.01, 0.1), 1)
neighbors = np.arange(1, 30, 4)
found = tune(
    "lcif",
    train.X[rows],
    train.Y[rows],
    "average-precision",
    cv=3,
    grid={
        "mixing": mixing.tolist(),
        "n_neighbors_instance": neighbors.tolist(),
        "n_neighbors_feature": [15],
    },
    metrics=["average-precision"],
    progress=False,
    refit=False,
)

# %%
# λ = 1 uses instance neighbours only, λ = 0 feature neighbours only. The best order of labels is
# in between: a label that no neighbour has can still be suggested by a word.

means = dict.fromkeys(((m, n) for m in mixing for n in neighbors), np.nan)
for params, value in zip(found.table.params, found.table.mean("average-precision"), strict=True):
    means[params["mixing"], params["n_neighbors_instance"]] = value
surface = np.array([[means[m, n] for m in mixing] for n in neighbors])

figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
drawn = axes.pcolormesh(mixing, neighbors, surface, cmap="viridis", shading="nearest")
best = found.best["average-precision"]
axes.plot(best.params["mixing"], best.params["n_neighbors_instance"], "o", ms=14, mfc="none", c="r")
axes.set(xlabel="λ (mixing)", ylabel="instance neighbours", yticks=neighbors)
axes.set_title(f"Average precision: best {best.mean:.3f} at λ = {best.params['mixing']}")
figure.colorbar(drawn, label="average precision")
plt.show()
