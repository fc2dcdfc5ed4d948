"""A blend of several views: mappings are read, learned, forgotten, explained and saved."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder

import vicinal
from vicinal import Blend, make_pipeline, make_views
from vicinal.methods.blend import parts
from vicinal.preprocess import TextVectorizer

pytestmark = pytest.mark.native

N_FEATURES, N_LABELS, N_VALUES = 25, 9, 32
NAMES = [f"label{label}" for label in range(N_LABELS)]


def documents(n, seed, dtype=np.float64):
    rng, fixed = np.random.default_rng(seed), np.random.default_rng(0)
    topics = fixed.dirichlet(np.full(N_FEATURES, 0.2), size=N_LABELS)
    directions = fixed.normal(size=(N_LABELS, N_VALUES))
    Y = (rng.random((n, N_LABELS)) < 0.25).astype(np.int32)
    words = sparse.csr_array(rng.poisson(0.03 + 3 * Y @ topics).astype(dtype))
    vectors = (rng.normal(size=(n, N_VALUES)) + Y @ directions).astype(dtype)
    if n > 6:
        vectors[3], vectors[4] = vectors[2], 0.0
    return {"words": words, "vectors": vectors}, Y


def names_of(Y):
    return [[NAMES[label] for label in np.flatnonzero(row)] for row in Y]


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def some(X, rows):
    return {name: view[rows] for name, view in X.items()}


def joined(*mappings):
    def stack(name):
        blocks = [X[name] for X in mappings]
        if sparse.issparse(blocks[0]):
            return sparse.csr_array(sparse.vstack(blocks))
        return np.vstack(blocks)

    return {name: stack(name) for name in mappings[0]}


changes = st.lists(
    st.tuples(
        st.sampled_from(["learn", "learn many", "forget", "relabel", "new", "compact"]),
        st.integers(0, 10**6),
    ),
    min_size=1,
    max_size=8,
)


@given(steps=changes, seed=st.integers(0, 50))
@settings(max_examples=10, deadline=None)
def test_any_changes_equal_parts_built_afresh(steps, seed):
    """The rows are kept here as a plain list, and the parts are built from it at the end."""
    X, Y = documents(70, seed)
    Q, _ = documents(12, seed + 1)
    model = Blend(combine="mix", recalibrate_at="never").fit(X, names_of(Y))
    rows = {place: (some(X, [place]), names_of(Y[[place]])[0]) for place in range(70)}
    for number, (kind, pick) in enumerate(steps):
        apply(model, rows, kind, pick, seed + number)
    assert model.row_ids_.tolist() == sorted(rows)
    version = model._fitted().as_fitted
    kept = joined(*(rows[id_][0] for id_ in sorted(rows)))
    labels = np.zeros((len(rows), len(model.label_names_)), dtype=np.int32)
    for at, id_ in enumerate(sorted(rows)):
        labels[at, [model.label_names_.index(name) for name in rows[id_][1]]] = 1
    scoring = version.scoring.rebuilt(model._read_new_X(kept), sparse.csr_array(labels))
    queries = model._read_new_X(Q)
    ours, theirs = version.scoring.listed(queries), scoring.listed(queries)
    np.testing.assert_array_equal(ours.labels, theirs.labels)
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    for part, name in enumerate(scoring.names):
        a, b = ours.cells[:, 2 * part], theirs.cells[:, 2 * part]
        exact = name.startswith(("votes", "local ridge", "centroids"))
        np.testing.assert_allclose(a, b, rtol=0, atol=0 if exact else 1e-6, err_msg=name)


def apply(model, rows, kind, pick, seed):
    ids = sorted(rows)
    one = ids[pick % len(ids)]
    fresh = model._fitted().rows.n_ids
    if kind.startswith("learn"):
        X, Y = documents(5 if "many" in kind else 1, seed + 1000)
        model.partial_fit(X, names_of(Y))
        rows.update({fresh + row: (some(X, [row]), names_of(Y[[row]])[0]) for row in range(len(Y))})
    elif kind == "forget" and len(ids) > 2:
        model.forget([one])
        del rows[one]
    elif kind == "relabel":
        x, name = rows.pop(one)[0], NAMES[pick % N_LABELS]
        model.forget([one]).partial_fit(x, [[name]])
        rows[fresh] = x, [name]
    elif kind == "new":
        X, _ = documents(1, seed + 2000)
        model.partial_fit(X, [[f"new {pick % 3}", NAMES[0]]])
        rows[fresh] = X, [f"new {pick % 3}", NAMES[0]]
    elif kind == "compact":
        model.compact()


def test_parts_are_named_by_view_and_found_again_in_a_file(tmp_path):
    X, Y = documents(90, 1)
    Q, _ = documents(8, 2)
    model = Blend().fit(X, Y, label_names=NAMES)
    assert model.views_ == {"words": N_FEATURES, "vectors": N_VALUES}
    assert {"votes, words as given", "votes, words weighted", "votes, vectors as given"} <= set(
        model.part_names_
    )
    model.partial_fit(some(Q, [0]), [["label2", "rare"]]).forget([5])
    model.save(tmp_path / "model")
    loaded = vicinal.load(tmp_path / "model")
    assert loaded.views_ == model.views_
    assert loaded.part_names_ == model.part_names_
    np.testing.assert_array_equal(loaded.scores(Q).toarray(), model.scores(Q).toarray())
    assert loaded.predict_names(Q)[0] == ["label2", "rare"]
    for each in (model, loaded):
        each.partial_fit(some(Q, [1]), [["label1"]])
    np.testing.assert_allclose(loaded.scores(Q).toarray(), model.scores(Q).toarray(), atol=1e-9)
    assert clone(model).fit(X, Y).views_ == model.views_


def test_the_order_of_a_mapping_does_not_matter_and_one_row_equals_many():
    X, Y = documents(90, 1)
    Q, _ = documents(6, 2)
    model = Blend().fit(X, Y)
    turned = {name: Q[name] for name in ("vectors", "words")}
    truth = model.scores(Q).toarray()
    np.testing.assert_array_equal(model.scores(turned).toarray(), truth)
    for row in range(6):
        np.testing.assert_array_equal(model.scores(some(Q, [row])).toarray()[0], truth[row])
    lists = {"words": Q["words"].toarray().tolist(), "vectors": Q["vectors"].tolist()}
    np.testing.assert_array_equal(model.scores(lists).toarray(), truth)
    frames = {name: pd.DataFrame(rows) for name, rows in lists.items()}
    np.testing.assert_array_equal(model.predict(frames), model.predict(Q))


def test_a_mapping_of_one_view_equals_its_matrix():
    X, Y = documents(90, 1)
    Q, _ = documents(6, 2)
    for name in X:
        whole, view = Blend().fit(X[name], Y), Blend().fit({name: X[name]}, Y)
        truth = whole.scores(Q[name]).toarray()
        np.testing.assert_array_equal(view.scores({name: Q[name]}).toarray(), truth)


def test_the_callers_arrays_are_not_kept():
    X, Y = documents(90, 1)
    Q, _ = documents(6, 2)
    alone = {"vectors": X["vectors"].copy()}
    model = Blend().fit(alone, Y)
    before = model.scores({"vectors": Q["vectors"]}).toarray()
    alone["vectors"][:] = 1.0
    np.testing.assert_array_equal(model.scores({"vectors": Q["vectors"]}).toarray(), before)


@pytest.mark.parametrize("view", [None, "words", "vectors"])
def test_neighbours_are_those_of_a_view(view):
    X, Y = documents(60, 3)
    Q, _ = documents(4, 4)
    model = Blend("mix").fit(X, Y).forget([7])
    distances, ids = model.kneighbors(Q, 5, view=view)
    rows, queries = X["vectors"], Q["vectors"]
    if view != "vectors":  # counts as (1 + ln x) · idf of the fit
        counts = X["words"].toarray()
        idf = np.log(61 / (1 + (counts > 0).sum(axis=0))) + 1

        def weighted(values):
            return np.where(values > 0, 1 + np.log(np.maximum(values, 1)), 0) * idf

        rows, queries = weighted(counts), weighted(Q["words"].toarray())
    cosine = unit(queries) @ unit(rows).T
    shares = (queries != 0).astype(int) @ (rows != 0).T > 0
    shares[:, 7] = False
    for row in range(4):
        order = np.lexsort((np.arange(60), -cosine[row].round(12)))
        order = order[shares[row, order]][:5]
        assert ids[row].tolist() == [*order.tolist(), *[-1] * (5 - len(order))]
        near = 1 - cosine[row, order]
        np.testing.assert_allclose(distances[row, : len(order)], near, atol=1e-9)
    assert model.neighbor_graph(Q, 5, view=view).ids.tolist() == ids.tolist()
    among = model.kneighbors(n_neighbors=3, return_distance=False, view=view)
    assert among.shape == (59, 3)
    assert 7 not in among


def test_explanations_add_up_and_name_features_by_view():
    X, Y = documents(90, 1)
    Q, _ = documents(2, 2)
    model = Blend().fit(X, Y, label_names=NAMES)
    for why in model.explain(Q, what_if=True):
        for label in why.labels:
            total = label.base + sum(part.share for part in label.parts)
            assert total == pytest.approx(label.value, abs=1e-9)
            features = [part for part in label.parts if part.kind == "feature"]
            assert all(part.name == f"words {part.id}" for part in features)
            assert all(part.id < N_FEATURES for part in features)
            inputs = {part.name for part in label.parts if part.kind == "input"}
            assert inputs <= set(model.part_names_)
        assert all(part.id < N_FEATURES for near in why.neighbors for part in near.shared)


@pytest.mark.parametrize("combine", ["boosting", "mix"])
def test_any_number_of_parts_is_explained(combine, monkeypatch):
    monkeypatch.setattr(parts, "MANY_ROWS", 60)  # each of the views of words has five parts
    (X, Y), (Q, _) = documents(90, 1), documents(2, 2)
    model = Blend(combine).fit({**X, "more": X["words"]}, Y, label_names=NAMES)
    assert len(model.part_names_) > 25
    Q["more"] = Q["words"]
    odds = np.log(model.predict_proba(Q) / (1 - model.predict_proba(Q)))
    for row, why in enumerate(model.explain(Q, labels=NAMES)):
        for label in why.labels:
            total = label.base + sum(part.share for part in label.parts)
            assert total == pytest.approx(label.value, abs=1e-9)
            assert total == pytest.approx(odds[row, NAMES.index(label.label)], abs=1e-9)
            assert set(label.facts) == set(model.part_names_)


def test_a_model_of_views_says_what_it_needs():
    X, Y = documents(40, 1)
    model = Blend("mix").fit(X, Y)
    wrong = [
        ({"words": X["words"]}, "X: expected the views words, vectors, got words"),
        (X["words"], "X: expected a mapping of the views words, vectors, got csr_array"),
        ({**X, "vectors": X["vectors"][:, 1:]}, "X['vectors']: expected 32 features, got 31"),
        ({**X, "vectors": X["vectors"][1:]}, "X['vectors']: expected 40 rows, as in X['words']"),
        ({**X, "vectors": np.full((40, 32), np.nan)}, "X['vectors']: expected finite values"),
        ({**X, "vectors": ["secret"] * 40}, "X['vectors']: expected numbers, got texts"),
        ({name: view[:0] for name, view in X.items()}, "X: expected at least one row"),
    ]
    for given_rows, message in wrong:
        with pytest.raises(ValueError, match="X") as error:
            model.predict(given_rows)
        assert message in str(error.value)
        assert "secret" not in str(error.value)
    with pytest.raises(ValueError, match="one matrix, as in fit"):
        Blend("mix").fit(X["words"], Y).predict(X)
    with pytest.raises(ValueError, match="at least one view"):
        Blend().fit({}, Y)
    with pytest.raises(ValueError, match="named by strings"):
        Blend().fit({1: X["words"]}, Y)
    with pytest.raises(ValueError, match="view: expected one of 'words', 'vectors'"):
        model.kneighbors(X, 3, view="images")


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, Y = documents(40, 1)
    model = Blend("mix").fit(X, Y)
    before = model.scores(X).toarray()
    with pytest.raises(ValueError, match="rows"):
        model.fit({"words": X["words"], "more": X["vectors"][1:]}, Y)
    assert model.views_ == {"words": N_FEATURES, "vectors": N_VALUES}
    np.testing.assert_array_equal(model.scores(X).toarray(), before)


def frame_of(n, seed):
    X, Y = documents(n, seed)
    rng = np.random.default_rng(seed)
    texts = [
        " ".join(f"word{column}" for column in np.repeat(np.arange(N_FEATURES), row.astype(int)))
        for row in X["words"].toarray()
    ]
    frame = pd.DataFrame({"text": texts, "place": rng.choice(["north", "south"], size=n)})
    return frame.assign(vector=X["vectors"].tolist()), names_of(Y)


@pytest.mark.parametrize("words", [TextVectorizer(), TfidfVectorizer()])
def test_views_of_a_frame_in_a_pipeline_are_saved_and_learn(words, tmp_path):
    frame, labels = frame_of(80, 5)
    new, _ = frame_of(5, 6)
    views = make_views(
        ("words", words, "text"),
        ("vectors", "vectors", "vector"),
        ("places", OneHotEncoder(handle_unknown="ignore"), ["place"]),
    )
    model = make_pipeline(views, Blend("mix")).fit(frame, labels)
    assert list(model[-1].views_) == ["words", "vectors", "places"]
    truth = model.scores(new).toarray()
    turned = new[["vector", "place", "text"]]
    np.testing.assert_array_equal(model.scores(turned).toarray(), truth)
    model.save(tmp_path / "model")
    loaded = vicinal.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.scores(new).toarray(), truth)
    loaded.partial_fit(new[:1], [["label3", "fresh"]])
    assert loaded.predict_names(new[:1]) == [["label3", "fresh"]]
    why = loaded.explain(new[1:2])[0]
    assert {part.name for near in why.neighbors for part in near.shared} & {"word3", "word5"} or (
        why.neighbors
    )


def test_views_refuse_what_they_cannot_read():
    frame, _ = frame_of(20, 5)
    with pytest.raises(ValueError, match="different names"):
        make_views(("a", "vectors", "vector"), ("a", "vectors", "vector")).fit(frame)
    with pytest.raises(ValueError, match="views: expected"):
        make_views().fit(frame)
    frame.at[3, "vector"] = [1.0]
    with pytest.raises(ValueError, match="lists of equally many numbers"):
        make_views(("vectors", "vectors", "vector")).fit(frame)
