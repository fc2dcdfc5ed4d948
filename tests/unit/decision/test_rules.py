"""What each rule refuses, how ties go, and that many labels cost nothing."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from vicinal.decision import (
    CardinalityThreshold,
    CrossValidated,
    Decision,
    FittedDecision,
    FittedNeverEmpty,
    LabelThresholds,
    MCut,
    MetricThreshold,
    NeverEmpty,
    PCut,
    PerLabelThreshold,
    RCut,
    Threshold,
    TopS,
)
from vicinal.decision._cells import ScoredTruth, _indicator, from_entries
from vicinal.decision.cardinality import HighestScores, pooled, weighted_pooled
from vicinal.decision.label_thresholds import HighestOfLabels
from vicinal.decision.rule import needs_of
from vicinal.errors import InvalidArgumentError
from vicinal.methods import MLkNN
from vicinal.methods.mlknn import MLkNNScoring
from vicinal.scores import Scores

pytestmark = pytest.mark.native

RULES: list[Any] = [
    Threshold(0.2),
    LabelThresholds(np.full(3, 0.2)),
    CardinalityThreshold(),
    CardinalityThreshold("two-pass"),
    *map(MetricThreshold, ("micro-f1", "macro-f1", "example-f1", "subset-accuracy")),
    MetricThreshold("micro-f1", trust=10.0),
    PerLabelThreshold(),
    PCut(),
    RCut(),
    RCut(2),
    MCut(),
    TopS(1),
    NeverEmpty(MetricThreshold("hamming-loss")),
    NeverEmpty(MetricThreshold("hamming-loss"), always=False),
]


def indicator(rows: Any) -> Any:
    return sparse.csr_array(np.array(rows, dtype=np.int32))


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_rules_are_frozen_values_whose_fit_changes_nothing(rule: Any) -> None:
    scores = Scores.dense(np.array([[0.1, 0.6, 0.3], [0.4, 0.2, 0.9]]), np.array([1.0, 2.0]))
    before = repr(rule)
    fitted = rule.fit(scores, indicator([[0, 1, 0], [1, 0, 1]]))
    assert isinstance(rule, Decision)
    assert isinstance(fitted, FittedDecision)
    assert repr(rule) == before
    decided = fitted.decide(scores)
    assert (decided.shape, decided.dtype) == ((2, 3), np.int32)
    with pytest.raises(AttributeError):
        fitted.anything = 1


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("truth", [0, 1])
def test_no_label_and_every_label_can_be_fitted(rule: Any, truth: int) -> None:
    scores = Scores.sparse(sparse.csr_array((4, 3)), np.full(3, 0.25), np.ones(4))
    fitted = rule.fit(scores, indicator(np.full((4, 3), truth)))
    assert fitted.decide(scores).shape == (4, 3)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_no_training_rows_can_be_fitted(rule: Any) -> None:
    none = Scores.sparse(sparse.csr_array((0, 3)), np.full(3, 0.25), np.empty(0))
    fitted = rule.fit(none, indicator(np.empty((0, 3))))
    some = Scores.dense(np.array([[0.1, 0.6, 0.3]]), np.ones(1))
    assert fitted.decide(some).shape == (1, 3)


@pytest.mark.parametrize("rule", [rule for rule in RULES if not isinstance(rule, NeverEmpty)])
def test_no_rows_decide_to_no_rows(rule: Any) -> None:
    some = Scores.dense(np.array([[0.1, 0.6, 0.3]]), np.ones(1))
    fitted = rule.fit(some, indicator([[0, 1, 0]]))
    none = Scores.sparse(sparse.csr_array((0, 3)), neighbor_cardinality=np.empty(0))
    assert fitted.decide(none).shape == (0, 3)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Threshold(float("nan")), "threshold"),
        (lambda: Threshold(0.5, inclusive="yes"), "inclusive"),
        (lambda: LabelThresholds(np.array([np.nan])), "values"),
        (lambda: LabelThresholds(np.zeros((2, 2))), "values"),
        (lambda: LabelThresholds([0.5]), "values"),
        (lambda: CardinalityThreshold("approximate"), "method"),
        (lambda: MetricThreshold("one-error"), "metric"),
        (lambda: MetricThreshold(trust=-1.0), "trust"),
        (lambda: MetricThreshold("macro-f1", trust=1.0), "trust"),
        (lambda: PerLabelThreshold(min_positives=-1), "min_positives"),
        (lambda: PerLabelThreshold(fbr=2.0), "fbr"),
        (lambda: PCut(-1.0), "factor"),
        (lambda: RCut(1.5), "r"),
        (lambda: TopS(-1), "s"),
        (lambda: NeverEmpty(0.5), "rule"),
        (lambda: NeverEmpty(Threshold(0.5), "last"), "when_all_zero"),
        (lambda: NeverEmpty(Threshold(0.5), always="no"), "always"),
        (lambda: FittedNeverEmpty(Threshold(0.5), 0, 1), "fills"),
        (lambda: FittedNeverEmpty(CardinalityThreshold(), 0), "rule"),
        (lambda: FittedNeverEmpty(Threshold(0.5), -1), "label_when_all_zero"),
    ],
)
def test_bad_fields_are_refused_by_name(make: Any, name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"^{name}: expected"):
        make()


def test_fitted_rules_refuse_scores_of_other_labels() -> None:
    scores = Scores.dense(np.zeros((1, 2)))
    with pytest.raises(InvalidArgumentError, match=r"values: expected 2 thresholds, got 3"):
        LabelThresholds(np.zeros(3)).decide(scores)
    with pytest.raises(InvalidArgumentError, match="label_when_all_zero"):
        FittedNeverEmpty(Threshold(0.5), 2).decide(scores)
    with pytest.raises(InvalidArgumentError, match=r"^s: expected an integer, since"):
        TopS().decide(scores)


@pytest.mark.parametrize(
    "rule",
    [
        CardinalityThreshold(),
        CardinalityThreshold("two-pass"),
        MetricThreshold(),
        PerLabelThreshold(),
        PCut(),
        NeverEmpty(CardinalityThreshold()),
    ],
    ids=repr,
)
@pytest.mark.parametrize("shape", [(1, 3), (2, 2)])
def test_rules_are_not_fitted_on_labels_of_other_rows(rule: Any, shape: tuple[int, int]) -> None:
    scores, Y = Scores.dense(np.zeros((1, 2))), indicator(np.ones(shape))
    with pytest.raises(InvalidArgumentError, match=r"^Y: expected labels of shape \(1, 2\)"):
        rule.fit(scores, Y)


def test_more_labels_than_there_are_is_all_of_them():
    scores = Scores.dense(np.array([[0.2, 0.9]]), np.array([7.0]))
    for rule in (TopS(2), TopS(3), TopS(10**30), TopS()):
        assert rule.decide(scores).toarray().tolist() == [[1, 1]]


def test_equally_good_thresholds_go_to_the_highest() -> None:
    # Nothing predicted and everything predicted are both right for half of the cells.
    scores = Scores.dense(np.array([[0.5, 0.5]]))
    for metric in ("hamming-loss", "subset-accuracy"):
        assert MetricThreshold(metric).fit(scores, indicator([[1, 0]])) == Threshold(0.5)


@pytest.mark.parametrize("trust", [0.5, 30.0, 1e9])
def test_trusted_probabilities_add_the_true_labels_that_they_let_expect(trust: float) -> None:
    rng = np.random.default_rng(0)
    p = np.round(rng.random((40, 6)) ** 3, 2)
    Y = indicator(rng.random(p.shape) < p)
    share = trust / (trust + Y.nnz)

    def quality(threshold: float) -> float:
        above = p > threshold
        true = (1 - share) * Y.toarray()[above].sum() + share * p[above].sum()
        return float(2 * true / (above.sum() + Y.nnz))

    best = max(map(quality, np.unique(p)))
    for scores in (Scores.dense(p), Scores.sparse(sparse.csr_array(p))):
        found = MetricThreshold("micro-f1", trust=trust).fit(scores, Y).value
        assert quality(found) == pytest.approx(best, abs=1e-12)
        assert not np.isin(found, p)


def test_a_metric_that_is_best_with_every_label_predicted() -> None:
    lowest = -np.finfo(np.float64).max
    scores = Scores.dense(np.array([[1.0, lowest]]))
    everything = indicator([[1, 1]])
    for rule in (MetricThreshold("micro-f1"), CardinalityThreshold(), PerLabelThreshold(0), PCut()):
        assert rule.fit(scores, everything).decide(scores).toarray().tolist() == [[1, 1]]


def test_midway_between_neighbouring_floats_still_lets_the_higher_pass() -> None:
    high, low = 1.0, float(np.nextafter(1.0, 0.0))
    scores = Scores.dense(np.array([[high, low]]))
    rule = MetricThreshold("micro-f1").fit(scores, indicator([[1, 0]]))
    assert rule.decide(scores).toarray().tolist() == [[1, 0]]


def test_a_rare_label_needs_more_than_its_highest_training_score() -> None:
    scores = Scores.dense(np.array([[0.75], [0.5], [0.25]]))
    rule = PerLabelThreshold(min_positives=2).fit(scores, indicator([[1], [0], [0]]))
    assert rule.values.tolist() == [0.75]
    new = Scores.dense(np.array([[0.75], [0.8]]))
    assert rule.decide(new).toarray().tolist() == [[0], [1]]


def test_a_label_of_fewer_than_three_rows_is_rare_by_default() -> None:
    scores = Scores.dense(np.array([[0.75], [0.5], [0.25], [0.125]]))
    assert PerLabelThreshold().fit(scores, indicator([[1], [1], [0], [0]])).values == [0.75]
    assert PerLabelThreshold().fit(scores, indicator([[1], [1], [1], [0]])).values == [0.1875]


def test_a_row_of_equal_scores_has_no_gap_however_small_they_are() -> None:
    """Half of the smallest number is rounded to 0, which both scores exceed."""
    equal, none = np.full((1, 2), 5e-324), sparse.csr_array((1, 2))
    for scores in (
        Scores.dense(equal),
        Scores.sparse(sparse.csr_array(equal)),
        Scores.sparse(none, base=equal[0]),
    ):
        assert MCut().decide(scores).nnz == 0


def test_mcut_visits_only_stored_scores_if_all_labels_have_one_base(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = Scores.sparse(sparse.csr_array(np.array([[0.9, 0.8, 0.0], [0.0, 0.0, 0.3]])))
    monkeypatch.delattr(Scores, "toarray")
    assert MCut().decide(scores).toarray().tolist() == [[1, 1, 0], [0, 0, 1]]


def test_example_sweep_stops_when_no_lower_threshold_can_be_better() -> None:
    # 1,000 labels with bases of their own: below the first few, only mistakes are added.
    n_rows, n_labels = 50, 1_000
    base = np.linspace(0.4, 0.1, n_labels)
    stored = sparse.csr_array((np.full(n_rows, 0.9), (np.arange(n_rows), np.arange(n_rows))))
    stored.resize((n_rows, n_labels))
    Y = sparse.csr_array((stored > 0).astype(np.int32))
    looked_at = 0

    class Counting(ScoredTruth):
        def by_row(self) -> Any:
            nonlocal looked_at
            for block in super().by_row():
                looked_at += 1
                yield block

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vicinal.decision.metric.ScoredTruth", Counting)
        rule = MetricThreshold("example-f1").fit(Scores.sparse(stored, base), Y)
    assert rule.value == pytest.approx(0.65)
    assert looked_at < 20


@pytest.mark.parametrize("rule", [*RULES[2:], MetricThreshold("example-accuracy")], ids=repr)
def test_two_hundred_thousand_labels_are_never_made_dense(rule: Any) -> None:
    n_rows, n_labels = 500, 200_000
    rng = np.random.default_rng(0)
    rows, labels = np.repeat(np.arange(n_rows), 20), rng.integers(0, n_labels, n_rows * 20)
    stored = sparse.csr_array((rng.random(len(rows)), (rows, labels)), shape=(n_rows, n_labels))
    stored.sum_duplicates()
    scores = Scores.sparse(stored, neighbor_cardinality=np.full(n_rows, 2.0))
    Y = sparse.csr_array((stored > 0.7).astype(np.int32))
    tracemalloc.start()
    decided = rule.fit(scores, Y).decide(scores)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert decided.nnz < 3 * stored.nnz
    assert peak < 150e6  # dense would be 800 MB


class CommonLabels:
    """A user's rule: the labels that at least half of the training rows carry."""

    needs_scores = False

    def fit(self, scores, Y):
        common = np.asarray(Y.sum(axis=0)).ravel() * 2 >= Y.shape[0]
        return LabelThresholds(np.where(common, -1.0, np.inf))


