"""
Local ridge: neighbours that share their weight
===============================================

Six neighbours of a query. Four of them lie close together and have the same labels. Votes count
them four times. Local ridge solves a small ridge regression on the neighbours, in which equal
neighbours share one weight, and a neighbour behind a nearer one may even get a negative weight.
"""

import matplotlib.pyplot as plt
import numpy as np

import vicinal

crowd = np.array([[0.62, 0.50], [0.64, 0.53], [0.65, 0.49], [0.67, 0.51]])
lone = np.array([[0.36, 0.50], [0.18, 0.49]])
points = np.vstack([crowd, lone])
labels = [["crowd"]] * 4 + [["lone"]] * 2
query = np.array([[0.5, 0.5]])

# %%
# Weights of the neighbours
# -------------------------
# The share of each neighbour in the score of its own label is its weight. ``center=False``
# regresses the labels themselves instead of their differences from the mean of the neighbours.

votes = vicinal.InstanceKNN(6, metric="euclidean")
ridge = vicinal.LocalRidge(6, alpha=0.3, metric="euclidean", center=False)
models = {"votes": votes, "local ridge": ridge}


def weights_of(model):
    """Return the weight of each training row for the query."""
    (why,) = model.fit(points, labels).explain(query, labels=["crowd", "lone"])
    shares = {part.id: part.share for one in why.labels for part in one.parts if part.share}
    return np.array([shares.get(row, 0.0) for row in range(len(points))])


# %%
# The picture
# -----------
# The area of a point is the size of its weight, red is negative.

figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained", sharey=True)
for panel, (name, model) in zip(panels, models.items(), strict=True):
    weights = weights_of(model)
    colors = np.where(weights < 0, "tab:red", "tab:blue")
    panel.scatter(*points.T, s=2500 * np.abs(weights), c=colors, alpha=0.6, edgecolors="white")
    panel.plot(*query.T, "k+", markersize=12)
    scores = dict(zip(model.label_names_, model.predict_proba(query).toarray()[0], strict=True))
    said = ", ".join(f"{label} {score:.2f}" for label, score in scores.items())
    panel.set(title=f"{name}: {said}", xlim=(0.1, 0.8), ylim=(0.4, 0.6), xticks=[], yticks=[])
plt.show()

# %%
# The numbers
# -----------

for name, model in models.items():
    print(f"{name:12}", weights_of(model).round(2))
