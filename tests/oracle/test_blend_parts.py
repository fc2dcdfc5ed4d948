"""The parts and cells of a blend, against their definitions in NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal import Blend
from vicinal.methods.blend import global_ridge
from vicinal.methods.blend import scoring as blend_scoring
from vicinal.methods.blend.global_ridge import GlobalRidge, KeptFeatures
from vicinal.methods.blend.parts import (
    MOST_POINTS,
    NEIGHBORS,
    CellPlan,
    View,
    choose_looks,
    rank_points,
    ranks,
)

VOTERS, POWER, ALPHA, DENSE_ALPHA = 30, 2.0, 1.0, 0.3


def unit(rows):
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return rows / np.where(lengths > 0, lengths, 1.0)


def given_rows(X):
    """Counts as (1 + ln x) · idf, other values as they are; then length one."""
    used = X[X > 0]
    if len(used) and used.min() >= 1:
        damped = np.where(X >= 1, 1 + np.log(np.maximum(X, 1)), X)
        having = (X > 0).sum(axis=0)
        return unit(damped * (np.log((1 + len(X)) / (1 + having)) + 1))
    return unit(X)


def weighted_rows(X, Y):
    """Rows times √KL(P(l|f) ‖ p(l)) per feature."""
    p = (Y.sum(axis=0) + 0.5) / (Y.sum(axis=0) + 0.5).sum()
    counts = (X > 0).T.astype(float) @ Y
    P = (counts + 5 * p) / (counts.sum(axis=1, keepdims=True) + 5)
    weights = np.sqrt(np.maximum((P * np.log(P / p)).sum(axis=1), 0))
    used = X[X > 0]
    is_count = not len(used) or used.min() >= 1
    damped = np.where(X >= 1, 1 + np.log(np.maximum(X, 1)), X) if is_count else X
    return unit(damped * weights)


def votes(rows, Y, x, near, without=None):
    near = near[:VOTERS]
    weights = np.maximum(rows[near] @ x, 0) ** POWER
    if weights.sum() == 0:
        return np.zeros(Y.shape[1])
    return weights @ Y[near] / weights.sum()


def local_ridge(rows, Y, x, near, without=None):
    kernel = rows[near] @ rows[near].T
    weights = np.linalg.solve(kernel + ALPHA * np.eye(len(near)), rows[near] @ x)
    return weights @ Y[near]


def centroids(rows, Y, x, near=None, without=None):
    kept = np.ones(len(rows), dtype=bool)
    if without is not None:
        kept[without] = False
    sums = Y[kept].T @ rows[kept]
    norms = np.sqrt((sums**2).sum(axis=1))
    return np.where(norms > 1e-9, sums @ x / np.where(norms > 1e-9, norms, 1), 0.0)


def random_rows(seed, n=60, m=14, n_labels=7, kind="tf-idf", copies=True):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, m)) < 0.2, rng.integers(1, 4, (n, m)), 0).astype(float)
    if kind == "tf-idf":
        X *= rng.random((n, m)).round(2) + 0.1
    Y = (rng.random((n, n_labels)) < 0.25).astype(int)
    if copies:  # equal rows with other labels, rows of zeros, labels of one row and of none
        X[1], X[2], X[3] = X[0], X[0], 0
        Y[:, 0], Y[5, 0], Y[:, 1] = 0, 1, 0
    return X, Y


def looked_at(X, Y):
    labels = sparse.csr_array(Y.astype(np.int32))
    rows = sparse.csr_array(X)
    looks = choose_looks(rows, labels, "cosine")
    return [View.build(look, rows, labels) for look in looks]


def fitted(X, Y, **params):
    return Blend(**params).fit(sparse.csr_array(X), sparse.csr_array(Y))


def said(scoring, X, left_out=None):
    """What every part says of the listed labels, as {(row, label): columns}."""
    if left_out is None:
        listed = scoring.listed(sparse.csr_array(X))
    else:
        listed = scoring.left_out(left_out, 10**9)
    found = {}
    for row in range(len(listed.indptr) - 1):
        for at in range(listed.indptr[row], listed.indptr[row + 1]):
            found[row, int(listed.labels[at])] = listed.cells[listed.cell[at]]
    return found


def nearest(scoring, q):
    """The neighbours in each view: their order is that of the index, tested for itself."""
    graphs = [view.nearest(view.look.of(sparse.csr_array(q[None]))) for view in scoring.views]
    return [graph.ids[0][graph.ids[0] >= 0] for graph in graphs]


def nearest_others(scoring, place):
    graphs = [view.nearest_others(np.array([place])) for view in scoring.views]
    return [graph.ids[0][graph.ids[0] >= 0] for graph in graphs]


def in_views(scoring, q):
    seen = [view.look.of(sparse.csr_array(q[None])).toarray() for view in scoring.views]
    return [unit(each)[0] for each in seen]


def parts_of(Y, views, x, near, without=None):
    return [
        part(rows, Y, of, places, without)
        for rows, of, places in zip(views, x, near, strict=True)
        for part in PARTS
    ]


PARTS = (votes, local_ridge, centroids)


@pytest.mark.parametrize("kind", ["tf-idf", "counts"])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=12, deadline=None)
def test_cells_hold_what_the_parts_say(kind, seed):
    X, Y = random_rows(seed, kind=kind)
    rng = np.random.default_rng(seed + 1)
    Q = np.where(rng.random((8, X.shape[1])) < 0.3, rng.integers(1, 4, (8, X.shape[1])), 0.0)
    scoring = fitted(X, Y, combine="mix").scoring_
    views = given_rows(X), weighted_rows(X, Y)
    for row, q in enumerate(Q):
        truth = parts_of(Y, views, in_views(scoring, q), nearest(scoring, q))
        cells = {label: cell for (at, label), cell in said(scoring, Q).items() if at == row}
        for label, cell in cells.items():
            values = np.array([part[label] for part in truth])
            np.testing.assert_allclose(cell[0:12:2], values, rtol=1e-6, atol=2e-7)
            bests = np.array([max(part.max(), 1e-3) for part in truth])
            np.testing.assert_allclose(cell[1:12:2], values / bests, rtol=1e-6, atol=2e-4)
            share = (Y[:, label].sum() + 0.5) / (len(Y) + 1)
            assert cell[-1] == pytest.approx(np.log(share), rel=1e-6)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=12, deadline=None)
def test_a_left_out_row_is_in_none_of_its_own_scores(seed):
    X, Y = random_rows(seed)
    scoring = fitted(X, Y, combine="mix").scoring_
    views = given_rows(X), weighted_rows(X, Y)
    rows = np.random.default_rng(seed).permutation(len(X))[:10]
    for (at, label), cell in said(scoring, X, rows).items():
        place = int(rows[at])
        x = [rows[place] for rows in views]
        near = nearest_others(scoring, place)
        assert all(place not in places for places in near)
        truth = [part[label] for part in parts_of(Y, views, x, near, without=place)]
        np.testing.assert_allclose(cell[0:12:2], truth, rtol=1e-5, atol=1e-6)


def test_candidates_are_the_best_labels_of_each_part():
    X, Y = random_rows(3, n=90, n_labels=50, copies=False)
    scoring = fitted(X, Y, combine="mix").scoring_
    plan = CellPlan(votes=3, ridge=2, centroids=4, table=0, every_label=False)
    object.__setattr__(scoring, "plan", plan)
    object.__setattr__(scoring, "ridges", ())
    views = given_rows(X), weighted_rows(X, Y)
    Q = X[:5] + X[5:10]
    found = said(scoring, Q)
    for row, q in enumerate(Q):
        expected = set()
        said_by = parts_of(Y, views, in_views(scoring, q), nearest(scoring, q))
        for part, count in zip(said_by, (3, 2, 4) * 2, strict=True):
            order = np.lexsort((np.arange(len(part)), -part.round(9)))[:count]
            expected |= {int(label) for label in order if part[label] > 0}
        assert {label for at, label in found if at == row} == expected


def test_labels_below_the_candidates_are_ranked_by_their_centroids_then_by_frequency():
    X, Y = random_rows(5, n=90, m=60, n_labels=50, copies=False)
    model = fitted(X, Y)
    scoring = model.scoring_
    Q = sparse.csr_array(np.vstack([X[:6], 0 * X[:1]]))  # no label resembles a row of zeros
    scores = model.scores(Q).toarray()
    listed = scoring.listed(Q)
    weighted = weighted_rows(X, Y)
    asked = np.vstack([weighted[:6], 0 * weighted[:1]])
    frequency, n_less, n_rarer = Y.sum(axis=0), 0, 0
    for row in range(7):
        candidates = listed.labels[listed.indptr[row] : listed.indptr[row + 1]]
        below = np.setdiff1d(np.arange(50), candidates)
        assert scores[row, candidates].min() > scores[row, below].max(initial=0.0)
        similarity = centroids(weighted, Y, asked[row])[below]
        order = np.lexsort((-frequency[below], -similarity.round(9)))
        ranked = scores[row, below[order]]
        assert np.all(np.diff(ranked) <= 1e-15)
        similarity, rows_of = similarity[order].round(9), frequency[below[order]]
        is_less = np.diff(similarity) < 0
        is_rarer = (similarity[:-1] == 0) & (np.diff(rows_of) < 0)
        assert np.all(np.diff(ranked)[is_less | is_rarer] < 0)
        n_less, n_rarer = n_less + is_less.sum(), n_rarer + is_rarer.sum()
    assert min(n_less, n_rarer) > 10


def ranked(rows, asked):
    """Ranks among at most 256 rows, 0 to 1: in between in proportion, in the middle of ties."""

    def rank(values, x):
        below, equal = np.sum(values < x), np.sum(values == x)
        if equal or below in (0, len(values)):
            return np.clip(below + (equal - 1) / 2, 0, len(values) - 1)
        low, high = np.sort(values)[below - 1 : below + 1]
        return below - 1 + (x - low) / (high - low)

    found = [[rank(*pair) for pair in zip(rows.T, row, strict=True)] for row in asked]
    return np.array(found) / (len(rows) - 1)


@settings(max_examples=60)
@given(
    n=st.integers(1, 600),
    n_values=st.sampled_from([1, 2, 5, 100, 10**6]),
    scale=st.sampled_from([1e-300, 1e-3, 1.0, 1e300]),
    seed=st.integers(0, 2**32 - 1),
)
def test_ranks_are_those_of_the_definition(n, n_values, scale, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-n_values, n_values, (n, 3)) / n_values * scale
    points = rank_points(rows)
    if n <= MOST_POINTS:
        np.testing.assert_array_equal(points, np.sort(rows.T, axis=1))
    else:
        assert points.shape == (3, MOST_POINTS)
        assert all(np.isin(*pair).all() for pair in zip(points, rows.T, strict=True))
        np.testing.assert_array_equal(points[:, [0, -1]].T, [rows.min(axis=0), rows.max(axis=0)])
    asked = np.vstack([rows[:20], (rows[:20] + rows[-20:][:20]) / 2, rows[:2] * 4, -rows[:2] * 4])
    found = ranks(points, asked)
    wanted = ranked(points.T, asked) if n > 1 else np.zeros(asked.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    alone = [ranks(points, row[None])[0] for row in asked]
    np.testing.assert_array_equal(found, alone)


def test_measurements_have_votes_local_ridge_and_kernel_ridge():
    rng = np.random.default_rng(0)
    X = rng.random((80, 4)) * [1, 10, 100, 1]
    Y = (X[:, :3] > [0.5, 5, 50]).astype(int)
    scoring = Blend(combine="mix").fit(X, Y).scoring_
    q = np.array([[0.3, 4.0, 70.0, 0.5]])
    Z, z = ranked(X, X), ranked(X, q)
    distance = np.sqrt(((Z - z) ** 2).sum(axis=1))
    near = np.argsort(distance, kind="stable")[:NEIGHBORS]
    weights = (1 / (1 + distance[near[:VOTERS]])) ** POWER
    vote = weights @ Y[near[:VOTERS]] / weights.sum()
    width = 2 * np.median(distance[near]) ** 2
    kernel = np.exp(-((Z[near][:, None] - Z[near][None]) ** 2).sum(axis=2) / width)
    w = np.linalg.solve(
        kernel + DENSE_ALPHA * np.eye(len(near)), np.exp(-(distance[near] ** 2) / width)
    )
    mean = Y[near].mean(axis=0)
    ridge = mean + w @ (Y[near] - mean)
    listed = scoring.listed(q)
    assert listed.labels.tolist() == [0, 1, 2]
    np.testing.assert_allclose(listed.cells[:, 0], vote, rtol=1e-6)
    np.testing.assert_allclose(listed.cells[:, 2], ridge, rtol=1e-5)


def kernel_of(a, b, width):
    if width == 0:
        return a @ b.T
    return np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=2) / width)


@pytest.mark.parametrize("words", [True, False])
def test_global_ridge_and_its_leave_one_out_scores(words):
    rng = np.random.default_rng(1)
    if words:
        X, Y = random_rows(1)
        scoring = fitted(X, Y, combine="mix").scoring_
    else:
        X = rng.random((50, 5))
        Y = (rng.random((50, 3)) < 0.4).astype(int)
        scoring = Blend(combine="mix").fit(X, Y).scoring_
    labels = sparse.csr_array(Y)
    assert len(scoring.ridges) == 2
    for ridge in scoring.ridges:
        seen = scoring._unit(ridge, [view.rows.X for view in scoring.views])
        rows = seen if isinstance(seen, np.ndarray) else seen.toarray()
        width = 0.0 if ridge.basis is None else ridge.basis.width
        mean = Y.mean(axis=0)

        def solved(kept, width=width, rows=rows, mean=mean, ridge=ridge):
            K = kernel_of(rows[kept], rows[kept], width)
            alphas = np.linalg.solve(K + ridge.alpha * np.eye(len(kept)), Y[kept] - mean)
            return mean + kernel_of(rows, rows[kept], width) @ alphas

        every = np.arange(len(X))
        phi = ridge.features(seen)
        np.testing.assert_allclose(ridge.scores(phi), solved(every), atol=2e-4)
        left_out = ridge.scores_without(phi, labels)
        for place in (0, 7, 20):
            truth = solved(np.delete(every, place))[place]
            np.testing.assert_allclose(left_out[place], truth, atol=2e-4)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_global_ridge_on_the_strongest_features(sign, monkeypatch):
    monkeypatch.setattr(global_ridge, "MOST_UNKNOWNS", 6)
    monkeypatch.setattr(global_ridge, "LONGEST_LIST", 3)  # folded in after the fourth change
    monkeypatch.setattr(global_ridge, "MORE_UPDATES", 1)
    X, Y = random_rows(3)
    rows = sparse.csr_array(unit(X))
    kept = np.sort(np.argsort(-(unit(X) ** 2).sum(axis=0), kind="stable")[:6])
    chosen = KeptFeatures.strongest(rows)
    np.testing.assert_array_equal(chosen.kept, kept)
    np.testing.assert_array_equal(chosen.of(rows).toarray(), unit(X)[:, kept])
    few = np.arange(40) if sign > 0 else np.arange(len(X))
    labels = sparse.csr_array(Y)
    ridge = GlobalRidge.fit("ridge", 0, 1.0, chosen, rows[few], labels[few])
    changed = np.arange(40, 45)
    after = ridge.changed(ridge.features(rows[changed]), labels[changed], sign)
    now = np.arange(45) if sign > 0 else np.setdiff1d(few, changed)
    phi, mean = unit(X)[:, kept], Y[few].mean(axis=0)
    weights = np.linalg.solve(phi[now].T @ phi[now] + np.eye(6), phi[now].T @ (Y[now] - mean))
    np.testing.assert_allclose(after.scores(after.features(rows)), mean + phi @ weights, atol=1e-9)
    np.testing.assert_allclose(after.current_weights(), weights, atol=1e-9)
    assert len(after.updates) == 2
    terms = after.terms(rows[[7]], 2)
    every = np.zeros(X.shape[1])
    every[kept] = weights[:, 2]
    ids = terms.terms[0].ids
    np.testing.assert_allclose(terms.terms[0].shares, unit(X)[7, ids] * every[ids], atol=1e-9)
    again = GlobalRidge.from_state(after.get_state())
    np.testing.assert_array_equal(again.basis.kept, kept)
    np.testing.assert_allclose(again.scores(again.features(rows)), mean + phi @ weights, atol=1e-9)


def changed_by_one(ridge, rows, labels, rng):
    row = rng.integers(0, rows.shape[0], size=1)
    return ridge.changed(ridge.features(rows[row]), labels[row], 1)


def test_folding_takes_no_fresh_memory_once_there_is_room(monkeypatch):
    monkeypatch.setattr(global_ridge, "LONGEST_LIST", 4)
    monkeypatch.setattr(global_ridge, "MORE_UPDATES", 2)
    X, Y = random_rows(5)
    rows, labels, rng = sparse.csr_array(unit(X)), sparse.csr_array(Y), np.random.default_rng(5)
    ridge = GlobalRidge.fit("ridge", 0, 1.0, None, rows, labels).with_room()
    asked, real = [], np.empty_like

    def empty_like(matrix):
        asked.append(matrix.shape)
        return real(matrix)

    monkeypatch.setattr(np, "empty_like", empty_like)
    inverses = set()
    for _ in range(50):
        ridge = changed_by_one(ridge, rows, labels, rng)
        inverses.add(ridge.inverse.ctypes.data)
    assert len(inverses) == 2
    assert asked == []


@pytest.mark.parametrize("seed", range(4))
def test_versions_that_somebody_has_keep_their_matrices(seed, monkeypatch):
    """Random changes of random versions, some of which are held, as by readers and copies."""
    monkeypatch.setattr(global_ridge, "LONGEST_LIST", 4)
    monkeypatch.setattr(global_ridge, "MORE_UPDATES", 2)
    X, Y = random_rows(seed)
    rows, labels, rng = sparse.csr_array(unit(X)), sparse.csr_array(Y), np.random.default_rng(seed)
    ridge = GlobalRidge.fit("ridge", 0, 1.0, None, rows, labels).with_room()
    held = []

    def matrices(version):
        return version.current_inverse().tobytes(), version.current_weights().tobytes()

    for _ in range(150):
        ridge = changed_by_one(ridge, rows, labels, rng)
        if rng.random() < 0.15:
            held.append((ridge, matrices(ridge)))
        if rng.random() < 0.05 and held:
            ridge = held[rng.integers(len(held))][0]
        if rng.random() < 0.1 and len(held) > 3:
            del held[rng.integers(len(held))]
        for version, before in held:
            assert matrices(version) == before


def test_many_features_and_rows_have_one_ridge_on_some_features(monkeypatch):
    monkeypatch.setattr(global_ridge, "MOST_UNKNOWNS", 6)
    monkeypatch.setattr(blend_scoring, "MOST_UNKNOWNS", 6)
    X, Y = random_rows(4)
    scoring = fitted(X, Y).scoring_
    assert [ridge.name for ridge in scoring.ridges] == ["ridge, weighted"]
    assert len(scoring.ridges[0].basis.kept) == 6


def three_views(seed, n=60):
    """Words as counts, vectors with negative values, numbers of different units."""
    X, Y = random_rows(seed, n=n, kind="counts")
    rng = np.random.default_rng(seed + 7)
    vectors = rng.normal(size=(n, 32)) + Y @ rng.normal(size=(Y.shape[1], 32))
    vectors[1], vectors[4] = vectors[0], 0.0  # equal vectors of other words; a vector of zeros
    numbers = rng.random((n, 3)) * [1, 10, 100] + 1
    return {"words": sparse.csr_array(X), "vectors": vectors, "numbers": numbers}, Y


def check_nearest(rows, x, kept, near):
    """The given rows are as near as the nearest ones by definition; of ties, any may be given."""
    similarity = unit(rows) @ unit(x[None])[0]
    shares = ((rows != 0) @ (x != 0) > 0) & kept
    best = np.sort(similarity[shares])[::-1][:NEIGHBORS]
    assert len(set(near.tolist())) == len(near)
    assert shares[near].all()
    np.testing.assert_allclose(similarity[near], best, atol=1e-12)


def measured(numbers, Y, q, kept):
    """Votes and local ridge of measurements, without the rows that are not kept."""
    Z, z = ranked(numbers, numbers), ranked(numbers, q[None])
    distance = np.sqrt(((Z - z) ** 2).sum(axis=1))
    order = np.lexsort((np.arange(len(Z)), distance))
    near = np.array([place for place in order if kept[place]][:NEIGHBORS])
    weights = (1 / (1 + distance[near[:VOTERS]])) ** POWER
    width = 2 * np.median(distance[near]) ** 2
    kernel = np.exp(-((Z[near][:, None] - Z[near][None]) ** 2).sum(axis=2) / width)
    s = np.exp(-(distance[near] ** 2) / width)
    w = np.linalg.solve(kernel + DENSE_ALPHA * np.eye(len(near)), s)
    mean = Y[near].mean(axis=0)
    return weights @ Y[near[:VOTERS]] / weights.sum(), mean + w @ (Y[near] - mean)


def nearest_by_view(scoring, left_out, model, X, place):
    """The neighbours that the index of each view returns."""
    found = {}
    for view in scoring.views:
        if left_out is None:
            row = model._read_new_X({name: rows[[place]] for name, rows in X.items()})
            graph = view.nearest(view.look.of(row))
        else:
            graph = view.nearest_others(np.array([place]))
        found[view.look.name] = graph.ids[0][graph.ids[0] >= 0]
    return found


def parts_of_views(X, Y, row, near_of, without=None):
    """What the parts of each view say of a row, by name; `near_of` are the views' neighbours."""
    kept = np.ones(len(Y), dtype=bool)
    kept[[] if without is None else without] = False
    words = X["words"].toarray()
    said_by = {}
    for name, rows, x in (
        ("words as given", given_rows(words), row["words as given"]),
        ("words weighted", weighted_rows(words, Y), row["words weighted"]),
        ("vectors as given", unit(X["vectors"]), unit(row["vectors"][None])[0]),
    ):
        near = near_of[name]
        check_nearest(rows, x, kept, near)
        for part in PARTS[: 2 if "vectors" in name else 3]:  # words are there to be compared
            said_by[f"{part.__name__.replace('_', ' ')}, {name}"] = part(rows, Y, x, near, without)
    vote, ridge = measured(X["numbers"], Y, row["numbers"], kept)
    return said_by | {"votes, numbers ranked": vote, "local ridge, numbers ranked": ridge}


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_each_view_of_a_mapping_speaks_by_its_own_metric(seed):
    X, Y = three_views(seed)
    model = Blend(combine="mix").fit(X, sparse.csr_array(Y))
    scoring = model.scoring_
    words = X["words"].toarray()
    for left_out in (False, True):
        places = np.array([0, 1, 9, 17])
        if left_out:
            listed = scoring.left_out(places, 10**9)
        else:
            some = {name: rows[places] for name, rows in X.items()}
            listed = scoring.listed(model._read_new_X(some))
        for at, place in enumerate(places):
            row = {
                "words as given": given_rows(words)[place],
                "words weighted": weighted_rows(words, Y)[place],
                "vectors": X["vectors"][place],
                "numbers": X["numbers"][place],
            }
            near = nearest_by_view(scoring, place if left_out else None, model, X, place)
            truth = parts_of_views(X, Y, row, near, place if left_out else None)
            for entry in range(listed.indptr[at], listed.indptr[at + 1]):
                label, cell = listed.labels[entry], listed.cells[listed.cell[entry]]
                for name, values in truth.items():
                    column = 2 * scoring.names.index(name)
                    where = f"{name}, row {place}, label {label}"
                    np.testing.assert_allclose(
                        cell[column], values[label], rtol=1e-5, atol=2e-6, err_msg=where
                    )