def test_a_rule_states_what_it_needs():
    rule = CommonLabels()
    wrapped = NeverEmpty(rule)
    assert needs_of(rule) == needs_of(wrapped) == (False, None, False)
    k_fold = NeverEmpty(CrossValidated(PCut(), 4))
    assert needs_of(k_fold) == (True, 4, False)
    assert needs_of(NeverEmpty(PCut())) == (True, None, True)
    assert needs_of(MetricThreshold()) == (True, None, False)
    assert needs_of(NeverEmpty(Threshold(0.5))) == (False, None, True)
    assert needs_of(NeverEmpty(Threshold(0.5), always=False)) == (True, None, False)


def test_scores_are_not_made_for_a_rule_that_needs_none(monkeypatch, sample):
    score = MLkNNScoring.scores

    def refuse(self, graph, X=None):
        if graph.n_queries:
            raise AssertionError("scored")
        return score(self, graph, X)  # of no rows: whether the rule can decide is tried on those

    model = MLkNN(3, threshold=CommonLabels(), never_empty=True)
    expected = NeverEmpty(CommonLabels()).fit(
        Scores.dense(np.empty((0, 5))), sparse.csr_array(sample.Y)
    )
    monkeypatch.setattr("vicinal.methods.mlknn.MLkNNScoring.scores", refuse)
    model.fit(sample.X, sample.Y)
    assert np.array_equal(model.decision_.rule.values, expected.rule.values)
    assert model.decision_.label_when_all_zero == expected.label_when_all_zero


