"""
Calibration: is a score of 0.7 right seven times in ten?
========================================================

Of all pairs of a test row and a label that a method scores near 0.7, 70% should have the label. A
share of neighbours (BRkNN) is not a probability. The scores of ML-kNN and of the blend are meant to
be probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np

import vicinal

train, test = vicinal.datasets.load("debtags").split()
index = vicinal.index.InvertedIndex(train.X[:6000], metric="cosine")
train_graph, test_graph = index.query_self(12), index.query(test.X[:2000], 12)
frequent = np.asarray(train.Y[:6000].sum(axis=0)).ravel() >= 50
truth = test.Y[:2000].toarray()[:, frequent].ravel()

# %%
# The two neighbour methods use the same two graphs.

figure, panels = plt.subplots(2, 1, figsize=(6, 6.5), height_ratios=(3, 1), layout="constrained")
panels[0].plot([0, 1], [0, 1], color="grey", linestyle="--", label="perfectly calibrated")
edges = np.linspace(0, 1, 11)
for model in (vicinal.BRkNN(12), vicinal.MLkNN(12), vicinal.Blend()):
    graphs = {} if isinstance(model, vicinal.Blend) else {"graph": train_graph}
    new_graphs = {"graph": test_graph} if graphs else {}
    model.fit(train.X[:6000], train.Y[:6000], **graphs)
    scores = model.scores(test.X[:2000], **new_graphs).toarray()[:, frequent].ravel()
    bins = np.clip(np.digitize(scores, edges) - 1, 0, 9)
    filled = [place for place in range(10) if (bins == place).sum() >= 20]
    mean_score = np.array([scores[bins == place].mean() for place in filled])
    share = np.array([truth[bins == place].mean() for place in filled])
    weight = np.array([(bins == place).mean() for place in filled])
    error = (weight * abs(mean_score - share)).sum()
    panels[0].plot(mean_score, share, "o-", label=f"{type(model).__name__}, error {error:.4f}")
    panels[1].stairs(np.bincount(bins, minlength=10), edges, label=type(model).__name__)
panels[0].set(ylabel="share with the label", title="Calibration on 2,000 test rows")
panels[0].legend()
panels[1].set(xlabel="score", ylabel="pairs", yscale="log")
plt.show()
