"""The features of a table as one matrix: bag of words, numbers, one column per category."""

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Features
from vicinal.datasets.bag_of_words import Words, bag_of_words
from vicinal.datasets.columns import by_content
from vicinal.datasets.tables.content import category_of, column_numbers
from vicinal.datasets.tables.reading import Reading
from vicinal.datasets.tables.records import Records
from vicinal.datasets.tables.text_cells import row_texts


def table_features(
    records: Records, reading: Reading, words: Words
) -> tuple[Features, tuple[str, ...]]:
    """Return the features of a table and their names: words, then columns, then ``column=value``.

    If a table has words or categories, the matrix is sparse or dense depending on its content.
    """
    blocks: list[Features] = []
    names: tuple[str, ...] = ()
    if reading.text:
        X, tokens = bag_of_words(row_texts(records, reading.text), words, records.path)
        blocks.append(X)
        names += tokens
    if reading.numbers:
        columns = [column_numbers(records, name, reading.decimal) for name in reading.numbers]
        blocks.append(np.column_stack(columns))
        names += reading.numbers
    for name in reading.categories:
        cells = [category_of(cell) for cell in records.cells(name)]
        known, codes = np.unique(np.array(cells), return_inverse=True)
        parts = (np.ones(len(codes)), (np.arange(len(codes)), codes))
        blocks.append(sparse.csr_array(parts, shape=(len(codes), len(known))))
        names += tuple(f"{name}={value}" for value in known.tolist())
    if len(blocks) == 1:
        return blocks[0], names
    return by_content(sparse.csr_array(sparse.hstack([sparse.csr_array(b) for b in blocks]))), names