def test_vectors_alone_have_centroids():
    X, Y = three_views(4)
    rows = unit(X["vectors"])
    scoring = Blend(combine="mix").fit(X["vectors"], sparse.csr_array(Y)).scoring_
    assert scoring.names[:3] == tuple(
        f"{n}, as given" for n in ("votes", "local ridge", "centroids")
    )
    listed = scoring.listed(X["vectors"][5:6])
    truth = centroids(rows, Y, rows[5])
    for label, cell in zip(listed.labels, listed.cells, strict=True):
        assert cell[4] == pytest.approx(truth[label], abs=1e-6)


def test_measurements_with_negative_values_are_not_vectors():
    rng = np.random.default_rng(0)
    X = rng.random((60, 40)) * 5 + 1
    Y = sparse.csr_array((rng.random((60, 3)) < 0.4).astype(np.int32))

    def kinds(rows):
        return [look.kind for look in choose_looks(rows, Y, "cosine")]

    assert kinds(X) == ["ranked"]
    assert kinds(np.where(np.arange(40) < 30, X - 3, X)) == ["ranked"]  # 30 columns of 40
    assert kinds(X - 3) == ["vectors"]
    assert kinds(X[:, :31] - 3) == ["ranked"]  # too short
    assert kinds((X - 3) * np.where(np.arange(40) == 7, 1000, 1)) == [
        "ranked"
    ]  # one in other units


def test_the_ridge_of_vectors_is_that_of_rows_of_length_one():
    X, Y = three_views(2)
    model = Blend(combine="mix").fit(X, sparse.csr_array(Y))
    at = [ridge.name for ridge in model.scoring_.ridges].index("ridge, vectors as given")
    ridge = model.scoring_.ridges[at]
    rows, mean = unit(X["vectors"]), Y.mean(axis=0)
    weights = np.linalg.solve(rows.T @ rows + ridge.alpha * np.eye(32), rows.T @ (Y - mean))
    np.testing.assert_allclose(ridge.weights, weights, atol=1e-9)
    np.testing.assert_allclose(ridge.scores(rows[:3]), mean + rows[:3] @ weights, atol=1e-9)