@pytest.mark.parametrize("rule", [CardinalityThreshold(), CardinalityThreshold("two-pass")])
@pytest.mark.parametrize("cuts", [[], [1], [2, 3], [1, 1, 4]])
def test_a_row_of_weight_w_counts_as_w_rows(rule: Any, cuts: list[int]) -> None:
    rng = np.random.default_rng(2)
    scores, weights = rng.integers(0, 8, size=(5, 3)) / 8, np.array([3, 1, 2, 1, 4])
    Y = indicator(rng.integers(0, 2, size=(5, 3)))
    blocks = [Scores.dense(part) for part in np.split(scores, cuts)]
    found = rule.fit_blocks(blocks, Y, weights.astype(np.float64))
    again = np.repeat(np.arange(5), weights)
    assert found == rule.fit(Scores.dense(scores[again]), Y[again])
    never = NeverEmpty(rule, when_all_zero="most-frequent").fit_blocks(
        [Scores.dense(scores)], Y, weights.astype(np.float64)
    )
    counts = Y[again].sum(axis=0)
    assert never.label_when_all_zero == int(np.argmax(counts))


def test_scores_from_a_floor_up() -> None:
    """With the cells that score the floor itself, stored or not."""
    dense = Scores.dense(np.array([[0.5, 0.2], [0.1, 0.5]]))
    assert [each.tolist() for each in pooled(dense, floor=0.2)] == [[0.5, 0.2], [2, 1]]
    found = weighted_pooled(dense, np.array([3.0, 1.0]), floor=0.2)
    assert [each.tolist() for each in found] == [[0.5, 0.2], [4.0, 3.0]]
    stored = sparse.csr_array(np.array([[0.5, 0.1], [0.0, 0.3]]))
    above = Scores.sparse(stored, base=np.array([0.3, 0.1]))
    assert [each.tolist() for each in pooled(above, floor=0.3)] == [[0.5, 0.3], [1, 2]]


