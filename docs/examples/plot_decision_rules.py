"""
Decision rules compared
=======================

The scores of one default model, six decision rules: how many labels each rule predicts, and what
that means for four metrics. No rule is best for all of them.
"""

import matplotlib.pyplot as plt
import numpy as np

import vicinal
from vicinal.decision import (
    CardinalityThreshold,
    MCut,
    MetricThreshold,
    PCut,
    PerLabelThreshold,
    RCut,
)

train, test = vicinal.datasets.load("debtags").split()
model = vicinal.Blend().fit(train.X[:3000], train.Y[:3000])
held_out, Y = model.scores(train.X[3000:5000]), train.Y[3000:5000]
scores, Y_test = model.scores(test.X[:1000]), test.Y[:1000]

rules = {
    "cardinality": CardinalityThreshold(),
    "best micro-F1": MetricThreshold("micro-f1"),
    "per label": PerLabelThreshold(fbr=0.05),
    "largest gap": MCut(),
    "in proportion": PCut(),
    "always four": RCut(4),
}
metrics = ["micro-f1", "macro-f1", "example-f1", "subset-accuracy"]
values, sizes = {}, {}
for name, rule in rules.items():
    labels = rule.fit(held_out, Y).decide(scores)
    result = vicinal.metrics.evaluate(Y_test, labels, metrics=metrics)
    values[name] = list(result.values())
    sizes[name] = labels.sum() / labels.shape[0]

# %%
# The rules are fitted on rows that are neither training nor test rows. Thresholds per label
# have a lowest F1 of 0.05 (``fbr``): without it, labels that no threshold separates are
# predicted for every row.

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
