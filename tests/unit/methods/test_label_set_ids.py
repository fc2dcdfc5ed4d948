"""Numbers for label sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from vicinal.decision import LabelSets
from vicinal.graph import NeighborGraph
from vicinal.methods.lpknn import LPkNNScoring, label_set_ids
from vicinal.scores import Scores

pytestmark = pytest.mark.native


@given(st.lists(st.frozensets(st.integers(0, 3)), max_size=12))
def test_rows_share_a_number_just_where_they_share_their_set(rows):
    table = np.array([[label in row for label in range(4)] for row in rows]).reshape(-1, 4)
    ids = label_set_ids(sparse.csr_array(table.astype(np.int32)))
    assert sorted(set(ids.tolist())) == list(range(len(set(rows))))
    assert len(set(zip(ids.tolist(), rows, strict=True))) == len(set(rows))


def test_scores_carry_sets_through_parts_and_blocks():
    sets = sparse.csr_array(np.array([[1, 0], [0, 1], [1, 1]], dtype=np.int32))
    scores = Scores.sparse(sparse.csr_array(np.eye(3, 2)), label_sets=sets)
    rule = LabelSets()
    assert np.array_equal(rule.decide(scores).toarray(), sets.toarray())
    assert rule.decide(scores.rows(1, 3)).toarray().tolist() == [[0, 1], [1, 1]]
    assert rule.decide(scores.take(np.array([2, 0]))).toarray().tolist() == [[1, 1], [1, 0]]
    both = Scores.stack([scores, scores.rows(0, 1)])
    assert rule.decide(both).toarray().tolist() == [[1, 0], [0, 1], [1, 1], [1, 0]]
    plain = Scores.sparse(sparse.csr_array(np.eye(3, 2)))
    assert Scores.stack([scores, plain]).label_sets is None
    with pytest.raises(ValueError, match="chooses no label sets"):
        rule.decide(plain)
    for wrong in (sets[:2], 2 * sets):
        with pytest.raises(ValueError, match="label_sets"):
            Scores.sparse(sparse.csr_array(np.eye(3, 2)), label_sets=wrong)


def test_all_sets_of_eight_labels_differ():
    Y = sparse.csr_array((np.arange(256)[:, None] >> np.arange(8)) & 1)
    assert sorted(label_set_ids(Y)) == list(range(256))


def test_one_query_of_many_rows_gets_the_most_frequent_set_of_its_neighbours():
    """The sets of a few rows are numbered by themselves, and no others are looked at."""
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (40, 3))
    for _ in range(60):
        ids = np.full((1, 5), -1, dtype=np.int32)
        n_found = rng.integers(0, 6)
        ids[0, :n_found] = rng.permutation(8)[:n_found]  # row 0 is among them as often as others
        values = np.where(ids < 0, 0.0, 1.0)
        scoring = LPkNNScoring(5, sparse.csr_array(Y.astype(np.int32)))
        graph = NeighborGraph(ids, values, "cosine", 40)
        (found,) = scoring.scores(graph).label_sets.toarray().tolist()
        sets = Y[ids[0, :n_found]].tolist()
        expected = max(sets, key=sets.count) if sets else [0, 0, 0]  # the first of equals
        assert found == expected
        (why,) = scoring.explain(graph, [1])
        assert why.facts["neighbors_with_predicted_set"] == sets.count(expected)
        assert why.facts["neighbors"] == n_found
