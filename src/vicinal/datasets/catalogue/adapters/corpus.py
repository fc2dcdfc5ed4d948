"""Texts with label sets, and the recipe that turns their words into features."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Int
from vicinal._base.validation import check_integer
from vicinal.datasets.catalogue.adapters.words import fitted_words
from vicinal.datasets.catalogue.entry import Finder
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import DEFAULT_MAX_BYTES


class Corpus(NamedTuple):
    """What an adapter reads: texts, label ids of each, names, and the published split."""

    texts: Sequence[str]
    labels: Sequence[Sequence[int]]
    label_names: tuple[str, ...]
    row_names: tuple[str, ...] | None = None
    train: Int | None = None
    test: Int | None = None


@dataclass(frozen=True)
class TextRecipe:
    """A bag of words over what an adapter reads.

    Words that occur in fewer than `min_rows` rows are dropped. If there is a split, words and
    tf-idf weights are learned from the training rows only.
    """

    files: tuple[str, ...]
    format: str
    adapter: Callable[[Finder, int], Corpus]
    min_rows: int = 2
    token_pattern: str = r"(?u)\b\w\w+\b"
    options = ("weighting", "min_rows", "max_bytes")

    def read(self, find: Finder, **options: Any) -> Dataset:
        """Read the files and count the words."""
        return self._read(find, **options)

    def _read(
        self,
        find: Finder,
        weighting: str = "binary",
        min_rows: int | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> Dataset:
        """Read with the options of :attr:`options`."""
        floor = self.min_rows if min_rows is None else check_integer("min_rows", min_rows, low=1)
        corpus = self.adapter(find, max_bytes)
        X, words = fitted_words(
            corpus.texts, corpus.train, weighting, floor, self.token_pattern, self.files[0]
        )
        return Dataset(
            X=X,
            Y=indicator(corpus.labels, len(corpus.label_names)),
            feature_names=words,
            label_names=corpus.label_names,
            row_names=corpus.row_names,
            train=corpus.train,
            test=corpus.test,
        )


def indicator(labels: Sequence[Sequence[int]], n_labels: int) -> Csr:
    """Return the 0/1 matrix of label sets given as ids; a repeated id counts once.

    Examples
    --------
    >>> indicator([[1], [], [0, 1, 1]], 2).toarray()
    array([[0, 1],
           [0, 0],
           [1, 1]], dtype=int32)
    """
    sets = [sorted(set(one)) for one in labels]
    indptr = np.concatenate(([0], np.cumsum([len(one) for one in sets]))).astype(np.int32)
    indices = np.array([label for one in sets for label in one], dtype=np.int32)
    ones = np.ones(len(indices), dtype=np.int32)
    return sparse.csr_array((ones, indices, indptr), shape=(len(sets), n_labels))


def number(keys: Sequence[Sequence[str]]) -> tuple[list[list[int]], tuple[str, ...]]:
    """Give numbers to the keys that occur, in sorted order; return the ids and the keys.

    Examples
    --------
    >>> number([["b"], ["a", "b"]])
    ([[1], [0, 1]], ('a', 'b'))
    """
    names = sorted({key for one in keys for key in one})
    ids = {key: index for index, key in enumerate(names)}
    return [[ids[key] for key in one] for one in keys], tuple(names)


def distinct(names: Sequence[str], keys: Sequence[str]) -> tuple[str, ...]:
    """Return the names; a name shared by several keys is followed by its key in brackets.

    Examples
    --------
    >>> distinct(["bank", "tax", "bank"], ["p1", "p2", "p3"])
    ('bank (p1)', 'tax', 'bank (p3)')
    """
    count = Counter(names)
    return tuple(
        f"{name} ({key})" if count[name] > 1 else name
        for name, key in zip(names, keys, strict=True)
    )
