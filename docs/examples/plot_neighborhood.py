"""
Neighbours of a text
====================

Which descriptions are most like that of *Inkscape*, and which tags do they have? Each neighbour is
drawn at a distance of one minus its similarity, with the words it shares with Inkscape.
"""

import matplotlib.pyplot as plt
import numpy as np

import vicinal

train, test = vicinal.datasets.load("debtags").split()
part = train.subset(np.random.default_rng(0).permutation(train.n_rows)[:6000])
query = test.X[[test.row_names.index("inkscape")]]

# %%
# One model
# ---------
# A blend keeps the training rows in an index. ``explain`` returns the neighbours with their names,
# labels, and the words that make them similar.

model = vicinal.Blend()
model.fit(part.X, part.Y, label_names=part.label_names, row_names=part.row_names)
(why,) = model.explain(query, feature_names=part.feature_names)
nearest = why.neighbors[:9]

# %%
# The picture
# -----------

figure, axes = plt.subplots(figsize=(8, 5.6), layout="constrained")
angles = np.linspace(0, 2 * np.pi, len(nearest), endpoint=False) + 0.35
for near, angle in zip(nearest, angles, strict=True):
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
# The labels that the model predicts, with their probabilities.

for label in why.labels:
    if label.predicted:
        print(f"{label.score:.2f}  {label.label}")
