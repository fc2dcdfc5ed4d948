"""The embedded data set keeps its promises."""

import re
import time

import numpy as np
import pytest

from vicinal.datasets.debtags import PATH, load_debtags


@pytest.fixture(scope="module")
def debtags():
    return load_debtags()


def test_it_is_small_and_loads_quickly():
    assert PATH.stat().st_size <= 2_000_000
    start = time.process_time()
    load_debtags()
    assert time.process_time() - start < 5


def test_every_row_is_on_one_side_of_the_split(debtags):
    both = np.concatenate((debtags.train, debtags.test))
    np.testing.assert_array_equal(np.sort(both), np.arange(debtags.X.shape[0]))
    assert 0.18 < len(debtags.test) / len(both) < 0.22


def test_no_family_is_on_both_sides(debtags, build):
    train = {build.family(debtags.row_names[row]) for row in debtags.train}
    test = {build.family(debtags.row_names[row]) for row in debtags.test}
    assert len(train) > 1000
    assert not train & test


def test_no_description_is_on_both_sides(debtags):
    train, test = (
        {
            debtags.X.indices[debtags.X.indptr[row] : debtags.X.indptr[row + 1]].tobytes()
            for row in rows
        }
        for rows in (debtags.train, debtags.test)
    )
    assert len(train) > 1000
    assert not train & test


def test_words_and_tags_alone_in_no_order_of_the_text(debtags):
    assert all(re.fullmatch("[a-z0-9]+", word) for word in debtags.feature_names)
    assert all("::" in tag for tag in debtags.label_names)
    for names in (debtags.feature_names, debtags.label_names, debtags.row_names):
        assert list(names) == sorted(set(names))
    assert debtags.X.has_canonical_format
    assert set(debtags.X.data) == {1.0}


def test_floors_are_kept(debtags):
    assert debtags.X.sum(axis=0).min() >= 2
    assert debtags.Y.sum(axis=0).min() >= 5
    assert debtags.X.sum(axis=1).min() >= 1
    assert debtags.Y.sum(axis=1).min() >= 1


def test_a_package_one_knows_is_described(debtags):
    row = debtags.row_names.index("gimp")
    words = {debtags.feature_names[word] for word in debtags.X[[row]].indices}
    tags = {debtags.label_names[tag] for tag in debtags.Y[[row]].indices}
    assert {"image", "manipulation", "gnu"} <= words
    assert {"role::program", "use::editing"} <= tags
