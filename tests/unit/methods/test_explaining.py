"""The shares of each method, from its definition and by hand."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logit

from vicinal import IBLR, LCIF, Blend, BRkNN, DMLkNN, FeatureKNN, InstanceKNN, LAMLkNN, LPkNN, MLkNN
from vicinal._core.progress import stopped_by
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph
from vicinal.methods._formulas import explain_scoring
from vicinal.scores import Scores

pytestmark = pytest.mark.native


@pytest.fixture
def fit(sample):
    def fitted(model):
        return model.fit(sample.X, sample.Y)

    return fitted


def neighbors_of(model, x):
    graph = model.neighbor_graph(x[None, :])
    return graph.ids[0][graph.ids[0] >= 0], graph.values[0]


class NobodyWaits(Exception):
    """Raised by the caller of work."""


@pytest.mark.parametrize("model", [BRkNN(4), Blend("mix")], ids=["brknn", "blend"])
def test_explaining_one_row_ends_between_labels_and_neighbours(model, fit, sample):
    fit(model)
    steps = 0

    def check():
        nonlocal steps
        steps += 1
        if steps == last:
            raise NobodyWaits

    last = 0
    with stopped_by(check):
        (why,) = model.explain(sample.X_test[:1], labels=range(5))
    n_labels = 10 if isinstance(model, Blend) else 5  # a blend divides each score first
    assert steps == len(why.neighbors) + n_labels
    for last in range(1, steps + 1):
        steps = 0
        with stopped_by(check), pytest.raises(NobodyWaits):
            model.explain(sample.X_test[:1], labels=range(5))
        assert steps == last
    before, steps = steps, 0
    model.explain(sample.X_test[:1], labels=range(5))
    assert (before, steps) == (last, 0)


def shapley_of_votes(score_of_votes, votes):
    """The Shapley value of each voter, from the definition: a sum over all coalitions."""
    n = len(votes)
    shares = np.zeros(n)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            weight = factorial(size) * factorial(n - size - 1) / factorial(n)
            for chosen in combinations(others, size):
                count = sum(votes[j] for j in chosen)
                shares[i] += weight * (score_of_votes(count + votes[i]) - score_of_votes(count))
    return shares


@pytest.mark.parametrize("model", [BRkNN(4), LPkNN(4)], ids=["brknn", "lpknn"])
def test_each_neighbour_has_one_vote(model, fit, sample):
    fit(model)
    for x, why in zip(sample.X_test, model.explain(sample.X_test, labels=range(5)), strict=True):
        ids, distances = neighbors_of(model, x)
        for label, one in enumerate(why.labels):
            assert [part.share for part in one.parts] == [sample.Y[i, label] / 4 for i in ids]
            assert [part.id for part in one.parts] == ids.tolist()
            assert [part.value for part in one.parts] == distances.tolist()
            assert [part.has_label for part in one.parts] == [bool(sample.Y[i, label]) for i in ids]
            assert one.facts["votes"] == sample.Y[ids, label].sum()


def test_lpknn_counts_the_neighbours_with_the_predicted_set(fit, sample):
    model = fit(LPkNN(4))
    for x, why in zip(sample.X_test, model.explain(sample.X_test), strict=True):
        ids, _ = neighbors_of(model, x)
        predicted = model.predict(x[None, :])[0]
        having = sum(np.array_equal(sample.Y[i], predicted) for i in ids)
        assert {one.facts["neighbors_with_predicted_set"] for one in why.labels} == {having}


def test_mlknn_shares_are_shapley_values_with_the_neighbours_fixed(fit, sample):
    model = fit(MLkNN(4))
    table = model.scoring_.posterior
    for x, why in zip(sample.X_test, model.explain(sample.X_test, labels=range(5)), strict=True):
        ids, _ = neighbors_of(model, x)
        for label, one in enumerate(why.labels):
            votes = sample.Y[ids, label]
            expected = shapley_of_votes(lambda c, of=table[label]: of[c], votes)
            shares = [part.share for part in one.parts]
            np.testing.assert_allclose(shares, expected, atol=1e-12)
            assert one.base == table[label, 0]
            with_it = one.facts["prior"] * one.facts["likelihood_with"]
            without = (1 - one.facts["prior"]) * one.facts["likelihood_without"]
            assert with_it / (with_it + without) == pytest.approx(one.score, abs=1e-12)


def test_lamlknn_names_the_cluster_and_its_statistics(fit, sample):
    centers = np.array([[0.1] * 6, [0.6] * 6])
    model = fit(LAMLkNN(4, centers=centers))
    near = [((sample.X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)]
    for x, why in zip(sample.X_test, model.explain(sample.X_test, labels=range(5)), strict=True):
        cluster = ((x - centers) ** 2).sum(axis=1).argmin()
        rows = np.flatnonzero(near[0] == cluster)
        for label, one in enumerate(why.labels):
            assert one.facts["cluster"] == cluster
            assert one.facts["cluster_rows"] == len(rows)
            prior = (1 + sample.Y[rows, label].sum()) / (2 + len(rows))
            assert one.facts["prior"] == pytest.approx(prior, abs=1e-12)


def test_dmlknn_base_has_no_vote_for_the_label_and_all_others(fit, sample):
    """Brute force from the definition, with the votes for the label taken away."""
    tolerance, s = 1, 1.0
    model = fit(DMLkNN(4, tolerance=tolerance, smoothing=s))
    n, n_labels = sample.Y.shape
    counts = model.scoring_.counts.toarray()

    def score(votes, label):
        others = [other for other in range(n_labels) if other != label]
        near = [
            i
            for i in range(n)
            if counts[i, label] == votes[label]
            and all(abs(counts[i, other] - votes[other]) <= tolerance for other in others)
        ]
        positives = sample.Y[:, label].sum()
        prior = (s + positives) / (2 * s + n)
        with_it = sample.Y[near, label].sum() if near else 0
        like = (s + with_it) / (s * n_labels + positives)
        unlike = (s + len(near) - with_it) / (s * n_labels + n - positives)
        value = prior * like / (prior * like + (1 - prior) * unlike)
        names = "matching_with", "matching_without", "prior", "likelihood_with"
        facts = zip(names, (with_it, len(near) - with_it, prior, like), strict=True)
        return value, {**dict(facts), "likelihood_without": unlike}

    for x, why in zip(sample.X_test, model.explain(sample.X_test, labels=range(5)), strict=True):
        ids, _ = neighbors_of(model, x)
        votes = sample.Y[ids].sum(axis=0)
        for label, one in enumerate(why.labels):
            value, facts = score(votes, label)
            assert one.score == pytest.approx(value, abs=1e-12)
            assert {name: one.facts[name] for name in facts} == pytest.approx(facts, rel=1e-12)
            fewer = votes.copy()
            fewer[label] = 0
            assert one.base == pytest.approx(score(fewer, label)[0], abs=1e-12)


def test_instance_knn_weighs_by_similarity(fit, sample):
    model = fit(InstanceKNN(4))
    for x, why in zip(sample.X_test, model.explain(sample.X_test, labels=range(5)), strict=True):
        ids, similarity = neighbors_of(model, x)
        for label, one in enumerate(why.labels):
            expected = sample.Y[ids, label] * similarity / similarity.sum()
            np.testing.assert_allclose([p.share for p in one.parts], expected, atol=1e-12)


@pytest.mark.parametrize("aggregate", ["mean", "kept-mean", "max"])
def test_feature_knn_shares_by_feature(aggregate, fit, sample):
    model = fit(FeatureKNN(3, aggregate=aggregate))
    kept = model.scoring_.similarity.toarray()
    for x, why in zip(sample.X_test, model.explain(sample.X_test, labels=range(5)), strict=True):
        for label, one in enumerate(why.labels):
            has = np.flatnonzero((x > 0) & (kept[:, label] > 0))
            assert [part.id for part in one.parts] == has.tolist()
            assert [part.value for part in one.parts] == x[has].tolist()
            if aggregate == "max":
                best = max(one.parts, key=lambda part: part.share, default=None)
                assert best is None or kept[best.id, label] == kept[has, label].max()
            else:
                whole = x[x > 0].sum() if aggregate == "mean" else x[has].sum()
                expected = x[has] * kept[has, label] / (whole or 1)
                np.testing.assert_allclose([p.share for p in one.parts], expected, atol=1e-12)


def test_lcif_is_the_weighted_sum_of_its_parts(fit, sample):
    model = fit(LCIF(4, 3, mixing=0.25))
    instance, feature = fit(InstanceKNN(4)), fit(FeatureKNN(3))
    both = zip(
        *(each.explain(sample.X_test, labels=range(5)) for each in (model, instance, feature)),
        strict=True,
    )
    for mixed, near, like in both:
        for one, a, b in zip(mixed.labels, near.labels, like.labels, strict=True):
            expected = [0.25 * part.share for part in a.parts]
            expected += [0.75 * part.share for part in b.parts]
            np.testing.assert_allclose([part.share for part in one.parts], expected, atol=1e-12)


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("augment", [False, True])
def test_iblr_adds_log_odds(augment, k, fit, sample):
    model = fit(IBLR(k, augment=augment))
    weights, intercepts = model.scoring_.weights, model.scoring_.intercepts
    for x, why in zip(sample.X_test, model.explain(sample.X_test, labels=range(5)), strict=True):
        ids, _ = neighbors_of(model, x)
        for label, one in enumerate(why.labels):
            assert one.scale == "log-odds"
            assert one.base == intercepts[label]
            assert one.value == pytest.approx(logit(one.score), abs=1e-9)
            near = sample.Y[ids] @ weights[:5, label] / k
            own = x[x != 0] * weights[5:, label][x != 0] if augment else []
            np.testing.assert_allclose([p.share for p in one.parts], [*near, *own], atol=1e-12)


def test_iblr_label_that_all_or_no_rows_carry_is_its_own_base(sample):
    Y = sample.Y.copy()
    Y[:, 1], Y[:, 3] = 0, 1
    (why,) = IBLR(4).fit(sample.X, Y).explain(sample.X_test[:1], labels=[1, 3])
    assert [(one.scale, one.base, one.parts) for one in why.labels] == [
        ("score", 0.0, []),
        ("score", 1.0, []),
    ]


class NearestAlone:
    """Somebody's method: 1 over 1 + the distance of the nearest row with the label."""

    k = 3

    def __init__(self, Y):
        self.Y = Y

    def scores(self, graph, X=None):
        found = np.zeros((graph.n_queries, self.Y.shape[1]))
        for query in range(graph.n_queries):
            for id_, distance in zip(graph.ids[query], graph.values[query], strict=True):
                if id_ >= 0:
                    has = self.Y[[id_]].toarray()[0] > 0
                    found[query, has] = np.maximum(found[query, has], 1 / (1 + distance))
        return Scores.dense(found)


def test_a_method_without_explanations_is_explained_one_neighbour_at_a_time():
    Y = sparse.csr_array(np.array([[1, 0], [0, 1], [1, 1]], dtype=np.int32))
    ids, distances = np.array([[2, 0, 1]], dtype=np.int32), np.array([[1.0, 1.0, 3.0]])
    graph = NeighborGraph(ids, distances, "euclidean", n_rows=3)
    first, second = explain_scoring(NearestAlone(Y), graph, [0, 1])
    assert (first.base, first.terms[0].shares.tolist()) == (0.0, [0.5, 0.0, 0.0])
    assert (second.base, second.terms[0].shares.tolist()) == (0.0, [0.5, 0.0, 0.0])


def test_one_query_at_a_time():
    graph = NeighborGraph(np.zeros((2, 1), dtype=np.int32), np.zeros((2, 1)), "euclidean", 1)
    with pytest.raises(InvalidArgumentError, match="one query"):
        explain_scoring(NearestAlone(None), graph, [0])
