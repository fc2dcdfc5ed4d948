"""Preprocessing of features: scikit-learn transformers that can be saved with a model.

Input: rows as arrays, sparse arrays or data frames, or documents as strings. Output: rows, sparse
if the input was sparse. ``Binary`` and ``UnitRows`` transform each row independently; ``MinMax``,
``TfIdf``, ``BM25`` and ``TextVectorizer`` learn from the training rows, ``LabelWeights`` from rows
and their labels. ``get_state()`` returns what a transformer learned, and ``from_state(state)``
restores it.

This package imports only ``_base``; all packages above it may import it.
"""

from vicinal.preprocess.binary import Binary
from vicinal.preprocess.bm25 import BM25
from vicinal.preprocess.label_weights import LabelWeights
from vicinal.preprocess.minmax import MinMax
from vicinal.preprocess.steps import STEPS, make_steps
from vicinal.preprocess.text_vectorizer import TextVectorizer
from vicinal.preprocess.tfidf import TfIdf
from vicinal.preprocess.unit_rows import UnitRows
from vicinal.preprocess.word_places import WordPlace

__all__ = [
    "BM25",
    "STEPS",
    "Binary",
    "LabelWeights",
    "MinMax",
    "TextVectorizer",
    "TfIdf",
    "UnitRows",
    "WordPlace",
    "make_steps",
]
