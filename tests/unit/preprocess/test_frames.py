"""pandas and polars frames in, names kept, frames out where asked for."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from vicinal.preprocess import BM25, Binary, MinMax, TfIdf, UnitRows

COUNTS = np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])
NAMES = ["a", "b", "c"]
TRANSFORMERS = [MinMax(), Binary(), UnitRows(), TfIdf(), BM25(), BM25(side="pipeline")]


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=repr)
@pytest.mark.parametrize(
    "frame", [pd.DataFrame(COUNTS, columns=NAMES), pl.DataFrame(COUNTS, NAMES)]
)
def test_a_frame_is_its_numbers_and_its_names(transformer, frame):
    expected = transformer.fit_transform(COUNTS), transformer.transform(COUNTS)
    got = transformer.fit_transform(frame), transformer.transform(frame)
    np.testing.assert_array_equal(got, expected)
    assert [*transformer.feature_names_in_] == NAMES
    assert [*transformer.get_feature_names_out()] == NAMES
    with pytest.raises(ValueError, match="feature names"):
        transformer.transform(frame[["b", "a", "c"]])


@pytest.mark.parametrize("side", ["document", "pipeline"])
def test_documents_and_queries_come_as_frames_where_asked_for(side):
    frame = pd.DataFrame(COUNTS, columns=NAMES, index=["first", "second"])
    weigh = BM25(side=side).set_output(transform="pandas")
    for got in (weigh.fit_transform(frame), weigh.transform(frame)):
        assert [*got.columns] == NAMES
        assert [*got.index] == ["first", "second"]


def test_a_sparse_frame_stays_sparse():
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(COUNTS), columns=NAMES)
    got = MinMax().fit_transform(frame)
    assert isinstance(got, sparse.csr_array)
    np.testing.assert_array_equal(got.toarray(), MinMax().fit_transform(COUNTS))
