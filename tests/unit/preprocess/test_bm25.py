import math

import numpy as np
import pytest
from scipy import sparse

from vicinal.errors import InvalidArgumentError
from vicinal.preprocess import BM25

DOCUMENTS = np.array([[1, 0, 3, 0, 2], [2, 1, 0, 0, 1], [0, 0, 0, 0, 0], [1, 5, 0, 0, 1]])
QUERIES = np.array([[1, 0, 2, 0, 0], [0, 1, 0, 4, 1], [0, 0, 0, 0, 0]])
SETTINGS = [(1.2, 0.75), (0.0, 0.75), (2.0, 0.0), (0.5, 1.0)]


def scores(queries, documents, k1, b):
    """The BM25 score of each document for each query, term by term."""
    n = len(documents)
    average = sum(sum(document) for document in documents) / n
    table = []
    for query in queries:
        table.append([])
        for document in documents:
            score = 0.0
            for j, count in enumerate(document):
                having = sum(1 for other in documents if other[j] > 0)
                idf = math.log(1 + (n - having + 0.5) / (having + 0.5))
                damping = k1 * (1 - b + b * sum(document) / average)
                if count:
                    score += query[j] * idf * count * (k1 + 1) / (count + damping)
            table[-1].append(score)
    return np.array(table)


@pytest.mark.parametrize(("k1", "b"), SETTINGS)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_plain_queries_times_documents_is_the_score(kind, k1, b):
    documents = BM25(k1=k1, b=b).fit_transform(kind(DOCUMENTS))
    assert sparse.issparse(documents) == (kind is sparse.csr_array)
    np.testing.assert_allclose(
        kind(QUERIES) @ documents.T @ np.eye(4), scores(QUERIES, DOCUMENTS, k1, b), rtol=1e-13
    )


def test_the_defaults():
    documents = BM25().fit_transform(DOCUMENTS)
    np.testing.assert_allclose(
        QUERIES @ documents.T, scores(QUERIES, DOCUMENTS, 1.2, 0.75), rtol=1e-13
    )


@pytest.mark.parametrize(("k1", "b"), SETTINGS)
def test_a_pipeline_gets_the_score_from_fit_transform_and_transform(k1, b):
    weigh = BM25(k1=k1, b=b, side="pipeline")
    documents = weigh.fit_transform(DOCUMENTS)
    np.testing.assert_allclose(
        weigh.transform(QUERIES) @ documents.T, scores(QUERIES, DOCUMENTS, k1, b), rtol=1e-13
    )


def test_in_a_pipeline_rows_of_the_fit_compare_as_with_both_sides():
    np.testing.assert_array_equal(
        BM25(side="pipeline").fit_transform(DOCUMENTS), BM25(side="both").fit_transform(DOCUMENTS)
    )


@pytest.mark.parametrize(("k1", "b"), SETTINGS)
def test_both_sides_give_the_score_times_a_factor_a_binary_query(k1, b):
    weigh = BM25(k1=k1, b=b, side="both")
    documents = weigh.fit_transform(DOCUMENTS)
    binary = np.sign(QUERIES)
    wanted = scores(binary, DOCUMENTS, k1, b)
    got = weigh.transform(binary) @ documents.T
    average = DOCUMENTS.sum() / len(DOCUMENTS)
    for query, got_row, wanted_row in zip(binary, got, wanted, strict=True):
        factor = (k1 + 1) / (1 + k1 * (1 - b + b * query.sum() / average))
        np.testing.assert_allclose(got_row, factor * wanted_row, rtol=1e-13)


def test_both_sides_are_symmetric():
    rows = BM25(side="both").fit_transform(DOCUMENTS)
    products = rows @ rows.T
    np.testing.assert_array_equal(products, products.T)


def test_words_of_most_rows_weigh_more_than_nothing():
    assert BM25().fit([[1], [1], [1]]).idf_[0] == pytest.approx(math.log(1 + 0.5 / 3.5))


@pytest.mark.parametrize("side", ["document", "both", "pipeline"])
def test_rows_without_a_word_teach_nothing_and_break_nothing(side):
    weigh = BM25(side=side)
    assert weigh.fit_transform([[0, 0], [0, 0]]).tolist() == [[0, 0], [0, 0]]
    assert np.isfinite(weigh.transform([[3, 0]])).all()
    assert BM25(k1=1, b=1).fit([[0]]).transform([[3]])[0, 0] == pytest.approx(
        math.log(1 + 1.5 / 0.5) * 3 * 2 / (3 + 1)
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_float32_is_kept(kind):
    got = BM25().fit_transform(kind(DOCUMENTS.astype(np.float32)))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got @ np.eye(5), BM25().fit_transform(DOCUMENTS), rtol=1e-6)


def test_counts_too_large_are_refused_and_large_ones_saturate():
    assert BM25(k1=1, b=0).fit([[1e300]]).transform([[1e300]])[0, 0] == pytest.approx(
        2 * math.log(1 + 0.5 / 1.5)
    )
    with pytest.raises(InvalidArgumentError, match=r"^X: .*too large"):
        BM25().fit([[1e308, 1e308]])
    with pytest.raises(InvalidArgumentError, match=r"^X: .*too large"):
        BM25().fit([[1, 1]]).transform([[1e308, 1e308]])


def test_negative_counts_are_refused():
    with pytest.raises(InvalidArgumentError, match=r"^X: .*Negative"):
        BM25().fit([[1, -1]])
    with pytest.raises(InvalidArgumentError, match=r"^X: .*Negative"):
        BM25().fit([[1, 1]]).transform(sparse.csr_array([[-1.0, 0.0]]))


@pytest.mark.parametrize("setting", [{"k1": -1}, {"b": 1.5}, {"b": "much"}, {"side": "query"}])
def test_parameters_are_checked(setting):
    (name,) = setting
    with pytest.raises(InvalidArgumentError, match=f"^{name}: "):
        BM25(**setting).fit(DOCUMENTS)
    with pytest.raises(InvalidArgumentError, match=f"^{name}: "):
        BM25().fit(DOCUMENTS).set_params(**setting).transform(DOCUMENTS)
