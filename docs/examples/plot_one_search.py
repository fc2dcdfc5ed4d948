"""
One search for several methods
==============================

Six methods, each fitted and asked for predictions: once with a separate search, once with a graph
that all of them share.
"""

import time

import matplotlib.pyplot as plt

import vicinal

train, test = vicinal.datasets.load("debtags").split()
train, test = train.subset(range(8000)), test.subset(range(2000))
methods = [
    vicinal.BRkNN(15, metric="cosine"),
    vicinal.LPkNN(15, metric="cosine"),
    vicinal.MLkNN(15, metric="cosine"),
    vicinal.InstanceKNN(15),
    vicinal.FeatureKNN(15),
    vicinal.LCIF(15, 15),
]


def seconds(call):
    """Return how long a call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


alone = [seconds(lambda m=m: m.fit(train.X, train.Y).predict(test.X)) for m in methods]

# %%
# The search, then every method from its result.

index = vicinal.index.InvertedIndex(train.X, metric="cosine")
began = time.perf_counter()
train_graph, test_graph = index.query_self(15), index.query(test.X, 15)
search = time.perf_counter() - began
shared = [
    seconds(
        lambda m=m: m.fit(train.X, train.Y, graph=train_graph).predict(test.X, graph=test_graph)
    )
    for m in methods
]

names = [type(method).__name__ for method in methods]
figure, axes = plt.subplots(figsize=(8, 2.8), layout="constrained")
for row, start, times in ((0, 0.0, alone), (1, search, shared)):
    at = start
    for color, (name, taken) in enumerate(zip(names, times, strict=True)):
        axes.barh(row, taken, left=at, color=f"C{color}", label=None if row else name)
        at += taken
    axes.text(at, row, f" {at:.2f} s", va="center")
axes.barh(1, search, color="grey", label="search")
axes.set_yticks([0, 1], ["a search per method", "one search for all"])
axes.invert_yaxis()
axes.set(xlabel="seconds", xlim=(0, 1.15 * sum(alone)))
axes.legend(fontsize=8, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.3))
plt.show()
