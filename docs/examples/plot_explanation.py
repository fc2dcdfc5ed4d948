"""
Explain a prediction
====================

Every score is a sum: a base, and one share per word and neighbour. The waterfall shows how the
shares of a default model add up on the scale of log-odds.
"""

import matplotlib.pyplot as plt
import pandas as pd

from vicinal import Blend, explain, make_pipeline
from vicinal.preprocess import TextVectorizer

tickets = pd.read_csv("../samples/tickets.csv")
model = make_pipeline(TextVectorizer(language="en", weighting="counts"), Blend())
model.fit(tickets["message"], tickets["tags"].str.split(";"), blend__row_names=list(tickets["id"]))
(why,) = explain(model, ["I was charged twice for one invoice"])

# %%
# The parts add up to the log-odds. Neighbours are named by the ids of their tickets.

one = why[why.predicted[0]]
total = one.base + sum(part.share for part in one.parts)
print(f"{one.label}: log-odds {one.value:.3f} = {one.base:.3f} + shares {total - one.base:.3f}")

shown = sorted(one.parts, key=lambda part: -abs(part.share))[:8]
others = sum(part.share for part in one.parts) - sum(part.share for part in shown)
bars = [("base", one.base), *((part.name, part.share) for part in shown), ("others", others)]
figure, axes = plt.subplots(figsize=(8, 4.4), layout="constrained")
reached = 0.0
for place, (name, share) in enumerate(bars):
    color = "tab:grey" if name == "base" else "tab:green" if share > 0 else "tab:red"
    axes.barh(place, share, left=reached, color=color)
    reached += share
axes.barh(len(bars), reached, color="tab:blue")
axes.axvline(0, color="k", linewidth=0.8)
axes.set_yticks(range(len(bars) + 1), [*(name for name, _ in bars), "sum"])
axes.invert_yaxis()
axes.set(title=f"Why “{one.label}”", xlabel="log-odds")
plt.show()
