"""
Choose the number of neighbours
===============================

Cross-validate two methods for every k from 1 to 30. All sixty settings come from one search for
neighbours, because the neighbours for k = 10 are the first ten of those for k = 30. The dashed line
is the default model, which has no k to choose.
"""

import matplotlib.pyplot as plt
import numpy as np

import vicinal
from vicinal.selection import tune

train, _ = vicinal.datasets.load("debtags").split()
rows = np.random.default_rng(0).permutation(train.n_rows)[:1500]
X, Y = train.X[rows], train.Y[rows]
options = {"cv": 3, "metrics": ["micro-f1", "average-precision"], "progress": False, "refit": False}
cosine = {"metric": "cosine"}
k_range = {"n_neighbors": range(1, 31)}
result = tune(["brknn", "mlknn"], X, Y, "micro-f1", grid=k_range, params=cosine, **options)
default = tune("blend", X, Y, "micro-f1", grid={"combine": ["boosting"]}, **options)

# %%
# The table holds every setting, fold and metric.

table = result.table
methods = np.array(table.methods)
k = np.array([params["n_neighbors"] for params in table.params])
figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for axes, metric in zip(panels, ["micro-f1", "average-precision"], strict=True):
    for name in ("brknn", "mlknn"):
        chosen = methods == name
        mean, spread = table.mean(metric)[chosen], table.std(metric)[chosen]
        (line,) = axes.plot(k[chosen], mean, label=name)
        axes.fill_between(k[chosen], mean - spread, mean + spread, alpha=0.2)
        best = mean.argmax()
        axes.plot(k[chosen][best], mean[best], "o", color=line.get_color())
    axes.axhline(default.best[metric].mean, color="black", linestyle="--", label="blend")
    axes.set(xlabel="k", title=metric)
    axes.grid(alpha=0.3)
panels[0].legend()
plt.show()

# %%
# BRkNN is best with few neighbours. With many, half of them rarely agree, and it predicts almost
# nothing. ML-kNN learns a probability for each number of votes, and its scores order the labels
# better at every k.

for metric, best in result.best.items():
    print(f"{metric}: {best.method}, k = {best.params['n_neighbors']}, {best.mean:.3f}")
