"""
Neighbourhood of a text
=======================

Which descriptions are most like that of *Inkscape*, and which tags do they carry? Each neighbour is
drawn at a distance of one minus its similarity, with the words it shares with Inkscape.
"""

import matplotlib.pyplot as plt
import numpy as np

import vicinal
from vicinal.preprocess import TfIdf

train, test = vicinal.datasets.load("debtags").split()
weights = TfIdf().fit(train.X)
row = test.row_names.index("inkscape")
query = weights.transform(test.X[[row]])

# %%
# One search
# ----------
# The model keeps the training rows in an index. ``explain`` returns the neighbours with their
# names, labels, and the words that make them similar.

model = vicinal.InstanceKNN(n_neighbors=9)
model.fit(weights.transform(train.X), train.Y, row_names=train.row_names)
(why,) = model.explain(query, feature_names=train.feature_names)

# %%
# The picture
# -----------

figure, axes = plt.subplots(figsize=(8, 5.6), layout="constrained")
angles = np.linspace(0, 2 * np.pi, len(why.neighbors), endpoint=False) + 0.35
for near, angle in zip(why.neighbors, angles, strict=True):
    x, y = (1 - near.value) * np.cos(angle), (1 - near.value) * np.sin(angle)
    words = ", ".join(part.name for part in near.shared[:3])
    axes.plot([0, x], [0, y], color="tab:blue", alpha=0.5, linewidth=1 + 8 * near.value)
    axes.plot(x, y, "o", color="tab:blue")
    side = "left" if x >= 0 else "right"
    axes.annotate(
        f"{near.name}  {near.value:.2f}\n{words}",
        (x, y),
        (8 if x >= 0 else -8, 0),
        textcoords="offset points",
        ha=side,
        va="center",
        fontsize=9,
    )
axes.plot(0, 0, "o", markersize=14, color="tab:orange")
axes.annotate("inkscape", (0, 0), (0, 12), textcoords="offset points", ha="center", weight="bold")
axes.set(xlim=(-1.6, 1.6), ylim=(-1, 1), title="The nine nearest descriptions and shared words")
axes.set_axis_off()
plt.show()

# %%
# Labels come from these neighbours: each one votes with its share of the similarity.

names = np.array(train.label_names)
for label in why.labels:
    print(f"{label.score:.2f}  {names[int(label.label)]}")
