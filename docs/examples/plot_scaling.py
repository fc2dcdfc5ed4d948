"""
Time and number of rows
=======================

The default model, and the exact search for 30 neighbours next to scikit-learn's brute force on the
same rows. The test rows are 500 packages.
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


ours, theirs, fits, predictions = [], [], [], []
for size in sizes:
    index = vicinal.index.InvertedIndex(train.X[:size], metric="cosine")
    ours.append(seconds(lambda index=index: index.query(queries, 30)))
    brute = NearestNeighbors(n_neighbors=30, metric="cosine", algorithm="brute").fit(train.X[:size])
    theirs.append(seconds(lambda brute=brute: brute.kneighbors(queries)))

    began = time.perf_counter()
    model = vicinal.Blend().fit(train.X[:size], train.Y[:size])
    fits.append(time.perf_counter() - began)
    predictions.append(seconds(lambda model=model: model.predict(queries)))

# %%
# Only the shape of the curves matters here. The page on speed has careful measurements.

figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
panels[0].loglog(sizes, fits, "o-", label="fit, seconds")
panels[0].loglog(sizes, 1e3 * np.array(predictions) / 500, "s--", label="predict, ms per row")
panels[0].set(xlabel="training rows", title="Default model")
panels[1].loglog(sizes, 1e3 * np.array(theirs) / 500, "s--", label="scikit-learn, brute force")
panels[1].loglog(sizes, 1e3 * np.array(ours) / 500, "o-", label="vicinal")
panels[1].set(xlabel="training rows", ylabel="milliseconds per query", title="Exact search")
for axes in panels:
    axes.set_xticks(sizes, labels=sizes)
    axes.minorticks_off()
    axes.legend()
plt.show()
