"""
Choosing a threshold
====================

A method gives scores. A decision rule turns them into labels. Here a single threshold is varied
over the scores of a default model, and the values that four rules choose on other rows are marked.
"""

import matplotlib.pyplot as plt
import numpy as np

import vicinal
from vicinal.decision import CardinalityThreshold, MetricThreshold, Threshold

train, test = vicinal.datasets.load("debtags").split()
model = vicinal.Blend().fit(train.X[:3000], train.Y[:3000])
held_out, Y = model.scores(train.X[3000:5000]), train.Y[3000:5000]

rules = {
    "0.5": Threshold(0.5),
    "as many labels as in training": CardinalityThreshold(),
    "best micro-F1": MetricThreshold("micro-f1"),
    "best example F1": MetricThreshold("example-f1"),
}
chosen = {name: rule.fit(held_out, Y).value for name, rule in rules.items()}

# %%
# The rules are not fitted on test rows.

scores = model.scores(test.X[:1500]).toarray()
truth = test.Y[:1500].toarray().astype(bool)
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
