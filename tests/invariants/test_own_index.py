"""An index written outside the library takes part in everything through ``algorithm=``."""

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from every_method import INCREMENTAL, repeatable
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import vicinal
from vicinal.comparison import compare
from vicinal.distances import get_distance
from vicinal.errors import ModelFormatError
from vicinal.graph import NeighborGraph
from vicinal.index import Index, MutableIndex, TrainingRows, build_index, register_index
from vicinal.index import build as registry
from vicinal.index.protocol import is_mutable
from vicinal.index.reference import reference_query, reference_query_self
from vicinal.preprocess import MinMax
from vicinal.selection import tune

# Rows as they are, without scaling.
tune = partial(tune, preprocess=None)

pytestmark = pytest.mark.native


class BruteForce:
    """Compare every query with every row. All that an index has to be."""

    def __init__(self, X: Any, metric: str, n_jobs: int | None = None) -> None:
        self.metric, self.distance = metric, get_distance(metric)
        self.rows = X.toarray() if sparse.issparse(X) else np.asarray(X)
        self.alive = np.ones(len(self.rows), dtype=bool)

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @property
    def n_features(self) -> int:
        return self.rows.shape[1]

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes

    def query(self, Q: Any, k: int, own: bool = False) -> NeighborGraph:
        queries = Q.toarray() if sparse.issparse(Q) else np.asarray(Q)
        ids = np.full((len(queries), k), -1, dtype=np.int32)
        values = np.full(ids.shape, self.distance.padding)
        rows, queries = self.rows.astype(np.float64), queries.astype(np.float64)
        near = np.tile(self.alive, (len(queries), 1))
        if self.distance.is_similarity:
            near &= (queries != 0).astype(int) @ (rows != 0).astype(int).T > 0
        if own:
            near &= self.alive[:, None] & ~np.eye(len(rows), dtype=bool)
        with np.errstate(all="ignore"):
            for i, query in enumerate(queries):
                found = np.flatnonzero(near[i])
                keys = self.distance.keys(rows[found], query)
                nearest = np.argsort(keys, kind="stable")[:k]
                ids[i, : len(nearest)] = found[nearest]
                values[i, : len(nearest)] = self.distance.values(keys[nearest])
        return NeighborGraph(ids, values, self.metric, self.n_rows)

    def query_self(self, k: int) -> NeighborGraph:
        return self.query(self.rows, k, own=True)


class GrowingBruteForce(BruteForce):
    """The same, with rows that change."""

    is_mutable = True

    def add(self, rows: Any) -> Any:
        more = BruteForce(rows, self.metric)
        first = self.n_rows
        self.rows = np.vstack([self.rows, more.rows])
        self.alive = np.append(self.alive, more.alive)
        return np.arange(first, self.n_rows)

    def remove(self, rows: Any) -> None:
        self.alive = self.alive.copy()
        self.alive[rows] = False

    def compact(self) -> None:
        self.rows = np.where(self.alive[:, None], self.rows, 0.0)

    def copy(self) -> "GrowingBruteForce":
        twin = GrowingBruteForce(self.rows, self.metric)
        twin.alive = self.alive
        return twin


OWN = [BruteForce, GrowingBruteForce]


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    """Names for them, so that models that use them can be saved."""
    names = [kind.__name__ for kind in OWN]
    for name, kind in zip(names, OWN, strict=True):
        register_index(name, kind)
    yield
    for name in names:
        del registry._FACTORIES[name]


@pytest.fixture(params=OWN)
def make_method(request: pytest.FixtureRequest, make_method: Any) -> Callable[..., Any]:
    """Build small estimators that search with an index of ours."""
    kind = request.param

    def make(name: str, k: int = 4, **params: Any) -> Any:
        return make_method(name, k, **{"algorithm": kind, **params})

    return make


