"""
Compare methods: a critical difference diagram
==============================================

Seven methods on eight data sets, then the Friedman test and the critical difference diagram of the
Nemenyi test: methods joined by a bar cannot be told apart at the 5% level.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import vicinal
from vicinal.comparison import compare, critical_difference_diagram, friedman_nemenyi, results_table

train, _ = vicinal.datasets.load("debtags").split()
frequent = (train.Y[:3200].sum(axis=0) > 60).nonzero()[0]
names = [train.label_names[label] for label in frequent]


def part(start):
    """Return 400 packages as a data set."""
    rows = slice(start, start + 400)
    return vicinal.datasets.Dataset(
        train.X[rows], train.Y[rows][:, frequent], train.feature_names, names
    )


data = {f"part {at}": part(400 * at) for at in range(8)}
methods = {
    "BRkNN": vicinal.BRkNN(8, metric="cosine"),
    "LPkNN": vicinal.LPkNN(8, metric="cosine"),
    "ML-kNN": vicinal.MLkNN(8, metric="cosine"),
    "instance kNN": vicinal.InstanceKNN(8),
    "feature kNN": vicinal.FeatureKNN(8),
    "LCIF": vicinal.LCIF(8, 8),
    "blend": vicinal.Blend(),
}
results = compare(data, methods, folds=2, metrics=["example-f1"], progress=False)

# %%
# All methods have the same folds, and the neighbours of a fold are searched once.

table = results_table(results, "example-f1")
test = friedman_nemenyi(table)
print(f"p = {test.least_p:.2g}, critical difference {test.critical_difference:.2f}")
with tempfile.TemporaryDirectory() as folder:
    _, picture = critical_difference_diagram(table, Path(folder) / "ranks", title="Example F1")
    image = plt.imread(picture)

figure, axes = plt.subplots(figsize=(8, 8 * image.shape[0] / image.shape[1]), layout="constrained")
axes.imshow(image)
axes.set_axis_off()
plt.show()
