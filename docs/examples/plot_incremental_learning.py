"""
Learning as rows arrive
=======================

``partial_fit`` adds rows, and labels never seen before, without starting over; the model then
equals one that is fitted on all rows at once. Here packages arrive 250 at a time.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import vicinal

train, test = vicinal.datasets.load("debtags").split()
rows = np.random.default_rng(1).permutation(train.n_rows)[:3000]
X, Y, X_test, Y_test = train.X[rows], train.Y[rows], test.X[:800], test.Y[:800]

model = vicinal.InstanceKNN(10).fit(X[:250], Y[:250])
sizes, quality, seconds = [], [], []
for start in range(250, 3001, 250):
    sizes.append(start)
    labels = model.predict(X_test)
    quality.append(vicinal.metrics.evaluate(Y_test, labels)["micro-f1"])
    began = time.perf_counter()
    if start < 3000:
        model.partial_fit(X[start : start + 250], Y[start : start + 250])
        seconds.append(time.perf_counter() - began)

# %%
# The same predictions as from scratch, exactly.

fresh = vicinal.InstanceKNN(10).fit(X, Y)
print("equal to a fresh fit:", (model.predict(X_test) != fresh.predict(X_test)).nnz == 0)

figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
panels[0].plot(sizes, quality, "o-")
panels[0].set(xlabel="rows learned", ylabel="micro-F1 on the test rows", title="Learning curve")
panels[1].bar(sizes[1:], seconds, width=180)
panels[1].set(xlabel="rows learned", ylabel="seconds", title="Time to learn 250 rows")
plt.show()
