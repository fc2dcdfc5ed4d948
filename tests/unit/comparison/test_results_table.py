"""Tables from results: the right cells, holes named, only what is paired."""

import math

import numpy as np
import pytest

from vicinal.comparison import (
    mean_differences,
    paired_order,
    rank_methods,
    results_table,
    wilcoxon_holm,
)
from vicinal.errors import InvalidArgumentError
from vicinal.results import Result

LOSS = "hamming-loss"


def result(data, method, values, seed=0, experiment="compare/2 folds", metric=LOSS):
    return Result(experiment, data, method, {metric: tuple(values)}, seed=seed)


@pytest.fixture
def results():
    return [
        result("yeast", "A", (0.1, 0.3)),
        result("yeast", "B", (0.4, 0.2)),
        result("scene", "B", (0.7, 0.9)),
        result("scene", "A", (0.5, 0.5)),
        result("yeast", "A", (0.3, 0.5), seed=1),
        result("yeast", "B", (0.3, 0.3), seed=1),
    ]


def test_by_data_set_the_mean_over_folds_and_seeds(results):
    table = results_table(results, LOSS)
    assert (table.methods, table.samples) == (("A", "B"), ("yeast", "scene"))
    assert table.values == pytest.approx(np.array([[0.3, 0.3], [0.5, 0.8]]))


def test_by_fold_every_value_beside_its_pair(results):
    table = results_table(results, LOSS, samples="folds")
    assert len(table.samples) == 6
    at = table.samples.index("yeast, seed 1, fold 2")
    assert table.values[at].tolist() == [0.5, 0.3]
    alone = results_table([r for r in results if r.data == "scene"], LOSS)
    assert alone.samples == ("scene, seed 0, fold 1", "scene, seed 0, fold 2")
    assert alone.methods == ("B", "A")
    assert alone.values.tolist() == [[0.7, 0.5], [0.9, 0.5]]


def test_the_tests_read_the_table(results):
    table = results_table(results, LOSS, samples="folds")
    assert paired_order({LOSS: table}).scores.keys() == {"A", "B"}
    (pair,) = wilcoxon_holm(table, better="low")
    assert (pair.first, pair.second) == ("A", "B")
    (apart,) = mean_differences(table)
    assert apart.mean == pytest.approx(np.mean(table.values[:, 0] - table.values[:, 1]))


def test_holes_are_named_or_dropped(results):
    results += [result("birds", "A", (0.1, 0.2)), result("enron", "A", (0.1, 0.2))]
    results += [result("enron", "B", (0.1, math.nan))]
    with pytest.raises(InvalidArgumentError) as error:
        results_table(results, LOSS)
    assert "B on birds (no result)" in str(error.value)
    assert "B on enron (NaN)" in str(error.value)
    assert results_table(results, LOSS, missing="drop").samples == ("yeast", "scene")
    found = rank_methods(results, LOSS)
    assert found.left_out == ("birds", "enron")
    assert found.marks["birds", "A"].mean == pytest.approx(0.15)
    assert ("enron", "B") not in found.marks


def test_many_holes_are_counted(results):
    results += [result(f"d{at}", "A", (0.1,)) for at in range(9)]
    with pytest.raises(InvalidArgumentError, match="; 4 more"):
        results_table(results, LOSS)


def test_an_unknown_metric_is_rejected(results):
    with pytest.raises(InvalidArgumentError, match="micro-f1"):
        results_table(results, "micro-f1")
    with pytest.raises(InvalidArgumentError, match="values of micro-f1"):
        results_table(results, "micro-f1", samples="folds")
    with pytest.raises(InvalidArgumentError, match="name of a metric"):
        results_table(results, "loss")
    assert results_table(results, "micro-f1", missing="drop").values.shape == (0, 2)


def test_results_of_two_experiments_are_refused(results):
    results.append(result("yeast", "C", (0.1,), experiment="compare/split"))
    with pytest.raises(InvalidArgumentError, match="compare/2 folds, compare/split"):
        results_table(results, LOSS)
    with pytest.raises(InvalidArgumentError, match="no results"):
        results_table([], LOSS)


def test_seeds_that_a_method_lacks_are_left_out_for_all(results):
    results.append(result("scene", "A", (0.0, 0.0), seed=1))
    assert results_table(results, LOSS).values[1].tolist() == [0.5, 0.8]
    assert rank_methods(results, LOSS).marks["scene", "A"].mean == 0.5


def test_ranking_ranks_and_spreads(results):
    found = rank_methods(results, LOSS)
    assert found.methods == ("A", "B")
    assert dict(found.mean_ranks) == {"A": 1.25, "B": 1.75}  # yeast ties
    assert found.samples == "data sets"
    assert found.marks["yeast", "A"].deviation == pytest.approx(np.std([1, 3, 3, 5], ddof=1) / 10)
    assert found.tests.n_samples == 2
    assert not found.differ
    assert found.groups_of("A") == ""


def test_groups_are_lettered_where_the_methods_differ():
    order = {"A": 0.1, "B": 0.2, "C": 0.3, "D": 0.4}
    results = [
        result(f"d{at}", method, (value + 0.001 * at,))
        for at in range(6)
        for method, value in order.items()
    ]
    found = rank_methods(results, LOSS)
    assert found.differ
    # Ranks 1 to 4 on all six data sets: the critical difference is 1.91, so neighbours share.
    assert [found.groups_of(method) for method in order] == ["a", "a b", "b c", "c"]


def test_ranking_of_one_sample_or_one_method():
    one = rank_methods([result("yeast", m, (v,)) for m, v in (("A", 0.2), ("B", 0.1))], LOSS)
    assert dict(one.mean_ranks) == {"B": 1.0, "A": 2.0}
    assert one.tests is None
    assert one.marks["yeast", "A"].deviation is None
    assert one.groups_of("A") == ""
    alone = rank_methods([result("yeast", "A", (0.1, 0.2))], LOSS)
    assert dict(alone.mean_ranks) == {"A": 1.0}
    with pytest.raises(InvalidArgumentError, match="can be optimised"):
        rank_methods([result("y", "A", (1.0,), metric="cardinality")], "cardinality")
