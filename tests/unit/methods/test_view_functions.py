"""Examples of functions that other tests reach only on the way."""

import numpy as np

from vicinal.explanation.breakdown import Terms
from vicinal.methods.blend.parts import check_parts
from vicinal.methods.blend.scoring import _united
from vicinal.methods.feature_views import BesideVectors, FeatureViews, VectorColumns, as_vectors
from vicinal.methods.frame_columns import is_mixed


def test_check_parts():
    assert check_parts(["centroids", "votes"]) == ("votes", "centroids")


def test_united():
    near, far = (Terms("neighbor", ids, np.ones(2)) for ids in ([4, 9], [9, 2]))
    (one,) = _united([near, far])
    assert (one.ids.tolist(), one.shares.tolist()) == ([2, 4, 9], [1.0, 1.0, 2.0])


def test_featureviews():
    X = {"words": np.array([[0.0, 2.0]]), "vectors": np.array([[0.5, -1.0]])}
    views = FeatureViews.of(X)
    assert views.spans == ((0, 2), (2, 4))
    joined = views.joined({"vectors": X["vectors"], "words": X["words"]})
    np.testing.assert_equal(joined, np.array([[0.0, 2.0, 0.5, -1.0]]))


def test_vectorcolumns():
    np.testing.assert_equal(
        VectorColumns().fit_transform([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    )


def test_as_vectors():
    import pandas as pd

    np.testing.assert_equal(
        as_vectors(pd.DataFrame({"vector": [[1.0, 2.0], [3.0, 4.0]]})),
        np.array([[1.0, 2.0], [3.0, 4.0]]),
    )


def test_besidevectors():
    from vicinal.preprocess import TextVectorizer

    step = BesideVectors([("words", TextVectorizer())])
    views = step.fit_transform({"rows": ["a boat", "a sea"], "vectors": [[1, -1], [0, 1]]})
    assert {name: view.shape for name, view in views.items()} == {
        "words": (2, 3),
        "vectors": (2, 2),
    }


def test_is_mixed():
    import pandas as pd

    assert (is_mixed(pd.DataFrame({"a": ["x", "y"]})), is_mixed(pd.DataFrame({"a": [1, 2]}))) == (
        True,
        False,
    )
