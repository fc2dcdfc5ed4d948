"""Label sets written with any separator, or as a list, are read as they were."""

import csv
import io
import json

from hypothesis import given
from hypothesis import strategies as st

from vicinal.datasets.tables.label_cells import detect_separator, listed_labels, split_labels

name = st.text(st.sampled_from("abcdeäß-"), min_size=1, max_size=4)
sets = st.lists(st.lists(name, unique=True, max_size=4), min_size=1, max_size=12)


@given(sets, st.sampled_from([";", "|", ",", "\t", "\n"]), st.sampled_from(["", " "]))
def test_separators_are_found(labels, separator, blank):
    cells = [(separator + blank).join(row) for row in labels]
    found = detect_separator(cells)
    if any(len(row) > 1 for row in labels):
        assert found == separator
    assert [split_labels(cell, found) for cell in cells] == labels


@given(sets)
def test_blanks_separate_only_where_words_are_fewer_than_cells(labels):
    cells = [" ".join(row) for row in labels]
    words = {word for row in labels for word in row}
    several = any(len(row) > 1 for row in labels)
    expected = " " if several and len(words) < len({cell for cell in cells if cell}) else ""
    assert detect_separator(cells) == expected


@given(sets, st.sampled_from([json.dumps, repr, lambda row: repr(tuple(row))]))
def test_lists_in_cells_are_read_as_lists(labels, form):
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([[form(row)] for row in labels])
    cells = [row[0] for row in csv.reader(io.StringIO(stream.getvalue(), newline=""))]
    assert [listed_labels(cell) for cell in cells] == labels
    assert detect_separator(cells) == ""


@given(sets)
def test_arrays_as_numpy_prints_them(labels):
    cells = ["[" + " ".join(f"'{each}'" for each in row) + "]" for row in labels]
    assert [listed_labels(cell) for cell in cells] == labels


@given(st.text(max_size=30))
def test_no_cell_breaks_the_reader(cell):
    found = listed_labels(cell)
    assert found is None or isinstance(found, list)
    split_labels(cell, detect_separator([cell]))