def test_a_base_score_that_no_cell_has_is_not_among_the_scores() -> None:
    """Every row stores the first label, and two labels are true: the third score is 0.1."""
    stored = sparse.csr_array(np.array([[0.9, 0.0], [0.7, 0.0]]))
    scores = Scores.sparse(stored, base=np.array([0.5, 0.1]))
    assert [each.tolist() for each in pooled(scores)] == [[0.9, 0.7, 0.1], [1, 1, 2]]
    assert CardinalityThreshold().fit(scores, indicator([[1, 0], [1, 0]])) == Threshold(0.1)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_tables_without_cells(shape: tuple[int, int]) -> None:
    scores, Y = Scores.dense(np.zeros(shape)), indicator(np.zeros(shape))
    assert MCut().decide(scores).shape == shape
    for rule in (MetricThreshold("example-f1"), CardinalityThreshold()):
        assert rule.fit(scores, Y) == Threshold(0.0)
    assert CardinalityThreshold().fit_blocks([], Y) == Threshold(0.0)
    assert [len(each) for each in HighestScores(wanted=2).merged()] == [0, 0]
    assert TopS(1).decide(scores).nnz == min(shape[0], shape[1])


def test_a_row_rightly_left_empty_counts_as_much_as_a_right_one() -> None:
    """Above 0.5 the first row is right and the second wrong; below, the second has an F1 of 4/5."""
    scores = Scores.dense(np.array([[0.5, 0.0, 0.0], [0.5, 0.5, 0.5]]))
    assert MetricThreshold("example-f1").fit(scores, indicator([[0, 0, 0], [1, 1, 0]])).value >= 0.5
    assert MetricThreshold("example-f1").fit(scores, indicator([[0, 0, 0], [1, 1, 1]])).value >= 0.5
    assert MetricThreshold("example-f1").fit(scores, indicator([[1, 0, 0], [1, 1, 0]])).value < 0.5