def _invariants() -> dict[str, Any]:
    """What holds for every method, from the file next to this one."""
    file = Path(__file__).with_name("test_every_method.py")
    spec = importlib.util.spec_from_file_location("every_method_with_own_index", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names = [name for name in vars(module) if name.startswith("test_") or name == "name"]
    assert len(names) >= 15
    return {name: getattr(module, name) for name in names}


globals().update(_invariants())


def test_what_they_are() -> None:
    fixed, growing = (kind(np.eye(3), "cosine") for kind in (BruteForce, GrowingBruteForce))
    assert isinstance(fixed, Index)
    assert not isinstance(fixed, MutableIndex)
    assert not is_mutable(fixed)
    assert is_mutable(growing)


@pytest.mark.parametrize("kind", OWN)
@given(
    seed=st.integers(0, 2**31),
    metric=st.sampled_from(["cosine", "dot", "euclidean"]),
    k=st.integers(1, 9),
)
@settings(max_examples=40)
def test_it_is_the_definition(kind: Any, seed: int, metric: str, k: int) -> None:
    rng = np.random.default_rng(seed)
    X, Q = (rng.choice([0.0, 0.0, 0.3, 1.0, -2.0], size=(n, 4)) for n in (9, 4))
    index = build_index(sparse.csr_array(X), metric, algorithm=kind)
    for found, wanted in (
        (index.query(Q, k), reference_query(X, Q, k, metric)),
        (index.query_self(k), reference_query_self(X, k, metric)),
    ):
        assert np.array_equal(found.ids, wanted.ids)
        assert np.array_equal(found.values, wanted.values)


def many_ties() -> tuple[np.ndarray, np.ndarray]:
    """Return 40 rows of few values, and labels."""
    rng = np.random.default_rng(11)
    X = rng.choice([0.0, 0.0, 0.5, 0.6, 0.9], size=(40, 4))
    return X, (rng.random((40, 5)) < 0.3).astype(int)


LEFT = np.setdiff1d(np.arange(40), [3, 4, 24, 30, 0])
"""The rows that the changed models know in the end."""


@dataclass(frozen=True)
class Answers:
    """All that a model says of some rows."""

    labels: np.ndarray
    scores: np.ndarray
    graph: NeighborGraph
    near: NeighborGraph

    @classmethod
    def of(cls, model: Any, X: Any) -> "Answers":
        near = model.neighbor_graph(X, 6)
        return cls(model.predict(X), model.predict_proba(X), model.training_graph(), near)


@cache
def from_scratch(method: str, metric: str) -> Answers:
    """Return what a model says that is fitted on those rows: the same whatever index others use."""
    X, Y = many_ties()
    return Answers.of(repeatable(method, metric=metric).fit(X[LEFT], Y[LEFT]), X)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")  # of k-means, equal rows
@pytest.mark.parametrize("method", INCREMENTAL)
@pytest.mark.parametrize("kind", [*OWN, "auto", "dense", "inverted", "reference"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_learning_and_forgetting_equals_starting_over(method: str, kind: Any, metric: str) -> None:
    X, Y = many_ties()
    model = repeatable(method, metric=metric, algorithm=kind).fit(X[:25], Y[:25])
    model.predict(X)
    model.forget([3, 4, 24]).partial_fit(X[25:33], Y[25:33]).forget([30, 0])
    model.partial_fit(X[33:], Y[33:])
    if method == "blend":  # keeps the weights and the mixture of its fit until then
        model.recalibrate()
    found, wanted = Answers.of(model, X), from_scratch(method, metric)
    assert np.array_equal(found.labels, wanted.labels)
    assert np.array_equal(found.scores, wanted.scores)
    assert np.array_equal(found.graph.ids, wanted.graph.ids)
    assert np.array_equal(found.near.ids, np.append(LEFT, -1)[wanted.near.ids])
    assert np.array_equal(found.near.values, wanted.near.values)


def test_an_index_that_can_change_is_not_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.random((30, 4)), (rng.random((30, 3)) < 0.5).astype(int)
    sizes: dict[str, list[int]] = {}
    for algorithm in ("dense", "inverted", BruteForce, GrowingBruteForce):
        built = sizes.setdefault(getattr(algorithm, "__name__", str(algorithm)), [])

        def counted(X: Any, *args: Any, built: list[int] = built) -> Any:
            built.append(X.shape[0])
            return build_index(X, *args)

        with monkeypatch.context() as patch:
            patch.setattr("vicinal.index.training_rows.build_index", counted)
            model = vicinal.BRkNN(3, algorithm=algorithm).fit(X[:20], Y[:20])
            model.partial_fit(X[20:22], Y[20:22]).forget([1]).partial_fit(X[22:23], Y[22:23])
    changing = [20, 2, 1]  # all rows once, then the fresh ones for the graph
    assert sizes == {
        "dense": changing,
        "inverted": changing,
        "GrowingBruteForce": changing,
        "BruteForce": [20, 2, 22, 21, 1, 22],
    }


class Counted:
    """A factory of brute-force indexes that records what it built; not hashable."""

    __hash__ = None

    def __init__(self) -> None:
        self.built: list[tuple[int, str]] = []

    def __eq__(self, other: object) -> bool:
        return self is other

    def __deepcopy__(self, memo: object) -> "Counted":
        return self

    def __call__(self, X: Any, metric: str, n_jobs: int | None) -> BruteForce:
        self.built.append((X.shape[0], metric))
        return BruteForce(X, metric, n_jobs)


class Mirrored(BruteForce):
    """A wrong index, whose use shows in the results."""

    def query(self, Q: Any, k: int, own: bool = False) -> NeighborGraph:
        return super().query(-Q, k, own)


def tied_rows(n_rows: int) -> tuple[Any, Any]:
    """Return rows full of ties, and labels."""
    rng = np.random.default_rng(3)
    X = rng.choice([0.0, 0.0, 0.5, 0.6, 0.9], size=(n_rows, 4))
    return X, (rng.random((n_rows, 4)) < 0.4).astype(int)


@pytest.mark.parametrize("per_fold", [False, True])
def test_tuning_searches_with_the_index_of_the_estimators(per_fold: bool) -> None:
    X, Y = tied_rows(45)
    methods = ["brknn", "mlknn", "instance-knn", "lcif"]
    ks = {"n_neighbors": [1, 4], "n_neighbors_instance": [3], "metric": ["cosine", "euclidean"]}
    options = {"cv": 3, "progress": False, "preprocess": MinMax(), "per_fold": per_fold}
    wanted = tune(methods, X, Y, "micro-f1", grid=ks, **options)
    index = Counted()
    found = tune(methods, X, Y, "micro-f1", grid=ks, params={"algorithm": index}, **options)
    assert {metric for _, metric in index.built} == {"cosine", "euclidean"}
    assert np.array_equal(found.table.values, wanted.table.values, equal_nan=True)
    assert np.array_equal(found.estimator.predict(X), wanted.estimator.predict(X))
    # As an axis of the grid, each index has its own search and the same values.
    both = tune("mlknn", X, Y, "micro-f1", grid={"algorithm": ["dense", index]}, **options)
    assert np.array_equal(*both.table.values, equal_nan=True)


def test_a_comparison_searches_with_the_index_of_the_estimators() -> None:
    X, Y = tied_rows(40)
    index = Counted()
    pairs = {"BR": (vicinal.BRkNN, 3), "ML": (vicinal.MLkNN, 5)}
    wanted = compare({"d": (X, Y)}, {n: kind(k) for n, (kind, k) in pairs.items()}, folds=3)
    own = {name: kind(k, algorithm=index) for name, (kind, k) in pairs.items()}
    found = compare({"d": (X, Y)}, own, folds=3)
    for mine, theirs in zip(found, wanted, strict=True):
        assert list(mine.values) == list(theirs.values)
        assert np.array_equal([*mine.values.values()], [*theirs.values.values()], equal_nan=True)
    assert len(index.built) == 3  # one search per fold, shared by both methods
    wrong = {name: kind(k, algorithm=Mirrored) for name, (kind, k) in pairs.items()}
    found = compare({"d": (X, Y)}, wrong, folds=3)
    assert [each.values for each in found] != [each.values for each in wanted]


def test_a_factory_without_a_name_cannot_be_saved(tmp_path: Path) -> None:
    model = vicinal.BRkNN(1, algorithm=lambda X, metric, n_jobs: BruteForce(X, metric))
    model = clone(model).fit([[0.0], [1.0]], [[1, 0], [0, 1]])
    with pytest.raises(ValueError, match=r"^algorithm: .*register_index"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    named = vicinal.BRkNN(1, algorithm="BruteForce").fit([[0.0], [1.0]], [[1, 0], [0, 1]])
    named.save(tmp_path / "model")
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(registry._FACTORIES, "BruteForce")
        with pytest.raises(ModelFormatError, match=r"algorithm: .*'BruteForce'"):
            vicinal.load(tmp_path / "model")
    assert vicinal.load(tmp_path / "model").predict([[0.9]]).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("algorithm", "says"),
    [
        ("ball_tree", r"^algorithm: expected one of 'auto'.*'ball_tree'"),
        (3, r"^algorithm: .* got 3"),
        (lambda X, metric, n_jobs: object(), r"^algorithm: .*object without metric, n_rows"),
        (lambda X, metric, n_jobs: BruteForce(X[:1], metric), r"^algorithm: .*got 1 × 2"),
        (lambda X, metric, n_jobs: BruteForce(X, "dot"), r"^algorithm: .*by dot"),
    ],
)
def test_what_is_no_index_is_refused(algorithm: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        vicinal.BRkNN(1, algorithm=algorithm).fit(np.eye(2), [[1], [0]])


def test_names_are_given_once() -> None:
    register_index("BruteForce", BruteForce)  # again, the same: nothing happens
    with pytest.raises(ValueError, match=r"^name:"):
        register_index("dense", BruteForce)


def test_an_index_is_built_once_although_rows_are_forgotten() -> None:
    built: list[int] = []

    def counted(X: Any, metric: str, n_jobs: int | None) -> Any:
        built.append(len(X))
        return BruteForce(X, metric, n_jobs)

    rows = TrainingRows(np.eye(5), "euclidean", None, algorithm=counted).without(np.array([1]))
    assert rows.query(np.eye(5)[:1], 2).ids.tolist() == [[0, 2]]
    assert built == [4]
    growing = TrainingRows(np.eye(5), "euclidean", None, algorithm=GrowingBruteForce)
    kept = growing.without(np.array([1]))
    assert kept.index.n_rows == 5
    assert kept.query(np.eye(5)[:1], 2).ids.tolist() == [[0, 2]]
