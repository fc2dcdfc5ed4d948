"""What a model learned does not change when the caller's arrays do, and can always be saved."""

import numpy as np
import pandas as pd
import pytest
from every_method import INCREMENTAL, repeatable
from scipy import sparse

from vicinal import BRkNN, load
from vicinal.baselines import RankSVM
from vicinal.datasets import Dataset
from vicinal.decision import TopS
from vicinal.errors import InvalidArgumentError
from vicinal.index import DenseIndex, InvertedIndex
from vicinal.methods import METHODS
from vicinal.preprocess import MinMax, TextVectorizer

pytestmark = pytest.mark.native

FORMS = {
    "dense": np.array,
    "float32": lambda rows: np.array(rows, dtype=np.float32),
    "sparse": lambda rows: sparse.csr_array(np.array(rows)),
    "frame": lambda rows: pd.DataFrame(np.array(rows)),
}


def overwrite(given):
    """Do what a caller does who uses a buffer again."""
    if sparse.issparse(given):
        given.data[:] = -7
        given.indices[:] = 0
        given.indptr[1:] = given.indptr[-1]
    elif isinstance(given, pd.DataFrame):
        given.iloc[:, :] = -7.0
    else:
        given[:] = -7


def unencodable(rows):
    """A frame whose last column has a name that UTF-8 cannot hold."""
    names = [*"abc"[: len(rows[0]) - 1], "\ud800"]
    return pd.DataFrame(rows, columns=pd.Index(names, dtype=object))


def some_rows(seed, n_rows=12):
    rng = np.random.default_rng(seed)
    return rng.choice([0.0, 0.0, 0.5, 1.0], size=(n_rows, 5)), np.eye(n_rows, 4, dtype=np.int32)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", INCREMENTAL)
def test_buffers_used_again_after_fit_and_partial_fit(method, form):
    (first, Y), (second, Z), (queries, _) = some_rows(1), some_rows(2), some_rows(3)
    expected = repeatable(method).fit(FORMS[form](first), Y)
    expected.predict(FORMS[form](queries))  # builds the index, to which partial_fit adds
    expected.partial_fit(FORMS[form](second), Z)
    model = repeatable(method)
    for rows, labels in ((first, Y), (second, Z)):
        buffer, marks = FORMS[form](rows), labels.copy()
        model.partial_fit(buffer, marks)
        overwrite(buffer)
        marks[:] = 1
        model.predict(FORMS[form](queries))
    one, other = model.scores(FORMS[form](queries)), expected.scores(FORMS[form](queries))
    np.testing.assert_array_equal(one.toarray(), other.toarray())


@pytest.mark.parametrize("kind", [InvertedIndex, DenseIndex])
def test_buffers_used_again_after_add(kind):
    (first, _), (second, _), (queries, _) = some_rows(1), some_rows(2), some_rows(3)
    form = sparse.csr_array if kind is InvertedIndex else np.array
    index, expected = kind(form(first)), kind(form(np.vstack([first, second])))
    buffer = form(second)
    index.add(buffer)
    overwrite(buffer)
    near, wanted = index.query(form(queries), 5), expected.query(form(queries), 5)
    np.testing.assert_array_equal(near.ids, wanted.ids)
    np.testing.assert_array_equal(near.values, wanted.values)


def test_a_buffer_used_again_after_the_fit_of_a_baseline():
    X, Y = some_rows(1)
    buffer = X.copy()
    model = RankSVM().fit(buffer, Y)
    before = model.decision_function(X)
    overwrite(buffer)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_read_only_rows_are_not_copied():
    X, Y = some_rows(1)
    data = Dataset(X, Y, tuple("abcde"), tuple("wxyz"))
    model = BRkNN(1).fit(data.X, data.Y)
    assert np.shares_memory(model.search_.X, X)


@pytest.mark.parametrize(
    "fit",
    [
        lambda model: model.fit([[0.0], [1.0]], [["calm"], ["\ud800"]]),
        lambda model: model.fit([[0.0], [1.0]], np.eye(2), label_names=["calm", "x\udfff"]),
        lambda model: model.fit([[0.0], [1.0]], unencodable(np.eye(2))),
        lambda model: model.fit(unencodable([[0.0], [1.0]]), np.eye(2)),
        lambda model: model.partial_fit([[0.0]], [["\ud800"]]),
        lambda model: model.partial_fit([[0.0]], [[1, 0]], label_names=["\ud800", "b"]),
        lambda model: MinMax().fit(unencodable([[0.0], [1.0]])),
        lambda model: TextVectorizer(stop_words=["\ud800"]).fit(["a b"]),
    ],
)
def test_names_that_no_file_can_hold_are_refused_and_leave_the_model_as_it_was(fit, tmp_path):
    model = BRkNN(1).fit([[0.0], [1.0]], [["a"], ["b"]])
    with pytest.raises(InvalidArgumentError, match="expected text that UTF-8 can hold"):
        fit(model)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").label_names_ == ("a", "b")


@pytest.mark.parametrize("never_empty", [True, False, None])
def test_a_rule_that_could_not_decide_is_refused_at_fit(never_empty):
    """The number of labels of neighbours, of which this method has none."""
    model = METHODS["feature-knn"](threshold=TopS(), never_empty=never_empty)
    with pytest.raises(InvalidArgumentError, match="do not come from neighbours"):
        model.fit(np.eye(4), np.eye(4, dtype=np.int32))
    assert not model.__sklearn_is_fitted__()
