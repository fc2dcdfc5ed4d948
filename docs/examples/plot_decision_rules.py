"""
Decision rules compared
=======================

The same scores, six decision rules: how many labels each rule predicts, and what that means for
four metrics. No rule is best for all of them.
"""

import matplotlib.pyplot as plt
import numpy as np

import vicinal
from vicinal.decision import MCut, MetricThreshold, PCut, PerLabelThreshold, TopS

train, test = vicinal.datasets.load("debtags").split()
X, Y, X_test, Y_test = train.X[:4000], train.Y[:4000], test.X[:1000], test.Y[:1000]
index = vicinal.index.InvertedIndex(X, metric="cosine")
train_graph, test_graph = index.query_self(15), index.query(X_test, 15)

rules = {
    "cardinality": "cardinality",
    "best micro-F1": MetricThreshold("micro-f1"),
    "per label": PerLabelThreshold(fbr=0.05),
    "largest gap": MCut(),
    "in proportion": PCut(),
    "neighbours' count": TopS(),
}
metrics = ["micro-f1", "macro-f1", "example-f1", "subset-accuracy"]
values, sizes = {}, {}
for name, rule in rules.items():
    model = vicinal.InstanceKNN(15, threshold=rule).fit(X, Y, graph=train_graph)
    labels = model.predict(X_test, graph=test_graph)
    found = vicinal.metrics.evaluate(Y_test, labels)
    values[name] = [found[metric] for metric in metrics]
    sizes[name] = labels.sum() / labels.shape[0]

# %%
# The scores are computed from one graph; only the rules differ.
# Thresholds per label are given a lowest F1 of 0.05 (``fbr``): without it, labels that no threshold
# separates are predicted for every row, 55 labels per row instead of 6.

figure, panels = plt.subplots(1, 2, figsize=(10, 4), width_ratios=(3, 2), layout="constrained")
places = np.arange(len(metrics))
for offset, (name, row) in enumerate(values.items()):
    panels[0].bar(places + 0.13 * (offset - 2.5), row, width=0.13, label=name)
panels[0].set_xticks(places, metrics)
panels[0].set_ylim(top=0.65)  # room for the legend
panels[0].legend(fontsize=8, ncols=3)
panels[0].set_title("Test rows")
panels[1].barh(list(sizes), list(sizes.values()))
panels[1].axvline(Y_test.sum() / Y_test.shape[0], color="k", linestyle=":")
panels[1].invert_yaxis()
panels[1].set_title("Labels per row (dotted: true ones)")
plt.show()
