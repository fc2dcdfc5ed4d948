"""scikit-learn's common transformers as plain values and arrays, and back.

Comes in: a fitted vectorizer, scaler, encoder, ``TruncatedSVD``, ``FeatureUnion``,
``ColumnTransformer`` or ``Pipeline`` of these. Goes out: a part that can be saved, and from it the
transformer again, built from checked values: nothing is pickled.
"""

from vicinal.persistence.sklearn_parts.part import SKLEARN_NAMES, SklearnPart, as_part, restored

__all__ = ["SKLEARN_NAMES", "SklearnPart", "as_part", "restored"]
