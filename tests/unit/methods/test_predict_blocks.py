"""Blocks in, blocks out: the answers of one version, and the memory of one block."""

from typing import Any

import numpy as np
import pytest

import vicinal
from vicinal.preprocess import MinMax

pytestmark = pytest.mark.native


def blocks_of(X: Any, size: int) -> list[Any]:
    return [X[start : start + size] for start in range(0, len(X), size)]


def test_blocks_answer_as_all_rows_at_once(make_method: Any, sample: Any) -> None:
    for name in ("mlknn", "lcif", "iblr"):
        model = make_method(name).fit(sample.X, sample.Y)
        wanted = model.predict(sample.X_test)
        found = list(model.predict_blocks(blocks_of(sample.X_test, 3)))
        assert len(found) == len(blocks_of(sample.X_test, 3))
        assert np.array_equal(np.vstack(found), wanted)


def test_a_pipeline_prepares_each_block(sample: Any) -> None:
    model = vicinal.make_pipeline(MinMax(), vicinal.BRkNN(3)).fit(sample.X, sample.Y)
    found = np.vstack(list(model.predict_blocks(blocks_of(sample.X_test, 2))))
    assert np.array_equal(found, model.predict(sample.X_test))


def test_blocks_are_read_when_they_are_asked_for_and_answered_by_one_version(sample: Any) -> None:
    model = vicinal.BRkNN(1).fit(sample.X, sample.Y)
    wanted = model.predict(sample.X_test)
    read: list[int] = []

    def source() -> Any:
        for number, block in enumerate(blocks_of(sample.X_test, 2)):
            read.append(number)
            yield block

    answers = model.predict_blocks(source())
    assert read == []
    first = next(answers)
    assert read == [0]
    model.partial_fit(sample.X_test, 1 - wanted)
    assert not np.array_equal(model.predict(sample.X_test), wanted)
    assert np.array_equal(np.vstack([first, *answers]), wanted)