def test_one_row_has_its_own_number_of_labels() -> None:
    Y = indicator([[1, 1, 1]])
    assert RCut().fit(Scores.dense(np.zeros((1, 3))), Y) == TopS(3)


def test_ten_folds_unless_said() -> None:
    assert CrossValidated(MetricThreshold()).n_folds == 10


def test_indicators_are_canonical() -> None:
    found = from_entries(np.array([1, 0, 1, 1]), np.array([2, 0, 1, 0]), (2, 3))
    assert found.indices.tolist() == [0, 0, 1, 2]
    assert found.indptr.tolist() == [0, 1, 4]


def test_more_labels_than_an_indicator_can_hold() -> None:
    class Many:
        def __len__(self) -> int:
            return 2**31 - 1

    many: Any = Many()
    with pytest.raises(InvalidArgumentError, match=r"scores: expected fewer than 2\^31 - 1 labels"):
        _indicator(many, np.zeros(2, dtype=np.int64), 3)


def test_scores_that_can_no_longer_matter_are_not_collected() -> None:
    """Once enough cells are merged: the next score below them still matters, lower ones do not."""
    highest = HighestScores(wanted=2)
    highest.add(Scores.dense(np.array([[0.9, 0.7, 0.3, 0.2]])))
    highest.merged()
    highest.add(Scores.dense(np.array([[0.2, 0.1, 0.0, 0.2]])))
    assert [len(values) for values, _ in highest._parts] == [3, 0]
    highest.add(Scores.dense(np.array([[0.5, 0.1, 0.0, 0.2]])))
    assert highest.merged()[0].tolist() == [0.9, 0.7, 0.5]
    of_labels = HighestOfLabels(wanted=np.array([1, 1]))
    of_labels.add(Scores.dense(np.array([[0.9, 0.7], [0.3, 0.5], [0.2, 0.1]])))
    of_labels.merged()
    of_labels.add(Scores.dense(np.array([[0.2, 0.4]])))
    assert [len(part.values) for part in of_labels._parts] == [4, 0]
    of_labels.add(Scores.dense(np.array([[0.4, 0.6]])))
    assert of_labels.merged().values.tolist() == [0.9, 0.4, 0.7, 0.6]


def test_every_cell_at_the_last_score_that_matters_is_counted() -> None:
    """After merging, too: two more cells at 0.3, in a matrix, stored or not stored."""
    two = np.full((2, 1), 0.3)
    for more in (
        Scores.dense(two),
        Scores.sparse(sparse.csr_array(two)),
        Scores.sparse(sparse.csr_array((2, 1)), base=two[0]),
    ):
        of_labels = HighestOfLabels(wanted=np.array([1]))
        of_labels.add(Scores.dense(np.array([[0.9], [0.3], [0.1]])))
        of_labels.merged()
        of_labels.add(more)
        cells = of_labels.merged()
        assert cells.values.tolist() == [0.9, 0.3]
        assert cells.false.tolist() == [1, 3]
