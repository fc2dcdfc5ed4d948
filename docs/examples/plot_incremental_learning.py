"""
Incremental learning
====================

``partial_fit`` adds rows, and labels never seen before, without a new fit. Here packages arrive 250
at a time, and a default model and instance kNN learn them.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import vicinal

train, test = vicinal.datasets.load("debtags").split()
rows = np.random.default_rng(1).permutation(train.n_rows)[:2020]
X, Y, X_test, Y_test = train.X[rows], train.Y[rows], test.X[:800], test.Y[:800]

sizes = list(range(250, 2001, 250))
quality, milliseconds = {}, {}
for method in (vicinal.Blend(recalibrate_at="never"), vicinal.InstanceKNN(10)):
    name = type(method).__name__
    model = method.fit(X[:250], Y[:250])
    quality[name], milliseconds[name] = [], []
    for start in sizes:
        if start > 250:
            model.partial_fit(X[start - 250 : start], Y[start - 250 : start])
        model.recalibrate()
        labels = model.predict(X_test)
        quality[name].append(vicinal.metrics.evaluate(Y_test, labels)["micro-f1"])
        times = []
        for row in range(2000, 2020):
            began = time.process_time()
            model.partial_fit(X[row : row + 1], Y[row : row + 1])
            times.append(1000 * (time.process_time() - began))
        model.forget(model.row_ids_[-20:])
        milliseconds[name].append(np.median(times))

# %%
# The predictions of instance kNN equal those of a model fitted on all rows together.

model.recalibrate()
fresh = vicinal.InstanceKNN(10).fit(X[:2000], Y[:2000])
print("equal to a fresh fit:", (model.predict(X_test) != fresh.predict(X_test)).nnz == 0)

figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for name in quality:
    panels[0].plot(sizes, quality[name], "o-", label=name)
    panels[1].plot(sizes, milliseconds[name], "o-", label=name)
panels[0].set(xlabel="rows learned", ylabel="micro-F1 on the test rows", title="Learning curve")
panels[1].set(
    xlabel="rows learned", ylabel="milliseconds of processor time", title="Learn one more row"
)
panels[1].set_ylim(bottom=0)
panels[0].legend()
plt.show()
