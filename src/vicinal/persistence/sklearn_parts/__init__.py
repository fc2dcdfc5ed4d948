"""scikit-learn's common transformers as plain values and arrays, and back.

Input: a fitted vectorizer, scaler, encoder, ``TruncatedSVD``, ``FeatureUnion``,
``ColumnTransformer`` or ``Pipeline`` of these. Output: a part that can be saved, from which the
transformer is rebuilt with checked values; nothing is pickled.
"""

from vicinal.persistence.sklearn_parts.part import SKLEARN_NAMES, SklearnPart, as_part, restored

__all__ = ["SKLEARN_NAMES", "SklearnPart", "as_part", "restored"]
