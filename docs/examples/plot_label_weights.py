"""
Label weights of words
======================

``LabelWeights`` gives a word a large weight if the labels of the texts with that word differ from
those of all texts. The usual weight, idf, depends only on how rare a word is. The cloud shows
both for words of Debian's package descriptions: the larger the word, the larger its label weight.
"""

import matplotlib.pyplot as plt
import numpy as np

import vicinal
from vicinal.preprocess import LabelWeights

data = vicinal.datasets.load("debtags")
train, _ = data.split()
weights = LabelWeights().fit(train.X, train.Y).weights_
n_rows = np.diff(train.X.tocsc().indptr)
idf = np.log(train.n_rows / np.maximum(n_rows, 1))

# %%
# Among words of about the same frequency, the label weights differ by a factor of two and more. We
# draw the words whose weights are furthest from the median of their level of frequency, where
# there is room for them.

common = np.flatnonzero(n_rows >= 40)
levels = np.array_split(common[np.argsort(n_rows[common], kind="stable")], 12)
unusual = np.zeros(data.n_features)
for level in levels:
    unusual[level] = np.abs(weights[level] - np.median(weights[level]))

shown: list[int] = []
for word in common[np.argsort(-unusual[common], kind="stable")]:
    room = 0.055 * len(data.feature_names[word])
    near = np.abs(idf[shown] - idf[word]) < room + 0.35
    if not (near & (np.abs(weights[shown] - weights[word]) < 0.05)).any():
        shown.append(int(word))
    if len(shown) == 60:
        break

figure, axes = plt.subplots(figsize=(9, 6.5), layout="constrained")
axes.scatter(idf[common], weights[common], s=3, color="0.75")
largest = weights[shown].max()
for word in shown:
    share = weights[word] / largest
    axes.annotate(
        data.feature_names[word],
        (idf[word], weights[word]),
        fontsize=6 + 12 * share**2,
        color=plt.colormaps["viridis"](0.9 * (1 - share)),
        ha="center",
    )
axes.margins(0.08)
axes.set_xlabel("idf: the further right, the rarer the word")
axes.set_ylabel("label weight")
axes.set_title(f"{len(shown)} of {data.n_features:,} words")
plt.show()
