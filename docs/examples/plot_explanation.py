"""
Why this label?
===============

Every score is a sum: a base and one share per neighbour. The waterfall shows how the shares add up,
and the words of the new text that speak for the label.
"""

import matplotlib.pyplot as plt

from vicinal import InstanceKNN, explain, make_pipeline
from vicinal.preprocess import TextVectorizer, TfIdf

texts = {
    "bakery": "Fresh bread and butter from the bakery",
    "baking": "Bake bread at home: flour, water, salt",
    "race": "Marathon training for beginners",
    "shoes": "Running shoes for the marathon",
    "gym": "Home training without equipment",
    "recipes": "Quick recipes to cook at home",
}
labels = [["food"], ["food", "home"], ["sport"], ["sport", "shopping"], ["sport", "home"], ["food"]]
model = make_pipeline(TextVectorizer(weighting="counts"), TfIdf(), InstanceKNN(4))
model.fit(list(texts.values()), labels, instanceknn__row_names=list(texts))
(why,) = explain(model, ["Marathon training at home"])

# %%
# The parts add up to the score, exactly.

one = why[why.predicted[0]]
print(f"{one.label}: {one.score:.3f} = {one.base:g} + {sum(part.share for part in one.parts):.3f}")

figure, panels = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(3, 2), layout="constrained")
total = one.base
for place, part in enumerate(one.parts):
    panels[0].barh(place, part.share, left=total, color="tab:green")
    panels[0].text(total + part.share, place, f" {part.share:.2f}", va="center")
    total += part.share
panels[0].barh(len(one.parts), total, color="tab:grey")
panels[0].text(total, len(one.parts), f" {total:.2f}", va="center")
panels[0].set_yticks(range(len(one.parts) + 1), [*(part.name for part in one.parts), "score"])
panels[0].invert_yaxis()
panels[0].set(title=f"Why “{one.label}”", xlabel="share of the score", xlim=(0, 1.2 * total))
words = sorted(one.highlights, key=lambda part: part.share)
panels[1].barh([part.name for part in words], [part.share for part in words], color="tab:orange")
panels[1].set(title="Words that matter", xlabel="share of the score")
plt.show()
