"""
Choosing a threshold
====================

A method gives scores; a decision rule turns them into labels. Here a single threshold is varied
over the scores of ML-kNN, and the values that four rules choose on the training rows are marked.
"""

import matplotlib.pyplot as plt
import numpy as np

import vicinal
from vicinal.decision import CardinalityThreshold, MetricThreshold

train, test = vicinal.datasets.load("debtags").split()
X, Y, X_test, Y_test = train.X[:5000], train.Y[:5000], test.X[:1500], test.Y[:1500]
index = vicinal.index.InvertedIndex(X, metric="cosine")
train_graph, test_graph = index.query_self(12), index.query(X_test, 12)

rules = {
    "0.5": 0.5,
    "as many labels as in training": CardinalityThreshold(),
    "best micro-F1": MetricThreshold("micro-f1"),
    "best example F1": MetricThreshold("example-f1"),
}
chosen = {}
for name, rule in rules.items():
    model = vicinal.MLkNN(12, threshold=rule).fit(X, Y, graph=train_graph)
    chosen[name] = model.decision_.value

# %%
# The rules never see the test rows: they use leave-one-out scores of the training rows, which come
# from the same graph.

scores = model.scores(X_test, graph=test_graph).toarray()
truth = Y_test.toarray().astype(bool)
levels = np.linspace(0.02, 0.9, 60)
hits = np.array([(truth & (scores > level)).sum() for level in levels])
predicted = np.array([(scores > level).sum() for level in levels])
figure, axes = plt.subplots(figsize=(8, 4.4), layout="constrained")
axes.plot(levels, hits / predicted, label="micro-precision")
axes.plot(levels, hits / truth.sum(), label="micro-recall")
axes.plot(levels, 2 * hits / (predicted + truth.sum()), label="micro-F1", linewidth=3)
for color, (name, value) in enumerate(chosen.items(), start=3):
    axes.axvline(value, color=f"C{color}", linestyle=":", label=f"{name}: {value:.2f}")
axes.set(xlabel="threshold", ylabel="value on the test rows", ylim=(0, 1))
axes.legend(fontsize=9)
plt.show()
