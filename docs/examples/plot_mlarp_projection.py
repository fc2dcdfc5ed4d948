"""
A projection learned from labels
================================

Two of twenty features decide the labels. The others are noise, which spoils distances. ML-ARP
searches for a projection under which ML-kNN makes the fewest errors on the training rows.
"""

import matplotlib.pyplot as plt
import numpy as np

import vicinal
from vicinal.metrics import hamming_loss

rng = np.random.default_rng(0)
X = rng.normal(size=(700, 20))
Y = np.stack([X[:, 0] > 0, X[:, 1] > 0, X[:, 0] * X[:, 1] > 0], axis=1).astype(int)
X_train, X_test, Y_train, Y_test = X[:450], X[450:], Y[:450], Y[450:]

# %%
# Before: a random projection. After: 300 steps of the search, each kept only if it lowers the
# leave-one-out error of ML-kNN.

before = rng.normal(size=(20, 2))
learned = vicinal.reduction.MLARP(
    n_components=2, max_iter=300, learned_step=True, init="mddm", random_state=0
).fit(X_train, Y_train)


def error(train, test):
    """Return the Hamming loss of ML-kNN on the test rows."""
    model = vicinal.MLkNN(5).fit(train, Y_train)
    return hamming_loss(Y_test, model.predict(test))


views = {
    "random projection": (X_train @ before, X_test @ before),
    "ML-ARP": (learned.transform(X_train), learned.transform(X_test)),
}
figure, panels = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
kinds = Y_test @ [1, 2, 0]
for axes, (name, (train, test)) in zip(panels, views.items(), strict=False):
    axes.scatter(*test.T, c=kinds, cmap="tab10", vmax=9, s=12)
    axes.set(title=f"{name}:\nHamming loss {error(train, test):.3f}", xticks=[], yticks=[])
panels[2].plot(learned.history_)
panels[2].set(title="Training error", xlabel="evaluations", ylabel="lowest loss so far")
print(f"All twenty features: Hamming loss {error(X_train, X_test):.3f}")
plt.show()
