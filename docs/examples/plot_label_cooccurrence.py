"""
Labels that occur together
==========================

Multi-label data differ from many single labels in that labels depend on each other. The picture
shows, for frequent tags of Debian packages, the share of packages with one tag that have another.
"""

import matplotlib.pyplot as plt
import numpy as np

import vicinal

data = vicinal.datasets.load("debtags")
counts = np.asarray(data.Y.sum(axis=0)).ravel()
frequent = np.sort(np.argsort(-counts)[:24])
Y = data.Y[:, frequent].astype(float)
together = (Y.T @ Y).toarray()
share = together / together.diagonal()[:, None]

# %%
# How to read a row: of the packages with this tag, the share that has the tag of the column.

names = [data.label_names[label] for label in frequent]
figure, axes = plt.subplots(figsize=(8.5, 7.5), layout="constrained")
drawn = axes.imshow(share, cmap="magma", vmin=0, vmax=1)
axes.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
axes.set_yticks(range(len(names)), names, fontsize=8)
axes.set_title(f"24 of {data.n_labels} tags; {data.cardinality:.1f} tags per package")
figure.colorbar(drawn, label="share of packages", shrink=0.8)
plt.show()
