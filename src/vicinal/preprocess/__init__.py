"""Features made ready for the search: scikit-learn transformers that can be saved with a model.

Comes in: rows as arrays, sparse arrays or frames, or documents as strings. Goes out: rows, sparse
where sparse came in. ``Binary`` and ``UnitRows`` look at one row at a time; ``MinMax``, ``TfIdf``,
``BM25`` and ``TextVectorizer`` learn arrays from the rows they are fitted on, ``LabelWeights`` from
rows and their labels. Each hands over what it learnt by ``get_state()`` and is built again by
``from_state(state)``.

Imports only ``_base``; may be imported by everything after it.
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
