"""
How the search scales
=====================

Time and memory of the exact search for 30 neighbours, as the number of rows grows, against
scikit-learn's brute force on the same rows. The test rows are 500 packages.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import NearestNeighbors

import vicinal

train, test = vicinal.datasets.load("debtags").split()
queries = test.X[:500]
sizes = np.array([1500, 3000, 6000, 12000, 24000])


def seconds(call):
    """Return the shorter time of two calls."""
    times = []
    for _ in range(2):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


ours, theirs, memory = [], [], []
for size in sizes:
    index = vicinal.index.InvertedIndex(train.X[:size], metric="cosine")
    ours.append(seconds(lambda index=index: index.query(queries, 30)))
    memory.append(index.nbytes)
    peer = NearestNeighbors(n_neighbors=30, metric="cosine", algorithm="brute").fit(train.X[:size])
    theirs.append(seconds(lambda peer=peer: peer.kneighbors(queries)))

# %%
# Both are exact. Only the shape of the curves is meant here; the benchmarks page has careful
# measurements.

figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
panels[0].loglog(sizes, 1e3 * np.array(theirs) / 500, "s--", label="scikit-learn, brute force")
panels[0].loglog(sizes, 1e3 * np.array(ours) / 500, "o-", label="vicinal")
panels[0].set(xlabel="training rows", ylabel="milliseconds per query", title="Time")
panels[0].set_xticks(sizes, labels=sizes)
panels[0].minorticks_off()
panels[0].legend()
panels[1].plot(sizes, np.array(memory) / 1e6, "o-")
panels[1].set(xlabel="training rows", ylabel="MB", title="Memory of the index", ylim=0)
plt.show()
